import { asks } from "../kit/ask.js";
import { html } from "../kit/dom.js";
import { fill } from "../kit/text.js";
import { tries } from "../kit/tries.js";
import { choiceField, labelledFields, oneField } from "./fields.js";
import { orderField } from "./order.js";

const WORDS = {
  en: {
    done: "solved",
    check: "Check",
    show: "Show the solution",
    hide: "Hide the solution",
    up: "Move up: {item}",
    down: "Move down: {item}",
    moved: "{item}: now in place {place} of {count}",
    hints: { number: "", set: "1, 2, …", expression: "in {names}" },
  },
};

// What stands in an empty field: what is asked for.
export function hintOf(told, hints) {
  return fill(hints[told.kind], { names: (told.variables ?? []).join(", ") });
}

function fieldsOf({ told, words, ids, said }) {
  if (told.kind === "numbers") return labelledFields(told);
  if (told.kind === "choice") return choiceField({ ids, options: told.options });
  if (told.kind !== "order") return oneField({ ids, hint: hintOf(told, words.hints), unit: told.unit });
  // Heard, not seen: the order itself is.
  const announce = (text) => said.replaceChildren(html("span", { class: "rope-ask-heard" }, text));
  return orderField({ items: told.items, ids, words, announce });
}

export default { render: asks({ words: WORDS, kind: "answer", build: (tools) => tries(tools, fieldsOf(tools)) }) };
