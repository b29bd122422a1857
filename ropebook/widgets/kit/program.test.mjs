import assert from "node:assert/strict";
import test from "node:test";

import { readFunction, resultOf } from "./program.js";

const run = (lines, ...values) => resultOf(readFunction(lines.join("\n")), values);

test("assignments, loops and conditions", () => {
  const code = [
    "def f(n, rows):",
    "    total, last = 0, 1  # two",
    "    for a, b in rows:",
    "        if a > n:",
    "            total += a * b",
    "        elif a == n:",
    "            return -1",
    "        else:",
    "            total -= last",
    "    return total",
  ];
  const rows = [
    [3n, 4n],
    [1n, 9n],
  ];
  assert.equal(run(code, 2n, rows), 11n);
  assert.equal(run(code, 3n, rows), -1n);
});

test("a line goes on inside brackets, and a docstring says nothing", () => {
  const code = [
    "def f(n):",
    '    """Counts."""',
    "    found = [",
    "        n,",
    "        2,",
    "    ]",
    "    return found",
  ];
  assert.deepEqual(run(code, 1n), [1n, 2n]);
});

test("what is no function is refused in words", () => {
  assert.throws(() => run(["x = 1"]), /“def” is missing/);
  assert.throws(() => run(["def f(n):", "return 1"], 1n), /must be indented/);
  assert.throws(() => run(["def f(n):", "    n = 1"], 1n), /returned None/);
  assert.throws(() => run(["def f(n):", "    else:", "        return 1"], 1n), /A name is missing/);
});
