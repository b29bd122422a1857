import assert from "node:assert/strict";
import test from "node:test";

import { llama, table } from "./config_table.mjs";
import { checked, readConfig, same } from "./config_reader.js";

const read = (changes, kind = "") => readConfig({ ...llama, ...changes }, kind, table);
const scaled = (rope_scaling, changes = {}) => read({ rope_scaling, ...changes });
const codes = (list) => list.map((found) => found.code);

test("a rule is kept or named", () => {
  const broken = (value, name) => {
    try {
      checked("k", value, name, table);
    } catch ({ problem }) {
      return [problem.code, problem.key, problem.rule];
    }
  };
  const kept = [
    [1e15, "positive"],
    [1e-15, "positive"],
    [64, "count"],
    [64.0, "dimensions"],
    [1, "share"],
    [0, "switch"],
  ];
  kept.push(
    [0, "not_negative"],
    [1, "at_least_one"],
    [[], "names"],
    ["LG", "pattern"],
    [3, "pattern"],
    [[0, 1], "switches"],
  );
  for (const [value, rule] of kept) assert.equal(broken(value, rule), undefined, `${value} ${rule}`);
  for (const value of ["64", true, Infinity, 1.1e15, [64]])
    assert.deepEqual(broken(value, "positive"), ["rule", "k", "number"]);
  assert.deepEqual(broken(5e-324, "positive"), ["rule", "k", "tiny"]);
  const wrong = [
    [0, "positive"],
    [0, "count"],
    [1.5, "count"],
    [4097, "dimensions"],
    [1.01, "share"],
    [2, "switch"],
  ];
  wrong.push(
    [-1, "count_or_zero"],
    [0.9, "at_least_one"],
    [1, "boolean"],
    [1, "text"],
    ["LX", "pattern"],
    [[], "mapping"],
  );
  for (const [value, rule] of wrong) assert.deepEqual(broken(value, rule), ["rule", "k", rule], `${value}`);
  assert.deepEqual(broken([1, 2], "switches"), ["rule", "k[1]", "switch"]);
  assert.deepEqual(broken(Array(101).fill(1), "switches"), ["entries", "k", undefined]);
});

test("values are the same by what they hold", () => {
  assert.ok(same({ a: [1, { b: null }], c: 2 }, { c: 2, a: [1, { b: null }] }) && same(undefined, null));
  const others = [
    [1, true],
    [[1], [1, 2]],
    [{ a: 1 }, { b: 1 }],
    [{}, []],
    [{ a: 1 }, { a: 1, b: 2 }],
    ["1", 1],
  ];
  for (const [a, b] of others) assert.ok(!same(a, b) && !same(b, a));
});

test("both styles are read alike", () => {
  const fresh = { ...llama, rope_theta: undefined, rope_parameters: { rope_type: "default", rope_theta: 10000 } };
  assert.deepEqual(readConfig(fresh, "", table).spec, { ...read({}).spec, written: "default" });
});

test("each mistake is named by its key", () => {
  const cases = [
    [{ rope_scaling: { type: "linear" } }, "missing", "factor"],
    [{ rope_scaling: { type: "linear", factor: "8.0" } }, "rule", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: 0.5 } }, "rule", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: 2, magic: 1 } }, "unknown", "rope_scaling.magic"],
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
    [{ model_type: "new", rope_theta: null }, "missingBase", "rope_theta"],
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
  assert.deepEqual(codes(readConfig([1], "", table).problems), ["object"]);
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
  assert.equal(first({ ...llama3, high_freq_factor: 4 }), "order");
  assert.ok(scaled({ ...llama3, high_freq_factor: 4.1 }).spec);
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

test("layers that do not rotate", () => {
  assert.deepEqual(read({ model_type: "smollm3" }).spec.layers.still, [3]);
  assert.deepEqual(read({ model_type: "smollm3", no_rope_layers: [1, 0, 0, 1] }).spec.layers.still, [1, 2]);
  assert.deepEqual(read({ model_type: "cohere2" }).spec.layers, { total: 4, rotating: [0, 1, 2], still: [3] });
  const bases = read({ layer_rope_theta: [5e3, 0, 5e3, 5e3], rope_theta: null }).spec;
  assert.deepEqual([bases.base, bases.layers.still], [5e3, [1]]);
});

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

test("text_config is what counts, and must not be contradicted", () => {
  const inside = { model_type: "llava", text_config: llama };
  assert.ok(readConfig(inside, "", table).spec);
  assert.deepEqual(codes(readConfig({ ...inside, rope_theta: 5 }, "", table).problems), ["disagree"]);
});
