// A row of scores whose rotation can be broken, and what each test compares; `widget.py` does the same.
import { inner, turned } from "../bug_lamps/layer.js";

export const LAST = 24;
export const LAMPS = ["length", "zero", "moves", "push", "far", "cache", "by_hand", "reference"];
export const SIDED = ["idle", "sign", "seat", "base", "count", "rounded", "early"];
export const BUGS = [...SIDED.flatMap((row) => [`q_${row}`, `k_${row}`]), "restart", "reread"];

const PUSHED = { push: 7, far: 10_000 };
const DISTANCES = Array.from({ length: LAST + 1 }, (_, distance) => distance);

// What the tests are run on: two drawn vectors, one of them twice, or ones.
export function inputsOf({ q, k, weights }, kind) {
  const ones = q.map(() => 1);
  if (kind === "ones") return { q: ones, k: ones, weights: ones };
  return { q, k: kind === "same" ? q : k, weights };
}

// The rotation of one side with the bugs that are in its way.
export function turnedOn(vector, position, bugs, side, base) {
  const has = (row) => Boolean(bugs[`${side}_${row}`]);
  if (has("idle")) return vector;
  const ways = { [`${side}_sign`]: has("sign"), [`${side}_seat`]: has("seat") };
  const numbers = { exponent: has("base"), from_one: has("count"), rounded: has("rounded") };
  return turned(vector, position, { ...ways, ...numbers }, side, base);
}

function normed(vector, { weights }) {
  const size = Math.sqrt(inner(vector, vector) / vector.length);
  return vector.map((value, i) => (value / size) * weights[i]);
}

// A query or a key as it enters the score: normed, then turned.
export function entering(head, bugs, side, position) {
  const turn = (vector) => turnedOn(vector, position, bugs, side, head.base);
  return bugs[`${side}_early`] ? normed(turn(head[side]), head) : turn(normed(head[side], head));
}

// Scores of one query with the keys 0, 1, ... before it, the first of the text at `start`.
export function scoreRow(head, bugs, start) {
  const query = entering(head, bugs, "q", start + LAST);
  return DISTANCES.map((back) => inner(query, entering(head, bugs, "k", start + LAST - back)));
}

// The same of the last token alone, after the others were read and cached.
export function cachedRow(head, bugs) {
  const now = bugs.restart ? 0 : LAST;
  const query = entering(head, bugs, "q", now);
  return DISTANCES.map((back) => {
    const key = entering(head, bugs, "k", back ? LAST - back : now);
    return inner(query, bugs.reread ? turnedOn(key, LAST - back, bugs, "k", head.base) : key);
  });
}

// One pair of a length of 1 each: the score of (1, 0) with (0, 1) is the sine of the distance.
function handRow(head, bugs) {
  const query = turnedOn([1, 0], LAST, bugs, "q", head.base);
  return DISTANCES.map((back) => inner(query, turnedOn([0, 1], LAST - back, bugs, "k", head.base)));
}

// The two sides of each test, once or for q and for k: what it got, and what that should be.
export function comparisons(head, bugs) {
  const here = scoreRow(head, bugs, 0);
  const pushed = (name) => [{ got: scoreRow(head, bugs, PUSHED[name]), want: here }];
  const ofBoth = (compare) => ["q", "k"].map((side) => ({ side, ...compare(side, normed(head[side], head)) }));
  const lengthOf = (vector) => Math.hypot(...vector);
  return {
    length: ofBoth((side, plain) => ({
      got: DISTANCES.map((position) => lengthOf(entering(head, bugs, side, position))),
      want: DISTANCES.map(() => lengthOf(plain)),
    })),
    zero: ofBoth((side, want) => ({ got: entering(head, bugs, side, 0), want })),
    moves: [{ got: here, want: here.map(() => here[0]) }],
    push: pushed("push"),
    far: pushed("far"),
    cache: [{ got: cachedRow(head, bugs), want: here }],
    by_hand: [{ got: handRow(head, bugs), want: DISTANCES.map(Math.sin) }],
    reference: [{ got: here, want: scoreRow(head, {}, 0) }],
  };
}

// The largest gap of a comparison: how wide, in which of its lines, and where in it.
export function largestGap(lines) {
  const gaps = lines.flatMap(({ got, want }, line) =>
    got.map((value, place) => ({ size: Math.abs(value - want[place]), line, place })),
  );
  return gaps.reduce((most, one) => (one.size > most.size ? one : most));
}

// A score that does not move is wrong; every other gap is.
export function notice(head, bugs, tolerance) {
  const compared = comparisons(head, bugs);
  const gaps = Object.fromEntries(LAMPS.map((name) => [name, largestGap(compared[name])]));
  const lit = LAMPS.filter((name) => gaps[name].size > tolerance !== (name === "moves"));
  return { compared, gaps, lit };
}
