// Whether a value keeps its rule, as ropelib/config/rules.py asks, and what all files of the reader need.

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const given = (value) => value !== undefined && value !== null;
export const has = Object.hasOwn;
export const keysOf = (object, keep) => Object.keys(object).filter(keep).sort();

export function refuse(code, details) {
  throw { problem: { code, ...details } };
}

export function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (!isObject(a) || !isObject(b)) return (a ?? null) === (b ?? null);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => has(b, key) && same(a[key], b[key]));
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
