import assert from "node:assert/strict";
import test from "node:test";

import * as language from "./language.js";

test("a text becomes a tree, with the signs of mathematics in Python's own", () => {
  assert.deepEqual(language.readExpression("2×π − x**2"), [
    "chain",
    ["chain", ["value", 2n], [["*", ["name", "pi"]]]],
    [["-", ["power", ["name", "x"], ["value", 2n]]]],
  ]);
  assert.deepEqual(language.readExpression("a < 1.5 not in [b]"), [
    "compare",
    ["name", "a"],
    [
      ["<", ["value", 1.5]],
      ["not in", ["list", [["name", "b"]]]],
    ],
  ]);
});

test("what cannot be read is refused in words", () => {
  const refused = {
    "": /missing at the end/,
    "1 2": /missing between/,
    "2^3": /\*\* for a power/,
    "(1": /never closed/,
  };
  for (const [text, message] of Object.entries(refused))
    assert.throws(() => language.readExpression(text), { constructor: language.LanguageError, message });
});

test("one number may have its thousands apart, and be a share of 100", () => {
  const read = {
    "7,680,000": "7680000",
    "7\u2009680 000": "7680000",
    "16 * (4,096 - 1)": "16 * (4096 - 1)",
    "62.5%": "62.5/100",
    "0,125": "0,125",
    "max(1,024)": "max(1,024)",
  };
  for (const [text, number] of Object.entries(read)) assert.equal(language.oneNumber(text), number);
  assert.throws(() => language.readExpression("65,536"), /write “65536”/);
});

test("nothing nested or long is read", () => {
  assert.throws(() => language.readExpression("-".repeat(100)), /too deep/);
  assert.throws(() => language.readExpression("1+".repeat(300)), /too long/);
});

test("what a reader typed is repeated short and without markup", () => {
  assert.equal(language.quoted(" <img src=x onerror=alert(1)> "), "“‹img src=x onerror=a…”");
});

test("names that a text gives a meaning itself are not free", () => {
  assert.deepEqual(language.freeNames("[cos(x * y) for x in numbers]"), ["y", "numbers"]);
});

test("a list is split at the commas that stand in no brackets", () => {
  assert.deepEqual(language.splitAtCommas("1, max(2, 3); 4"), ["1", " max(2, 3)", " 4"]);
});
