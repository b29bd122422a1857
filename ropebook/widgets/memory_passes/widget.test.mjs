import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

const sizes = { x: 1, x1: 0.5, x2: 0.5, n: 0.5, r: 1 };
const ways = {
  steps: [
    { code: "n = -x2", reads: ["x2"], writes: "n" },
    { code: "r = cat(n, x1)", reads: ["n", "x1"], writes: "r" },
  ],
  in_place: [{ code: "turn(x)", reads: ["x"], writes: "x" }],
};
const clocks = { clone: [1, 3], steps: [2, 5], in_place: [1, 1] };
const at = (way, step, answered = true) => ({ way, step, fresh: false, ways, sizes, clocks, answered });

test("lines that are done, or under way, are summed", () => {
  const sums = (way, step) => {
    const { now, passes, new_memory, last } = widget.survey(at(way, step));
    return [now, passes, new_memory, last];
  };
  assert.deepEqual(sums("steps", 0), [0, 0, 0, false]);
  assert.deepEqual(sums("steps", 1), [1, 1, 0.5, false]);
  assert.deepEqual(sums("steps", 1.2), [2, 3, 1.5, true]);
  assert.deepEqual(sums("steps", 2), [2, 3, 1.5, true]);
  assert.deepEqual(sums("in_place", 5), [1, 2, 0, true]);
  assert.equal(widget.survey(at("steps", 0)).line, null);
  assert.equal(widget.survey(at("steps", 1.25)).part, 0.25);
  assert.equal(widget.survey(at("steps", 2)).part, 1);
});

test("a half of x stands in the strip of x", () => {
  assert.deepEqual(widget.placeOf("x2", sizes), { row: "x", from: 0.5, size: 0.5 });
  assert.deepEqual(widget.placeOf("x1", sizes), { row: "x", from: 0, size: 0.5 });
  assert.deepEqual(widget.placeOf("n", sizes), { row: "n", from: 0, size: 0.5 });
});

test("sizes are told in halves", () => {
  assert.deepEqual([0, 0.5, 1, 4.5].map(widget.inHalves), ["0", "½", "1", "4½"]);
});

test("the clocks stand for all ways, whichever is looked at", () => {
  const counted = (way, step) => Object.values(widget.survey(at(way, step)).clock.bars).map((bar) => bar.counted);
  assert.deepEqual(counted("steps", 2), [1.5, 1]);
  assert.deepEqual(counted("in_place", 2), [1.5, 1]);
});

test("copies are told in tenths", () => {
  assert.deepEqual([1, 16.52].map(widget.inCopies), ["1.0", "16.5"]);
});

test("a line leads to the next, a play from the first to the last", () => {
  const one = widget.lead(at("steps", 1), 1);
  assert.deepEqual([one.still, one.at(0), one.at(one.seconds)], [{ step: 2 }, { step: 1 }, { step: 2 }]);
  assert.deepEqual(widget.lead(at("steps", 2), 1).still, { step: 2 });
  const all = widget.lead(at("steps", 2), Number.POSITIVE_INFINITY);
  assert.deepEqual([all.at(0), all.still], [{ step: 0 }, { step: 2 }]);
  assert.ok(all.seconds > one.seconds);
  assert.deepEqual(widget.lead(at("in_place", 4), Number.POSITIVE_INFINITY).at(0), { step: 0 });
});

test("each state has its sentence", () => {
  const kind = (way, now, last, told) => widget.lessonKind({ way, now, last, told });
  assert.equal(kind("fused", 0, false, true), "begin");
  assert.equal(kind("fused", 1, true, true), "fused");
  assert.equal(kind("steps", 3, false, true), "step");
  assert.equal(kind("steps", 4, false, false), "asked");
  assert.equal(kind("steps", 5, true, false), "asked");
  assert.equal(kind("steps", 5, true, true), "done");
  assert.equal(kind("compiled", 1, false, true), "step");
  assert.equal(kind("compiled", 2, true, true), "compiled");
});
