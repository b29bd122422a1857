import { checkKeys, checkModelType, checkThatItSpeaks } from "./rotating.js";
import { checked, given, has, isObject, refuse, same } from "./rules.js";

// What a configuration says, each value by its rule, as ropelib/config/values.py reads it.

export const SHARE = "partial_rotary_factor";

// The one value that all who give any agree on, of { where it stands: value }.
export function agreed(said, code = "disagree") {
  const [first, ...others] = Object.entries(said).filter(([, value]) => given(value));
  for (const [key, value] of others) {
    if (value !== first[1]) refuse(code, { key, value, other: first[0], otherValue: first[1] });
  }
  return first?.[1] ?? null;
}

// What the part about text says of rotation; what stands around it must agree.
function textPart(whole, table, isAboutRotation) {
  if (typeof whole.model_type === "string" && has(table.model_types.unsupported, whole.model_type))
    checkModelType(whole.model_type, table);
  const known = (key) => has(table.keys, key);
  const name = table.text_parts.find((key) => given(whole[key]));
  const inner = name ? checked(name, whole[name], "mapping", table) : whole;
  for (const key of Object.keys(table.keys).filter(isAboutRotation)) {
    const [value, otherValue] = [whole[key], inner[key]];
    if (given(value) && !same(value, otherValue))
      refuse("disagree", { key, value, other: `${name}.${key}`, otherValue });
  }
  const text = withParts({ model_type: whole.model_type, ...inner }, table, isAboutRotation);
  const read = Object.entries(text).filter(([key]) => known(key) || isAboutRotation(key));
  return [inner, Object.fromEntries(read)];
}

// What attention's own part says of rotation, as DBRX's does, counts as if it stood outside.
function withParts(inner, table, isAboutRotation) {
  const text = { ...inner };
  for (const name of table.parts_of_the_text.filter((part) => isObject(inner[part]))) {
    for (const [key, otherValue] of Object.entries(inner[name])) {
      if (!given(otherValue) || !isAboutRotation(key)) continue;
      const value = text[key];
      if (given(value) && !same(value, otherValue))
        refuse("disagree", { key, value, other: `${name}.${key}`, otherValue });
      text[key] = otherValue;
    }
  }
  return text;
}

// The type of the text part, by which it is read.
function modelOf(text, table) {
  if (!given(text.model_type)) return;
  const model = checked("model_type", text.model_type, "text", table);
  const { text_types: types } = table.model_types;
  text.model_type = has(types, model) ? types[model] : model;
}

// The text part and the questions that all files here ask of it; `notes` gathers what is worth a warning.
export function valuesOf(whole, table, notes) {
  const aboutRotation = new RegExp(table.about_rotation, "i");
  const isAboutRotation = (key) => aboutRotation.test(key);
  const [inner, text] = textPart(whole, table, isAboutRotation);
  modelOf(text, table);
  checkModelType(text.model_type, table);
  const bases = text.rope_theta;
  if (Array.isArray(bases) && bases.length && bases.every((base) => typeof base === "number"))
    refuse("perLayerBase", { key: "rope_theta" });
  for (const [key, rule] of Object.entries(table.keys)) {
    if (given(text[key])) checked(key, text[key], rule, table);
  }
  checkKeys(text, table);
  const model = text.model_type ?? null;
  const types = table.model_types;
  const is = (group) => (Array.isArray(types[group]) ? types[group].includes(model) : has(types[group], model));
  const known = is("interleaved") || is("half");
  if (!known) checkThatItSpeaks(text, inner, isAboutRotation, table);
  const orDefault = (key) => text[key] ?? table.defaults[key];
  const note = (code, key, details) => notes.push({ code, key, ...details });
  const assume = (key, value, why = "model") => {
    note("assumed", key, { value, why });
    return value;
  };
  const spellings = (name) => Object.fromEntries(table.spellings[name].map((key) => [key, text[key]]));
  const spelled = (name) => agreed(spellings(name));
  const lookUp = (group) => (is(group) ? types[group][model] : null);
  const path = given(text.rope_parameters) ? "rope_parameters." : "rope_scaling.";
  return { path, text, table, model, types, known, is, orDefault, note, assume, spellings, spelled, lookUp };
}
