import assert from "node:assert/strict";
import test from "node:test";

import { inner } from "../bug_lamps/layer.js";
import { rotate } from "../kit/math.js";
import * as rows from "./rows.js";

const near = (actual, expected, limit = 1e-9) =>
  assert.ok(Math.abs(actual - expected) < limit, `${actual} is not ${expected}`);

// Numbers of its own: the laws hold for any.
let seed = 7;
const draw = () => {
  seed = (seed * 48271) % 2147483647;
  return (2 * seed) / 2147483647 - 1;
};
const numbers = (from = 0) => Array.from({ length: 8 }, () => from + draw());
const EXAMPLE = { q: numbers(), k: numbers(), weights: numbers(1.5) };
const headOf = (kind) => ({ ...rows.inputsOf(EXAMPLE, kind), base: 100 });
const found = (kind, ...bugs) => rows.notice(headOf(kind), Object.fromEntries(bugs.map((bug) => [bug, true])), 1e-6);
const both = (row) => [`q_${row}`, `k_${row}`];

test("tests run on two vectors, on one of them twice, or on ones with fresh weights", () => {
  const { q, k, weights } = EXAMPLE;
  assert.deepEqual(rows.inputsOf(EXAMPLE, "drawn"), { q, k, weights });
  assert.deepEqual(rows.inputsOf(EXAMPLE, "same"), { q, k: q, weights });
  assert.deepEqual(new Set(Object.values(rows.inputsOf(EXAMPLE, "ones")).flat()), new Set([1]));
});

test("a query is normed, weighted, and turned pair by pair", () => {
  const head = headOf("drawn");
  const size = Math.sqrt(head.q.reduce((sum, value) => sum + value * value, 0) / 8);
  const plain = head.q.map((value, i) => (value / size) * head.weights[i]);
  const turned = rows.entering(head, {}, "q", 3);
  const [x, y] = rotate(plain.slice(2, 4), 3 * 100 ** (-2 / 8));
  near(turned[2], x);
  near(turned[3], y);
});

test("a bug is in the way of its side alone", () => {
  const head = headOf("drawn");
  for (const row of rows.SIDED) {
    const at = row === "rounded" ? 10_001 : 3;
    const [own, other] = ["q", "k"].map((side) => rows.entering(head, { [`q_${row}`]: true }, side, at));
    assert.notDeepEqual(own, rows.entering(head, {}, "q", at), row);
    assert.deepEqual(other, rows.entering(head, {}, "k", at), row);
  }
});

test("a row of scores begins with the query's own key, the sooner the nearer", () => {
  const head = headOf("drawn");
  const row = rows.scoreRow(head, {}, 5);
  assert.equal(row.length, rows.LAST + 1);
  const [query, key] = [rows.entering(head, {}, "q", 29), rows.entering(head, {}, "k", 26)];
  near(row[3], inner(query, key));
  row.forEach((score, i) => near(score, rows.scoreRow(head, {}, 0)[i]));
  rows.cachedRow(head, {}).forEach((score, i) => near(score, row[i]));
});

test("a token that restarts is right with itself and wrong with all before it", () => {
  const head = headOf("drawn");
  const [right, restarted] = [rows.cachedRow(head, {}), rows.cachedRow(head, { restart: true })];
  near(restarted[0], right[0]);
  assert.ok(restarted.slice(1).every((score, i) => Math.abs(score - right[i + 1]) > 1e-6));
});

test("the pair by hand is the sine, on whatever vectors the rest is tested", () => {
  for (const kind of ["drawn", "same", "ones"]) {
    const [{ got, want }] = rows.comparisons(headOf(kind), {}).by_hand;
    got.forEach((score, i) => near(score, want[i]));
    near(want[1], Math.sin(1));
  }
});

test("the largest gap is found in its line, at its place", () => {
  const lines = [
    { got: [1, 2], want: [1, 2.5] },
    { got: [0, 5, -1], want: [0, 5, 1] },
  ];
  assert.deepEqual(rows.largestGap(lines), { size: 2, line: 1, place: 2 });
});

test("both sides wrong hides what one side shows", () => {
  assert.deepEqual(found("drawn").lit, []);
  for (const row of ["sign", "seat", "base"]) {
    assert.ok(found("drawn", `k_${row}`).lit.includes("push"), row);
    assert.ok(!found("drawn", ...both(row)).lit.includes("push"), row);
  }
  assert.deepEqual(found("drawn", ...both("idle")).lit, ["moves", "by_hand", "reference"]);
  assert.deepEqual(found("drawn", ...both("count")).lit, ["zero"]);
  assert.deepEqual(found("drawn", ...both("base"), ...both("seat")).lit, ["reference"]);
});

test("a mirror is seen by no vector that meets itself, and ones have no seats to mix up", () => {
  assert.deepEqual(found("drawn", ...both("sign")).lit, ["by_hand", "reference"]);
  assert.deepEqual(found("same", ...both("sign")).lit, ["by_hand"]);
  assert.deepEqual(found("ones", ...both("seat"), ...both("early")).lit, []);
});
