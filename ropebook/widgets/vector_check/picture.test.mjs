import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { candidates, measured, rightAt } from "./bugs.js";
import { decimals, pairsPicture } from "./picture.js";
import { WORDS } from "./widget.js";

fakePage();
const X = [3, 5, 7, -1, -4, 6, -2, 9];
const drawn = (y, readable = true, width = 490) => {
  const picture = pairsPicture(WORDS.en);
  picture.draw(measured(X, y, rightAt(X, 5, 1e4, "half"), "half", 0.005), readable, width);
  const all = picture.node.all();
  return { all, named: (name) => all.filter(({ attributes }) => attributes["data-report"] === name) };
};

test("each pair is told right or wrong, by a mark", () => {
  const marks = (...given) => drawn(...given).all.filter(({ attributes }) => "data-mark" in attributes);
  const told = (...given) =>
    marks(...given).map(({ attributes, textContent }) => [textContent, attributes["data-mark"]]);
  const pairs = (...kinds) => kinds.map((kind, i) => [`pair ${i}`, kind]);
  assert.deepEqual(told(rightAt(X, 5, 1e4, "half")), pairs("fits", "fits", "fits", "fits"));
  const [, , values] = candidates(X, 5, 1e4).find(([code, , , n]) => code === "slow-pairs-stand-still" && n === 3);
  assert.deepEqual(told(values), pairs("fits", "fits", "fits", "off"));
  assert.deepEqual(told(values, false), pairs("", "", "", ""));
});

test("what is wrong shows in its numbers, by as many decimals as that takes", () => {
  const late = measured(X, rightAt(X, 4, 1e4, "half"), rightAt(X, 3, 1e4, "half"), "half", 0.005);
  assert.deepEqual(late.map(decimals), [
    [1, 2],
    [1, 2],
    [1, 2],
    [2, 2],
  ]);
  const longer = measured(
    X,
    X.map((value) => 1.003 * value),
    X,
    "half",
    0.005,
  );
  assert.deepEqual(decimals(longer[1]), [1, 3]);
  const rounded = measured(
    X,
    X.map((value) => 1.0003 * value),
    X,
    "half",
    0.005,
  );
  assert.deepEqual(decimals(rounded[1]), [1, 2]);
  const same = measured(X, rightAt(X, 3, 1e4, "half"), rightAt(X, 3, 1e4, "half"), "half", 0.005);
  assert.deepEqual(same.map(decimals), Array(4).fill([1, 2]));
});

test("four stand in a row where there is room, and two by two on a phone", () => {
  const corners = (width) => {
    const picture = pairsPicture(WORDS.en);
    picture.draw(measured(X, X, X, "half", 0.005), true, width);
    return picture.node.all().flatMap(({ attributes }) => (attributes.class === "rope-circle" ? [attributes] : []));
  };
  const sizes = [290, 470, 490].map((width) => new Set(corners(width).map(({ cx }) => cx)).size);
  assert.deepEqual(sizes, [2, 2, 4]);
  for (const width of [290, 470, 490]) assert.ok(corners(width)[0].r > 44);
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

test("what is off by too little to be seen is enlarged where there is room, and nothing else", () => {
  const sizes = (y, readable = true, width = 600) =>
    drawn(y, readable, width).all.flatMap(({ attributes: { class: name, r } }) =>
      name === "rope-lens" ? [Number(r)] : [],
    );
  const late = rightAt(X, 3, 1e4, "half");
  assert.deepEqual(
    sizes(late).map((r) => r > 15),
    [false, false, true, true],
  );
  const none = Array(4).fill(0);
  assert.deepEqual(sizes(rightAt(X, 5, 1e4, "half")), none);
  assert.deepEqual(sizes(late, false), none);
  assert.equal(sizes(late, true, 320).filter((r) => r > 15).length, 2);
  assert.deepEqual(sizes(late, true, 240), none);
});

test("a length that is not kept is told beside the one that should be", () => {
  const lengths = (y) =>
    drawn(y)
      .named("length")
      .map(({ textContent }) => textContent);
  const right = rightAt(X, 5, 1e4, "half");
  assert.deepEqual(lengths(right), Array(4).fill("1.00"));
  assert.deepEqual(lengths(right.map((value) => 2 * value)), Array(4).fill("2.00, not 1.00"));
  assert.deepEqual(lengths(rightAt(X, 4, 1e4, "half")), Array(4).fill("1.00"));
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
  const expected = [...rightAt(X.slice(0, 4), 5, 1e4, "half"), ...Array(4).fill(NaN)];
  picture.draw(measured(X, X, expected, "half", 0.005, [4, 4]), true, 450);
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
