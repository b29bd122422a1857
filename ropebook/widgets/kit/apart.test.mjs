import assert from "node:assert/strict";
import test from "node:test";

import { around, freePlace } from "./apart.js";

test("a name takes the first place that is free, and then it is taken", () => {
  const taken = [around([0, 0], 10, 10)];
  const places = [
    [4, 4],
    [12, 0],
    [30, 0],
  ];
  assert.deepEqual(freePlace(places, 10, 10, taken), [12, 0]);
  assert.deepEqual(freePlace(places, 10, 10, taken), [30, 0]);
  assert.equal(taken.length, 3);
});

test("where no place is free, it covers as little as can be", () => {
  const taken = [around([0, 0], 100, 100)];
  const places = [
    [0, 0],
    [48, 0],
    [50, 50],
  ];
  assert.deepEqual(freePlace(places, 10, 10, taken), [50, 50]);
});
