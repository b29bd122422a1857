import assert from "node:assert/strict";
import test from "node:test";

import { columnsFor, labelsOf } from "./widget.js";

test("before the bet no option has a label", () => {
  assert.deepEqual(labelsOf({ right: true }, 0, null), []);
});

test("then the right one and the bet have theirs, be they the same or not", () => {
  const options = [{ right: false }, { right: true }, { right: false }];
  const labels = (bet) => options.map((option, i) => labelsOf(option, i, bet));
  assert.deepEqual(labels(0), [["first"], ["right"], []]);
  assert.deepEqual(labels(1), [[], ["right", "first"], []]);
});

test("short options stand side by side, four of middle length in two rows, others below each other", () => {
  const options = (...lengths) => lengths.map((length) => ({ text: "a".repeat(length) }));
  assert.equal(columnsFor(options(20, 28, 5)), 3);
  assert.equal(columnsFor(options(20, 40, 5)), 1);
  assert.equal(columnsFor(options(40, 42)), 2);
  assert.equal(columnsFor(options(60, 20, 30, 40)), 2);
  assert.equal(columnsFor(options(90, 20, 30, 40)), 1);
});
