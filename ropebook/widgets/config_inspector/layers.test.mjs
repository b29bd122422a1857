import assert from "node:assert/strict";
import test from "node:test";

import { read } from "./config_table.mjs";

test("layers that do not rotate", () => {
  assert.deepEqual(read({ model_type: "smollm3" }).spec.layers.still, [3]);
  assert.deepEqual(read({ model_type: "smollm3", no_rope_layers: [1, 0, 0, 1] }).spec.layers.still, [1, 2]);
  assert.deepEqual(read({ model_type: "cohere2" }).spec.layers, { total: 4, rotating: [0, 1, 2], still: [3] });
  const bases = read({ layer_rope_theta: [5e3, 0, 5e3, 5e3], rope_theta: null }).spec;
  assert.deepEqual([bases.base, bases.layers.still], [5e3, [1]]);
});
