import assert from "node:assert/strict";
import test from "node:test";

import { cameRound, distancesTo, equalBase, scaledBy, slowdowns, smoothMeans, staysWithin, survey } from "./methods.js";

const near = (actual, expected, limit = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= limit * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
const llama2 = {
  ...{ method: "yarn", held: "linear", factor: 4, base: 10000, head_dim: 128 },
  ...{ original_length: 4096, new_length: 16384, new_base: 1e6, share: 0.75 },
};
const stretchOf = (method, changes = {}) => {
  const state = { ...llama2, ...changes };
  return slowdowns(scaledBy("default", state).inverse, scaledBy(method, state).inverse);
};

test("the two NTKs end at the same slowdown and begin at another", () => {
  const [aware, fixed] = ["ntk_aware", "ntk_fixed"].map((method) => stretchOf(method));
  near(aware[0], 1);
  near(fixed[0], 4 ** (2 / 128));
  near(aware[63], 4);
  near(fixed[63], 4);
});

test("dynamic NTK grows with the length, and does nothing up to the original one", () => {
  for (const times of stretchOf("dynamic_ntk", { new_length: 4096 })) near(times, 1);
  near(stretchOf("dynamic_ntk")[63], 13);
});

test("ramps leave hands with many turns and slow those with less than one", () => {
  for (const [method, turns] of [
    ["ntk_by_parts", 32],
    ["llama3", 4],
  ]) {
    const stretch = stretchOf(method);
    scaledBy("default", llama2).inverse.forEach((f, i) => {
      const turned = (4096 * f) / (2 * Math.PI);
      if (turned >= turns) near(stretch[i], 1);
      else if (turned <= 1) near(stretch[i], 4);
      else assert.ok(stretch[i] > 1 && stretch[i] < 4);
    });
  }
});

test("hands stand still beyond the share that turns, and the rest are left alone", () => {
  const stretch = stretchOf("proportional", { share: 0.5 });
  assert.deepEqual(stretch.slice(0, 32), Array(32).fill(1));
  assert.deepEqual(stretch.slice(32), Array(32).fill(Infinity));
});

test("a hand stays within its arc if it turns no further, or has seen the whole circle", () => {
  assert.deepEqual(staysWithin([1, 0.001, 0.001, 0.001], [1, 0.00025, 0.00026, 0], 1000, 4000), [
    true,
    true,
    false,
    true,
  ]);
  assert.deepEqual(staysWithin([0.001], [0.002], 1000, 1000), [false]);
});

test("only powers of one number have a base", () => {
  near(equalBase(scaledBy("ntk_aware", llama2).inverse), 10000 * 4 ** (128 / 126), 1e-11);
  near(equalBase(scaledBy("raised_base", llama2).inverse), 1e6, 1e-11);
  for (const method of ["linear", "ntk_fixed", "yarn", "proportional"]) {
    assert.ok(Number.isNaN(equalBase(scaledBy(method, llama2).inverse)), method);
  }
});

test("a hand has come round where its turn is no longer than the text", () => {
  assert.deepEqual(cameRound([1, (2 * Math.PI) / 1000, 0.0062], 1000), [true, true, false]);
});

test("what helps slow hands and what is done to fast ones is counted apart", () => {
  for (const [method, outside, inVain] of [
    ["default", 18, 0],
    ["linear", 0, 46],
    ["ntk_aware", 17, 45],
    ["yarn", 0, 25],
  ]) {
    const told = survey({ ...llama2, method });
    assert.deepEqual([told.outside, told.fell_short], [outside, 18], method);
    assert.deepEqual([told.slowed_in_vain, told.came_round], [inVain, 46], method);
  }
  const still = survey({ ...llama2, method: "proportional", share: 0 });
  assert.deepEqual([still.first_step_before, still.first_step], [1, 0]);
  assert.equal(still.slowed_in_vain, 46);
});

test("distances go from 1 to the last, each as much farther as the one before", () => {
  assert.deepEqual(distancesTo(1000, 3).map(Math.round), [1, 10, 100, 1000]);
});

test("a smoothed mean is the mean of many cosines around its distance", () => {
  const inverse = [1, 0.1, 0.003, 0];
  const means = smoothMeans(inverse, 4096, 100);
  const aside = Math.round((0.125 * 100) / Math.log(4096)) / 100;
  for (const i of [0, 17, 50, 100]) {
    const [from, to] = [4096 ** (i / 100 - aside), 4096 ** (i / 100 + aside)];
    const steps = 20000;
    let sum = 0;
    for (let step = 0; step < steps; step += 1) {
      const distance = from + ((to - from) * (step + 0.5)) / steps;
      for (const f of inverse) sum += Math.cos(distance * f) / inverse.length / steps;
    }
    near(means[i], sum, 1e-5);
  }
});

test("slowing all hands alike pulls the curve wide: it is the same one, moved on a logarithmic axis", () => {
  const state = { ...llama2, factor: 8 };
  const [before, after] = ["default", "linear"].map((method) =>
    smoothMeans(scaledBy(method, state).inverse, 8 ** 5, 50),
  );
  for (let i = 0; i + 10 <= 50; i += 1) near(after[i + 10], before[i], 1e-9);
});
