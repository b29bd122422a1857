import { given, isObject, refuse } from "./rules.js";

// Whether a configuration is about rotation at all, as ropelib/config/rotating.py asks.

const DEEP = 6; // so far within a part a word about rotation is looked for

const speaks = ([, value]) => given(value) && value !== false;

export function checkModelType(value, { model_types: types }) {
  if (Object.hasOwn(types.unsupported, value))
    refuse("unsupported", { key: "model_type", value, why: types.unsupported[value] });
  if (types.without_rotation.includes(value)) refuse("noRotation", { key: "model_type", value });
}

export function checkKeys(text, { model_types: types, not_rotating: keys, rotating_embeddings: rotating }) {
  if (text.alibi) refuse("noRotation", { key: "alibi", value: true });
  const model = text.model_type ?? "";
  if (Object.hasOwn(types.needs, model)) {
    const [key, needed] = types.needs[model];
    if (text[key] !== needed) refuse("needs", { key, value: text[key] ?? null, needed: JSON.stringify(needed) });
  }
  for (const key of keys) {
    const value = text[key];
    if (given(value) && !rotating.includes(value)) refuse("noRotation", { key, value });
  }
}

// Names of the parts that say something about rotation.
function rotatingParts(whole, isAboutRotation, types) {
  const rotates = (kind) =>
    types.interleaved.includes(kind) || types.half.includes(kind) || Object.hasOwn(types.text_types, kind);
  const speaking = (part, depth) => {
    if (!isObject(part) || depth > DEEP) return false;
    if (typeof part.model_type === "string" && rotates(part.model_type)) return true;
    if (types.without_rotation.includes(part.model_type)) return false;
    return Object.entries(part).some(
      (entry) => (isAboutRotation(entry[0]) && speaks(entry)) || speaking(entry[1], depth + 1),
    );
  };
  return Object.keys(whole)
    .filter((key) => speaking(whole[key], 0))
    .sort();
}

// Where nothing in a configuration of an unknown type is about rotation there is nothing to read.
export function checkThatItSpeaks(text, whole, isAboutRotation, table) {
  if (Object.entries(text).some((entry) => isAboutRotation(entry[0]) && speaks(entry))) return;
  const keys = rotatingParts(whole, isAboutRotation, table.model_types);
  const key = "model_type";
  const value = text.model_type ?? null;
  if (keys.length) refuse("elsewhere", { key, value, keys, known: table.text_parts.slice(0, 1) });
  refuse("silent", { key, value });
}
