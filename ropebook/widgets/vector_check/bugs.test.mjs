import assert from "node:assert/strict";
import test from "node:test";

import { candidates, judge, measured, near, placesOf, rightAt, widthsOf, wrapped } from "./bugs.js";

const X = [3, 5, 7, -1, -4, 6, -2, 9];
const judged = (y, position = 5) => judge(X, y, position, 1e4, 0.005);
const of = (code, layout) => candidates(X, 5, 1e4).find(([name, pairs]) => name === code && pairs === layout)[2];
const close = (a, b) => assert.ok(near(a, b, 1e-9), `${a} is not ${b}`);

test("pairs are halves or neighbors, of a part as well", () => {
  assert.deepEqual(placesOf("half", 1, 8), [1, 5]);
  assert.deepEqual(placesOf("interleaved", 1, 8), [2, 3]);
  assert.deepEqual(placesOf("half", 1, 4), [1, 3]);
});

test("a right turn keeps pairs as long, and turns the first by the position itself", () => {
  const [c, s] = [Math.cos(5), Math.sin(5)];
  const y = rightAt(X, 5, 1e4, "half");
  close([y[0], y[4]], [3 * c + 4 * s, 3 * s - 4 * c]);
  for (const { turned, wanted, length, lasting, fits } of measured(X, y, y, "half", 0.005)) {
    close([turned, length, lasting], [wanted, 1, 1]);
    assert.ok(fits);
  }
  close([wrapped(5), wrapped(-5), wrapped(1)], [5 - 2 * Math.PI, 2 * Math.PI - 5, 1]);
});

test("lines of code by hand are what the bugs make", () => {
  const angles = [5, 0.5, 0.05, 0.005];
  const overwritten = [...X];
  angles.forEach((angle, i) => {
    overwritten[2 * i] = overwritten[2 * i] * Math.cos(angle) - overwritten[2 * i + 1] * Math.sin(angle);
    overwritten[2 * i + 1] = overwritten[2 * i + 1] * Math.cos(angle) + overwritten[2 * i] * Math.sin(angle);
  });
  close(of("pair-overwritten", "interleaved"), overwritten);
  const repeated = angles.flatMap((angle) => [angle, angle]);
  const partner = [...X.slice(4).map((value) => -value), ...X.slice(0, 4)];
  const mixed = X.map((value, k) => value * Math.cos(repeated[k]) + partner[k] * Math.sin(repeated[k]));
  close(of("interleaved-angles-on-half-pairs", "half"), mixed);
  close(of("width-not-as-expected", "half").slice(4), X.slice(4));
});

test("every bug is told by what it makes, rounded to three digits", () => {
  for (const position of [3, 8, 16]) {
    for (const [code, layout, values, amount = null] of candidates(X, position, 1e4)) {
      const found = judged(
        values.map((value) => Number(value.toPrecision(3))),
        position,
      );
      if (Math.max(...values.map(Math.abs)) >= 10) continue;
      assert.deepEqual([found.code, found.layout, found.amount], [code, layout, amount]);
      close(found.values, values);
    }
  }
});

test("a factor, a base and a position are measured", () => {
  const right = rightAt(X, 5, 1e4, "interleaved");
  const scaled = (by) => judged(right.map((value) => value * by));
  assert.equal(scaled(1.25).code, "attention-factor");
  close([scaled(1.25).amount], [1.25]);
  assert.equal(scaled(8 ** -0.5).code, "norm-not-kept");
  assert.deepEqual([scaled(8).code, scaled(1001).code], ["attention-factor", "none"]);
  for (const base of [500, 500_000, 1_000_000, 150_000]) {
    const { code, layout, amount } = judged(rightAt(X, 5, base, "half"));
    assert.deepEqual([code, layout, amount], ["base-not-as-expected", "half", base]);
  }
  const at = (position) => judged(rightAt(X, position, 1e4, "half"));
  assert.deepEqual([at(12).code, at(12).amount], ["positions-shifted", 12]);
  assert.equal(at(1.25).code, "linearly-scaled");
  close([at(1.25).amount], [4]);
});

test("right numbers of few digits are nearly right, and a factor that is nearly 1 is none", () => {
  const right = rightAt(X, 5, 1e4, "interleaved");
  const few = judged(right.map((value) => Number(value.toFixed(1))));
  assert.deepEqual([few.code, few.layout], ["coarse", "interleaved"]);
  assert.ok(few.amount > 0.005 && few.amount <= 0.05);
  const off = (by) => judged(right.map((value, i) => value + (i === 3 ? by : 0))).code;
  assert.deepEqual([off(0.059), off(0.061)], ["coarse", "none"]);
  assert.equal(judged(right.map((value) => value * 1.0015)).code, "coarse");
});

test("frequencies are multiplied or divided, and a base near 1 is none that anybody takes", () => {
  const { code, amount } = judged(rightAt(X, 7.5, 1e4, "half"));
  assert.equal(code, "frequencies-multiplied");
  close([amount], [1.5]);
  const codes = [1, 1.4, 1.78, 3].map((base) => judged(rightAt(X, 5, base, "half")).code);
  const [beyond, exponents, other] = ["base-beyond-sense", "exponents-not-as-expected", "base-not-as-expected"];
  assert.deepEqual(codes, [beyond, beyond, exponents, other]);
});

test("a base that looks like a part that turns is told", () => {
  const part = candidates(X, 3, 1e4).find(([code, pairs, , n]) => code.startsWith("width") && pairs > "i" && n === 4);
  assert.equal(judged(part[2], 3).alike, 1e8);
  assert.equal(judged(part[2], 3).amount, 4);
  const halves = candidates(X, 3, 1e4).find(([code, pairs, , n]) => code.startsWith("width") && pairs < "i" && n === 4);
  assert.equal(judged(halves[2], 3).alike, null);
});

test("what no bug makes is told as that, in the pairs that keep their lengths", () => {
  assert.deepEqual(judged([1, 1, 1, 1, 1, 1, 1, 1]).code, "none");
  const turned = measured(X, X, X, "interleaved", 0.005).map(({ before: [a, b] }) => [-b, a]);
  const nothing = { amount: null, values: null, alike: null, over: null };
  assert.deepEqual(judged(turned.flat()), { code: "none", layout: "interleaved", ...nothing });
  assert.equal(judged(Array(8).fill(0)).code, "none");
});

test("where a part turns, its pairs are measured, and those of the rest are not as they should be", () => {
  for (const [layout, places] of [
    ["half", ["0,2", "1,3", "4,6", "5,7"]],
    ["interleaved", ["0,1", "2,3", "4,5", "6,7"]],
  ]) {
    const [, , y] = candidates(X, 5, 1e4).find(
      ([code, pairs, , n]) => code.startsWith("w") && pairs === layout && n === 4,
    );
    const should = [...rightAt(X.slice(0, 4), 5, 1e4, layout), ...Array(4).fill(NaN)];
    const pairs = measured(X, y, should, layout, 0.005, [4, 4]);
    assert.deepEqual(
      pairs.map((pair) => String(pair.places)),
      places,
    );
    assert.deepEqual(
      pairs.map(({ fits }) => fits),
      [true, true, false, false],
    );
    close([pairs[0].turned, pairs[1].turned, pairs[2].turned], [wrapped(5), 0.05, 0]);
    assert.deepEqual(
      pairs.map(({ wanted }) => Number.isNaN(wanted)),
      [false, false, true, true],
    );
  }
  assert.equal(measured(X, X, X, "half", 0.005, [6, 2]).length, 4);
  assert.deepEqual(measured(X, X, X, "half", 0.005, [2, 6])[1].places, [2, 5]);
});

test("of neighbors two may rest, behind numbers that turn by exponents over 8", () => {
  const resting = [...rightAt(X, 5, 1e4, "interleaved").slice(0, 4), ...X.slice(4)];
  const { code, layout, amount, over } = judged(resting);
  assert.deepEqual([code, layout, amount, over], ["width-not-as-expected", "interleaved", 4, 8]);
});

test("pairs lie in parts where only a part turns", () => {
  const widths = (code, amount, layout = "half") => widthsOf({ code, layout, amount }, 8);
  assert.deepEqual(widths("width-not-as-expected", 6), [6, 2]);
  assert.deepEqual(widths("width-not-as-expected", 2, null), [8]);
  assert.deepEqual(widths("rest-not-kept", 6), [6, 2]);
  assert.deepEqual(widths("trailing-dimensions", 6), [2, 6]);
  assert.deepEqual([widths("right", null), widthsOf(null, 8)], [[8], [8]]);
});

test("a verdict brings the values that it names, which a note says are right where they are meant", () => {
  for (const layout of ["half", "interleaved"]) {
    const scaled = rightAt(X, 1.25, 1e4, layout);
    const longer = rightAt(X, 5, 1e4, layout).map((value) => 1.25 * value);
    for (const y of [scaled, longer, of("clockwise", layout), of("trailing-dimensions", layout)]) {
      const { values, ...found } = judged(y);
      close(values, y);
      assert.ok(measured(X, y, values, layout, 0.005, widthsOf(found, 8)).every(({ fits }) => fits));
    }
  }
});

test("from four decimals on a right number is no farther off than float32", () => {
  const right = rightAt(X, 5, 1e4, "half");
  const code = (by, open) => judge(X, [right[0] + by, ...right.slice(1)], 5, 1e4, 0.005, Array(8).fill(open)).code;
  assert.deepEqual([code(2e-4, 5e-5), code(2e-4, 5e-4), code(5e-5, 5e-5)], ["coarse", "right", "right"]);
});

test("exponents over another width are told beside the base, and without any", () => {
  for (const over of [12, 32, 64, 128]) assert.equal(judged(rightAt(X, 5, 1e4 ** (8 / over), "half")).over, over);
  for (const [over, code] of [
    [72, "base-beyond-sense"],
    [100, "exponents-not-as-expected"],
  ]) {
    assert.equal(judged(rightAt(X, 5, 1e4 ** (8 / over), "half")).code, code);
  }
  for (const base of [500, 500_000, 1_000_000]) assert.equal(judged(rightAt(X, 5, base, "half")).over, null);
  assert.deepEqual(
    [judged(rightAt(X, 5, 1e32, "half")).code, judged(rightAt(X, 5, 1e32, "half")).over],
    ["base-beyond-sense", 1],
  );
  assert.equal(judged(rightAt(X, 5, 1e32, "interleaved")).over, 1);
});

test("a whole position is taken only where it fits, and never 0", () => {
  const found = (factor, position) => judged(rightAt(X, position * factor, 1e4, "half"), position);
  assert.equal(found(Math.PI, 7).code, "frequencies-multiplied");
  assert.equal(found(1 / 512, 3).code, "linearly-scaled");
  assert.equal(found(0.999, 5).code, "coarse");
});

test("clockwise in few digits is clockwise, by the amount that one is off", () => {
  for (const layout of ["half", "interleaved"]) {
    const found = judged(of("clockwise", layout).map((value) => Number(value.toFixed(1))));
    assert.deepEqual([found.code, found.layout], ["clockwise", layout]);
    assert.ok(found.amount > 0.005 && found.amount <= 0.05);
  }
});
