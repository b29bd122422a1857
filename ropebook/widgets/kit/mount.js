// The frame of every widget: it reads, measures, draws, says and takes down. See README.md.
import { announcer, html, widgetRoot } from "./dom.js";
import { frameScheduler, watch } from "./motion.js";
import { makeParts } from "./parts.js";
import { makeStage } from "./stage.js";
import { makeTask } from "./task.js";
import { pickWords } from "./text.js";

// Returns the `render` of a widget's default export.
export function mount({ words: table, traits, settle, linked, build }) {
  return ({ model, el }) => {
    const words = pickWords(table, document.documentElement.lang);
    let widget = null;
    const redraw = frameScheduler(() => update());
    const stage = makeStage({ model, traits, settle, redraw });
    const parts = makeParts({ ...stage.tools, visit: stage.visit, reset: stage.reset });
    const lesson = makeLesson();
    const address = linked?.({ model, redraw, ...stage.tools });
    const own = { words, model, redraw, address, lesson: lesson.node, say: lesson.say };
    widget = build({ ...own, ...stage.tools, ...parts.tools });
    const root = widgetRoot(words.title, widget.node);
    const summary = announcer(root);
    const task = makeTask(lesson.node, widget.overTask);
    el.append(root);
    address?.start(root);

    // All reading of the layout comes before all writing, or the browser lays the page out twice.
    function update() {
      const room = widget.measure?.(root.clientWidth < 600) ?? {};
      const plain = stage.tools.state();
      const state = { ...plain, ...widget.derive?.(plain) };
      widget.draw(state, room);
      parts.update(state);
      task.update(model.get("task"), { ...state, ...plain }, stage.own());
      if (widget.lesson) lesson.say(widget.lesson(state));
      if (!widget.silent?.(state)) summary.say(lesson.text());
    }

    const unwatch = watch(model, [...traits, "task"], root, redraw);
    update();
    return () => {
      stage.cancel();
      address?.stop();
      widget.stop?.();
      unwatch();
      summary.stop();
    };
  };
}

// The sentence that says what the picture shows. It comes from the words table, and may be bold.
function makeLesson() {
  const sentence = html("p");
  let said = null;
  return {
    node: html("div", { class: "rope-lesson" }, sentence),
    text: () => sentence.textContent,
    // A text of the table, or nodes where a part of it comes from a reader.
    say(content) {
      if (typeof content !== "string") sentence.replaceChildren(...content);
      else if (content !== said) sentence.innerHTML = content;
      said = content;
    },
  };
}
