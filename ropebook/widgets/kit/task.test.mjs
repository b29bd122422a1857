import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fakeStorage, node } from "./fake_page.mjs";
import { makeTask } from "./task.js";

const RULE = ["compare", ["name", "m"], [["==", ["value", 4]]]];
const TOLD = { name: "reach four", text: "Bring it to <b>4</b>.", said: "There it is.", rule: RULE };

function shown(kept) {
  fakePage();
  fakeStorage({ kept });
  const [frame, lesson, heard] = [node(), node(), []];
  frame.append(lesson, node("footer"));
  frame.addEventListener("rope-mark", ({ detail }) => heard.push(detail));
  const task = makeTask(lesson);
  return { task, frame, heard, box: () => frame.find("data-task", TOLD.name) };
}

test("a widget without a task shows none", () => {
  const { task, frame } = shown({});
  task.update(undefined, { m: 4 });
  task.update(null, { m: 4 });
  assert.equal(frame.children.length, 2);
});

test("a task stands under the lesson, and once done it is marked, said and stays so", () => {
  const { task, frame, heard, box } = shown({});
  task.update(TOLD, { m: 3 });
  assert.equal(frame.children[1], box());
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent], [false, ""]);
  task.update(TOLD, { m: 4 });
  task.update(TOLD, { m: 5 });
  task.update(TOLD, { m: 4 });
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent], [true, "There it is."]);
  assert.deepEqual(heard, [{ name: "reach four", value: true }]);
});

test("a task that was done before is ticked at once and says nothing", () => {
  const { task, heard, box } = shown({ "rope-book:marks": '{"reach four":true}' });
  task.update(TOLD, { m: 4 });
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent, heard], [true, "", []]);
});

test("the sentence stands only while the widget is as asked", () => {
  const { task, box } = shown({ "rope-book:marks": '{"reach four":true}' });
  const met = (m) => {
    task.update(TOLD, { m });
    return box().dataset.met;
  };
  assert.deepEqual([3, 4, 5].map(met), [false, true, false]);
});

test("another task takes the place of the first", () => {
  const { task, frame, box } = shown({});
  task.update(TOLD, { m: 3 });
  task.update({ ...TOLD, name: "another" }, { m: 3 });
  assert.deepEqual([frame.children.length, box()], [3, undefined]);
  task.update(null, { m: 3 });
  assert.equal(frame.children.length, 2);
});
