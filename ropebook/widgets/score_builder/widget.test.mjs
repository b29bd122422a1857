import assert from "node:assert/strict";
import test from "node:test";

import { inverseFrequencies } from "../kit/math.js";
import * as widget from "./widget.js";
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const inverse = inverseFrequencies(16, 100);
const aimed = (distance, pairs = 8) =>
  widget
    .aimAngles(distance, inverse.slice(0, pairs))
    .map((start, i) => ({ amplitude: 1, start, frequency: inverse[i] }));
const all = (clocks) => Array.from({ length: 65 }, (_, i) => widget.scoreAt(clocks, i - 32));

test("frequencies fall by the same factor from pair to pair, from 1 rad per token", () => {
  near(inverse[0], 1);
  near(inverse[4], 0.1);
  near(inverse[7] / inverse[6], inverse[1] / inverse[0]);
});

test("aimed clocks are all at their top at the distance, and only there", () => {
  const scores = all(aimed(-7));
  near(scores[25], 8);
  assert.equal(scores.filter((score) => score > 7.5).length, 1);
  for (const { start } of aimed(-32)) assert.ok(Math.abs(start) <= Math.PI);
});

test("an aim is recognized from the starts, and a moved clock spoils it", () => {
  for (const distance of [-32, -7, 0, 5, 32]) {
    assert.equal(widget.aimedAt(aimed(distance)), distance);
  }
  const clocks = aimed(-7).with(3, { amplitude: 1, start: 1, frequency: inverse[3] });
  assert.equal(widget.aimedAt(clocks), null);
  assert.equal(widget.aimedAt(clocks.slice(0, 3)), -7);
});

test("a key behind has a negative distance, and its clock starts ahead by as much", () => {
  near(widget.scoreAt([{ amplitude: 0.5, start: 0.3, frequency: 0.2 }], -4), 0.5 * Math.cos(0.3 - 0.8));
});

test("pairs that are off add nothing", () => {
  const state = { head_dim: 16, base: 100, amplitudes: Array(8).fill(1), pairs: 3 };
  const { on, scores, total } = widget.survey({ ...state, start_angles: widget.aimAngles(-7, inverse) });
  assert.deepEqual([on.length, total], [3, 3]);
  near(scores[25], 3);
  near(scores[32], widget.scoreAt(aimed(-7, 3), 0));
});

test("of equal scores the nearest is the peak, behind before ahead", () => {
  assert.equal(widget.bestOf(Array(65).fill(1)), 0);
  const two = Array(65)
    .fill(0)
    .with(32 - 5, 2)
    .with(32 + 5, 2)
    .with(0, 2);
  assert.equal(widget.bestOf(two), -5);
});

test("the rival stands on another hill, and a lone hill has none", () => {
  const scores = Array.from({ length: 65 }, (_, i) => -Math.abs(i - 25));
  assert.ok(Number.isNaN(widget.rivalOf(scores, -7)));
  scores[60] = -1.5;
  assert.equal(widget.rivalOf(scores, -7), 28);
  near(widget.besideOf(scores, -7), -1);
  near(widget.besideOf(scores, 32), -38);
});

test("the sentence says what is seen", () => {
  const seen = { total: 8, aim: -7, on: 8, best: 8, beside: 7.3, next: 3.9 };
  assert.equal(widget.lessonKind(seen), "peak");
  assert.equal(widget.lessonKind({ ...seen, next: 7 }), "rival");
  assert.equal(widget.lessonKind({ ...seen, beside: 7.9, next: NaN }), "level");
  assert.equal(widget.lessonKind({ ...seen, on: 1 }), "one");
  assert.equal(widget.lessonKind({ ...seen, aim: null }), "apart");
  assert.equal(widget.lessonKind({ ...seen, total: 0 }), "nothing");
});
