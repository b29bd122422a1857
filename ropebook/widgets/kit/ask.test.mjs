import assert from "node:assert/strict";
import test from "node:test";

import { asks, freshId } from "./ask.js";
import { fakeModel, fakePage, fakeStorage, node } from "./fake_page.mjs";

const WORDS = { en: { done: "solved" } };
const TOLD = { name: "two", question: "What is <b>two</b>?" };

function mounted({ kept = {}, answer = null, done = false } = {}) {
  fakePage();
  const storage = fakeStorage({ kept });
  const [model, el, seen] = [fakeModel({ definition: TOLD, answer, done }), node(), []];
  let tools = null;
  const render = asks({
    words: WORDS,
    kind: "answer",
    build(given) {
      tools = given;
      const show = (text) => {
        seen.push(text);
        return {
          done: text === "2",
          message: text === "2" ? "Right." : "No.",
          verdict: text === "2" ? "right" : "wrong",
        };
      };
      return { nodes: [given.said], fits: (text) => text === "2", show, stop: () => seen.push("stopped") };
    },
  });
  const unmount = render({ model, el });
  return { model, tools, seen, unmount, storage, root: el.children[0] };
}

test("no id is given twice", () => {
  assert.equal(new Set(Array.from({ length: 100 }, freshId)).size, 100);
});

test("a question that nobody has answered says nothing", () => {
  const { root, tools, seen } = mounted();
  assert.deepEqual([root.attributes["data-answer"], root.dataset.done, seen], ["two", false, []]);
  assert.equal(root.attributes["aria-labelledby"], tools.ids.question);
  assert.deepEqual([tools.said.textContent, tools.said.dataset.verdict], ["", ""]);
});

test("a wrong answer is said and not kept; a right one is kept, and stays done", () => {
  const { model, tools, root, storage } = mounted();
  tools.give("3");
  assert.deepEqual([tools.said.textContent, model.get("done"), storage], ["No.", false, {}]);
  tools.give("2");
  assert.deepEqual([tools.said.textContent, root.dataset.done], ["Right.", true]);
  assert.deepEqual(storage, { "rope-book:marks": '{"two":"2"}' });
  tools.give("3");
  assert.deepEqual([tools.said.textContent, root.dataset.done, model.get("answer")], ["No.", true, "3"]);
  assert.equal(storage["rope-book:marks"], '{"two":"2"}');
});

test("what was done before is shown again where it still fits, and an answer of the model stays", () => {
  const two = { "rope-book:marks": '{"two":"2"}' };
  const again = mounted({ kept: { ...two } });
  assert.deepEqual([again.model.get("answer"), again.root.dataset.done], ["2", true]);
  const changed = mounted({ kept: { "rope-book:marks": '{"two":["1"]}' } });
  assert.deepEqual([changed.model.get("answer"), changed.root.dataset.done], [null, false]);
  assert.deepEqual(mounted({ kept: two, answer: "3" }).seen, ["3"]);
});

test("an answer that comes by the model is shown, until the widget is taken down", () => {
  const { model, seen, unmount } = mounted();
  model.set("answer", "3");
  unmount();
  model.set("answer", "2");
  assert.deepEqual([seen, model.listeners()], [["3", "stopped"], 0]);
});

test("the mark is about the answer that stands there, what is kept is not", () => {
  const { tools, root } = mounted();
  const seen = (answer) => {
    tools.give(answer);
    const { ticked, done, verdict } = root.dataset;
    return [ticked, done, verdict, root.find("role", "img") !== undefined];
  };
  assert.deepEqual(seen("3"), [false, false, "wrong", false]);
  assert.deepEqual(seen("2"), [true, true, "right", true]);
  assert.deepEqual(seen("3"), [false, true, "wrong", false]);
  assert.deepEqual(seen("2"), [true, true, "right", true]);
});
