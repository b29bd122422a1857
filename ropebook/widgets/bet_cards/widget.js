import { askButton, asks, rich } from "../kit/ask.js";
import { arrowKeys, markChosen } from "../kit/choice.js";
import { html } from "../kit/dom.js";
import { veil } from "../kit/veil.js";

const WORDS = {
  en: {
    done: "bet placed",
    won: "You won the bet.",
    lost: "You lost this bet.",
    first: "your bet",
    right: "right",
    veiled: "The answer waits for your bet.",
    back: "Go to the bet",
    lift: "Show it without a bet",
  },
};

// What stands beside an option once the bet is placed: the words of the table that apply to it.
export function labelsOf(option, index, bet) {
  if (bet === null) return [];
  return [...(option.right ? ["right"] : []), ...(index === bet ? ["first"] : [])];
}

// How many cards stand side by side where there is room.
export function columnsFor(options) {
  const longest = Math.max(...options.map(({ text }) => text.length));
  if (longest <= 84 / options.length) return options.length;
  return options.length % 2 === 0 && longest <= 60 ? 2 : 1;
}

function build({ el, model, told, words, ids, give, said }) {
  let opened = null;
  const lift = veil(el, model.get("veils"), words);
  const cards = told.options.map((option, i) => {
    const labels = html("span", { class: "rope-bet-labels" });
    const press = () => {
      opened = i;
      give(model.get("answer") ?? i);
    };
    const text = rich("span", {}, option.text);
    const radio = askButton(text, press, { class: "rope-ask-button rope-bet-card", role: "radio", "data-option": i });
    radio.append(labels);
    const sentence = rich("p", { class: "rope-bet-said", hidden: "" }, option.said);
    const node = html("div", { class: "rope-bet-option", "data-right": option.right }, radio, sentence);
    return { option, radio, labels, sentence, node };
  });
  const radios = cards.map(({ radio }) => radio);
  const group = html("div", { class: "rope-bet", role: "radiogroup", "aria-labelledby": ids.question });
  const columns = columnsFor(told.options);
  group.style.setProperty("--columns", columns);
  group.dataset.beside = columns > 1;
  group.append(...cards.map((card) => card.node));
  // An arrow leads to another card and does not choose it: the first choice is the bet.
  arrowKeys(group, {
    wraps: true,
    current: () => radios.indexOf(document.activeElement),
    count: () => radios.length,
    pick: (index) => radios[index].focus(),
  });
  const reach = (index) => radios.forEach((node, i) => (node.tabIndex = i === index ? 0 : -1));
  group.addEventListener("focusin", ({ target }) => reach(radios.indexOf(target)));
  markChosen(radios, null);
  reach(0);

  return {
    nodes: [group, said],
    fits: (index) => Number.isInteger(index) && index in told.options,
    show(bet) {
      opened ??= bet;
      cards.forEach(({ option, labels, sentence, node }, i) => {
        if (i === opened) sentence.hidden = false;
        node.dataset.first = i === bet;
        labels.replaceChildren(...labelsOf(option, i, bet).map((name) => html("span", {}, words[name])));
      });
      markChosen(radios, bet);
      reach(opened);
      lift();
      const result = told.options[bet].right ? "won" : "lost";
      return { done: true, verdict: result, message: words[result], more: told.options[opened].said };
    },
    stop: lift,
  };
}

export default { render: asks({ words: WORDS, kind: "bet", build }) };
