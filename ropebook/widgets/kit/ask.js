// The frame of what asks the reader: a question, what answers it, a line that says how it went.
import { OWN_KEYS } from "./controls.js";
import { html, setAttributes } from "./dom.js";
import { mark, recall } from "./marks.js";
import { pickWords } from "./text.js";

export function askButton(label, onClick, attributes = {}) {
  const node = html("button", { type: "button", class: "rope-ask-button", ...OWN_KEYS, ...attributes }, label);
  node.addEventListener("click", onClick);
  return node;
}

// An id that no other copy of this module gives away.
export function freshId() {
  return `rope-${Math.random().toString(36).slice(2)}`;
}

// A node with a text that may hold the tags that a definition may: bold, code, indices.
export function rich(tag, attributes, text) {
  const node = html(tag, attributes);
  node.innerHTML = text;
  return node;
}

// Returns the `render` of a widget that asks; its model has `definition`, `answer` (null: none yet)
// and `done`. `build(tools)` is called once and gives { nodes, show(answer), fits(answer), stop? }:
// `show` writes an answer and returns { done, message, more, verdict }, where what is done stays done
// and its answer is kept, and `more` is heard behind the message and not seen there; `fits` says whether an answer that was kept still can be shown.
// `tools`: `el`, `model`, `told`, `words`, `ids` of the question and of the line, `said` (the line),
// and `give(answer)` for what the reader does.
export function asks({ words: table, kind, build }) {
  return ({ model, el }) => {
    const words = pickWords(table, document.documentElement.lang);
    const told = model.get("definition");
    const ids = { question: freshId(), said: freshId() };
    const tick = html("span", { class: "rope-ask-tick" });
    const question = rich("span", { id: ids.question }, told.question);
    const said = html("p", { class: "rope-ask-said", id: ids.said, role: "status", "aria-live": "polite" });
    const give = (answer) => {
      model.set("answer", answer);
      show();
      model.save_changes();
    };
    const part = build({ el, model, told, words, ids, give, said });
    const box = html("div", { class: "rope-ask" }, html("p", { class: "rope-ask-question" }, tick, question));
    const root = html("div", { class: "rope-widget rope-asks", role: "group", "aria-labelledby": ids.question }, box);
    root.setAttribute(`data-${kind}`, told.name);
    box.append(...part.nodes);
    el.append(root);

    function show() {
      const answer = model.get("answer");
      const { done = false, message = "", more = "", verdict = "" } = answer === null ? {} : part.show(answer);
      // New nodes where they say the same, too: then it is heard once more.
      said.replaceChildren(rich("span", {}, message), rich("span", { class: "rope-ask-heard" }, more));
      said.dataset.verdict = verdict;
      root.dataset.verdict = verdict;
      if (done) model.set("done", true);
      if (done && JSON.stringify(recall(told.name)) !== JSON.stringify(answer)) mark(root, told.name, answer);
      root.dataset.done = model.get("done");
      // What is done stays done, but the mark is about what stands here now.
      const ticked = model.get("done") && !["wrong", "open"].includes(verdict);
      root.dataset.ticked = ticked;
      if (ticked) setAttributes(tick, { role: "img", "aria-label": words.done });
      else for (const name of ["role", "aria-label"]) tick.removeAttribute(name);
    }

    const before = recall(told.name);
    const kept = before !== undefined && model.get("answer") === null && part.fits(before);
    if (kept) model.set("answer", before);
    model.on("change:answer", show);
    show();
    if (kept) model.save_changes(); // a kernel hears it too
    return () => {
      model.off("change:answer", show);
      part.stop?.();
    };
  };
}
