import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { candidates, measured, rightAt } from "./bugs.js";
import { pairsPicture } from "./picture.js";
import { WORDS } from "./widget.js";

fakePage();
const X = [3, 5, 7, -1, -4, 6, -2, 9];
const drawn = (y, readable = true) => {
  const picture = pairsPicture(WORDS.en);
  picture.draw(measured(X, y, 5, 1e4, "half", 0.005), readable, 450);
  const all = picture.node.all();
  return { all, named: (name) => all.filter(({ attributes }) => attributes["data-report"] === name) };
};

test("each pair is told right or wrong, by a mark", () => {
  const marks = (y) => drawn(y).all.filter(({ tag, textContent }) => tag === "text" && /^\d [✓✗]$/.test(textContent));
  const told = (y) => marks(y).map(({ textContent }) => textContent);
  assert.deepEqual(told(rightAt(X, 5, 1e4, "half")), ["0 ✓", "1 ✓", "2 ✓", "3 ✓"]);
  const [, , values] = candidates(X, 5, 1e4).find(([code]) => code === "last-pair-not-rotated");
  assert.deepEqual(told(values), ["0 ✓", "1 ✓", "2 ✓", "3 ✗"]);
});

test("angles and lengths are reported, and those of no numbers are not", () => {
  const y = rightAt(X, 5, 1e4, "half").map((value) => 2 * value);
  const numbers = (name, ...rest) =>
    drawn(y, ...rest)
      .named(name)
      .map((node) => Number(node.attributes["data-value"]));
  assert.ok(Math.abs(numbers("turned")[1] - 0.5) < 1e-9);
  assert.ok(Math.abs(numbers("wanted")[0] - (5 - 2 * Math.PI)) < 1e-9);
  assert.ok(numbers("length").every((value) => Math.abs(value - 2) < 1e-9));
  assert.ok(numbers("turned", false).every(Number.isNaN));
  assert.ok(Math.abs(numbers("wanted", false)[1] - 0.5) < 1e-9);
});

test("nothing that is drawn is beyond measure, whatever came back", () => {
  for (const y of [Array(8).fill(0), Array(8).fill(1e300), Array(8).fill(5e-324)]) {
    const paths = drawn(y)
      .all.map(({ attributes: { d = "" } }) => d)
      .join("");
    assert.ok(!/NaN|Infinity/.test(paths), paths);
  }
});

test("a pair that should not be there has no mark of where it should be", () => {
  const picture = pairsPicture(WORDS.en);
  picture.draw(measured(X, X, 5, 1e4, "half", 0.005, 4), true, 450);
  const all = picture.node.all();
  const should = all.filter(({ attributes }) => attributes.class === "rope-vector-right");
  assert.deepEqual(
    should.map(({ attributes: { d } }) => d === ""),
    [false, false, true, true],
  );
  const wanted = all.filter(({ attributes }) => attributes["data-report"] === "wanted");
  assert.deepEqual(
    wanted.slice(2).map(({ textContent }) => textContent),
    ["–", "–"],
  );
});
