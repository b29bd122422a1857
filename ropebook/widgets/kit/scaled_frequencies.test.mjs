import assert from "node:assert/strict";
import test from "node:test";

import { frequencies, shownLength, turningPairs, yarnScale } from "./scaled_frequencies.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const plain = { type: "default", base: 10000, rotaryDim: 8, maxSeqLen: 4096, trained: null, factor: null };

test("frequencies are those of the definition", () => {
  frequencies(plain, 4096).inverse.forEach((f, i) => near(f, 10000 ** (-i / 4)));
  assert.equal(frequencies(plain, null).attentionFactor, 1);
});

test("linear slows all alike, and nothing else is touched", () => {
  const { unscaled, inverse, attentionFactor } = frequencies({ ...plain, type: "linear", factor: 4 }, 4096);
  inverse.forEach((f, i) => near(unscaled[i] / f, 4));
  assert.equal(attentionFactor, 1);
});

test("dynamic depends on the length beyond the context only", () => {
  const at = (length) => frequencies({ ...plain, type: "dynamic", factor: 2 }, length).inverse;
  assert.deepEqual(at(100), at(4096));
  near(at(4096)[3] / at(8192)[3], 3);
  near(at(8192)[0], 1);
});

test("alpha slows the last pair by itself, at every length", () => {
  const { unscaled, inverse } = frequencies({ ...plain, type: "ntk_alpha", alpha: 1000 }, 4096);
  near(unscaled[3] / inverse[3], 1000);
  near(inverse[0], 1);
});

test("a ramp leaves the fast and slows the slow", () => {
  const yarn = { ...plain, type: "yarn", factor: 8, trained: 512, beta_fast: 32, beta_slow: 1, truncate: false };
  const { unscaled, inverse, attentionFactor } = frequencies(yarn, 4096);
  near(unscaled[0] / inverse[0], 1);
  near(unscaled[3] / inverse[3], 8);
  near(attentionFactor, 0.1 * Math.log(8) + 1);
  near(frequencies({ ...yarn, mscale: 2, mscale_all_dim: 1 }, 1).attentionFactor, yarnScale(8, 2) / yarnScale(8, 1));
  assert.equal(frequencies({ ...yarn, attention_factor: 1.5 }, 1).attentionFactor, 1.5);
});

test("Llama 3 blends by turns", () => {
  const llama = { ...plain, type: "llama3", factor: 8, trained: 512, low_freq_factor: 1, high_freq_factor: 4 };
  const { unscaled, inverse } = frequencies(llama, 4096);
  assert.deepEqual([inverse[0], inverse[1]], [unscaled[0], unscaled[1]]);
  near(unscaled[3] / inverse[3], 8);
  const step = frequencies({ ...llama, high_freq_factor: 1 }, 4096);
  assert.deepEqual(
    unscaled.map((f, i) => f / step.inverse[i]),
    unscaled.map((f) => ((512 * f) / (2 * Math.PI) >= 1 ? 1 : 8)),
  );
});

test("p-RoPE stops the slow pairs", () => {
  const spec = { ...plain, type: "proportional", factor: 1, partial_rotary_factor: 0.5 };
  assert.deepEqual(frequencies(spec, 4096).inverse.slice(2), [0, 0]);
  assert.equal(turningPairs(spec), 2);
});

test("LongRoPE takes the long list beyond the trained length", () => {
  const lists = { short_factor: [1, 1, 1, 1], long_factor: [1, 2, 3, 4] };
  const spec = { ...plain, type: "longrope", factor: 4, trained: 512, ...lists };
  near(frequencies(spec, 512).inverse[3], 10000 ** (-3 / 4));
  near(frequencies(spec, 513).inverse[3], 10000 ** (-3 / 4) / 4);
});

test("0 stands for the longest length, and only where length matters", () => {
  assert.equal(shownLength({ type: "dynamic", maxSeqLen: 9 }, 0), 9);
  assert.equal(shownLength({ type: "dynamic", maxSeqLen: 9 }, 20), 20);
  assert.equal(shownLength({ type: "yarn", maxSeqLen: 9 }, 20), 9);
  assert.equal(shownLength({ type: "yarn", maxSeqLen: null, trained: 5 }, 20), null);
  assert.equal(shownLength({ type: "longrope", maxSeqLen: null, trained: 5 }, 0), 5);
});

test("a pair is slowed by the ratio of its frequencies, and one at rest without end", () => {
  const spec = { ...plain, type: "proportional", factor: 2, partial_rotary_factor: 0.5 };
  const { slowed, waves } = frequencies(spec, 4096);
  assert.deepEqual(slowed, [2, 2, Infinity, Infinity]);
  near(waves[1], 2 * 2 * Math.PI * 10000 ** (1 / 4));
  assert.equal(waves[3], Infinity);
});
