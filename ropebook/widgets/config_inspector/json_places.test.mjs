import assert from "node:assert/strict";
import test from "node:test";

import { parseJson } from "./json_places.js";

const most = { characters: 100000, nesting: 100 };
const parse = (text) => parseJson(text, most);
// What is said against a text; null: nothing.
const problem = (text, sizes = most) => {
  try {
    parseJson(text, sizes);
    return null;
  } catch (error) {
    return error.problem;
  }
};

test("JSON is read as JSON.parse reads it", () => {
  const texts = ['{"a": [1, -2.5e-3, true, null], "b": {"c": "\\u00e9\\n"}}', "[]", " 0 ", '"x"', "[[], {}]"];
  for (const text of texts) assert.deepEqual(parse(text), JSON.parse(text));
  assert.equal(Object.getPrototypeOf(parse('{"__proto__": 1}')), Object.prototype);
});

test("a byte order mark is no part of the text", () => {
  assert.deepEqual(parse('\ufeff{"a": 1}'), { a: 1 });
  assert.deepEqual([problem("\ufeff\ufeff{}").code, problem("\ufeff").code], ["value", "empty"]);
});

test("whatever JSON.parse refuses is refused, at a line and a column", () => {
  const texts = ["", "{", '{"a"', '{"a":', '{"a": 1,', '{"a": 1,}', "{a: 1}", '{"a": 01}', '{"a": .5}', "[1 2]"];
  texts.push('{"a": NaN}', "{'a': 1}", '{"a": 1} x', '"\\x"', '"a', '"a\nb"', '{"a": tru}', "[1,]", "[1.]", "-", "💥");
  for (const text of texts) {
    assert.throws(() => JSON.parse(text));
    const { line, column } = problem(text);
    assert.ok(line >= 1 && column >= 1, text);
  }
});

test("the place of a mistake is where it is", () => {
  const place = (text) => [problem(text).code, problem(text).line, problem(text).column];
  assert.deepEqual(place('{\n  "a": 1\n  "b": 2\n}'), ["comma", 3, 3]);
  assert.deepEqual(place('{\n  "a": {\n    "b": 2'), ["end", 3, 11]);
  assert.equal(problem('{\n  "a": {\n    "b": 2').opened, 2);
  assert.deepEqual(place('{"a": 1,\n "a": 2}'), ["twice", 2, 2]);
  assert.deepEqual(place("["), ["end", 1, 2]);
  assert.deepEqual(place("[".repeat(5000)), ["deep", 1, 101]);
});

test("a string without an end is told from one that is broken", () => {
  assert.deepEqual([problem('{"a": "b').code, problem('{"a": "b\\"').code], ["end", "end"]);
  assert.deepEqual([problem('{"a": "b\n}').code, problem('{"a": "\\x"}').code], ["string", "string"]);
});

test("a text too long is refused before it is read", () => {
  const [fits, more] = [100000, 100001].map((length) => `"${"x".repeat(length - 2)}"`);
  assert.equal(problem(fits), null);
  assert.deepEqual(problem(more), { code: "long", value: 100001, most: 100000 });
});

test("the longest texts are read in a moment, or refused in one", () => {
  const all = { characters: 1e6, nesting: 100 };
  const texts = [`"${"x".repeat(999998)}"`, `[${"1,".repeat(499998)}1]`, `"${"\\n".repeat(499999)}"`, "[".repeat(1e6)];
  texts.push(
    `{${Array.from({ length: 80000 }, (_, i) => `"${i}":1`).join()}}`,
    `"${"x".repeat(999999)}`,
    `"${"\\\\".repeat(499999)}`,
  );
  for (const text of texts) {
    const begun = process.cpuUsage();
    problem(text, all);
    const { user } = process.cpuUsage(begun);
    // A tenth of it here; a square of the length would take minutes.
    assert.ok(user < 5e6, `${user} us for ${text.slice(0, 20)}`);
  }
});
