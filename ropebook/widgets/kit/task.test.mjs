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
  task.update(undefined, { m: 4 }, true);
  task.update(null, { m: 4 }, true);
  assert.equal(frame.children.length, 2);
});

test("a task stands under another node where it is told to", () => {
  fakePage();
  fakeStorage({ kept: {} });
  const [frame, box, lesson] = [node(), node(), node()];
  box.append(lesson);
  frame.append(box, node("footer"));
  makeTask(lesson, box).update(TOLD, { m: 3 }, true);
  assert.equal(frame.children[1], frame.find("data-task", TOLD.name));
});

test("a task stands under the lesson, and once done it is marked, said and stays so", () => {
  const { task, frame, heard, box } = shown({});
  task.update(TOLD, { m: 3 }, true);
  assert.equal(frame.children[1], box());
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent], [false, ""]);
  task.update(TOLD, { m: 4 }, true);
  task.update(TOLD, { m: 5 }, true);
  task.update(TOLD, { m: 4 }, true);
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent], [true, "There it is."]);
  assert.deepEqual(heard, [{ name: "reach four", value: true }]);
});

test("a task that was done before is ticked at once and says nothing", () => {
  const { task, heard, box } = shown({ "rope-book:marks": '{"reach four":true}' });
  task.update(TOLD, { m: 4 }, true);
  assert.deepEqual([box().dataset.done, box().find("role", "status").textContent, heard], [true, "", []]);
});

test("the sentence stands only while the widget is as asked", () => {
  const { task, frame } = shown({ "rope-book:marks": '{"reach four":true}' });
  const met = (m) => {
    task.update(TOLD, { m }, true);
    return frame.children[0].dataset.met;
  };
  assert.deepEqual([3, 4, 5].map(met), [false, true, false]);
});

test("another task takes the place of the first", () => {
  const { task, frame, box } = shown({});
  task.update(TOLD, { m: 3 }, true);
  task.update({ ...TOLD, name: "another" }, { m: 3 }, true);
  assert.deepEqual([frame.children.length, box()], [3, undefined]);
  task.update(null, { m: 3 }, true);
  assert.equal(frame.children.length, 2);
});

test("what a button brings ticks nothing; what the reader brings does, from where it is not met", () => {
  const { task, frame, heard, box } = shown({});
  const seen = (m, own) => {
    task.update(TOLD, { m }, own);
    return [box().dataset.done, box().dataset.given, frame.children[0].dataset.met];
  };
  assert.deepEqual(seen(4, false), [false, true, false]);
  assert.deepEqual(seen(4, true), [false, true, false], "a move that changes nothing of it");
  assert.deepEqual(seen(3, true), [false, false, false]);
  assert.deepEqual(seen(4, true), [true, false, true]);
  assert.deepEqual(seen(3, true), [true, false, false]);
  assert.deepEqual(seen(4, false), [true, false, true]);
  assert.equal(heard.length, 1);
});
