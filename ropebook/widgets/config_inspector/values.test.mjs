import assert from "node:assert/strict";
import test from "node:test";

import { codes, llama, table } from "./config_table.mjs";
import { readConfig } from "./reader.js";

test("text_config is what counts, and must not be contradicted", () => {
  const inside = { model_type: "llava", text_config: llama };
  assert.ok(readConfig(JSON.stringify(inside), "", table).spec);
  assert.deepEqual(codes(readConfig(JSON.stringify({ ...inside, rope_theta: 5 }), "", table).problems), ["disagree"]);
});
