import { button, readout, report, slider } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { TAU, clamp, degrees, inverseFrequencies } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, watch } from "../kit/motion.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, pickWords, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Sinusoid explorer: a position as the reading of many clock hands",
    codes: {
      binary: "binary counter",
      counter_waves: "its waves",
      transformer: "the Transformer’s waves",
    },
    columns: {
      binary: "Each row is a position, each column a bit, lowest bit first.",
      waves: "Each row is a position, each column pair a hand’s (sin, cos), fast to slow.",
    },
    map: "Heat map: positions 0 to 127 from top to bottom, the code’s columns from left to right, values from −1 to 1. The rows of m and m + Δ and the chosen column are framed. Below it, the two codes as bars, and the dot product of each pair.",
    clock: "The chosen hand at m and at m + Δ, and the turn between them",
    curve: "Inner product of the codes of m and m + Δ, as a curve over Δ",
    position: "position m",
    offset: "offset Δ",
    pair: { binary: "bit", waves: "pair" },
    pairTitle: { binary: "Bit {pair}", waves: "Pair {pair}" },
    rowCode: "code of position {position}",
    products: {
      binary: "bit times bit: the sum is {inner}",
      waves: "dot product, pair by pair: the sum is {inner}",
    },
    here: "m",
    there: "m + Δ",
    dial: {
      binary: "A bit knows only which half of the dial its hand stands in.",
      waves: "The tip is (cos, sin), so hands turn counterclockwise. The code stores (sin, cos).",
    },
    cos: "cos",
    sin: "sin",
    wavelength: { binary: "period", waves: "wavelength" },
    inverseFrequency: "turn per position",
    turn: "turn for Δ",
    reading: "sin, cos at m",
    bit: "bit at m",
    tokens: "{value} tokens",
    radians: "{value} rad",
    radiansDegrees: "{value} rad ({degrees}°)",
    axisX: "offset Δ",
    axisY: "dot product of m and m + Δ",
    band: "shaded: the same Δ elsewhere",
    noBand: "the same curve at every place",
    lesson:
      "At positions {m} and {other}: dot product <b>{inner}</b> of {most}. The same {steps} anywhere: <b>{inner}</b>.",
    lessonWalk:
      "Both rows move on and every hand turns. They stay {steps} apart, and the dot product stays <b>{inner}</b>.",
    lessonSelf: "A position with itself: <b>{inner}</b> of {most}. Each pair adds sin² + cos² = 1.",
    lessonBits:
      "From {m} to {other}, {flipped} of {most} bits flip: dot product <b>{inner}</b> of {most}. The same {steps} elsewhere: anything from <b>{low}</b> to <b>{high}</b>.",
    lessonBitsAlike:
      "From {m} to {other}, {flipped} of {most} bits flip: dot product <b>{inner}</b> of {most}. For this offset it is the same everywhere.",
    step: "step",
    steps: "steps",
    back: "back",
    walk: "walk on",
    fastest: "fastest hand",
    slowest: "slowest hand",
    inner: "dot product",
    most: "at most",
    elsewhere: "same Δ, all places",
    other: "m + Δ",
  },
};

const PLACES = 128;
const REACH = 64;
const BITS = 7;
const WALK = 24;
const PACE = 6;
const GUTTER = 36;
const TOP = 24;
const MAP_HEIGHT = 2 * PLACES;
const BAR_TOP = TOP + MAP_HEIGHT + 8;
const BAR_ROW = 52;
const BAR_HEIGHT = 30;

// rad per token, fastest first; the counter's bits have the hands of its waves.
export function codeFrequencies({ code, modelDim, base }) {
  if (code === "transformer") return inverseFrequencies(modelDim, base);
  return Array.from({ length: BITS }, (_, i) => TAU / 2 ** (i + 1));
}

// One row of the heat map: bits as -1 and +1, or (sin, cos) side by side.
export function codeOf(position, binary, inverse) {
  if (binary) return inverse.map((_, i) => 2 * ((Math.floor(position) >> i) & 1) - 1);
  return inverse.flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);
}

// What each pair (each bit) adds to the dot product.
export function pairProducts(a, b, width) {
  return Array.from({ length: a.length / width }, (_, i) => {
    let sum = 0;
    for (let j = width * i; j < width * (i + 1); j += 1) sum += a[j] * b[j];
    return sum;
  });
}

export function innerProduct(a, b) {
  let sum = 0;
  for (let j = 0; j < a.length; j += 1) sum += a[j] * b[j];
  return sum;
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

// From where it stands if both rows have room, or else from the top of the map.
export function walkFrom(position, offset) {
  const roomy = Math.min(position, position + offset) >= 0;
  const fits = Math.max(position, position + offset) + WALK < PLACES;
  return roomy && fits ? position : Math.max(0, -offset);
}

// Labels of two hands that point almost alike stand apart.
export function labelAngles(from, to) {
  if (from === to) return [from, to];
  const gap = Math.atan2(Math.sin(to - from), Math.cos(to - from));
  const push = Math.max(0, 0.62 - Math.abs(gap)) / 2;
  const way = gap < 0 ? -1 : 1;
  return [from - way * push, to + way * push];
}

export function signedQuantity(value) {
  return (value < 0 ? "−" : "") + formatQuantity(Math.abs(value));
}

// Red, green, blue of "#rrggbb".
export function channels(color) {
  return [1, 3, 5].map((i) => parseInt(color.trim().slice(i, i + 2), 16));
}

// On a dark page both ends are light: one is dimmed, so that they differ in more than hue.
export function deepened(color, around) {
  const share = Math.max(...around) < 128 ? 0.72 : 1;
  return color.map((channel, i) => Math.round(around[i] + share * (channel - around[i])));
}

// From `negative` at -1 over `middle` at 0 to `positive` at 1.
export function blend(value, negative, middle, positive) {
  const end = value < 0 ? negative : positive;
  return middle.map((channel, i) => Math.round(channel + Math.abs(value) * (end[i] - channel)));
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const one = (position) => tokens(shape.binary ? Math.floor(position) : position);
  // Everything that changes with the code alone.
  let shape = {};
  // While a walk runs, the position lies between those of the model.
  let moving = null;
  let painted = "";

  const canvas = html("canvas", { class: "rope-sinusoid-canvas", "aria-hidden": "true" });
  const map = svg("svg", { role: "img", "aria-label": words.map });
  const height = BAR_TOP + 3 * BAR_ROW - 4;
  const pairLines = svg("path", { class: "rope-sinusoid-gaps" }, map);
  const edge = svg("path", { class: "rope-axis" }, map);
  const zeros = svg("path", { class: "rope-axis" }, map);
  const ticks = [0, 32, 64, 96, 127].map((at) => {
    const node = svg("text", { x: GUTTER - 7, y: TOP + 2 * at + 5, "text-anchor": "end" }, map);
    node.textContent = at;
    return { at, node };
  });
  const heads = [words.here, words.there].map((text, i) => {
    const node = svg("text", { class: "rope-sinusoid-row-label", y: 14, "text-anchor": i ? "end" : "start" }, map);
    node.textContent = text;
    return node;
  });
  const bars = ["positive", "negative", "score"].map((tone) => svg("path", { class: `rope-sinusoid-${tone}` }, map));
  const captions = [0, 1, 2].map((i) =>
    svg("text", { y: BAR_TOP + i * BAR_ROW + 12, class: i === 2 ? "rope-tone-score" : "" }, map),
  );
  const column = svg("g", {}, map);
  const columnFrames = ["rope-sinusoid-halo", "rope-sinusoid-frame"].map((name) =>
    svg("path", { class: name }, column),
  );
  const columnLabel = svg("text", { class: "rope-sinusoid-strong", y: 14, "text-anchor": "middle" }, map);
  const rows = [0, 1].map((i) => ({
    halo: svg("rect", { class: "rope-sinusoid-halo", height: 5, rx: 2 }, map),
    frame: svg("rect", { class: "rope-sinusoid-frame", height: 5, rx: 2 }, map),
    label: svg("text", { class: "rope-sinusoid-row-label", "text-anchor": i ? "start" : "end" }, map),
  }));

  const clock = svg("svg", { viewBox: "0 0 150 150", role: "img", "aria-label": words.clock });
  const [cx, radius] = [75, 50];
  svg("circle", { class: "rope-dial-back", cx, cy: cx, r: radius }, clock);
  const upper = svg("path", { class: "rope-sinusoid-negative", opacity: 0.4 }, clock);
  const lower = svg("path", { class: "rope-sinusoid-positive", opacity: 0.4 }, clock);
  upper.setAttribute("d", sectorPath(cx, cx, radius, 0, TAU / 2));
  lower.setAttribute("d", sectorPath(cx, cx, radius, -TAU / 2, 0));
  svg("path", { class: "rope-axis", d: "M19 75H131M75 19V131" }, clock);
  svg("circle", { class: "rope-circle", cx, cy: cx, r: radius }, clock);
  const axisNames = [words.cos, words.sin].map((text, i) => {
    const node = svg("text", { x: i ? 71 : 150, y: i ? 15 : 89, "text-anchor": "end" }, clock);
    node.textContent = text;
    return { node, angle: i ? 1.75 : -0.2 };
  });
  const halves = ["−1", "+1"].map((text, i) => {
    const node = svg("text", { class: "rope-sinusoid-strong", x: 15, y: i ? 131 : 29, "text-anchor": "middle" }, clock);
    node.textContent = text;
    return node;
  });
  const wedge = svg("path", { class: "rope-between" }, clock);
  const arc = svg("path", { class: "rope-turn rope-sinusoid-arc" }, clock);
  const arcHead = svg("path", { class: "rope-turn-head rope-sinusoid-arc" }, clock);
  const hands = [1, 0].map((i) => ({
    line: svg("path", { class: `rope-hand rope-sinusoid-hand-${i}` }, clock),
    tip: svg("circle", { class: `rope-sinusoid-tip-${i}`, r: 4.5 }, clock),
    label: svg("text", { class: "rope-sinusoid-row-label", "text-anchor": "middle" }, clock),
  }));
  hands.reverse();
  svg("circle", { class: "rope-hub", cx, cy: cx, r: 3 }, clock);

  const curve = svg("svg", { role: "img", "aria-label": words.curve });
  const curveGrid = svg("path", { class: "rope-grid" }, curve);
  const band = svg("path", { class: "rope-sinusoid-band" }, curve);
  const curveAxis = svg("path", { class: "rope-axis" }, curve);
  const curveLine = svg("path", { class: "rope-curve rope-sinusoid-curve" }, curve);
  const stem = svg("path", { class: "rope-stem" }, curve);
  const now = svg("circle", { class: "rope-now", r: 7 }, curve);
  const nowLabel = svg("text", { class: "rope-now-label" }, curve);
  const levels = [0, 1, 2].map(() => svg("text", { "text-anchor": "end" }, curve));
  const offsets = [-64, -32, 0, 32, 64].map((at) => {
    const node = svg("text", { "text-anchor": "middle" }, curve);
    node.textContent = formatNumber(at, 0);
    return { at, node };
  });
  const titleX = svg("text", { class: "rope-axis-title" }, curve);
  titleX.textContent = words.axisX;
  const titleY = svg("text", { class: "rope-axis-title rope-tone-score", x: 0, y: 13 }, curve);
  titleY.textContent = words.axisY;
  const bandNote = svg("text", { "text-anchor": "end" }, curve);

  const settle = () => {
    const at = moving;
    moving = null;
    if (at !== null) commit(model, { position: Math.round(at) });
    schedule();
  };
  const animation = animator(settle);
  const setBy = (changes) => {
    animation.stop();
    commit(model, changes);
    schedule();
  };
  const visit = (code) => {
    const { length } = codeFrequencies({ code, modelDim: model.get("model_dim"), base: 1 });
    setBy({ code, pair: Math.min(model.get("pair"), length - 1) });
  };
  const walk = () => {
    if (animation.running()) return animation.stop();
    const from = walkFrom(model.get("position"), model.get("offset"));
    if (prefersReducedMotion()) return commit(model, { position: from + WALK });
    animation.start((seconds) => {
      moving = from + Math.min(WALK, PACE * seconds);
      schedule();
      return PACE * seconds < WALK;
    });
  };

  const controls = {
    position: slider({
      name: "position",
      label: words.position,
      tone: "position",
      min: 0,
      max: PLACES - 1,
      format: tokens,
      onInput: (position) => setBy({ position }),
    }),
    offset: slider({
      name: "offset",
      label: words.offset,
      tone: "position",
      min: -REACH,
      max: REACH,
      format: tokens,
      onInput: (offset) => setBy({ offset }),
    }),
    pair: slider({
      name: "pair",
      label: words.pair.waves,
      tone: "angle",
      min: 0,
      max: 15,
      format: (pair) => String(pair),
      onInput: (pair) => setBy({ pair }),
    }),
  };
  const codeButtons = Object.keys(words.codes).map((code) => ({
    code,
    ...button({ name: `code_${code}`, label: words.codes[code], onClick: () => visit(code) }),
  }));
  const walkButton = button({ name: "walk_on", label: words.walk, onClick: walk });
  const fastest = button({ name: "fastest_hand", label: words.fastest, onClick: () => setBy({ pair: 0 }) });
  const slowest = button({
    name: "slowest_hand",
    label: words.slowest,
    onClick: () => setBy({ pair: shape.inverse.length - 1 }),
  });
  const reports = {
    inner: report("inner", "rope-tone-score"),
    most: report("inner_max"),
    low: report("elsewhere_low", "rope-tone-score"),
    high: report("elsewhere_high", "rope-tone-score"),
    other: report("other", "rope-tone-position"),
    wavelength: report("wavelength"),
    inverseFrequency: report("inv_freq"),
    turn: report("turn", "rope-tone-angle"),
    sin: report("sin"),
    cos: report("cos"),
    bit: report("bit"),
  };
  const heading = html("p", { class: "rope-heading" });
  const dots = html("span", {}, reports.sin.node, ", ", reports.cos.node);
  const reading = readout(words.reading, dots, reports.bit.node);
  const wavelength = readout(words.wavelength.waves, reports.wavelength.node);
  const facts = html(
    "div",
    { class: "rope-facts" },
    heading,
    wavelength,
    readout(words.inverseFrequency, reports.inverseFrequency.node),
    readout(words.turn, reports.turn.node),
    reading,
  );
  const note = html("p", { class: "rope-sinusoid-note" });
  const dialNote = html("p", { class: "rope-sinusoid-dial-note" });
  const scale = html(
    "p",
    { class: "rope-sinusoid-scale" },
    html("span", {}, "−1"),
    html("span", { class: "rope-sinusoid-swatch" }),
    html("span", {}, "+1"),
  );
  const mapBox = html("div", { class: "rope-sinusoid-map" }, canvas, map);
  const curveBox = html("div", {}, curve);
  const lesson = html("p");
  const frame = html(
    "div",
    { class: "rope-frame rope-sinusoid" },
    html("div", { class: "rope-row rope-row-first" }, ...codeButtons.map((b) => b.node)),
    html("div", { class: "rope-sinusoid-legend" }, note, scale),
    html("div", { class: "rope-sinusoid-main" }, mapBox),
    html("div", { class: "rope-row rope-sinusoid-stops" }, walkButton.node, fastest.node, slowest.node),
    html("div", { class: "rope-controls" }, controls.position.node, controls.offset.node, controls.pair.node),
    html(
      "div",
      { class: "rope-sinusoid-side" },
      html("div", { class: "rope-sinusoid-clock" }, clock, facts, dialNote),
      curveBox,
    ),
    html("div", { class: "rope-lesson" }, lesson),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.inner, reports.inner.node),
      readout(words.most, reports.most.node),
      readout(words.elsewhere, reports.low.node, " … ", reports.high.node),
      readout(words.other, reports.other.node),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  function reshape() {
    const settings = { code: model.get("code"), modelDim: model.get("model_dim"), base: model.get("base") };
    const key = JSON.stringify(settings);
    if (shape.key === key) return;
    const binary = settings.code === "binary";
    const inverse = codeFrequencies(settings);
    const table = Array.from({ length: PLACES + 2 * REACH }, (_, i) => codeOf(i - REACH, binary, inverse));
    const range = innerRange(table);
    shape = { key, binary, inverse, table, range, code: settings.code, width: binary ? 1 : 2 };
    shape.digits = binary ? 0 : 2;
    shape.kind = binary ? "binary" : "waves";
    shape.low = Math.min(0, Math.floor(Math.min(...range.low) + 1e-9));
    const apart = range.high.map((high, i) => high - range.low[i]);
    shape.alike = Math.max(...apart) < 1e-6;
  }

  // One pixel per number: the browser enlarges it without smoothing, at any resolution.
  function paint(colors) {
    const key = JSON.stringify([shape.key, colors]);
    if (painted === key) return;
    painted = key;
    const count = shape.inverse.length * shape.width;
    canvas.width = count;
    canvas.height = PLACES;
    const [negative, middle, end] = colors.map(channels);
    const positive = deepened(end, middle);
    frame.style.setProperty("--positive", `rgb(${positive})`);
    const context = canvas.getContext("2d");
    const image = context.createImageData(count, PLACES);
    for (let m = 0; m < PLACES; m += 1) {
      for (let j = 0; j < count; j += 1) {
        const color = blend(shape.table[m + REACH][j], negative, middle, positive);
        image.data.set([...color, 255], 4 * (m * count + j));
      }
    }
    context.putImageData(image, 0, 0);
  }

  function drawMap(state, width) {
    const { position, other, pair } = state;
    const across = width - 2 * GUTTER;
    const count = shape.inverse.length;
    const step = across / count;
    const bottom = TOP + MAP_HEIGHT;
    const right = width - GUTTER;
    setAttributes(map, { viewBox: `0 0 ${width} ${height}`, height });
    setAttributes(canvas, { style: `left: ${GUTTER}px; top: ${TOP}px; width: ${across}px; height: ${MAP_HEIGHT}px` });
    let gaps = "";
    for (let i = 1; i < count; i += 1) gaps += `M${(GUTTER + i * step).toFixed(2)} ${TOP}V${bottom}`;
    setAttributes(pairLines, { d: gaps });
    setAttributes(edge, { d: `M${GUTTER} ${TOP}H${right}V${bottom}H${GUTTER}Z` });
    const middle = (row) => BAR_TOP + row * BAR_ROW + 17 + BAR_HEIGHT / 2;
    setAttributes(zeros, { d: [0, 1, 2].map((row) => `M${GUTTER} ${middle(row)}H${right}`).join("") });
    setAttributes(heads[0], { x: 0 });
    setAttributes(heads[1], { x: width });

    const up = ["", "", ""];
    const draw = (values, row, tone) => {
      const each = across / values.length;
      const gap = Math.min(1.5, 0.2 * each);
      values.forEach((value, j) => {
        const x = (GUTTER + j * each + gap / 2).toFixed(2);
        const wide = (each - gap).toFixed(2);
        const tall = ((-value * BAR_HEIGHT) / 2).toFixed(2);
        const path = `M${x} ${middle(row)}h${wide}v${tall}h-${wide}Z`;
        up[tone ?? (value < 0 ? 1 : 0)] += path;
      });
    };
    draw(state.here, 0);
    draw(state.there, 1);
    draw(state.products, 2, 2);
    bars.forEach((node, i) => setAttributes(node, { d: up[i] }));
    [
      fill(words.rowCode, { position: one(position) }),
      fill(words.rowCode, { position: one(other) }),
      fill(words.products[shape.kind], { inner: formatNumber(state.inner, shape.digits) }),
    ].forEach((text, i) => {
      setText(captions[i], text);
      setAttributes(captions[i], { x: GUTTER });
    });

    const x = GUTTER + pair * step;
    const frames = [[TOP, MAP_HEIGHT], ...[0, 1, 2].map((row) => [middle(row) - BAR_HEIGHT / 2 - 1, BAR_HEIGHT + 2])];
    const d = frames.map(([y, h]) => `M${x.toFixed(2)} ${y}h${step.toFixed(2)}v${h}h${(-step).toFixed(2)}Z`).join("");
    for (const node of columnFrames) setAttributes(node, { d });
    setText(columnLabel, fill(words.pairTitle[shape.kind], { pair }));
    setAttributes(columnLabel, { x: clamp(x + step / 2, GUTTER + 24, right - 30) });

    [position, other].forEach((at, i) => {
      const { halo, frame: box, label } = rows[i];
      const row = shape.binary ? Math.floor(at) : at;
      const seen = row >= 0 && row <= PLACES - 1;
      const y = TOP + 2 * clamp(row, 0, PLACES - 1) - 1.5;
      const hidden = { visibility: seen ? "visible" : "hidden" };
      for (const node of [halo, box]) setAttributes(node, { x: GUTTER - 1, width: across + 2, y, ...hidden });
      setText(label, `${seen ? "" : row < 0 ? "↑" : "↓"}${formatNumber(Math.floor(row), 0)}`);
      setAttributes(label, { x: i ? right + 6 : GUTTER - 6, y: y + 6.5 });
      if (!i) for (const tick of ticks) setAttributes(tick.node, { opacity: Math.abs(tick.at - row) < 8 ? 0 : 1 });
    });
  }

  function drawClock({ position, other, pair, offset }) {
    const frequency = shape.inverse[pair];
    const at = [position, other].map((place) => (shape.binary ? Math.floor(place) : place) * frequency);
    const turned = offset * frequency;
    const [labels, shown] = [labelAngles(at[0], at[0] + turned), [true, offset !== 0]];
    const place = (angle, reach) => [cx + reach * Math.cos(angle), cx - reach * Math.sin(angle)];
    hands.forEach(({ line, tip, label }, i) => {
      const [x, y] = place(at[i], radius);
      setAttributes(line, { d: polylinePath([[cx, cx], place(at[i], radius - 4)]) });
      setAttributes(tip, { cx: x.toFixed(2), cy: y.toFixed(2) });
      const [lx, ly] = place(labels[i], radius + 14);
      setText(label, formatNumber(Math.floor(i ? other : position), 0));
      setAttributes(label, { x: lx.toFixed(2), y: (ly + 4.5).toFixed(2), visibility: shown[i] ? "visible" : "hidden" });
    });
    setAttributes(wedge, {
      d: turned && !shape.binary ? sectorPath(cx, cx, 22, at[0], at[0] + clamp(turned, -TAU, TAU)) : "",
    });
    const many = Math.abs(turned) > 2 * TAU;
    const growth = Math.min(5, 16 / Math.max(1, Math.abs(turned) / TAU));
    const points = spiralPoints(cx, cx, 26, at[0], at[0] + turned, growth);
    const drawn = Math.abs(turned) * 26 > 9;
    arc.classList.toggle("rope-turn-many", many);
    setAttributes(arc, { d: drawn ? polylinePath(points.slice(0, -1)) : "" });
    setAttributes(arcHead, { d: drawn ? arcHeadPath(points) : "" });
    for (const node of [upper, lower, ...halves]) {
      setAttributes(node, { visibility: shape.binary ? "visible" : "hidden" });
    }
    axisNames.forEach(({ node, angle }) => {
      const crowded = labels.some((label, i) => shown[i] && Math.cos(label - angle) > 0.86);
      setAttributes(node, { visibility: shape.binary || crowded ? "hidden" : "visible" });
    });
  }

  function drawCurve(state, { width, height: tall }) {
    const [left, right, top, bottom] = [30, width - 14, 28, tall - 36];
    const toX = linearScale(-REACH, REACH, left, right);
    const toY = linearScale(shape.low, state.most, bottom, top);
    setAttributes(curve, { viewBox: `0 0 ${width} ${tall}`, height: tall });
    setAttributes(curveGrid, {
      d: `${offsets.map(({ at }) => `M${toX(at)} ${top}V${bottom}`).join("")}M${left} ${top}H${right}`,
    });
    setAttributes(curveAxis, { d: `M${left} ${toY(0)}H${right}` });
    const { low, high } = shape.range;
    const points = (values) => values.map((value, i) => [toX(i - REACH), toY(value)]);
    setAttributes(band, { d: shape.alike ? "" : `${polylinePath([...points(high), ...points(low).reverse()])}Z` });
    setAttributes(curveLine, { d: polylinePath(points(state.curve)) });
    const [x, y] = [toX(state.offset), toY(state.inner)];
    setAttributes(stem, { d: `M${x} ${toY(0)}V${y.toFixed(2)}` });
    setAttributes(now, { cx: x, cy: y.toFixed(2) });
    setText(nowLabel, formatNumber(state.inner, shape.digits));
    const leftward = x > width - 74;
    setAttributes(nowLabel, {
      x: x + (leftward ? -12 : 12),
      y: clamp(y - 8, top + 8, bottom).toFixed(2),
      "text-anchor": leftward ? "end" : "start",
    });
    for (const { at, node } of offsets) setAttributes(node, { x: toX(at), y: bottom + 16 });
    [state.most, 0, shape.low].forEach((level, i) => {
      setText(levels[i], i === 2 && level === 0 ? "" : formatNumber(level, 0));
      setAttributes(levels[i], { x: left - 6, y: toY(level) + 4 });
    });
    setAttributes(titleX, { x: left - 10, y: tall - 2 });
    setText(bandNote, shape.alike ? words.noBand : words.band);
    setAttributes(bandNote, { x: right + 10, y: tall - 2 });
  }

  function lessonFor(state) {
    const { offset, inner, most, low, high, position, other } = state;
    const count = Math.abs(offset);
    const steps = `${count} ${count === 1 ? words.step : words.steps}${offset < 0 && moving === null ? ` ${words.back}` : ""}`;
    const { binary: whole, digits } = shape;
    const alike = high - low < 1e-6;
    let sentence = moving === null ? words.lesson : words.lessonWalk;
    if (whole) sentence = alike ? words.lessonBitsAlike : words.lessonBits;
    else if (offset === 0) sentence = words.lessonSelf;
    return fill(sentence, {
      m: one(position),
      other: one(other),
      inner: formatNumber(inner, digits),
      low: formatNumber(low, digits),
      high: formatNumber(high, digits),
      flipped: (most - inner) / 2,
      most,
      steps,
    });
  }

  function update() {
    // Read before anything is written, so that the browser lays the page out once a frame.
    const narrow = root.clientWidth < 600;
    const mapWidth = clamp(mapBox.clientWidth || 400, 200, 520);
    const curveWidth = clamp(curveBox.clientWidth || 340, 200, 460);
    const style = getComputedStyle(root);
    const colors = ["angle", "panel", "position-text"].map((name) => style.getPropertyValue(`--rope-${name}`));
    reshape();
    paint(colors);

    const position = moving ?? model.get("position");
    const offset = model.get("offset");
    const pair = Math.min(model.get("pair"), shape.inverse.length - 1);
    const row = (place) => {
      const stored = Number.isInteger(place) ? shape.table[place + REACH] : undefined;
      return stored ?? codeOf(place, shape.binary, shape.inverse);
    };
    const other = position + offset;
    const [here, there] = [row(position), row(other)];
    const state = {
      position,
      offset,
      other,
      pair,
      here,
      there,
      products: pairProducts(here, there, shape.width),
      inner: innerProduct(here, there),
      most: shape.inverse.length,
      low: shape.range.low[offset + REACH],
      high: shape.range.high[offset + REACH],
      curve: Array.from({ length: 2 * REACH + 1 }, (_, i) => innerProduct(here, row(position + i - REACH))),
    };
    drawMap(state, mapWidth);
    drawClock(state);
    drawCurve(state, { width: curveWidth, height: narrow ? 210 : 234 });

    controls.position.update(position);
    controls.offset.update(offset);
    controls.pair.update(pair, shape.inverse.length - 1);
    controls.pair.rename(words.pair[shape.kind]);
    for (const { code, update: press } of codeButtons) press(code === shape.code);
    walkButton.update(animation.running());
    fastest.update(pair === 0);
    slowest.update(pair === shape.inverse.length - 1);

    const { digits } = shape;
    const frequency = shape.inverse[pair];
    const turned = offset * frequency;
    const inTokens = (value) => fill(words.tokens, { value: formatQuantity(value) });
    setText(heading, fill(words.pairTitle[shape.kind], { pair }));
    setText(wavelength.firstChild, words.wavelength[shape.kind]);
    setText(reading.firstChild, shape.binary ? words.bit : words.reading);
    dots.hidden = shape.binary;
    reports.bit.node.hidden = !shape.binary;
    reports.inner.update(state.inner, formatNumber(state.inner, digits));
    reports.most.update(state.most, String(state.most));
    reports.low.update(state.low, formatNumber(state.low, digits));
    reports.high.update(state.high, formatNumber(state.high, digits));
    reports.other.update(other, tokens(other));
    reports.wavelength.update(TAU / frequency, inTokens(TAU / frequency));
    reports.inverseFrequency.update(frequency, fill(words.radians, { value: formatQuantity(frequency) }));
    const inDegrees = degrees(turned);
    reports.turn.update(
      turned,
      fill(words.radiansDegrees, {
        value: signedQuantity(turned),
        degrees: formatNumber(inDegrees, Math.abs(inDegrees) < 10 ? 1 : 0),
      }),
    );
    const [sin, cos, bit] = shape.binary ? [NaN, NaN, here[pair]] : [here[2 * pair], here[2 * pair + 1], NaN];
    reports.sin.update(sin, formatNumber(sin));
    reports.cos.update(cos, formatNumber(cos));
    reports.bit.update(bit, formatNumber(bit, 0));
    setText(note, words.columns[shape.kind]);
    setText(dialNote, words.dial[shape.kind]);
    const sentence = lessonFor(state);
    if (lesson.dataset.said !== sentence) {
      lesson.dataset.said = sentence;
      lesson.innerHTML = sentence;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const traits = ["code", "position", "offset", "pair", "model_dim", "base"];
  const unwatch = watch(model, traits, root, schedule);
  // A canvas knows nothing of style sheets: it is painted again when the page turns dark.
  const theme = new MutationObserver(schedule);
  for (const node of [document.documentElement, document.body]) {
    theme.observe(node, { attributeFilter: ["class", "data-theme", "data-jp-theme-light"] });
  }
  update();
  return () => {
    animation.cancel();
    theme.disconnect();
    unwatch();
    summary.stop();
  };
}

export default { render };
