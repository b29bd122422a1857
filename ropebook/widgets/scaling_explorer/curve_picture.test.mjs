import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { curvePicture, namedDistances } from "./curve_picture.js";
import { survey } from "./methods.js";

test("the last distance is named, and powers of ten that leave it room", () => {
  assert.deepEqual(namedDistances(16384, 250), [1, 10, 100, 1000, 16384]);
  assert.deepEqual(namedDistances(131072, 250), [1, 10, 100, 1000, 131072]);
  assert.deepEqual(namedDistances(128, 250), [1, 10, 128]);
  assert.deepEqual(namedDistances(1048576, 250), [1, 100, 10000, 1048576], "no two numbers read as one");
});

test("a curve that falls deep gets room, and a ghost is drawn where one is held", () => {
  fakePage();
  const picture = curvePicture({ picture: {}, titles: {}, axes: {} });
  const state = {
    ...{ method: "linear", held: "yarn", factor: 4, base: 10000, head_dim: 128 },
    ...{ original_length: 4096, new_length: 16384, new_base: 1e6, share: 0.75 },
  };
  const { hands } = survey(state);
  const numbers = () =>
    picture.node
      .all()
      .filter((node) => node.tag === "text")
      .map((node) => node.textContent);
  picture.draw({ hands, ...state }, null, 300);
  assert.ok(!numbers().includes("−1"));
  assert.equal(picture.node.find("class", "rope-scaling-held").attributes.d, "");
  for (const held of [null, [0.5]]) {
    picture.draw({ hands: { unscaled: [1], inverse: [0.01] }, ...state }, held, 300);
    assert.ok(numbers().includes("−1"));
  }
  assert.notEqual(picture.node.find("class", "rope-scaling-held").attributes.d, "");
});
