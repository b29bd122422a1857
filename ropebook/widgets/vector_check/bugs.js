// What each known bug makes of a vector, and which of them made the numbers that came back.
import { TAU, cross, dot, inverseFrequencies, rotate } from "../kit/math.js";

const LAYOUTS = ["half", "interleaved"];
// How far bfloat16 or two digits move a right number below 10.
export const COARSE = 0.06;
// A factor as near to 1 as this is none.
const SAME = 2e-3;

// The two numbers of a pair, in the first `width` of a vector.
export function placesOf(layout, pair, width) {
  return layout === "half" ? [pair, pair + width / 2] : [2 * pair, 2 * pair + 1];
}

// Each pair of the first `width` numbers made anew by make([a, b], pair, places); the rest as it is.
function remade(x, layout, make, width = x.length) {
  const made = [...x];
  for (let pair = 0; pair < width / 2; pair += 1) {
    const [one, two] = placesOf(layout, pair, width);
    [made[one], made[two]] = make([x[one], x[two]], pair, [one, two]);
  }
  return made;
}

function turnedBy(x, layout, angles, width) {
  return remade(x, layout, (pair, i) => rotate(pair, angles[i]), width);
}

// x at a position, right in a layout.
export function rightAt(x, position, base, layout) {
  const angles = inverseFrequencies(x.length, base).map((frequency) => position * frequency);
  return turnedBy(x, layout, angles);
}

// All that is known, [code, layout, values, amount]: "right" and the codes of `ropelib.diagnosis`.
export function candidates(x, position, base) {
  const layouts = LAYOUTS.flatMap((layout) => made(x, position, base, layout));
  // Of two numbers, either layout makes the same pair.
  const two = [...rotate(x.slice(0, 2), position), ...x.slice(2)];
  return [...layouts, ["width-not-as-expected", null, two, 2], ["does-not-rotate", null, [...x]]];
}

function made(x, position, base, layout) {
  const width = x.length;
  const inverse = inverseFrequencies(width, base);
  const angles = inverse.map((frequency) => position * frequency);
  const [c, s] = [Math.cos, Math.sin].map((f) => angles.map(f));
  const spun = (by) => turnedBy(x, layout, by);
  const counted = (from) => spun(angles.map((_, i) => position * base ** (-2 * ((i + from) / width))));
  const other = layout === "half" ? "interleaved" : "half";
  // The angle at a place, in tables of the other layout.
  const strange = (place) => angles[layout === "half" ? place >> 1 : place % (width / 2)];
  const right = spun(angles);
  const seats = [...x.keys()];
  const [even, odd] = [0, 1].map((part) => seats.filter((place) => place % 2 === part));
  const order = layout === "half" ? seats.map((k) => (k >> 1) + (k % 2) * (width / 2)) : [...even, ...odd];
  const part = (count) => {
    const fewer = inverseFrequencies(count, base).map((frequency) => position * frequency);
    return ["width-not-as-expected", layout, turnedBy(x, layout, fewer, count), count];
  };
  return [
    ["right", layout, right],
    ["clockwise", layout, spun(angles.map((angle) => -angle))],
    ...[1, -1].map((by) => ["off-by-one", layout, rightAt(x, position + by, base, layout), position + by]),
    ["exponents-not-as-expected", layout, rightAt(x, position, Math.sqrt(base), layout), Math.sqrt(base)],
    ["exponents-from-one", layout, counted(1)],
    ["exponents-from-a-half", layout, counted(0.5)],
    ["angles-in-degrees", layout, spun(angles.map((angle) => (angle * TAU) / 360))],
    ["last-pair-not-rotated", layout, spun([...angles.slice(0, -1), 0])],
    [
      `${other}-angles-on-${layout}-pairs`,
      layout,
      remade(x, layout, (pair, _, places) => places.map((place, k) => rotate(pair, strange(place))[k])),
    ],
    ["minus-sign-missing", layout, remade(x, layout, ([a, b], i) => [a * c[i] + b * s[i], b * c[i] + a * s[i]])],
    ["sin-and-cos-swapped", layout, remade(x, layout, ([a, b], i) => [a * s[i] - b * c[i], b * s[i] + a * c[i]])],
    ["sine-is-zero", layout, remade(x, layout, ([a, b], i) => [a * c[i], b * c[i]])],
    [
      "pair-overwritten",
      layout,
      remade(x, layout, ([a, b], i) => {
        const first = a * c[i] - b * s[i];
        return [first, b * c[i] + first * s[i]];
      }),
    ],
    ["output-permuted", layout, order.map((place) => right[place])],
    ...[4, 6].map(part),
  ];
}

export function near(a, b, tolerance) {
  return a.every((value, i) => Math.abs(value - b[i]) <= tolerance);
}

export function wrapped(angle) {
  return angle - TAU * Math.round(angle / TAU);
}

// For each pair of a layout: by which angle it has turned, how many times as long it is now, by which
// angle it should have turned, and whether both numbers are what they should be. Where only the first
// `part` numbers turn, these are its pairs and then those of the rest, of which none is as it should be.
export function measured(x, y, position, base, layout, tolerance, part = x.length) {
  const rest = x.length - part;
  const right = [...rightAt(x.slice(0, part), position, base, layout), ...Array(rest).fill(NaN)];
  const angles = [
    ...inverseFrequencies(part, base).map((frequency) => position * frequency),
    ...Array(rest / 2).fill(NaN),
  ];
  return angles.map((angle, pair) => {
    const beyond = pair - part / 2;
    const places =
      beyond < 0 ? placesOf(layout, pair, part) : placesOf(layout, beyond, rest).map((place) => part + place);
    const [before, after, should] = [x, y, right].map((all) => places.map((place) => all[place]));
    return {
      ...{ places, before, after, should, wanted: wrapped(angle) },
      turned: Math.hypot(...after) > tolerance ? Math.atan2(cross(before, after), dot(before, after)) : NaN,
      length: Math.hypot(...after) / Math.hypot(...before),
      fits: near(after, should, tolerance),
    };
  });
}

// { code, layout, amount, alike }: what made y of x; the layout is null where none shows, and `alike` a
// base that would make the same of it. Without a bug that is known, the code is "coarse" near the
// right numbers, and "clockwise" near those, by the amount that one is off; else "none", and the layout
// the one in which lengths are better kept.
export function judge(x, y, position, base, tolerance) {
  // Fewer frequencies are those of a larger base as far as they reach, and the rest hardly turns.
  const told = (code, layout, _, amount = null) => {
    const larger = code === "width-not-as-expected" && amount > 2 ? base ** (x.length / amount) : null;
    const alike = larger && near(y, rightAt(x, position, larger, layout), tolerance) ? larger : null;
    return { code, layout, amount, alike };
  };
  const known = candidates(x, position, base).find(([, , values]) => near(y, values, tolerance));
  if (known) return told(...known);
  const seen = LAYOUTS.map((layout) => ({
    layout,
    right: (at, of = base) => rightAt(x, at, of, layout),
    pairs: measured(x, y, position, base, layout, tolerance),
  }));
  for (const find of [otherFactor, otherBase, otherPosition]) {
    for (const { layout, ...rest } of seen) {
      const found = find({ x, y, position, base, ...rest, fits: (values) => near(y, values, tolerance) });
      if (found) return { ...found, layout, alike: null };
    }
  }
  for (const { layout, right } of seen) {
    for (const [code, at] of Object.entries({ coarse: position, clockwise: -position })) {
      const values = right(at);
      const amount = Math.max(...y.map((value, i) => Math.abs(value - values[i])));
      if (amount <= COARSE) return { code, layout, amount, alike: null };
    }
  }
  const unkept = ({ pairs }) => pairs.reduce((sum, { length }) => sum + Math.abs(length - 1), 0);
  const [half, interleaved] = seen.map(unkept);
  return { code: "none", layout: interleaved < half * (1 - 1e-9) ? "interleaved" : "half", amount: null, alike: null };
}

// Every pair is longer or shorter by one factor.
function otherFactor({ x, y, position, right, fits }) {
  const amount = Math.hypot(...y) / Math.hypot(...x);
  if (amount < 0.25 || amount > 4 || Math.abs(amount - 1) < SAME) return null;
  if (!fits(right(position).map((value) => amount * value))) return null;
  const ofScores = Math.abs(amount - x.length ** -0.5) < 1e-3;
  return { code: ofScores ? "norm-not-kept" : "attention-factor", amount };
}

// The roundest base that fits; the second pair tells it, and may have turned more than once.
function otherBase({ x, position, pairs, right, fits }) {
  // All pairs at one frequency are base 1, and rounded angles may be a little beyond.
  for (let angle = pairs[1].turned; angle < position + 1e-3; angle += TAU) {
    if (!(angle > 0)) continue;
    const base = (position / angle) ** (x.length / 2);
    const amount = [1, 2, 3, 6]
      .map((digits) => Number(base.toPrecision(digits)))
      .find((of) => fits(right(position, of)));
    if (amount) return { code: codeOfBase(amount), amount };
  }
  return null;
}

// Nobody takes a base near 1: exponents are too small there.
function codeOfBase(base) {
  if (base < 1.5) return "base-beyond-sense";
  return base < 3 ? "exponents-not-as-expected" : "base-not-as-expected";
}

// The slowest pair tells a position without ambiguity, each faster one more exactly.
function otherPosition({ x, base, position, pairs, right, fits }) {
  const inverse = inverseFrequencies(x.length, base);
  const found = inverse.reduceRight((at, of, i) => at + wrapped(pairs[i].turned - at * of) / of, 0);
  const at = Math.abs(found - Math.round(found)) < 0.01 ? Math.round(found) : found;
  if (!(at > 0) || !fits(right(at))) return null;
  if (Number.isInteger(at)) return { code: "positions-shifted", amount: at };
  if (at > position) return { code: "frequencies-multiplied", amount: at / position };
  return { code: "linearly-scaled", amount: position / at };
}
