import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { codeField } from "./widget.js";

test("gaps stand between the pieces of the code, each with its number", () => {
  fakePage();
  const words = { code: "code", gap: "gap {number} of {count}" };
  const field = codeField({ pieces: ["def f(m):\n    a = ", "\n    return ", "\n"] }, words);
  assert.equal(field.nodes[0].textContent, "def f(m):\n    a = \n    return \n");
  assert.deepEqual(
    field.inputs.map((input) => input.attributes["aria-label"]),
    ["gap 1 of 2", "gap 2 of 2"],
  );
  field.write(["m", "2 * a"]);
  assert.deepEqual(field.read(), ["m", "2 * a"]);
  assert.deepEqual([field.fits(["m", "a"]), field.fits(["m"]), field.fits("m")], [true, false, false]);
});
