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

// A search of `count` steps, on a clock that goes on by a millisecond whenever it is read.
function slowSearch(count) {
  const page = fakePage();
  const seen = { begun: 0, drawings: 0 };
  page.wait(0.1);
  const plain = performance.now;
  let now = 0;
  performance.now = () => (now += 1);
  const search = motion.inSlices(
    function* (...given) {
      seen.begun += 1;
      for (let step = 0; step < count; step += 1) yield;
      return given;
    },
    () => (seen.drawings += 1),
  );
  return { seen, search, call: (...given) => search(now, ...given), end: () => (performance.now = plain) };
}

test("a long search goes on in slices and asks for drawings until it is done", () => {
  const { seen, call, end } = slowSearch(20);
  const answers = Array.from({ length: 6 }, () => call(1, 2));
  end();
  assert.deepEqual(answers, [null, null, null, [1, 2], [1, 2], [1, 2]]);
  assert.deepEqual(seen, { begun: 1, drawings: 3 });
});

test("a search begins anew, and forgets what it found, when what is given changes", () => {
  const { seen, call, end } = slowSearch(10);
  const answers = [call(1), call(2), call(2), call(3), call(3)];
  end();
  assert.deepEqual(answers, [null, null, [2], null, [3]]);
  assert.equal(seen.begun, 3);
});

test("what is left of a frame goes to a search, and one step if nothing is", () => {
  const { seen, search, end } = slowSearch(2);
  const late = [-100, -100, -100].map((since) => search(since, "late"));
  end();
  assert.deepEqual([late, seen.drawings], [[null, null, ["late"]], 2]);
});

test("a search ends at once where the clock stands still", () => {
  const plain = performance.now;
  performance.now = () => 7;
  let asked = 0;
  const search = motion.inSlices(
    function* () {
      for (let step = 0; step < 1000; step += 1) yield;
      return "found";
    },
    () => (asked += 1),
  );
  const answer = search(7);
  performance.now = plain;
  assert.deepEqual([answer, asked], ["found", 0]);
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
  document.fonts.dispatchEvent(new Event("loadingdone"));
  assert.deepEqual([changes, page.observers], [2, 1]);
  unwatch();
  document.fonts.dispatchEvent(new Event("loadingdone"));
  assert.equal(changes, 2);
  assert.deepEqual([model.listeners(), page.observers], [0, 0]);
});
