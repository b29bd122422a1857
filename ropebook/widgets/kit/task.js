// A task of a widget: what is to be reached, and a box that is ticked, for good, once the reader has. While
// the widget then stands as asked, a sentence says so in the place of the lesson.
import { html } from "./dom.js";
import { mark, recall } from "./marks.js";
import { ruleValue } from "./rule.js";
import { pickWords } from "./text.js";

const TASK_WORDS = { en: { given: "Now without that button." } };

// Stands under a node, that of the lesson unless told otherwise, once `update(told, state, own)` is given a task. `own`: the reader
// has made this state, and not a button that had all of it ready, which ticks no task.
export function makeTask(lesson, over = lesson) {
  const words = pickWords(TASK_WORDS, document.documentElement.lang);
  const sentence = html("b", { class: "rope-task-said" });
  let name = null;
  let node = null;
  let heard = null;
  let done = false;
  let met = false;

  function show(told) {
    node?.remove();
    sentence.remove();
    name = told?.name ?? null;
    if (!told) return;
    [done, met] = [recall(name) === true, false];
    const tick = html("span", { class: "rope-task-tick", "aria-hidden": "true" });
    const asks = html("span", { class: "rope-task-asks" });
    asks.innerHTML = told.text;
    const given = html("span", { class: "rope-task-given" }, words.given);
    heard = html("span", { class: "rope-hidden", role: "status", "aria-live": "polite" });
    node = html(
      "div",
      { class: "rope-task", "data-task": name },
      tick,
      html("span", { class: "rope-task-words" }, asks, given),
      heard,
    );
    node.dataset.done = done;
    sentence.textContent = told.said;
    lesson.append(sentence);
    over.after(node);
  }

  return {
    update(told, state, own) {
      if ((told?.name ?? null) !== name) show(told);
      lesson.dataset.met = false;
      if (!told) return;
      const before = met;
      met = Boolean(ruleValue(told.rule, state));
      if (met && !before && own && !done) {
        done = true;
        node.dataset.done = done;
        heard.textContent = told.said;
        mark(node, name, true);
      }
      node.dataset.given = met && !done;
      lesson.dataset.met = met && done;
    },
  };
}
