import { OWN_KEYS, button, readout, report, slider } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { TAU, clamp } from "../kit/math.js";
import { commit, frameScheduler, watch } from "../kit/motion.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatQuantity, pickWords, superscript } from "../kit/text.js";
import { readConfig, same } from "./config_reader.js";
import { parseJson } from "./json_places.js";
import { frequencies, shownLength, turningPairs } from "./scaled_frequencies.js";

export const WORDS = {
  en: {
    title: "Config inspector: what a model's config.json says about its rotary embedding",
    text: "config.json, paste any model’s",
    layerType: "kind of layer",
    picture: "Wavelength of every pair, before and after scaling, against the context; below, the stretch",
    pair: "pair",
    seqLen: "length of the text, tokens",
    examples: {
      llama3_1: "Llama 3.1 8B",
      qwen2_5_yarn: "Qwen2.5 + YaRN",
      gemma3: "Gemma 3",
      gpt_neox: "GPT-NeoX-20B",
      deepseek_v3: "DeepSeek-V3",
      phi3: "Phi-3 (LongRoPE)",
      gpt_oss: "gpt-oss",
    },
    legendTurns: "completes a turn within the context",
    legendNever: "never does (hollow)",
    legendGhost: "before scaling",
    wavelengthAxis: "wavelength, tokens",
    stretchAxis: "slowed, times",
    pairAxis: "pair, fastest first",
    contextLine: "context {value}",
    lengthLine: "text {value}",
    originalLine: "trained {value}",
    endless: "∞",
    beyondFloat: "a number beyond 10³⁰⁸",
    unreadable: "Not read as a rotary configuration yet. {reason}",
    verdict: "<b>{never} of {pairs}</b> pairs never complete a turn within {length} tokens.",
    verdictOpen: "<b>{pairs} pairs</b> turn. No length is stated, so none can be judged.",
    verdictAll: "<b>Every pair</b> completes a turn within {length} tokens: {pairs} of {pairs}.",
    noScaling: "Nothing is scaled: each pair turns as fast as the base says.",
    linear: "Every pair is slowed {factor} times, the fast ones as well.",
    untouched: "{range}, up to {to} tokens a turn: untouched.",
    blended: "{range}, {from} to {to} tokens a turn: blended.",
    slowed: "{range}, from {from} tokens a turn: slowed {factor} times.",
    pairRange: "Pairs {first} to {last}",
    pairOne: "Pair {first}",
    dynamicRest: "Up to {max} tokens nothing is scaled; in a longer text the base grows with its length.",
    dynamic:
      "At this length the base has grown to {base}: the fastest pair keeps its pace, the slowest is slowed {factor} times.",
    longropeShort: "Up to {original} tokens the short list holds; it slows pairs by {low} to {high} times.",
    longropeLong:
      "Beyond {original} tokens the long list holds, for all positions; it slows pairs by {low} to {high} times.",
    proportional: "Only {turning} pairs turn; the other {still} stand still at every position.",
    attention: "cos and sin are multiplied by {factor}, so a score by {score}.",
    partial: "Only {rotary} of {head} dimensions rotate.",
    nopeLayers: "{count} of {total} layers do not rotate at all.",
    layout: "layout",
    layouts: { half: "half (i, i + {half})", interleaved: "interleaved (2i, 2i + 1)" },
    headDim: "head_dim",
    rotaryDim: "rotary_dim",
    base: "base",
    ropeType: "rope type",
    attentionFactor: "attention factor",
    fastest: "fastest turn, tokens",
    slowest: "slowest turn, tokens",
    neverCount: "short of a turn",
    neverTrained: "short of it in training",
    rotating: "layers that rotate so",
    still: "layers that never rotate",
    unknown: "not said",
    none: "none",
    dims: "dimensions",
    before: "before scaling",
    after: "a turn, tokens",
    stretch: "slowed",
    turns: "turns in context",
    times: "{value} ×",
    of: "{count} of {total}",
    place: "Line {line}, column {column}: {reason}.",
    problems: {
      long: "The text has {value} characters; at most {most} are read, and no model needs so many.",
      object: "A configuration is one JSON object, {…}; got {value}.",
      missing: "{keys} must be given with rope type {type}.",
      missingBase: "rope_theta is missing, and the model_type is unknown, so no base can be assumed.",
      missingLayers: "layer_types is missing: it says which layers rotate.",
      scaledByDefault:
        "rope_parameters is missing, and transformers' default for model_type {value} is not to leave frequencies as they are.",
      rule: "{key} must be {rule}, got {value}.",
      entries: "{key} must have at most {most} entries, got {value}.",
      layers: "{key} must have one entry per layer, {wanted} here, got {value}.",
      layerBases: "layer_rope_theta must have one base besides 0 to be read, got {value}.",
      perLayer: "per_layer_config must map the index of a layer to an object, got the key {value}.",
      severalWidths: "head_dim must be one number for all layers of a kind, got {value} in per_layer_config.",
      length: "{key} must have one number per pair, {wanted} here, got {value}.",
      disagree: "{key} is {value}, but {other} is {otherValue}: they must agree.",
      widths: "{key} makes {value} dimensions rotate, but {other} {otherValue}: they must agree.",
      outside: "{key} is {value} outside of rope_parameters, and no set inside repeats it.",
      mixed: "rope_parameters must be flat or hold one set per kind of layer, got both: {keys}.",
      lost: "{keys}: given, but the rope type is default or not named.",
      unknown: "{key} is unknown; rope type {type} reads {known}.",
      type: "{key} must be one of {known}, got {value}.",
      unsupportedType: "Rope type {value} is not computed here: {why}.",
      headDim: "head_dim is missing, and so is hidden_size or num_attention_heads to compute it from.",
      divide:
        "hidden_size must be a multiple of num_attention_heads where head_dim is missing, got {value} and {otherValue}.",
      rotaryDim: "rotary_dim must be even, at least 2 and at most {most} here, got {value}.",
      pairs: "rotary_dim must be greater than 2 with rope type {type}, got 2.",
      order: "{key} must be {rule} {other}, got {value} and {otherValue}.",
      alone: "{key} must come with its twin: mscale and mscale_all_dim are given together or not at all.",
      ramp: "The ramp must lie within the head, got original_max_position_embeddings {value} with base {otherValue}.",
      layerType: "The kind of layer must be one of {known}, got {value}.",
      still: "Layers of kind {value} have null as rope_parameters: they do not rotate.",
      unsupported: "model_type {value} is not computed here: {why}.",
      noRotation: "This model does not rotate: its {key} is {value}.",
    },
    warnings: {
      no_effect: "No effect with rope type {type}: {keys}.",
      unread: "Not read: {keys}.",
      aside: "{keys}: not read; it {why}.",
      beside: "No effect beside attention_factor: {keys}.",
      assumed: "{key} is not given; {value} is assumed, {why}.",
      alias: "Rope type {value} is read as {meant}.",
      softmax: "This model multiplies its softmax scale by {value} on top.",
      reach: "factor × original_max_position_embeddings is {reach} tokens; max_position_embeddings says {max}.",
      model: "model_type {value} is unknown here; layout half is assumed.",
      no_model: "No model_type is given; layout half is assumed.",
    },
    why: {
      model: "transformers' default for this model_type",
      ratio: "the ratio of the two lengths",
    },
    rules: {
      number: "a number of at most 10¹⁵",
      tiny: "a number of at least 10⁻¹⁵",
      positive: "a number greater than 0",
      above_one: "a number greater than 1",
      at_least_one: "a number of at least 1",
      not_negative: "a number of at least 0",
      count: "a whole number of at least 1",
      count_or_zero: "a whole number of at least 0",
      dimensions: "a whole number from 1 to 4096",
      layers: "a whole number from 1 to 10 000",
      switch: "0 or 1",
      share: "a number greater than 0 and at most 1",
      boolean: "true or false",
      text: "text",
      mapping: "an object or null",
      positives: "a list of numbers",
      bases: "a list of one number per layer",
      switches: "a list of one 0 or 1 per layer",
      names: "a list of one name per layer",
      pattern: "a whole number or a text of L and G",
      greater: "greater than",
      at_least: "at least",
    },
    reasons: {
      empty: "there is no text yet",
      end: "the text ends here, inside what was opened on line {opened}",
      value: "a value must stand here, found {found}",
      key: "a key in double quotes must stand here, found {found}",
      colon: "a colon must follow the key, found {found}",
      comma: "a comma or the closing {closing} must stand here, found {found}",
      trailing: "no comma may stand before the closing {closing}",
      string: "this text in quotes does not end on its line or holds a bad escape",
      rest: "nothing may follow the configuration, found {found}",
      twice: "the key {found} stands here a second time",
      deep: "this is nested more than {most} deep",
    },
  },
};

// ---- what the numbers say ----

// Indices of the pairs that complete no turn within so many tokens; a pair at rest is one of them.
// Without a length there is nothing to judge.
export function neverTurn(inverse, length) {
  if (length === null) return [];
  return inverse.flatMap((f, i) => (TAU / f > length ? [i] : []));
}

// [first, last] of the pairs that are untouched, between, and slowed by the whole factor.
export function bands(stretches) {
  const most = Math.max(...stretches);
  const found = { most };
  stretches.forEach((s, i) => {
    const kind = Math.abs(s - 1) < 1e-9 ? "untouched" : s > most * (1 - 1e-9) ? "slowed" : "blended";
    found[kind] = [found[kind]?.[0] ?? i, i];
  });
  return found;
}

// "3, 7, 11, …, 47" says as much as the whole list.
export function shortList(indices) {
  return indices.length <= 4 ? indices.join(", ") : `${indices.slice(0, 3).join(", ")}, …, ${indices.at(-1)}`;
}

// What changes how a line is read, such as a mark for right to left, is shown and not obeyed.
const escaped = (char) => `\\u{${char.codePointAt(0).toString(16)}}`;
const briefly = (key, value) => (key && typeof value === "object" && value !== null ? "…" : value);

// The sentence for a problem or a warning, in the reader's language.
export function tell(words, { code, table = "problems", ...details }) {
  const quote = (value) => {
    if (typeof value === "number" && !Number.isFinite(value)) return words.beyondFloat;
    // Of a long text or list the beginning is enough, and all of it may take long.
    const some = typeof value === "string" || Array.isArray(value) ? value.slice(0, 60) : value;
    const text = (JSON.stringify(some, briefly) ?? words.none).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);
    return text.length > 60 ? `${text.slice(0, 57)}…` : text;
  };
  const name = (item) => quote(item).slice(1).replace(/"$/, "");
  const list = (items) => (items?.length ? items.slice(0, 20).map(name).join(", ") : words.none);
  const { value, otherValue, found, keys, known, rule, why } = details;
  const parts = {
    ...details,
    ...{ value: quote(value), otherValue: quote(otherValue), found: quote(found) },
    ...{ key: name(details.key ?? ""), other: name(details.other ?? "") },
    ...{ keys: list(keys), known: list(known), rule: words.rules[rule], why: words.why[why] ?? why },
  };
  const sentence = fill(words[table][code], parts);
  return table === "reasons" ? fill(words.place, { ...details, reason: sentence }) : sentence;
}

// Warnings of one kind and reason are one sentence; the picture adds what its reader may wonder at.
export function warningsOf(notes, spec) {
  const grouped = new Map();
  for (const { key, ...found } of notes) {
    const kind = JSON.stringify(found);
    if (grouped.has(kind) && found.code !== "assumed") grouped.get(kind).keys.push(key);
    else grouped.set(found.code === "assumed" ? key : kind, { ...found, key, keys: [key] });
  }
  const warnings = [...grouped.values()];
  if (!spec) return warnings;
  if (spec.written && spec.written !== spec.type)
    warnings.push({ code: "alias", value: spec.written, meant: spec.type });
  const reach = spec.type === "yarn" ? spec.factor * spec.trained : spec.maxSeqLen;
  if (spec.maxSeqLen && reach !== spec.maxSeqLen) warnings.push({ code: "reach", reach, max: spec.maxSeqLen });
  if (spec.softmaxFactor !== 1) warnings.push({ code: "softmax", value: Number(spec.softmaxFactor.toPrecision(4)) });
  return warnings;
}

export function inspect(text, layerType, seqLen, table) {
  const { value, problem } = parseJson(text, table.most);
  if (problem) return { problems: [problem], warnings: [], layerTypes: [], layerType, spec: null };
  const { notes, ...result } = readConfig(value, layerType, table);
  const warnings = warningsOf(notes, result.spec);
  if (!result.spec) return { ...result, notes, warnings };
  const length = shownLength(result.spec, seqLen);
  return { ...result, notes, warnings, length, ...frequencies(result.spec, length) };
}

// ---- the picture ----

const PLOT = { left: 46, right: 8, top: 16, height: 210, gap: 40, stretch: 74, bottom: 36 };

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const examples = model.get("examples");
  const table = model.get("rules");
  let chosenPair = null;
  let state = null;
  let timer = null;
  let drawn = "";

  // Texts come from the reader's paste, so they are set as text and never as HTML.
  const boldText = (sentence, values) =>
    sentence.split(/<b>|<\/b>/).map((piece, i) => (i % 2 ? html("b", {}, fill(piece, values)) : fill(piece, values)));

  const setConfig = (config) => {
    clearTimeout(timer);
    timer = null;
    if (config === model.get("config")) return;
    const { layerTypes, problems } = inspect(config, "", 0, table);
    const kind = model.get("layer_type");
    const gone = problems[0]?.table !== "reasons" && kind && !layerTypes.includes(kind);
    commit(model, { config, ...(gone ? { layer_type: "" } : {}) });
  };
  const id = `rope-config-${Math.random().toString(36).slice(2)}`;
  const box = html("textarea", {
    ...{ id, class: "rope-config-text", rows: 16, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...{ "data-control": "config", "aria-describedby": `${id}-problems`, ...OWN_KEYS },
  });
  // The browser itself would take seconds to lay out a text that nobody will read.
  box.addEventListener("beforeinput", (event) => {
    const length = box.value.length + (event.data?.length ?? 0);
    if (length <= table.most.characters || !event.data) return;
    event.preventDefault();
    showProblems([tell(words, { code: "long", value: length, most: table.most.characters })]);
  });
  box.addEventListener("input", () => {
    clearTimeout(timer);
    // A reader in the middle of a word has made no mistake yet.
    timer = setTimeout(() => setConfig(box.value), 350);
  });
  box.addEventListener("change", () => setConfig(box.value));

  const exampleButtons = Object.entries(examples).map(([name, config]) => ({
    config,
    ...button({
      name: `example_${name}`,
      label: words.examples[name] ?? name,
      onClick: () => {
        clearTimeout(timer);
        timer = null;
        chosenPair = null;
        commit(model, { config, layer_type: "", seq_len: 0 });
      },
    }),
  }));
  const kinds = html("div", { class: "rope-row", role: "group", "aria-label": words.layerType });
  const kindBox = html(
    "div",
    { class: "rope-config-kinds" },
    html("span", { class: "rope-readout-label" }, words.layerType),
    kinds,
  );
  let kindButtons = [];

  const problemBox = html("div", { class: "rope-config-problems", id: `${id}-problems`, "data-text": "problems" });
  const warningList = html("ul", { class: "rope-config-warnings", "data-text": "warnings" });

  const lengthSlider = slider({
    name: "seq_len",
    label: words.seqLen,
    tone: "position",
    min: 7,
    max: 17,
    step: 0.05,
    toInput: (length) => Math.log2(length),
    fromInput: (power) => 2 ** power,
    format: formatQuantity,
    onInput: (length) => commit(model, { seq_len: clamp(Math.round(length), 1, longest(state.spec)) }),
  });
  const longest = (spec) =>
    (spec.maxSeqLen ?? 4 * spec.trained) * (spec.type === "dynamic" ? Math.max(2, spec.factor) : 1);
  const pairSlider = slider({
    name: "pair",
    label: words.pair,
    tone: "angle",
    min: 0,
    max: 63,
    format: String,
    onInput: (pair) => {
      chosenPair = pair;
      schedule();
    },
  });

  const reports = Object.fromEntries(
    [
      ...["head_dim", "rotary_dim", "base", "attention_factor"],
      ...["wavelength_fastest", "wavelength_slowest", "never_turn_count", "never_turn_trained"],
      ...[
        "layers_still",
        "layers_rotating",
        "pair_first",
        "pair_second",
        "pair_unscaled",
        "pair_wavelength",
        "pair_stretch",
      ],
      "pair_turns",
    ].map((name) => [name, report(name)]),
  );
  reports.layers_still.node.classList.add("rope-config-wrap");
  // What is said in words has a `data-text`; `data-report` is for numbers.
  const inWords = (name) => html("span", { class: "rope-report rope-config-wrap", "data-text": name });
  const [layout, ropeType] = [inWords("layout"), inWords("rope_type")];

  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const beyond = svg("rect", { class: "rope-beyond", rx: 4 }, picture);
  const grid = svg("g", {}, picture);
  const chosenLine = svg("path", { class: "rope-config-chosen" }, picture);
  const originalLine = svg("path", { class: "rope-config-original" }, picture);
  const contextLine = svg("path", { class: "rope-context-line" }, picture);
  const stems = svg("g", {}, picture);
  const stretchCurve = svg("path", { class: "rope-config-stretch" }, picture);
  const stretchDot = svg("circle", { class: "rope-config-stretch-dot", r: 4 }, picture);
  const dots = svg("g", {}, picture);
  const chosenDot = svg("circle", { class: "rope-wave-chosen", r: 7 }, picture);
  const contextLabel = svg("text", { class: "rope-context-label" }, picture);
  const originalLabel = svg("text", { class: "rope-config-original-label" }, picture);

  const key = (label, ...shapes) => {
    const sample = svg("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" });
    for (const [tag, attributes] of shapes) svg(tag, attributes, sample);
    return html("li", {}, sample, label);
  };
  const dot = (name) => ["circle", { class: name, cx: 11, cy: 11, r: 4 }];
  const legend = html(
    "ul",
    { class: "rope-legend" },
    key(words.legendTurns, dot("rope-wave")),
    key(words.legendNever, dot("rope-wave-never")),
    key(
      words.legendGhost,
      ["path", { class: "rope-config-stem", d: "M11 3V15" }],
      ["path", { class: "rope-config-ghost", d: "M6 16H16" }],
    ),
  );

  const verdict = html("p", { "data-text": "verdict" });
  const pictureBox = html("div", { class: "rope-config-plot" }, picture);
  const results = html(
    "div",
    { class: "rope-config-results rope-config-hideable" },
    legend,
    pictureBox,
    pairSlider.node,
    html(
      "div",
      { class: "rope-readouts rope-config-pair" },
      readout(words.dims, reports.pair_first.node, ", ", reports.pair_second.node),
      readout(words.before, reports.pair_unscaled.node),
      readout(words.after, reports.pair_wavelength.node),
      readout(words.stretch, reports.pair_stretch.node),
      readout(words.turns, reports.pair_turns.node),
    ),
  );
  const facts = html(
    "div",
    { class: "rope-readouts rope-config-facts rope-config-hideable" },
    readout(words.ropeType, ropeType),
    readout(words.base, reports.base.node),
    readout(words.headDim, reports.head_dim.node),
    readout(words.rotaryDim, reports.rotary_dim.node),
    readout(words.attentionFactor, reports.attention_factor.node),
    readout(words.fastest, reports.wavelength_fastest.node),
    readout(words.slowest, reports.wavelength_slowest.node),
    readout(words.neverCount, reports.never_turn_count.node),
    readout(words.neverTrained, reports.never_turn_trained.node),
    readout(words.layout, layout),
    readout(words.rotating, reports.layers_rotating.node),
    readout(words.still, reports.layers_still.node),
  );
  const frame = html(
    "div",
    { class: "rope-frame" },
    html("div", { class: "rope-row rope-row-first rope-config-examples" }, ...exampleButtons.map((b) => b.node)),
    html("div", { class: "rope-lesson rope-lesson-short" }, verdict),
    html(
      "div",
      { class: "rope-config" },
      html(
        "div",
        { class: "rope-config-input" },
        html("label", { for: id }, words.text),
        box,
        problemBox,
        kindBox,
        lengthSlider.node,
        warningList,
      ),
      results,
      facts,
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  pictureBox.addEventListener("pointermove", (event) => {
    if (!state?.spec || event.pointerType !== "mouse") return;
    pickAt(event.clientX);
  });
  pictureBox.addEventListener("click", (event) => state?.spec && pickAt(event.clientX));
  function pickAt(clientX) {
    const bounds = pictureBox.getBoundingClientRect();
    const share = (clientX - bounds.left - PLOT.left) / (bounds.width - PLOT.left - PLOT.right);
    const pair = clamp(Math.floor(share * state.inverse.length), 0, state.inverse.length - 1);
    if (pair === chosenPair) return;
    chosenPair = pair;
    schedule();
  }

  function verdictParts({ spec, inverse, unscaled, length, attentionFactor, grownBase }) {
    const never = neverTurn(inverse, length).length;
    const q = formatQuantity;
    const parts = [
      [
        length === null ? words.verdictOpen : never ? words.verdict : words.verdictAll,
        { never, pairs: inverse.length, length: length === null ? "" : q(length) },
      ],
    ];
    const stretches = unscaled.map((f, i) => f / inverse[i]);
    const [low, high] = [Math.min(...stretches), Math.max(...stretches)];
    if (spec.type === "default" || (spec.type !== "proportional" && high === 1 && low === 1)) {
      parts.push(spec.type === "dynamic" ? [words.dynamicRest, { max: q(spec.maxSeqLen) }] : [words.noScaling, {}]);
    } else if (spec.type === "linear") parts.push([words.linear, { factor: q(spec.factor) }]);
    else if (/dynamic|alpha/.test(spec.type)) parts.push([words.dynamic, { base: q(grownBase), factor: q(high) }]);
    else if (spec.type === "longrope") {
      const sentence = length > spec.trained ? words.longropeLong : words.longropeShort;
      parts.push([sentence, { original: q(spec.trained), low: q(low), high: q(high) }]);
    } else if (spec.type === "proportional") {
      const turning = turningPairs(spec);
      const still = inverse.length - turning;
      if (still) parts.push([words.proportional, { turning, still }]);
      if (spec.factor !== 1) parts.push([words.linear, { factor: q(spec.factor) }]);
    } else {
      const found = bands(stretches);
      for (const name of ["untouched", "blended", "slowed"]) {
        if (!found[name]) continue;
        const [first, last] = found[name];
        const range = fill(first === last ? words.pairOne : words.pairRange, { first, last });
        const [from, to] = [q(TAU / unscaled[first]), q(TAU / unscaled[last])];
        const sentence = { untouched: words.untouched, blended: words.blended, slowed: words.slowed }[name];
        parts.push([sentence, { range, from, to, factor: q(found.most) }]);
      }
    }
    if (attentionFactor !== 1) {
      parts.push([words.attention, { factor: q(attentionFactor), score: q(attentionFactor ** 2) }]);
    }
    if (spec.rotaryDim < spec.headDim) parts.push([words.partial, { rotary: spec.rotaryDim, head: spec.headDim }]);
    const { still, total } = spec.layers;
    if (still.length) parts.push([words.nopeLayers, { count: still.length, total }]);
    return parts;
  }

  function drawFacts(current) {
    const { spec, inverse, length, attentionFactor } = current;
    const q = formatQuantity;
    const waves = inverse.map((f) => TAU / f);
    const [fastest, slowest] = [Math.min(...waves), Math.max(...waves)];
    const tokens = (value) => (Number.isFinite(value) ? q(value) : words.endless);
    const layoutText = fill(words.layouts[spec.layout], { half: spec.rotaryDim / 2 });
    layout.dataset.value = spec.layout;
    setText(layout, layoutText);
    ropeType.dataset.value = spec.type;
    setText(ropeType, spec.type);
    reports.head_dim.update(spec.headDim, q(spec.headDim));
    reports.rotary_dim.update(spec.rotaryDim, q(spec.rotaryDim));
    reports.base.update(spec.base, q(spec.base));
    reports.attention_factor.update(attentionFactor, q(attentionFactor));
    reports.wavelength_fastest.update(fastest, tokens(fastest));
    reports.wavelength_slowest.update(slowest, tokens(slowest));
    const count = length === null ? NaN : neverTurn(inverse, length).length;
    const countText = length === null ? words.unknown : fill(words.of, { count, total: inverse.length });
    reports.never_turn_count.update(count, countText);
    const trained = spec.trained ? neverTurn(current.unscaled, spec.trained).length : NaN;
    const trainedText = spec.trained ? fill(words.of, { count: trained, total: inverse.length }) : words.unknown;
    reports.never_turn_trained.update(trained, trainedText);
    const { total, rotating, still } = spec.layers;
    const stillText = total === null ? words.unknown : still.length ? shortList(still) : words.none;
    reports.layers_still.update(total === null ? NaN : still.length, stillText);
    const layers = rotating ? fill(words.of, { count: rotating.length, total }) : words.unknown;
    reports.layers_rotating.update(rotating?.length ?? NaN, layers);
  }

  function drawPicture(current) {
    const { spec, inverse, unscaled, length } = current;
    const width = clamp(pictureBox.clientWidth || 440, 220, 800);
    const pairs = inverse.length;
    const stretches = unscaled.map((f, i) => f / inverse[i]);
    const rest = inverse.some((f) => f === 0);
    const waves = inverse.map((f) => TAU / f);
    const finite = [...waves, ...unscaled.map((f) => TAU / f)].filter(Number.isFinite);
    const original = spec.trained ?? length;
    const high = Math.log10(Math.max(length ?? 1, original ?? 1, ...finite) * 1.7);
    const low = Math.log10(Math.min(...finite) * 0.8);
    const floor = PLOT.top + PLOT.height;
    const ceiling = PLOT.top + (rest ? 26 : 0);
    const toY = linearScale(low, high, floor, ceiling);
    const yOf = (wave) => (Number.isFinite(wave) ? toY(Math.log10(wave)) : PLOT.top + 6);
    const step = (width - PLOT.left - PLOT.right) / pairs;
    const xOf = (pair) => PLOT.left + (pair + 0.5) * step;
    const right = width - PLOT.right;
    const stretchTop = floor + PLOT.gap;
    const stretchFloor = stretchTop + PLOT.stretch;
    const most = Math.max(2, ...stretches.filter(Number.isFinite));
    const least = Math.min(1, ...stretches);
    const toStretch = linearScale(Math.log(least), Math.log(most), stretchFloor, stretchTop);
    const stretchY = (times) => toStretch(Math.log(times));
    const bottom = stretchFloor + PLOT.bottom;
    setAttributes(picture, { viewBox: `0 0 ${width} ${bottom}`, height: bottom });

    // Axes: decades above, the factor below, pair numbers at the foot of both.
    const marks = [];
    const text = (x, y, content, anchor = "end") => {
      const node = svg("text", { x, y, "text-anchor": anchor });
      node.textContent = content;
      marks.push(node);
    };
    const rule = (y, name = "rope-grid") => marks.push(svg("path", { class: name, d: `M${PLOT.left} ${y}H${right}` }));
    const decades = Math.max(1, Math.ceil((high - low) / 10));
    for (let power = Math.ceil(low); power <= high; power += decades) {
      rule(toY(power));
      const label = power < 4 ? formatQuantity(10 ** power) : `10${superscript(power)}`;
      text(PLOT.left - 6, toY(power) + 4, label);
    }
    if (rest) text(PLOT.left - 6, PLOT.top + 10, words.endless);
    text(0, 8, words.wavelengthAxis, "start");
    rule(floor, "rope-axis");
    text(0, stretchTop - 12, words.stretchAxis, "start");
    rule(stretchFloor, "rope-axis");
    const tops = [...new Set([1, most])];
    for (const value of tops) {
      rule(stretchY(value));
      text(PLOT.left - 6, stretchY(value) + 4, formatQuantity(value));
    }
    for (const pair of [0, pairs - 1]) {
      text(xOf(pair), floor + 15, String(pair), "middle");
      text(xOf(pair), stretchFloor + 15, String(pair), "middle");
    }
    text((PLOT.left + right) / 2, stretchFloor + 31, words.pairAxis, "middle");
    grid.replaceChildren(...marks);

    // The context, and the length of training where it is another.
    const depends = length !== spec.maxSeqLen;
    const endless = length === null;
    const lineY = endless ? PLOT.top - 4 : yOf(length);
    const originalY = original === null ? lineY : yOf(original);
    const apart = original !== length;
    setAttributes(beyond, { x: PLOT.left, y: PLOT.top - 4, width: right - PLOT.left, height: lineY - PLOT.top + 4 });
    contextLine.setAttribute("d", endless ? "" : `M${PLOT.left} ${lineY}H${right}`);
    originalLine.setAttribute("d", apart ? `M${PLOT.left} ${originalY}H${right}` : "");
    const contextText = depends ? words.lengthLine : words.contextLine;
    setText(contextLabel, endless ? "" : fill(contextText, { value: formatQuantity(length) }));
    setText(originalLabel, apart ? fill(words.originalLine, { value: formatQuantity(original) }) : "");
    // Of two lines close together, the upper has its name above it and the lower below.
    const above = (y, other) => y + (y > other && y - other < 34 ? 14 : -5);
    setAttributes(contextLabel, { x: PLOT.left + 5, y: above(lineY, apart ? originalY : Infinity) });
    setAttributes(originalLabel, { x: PLOT.left + 5, y: above(originalY, lineY) });

    const size = clamp(step * 0.42, 1.8, 4.2);
    stems.replaceChildren(
      ...unscaled.flatMap((f, i) => {
        const [x, ghost] = [xOf(i), yOf(TAU / f)];
        if (Math.abs(ghost - yOf(waves[i])) < 1) return [];
        const wide = clamp(step * 0.4, 1.5, 5);
        const tick = svg("path", { class: "rope-config-ghost", d: `M${x - wide} ${ghost}H${x + wide}` });
        if (!inverse[i]) return [tick];
        return [svg("path", { class: "rope-config-stem", d: `M${x} ${ghost}V${yOf(waves[i]) + size}` }), tick];
      }),
    );
    dots.replaceChildren(
      ...waves.map((wave, i) => {
        const never = !endless && wave > length;
        const node = svg("circle", { cx: xOf(i), cy: yOf(wave), r: size });
        setAttributes(node, { class: never ? "rope-wave-never" : "rope-wave", "data-report": "wave" });
        return setAttributes(node, { "data-pair": i, "data-value": inverse[i], "data-never": never });
      }),
    );
    const shown = stretches.flatMap((s, i) => (Number.isFinite(s) ? [[xOf(i), stretchY(s)]] : []));
    stretchCurve.setAttribute("d", polylinePath(shown));

    // The chosen pair.
    const i = chosenPair;
    chosenLine.setAttribute("d", `M${xOf(i)} ${PLOT.top}V${stretchFloor}`);
    setAttributes(chosenDot, { cx: xOf(i), cy: yOf(waves[i]) });
    const still = !Number.isFinite(stretches[i]);
    setAttributes(stretchDot, { cx: xOf(i), cy: still ? stretchTop : stretchY(stretches[i]) });
    stretchDot.style.display = still ? "none" : "";
    const half = spec.rotaryDim / 2;
    const dims = spec.layout === "half" ? [i, i + half] : [2 * i, 2 * i + 1];
    reports.pair_first.update(dims[0], String(dims[0]));
    reports.pair_second.update(dims[1], String(dims[1]));
    reports.pair_unscaled.update(TAU / unscaled[i], formatQuantity(TAU / unscaled[i]));
    reports.pair_wavelength.update(waves[i], inverse[i] ? formatQuantity(waves[i]) : words.endless);
    const slowed = still ? words.endless : fill(words.times, { value: formatQuantity(stretches[i]) });
    reports.pair_stretch.update(stretches[i], slowed);
    const turns = endless ? NaN : (length * inverse[i]) / TAU;
    reports.pair_turns.update(turns, endless ? words.unknown : formatQuantity(turns));
    pairSlider.update(i, pairs - 1);
    pairSlider.node.hidden = pairs < 2;
  }

  function drawKinds({ layerTypes, layerType }) {
    const several = layerTypes.length > 1;
    kindBox.hidden = !several;
    if (
      !same(
        kindButtons.map((b) => b.kind),
        layerTypes,
      )
    ) {
      kindButtons = layerTypes.map((kind) => ({
        kind,
        ...button({
          name: `layer_type_${kind}`,
          label: kind,
          onClick: () => commit(model, { layer_type: kind }),
        }),
      }));
      kinds.replaceChildren(...kindButtons.map((b) => b.node));
    }
    for (const { kind, update: press } of kindButtons) press(kind === layerType);
  }

  // An alert that comes with its text is spoken; one that stays the same is not spoken again.
  const showProblems = (sentences) => {
    if (
      same(
        [...problemBox.querySelectorAll("p")].map((node) => node.textContent),
        sentences,
      )
    )
      return;
    const alert = html("div", { role: "alert" }, ...sentences.map((sentence) => html("p", {}, sentence)));
    problemBox.replaceChildren(...(sentences.length ? [alert] : []));
  };

  function update() {
    const config = model.get("config");
    if (timer === null && box.value !== config) box.value = config;
    const wanted = JSON.stringify([config, model.get("layer_type"), model.get("seq_len")]);
    const changed = wanted !== drawn;
    if (changed) {
      drawn = wanted;
      state = inspect(config, model.get("layer_type"), model.get("seq_len"), table);
      const { problems, warnings } = state;
      showProblems(problems.map((problem) => tell(words, problem)));
      const hints = warnings.map((warning) => tell(words, { ...warning, table: "warnings" }));
      warningList.replaceChildren(...hints.map((hint) => html("li", {}, hint)));
      warningList.hidden = !hints.length;
      box.setAttribute("aria-invalid", String(problems.length > 0));
      drawKinds(state);
      for (const { config: text, update: press } of exampleButtons) press(text === config);
    }
    const { spec } = state;
    frame.classList.toggle("rope-config-unreadable", !spec);
    lengthSlider.node.hidden = !(spec?.type === "dynamic" || spec?.type === "longrope");
    if (!spec) {
      setText(verdict, fill(words.unreadable, { reason: tell(words, state.problems[0]) }));
      for (const { update: show } of Object.values(reports)) show(NaN, "–");
      dots.replaceChildren();
      return;
    }
    if (!lengthSlider.node.hidden) {
      const power = Math.ceil(Math.log2(longest(spec)) * 20) / 20;
      lengthSlider.update(state.length, power);
    }
    const never = neverTurn(state.inverse, state.length);
    // At first the fastest of the pairs that never come round.
    chosenPair = Math.min(chosenPair ?? never[0] ?? state.inverse.length - 1, state.inverse.length - 1);
    if (changed) {
      drawFacts(state);
      const parts = verdictParts(state);
      verdict.replaceChildren(...parts.flatMap(([sentence, values]) => [...boldText(sentence, values), " "]));
      summary.say(verdict.textContent);
    }
    drawPicture(state);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, ["config", "layer_type", "seq_len"], root, schedule);
  update();
  return () => {
    clearTimeout(timer);
    unwatch();
    summary.stop();
  };
}

export default { render };
