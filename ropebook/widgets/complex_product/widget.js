import { arrow, div, html, setAttributes, svg, svgText, vectorLabel, widthOf } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { TAU, clamp, degrees, rotate } from "../kit/math.js";
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
    handleValue: "{re} {sign} {im} i, length {length}, angle {angle}",
    unit: "keep |w| = 1",
    stops: { i: "w = i", minusOne: "w = −1", onePlusI: "w = 1 + i", square: "w = z", conjugate: "w = conjugate of z" },
    around: "once around",
    reset: "reset",
    numbers: "z, w and their product: parts, length and angle",
    columns: { parts: "a + bi", length: "length", angle: "angle" },
    matrix: "w as a matrix",
    sides: "columns: w and iw",
    determinant: "determinant |w|²",
    area: "every area times this",
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
    approximately: "≈",
    equals: "=",
  },
};

const EXTENT = 2.75;
const EIGHTH = TAU / 8;
const CLOSE = 1e-9;
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

export function equal(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]) < CLOSE;
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
function multiplied({ z, w, ...state }) {
  const wz = multiply(z, w);
  const matrix = [w[0], -w[1], w[1], w[0]];
  return { ...state, z, w, wz, matrix, zAngle: angleOf(z), wAngle: angleOf(w), angle: angleOf(wz) };
}

// Which sentence says what w does.
export function lessonKind({ z, w }) {
  if (equal(w, [1, 0])) return "keeps";
  if (equal(w, [z[0], -z[1]]) && z[1]) return "real";
  if (equal(w, z)) return "squares";
  return Math.abs(Math.hypot(...w) - 1) < CLOSE ? "turns" : "scales";
}

function lessonOf(words, state) {
  const { z, w, wz, zAngle, wAngle, angle } = state;
  const [zLength, wLength, length] = [z, w, wz].map((number) => Math.hypot(...number));
  const sign = (holds) => (holds ? words.equals : words.approximately);
  const rounded = (value, digits) => Number(value.toFixed(digits));
  const sum = zAngle + wAngle;
  const wrapped = Math.abs(sum - angle) > 1e-6 && !holdsAsShown(Math.abs(degrees(sum)), 180, 1);
  const sentences = [words.lengths, ...(length ? [words.angles, words.lessons[lessonKind(state)]] : [words.zero])];
  return fill(sentences.join(" "), {
    zLength: formatNumber(zLength),
    wLength: formatNumber(wLength),
    length: formatNumber(length),
    times: sign(holdsAsShown(rounded(zLength, 2) * rounded(wLength, 2), length, 2)),
    zAngle: formatAngle(zAngle),
    wAngle: formatAngle(wAngle),
    wBraced: wAngle < 0 ? `(${formatAngle(wAngle)})` : formatAngle(wAngle),
    sum: formatAngle(sum),
    plus: sign(holdsAsShown(rounded(degrees(zAngle), 1) + rounded(degrees(wAngle), 1), degrees(sum), 1)),
    wrapped: wrapped ? fill(words.wrapped, { angle: formatAngle(angle) }) : "",
  });
}

// The angle of a factor: a sector, and an arc with a head.
function makeArc(picture, name) {
  const sector = svg("path", { class: `rope-product-sector rope-${name}` }, picture);
  const line = svg("path", { class: `rope-product-arc rope-${name}` }, picture);
  const head = svg("path", { class: `rope-turn-head rope-${name}` }, picture);
  return (middle, radius, from, to) => {
    const length = Math.abs(to - from) * radius;
    const points = length > 3 ? spiralPoints(middle, middle, radius, from, to) : [];
    const pointed = length > 14;
    setAttributes(sector, { d: points.length ? sectorPath(middle, middle, radius, from, to) : "" });
    setAttributes(line, { d: polylinePath(pointed ? points.slice(0, -1) : points) });
    setAttributes(head, { d: pointed ? arcHeadPath(points) : "" });
  };
}

// The unit square with its letter, as it was and as w turns it, and circles around zero.
function makeGround(picture) {
  const path = (name, d) => svg("path", { class: `rope-product-${name}`, d }, picture);
  const still = [path("before", SQUARE), path("letter-before", LETTER)];
  const turned = [path("after", SQUARE), path("letter", LETTER)];
  const circle = svg("circle", { class: "rope-circle" }, picture);
  const round = svg("circle", { class: "rope-product-path" }, picture);
  const [one, i] = ["1", "i"].map((mark) => svgText(picture, "", "middle", mark));
  return ({ w, wz }, { middle, unit }) => {
    const place = (nodes, [a, b]) => {
      const matrix = [a, -b, -b, -a].map((value) => value * unit);
      for (const node of nodes) setAttributes(node, { transform: `matrix(${matrix.join(" ")} ${middle} ${middle})` });
    };
    place(still, [1, 0]);
    place(turned, w);
    setAttributes(circle, { cx: middle, cy: middle, r: unit });
    const visibility = Math.abs(Math.hypot(...w) - 1) < CLOSE ? "visible" : "hidden";
    setAttributes(round, { cx: middle, cy: middle, r: Math.hypot(...wz) * unit, visibility });
    setAttributes(one, { x: middle + unit + 9, y: middle + 15 });
    setAttributes(i, { x: middle - 9, y: middle - unit - 5 });
  };
}

function productPicture(words, { maxLength, onStep, onMove }) {
  const picture = svg("svg", { class: "rope-product-plane", role: "group", "aria-label": words.plane });
  const plane = squarePlane(picture, EXTENT);
  // Below the axes, which the plane has drawn last.
  const lines = svg("path", { class: "rope-product-grid" });
  picture.insertBefore(lines, picture.lastChild);
  const ground = makeGround(picture);
  const mark = svgText(picture, "rope-product-mark rope-w", "middle", "iw");
  const [zArc, wArc] = [makeArc(picture, "z"), makeArc(picture, "w")];
  const arrows = ["z", "w", "wz"].map((name) => [name, arrow(picture, `rope-${name}`)]);
  let toPoint = null;
  const handles = ["z", "w"].map((name) => {
    const spoken = { label: fill(words.handle.name, { name }), description: words.handle.role };
    const moves = { onStep: (...step) => onStep(name, ...step), onMove: (tip) => onMove(name, tip) };
    return [name, vectorHandle(picture, { name, ...spoken, maxLength, toPoint: (x, y) => toPoint(x, y), ...moves })];
  });
  const labels = ["wz", "w", "z"].map((name) => [name, vectorLabel(picture, `rope-${name}`, name)]);

  // Labels stand clear of the tips, of the arrows and of each other.
  function drawLabels(state, { size, at }) {
    const numbers = [state.z, state.w, state.wz];
    const taken = [...numbers, ...numbers.map(([x, y]) => [0.75 * x, 0.75 * y])].map(at);
    for (const [name, place] of labels) {
      const spot = labelSpot(at(state[name]), angleOf(state[name]) || 0, 23, taken, 20);
      taken.push(spot);
      place(...spot.map((along) => clamp(along, 10, size - 10)), "");
    }
    const corner = multiply(state.w, I);
    const [x, y] = labelSpot(at(corner), angleOf(corner) || 0, 12, taken, 16);
    setAttributes(mark, { x, y: y + 4, visibility: Math.hypot(...state.w) > 0.3 ? "visible" : "hidden" });
  }

  function draw(state, size) {
    const scales = plane.resize(size);
    const { middle, unit, at } = scales;
    toPoint = (x, y) => [(x - middle) / unit, (middle - y) / unit];
    const seen = turnedLines(state.w).map((line) => polylinePath(line.map(at)));
    setAttributes(lines, { d: seen.join("") });
    ground(state, scales);
    const { zAngle, wAngle } = state;
    // A turn back would lie on the first arc, so it has one of its own.
    const radius = 0.58 * unit;
    zArc(middle, radius, 0, Number.isFinite(wAngle) ? zAngle : 0);
    wArc(middle, radius + (zAngle * wAngle < 0 ? 9 : 0), zAngle, zAngle + wAngle);
    for (const [name, place] of arrows) place(middle, middle, ...at(state[name]));
    for (const [name, place] of handles) {
      const [re, im] = state[name];
      const said = {
        re: formatNumber(re),
        sign: im < 0 ? "−" : "+",
        im: formatNumber(Math.abs(im)),
        length: formatNumber(Math.hypot(re, im)),
        angle: formatAngle(angleOf(state[name])),
      };
      place(...at(state[name]), state[name], fill(words.handleValue, said));
    }
    drawLabels(state, scales);
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
  return html(
    "div",
    { role: "row", class: `rope-product-row rope-${name}` },
    cell("rowheader", "rope-product-name", name),
    cell("cell", "", re, " ", plus, im, html("i", {}, "i")),
    cell(
      "cell",
      "",
      sign("× "),
      number("length", (at) => Math.hypot(...at)),
    ),
    cell("cell", "", sign("+ "), number("angle", angleOf, formatAngle)),
  );
}

function numbersTable(words, tools) {
  const heading = (...children) => html("span", { role: "columnheader", class: "" }, ...children);
  const { parts, length, angle } = words.columns;
  const named = [html("span", { class: "rope-hidden" }, words.numbers), parts, length, angle];
  const header = { role: "row", class: "rope-product-row rope-product-header" };
  const rows = ["z", "w", "wz"].map((name) => tableRow(tools, name));
  const table = { role: "table", "aria-label": words.numbers };
  return html("div", table, html("div", header, ...named.map((name) => heading(name))), ...rows);
}

function factsOf(words, { show }) {
  const label = (text) => html("span", { class: "rope-readout-label" }, text);
  const entries = ["00", "01", "10", "11"].map((place, i) => show(`matrix_${place}`, ({ matrix }) => matrix[i]));
  const brackets = html("span", { class: "rope-product-matrix rope-tone-angle" }, ...entries);
  const area = show("determinant", ({ w: [a, b] }) => a * a + b * b, { tone: "angle" });
  const determinant = html("span", { class: "rope-readout-values rope-product-big" }, area);
  return div(
    "rope-product-facts",
    div("rope-readout", label(words.matrix), brackets, label(words.sides)),
    div("rope-readout", label(words.determinant), determinant, label(words.area)),
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
  return { still: { unit: true, w: toUnit(rotate(from, EIGHTH)) }, seconds: 5.3, at };
}

function build({ words, model, state, set, commit, playing, lesson, buttons, toggles, ...tools }) {
  const picture = productPicture(words, {
    maxLength: model.get("max_length"),
    onStep: (name, at, [right, up], step) =>
      name === "w" && state().unit ? rotate(at, (right + up) * step * 10 * KEY_TURN) : null,
    onMove: (name, tip) => (name === "z" ? commit({ z: tip }) : set(({ unit }) => ({ w: unit ? toUnit(tip) : tip }))),
  });
  const box = div("rope-picture", picture.node);
  // What lies off the unit circle leaves it, and says so.
  const stop = (label, make) => ({
    label,
    visit: ({ z, unit }) => ({ w: make(z), unit: unit && Math.abs(Math.hypot(...make(z)) - 1) < CLOSE }),
    pressed: ({ z, w }) => !playing() && equal(w, make(z)),
  });
  const stops = buttons({
    w_i: stop(words.stops.i, () => I),
    w_minus_one: stop(words.stops.minusOne, () => [-1, 0]),
    w_one_plus_i: stop(words.stops.onePlusI, () => [1, 1]),
    w_z: stop(words.stops.square, (z) => [...z]),
    w_conjugate: stop(words.stops.conjugate, ([x, y]) => [x, -y]),
    once_around: { label: words.around, play: onceAround },
    reset: { label: words.reset, reset: true },
  });
  const keep = toggles({
    unit: {
      label: words.unit,
      value: ({ unit }) => unit || playing(),
      onChange: (unit) => set(({ w }) => ({ unit, w: unit ? toUnit(w) : w })),
    },
  });
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
const render = mount({ words: WORDS, traits: ["z", "w", "unit"], settle, build });

export default { render };
