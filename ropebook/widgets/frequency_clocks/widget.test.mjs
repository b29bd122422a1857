import assert from "node:assert/strict";
import test from "node:test";

import { inverseFrequencies } from "../kit/math.js";
import * as widget from "./widget.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("frequencies go from one radian per token down to little more than one over the base", () => {
  const inverse = inverseFrequencies(4, 10000);
  assert.equal(inverse.length, 2);
  near(inverse[0], 1);
  near(inverse[1], 0.01);
});

test("half of RoFormer's hands never complete a turn within 512 tokens", () => {
  const never = widget.neverTurn(inverseFrequencies(64, 10000), 512);
  assert.deepEqual([never.length, never[0], never.at(-1)], [16, 16, 31]);
});

test("a larger base stops more hands of Llama 3 short", () => {
  const count = (base) => widget.neverTurn(inverseFrequencies(128, base), 8192).length;
  assert.deepEqual([count(10000), count(500000)], [14, 29]);
});

test("a played clock starts where it stands, never jumps and speeds up", () => {
  for (const start of [0, 5, 12, 400]) {
    near(widget.playedPosition(start, 0), start);
    let previous = start;
    for (let seconds = 0.05; seconds < 20; seconds += 0.05) {
      const now = widget.playedPosition(start, seconds);
      assert.ok(now > previous && now - previous < 0.05 * (5 + 0.4 * now));
      previous = now;
    }
  }
});

test("dials fit a box that is as high for any number of them", () => {
  for (const width of [200, 286, 336, 500, 800]) {
    const heights = new Set();
    for (let count = 1; count <= 128; count += 1) {
      const { columns, rows, height, pitch, radius } = widget.gridShape(count, width);
      assert.ok(columns * rows >= count && columns * (rows - 1) < count, `${count} in ${width}`);
      assert.ok(columns * pitch[0] < width && rows * pitch[1] <= height + 1e-9, `${count} in ${width}`);
      assert.ok(2 * radius < Math.min(...pitch), `${count} overlap in ${width}`);
      if (width >= 286) assert.ok(radius > 7.5, `${count} in ${width}: ${radius}`);
      heights.add(height);
    }
    assert.equal(heights.size, 1);
  }
});

test("ticks are the powers of ten inside the axis", () => {
  assert.deepEqual(widget.decadeTicks(4, 2000), [1, 2, 3]);
  assert.deepEqual(widget.decadeTicks(0.5, 10), [0, 1]);
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));

test("running clocks tell how far the fastest and the slowest hand have come", () => {
  const told = widget.told({ position: 44.2, inverse: [1, 0.01] });
  assert.deepEqual(told, { position: "44", fast: "7.03", slow: "0.0703", slowest: 1 });
});
