// What each known bug makes of a vector, and which of them made the numbers that came back.
import { TAU, cross, dot, inverseFrequencies, rotate } from "../kit/math.js";

const LAYOUTS = ["half", "interleaved"];
// How far bfloat16 or two digits move a right number below 10.
export const COARSE = 0.06;
// How far float32 may be off, and from which digit on that is asked of a right number: four decimals.
const EXACT = 1e-4;
const FINE = 6e-5;
// A factor as near to 1 as this is none.
const SAME = 2e-3;
// Of one layer: exponents over the width of fewer may be those of parts or axes of a head.
const FEWEST_HEADS = 6;

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

// The widths of the parts of a vector of `count` numbers in which pairs lie, by what was found.
export function widthsOf(found, count) {
  const amount = found?.amount;
  if (found?.code === "trailing-dimensions") return [count - amount, amount];
  const part = ["width-not-as-expected", "rest-not-kept"].includes(found?.code) && found.layout;
  return part ? [amount, count - amount] : [count];
}

// All that is known, [code, layout, values, amount, over]: "right" and the codes of `ropelib.diagnosis`.
export function candidates(x, position, base) {
  const layouts = LAYOUTS.flatMap((layout) => made(x, position, base, layout));
  // Of two numbers, either layout makes the same pair.
  const two = [...rotate(x.slice(0, 2), position), ...x.slice(2)];
  return [...layouts, ...ofPart(null, two, 2), ["does-not-rotate", null, [...x]]];
}

// The first numbers have turned; the rest came back as it was, or as zeros.
function ofPart(layout, values, count) {
  const zeros = values.map((value, i) => (i < count ? value : 0));
  return [
    ["width-not-as-expected", layout, values, count],
    ["rest-not-kept", layout, zeros, count],
  ];
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
    const [first, last] = [x.slice(0, count), x.slice(-count)].map((some) => rightAt(some, position, base, layout));
    return [
      ...ofPart(layout, [...first, ...x.slice(count)], count),
      ["trailing-dimensions", layout, [...x.slice(0, -count), ...last], count],
    ];
  };
  const lines = (write) => remade(x, layout, ([a, b], i) => write(a, b, c[i], s[i]));
  const resting = (turning) => spun(angles.map((angle, i) => (i < turning ? angle : 0)));
  // Slow pairs that rest are p-RoPE in halves; in neighbors, the end of a vector.
  const rest = {
    interleaved: [["last-pair-not-rotated", layout, resting(3)]],
    half: [
      ...[2, 3].map((turning) => ["slow-pairs-stand-still", layout, resting(turning), turning]),
      ["base-beyond-sense", layout, resting(1), base ** width],
    ],
  };
  return [
    ["right", layout, right],
    ["clockwise", layout, spun(angles.map((angle) => -angle))],
    ...[1, -1].map((by) => ["off-by-one", layout, rightAt(x, position + by, base, layout), position + by]),
    ["exponents-not-as-expected", layout, rightAt(x, position, Math.sqrt(base), layout), Math.sqrt(base)],
    ["exponents-from-one", layout, counted(1)],
    ["exponents-from-a-half", layout, counted(0.5)],
    ["exponents-positive", layout, spun(inverse.map((frequency) => position / frequency))],
    ["angles-in-degrees", layout, spun(angles.map((angle) => (angle * TAU) / 360))],
    ["slowest-pairs-first", layout, spun([...inverse].reverse().map((frequency) => position * frequency))],
    ...rest[layout],
    [
      `${other}-angles-on-${layout}-pairs`,
      layout,
      remade(x, layout, (pair, _, places) => places.map((place, k) => rotate(pair, strange(place))[k])),
    ],
    ["minus-sign-missing", layout, lines((a, b, c, s) => [a * c + b * s, b * c + a * s])],
    ["minus-sign-missing", layout, lines((a, b, c, s) => [a * c - b * s, b * c - a * s])],
    ["sin-and-cos-swapped", layout, lines((a, b, c, s) => [a * s - b * c, b * s + a * c])],
    ["sin-and-cos-swapped", layout, lines((a, b, c, s) => [a * s - b * c, b * c + a * s])],
    ["sin-and-cos-swapped", layout, lines((a, b, c, s) => [a * c - b * s, b * s + a * c])],
    ["sine-is-zero", layout, lines((a, b, c) => [a * c, b * c])],
    ["pair-overwritten", layout, lines((a, b, c, s) => [a * c - b * s, b * c + (a * c - b * s) * s])],
    ["pair-overwritten", layout, lines((a, b, c, s) => [a * c - (b * c + a * s) * s, b * c + a * s])],
    ["output-permuted", layout, order.map((place) => right[place])],
    ...[4, 6].flatMap(part),
    // The slower half of neighbors rests: numbers behind those that turn, by exponents over 8.
    ...(layout === "half" ? [] : [["width-not-as-expected", layout, resting(width / 4), width / 2, width]]),
  ];
}

export function near(a, b, tolerance) {
  return a.every((value, i) => Math.abs(value - b[i]) <= tolerance);
}

export function wrapped(angle) {
  return angle - TAU * Math.round(angle / TAU);
}

// For each pair of a layout, within each of the parts of these widths: by which angle it has turned and
// how many times as long it is now; the same as it should be; and whether both numbers are those. Where
// nothing should be there, `should` holds NaN.
export function measured(x, y, should, layout, tolerance, widths = [x.length]) {
  let start = 0;
  return widths.flatMap((width) => {
    const from = start;
    start += width;
    return Array.from({ length: width / 2 }, (_, pair) => {
      const places = placesOf(layout, pair, width).map((place) => from + place);
      const [before, after, right] = [x, y, should].map((all) => places.map((place) => all[place]));
      const turn = (to) => Math.atan2(cross(before, to), dot(before, to));
      const longer = (to) => Math.hypot(...to) / Math.hypot(...before);
      return {
        ...{ places, before, after, should: right, wanted: turn(right), length: longer(after), lasting: longer(right) },
        turned: Math.hypot(...after) > tolerance ? turn(after) : NaN,
        fits: near(after, right, tolerance),
      };
    });
  });
}

// { code, layout, amount, values, alike, over }: what made y of x, and the values that it makes; the
// layout is null where none shows, `alike` a base and `over` a number by which exponents are divided, in
// place of as many as x has, that would make the same of it. Without a bug that is known, the code is
// "coarse" near the right numbers, and "clockwise" near those, by the amount that one is off; else
// "none", and the layout the one in which lengths are better kept. `open`: by how much the last digit of
// each number leaves it open.
export function judge(x, y, position, base, tolerance, open = Array(x.length).fill(1)) {
  const verdict = (code, layout, values = null, amount = null, more = {}) => {
    return { code, layout, amount, values, alike: null, over: null, ...more };
  };
  const fits = (values) => near(y, values, tolerance);
  const known = candidates(x, position, base).find(([, , values]) => fits(values));
  if (known) {
    const [code, layout, values, amount, byWidth = null] = known;
    const off = y.map((value, i) => Math.abs(value - values[i]));
    if (code === "right" && off.some((by, i) => by > EXACT && open[i] < FINE)) {
      return verdict("coarse", layout, values, Math.max(...off));
    }
    const part = code === "width-not-as-expected";
    // Fewer frequencies are those of a larger base as far as they reach, and the rest hardly turns.
    const larger = part && layout ? base ** (x.length / amount) : null;
    const alike = larger && fits(rightAt(x, position, larger, layout)) ? larger : null;
    const over = (part && !layout) || code === "base-beyond-sense" ? 1 : byWidth;
    return verdict(code, layout, values, amount, { alike, over });
  }
  const seen = LAYOUTS.map((layout) => ({
    layout,
    right: (at, of = base) => rightAt(x, at, of, layout),
    pairs: measured(x, y, x, layout, tolerance),
  }));
  for (const find of [otherFactor, otherBase, otherPosition]) {
    for (const { layout, ...rest } of seen) {
      const found = find({ x, y, position, base, ...rest, fits });
      if (found) return verdict(found.code, layout, found.values, found.amount, { over: found.over ?? null });
    }
  }
  for (const { layout, right } of seen) {
    for (const [code, at] of Object.entries({ coarse: position, clockwise: -position })) {
      const values = right(at);
      const amount = Math.max(...y.map((value, i) => Math.abs(value - values[i])));
      if (amount <= COARSE) return verdict(code, layout, values, amount);
    }
  }
  const unkept = ({ pairs }) => pairs.reduce((sum, { length }) => sum + Math.abs(length - 1), 0);
  const [half, interleaved] = seen.map(unkept);
  return verdict("none", interleaved < half * (1 - 1e-9) ? "interleaved" : "half");
}

// Every pair is longer or shorter by one factor.
function otherFactor({ x, y, position, right, fits }) {
  const amount = Math.hypot(...y) / Math.hypot(...x);
  if (amount < 0.25 || amount > 1000 || Math.abs(amount - 1) < SAME) return null;
  const values = right(position).map((value) => amount * value);
  if (!fits(values)) return null;
  const ofScores = [0.25, 0.5].some((power) => Math.abs(amount - x.length ** -power) < 1e-3);
  return { code: ofScores ? "norm-not-kept" : "attention-factor", amount, values };
}

// The roundest base that fits; the second pair tells it, and may have turned more than once.
function otherBase({ x, base, position, pairs, right, fits }) {
  // All pairs at one frequency are base 1, and rounded angles may be a little beyond.
  for (let angle = pairs[1].turned; angle < position + 1e-3; angle += TAU) {
    if (!(angle > 0)) continue;
    const exact = (position / angle) ** (x.length / 2);
    const amount = [1, 2, 3, 6]
      .map((digits) => Number(exact.toPrecision(digits)))
      // Of as many as six digits and so near, it is rounding.
      .find((of, i) => fits(right(position, of)) && (i < 3 || Math.abs(of / base - 1) > 5e-3));
    if (!amount) continue;
    const over = 2 * Math.round((x.length * Math.log(base)) / Math.log(amount) / 2);
    const alike = amount > 1.1 && over > 0 && over <= 512 && over !== x.length;
    const same = alike && fits(right(position, base ** (x.length / over)));
    const heads = same ? over / x.length : 0;
    return { code: codeOfBase(amount, heads), amount, values: right(position, amount), over: same ? over : null };
  }
  return null;
}

// Nobody takes a base near 1, or that of some heads together, or beyond all: of exponents too small, or
// too large.
function codeOfBase(base, heads) {
  const ofHeads = Number.isInteger(heads) && heads >= FEWEST_HEADS;
  if (ofHeads || base < 1.5 || base > 1e15) return "base-beyond-sense";
  return base < 3 ? "exponents-not-as-expected" : "base-not-as-expected";
}

// The slowest pair tells a position without ambiguity, each faster one more exactly.
function otherPosition({ x, base, position, pairs, right, fits }) {
  const inverse = inverseFrequencies(x.length, base);
  const found = inverse.reduceRight((at, of, i) => at + wrapped(pairs[i].turned - at * of) / of, 0);
  const whole = Math.round(found);
  const at = Math.abs(found - whole) < 0.01 && fits(right(whole)) ? whole : found;
  const values = right(at);
  if (!(at > 0) || Math.abs(at / position - 1) < SAME || !fits(values)) return null;
  if (Number.isInteger(at)) return { code: "positions-shifted", amount: at, values };
  if (at > position) return { code: "frequencies-multiplied", amount: at / position, values };
  return { code: "linearly-scaled", amount: position / at, values };
}
