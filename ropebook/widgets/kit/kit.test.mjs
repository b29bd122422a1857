import assert from "node:assert/strict";
import test from "node:test";

import * as kit from "./kit.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("rotation is counter-clockwise", () => {
  const [x, y] = kit.rotate([1, 0], Math.PI / 2);
  near(x, 0);
  near(y, 1);
});

test("rotations add up", () => {
  const twice = kit.rotate(kit.rotate([0.3, -1.2], 0.7), 1.9);
  const once = kit.rotate([0.3, -1.2], 2.6);
  near(twice[0], once[0]);
  near(twice[1], once[1]);
});

test("words fall back from region to language to English", () => {
  const table = { en: "en", zh: "zh", "pt-BR": "pt-BR" };
  assert.equal(kit.pickWords(table, "zh-CN"), "zh");
  assert.equal(kit.pickWords(table, "pt-br"), "pt-BR");
  assert.equal(kit.pickWords(table, "de"), "en");
  assert.equal(kit.pickWords(table, ""), "en");
});

test("a sentence takes its values by name", () => {
  assert.equal(kit.fill("{a} of {b}, {a}", { a: 1, b: 2 }), "1 of 2, 1");
});

test("numbers have a true minus sign and no negative zero", () => {
  assert.equal(kit.formatNumber(-1.234), "−1.23");
  assert.equal(kit.formatNumber(-0.001), "0.00");
  assert.equal(kit.formatNumber(-4, 0), "−4");
  assert.equal(kit.formatNumber(NaN), "–");
});

test("quantities keep three digits and group the large", () => {
  assert.equal(kit.formatQuantity(6.283185), "6.28");
  assert.equal(kit.formatQuantity(2559195.517), "2\u202f559\u202f196");
  assert.equal(kit.formatQuantity(100), "100");
  assert.equal(kit.formatQuantity(0.01), "0.01");
  assert.equal(kit.formatQuantity(2.4551e-6), "2.46·10⁻⁶");
  assert.equal(kit.formatQuantity(0), "0");
});

test("a vector is shortened into the disc and else kept", () => {
  assert.deepEqual(kit.shorten([1.2, -0.5], 2), [1.2, -0.5]);
  const [x, y] = kit.shorten([30, 40], 2);
  assert.ok(Math.hypot(x, y) <= 2);
  near(x, 1.2);
  near(y, 1.6);
});

test("a full sector is a circle, a part of one a wedge that starts at the center", () => {
  assert.match(kit.sectorPath(10, 10, 5, 0, kit.TAU), /^M15\.00 10\.00A/);
  assert.match(kit.sectorPath(10, 10, 5, 0, 1), /^M10 10L15\.00 10\.00A/);
});

test("a spiral starts and ends at its angles and grows with each turn", () => {
  const points = kit.spiralPoints(0, 0, 1, 0, 2.5 * kit.TAU, 0.1);
  near(points[0][0], 1);
  near(points.at(-1)[0], -1.25);
  near(points.at(-1)[1], 0);
});

test("an arrow ends at its tip, and one of length zero is nothing", () => {
  assert.match(kit.arrowPaths(0, 0, 30, 0).head, /^M30\.00 0\.00L/);
  assert.deepEqual(kit.arrowPaths(3, 4, 3, 4), { shaft: "", head: "" });
});
