import assert from "node:assert/strict";
import test from "node:test";

import * as widget from "./widget.js";

test("bugs of one row have a sentence of their own", () => {
  assert.equal(widget.kindOf([]), "none");
  assert.equal(widget.kindOf(["q_sign"]), "sign_one");
  assert.equal(widget.kindOf(["q_sign", "k_sign"]), "sign_both");
  assert.equal(widget.kindOf(["reread"]), "reread");
  assert.equal(widget.kindOf(["restart", "reread"]), "many");
  assert.equal(widget.kindOf(["q_sign", "k_seat"]), "many");
});

test("an axis ends at a plain number that no value passes", () => {
  assert.equal(widget.levelFor(1), 1);
  assert.equal(widget.levelFor(1 + 1e-12), 1);
  assert.equal(widget.levelFor(1.01), 1.5);
  assert.equal(widget.levelFor(7), 8);
  assert.equal(widget.levelFor(16), 20);
});

test("a survey says which tests are blind to these vectors, and how many a bug hides from another", () => {
  const example = {
    q: [0.2, 0.5, 0.6, 0.9, 0.5, 0.8, -0.9, -0.1],
    k: [0.9, 0.3, 0.8, -0.8, -0.1, -0.5, 0.1, 0.1],
    weights: [0.5, 0.7, 0.8, 1.4, 1.3, 0.7, 1.3, 0.6],
  };
  const found = (kind, ...bugs) => {
    const on = Object.fromEntries(bugs.map((bug) => [bug, true]));
    const { lit, blind, hidden, alarms, bugs: count } = widget.survey(example, 100, 1e-6, on, kind);
    return { lit, blind, hidden, alarms, count };
  };
  assert.deepEqual(found("same", "q_sign", "k_sign"), {
    lit: ["by_hand"],
    blind: 1,
    hidden: 0,
    alarms: 1,
    count: 2,
  });
  assert.deepEqual(found("ones", "q_seat", "k_seat").blind, 1);
  const mirrored = found("drawn", "q_sign", "k_sign", "restart");
  assert.deepEqual([mirrored.lit, mirrored.hidden], [["cache", "by_hand", "reference"], 2]);
  assert.equal(found("drawn", "restart", "reread").hidden, 0);
});
