import assert from "node:assert/strict";
import test from "node:test";

import { read } from "./config_table.mjs";

test("widths: latent attention, ChatGLM's half a head, each layer its own", () => {
  const latent = { model_type: "deepseek_v3", head_dim: null, qk_rope_head_dim: 6 };
  assert.deepEqual([read(latent).spec.rotaryDim, read(latent).spec.layout], [6, "interleaved"]);
  assert.equal(read({ ...latent, rope_interleave: false }).spec.layout, "half");
  const chatglm = read({ model_type: "chatglm", rope_theta: null, rope_ratio: 500 }).spec;
  assert.deepEqual([chatglm.rotaryDim, chatglm.base], [4, 5e6]);
  const own = { layer_types: ["a", "b", "a", "b"], per_layer_config: { 0: { head_dim: 4 }, "02": { head_dim: 4 } } };
  assert.deepEqual([read(own, "a").spec.headDim, read(own, "b").spec.headDim], [4, 8]);
  own.per_layer_config = { 0: { head_dim: 4 } };
  assert.equal(read(own, "a").problems[0].code, "severalWidths");
});

test("a rotary_dim that the model's code does not read is noted where it says otherwise", () => {
  const seen = read({ model_type: "m3", rotary_dim: 4 });
  assert.equal(seen.spec.rotaryDim, 8);
  assert.deepEqual(seen.notes, [{ code: "unread", key: "rotary_dim" }]);
  const agreed = read({ model_type: "m3", rotary_dim: 4, partial_rotary_factor: 0.5 });
  assert.deepEqual([agreed.spec.rotaryDim, agreed.notes], [4, []]);
});
