import assert from "node:assert/strict";
import test from "node:test";

import { fakePage } from "../kit/fake_page.mjs";
import { codeField, linesOf } from "./widget.js";

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

test("each line of the code is a block that hangs from its own indent", () => {
  assert.deepEqual(linesOf(["def f(\n    m):\n    a = [", ", ", "]\n\n    return a\n", ""]), [
    { indent: 0, parts: ["def f(\n"] },
    { indent: 4, parts: ["    m):\n"] },
    { indent: 4, parts: ["    a = [", 0, ", ", 1, "]\n"] },
    { indent: 0, parts: ["\n"] },
    { indent: 4, parts: ["    return a\n"] },
    { indent: 0, parts: [2] },
  ]);
});
