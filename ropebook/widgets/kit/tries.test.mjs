import assert from "node:assert/strict";
import test from "node:test";

import { fakeModel, fakePage, fakeStorage, node } from "./fake_page.mjs";
import { textField, tries } from "./tries.js";

const TOLD = {
  ...{ kind: "number", name: "two", right: 2, shown: "2", solution: "Since 1 + 1 = 2.", tolerance: 1e-6 },
  ...{ accept: "", let: [], hints: [], otherwise: "Count again.", unit: "" },
};
const WORDS = { check: "Check", show: "Show", hide: "Hide" };

function built() {
  fakePage();
  fakeStorage();
  const [said, given] = [node(), []];
  const field = textField({});
  const fields = { nodes: [field.input], inputs: [field.input], fits: (text) => text !== "old", ...field };
  const tools = { words: WORDS, told: TOLD, ids: { said: "s" }, said, give: (answer) => given.push(answer) };
  const part = tries({ ...tools, model: fakeModel({}) }, fields);
  const [row, , solution] = part.nodes;
  const [check, offer] = row.children.at(-1).children;
  return { part, row, field, given, solution, check, offer };
}

test("a field grows with its text and never shrinks below its least", () => {
  fakePage();
  const { input, write, read } = textField({ least: 4 });
  const letters = [];
  for (const text of ["", "1234567", "1"]) {
    input.value = text;
    input.fire("input");
    letters.push(input.style["--letters"]);
  }
  assert.deepEqual(letters, ["4ch", "8ch", "4ch"]);
  write("12345");
  assert.deepEqual([read(), input.style["--letters"]], ["12345", "6ch"]);
});

test("the button and the Enter key of a field check; other keys do not", () => {
  const { row, field, given, check } = built();
  field.write("3");
  check.fire("click");
  row.fire("keydown", { key: "Enter", target: { localName: "input" } });
  row.fire("keydown", { key: "Enter", target: { localName: "button" } });
  row.fire("keydown", { key: "3", target: { localName: "input" } });
  assert.deepEqual(given, ["3", "3"]);
});

test("a try shows its verdict, and from then on the solution is offered", () => {
  const { part, field, solution, offer } = built();
  assert.equal(offer.attributes.hidden, "");
  assert.deepEqual(part.show("3"), { done: false, message: "Count again.", verdict: "wrong" });
  assert.deepEqual([offer.hidden, solution.hidden, field.input.attributes["aria-invalid"]], [false, true, "true"]);
  offer.fire("click");
  assert.deepEqual([solution.hidden, solution.textContent], [false, "2. Since 1 + 1 = 2."]);
  assert.deepEqual([offer.textContent, offer.attributes["aria-expanded"]], ["Hide", "true"]);
  offer.fire("click");
  assert.equal(solution.hidden, true);
  assert.deepEqual(part.show("1 + 1"), { done: true, message: "Right.", verdict: "right" });
  assert.equal(field.input.attributes["aria-invalid"], "false");
});

test("nothing typed is open and not wrong", () => {
  const { part, field } = built();
  assert.deepEqual([part.show(" ").verdict, field.input.attributes["aria-invalid"]], ["open", "false"]);
});

test("what was kept is shown again only if it fits and is still right", () => {
  const { part } = built();
  assert.deepEqual(["2", "4/2", "3", "old"].map(part.fits), [true, true, false, false]);
});
