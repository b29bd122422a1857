import assert from "node:assert/strict";
import test from "node:test";

import { table } from "./config_table.mjs";
import { checked, same } from "./rules.js";

test("a rule is kept or named", () => {
  const broken = (value, name) => {
    try {
      checked("k", value, name, table);
    } catch ({ problem }) {
      return [problem.code, problem.key, problem.rule];
    }
  };
  const kept = [
    [1e15, "positive"],
    [1e-15, "positive"],
    [64, "count"],
    [64.0, "dimensions"],
    [1, "share"],
    [0, "switch"],
  ];
  kept.push(
    [0, "not_negative"],
    [1, "at_least_one"],
    [[], "names"],
    ["LG", "pattern"],
    [3, "pattern"],
    [[0, 1], "switches"],
  );
  for (const [value, rule] of kept) assert.equal(broken(value, rule), undefined, `${value} ${rule}`);
  for (const value of ["64", true, Infinity, 1.1e15, [64]])
    assert.deepEqual(broken(value, "positive"), ["rule", "k", "number"]);
  assert.deepEqual(broken(5e-324, "positive"), ["rule", "k", "tiny"]);
  const wrong = [
    [0, "positive"],
    [0, "count"],
    [1.5, "count"],
    [4097, "dimensions"],
    [1.01, "share"],
    [2, "switch"],
  ];
  wrong.push(
    [-1, "count_or_zero"],
    [0.9, "at_least_one"],
    [1, "boolean"],
    [1, "text"],
    ["LX", "pattern"],
    [[], "mapping"],
  );
  for (const [value, rule] of wrong) assert.deepEqual(broken(value, rule), ["rule", "k", rule], `${value}`);
  assert.deepEqual(broken([1, 2], "switches"), ["rule", "k[1]", "switch"]);
  assert.deepEqual(broken(Array(101).fill(1), "switches"), ["entries", "k", undefined]);
});

test("values are the same by what they hold", () => {
  assert.ok(same({ a: [1, { b: null }], c: 2 }, { c: 2, a: [1, { b: null }] }) && same(undefined, null));
  const others = [
    [1, true],
    [[1], [1, 2]],
    [{ a: 1 }, { b: 1 }],
    [{}, []],
    [{ a: 1 }, { a: 1, b: 2 }],
    ["1", 1],
  ];
  for (const [a, b] of others) assert.ok(!same(a, b) && !same(b, a));
});
