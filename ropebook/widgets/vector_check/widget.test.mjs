import assert from "node:assert/strict";
import test from "node:test";

import { judge } from "./bugs.js";
import { printed } from "./numbers.js";
import { example, given, quoted, ratio, stopOf } from "./widget.js";

const X = [3, 5, 7, -1, -4, 6, -2, 9];

test("each stop pastes what it says, at any position", () => {
  const codes = {
    ...{ page: "interleaved-angles-on-half-pairs", half: "right", neighbors: "right" },
    ...{ clockwise: "clockwise", late: "off-by-one", base: "base-not-as-expected" },
  };
  for (let position = 3; position <= 16; position += 1) {
    for (const [stop, code] of Object.entries(codes)) {
      const numbers = example(stop, X, position, 1e4);
      assert.equal(judge(X, numbers, position, 1e4, 0.005).code, code);
      assert.equal(stopOf(printed(numbers), X, position, 1e4), stop);
    }
  }
});

test("a reader's own numbers are no stop's, nor is what cannot be read", () => {
  assert.equal(stopOf("1 2 3 4 5 6 7 8", X, 3, 1e4), null);
  assert.equal(stopOf("nothing", X, 3, 1e4), null);
  assert.equal(stopOf(printed(example("half", X, 3, 1e4)), X, 4, 1e4), null);
});

test("what is handed over are lines that most languages read", () => {
  assert.equal(given([1, -2], 3, 1e4), "x = [1, -2]\nposition = 3\nbase = 10000");
});

test("a reader's text is quoted short, and as what it is", () => {
  assert.equal(quoted("two"), "two");
  assert.equal(quoted("a".repeat(40)), `${"a".repeat(23)}…`);
  assert.equal(quoted("\u202etwo"), "\\u{202e}two");
});

test("how many times as fast is a fraction in its lowest terms", () => {
  assert.deepEqual([ratio(4, 3), ratio(6, 3), ratio(6, 4), ratio(2, 6)], ["4/3", "2", "3/2", "1/3"]);
});
