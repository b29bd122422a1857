import assert from "node:assert/strict";
import test from "node:test";

import { fakeModel, fakePage, node } from "./fake_page.mjs";
import * as motion from "./motion.js";

test("an animation goes there, rests, and comes back", () => {
  const at = [0, 1, 2, 2.4, 3.5, 4.5, 9].map((seconds) => motion.thereAndBack(seconds, 2, 0.5));
  assert.deepEqual(at, [0, 0.5, 1, 1, 0.5, 0, 0]);
});

test("what is eased starts and ends at rest", () => {
  assert.deepEqual([-1, 0, 0.25, 0.5, 1, 2].map(motion.easing), [0, 0, 0.125, 0.5, 1, 1]);
});

test("many changes are drawn once a frame, and not after a cancel", () => {
  const page = fakePage();
  let drawn = 0;
  const schedule = motion.frameScheduler(() => (drawn += 1));
  schedule();
  schedule();
  page.wait(0.3);
  assert.equal(drawn, 1);
  schedule();
  schedule.cancel();
  page.wait(0.3);
  assert.equal(drawn, 1);
});

test("an animation counts its own seconds and ends when its step says so", () => {
  const page = fakePage();
  page.wait(1);
  const seen = [];
  let stopped = 0;
  const animation = motion.animator(() => (stopped += 1));
  animation.start((seconds) => {
    seen.push(Number(seconds.toFixed(6)));
    return seconds < 0.25;
  });
  assert.equal(stopped, 0);
  page.wait(1);
  assert.deepEqual([seen, stopped], [[0, 0.1, 0.2, 0.3], 1]);
});

test("what is watched is let go", () => {
  const page = fakePage();
  const model = fakeModel({ a: 1 });
  let changes = 0;
  const schedule = Object.assign(() => (changes += 1), { cancel() {} });
  const unwatch = motion.watch(model, ["a"], node(), schedule);
  model.set("a", 2);
  assert.deepEqual([changes, page.observers], [1, 1]);
  unwatch();
  assert.deepEqual([model.listeners(), page.observers], [0, 0]);
});
