import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("one bug has a sentence of its own, and so have two pairs of them", () => {
  const kind = (on, hidden = []) => widget.lessonKind({ on, hidden });
  assert.equal(kind([]), "none");
  assert.equal(kind(["early"]), "early");
  assert.equal(kind(["q_sign", "k_sign"], ["push"]), "signs");
  assert.equal(kind(["k_seat", "q_seat"]), "seats");
  assert.equal(kind(["q_sign", "k_seat"]), "many");
  assert.equal(kind(["q_sign", "k_sign", "early"], ["alike"]), "cancel");
});

test("a right hand reaches the rim, up for a positive second number", () => {
  const [x, y] = widget.tip([10, 10], 1, [0, 0, 0, 2], 5);
  near(x, 10);
  near(y, 5);
});

test("a hand is as long as its share of the right one, up to a little more", () => {
  const right = [3, 4, 1, 0];
  const lengthOf = (turned) => {
    const [x, y] = widget.handTip([0, 0], 0, turned, right, 20);
    return Math.hypot(x, y);
  };
  near(lengthOf([-4, 3]), 20);
  near(lengthOf([0, 2.5]), 10);
  near(lengthOf([100, 0]), 25);
  const [x, y] = widget.handTip([0, 0], 1, [9, 9, 0, 1], right, 20);
  near(x, 0);
  near(y, -20);
});
