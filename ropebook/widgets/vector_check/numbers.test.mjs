import assert from "node:assert/strict";
import test from "node:test";

import { printed, readNumbers } from "./numbers.js";

const read = (text) => readNumbers(text, 3);

test("numbers are read however they are printed", () => {
  for (const text of [
    "1, -2.5, 300",
    "1 -2.5 3e2",
    "[1. -2.5\n 3.0E+02]",
    "tensor([[[1.0000, -2.5000, 300.0000]]], device='cuda:0', dtype=torch.float64, grad_fn=<AddBackward0>)",
    "array([ 1. , -2.5, 300. ], dtype=float32)",
    "[np.float64(1.0), np.float32(-2.5), 300]",
    "y = jnp.array([1, −2.5, 300])",
    "{1.0f, -2.5F, .3e3f};",
    "out: 1\t-2.5\r\n+300",
    "(1;-2.5;300)",
    "array([1., -2.5, 300.], shape=(3,), dtype=float32)",
    "tf.Tensor([1. -2.5 300.], shape=(3,), dtype=float32)",
    "Float32Array(3) [ 1, -2.5, 300 ]",
    "Float32[1.0, -2.5, 300.0]",
    "[1f32, -2.5f32, 3e2f64]",
  ]) {
    assert.deepEqual(read(text), { numbers: [1, -2.5, 300] }, text);
  }
});

test("what is no such list is named by its first fault", () => {
  const cases = {
    "": ["empty", 0],
    "[ , ]": ["empty", 0],
    "1, 2": ["count", 2],
    "1, 2, 3, 4": ["count", 4],
    "1, two, nan": ["word", "two"],
    "1, 2, 3 4.5.6": ["word", "4.5.6"],
    "1, NaN, 3": ["endless", "NaN"],
    "1, -inf, x": ["endless", "-inf"],
    "1, 1e999, 3": ["endless", "1e999"],
    "1, 0x10, 3": ["word", "0x10"],
    "...": ["word", "..."],
  };
  for (const [text, [code, found]] of Object.entries(cases)) {
    assert.deepEqual(read(text), { problem: { code, found } }, text);
  }
  assert.deepEqual(read("1".repeat(2001)), { problem: { code: "long", found: 2001 } });
});

test("numbers are printed with four decimals, and read again", () => {
  assert.equal(printed([1, -2.00004, -0.00001]), "1.0000, -2.0000, 0.0000");
  assert.deepEqual(read(printed([0.12344, 9, -5])).numbers, [0.1234, 9, -5]);
});
