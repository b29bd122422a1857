// A task of a widget: what is to be reached, and a box that is ticked, for good, once it is. While the
// widget stands as asked, a sentence says so where the task stood.
import { html } from "./dom.js";
import { mark, recall } from "./marks.js";
import { ruleValue } from "./rule.js";

// Stands under the node of the lesson once `update(told, state)` is given a task.
export function makeTask(lesson) {
  let name = null;
  let node = null;
  let heard = null;
  let done = false;

  function show(told) {
    node?.remove();
    name = told?.name ?? null;
    if (!told) return;
    done = recall(name) === true;
    const tick = html("span", { class: "rope-task-tick", "aria-hidden": "true" });
    const text = html("span", { class: "rope-task-asks" });
    text.innerHTML = told.text;
    const said = html("b", { class: "rope-task-said" }, told.said);
    heard = html("span", { class: "rope-hidden", role: "status", "aria-live": "polite" });
    node = html(
      "div",
      { class: "rope-task", "data-task": name },
      tick,
      html("span", { class: "rope-task-words" }, text, said),
      heard,
    );
    node.dataset.done = done;
    node.dataset.met = false;
    lesson.after(node);
  }

  return {
    update(told, state) {
      if ((told?.name ?? null) !== name) show(told);
      if (!told) return;
      const met = Boolean(ruleValue(told.rule, state));
      node.dataset.met = met;
      if (done || !met) return;
      done = true;
      node.dataset.done = done;
      heard.textContent = told.said;
      mark(node, name, true);
    },
  };
}
