import assert from "node:assert/strict";
import test from "node:test";

import { hintOf } from "./widget.js";

test("an empty field says what is asked for", () => {
  const hints = { number: "", set: "1, 2, …", expression: "in {names}" };
  assert.equal(hintOf({ kind: "number" }, hints), "");
  assert.equal(hintOf({ kind: "set" }, hints), "1, 2, …");
  assert.equal(hintOf({ kind: "expression", variables: ["m", "theta"] }, hints), "in m, theta");
});
