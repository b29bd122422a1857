import assert from "node:assert/strict";
import test from "node:test";

import * as clock from "./clock.js";

const sizes = { x: 1, x1: 0.5, x2: 0.5, n: 0.5, r: 1 };
const negate = { reads: ["x2"], writes: "n" };
const join = { reads: ["n", "x1"], writes: "r" };
const turn = { reads: ["x"], writes: "x" };
const ways = { steps: [negate, join, turn, turn], in_place: [turn] };
const clocks = { clone: [1, 3], steps: [4, 9], in_place: [1, 2] };
const at = (step, more = {}) => clock.race({ ways, step, sizes, clocks, fresh: false, asked: null, ...more });

test("a line is new memory where it does not write over what it reads", () => {
  const lines = [negate, join, turn];
  assert.deepEqual(
    lines.map((line) => clock.newOf(line, sizes)),
    [0.5, 1, 0],
  );
});

test("fresh memory costs what a clone paid more for it, and never less than nothing", () => {
  assert.equal(clock.priceOf({ clone: [1, 3.5] }), 2.5);
  assert.equal(clock.priceOf({ clone: [1, 0.9] }), 0);
});

test("a bar is what was read, written and handed out, in copies, end to end", () => {
  const { parts, end, counted, whole, done } = clock.clockOf([negate, join], { sizes, at: 2, price: 2 });
  assert.deepEqual(parts, [
    ["read", 0, 0.25],
    ["written", 0.25, 0.25],
    ["pages", 0.5, 1],
    ["read", 1.5, 0.5],
    ["written", 2, 0.5],
    ["pages", 2.5, 2],
  ]);
  assert.deepEqual([end, counted, whole, done], [4.5, 4.5, 4.5, true]);
});

test("a line under way has read first, and is counted as a whole", () => {
  const { parts, end, counted, whole, done } = clock.clockOf([negate, join], { sizes, at: 1.25, price: 0 });
  assert.deepEqual(
    parts.map(([, , long]) => long),
    [0.25, 0.25, 0, 0.25, 0, 0],
  );
  assert.deepEqual([end, counted, whole, done], [0.75, 1.5, 1.5, false]);
});

test("all ways go on together, and a way that is done has its recorded time", () => {
  const of = ({ bars }) => Object.values(bars).map(({ counted, recorded }) => [counted, recorded]);
  assert.deepEqual(of(at(0)), [
    [0, null],
    [0, null],
  ]);
  assert.deepEqual(of(at(1)), [
    [0.5, null],
    [1, 1],
  ]);
  assert.deepEqual(of(at(4)), [
    [3.5, 4],
    [1, 1],
  ]);
  assert.deepEqual(of(at(4, { fresh: true })), [
    [6.5, 9],
    [1, 2],
  ]);
});

test("bars are drawn to the scale of the longest with this memory, from the first line on", () => {
  for (const step of [0, 4]) assert.deepEqual([at(step).room, at(step, { fresh: true }).room], [4, 9]);
  assert.equal(at(4, { clocks: { ...clocks, steps: [3, 5] } }).room, 3.5);
  assert.equal(at(4, { fresh: true, clocks: { ...clocks, steps: [3, 5] } }).room, 6.5);
});

test("of a way that is asked for no more than its first lines is told", () => {
  const steps = (step) => at(step, { asked: "steps" }).bars.steps;
  assert.deepEqual([steps(3).counted, steps(3).whole, steps(3).recorded], [2.5, null, null]);
  assert.deepEqual([steps(3).end, steps(5).end], [2.5, 2.5]);
  assert.deepEqual([steps(4).counted, steps(4).whole, steps(4).recorded], [null, null, null]);
  assert.deepEqual(steps(4).parts, steps(3).parts);
  assert.equal(at(4, { asked: "steps" }).bars.in_place.recorded, 1);
});
