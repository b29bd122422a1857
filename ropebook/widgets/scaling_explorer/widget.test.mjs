import assert from "node:assert/strict";
import test from "node:test";

import { survey } from "./methods.js";
import widget, { lessonOf, rulesOf } from "./widget.js";

const limits = { factor: [1, 64], base: [1e3, 1e8], head_dim: [8, 256], original_length: [128, 131072] };
const rules = rulesOf({ methods: ["default", "yarn"], limits });

test("an address may ask for what Python allows and for nothing else", () => {
  assert.equal(rules.method("yarn"), "yarn");
  assert.equal(rules.held("pi"), undefined);
  assert.deepEqual([rules.factor("2.5"), rules.base("500000"), rules.head_dim("96")], [2.5, 500000, 96]);
  assert.deepEqual(
    [rules.factor("0.5"), rules.head_dim("95"), rules.original_length("4096.5")],
    Array(3).fill(undefined),
  );
});

const parts = ["slow", "fast", "growing"];
const words = { methods: { yarn: "YaRN" }, lessons: Object.fromEntries(parts.map((name) => [name, `${name} `])) };
const saidOf = (changes) => {
  const state = {
    ...{ method: "yarn", held: "linear", factor: 4, base: 10000, head_dim: 128 },
    ...{ original_length: 4096, new_length: 16384, new_base: 1000, share: 0.75, ...changes },
  };
  return lessonOf(words, { ...state, ...survey(state) }).trim();
};

test("the sentence has slow hands and fast ones, and says when the next token changes all", () => {
  assert.equal(saidOf({}), "slow fast");
  assert.equal(saidOf({ method: "dynamic_ntk" }), "slow fast growing");
  assert.equal(saidOf({ method: "dynamic_ntk", new_length: 2048 }), "slow fast");
});

test("the sentence holds the state's numbers", () => {
  const [slow, fast] = ["{outside}/{short} ", "{inVain}/{round} {before} {step}"];
  const table = { ...words, lessons: { slow, fast } };
  const state = {
    ...{ method: "linear", held: "linear", factor: 4, base: 10000, head_dim: 128 },
    ...{ original_length: 4096, new_length: 16384, new_base: 1e6, share: 0.75 },
  };
  assert.equal(lessonOf(table, { ...state, ...survey(state) }), "0/18 46/46 57.3° 14.3°");
});

test("the module renders", () => assert.equal(typeof widget.render, "function"));
