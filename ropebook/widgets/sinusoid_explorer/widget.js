import { readout } from "../kit/controls.js";
import { div, html, setAttributes, setText, svg, svgText, whenChanged, widthOf } from "../kit/dom.js";
import { TAU, clamp, degrees } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale, nowMarker } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, tokens } from "../kit/text.js";
import { OFFSETS, PLACES, REACH, codeFrequencies, curveOf, innerProduct, pairProducts, shapeOf } from "./codes.js";

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

const WALK = 24;
const PACE = 6;
const GUTTER = 36;
const TOP = 24;
const MAP_HEIGHT = 2 * PLACES;
const BAR_TOP = TOP + MAP_HEIGHT + 8;
const BAR_ROW = 52;
const BAR_HEIGHT = 30;

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

// The map with the rows of m and m + Δ, and below it both codes as bars and their products.
function mapPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.map });
  const canvas = html("canvas", { class: "rope-sinusoid-canvas", "aria-hidden": "true" });
  const path = (className) => svg("path", { class: className }, picture);
  const text = (className, anchor, content) => svgText(picture, className, anchor, content);
  const [gaps, edge, zeros] = ["rope-sinusoid-gaps", "rope-axis", "rope-axis"].map(path);
  const ticks = [0, 32, 64, 96, 127].map((at) => {
    const place = { x: GUTTER - 7, y: TOP + 2 * at + 5 };
    return { at, node: setAttributes(text("", "end", String(at)), place) };
  });
  const heads = [words.here, words.there].map((name, i) => text("rope-sinusoid-row-label", i ? "end" : "start", name));
  const bars = ["positive", "negative", "score"].map((tone) => path(`rope-sinusoid-${tone}`));
  const captions = ["", "", "rope-tone-score"].map((name, i) =>
    setAttributes(text(name, "start"), { x: GUTTER, y: BAR_TOP + i * BAR_ROW + 12 }),
  );
  const columnFrames = ["halo", "frame"].map((name) => path(`rope-sinusoid-${name}`));
  const columnLabel = text("rope-sinusoid-strong", "middle");
  const rows = ["end", "start"].map((anchor) => ({
    frames: ["halo", "frame"].map((name) =>
      svg("rect", { class: `rope-sinusoid-${name}`, height: 5, rx: 2, x: GUTTER - 1 }, picture),
    ),
    label: text("rope-sinusoid-row-label", anchor),
  }));
  const middle = (row) => BAR_TOP + row * BAR_ROW + 17 + BAR_HEIGHT / 2;
  const ROWS = [0, 1, 2];

  const drawGround = whenChanged((width, count) => {
    const [across, right, bottom] = [width - 2 * GUTTER, width - GUTTER, TOP + MAP_HEIGHT];
    const height = BAR_TOP + 3 * BAR_ROW - 4;
    const between = Array.from({ length: count - 1 }, (_, i) => (GUTTER + ((i + 1) * across) / count).toFixed(2));
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    setAttributes(canvas, { style: `left: ${GUTTER}px; top: ${TOP}px; width: ${across}px; height: ${MAP_HEIGHT}px` });
    setAttributes(gaps, { d: between.map((x) => `M${x} ${TOP}V${bottom}`).join("") });
    setAttributes(edge, { d: `M${GUTTER} ${TOP}H${right}V${bottom}H${GUTTER}Z` });
    setAttributes(zeros, { d: ROWS.map((row) => `M${GUTTER} ${middle(row)}H${right}`).join("") });
    heads.forEach((head, i) => setAttributes(head, { x: i * width, y: 14 }));
  });

  function drawBars({ shape, here, there, products, inner, position, other }, across) {
    const paths = ["", "", ""];
    [here, there, products].forEach((values, row) => {
      const each = across / values.length;
      const gap = Math.min(1.5, 0.2 * each);
      const wide = (each - gap).toFixed(2);
      values.forEach((value, j) => {
        const x = (GUTTER + j * each + gap / 2).toFixed(2);
        const tall = ((-value * BAR_HEIGHT) / 2).toFixed(2);
        paths[row === 2 ? 2 : value < 0 ? 1 : 0] += `M${x} ${middle(row)}h${wide}v${tall}h-${wide}Z`;
      });
    });
    bars.forEach((node, i) => setAttributes(node, { d: paths[i] }));
    [position, other].forEach((m, i) => setText(captions[i], fill(words.rowCode, { position: placeOf(shape, m) })));
    setText(captions[2], fill(words.products[shape.kind], { inner: formatNumber(inner, shape.digits) }));
  }

  function drawColumn({ shape, pair }, step, right) {
    const x = GUTTER + pair * step;
    const frames = [[TOP, MAP_HEIGHT], ...ROWS.map((row) => [middle(row) - BAR_HEIGHT / 2 - 1, BAR_HEIGHT + 2])];
    const d = frames.map(([y, h]) => `M${x.toFixed(2)} ${y}h${step.toFixed(2)}v${h}h${(-step).toFixed(2)}Z`).join("");
    for (const node of columnFrames) setAttributes(node, { d });
    setText(columnLabel, fill(words.pairTitle[shape.kind], { pair }));
    setAttributes(columnLabel, { x: clamp(x + step / 2, GUTTER + 24, right - 30), y: 14 });
  }

  function drawRow({ frames, label }, place, side, right) {
    const seen = place >= 0 && place <= PLACES - 1;
    const y = TOP + 2 * clamp(place, 0, PLACES - 1) - 1.5;
    const visibility = seen ? "visible" : "hidden";
    for (const node of frames) setAttributes(node, { width: right - GUTTER + 2, y, visibility });
    setText(label, `${seen ? "" : place < 0 ? "↑" : "↓"}${formatNumber(Math.floor(place), 0)}`);
    setAttributes(label, { x: side ? right + 6 : GUTTER - 6, y: y + 6.5 });
  }

  function draw(state, width) {
    const [across, right] = [width - 2 * GUTTER, width - GUTTER];
    const places = [state.position, state.other].map((at) => (state.shape.binary ? Math.floor(at) : at));
    drawGround(width, state.shape.most);
    drawBars(state, across);
    drawColumn(state, across / state.shape.most, right);
    places.forEach((place, i) => drawRow(rows[i], place, i, right));
    for (const { at, node } of ticks) setAttributes(node, { opacity: Math.abs(at - places[0]) < 8 ? 0 : 1 });
  }

  // One pixel per number: the browser enlarges it without smoothing, at any resolution.
  const paint = whenChanged((shape, [negative, middleColor, positive]) => {
    const count = shape.most * shape.width;
    Object.assign(canvas, { width: count, height: PLACES });
    const context = canvas.getContext("2d");
    const image = context.createImageData(count, PLACES);
    for (let m = 0; m < PLACES; m += 1) {
      shape.table[m + REACH].forEach((value, j) => {
        image.data.set([...blend(value, negative, middleColor, positive), 255], 4 * (m * count + j));
      });
    }
    context.putImageData(image, 0, 0);
  });
  return { node: div("rope-sinusoid-map", canvas, picture), draw, paint };
}

const CENTER = 75;
const RADIUS = 50;

// The chosen hand at both places, and the turn between them.
function clockPicture(words) {
  const picture = svg("svg", { viewBox: "0 0 150 150", role: "img", "aria-label": words.clock });
  const at = { cx: CENTER, cy: CENTER };
  const path = (className, d = "", fade = {}) => svg("path", { class: className, d, ...fade }, picture);
  const text = (className, anchor, content, x = 0, y = 0) =>
    setAttributes(svgText(picture, className, anchor, content), { x, y });
  svg("circle", { class: "rope-dial-back", ...at, r: RADIUS }, picture);
  const half = (tone, from, to) =>
    path(`rope-sinusoid-${tone}`, sectorPath(CENTER, CENTER, RADIUS, from, to), { opacity: 0.4 });
  const halves = [half("negative", 0, TAU / 2), half("positive", -TAU / 2, 0)];
  path("rope-axis", "M19 75H131M75 19V131");
  svg("circle", { class: "rope-circle", ...at, r: RADIUS }, picture);
  const axisNames = [
    { node: text("", "end", words.cos, 150, 89), angle: -0.2 },
    { node: text("", "end", words.sin, 71, 15), angle: 1.75 },
  ];
  const signs = ["−1", "+1"].map((sign, i) => text("rope-sinusoid-strong", "middle", sign, 15, i ? 131 : 29));
  const wedge = path("rope-between");
  const [arc, arcHead] = [path("rope-turn rope-sinusoid-arc"), path("rope-turn-head rope-sinusoid-arc")];
  const hands = [1, 0].map((i) => ({
    line: path(`rope-hand rope-sinusoid-hand-${i}`),
    tip: svg("circle", { class: `rope-sinusoid-tip-${i}`, r: 4.5 }, picture),
    label: text("rope-sinusoid-row-label", "middle"),
  }));
  hands.reverse();
  svg("circle", { class: "rope-hub", ...at, r: 3 }, picture);
  const place = (angle, reach) => [CENTER + reach * Math.cos(angle), CENTER - reach * Math.sin(angle)];

  function drawTurn(binary, from, turned) {
    const within = turned && !binary ? sectorPath(CENTER, CENTER, 22, from, from + clamp(turned, -TAU, TAU)) : "";
    setAttributes(wedge, { d: within });
    const growth = Math.min(5, 16 / Math.max(1, Math.abs(turned) / TAU));
    const points = spiralPoints(CENTER, CENTER, 26, from, from + turned, growth);
    const drawn = Math.abs(turned) * 26 > 9;
    arc.classList.toggle("rope-turn-many", Math.abs(turned) > 2 * TAU);
    setAttributes(arc, { d: drawn ? polylinePath(points.slice(0, -1)) : "" });
    setAttributes(arcHead, { d: drawn ? arcHeadPath(points) : "" });
  }

  function draw({ shape: { binary, inverse }, position, other, pair, offset, turn }) {
    const places = [position, other];
    const angles = places.map((m) => (binary ? Math.floor(m) : m) * inverse[pair]);
    const [labels, shown] = [labelAngles(angles[0], angles[0] + turn), [true, offset !== 0]];
    const visible = (yes) => ({ visibility: yes ? "visible" : "hidden" });
    hands.forEach(({ line, tip, label }, i) => {
      const [[x, y], [labelX, labelY]] = [place(angles[i], RADIUS), place(labels[i], RADIUS + 14)];
      setAttributes(line, { d: polylinePath([[CENTER, CENTER], place(angles[i], RADIUS - 4)]) });
      setAttributes(tip, { cx: x.toFixed(2), cy: y.toFixed(2) });
      setText(label, formatNumber(Math.floor(places[i]), 0));
      setAttributes(label, { x: labelX.toFixed(2), y: (labelY + 4.5).toFixed(2), ...visible(shown[i]) });
    });
    drawTurn(binary, angles[0], turn);
    for (const node of [...halves, ...signs]) setAttributes(node, visible(binary));
    for (const { node, angle } of axisNames) {
      const crowded = labels.some((label, i) => shown[i] && Math.cos(label - angle) > 0.86);
      setAttributes(node, visible(!binary && !crowded));
    }
  }
  return { node: picture, draw };
}

// The dot product of m and m + Δ over Δ, and how far other places differ.
function curvePicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const path = (className) => svg("path", { class: className }, picture);
  const [grid, band, axis] = ["rope-grid", "rope-sinusoid-band", "rope-axis"].map(path);
  const [line, stem] = ["rope-curve rope-sinusoid-curve", "rope-stem"].map(path);
  const markNow = nowMarker(picture, { ringed: false });
  const levels = [0, 1, 2].map(() => svgText(picture, "", "end"));
  const ticks = [-64, -32, 0, 32, 64].map((at) => ({ at, node: svgText(picture, "", "middle", formatNumber(at, 0)) }));
  const titleX = svgText(picture, "rope-axis-title", "start", words.axisX);
  setAttributes(svgText(picture, "rope-axis-title rope-tone-score", "start", words.axisY), { x: 0, y: 13 });
  const note = svgText(picture, "", "end");
  const [left, top] = [30, 28];
  const scales = (width, height, { least, most }) => ({
    ...{ right: width - 14, bottom: height - 36 },
    toX: linearScale(-REACH, REACH, left, width - 14),
    toY: linearScale(least, most, height - 36, top),
  });

  const drawGround = whenChanged((width, height, shape) => {
    const { right, bottom, toX, toY } = scales(width, height, shape);
    const points = (values) => values.map((value, i) => [toX(OFFSETS[i]), toY(value)]);
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    setAttributes(grid, {
      d: `${ticks.map(({ at }) => `M${toX(at)} ${top}V${bottom}`).join("")}M${left} ${top}H${right}`,
    });
    setAttributes(axis, { d: `M${left} ${toY(0)}H${right}` });
    const around = [...points(shape.high), ...points(shape.low).reverse()];
    setAttributes(band, { d: shape.alike ? "" : `${polylinePath(around)}Z` });
    for (const { at, node } of ticks) setAttributes(node, { x: toX(at), y: bottom + 16 });
    [shape.most, 0, shape.least].forEach((level, i) => {
      setText(levels[i], i === 2 && level === 0 ? "" : formatNumber(level, 0));
      setAttributes(levels[i], { x: left - 6, y: toY(level) + 4 });
    });
    setAttributes(titleX, { x: left - 10, y: height - 2 });
    setText(note, shape.alike ? words.noBand : words.band);
    setAttributes(note, { x: right + 10, y: height - 2 });
  });

  function draw({ shape, curve, offset, inner }, { width, height }) {
    const { bottom, toX, toY } = scales(width, height, shape);
    drawGround(width, height, shape);
    setAttributes(line, { d: polylinePath(curve.map((value, i) => [toX(OFFSETS[i]), toY(value)])) });
    const [x, y] = [toX(offset), toY(inner)];
    setAttributes(stem, { d: `M${x} ${toY(0)}V${y.toFixed(2)}` });
    const text = formatNumber(inner, shape.digits);
    markNow({ x, y, text, width, reach: 74, low: top + 8, high: bottom, below: -8 });
  }
  return { node: picture, draw };
}

// A walk passes between places; a counter counts whole ones.
function placeOf({ binary }, place) {
  return tokens(binary ? Math.floor(place) : place);
}

function makeSentence(words, { shape, offset, inner, low, high, position, other }, walking) {
  const { binary, digits, most } = shape;
  const count = Math.abs(offset);
  const back = offset < 0 && !walking ? ` ${words.back}` : "";
  const waves = offset === 0 ? words.lessonSelf : walking ? words.lessonWalk : words.lesson;
  const bits = high - low < 1e-6 ? words.lessonBitsAlike : words.lessonBits;
  const [m, there] = [position, other].map((place) => placeOf(shape, place));
  const [product, least, greatest] = [inner, low, high].map((value) => formatNumber(value, digits));
  return fill(binary ? bits : waves, {
    ...{ m, other: there, inner: product, low: least, high: greatest, most },
    flipped: (most - inner) / 2,
    steps: `${count} ${count === 1 ? words.step : words.steps}${back}`,
  });
}

function makeButtons(words, buttons) {
  const last = (state) => codeFrequencies(state).length - 1;
  const visit = (code) => (state) => ({ code, pair: Math.min(state.pair, last({ ...state, code })) });
  const walk = ({ position, offset }) => {
    const from = walkFrom(position, offset);
    const at = (seconds) => ({ position: from + Math.min(WALK, PACE * seconds) });
    return { still: { position: from + WALK }, at, seconds: WALK / PACE };
  };
  const codes = Object.entries(words.codes).map(([code, label]) => [`code_${code}`, { label, visit: visit(code) }]);
  const stops = {
    walk_on: { label: words.walk, play: walk },
    fastest_hand: { label: words.fastest, visit: { pair: 0 } },
    slowest_hand: { label: words.slowest, visit: (state) => ({ pair: last(state) }) },
  };
  return [buttons(Object.fromEntries(codes)), buttons(stops)];
}

function makeFacts(words, { readouts, show, text }) {
  const inTokens = (value) => fill(words.tokens, { value: formatQuantity(value) });
  const inRadians = (value) => fill(words.radians, { value: formatQuantity(value) });
  const turned = (turn) => {
    const inDegrees = degrees(turn);
    const digits = Math.abs(inDegrees) < 10 ? 1 : 0;
    return fill(words.radiansDegrees, { value: signedQuantity(turn), degrees: formatNumber(inDegrees, digits) });
  };
  const dots = html("span", {}, show("sin"), ", ", show("cos"));
  const bit = show("bit", undefined, { format: (value) => formatNumber(value, 0) });
  const named = text(({ shape }) => (shape.binary ? words.bit : words.reading));
  const facts = div(
    "rope-facts",
    text(({ shape, pair }) => fill(words.pairTitle[shape.kind], { pair }), "p", { class: "rope-heading" }),
    ...readouts({
      wavelength: { label: ({ shape }) => words.wavelength[shape.kind], format: inTokens },
      inv_freq: { label: words.inverseFrequency, format: inRadians },
      turn: { label: words.turn, tone: "angle", format: turned },
    }),
    readout(named, dots, bit),
  );
  return { node: facts, dots, bit };
}

function build(tools) {
  const { words, lesson, redraw, sliders, buttons, readouts, show, text, playing } = tools;
  const [map, clock, curve] = [mapPicture(words), clockPicture(words), curvePicture(words)];
  const facts = makeFacts(words, tools);
  const [codes, stops] = makeButtons(words, buttons);
  const tone = "position";
  const controls = sliders({
    position: { label: words.position, tone, min: 0, max: PLACES - 1, format: tokens },
    offset: { label: words.offset, tone, min: -REACH, max: REACH, format: tokens },
    pair: {
      ...{ label: ({ shape }) => words.pair[shape.kind], tone: "angle", min: 0, max: 15, format: String },
      limit: ({ shape }) => shape.most - 1,
    },
  });
  const product = (name) => (state) => [state[name], formatNumber(state[name], state.shape.digits)];
  const high = show("elsewhere_high", product("high"), { tone: "score" });
  const numbers = readouts({
    inner: { label: words.inner, tone: "score", value: product("inner") },
    inner_max: { label: words.most, value: ({ shape }) => shape.most, format: String },
    elsewhere_low: { label: words.elsewhere, tone: "score", value: product("low"), more: [" … ", high] },
    other: { label: words.other, tone, format: tokens },
  });

  const box = (name, ...nodes) => div(`rope-sinusoid-${name}`, ...nodes);
  const note = text(({ shape }) => words.columns[shape.kind], "p");
  const dialNote = text(({ shape }) => words.dial[shape.kind], "p", { class: "rope-sinusoid-dial-note" });
  const swatch = [html("span", {}, "−1"), html("span", { class: "rope-sinusoid-swatch" }), html("span", {}, "+1")];
  const curveBox = html("div", {}, curve.node);
  const frame = div(
    "rope-frame rope-sinusoid",
    div("rope-row rope-row-first", ...codes),
    box("legend", note, html("p", { class: "rope-sinusoid-scale" }, ...swatch)),
    box("main", map.node),
    div("rope-row rope-sinusoid-stops", ...stops),
    div("rope-controls", ...controls),
    box("side", box("clock", clock.node, facts.node, dialNote), curveBox),
    lesson,
    div("rope-readouts", ...numbers),
  );

  // A canvas knows nothing of style sheets: it is painted again when the page turns dark.
  const theme = new MutationObserver(redraw);
  for (const node of [document.documentElement, document.body]) {
    theme.observe(node, { attributeFilter: ["class", "data-theme", "data-jp-theme-light"] });
  }
  const [shapeFor, curveFor] = [shapeOf, curveOf].map(whenChanged);
  return {
    node: frame,
    stop: () => theme.disconnect(),
    measure(narrow) {
      const style = getComputedStyle(frame);
      const [negative, middle, end] = ["angle", "panel", "position-text"].map((name) =>
        channels(style.getPropertyValue(`--rope-${name}`)),
      );
      return {
        colors: [negative, middle, deepened(end, middle)],
        map: widthOf(map.node, 200, 520),
        curve: { width: widthOf(curveBox, 200, 460), height: narrow ? 210 : 234 },
      };
    },
    derive({ code, model_dim, base, position, offset, pair: chosen }) {
      const shape = shapeFor(code, model_dim, base);
      const pair = Math.min(chosen, shape.most - 1);
      const [here, there] = [shape.row(position), shape.row(position + offset)];
      const inv_freq = shape.inverse[pair];
      const [sin, cos, bit] = shape.binary ? [NaN, NaN, here[pair]] : [here[2 * pair], here[2 * pair + 1], NaN];
      return {
        ...{ shape, pair, here, there, inv_freq, other: position + offset },
        ...{ wavelength: TAU / inv_freq, turn: offset * inv_freq },
        ...{ sin, cos, bit },
        products: pairProducts(here, there, shape.width),
        inner: innerProduct(here, there),
        low: shape.low[offset + REACH],
        high: shape.high[offset + REACH],
        curve: curveFor(shape, position),
      };
    },
    draw(state, room) {
      frame.style.setProperty("--positive", `rgb(${room.colors[2]})`);
      map.paint(state.shape, room.colors);
      map.draw(state, room.map);
      clock.draw(state);
      curve.draw(state, room.curve);
      facts.dots.hidden = state.shape.binary;
      facts.bit.hidden = !state.shape.binary;
    },
    lesson: (state) => makeSentence(words, state, playing()),
  };
}

const render = mount({ words: WORDS, traits: ["code", "position", "offset", "pair", "model_dim", "base"], build });

export default { render };
