import { button, readout, report, slider, toggle } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { TAU, clamp } from "../kit/math.js";
import { commit, frameScheduler, watch } from "../kit/motion.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, pickWords } from "../kit/text.js";

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

// rad per token, fastest first; beyond the kept share, the slowest stand still
export function keptFrequencies(headDim, base, kept) {
  const turning = Math.floor((kept * headDim) / 2);
  return Float64Array.from({ length: headDim / 2 }, (_, i) => (i < turning ? base ** ((-2 * i) / headDim) : 0));
}

// Sums cosines of 129 distances around a middle one: cos(a + b) and cos(a - b) share their products.
function blockSummer(inverse) {
  const pairs = inverse.length;
  const cosines = new Float64Array((HALF + 1) * pairs);
  const sines = new Float64Array((HALF + 1) * pairs);
  for (let step = 0; step <= HALF; step += 1) {
    for (let i = 0; i < pairs; i += 1) {
      cosines[step * pairs + i] = Math.cos(step * inverse[i]);
      sines[step * pairs + i] = Math.sin(step * inverse[i]);
    }
  }
  const c = new Float64Array(pairs);
  const s = new Float64Array(pairs);
  return (first, out, at) => {
    const middle = first + HALF;
    for (let i = 0; i < pairs; i += 1) {
      c[i] = Math.cos(middle * inverse[i]);
      s[i] = Math.sin(middle * inverse[i]);
    }
    for (let step = 0; step <= HALF; step += 1) {
      const from = step * pairs;
      let even = 0;
      let odd = 0;
      for (let i = 0; i < pairs; i += 1) {
        even += c[i] * cosines[from + i];
        odd += s[i] * sines[from + i];
      }
      out[at + HALF + step] = (even - odd) / pairs;
      out[at + HALF - step] = (even + odd) / pairs;
    }
  };
}

// C(r) at r = 0, 1, ... up to `last` at least; `known` is what an earlier call returned.
export function cosineMeans(inverse, last, known = new Float64Array(0)) {
  if (known.length > last) return known;
  const blocks = Math.ceil((last + 1) / SPAN);
  const means = new Float64Array(blocks * SPAN);
  means.set(known);
  const sum = blockSummer(inverse);
  for (let at = known.length; at < means.length; at += SPAN) sum(at, means, at);
  return means;
}

// Whether C is 0 or more at 1 .. last; looks far away first, where a base fails.
export function holdsUpTo(inverse, last) {
  const sum = blockSummer(inverse);
  const block = new Float64Array(SPAN);
  for (let first = last - SPAN + 1; first > -SPAN; first -= SPAN) {
    sum(first, block, 0);
    for (let i = Math.max(0, 1 - first); i < SPAN; i += 1) if (block[i] < 0) return false;
  }
  return true;
}

export function smallestBase(headDim, kept, last, bases) {
  return bases.find((base) => holdsUpTo(keptFrequencies(headDim, base, kept), last)) ?? NaN;
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

// Distances to sample a smooth line at: all of them, or about SAMPLES, evenly along the axis.
export function sampleDistances(last, logarithmic) {
  const start = logarithmic ? 1 : 0;
  const count = Math.min(SAMPLES, last - start);
  const found = new Set();
  for (let i = 0; i <= count; i += 1) {
    found.add(Math.round(logarithmic ? last ** (i / count) : start + ((last - start) * i) / count));
  }
  return [...found];
}

// One column of pixels may hold many distances: its lowest and its highest value, in their order.
export function columnPoints(means, last, width, logarithmic) {
  const points = [];
  const edge = (column) => (logarithmic ? last ** ((column + 0.5) / width) : (last * (column + 0.5)) / width);
  const place = (r) => (logarithmic ? (Math.log(r) / Math.log(last)) * width : (r / last) * width);
  let r = logarithmic ? 1 : 0;
  for (let column = 0; column <= width && r <= last; column += 1) {
    const end = Math.min(last, Math.floor(edge(column)));
    if (end < r) continue;
    let [low, high] = [r, r];
    for (let at = r + 1; at <= end; at += 1) {
      if (means[at] < means[low]) low = at;
      if (means[at] > means[high]) high = at;
    }
    const x = end > r ? column : place(r);
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

export function samePreset(presets, state) {
  const names = ["head_dim", "base", "context", "kept"];
  const found = Object.entries(presets).find(([, p]) => names.every((name) => p[name] === state[name]));
  return found ? found[0] : "custom";
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const presets = model.get("presets");
  const bases = model.get("bases");
  const names = ["head_dim", "base", "context", "kept", "log_axis"];
  let held = { of: "", means: undefined };
  let bound = { of: "", base: NaN };
  let drawn = "";

  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const text = (className, anchor = "start") => svg("text", { class: className, "text-anchor": anchor }, picture);
  const beneath = svg("rect", { class: "rope-beyond" }, picture);
  const grid = svg("path", { class: "rope-grid" }, picture);
  const axes = svg("path", { class: "rope-axis" }, picture);
  const zero = svg("path", { class: "rope-distance-zero" }, picture);
  const slowLine = svg("path", { class: "rope-distance-slow" }, picture);
  const firstLine = svg("path", { class: "rope-distance-first" }, picture);
  const boundLine = svg("path", { class: "rope-distance-bound" }, picture);
  const small = svg("path", { class: "rope-distance-curve" }, picture);
  const curve = svg("path", { class: "rope-distance-curve" }, picture);
  const firstDot = svg("circle", { class: "rope-now", r: 5 }, picture);
  const labels = {
    bound: text("rope-distance-title"),
    curve: text("rope-distance-title"),
    axis: text("", "end"),
    below: text("", "end"),
    first: text("rope-distance-label"),
    slow: text("rope-distance-label rope-distance-slow-label"),
  };
  const boundTicks = [text("", "end"), text("", "end")];
  const curveTicks = [1, 0.5, 0, -0.5, -1].map((value) => ({ value, node: text("", "end") }));
  const distanceTicks = Array.from({ length: 7 }, () => text("", "middle"));
  setText(labels.bound, words.boundTitle);
  setText(labels.curve, words.curveTitle);
  setText(labels.axis, words.axis);
  setText(labels.below, words.below);
  setText(labels.first, words.firstHere);
  setText(labels.slow, words.slowHere);

  const put = (changes) => {
    commit(model, changes);
    schedule();
  };
  const controls = {
    base: slider({
      name: "base",
      label: words.base,
      tone: "neutral",
      min: 2,
      max: 7,
      step: 0.01,
      toInput: (base) => Math.log10(base),
      fromInput: (power) => Number((10 ** power).toPrecision(3)),
      format: formatQuantity,
      onInput: (base) => put({ base }),
    }),
    head_dim: slider({
      name: "head_dim",
      label: words.headDim,
      tone: "neutral",
      min: 2,
      max: 256,
      step: 2,
      format: formatQuantity,
      onInput: (head_dim) => put({ head_dim }),
    }),
    context: slider({
      name: "context",
      label: words.context,
      tone: "position",
      min: 6,
      max: 17,
      toInput: (context) => Math.log2(context),
      fromInput: (power) => 2 ** power,
      format: formatQuantity,
      onInput: (context) => put({ context }),
    }),
    kept: slider({
      name: "kept",
      label: words.kept,
      tone: "angle",
      min: 0,
      max: 1,
      step: 0.05,
      format: (kept) => formatNumber(kept, 2),
      onInput: (kept) => put({ kept }),
    }),
  };
  const logAxis = toggle({
    name: "log_axis",
    label: words.logAxis,
    onChange: (log_axis) => put({ log_axis }),
  });
  const stops = Object.entries(presets).map(([name, values]) => ({
    name,
    ...button({ name: `preset_${name}`, label: words.presets[name] ?? name, onClick: () => put(values) }),
  }));
  const reports = Object.fromEntries(
    [
      "rises",
      "first_negative",
      "base_bound",
      "cosine_at_context",
      "bound_at_context",
      "wavelength_slowest",
      "turning_pairs",
    ].map((name) => [name, report(name)]),
  );
  const lesson = html("p");
  const pictureBox = html("div", { class: "rope-distance-picture" }, picture);
  const frame = html(
    "div",
    { class: "rope-frame rope-distance" },
    html(
      "div",
      { class: "rope-row rope-row-first", role: "group", "aria-label": words.stops },
      ...stops.map((stop) => stop.node),
    ),
    html("div", { class: "rope-lesson" }, lesson),
    pictureBox,
    html(
      "div",
      { class: "rope-controls rope-controls-two" },
      ...Object.values(controls).map((control) => control.node),
    ),
    html("div", { class: "rope-row rope-row-first" }, logAxis.node),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.rises, reports.rises.node),
      readout(words.first, reports.first_negative.node),
      readout(words.atContext, reports.cosine_at_context.node),
      readout(words.boundAtContext, reports.bound_at_context.node),
      readout(words.slowest, reports.wavelength_slowest.node),
      readout(words.turning, reports.turning_pairs.node),
      readout(words.baseBound, reports.base_bound.node),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  function compute(state) {
    const inverse = keptFrequencies(state.head_dim, state.base, state.kept);
    const of = JSON.stringify([state.head_dim, state.base, state.kept]);
    held = { of, means: cosineMeans(inverse, state.context, held.of === of ? held.means : undefined) };
    const wanted = JSON.stringify([state.head_dim, state.kept, state.context]);
    if (bound.of !== wanted) {
      bound = { of: wanted, base: smallestBase(state.head_dim, state.kept, state.context, bases) };
    }
    const { means } = held;
    return {
      inverse,
      means,
      rises: countRises(means, state.context),
      first: firstNegative(means, state.context),
      slowest: slowestTurn(inverse),
      turning: inverse.filter((frequency) => frequency > 0).length,
    };
  }

  function drawPicture({ context, log_axis }, found, width) {
    const across = width - LEFT - RIGHT;
    const x = log_axis
      ? (r) => LEFT + (Math.log(r) / Math.log(context)) * across
      : (r) => LEFT + (r / context) * across;
    const points = columnPoints(found.means, context, Math.floor(across), log_axis);
    const stretch = across / Math.floor(across);
    const lowest = points.reduce((low, [, value]) => Math.min(low, value), 0);
    const floor = lowest < -0.4 ? -1 : -0.4;
    const most = (found.inverse.length + 1) / 2;
    const up = linearScale(floor, 1, CURVE.bottom, CURVE.top);
    const wide = linearScale(0, most, BOUND.bottom, BOUND.top);
    setAttributes(picture, { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT });
    const at = ([column, value], scale) => [LEFT + column * stretch, scale(value)];
    setAttributes(curve, { d: polylinePath(points.map((point) => at(point, up))) });
    setAttributes(small, { d: polylinePath(points.map(([column, value]) => at([column, Math.abs(value)], wide))) });
    const line = sampleDistances(context, log_axis).map((r) => [x(r), wide(partialSumBound(found.inverse, r))]);
    setAttributes(boundLine, { d: polylinePath(line) });

    setAttributes(beneath, { x: LEFT, y: up(0), width: across, height: CURVE.bottom - up(0) });
    setAttributes(zero, { d: `M${LEFT} ${up(0)}H${LEFT + across}` });
    setAttributes(labels.below, { x: LEFT + across - 6, y: CURVE.bottom - 6 });
    setAttributes(labels.bound, { x: LEFT, y: BOUND.top - 9 });
    setAttributes(labels.curve, { x: LEFT, y: CURVE.top - 11 });
    setAttributes(labels.axis, { x: LEFT + across, y: HEIGHT - 2 });
    [0, most].forEach((value, i) => {
      setAttributes(boundTicks[i], { x: LEFT - 6, y: wide(value) + 4 });
      setText(boundTicks[i], formatQuantity(value));
    });
    const seen = curveTicks.filter(({ value }) => value >= floor);
    for (const { value, node } of curveTicks) {
      node.style.display = value >= floor ? "" : "none";
      setAttributes(node, { x: LEFT - 6, y: up(value) + 4 });
      setText(node, formatNumber(value, Number.isInteger(value) ? 0 : 1));
    }
    const ticks = axisTicks(context, log_axis);
    distanceTicks.forEach((node, i) => {
      node.style.display = i < ticks.length ? "" : "none";
      if (i >= ticks.length) return;
      const end = i === ticks.length - 1;
      setAttributes(node, {
        x: x(ticks[i]) + (end ? RIGHT - 2 : 0),
        y: CURVE.bottom + 18,
        "text-anchor": end ? "end" : "middle",
        class: end ? "rope-context-label" : "",
      });
      setText(node, formatQuantity(ticks[i]));
    });
    const uprights = ticks.map(
      (tick) => `M${x(tick)} ${BOUND.top}V${BOUND.bottom}M${x(tick)} ${CURVE.top}V${CURVE.bottom + 4}`,
    );
    const levels = seen.map(({ value }) => `M${LEFT} ${up(value)}H${LEFT + across}`);
    setAttributes(grid, { d: [...uprights, ...levels].join("") });
    setAttributes(axes, { d: `M${LEFT} ${BOUND.bottom}H${LEFT + across}M${LEFT} ${CURVE.bottom}H${LEFT + across}` });

    const mark = (value, lineNode, label, y, from) => {
      const here = value >= 1 && value <= context;
      for (const node of [lineNode, label]) node.style.display = here ? "" : "none";
      if (!here) return;
      const left = x(value) < width / 2;
      setAttributes(lineNode, { d: `M${x(value)} ${from}V${CURVE.bottom}` });
      setAttributes(label, { x: x(value) + (left ? 7 : -7), y, "text-anchor": left ? "start" : "end" });
    };
    mark(found.first, firstLine, labels.first, CURVE.top + 16, CURVE.top);
    mark(found.slowest, slowLine, labels.slow, CURVE.top + 34, CURVE.top);
    firstDot.style.display = found.first <= context ? "" : "none";
    if (found.first <= context) {
      setAttributes(firstDot, { cx: x(found.first), cy: up(found.means[found.first]) });
    }
  }

  function update() {
    const width = clamp(pictureBox.clientWidth || 700, 240, 800);
    const state = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    const look = JSON.stringify([state, width]);
    for (const [name, control] of Object.entries(controls)) control.update(state[name]);
    if (look === drawn) return;
    drawn = look;
    const found = compute(state);
    drawPicture(state, found, width);
    logAxis.update(state.log_axis);
    const preset = samePreset(presets, state);
    for (const stop of stops) stop.update(stop.name === preset);
    const tokens = (value) => fill(words.tokens, { value: formatQuantity(value) });
    const { rises, first, slowest, turning } = found;
    reports.rises.update(rises, formatQuantity(rises));
    reports.first_negative.update(first, Number.isNaN(first) ? words.never : tokens(first));
    reports.base_bound.update(bound.base, Number.isNaN(bound.base) ? words.noBase : formatQuantity(bound.base));
    const last = found.means[state.context];
    reports.cosine_at_context.update(last, formatNumber(last, 3));
    const most = partialSumBound(found.inverse, state.context);
    reports.bound_at_context.update(most, formatNumber(most, 2));
    reports.wavelength_slowest.update(slowest, Number.isNaN(slowest) ? words.never : tokens(slowest));
    reports.turning_pairs.update(turning, `${turning} / ${found.inverse.length}`);
    const said = [
      fill(words.lessonRises, { context: formatQuantity(state.context), rises: formatQuantity(rises) }),
      Number.isNaN(first) ? words.lessonNever : fill(words.lessonFirst, { first: formatQuantity(first) }),
      turning ? fill(words.lessonSlow, { wavelength: formatQuantity(slowest) }) : words.lessonStill,
    ].join(" ");
    if (lesson.dataset.said !== said) {
      lesson.dataset.said = said;
      lesson.innerHTML = said;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, names, root, schedule);
  update();
  return () => {
    unwatch();
    summary.stop();
  };
}

export default { render };
