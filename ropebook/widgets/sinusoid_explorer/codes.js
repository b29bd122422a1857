// Codes of positions: bits, or sines and cosines, and the dot products of two of them.
import { TAU, inverseFrequencies, sinusoid } from "../kit/math.js";

export const PLACES = 128;
export const REACH = 64;
const BITS = 7;
export const OFFSETS = Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH);

// rad per token, fastest first; the counter's bits have the hands of its waves.
export function codeFrequencies({ code, model_dim, base }) {
  if (code === "transformer") return inverseFrequencies(model_dim, base);
  return Array.from({ length: BITS }, (_, i) => TAU / 2 ** (i + 1));
}

// One row of the heat map: bits as -1 and +1, or (sin, cos) side by side.
export function codeOf(position, binary, inverse) {
  if (binary) return inverse.map((_, i) => 2 * ((Math.floor(position) >> i) & 1) - 1);
  return sinusoid(position, inverse);
}

export function innerProduct(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

// What each pair (each bit) adds to the dot product.
export function pairProducts(a, b, width) {
  const part = (row, i) => row.slice(width * i, width * (i + 1));
  return Array.from({ length: a.length / width }, (_, i) => innerProduct(part(a, i), part(b, i)));
}

// Least and greatest dot product of every offset, over all places on the map.
export function innerRange(rows) {
  const low = new Array(2 * REACH + 1).fill(Infinity);
  const high = new Array(2 * REACH + 1).fill(-Infinity);
  for (let m = 0; m < PLACES; m += 1) {
    for (let i = 0; i <= 2 * REACH; i += 1) {
      const inner = innerProduct(rows[m + REACH], rows[m + i]);
      low[i] = Math.min(low[i], inner);
      high[i] = Math.max(high[i], inner);
    }
  }
  return { low, high };
}

// All that follows from the code alone.
export function shapeOf(code, model_dim, base) {
  const binary = code === "binary";
  const inverse = codeFrequencies({ code, model_dim, base });
  const table = Array.from({ length: PLACES + 2 * REACH }, (_, i) => codeOf(i - REACH, binary, inverse));
  const { low, high } = innerRange(table);
  return {
    ...{ binary, inverse, table, low, high, most: inverse.length },
    ...{ kind: binary ? "binary" : "waves", width: binary ? 1 : 2, digits: binary ? 0 : 2 },
    least: Math.min(0, Math.floor(Math.min(...low) + 1e-9)),
    alike: high.every((most, i) => most - low[i] < 1e-6),
    // The row of any place, and of one between two.
    row: (place) => table[place + REACH] ?? codeOf(place, binary, inverse),
    // What `whenChanged` goes by: the rest follows.
    toJSON: () => [code, model_dim, base],
  };
}

// The dot product of a place with each one around it.
export function curveOf(shape, place) {
  return OFFSETS.map((offset) => innerProduct(shape.row(place), shape.row(place + offset)));
}
