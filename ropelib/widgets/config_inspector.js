import {
  OWN_KEYS,
  TAU,
  clamp,
  pickWords,
  fill,
  formatQuantity,
  superscript,
  linearScale,
  polylinePath,
  setAttributes,
  svg,
  html,
  setText,
  slider,
  button,
  report,
  readout,
  widgetRoot,
  announcer,
  frameScheduler,
  commit,
  watch,
} from "./kit.js";

export const WORDS = {
  en: {
    title: "Config inspector: what a model's config.json says about its rotary embedding",
    text: "config.json, paste any model's",
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
    unreadable: "This text cannot be read as a rotary configuration yet: the reason stands below it.",
    verdict: "<b>{never} of {pairs}</b> pairs never complete a turn within {length} tokens.",
    verdictAll: "<b>Every pair</b> completes a turn within {length} tokens: {pairs} of {pairs}.",
    noScaling: "Nothing is scaled: each pair turns as fast as the base says.",
    linear: "Every pair is slowed {factor} times, the fast ones as well.",
    untouched: "{range}, up to {to} tokens a turn: untouched.",
    blended: "{range}, {from} to {to} tokens a turn: blended.",
    slowed: "{range}, from {from} tokens a turn: slowed {factor} times.",
    pairRange: "Pairs {first} to {last}",
    pairOne: "Pair {first}",
    dynamicRest: "Up to {max} tokens nothing is scaled; in a longer text the base grows with its length.",
    dynamic: "At this length the base has grown to {base}: the fastest pair keeps its pace, the slowest is slowed {factor} times.",
    longropeShort: "Up to {original} tokens the short list holds; it slows pairs by {low} to {high} times.",
    longropeLong: "Beyond {original} tokens the long list holds, for all positions; it slows pairs by {low} to {high} times.",
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
      object: "A configuration is one JSON object, {…}; got {value}.",
      missing: "{key} is missing; rope type {type} needs it, {rule}.",
      rule: "{key} must be {rule}, got {value}.",
      length: "{key} must have one number per pair, {wanted} here, got {value}.",
      disagree: "{key} is {value}, but {other} is {otherValue}: they must agree.",
      outside: "{key} is {value} outside of rope_parameters, and no set inside repeats it.",
      mixed: "rope_parameters must be flat or hold one set per kind of layer, got both: {keys}.",
      lost: "{keys}: given, but the rope type is default or not named.",
      type: "{key} must be one of {known}, got {value}.",
      headDim: "head_dim is missing, and so is hidden_size or num_attention_heads to compute it from.",
      divide: "hidden_size must be a multiple of num_attention_heads where head_dim is missing, got {value} and {otherValue}.",
      rotaryDim: "rotary_dim must be even, at least 2 and at most {most} here, got {value}.",
      widths: "{key} makes {value} dimensions rotate, but {other} {otherValue}: they must agree.",
      pairs: "rotary_dim must be greater than 2 with rope type {type}, got 2.",
      order: "{key} must be {rule} {other}, got {value} and {otherValue}.",
      alone: "{key} must come with its twin: mscale and mscale_all_dim are given together or not at all.",
      ramp: "The ramp must lie within the head, got original_max_position_embeddings {value} with base {otherValue}.",
      layerType: "The kind of layer must be one of {known}, got {value}.",
      still: "Layers of kind {value} have null as rope_parameters: they do not rotate.",
      unsupported: "model_type {value} is not computed here: {why}.",
      noRotation: "This model does not rotate: its position embedding is {value}.",
    },
    warnings: {
      unknownKeys: "Unknown to rope type {type}, so not read: {keys}.",
      unreadKeys: "Not read: {keys}.",
      beside: "No effect beside attention_factor: {keys}.",
      assumed: "{key} is not given; {value} is assumed, {why}.",
      alias: "{key} {value} is read as {meant}.",
      softmax: "This model multiplies its softmax scale by {value} on top.",
      reach: "factor × original_max_position_embeddings is {reach} tokens; max_position_embeddings says {max}.",
      model: "model_type {value} is unknown here; layout half is assumed.",
    },
    why: {
      model: "transformers' default for this model_type",
      ratio: "the ratio of the two lengths",
    },
    rules: {
      number: "a number of at most 10¹⁵",
      positive: "a number greater than 0",
      aboveOne: "a number greater than 1",
      atLeastOne: "a number of at least 1",
      count: "a whole number of at least 1",
      countAboveOne: "a whole number of at least 2",
      share: "a number greater than 0 and at most 1",
      boolean: "true or false",
      text: "text",
      object: "an object or null",
      list: "a list of numbers",
      no_rope_layers: "a list of one 0 or 1 per layer",
      layer_types: "a list of one name per layer",
      greater: "greater than",
      atLeast: "at least",
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
      deep: "this is nested more than 100 deep",
    },
  },
};

// What each rope type reads besides COMMON; as transformers 5.23.0, modeling_rope_utils.py, checks it.
const KEYS = {
  default: "",
  linear: "factor",
  dynamic: "factor",
  yarn: "factor original_max_position_embeddings attention_factor beta_fast beta_slow mscale mscale_all_dim truncate",
  llama3: "factor original_max_position_embeddings low_freq_factor high_freq_factor",
  longrope: "factor original_max_position_embeddings attention_factor short_factor long_factor",
  proportional: "factor",
  ntk_alpha: "alpha",
};
const COMMON = "rope_type type rope_theta partial_rotary_factor mrope_section mrope_interleaved finetuned";
const TOP =
  "rope_scaling rope_parameters rope_theta rotary_emb_base rotary_pct rope_pct rotary_dim " +
  "partial_rotary_factor qk_rope_head_dim rope_interleave no_rope_layers no_rope_layer_interval " +
  "rope_local_base_freq global_rope_theta local_rope_theta";
const ALIASES = { __proto__: null, su: "longrope", mrope: "default" };
// No model comes near; more would make the page, not the reader, think.
const MOST_DIMENSIONS = 4096;
const MOST_LAYERS = 10000;
const SIZES = {
  hidden_size: ["hidden_size", "n_embd", "d_model"],
  num_attention_heads: ["num_attention_heads", "n_head"],
  num_hidden_layers: ["num_hidden_layers", "n_layer", "num_layers"],
  max_position_embeddings: ["max_position_embeddings", "n_positions", "seq_length"],
  head_dim: ["head_dim", "kv_channels"],
  local: ["rope_local_base_freq", "local_rope_theta"],
};
const has = (names, name) => names.split(" ").includes(name);
const ORIGINAL = "original_max_position_embeddings";

// ---- reading JSON, with the place of the first mistake ----

// JSON.parse names no place in some browsers and drops the first of two equal keys.
export function parseJson(text) {
  let at = 0;
  const opened = [];
  const lineOf = (where) => text.slice(0, where).split("\n").length;
  const fail = (code, details = {}, where = at) => {
    const column = where - text.lastIndexOf("\n", where - 1);
    throw { problem: { code, table: "reasons", ...details, line: lineOf(where), column } };
  };
  const token = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const skip = () => (at += token(/[ \t\r\n]*/y).length);
  const expected = (code, details) => {
    if (at >= text.length) fail("end", { opened: lineOf(opened.at(-1) ?? 0) });
    fail(code, { found: token(/[\w.+-]+|[^]/uy), ...details });
  };
  const readString = () => {
    const whole = token(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    if (whole === undefined) {
      if (/^"(?:[^"\\\n]|\\.)*$/.test(text.slice(at))) fail("end", { opened: lineOf(at) }, text.length);
      fail("string");
    }
    at += whole.length;
    return JSON.parse(whole);
  };
  // Items with commas between them, then the closing bracket.
  const readItems = (closing, readItem) => {
    if (opened.push(at) > 100) fail("deep");
    at += 1;
    skip();
    for (let first = true; text[at] !== closing; first = false) {
      if (!first) {
        if (text[at] !== ",") expected("comma", { closing });
        at += 1;
        skip();
        if (text[at] === closing) fail("trailing", { closing });
      }
      readItem();
      skip();
    }
    at += 1;
    opened.pop();
  };
  const readValue = () => {
    skip();
    if (text[at] === '"') return readString();
    if (text[at] === "[") {
      const list = [];
      readItems("]", () => list.push(readValue()));
      return list;
    }
    if (text[at] === "{") {
      const entries = new Map();
      readItems("}", () => {
        if (text[at] !== '"') expected("key");
        const where = at;
        const key = readString();
        if (entries.has(key)) fail("twice", { found: key }, where);
        skip();
        if (text[at] !== ":") expected("colon");
        at += 1;
        entries.set(key, readValue());
      });
      return Object.fromEntries(entries);
    }
    const word = token(/[\w.+-]+/y);
    if (!/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(word ?? "")) expected("value");
    at += word.length;
    return JSON.parse(word);
  };
  try {
    if (!text.trim()) fail("empty");
    const value = readValue();
    skip();
    if (at < text.length) expected("rest");
    return { value, problem: null };
  } catch (error) {
    if (!error.problem) throw error;
    return { value: null, problem: error.problem };
  }
}

// ---- reading the configuration ----

const RULES = {
  positive: (v) => v > 0,
  aboveOne: (v) => v > 1,
  atLeastOne: (v) => v >= 1,
  count: (v) => Number.isInteger(v) && v >= 1,
  countAboveOne: (v) => Number.isInteger(v) && v >= 2,
  share: (v) => v > 0 && v <= 1,
};
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isNumber = (value) => typeof value === "number" && Math.abs(value) <= 1e15;
const given = (value) => value !== undefined && value !== null;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// Which layers of the chosen kind rotate, and which rotate in no way; null where nobody says.
export function layerPattern(config, layerType, sets, table) {
  const model = config.model_type;
  const total = SIZES.num_hidden_layers.map((key) => config[key]).find(given);
  if (!RULES.count(total) || total > MOST_LAYERS) return { total: null, rotating: null, still: [] };
  const layers = Array.from({ length: total }, (_, i) => i);
  const window = (local) => (local ? "sliding_attention" : "full_attention");
  const pattern = config.sliding_window_pattern ?? config._sliding_window_pattern ?? table.patterns[model];
  const bert = /^modernbert/.test(model) && (config.global_attn_every_n_layers ?? 3);
  let kinds = Array.isArray(config.layer_types) ? config.layer_types : null;
  if (!kinds && bert) kinds = layers.map((i) => window(i % bert));
  else if (!kinds && RULES.count(pattern)) kinds = layers.map((i) => window((i + 1) % pattern));
  else if (!kinds && pattern) kinds = layers.map((i) => window(pattern[i % pattern.length] === "L"));
  const interval = config.no_rope_layer_interval ?? 4;
  let on = () => true;
  // The name misleads: a 1 is a layer that rotates.
  if (config.no_rope_layers?.length) on = (i) => config.no_rope_layers[i] === 1;
  else if (table.no_rope_layers.includes(model)) on = (i) => (i + 1) % interval !== 0;
  const slidingOnly =
    table.sliding_only.includes(model) && (model === "cohere2" || config.sliding_window !== null) && kinds;
  const turns = (i) =>
    on(i) &&
    !/^(linear_attention|conv|mamba|recurrent)$/.test(kinds?.[i]) &&
    (!slidingOnly || kinds[i] === "sliding_attention") &&
    sets[kinds?.[i]]?.values !== null;
  const known = kinds || !layerType;
  const rotating = known ? layers.filter((i) => turns(i) && (!layerType || kinds[i] === layerType)) : null;
  return { total, rotating, still: layers.filter((i) => !turns(i)) };
}

// Everything that the text says: problems stop the reading, warnings stand beside the picture.
// The rules are those of ropelib/config.py; `table` is ropelib/model_types.py.
export function readConfig(whole, layerType, table) {
  const [problems, warnings] = [[], []];
  const result = { problems, warnings, layerTypes: [], layerType, spec: null };
  const wrong = (code, details) => problems.push({ code, ...details });
  const stop = (code, details) => (wrong(code, details), result);
  const warn = (code, details) => warnings.push({ code, ...details });
  const assume = (key, value, why) => (warn("assumed", { key, value, why }), value);
  // A number that keeps its rule; the fallback where there is none; NaN after a problem was told.
  const take = (values, key, rule, fallback, path = "", type = "") => {
    const value = values[key];
    if (isNumber(value) && RULES[rule](value)) return value;
    if (given(value)) wrong("rule", { key: path + key, value, rule: isNumber(value) ? rule : "number" });
    else if (fallback !== undefined) return fallback;
    else wrong("missing", { key: path + key, type, rule });
    return NaN;
  };
  const agree = (key, value, other, otherValue) => {
    if (!given(value) || !given(otherValue) || same(value, otherValue)) return;
    wrong("disagree", { key, value, other, otherValue });
  };
  if (!isObject(whole)) return stop("object", { value: whole });

  let config = whole;
  const inner = ["text_config", "language_config", "llm_config"].find((key) => isObject(whole[key]));
  if (inner) {
    config = { model_type: whole.model_type, ...whole[inner] };
    for (const key of Object.keys(whole).filter((name) => has(TOP, name) && given(whole[name]))) {
      const [value, otherValue] = [whole[key], config[key]];
      if (!same(value, otherValue)) wrong("disagree", { key, value, other: `${inner}.${key}`, otherValue });
    }
  }
  const model = config.model_type;
  if (given(model) && typeof model !== "string") return stop("rule", { key: "model_type", value: model, rule: "text" });
  if (Object.hasOwn(table.unsupported, model)) {
    return stop("unsupported", { value: model, why: table.unsupported[model] });
  }
  const other = config.alibi === true ? "alibi" : config.position_embedding_type;
  if (other === "alibi" || other === "nope") return stop("noRotation", { value: other });
  const known = table.interleaved.includes(model) || table.half.includes(model);
  const lookUp = (name) => (Object.hasOwn(table[name], model) ? table[name][model] : undefined);
  const unread = Object.keys(config).filter(
    (key) => /rope|rotary|yarn|ntk|alibi/i.test(key) && given(config[key]) && config[key] !== false && !has(TOP, key),
  );
  if (unread.length) warn("unreadKeys", { keys: unread });
  // One value under any of its names.
  const size = (name) => {
    const keys = SIZES[name].filter((key) => given(config[key]));
    keys.slice(1).forEach((key) => agree(keys[0], config[keys[0]], key, config[key]));
    return keys[0];
  };

  // Old style: rope_scaling, base and share beside it. New style: all in rope_parameters, perhaps
  // one set per kind of layer.
  for (const key of ["rope_scaling", "rope_parameters"]) {
    if (given(config[key]) && !isObject(config[key])) wrong("rule", { key, value: config[key], rule: "object" });
  }
  if (problems.length) return result;
  const { rope_scaling: scaling, rope_parameters: parameters } = config;
  const typeOf = (values) => ALIASES[values?.rope_type ?? values?.type] ?? values?.rope_type ?? values?.type;
  const path = parameters ? "rope_parameters." : "rope_scaling.";
  const flat = { values: { ...scaling, ...parameters }, path };
  let sets = { "": flat };
  if (Object.values(parameters ?? {}).some(isObject)) {
    const loose = Object.keys(parameters).filter((key) => given(parameters[key]) && !isObject(parameters[key]));
    if (loose.length) return stop("mixed", { keys: loose.map((key) => path + key) });
    const entries = Object.entries(parameters);
    sets = Object.fromEntries(entries.map(([kind, values]) => [kind, { values, path: `${path}${kind}.` }]));
    // What stands outside must be said again by one of the sets.
    const outside = { ...scaling, ...(given(config.rope_theta) ? { rope_theta: config.rope_theta } : {}) };
    const inside = Object.values(parameters).filter(isObject);
    for (const [key, value] of Object.entries(outside)) {
      if (key === "rope_theta" && inside.some((values) => !given(values[key]))) continue;
      const repeats = key === "type" || key === "rope_type" ? (v) => typeOf(v) === typeOf(scaling) : (v) => same(v[key], value);
      if (given(value) && !inside.some(repeats)) wrong("outside", { key, value });
    }
  } else {
    for (const key of Object.keys((parameters && scaling) ?? {})) {
      if (key === "type" || key === "rope_type") agree(`rope_scaling.${key}`, typeOf(scaling), `${path}rope_type`, typeOf(parameters));
      else agree(`rope_scaling.${key}`, scaling[key], path + key, parameters[key]);
    }
    // One base for sliding layers, another for the rest; ModernBERT scales both, Gemma the second.
    const bert = /^modernbert/.test(model) || given(config.local_rope_theta);
    const local = SIZES.local.find((key) => given(config[key]));
    if (local || lookUp("two_bases")) {
      const [globalBase, localBase] = lookUp("two_bases") ?? [];
      if (bert) agree("global_rope_theta", config.global_rope_theta, `${path}rope_theta`, flat.values.rope_theta);
      const base = bert && given(config.global_rope_theta) ? "global_rope_theta" : "rope_theta";
      const values = bert ? { ...flat.values, rope_theta: null } : {};
      sets = {
        full_attention: { ...flat, base, fallback: globalBase },
        sliding_attention: { values, path, base: local ?? SIZES.local[0], fallback: localBase },
      };
    } else if (model === "olmo3") {
      const values = { rope_theta: flat.values.rope_theta };
      sets = { full_attention: flat, sliding_attention: { values, path } };
    }
  }
  result.layerTypes = Object.keys(sets).filter(Boolean);
  // A model with one rotation may still be asked about one kind of layer.
  const chosen = sets[""] ? "" : layerType || result.layerTypes[0];
  const listed = Array.isArray(config.layer_types) ? config.layer_types : [];
  const kinds = sets[""] ? listed : result.layerTypes;
  if (layerType && !kinds.includes(layerType)) return stop("layerType", { value: layerType, known: kinds });
  result.layerType = layerType || chosen;
  const set = sets[chosen];
  const { values } = set;
  if (values === null) return stop("still", { value: chosen });

  const typeKey = `${set.path}${given(values.rope_type) ? "rope_type" : "type"}`;
  const written = values.rope_type ?? values.type;
  agree(typeKey, given(values.rope_type) ? typeOf(values) : null, `${set.path}type`, ALIASES[values.type] ?? values.type);
  let type = typeOf(values) ?? "default";
  if (type === "dynamic" && values.alpha) type = "ntk_alpha"; // HunYuan's files call it dynamic
  if (given(written) && type !== written) warn("alias", { key: typeKey, value: written, meant: type });
  if (typeof type !== "string" || !Object.hasOwn(KEYS, type)) return stop("type", { key: typeKey, value: written, known: Object.keys(KEYS) });
  const reads = `${COMMON} ${KEYS[type]}`;
  const unknown = Object.keys(values).filter((key) => !has(reads, key) && given(values[key]));
  const lost = type === "default" && unknown.filter((key) => has(Object.values(KEYS).join(" "), key));
  if (lost.length) wrong("lost", { keys: lost.map((key) => set.path + key) });
  else if (unknown.length) warn("unknownKeys", { type, keys: unknown.map((key) => set.path + key) });
  const read = (key, rule, fallback) => take(values, key, rule, fallback, set.path, type);

  // Base, width, context.
  const spec = { type };
  const baseRule = type === "yarn" ? "aboveOne" : "positive";
  const bases = set.base ? [set.base] : ["rope_theta", "rotary_emb_base"];
  if (chosen === "") for (const key of bases) agree(key, config[key], `${set.path}rope_theta`, values.rope_theta);
  agree(bases[0], config[bases[0]], bases[1], config[bases[1]]);
  const baseKey = bases.find((key) => given(config[key]));
  if (given(values.rope_theta)) spec.base = read("rope_theta", baseRule);
  else if (baseKey) spec.base = take(config, baseKey, baseRule);
  else if (!known && !set.fallback) wrong("missing", { key: "rope_theta", type, rule: baseRule });
  else spec.base = assume(set.base ?? "rope_theta", set.fallback ?? lookUp("bases") ?? 1e4, "model");
  const latent = given(config.qk_rope_head_dim);
  const wide = chosen === "full_attention" && given(config.global_head_dim) && "global_head_dim";
  const headKey = latent ? "qk_rope_head_dim" : wide || size("head_dim");
  const [width, heads] = [size("hidden_size"), size("num_attention_heads")];
  if (headKey) spec.headDim = take(config, headKey, "count");
  else if (model === "gemma4_text" && chosen === "full_attention") spec.headDim = assume("global_head_dim", 512, "model");
  else if (lookUp("head_dims")) spec.headDim = assume("head_dim", lookUp("head_dims"), "model");
  else if (width && heads) {
    const [value, otherValue] = [take(config, width, "count"), take(config, heads, "count")];
    if (value % otherValue) wrong("divide", { value, otherValue });
    spec.headDim = value / otherValue;
  } else return stop("headDim");
  const { headDim } = spec;
  // All that is said of the rotated width must come to the same; a share in latent attention is one
  // of the whole head. But p-RoPE spreads its frequencies over all of it and stops the slow ones.
  const proportional = type === "proportional";
  if (proportional) {
    const part = given(values.partial_rotary_factor) ? values : config;
    spec.turning = Math.floor((take(part, "partial_rotary_factor", "share", 1) * headDim) / 2);
  }
  const said = latent || proportional ? [["qk_rope_head_dim", headDim]] : [];
  const fullWidth = headDim + (latent ? (config.qk_nope_head_dim ?? 0) : 0);
  for (const key of proportional ? [] : ["partial_rotary_factor", "rotary_pct", "rope_pct"]) {
    for (const [where, prefix] of [[values, set.path], [config, ""]]) {
      const part = given(where[key]) && take(where, key, "share", 1, prefix);
      if (part) said.push([prefix + key, part === 1 ? headDim : Math.trunc(fullWidth * part)]);
    }
  }
  if (proportional) said[0][0] = "head_dim";
  else if (given(config.rotary_dim)) said.push(["rotary_dim", take(config, "rotary_dim", "count")]);
  else if (/^(gptj|codegen)$/.test(model)) said.push(["rotary_dim", assume("rotary_dim", 64, "model")]);
  const share = lookUp("shares");
  if (!said.length) said.push(["", Math.trunc(headDim * (share ? assume("partial_rotary_factor", share, "model") : 1))]);
  for (const [key, value] of said.slice(1)) {
    if (value !== said[0][1]) wrong("widths", { key, value, other: said[0][0], otherValue: said[0][1] });
  }
  spec.rotaryDim = said[0][1];
  const { rotaryDim } = spec;
  const most = Math.min(headDim, MOST_DIMENSIONS);
  if (rotaryDim % 2 || rotaryDim < 2 || rotaryDim > most) wrong("rotaryDim", { value: rotaryDim, most });
  if (/dynamic|alpha/.test(type) && rotaryDim === 2) wrong("pairs", { type });
  spec.maxSeqLen = take(config, size("max_position_embeddings") ?? "max_position_embeddings", "count", undefined, "", type);
  spec.trained = null;
  if (has(reads, ORIGINAL)) {
    agree(ORIGINAL, config[ORIGINAL], set.path + ORIGINAL, values[ORIGINAL]);
    const rule = type === "longrope" ? "countAboveOne" : "count";
    const outside = given(config[ORIGINAL]) && !given(values[ORIGINAL]);
    spec.trained = outside ? take(config, ORIGINAL, rule) : read(ORIGINAL, rule);
  }

  // What the type asks for.
  const number = (key, rule, fallback) => (spec[key] = read(key, rule, fallback));
  const ordered = (low, high, holds, rule) => {
    if (holds || Number.isNaN(spec[high] - spec[low])) return;
    wrong("order", { key: set.path + high, value: spec[high], rule, other: low, otherValue: spec[low] });
  };
  if (type === "ntk_alpha") number("alpha", "positive");
  else if (proportional) number("factor", "atLeastOne", 1);
  else if (type === "longrope" || (type === "yarn" && values.factor === null)) {
    const ratio = spec.maxSeqLen / spec.trained;
    number("factor", type === "yarn" ? "atLeastOne" : "positive", ratio);
    if (!given(values.factor)) warn("assumed", { key: `${set.path}factor`, value: ratio, why: "ratio" });
  } else if (type !== "default") number("factor", "atLeastOne");
  if (has(reads, "attention_factor")) number("attention_factor", "positive", null);
  if (type === "llama3") {
    number("low_freq_factor", "positive");
    number("high_freq_factor", "positive");
    ordered("low_freq_factor", "high_freq_factor", spec.high_freq_factor > spec.low_freq_factor, "greater");
  }
  if (type === "yarn") {
    number("beta_fast", "positive", 32);
    number("beta_slow", "positive", 1);
    ordered("beta_slow", "beta_fast", spec.beta_fast >= spec.beta_slow, "atLeast");
    number("mscale", "positive", null);
    number("mscale_all_dim", "positive", null);
    spec.truncate = values.truncate ?? true;
    const { truncate: value, mscale, mscale_all_dim: all } = spec;
    if (typeof value !== "boolean") wrong("rule", { key: `${set.path}truncate`, value, rule: "boolean" });
    if (spec.attention_factor !== null) {
      const keys = ["mscale", "mscale_all_dim"].filter((key) => given(values[key]));
      if (keys.length) warn("beside", { keys: keys.map((key) => set.path + key) });
    } else if ((mscale === null) !== (all === null)) {
      wrong("alone", { key: set.path + (all === null ? "mscale" : "mscale_all_dim") });
    }
    if (!problems.length) {
      const [low, high] = yarnRamp(spec);
      if (low > high) wrong("ramp", { value: spec.trained, otherValue: spec.base });
      const reach = spec.factor * spec.trained;
      if (reach !== spec.maxSeqLen) warn("reach", { reach, max: spec.maxSeqLen });
      if (all && table.softmax.includes(model)) warn("softmax", { value: yarnScale(spec.factor, all) ** 2 });
    }
  }
  for (const key of type === "longrope" ? ["short_factor", "long_factor"] : []) {
    const [value, wanted, name] = [values[key], rotaryDim / 2, set.path + key];
    const index = Array.isArray(value) ? value.findIndex((v) => !(isNumber(v) && v > 0)) : -1;
    if (!given(value)) wrong("missing", { key: name, type, rule: "list" });
    else if (!Array.isArray(value)) wrong("rule", { key: name, value, rule: "list" });
    else if (value.length !== wanted) wrong("length", { key: name, value: value.length, wanted });
    else if (index >= 0) wrong("rule", { key: `${name}[${index}]`, value: value[index], rule: "positive" });
    spec[key] = value;
  }

  const flag = config.rope_interleave;
  if (given(flag) && typeof flag !== "boolean") wrong("rule", { key: "rope_interleave", value: flag, rule: "boolean" });
  const flagged = given(flag) && (!known || table.interleave_flag.includes(model));
  spec.layout = (flagged ? flag : table.interleaved.includes(model)) ? "interleaved" : "half";
  if (!known && !flagged) warn("model", { value: model ?? null });
  const switches = config.no_rope_layers;
  const total = config[size("num_hidden_layers")];
  const wanted = { no_rope_layers: (v) => v === 0 || v === 1, layer_types: (v) => typeof v === "string" };
  for (const [key, holds] of Object.entries(wanted)) {
    const list = config[key];
    const empty = !given(list) || same(list, []);
    const right = Array.isArray(list) && list.every(holds) && [list.length, undefined].includes(total);
    if (!empty && !right) wrong("rule", { key, value: list, rule: key });
  }
  if (given(switches) && known && !table.no_rope_layers.includes(model)) {
    warn("unreadKeys", { keys: ["no_rope_layers"] });
    config = { ...config, no_rope_layers: null };
  }
  if (problems.length) return result;
  spec.layers = layerPattern(config, result.layerType, sets, table);
  return { ...result, spec };
}

// ---- the arithmetic ----

const yarnScale = (factor, mscale) => 0.1 * mscale * Math.log(factor) + 1;

// The pairs, not whole numbers perhaps, between which YaRN's ramp falls.
function yarnRamp({ base, rotaryDim, trained, beta_fast, beta_slow, truncate }) {
  const pairWith = (turns) => (rotaryDim * Math.log(trained / (turns * TAU))) / (2 * Math.log(base));
  const [low, high] = [pairWith(beta_fast), pairWith(beta_slow)];
  return [
    Math.max(truncate ? Math.floor(low) : low, 0),
    Math.min(truncate ? Math.ceil(high) : high, rotaryDim - 1),
  ];
}

// The length that the frequencies depend on: 0 stands for the longest that the text names.
export function shownLength(spec, seqLen) {
  const depends = spec.type === "dynamic" || spec.type === "longrope";
  return depends && seqLen > 0 ? seqLen : spec.maxSeqLen;
}

// rad per token of every pair before and after scaling, and what cos and sin are multiplied by.
export function frequencies(spec, length) {
  const { type, base, rotaryDim, factor, trained } = spec;
  const powers = (b) => Array.from({ length: rotaryDim / 2 }, (_, i) => b ** ((-2 * i) / rotaryDim));
  const unscaled = powers(base);
  const blend = (slowed) =>
    unscaled.map((f, i) => {
      const share = clamp(slowed(f, i), 0, 1);
      return share * (f / factor) + (1 - share) * f;
    });
  let [inverse, attentionFactor, grownBase] = [unscaled, 1, base];
  if (type === "linear") inverse = blend(() => 1);
  if (type === "proportional") inverse = blend(() => 1).map((f, i) => (i < spec.turning ? f : 0));
  if (type === "dynamic") {
    const reach = Math.max(length, spec.maxSeqLen) / spec.maxSeqLen;
    grownBase = base * (factor * reach - (factor - 1)) ** (rotaryDim / (rotaryDim - 2));
    inverse = powers(grownBase);
  }
  if (type === "ntk_alpha") {
    grownBase = base * spec.alpha ** (rotaryDim / (rotaryDim - 2));
    inverse = powers(grownBase);
  }
  if (type === "llama3") {
    const { low_freq_factor: low, high_freq_factor: high } = spec;
    inverse = blend((f) => (high - (trained * f) / TAU) / (high - low));
  }
  if (type === "yarn") {
    const [low, high] = yarnRamp(spec);
    inverse = blend((f, i) => (i - low) / (high - low || 0.001));
    attentionFactor = yarnScale(factor, 1);
    if (spec.mscale && spec.mscale_all_dim) {
      attentionFactor = yarnScale(factor, spec.mscale) / yarnScale(factor, spec.mscale_all_dim);
    }
  }
  if (type === "longrope") {
    const list = length > trained ? spec.long_factor : spec.short_factor;
    inverse = unscaled.map((f, i) => f / list[i]);
    attentionFactor = Math.sqrt(1 + Math.log(Math.max(factor, 1)) / Math.log(trained));
  }
  return { unscaled, inverse, attentionFactor: spec.attention_factor ?? attentionFactor, grownBase };
}

// Indices of the pairs that complete no turn within so many tokens; a pair at rest is one of them.
export function neverTurn(inverse, length) {
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

// The sentence for a problem or a warning, in the reader's language.
export function tell(words, { code, table = "problems", ...details }) {
  const quote = (value) => {
    const text = JSON.stringify(value) ?? words.none;
    return text.length > 60 ? `${text.slice(0, 57)}…` : text;
  };
  const list = (items) => (items?.length ? items.join(", ") : words.none);
  const { value, otherValue, found, keys, known, rule, why } = details;
  const parts = {
    ...details,
    ...{ value: quote(value), otherValue: quote(otherValue), found: quote(found) },
    ...{ keys: list(keys), known: list(known), rule: words.rules[rule], why: words.why[why] ?? why },
  };
  const sentence = fill(words[table][code], parts);
  return table === "reasons" ? fill(words.place, { ...details, reason: sentence }) : sentence;
}

export function inspect(text, layerType, seqLen, table) {
  const { value, problem } = parseJson(text);
  if (problem) return { problems: [problem], warnings: [], layerTypes: [], layerType, spec: null };
  const result = readConfig(value, layerType, table);
  if (!result.spec) return result;
  const length = shownLength(result.spec, seqLen);
  return { ...result, length, ...frequencies(result.spec, length) };
}

// ---- the picture ----

const PLOT = { left: 46, right: 8, top: 16, height: 210, gap: 40, stretch: 74, bottom: 36 };

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const examples = model.get("examples");
  const table = model.get("model_types");
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
    const gone = !problems[0]?.table && kind && !layerTypes.includes(kind);
    commit(model, { config, ...(gone ? { layer_type: "" } : {}) });
  };
  const id = `rope-config-${Math.random().toString(36).slice(2)}`;
  const box = html("textarea", {
    ...{ id, class: "rope-config-text", rows: 16, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...{ "data-control": "config", "aria-describedby": `${id}-problems`, ...OWN_KEYS },
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
  const longest = (spec) => spec.maxSeqLen * (spec.type === "dynamic" ? Math.max(2, spec.factor) : 1);
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
      ...["layers_still", "layers_rotating", "pair_first", "pair_second", "pair_unscaled", "pair_wavelength", "pair_stretch"],
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
    key(words.legendGhost, ["path", { class: "rope-config-stem", d: "M11 3V15" }], [
      "path",
      { class: "rope-config-ghost", d: "M6 16H16" },
    ]),
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
      [never ? words.verdict : words.verdictAll, { never, pairs: inverse.length, length: q(length) }],
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
      const still = inverse.length - spec.turning;
      if (still) parts.push([words.proportional, { turning: spec.turning, still }]);
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
    const count = neverTurn(inverse, length).length;
    reports.never_turn_count.update(count, fill(words.of, { count, total: inverse.length }));
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
    const high = Math.log10(Math.max(length, original, ...finite) * 1.7);
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
    const [lineY, originalY] = [yOf(length), yOf(original)];
    const apart = original !== length;
    setAttributes(beyond, { x: PLOT.left, y: PLOT.top - 4, width: right - PLOT.left, height: lineY - PLOT.top + 4 });
    contextLine.setAttribute("d", `M${PLOT.left} ${lineY}H${right}`);
    originalLine.setAttribute("d", apart ? `M${PLOT.left} ${originalY}H${right}` : "");
    const contextText = depends ? words.lengthLine : words.contextLine;
    setText(contextLabel, fill(contextText, { value: formatQuantity(length) }));
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
        const never = wave > length;
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
    const turns = (length * inverse[i]) / TAU;
    reports.pair_turns.update(turns, formatQuantity(turns));
    pairSlider.update(i, pairs - 1);
    pairSlider.node.hidden = pairs < 2;
  }

  function drawKinds({ layerTypes, layerType }) {
    const several = layerTypes.length > 1;
    kindBox.hidden = !several;
    if (!same(kindButtons.map((b) => b.kind), layerTypes)) {
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
    if (same([...problemBox.querySelectorAll("p")].map((node) => node.textContent), sentences)) return;
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
      setText(verdict, words.unreadable);
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
