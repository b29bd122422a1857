import assert from "node:assert/strict";
import test from "node:test";

import { llama, table } from "./config_table.mjs";
import * as widget from "./widget.js";

const inspect = (changes) => widget.inspect(JSON.stringify({ ...llama, ...changes }), "", 0, table);
const tell = (problem) => widget.tell(widget.WORDS.en, problem);

test("pairs are sorted by what was done to them", () => {
  assert.deepEqual(widget.bands([1, 1, 2, 8]), { untouched: [0, 1], blended: [2, 2], slowed: [3, 3] });
});

test("a pair that stands still never turns, and without a length none is judged", () => {
  assert.deepEqual(widget.neverTurn([1, 0.1, 0, 0], 1e9), [2, 3]);
  assert.deepEqual(widget.neverTurn([1, 0.1, 0, 0], null), []);
});

test("long lists are short", () => {
  assert.equal(widget.shortList([3, 7, 11, 15, 19]), "3, 7, 11, …, 19");
  assert.equal(widget.shortList([3, 7]), "3, 7");
});

test("notes of one kind are one warning, and assumptions stand alone", () => {
  const notes = [
    { code: "unread", key: "a" },
    { code: "unread", key: "b" },
    { code: "assumed", key: "c", value: 1, why: "model" },
    { code: "assumed", key: "d", value: 1, why: "model" },
  ];
  assert.deepEqual(
    widget.warningsOf(notes, null).map(({ keys }) => keys),
    [["a", "b"], ["c"], ["d"]],
  );
});

test("the picture adds an alias, another reach and a softmax factor, each once", () => {
  const codes = (spec) => widget.warningsOf([], { softmaxFactor: 1, maxSeqLen: 8, ...spec }).map(({ code }) => code);
  assert.deepEqual(codes({ type: "longrope", written: "longrope" }), []);
  assert.deepEqual(codes({ type: "ntk_alpha", written: "dynamic" }), ["alias"]);
  assert.deepEqual(codes({ type: "yarn", written: "yarn", factor: 2, trained: 4 }), []);
  assert.deepEqual(codes({ type: "yarn", factor: 4, trained: 4, softmaxFactor: 2 }), ["reach", "softmax"]);
  assert.deepEqual(codes({ type: "yarn", factor: 4, trained: 4, maxSeqLen: null }), []);
});

test("half a head is no key of the text, and is said in words", () => {
  const chatglm = { model_type: "chatglm", rope_theta: null, rotary_dim: 8 };
  const [problem] = inspect(chatglm).problems;
  assert.equal(tell(problem), "half of the head makes 4 dimensions rotate, but rotary_dim 8: they must agree.");
});

test("a value is shown short, on one line and as what it is", () => {
  const said = (value) => tell({ code: "rule", key: "k", rule: "positive", value });
  assert.match(said(Infinity), /got a number beyond 10³⁰⁸\.$/);
  assert.match(said("\u202e\u2028\u001b[31m"), /"\\u\{202e\}\\u\{2028\}\\u001b\[31m"\.$/);
  for (const value of ["x".repeat(1e6), Array(1e6).fill(1), { a: { b: "x".repeat(1e5) } }]) {
    assert.ok(said(value).length < 120);
  }
});

test("whatever the values are, it answers, and in whole sentences", () => {
  const values = [
    null,
    true,
    0,
    -1,
    0.5,
    7,
    1e9,
    1e308,
    "",
    "linear",
    "constructor",
    [],
    [1],
    ["linear"],
    {},
    { a: 1 },
  ];
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
      assert.doesNotMatch(tell(found), /undefined|\{\w+\}|object Object/);
    }
    for (const number of [...(seen.inverse ?? []), seen.attentionFactor ?? 1]) assert.ok(Number.isFinite(number));
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

test("without a length there are frequencies and nothing else", () => {
  const seen = inspect({ max_position_embeddings: null });
  assert.deepEqual([seen.problems, seen.length, seen.inverse.length], [[], null, 4]);
});

test("the module renders", () => assert.equal(typeof widget.default.render, "function"));
