import assert from "node:assert/strict";
import test from "node:test";

import * as codes from "./codes.js";

const near = (actual, expected, by = 1e-9) =>
  assert.ok(Math.abs(actual - expected) < by, `${actual} is not ${expected}`);
const counter = codes.codeFrequencies({ code: "binary" });
const transformer = codes.codeFrequencies({ code: "transformer", model_dim: 32, base: 10000 });
const rowsOf = (binary, inverse) => Array.from({ length: 256 }, (_, i) => codes.codeOf(i - 64, binary, inverse));
const innerAt = (binary, inverse) => (m, offset) =>
  codes.innerProduct(codes.codeOf(m, binary, inverse), codes.codeOf(m + offset, binary, inverse));

test("the counter's waves have the periods of its bits, 2 to 128", () => {
  const periods = counter.map((frequency) => (2 * Math.PI) / frequency);
  [2, 4, 8, 16, 32, 64, 128].forEach((period, i) => near(periods[i], period));
});

test("the Transformer's hands start at one radian per position and slow down tenfold every four pairs", () => {
  assert.equal(transformer.length, 16);
  [1, 0.1, 0.01, 0.001].forEach((frequency, i) => near(transformer[4 * i], frequency, 1e-12));
});

test("a bit row counts, lowest bit first, and wraps around after 127 and before 0", () => {
  assert.deepEqual(codes.codeOf(6, true, counter), [-1, 1, 1, -1, -1, -1, -1]);
  assert.deepEqual(codes.codeOf(6.9, true, counter), codes.codeOf(6, true, counter));
  assert.deepEqual(codes.codeOf(130, true, counter), codes.codeOf(2, true, counter));
  assert.deepEqual(codes.codeOf(-1, true, counter), codes.codeOf(127, true, counter));
});

test("a bit is the half of the dial that its hand stands in", () => {
  for (let m = 0; m < 128; m += 1) {
    codes.codeOf(m, true, counter).forEach((bit, i) => {
      const turned = (m * counter[i] + 1e-9) % (2 * Math.PI);
      assert.equal(bit, turned < Math.PI ? -1 : 1, `bit ${i} of ${m}`);
    });
  }
});

test("a wave row holds sine, then cosine, of each hand", () => {
  const row = codes.codeOf(5, false, transformer);
  assert.equal(row.length, 32);
  near(row[0], Math.sin(5));
  near(row[1], Math.cos(5));
  near(row[8], Math.sin(0.5));
  near(row[9], Math.cos(0.5));
});

test("each pair adds the cosine of its turn, wherever the rows are", () => {
  for (const m of [0, 20, 99.5]) {
    const pairs = codes.pairProducts(codes.codeOf(m, false, transformer), codes.codeOf(m + 5, false, transformer), 2);
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
  const bits = codes.innerRange(rowsOf(true, counter));
  assert.deepEqual([bits.low[65], bits.high[65]], [-7, 5]);
  assert.deepEqual([bits.low[64], bits.high[64]], [7, 7]);
  for (const inverse of [counter, transformer]) {
    const waves = codes.innerRange(rowsOf(false, inverse));
    waves.low.forEach((low, i) => near(low, waves.high[i]));
  }
});

test("the curve falls with bumps: 5 steps away is nearer than 4", () => {
  const inner = innerAt(false, transformer);
  near(inner(0, 0), 16);
  assert.ok(inner(0, 5) > inner(0, 4) && inner(0, 6) > inner(0, 5));
  near(inner(0, -5), inner(0, 5));
});

test("all that follows from a code is known by its settings", () => {
  const [bits, waves] = [codes.shapeOf("binary", 32, 1e4), codes.shapeOf("transformer", 8, 100)];
  assert.deepEqual([bits.kind, bits.width, bits.most, bits.least, bits.alike], ["binary", 1, 7, -7, false]);
  assert.deepEqual([waves.kind, waves.width, waves.most, waves.alike], ["waves", 2, 4, true]);
  assert.equal(JSON.stringify(waves), '["transformer",8,100]');
  assert.deepEqual(waves.row(3), codes.codeOf(3, false, waves.inverse));
  near(waves.row(3.5)[0], Math.sin(3.5));
});

test("a curve is highest at its place, and that of waves is the same everywhere", () => {
  const shape = codes.shapeOf("transformer", 32, 1e4);
  const [here, there] = [codes.curveOf(shape, 20), codes.curveOf(shape, 90)];
  assert.equal(Math.max(...here), here[codes.REACH]);
  here.forEach((value, i) => near(value, there[i]));
});
