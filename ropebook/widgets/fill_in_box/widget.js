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

// The lines of code, each with its indent, its pieces and the numbers of the gaps between them.
export function linesOf(pieces) {
  const lines = [];
  let open = false;
  const add = (part) => {
    if (!open) lines.push({ indent: String(part).match(/^ */)[0].length, parts: [] });
    lines.at(-1).parts.push(part);
    open = !String(part).endsWith("\n");
  };
  pieces.forEach((piece, i) => {
    if (i > 0) add(i - 1);
    for (const part of piece.match(/.*\n|.+/g) ?? []) add(part);
  });
  return lines;
}

// Code between whose pieces the gaps are.
export function codeField({ pieces }, words) {
  const count = pieces.length - 1;
  const gaps = pieces.slice(1).map((_, i) => {
    const label = fill(words.gap, { number: i + 1, count });
    return textField({ "aria-label": label });
  });
  const lines = linesOf(pieces).map(({ indent, parts }) => {
    const nodes = parts.map((part) => (typeof part === "number" ? gaps[part].input : part));
    return html("span", { class: "rope-fill-line", style: `--indent: ${indent}` }, ...nodes);
  });
  const code = html("pre", { class: "rope-fill-code", "aria-label": words.code }, ...lines);
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
