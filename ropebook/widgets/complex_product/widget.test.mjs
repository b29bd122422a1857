import assert from "node:assert/strict";
import test from "node:test";

import * as kit from "../kit/math.js";
import * as widget from "./widget.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const bothNear = (actual, expected) => [0, 1].forEach((i) => near(actual[i], expected[i]));
const numbers = [
  [1.2, 0.5],
  [-0.9, 1.2],
  [0.3, -1.4],
  [-1, -0.2],
  [0, 1],
  [-1, 0],
];

test("the product by hand", () => {
  bothNear(widget.multiply([1.2, 0.5], [-0.9, 1.2]), [-1.68, 0.99]);
  bothNear(widget.multiply([0, 1], [0, 1]), [-1, 0]);
  bothNear(widget.multiply([1.2, 0.5], [1.2, -0.5]), [1.69, 0]);
});

test("lengths multiply and angles add", () => {
  for (const z of numbers) {
    for (const w of numbers) {
      const wz = widget.multiply(z, w);
      near(Math.hypot(...wz), Math.hypot(...z) * Math.hypot(...w));
      const apart = widget.angleOf(wz) - widget.angleOf(z) - widget.angleOf(w);
      near(Math.sin(apart / 2), 0);
    }
  }
});

test("a product is a turn and a stretch", () => {
  for (const w of numbers) {
    const turned = kit.rotate([1.2, 0.5], widget.angleOf(w)).map((x) => x * Math.hypot(...w));
    bothNear(widget.multiply([1.2, 0.5], w), turned);
  }
});

test("zero has no angle, and minus one has half a turn, whatever the sign of its zero", () => {
  assert.ok(Number.isNaN(widget.angleOf([0, 0])));
  near(widget.angleOf([-1, 0]), Math.PI);
  near(widget.angleOf([-1, -0]), Math.PI);
});

test("onto the unit circle in the same direction", () => {
  bothNear(widget.toUnit([-0.9, 1.2]), [-0.6, 0.8]);
  bothNear(widget.toUnit([0, 0]), [1, 0]);
});

test("a line ends at the frame of the picture", () => {
  assert.deepEqual(widget.clipLine([-5, 1], [5, 1], 2), [
    [-2, 1],
    [2, 1],
  ]);
  assert.deepEqual(widget.clipLine([0, 0], [1, 1], 2), [
    [0, 0],
    [1, 1],
  ]);
  assert.equal(widget.clipLine([-5, 3], [5, 3], 2), null);
  assert.equal(widget.clipLine([5, 0], [0, 5], 2), null);
});

test("an equals sign stands only where the numbers on show are equal", () => {
  assert.ok(widget.holdsAsShown(1.3 * 1.5, 1.95, 2));
  assert.ok(!widget.holdsAsShown(1.3 * 1.41, 1.3 * Math.SQRT2, 2));
});

test("a label moves aside for what stands in its way", () => {
  bothNear(widget.labelSpot([0, 0], 0, 20, [], 10), [20, 0]);
  const [x, y] = widget.labelSpot([0, 0], 0, 20, [[20, 0]], 10);
  assert.ok(Math.hypot(x - 20, y) > 10);
  near(Math.hypot(x, y), 20);
});

test("what is said of w fits what it does", () => {
  const kind = (w, z = [1.2, 0.5]) => widget.lessonKind({ z, w });
  assert.deepEqual([kind([1, 0]), kind([0, 1]), kind([1, 1])], ["keeps", "turns", "scales"]);
  assert.deepEqual([kind([1.2, 0.5]), kind([1.2, -0.5])], ["squares", "real"]);
  assert.equal(kind([1.5, 0], [1.5, 0]), "squares");
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
