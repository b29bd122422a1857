import { div, html, setAttributes, svg, whenChanged, widthOf } from "../kit/dom.js";
import { disc, label, layer, path, turn } from "../kit/layer.js";
import { TAU, clamp, degrees } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale, nowMarker, panel } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, tokens, whole } from "../kit/text.js";
import { OFFSETS, PLACES, REACH, codeFrequencies, curveOf, innerProduct, pairProducts, shapeOf } from "./codes.js";

const WORDS = {
  en: {
    title: "Sinusoid explorer: a position as the reading of many clock hands",
    codes: { binary: "binary counter", counter_waves: "its waves", transformer: "the Transformer’s waves" },
    columns: {
      binary: "Each row is a position, each column a bit, lowest bit first.",
      waves: "Each row is a position, each column pair a hand’s (sin, cos), fast to slow.",
    },
    map: "Heat map: positions 0 to 127 from top to bottom, the code’s columns from left to right, values from −1 to 1. The rows of m and m + Δ and the chosen column are framed. Below it, the two codes as bars, and the dot product of each pair.",
    clock: "The chosen hand at m and at m + Δ, and the turn between them",
    curve: "Inner product of the codes of m and m + Δ, as a curve over Δ",
    sliders: { position: "position m", offset: "offset Δ" },
    pair: { binary: "bit", waves: "pair" },
    pairTitle: { binary: "Bit {pair}", waves: "Pair {pair}" },
    rowCode: "code of position {position}",
    products: { binary: "bit times bit: the sum is {inner}", waves: "dot product, by pairs: sum {inner}" },
    rows: { here: "m", there: "m + Δ" },
    dial: {
      binary: "A bit knows only which half of the dial its hand stands in.",
      waves: "The tip is (cos, sin), so hands turn counterclockwise. The code stores (sin, cos).",
    },
    axisNames: { cos: "cos", sin: "sin" },
    wavelength: { binary: "period", waves: "wavelength" },
    reading: { binary: "bit at m", waves: "sin, cos at m" },
    facts: { frequency: "turn per position", turn: "turn for Δ" },
    units: { tokens: "{value} tokens", radians: "{value} rad", turn: "{value} rad ({degrees}°)" },
    axes: { x: "offset Δ", y: "dot product of m and m + Δ" },
    band: { shaded: "shaded: the same Δ elsewhere", alike: "the same curve at every place" },
    lessons: {
      waves:
        "At positions {m} and {other}: dot product <b>{inner}</b> of {most}. The same {steps} anywhere: <b>{inner}</b>.",
      walk: "Both rows move on and every hand turns. They stay {steps} apart, and the dot product stays <b>{inner}</b>.",
      self: "A position with itself: <b>{inner}</b> of {most}. Each pair adds sin² + cos² = 1.",
      bits: "From {m} to {other}, {flipped} of {most} bits flip: dot product <b>{inner}</b> of {most}. The same {steps} elsewhere: anything from <b>{low}</b> to <b>{high}</b>.",
      alike:
        "From {m} to {other}, {flipped} of {most} bits flip: dot product <b>{inner}</b> of {most}. For this offset it is the same everywhere.",
    },
    steps: { one: "step", many: "steps", back: "back" },
    stops: { walk: "walk on", fastest: "fastest hand", slowest: "slowest hand" },
    numbers: { inner: "dot product", most: "at most", elsewhere: "same Δ, all places", other: "m + Δ" },
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
const ROWS = [0, 1, 2];

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
  const push = ((gap < 0 ? -1 : 1) * Math.max(0, 0.62 - Math.abs(gap))) / 2;
  return [from - push, to + push];
}

const boxPath = (x, y, width, height) => `M${x.toFixed(2)} ${y}h${width.toFixed(2)}v${height}h${(-width).toFixed(2)}Z`;
const middleOf = (row) => BAR_TOP + row * BAR_ROW + 17 + BAR_HEIGHT / 2;

// Both codes and their products as bars: those above 0, those below, and the products.
function barsOf(rows, across) {
  const paths = ["", "", ""];
  rows.forEach((values, row) => {
    const each = across / values.length;
    const gap = Math.min(1.5, 0.2 * each);
    values.forEach((value, j) => {
      const tall = ((-value * BAR_HEIGHT) / 2).toFixed(2);
      paths[row === 2 ? 2 : value < 0 ? 1 : 0] += boxPath(GUTTER + j * each + gap / 2, middleOf(row), each - gap, tall);
    });
  });
  return ["positive", "negative", "score"].map((tone, i) => path(`rope-sinusoid-${tone}`, paths[i]));
}

const outlined = (tag, attributes) =>
  ["halo", "frame"].map((name) => [tag, { class: `rope-sinusoid-${name}`, ...attributes }]);

// The row of a place: a frame where it is on the map, or an arrow to it.
function rowMark(place, side, right) {
  const seen = place >= 0 && place <= PLACES - 1;
  const y = TOP + 2 * clamp(place, 0, PLACES - 1) - 1.5;
  const frame = { x: GUTTER - 1, y, width: right - GUTTER + 2, height: 5, rx: 2 };
  const said = `${seen ? "" : place < 0 ? "↑" : "↓"}${whole(Math.floor(place))}`;
  const [x, anchor] = side ? [right + 6, "start"] : [GUTTER - 6, "end"];
  return [...(seen ? outlined("rect", frame) : []), label("rope-sinusoid-row-label", x, y + 6.5, said, anchor)];
}

// The column of the chosen pair, down the map and the bars.
function columnMark(pair, step, right, said) {
  const x = GUTTER + pair * step;
  const rows = ROWS.map((row) => [middleOf(row) - BAR_HEIGHT / 2 - 1, BAR_HEIGHT + 2]);
  const d = [[TOP, MAP_HEIGHT], ...rows].map(([y, height]) => boxPath(x, y, step, height)).join("");
  const at = clamp(x + step / 2, GUTTER + 24, right - 30);
  return [...outlined("path", { d }), label("rope-sinusoid-strong", at, 14, said, "middle")];
}

// The map with the rows of m and m + Δ, and below it both codes as bars and their products.
function mapPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.map });
  const shades = [html("span"), html("span")];
  const colors = div("rope-sinusoid-colors", ...shades);
  const paint = layer(picture);

  function draw({ shape, pair, here, there, products, inner, position, other }, width) {
    const [across, right, bottom] = [width - 2 * GUTTER, width - GUTTER, TOP + MAP_HEIGHT];
    const height = BAR_TOP + 3 * BAR_ROW - 4;
    const step = across / shape.most;
    const places = [position, other].map((at) => (shape.binary ? Math.floor(at) : at));
    const captions = places.map((place) => fill(words.rowCode, { position: tokens(place) }));
    captions.push(fill(words.products[shape.kind], { inner: formatNumber(inner, shape.digits) }));
    const between = shape.inverse.slice(1).map((_, i) => `M${(GUTTER + (i + 1) * step).toFixed(2)} ${TOP}V${bottom}`);
    const zeros = ROWS.map((row) => `M${GUTTER} ${middleOf(row)}H${right}`);
    const hidden = (at) => Math.abs(at - places[0]) < 8;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    setAttributes(colors, { style: `left: ${GUTTER}px; top: ${TOP}px; width: ${across}px; height: ${MAP_HEIGHT}px` });
    paint([
      path("rope-sinusoid-gaps", between.join("")),
      path("rope-axis", `M${GUTTER} ${TOP}H${right}V${bottom}H${GUTTER}Z${zeros.join("")}`),
      ...[0, 32, 64, 96, 127].map((at) => label("", GUTTER - 7, TOP + 2 * at + 5, hidden(at) ? "" : String(at), "end")),
      label("rope-sinusoid-row-label", 0, 14, words.rows.here),
      label("rope-sinusoid-row-label", width, 14, words.rows.there, "end"),
      ...barsOf([here, there, products], across),
      ...captions.map((said, row) => label(row > 1 ? "rope-tone-score" : "", GUTTER, middleOf(row) - 20, said)),
      ...columnMark(pair, step, right, fill(words.pairTitle[shape.kind], { pair })),
      ...places.flatMap((place, side) => rowMark(place, side, right)),
    ]);
  }

  // One pixel per number, in a mask of each color: the style sheet has the colors, and the browser
  // enlarges the masks without smoothing, at any resolution.
  const color = whenChanged((shape) => {
    const numbers = shape.table.slice(REACH, REACH + PLACES).flat();
    const canvas = html("canvas", { width: numbers.length / PLACES, height: PLACES });
    const context = canvas.getContext("2d");
    [-1, 1].forEach((sign, i) => {
      const pixels = numbers.flatMap((value) => [0, 0, 0, 255 * Math.max(0, sign * value)]);
      context.putImageData(new ImageData(Uint8ClampedArray.from(pixels), canvas.width), 0, 0);
      shades[i].style.maskImage = `url(${canvas.toDataURL()})`;
    });
  });
  return { node: div("rope-sinusoid-map rope-stays", colors, picture), draw, color };
}

const HUB = [75, 75];
const RADIUS = 50;

// The way of the chosen hand from one place to the other, round and round where it is long.
function turnShapes(binary, from, turned) {
  const within = turned && !binary ? sectorPath(...HUB, 22, from, from + clamp(turned, -TAU, TAU)) : "";
  const growth = Math.min(5, 16 / Math.max(1, Math.abs(turned) / TAU));
  const points = Math.abs(turned) * 26 > 9 ? spiralPoints(...HUB, 26, from, from + turned, growth) : [];
  const line = Math.abs(turned) > 2 * TAU ? "rope-turn rope-turn-many" : "rope-turn";
  return [path("rope-between", within), ...turn("rope-sinusoid-arc", points, line)];
}

// The chosen hand at both places, and the turn between them.
function clockPicture(words) {
  const picture = svg("svg", { viewBox: "0 0 150 150", role: "img", "aria-label": words.clock });
  const paint = layer(picture);
  const place = (angle, reach) => [HUB[0] + reach * Math.cos(angle), HUB[1] - reach * Math.sin(angle)];
  const half = (tone, from) =>
    path(`rope-sinusoid-${tone}`, sectorPath(...HUB, RADIUS, from, from + TAU / 2), { opacity: 0.4 });

  function draw({ shape: { binary, inverse }, position, other, pair, offset, turn }) {
    const places = [position, other];
    const angles = places.map((m) => (binary ? Math.floor(m) : m) * inverse[pair]);
    const labels = labelAngles(angles[0], angles[0] + turn);
    const names = [0, 1].map((i) => (i && !offset ? "" : whole(Math.floor(places[i]))));
    const free = (angle) => labels.every((at, i) => !names[i] || Math.cos(at - angle) <= 0.86);
    const hand = (i) => {
      const [x, y] = place(labels[i], RADIUS + 14);
      return [
        path(`rope-hand rope-sinusoid-hand-${i}`, polylinePath([HUB, place(angles[i], RADIUS - 4)])),
        disc("rope-sinusoid-tip", place(angles[i], RADIUS), 4.5),
        label("rope-sinusoid-row-label", x.toFixed(2), (y + 4.5).toFixed(2), names[i], "middle"),
      ];
    };
    paint([
      disc("rope-dial-back", HUB, RADIUS),
      ...(binary ? [half("negative", 0), half("positive", -TAU / 2)] : []),
      path("rope-axis", "M19 75H131M75 19V131"),
      disc("rope-circle", HUB, RADIUS),
      label("", 150, 89, !binary && free(-0.2) ? words.axisNames.cos : "", "end"),
      label("", 71, 15, !binary && free(1.75) ? words.axisNames.sin : "", "end"),
      label("rope-sinusoid-strong", 15, 29, binary ? "−1" : "", "middle"),
      label("rope-sinusoid-strong", 15, 131, binary ? "+1" : "", "middle"),
      ...turnShapes(binary, angles[0], turn),
      ...[1, 0].flatMap(hand),
      disc("rope-hub", HUB, 3),
    ]);
  }
  return { node: picture, draw };
}

// The dot product of m and m + Δ over Δ, and how far other places differ.
function curvePicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const [paintGround, paintCurve] = [layer(picture), layer(picture)];
  const markNow = nowMarker(picture);
  const ticks = [-64, -32, 0, 32, 64];

  const drawGround = whenChanged((width, height, { least, most, low, high, alike }) => {
    const [left, top, right, bottom] = [30, 28, width - 14, height - 36];
    const toX = linearScale(-REACH, REACH, left, right);
    const axes = panel({ left, right, top, bottom, low: least, high: most, toX });
    const along = (values) => values.map((value, i) => axes.at(OFFSETS[i], value));
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paintGround([
      path("rope-grid", axes.uprights(ticks) + axes.levels([most])),
      path("rope-sinusoid-band", alike ? "" : `${polylinePath([...along(high), ...along(low).reverse()])}Z`),
      path("rope-axis", axes.levels([0])),
      ...axes.numbersUp([...new Set([most, 0, least])], whole),
      ...axes.numbersAlong(ticks, whole),
      label("rope-axis-title", left - 10, height - 2, words.axes.x),
      label("rope-axis-title rope-tone-score", 0, 13, words.axes.y),
      label("", right + 10, height - 2, alike ? words.band.alike : words.band.shaded, "end"),
    ]);
    return { ...axes, along };
  });

  function draw({ shape, curve, offset, inner }, { width, height }) {
    const { at, toY, top, bottom, along } = drawGround(width, height, shape);
    const [x, y] = at(offset, inner);
    paintCurve([
      path("rope-curve rope-sinusoid-curve", polylinePath(along(curve))),
      path("rope-stem", `M${x} ${toY(0)}V${y.toFixed(2)}`),
    ]);
    const text = formatNumber(inner, shape.digits);
    markNow({ x, y, text, width, reach: 74, low: top + 8, high: bottom, below: -8 });
  }
  return { node: picture, draw };
}

function makeSentence(words, { shape, offset, inner, low, high, position, other }, walking) {
  const { binary, digits, most } = shape;
  const kind = binary ? (high - low < 1e-6 ? "alike" : "bits") : offset === 0 ? "self" : walking ? "walk" : "waves";
  const [count, { one, many, back }] = [Math.abs(offset), words.steps];
  // A walk passes between places; a counter counts whole ones.
  const [m, there] = [position, other].map((place) => tokens(binary ? Math.floor(place) : place));
  const [product, least, greatest] = [inner, low, high].map((value) => formatNumber(value, digits));
  return fill(words.lessons[kind], {
    ...{ m, other: there, inner: product, low: least, high: greatest, most },
    flipped: (most - inner) / 2,
    steps: `${count} ${count === 1 ? one : many}${offset < 0 && !walking ? ` ${back}` : ""}`,
  });
}

function makeButtons({ words, buttons }) {
  const last = (state) => codeFrequencies(state).length - 1;
  const visit = (code) => (state) => ({ code, pair: Math.min(state.pair, last({ ...state, code })) });
  const walk = ({ position, offset }) => {
    const from = walkFrom(position, offset);
    const at = (seconds) => ({ position: from + Math.min(WALK, PACE * seconds) });
    return { still: { position: from + WALK }, at, seconds: WALK / PACE };
  };
  const codes = Object.entries(words.codes).map(([code, label]) => [`code_${code}`, { label, visit: visit(code) }]);
  const stops = {
    walk_on: { label: words.stops.walk, play: walk },
    fastest_hand: { label: words.stops.fastest, visit: { pair: 0 } },
    slowest_hand: { label: words.stops.slowest, visit: (state) => ({ pair: last(state) }) },
  };
  return [buttons(Object.fromEntries(codes)), buttons(stops)];
}

// The words for a bit, or for a pair of waves.
const byKind = (words, name) => (state) => words[name][state.shape.kind];

function makeFacts({ words, readouts, show, text }) {
  const unit = (name) => (value) => fill(words.units[name], { value }, formatQuantity);
  const turned = (turn) => {
    const digits = Math.abs(degrees(turn)) < 10 ? 1 : 0;
    return fill(words.units.turn, { value: formatQuantity(turn), degrees: formatNumber(degrees(turn), digits) });
  };
  // A bit, or a sine and a cosine: the style sheet hides the other.
  const dots = html("span", { class: "rope-sinusoid-dots" }, show("sin"), ", ", show("cos"));
  return div(
    "rope-facts",
    text(({ shape, pair }) => fill(words.pairTitle[shape.kind], { pair }), "p", { class: "rope-heading" }),
    ...readouts({
      wavelength: { label: byKind(words, "wavelength"), format: unit("tokens") },
      inv_freq: { label: words.facts.frequency, format: unit("radians") },
      turn: { label: words.facts.turn, tone: "angle", format: turned },
      bit: { label: byKind(words, "reading"), format: whole, more: [dots] },
    }),
  );
}

// All that is drawn and said of a state; what follows from few of its traits is kept.
function surveyor() {
  const [shapeFor, curveFor] = [shapeOf, curveOf].map(whenChanged);
  return ({ code, model_dim, base, position, offset, pair: chosen }) => {
    const shape = shapeFor(code, model_dim, base);
    const pair = Math.min(chosen, shape.most - 1);
    const [here, there] = [shape.row(position), shape.row(position + offset)];
    const inv_freq = shape.inverse[pair];
    const [sin, cos, bit] = shape.binary ? [NaN, NaN, here[pair]] : [here[2 * pair], here[2 * pair + 1], NaN];
    return {
      ...{ shape, pair, here, there, inv_freq, sin, cos, bit, other: position + offset },
      ...{ wavelength: TAU / inv_freq, turn: offset * inv_freq },
      products: pairProducts(here, there, shape.width),
      inner: innerProduct(here, there),
      ...{ low: shape.low[offset + REACH], high: shape.high[offset + REACH] },
      curve: curveFor(shape, position),
    };
  };
}

function build(tools) {
  const { words, lesson, sliders, readouts, show, text, playing } = tools;
  const [map, clock, curve] = [mapPicture, clockPicture, curvePicture].map((make) => make(words));
  const [codes, stops] = makeButtons(tools);
  const tone = "position";
  const controls = sliders({
    position: { label: words.sliders.position, tone, max: PLACES - 1, format: tokens },
    offset: { label: words.sliders.offset, tone, min: -REACH, max: REACH, format: tokens },
    pair: { label: byKind(words, "pair"), tone: "angle", max: 15, limit: ({ shape }) => shape.most - 1 },
  });
  const product = (name) => (state) => [state[name], formatNumber(state[name], state.shape.digits)];
  const high = show("elsewhere_high", product("high"), { tone: "score" });
  const numbers = readouts({
    inner: { label: words.numbers.inner, tone: "score", value: product("inner") },
    inner_max: { label: words.numbers.most, value: ({ shape }) => shape.most, format: String },
    elsewhere_low: { label: words.numbers.elsewhere, tone: "score", value: product("low"), more: [" … ", high] },
    other: { label: words.numbers.other, tone, format: tokens },
  });

  const box = (name, ...nodes) => div(`rope-sinusoid-${name}`, ...nodes);
  const note = text(byKind(words, "columns"), "p");
  const dialNote = text(byKind(words, "dial"), "p", { class: "rope-sinusoid-dial-note" });
  const swatch = [html("span", {}, "−1"), html("span", { class: "rope-sinusoid-swatch" }), html("span", {}, "+1")];
  const curveBox = html("div", {}, curve.node);
  const frame = div(
    "rope-frame rope-sinusoid",
    div("rope-row rope-row-first", ...codes),
    box("legend", note, html("p", { class: "rope-sinusoid-scale" }, ...swatch)),
    html("div", { class: "rope-sinusoid-main", "data-card": "" }, map.node),
    div("rope-row rope-sinusoid-stops", ...stops),
    div("rope-controls", ...controls),
    box("side", box("clock", clock.node, makeFacts(tools), dialNote), curveBox),
    lesson,
    div("rope-readouts", ...numbers),
  );

  return {
    node: frame,
    measure: (narrow) => ({
      map: widthOf(map.node, 200, 520),
      curve: { width: widthOf(curveBox, 200, 460), height: narrow ? 210 : 234 },
    }),
    derive: surveyor(),
    draw(state, room) {
      frame.dataset.kind = state.shape.kind;
      map.color(state.shape);
      map.draw(state, room.map);
      clock.draw(state);
      curve.draw(state, room.curve);
    },
    lesson: (state) => makeSentence(words, state, playing()),
  };
}

const render = mount({ words: WORDS, traits: ["code", "position", "offset", "pair", "model_dim", "base"], build });

export default { render };
