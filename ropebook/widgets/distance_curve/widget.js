import { IN_POWERS_OF_TEN, IN_POWERS_OF_TWO } from "../kit/controls.js";
import { html, setAttributes, setText, svg, svgText, svgTexts, whenChanged, widthOf } from "../kit/dom.js";
import { TAU } from "../kit/math.js";
import { inSlices } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Distance curve: the mean of all hands’ cosines, and its bound",
    picture:
      "Against the distance: above, RoFormer’s bound with the curve’s absolute value to the same scale; below, the curve enlarged",
    presets: {
      roformer: "RoFormer",
      llama2: "Llama 2",
      llama3: "Llama 3",
      p_rope: "p-RoPE",
      one_hand: "one hand",
    },
    stops: "Heads to visit",
    base: "base",
    headDim: "head_dim, two per hand",
    context: "context, tokens",
    kept: "share of hands that turn",
    logAxis: "logarithmic axis",
    boundTitle: "RoFormer’s bound and the curve’s size",
    curveTitle: "the curve, enlarged: mean of the cosines",
    axis: "distance, tokens",
    below: "below 0",
    firstHere: "first below 0",
    slowHere: "slowest hand is round",
    rises: "rises, step by step",
    first: "first below 0 at",
    baseBound: "smallest tried base that stays at 0 or above",
    atContext: "curve at the context",
    boundAtContext: "bound at the context",
    slowest: "slowest turn",
    turning: "hands that turn",
    never: "never",
    noBase: "none up to 10⁷",
    tokens: "{value} tokens",
    lessonRises: "In {context} steps of one token the curve <b>rises {rises} times</b>.",
    lessonFirst: "It first falls below 0 at distance <b>{first}</b>.",
    lessonNever: "It never falls below 0.",
    lessonSlow: "The slowest hand needs <b>{wavelength}</b> tokens for a turn.",
    lessonStill: "No hand turns, so nothing changes.",
  },
};

const HALF = 64;
const SPAN = 2 * HALF + 1;
const SAMPLES = 600;
const LEFT = 38;
const RIGHT = 14;
const BOUND = { top: 24, bottom: 104 };
const CURVE = { top: 142, bottom: 322 };
const HEIGHT = 364;
const LEVELS = [1, 0.5, 0, -0.5, -1];

// rad per token, fastest first; beyond the kept share, the slowest stand still
export function keptFrequencies(headDim, base, kept) {
  const turning = Math.floor((kept * headDim) / 2);
  return Float64Array.from({ length: headDim / 2 }, (_, i) => (i < turning ? base ** ((-2 * i) / headDim) : 0));
}

// Sums cosines of 129 distances from `first` on, and at each further call `stride` beyond the last.
// cos(a + b) and cos(a - b) share their products, hands are taken by fours, and a hand goes from one
// distance to the next by a rotation: a cosine that is looked up would cost twenty times as much.
function blockSummer(inverse, first, stride) {
  const turning = inverse.filter((frequency) => frequency > 0);
  const size = 4 * Math.ceil(turning.length / 4);
  const [cosines, sines] = [0, 1].map(() => new Float64Array(size * (HALF + 1)));
  const [c, s, strideC, strideS] = [0, 1, 2, 3].map(() => new Float64Array(size));
  const [even, odd] = [0, 1].map(() => new Float64Array(HALF + 1));
  turning.forEach((frequency, i) => {
    [c[i], s[i]] = [Math.cos((first + HALF) * frequency), Math.sin((first + HALF) * frequency)];
    [strideC[i], strideS[i]] = [Math.cos(stride * frequency), Math.sin(stride * frequency)];
    const [stepC, stepS] = [Math.cos(frequency), Math.sin(frequency)];
    let [x, y] = [1, 0];
    for (let step = 0; step <= HALF; step += 1) {
      const at = 4 * ((i >> 2) * (HALF + 1) + step) + (i % 4);
      cosines[at] = x;
      sines[at] = y;
      x = cosines[at] * stepC - sines[at] * stepS;
      y = cosines[at] * stepS + sines[at] * stepC;
    }
  });
  return (out, at) => {
    even.fill(inverse.length - turning.length);
    odd.fill(0);
    for (let i = 0; i < size; i += 4) addFour({ even, odd, cosines, sines, c, s }, i);
    for (let step = 0; step <= HALF; step += 1) {
      out[at + HALF + step] = (even[step] - odd[step]) / inverse.length;
      out[at + HALF - step] = (even[step] + odd[step]) / inverse.length;
    }
    for (let i = 0; i < size; i += 1) {
      const x = c[i] * strideC[i] - s[i] * strideS[i];
      s[i] = c[i] * strideS[i] + s[i] * strideC[i];
      c[i] = x;
    }
  };
}

function addFour({ even, odd, cosines, sines, c, s }, i) {
  const [c0, c1, c2, c3, s0, s1, s2, s3] = [c[i], c[i + 1], c[i + 2], c[i + 3], s[i], s[i + 1], s[i + 2], s[i + 3]];
  for (let step = 0, at = i * (HALF + 1); step <= HALF; step += 1, at += 4) {
    even[step] += c0 * cosines[at] + c1 * cosines[at + 1] + c2 * cosines[at + 2] + c3 * cosines[at + 3];
    odd[step] += s0 * sines[at] + s1 * sines[at + 1] + s2 * sines[at + 2] + s3 * sines[at + 3];
  }
}

// C(r) at r = 0, 1, ... up to `last` at least
export function cosineMeans(inverse, last) {
  const means = new Float64Array(Math.ceil((last + 1) / SPAN) * SPAN);
  const sum = blockSummer(inverse, 0, SPAN);
  for (let at = 0; at < means.length; at += SPAN) sum(means, at);
  return means;
}

// Whether C is 0 or more at 1 .. last. Looks far away first, where a base fails, and first of all at
// single distances: most bases that fail do so there, before tables are made. Yields within a
// fraction of a millisecond each, for there may be many bases and distances: see inSlices.
export function* holdsUpTo(inverse, last) {
  for (let r = last; r >= 1; r = Math.floor(0.9 * r)) {
    if (inverse.reduce((sum, frequency) => sum + Math.cos(r * frequency), 0) < 0) return false;
  }
  yield;
  const sum = blockSummer(inverse, last - SPAN + 1, -SPAN);
  const block = new Float64Array(SPAN);
  for (let first = last - SPAN + 1; first > -SPAN; first -= SPAN) {
    sum(block, 0);
    for (let i = Math.max(0, 1 - first); i < SPAN; i += 1) if (block[i] < 0) return false;
    yield;
  }
  return true;
}

export function* smallestBase(headDim, kept, last, bases) {
  for (const base of bases) {
    yield;
    if (yield* holdsUpTo(keptFrequencies(headDim, base, kept), last)) return base;
  }
  return NaN;
}

// B(r): the mean length of the partial sums of the hands, fastest first
export function partialSumBound(inverse, distance) {
  let [x, y, lengths] = [0, 0, 0];
  for (const frequency of inverse) {
    x += Math.cos(distance * frequency);
    y += Math.sin(distance * frequency);
    lengths += Math.sqrt(x * x + y * y);
  }
  return lengths / inverse.length;
}

export function countRises(means, last) {
  let rises = 0;
  for (let r = 1; r <= last; r += 1) if (means[r] > means[r - 1]) rises += 1;
  return rises;
}

export function firstNegative(means, last) {
  for (let r = 1; r <= last; r += 1) if (means[r] < 0) return r;
  return NaN;
}

export function slowestTurn(inverse) {
  const turning = inverse.filter((frequency) => frequency > 0);
  return turning.length ? TAU / turning[turning.length - 1] : NaN;
}

// The axis of distances: the first of them, where one stands (0 to 1), and which stands there.
function axisOf(last, logarithmic) {
  if (logarithmic) return { start: 1, partOf: (r) => Math.log(r) / Math.log(last), at: (part) => last ** part };
  return { start: 0, partOf: (r) => r / last, at: (part) => last * part };
}

// Distances to sample a smooth line at: all of them, or about SAMPLES, evenly along the axis.
export function sampleDistances(last, logarithmic) {
  const { start, at } = axisOf(last, logarithmic);
  const count = Math.min(SAMPLES, last - start);
  return [...new Set(Array.from({ length: count + 1 }, (_, i) => Math.round(at(i / count))))];
}

// One column of pixels may hold many distances: its lowest and its highest value, in their order.
export function columnPoints(means, last, width, logarithmic) {
  const points = [];
  const axis = axisOf(last, logarithmic);
  let r = axis.start;
  for (let column = 0; column <= width && r <= last; column += 1) {
    const end = Math.min(last, Math.floor(axis.at((column + 0.5) / width)));
    if (end < r) continue;
    let [low, high] = [r, r];
    for (let at = r + 1; at <= end; at += 1) {
      if (means[at] < means[low]) low = at;
      if (means[at] > means[high]) high = at;
    }
    const x = end > r ? column : axis.partOf(r) * width;
    const ends = low === high ? [low] : low < high ? [low, high] : [high, low];
    for (const at of ends) points.push([x, means[at]]);
    r = end + 1;
  }
  return points;
}

export function axisTicks(last, logarithmic) {
  if (!logarithmic) return [0, last / 4, last / 2, (3 * last) / 4, last];
  const powers = [];
  for (let tick = 1; tick * 3 < last; tick *= 10) powers.push(tick);
  return [...powers, last];
}

// What both plots stand on, drawn in the scales of a picture.
function ground(paths, texts, words) {
  const beneath = svg("rect", { class: "rope-beyond", x: LEFT }, paths);
  const path = (name) => svg("path", { class: name }, paths);
  const [grid, axes, zero] = ["rope-grid", "rope-axis", "rope-distance-zero"].map(path);
  const text = (className, anchor, place, said) => setAttributes(svgText(texts, className, anchor, said), place);
  text("rope-distance-title", "start", { x: LEFT, y: BOUND.top - 9 }, words.boundTitle);
  text("rope-distance-title", "start", { x: LEFT, y: CURVE.top - 11 }, words.curveTitle);
  text("", "end", { x: LEFT - 6, y: BOUND.bottom + 4 }, "0");
  const most = text("", "end", { x: LEFT - 6, y: BOUND.top + 4 });
  const axis = text("", "end", { y: HEIGHT - 2 }, words.axis);
  const below = text("", "end", { y: CURVE.bottom - 6 }, words.below);
  const drawLevels = svgTexts(texts, "", "end");
  const drawTicks = svgTexts(texts, "", "middle");
  const contextText = text("rope-context-label", "end", { y: CURVE.bottom + 18 });

  return ({ x, up, end, floor, bound }, ticks) => {
    const levels = LEVELS.filter((value) => value >= floor);
    const upright = (at) => `M${at} ${BOUND.top}V${BOUND.bottom}M${at} ${CURVE.top}V${CURVE.bottom + 4}`;
    const lines = [...ticks.map((tick) => upright(x(tick))), ...levels.map((value) => `M${LEFT} ${up(value)}H${end}`)];
    setAttributes(grid, { d: lines.join("") });
    setAttributes(axes, { d: `M${LEFT} ${BOUND.bottom}H${end}M${LEFT} ${CURVE.bottom}H${end}` });
    setAttributes(zero, { d: `M${LEFT} ${up(0)}H${end}` });
    setAttributes(beneath, { y: up(0), width: end - LEFT, height: CURVE.bottom - up(0) });
    setText(most, formatQuantity(bound));
    setAttributes(axis, { x: end });
    setAttributes(below, { x: end - 6 });
    drawLevels(levels.map((value) => [formatNumber(value, value % 1 ? 1 : 0), { x: LEFT - 6, y: up(value) + 4 }]));
    const inner = ticks.slice(0, -1);
    drawTicks(inner.map((tick) => [formatQuantity(tick), { x: x(tick), y: CURVE.bottom + 18 }]));
    setText(contextText, formatQuantity(ticks[inner.length]));
    setAttributes(contextText, { x: end + RIGHT - 2 });
  };
}

function curvePicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const [paths, texts] = [svg("g", {}, picture), svg("g", {}, picture)];
  const drawGround = ground(paths, texts, words);
  const line = (name) => svg("path", { class: `rope-distance-${name}` }, paths);
  const label = (tone, said) => svgText(texts, `rope-distance-label ${tone}`, "start", said);
  const slow = { upright: line("slow"), text: label("rope-distance-slow-label", words.slowHere), y: CURVE.top + 34 };
  const first = { upright: line("first"), text: label("", words.firstHere), y: CURVE.top + 16 };
  const [bound, small, curve] = ["bound", "curve", "curve"].map(line);
  const firstDot = svg("circle", { class: "rope-now", r: 5 }, paths);

  function mark({ upright, text, y }, at, { context, x, end }) {
    const here = at >= 1 && at <= context;
    for (const node of [upright, text]) setAttributes(node, { visibility: here ? "visible" : "hidden" });
    if (!here) return;
    const aside = x(at) < (end + RIGHT) / 2 ? 1 : -1;
    setAttributes(upright, { d: `M${x(at)} ${CURVE.top}V${CURVE.bottom}` });
    setAttributes(text, { x: x(at) + 7 * aside, y, "text-anchor": aside > 0 ? "start" : "end" });
  }

  function draw({ context, log_axis, first_negative, wavelength_slowest, hands }, width) {
    const { inverse, means } = hands();
    const { partOf } = axisOf(context, log_axis);
    const across = width - LEFT - RIGHT;
    const points = columnPoints(means, context, Math.floor(across), log_axis);
    const floor = points.some(([, mean]) => mean < -0.4) ? -1 : -0.4;
    const most = (inverse.length + 1) / 2;
    const scales = {
      ...{ context, floor, bound: most, end: LEFT + across },
      x: (r) => LEFT + partOf(r) * across,
      up: linearScale(floor, 1, CURVE.bottom, CURVE.top),
      wide: linearScale(0, most, BOUND.bottom, BOUND.top),
    };
    const { x, up, wide } = scales;
    setAttributes(picture, { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT });
    drawGround(scales, axisTicks(context, log_axis));
    const stretch = across / Math.floor(across);
    const along = (place) => polylinePath(points.map(([column, mean]) => [LEFT + column * stretch, place(mean)]));
    setAttributes(curve, { d: along(up) });
    setAttributes(small, { d: along((mean) => wide(Math.abs(mean))) });
    const samples = sampleDistances(context, log_axis);
    setAttributes(bound, { d: polylinePath(samples.map((r) => [x(r), wide(partialSumBound(inverse, r))])) });
    mark(slow, wavelength_slowest, scales);
    mark(first, first_negative, scales);
    const found = first_negative <= context;
    setAttributes(firstDot, { visibility: found ? "visible" : "hidden" });
    if (found) setAttributes(firstDot, { cx: x(first_negative), cy: up(means[first_negative]) });
  }
  return { node: picture, draw };
}

// The numbers of a state; the base bound, which is dear, does not depend on the base.
function surveyor(bases, redraw) {
  const baseBound = inSlices((head_dim, kept, context) => smallestBase(head_dim, kept, context, bases), redraw);
  const survey = whenChanged((head_dim, base, context, kept) => {
    const inverse = keptFrequencies(head_dim, base, kept);
    const means = cosineMeans(inverse, context);
    return {
      // Behind a function: whether a picture has changed is seen from the numbers.
      hands: () => ({ inverse, means }),
      rises: countRises(means, context),
      first_negative: firstNegative(means, context),
      cosine_at_context: means[context],
      bound_at_context: partialSumBound(inverse, context),
      wavelength_slowest: slowestTurn(inverse),
      turning_pairs: inverse.filter((frequency) => frequency > 0).length,
    };
  });
  return ({ head_dim, base, context, kept }) => {
    const since = performance.now();
    const numbers = survey(head_dim, base, context, kept);
    return { ...numbers, base_bound: baseBound(since, head_dim, kept, context) };
  };
}

function build({ words, model, redraw, lesson, buttons, sliders, toggles, readouts }) {
  const picture = curvePicture(words);
  const draw = whenChanged(picture.draw);
  const box = html("div", { class: "rope-distance-picture" }, picture.node);
  const stop = ([name, visit]) => [`preset_${name}`, { label: words.presets[name] ?? name, visit }];
  const stops = buttons(Object.fromEntries(Object.entries(model.get("presets")).map(stop)));
  const [tone, format] = ["neutral", formatQuantity];
  const controls = sliders({
    base: { label: words.base, tone, min: 2, max: 7, ...IN_POWERS_OF_TEN, format },
    head_dim: { label: words.headDim, tone, min: 2, max: 256, step: 2, format },
    context: { label: words.context, tone: "position", min: 6, max: 17, ...IN_POWERS_OF_TWO, format },
    kept: { label: words.kept, tone: "angle", min: 0, max: 1, step: 0.05, format: (kept) => formatNumber(kept, 2) },
  });
  const orNever = (value) => (Number.isNaN(value) ? words.never : fill(words.tokens, { value: formatQuantity(value) }));
  const numbers = readouts({
    rises: { label: words.rises, format },
    first_negative: { label: words.first, format: orNever },
    cosine_at_context: { label: words.atContext, format: (value) => formatNumber(value, 3) },
    bound_at_context: { label: words.boundAtContext },
    wavelength_slowest: { label: words.slowest, format: orNever },
    turning_pairs: {
      label: words.turning,
      value: ({ turning_pairs: turning, head_dim }) => [turning, `${turning} / ${head_dim / 2}`],
    },
    base_bound: { label: words.baseBound, format: (base) => (Number.isNaN(base) ? words.noBase : format(base)) },
  });
  return {
    node: html(
      "div",
      { class: "rope-frame rope-distance" },
      html("div", { class: "rope-row rope-row-first", role: "group", "aria-label": words.stops }, ...stops),
      lesson,
      box,
      html("div", { class: "rope-controls rope-controls-two" }, ...controls),
      html("div", { class: "rope-row rope-row-first" }, ...toggles({ log_axis: { label: words.logAxis } })),
      html("div", { class: "rope-readouts" }, ...numbers),
    ),
    measure: () => widthOf(box, 240, 800),
    derive: surveyor(model.get("bases"), redraw),
    // Not again where only the search has gone on.
    draw: ({ base_bound, ...shown }, room) => draw(shown, room),
    lesson: ({ context, rises, first_negative: first, turning_pairs, wavelength_slowest: wavelength }) =>
      [
        fill(words.lessonRises, { context: format(context), rises: format(rises) }),
        Number.isNaN(first) ? words.lessonNever : fill(words.lessonFirst, { first: format(first) }),
        turning_pairs ? fill(words.lessonSlow, { wavelength: format(wavelength) }) : words.lessonStill,
      ].join(" "),
  };
}

const render = mount({ words: WORDS, traits: ["head_dim", "base", "context", "kept", "log_axis"], build });

export default { render };
