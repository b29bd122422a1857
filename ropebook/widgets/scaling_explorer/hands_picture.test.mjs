import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { handsPicture, planOf, sparse } from "./hands_picture.js";
import { survey } from "./methods.js";

const state = {
  ...{ method: "yarn", held: "linear", factor: 4, base: 10000, head_dim: 128 },
  ...{ original_length: 4096, new_length: 16384, new_base: 1e6, share: 0.75 },
};
const shown = (changes = {}) => ({ ...state, ...changes, ...survey({ ...state, ...changes }) });

test("longer wavelengths stand higher, and what has no end highest", () => {
  const { wave, times } = planOf(shown({ method: "proportional" }), 400);
  for (const heights of [[10, 1000, 20000, Infinity].map(wave), [1, 2, 4, Infinity].map(times)]) {
    assert.deepEqual(
      [...heights].sort((a, b) => b - a),
      heights,
    );
  }
});

test("hands stand side by side over the whole width", () => {
  const { x, step, right } = planOf(shown(), 400);
  assert.ok(Math.abs(x(63) + step / 2 - right) < 1e-9);
  assert.ok(Math.abs(x(1) - x(0) - step) < 1e-9);
});

test("levels too near to others are not named", () => {
  const to = (value) => 10 * value;
  assert.deepEqual(sparse([1, 4, 4, 4.5, 9], to), [1, 4, 9]);
});

test("every hand has one dot in each picture, and fast hands that are slowed look like no other", () => {
  fakePage();
  const words = { picture: {}, titles: {}, axes: {}, lines: { original: "", new: "" }, endless: "∞" };
  const picture = handsPicture(words);
  picture.draw(shown({ method: "ntk_aware" }), null, 400);
  const dots = (name) =>
    picture.node
      .all()
      .filter((node) => node.attributes.class === `rope-scaling-${name}`)
      .map((node) => node.attributes.d.split("Z").length - 1);
  assert.deepEqual(["inside", "outside", "vain"].map(dots), [
    [2, 2],
    [17, 17],
    [45, 45],
  ]);
  assert.equal(picture.node.find("class", "rope-scaling-held").attributes.d, "");
});

test("the labels of the lines cover no dot and no other label", () => {
  const lengths = [
    [4096, 16384],
    [4096, 4096],
    [8192, 131072],
    [128, 256],
    [131072, 1048576],
  ];
  for (const width of [264, 306, 380, 560]) {
    for (const [original_length, new_length] of lengths) {
      for (const method of ["default", "linear", "yarn", "ntk_aware"]) {
        const { covered, overlap } = labelsOf(shown({ method, original_length, new_length }), width);
        assert.deepEqual([covered, overlap], [0, false], `${width} ${original_length} ${new_length} ${method}`);
      }
    }
  }
});

// The boxes of both labels as drawn, in letters of 7 pixels, against every dot as drawn.
function labelsOf(state, width) {
  fakePage();
  const lines = { original: "original: {value}", new: "new: {value}" };
  const picture = handsPicture({ picture: {}, titles: {}, axes: {}, lines, endless: "∞" });
  picture.draw(state, null, width, width < 400);
  const nodes = picture.node.all();
  const named = (part) => nodes.filter((node) => node.attributes.class?.includes(part));
  const dots = ["inside", "outside", "vain"]
    .flatMap((kind) => named(`rope-scaling-${kind}`).slice(0, 1))
    .flatMap((node) => [...node.attributes.d.matchAll(/M([\d.]+) ([\d.]+)/g)])
    .map(([, x, y]) => [Number(x), Number(y)]);
  assert.equal(dots.length, 64);
  const boxes = named("rope-scaling-line-label").map(({ attributes, textContent }) => {
    const [x, y, long] = [Number(attributes.x), Number(attributes.y), 7 * textContent.length];
    const from = attributes["text-anchor"] === "end" ? x - long : x;
    return { from, to: from + long, high: y - 10, low: y + 1 };
  });
  const [one, other] = boxes;
  const covered = dots.filter(([x, y]) => {
    return boxes.some(({ from, to, high, low }) => x > from && x < to && y > high && y < low);
  });
  const overlap = one.from < other.to && other.from < one.to && one.high < other.low && other.high < one.low;
  return { covered: covered.length, overlap };
}
