// Numbers, angles and vectors of the plane. Angles are radians, counterclockwise from 3 o'clock.

export const TAU = 2 * Math.PI;

export function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

export function degrees(angle) {
  return (angle * 360) / TAU;
}

export function rotate([x, y], angle) {
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  return [x * c - y * s, x * s + y * c];
}

export function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1];
}

export function cross(a, b) {
  return a[0] * b[1] - a[1] * b[0];
}

export function shorten([x, y], maxLength) {
  const length = Math.hypot(x, y);
  // A hair inside the limit, so that rounding never puts a vector outside the rule.
  const scale = length > maxLength ? (maxLength * (1 - 1e-12)) / length : 1;
  return [x * scale, y * scale];
}

// Numbers within rounding of each other, and lists of such; anything else as it is.
export function alike(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((value, i) => alike(value, b[i]));
  return a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) < 1e-9);
}

// rad per token, fastest first, of vectors of `dim` numbers; `count` may ask for fewer or more pairs
export function inverseFrequencies(dim, base, count = dim / 2) {
  return Array.from({ length: count }, (_, i) => base ** ((-2 * i) / dim));
}

// sin and cos of a position at each frequency, in turns: sin, cos, sin, cos, ...
export function sinusoid(position, inverse) {
  return inverse.flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);
}

export function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}
