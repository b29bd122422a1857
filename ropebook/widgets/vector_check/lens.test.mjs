import assert from "node:assert/strict";
import test from "node:test";

import { enlarged, lens } from "./lens.js";

test("what is seen apart, or stands at one place, is not enlarged; all else until it is seen", () => {
  assert.deepEqual([6, 100, 0, 1e-9, NaN, Infinity].map(enlarged), Array(6).fill(null));
  assert.deepEqual([5.9, 3, 2.9, 1.2, 1.1, 0.6, 0.05, 0.007].map(enlarged), [2, 2, 5, 5, 10, 10, 200, 1000]);
  for (let gap = 5.99; gap > 1e-5; gap *= 0.97) {
    const seen = gap * enlarged(gap);
    assert.ok(seen >= 6 && seen < 15, `${gap}`);
  }
});

test("a lens stands inside its dial, away from the arrows, and shows the gap as it is, enlarged", () => {
  const turned = (angle, r = 60) => [r * Math.cos(angle), -r * Math.sin(angle)];
  for (const [x, should] of [
    [0, 1],
    [1, 2.5],
    [3, 3],
    [-2, 0.2],
  ]) {
    const [tip, due] = [turned(should + 0.025), turned(should)];
    const [[, { cx, cy, r }], [, { d }], [, , [, [, { d: head }]]], [, said, text]] = lens([200, 100], 60, [
      turned(x),
      due,
      tip,
    ]);
    assert.ok(Math.hypot(cx - 200, cy - 100) + r <= 60);
    assert.equal(text, "×5");
    // What it says stands within the dial too, and beside the lens.
    const [wide, high] = [3.3 * text.length, 5];
    const [left, top] = [said.x - 200, said.y - 4 - 100].map(Math.abs);
    assert.ok(Math.hypot(left + wide, top + high) < 59);
    const [dx, dy] = [Math.abs(said.x - cx) - wide, Math.abs(said.y - 4 - cy) - high];
    assert.ok(Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) > r);
    // The middle between both ends is that of the lens.
    const end = d.split("L")[1].split(" ").map(Number);
    const point = head
      .match(/-?[0-9.]+/g)
      .slice(0, 2)
      .map(Number);
    assert.ok(Math.hypot(point[0] - end[0] - 5 * (tip[0] - due[0]), point[1] - end[1] - 5 * (tip[1] - due[1])) < 0.1);
    // No arrow crosses it.
    for (const [ax, ay] of [turned(x), tip]) {
      const along = ((cx - 200) * ax + (cy - 100) * ay) / 60;
      const off = Math.sqrt(Math.max((cx - 200) ** 2 + (cy - 100) ** 2 - along ** 2, 0));
      assert.ok(along < 0 || off > r - 1, `${x} ${should}`);
    }
  }
});
