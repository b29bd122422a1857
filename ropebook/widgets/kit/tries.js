// What can be tried as often as one likes: fields, a button that checks them, and the solution, which
// is offered after the first try.
import { judge, solutionOf } from "./answers.js";
import { askButton, freshId, rich } from "./ask.js";
import { OWN_KEYS } from "./controls.js";
import { html, setAttributes } from "./dom.js";

// A field for a short text; it grows with what is typed.
export function textField({ least = 6, ...attributes }) {
  const fixed = { type: "text", class: "rope-ask-field", autocomplete: "off", autocapitalize: "off" };
  const input = html("input", { ...fixed, autocorrect: "off", spellcheck: "false", ...OWN_KEYS, ...attributes });
  const fit = () => input.style.setProperty("--letters", `${Math.max(least, input.value.length + 1)}ch`);
  const write = (text) => {
    if (input.value !== text) input.value = text;
    fit();
  };
  input.addEventListener("input", fit);
  fit();
  return { input, write, read: () => input.value };
}

const isBlank = (answer) => [answer].flat().every((part) => String(part).trim() === "");

// The part that `asks` builds, of fields with { nodes, inputs, read(), write(answer), fits(answer) }.
export function tries({ words, told, ids, give, said }, fields) {
  const check = () => give(fields.read());
  const solutionId = freshId();
  const solution = rich("div", { class: "rope-ask-solution", id: solutionId, hidden: "" }, solutionOf(told));
  const offer = askButton(words.show, () => unfold(solution.hidden), {
    class: "rope-ask-button rope-ask-plain",
    "aria-controls": solutionId,
    hidden: "",
  });
  const unfold = (open) => {
    solution.hidden = !open;
    offer.textContent = open ? words.hide : words.show;
    setAttributes(offer, { "aria-expanded": open });
  };
  unfold(false);
  const row = html("div", { class: "rope-ask-row" }, ...fields.nodes);
  row.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.localName === "input") check();
  });
  for (const input of fields.inputs) setAttributes(input, { "aria-describedby": ids.said });
  row.append(html("span", { class: "rope-ask-buttons" }, askButton(words.check, check), offer));
  return {
    nodes: [row, said, solution],
    fits: (answer) => fields.fits(answer) && judge(told, answer).ok,
    show(answer) {
      fields.write(answer);
      const { ok, message } = judge(told, answer);
      offer.hidden = false;
      const verdict = ok ? "right" : isBlank(answer) ? "open" : "wrong";
      for (const input of fields.inputs) setAttributes(input, { "aria-invalid": verdict === "wrong" });
      return { done: ok, message, verdict };
    },
  };
}
