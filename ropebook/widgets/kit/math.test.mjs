import assert from "node:assert/strict";
import test from "node:test";

import * as math from "./math.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("rotation is counter-clockwise", () => {
  const [x, y] = math.rotate([1, 0], Math.PI / 2);
  near(x, 0);
  near(y, 1);
});

test("rotations add up", () => {
  const twice = math.rotate(math.rotate([0.3, -1.2], 0.7), 1.9);
  const once = math.rotate([0.3, -1.2], 2.6);
  near(twice[0], once[0]);
  near(twice[1], once[1]);
});

test("a vector is shortened into the disc and else kept", () => {
  assert.deepEqual(math.shorten([1.2, -0.5], 2), [1.2, -0.5]);
  const [x, y] = math.shorten([30, 40], 2);
  assert.ok(Math.hypot(x, y) <= 2);
  near(x, 1.2);
  near(y, 1.6);
});

test("alike is equal up to rounding, in lists as well, and never across kinds", () => {
  assert.ok(math.alike(0.1 + 0.2, 0.3));
  assert.ok(math.alike([1, 2 + 1e-12], [1, 2]));
  assert.ok(!math.alike([1, 2], [1, 2, 3]));
  assert.ok(!math.alike(1, 1.001));
  assert.ok(!math.alike(1, "1"));
  assert.ok(math.alike("half", "half") && !math.alike(false, 0));
});

test("inverse frequencies fall from 1 by equal factors", () => {
  const inverse = math.inverseFrequencies(4, 10000);
  assert.equal(inverse.length, 2);
  near(inverse[0], 1);
  near(inverse[1], 0.01);
  assert.deepEqual(math.inverseFrequencies(8, 16, 2), math.inverseFrequencies(8, 16).slice(0, 2));
});

test("a sinusoid is sine and cosine of each frequency in turns", () => {
  const expected = [Math.sin(3), Math.cos(3), Math.sin(0.75), Math.cos(0.75)];
  assert.ok(math.alike(math.sinusoid(3, [1, 0.25]), expected));
});

test("a softmax sums to one and bears large and infinite scores", () => {
  assert.deepEqual(math.softmax([1000, 1000]), [0.5, 0.5]);
  assert.deepEqual(math.softmax([0, -Infinity]), [1, 0]);
  const weights = math.softmax([0, Math.log(3)]);
  near(weights[1] / weights[0], 3);
});

test("clamp, and angles in degrees", () => {
  assert.deepEqual([math.clamp(-1, 0, 2), math.clamp(1, 0, 2), math.clamp(3, 0, 2)], [0, 1, 2]);
  near(math.degrees(Math.PI), 180);
});
