import assert from "node:assert/strict";
import test from "node:test";

import { alongKey, dragAlong, vectorHandle } from "./drag.js";
import { fakePage, node } from "./fake_page.mjs";

fakePage();

test("keys move along a line and stay on it", () => {
  const line = { from: 0, to: 4 };
  assert.equal(alongKey("ArrowRight", 4, line), 4);
  assert.equal(alongKey("ArrowLeft", 2, line), 1);
  assert.equal(alongKey("ArrowUp", 0, { ...line, step: 2 }), 2);
  assert.deepEqual([alongKey("Home", 2, line), alongKey("End", 2, line), alongKey("x", 2, line)], [0, 4, null]);
});

test("what is grabbed keeps its place under the pointer, and stays on its line", () => {
  const told = [];
  const grabbed = node();
  let current = 2;
  dragAlong(grabbed, {
    range: () => ({ from: 0, to: 4, current }),
    toValue: (event) => event.clientX / 10,
    onMove: (value) => told.push((current = value)),
    onKey: (value) => told.push(`key ${value}`),
    onGrab: (value) => told.push(`grab ${value}`),
    onDrop: () => told.push("drop"),
  });
  grabbed.fire("pointermove", { clientX: 90 });
  grabbed.fire("pointerdown", { clientX: 25 });
  grabbed.fire("pointermove", { clientX: 30 });
  grabbed.fire("pointermove", { clientX: 900 });
  grabbed.fire("pointerup");
  grabbed.fire("pointerup");
  grabbed.fire("keydown", { key: "ArrowRight" });
  grabbed.fire("keydown", { key: "Home" });
  assert.deepEqual(told, ["grab 2", 2.5, 4, "drop", "key 0"]);
});

test("a vector moves by keys within its disc, and back to where it was", () => {
  const moves = [];
  const parent = node("svg");
  const place = vectorHandle(parent, {
    ...{ name: "q", label: "q", description: "point", maxLength: 2 },
    toPoint: (x, y) => [x, y],
    onMove: (vector) => moves.push(vector),
  });
  place(0, 0, [1, 0.5], "1, 0.5");
  const [handle] = parent.children;
  for (const key of ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"]) handle.fire("keydown", { key });
  assert.deepEqual(moves.at(-1), [1, 0.5]);
  handle.fire("pointerdown", { clientX: 1, clientY: 0.5 });
  handle.fire("pointermove", { clientX: 30, clientY: 40 });
  assert.ok(Math.abs(Math.hypot(...moves.at(-1)) - 2) < 1e-9);
});
