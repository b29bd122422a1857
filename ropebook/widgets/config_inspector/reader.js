import { parseJson } from "./json_places.js";
import { layersOf } from "./layers.js";
import { entriesByKind } from "./rope_part.js";
import { checked, given, has, isObject, keysOf, refuse } from "./rules.js";
import { yarnRamp, yarnScale } from "../kit/scaled_frequencies.js";
import { SHARE, agreed, valuesOf } from "./values.js";
import { widths } from "./widths.js";

// Reads a configuration by the table of ropelib/config/keys.py, in the order of ropelib/config/reader.py:
// each file beside this one has the name of its file there, and tests/config/test_config_parity.py
// holds the two together. What a value may be, which keys there are and what a model type leaves unsaid
// stands in the table alone.

const ORIGINAL = "original_max_position_embeddings";
const LONGEST = "max_position_embeddings";

const rulesOf = ({ required, optional }) => ({ ...required, ...optional });
const rulesOfAll = ({ rope_types: types }) => Object.assign({}, ...Object.values(types).map(rulesOf));

function choose({ text }, entries, layerType) {
  const all = entries.get(null);
  const kinds = all ? (text.layer_types ?? []) : [...entries.keys()];
  if (layerType !== null && !kinds.includes(layerType))
    refuse("layerType", { key: "layer_type", value: layerType, known: [...new Set(kinds)].sort() });
  return all ?? entries.get(layerType) ?? refuse("still", { key: "layer_type", value: layerType });
}

function noteUnreadKeys({ text, table, model, known, is, note }) {
  const unread = new Set(keysOf(text, (key) => !has(table.keys, key) && given(text[key]) && text[key] !== false));
  for (const [key, models] of Object.entries(table.read_by)) {
    const isWhatItDoes = key === "rope_interleave" && is("interleaved") && text[key];
    if (known && !models.includes(model) && given(text[key]) && !isWhatItDoes) unread.add(key);
  }
  for (const key of [...unread].sort()) note("unread", key);
}

function layoutOf({ text, table, model, is, note }) {
  const flag = text.rope_interleave;
  if (is("interleaved"))
    return flag === false && table.read_by.rope_interleave.includes(model) ? "half" : "interleaved";
  if (is("half")) return "half";
  if (given(flag)) return flag ? "interleaved" : "half";
  if (model === null) note("no_model", "model_type", {});
  else note("model", "model_type", { value: model });
  return null; // it stands in the model's code alone
}

function ropeType({ rope_types: types, unsupported_types: unsupported }, entry, where, ofAType) {
  const { rope_type: value } = entry;
  if (!given(value)) {
    const lost = keysOf(entry, (key) => has(ofAType, key));
    if (lost.length) refuse("lost", { key: lost[0], keys: lost.map((key) => where + key) });
    return "default";
  }
  if (value === "dynamic" && given(entry.alpha)) return "ntk_alpha"; // HunYuan's files call it dynamic
  if (has(unsupported, value)) refuse("unsupportedType", { key: "rope_type", value, why: unsupported[value] });
  if (!has(types, value)) refuse("type", { key: `${where}rope_type`, value, known: Object.keys(types) });
  return value;
}

// The entry's keys that are read, each by its rule; the others are noted or refused.
function checkedEntry({ table, note }, entry, type, where, ofAType) {
  const rules = { ...table.common, ...rulesOf(table.rope_types[type]) };
  for (const key of keysOf(entry, (name) => !has(rules, name))) {
    if (has(table.not_of_the_tables, key)) note("aside", key, { why: table.not_of_the_tables[key] });
    else if (type === "default" && has(ofAType, key)) refuse("lost", { key, keys: [where + key] });
    else if (has(ofAType, key)) note("no_effect", key, { type });
    else {
      const named = { key: where + key, type, known: Object.keys(rules).sort() };
      if (has(table.read_elsewhere, key)) refuse("readElsewhere", { ...named, why: table.read_elsewhere[key] });
      refuse("unknown", named);
    }
  }
  rules[ORIGINAL] = "count";
  const read = keysOf(entry, (key) => has(rules, key)).map((key) => [key, entry[key]]);
  for (const [key, value] of read) if (given(value)) checked(where + key, value, rules[key], table);
  return Object.fromEntries(read);
}

function checkMissing(table, entry, { type, original, maxSeqLen }, where) {
  const isThere = (key) => has(entry, key) || (key === ORIGINAL && given(original));
  const missing = keysOf(table.rope_types[type].required, (key) => !isThere(key));
  if (missing.length) refuse("missing", { key: missing[0], keys: missing.map((key) => where + key), type });
  const ratio = table.ratio_of_lengths.includes(type) && !given(entry.factor);
  const needed = ratio || type === "dynamic";
  if (needed && !given(maxSeqLen)) refuse("missing", { key: LONGEST, keys: [LONGEST], type });
}

// What the type computes with, defaults included.
function options({ text, table, note, assume }, entry, { type, original, maxSeqLen }, where) {
  const { defaults } = table.rope_types[type];
  const { [ORIGINAL]: _, ...rules } = rulesOf(table.rope_types[type]);
  const found = {};
  for (const key of Object.keys(rules)) found[key] = entry[key] ?? defaults[key] ?? null;
  if (table.ratio_of_lengths.includes(type) && !given(found.factor)) {
    found.factor = checked(`${where}factor`, maxSeqLen / original, rules.factor, table);
    assume("factor", found.factor, "ratio");
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

function baseOf({ text, table, model, known, is, orDefault, lookUp, assume, spellings }, entries, entry, where) {
  const said = { [`${where}rope_theta`]: entry.rope_theta };
  if (entries.has(null) || !has(entry, "rope_theta")) Object.assign(said, spellings("base"));
  if (is("half_a_head")) said["10000 * rope_ratio"] = table.defaults.rope_theta * orDefault("rope_ratio");
  if (given(text.layer_rope_theta)) {
    const rotating = [...new Set(text.layer_rope_theta)].filter((value) => value !== 0);
    if (rotating.length !== 1) refuse("layerBases", { key: "layer_rope_theta", value: rotating });
    said.layer_rope_theta = rotating[0];
  }
  const found = agreed(said);
  if (given(found)) return found;
  if (!known) refuse("missingBase", { key: "rope_theta", value: model });
  return assume("rope_theta", lookUp("bases") ?? table.defaults.rope_theta);
}

// What the functions of ropelib/scaling.py and RopeConfig ask of the numbers together.
function checkTogether(spec, where) {
  const { type, rotaryDim, headDim } = spec;
  if (rotaryDim % 2 || rotaryDim < 2 || rotaryDim > headDim)
    refuse("rotaryDim", { key: "rotary_dim", value: rotaryDim, most: headDim });
  if (/dynamic|alpha/.test(type) && rotaryDim === 2) refuse("pairs", { key: "rotary_dim", type });
  const aboveOne = (key, value) => value > 1 || refuse("rule", { key, value, rule: "above_one" });
  const ordered = (low, high) => {
    const [value, otherValue] = [spec[high], spec[low]];
    if (!(value >= otherValue)) refuse("order", { key: where + high, value, other: low, otherValue });
  };
  if (type === "longrope") {
    aboveOne(ORIGINAL, spec.trained);
    for (const key of ["short_factor", "long_factor"]) {
      const [value, wanted] = [spec[key].length, rotaryDim / 2];
      if (value !== wanted) refuse("length", { key: where + key, value, wanted });
    }
  }
  if (type === "llama3") ordered("low_freq_factor", "high_freq_factor");
  if (type === "yarn") {
    ordered("beta_slow", "beta_fast");
    aboveOne("rope_theta", spec.base);
    const [low, high] = yarnRamp(spec);
    if (low > high) refuse("ramp", { key: ORIGINAL, value: spec.trained, otherValue: spec.base });
    const alone = given(spec.mscale) !== given(spec.mscale_all_dim);
    if (alone) refuse("alone", { key: where + (given(spec.mscale) ? "mscale" : "mscale_all_dim") });
  }
}

// All that one kind of layer computes with.
function specOf(values, entries, layerType) {
  const { text, table, path, is, spelled } = values;
  const chosen = choose(values, entries, layerType);
  const where = entries.has(null) || !isObject(text.rope_parameters?.[layerType]) ? path : `${path}${layerType}.`;
  noteUnreadKeys(values);
  const [layout, ofAType] = [layoutOf(values), rulesOfAll(table)];
  const type = ropeType(table, chosen, where, ofAType);
  const entry = checkedEntry(values, chosen, type, where, ofAType);
  const maxSeqLen = spelled(LONGEST);
  const length = agreed({ [where + ORIGINAL]: entry[ORIGINAL], [ORIGINAL]: text[ORIGINAL] });
  const isAssumed = !given(length) && table.ratio_of_lengths.includes(type) && given(maxSeqLen);
  const original = isAssumed ? values.assume(ORIGINAL, maxSeqLen, "longest") : length; // as transformers fills it in
  const spec = { layout, type, written: chosen.rope_type, maxSeqLen, original };
  checkMissing(table, entry, spec, where);
  Object.assign(spec, options(values, entry, spec, where));
  spec.trained = has(table.rope_types[type].required, ORIGINAL) ? original : null;
  [spec.headDim, spec.rotaryDim] = widths(values, entry, type, layerType, where);
  spec.base = baseOf(values, entries, entry, where);
  spec.layers = layersOf(values, entries, layerType);
  checkTogether(spec, where);
  spec.softmaxFactor = type === "yarn" && is("softmax") ? yarnScale(spec.factor, spec.mscale_all_dim ?? 0) ** 2 : 1;
  return spec;
}

// Everything that the text says. A problem stops the reading; notes stand beside the picture.
export function readConfig(json, layerType, table) {
  const result = { problems: [], notes: [], layerTypes: [], layerType, spec: null };
  try {
    const whole = parseJson(json, table.most);
    if (!isObject(whole)) refuse("object", { value: whole });
    const values = valuesOf(whole, table, result.notes);
    const entries = entriesByKind(values);
    // Of a kind that does not rotate there is nothing to read.
    const kinds = [...entries.keys()].filter((kind) => kind !== null && entries.get(kind));
    result.layerTypes = kinds;
    // A model with one rotation may still be asked about one kind of layer.
    result.layerType = layerType || kinds[0] || "";
    result.spec = specOf(values, entries, result.layerType || null);
  } catch (error) {
    if (!error.problem) throw error;
    result.problems.push(error.problem);
  }
  return result;
}
