// The rule of a task, as Python has read it: a tree of lists, `["compare", ["name", "m"], [["==",
// ["value", 4]]]]`. It is a part of the language of `language.js`, small enough for every widget.
const areAlike = (a, b) => a === b || (Array.isArray(a) && JSON.stringify(a) === JSON.stringify(b));

const SIGNS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
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
const CALLS = {
  abs: Math.abs,
  min: (...all) => Math.min(...all.flat()),
  max: (...all) => Math.max(...all.flat()),
  sum: (all) => all.reduce((total, item) => total + item, 0),
  len: (all) => all.length,
  hypot: Math.hypot,
  near: (a, b, tolerance = 1e-6) => Math.abs(a - b) <= tolerance * Math.abs(b) + 1e-9,
};
const KINDS = {
  value: (value) => (_) => value,
  name: (name) => (names) => (name === "pi" ? Math.PI : names[name]),
  list: (items) => (names) => items.map((item) => ruleValue(item, names)),
  sign: (sign, part) => (names) => (sign === "-" ? -1 : 1) * ruleValue(part, names),
  index: (list, place) => (names) => ruleValue(list, names).at(ruleValue(place, names)),
  call: (name, parts) => (names) => CALLS[name](...parts.map((part) => ruleValue(part, names))),
  chain: (first, rest) => (names) =>
    rest.reduce((left, [sign, part]) => SIGNS[sign](left, ruleValue(part, names)), ruleValue(first, names)),
  compare: (first, rest) => (names) => {
    const values = [first, ...rest.map(([, part]) => part)].map((part) => ruleValue(part, names));
    return rest.every(([sign], i) => SIGNS[sign](values[i], values[i + 1]));
  },
  and: (parts) => (names) => parts.every((part) => ruleValue(part, names)),
  or: (parts) => (names) => parts.some((part) => ruleValue(part, names)),
  not: (part) => (names) => !ruleValue(part, names),
};

export function ruleValue([kind, ...parts], names) {
  return KINDS[kind](...parts)(names);
}
