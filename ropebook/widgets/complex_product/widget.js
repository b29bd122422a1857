import { button, report, toggle } from "../kit/controls.js";
import { announcer, arrow, html, setAttributes, setText, svg, vectorLabel, widgetRoot } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { TAU, clamp, degrees, rotate } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, watch } from "../kit/motion.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { fill, formatNumber, pickWords } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Complex product: z, w and z times w",
    plane:
      "The plane with z, w and their product wz; a unit square with the letter F in it, before (dashed) and after (solid) multiplication by w",
    handle: "{name}; arrow keys move its tip",
    handleRole: "movable point",
    handleValue: "{re} {sign} {im} i, length {length}, angle {angle}",
    unit: "keep |w| = 1",
    timesI: "w = i",
    timesMinusOne: "w = −1",
    timesOnePlusI: "w = 1 + i",
    square: "w = z",
    conjugate: "w = conjugate of z",
    around: "once around",
    reset: "reset",
    numbers: "z, w and their product: parts, length and angle",
    parts: "a + bi",
    length: "length",
    angle: "angle",
    matrix: "w as a matrix",
    columns: "columns: w and iw",
    determinant: "determinant |w|²",
    area: "every area times this",
    lesson:
      "Lengths multiply: {zLength} × {wLength} {times} <b>{length}</b>. Angles add: {zAngle} + {wAngle} {plus} <b>{sum}</b>{wrapped}.",
    wrapped: ", which is <b>{angle}</b>",
    lessonZero:
      "Lengths multiply: {zLength} × {wLength} = <b>0.00</b>. Zero has no angle, and zero times anything is zero.",
    turns: "w has length one: it turns the whole plane and stretches nothing.",
    scales: "w turns the whole plane by {wAngle} and makes every length {wLength} times as long.",
    keeps: "w = 1 leaves the plane as it is.",
    squares: "A square: the angle doubles, the length is squared.",
    real: "w undoes the turn of z, so the product is real: |z|² {times} {length}.",
    approximately: "≈",
    equals: "=",
  },
};

const EXTENT = 2.75;
const EIGHTH = TAU / 8;
const CLOSE = 1e-9;
const GAP = "\u202f\u202f";
// What an arrow key turns w by while it stays on the unit circle: 5°, and five times that with shift.
const KEY_TURN = TAU / 72;
// Lines of the plane that are shown after multiplication, in every direction from zero.
const LINES = 4;
// No symmetry of its own: turned, it is still an F; mirrored, it is none.
const LETTER = [
  [0.24, 0.14],
  [0.24, 0.88],
  [0.8, 0.88],
  [0.8, 0.74],
  [0.4, 0.74],
  [0.4, 0.58],
  [0.66, 0.58],
  [0.66, 0.44],
  [0.4, 0.44],
  [0.4, 0.14],
];
const SQUARE = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
];

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

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const start = { z: model.get("z"), w: model.get("w"), unit: model.get("unit") };
  // While an animation runs, w as drawn is not yet that of the model.
  let moving = null;
  let size = 360;
  let unit = size / (2 * EXTENT);

  const plane = svg("svg", { class: "rope-product-plane", role: "group", "aria-label": words.plane });
  const grid = svg("path", { class: "rope-grid" }, plane);
  const turnedGrid = svg("path", { class: "rope-product-grid" }, plane);
  const axes = svg("path", { class: "rope-axis" }, plane);
  const before = svg("path", { class: "rope-product-before" }, plane);
  const beforeLetter = svg("path", { class: "rope-product-letter-before" }, plane);
  const after = svg("path", { class: "rope-product-after" }, plane);
  const afterLetter = svg("path", { class: "rope-product-letter" }, plane);
  const circle = svg("circle", { class: "rope-circle" }, plane);
  const path = svg("circle", { class: "rope-product-path" }, plane);
  const marks = ["1", "i"].map((mark) => {
    const text = svg("text", { "text-anchor": "middle" }, plane);
    text.textContent = mark;
    return text;
  });
  const turnedMark = svg("text", { class: "rope-product-mark rope-w", "text-anchor": "middle" }, plane);
  turnedMark.textContent = "iw";
  const arcs = ["z", "w"].map((name) => ({
    sector: svg("path", { class: `rope-product-sector rope-${name}` }, plane),
    line: svg("path", { class: `rope-product-arc rope-${name}` }, plane),
    head: svg("path", { class: `rope-turn-head rope-${name}` }, plane),
  }));
  const arrows = Object.fromEntries(["z", "w", "wz"].map((name) => [name, arrow(plane, `rope-${name}`)]));
  const handles = Object.fromEntries(
    ["z", "w"].map((name) => [
      name,
      vectorHandle(plane, {
        name,
        label: fill(words.handle, { name }),
        description: words.handleRole,
        maxLength: model.get("max_length"),
        toPoint: (x, y) => [(x - size / 2) / unit, (size / 2 - y) / unit],
        onStep: (at, [right, up], step) =>
          name === "w" && model.get("unit") ? rotate(at, (right + up) * step * 10 * KEY_TURN) : null,
        onMove: (tip) => {
          if (name === "w") animation.stop();
          commit(model, { [name]: name === "w" && model.get("unit") ? toUnit(tip) : tip });
        },
      }),
    ]),
  );
  const labels = ["wz", "w", "z"].map((name) => ({ name, place: vectorLabel(plane, `rope-${name}`, name) }));

  const animation = animator(() => {
    // Python and the other views learn where the animation stands.
    const at = moving;
    moving = null;
    if (at) commit(model, { unit: true, w: toUnit(at) });
    schedule();
  });
  // What lies off the unit circle leaves it, and says so.
  const setW = (make) => () => {
    animation.stop();
    const w = make(model.get("z"));
    commit(model, { w, unit: model.get("unit") && Math.abs(Math.hypot(...w) - 1) < CLOSE });
  };
  const runAround = () => {
    if (animation.running()) return animation.stop();
    const w = model.get("w");
    const from = toUnit(w);
    if (prefersReducedMotion()) return commit(model, { unit: true, w: toUnit(rotate(from, EIGHTH)) });
    const length = Math.hypot(...w);
    animation.start((seconds) => {
      const part = clamp((seconds - 0.3) / 5, 0, 1);
      const eased = part * part * (3 - 2 * part);
      const reach = 1 + (length - 1) * clamp(1 - seconds / 0.3, 0, 1);
      moving = part < 1 ? rotate(from, eased * TAU).map((x) => x * reach) : from;
      schedule();
      return part < 1;
    });
  };

  const i = [0, 1];
  const buttons = {
    timesI: button({ name: "w_i", label: words.timesI, onClick: setW(() => i) }),
    timesMinusOne: button({ name: "w_minus_one", label: words.timesMinusOne, onClick: setW(() => [-1, 0]) }),
    timesOnePlusI: button({ name: "w_one_plus_i", label: words.timesOnePlusI, onClick: setW(() => [1, 1]) }),
    square: button({ name: "w_z", label: words.square, onClick: setW((z) => [...z]) }),
    conjugate: button({ name: "w_conjugate", label: words.conjugate, onClick: setW(([x, y]) => [x, -y]) }),
    around: button({ name: "once_around", label: words.around, onClick: runAround }),
    reset: button({
      name: "reset",
      label: words.reset,
      pressable: false,
      onClick: () => {
        animation.stop();
        commit(model, start);
      },
    }),
  };
  const keep = toggle({
    name: "unit",
    label: words.unit,
    onChange: (checked) => {
      animation.stop();
      const w = model.get("w");
      commit(model, { unit: checked, w: checked ? toUnit(w) : w });
    },
  });

  const cell = (part, className, ...children) => html("span", { role: part, class: className }, ...children);
  const rows = ["z", "w", "wz"].map((name) => {
    const report_ = (what) => report(`${name === "wz" ? "product" : name}_${what}`);
    const row = { name, re: report_("re"), im: report_("im"), length: report_("length"), angle: report_("angle") };
    row.plus = html("span");
    const sign = (mark) => html("span", { class: "rope-product-sign" }, name === "w" ? mark : "");
    row.node = html(
      "div",
      { role: "row", class: `rope-product-row rope-${name}` },
      cell("rowheader", "rope-product-name", name),
      cell("cell", "", row.re.node, " ", row.plus, row.im.node, html("i", {}, "i")),
      cell("cell", "", sign("× "), row.length.node),
      cell("cell", "", sign("+ "), row.angle.node),
    );
    return row;
  });
  const header = html(
    "div",
    { role: "row", class: "rope-product-row rope-product-header" },
    cell("columnheader", "", html("span", { class: "rope-hidden" }, words.numbers)),
    ...[words.parts, words.length, words.angle].map((word) => cell("columnheader", "", word)),
  );
  const entries = ["00", "01", "10", "11"].map((place) => report(`matrix_${place}`));
  const determinant = report("determinant", "rope-tone-angle");
  const numbersBox = html(
    "div",
    { class: "rope-product-numbers" },
    keep.node,
    html("div", { role: "table", "aria-label": words.numbers }, header, ...rows.map((row) => row.node)),
    html(
      "div",
      { class: "rope-product-facts" },
      html(
        "div",
        { class: "rope-readout" },
        html("span", { class: "rope-readout-label" }, words.matrix),
        html("span", { class: "rope-product-matrix rope-tone-angle" }, ...entries.map((entry) => entry.node)),
        html("span", { class: "rope-readout-label" }, words.columns),
      ),
      html(
        "div",
        { class: "rope-readout" },
        html("span", { class: "rope-readout-label" }, words.determinant),
        html("span", { class: "rope-readout-values rope-product-big" }, determinant.node),
        html("span", { class: "rope-readout-label" }, words.area),
      ),
    ),
  );

  const lesson = html("p");
  const pictureBox = html("div", { class: "rope-picture" }, plane);
  const stops = html("div", { class: "rope-row" }, ...Object.values(buttons).map((b) => b.node));
  const root = widgetRoot(
    words.title,
    html(
      "div",
      { class: "rope-frame rope-product" },
      html("div", { class: "rope-pictures" }, pictureBox, stops, numbersBox),
      html("div", { class: "rope-lesson" }, lesson),
    ),
  );
  const summary = announcer(root);
  el.append(root);

  function drawPlane({ z, w, wz, zAngle, wAngle }, wide) {
    size = clamp(pictureBox.clientWidth || 360, 200, wide ? 400 : 340);
    unit = size / (2 * EXTENT);
    const middle = size / 2;
    const toPixels = ([x, y]) => [middle + x * unit, middle - y * unit];
    const outline = (points) => `${polylinePath(points.map(toPixels))}Z`;
    setAttributes(plane, {
      viewBox: `0 0 ${size} ${size}`,
      style: `width: ${size}px; height: ${size}px; margin: 0 auto`,
    });
    const lines = [-2, -1, 1, 2].map((v) => {
      const [x, y] = toPixels([v, v]);
      return `M${x} 0V${size}M0 ${y}H${size}`;
    });
    setAttributes(grid, { d: lines.join("") });
    setAttributes(axes, { d: `M${middle} 0V${size}M0 ${middle}H${size}` });
    const turned = [];
    for (let at = -LINES; at <= LINES; at += 1) {
      for (const ends of [
        [
          [at, -LINES],
          [at, LINES],
        ],
        [
          [-LINES, at],
          [LINES, at],
        ],
      ]) {
        const seen = clipLine(multiply(w, ends[0]), multiply(w, ends[1]), EXTENT);
        if (seen) turned.push(polylinePath(seen.map(toPixels)));
      }
    }
    setAttributes(turnedGrid, { d: turned.join("") });
    setAttributes(circle, { cx: middle, cy: middle, r: unit });
    const onCircle = Math.abs(Math.hypot(...w) - 1) < CLOSE;
    setAttributes(path, {
      cx: middle,
      cy: middle,
      r: Math.hypot(...wz) * unit,
      visibility: onCircle ? "visible" : "hidden",
    });
    setAttributes(before, { d: outline(SQUARE) });
    setAttributes(beforeLetter, { d: outline(LETTER) });
    setAttributes(after, { d: outline(SQUARE.map((point) => multiply(w, point))) });
    setAttributes(afterLetter, { d: outline(LETTER.map((point) => multiply(w, point))) });
    setAttributes(marks[0], { x: middle + unit + 9, y: middle + 15 });
    setAttributes(marks[1], { x: middle - 9, y: middle - unit - 5 });

    const drawArc = ({ sector, line, head }, radius, from, to, shown) => {
      const long = shown && Math.abs(to - from) * radius > 3;
      const points = long ? spiralPoints(middle, middle, radius, from, to) : [];
      const pointed = long && Math.abs(to - from) * radius > 14;
      setAttributes(sector, { d: long ? sectorPath(middle, middle, radius, from, to) : "" });
      setAttributes(line, { d: polylinePath(pointed ? points.slice(0, -1) : points) });
      setAttributes(head, { d: pointed ? arcHeadPath(points) : "" });
    };
    const known = Number.isFinite(zAngle) && Number.isFinite(wAngle);
    // A turn back would lie on the first arc, so it has one of its own.
    const radius = 0.58 * unit;
    drawArc(arcs[0], radius, 0, zAngle, known);
    drawArc(arcs[1], radius + (zAngle * wAngle < 0 ? 9 : 0), zAngle, zAngle + wAngle, known);

    const numbers = { z, w, wz };
    const tips = Object.fromEntries(Object.entries(numbers).map(([name, at]) => [name, toPixels(at)]));
    for (const [name, draw] of Object.entries(arrows)) draw(middle, middle, ...tips[name]);
    for (const [name, place] of Object.entries(handles)) {
      const [re, im] = numbers[name];
      const said = {
        re: formatNumber(re),
        sign: im < 0 ? "−" : "+",
        im: formatNumber(Math.abs(im)),
        length: formatNumber(Math.hypot(re, im)),
        angle: shownAngle(angleOf(numbers[name])),
      };
      place(...tips[name], numbers[name], fill(words.handleValue, said));
    }
    // Labels stand clear of the other tips, of the arrows and of each other.
    const shafts = Object.values(numbers).map(([x, y]) => toPixels([0.75 * x, 0.75 * y]));
    const taken = [...Object.values(tips), ...shafts];
    const spot = (number) => {
      const [x, y] = labelSpot(toPixels(number), angleOf(number) || 0, 23, taken, 20);
      taken.push([x, y]);
      return [clamp(x, 10, size - 10), clamp(y, 10, size - 10)];
    };
    for (const { name, place } of labels) place(...spot(numbers[name]), "");
    const corner = multiply(w, i);
    const [x, y] = labelSpot(toPixels(corner), angleOf(corner) || 0, 12, taken, 16);
    setAttributes(turnedMark, { x, y: y + 4, visibility: Math.hypot(...w) > 0.3 ? "visible" : "hidden" });
  }

  function shownAngle(angle) {
    return Number.isFinite(angle) ? `${formatNumber(degrees(angle), 1)}°` : "–";
  }

  function say({ z, w, wz, zAngle, wAngle, angle }) {
    const [zLength, wLength, length] = [z, w, wz].map((number) => Math.hypot(...number));
    const sign = (holds) => (holds ? words.equals : words.approximately);
    const rounded = (value, digits) => Number(value.toFixed(digits));
    const sum = zAngle + wAngle;
    const wrapped = Math.abs(sum - angle) > 1e-6 && !holdsAsShown(Math.abs(degrees(sum)), 180, 1);
    const values = {
      zLength: formatNumber(zLength),
      wLength: formatNumber(wLength),
      length: formatNumber(length),
      times: sign(holdsAsShown(rounded(zLength, 2) * rounded(wLength, 2), length, 2)),
      zAngle: shownAngle(zAngle),
      wAngle: shownAngle(wAngle),
      sum: shownAngle(sum),
      plus: sign(holdsAsShown(rounded(degrees(zAngle), 1) + rounded(degrees(wAngle), 1), degrees(sum), 1)),
    };
    values.wrapped = wrapped ? fill(words.wrapped, { angle: shownAngle(angle) }) : "";
    if (length === 0) return fill(words.lessonZero, values);
    const alone = () => {
      if (equal(w, [1, 0])) return words.keeps;
      if (equal(w, [z[0], -z[1]]) && z[1]) return words.real;
      if (equal(w, z)) return words.squares;
      return Math.abs(wLength - 1) < CLOSE ? words.turns : words.scales;
    };
    const tail = fill(alone(), values);
    if (wAngle < 0) values.wAngle = `(${values.wAngle})`;
    return `${fill(words.lesson, values)} ${tail}`;
  }

  function update() {
    // Read before anything is written, so that the browser lays the page out once a frame.
    const wide = root.clientWidth >= 600;
    const [z, w] = [model.get("z"), moving ?? model.get("w")];
    const wz = multiply(z, w);
    const state = { z, w, wz, zAngle: angleOf(z), wAngle: angleOf(w), angle: angleOf(wz) };
    drawPlane(state, wide);
    for (const row of rows) {
      const number = state[row.name];
      const angle = angleOf(number);
      const im = formatNumber(number[1]);
      row.re.update(number[0], formatNumber(number[0]));
      row.im.update(number[1], im.replace("−", `−${GAP}`));
      setText(row.plus, im.startsWith("−") ? "" : `+${GAP}`);
      row.length.update(Math.hypot(...number), formatNumber(Math.hypot(...number)));
      row.angle.update(angle, shownAngle(angle));
    }
    [w[0], -w[1], w[1], w[0]].forEach((value, n) => entries[n].update(value, formatNumber(value)));
    const area = w[0] * w[0] + w[1] * w[1];
    determinant.update(area, formatNumber(area));
    const running = animation.running();
    keep.update(model.get("unit") || running);
    buttons.timesI.update(!running && equal(w, i));
    buttons.timesMinusOne.update(!running && equal(w, [-1, 0]));
    buttons.timesOnePlusI.update(!running && equal(w, [1, 1]));
    buttons.square.update(!running && equal(w, z));
    buttons.conjugate.update(!running && equal(w, [z[0], -z[1]]));
    buttons.around.update(running);
    const sentence = say(state);
    if (lesson.dataset.said !== sentence) {
      lesson.dataset.said = sentence;
      lesson.innerHTML = sentence;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, ["z", "w", "unit"], root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
