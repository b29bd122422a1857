import { checked, given, has, isObject, keysOf, refuse, same } from "./rules.js";

// The rope part of a configuration, as ropelib/config/rope_part.py reads it: in old style, in new style,
// or one for each kind of layer.

const byKind = (full, sliding) => new Map(Object.entries({ full_attention: full, sliding_attention: sliding }));

// Rope parameters with one spelling of the type and without nulls.
function flat(part, path, table) {
  const { rope_type: _, type: __, ...entry } = part ?? {};
  const types = ["rope_type", "type"].filter((name) => given(part?.[name]));
  const [meant, other] = types.map((name) => {
    const value = checked(`${path}${name}`, part[name], "text", table);
    return has(table.aliases, value) ? table.aliases[value] : value;
  });
  if (types.length === 2 && meant !== other)
    refuse("disagree", { key: `${path}rope_type`, value: meant, other: `${path}type`, otherValue: other });
  // Of a null factor the presence matters: YaRN then takes the ratio of the lengths.
  const keeps = ([key, value]) => given(value) || (key === "factor" && meant === "yarn");
  return Object.fromEntries(Object.entries({ ...entry, rope_type: meant }).filter(keeps));
}

function merged(first, second, path, otherPath) {
  for (const key of keysOf(first, (name) => has(second, name))) {
    const [value, otherValue] = [first[key], second[key]];
    if (!same(value, otherValue)) refuse("disagree", { key: path + key, value, other: otherPath + key, otherValue });
  }
  return { ...first, ...second };
}

// Rope parameters by kind of layer; under null where all are alike.
export function entriesByKind(values) {
  const { text, table, model, is } = values;
  const [old, fresh] = [flat(text.rope_scaling, "rope_scaling.", table), text.rope_parameters];
  if (Object.values(fresh ?? {}).some(isObject)) return nested(values, old, fresh);
  const entry = merged(old, flat(fresh, "rope_parameters.", table), "rope_scaling.", "rope_parameters.");
  if (!Object.keys(entry).length && is("scaled_by_default"))
    refuse("scaledByDefault", { key: "rope_parameters", value: model });
  const local = text.rope_local_base_freq ?? text.local_rope_theta;
  if (is("two_bases") || given(local)) return twoBases(values, entry, local);
  const base = has(entry, "rope_theta") ? { rope_theta: entry.rope_theta } : {};
  if (is("one_base_scaled")) return byKind(entry, base);
  return new Map([[null, entry]]);
}

function nested({ text, table, path }, old, fresh) {
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
function twoBases({ text, path, is, lookUp, assume }, scaled, written) {
  const defaults = lookUp("two_bases");
  const bert = is("alternating") || given(text.local_rope_theta);
  const own = bert ? text.global_rope_theta : null;
  let entry = given(own) ? merged(scaled, { rope_theta: own }, path, "global_") : scaled;
  if (!has(entry, "rope_theta") && !given(text.rope_theta) && defaults)
    entry = { ...entry, rope_theta: assume("rope_theta of full_attention", defaults[0]) };
  const local = written ?? assume(bert ? "local_rope_theta" : "rope_local_base_freq", defaults[1]);
  return byKind(entry, { ...(bert ? entry : {}), rope_theta: local });
}
