import { yarnRamp, yarnScale } from "./scaled_frequencies.js";

// Reads a configuration by the table of ropelib/config/keys.py, in the order of
// ropelib/config/reader.py; tests/config/test_config_parity.py holds the two together. What a value
// may be, which keys there are and what a model type leaves unsaid stands in the table alone.

const ORIGINAL = "original_max_position_embeddings";
const SHARE = "partial_rotary_factor";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const given = (value) => value !== undefined && value !== null;
const has = Object.hasOwn;
const keysOf = (object, keep) => Object.keys(object).filter(keep).sort();
const byKind = (full, sliding) => new Map(Object.entries({ full_attention: full, sliding_attention: sliding }));
const kindOf = (local) => (local ? "sliding_attention" : "full_attention");

export function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (!isObject(a) || !isObject(b)) return (a ?? null) === (b ?? null);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => has(b, key) && same(a[key], b[key]));
}

function refuse(code, details) {
  throw { problem: { code, ...details } };
}

// A value that keeps its rule; the words of a problem know each rule by its name.
export function checked(key, value, name, table) {
  const { most, smallest } = table;
  const rule = table.rules[name];
  const keep = (holds, broken = name) => holds || refuse("rule", { key, value, rule: broken });
  if (rule.of === "text") keep(typeof value === "string");
  if (rule.of === "boolean") keep(typeof value === "boolean");
  if (rule.of === "mapping") keep(isObject(value));
  if (rule.of === "pattern" && typeof value === "string") keep(new RegExp(`^${rule.shape}$`).test(value));
  else if (rule.of === "pattern") checked(key, value, "count", table);
  if (rule.of === "list") {
    keep(Array.isArray(value));
    if (value.length > most.layers) refuse("entries", { key, value: value.length, most: most.layers });
    value.forEach((entry, i) => checked(`${key}[${i}]`, entry, rule.each, table));
  }
  if (rule.of === "number" || rule.of === "integer") {
    keep(typeof value === "number" && Math.abs(value) <= most.number, "number");
    if (rule.of === "integer") keep(Number.isInteger(value));
    // A bound that the rule does not have is undefined, and nothing is beyond it.
    keep(!(value <= rule.above || value < rule.least || value > rule.most));
    keep(value === 0 || Math.abs(value) >= smallest, "tiny");
  }
  return value;
}

// The one value that all who give any agree on.
function agreed(said, code = "disagree") {
  const found = said.filter(([, value]) => given(value));
  for (const [key, value] of found.slice(1)) {
    const [other, otherValue] = found[0];
    if (value !== otherValue) refuse(code, { key, value, other, otherValue });
  }
  return found[0]?.[1] ?? null;
}

// What the part about text says of rotation; what stands around it must agree.
function textPart(whole, table) {
  const aboutRotation = new RegExp(table.about_rotation, "i");
  const known = (key) => has(table.keys, key);
  const name = table.text_parts.find((key) => given(whole[key]));
  let text = whole;
  if (name) {
    const inner = checked(name, whole[name], "mapping", table);
    for (const key of Object.keys(table.keys).filter((key) => aboutRotation.test(key))) {
      const [value, otherValue] = [whole[key], inner[key]];
      if (given(value) && !same(value, otherValue))
        refuse("disagree", { key, value, other: `${name}.${key}`, otherValue });
    }
    text = { model_type: whole.model_type, ...inner };
  }
  return Object.fromEntries(Object.entries(text).filter(([key]) => known(key) || aboutRotation.test(key)));
}

// Rope parameters with one spelling of the type and without nulls.
function flat(part, path, table) {
  const { rope_type: _, type: __, ...entry } = part ?? {};
  const types = ["rope_type", "type"].filter((name) => given(part?.[name]));
  const meant = types.map((name) => {
    const value = checked(`${path}${name}`, part[name], "text", table);
    return has(table.aliases, value) ? table.aliases[value] : value;
  });
  if (types.length === 2 && meant[0] !== meant[1]) {
    refuse("disagree", { key: `${path}rope_type`, value: meant[0], other: `${path}type`, otherValue: meant[1] });
  }
  // Of a null factor the presence matters: YaRN then takes the ratio of the lengths.
  const keeps = (key, value) => given(value) || (key === "factor" && meant[0] === "yarn");
  const values = Object.fromEntries(Object.entries(entry).filter(([key, value]) => keeps(key, value)));
  return types.length ? { ...values, rope_type: meant[0] } : values;
}

function merged(first, second, path, otherPath) {
  for (const key of keysOf(first, (name) => has(second, name))) {
    const [value, otherValue] = [first[key], second[key]];
    if (!same(value, otherValue)) refuse("disagree", { key: path + key, value, other: otherPath + key, otherValue });
  }
  return { ...first, ...second };
}

// A reader of one text part; `notes` gathers what is worth a warning.
function reader(text, table, notes) {
  for (const [key, rule] of Object.entries(table.keys)) {
    if (given(text[key])) checked(key, text[key], rule, table);
  }
  const model = text.model_type ?? null;
  const types = table.model_types;
  const is = (group) => (Array.isArray(types[group]) ? types[group].includes(model) : has(types[group], model));
  const known = is("interleaved") || is("half");
  const orDefault = (key) => text[key] ?? table.defaults[key];
  const note = (code, key, details) => notes.push({ code, key, ...details });
  const assume = (key, value, why = "model") => {
    note("assumed", key, { value, why });
    return value;
  };
  const spelled = (name) => agreed(table.spellings[name].map((key) => [key, text[key]]));
  const lookUp = (group) => (is(group) ? types[group][model] : null);
  const path = given(text.rope_parameters) ? "rope_parameters." : "rope_scaling.";

  function checkThatItRotates() {
    if (is("unsupported")) refuse("unsupported", { key: "model_type", value: model, why: types.unsupported[model] });
    if (is("without_rotation")) refuse("noRotation", { key: "model_type", value: model });
    if (text.alibi) refuse("noRotation", { key: "alibi", value: true });
    const value = text.position_embedding_type;
    if (given(value) && !table.rotating_embeddings.includes(value)) {
      refuse("noRotation", { key: "position_embedding_type", value });
    }
  }

  // Rope parameters by kind of layer; under null where all are alike.
  function entriesByKind() {
    const [old, fresh] = [flat(text.rope_scaling, "rope_scaling.", table), text.rope_parameters];
    if (Object.values(fresh ?? {}).some(isObject)) return nested(old, fresh);
    const entry = merged(old, flat(fresh, "rope_parameters.", table), "rope_scaling.", "rope_parameters.");
    if (!Object.keys(entry).length && is("scaled_by_default"))
      refuse("scaledByDefault", { key: "rope_parameters", value: model });
    const local = text.rope_local_base_freq ?? text.local_rope_theta;
    if (is("two_bases") || given(local)) return twoBases(entry, local);
    const base = has(entry, "rope_theta") ? { rope_theta: entry.rope_theta } : {};
    if (is("one_base_scaled")) return byKind(entry, base);
    return new Map([[null, entry]]);
  }

  function nested(old, fresh) {
    const [value, most] = [Object.keys(fresh).length, table.most.kinds_of_layers];
    if (value > most) refuse("entries", { key: "rope_parameters", value, most });
    const loose = Object.keys(fresh).filter((key) => given(fresh[key]) && !isObject(fresh[key]));
    if (loose.length) refuse("mixed", { key: loose[0], keys: loose.map((key) => path + key) });
    const entries = new Map(
      Object.entries(fresh).map(([kind, part]) => [kind, part && flat(part, `${path}${kind}.`, table)]),
    );
    const inside = [...entries.values()].filter((entry) => entry && Object.keys(entry).length);
    // What stands outside must be said again by one of the sets.
    const outside = { ...old, ...(given(text.rope_theta) ? { rope_theta: text.rope_theta } : {}) };
    for (const [key, value] of Object.entries(outside)) {
      if (key === "rope_theta" && inside.some((entry) => !has(entry, key))) continue;
      const repeats = (entry) => has(entry, key) && same(entry[key], value);
      if (!inside.some(repeats)) refuse("outside", { key, value });
    }
    return entries;
  }

  // One base for sliding layers, another for the rest; ModernBERT scales both, Gemma the second.
  function twoBases(scaled, written) {
    const defaults = lookUp("two_bases");
    const bert = is("alternating") || given(text.local_rope_theta);
    let entry = scaled;
    if (bert && given(text.global_rope_theta)) {
      entry = merged(entry, { rope_theta: text.global_rope_theta }, path, "global_");
    }
    if (!has(entry, "rope_theta") && !given(text.rope_theta) && defaults) {
      entry = { ...entry, rope_theta: assume("rope_theta of full_attention", defaults[0]) };
    }
    const local = written ?? assume(bert ? "local_rope_theta" : "rope_local_base_freq", defaults[1]);
    return byKind(entry, { ...(bert ? entry : {}), rope_theta: local });
  }

  checkThatItRotates();
  const entries = entriesByKind();

  function choose(layerType) {
    const kinds = entries.has(null) ? (text.layer_types ?? []) : [...entries.keys()];
    if (layerType !== null && !kinds.includes(layerType)) {
      refuse("layerType", { key: "layer_type", value: layerType, known: [...new Set(kinds)].sort() });
    }
    if (entries.has(null)) return entries.get(null);
    return entries.get(layerType) ?? refuse("still", { key: "layer_type", value: layerType });
  }

  function noteUnreadKeys() {
    const unread = new Set(keysOf(text, (key) => !has(table.keys, key) && given(text[key]) && text[key] !== false));
    for (const [key, models] of Object.entries(table.read_by)) {
      const isWhatItDoes = key === "rope_interleave" && is("interleaved") && text[key];
      if (known && !models.includes(model) && given(text[key]) && !isWhatItDoes) unread.add(key);
    }
    for (const key of [...unread].sort()) note("unread", key);
  }

  function layout() {
    const flag = text.rope_interleave;
    if (is("interleaved"))
      return flag === false && table.read_by.rope_interleave.includes(model) ? "half" : "interleaved";
    if (is("half")) return "half";
    if (given(flag)) return flag ? "interleaved" : "half";
    if (model === null) note("no_model", "model_type", {});
    else note("model", "model_type", { value: model });
    return "half";
  }

  const rulesOf = (type) => ({ ...table.rope_types[type].required, ...table.rope_types[type].optional });
  const ofAType = new Set(Object.keys(table.rope_types).flatMap((type) => Object.keys(rulesOf(type))));

  function ropeType(entry, where) {
    const { rope_type: value } = entry;
    if (!given(value)) {
      const lost = keysOf(entry, (key) => ofAType.has(key));
      if (lost.length) refuse("lost", { key: lost[0], keys: lost.map((key) => where + key) });
      return "default";
    }
    if (value === "dynamic" && given(entry.alpha)) return "ntk_alpha"; // HunYuan's files call it dynamic
    if (has(table.unsupported_types, value)) {
      refuse("unsupportedType", { key: "rope_type", value, why: table.unsupported_types[value] });
    }
    if (!has(table.rope_types, value)) {
      refuse("type", { key: `${where}rope_type`, value, known: Object.keys(table.rope_types) });
    }
    return value;
  }

  // The entry's keys that are read, each by its rule; the others are noted or refused.
  function checkedEntry(entry, type, where) {
    const rules = { ...table.common, ...rulesOf(type) };
    for (const key of keysOf(entry, (name) => !has(rules, name))) {
      if (has(table.not_of_the_tables, key)) note("aside", key, { why: table.not_of_the_tables[key] });
      else if (type === "default" && ofAType.has(key)) refuse("lost", { key, keys: [where + key] });
      else if (ofAType.has(key)) note("no_effect", key, { type });
      else refuse("unknown", { key: where + key, type, known: Object.keys(rules).sort() });
    }
    rules[ORIGINAL] = "count";
    const read = keysOf(entry, (key) => has(rules, key)).map((key) => [key, entry[key]]);
    for (const [key, value] of read) if (given(value)) checked(where + key, value, rules[key], table);
    return Object.fromEntries(read);
  }

  function checkMissing(entry, type, original, maxSeqLen, where) {
    const isThere = (key) => has(entry, key) || (key === ORIGINAL && given(original));
    const missing = keysOf(table.rope_types[type].required, (key) => !isThere(key));
    if (missing.length) refuse("missing", { key: missing[0], keys: missing.map((key) => where + key), type });
    if (given(maxSeqLen)) return;
    const ratio = table.ratio_of_lengths.includes(type) && !given(entry.factor);
    if (ratio || type === "dynamic")
      refuse("missing", { key: "max_position_embeddings", keys: ["max_position_embeddings"], type });
  }

  // What the type computes with, defaults included.
  function options(entry, type, maxSeqLen, original, where) {
    const { defaults } = table.rope_types[type];
    const found = {};
    for (const key of keysOf(rulesOf(type), (name) => name !== ORIGINAL)) {
      found[key] = entry[key] ?? defaults[key] ?? null;
    }
    if (table.ratio_of_lengths.includes(type) && !given(found.factor)) {
      const ratio = maxSeqLen / original;
      found.factor = checked(`${where}factor`, ratio, rulesOf(type).factor, table);
      assume("factor", ratio, "ratio");
    }
    if (type === "yarn" && given(found.attention_factor)) {
      for (const key of ["mscale", "mscale_all_dim"].filter((name) => given(found[name]))) {
        note("beside", key);
        found[key] = null;
      }
    }
    if (type === "proportional") found[SHARE] = entry[SHARE] ?? text[SHARE] ?? defaults[SHARE];
    return found;
  }

  function base(entry, where) {
    const said = [[`${where}rope_theta`, entry.rope_theta]];
    if (entries.has(null) || !has(entry, "rope_theta")) {
      said.push(...table.spellings.base.map((key) => [key, text[key]]));
    }
    if (is("half_a_head")) said.push(["10000 * rope_ratio", table.defaults.rope_theta * orDefault("rope_ratio")]);
    if (given(text.layer_rope_theta)) {
      const rotating = [...new Set(text.layer_rope_theta)].filter((value) => value !== 0);
      if (rotating.length !== 1) refuse("layerBases", { key: "layer_rope_theta", value: rotating });
      said.push(["layer_rope_theta", rotating[0]]);
    }
    const found = agreed(said);
    if (given(found)) return found;
    if (!known) refuse("missingBase", { key: "rope_theta" });
    return assume("rope_theta", lookUp("bases") ?? table.defaults.rope_theta);
  }

  // head_dim and rotary_dim.
  function widths(entry, type, layerType, where) {
    const latent = text.qk_rope_head_dim;
    const headDim = latent ?? headWidth(layerType);
    if (type === "proportional") return [headDim, headDim];
    // In latent attention a share, where it is given, is one of the whole head.
    const width = given(latent) ? headDim + (text.qk_nope_head_dim ?? 0) : headDim;
    const said = [];
    for (const key of table.spellings.share) {
      for (const part of [entry, text]) {
        const [name, share] = [part === entry ? where + key : key, part[key]];
        if (given(share)) said.push([name, share === 1 ? headDim : Math.trunc(width * share)]);
      }
    }
    const fallback = lookUp("rotary_dims");
    if (given(fallback) && text.rotary_dim === null)
      refuse("rule", { key: "rotary_dim", value: null, rule: "dimensions" });
    said.push(["rotary_dim", text.rotary_dim ?? (fallback && assume("rotary_dim", fallback))]);
    if (is("half_a_head")) said.push(["half of the head", Math.floor(headDim / 2)]);
    said.push(["qk_rope_head_dim", latent]);
    const found = agreed(said, "widths");
    if (given(found)) return [headDim, found];
    const share = lookUp("shares");
    return [headDim, Math.trunc(headDim * (share ? assume(SHARE, share) : 1))];
  }

  function headWidth(layerType) {
    const own = new Map();
    for (const [i, layer] of Object.entries(text.per_layer_config ?? {})) {
      if (!/^[0-9]{1,9}$/.test(i) || !isObject(layer)) refuse("perLayer", { key: "per_layer_config", value: i });
      const wide = layer.head_dim;
      if (given(wide)) own.set(Number(i), checked(`per_layer_config.${i}.head_dim`, wide, "dimensions", table));
    }
    if (!own.size) return commonHeadWidth(layerType);
    const kinds = text.layer_types ?? Array(spelled("num_hidden_layers") ?? 0).fill(null);
    const asked = [...kinds.keys()].filter((i) => kinds[i] === layerType);
    const wide = new Set(asked.filter((i) => own.has(i)).map((i) => own.get(i)));
    if (asked.some((i) => !own.has(i))) wide.add(commonHeadWidth(layerType));
    if (wide.size !== 1) refuse("severalWidths", { key: "head_dim", value: [...wide] });
    return [...wide][0];
  }

  function commonHeadWidth(layerType) {
    const isGlobal = layerType === "full_attention";
    if (isGlobal && given(text.global_head_dim)) return text.global_head_dim;
    const wide = spelled("head_dim");
    if (given(wide)) return wide;
    if (isGlobal && is("global_head_dims")) return assume("global_head_dim", lookUp("global_head_dims"));
    if (is("head_dims")) return assume("head_dim", lookUp("head_dims"));
    const [value, otherValue] = [spelled("hidden_size"), spelled("num_attention_heads")];
    if (!given(value) || !given(otherValue)) {
      refuse("headDim", { key: given(value) ? "num_attention_heads" : "hidden_size" });
    }
    if (value % otherValue) refuse("divide", { key: "hidden_size", value, otherValue });
    return checked("head_dim", value / otherValue, "dimensions", table);
  }

  function forEachLayer(key, values, total) {
    if (values.length !== total) refuse("layers", { key, value: values.length, wanted: total });
    return values;
  }

  function kindsOfLayers(total) {
    const each = (kind) => Array.from({ length: total }, (_, i) => kind(i));
    if (given(text.layer_types)) return forEachLayer("layer_types", text.layer_types, total);
    if (is("alternating")) return each((i) => kindOf(i % orDefault("global_attn_every_n_layers")));
    const [first, second] = table.spellings.sliding_window_pattern;
    const pattern = text[first] ?? text[second] ?? lookUp("patterns");
    if (!given(pattern)) return null;
    if (typeof pattern === "string") return each((i) => kindOf(pattern[i % pattern.length] === "L"));
    return each((i) => kindOf((i + 1) % pattern));
  }

  // Which layers rotate by `no_rope_layers`; the name misleads: a 1 is a layer that rotates.
  function switches(total) {
    const [bases, listed] = [text.layer_rope_theta, text.no_rope_layers];
    if (given(bases)) return forEachLayer("layer_rope_theta", bases, total).map((value) => value !== 0);
    if (!table.read_by.no_rope_layers.includes(model) && (!given(listed) || known)) return Array(total).fill(true);
    if (listed?.length) return forEachLayer("no_rope_layers", listed, total).map((value) => value === 1);
    return Array.from({ length: total }, (_, i) => (i + 1) % orDefault("no_rope_layer_interval") !== 0);
  }

  // The layers of the chosen kind that rotate, and those that rotate in no way.
  function layers(layerType) {
    const total = spelled("num_hidden_layers");
    if (!given(total)) return { total, rotating: null, still: [] };
    const [kinds, on] = [kindsOfLayers(total), switches(total)];
    let slidingOnly = is("sliding_only");
    if (slidingOnly && !is("sliding_only_always")) slidingOnly = text.sliding_window !== null;
    if (!kinds && (slidingOnly || layerType !== null)) refuse("missingLayers", { key: "layer_types" });
    const turns = (i) =>
      on[i] &&
      !table.without_attention.includes(kinds?.[i]) &&
      (!slidingOnly || kinds[i] === "sliding_attention") &&
      entries.get(kinds?.[i]) !== null;
    const all = Array.from({ length: total }, (_, i) => i);
    const rotating = all.filter((i) => turns(i) && (layerType === null || kinds[i] === layerType));
    return { total, rotating, still: all.filter((i) => !turns(i)) };
  }

  // What the functions of ropelib/scaling.py and RopeConfig ask of the numbers together.
  function checkTogether(spec, where) {
    const { type, rotaryDim, headDim } = spec;
    if (rotaryDim % 2 || rotaryDim < 2 || rotaryDim > headDim)
      refuse("rotaryDim", { key: "rotary_dim", value: rotaryDim, most: headDim });
    if (/dynamic|alpha/.test(type) && rotaryDim === 2) refuse("pairs", { key: "rotary_dim", type });
    const ordered = (low, high, rule) => {
      const [value, otherValue] = [spec[high], spec[low]];
      const holds = value > otherValue || (value === otherValue && rule === "at_least");
      if (!holds) refuse("order", { key: where + high, value, rule, other: low, otherValue });
    };
    if (type === "longrope") {
      if (spec.trained === 1) refuse("rule", { key: ORIGINAL, value: 1, rule: "above_one" });
      for (const key of ["short_factor", "long_factor"]) {
        const [value, wanted] = [spec[key].length, rotaryDim / 2];
        if (value !== wanted) refuse("length", { key: where + key, value, wanted });
      }
    }
    if (type === "llama3") ordered("low_freq_factor", "high_freq_factor", "greater");
    if (type === "yarn") {
      ordered("beta_slow", "beta_fast", "at_least");
      if (spec.base <= 1) refuse("rule", { key: "rope_theta", value: spec.base, rule: "above_one" });
      const [low, high] = yarnRamp(spec);
      if (low > high) refuse("ramp", { key: ORIGINAL, value: spec.trained, otherValue: spec.base });
      if (given(spec.mscale) !== given(spec.mscale_all_dim)) {
        refuse("alone", { key: where + (given(spec.mscale) ? "mscale" : "mscale_all_dim") });
      }
    }
  }

  function read(layerType) {
    const chosen = choose(layerType);
    const where = entries.has(null) || !isObject(text.rope_parameters?.[layerType]) ? path : `${path}${layerType}.`;
    noteUnreadKeys();
    const spec = { layout: layout() };
    const type = ropeType(chosen, where);
    const entry = checkedEntry(chosen, type, where);
    const maxSeqLen = spelled("max_position_embeddings");
    const original = agreed([
      [where + ORIGINAL, entry[ORIGINAL]],
      [ORIGINAL, text[ORIGINAL]],
    ]);
    checkMissing(entry, type, original, maxSeqLen, where);
    Object.assign(
      spec,
      { type, written: chosen.rope_type, maxSeqLen, original },
      options(entry, type, maxSeqLen, original, where),
    );
    spec.trained = has(table.rope_types[type].required, ORIGINAL) ? original : null;
    [spec.headDim, spec.rotaryDim] = widths(entry, type, layerType, where);
    spec.base = base(entry, where);
    spec.layers = layers(layerType);
    checkTogether(spec, where);
    const weight = type === "yarn" && is("softmax") ? spec.mscale_all_dim : null;
    spec.softmaxFactor = weight ? yarnScale(spec.factor, weight) ** 2 : 1;
    return spec;
  }

  // Of a kind that does not rotate there is nothing to read.
  return { kinds: [...entries.keys()].filter((kind) => kind !== null && entries.get(kind)), read };
}

// Everything that the text says. A problem stops the reading; notes stand beside the picture.
export function readConfig(whole, layerType, table) {
  const result = { problems: [], notes: [], layerTypes: [], layerType, spec: null };
  try {
    if (!isObject(whole)) refuse("object", { value: whole });
    const { kinds, read } = reader(textPart(whole, table), table, result.notes);
    result.layerTypes = kinds;
    // A model with one rotation may still be asked about one kind of layer.
    result.layerType = layerType || kinds[0] || "";
    result.spec = read(result.layerType || null);
  } catch (error) {
    if (!error.problem) throw error;
    result.problems.push(error.problem);
  }
  return result;
}
