import assert from "node:assert/strict";
import test from "node:test";

import { ruleValue } from "./rule.js";

const name = (word) => ["name", word];
const value = (number) => ["value", number];
const compare = (first, ...rest) => ["compare", first, rest];
const m = name("m");

test("comparisons chain, and lists are equal by their items", () => {
  const between = compare(value(1), ["<", m], ["<=", value(4)]);
  assert.deepEqual(
    [1, 2, 4, 5].map((number) => ruleValue(between, { m: number })),
    [false, true, true, false],
  );
  const ordered = compare(name("order"), ["==", ["list", [value(1), value(0)]]]);
  assert.equal(ruleValue(ordered, { order: [1, 0] }), true);
  assert.equal(ruleValue(ordered, { order: [0, 1] }), false);
  assert.equal(ruleValue(compare(m, ["in", ["list", [value(3), value(5)]]]), { m: 5 }), true);
  assert.equal(ruleValue(compare(m, ["not in", ["list", [value(3)]]]), { m: 3 }), false);
});

test("arithmetic, and what binds it together", () => {
  const left = [
    "chain",
    m,
    [
      ["-", value(1)],
      ["*", value(2)],
    ],
  ];
  assert.equal(ruleValue(left, { m: 4 }), 6);
  assert.equal(ruleValue(["chain", ["sign", "-", m], [["%", value(3)]]], { m: 4 }), 2);
  const either = ["or", [name("no"), ["not", name("no")]]];
  assert.deepEqual(
    [ruleValue(either, { no: false }), ruleValue(["and", [name("no"), either]], { no: false })],
    [true, false],
  );
});

test("items and functions", () => {
  const names = { amplitudes: [1, 0.5, 0] };
  const list = name("amplitudes");
  assert.equal(ruleValue(["index", list, ["sign", "-", value(2)]], names), 0.5);
  for (const [call, found] of [
    ["sum", 1.5],
    ["len", 3],
    ["max", 1],
    ["min", 0],
  ]) {
    assert.equal(ruleValue(["call", call, [list]], names), found);
  }
  assert.equal(ruleValue(["call", "near", [value(Math.PI), name("pi")]], names), true);
  assert.equal(ruleValue(["call", "near", [value(3.1), name("pi"), value(0.02)]], names), true);
  assert.equal(ruleValue(["call", "abs", [value(-2)]], names), 2);
});

test("lists made of lists, as Python makes them", () => {
  const range = (...ends) => ["call", "range", ends.map(value)];
  assert.deepEqual(ruleValue(range(3), {}), [0, 1, 2]);
  assert.deepEqual(ruleValue(range(1, 8, 3), {}), [1, 4, 7]);
  assert.deepEqual(ruleValue(range(3, 1), {}), []);
  const [i, j] = [name("i"), name("j")];
  const odd = compare(["chain", i, [["%", value(2)]]], ["==", value(1)]);
  const square = ["power", i, value(2)];
  assert.deepEqual(ruleValue(["each", square, [[["i"], range(6), [odd]]]], { i: 99 }), [1, 9, 25]);
  const loops = [
    [["i"], range(3), []],
    [["j"], ["call", "range", [i]], []],
  ];
  assert.deepEqual(ruleValue(["each", ["list", [i, j]], loops], {}), [
    [1, 0],
    [2, 0],
    [2, 1],
  ]);
  const pairs = [
    "list",
    [
      ["list", [value(1), value(2)]],
      ["list", [value(3), value(4)]],
    ],
  ];
  assert.deepEqual(ruleValue(["each", ["chain", i, [["*", j]]], [[["i", "j"], pairs, []]]], {}), [2, 12]);
  assert.equal(ruleValue(["if", odd, value("odd"), value("even")], { i: 4 }), "even");
  assert.deepEqual(
    ["any", "all"].map((call) => ruleValue(["call", call, [["list", [odd, value(true)]]]], { i: 4 })),
    [true, false],
  );
});

test("what the state does not have is neither less nor more nor equal", () => {
  for (const sign of ["<", ">", "<=", ">=", "=="]) {
    assert.equal(ruleValue(compare(m, [sign, value(0)]), {}), false, sign);
  }
});
