import assert from "node:assert/strict";
import test from "node:test";

import { inverseFrequencies } from "../kit/math.js";
import * as widget from "./widget.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const Q = [0.3, 1.4, -0.6, -1.0, -0.6, -0.3, 1.3, 0.3];
const K = [1.1, 0.4, 1.4, -1.1, -0.5, -1.4, 0.3, 0.7];
const LAYOUTS = ["interleaved", "half"];
const INVERSE = inverseFrequencies(8, 100);
const scoreAt = (qLayout, kLayout, convert, m, n) =>
  widget.inner(widget.rotated(Q, m, qLayout, convert, INVERSE), widget.rotated(K, n, kLayout, convert, INVERSE));

test("who sits where", () => {
  const names = (layout) => widget.roles(layout, 6).map(({ pair, part }) => `${pair}${"ab"[part]}`);
  assert.deepEqual(names("interleaved"), ["0a", "0b", "1a", "1b", "2a", "2b"]);
  assert.deepEqual(names("half"), ["0a", "1a", "2a", "0b", "1b", "2b"]);
});

test("the seats of a pair are those that say so", () => {
  for (const layout of LAYOUTS) {
    for (const headDim of [2, 8, 16]) {
      for (let pair = 0; pair < headDim / 2; pair += 1) {
        const found = widget.roles(layout, headDim).flatMap((role, seat) => (role.pair === pair ? [seat] : []));
        assert.deepEqual(widget.seatsOf(layout, pair, headDim), found);
      }
    }
  }
});

test("conversion moves each number to the seat of its own pair", () => {
  assert.deepEqual(widget.entries("half", true), [0, 2, 4, 6, 1, 3, 5, 7]);
  for (const [layout, convert] of [
    ["interleaved", true],
    ["interleaved", false],
    ["half", false],
  ]) {
    assert.deepEqual(widget.entries(layout, convert), [0, 1, 2, 3, 4, 5, 6, 7]);
  }
});

test("position 0 turns nobody, and every rotation keeps the length", () => {
  for (const layout of LAYOUTS) {
    assert.deepEqual(widget.rotated(Q, 0, layout, false, INVERSE), Q);
    const turned = widget.rotated(Q, 7, layout, true, INVERSE);
    near(widget.inner(turned, turned), widget.inner(Q, Q));
  }
});

test("a quarter turn by hand", () => {
  const quarter = [Math.PI / 2, 0];
  widget.rotated([1, 2, 3, 4], 1, "interleaved", false, quarter).forEach((x, i) => near(x, [-2, 1, 3, 4][i]));
  widget.rotated([1, 2, 3, 4], 1, "half", false, quarter).forEach((x, i) => near(x, [-3, 2, 1, 4][i]));
  widget.rotated([1, 2, 3, 4], 1, "half", true, quarter).forEach((x, i) => near(x, [-2, 3, 1, 4][i]));
});

test("equal layouts depend on the distance alone, mixed ones do not", () => {
  for (const layout of LAYOUTS) {
    for (const convert of [false, true]) {
      near(scoreAt(layout, layout, convert, 10, 6), scoreAt(layout, layout, convert, 27, 23));
    }
  }
  for (const convert of [false, true]) {
    for (const [q, k] of [LAYOUTS, [...LAYOUTS].reverse()]) {
      const scores = Array.from({ length: 25 }, (_, n) => scoreAt(q, k, convert, n + 4, n));
      assert.ok(Math.max(...scores) - Math.min(...scores) > 5);
    }
  }
});

test("only seats for everybody, numbers included, keep the score", () => {
  const right = scoreAt("interleaved", "interleaved", false, 10, 6);
  near(scoreAt("half", "half", true, 10, 6), right);
  near(scoreAt("interleaved", "interleaved", true, 10, 6), right);
  for (const wrong of [
    ["half", "half", false],
    ["interleaved", "half", false],
    ["half", "interleaved", true],
  ]) {
    assert.ok(Math.abs(scoreAt(...wrong, 10, 6) - right) > 0.5, String(wrong));
  }
});

test("at position 0 a mix does not show, unless the numbers were moved", () => {
  const right = scoreAt("interleaved", "interleaved", false, 0, 0);
  near(scoreAt("interleaved", "half", false, 0, 0), right);
  assert.ok(Math.abs(scoreAt("interleaved", "half", true, 0, 0) - right) > 0.5);
});

test("seats that fit", () => {
  assert.deepEqual(widget.fits("half", "half"), Array(8).fill(true));
  const mixed = [true, false, false, false, false, false, false, true];
  assert.deepEqual(widget.fits("interleaved", "half"), mixed);
  assert.deepEqual(widget.fits("half", "interleaved"), mixed);
});

test("a walk goes where there is room, and comes back", () => {
  assert.equal(widget.shiftFrom(6, 24), 12);
  assert.equal(widget.shiftFrom(20, 24), -12);
  assert.equal(widget.shiftFrom(11, 20), 9);
});

test("four marks, each of its own shape", () => {
  assert.equal(new Set([0, 1, 2, 3].map((pair) => widget.markPath(pair, 8))).size, 4);
});
