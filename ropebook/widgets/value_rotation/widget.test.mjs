import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const QUARTER = Math.PI / 2;
const head = (way, theta = QUARTER) => ({
  way,
  theta,
  query: 1,
  queries: [
    [1, 0],
    [2, 0],
  ],
  keys: [
    [1, 0],
    [0, 1],
  ],
  values: [
    [1, 0],
    [0, 1],
  ],
});

test("weights are a softmax of turned dot products, and keep through a shift", () => {
  // q: (2, 0) at 1 -> (0, 2); keys: (1, 0) stays, (0, 1) at 1 -> (-1, 0): both scores are 0
  for (const weight of widget.weightsOf(head("alone"), 0)) near(weight, 0.5);
  const still = widget.weightsOf(head("alone", 0), 0);
  near(still[0] / still[1], Math.exp(Math.SQRT2));
  for (const shift of [1, 5, 48]) {
    widget.weightsOf(head("alone", 0.3), shift).forEach((w, i) => near(w, widget.weightsOf(head("alone", 0.3), 0)[i]));
  }
});

test("values arrive turned by nothing, by n, or by n minus m", () => {
  assert.deepEqual(widget.turnsOf(head("alone", 1), 5), [0, 0]);
  assert.deepEqual(widget.turnsOf(head("turned", 1), 5), [5, 6]);
  assert.deepEqual(widget.turnsOf(head("turned_back", 1), 5), [-1, 0]);
});

test("a quarter turn by hand", () => {
  // weights are halves; values (1, 0) and (0, 1)
  const tip = (way, shift) => widget.outputOf(head(way), shift);
  const is = ([x, y], [a, b]) => {
    near(x, a);
    near(y, b);
  };
  is(tip("alone", 0), [0.5, 0.5]);
  is(tip("turned", 0), [0, 0]); // (1, 0) stays, (0, 1) at 1 -> (-1, 0)
  is(tip("turned_back", 0), [0, 0]); // (1, 0) by -90 degrees -> (0, -1), (0, 1) stays
});

test("only turned values make the output spin", () => {
  const moved = (way, shift) => {
    const state = {
      ...head(way, 0.25),
      values: [
        [1, 0],
        [1, 0.5],
      ],
    };
    return widget.apart(widget.outputOf(state, shift), widget.outputOf(state, 0));
  };
  for (const shift of [1, 7, 30]) {
    near(moved("alone", shift), 0);
    near(moved("turned_back", shift), 0);
    assert.ok(moved("turned", shift) > 0.2);
  }
});

test("a push stays on the ruler", () => {
  assert.equal(widget.pushFrom(0, 48), 24);
  assert.equal(widget.pushFrom(24, 48), 24);
  assert.equal(widget.pushFrom(25, 48), -24);
});

test("each state has its sentence", () => {
  const kind = (way, theta, shift, change) => widget.lessonKind({ way, theta, shift, change });
  assert.equal(kind("turned", 0, 4, 0), "still");
  assert.equal(kind("turned", 0.1, 0, 0), "begin");
  assert.equal(kind("turned", 0.1, 4, 1), "turned");
  assert.equal(kind("turned", 0.1, 4, 0.001), "round");
  assert.equal(kind("alone", 0.1, 4, 0), "alone");
  assert.equal(kind("turned_back", 0.1, 4, 0), "back");
});
