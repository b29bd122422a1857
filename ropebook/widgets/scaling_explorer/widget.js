import { numberIn, oneOf, stateAddress } from "../kit/address.js";
import { IN_POWERS_OF_TEN, IN_POWERS_OF_TWO, fold } from "../kit/controls.js";
import { div, html, legendOf, svg, whenChanged, widthOf } from "../kit/dom.js";
import { mount } from "../kit/mount.js";
import { dotsPath } from "../kit/paths.js";
import { fill, formatAngle, formatNumber, formatQuantity } from "../kit/text.js";
import { curvePicture } from "./curve_picture.js";
import { diamondsPath, handsPicture } from "./hands_picture.js";
import { scaledBy, slowdowns, survey } from "./methods.js";

const WORDS = {
  en: {
    title: "Scaling explorer: how much each method slows each hand",
    picture: {
      hands:
        "Over the hands, fastest first: wavelength before and after scaling against the original and the new length; below, how many times slower each hand has become",
      curve: "The mean of all hands’ cosines over distance, before and after scaling",
    },
    stops: "Models to visit",
    leads: { stops: "model:", method: "method:" },
    presets: {
      pi: "Llama 2, PI",
      ntk_aware: "NTK-aware, 8 for 4",
      yarn: "YaRN, 16",
      code_llama: "Code Llama",
      llama31: "Llama 3.1",
    },
    more: "more: numbers, other sizes, a link",
    method: "Method",
    nothing: "Nothing to set: speeds are as trained.",
    methods: {
      default: "none",
      linear: "PI",
      ntk_aware: "NTK-aware",
      ntk_fixed: "NTK fixed",
      dynamic_ntk: "dynamic NTK",
      ntk_by_parts: "NTK by parts",
      yarn: "YaRN",
      llama3: "Llama 3",
      proportional: "p-RoPE",
      raised_base: "new base",
    },
    hold: "compare with this",
    link: "link to this state",
    linkSaid: { stands: "It is in the page’s address.", broken: "The address asks for a state that does not exist." },
    sliders: {
      factor: "factor",
      base: "base in training",
      headDim: "head_dim",
      original: "original length, tokens",
      asked: "new length, tokens",
      newBase: "new base",
      share: "share of hands that turn",
    },
    titles: { waves: "wavelength, tokens", stretch: "times slower", curve: "mean of the cosines, smoothed" },
    axes: { hand: "hand, fastest first", distance: "distance, tokens" },
    lines: { original: "original: {value}", new: "new: {value}" },
    endless: "∞",
    legend: {
      inside: "within the seen arc",
      outside: "goes on to unseen angles",
      before: "before",
      vain: "had seen every angle, is slowed",
    },
    curves: { before: "before", after: "now", held: "compared" },
    held: "dotted: {name}",
    readouts: {
      outside: "at unseen angles",
      inVain: "slowed in vain",
      step: "fastest hand per token",
      attention: "attention factor",
      base: "same as base",
    },
    of: " of ",
    to: " → ",
    none: "none",
    lessons: {
      slow: "Of {short} hands short of a turn in training, <b>{outside}</b> reach unseen angles. ",
      fast: "Of {round} that had seen every angle, <b>{inVain}</b> are slowed; the fastest: {before} → <b>{step}</b> per token.",
      growing: " One token more changes all speeds but one.",
    },
  },
};

const TRAITS = ["method", "held", "factor", "base", "head_dim", "original_length", "new_length", "new_base", "share"];
const WITHOUT_FACTOR = ["default", "proportional", "raised_base"];
const ROUND = { step: 0.25, toInput: Math.log2, fromInput: (power) => Number((2 ** power).toPrecision(3)) };

export function rulesOf({ methods, limits }) {
  const steps = { head_dim: 2, original_length: 1, new_length: 1 };
  const numbers = Object.entries(limits).map(([name, range]) => [name, numberIn(range, steps[name])]);
  return { method: oneOf(methods), held: oneOf(methods), ...Object.fromEntries(numbers) };
}

// The sentence under the pictures, from the table's parts.
export function lessonOf(words, state) {
  const { method, new_length, original_length, outside, fell_short, slowed_in_vain, came_round } = state;
  const parts = ["slow", "fast"];
  if (method === "dynamic_ntk" && new_length >= original_length) parts.push("growing");
  const counts = { outside, short: fell_short, inVain: slowed_in_vain, round: came_round };
  const steps = { step: formatAngle(state.first_step), before: formatAngle(state.first_step_before) };
  const said = parts.map((part) => words.lessons[part]).join("");
  return fill(said, { ...counts, ...steps }, (value) => (typeof value === "number" ? formatQuantity(value) : value));
}

// What the marks mean, as they stand in the pictures.
const SAMPLES = {
  inside: (sample) => svg("path", { class: "rope-scaling-inside", d: dotsPath([[9, 9]], 3.6) }, sample),
  outside: (sample) => svg("path", { class: "rope-scaling-outside", d: dotsPath([[9, 9]], 3.6) }, sample),
  before: (sample) => svg("path", { class: "rope-scaling-before", d: "M5 9H13" }, sample),
  vain: (sample) => svg("path", { class: "rope-scaling-vain", d: diamondsPath([[9, 9]], 4.4) }, sample),
};
const LINES = {
  before: (sample) => svg("path", { class: "rope-scaling-unscaled", d: "M1 9H17" }, sample),
  after: (sample) => svg("path", { class: "rope-scaling-curve", d: "M1 9H17" }, sample),
  held: (sample) => svg("path", { class: "rope-scaling-held", d: "M1 9H17" }, sample),
};

// The ghost's frequencies; null where they are drawn already.
const ghostOf = (state) => {
  if (state.held === state.method || state.held === "default") return null;
  return scaledBy(state.held, state).inverse;
};

function makeControls({ words, limits, sliders, text }) {
  const [format, tone] = [formatQuantity, "neutral"];
  const inTen = ([low, high]) => ({ ...IN_POWERS_OF_TEN, min: Math.log10(low), max: Math.log10(high), format, tone });
  const inTwo = ([low, high]) => ({ ...IN_POWERS_OF_TWO, min: Math.log2(low), max: Math.log2(high), format });
  const ifUsed = (name, trait) => (state) => (state.method === name ? state[trait] : null);
  const asked = (state) => (WITHOUT_FACTOR.includes(state.method) ? null : state.factor);
  const [low, high] = limits.head_dim;
  const [factor, newBase, share, original, longer, ...others] = sliders({
    factor: { label: words.sliders.factor, tone: "k", ...inTwo(limits.factor), ...ROUND, value: asked },
    new_base: {
      label: words.sliders.newBase,
      ...inTen(limits.new_base),
      tone: "k",
      value: ifUsed("raised_base", "new_base"),
    },
    share: {
      label: words.sliders.share,
      tone: "k",
      max: 1,
      step: 0.05,
      format: formatNumber,
      value: ifUsed("proportional", "share"),
    },
    original_length: { label: words.sliders.original, tone: "position", ...inTwo(limits.original_length) },
    new_length: { label: words.sliders.asked, tone: "position", ...inTwo(limits.new_length) },
    base: { label: words.sliders.base, ...inTen(limits.base) },
    head_dim: { label: words.sliders.headDim, tone, min: low, max: high, step: 2, format },
  });
  // A method has one of the first three, or none: they share a place.
  const nothing = text(({ method }) => (method === "default" ? words.nothing : ""));
  const own = div("rope-scaling-own", factor, newBase, share, nothing);
  return { first: [own, longer], others: [original, ...others] };
}

function makeReadouts({ words, readouts, show }) {
  const names = words.readouts;
  const format = String;
  const of = (name) => [words.of, show(name, undefined, { format })];
  return readouts({
    outside: { label: names.outside, format, more: of("fell_short") },
    slowed_in_vain: { label: names.inVain, format, more: of("came_round") },
    first_step_before: {
      label: names.step,
      format: formatAngle,
      more: [words.to, show("first_step", undefined, { format: formatAngle })],
    },
    equal_base: { label: names.base, format: (value) => (Number.isNaN(value) ? words.none : formatQuantity(value)) },
    attention_factor: { label: names.attention, format: (value) => formatNumber(value, 3) },
  });
}

function build({ words, model, lesson, address, buttons, chooser, sliders, readouts, show, text }) {
  const [hands, curve] = [handsPicture(words), curvePicture(words)];
  const [drawHands, drawCurve] = [hands.draw, curve.draw].map(whenChanged);
  const places = [hands, curve].map(({ node }) => div("rope-scaling-place", node));
  const presets = Object.entries(model.get("presets")).map(([name, visit]) => [
    `preset_${name}`,
    { label: words.presets[name], visit },
  ]);
  const options = model.get("methods").map((name) => [name, words.methods[name]]);
  const [hold, link] = buttons({
    hold: {
      label: words.hold,
      visit: ({ method, held }) => ({ held: held === method ? "default" : method }),
      pressed: ({ method, held }) => held === method,
    },
    link: { label: words.link, pressed: address.stands, onClick: address.write },
  });
  const controls = makeControls({ words, limits: model.get("limits"), sliders, text });
  const said = (state) => (address.stands(state) ? "stands" : address.broken() ? "broken" : null);
  const lead = (name) => html("span", { class: "rope-scaling-lead", "aria-hidden": "true" }, name);
  const visits = html(
    "div",
    { class: "rope-row rope-row-first rope-scaling-methods", role: "group", "aria-label": words.stops },
    lead(words.leads.stops),
    ...buttons(Object.fromEntries(presets)),
  );
  const numbers = div("rope-readouts", ...makeReadouts({ words, readouts, show }));
  const compared = text(({ held }) => fill(words.held, { name: words.methods[held] }));
  const linkSaid = text((state) => words.linkSaid[said(state)] ?? "");
  const keep = div("rope-scaling-keep", div("rope-row", hold, compared), div("rope-row", link, linkSaid));
  return {
    node: div(
      "rope-frame rope-scaling",
      div("rope-stays", places[0]),
      div("rope-scaling-legend", legendOf(words.legend, [18, 18], SAMPLES)),
      div(
        "rope-scaling-main",
        chooser("method", {
          label: words.method,
          lead: [lead(words.leads.method)],
          options,
          className: "rope-row rope-scaling-methods",
        }),
        div("rope-controls rope-controls-two", ...controls.first),
        visits,
      ),
      div("rope-scaling-says", lesson),
      div("rope-scaling-side", places[1], legendOf(words.curves, [18, 18], LINES)),
      fold({ label: words.more, nodes: [div("rope-controls", ...controls.others), keep, numbers] }).node,
    ),
    measure: (narrow) => ({ narrow, wide: widthOf(places[0], 240, 800), side: widthOf(places[1], 220, 800) }),
    derive: survey,
    draw(state, { narrow, wide, side }) {
      const ghost = ghostOf(state);
      const { hands: shown, original_length, new_length } = state;
      drawHands({ hands: shown, original_length, new_length }, ghost && slowdowns(shown.unscaled, ghost), wide, narrow);
      drawCurve({ hands: shown, original_length, new_length }, ghost, side, narrow);
    },
    lesson: (state) => lessonOf(words, state),
  };
}

const linked = ({ model, ...tools }) => {
  const rules = rulesOf({ methods: model.get("methods"), limits: model.get("limits") });
  return stateAddress({ name: "scaling_explorer", rules, ...tools });
};

export default { render: mount({ words: WORDS, traits: TRAITS, linked, build }) };
