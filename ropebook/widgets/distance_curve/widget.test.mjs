import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

const near = (actual, expected, limit = 1e-9) =>
  assert.ok(Math.abs(actual - expected) < limit, `${actual} is not ${expected}`);
// What a search finds that goes on in steps.
const foundBy = (search) => {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
};
const bases = Array.from({ length: 101 }, (_, i) => Number((10 ** (2 + i / 20)).toPrecision(3)));
const plainMean = (inverse, r) => inverse.reduce((sum, f) => sum + Math.cos(r * f), 0) / inverse.length;
const roformer = widget.keptFrequencies(64, 10000, 1);

test("a kept share takes the fastest hands and lets the others stand", () => {
  assert.deepEqual(
    [...widget.keptFrequencies(8, 10000, 0.5)].map((f) => Number(f.toFixed(9))),
    [1, 0.1, 0, 0],
  );
  assert.deepEqual([...widget.keptFrequencies(8, 10000, 0)], [0, 0, 0, 0]);
  assert.equal(widget.keptFrequencies(10, 10000, 0.5)[2], 0);
});

test("the mean of cosines is what summing them one by one gives", () => {
  for (const [dim, last] of [
    [2, 64],
    [64, 512],
    [130, 4096],
  ]) {
    const inverse = widget.keptFrequencies(dim, 10000, 1);
    const means = widget.cosineMeans(inverse, last);
    for (let r = 0; r <= last; r += 1) near(means[r], plainMean(inverse, r), 1e-11);
  }
});

test("the curve of RoFormer's head rises 244 times in 512 steps and never falls below 0", () => {
  const means = widget.cosineMeans(roformer, 512);
  assert.equal(widget.countRises(means, 512), 244);
  assert.ok(Number.isNaN(widget.firstNegative(means, 512)));
});

test("a flat curve does not rise", () => assert.equal(widget.countRises(new Float64Array(65).fill(1), 64), 0));

test("Llama 2's base carries 1706 of its 4096 tokens", () => {
  const means = widget.cosineMeans(widget.keptFrequencies(128, 10000, 1), 4096);
  assert.equal(widget.firstNegative(means, 4096), 1707);
});

test("a base holds up to a distance if no cosine mean before it is negative", () => {
  const inverse = widget.keptFrequencies(128, 10000, 1);
  assert.deepEqual(
    [64, 1706, 1707, 4096].map((last) => foundBy(widget.holdsUpTo(inverse, last))),
    [true, true, false, false],
  );
});

test("the smallest base is searched from below", () => {
  assert.equal(foundBy(widget.smallestBase(64, 1, 512, bases)), 5620);
  assert.equal(foundBy(widget.smallestBase(64, 0, 512, bases)), 100);
  assert.ok(Number.isNaN(foundBy(widget.smallestBase(2, 1, 64, bases))));
});

test("the search for the smallest base may be left after any base and any block of distances", () => {
  const search = widget.smallestBase(64, 1, 512, bases);
  let steps = 0;
  while (!search.next().done) steps += 1;
  const tried = bases.indexOf(5620) + 1;
  assert.ok(steps >= tried + Math.ceil(512 / 129), `${steps} steps for ${tried} bases`);
});

test("the bound is the mean length of the partial sums", () => {
  near(widget.partialSumBound(roformer, 0), 16.5);
  near(
    widget.partialSumBound([1, 0.1], 2),
    (1 + Math.hypot(Math.cos(2) + Math.cos(0.2), Math.sin(2) + Math.sin(0.2))) / 2,
  );
});

test("the bound bounds the curve", () => {
  const means = widget.cosineMeans(roformer, 512);
  for (let r = 0; r <= 512; r += 1) assert.ok(Math.abs(means[r]) <= widget.partialSumBound(roformer, r) + 1e-12);
});

test("a column of pixels keeps its lowest and its highest value", () => {
  const means = widget.cosineMeans(roformer, 4096);
  for (const logarithmic of [false, true]) {
    const values = widget.columnPoints(means, 4096, 300, logarithmic).map(([, value]) => value);
    const shown = means.slice(logarithmic ? 1 : 0, 4097);
    near(Math.min(...values), Math.min(...shown), 1e-15);
    near(Math.max(...values), Math.max(...shown), 1e-15);
  }
});

test("few distances are drawn one by one, from left to right", () => {
  const points = widget.columnPoints(widget.cosineMeans(roformer, 64), 64, 640, false);
  assert.deepEqual(
    points.map(([x]) => x),
    Array.from({ length: 65 }, (_, r) => 10 * r),
  );
});

test("the smooth line is sampled at whole distances, its ends included", () => {
  for (const logarithmic of [false, true]) {
    const found = widget.sampleDistances(131072, logarithmic);
    assert.ok(found.length <= 601 && found.every(Number.isInteger));
    assert.deepEqual([found[0], found[found.length - 1]], [logarithmic ? 1 : 0, 131072]);
  }
});

test("ticks end at the context", () => {
  assert.deepEqual(widget.axisTicks(512, false), [0, 128, 256, 384, 512]);
  assert.deepEqual(widget.axisTicks(512, true), [1, 10, 100, 512]);
  assert.equal(widget.axisTicks(131072, true).length, 6);
});

test("the slowest hand that turns sets the longest wavelength", () => {
  near(widget.slowestTurn(widget.keptFrequencies(8, 10000, 0.5)), 20 * Math.PI);
  assert.ok(Number.isNaN(widget.slowestTurn(widget.keptFrequencies(8, 10000, 0))));
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
