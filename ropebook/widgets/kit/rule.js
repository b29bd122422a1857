// The rule of a task, as Python has read it: a tree of lists, `["compare", ["name", "m"], [["==",
// ["value", 4]]]]`. The language is that of `language.js` without its messages: small enough for
// every widget. What has no value where Python looks for one is undefined or NaN here, and no rule.
const areAlike = (a, b) => a === b || (Array.isArray(a) && JSON.stringify(a) === JSON.stringify(b));

const SIGNS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "==": areAlike,
  "!=": (a, b) => !areAlike(a, b),
  in: (a, b) => b.some((item) => areAlike(a, item)),
  "not in": (a, b) => !b.some((item) => areAlike(a, item)),
};

function rangeOf(...ends) {
  const [start, stop, step = 1] = ends.length > 1 ? ends : [0, ...ends];
  return Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
}

// Beside these, what Math calls by the same name: cos, sqrt, hypot, abs.
const CALLS = {
  min: (...all) => Math.min(...all.flat()),
  max: (...all) => Math.max(...all.flat()),
  sum: (all) => all.reduce((total, item) => total + item, 0),
  len: (all) => all.length,
  any: (all) => all.some(Boolean),
  all: (all) => all.every(Boolean),
  range: rangeOf,
  near: (a, b, tolerance = 1e-6) => Math.abs(a - b) <= tolerance * Math.abs(b) + 1e-9,
};

// [value for names in items if conditions], with one loop or several.
function eachOf(value, [loop, ...inner], names) {
  if (!loop) return [ruleValue(value, names)];
  const [bound, items, conditions] = loop;
  return ruleValue(items, names).flatMap((item) => {
    const values = bound.map((name, i) => [name, bound.length > 1 ? item[i] : item]);
    const here = Object.assign(Object.create(names), Object.fromEntries(values));
    return conditions.every((condition) => ruleValue(condition, here)) ? eachOf(value, inner, here) : [];
  });
}

const KINDS = {
  value: (_, value) => value,
  name: (names, name) => names[name] ?? { pi: Math.PI, e: Math.E }[name],
  list: (names, items) => items.map((item) => ruleValue(item, names)),
  each: (names, value, loops) => eachOf(value, loops, names),
  sign: (names, sign, part) => (sign === "-" ? -1 : 1) * ruleValue(part, names),
  power: (names, base, exponent) => ruleValue(base, names) ** ruleValue(exponent, names),
  index: (names, list, place) => ruleValue(list, names).at(ruleValue(place, names)),
  call: (names, name, parts) => (CALLS[name] ?? Math[name])(...parts.map((part) => ruleValue(part, names))),
  chain: (names, first, rest) =>
    rest.reduce((left, [sign, part]) => SIGNS[sign](left, ruleValue(part, names)), ruleValue(first, names)),
  compare(names, first, rest) {
    const values = [first, ...rest.map(([, part]) => part)].map((part) => ruleValue(part, names));
    return rest.every(([sign], i) => SIGNS[sign](values[i], values[i + 1]));
  },
  and: (names, parts) => parts.every((part) => ruleValue(part, names)),
  or: (names, parts) => parts.some((part) => ruleValue(part, names)),
  not: (names, part) => !ruleValue(part, names),
  if: (names, condition, yes, no) => ruleValue(ruleValue(condition, names) ? yes : no, names),
};

export function ruleValue([kind, ...parts], names) {
  return KINDS[kind](names, ...parts);
}
