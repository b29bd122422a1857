import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

const near = (actual, expected, by = 1e-9) =>
  assert.ok(Math.abs(actual - expected) < by, `${actual} is not ${expected}`);
const counter = widget.codeFrequencies({ code: "binary" });
const transformer = widget.codeFrequencies({ code: "transformer", model_dim: 32, base: 10000 });
const rowsOf = (binary, inverse) => Array.from({ length: 256 }, (_, i) => widget.codeOf(i - 64, binary, inverse));
const innerAt = (binary, inverse) => (m, offset) =>
  widget.innerProduct(widget.codeOf(m, binary, inverse), widget.codeOf(m + offset, binary, inverse));

test("the counter's waves have the periods of its bits, 2 to 128", () => {
  const periods = counter.map((frequency) => (2 * Math.PI) / frequency);
  [2, 4, 8, 16, 32, 64, 128].forEach((period, i) => near(periods[i], period));
});

test("the Transformer's hands start at one radian per position and slow down tenfold every four pairs", () => {
  assert.equal(transformer.length, 16);
  [1, 0.1, 0.01, 0.001].forEach((frequency, i) => near(transformer[4 * i], frequency, 1e-12));
});

test("a bit row counts, lowest bit first, and wraps around after 127 and before 0", () => {
  assert.deepEqual(widget.codeOf(6, true, counter), [-1, 1, 1, -1, -1, -1, -1]);
  assert.deepEqual(widget.codeOf(6.9, true, counter), widget.codeOf(6, true, counter));
  assert.deepEqual(widget.codeOf(130, true, counter), widget.codeOf(2, true, counter));
  assert.deepEqual(widget.codeOf(-1, true, counter), widget.codeOf(127, true, counter));
});

test("a bit is the half of the dial that its hand stands in", () => {
  for (let m = 0; m < 128; m += 1) {
    widget.codeOf(m, true, counter).forEach((bit, i) => {
      const turned = (m * counter[i] + 1e-9) % (2 * Math.PI);
      assert.equal(bit, turned < Math.PI ? -1 : 1, `bit ${i} of ${m}`);
    });
  }
});

test("a wave row holds sine, then cosine, of each hand", () => {
  const row = widget.codeOf(5, false, transformer);
  assert.equal(row.length, 32);
  near(row[0], Math.sin(5));
  near(row[1], Math.cos(5));
  near(row[8], Math.sin(0.5));
  near(row[9], Math.cos(0.5));
});

test("each pair adds the cosine of its turn, wherever the rows are", () => {
  for (const m of [0, 20, 99.5]) {
    const pairs = widget.pairProducts(
      widget.codeOf(m, false, transformer),
      widget.codeOf(m + 5, false, transformer),
      2,
    );
    transformer.forEach((frequency, i) => near(pairs[i], Math.cos(5 * frequency)));
    near(
      pairs.reduce((a, b) => a + b),
      11.777382878638058,
    );
  }
});

test("from 7 to 8 four bits flip, from 8 to 9 one", () => {
  const inner = innerAt(true, counter);
  assert.deepEqual([inner(7, 1), inner(8, 1), inner(63, 1)], [-1, 5, -7]);
});

test("places disagree about an offset of bits and agree about one of waves", () => {
  const bits = widget.innerRange(rowsOf(true, counter));
  assert.deepEqual([bits.low[65], bits.high[65]], [-7, 5]);
  assert.deepEqual([bits.low[64], bits.high[64]], [7, 7]);
  for (const inverse of [counter, transformer]) {
    const waves = widget.innerRange(rowsOf(false, inverse));
    waves.low.forEach((low, i) => near(low, waves.high[i]));
  }
});

test("the curve falls with bumps: 5 steps away is nearer than 4", () => {
  const inner = innerAt(false, transformer);
  near(inner(0, 0), 16);
  assert.ok(inner(0, 5) > inner(0, 4) && inner(0, 6) > inner(0, 5));
  near(inner(0, -5), inner(0, 5));
});

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

test("colors run from end to end over the middle", () => {
  const [low, middle, high] = ["#E69F00", " #F6F7F9", "#9F4576"].map(widget.channels);
  assert.deepEqual(low, [230, 159, 0]);
  assert.deepEqual(widget.blend(-1, low, middle, high), low);
  assert.deepEqual(widget.blend(0, low, middle, high), middle);
  assert.deepEqual(widget.blend(1, low, middle, high), high);
});

test("one end of the scale is dimmed on a dark page only", () => {
  assert.deepEqual(widget.deepened([232, 165, 203], [246, 247, 249]), [232, 165, 203]);
  assert.deepEqual(widget.deepened([232, 165, 203], [29, 35, 44]), [175, 129, 158]);
});

test("a negative quantity has a minus sign", () => {
  assert.equal(widget.signedQuantity(-0.5), "−0.5");
  assert.equal(widget.signedQuantity(40), "40");
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
