import assert from "node:assert/strict";
import test from "node:test";

import { linesOf } from "./paper.js";

test("each line has what it reads and writes, and the passes up to it", () => {
  const sizes = { x: 1, x2: 0.5, n: 0.5 };
  const lines = [
    { code: "n = -x2", reads: ["x2"], writes: "n" },
    { code: "turn(x)", reads: ["x", "n"], writes: "x" },
  ];
  assert.deepEqual(linesOf(lines, sizes), [
    { code: "n = -x2", numbers: [0.5, 0.5, 1] },
    { code: "turn(x)", numbers: [1.5, 1, 3.5] },
  ]);
});
