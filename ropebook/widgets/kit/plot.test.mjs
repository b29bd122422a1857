import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, node } from "./fake_page.mjs";
import * as plot from "./plot.js";

fakePage();

test("a scale is linear from end to end, either way round", () => {
  const scale = plot.linearScale(-1, 1, 100, 0);
  assert.deepEqual([-1, 0, 1].map(scale), [100, 50, 0]);
});

test("a plane has its origin in the middle, y upward, and a line at each whole number", () => {
  const picture = node("svg");
  const plane = plot.squarePlane(picture, 2.5);
  const { at, unit, origin } = plane.resize(500);
  assert.deepEqual([unit, origin, at([1, 1]), plane.toPoint(350, 150)], [100, [250, 250], [350, 150], [1, 1]]);
  assert.equal(picture.all()[2].attributes.d.match(/M/g).length, 8);
});

test("a panel says where places and levels are, and what stands there", () => {
  const toX = plot.linearScale(0, 8, 30, 110);
  const part = plot.panel({ left: 30, right: 110, top: 10, bottom: 60, low: 0, high: 5, toX });
  assert.equal(part.uprights([0, 4]), "M30 10V60M70 10V60");
  assert.equal(part.uprights([4], 4), "M70 10V64");
  assert.equal(part.levels([1, 5]), "M30 50H110M30 10H110");
  const [, along, text] = part.numbersAlong([4], (value) => `${value}!`)[0];
  assert.deepEqual([along.x, along.y, text], [70, 76, "4!"]);
  assert.equal(part.numbersAlong([4], String, 99)[0][1].y, 99);
  const [, up] = part.numbersUp([5], String)[0];
  assert.deepEqual([up.x, up.y, up["text-anchor"]], [24, 14, "end"]);
  assert.deepEqual(part.at(4, 1), [70, 50]);
});

test("axes of a score carry the level's numbers and give its scales", () => {
  const picture = node("svg");
  const axes = plot.scoreAxes(picture, { from: 0, to: 8, ticks: [0, 8], right: 10, titleX: "x", titleY: "y" });
  const { toX, toY, bottom } = axes.resize({ width: 344, height: 274, level: 2 });
  assert.deepEqual([toX(0), toX(8), toY(2), toY(-2), bottom], [34, 334, 34, 234, 234]);
  const texts = picture.all().map((part) => part.textContent);
  for (const text of ["2", "0", "−2", "8", "x", "y"]) assert.ok(texts.includes(text), text);
});

test("the number of a marker stands where there is room", () => {
  const picture = node("svg");
  const mark = plot.nowMarker(picture);
  const place = () => ["x", "y", "text-anchor"].map((name) => picture.all().at(-1).attributes[name]);
  mark({ x: 50, y: 100, text: "1.00", width: 300, high: 200 });
  assert.deepEqual(place(), ["61", "90", "start"]);
  mark({ x: 280, y: 5, text: "1.00", width: 300, high: 200 });
  assert.deepEqual(place(), ["269", "30", "end"]);
});

test("a marker is one dot, and its number carries what it is told", () => {
  const picture = node("svg");
  const told = { "data-report": "score", "data-value": 1 };
  plot.nowMarker(picture)({ x: 50, y: 100, text: "1.00", width: 300, high: 200, told });
  const [, , dot, label] = picture.all();
  assert.deepEqual([picture.all().length, dot.attributes.r, label.attributes["data-report"]], [4, "5", "score"]);
});
