import assert from "node:assert/strict";
import test from "node:test";

import * as text from "./text.js";

test("words fall back from region to language to English", () => {
  const table = { en: "en", zh: "zh", "pt-BR": "pt-BR" };
  assert.equal(text.pickWords(table, "zh-CN"), "zh");
  assert.equal(text.pickWords(table, "pt-br"), "pt-BR");
  assert.equal(text.pickWords(table, "de"), "en");
  assert.equal(text.pickWords(table, ""), "en");
});

test("a sentence takes its values by name", () => {
  assert.equal(text.fill("{a} of {b}, {a}", { a: 1, b: 2 }), "1 of 2, 1");
  assert.equal(text.fill("{a} of {b}", { a: -1, b: 2000 }, text.formatQuantity), "−1 of 2\u202f000");
});

test("numbers have a true minus sign and no negative zero", () => {
  assert.equal(text.formatNumber(-1.234), "−1.23");
  assert.equal(text.formatNumber(-0.001), "0.00");
  assert.equal(text.formatNumber(-4, 0), "−4");
  assert.equal(text.formatNumber(NaN), "–");
  assert.equal(text.whole(-3.6), "−4");
});

test("quantities keep three digits and group the large", () => {
  assert.equal(text.formatQuantity(6.283185), "6.28");
  assert.equal(text.formatQuantity(2559195.517), "2\u202f559\u202f196");
  assert.equal(text.formatQuantity(100), "100");
  assert.equal(text.formatQuantity(0.01), "0.01");
  assert.equal(text.formatQuantity(2.4551e-6), "2.46·10⁻⁶");
  assert.equal(text.formatQuantity(0), "0");
  assert.equal(text.formatQuantity(-0.5), "−0.5");
  assert.equal(text.formatQuantity(-2.4551e-6), "−2.46·10⁻⁶");
});

test("tenths of a token only on the way, angles in degrees or unknown", () => {
  assert.equal(text.tokens(3), "3");
  assert.equal(text.tokens(3.25), "3.3");
  assert.equal(text.formatAngle(Math.PI / 2), "90.0°");
  assert.equal(text.formatAngle(NaN), "–");
  assert.equal(text.formatTurn("{radians} rad ({degrees}°)")(Math.PI / 2), "1.57 rad (90°)");
});
