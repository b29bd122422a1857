import assert from "node:assert/strict";
import test from "node:test";

import { LanguageError, readExpression } from "./language.js";
import * as meaning from "./meaning.js";

const value = (text, names = {}) => meaning.valueOfTree(readExpression(text), names);

test("whole numbers are exact, and division has Python's meaning", () => {
  assert.deepEqual(
    ["-7 // 2", "-7 % 3", "7 % -3", "2**10"].map((text) => value(text)),
    [-4n, 2n, -2n, 1024n],
  );
  assert.deepEqual(
    ["-7.5 // 2", "7.5 % -2", "7 / 2", "2**-1"].map((text) => value(text)),
    [-4, -0.5, 3.5, 0.5],
  );
  assert.equal(value("round(2.5) + round(3.5)"), 6n);
});

test("lists, loops and conditions", () => {
  assert.deepEqual(value("[i * x for i, x in zip(range(3), q) if i]", { q: [5n, 6n, 7n] }), [6n, 14n]);
  assert.deepEqual(value("q[::-1] + q[-1:]", { q: [1n, 2n] }), [2n, 1n, 2n]);
  assert.equal(value("1 if [] else 2"), 2n);
  assert.equal(value("0 or 'half' == layout", { layout: "half" }), true);
});

test("what has no value is refused in words", () => {
  const refused = {
    "1/0": /by zero/,
    "sqrt(-1)": /no real number/,
    constructor: /not known/,
    "toString()": /no function/,
  };
  for (const [text, message] of Object.entries(refused))
    assert.throws(() => value(text), { constructor: LanguageError, message });
});

test("work is bounded", () => {
  assert.throws(() => value("sum([sum(range(9999)) for i in range(9999)])"), /takes too long/);
  assert.throws(() => value("[[0] * 9999] * 9999"), /too long/);
  assert.throws(() => value("9**9**9"), /too large/);
});

test("numbers are shown with six digits, whole ones whole", () => {
  const shown = { 0.30000000000000004: "0.3", 1e-7: "1e-7", 123456.7: "123457", "-0": "0", 1e20: "1e20" };
  for (const [number, text] of Object.entries(shown)) assert.equal(meaning.showValue(Number(number)), text);
  assert.equal(meaning.showValue([1n, true, "half", 0.5]), "[1, True, half, 0.5]");
  assert.equal(meaning.withDecimals(-2.5, 0), "-3");
  assert.equal(meaning.withDecimals(0.125, 2), "0.13");
});

test("what JSON calls a number is whole where it is", () => {
  assert.deepEqual(meaning.fromJson([1, 0.5, [2]]), [1n, 0.5, [2n]]);
  assert.throws(() => meaning.fromJson(Number.NaN), LanguageError);
  assert.throws(() => meaning.fromJson(null), LanguageError);
});

test("near is by part of the second", () => {
  assert.ok(meaning.isNear(1e6, 1e6 + 0.5) && !meaning.isNear(1e6, 1e6 + 5) && meaning.isNear(3n, 3));
});
