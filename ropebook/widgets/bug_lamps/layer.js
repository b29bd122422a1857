// A small attention layer whose rotation can be broken, and the tests of it; `widget.py` does the same.
import { inverseFrequencies, softmax } from "../kit/math.js";

export const TESTS = ["length", "zero", "by_hand", "push", "alike", "cache", "far", "original"];
export const STARTS = { start: 0, pushed: 7, far: 10_000, cached: 0 };

export function inner(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

// A whole number of 0 or more with the 8 significant bits of bfloat16, ties to even.
export function bfloat16(number) {
  if (number === 0) return 0;
  const step = 2 ** (Math.floor(Math.log2(number)) - 7);
  const [steps, rest] = [Math.floor(number / step), (number / step) % 1];
  return step * (rest > 0.5 || (rest === 0.5 && steps % 2) ? steps + 1 : steps);
}

// The rotation with its bugs. `side` is "q" or "k": each has a sign and seats of its own.
export function turned(vector, position, bugs, side, base) {
  const width = bugs.width ? Math.max(2, vector.length / 2) : vector.length;
  const pairs = width / 2;
  const inverse = inverseFrequencies(width, bugs.exponent ? Math.sqrt(base) : base);
  const counted = position + (bugs.from_one ? 1 : 0);
  const at = (bugs.rounded ? bfloat16(counted) : counted) * (bugs[`${side}_sign`] ? -1 : 1);
  const half = bugs[`${side}_seat`];
  const out = [...vector];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [a, b] = half ? [pair, pair + pairs] : [2 * pair, 2 * pair + 1];
    // The table doubled as the other layout needs it gives the two seats of a pair two angles.
    const doubled = (seat) => inverse[half ? seat >> 1 : seat % pairs];
    const [alpha, beta] = [a, b].map((seat) => at * (bugs.cosines ? doubled(seat) : inverse[pair]));
    out[a] = vector[a] * Math.cos(alpha) - vector[b] * Math.sin(alpha);
    out[b] = vector[b] * Math.cos(beta) + vector[a] * Math.sin(beta);
  }
  return out;
}

function projected(x, { example }, side) {
  return example[`w_${side}`].map((row) => inner(row, x));
}

// Queries, keys or values as they enter the score or the sum; values go the way of the keys.
function made(layer, bugs, side, positions) {
  const way = side === "q" ? "q" : "k";
  return layer.example.embeddings.map((x, word) => {
    if (side === "v" && !bugs.values) return projected(x, layer, side);
    const turn = (vector) => turned(vector, positions[word], bugs, way, layer.base);
    return bugs.early ? projected(turn(x), layer, side) : turn(projected(x, layer, side));
  });
}

function attended(q, k, v) {
  const scores = q.map((query) => k.map((key) => inner(query, key)));
  const weights = scores.map((row, m) => softmax(row.slice(0, m + 1).map((score) => score / Math.sqrt(q[0].length))));
  const output = weights.map((row) => v[0].map((_, i) => row.reduce((sum, weight, n) => sum + weight * v[n][i], 0)));
  return { q, k, v, scores, weights, output };
}

// All words at once, the first at `start`.
export function readAtOnce(layer, bugs, start) {
  const positions = layer.example.embeddings.map((_, word) => start + word);
  return attended(...["q", "k", "v"].map((side) => made(layer, bugs, side, positions)));
}

// The last word alone, after the others were read and cached.
export function readByCache(layer, bugs) {
  const rows = layer.example.embeddings.map((_, word) => word);
  const positions = rows.map((word) => (bugs.restart && word === rows.length - 1 ? 0 : word));
  const [q, k, v] = ["q", "k", "v"].map((side) => made(layer, bugs, side, positions));
  const read = bugs.reread ? k.map((key, row) => turned(key, row, bugs, "k", layer.base)) : k;
  return attended(q, read, v);
}

function largest(a, b) {
  return Math.max(...a.flat().map((value, i) => Math.abs(value - b.flat()[i])));
}

// What each test measures: 0, up to rounding, where it notices nothing.
export function errors(layer, bugs) {
  const plain = ["q", "k"].map((side) => layer.example.embeddings.map((x) => projected(x, layer, side)));
  const [here, right] = [readAtOnce(layer, bugs, 0), readAtOnce(layer, {}, 0)];
  const still = ["q", "k"].map((side) => made(layer, bugs, side, [0, 0, 0, 0, 0]));
  const lengths = (sides) => sides.flat().map((vector) => Math.hypot(...vector));
  const turn = (vector, position, side) => turned(vector, position, bugs, side, layer.base);
  const same = plain[0].at(-1);
  const pushed = (start) => largest(readAtOnce(layer, bugs, start).scores, here.scores);
  return {
    length: largest(lengths([here.q, here.k]), lengths(plain)),
    zero: largest(still.flat(), plain.flat()),
    by_hand: Math.abs(inner(turn([1, 0], 2, "q"), turn([0, 1], 1, "k")) - Math.sin(1)),
    push: pushed(STARTS.pushed),
    alike: largest(turn(same, 4, "q"), turn(same, 4, "k")),
    cache: largest(readByCache(layer, bugs).scores.at(-1), here.scores.at(-1)),
    far: pushed(STARTS.far),
    original: largest(here.output, right.output),
  };
}

// Which tests notice these bugs, and which of the dark ones would notice one of them alone.
export function noticed(layer, bugs, tolerance) {
  const measured = errors(layer, bugs);
  const lit = TESTS.filter((name) => measured[name] > tolerance);
  const on = Object.keys(bugs).filter((bug) => bugs[bug]);
  const alone = on.map((bug) => errors(layer, { [bug]: true }));
  const hidden = TESTS.filter((name) => !lit.includes(name) && alone.some((found) => found[name] > tolerance));
  return { errors: measured, lit, hidden, on };
}
