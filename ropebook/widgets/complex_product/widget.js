import { div, html, svg, widthOf } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { disc, label, layer, letter, path, vector } from "../kit/layer.js";
import { TAU, alike, clamp, degrees, rotate } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { squarePlane } from "../kit/plot.js";
import { fill, formatAngle, formatNumber } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Complex product: z, w and z times w",
    plane:
      "The plane with z, w and their product wz; a unit square with the letter F in it, before (dashed) and after (solid) multiplication by w",
    handle: { name: "{name}; arrow keys move its tip", role: "movable point" },
    handleValue: "{parts} i, length {length}, angle {angle}",
    unit: "keep |w| = 1",
    stops: { i: "w = i", minusOne: "w = −1", onePlusI: "w = 1 + i", square: "w = z", conjugate: "w = z mirrored" },
    moves: { around: "once around", reset: "reset" },
    numbers: "z, w and their product: parts, length and angle",
    columns: { parts: "a + bi", length: "length", angle: "angle" },
    matrix: ["w as a matrix", "columns: w and iw"],
    determinant: ["every area times |w|²", "the determinant"],
    lengths: "Lengths multiply: {zLength} × {wLength} {times} <b>{length}</b>.",
    angles: "Angles add: {zAngle} + {wBraced} {plus} <b>{sum}</b>{wrapped}.",
    wrapped: ", which is <b>{angle}</b>",
    zero: "Zero has no angle, and zero times anything is zero.",
    lessons: {
      turns: "w has length one: it turns the whole plane and stretches nothing.",
      scales: "w turns the whole plane by {wAngle} and makes every length {wLength} times as long.",
      keeps: "w = 1 leaves the plane as it is.",
      squares: "A square: the angle doubles, the length is squared.",
      real: "w undoes the turn of z, so the product is real: |z|² {times} {length}.",
    },
    signs: { approximately: "≈", equals: "=" },
  },
};

const EXTENT = 2.75;
const GAP = "\u202f\u202f";
const I = [0, 1];
// What an arrow key turns w by while it stays on the unit circle: 5°, and five times that with shift.
const KEY_TURN = TAU / 72;
// Lines of the plane that are shown after multiplication, in every direction from zero.
const LINES = 4;
const SQUARE = "M0 0H1V1H0Z";
// No symmetry of its own: turned, it is still an F; mirrored, it is none.
const LETTER = "M.24 .14V.88H.8V.74H.4V.58H.66V.44H.4V.14Z";

export function multiply([a, b], [x, y]) {
  return [a * x - b * y, a * y + b * x];
}

// In (-pi, pi]; NaN for zero, which has no angle.
export function angleOf([re, im]) {
  return re === 0 && im === 0 ? NaN : Math.atan2(im || 0, re);
}

// The point of the unit circle in the same direction; 1 for zero.
export function toUnit([re, im]) {
  const length = Math.hypot(re, im);
  return length ? [re / length, im / length] : [1, 0];
}

function isUnit(number) {
  return Math.abs(Math.hypot(...number) - 1) < 1e-9;
}

// The part of the line from a to b inside the square of half-width `limit`; null where none is.
export function clipLine(a, b, limit) {
  let [from, to] = [0, 1];
  for (const i of [0, 1]) {
    const along = b[i] - a[i];
    if (along === 0) {
      if (Math.abs(a[i]) > limit) return null;
      continue;
    }
    const ends = [(-limit - a[i]) / along, (limit - a[i]) / along].sort((s, t) => s - t);
    from = Math.max(from, ends[0]);
    to = Math.min(to, ends[1]);
  }
  const at = (t) => [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
  return from < to ? [at(from), at(to)] : null;
}

// Whether numbers as they are shown, with some digits, obey the equation that is shown with them.
export function holdsAsShown(left, right, digits) {
  return formatNumber(left, digits) === formatNumber(right, digits);
}

// A spot for a label near its tip: the first that stands clear of what is there, else the first.
export function labelSpot([x, y], outward, distance, taken, room) {
  const around = [0, 1.1, -1.1, 1.9, -1.9, 2.7, -2.7].map((aside) => [
    x + distance * Math.cos(outward + aside),
    y - distance * Math.sin(outward + aside),
  ]);
  const clear = ([u, v]) => taken.every(([s, t]) => Math.hypot(u - s, v - t) > room);
  return around.find(clear) ?? around[0];
}

// Lines of the plane, at whole numbers both ways, where multiplication by w takes them.
function turnedLines(w) {
  const whole = Array.from({ length: 2 * LINES + 1 }, (_, i) => i - LINES);
  const ends = (at) => [at, LINES].map((along, i) => [at, i ? along : -LINES]);
  const upright = whole.map(ends);
  const lines = [...upright, ...upright.map((line) => line.map(([x, y]) => [y, x]))];
  return lines.map(([a, b]) => clipLine(multiply(w, a), multiply(w, b), EXTENT)).filter(Boolean);
}

// What follows of two factors.
function multiplied({ z, w }) {
  const wz = multiply(z, w);
  const matrix = [w[0], -w[1], w[1], w[0]];
  return { wz, matrix, zAngle: angleOf(z), wAngle: angleOf(w), angle: angleOf(wz) };
}

// Which sentence says what w does.
export function lessonKind({ z, w }) {
  if (alike(w, [1, 0])) return "keeps";
  if (alike(w, [z[0], -z[1]]) && z[1]) return "real";
  if (alike(w, z)) return "squares";
  return isUnit(w) ? "turns" : "scales";
}

function lessonOf(words, state) {
  const { zAngle, wAngle, angle } = state;
  const [zLength, wLength, length] = [state.z, state.w, state.wz].map((number) => Math.hypot(...number));
  const sign = (left, right, digits) =>
    holdsAsShown(left, right, digits) ? words.signs.equals : words.signs.approximately;
  const rounded = (value, digits) => Number(value.toFixed(digits));
  const sum = zAngle + wAngle;
  const wrapped = Math.abs(sum - angle) > 1e-6 && !holdsAsShown(Math.abs(degrees(sum)), 180, 1);
  const [zSaid, wSaid, said] = [zAngle, wAngle, angle].map((value) => formatAngle(value));
  const sentences = [words.lengths, ...(length ? [words.angles, words.lessons[lessonKind(state)]] : [words.zero])];
  return fill(sentences.join(" "), {
    ...{ zLength: formatNumber(zLength), wLength: formatNumber(wLength), length: formatNumber(length) },
    times: sign(rounded(zLength, 2) * rounded(wLength, 2), length, 2),
    ...{ zAngle: zSaid, wAngle: wSaid, wBraced: wAngle < 0 ? `(${wSaid})` : wSaid, sum: formatAngle(sum) },
    plus: sign(rounded(degrees(zAngle), 1) + rounded(degrees(wAngle), 1), degrees(sum), 1),
    wrapped: wrapped ? fill(words.wrapped, { angle: said }) : "",
  });
}

// The angle of a factor: a sector, and an arc with a head where there is room for one.
function arcShapes(name, { middle }, radius, from, to) {
  const length = Math.abs(to - from) * radius;
  const points = length > 3 ? spiralPoints(middle, middle, radius, from, to) : [];
  const pointed = length > 14;
  return [
    path(`rope-product-sector rope-${name}`, points.length ? sectorPath(middle, middle, radius, from, to) : ""),
    path(`rope-product-arc rope-${name}`, polylinePath(pointed ? points.slice(0, -1) : points)),
    path(`rope-turn-head rope-${name}`, pointed ? arcHeadPath(points) : ""),
  ];
}

// The unit square with its letter, as it was and as w turns it, and circles around zero.
function groundShapes({ w, wz }, { middle, origin, unit }) {
  const placed = (name, d, [a, b]) => {
    const matrix = [a, -b, -b, -a].map((value) => value * unit);
    return path(`rope-product-${name}`, d, { transform: `matrix(${matrix.join(" ")} ${middle} ${middle})` });
  };
  return [
    placed("before", SQUARE, [1, 0]),
    placed("letter-before", LETTER, [1, 0]),
    placed("after", SQUARE, w),
    placed("letter", LETTER, w),
    disc("rope-circle", origin, unit),
    disc("rope-product-path", origin, isUnit(w) ? Math.hypot(...wz) * unit : 0),
    label("", middle + unit + 9, middle + 15, "1", "middle"),
    label("", middle - 9, middle - unit - 5, "i", "middle"),
  ];
}

// Names clear of the tips, of the arrows and of each other, and that of the corner iw.
function nameShapes(state, { size, at }) {
  const numbers = [state.z, state.w, state.wz];
  const taken = [...numbers, ...numbers.map(([x, y]) => [0.75 * x, 0.75 * y])].map(at);
  const names = ["wz", "w", "z"].map((name) => {
    const spot = labelSpot(at(state[name]), angleOf(state[name]) || 0, 23, taken, 20);
    taken.push(spot);
    return letter(
      name,
      spot.map((along) => clamp(along, 10, size - 10)),
      name,
    );
  });
  const corner = multiply(state.w, I);
  const [x, y] = labelSpot(at(corner), angleOf(corner) || 0, 12, taken, 16);
  return [label("rope-product-mark rope-w", x, y + 4, Math.hypot(...state.w) > 0.3 ? "iw" : "", "middle"), ...names];
}

function productPicture(words, { maxLength, onStep, onMove }) {
  const picture = svg("svg", { class: "rope-product-plane", role: "group", "aria-label": words.plane });
  const plane = squarePlane(picture, EXTENT);
  const paint = layer(picture);
  const handles = ["z", "w"].map((name) => {
    const spoken = { label: fill(words.handle.name, { name }), description: words.handle.role };
    const moves = { onStep: (...step) => onStep(name, ...step), onMove: (tip) => onMove(name, tip) };
    return [name, vectorHandle(picture, { name, ...spoken, maxLength, toPoint: plane.toPoint, ...moves })];
  });
  const paintNames = layer(picture);

  function draw(state, size) {
    const scales = plane.resize(size);
    const { origin, unit, at } = scales;
    const { zAngle, wAngle } = state;
    const radius = 0.58 * unit;
    // A turn back would lie on the first arc, so it has one of its own.
    const wRadius = radius + (zAngle * wAngle < 0 ? 9 : 0);
    const lines = turnedLines(state.w).map((line) => polylinePath(line.map(at)));
    paint([
      path("rope-product-grid", lines.join("")),
      ...groundShapes(state, scales),
      ...arcShapes("z", scales, radius, 0, Number.isFinite(wAngle) ? zAngle : 0),
      ...arcShapes("w", scales, wRadius, zAngle, zAngle + wAngle),
      ...["z", "w", "wz"].map((name) => vector(`rope-${name}`, origin, at(state[name]))),
    ]);
    for (const [name, place] of handles) {
      const [re, im] = state[name];
      const parts = `${formatNumber(re)} ${im < 0 ? "−" : "+"} ${formatNumber(Math.abs(im))}`;
      const said = { parts, length: formatNumber(Math.hypot(re, im)), angle: formatAngle(angleOf(state[name])) };
      place(...at(state[name]), state[name], fill(words.handleValue, said));
    }
    paintNames(nameShapes(state, scales));
  }
  return { node: picture, draw };
}

// A row of the table: a number by its parts, its length and its angle.
function tableRow({ show, text }, name) {
  const cell = (role, className, ...children) => html("span", { role, class: className }, ...children);
  const number = (what, value, format) =>
    show(`${name === "wz" ? "product" : name}_${what}`, (state) => value(state[name]), { format });
  const re = number("re", (at) => at[0]);
  const apart = (value) => formatNumber(value).replace("−", `−${GAP}`);
  const im = number("im", (at) => at[1], apart);
  const plus = text((state) => (formatNumber(state[name][1]).startsWith("−") ? "" : `+${GAP}`));
  const sign = (mark) => html("span", { class: "rope-product-sign" }, name === "w" ? mark : "");
  const length = number("length", (at) => Math.hypot(...at));
  return html(
    "div",
    { role: "row", class: `rope-product-row rope-${name}` },
    cell("rowheader", "rope-product-name", name),
    cell("cell", "", re, " ", plus, im, html("i", {}, "i")),
    cell("cell", "", sign("× "), length),
    cell("cell", "", sign("+ "), number("angle", angleOf, formatAngle)),
  );
}

function numbersTable(words, tools) {
  const named = [html("span", { class: "rope-hidden" }, words.numbers), ...Object.values(words.columns)];
  const headings = named.map((name) => html("span", { role: "columnheader", class: "" }, name));
  const header = html("div", { role: "row", class: "rope-product-row rope-product-header" }, ...headings);
  const rows = ["z", "w", "wz"].map((name) => tableRow(tools, name));
  return html("div", { role: "table", "aria-label": words.numbers }, header, ...rows);
}

function factsOf(words, { show }) {
  const span = (name, ...content) => html("span", { class: name }, ...content);
  const fact = ([name, note], value) =>
    div("rope-readout", span("rope-readout-label", name), value, span("rope-readout-label", note));
  const entries = ["00", "01", "10", "11"].map((place, i) => show(`matrix_${place}`, ({ matrix }) => matrix[i]));
  const area = show("determinant", ({ w: [a, b] }) => a * a + b * b, { tone: "angle" });
  return div(
    "rope-product-facts",
    fact(words.matrix, span("rope-product-matrix rope-tone-angle", ...entries)),
    fact(words.determinant, span("rope-readout-values rope-product-big", area)),
  );
}

// w goes once around on the unit circle, which it first takes to.
function onceAround({ w }) {
  const [from, length] = [toUnit(w), Math.hypot(...w)];
  const at = (seconds) => {
    const part = clamp((seconds - 0.3) / 5, 0, 1);
    const reach = 1 + (length - 1) * clamp(1 - seconds / 0.3, 0, 1);
    return { w: part < 1 ? rotate(from, part * part * (3 - 2 * part) * TAU).map((x) => x * reach) : from };
  };
  return { still: { unit: true, w: toUnit(rotate(from, TAU / 8)) }, seconds: 5.3, at };
}

function build({ words, model, state, set, commit, playing, lesson, buttons, toggles, ...tools }) {
  const picture = productPicture(words, {
    maxLength: model.get("max_length"),
    onStep: (name, at, [right, up], step) =>
      name === "w" && state().unit ? rotate(at, (right + up) * step * 10 * KEY_TURN) : null,
    onMove: (name, tip) => (name === "z" ? commit({ z: tip }) : set(({ unit }) => ({ w: unit ? toUnit(tip) : tip }))),
  });
  const box = div("rope-picture rope-stays", picture.node);
  // What lies off the unit circle leaves it, and says so.
  const stop = (label, make) => ({
    label,
    visit: ({ z, unit }) => ({ w: make(z), unit: unit && isUnit(make(z)) }),
    pressed: ({ z, w }) => !playing() && alike(w, make(z)),
  });
  const stops = buttons({
    w_i: stop(words.stops.i, () => I),
    w_minus_one: stop(words.stops.minusOne, () => [-1, 0]),
    w_one_plus_i: stop(words.stops.onePlusI, () => [1, 1]),
    w_z: stop(words.stops.square, (z) => [...z]),
    w_conjugate: stop(words.stops.conjugate, ([x, y]) => [x, -y]),
    once_around: { label: words.moves.around, play: onceAround },
    reset: { label: words.moves.reset, reset: true },
  });
  const keepUnit = (unit) => set(({ w }) => ({ unit, w: unit ? toUnit(w) : w }));
  const keep = toggles({ unit: { label: words.unit, value: ({ unit }) => unit || playing(), onChange: keepUnit } });
  const numbers = div("rope-product-numbers", ...keep, numbersTable(words, tools), factsOf(words, tools));
  return {
    node: div("rope-frame rope-product", div("rope-pictures", box, div("rope-row", ...stops), numbers), lesson),
    measure: (narrow) => ({ size: widthOf(box, 200, narrow ? 340 : 400) }),
    derive: multiplied,
    draw: (at, { size }) => picture.draw(at, size),
    lesson: (at) => lessonOf(words, at),
  };
}

// Python and the other views learn where an animation stands.
const settle = ({ w }) => ({ unit: true, w: toUnit(w) });

export default { render: mount({ words: WORDS, traits: ["z", "w", "unit"], settle, build }) };
