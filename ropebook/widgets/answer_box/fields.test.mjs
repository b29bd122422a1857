import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { choiceField, labelledFields, oneField } from "./fields.js";

const IDS = { question: "asked", said: "said" };

test("one field has the question for its name, and its unit behind it", () => {
  fakePage();
  const field = oneField({ ids: IDS, hint: "1, 2, …", unit: "tokens" });
  field.write("2/5");
  assert.deepEqual([field.read(), field.nodes[0].children[1]], ["2/5", "tokens"]);
  assert.equal(field.inputs[0].attributes["aria-labelledby"], "asked");
  assert.deepEqual([field.fits("1"), field.fits(["1"]), field.fits(1)], [true, false, false]);
});

test("each label has a field of its own", () => {
  fakePage();
  const field = labelledFields({ labels: ["x", "y"] });
  field.write(["1"]);
  assert.deepEqual(field.read(), ["1", ""]);
  field.write(["1", "3"]);
  assert.deepEqual(field.read(), ["1", "3"]);
  assert.deepEqual(
    field.nodes.map((label) => [label.tag, label.textContent]),
    [
      ["label", "x"],
      ["label", "y"],
    ],
  );
  assert.deepEqual(
    [field.fits(["1", "3"]), field.fits(["1"]), field.fits([1, 3]), field.fits("13")],
    [true, false, false, false],
  );
});

test("of the options none is chosen at first", () => {
  fakePage();
  const field = choiceField({ ids: IDS, options: [{ text: "a" }, { text: "b" }] });
  assert.equal(field.read(), "");
  field.write(1);
  assert.equal(field.read(), 1);
  assert.deepEqual([0, 1, 2, -1, 0.5, "0"].map(field.fits), [true, true, false, false, false, false]);
});
