import { IN_POWERS_OF_TWO, OWN_KEYS, button, readout } from "../kit/controls.js";
import { div, html, legendOf, setAttributes, whenChanged } from "../kit/dom.js";
import { TAU, clamp } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { fill, formatQuantity } from "../kit/text.js";
import { readConfig } from "./reader.js";
import { dependsOnLength, frequencies, shownLength, turningPairs } from "../kit/scaled_frequencies.js";
import { MARKS, PLOT, wavesPicture } from "./waves_picture.js";

export const WORDS = {
  en: {
    title: "Config inspector: what a model's config.json says about its rotary embedding",
    text: "config.json, paste any model’s",
    layerType: "kind of layer",
    picture: "Wavelength of every pair, before and after scaling, against the context; below, the stretch",
    pair: "pair",
    seqLen: "length of the text, tokens",
    examples: {
      ...{ llama3_1: "Llama 3.1 8B", qwen2_5_yarn: "Qwen2.5 + YaRN", gemma3: "Gemma 3", gpt_neox: "GPT-NeoX-20B" },
      ...{ deepseek_v3: "DeepSeek-V3", phi3: "Phi-3 (LongRoPE)", gpt_oss: "gpt-oss" },
    },
    legend: { turns: "completes a turn within the context", never: "never does (hollow)", ghost: "before scaling" },
    axes: { wavelength: "wavelength, tokens", stretch: "slowed, times", pair: "pair, fastest first" },
    lines: { context: "context {value}", text: "text {value}", trained: "trained {value}" },
    amounts: {
      ...{ times: "{value} ×", of: "{count} of {total}", endless: "∞", unknown: "not said", none: "none" },
      share: "{all}; {dimensions} turn (p = {share})",
    },
    beyondFloat: "a number beyond 10³⁰⁸",
    unreadable: "Not read as a rotary configuration yet. {reason}",
    verdict: "<b>{never} of {pairs}</b> pairs never complete a turn within {length} tokens.",
    verdictOpen: "<b>{pairs} pairs</b> turn. No length is stated, so none can be judged.",
    verdictAll: "<b>Every pair</b> completes a turn within {length} tokens: {pairs} of {pairs}.",
    noScaling: "Nothing is scaled: each pair turns as fast as the base says.",
    linear: "Every pair is slowed {factor} times, the fast ones as well.",
    ranges: {
      untouched: "{range}, up to {to} tokens a turn: untouched.",
      blended: "{range}, {from} to {to} tokens a turn: blended.",
      slowed: "{range}, from {from} tokens a turn: slowed {factor} times.",
    },
    pairs: { one: "Pair {first}", several: "Pairs {first} to {last}" },
    dynamicRest: "Up to {max} tokens nothing is scaled; in a longer text the base grows with its length.",
    dynamic:
      "At this length the base has grown to {base}: the fastest pair keeps its pace, the slowest is slowed {factor} times.",
    longropeShort: "Up to {original} tokens the short list holds; it slows pairs by {low} to {high} times.",
    longropeLong:
      "Beyond {original} tokens the long list holds, for all positions; it slows pairs by {low} to {high} times.",
    proportional:
      "Only {turning} pairs turn, {dimensions} of {all} dimensions (p = {share}); the frequencies of the other {still} are 0.",
    attention: "cos and sin are multiplied by {factor}, so a score by {score}.",
    partial: "Only {rotary} of {head} dimensions rotate.",
    nopeLayers: "{count} of {total} layers do not rotate at all.",
    layouts: { half: "half (i, i + {half})", interleaved: "interleaved (2i, 2i + 1)", null: "not known" },
    facts: {
      ...{ rope_type: "rope type", base: "base", head_dim: "head_dim", rotary_dim: "rotary_dim" },
      ...{ attention_factor: "attention factor", wavelength_fastest: "fastest turn, tokens" },
      ...{ wavelength_slowest: "slowest turn, tokens", never_turn_count: "short of a turn" },
      ...{ never_turn_trained: "short of it in training", layout: "layout" },
      ...{ layers_rotating: "layers that rotate so", layers_still: "layers that never rotate" },
    },
    pairFacts: {
      ...{ pair_first: "dimensions", pair_unscaled: "before scaling", pair_wavelength: "a turn, tokens" },
      ...{ pair_stretch: "slowed", pair_turns: "turns in context" },
    },
    place: "Line {line}, column {column}: {reason}.",
    problems: {
      long: "The text has {value} characters; at most {most} are read, and no model needs so many.",
      object: "A configuration is one JSON object, {…}; got {value}.",
      missing: "{keys} must be given with rope type {type}.",
      missingBase: "rope_theta is missing, and no default is known for model_type {value}.",
      perLayerBase:
        "rope_theta must be one number; one for each layer is written in rope_parameters, by kind of layer.",
      needs: "{key} is {value}: a model of this type rotates only where it is {needed}.",
      silent: "model_type {value} is unknown and no key here is about rotation: the model does not seem to rotate.",
      elsewhere:
        "model_type {value} is unknown and no key here is about rotation; there is no {known}, but {keys} may rotate: paste one of them.",
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
      readElsewhere: "{key} is unknown; rope type {type} reads {known}; {why}.",
      type: "{key} must be one of {known}, got {value}.",
      unsupportedType: "Rope type {value} is not computed here: {why}.",
      headDim: "head_dim is missing, and so is hidden_size or num_attention_heads to compute it from.",
      divide:
        "hidden_size must be a multiple of num_attention_heads where head_dim is missing, got {value} and {otherValue}.",
      rotaryDim: "rotary_dim must be even, at least 2 and at most {most} here, got {value}.",
      pairs: "rotary_dim must be greater than 2 with rope type {type}, got 2.",
      order: "{key} must be at least {other}, got {value} and {otherValue}.",
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
      model: "model_type {value} is unknown here, so the layout is not known: the model’s code has it.",
      no_model: "No model_type is given, so the layout is not known: the model’s code has it.",
    },
    // What a clash of widths names that no key of the text says.
    widthsFrom: { half_a_head: "half of the head" },
    why: {
      model: "transformers' default for this model_type",
      ratio: "the ratio of the two lengths",
      longest: "as long as the longest text",
    },
    rules: {
      ...{ number: "a number of at most 10¹⁵", tiny: "a number of at least 10⁻¹⁵" },
      ...{ positive: "a number greater than 0", above_one: "a number greater than 1" },
      ...{ at_least_one: "a number of at least 1", not_negative: "a number of at least 0" },
      ...{ share: "a number greater than 0 and at most 1", switch: "0 or 1" },
      ...{ count: "a whole number of at least 1", count_or_zero: "a whole number of at least 0" },
      ...{ dimensions: "a whole number from 1 to 4096", layers: "a whole number from 1 to 10 000" },
      ...{ boolean: "true or false", text: "text", mapping: "an object or null" },
      ...{ positives: "a list of numbers", bases: "a list of one number per layer" },
      ...{
        switches: "a list of one 0 or 1 per layer",
        indices: "a list of whole numbers",
        names: "a list of one name per layer",
      },
      ...{ pattern: "a whole number or a text of L and G" },
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
  const [most, found] = [Math.max(...stretches), {}];
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
    const text = (JSON.stringify(some, briefly) ?? words.amounts.none).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);
    return text.length > 60 ? `${text.slice(0, 57)}…` : text;
  };
  const name = (item) => quote(item).slice(1).replace(/"$/, "");
  const named = (key) => name((code === "widths" && words.widthsFrom[key]) || (key ?? ""));
  const list = (items) => (items?.length ? items.slice(0, 20).map(name).join(", ") : words.amounts.none);
  const { value, otherValue, found, keys, known, rule, why } = details;
  const parts = {
    ...details,
    ...{ value: quote(value), otherValue: quote(otherValue), found: quote(found) },
    ...{ key: named(details.key), other: named(details.other) },
    ...{ keys: list(keys), known: list(known), rule: words.rules[rule], why: words.why[why] ?? why },
  };
  const sentence = fill(words[table][code], parts);
  return table === "reasons" ? fill(words.place, { ...details, reason: sentence }) : sentence;
}

// Warnings of one kind and reason are one sentence; the picture adds what its reader may wonder at.
export function warningsOf(notes, spec) {
  const grouped = new Map();
  for (const { key, ...found } of notes) {
    const kind = found.code === "assumed" ? key : JSON.stringify(found);
    if (!grouped.has(kind)) grouped.set(kind, { ...found, key, keys: [] });
    grouped.get(kind).keys.push(key);
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
  const found = readConfig(text, layerType, table);
  const warnings = warningsOf(found.notes, found.spec);
  if (!found.spec) return { ...found, warnings };
  const length = shownLength(found.spec, seqLen);
  return { ...found, warnings, length, ...frequencies(found.spec, length) };
}

// ---- in words ----

const q = formatQuantity;

// How many pairs turn, what was done to them, and what else is unusual.
function verdict(words, seen) {
  const { spec, inverse, length, attentionFactor } = seen;
  const { still, total } = spec.layers;
  const never = neverTurn(inverse, length).length;
  const said = [];
  const add = (sentence, values) => said.push(fill(sentence, values));
  const count = length === null ? words.verdictOpen : never ? words.verdict : words.verdictAll;
  add(count, { never, pairs: inverse.length, length: q(length) });
  addScaling(add, words, seen);
  if (attentionFactor !== 1) add(words.attention, { factor: q(attentionFactor), score: q(attentionFactor ** 2) });
  if (spec.rotaryDim < spec.headDim) add(words.partial, { rotary: spec.rotaryDim, head: spec.headDim });
  if (still?.length) add(words.nopeLayers, { count: still.length, total });
  return said.join(" ");
}

function addScaling(add, words, { spec, unscaled, inverse, slowed, length, grownBase }) {
  const { type, trained, factor } = spec;
  const [low, high] = [Math.min(...slowed), Math.max(...slowed)];
  if (type === "proportional") {
    const turning = turningPairs(spec);
    if (turning < inverse.length)
      add(words.proportional, { turning, still: inverse.length - turning, ...shareOf(spec) });
    if (factor !== 1) add(words.linear, { factor: q(factor) });
  } else if (low === 1 && high === 1) {
    add(type === "dynamic" ? words.dynamicRest : words.noScaling, { max: q(spec.maxSeqLen) });
  } else if (type === "linear") add(words.linear, { factor: q(factor) });
  else if (/dynamic|alpha/.test(type)) add(words.dynamic, { base: q(grownBase), factor: q(high) });
  else if (type === "longrope") {
    const sentence = length > trained ? words.longropeLong : words.longropeShort;
    add(sentence, { original: q(trained), low: q(low), high: q(high) });
  } else {
    for (const [name, [first, last]] of Object.entries(bands(slowed))) {
      const range = fill(first === last ? words.pairs.one : words.pairs.several, { first, last });
      const [from, to] = [q(TAU / unscaled[first]), q(TAU / unscaled[last])];
      add(words.ranges[name], { range, from, to, factor: q(high) });
    }
  }
}

// In p-RoPE, how many dimensions turn of those that have a frequency, and what share the file asks for.
function shareOf(spec) {
  return { all: spec.rotaryDim, dimensions: 2 * turningPairs(spec), share: q(spec.partial_rotary_factor) };
}

function rotaryOf(words, spec) {
  if (spec.type !== "proportional" || 2 * turningPairs(spec) === spec.rotaryDim) return spec.rotaryDim;
  return [spec.rotaryDim, fill(words.amounts.share, shareOf(spec))];
}

// The numbers of the page and of a pair, and how they are written if not as quantities.
function factsOf(words, seen, i) {
  const { spec, inverse, unscaled, waves, slowed, length, attentionFactor } = seen;
  const { total, rotating, still } = spec.layers;
  const { unknown, none, endless, times } = words.amounts;
  const [fastest, slowest, half] = [Math.min(...waves), Math.max(...waves), spec.rotaryDim / 2];
  const pairs = { half: [i, i + half], interleaved: [2 * i, 2 * i + 1] };
  const [first, second] = (pairs[spec.layout] ?? [NaN, NaN]).map((n) => [n, Number.isNaN(n) ? unknown : String(n)]);
  const turns = (wave) => [wave, Number.isFinite(wave) ? q(wave) : endless];
  const of = (count, all) => [count, fill(words.amounts.of, { count, total: all })];
  const short = (frequency, within) => of(neverTurn(frequency, within).length, inverse.length);
  return {
    ...{ rope_type: spec.type, layout: fill(words.layouts[spec.layout], { half }), base: spec.base },
    ...{ head_dim: spec.headDim, rotary_dim: rotaryOf(words, spec), attention_factor: attentionFactor },
    ...{ wavelength_fastest: turns(fastest), wavelength_slowest: turns(slowest) },
    never_turn_count: length === null ? [NaN, unknown] : short(inverse, length),
    never_turn_trained: spec.trained ? short(unscaled, spec.trained) : [NaN, unknown],
    layers_still: still === null ? [NaN, unknown] : [still.length, still.length ? shortList(still) : none],
    layers_rotating: rotating ? of(rotating.length, total) : [NaN, unknown],
    ...{ pair_first: first, pair_second: second },
    ...{ pair_unscaled: TAU / unscaled[i], pair_wavelength: turns(waves[i]) },
    pair_stretch: [slowed[i], Number.isFinite(slowed[i]) ? fill(times, { value: q(slowed[i]) }) : endless],
    pair_turns: length === null ? [NaN, unknown] : (length * inverse[i]) / TAU,
  };
}

// ---- what a reader types ----

// Where the text stands, what is wrong with it, and what its reader may wonder at.
function makeEditor(words, { table, onText }) {
  const id = `rope-config-${Math.random().toString(36).slice(2)}`;
  const box = html("textarea", {
    ...{ id, class: "rope-config-text", rows: 16, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...{ "data-control": "config", "aria-describedby": `${id}-problems`, ...OWN_KEYS },
  });
  const problemBox = html("div", { class: "rope-config-problems", id: `${id}-problems`, "data-text": "problems" });
  const warningList = html("ul", { class: "rope-config-warnings", "data-text": "warnings" });
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
  };
  const take = () => {
    stop();
    onText(box.value);
  };
  // An alert that comes with its text is spoken; one that stays the same is not spoken again.
  const showProblems = whenChanged((sentences) => {
    const alert = html("div", { role: "alert" }, ...sentences.map((sentence) => html("p", {}, sentence)));
    problemBox.replaceChildren(...(sentences.length ? [alert] : []));
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
    timer = setTimeout(take, 350);
  });
  box.addEventListener("change", take);
  return {
    nodes: [html("label", { for: id }, words.text), box, problemBox],
    ...{ warningList, stop },
    show(config) {
      if (timer === null && box.value !== config) box.value = config;
    },
    judge({ problems, warnings }) {
      const hints = warnings.map((warning) => tell(words, { ...warning, table: "warnings" }));
      showProblems(problems.map((problem) => tell(words, problem)));
      warningList.replaceChildren(...hints.map((hint) => html("li", {}, hint)));
      setAttributes(box, { "aria-invalid": problems.length > 0 });
    },
  };
}

// A button for each kind of layer, where there are several.
function makeKinds(words, onKind) {
  const row = html("div", { class: "rope-row", role: "group", "aria-label": words.layerType });
  const node = div("rope-config-kinds", html("span", { class: "rope-readout-label" }, words.layerType), row);
  const buttonsOf = whenChanged((kinds) => {
    const made = kinds.map((kind) => button({ name: `layer_type_${kind}`, label: kind, onClick: () => onKind(kind) }));
    row.replaceChildren(...made.map((one) => one.node));
    return made;
  });
  const show = ({ layerTypes, layerType }) => {
    node.hidden = layerTypes.length < 2;
    buttonsOf(layerTypes).forEach(({ update }, i) => update(layerTypes[i] === layerType));
  };
  return { node, show };
}

// ---- the widget ----

const longest = ({ maxSeqLen, trained, type, factor }) =>
  (maxSeqLen ?? 4 * trained) * (type === "dynamic" ? Math.max(2, factor) : 1);

// The numbers of the model and of a pair. What is said in words has a `data-text`; `data-report` is
// for numbers.
function makeNumbers(words, { show, text }) {
  const number = (name) => show(name, ({ facts }) => facts[name] ?? NaN, { format: q });
  const inWords = (name) => text(({ facts }) => facts[name] ?? "", "span", { class: "rope-report", "data-text": name });
  const parts = { layout: [inWords("layout")], rope_type: [inWords("rope_type")] };
  parts.pair_first = [number("pair_first"), ", ", number("pair_second")];
  const named = ([name, label]) => readout(label, ...(parts[name] ?? [number(name)]));
  return [words.facts, words.pairFacts].map((labels) => Object.entries(labels).map(named));
}

function build(tools) {
  const { words, model, lesson, state: current, set, redraw, sliders, buttons } = tools;
  const table = model.get("rules");
  // The pair that a reader chose, what is drawn, and the numbers of the last text that could be read.
  let [chosen, seen, facts] = [null, null, {}];
  const choose = (pair) => {
    if (pair === chosen) return;
    chosen = pair;
    redraw();
  };
  const editor = makeEditor(words, {
    table,
    onText(config) {
      const { config: old, layer_type: kind } = current();
      if (config === old) return;
      const { layerTypes, problems } = inspect(config, "", 0, table);
      const gone = problems[0]?.table !== "reasons" && kind && !layerTypes.includes(kind);
      set({ config, ...(gone ? { layer_type: "" } : {}) });
    },
  });
  const open = (config) => {
    editor.stop();
    chosen = null;
    set({ config, layer_type: "", seq_len: 0 });
  };
  const example = ([name, text]) => [
    `example_${name}`,
    { label: words.examples[name], onClick: () => open(text), pressed: ({ config }) => config === text },
  ];
  const examples = buttons(Object.fromEntries(Object.entries(model.get("examples")).map(example)));
  const kinds = makeKinds(words, (layer_type) => set({ layer_type }));
  const [modelNumbers, pairNumbers] = makeNumbers(words, tools);
  const waves = wavesPicture(words);
  const [pairSlider, lengthSlider] = sliders({
    pair: {
      ...{ label: words.pair, tone: "angle", min: 0, max: 63, format: String, onInput: choose },
      limit: ({ spec, inverse }) => (spec ? inverse.length - 1 : 63),
    },
    seq_len: {
      ...{ label: words.seqLen, tone: "position", min: 7, max: 17, ...IN_POWERS_OF_TWO, step: 0.05, format: q },
      value: ({ spec, length }) => (dependsOnLength(spec) ? length : null),
      limit: ({ spec }) => dependsOnLength(spec) && Math.ceil(Math.log2(longest(spec)) * 20) / 20,
      onInput: (length) => set({ seq_len: clamp(Math.round(length), 1, longest(seen.spec)) }),
    },
  });

  const plot = div("rope-config-plot", waves.node);
  const pickAt = ({ clientX }) => {
    if (!seen.spec) return;
    const bounds = plot.getBoundingClientRect();
    const share = (clientX - bounds.left - PLOT.left) / (bounds.width - PLOT.left - PLOT.right);
    choose(clamp(Math.floor(share * seen.inverse.length), 0, seen.inverse.length - 1));
  };
  plot.addEventListener("pointermove", (event) => event.pointerType === "mouse" && pickAt(event));
  plot.addEventListener("click", pickAt);

  const pairBox = div("rope-readouts rope-config-pair", ...pairNumbers);
  const key = legendOf(words.legend, [22, 22], MARKS);
  lesson.classList.add("rope-lesson-short");
  setAttributes(lesson.firstChild, { "data-text": "verdict" });
  const frame = div(
    "rope-frame",
    div("rope-row rope-row-first rope-config-examples", ...examples),
    lesson,
    div(
      "rope-config",
      div("rope-config-input", ...editor.nodes, kinds.node, editor.warningList),
      div("rope-config-results rope-config-hideable", key, plot, lengthSlider, pairSlider, pairBox),
      div("rope-readouts rope-config-facts rope-config-hideable", ...modelNumbers),
    ),
  );

  const look = whenChanged((config, layerType, seqLen) => {
    const found = inspect(config, layerType, seqLen, table);
    if (found.spec) return { ...found, sentence: verdict(words, found) };
    // It quotes the reader's paste, so it is set as text and never as HTML.
    return { ...found, sentence: [fill(words.unreadable, { reason: tell(words, found.problems[0]) })] };
  });
  return {
    node: frame,
    stop: editor.stop,
    silent: ({ spec }) => !spec,
    lesson: ({ sentence }) => sentence,
    measure: () => ({ width: clamp(plot.clientWidth || 440, 220, 800) }),
    derive({ config, layer_type, seq_len }) {
      const found = look(config, layer_type, seq_len);
      if (!found.spec) return { ...found, found, pair: chosen ?? 0, facts };
      const last = found.inverse.length - 1;
      // At first the fastest of the pairs that never come round.
      const pair = Math.min(chosen ?? neverTurn(found.inverse, found.length)[0] ?? last, last);
      return { ...found, found, pair, facts: factsOf(words, found, pair) };
    },
    draw({ config, spec, found, pair, facts: shown }, { width }) {
      editor.show(config);
      if (found !== seen) editor.judge(found);
      seen = found;
      kinds.show(found);
      frame.classList.toggle("rope-config-unreadable", !spec);
      lengthSlider.hidden = !dependsOnLength(spec);
      if (!spec) return waves.clear();
      [chosen, facts] = [pair, shown];
      pairSlider.hidden = found.inverse.length < 2;
      waves.draw(found, pair, width);
    },
  };
}

const render = mount({ words: WORDS, traits: ["config", "layer_type", "seq_len"], build });

export default { render };
