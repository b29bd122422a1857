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

test("hybrids list kinds, a pattern or indices; some count back from the last layer", () => {
  const rotating = (changes) => read(changes).spec.layers.rotating;
  assert.deepEqual(rotating({ layers_block_type: ["conv", "a", "conv", "a"] }), [1, 3]);
  assert.deepEqual(rotating({ block_types: ["conv", "a"] }), [1, 3]);
  assert.deepEqual(rotating({ model_type: "muse" }), [0, 1, 2]);
  assert.deepEqual(rotating({ model_type: "mllama" }), [0, 2, 3]);
  assert.deepEqual(rotating({ model_type: "mllama", cross_attention_layers: [0, 3] }), [1, 2]);
});

test("a hybrid that lists no kinds does not tell; a model that names its attention has none without", () => {
  const { layers } = read({ model_type: "hybrid" }).spec;
  assert.deepEqual(layers, { total: 4, rotating: null, still: null });
  assert.deepEqual(read({ model_type: "hybrid", block_types: ["conv", "a"] }).spec.layers.rotating, [1, 3]);
  const bamba = read({ model_type: "bamba" });
  assert.deepEqual([bamba.spec.layers.rotating, bamba.notes.map(({ key }) => key)], [[], ["attn_layer_indices"]]);
  assert.deepEqual(read({ model_type: "bamba", attn_layer_indices: [1] }).spec.layers.rotating, [1]);
});

test("layers without experts rotate, and the pattern of windows begins behind them", () => {
  const rotating = (changes) => read({ model_type: "cohere2_moe", ...changes }).spec.layers.rotating;
  const first = { first_k_dense_replace: 2, num_hidden_layers: 7 };
  assert.deepEqual(rotating({}), [0, 1, 2]);
  assert.deepEqual(rotating(first), [0, 1, 2, 3, 4, 6]);
  assert.deepEqual(rotating({ ...first, prefix_dense_sliding_window_pattern: 2 }), [0, 2, 3, 4, 6]);
  const listed = { mlp_layer_types: ["sparse", "sparse", "sparse", "dense"] };
  assert.deepEqual(rotating(listed), [0, 1, 2, 3]);
  assert.deepEqual(rotating({ ...listed, prefix_dense_sliding_window_pattern: 4 }), [0, 1, 2]);
  // Other types have such keys as well, of any kind: nobody reads them.
  assert.deepEqual(read({ mlp_layer_types: 3, first_k_dense_replace: "x" }).spec.layers.rotating, [0, 1, 2, 3]);
  const [short] = read({ model_type: "cohere2_moe", mlp_layer_types: ["dense"] }).problems;
  assert.deepEqual([short.code, short.key, short.wanted], ["layers", "mlp_layer_types", 4]);
});
