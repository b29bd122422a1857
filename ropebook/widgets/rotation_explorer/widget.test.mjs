import assert from "node:assert/strict";
import test from "node:test";

import * as kit from "../kit/math.js";
import * as widget from "./widget.js";
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const q = [1.3, 0.4];
const k = [0.9, -1.0];

test("the curve is the dot product of the rotated vectors", () => {
  for (const [m, n, theta] of [
    [3, 7, 0.5],
    [24, 0, 3.1],
    [0, 0, 1],
    [5, 5, 2],
  ]) {
    near(widget.scoreAt(q, k, theta, n - m), kit.dot(kit.rotate(q, m * theta), kit.rotate(k, n * theta)));
  }
});

test("the score does not see where the pair stands, and does see its distance", () => {
  const score = (m, n) => kit.dot(kit.rotate(q, m * 0.5), kit.rotate(k, n * 0.5));
  near(score(3, 7), score(11, 15));
  assert.ok(Math.abs(score(3, 7) - score(3, 8)) > 0.1);
});

test("the angle between is unsigned, and unknown for a vector without direction", () => {
  near(widget.angleBetween([1, 0], [0, -2]), Math.PI / 2);
  near(widget.angleBetween([1, 0], [-3, 0]), Math.PI);
  assert.ok(Number.isNaN(widget.angleBetween([0, 0], [1, 0])));
});

test("moving together keeps the distance at both ends of the ruler", () => {
  assert.deepEqual(widget.moveTogether(3, 7, 5, 24), [8, 12]);
  assert.deepEqual(widget.moveTogether(3, 7, 21, 24), [20, 24]);
  assert.deepEqual(widget.moveTogether(3, 7, -7, 24), [0, 4]);
  assert.deepEqual(widget.moveTogether(0, 24, 3, 24), [0, 24]);
});

test("a walk goes up where there is room, else down", () => {
  assert.equal(widget.roomFor(3, 7, 24), 8);
  assert.equal(widget.roomFor(20, 22, 24), -8);
  assert.equal(widget.roomFor(0, 20, 24), 4);
});

test("the axis holds the whole curve", () => {
  assert.deepEqual([0, 0.5, 0.6, 1, 1.83, 4].map(widget.axisLimit), [0.5, 0.5, 1, 1, 2, 4]);
});

test("many turns stay inside their ring", () => {
  for (const turns of [0.2, 1, 3, 12]) assert.ok(widget.spiralGrowth(turns * kit.TAU) * turns <= 0.2 + 1e-12);
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
