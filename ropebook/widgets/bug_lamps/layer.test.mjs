import assert from "node:assert/strict";
import test from "node:test";

import { inverseFrequencies, rotate } from "../kit/math.js";
import * as small from "./layer.js";

const near = (actual, expected, limit = 1e-9) =>
  assert.ok(Math.abs(actual - expected) < limit, `${actual} is not ${expected}`);
const X = [1, 2, 3, 4, 5, 6, 7, 8];
const INVERSE = inverseFrequencies(8, 100);

// A layer with numbers of its own: the laws hold for any.
let seed = 7;
const draw = () => {
  seed = (seed * 48271) % 2147483647;
  return (2 * seed) / 2147483647 - 1;
};
const matrix = (rows) => Array.from({ length: rows }, () => Array.from({ length: 8 }, draw));
const LAYER = { base: 100, example: { embeddings: matrix(5), w_q: matrix(8), w_k: matrix(8), w_v: matrix(8) } };
const litBy = (...bugs) => small.noticed(LAYER, Object.fromEntries(bugs.map((bug) => [bug, true])), 1e-6).lit;

test("a number keeps 8 significant bits, and ties go to the even one", () => {
  for (const exact of [0, 1, 7, 255, 256, 258, 9984]) assert.equal(small.bfloat16(exact), exact);
  assert.equal(small.bfloat16(257), 256);
  assert.equal(small.bfloat16(259), 260);
  assert.equal(small.bfloat16(4095), 4096);
  for (let word = 0; word < 5; word += 1) assert.equal(small.bfloat16(10_000 + word), 9984);
});

test("without a bug neighbors turn, each pair at its own speed", () => {
  const turned = small.turned(X, 3, {}, "q", 100);
  for (let pair = 0; pair < 4; pair += 1) {
    const right = rotate([X[2 * pair], X[2 * pair + 1]], 3 * INVERSE[pair]);
    [0, 1].forEach((part) => near(turned[2 * pair + part], right[part]));
  }
});

test("a sign and seats belong to one side", () => {
  const back = small.turned(X, 3, { q_sign: true }, "q", 100);
  const [x, y] = rotate([1, 2], -3);
  near(back[0], x);
  near(back[1], y);
  assert.deepEqual(small.turned(X, 3, { q_sign: true, q_seat: true }, "k", 100), small.turned(X, 3, {}, "k", 100));
  const [first, second] = rotate([1, 5], 3);
  const half = small.turned(X, 3, { k_seat: true }, "k", 100);
  near(half[0], first);
  near(half[4], second);
});

test("half of a head stands still, and one pair is never cut", () => {
  const turned = small.turned(X, 3, { width: true }, "q", 100);
  assert.deepEqual(turned.slice(4), X.slice(4));
  near(turned[2], rotate([3, 4], 3 * 0.1)[0]);
  assert.deepEqual(small.turned([1, 0], 3, { width: true }, "q", 100), small.turned([1, 0], 3, {}, "q", 100));
});

test("cosines doubled for the other layout give a pair two angles", () => {
  const turned = small.turned(X, 1, { cosines: true }, "q", 100);
  near(turned[0], Math.cos(INVERSE[0]) - 2 * Math.sin(INVERSE[0]));
  near(turned[1], 2 * Math.cos(INVERSE[1]) + Math.sin(INVERSE[1]));
});

const NOTICED = {
  q_sign: ["by_hand", "push", "alike", "far", "original"],
  k_sign: ["by_hand", "push", "alike", "far", "original"],
  q_seat: ["push", "alike", "far", "original"],
  k_seat: ["push", "alike", "far", "original"],
  cosines: ["length", "push", "far", "original"],
  exponent: ["original"],
  width: ["original"],
  rounded: ["far"],
  from_one: ["zero"],
  early: ["length", "push", "far", "original"],
  values: ["original"],
  restart: ["cache"],
  reread: ["cache"],
};

test("each bug lights its own lamps, whatever the numbers of the layer", () => {
  assert.deepEqual(litBy(), []);
  for (const [bug, lit] of Object.entries(NOTICED)) assert.deepEqual(litBy(bug), lit, bug);
});

test("two mistakes may hide one another, and what is hidden is named", () => {
  assert.deepEqual(litBy("q_sign", "k_sign"), ["by_hand", "original"]);
  assert.deepEqual(litBy("q_seat", "k_seat"), ["original"]);
  const bugs = { q_sign: true, k_sign: true, q_seat: false };
  const { hidden, on } = small.noticed(LAYER, bugs, 1e-6);
  assert.deepEqual(
    [hidden, on],
    [
      ["push", "alike", "far"],
      ["q_sign", "k_sign"],
    ],
  );
});

test("a right layer reads the same at once and by its cache", () => {
  const [all, one] = [small.readAtOnce(LAYER, {}, 0), small.readByCache(LAYER, {})];
  all.output.at(-1).forEach((value, i) => near(one.output.at(-1)[i], value));
  near(
    all.weights.at(-1).reduce((a, b) => a + b),
    1,
  );
  assert.deepEqual(
    all.weights.map((row) => row.length),
    [1, 2, 3, 4, 5],
  );
});
