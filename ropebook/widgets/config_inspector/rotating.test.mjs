import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, llama, read } from "./config_table.mjs";

const none = { rope_theta: undefined };

test("a type that is known not to rotate is refused before its other keys are read", () => {
  assert.deepEqual(codes(read({ model_type: "bert", head_dim: "wide" }).problems), ["noRotation"]);
  assert.deepEqual(codes(read({ model_type: "nanochat", head_dim: 0 }).problems), ["unsupported"]);
  assert.deepEqual(codes(read({ model_type: "nanochat", text_config: llama }).problems), ["unsupported"]);
});

test("some types rotate only where a key says so", () => {
  const seen = read({ model_type: "zamba2" });
  assert.deepEqual([seen.problems[0].code, seen.problems[0].value, seen.problems[0].needed], ["needs", null, "true"]);
  const zamba = { model_type: "zamba2", use_mem_rope: true, hidden_size: 64, num_attention_heads: 8 };
  assert.equal(read(zamba).spec.headDim, 16);
});

test("a text that says nothing of rotation does not seem to rotate, unless a part of it does", () => {
  assert.deepEqual(codes(read({ model_type: "mine", ...none }).problems), ["silent"]);
  const [problem] = read({
    model_type: "mine",
    ...none,
    decoder: { a: { b: llama } },
    talker: { rope: false },
  }).problems;
  assert.deepEqual([problem.code, problem.keys], ["elsewhere", ["decoder"]]);
  const deep = JSON.parse(`${'{"a":'.repeat(9)}{"rope_theta":1}${"}".repeat(9)}`);
  assert.deepEqual(codes(read({ model_type: "mine", ...none, deep }).problems), ["silent"]);
});

test("a type that holds a text is read as its text", () => {
  assert.equal(read({ model_type: "two_towers" }).spec.layout, "half");
  assert.equal(read({ model_type: "mine" }).spec.layout, null);
});

test("what stands within the attention counts, and must agree", () => {
  assert.equal(read({ ...none, attn_config: { rope_theta: 500, other: 1 } }).spec.base, 500);
  assert.deepEqual(codes(read({ attn_config: { rope_theta: 500 } }).problems), ["disagree"]);
});

test("one base for each layer is refused", () => {
  assert.deepEqual(codes(read({ rope_theta: [1, 2] }).problems), ["perLayerBase"]);
});
