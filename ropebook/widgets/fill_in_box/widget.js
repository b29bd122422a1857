import { asks } from "../kit/ask.js";
import { html } from "../kit/dom.js";
import { fill } from "../kit/text.js";
import { textField, tries } from "../kit/tries.js";

const WORDS = {
  en: {
    done: "solved",
    check: "Check",
    show: "Show the solution",
    hide: "Hide the solution",
    code: "code with gaps",
    gap: "gap {number} of {count}",
  },
};

// Code between whose pieces the gaps are.
export function codeField({ pieces }, words) {
  const count = pieces.length - 1;
  const gaps = pieces.slice(1).map((_, i) => {
    const label = fill(words.gap, { number: i + 1, count });
    return textField({ "aria-label": label });
  });
  const code = html("pre", { class: "rope-fill-code", "aria-label": words.code }, pieces[0]);
  gaps.forEach(({ input }, i) => code.append(input, pieces[i + 1]));
  return {
    nodes: [code],
    inputs: gaps.map(({ input }) => input),
    read: () => gaps.map((gap) => gap.read()),
    write: (texts) => gaps.forEach((gap, i) => gap.write(texts[i] ?? "")),
    fits: (texts) => Array.isArray(texts) && texts.length === count && texts.every((text) => typeof text === "string"),
  };
}

export default {
  render: asks({ words: WORDS, kind: "fill", build: (tools) => tries(tools, codeField(tools.told, tools.words)) }),
};
