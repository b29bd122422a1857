// Check a rotation against the conformance vectors: node reader.mjs vectors.json
import { readFileSync } from "node:fs";
const [ANGLES, BETWEEN] = [0, 0]; // exact; float32 angles: 2 ** -19, 0; bfloat16: 2 ** -19, 0.02
const seats = (i, pairs, layout) => (layout === "half" ? [i, i + pairs] : [2 * i, 2 * i + 1]);
const halfUnit = (x) => 2 ** (Math.floor(Math.log2(Math.max(Math.abs(x), 2 ** -126))) - 24); // of float32

/** Put your own here: x, a head's vector, is turned in place; pair i stands at position at[i]. */
function rotate(x, at, invFreq, by, layout) {
  for (const i of at.keys()) {
    const [cos, sin] = [Math.cos, Math.sin].map((of) => by * of(at[i] * invFreq[i]));
    const [a, b] = seats(i, at.length, layout);
    [x[a], x[b]] = [x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos];
  }
}

/** Whether a vector of a token, turned, is what it should be, and the token's tables too. */
function isRight(spec, x, want, row, token, angles) {
  const { inv_freq: invFreq, attention_factor: by, layout } = spec;
  const at = spec.axis_of_pair.map((axis) => spec.position_ids[axis][row][token]);
  rotate(x, at, invFreq, by, layout);
  const turned = at.every((position, i) => {
    const [cos, sin] = [Math.cos, Math.sin].map((of) => by * of(position * invFreq[i]));
    const [a, b] = seats(i, at.length, layout);
    const tables = Math.hypot(cos - spec.cos[row][token][i], sin - spec.sin[row][token][i]);
    const loose = 2 ** -22 + BETWEEN + Math.min(angles * Math.abs(position * invFreq[i]), 1 / 16);
    const most = loose * Math.hypot(want[a], want[b]);
    return tables < 2e-8 && [a, b].every((j) => Math.abs(x[j] - want[j]) <= most + halfUnit(want[j]));
  });
  return turned && x.every((value, i) => i < 2 * at.length || value === want[i]);
}

const { cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrongAt = (angles) =>
  cases.filter((spec) => {
    const right = (name, row, head) => (x, token) =>
      isRight(spec, [...x], spec[`${name}_rotated`][row][head][token], row, token, angles);
    const all = (name) => spec[name].every((heads, row) => heads.every((xs, head) => xs.every(right(name, row, head))));
    return !all("q") || !all("k");
  });
const wrong = wrongAt(ANGLES);
const more = wrong.length - wrongAt(Math.max(ANGLES, 2 ** -19)).length;
console.log([`${cases.length - wrong.length} of ${cases.length} right`, ...wrong.map((spec) => spec.name)].join("\n"));
if (more) console.log(`${more} more are right with ANGLES = 2 ** -19, as float32 angles are`);
process.exitCode = wrong.length || !cases.length ? 1 : 0;
