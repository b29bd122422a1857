import assert from "node:assert/strict";
import test from "node:test";

import { codes, llama, read, table } from "./config_table.mjs";
import { readConfig } from "./reader.js";

test("both styles are read alike", () => {
  const fresh = { ...llama, rope_theta: undefined, rope_parameters: { rope_type: "default", rope_theta: 10000 } };
  assert.deepEqual(readConfig(JSON.stringify(fresh), "", table).spec, { ...read({}).spec, written: "default" });
});

test("kinds of layers: nested parameters, and Gemma's two bases", () => {
  const nested = {
    full_attention: { rope_theta: 1e6, rope_type: "linear", factor: 8 },
    sliding_attention: { rope_theta: 1e4 },
    nope: null,
  };
  const layer_types = ["full_attention", "sliding_attention", "nope", "conv"];
  const of = (kind) => read({ rope_theta: undefined, rope_parameters: nested, layer_types }, kind);
  assert.deepEqual(of("").layerTypes, ["full_attention", "sliding_attention"]);
  assert.deepEqual([of("").spec.base, of("sliding_attention").spec.base], [1e6, 1e4]);
  assert.deepEqual(of("").spec.layers, { total: 4, rotating: [0], still: [2, 3] });
  assert.deepEqual(codes(of("nope").problems), ["still"]);
  assert.deepEqual(codes(read({}, "nope").problems), ["layerType"]);
  const gemma = {
    model_type: "gemma3_text",
    rope_theta: 1e6,
    rope_scaling: { type: "linear", factor: 8 },
    sliding_window_pattern: 2,
  };
  assert.deepEqual(read(gemma).layerTypes, ["full_attention", "sliding_attention"]);
  assert.deepEqual([read(gemma).spec.factor, read(gemma, "sliding_attention").spec.type], [8, "default"]);
});
