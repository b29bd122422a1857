import assert from "node:assert/strict";
import test from "node:test";

import { codes, read, table } from "./config_table.mjs";
import { readConfig } from "./reader.js";

const scaled = (rope_scaling, changes = {}) => read({ rope_scaling, ...changes });

test("each mistake is named by its key", () => {
  const cases = [
    [{ rope_scaling: { type: "linear" } }, "missing", "factor"],
    [{ rope_scaling: { type: "linear", factor: "8.0" } }, "rule", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: 0.5 } }, "rule", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: 2, magic: 1 } }, "unknown", "rope_scaling.magic"],
    [{ rope_scaling: { type: "yarn", factor: 2, attn_factor: 1 } }, "readElsewhere", "rope_scaling.attn_factor"],
    [{ rope_theta: -10000 }, "rule", "rope_theta"],
    [{ rope_theta: "10000" }, "rule", "rope_theta"],
    [{ rope_scaling: { type: "magic" } }, "type", "rope_scaling.rope_type"],
    [{ rope_scaling: { type: "axial" } }, "unsupportedType", "rope_type"],
    [{ rope_scaling: "linear" }, "rule", "rope_scaling"],
    [{ rope_scaling: { factor: 4 } }, "lost", "factor"],
    [{ rope_parameters: { rope_theta: 5000 } }, "disagree", "rope_theta"],
    [{ rope_scaling: { type: "linear", rope_type: "dynamic", factor: 2 } }, "disagree", "rope_scaling.rope_type"],
    [{ head_dim: 7 }, "rotaryDim", "rotary_dim"],
    [{ head_dim: null }, "headDim", "hidden_size"],
    [{ head_dim: null, hidden_size: 10, num_attention_heads: 3 }, "divide", "hidden_size"],
    [
      { rope_scaling: { type: "dynamic", factor: 2 }, max_position_embeddings: null },
      "missing",
      "max_position_embeddings",
    ],
    [{ model_type: "nanochat" }, "unsupported", "model_type"],
    [{ model_type: "bert" }, "noRotation", "model_type"],
    [{ position_embedding_type: "absolute" }, "noRotation", "position_embedding_type"],
    [{ alibi: true }, "noRotation", "alibi"],
    [{ model_type: "gpt_oss" }, "scaledByDefault", "rope_parameters"],
    [{ model_type: "new", rope_theta: null, partial_rotary_factor: 1 }, "missingBase", "rope_theta"],
    [{ model_type: "smollm3", no_rope_layers: [1, 0] }, "layers", "no_rope_layers"],
    [{ layer_rope_theta: [5, 5, 6, 0], rope_theta: null }, "layerBases", "layer_rope_theta"],
    [{ sliding_window_pattern: [] }, "rule", "sliding_window_pattern"],
    [{ text_config: true }, "rule", "text_config"],
    [
      { rope_parameters: Object.fromEntries([..."abcde"].map((kind) => [kind, {}])), rope_theta: null },
      "entries",
      "rope_parameters",
    ],
  ];
  for (const [changes, code, key] of cases) {
    const { problems, spec } = read(changes);
    assert.equal(spec, null);
    assert.deepEqual([problems[0].code, problems[0].key], [code, key], JSON.stringify(problems));
  }
  assert.deepEqual(codes(readConfig("[1]", "", table).problems), ["object"]);
});

test("a missing key is not alone in being named", () => {
  const [problem] = scaled({ type: "llama3", factor: 8 }).problems;
  assert.deepEqual(
    problem.keys,
    ["high_freq_factor", "low_freq_factor", "original_max_position_embeddings"].map((key) => `rope_scaling.${key}`),
  );
});

test("numbers must fit together", () => {
  const yarn = { type: "yarn", factor: 8, original_max_position_embeddings: 512 };
  const first = (values, changes) => scaled(values, changes).problems[0].code;
  assert.equal(first({ ...yarn, beta_fast: 1, beta_slow: 2 }), "order");
  assert.ok(scaled({ ...yarn, beta_fast: 2, beta_slow: 2 }).spec);
  assert.equal(first({ ...yarn, original_max_position_embeddings: 4, truncate: false }), "ramp");
  assert.equal(first({ ...yarn, mscale: 1 }), "alone");
  assert.equal(first(yarn, { rope_theta: 1 }), "rule");
  assert.equal(first({ type: "dynamic", factor: 2 }, { rotary_dim: 2 }), "pairs");
  const llama3 = { type: "llama3", factor: 8, original_max_position_embeddings: 512, low_freq_factor: 4 };
  assert.equal(first({ ...llama3, high_freq_factor: 3.9 }), "order");
  assert.ok(scaled({ ...llama3, high_freq_factor: 4 }).spec);
});

test("LongRoPE's lists have one positive number per pair", () => {
  const base = {
    type: "longrope",
    short_factor: [1, 1, 1, 1],
    long_factor: [1, 2, 3, 4],
    original_max_position_embeddings: 512,
  };
  const short = (short_factor) => scaled({ ...base, short_factor }).problems[0];
  assert.deepEqual(short([1, 1, 1]), { code: "length", key: "rope_scaling.short_factor", value: 3, wanted: 4 });
  assert.equal(short([1, 1, 1, 0]).key, "rope_scaling.short_factor[3]");
  assert.equal(short(undefined).code, "missing");
  assert.equal(scaled(base).spec.factor, 8);
});

test("nothing is dropped in silence", () => {
  const values = { type: "linear", factor: 2, beta_fast: 32, finetuned: true };
  const { notes, spec } = scaled(values, { rope_magic: true, no_rope_layers: [1, 1, 1, 1] });
  assert.ok(spec);
  assert.deepEqual(
    notes.map(({ code, key }) => [code, key]),
    [
      ["unread", "no_rope_layers"],
      ["unread", "rope_magic"],
      ["no_effect", "beta_fast"],
      ["aside", "finetuned"],
    ],
  );
  assert.deepEqual(codes(read({ model_type: "new" }).notes), ["model"]);
  assert.deepEqual(codes(read({ model_type: null }).notes), ["no_model"]);
});
