// What the small language means: the value of a tree that language.js has read.
// A whole number is a BigInt, any other a number; both end where Python's side ends them.
import { LanguageError, quoted } from "./language.js";

const LARGEST = 2n ** 53n;
const MAX_STEPS = 100_000;
const MAX_ITEMS = 10_000;
const MAX_SHOWN = 200;
const TOO_LARGE = "A number on the way is too large.";
const TOO_MANY = "A list on the way is too long.";
const BY_ZERO = "This divides by zero.";

export function isNear(left, right, tolerance = 1e-6) {
  const [a, b] = [Number(left), Number(right)];
  return Math.abs(a - b) <= Number(tolerance) * Math.abs(b) + 1e-9;
}

export function isNumber(value) {
  return typeof value === "number" || typeof value === "bigint";
}

// A value as JSON or a trait has it, as a value of the language.
export function fromJson(value) {
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isFinite(value))
    return Number.isInteger(value) && Math.abs(value) <= Number(LARGEST) ? BigInt(value) : value;
  throw new LanguageError("A number, a list or a text is needed.");
}

// A value as messages say it: whole numbers whole, others with six digits.
export function showValue(value) {
  if (Array.isArray(value)) {
    const text = `[${value.map(showValue).join(", ")}]`;
    return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  }
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value;
  if (typeof value === "bigint" && value < 10n ** 15n && value > -(10n ** 15n)) return String(value);
  const number = Number(value);
  const size = Math.abs(number);
  if (size < 1e-12) return "0"; // what rounding leaves of 0
  if (Number.isInteger(number) && size < 1e15) return String(BigInt(number));
  const [mantissa, power] = digitsOf(size, Math.floor(Math.log10(size)));
  const sign = number < 0 ? "-" : "";
  if (power > -5 && power < 15) return sign + withoutZeros(withDecimals(size, Math.max(0, 5 - power)));
  return `${sign}${withoutZeros(mantissa)}e${power}`;
}

function digitsOf(value, exponent) {
  const power = Number(`1e${Math.abs(exponent)}`);
  const mantissa = withDecimals(exponent >= 0 ? value / power : value * power, 5);
  if (Number(mantissa) >= 10) return ["1.00000", exponent + 1];
  if (Number(mantissa) < 1) return digitsOf(value, exponent - 1);
  return [mantissa, exponent];
}

function withoutZeros(text) {
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

// A number with so many decimals; what lies in the middle goes away from zero.
export function withDecimals(value, places) {
  const size = Math.abs(Number(value));
  if (size >= 1e15) return showValue(value);
  const whole = BigInt(Math.floor(size * 10 ** places + 0.5));
  const digits = String(whole).padStart(places + 1, "0");
  const sign = value < 0 && whole ? "-" : "";
  return sign + (places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits);
}

export function needNumber(value) {
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (isNumber(value)) return value;
  throw new LanguageError(`A number is needed where ${Array.isArray(value) ? "a list" : "a text"} stands.`);
}

function needWhole(value, what) {
  const number = needNumber(value);
  if (typeof number !== "bigint") throw new LanguageError(`${what} must be a whole number, got ${showValue(number)}.`);
  return number;
}

export function needItems(value) {
  if (!Array.isArray(value)) throw new LanguageError(`A list is needed where ${showValue(value)} stands.`);
  return value;
}

// How many items a list holds, those of the lists in it included.
function weightOf(list) {
  let total = list.length;
  for (const item of list) {
    if (Array.isArray(item)) total += weightOf(item);
    if (total > MAX_ITEMS) break;
  }
  if (total > MAX_ITEMS) throw new LanguageError(TOO_MANY);
  return total;
}

function bounded(value) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new LanguageError(TOO_LARGE);
  if (typeof value === "bigint" && (value > LARGEST || value < -LARGEST)) throw new LanguageError(TOO_LARGE);
  if (Array.isArray(value)) weightOf(value);
  return value;
}

export function isTrue(value) {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function byKindOfNumber(wholes, others) {
  return (left, right) => {
    const [a, b] = [needNumber(left), needNumber(right)];
    return typeof a === "bigint" && typeof b === "bigint" ? wholes(a, b) : others(Number(a), Number(b));
  };
}

function divided(wholes, others) {
  const compute = byKindOfNumber(wholes, others);
  return (left, right) => {
    const [a, b] = [needNumber(left), needNumber(right)];
    if (Number(b) === 0) throw new LanguageError(BY_ZERO);
    return compute(a, b);
  };
}

function floorDivided(left, right) {
  const quotient = left / right;
  return left % right !== 0n && left < 0n !== right < 0n ? quotient - 1n : quotient;
}

// CPython's own way to a quotient that fits the remainder.
function floatDivided(left, right) {
  const rest = left % right;
  let quotient = (left - rest) / right;
  if (rest && right < 0 !== rest < 0) quotient -= 1;
  if (!quotient) return 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

function floatRest(left, right) {
  const rest = left % right;
  return rest && right < 0 !== rest < 0 ? rest + right : rest;
}

function timesList(items, count) {
  const times = Number(needWhole(count, "How often a list is repeated"));
  if (items.length * times > MAX_ITEMS) throw new LanguageError(TOO_MANY);
  return times > 0 ? Array.from({ length: times }, () => items).flat() : [];
}

function powerOf(base, exponent) {
  if (typeof base === "bigint" && typeof exponent === "bigint" && exponent >= 0n) {
    if ((base > 1n || base < -1n) && exponent > 53n) throw new LanguageError(TOO_LARGE);
    if (base <= 1n && base >= -1n) return exponent === 0n ? 1n : base === -1n && exponent % 2n === 0n ? 1n : base;
    return base ** exponent;
  }
  const [left, right] = [Number(base), Number(exponent)];
  if (left === 0 && right < 0) throw new LanguageError(BY_ZERO);
  if (left < 0 && right !== Math.floor(right))
    throw new LanguageError("A negative number has no real power with this exponent.");
  return left ** right;
}

const plus = (a, b) => a + b;
const minus = (a, b) => a - b;
const times = (a, b) => a * b;
const addNumbers = byKindOfNumber(plus, plus);
const multiplyNumbers = byKindOfNumber(times, times);
const OPERATIONS = {
  "+": (a, b) => (Array.isArray(a) && Array.isArray(b) ? [...a, ...b] : addNumbers(a, b)),
  "-": byKindOfNumber(minus, minus),
  "*": (a, b) => {
    if (Array.isArray(a) && !Array.isArray(b)) return timesList(a, b);
    if (Array.isArray(b) && !Array.isArray(a)) return timesList(b, a);
    return multiplyNumbers(a, b);
  },
  "/": divided(
    (a, b) => Number(a) / Number(b),
    (a, b) => a / b,
  ),
  "//": divided(floorDivided, floatDivided),
  "%": divided((a, b) => a - b * floorDivided(a, b), floatRest),
  "**": (a, b) => powerOf(needNumber(a), needNumber(b)),
};

export function combined(sign, left, right) {
  return bounded(OPERATIONS[sign](left, right));
}

function areSame(left, right) {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, i) => areSame(item, right[i]));
  const apart = (value) => Array.isArray(value) || typeof value === "string";
  if (apart(left) || apart(right)) return typeof left === "string" && left === right;
  return Number(left) === Number(right);
}

const COMPARISONS = {
  "==": areSame,
  "!=": (a, b) => !areSame(a, b),
  "<": (a, b) => needNumber(a) < needNumber(b),
  ">": (a, b) => needNumber(a) > needNumber(b),
  "<=": (a, b) => needNumber(a) <= needNumber(b),
  ">=": (a, b) => needNumber(a) >= needNumber(b),
  in: (a, b) => needItems(b).some((item) => areSame(a, item)),
  "not in": (a, b) => !needItems(b).some((item) => areSame(a, item)),
};

function realFunction(name, compute) {
  return (...values) => {
    const numbers = values.map(needNumber);
    const found = compute(...numbers.map(Number));
    if (Number.isNaN(found))
      throw new LanguageError(`${name}(${numbers.map(showValue).join(", ")}) is no real number.`);
    return found;
  };
}

function toWhole(round) {
  return (value) => {
    const number = needNumber(value);
    return typeof number === "bigint" ? number : BigInt(round(number));
  };
}

function roundToEven(value) {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return value - floor < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

function extreme(isBetter) {
  return (...values) => {
    const found = values.length === 1 ? needItems(values[0]) : values;
    if (!found.length) throw new LanguageError("An empty list has no largest and no smallest item.");
    found.forEach(needNumber);
    return found.reduce((best, one) => (isBetter(needNumber(one), needNumber(best)) ? one : best));
  };
}

function rangeOf(...values) {
  const numbers = values.map((value) => needWhole(value, "A value of range"));
  const [start, stop, step] = numbers.length === 1 ? [0n, numbers[0], 1n] : [...numbers, 1n];
  if (step === 0n) throw new LanguageError("The step of range must not be 0.");
  const count = -floorDivided(start - stop, step);
  if (count > BigInt(MAX_ITEMS)) throw new LanguageError(TOO_MANY);
  return Array.from({ length: Math.max(0, Number(count)) }, (_, i) => start + BigInt(i) * step);
}

function logarithm(value, base = Math.E) {
  if (value <= 0 || base <= 0 || base === 1) return Number.NaN;
  return base === Math.E ? Math.log(value) : Math.log(value) / Math.log(base);
}

function rowsOf(...lists) {
  const length = Math.min(...lists.map((list) => needItems(list).length));
  return Array.from({ length }, (_, i) => lists.map((list) => list[i]));
}

function absolute(value) {
  const number = needNumber(value);
  return number < 0 ? -number : number;
}

const REAL = {
  ...{ cos: Math.cos, sin: Math.sin, tan: Math.tan, acos: Math.acos, asin: Math.asin, atan: Math.atan },
  ...{ exp: Math.exp, sqrt: Math.sqrt },
  ...{ radians: (value) => value * (Math.PI / 180), degrees: (value) => value * (180 / Math.PI) },
};
const FUNCTIONS = {
  ...Object.fromEntries(Object.entries(REAL).map(([name, compute]) => [name, [1, 1, realFunction(name, compute)]])),
  floor: [1, 1, toWhole(Math.floor)],
  ceil: [1, 1, toWhole(Math.ceil)],
  round: [1, 1, toWhole(roundToEven)],
  atan2: [2, 2, realFunction("atan2", Math.atan2)],
  hypot: [2, 9, realFunction("hypot", Math.hypot)],
  log: [1, 2, realFunction("log", logarithm)],
  abs: [1, 1, absolute],
  min: [1, 99, extreme((one, best) => one < best)],
  max: [1, 99, extreme((one, best) => one > best)],
  sum: [1, 1, (value) => needItems(value).reduce((total, item) => bounded(addNumbers(total, item)), 0n)],
  len: [1, 1, (value) => BigInt(needItems(value).length)],
  near: [2, 3, (...values) => isNear(...values.map(needNumber))],
  range: [1, 3, rangeOf],
  zip: [2, 9, rowsOf],
  any: [1, 1, (value) => needItems(value).some(isTrue)],
  all: [1, 1, (value) => needItems(value).every(isTrue)],
};
const CONSTANTS = { pi: Math.PI, e: Math.E };

export function isConstant(name) {
  return Object.hasOwn(CONSTANTS, name);
}

// Computes values of trees with these names, in a bounded number of steps.
export class Meaning {
  constructor(names) {
    this.named = new Map(Object.entries(names));
    this.steps = 0;
  }

  step() {
    this.steps += 1;
    if (this.steps > MAX_STEPS) throw new LanguageError("This takes too long to compute.");
  }

  // Counts a step for each item of these values, in which a list may hold lists.
  spend(...values) {
    for (const value of values) if (Array.isArray(value)) this.steps += weightOf(value);
    this.step();
  }

  of(tree) {
    this.step();
    return this[tree[0]](...tree.slice(1));
  }

  value(value) {
    return value;
  }

  name(name) {
    if (this.named.has(name)) return this.named.get(name);
    if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name];
    if (Object.hasOwn(FUNCTIONS, name))
      throw new LanguageError(`${name} is a function: write ${name}( ) with a value.`);
    throw new LanguageError(`${quoted(name)} is not known here.`);
  }

  list(parts) {
    const found = parts.map((part) => this.of(part));
    this.spend(found);
    return found;
  }

  call(name, parts) {
    if (!Object.hasOwn(FUNCTIONS, name) || this.named.has(name))
      throw new LanguageError(`${quoted(name)} is no function that is known here.`);
    const [least, most, compute] = FUNCTIONS[name];
    if (parts.length < least || parts.length > most) {
      const wanted = least === most ? String(least) : `${least} to ${most}`;
      throw new LanguageError(`${name} takes ${wanted} values, got ${parts.length}.`);
    }
    const values = parts.map((part) => this.of(part));
    this.spend(...values);
    const found = bounded(compute(...values));
    this.spend(found);
    return found;
  }

  sign(sign, part) {
    const value = needNumber(this.of(part));
    return sign === "-" ? -value : value;
  }

  chain(first, rest) {
    let value = this.of(first);
    for (const [sign, part] of rest) {
      value = combined(sign, value, this.of(part));
      this.spend(value);
    }
    return value;
  }

  power(base, exponent) {
    return combined("**", this.of(base), this.of(exponent));
  }

  compare(first, rest) {
    let left = this.of(first);
    for (const [sign, part] of rest) {
      const right = this.of(part);
      this.spend(left, right);
      if (!COMPARISONS[sign](left, right)) return false;
      left = right;
    }
    return true;
  }

  not(part) {
    return !isTrue(this.of(part));
  }

  and(parts) {
    return this.until(parts, (value) => !isTrue(value));
  }

  or(parts) {
    return this.until(parts, isTrue);
  }

  until(parts, decides) {
    let value;
    for (const part of parts) {
      value = this.of(part);
      if (decides(value)) break;
    }
    return value;
  }

  if(condition, value, other) {
    return this.of(isTrue(this.of(condition)) ? value : other);
  }

  index(value, index) {
    const found = needItems(this.of(value));
    const place = Number(needWhole(this.of(index), "An index"));
    if (place < -found.length || place >= found.length)
      throw new LanguageError(`There is no index ${place} in a list of ${found.length}.`);
    return found.at(place);
  }

  slice(value, parts) {
    const found = needItems(this.of(value));
    const places = parts.map((part) => (part === null ? null : Number(needWhole(this.of(part), "An index"))));
    const step = places[2] ?? 1;
    if (step === 0) throw new LanguageError("The step of a slice must not be 0.");
    this.spend(found);
    const [low, high] = step > 0 ? [0, found.length] : [-1, found.length - 1];
    const inside = (place, otherwise) =>
      place === null ? otherwise : Math.min(high, Math.max(low, place < 0 ? place + found.length : place));
    const [start, stop] = [inside(places[0], step > 0 ? low : high), inside(places[1], step > 0 ? high : low)];
    const kept = [];
    for (let place = start; step > 0 ? place < stop : place > stop; place += step) kept.push(found[place]);
    return kept;
  }

  each(value, loops) {
    const kept = new Map(this.named);
    const found = [];
    const run = (depth) => {
      if (depth === loops.length) {
        found.push(this.of(value));
        if (found.length > MAX_ITEMS) throw new LanguageError(TOO_MANY);
        return;
      }
      const [names, parts, conditions] = loops[depth];
      for (const item of needItems(this.of(parts))) {
        this.step();
        this.bind(names, item);
        if (conditions.every((condition) => isTrue(this.of(condition)))) run(depth + 1);
      }
    };
    run(0);
    this.named = kept;
    this.spend(found);
    return found;
  }

  bind(names, value) {
    if (names.length === 1) {
      this.named.set(names[0], value);
      return;
    }
    if (needItems(value).length !== names.length)
      throw new LanguageError(`${names.length} names cannot hold ${value.length} values.`);
    names.forEach((name, i) => this.named.set(name, value[i]));
  }
}

export function valueOfTree(tree, names) {
  return new Meaning(names).of(tree);
}
