import assert from "node:assert/strict";
import test from "node:test";

import { filledCode, filledText, judge, ruleHolds, solutionOf } from "./answers.js";

const ANSWER = {
  question: "?",
  solution: "So it is.",
  otherwise: "No.",
  tolerance: 1e-6,
  accept: "",
  let: [],
  hints: [],
};
const NUMBER = {
  ...ANSWER,
  kind: "number",
  right: 0.5,
  shown: "1/2 = 0.5",
  hints: [
    { example: 2, said: "Upside down: 1/{a} is {1/a:.2f}.", when: "" },
    { example: -1, said: "Below.", when: "a < 0" },
  ],
};
const FILL_IN = {
  ...ANSWER,
  kind: "fill-in",
  pieces: ["def f(x):\n    return ", " + 1\n"],
  gaps: ["x * x"],
  parameters: ["x"],
  names: ["x"],
  otherwise: "",
  shown: "<code>x * x</code>. For x = 2 it gives 5.",
  cases: [
    { given: [2], right: 5 },
    { given: [3], right: 10 },
  ],
  hints: [{ gaps: ["2 * x"], outputs: [5, 7], said: "Twice is no square.", when: "" }],
};

test("a number is right in any spelling, and a misconception has its words", () => {
  for (const text of ["0.5", " 1/2 ", "cos(π/3)", "−0.5 × −1"])
    assert.deepEqual(judge(NUMBER, text), { ok: true, message: "Right." });
  assert.equal(judge(NUMBER, "2").message, "Upside down: 1/2 is 0.50.");
  assert.equal(judge(NUMBER, "-3").message, "Below.");
  assert.equal(judge(NUMBER, "7").message, "No.");
  assert.match(judge(NUMBER, "0.501").message, /^Close/);
});

test("what is empty is open, and what cannot be read is named", () => {
  assert.deepEqual(judge(NUMBER, "  "), { ok: false, message: "Not answered yet." });
  assert.match(judge(NUMBER, "word").message, /^“word” is not known here\. Write a number/);
  assert.match(judge(NUMBER, "[1]").message, /^One number is asked for, got \[1\]/);
});

test("several numbers, a set, an order", () => {
  const numbers = { ...ANSWER, kind: "numbers", right: [1, 3], labels: ["x", "y"], shown: "x = 1, y = 3" };
  assert.ok(judge(numbers, ["1", "6/2"]).ok);
  assert.match(judge(numbers, ["1", ""]).message, /^y is empty/);
  assert.match(judge(numbers, ["1"]).message, /expected two numbers, got 1/);
  const set = { ...ANSWER, kind: "set", right: [-5, 5] };
  for (const text of ["5, -5", "{-5; 5, 10/2}", "[5, -5]"]) assert.ok(judge(set, text).ok, text);
  assert.equal(judge(set, "{}").message, "No.");
  const order = { ...ANSWER, kind: "order", right: [1, 0], items: ["a", "b"] };
  assert.ok(judge(order, [1, 0]).ok);
  assert.equal(judge(order, [0, 1]).message, "No.");
  assert.match(judge(order, [0, 0]).message, /each of them once/);
});

test("an expression is compared at all samples", () => {
  const exercise = { ...ANSWER, kind: "expression", variables: ["x"], samples: [{ x: 1 }, { x: 2 }], right: [2, 4] };
  assert.ok(judge(exercise, "x + x").ok);
  assert.equal(judge(exercise, "2").message, "No.");
  assert.match(judge(exercise, "y").message, /not known here\. You may use x, numbers/);
});

test("a bet is answered by its option, a task by a rule over traits", () => {
  const options = [
    { text: "yes", said: "Why?", right: false },
    { text: "no", said: "Right so.", right: true },
  ];
  assert.deepEqual(judge({ kind: "bet", options }, 1), { ok: true, message: "Right so." });
  assert.deepEqual(judge({ kind: "choice", options }, 0), { ok: false, message: "Why?" });
  assert.equal(solutionOf({ kind: "bet", options }), "no");
  const task = { kind: "task", done: "k[0] > 1 and layout == 'half'", said: "Done." };
  assert.ok(judge(task, { k: [2, 0], layout: "half" }).ok);
  assert.ok(!judge(task, { k: [2, 0] }).ok);
});

test("gaps are judged by what the function gives", () => {
  assert.ok(judge(FILL_IN, ["x**2"]).ok);
  assert.equal(judge(FILL_IN, ["2 * x"]).message, "Twice is no square.");
  assert.equal(judge(FILL_IN, ["2*x - 0*x/x"]).message, "Twice is no square.");
  assert.equal(judge(FILL_IN, ["x"]).message, "For x = 2 it gives 3, and it should give 5.");
  assert.match(judge(FILL_IN, ["y"]).message, /^“y” is not known here\. You may use x/);
  assert.match(judge(FILL_IN, ["x + 1)\n    return (0"]).message, /closes no bracket|cannot be read/);
  assert.match(judge(FILL_IN, ["1/(x - 2)"]).message, /^For x = 2: This divides by zero/);
  assert.equal(judge(FILL_IN, [""]).message, "Not answered yet.");
  assert.equal(filledCode(FILL_IN, ["x * x"]), "def f(x):\n    return x * x + 1\n");
});

test("a solution says its value", () => {
  assert.equal(solutionOf(NUMBER), "1/2 = 0.5. So it is.");
  assert.equal(solutionOf(FILL_IN), "<code>x * x</code>. For x = 2 it gives 5. So it is.");
});

test("texts are filled, and a rule without a value does not hold", () => {
  assert.equal(filledText("{{{a}}} {a/3:.2f} {2e6/3:,.1f} {b}", { a: 1n }), "{1} 0.33 666,666.7 ?");
  assert.ok(!ruleHolds("1/0 > 0", {}) && ruleHolds("2 > 1", {}));
});

test("it never throws, whatever a page gives it", () => {
  for (const answer of [null, undefined, 3, {}, [], [[]], "\ud800", Number.NaN, Symbol.iterator])
    for (const exercise of [NUMBER, FILL_IN, { ...ANSWER, kind: "set", right: [1] }, { kind: "unknown" }])
      assert.equal(judge(exercise, answer).ok, false);
});
