import assert from "node:assert/strict";
import test from "node:test";

import * as paths from "./paths.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("a full sector is a circle, a part of one a wedge that starts at the center", () => {
  assert.match(paths.sectorPath(10, 10, 5, 0, 2 * Math.PI), /^M15\.00 10\.00A/);
  assert.match(paths.sectorPath(10, 10, 5, 0, 1), /^M10 10L15\.00 10\.00A/);
});

test("a spiral starts and ends at its angles and grows with each turn", () => {
  const points = paths.spiralPoints(0, 0, 1, 0, 2.5 * (2 * Math.PI), 0.1);
  near(points[0][0], 1);
  near(points.at(-1)[0], -1.25);
  near(points.at(-1)[1], 0);
});

test("an arrow ends at its tip, and one of length zero is nothing", () => {
  assert.match(paths.arrowPaths(0, 0, 30, 0).head, /^M30\.00 0\.00L/);
  assert.deepEqual(paths.arrowPaths(3, 4, 3, 4), { shaft: "", head: "" });
});

test("the head of a bent line is at its end", () => {
  assert.match(
    paths.arcHeadPath([
      [0, 0],
      [0, 5],
      [9, 5],
    ]),
    /^M9\.00 5\.00L/,
  );
});

test("dots are whole circles around their points", () => {
  const points = [
    [10, 20],
    [30.5, 40],
  ];
  const dot = "a2 2 0 1 0 4 0a2 2 0 1 0 -4 0Z";
  assert.equal(paths.dotsPath(points, 2), `M8.00 20.00${dot}M28.50 40.00${dot}`);
  assert.equal(paths.dotsPath([], 2), "");
});
