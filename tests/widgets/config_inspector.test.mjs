import assert from "node:assert/strict";
import test from "node:test";

import { loadWidget } from "./load.mjs";

const widget = await loadWidget("config_inspector");
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
const table = {
  ...{ interleaved: ["deepseek_v3", "cohere2"], half: ["llama", "gemma3_text", "smollm3"], interleave_flag: ["deepseek_v3"] },
  ...{ unsupported: { nanochat: "it rotates clockwise" }, bases: {}, two_bases: { gemma3_text: [1e6, 1e4] } },
  ...{ shares: {}, head_dims: {}, no_rope_layers: ["smollm3"], sliding_only: ["cohere2"], patterns: { cohere2: 4 } },
  softmax: ["deepseek_v3"],
};
const llama = {
  ...{ model_type: "llama", head_dim: 8, num_hidden_layers: 4, max_position_embeddings: 4096, rope_theta: 10000 },
};
const read = (changes, kind = "") => widget.readConfig({ ...llama, ...changes }, kind, table);
const scaled = (rope_scaling, changes = {}) => read({ rope_scaling, ...changes });
const codes = (list) => list.map((found) => found.code);
const problem = (text) => widget.parseJson(text).problem;

test("JSON is read as JSON.parse reads it", () => {
  const texts = ['{"a": [1, -2.5e-3, true, null], "b": {"c": "\\u00e9\\n"}}', "[]", " 0 ", '"x"', "[[], {}]"];
  for (const text of texts) assert.deepEqual(widget.parseJson(text).value, JSON.parse(text));
  assert.equal(Object.getPrototypeOf(widget.parseJson('{"__proto__": 1}').value), Object.prototype);
});

test("whatever JSON.parse refuses is refused, at a line and a column", () => {
  const texts = ["", "{", '{"a"', '{"a":', '{"a": 1,', '{"a": 1,}', "{a: 1}", '{"a": 01}', '{"a": .5}', "[1 2]"];
  texts.push('{"a": NaN}', "{'a': 1}", '{"a": 1} x', '"\\x"', '"a', '"a\nb"', '{"a": tru}', "[1,]", "[1.]", "-", "💥");
  for (const text of texts) {
    assert.throws(() => JSON.parse(text));
    const { line, column } = problem(text);
    assert.ok(line >= 1 && column >= 1, text);
  }
});

test("the place of a mistake is where it is", () => {
  const place = (text) => [problem(text).code, problem(text).line, problem(text).column];
  assert.deepEqual(place('{\n  "a": 1\n  "b": 2\n}'), ["comma", 3, 3]);
  assert.deepEqual(place('{\n  "a": {\n    "b": 2'), ["end", 3, 11]);
  assert.equal(problem('{\n  "a": {\n    "b": 2').opened, 2);
  assert.deepEqual(place('{"a": 1,\n "a": 2}'), ["twice", 2, 2]);
  assert.deepEqual(place("["), ["end", 1, 2]);
  assert.deepEqual(place("[".repeat(5000)), ["deep", 1, 101]);
});

test("frequencies are those of the definition, in both styles", () => {
  const { spec } = read({});
  widget.frequencies(spec, 4096).inverse.forEach((f, i) => near(f, 10000 ** (-i / 4)));
  const fresh = widget.readConfig(
    { ...llama, rope_theta: undefined, rope_parameters: { rope_type: "default", rope_theta: 10000 } },
    "",
    table,
  );
  assert.deepEqual(fresh.spec, spec);
});

test("linear slows all alike, and nothing else is touched", () => {
  const { spec } = scaled({ type: "linear", factor: 4 });
  const { unscaled, inverse, attentionFactor } = widget.frequencies(spec, 4096);
  inverse.forEach((f, i) => near(unscaled[i] / f, 4));
  assert.equal(attentionFactor, 1);
});

test("dynamic depends on the length beyond the context only", () => {
  const { spec } = scaled({ type: "dynamic", factor: 2 });
  const at = (length) => widget.frequencies(spec, length).inverse;
  assert.deepEqual(at(100), at(4096));
  near(at(4096)[3] / at(8192)[3], 3);
  near(at(8192)[0], 1);
});

test("a ramp leaves the fast and slows the slow", () => {
  const { spec } = scaled({ rope_type: "yarn", factor: 8, original_max_position_embeddings: 512, truncate: false });
  const { unscaled, inverse, attentionFactor } = widget.frequencies(spec, 4096);
  const stretches = unscaled.map((f, i) => f / inverse[i]);
  near(stretches[0], 1);
  near(stretches[3], 8);
  near(attentionFactor, 0.1 * Math.log(8) + 1);
  assert.deepEqual(widget.bands([1, 1, 2, 8]), { most: 8, untouched: [0, 1], blended: [2, 2], slowed: [3, 3] });
});

test("p-RoPE stops the slow pairs, and they never turn", () => {
  const values = { rope_type: "proportional", partial_rotary_factor: 0.5, rope_theta: 10000 };
  const { spec } = read({ rope_parameters: values });
  const { inverse } = widget.frequencies(spec, 4096);
  assert.deepEqual(inverse.slice(2), [0, 0]);
  assert.deepEqual(widget.neverTurn(inverse, 1e9), [2, 3]);
});

test("each mistake is named by its key", () => {
  const cases = [
    [{ rope_scaling: { type: "linear" } }, "missing", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: "8.0" } }, "rule", "rope_scaling.factor"],
    [{ rope_scaling: { type: "linear", factor: 0.5 } }, "rule", "rope_scaling.factor"],
    [{ rope_theta: -10000 }, "rule", "rope_theta"],
    [{ rope_theta: "10000" }, "rule", "rope_theta"],
    [{ rope_scaling: { type: "magic" } }, "type", "rope_scaling.type"],
    [{ rope_scaling: "linear" }, "rule", "rope_scaling"],
    [{ rope_scaling: { factor: 4 } }, "lost", undefined],
    [{ rope_parameters: { rope_theta: 5000 } }, "disagree", "rope_theta"],
    [{ rope_scaling: { type: "linear", rope_type: "dynamic", factor: 2 } }, "disagree", "rope_scaling.rope_type"],
    [{ head_dim: 7 }, "rotaryDim", undefined],
    [{ head_dim: null }, "headDim", undefined],
    [{ max_position_embeddings: undefined }, "missing", "max_position_embeddings"],
    [{ model_type: "nanochat" }, "unsupported", undefined],
    [{ model_type: "smollm3", no_rope_layers: [1, 0] }, "rule", "no_rope_layers"],
  ];
  for (const [changes, code, key] of cases) {
    const { problems, spec } = read(changes);
    assert.equal(spec, null);
    assert.deepEqual([problems[0].code, problems[0].key], [code, key], JSON.stringify(problems));
  }
  assert.deepEqual(codes(widget.readConfig([1], "", table).problems), ["object"]);
});

test("LongRoPE's lists have one positive number per pair", () => {
  const base = { type: "longrope", short_factor: [1, 1, 1, 1], long_factor: [1, 2, 3, 4], original_max_position_embeddings: 512 };
  const short = (short_factor) => scaled({ ...base, short_factor }).problems[0];
  assert.deepEqual(short([1, 1, 1]), { code: "length", key: "rope_scaling.short_factor", value: 3, wanted: 4 });
  assert.equal(short([1, 1, 1, 0]).key, "rope_scaling.short_factor[3]");
  assert.equal(short(undefined).code, "missing");
  const { spec } = scaled(base);
  near(widget.frequencies(spec, 512).inverse[3], 10000 ** (-3 / 4));
  near(widget.frequencies(spec, 513).inverse[3], 10000 ** (-3 / 4) / 4);
});

test("nothing is dropped in silence", () => {
  const { warnings, spec } = scaled({ type: "linear", factor: 2, beta_fast: 32, magic: 1 }, { rope_magic: true });
  assert.ok(spec);
  assert.deepEqual(warnings.map(({ code, keys }) => [code, keys]), [
    ["unreadKeys", ["rope_magic"]],
    ["unknownKeys", ["rope_scaling.beta_fast", "rope_scaling.magic"]],
  ]);
  assert.deepEqual(codes(read({ model_type: "new" }).warnings), ["model"]);
});

test("kinds of layers: nested parameters, and Gemma's two bases", () => {
  const nested = {
    full_attention: { rope_theta: 1e6, rope_type: "linear", factor: 8 },
    sliding_attention: { rope_theta: 1e4 },
    nope: null,
  };
  const { layerTypes, spec } = read({ rope_theta: undefined, rope_parameters: nested });
  assert.deepEqual(layerTypes, ["full_attention", "sliding_attention", "nope"]);
  assert.equal(spec.base, 1e6);
  assert.equal(read({ rope_theta: undefined, rope_parameters: nested }, "sliding_attention").spec.base, 1e4);
  assert.deepEqual(codes(read({ rope_theta: undefined, rope_parameters: nested }, "nope").problems), ["still"]);
  assert.deepEqual(codes(read({}, "nope").problems), ["layerType"]);
  const gemma = { model_type: "gemma3_text", rope_theta: 1e6, rope_scaling: { type: "linear", factor: 8 } };
  assert.deepEqual(read(gemma).layerTypes, ["full_attention", "sliding_attention"]);
  assert.deepEqual([read(gemma).spec.factor, read(gemma, "sliding_attention").spec.type], [8, "default"]);
});

test("layers that do not rotate", () => {
  assert.deepEqual(read({ model_type: "smollm3" }).spec.layers.still, [3]);
  assert.deepEqual(read({ model_type: "smollm3", no_rope_layers: [1, 0, 0, 1] }).spec.layers.still, [1, 2]);
  assert.deepEqual(read({ model_type: "cohere2" }).spec.layers, { total: 4, rotating: [0, 1, 2], still: [3] });
  assert.equal(widget.shortList([3, 7, 11, 15, 19]), "3, 7, 11, …, 19");
});

test("latent attention rotates its own width, and the layout follows the model", () => {
  const latent = { model_type: "deepseek_v3", head_dim: null, qk_rope_head_dim: 6 };
  assert.deepEqual([read(latent).spec.rotaryDim, read(latent).spec.layout], [6, "interleaved"]);
  assert.equal(read({ ...latent, rope_interleave: false }).spec.layout, "half");
});

test("text_config is what counts, and must not be contradicted", () => {
  const inside = { model_type: "llava", text_config: llama };
  assert.ok(widget.readConfig(inside, "", table).spec);
  assert.deepEqual(codes(widget.readConfig({ ...inside, rope_theta: 5 }, "", table).problems), ["disagree"]);
});

test("0 stands for the longest length, and only where length matters", () => {
  assert.equal(widget.shownLength({ type: "dynamic", maxSeqLen: 9 }, 0), 9);
  assert.equal(widget.shownLength({ type: "dynamic", maxSeqLen: 9 }, 20), 20);
  assert.equal(widget.shownLength({ type: "yarn", maxSeqLen: 9 }, 20), 9);
});

test("whatever the values are, it answers, and in whole sentences", () => {
  const values = [null, true, 0, -1, 0.5, 7, 1e9, 1e308, "", "linear", "constructor", [], [1], ["linear"], {}, { a: 1 }];
  const top = ["model_type", "head_dim", "hidden_size", "num_attention_heads", "num_hidden_layers", "layer_types"];
  top.push("max_position_embeddings", "original_max_position_embeddings", "rope_theta", "rope_local_base_freq");
  top.push("rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct", "qk_rope_head_dim", "qk_nope_head_dim");
  top.push("text_config", "rope_interleave", "no_rope_layers", "no_rope_layer_interval", "sliding_window_pattern");
  const inside = ["rope_type", "type", "factor", "rope_theta", "partial_rotary_factor", "attention_factor", "truncate"];
  inside.push("original_max_position_embeddings", "beta_fast", "mscale", "low_freq_factor", "short_factor", "alpha");
  const types = ["default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional", "magic"];
  const look = (config, kind = "") => {
    const seen = widget.inspect(JSON.stringify(config), kind, 0, table);
    assert.equal(seen.spec === null, seen.problems.length > 0);
    const hints = seen.warnings.map((warning) => ({ ...warning, table: "warnings" }));
    for (const found of [...seen.problems, ...hints]) {
      assert.doesNotMatch(widget.tell(widget.WORDS.en, found), /undefined|\{\w+\}|object Object/);
    }
  };
  for (const value of values) {
    look(value);
    for (const key of top) {
      for (const model_type of ["llama", "smollm3", "cohere2", "gemma3_text", "other"]) {
        look({ ...llama, model_type, [key]: value });
        look({ ...llama, model_type, [key]: value }, "full_attention");
      }
    }
    for (const key of inside) {
      for (const type of types) {
        look({ ...llama, rope_scaling: { type, factor: 2, original_max_position_embeddings: 512, [key]: value } });
        look({ ...llama, rope_parameters: { full_attention: { rope_type: type, [key]: value } } });
      }
    }
  }
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
