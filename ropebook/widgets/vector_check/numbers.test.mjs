import assert from "node:assert/strict";
import test from "node:test";

import { printed, readNumbers } from "./numbers.js";

const read = (text) => {
  const { open, ...told } = readNumbers(text, 3);
  return told;
};

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
    "<tf.Tensor: shape=(3,), dtype=float32, numpy=array([1., -2.5, 300.], dtype=float32)>",
    "<tf.Variable 'y:0' shape=(3,) dtype=float32, numpy=\narray([1., -2.5,\n       300.], dtype=float32)>",
    "y[0] = 1.000000\ny[1] = -2.500000\r\ny[2] = 300.000000\n",
    "y[0][0]=1, y[0][1]=-2.5, y[0, 2]=300",
    "Out[3]: Array([1., -2.5, 300.], dtype=float32, weak_type=True)",
    "after rope: tensor([1, -2.5, 300], device='mps:0',\n       requires_grad=True)",
    "Parameter containing:\ntensor([1., -2.5, 300.], requires_grad=True)",
    '{"y": [1, -2.5, 300], "shape": [3]}',
    '{"0":1,"1":-2.5,"2":300}',
    '"1","-2.5","3e2"',
    "0: 1\n1: -2.5\n2: 300",
    "[Float(1), Float(-2.5), Float(3e2)]",
    "3-element Vector{Float32}:\n   1.0\n  -2.5\n 300.0",
    " 1.0\n-2.5\n 300\n[ CPUFloatType{3} ]",
    "[1, -2.5, 300]\nTensor[[3], f32]",
    "[1.0, -2.5, 300.0], shape=[3], strides=[1], layout=CFcf (0xf), const ndim=1",
    "vec![1.0, -2.5, 300.0]",
  ]) {
    assert.deepEqual(read(text), { numbers: [1, -2.5, 300], guessed: null }, text);
  }
});

test("what counts the numbers is left out, and a guess at it is told", () => {
  for (const text of [
    "[1]    1.0  -2.5\n[3]  300.0",
    "0 1\n1 -2.5\n2 300\nName: y, dtype: float64",
    "1,1\n2,-2.5\n3,300\n",
  ]) {
    assert.deepEqual(read(text), { numbers: [1, -2.5, 300], guessed: "counted" }, text);
  }
  for (const text of ["1 1\n2 -2.5\n4 300", "[1] [1 -2.5 300 4]", "[1] 1 -2.5"]) {
    assert.equal(read(text).problem.code, "count", text);
  }
  assert.deepEqual(read("0 1 2").numbers, [0, 1, 2]);
});

test("commas are decimal points where that alone makes as many numbers, each with one", () => {
  for (const text of ["1,0 -2,5 300,0", "1,0; -2,5; 300,0", "[1,0, -2,5, 3,0e2]", "1,0\n-2,5\n300,0\n"]) {
    assert.deepEqual(read(text), { numbers: [1, -2.5, 300], guessed: "commas" }, text);
  }
  for (const [text, found] of [
    ["1,25 0,5", 4],
    ["1,0 -2,5 300", 5],
    ["1,0,-2,5,300,0", 6],
  ]) {
    assert.deepEqual(read(text), { problem: { code: "commas", found } }, text);
  }
  assert.deepEqual(read("1,0 -2,5 300.5").problem, { code: "count", found: 5 });
  assert.equal(read("1,2 3").guessed, null);
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
    "1 <img src=x> 3": ["word", "<img"],
    "1, 2, 3f16": ["word", "3f16"],
  };
  for (const [text, [code, found]] of Object.entries(cases)) {
    assert.deepEqual(read(text), { problem: { code, found } }, text);
  }
  assert.deepEqual(read("1".repeat(2001)), { problem: { code: "long", found: 2001 } });
});

test("how far the last digit leaves a number open is told", () => {
  const { open } = readNumbers("1, -2.50, .125e2 3.E-1f 0e400 1e-999999999999", 6);
  const powers = open.map((by) => Math.round(Math.log10(2 * by)));
  assert.deepEqual(powers, [0, -2, -1, -1, 20, -20]);
});

test("numbers are printed with four decimals, and read again", () => {
  assert.equal(printed([1, -2.00004, -0.00001]), "1.0000, -2.0000, 0.0000");
  assert.deepEqual(read(printed([0.12344, 9, -5])).numbers, [0.1234, 9, -5]);
});
