import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const allNear = (actual, expected) => actual.flat().forEach((value, i) => near(value, expected.flat()[i]));
const head = [
  [
    [0.5, -0.5],
    [0.5, 0],
  ],
  [
    [0, 1],
    [-1, -1.5],
  ],
  [
    [1, 0],
    [0, 1],
  ],
];
const words = [
  [1, -1.5],
  [-1, -1.5],
  [-2, 0.5],
];
const survey = (order, positions = false, causal = false) => widget.survey(words, order, head, positions, causal);

test("weights of each row sum to one, and equal scores share equally", () => {
  for (const row of survey([2, 0, 1], true).weights)
    near(
      row.reduce((a, b) => a + b),
      1,
    );
});

test("a head of zeros gives everybody the mean of the values", () => {
  const zeros = [
    [0, 0],
    [0, 0],
  ];
  const { outputs } = widget.attend(
    [
      [1, 2],
      [3, 6],
    ],
    [zeros, zeros, head[2]],
    false,
  );
  allNear(outputs, [
    [2, 4],
    [2, 4],
  ]);
});

test("without positions every order leaves each word its output, and the mean", () => {
  const orders = widget.permutations(3);
  assert.equal(new Set(orders.map(String)).size, 6);
  for (const order of orders) {
    const { change, pooled_change, outputs, before } = survey(order);
    near(change, 0);
    near(pooled_change, 0);
    allNear(outputs, before);
  }
});

test("the numbers are those of ropelib", () => {
  near(survey([2, 1, 0], true).change, 1.550110551869768);
  near(survey([2, 1, 0], false, true).change, 2.434145082026982);
  near(survey([2, 1, 0], true, true).pooled_change, 2.272692415382809);
});

test("weights go with the words", () => {
  const [a, b] = [survey([0, 1, 2]).weights, survey([2, 0, 1]).weights];
  near(b[0][1], a[2][0]);
  near(b[2][2], a[1][1]);
});

test("positions and a mask each change what is said in another order", () => {
  for (const [positions, causal] of [
    [true, false],
    [false, true],
    [true, true],
  ]) {
    near(survey([0, 1, 2], positions, causal).change, 0);
    assert.ok(survey([2, 1, 0], positions, causal).change > 1);
    assert.ok(survey([2, 1, 0], positions, causal).pooled_change > 0.2);
  }
});

test("under a mask the first word says its own value, and no word sees a later one", () => {
  const { outputs, weights } = survey([1, 0, 2], false, true);
  allNear(outputs[0], words[1]);
  weights.forEach((row, m) => row.forEach((weight, n) => n > m && near(weight, 0)));
});

test("the code of a place is a sine and a cosine", () => {
  allNear(widget.positionCode(0), [0, 1]);
  allNear(widget.positionCode(2), [Math.sin(2), Math.cos(2)]);
});

test("a moved word pushes those between, exchanged words leave the others", () => {
  assert.deepEqual(widget.moved([0, 1, 2, 3], 0, 2), [1, 2, 0, 3]);
  assert.deepEqual(widget.moved([0, 1, 2, 3], 3, 1), [0, 3, 1, 2]);
  const { original, swapped } = widget.prepared({ words: ["a", "b", "c"], swap: [2, 0], embeddings: words }, head);
  assert.deepEqual(
    [original, swapped],
    [
      [0, 1, 2],
      [2, 1, 0],
    ],
  );
});

test("twins are alike in name and in output", () => {
  assert.deepEqual(
    widget.twinsOf(
      ["the", "dog", "the"],
      [
        [1, 0],
        [1, 0],
        [1, 0],
      ],
    ),
    [true, false, true],
  );
  assert.deepEqual(
    widget.twinsOf(
      ["the", "dog", "the"],
      [
        [1, 0],
        [1, 0],
        [1, 0.1],
      ],
    ),
    [false, false, false],
  );
});

test("the box holds every output, and fits into its picture", () => {
  const box = widget.boundsOf(words, head);
  const at = widget.fitted(box, { x: 0, y: 0, width: 100, height: 60 }, 5);
  for (const order of widget.permutations(3)) {
    for (const [x, y] of survey(order, true, true).outputs.map(at)) {
      assert.ok(x >= 5 - 1e-9 && x <= 95 + 1e-9);
      assert.ok(y >= 5 - 1e-9 && y <= 55 + 1e-9);
    }
  }
});

test("the sentences are those of the order, of its rule and of words that are written alike", () => {
  const kinds = (order, changes) =>
    widget.lessonKinds({ text: { original: [0, 1], twin: "the" }, order, twins: [], ...changes });
  assert.deepEqual(kinds([0, 1]), ["original", "", "bag"]);
  assert.deepEqual(kinds([0, 1], { causal: true }), ["original", "", "causal"]);
  assert.deepEqual(kinds([1, 0], { twins: [true, true] }), ["bag", "twins", "bag"]);
  assert.deepEqual(kinds([1, 0], { positions: true }), ["positions", "apart", "positions"]);
  assert.deepEqual(kinds([1, 0], { positions: true, causal: true }), ["both", "apart", "both"]);
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
