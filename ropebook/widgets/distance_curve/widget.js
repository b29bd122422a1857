import { IN_POWERS_OF_TEN, IN_POWERS_OF_TWO } from "../kit/controls.js";
import { div, html, setAttributes, svg, whenChanged, widthOf } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
import { TAU } from "../kit/math.js";
import { inSlices } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { polylinePath } from "../kit/paths.js";
import { nowDot, panel } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Distance curve: the mean of all hands’ cosines, and its bound",
    picture:
      "Against the distance: above, RoFormer’s bound with the curve’s absolute value to the same scale; below, the curve enlarged",
    stops: "Heads to visit",
    presets: { roformer: "RoFormer", llama2: "Llama 2", llama3: "Llama 3", p_rope: "p-RoPE", one_hand: "one hand" },
    sliders: { base: "base", headDim: "head_dim, two per hand", context: "context, tokens" },
    kept: "share of hands that turn",
    logAxis: "logarithmic axis",
    titles: { bound: "bound, and size of the curve", curve: "enlarged: mean of the cosines" },
    axis: "distance, tokens",
    marks: { below: "below 0", first: "first below 0", slow: "slowest hand is round" },
    hands: { slowest: "slowest turn", turning: "hands that turn" },
    signs: { rises: "rises, step by step", first: "first below 0 at" },
    atContext: { curve: "curve at the context", bound: "bound at the context" },
    baseBound: "least base that holds, of 20 per tenfold",
    none: { never: "never", base: "none up to 10⁷" },
    tokens: "{value} tokens",
    lessons: {
      rises: "In {context} steps of one token the curve <b>rises {rises} times</b>.",
      first: "It first falls below 0 at distance <b>{first}</b>.",
      never: "It never falls below 0.",
      slow: "The slowest hand needs <b>{wavelength}</b> tokens for a turn.",
      still: "No hand turns, so nothing changes.",
    },
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
const LOWER = 44; // on a phone, where the sliders share the screen with it
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
      [cosines[at], sines[at]] = [x, y];
      [x, y] = [x * stepC - y * stepS, x * stepS + y * stepC];
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
      [c[i], s[i]] = [c[i] * strideC[i] - s[i] * strideS[i], c[i] * strideS[i] + s[i] * strideC[i]];
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
  return TAU / (inverse.findLast((frequency) => frequency > 0) ?? NaN);
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
    for (const at of new Set(low < high ? [low, high] : [high, low])) points.push([x, means[at]]);
    r = end + 1;
  }
  return points;
}

export function axisTicks(last, logarithmic) {
  if (!logarithmic) return [0, last / 4, last / 2, (3 * last) / 4, last];
  return [...[1, 10, 100, 1000, 1e4, 1e5].filter((tick) => 3 * tick < last), last];
}

// Above, the bound and the curve's size to one scale; below, the curve enlarged.
function curvePicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);

  function draw({ context, log_axis, first_negative: first, wavelength_slowest: slow, hands }, { width, narrow }) {
    const [foot, high] = [CURVE.bottom, HEIGHT].map((at) => at - (narrow ? LOWER : 0));
    const { inverse, means } = hands();
    const [right, across] = [width - RIGHT, width - LEFT - RIGHT];
    const { partOf } = axisOf(context, log_axis);
    const toX = (r) => LEFT + partOf(r) * across;
    const points = columnPoints(means, context, Math.floor(across), log_axis);
    const low = points.some(([, mean]) => mean < -0.4) ? -1 : -0.4;
    const bound = panel({ ...BOUND, left: LEFT, right, low: 0, high: (inverse.length + 1) / 2, toX });
    const curve = panel({ ...CURVE, bottom: foot, left: LEFT, right, low, high: 1, toX });
    const stretch = across / Math.floor(across);
    const along = (toY) => polylinePath(points.map(([column, mean]) => [LEFT + column * stretch, toY(mean)]));
    const size = along((mean) => bound.toY(Math.abs(mean)));
    const samples = sampleDistances(context, log_axis);
    const levels = LEVELS.filter((value) => value >= low);
    const ticks = axisTicks(context, log_axis);
    const zero = curve.toY(0);
    const seen = (at) => at >= 1 && at <= context;
    const marks = [
      { at: slow, name: "slow", y: CURVE.top + 34 },
      { at: first, name: "first", y: CURVE.top + 16 },
    ].filter(({ at }) => seen(at));
    setAttributes(picture, { viewBox: `0 0 ${width} ${high}`, height: high });
    paint([
      box("rope-beyond", [LEFT, zero, across, foot - zero]),
      path("rope-grid", bound.uprights(ticks) + curve.uprights(ticks, 4) + curve.levels(levels)),
      path("rope-axis", bound.levels([0]) + curve.levels([low])),
      path("rope-distance-zero", curve.levels([0])),
      ...marks.map(({ at, name }) => path(`rope-distance-${name}`, curve.uprights([at]))),
      path("rope-distance-bound", polylinePath(samples.map((r) => [toX(r), bound.toY(partialSumBound(inverse, r))]))),
      path("rope-distance-curve", size),
      path("rope-distance-curve", along(curve.toY)),
      ...(seen(first) ? [nowDot(curve.at(first, means[first]))] : []),
      label("rope-distance-title", LEFT, BOUND.top - 9, words.titles.bound),
      label("rope-distance-title", LEFT, CURVE.top - 11, words.titles.curve),
      ...bound.numbersUp([0, bound.high], formatQuantity),
      ...curve.numbersUp(levels, (value) => formatNumber(value, value % 1 ? 1 : 0)),
      ...curve.numbersAlong(ticks.slice(0, -1), formatQuantity, foot + 18),
      label("rope-context-label", width - 2, foot + 18, formatQuantity(context), "end"),
      label("", right, high - 2, words.axis, "end"),
      label("", right - 6, foot - 6, words.marks.below, "end"),
      ...marks.map(({ at, name, y }) => {
        const [aside, anchor] = toX(at) < width / 2 ? [7, "start"] : [-7, "end"];
        return label(`rope-distance-label rope-distance-${name}-label`, toX(at) + aside, y, words.marks[name], anchor);
      }),
    ]);
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
    return { ...survey(head_dim, base, context, kept), base_bound: baseBound(since, head_dim, kept, context) };
  };
}

function build({ words, model, redraw, lesson, buttons, sliders, toggles, readouts }) {
  const picture = curvePicture(words);
  const draw = whenChanged(picture.draw);
  const place = div("rope-distance-picture rope-stays", picture.node);
  const stop = ([name, visit]) => [`preset_${name}`, { label: words.presets[name] ?? name, visit }];
  const stops = buttons(Object.fromEntries(Object.entries(model.get("presets")).map(stop)));
  const [tone, format] = ["neutral", formatQuantity];
  const controls = sliders({
    base: { label: words.sliders.base, tone, min: 2, max: 7, ...IN_POWERS_OF_TEN, format },
    head_dim: { label: words.sliders.headDim, tone, min: 2, max: 256, step: 2, format },
    context: { label: words.sliders.context, tone: "position", min: 6, max: 17, ...IN_POWERS_OF_TWO, format },
    kept: { label: words.kept, tone: "angle", min: 0, max: 1, step: 0.05, format: (kept) => formatNumber(kept) },
  });
  const inTokens = (value) => fill(words.tokens, { value }, format);
  const orNone = (said, shown) => (value) => (Number.isNaN(value) ? said : shown(value));
  const shareOf = ({ turning_pairs: turning, head_dim }) => [turning, `${turning} / ${head_dim / 2}`];
  const numbers = readouts({
    rises: { label: words.signs.rises, format },
    first_negative: { label: words.signs.first, format: orNone(words.none.never, inTokens) },
    cosine_at_context: { label: words.atContext.curve, format: (value) => formatNumber(value, 3) },
    bound_at_context: { label: words.atContext.bound },
    wavelength_slowest: { label: words.hands.slowest, format: orNone(words.none.never, inTokens) },
    turning_pairs: { label: words.hands.turning, value: shareOf },
    base_bound: { label: words.baseBound, format: orNone(words.none.base, format) },
  });
  return {
    node: div(
      "rope-frame rope-distance",
      html("div", { class: "rope-row rope-row-first", role: "group", "aria-label": words.stops }, ...stops),
      lesson,
      place,
      div("rope-controls rope-controls-two", ...controls),
      div("rope-row rope-row-first", ...toggles({ log_axis: { label: words.logAxis } })),
      div("rope-readouts", ...numbers),
    ),
    measure: (narrow) => ({ width: widthOf(place, 240, 800), narrow }),
    derive: surveyor(model.get("bases"), redraw),
    // Not again where only the search has gone on.
    draw: ({ base_bound, ...shown }, room) => draw(shown, room),
    lesson({ context, rises, first_negative: first, turning_pairs: turning, wavelength_slowest: wavelength }) {
      const kinds = ["rises", Number.isNaN(first) ? "never" : "first", turning ? "slow" : "still"];
      const sentences = kinds.map((kind) => words.lessons[kind]).join(" ");
      return fill(sentences, { context, rises, first, wavelength }, format);
    },
  };
}

const render = mount({ words: WORDS, traits: ["head_dim", "base", "context", "kept", "log_axis"], build });

export default { render };
