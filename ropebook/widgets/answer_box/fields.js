// What an answer is given with, by the kind of the exercise: { nodes, inputs, read, write, fits }.
import { freshId, rich } from "../kit/ask.js";
import { OWN_KEYS } from "../kit/controls.js";
import { html, setAttributes } from "../kit/dom.js";
import { textField } from "../kit/tries.js";

const isText = (value) => typeof value === "string";

// One text: a number, numbers with commas between them, an expression.
export function oneField({ ids, hint, unit }) {
  const { input, read, write } = textField({ least: hint.length + 2, placeholder: hint });
  input.setAttribute("aria-labelledby", ids.question);
  const nodes = unit ? [html("span", { class: "rope-ask-unit" }, input, unit)] : [input];
  return { nodes, inputs: [input], read, write, fits: isText };
}

// A text for each label.
export function labelledFields({ labels }) {
  const fields = labels.map(() => textField({}));
  const nodes = labels.map((label, i) => {
    return html("label", { class: "rope-ask-label" }, rich("span", {}, label), fields[i].input);
  });
  return {
    nodes,
    inputs: fields.map(({ input }) => input),
    read: () => fields.map((field) => field.read()),
    write: (texts) => fields.forEach((field, i) => field.write(texts[i] ?? "")),
    fits: (texts) => Array.isArray(texts) && texts.length === labels.length && texts.every(isText),
  };
}

// One of the options, none at first.
export function choiceField({ ids, options }) {
  const name = freshId();
  const radios = options.map((_, value) => html("input", { type: "radio", name, value, ...OWN_KEYS }));
  const labels = options.map(({ text }, i) => {
    return html("label", { class: "rope-ask-option" }, radios[i], rich("span", {}, text));
  });
  const group = html("div", { class: "rope-ask-options", role: "radiogroup" }, ...labels);
  setAttributes(group, { "aria-labelledby": ids.question, "data-long": options.some(({ text }) => text.length > 28) });
  return {
    nodes: [group],
    inputs: [],
    read: () => {
      const chosen = radios.findIndex((radio) => radio.checked);
      return chosen < 0 ? "" : chosen;
    },
    write: (index) => radios.forEach((radio, i) => (radio.checked = i === index)),
    fits: (index) => Number.isInteger(index) && index in options,
  };
}
