import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const tables = {
  shaw_scores: Array.from({ length: 25 }, (_, i) => i - 12),
  t5_behind: Array.from({ length: 16 }, (_, j) => -j),
  t5_ahead: Array.from({ length: 16 }, (_, j) => j),
  absolute_weights: [1, 0],
  model_dim: 2,
  base: 10000,
};
const state = { encoding: "none", shift: 0, clip_distance: 4, num_buckets: 16, max_distance: 20, head: 3 };
const matrix = (changes, given = tables) => widget.biasMatrix({ ...state, ...changes }, given);

test("rows are queries and columns are keys, so the distance is column minus row", () => {
  const shaw = matrix({ encoding: "shaw", clip_distance: 12 });
  assert.deepEqual([shaw[14][4], shaw[4][14], shaw[7][7], shaw[0][23]], [-10, 10, 0, 12]);
});

test("Shaw's distances are clipped, behind and ahead", () => {
  const shaw = matrix({ encoding: "shaw" });
  assert.deepEqual(shaw[10].slice(4, 17), [-4, -4, -4, -3, -2, -1, 0, 1, 2, 3, 4, 4, 4]);
  assert.equal(widget.differentValues(widget.diagonals(shaw, false)), 9);
});

test("buckets are single distances first, then wider and wider, then all the rest", () => {
  const behind = Array.from({ length: 24 }, (_, d) => widget.t5Bucket(-d, 16, 20));
  assert.deepEqual(behind, [0, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6, ...Array(10).fill(7)]);
  assert.deepEqual(
    [1, 2, 23].map((d) => widget.t5Bucket(d, 16, 20)),
    [9, 10, 15],
  );
});

test("a bucket knows its distances", () => {
  assert.deepEqual(widget.bucketRange(-10, 16, 20), [9, 13]);
  assert.deepEqual(widget.bucketRange(10, 16, 20), [9, 13]);
  assert.deepEqual(widget.bucketRange(0, 16, 20), [0, 0]);
  assert.deepEqual(widget.bucketRange(1, 4, 128), [1, Infinity]);
  assert.deepEqual(widget.bucketRange(23, 16, 20), [14, Infinity]);
});

test("keys behind and ahead read T5's two tables", () => {
  const t5 = matrix({ encoding: "t5" });
  assert.deepEqual([t5[14][4], t5[4][14], t5[5][5]], [-6, 6, -0]);
});

test("ALiBi takes the slope from the score once per token, on both sides", () => {
  const alibi = matrix({ encoding: "alibi" });
  assert.deepEqual([alibi[14][4], alibi[4][14], alibi[3][2]], [-1.25, -1.25, -0.125]);
  assert.deepEqual([1, 8].map(widget.alibiSlope), [1 / 2, 1 / 256]);
});

test("the absolute term is p_m^T W p_n", () => {
  const absolute = matrix({ encoding: "absolute", shift: 5 });
  near(absolute[2][9], Math.sin(7) * Math.sin(14));
});

test("only the absolute term differs along a diagonal and changes when the text is pushed on", () => {
  for (const encoding of ["none", "shaw", "t5", "alibi"]) {
    assert.equal(widget.diagonalSpread(widget.diagonals(matrix({ encoding }), false)), 0, encoding);
    assert.deepEqual(matrix({ encoding, shift: 500 }), matrix({ encoding }), encoding);
  }
  const absolute = matrix({ encoding: "absolute" });
  assert.ok(widget.diagonalSpread(widget.diagonals(absolute, false)) > 0.5);
  assert.notDeepEqual(matrix({ encoding: "absolute", shift: 500 }), absolute);
});

test("an absolute term whose W is a multiple of the identity would be relative", () => {
  const absolute = matrix({ encoding: "absolute", shift: 5 }, { ...tables, absolute_weights: [1, 1] });
  near(widget.diagonalSpread(widget.diagonals(absolute, false)), 0);
});

test("a causal mask takes the diagonals ahead away", () => {
  const shaw = matrix({ encoding: "shaw" });
  assert.equal(widget.diagonals(shaw, true).length, 24);
  assert.equal(widget.diagonals(shaw, false).length, 47);
  assert.equal(widget.differentValues(widget.diagonals(shaw, true)), 5);
});

test("values that differ by rounding alone are counted once", () => {
  assert.equal(widget.differentValues([[0.1 + 0.2, 0.3], [0.3001]]), 2);
});

test("a level is the first that holds the value", () => {
  assert.deepEqual(
    [0, 3, 3.1, 11.5].map((value) => widget.roundLevel(value, [3, 6, 12])),
    [3, 3, 6, 12],
  );
});

test("small numbers keep a third decimal", () => {
  assert.deepEqual([1.25, -0.0391, 0, 0.0999].map(widget.formatBias), ["1.25", "−0.039", "0.00", "0.10"]);
});

test("the sentences are those of the chosen cell, of the colors and of the push", () => {
  const seen = { distance: -10, row: [0, 0], key_bias: -1, clip_distance: 4, different_values: 24, pushed: 0 };
  const kinds = (changes) => widget.lessonKinds({ ...seen, diagonal_spread: 0, ...changes });
  assert.deepEqual(kinds({ encoding: "alibi" }), ["alibi", "one"]);
  assert.deepEqual(kinds({ encoding: "shaw", pushed: 24 }), ["clipped", "one", "still"]);
  assert.deepEqual(kinds({ encoding: "shaw", distance: -4 }), ["shaw", "one"]);
  assert.deepEqual(kinds({ encoding: "t5", key_bias: NaN }), ["hidden", "one"]);
  assert.deepEqual(kinds({ encoding: "none", different_values: 1, row: [0] }), ["none", "only", "same"]);
  assert.deepEqual(kinds({ encoding: "none", content: true }).slice(0, 2), ["none", "content"]);
  const spread = { encoding: "absolute", diagonal_spread: 2, pushed: 500 };
  assert.deepEqual(kinds(spread), ["absolute", "many", "changed"]);
  assert.deepEqual(kinds({ ...spread, distance: 23 })[0], "corner");
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
