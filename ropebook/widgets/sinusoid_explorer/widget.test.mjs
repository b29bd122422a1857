import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

test("a walk keeps both rows on the map", () => {
  assert.equal(widget.walkFrom(20, 5), 20);
  for (const [position, offset] of [
    [110, 5],
    [127, 64],
    [10, -20],
    [127, -64],
    [64, 64],
    [100, 4],
  ]) {
    const from = widget.walkFrom(position, offset);
    for (const at of [from, from + 24]) {
      assert.ok(Math.min(at, at + offset) >= 0 && Math.max(at, at + offset) <= 127, `${position} ${offset}`);
    }
  }
});

test("labels of two hands stand apart, those of hands apart stay", () => {
  const [a, b] = widget.labelAngles(1, 1.1);
  assert.ok(a < 1 && b > 1.1 && b - a > 0.6);
  assert.deepEqual(widget.labelAngles(1, 2.5), [1, 2.5]);
  assert.deepEqual(widget.labelAngles(1, 1), [1, 1]);
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
