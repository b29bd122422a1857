// The small language of answers, rules and fill-ins: a part of Python, read without Python.
// ropebook/exercises/language.py reads the same and says the same; nothing typed is ever run.
// A tree is nested arrays, ["chain", first, rest]; whole numbers in it are BigInt.

const MAX_LENGTH = 400;
const MAX_DEPTH = 30;
const LARGEST_WHOLE = 2n ** 53n;
const TYPED_SIGNS = {
  ...{ "−": "-", "–": "-", "×": "*", "·": "*", "\u22c5": "*", "÷": "/" },
  ...{ "\u00a0": " ", "\u2009": " ", "\u202f": " " },
  ...{ π: "pi", θ: "theta", α: "alpha", β: "beta", φ: "phi", λ: "lambda_" },
  ...{ "≤": "<=", "≥": ">=", "≠": "!=" },
};
const WRITE_INSTEAD = { "^": "** for a power", "√": "sqrt(2) for a root", "°": "an angle in radians" };
const KEYWORDS = new Set("and or not if else elif for in return def is lambda None while import True False".split(" "));
const TOKEN =
  /(?<space>[ \t]+)|(?<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?<name>(?:math\.)?[A-Za-z_][A-Za-z0-9_]*)|(?<string>"[^"\\]*"|'[^'\\]*')|(?<sign>\*\*|\/\/|==|!=|<=|>=|\+=|-=|\*=|\/=|[-+*/%()[\],:<>=])/y;

const GROUPED =
  /(?<![0-9A-Za-z_.,])(?<![0-9.][eE][+-])[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)(?![0-9A-Za-z_]|[ ,][0-9])/g;
const CALLED = /[A-Za-z0-9_)\]][ \t]*$/;
const PERCENT = /^[ \t]*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))[ \t]*%[ \t]*$/;
const CLOSING = { "(": ")", "[": "]" };

// What cannot be read or computed, in words for the reader.
export class LanguageError extends Error {}

// What a reader typed as a message may repeat it: short, and no markup.
export function quoted(text) {
  const signs = [
    ...text
      .replace(/^[ \t]+|[ \t]+$/g, "")
      .replaceAll("<", "‹")
      .replaceAll(">", "›"),
  ];
  return signs.length > 20 ? `“${signs.slice(0, 20).join("")}…”` : `“${signs.join("")}”`;
}

export function signCount(text) {
  return [...text].length;
}

// A text with the signs of mathematics that it may contain in Python's own.
function typed(text) {
  return [...text].map((sign) => (Object.hasOwn(TYPED_SIGNS, sign) ? TYPED_SIGNS[sign] : sign)).join("");
}

// A text without commas and spaces between thousands, where they can mean nothing else: in the
// brackets of a function and of a list a comma stands between values, and stays.
export function ungrouped(given) {
  const text = typed(given);
  if (signCount(text) > MAX_LENGTH) return text;
  return text.replace(GROUPED, (found, at) =>
    found.includes(",") && standsInValues(text.slice(0, at)) ? found : found.replace(/[ ,]/g, ""),
  );
}

function standsInValues(before) {
  const opened = [];
  [...before.matchAll(/[()[\]]/g)].forEach(({ 0: sign, index }) => {
    if (Object.hasOwn(CLOSING, sign)) opened.push(sign === "[" || CALLED.test(before.slice(0, index)));
    else opened.pop();
  });
  return opened.includes(true);
}

// What is typed where one number is asked for: thousands may be apart, 90% is 90/100.
export function oneNumber(given) {
  const text = ungrouped(given);
  const share = PERCENT.exec(text);
  return share ? `${share[1]}/100` : text;
}

export function tokensOf(given) {
  const text = typed(given);
  const found = [];
  let at = 0;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const instead = Object.hasOwn(WRITE_INSTEAD, text[at]) ? WRITE_INSTEAD[text[at]] : null;
      if (instead) throw new LanguageError(`“${text[at]}” cannot be read: write ${instead}.`);
      throw new LanguageError(`${quoted(text.slice(at))} cannot be read.`);
    }
    at = TOKEN.lastIndex;
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind !== "space") found.push(tokenFrom(kind, match[0]));
  }
  return [...found, ["end", ""]];
}

function tokenFrom(kind, word) {
  if (kind === "number") {
    const value = /^[0-9]+$/.test(word) ? BigInt(word) : Number(word);
    if (value === Number.POSITIVE_INFINITY || (typeof value === "bigint" && value > LARGEST_WHOLE))
      throw new LanguageError(`${quoted(word)} is too large.`);
    return [kind, value];
  }
  if (kind === "name") {
    const name = word.replace(/^math\./, "");
    return [KEYWORDS.has(name) ? "sign" : kind, name];
  }
  return [kind, kind === "string" ? word.slice(1, -1) : word];
}

// Reads tokens by the grammar of Python's expressions, of which it knows a part.
export class TokenReader {
  constructor(tokens) {
    Object.assign(this, { tokens, at: 0, depth: 0, used: [], bound: [] });
  }

  get sign() {
    const [kind, value] = this.tokens[this.at];
    return kind === "sign" ? value : null;
  }

  take(...signs) {
    if (this.sign === null || !signs.includes(this.sign)) return null;
    this.at += 1;
    return this.tokens[this.at - 1][1];
  }

  need(sign, where) {
    if (!this.take(sign)) throw new LanguageError(`“${sign}” is missing ${where}${this.before()}.`);
  }

  before() {
    const token = this.tokens[this.at];
    return token[0] === "end" ? "" : ` before ${this.said(token)}`;
  }

  said([kind, value]) {
    return kind === "number" ? "a number" : quoted(String(value));
  }

  // Refuses anything that is left.
  end() {
    const token = this.tokens[this.at];
    if (token[0] === "end") return;
    const last = this.at ? this.tokens[this.at - 1] : ["sign", ""];
    if (token[1] === "," && last[0] === "number")
      throw new LanguageError("“,” is not expected here: decimals take a point, as in 0.5.");
    if (["number", "name", "string"].includes(token[0]) && ["number", "name"].includes(last[0]))
      throw new LanguageError(`A sign such as * is missing between ${this.said(last)} and ${this.said(token)}.`);
    throw new LanguageError(`${this.said(token)} is not expected here.`);
  }

  deeper(read) {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw new LanguageError("This is nested too deep.");
    const found = read();
    this.depth -= 1;
    return found;
  }

  expression() {
    return this.deeper(() => this.conditional());
  }

  conditional() {
    const value = this.any();
    if (!this.take("if")) return value;
    const condition = this.any();
    this.need("else", "behind “if”");
    return ["if", condition, value, this.expression()];
  }

  any() {
    return this.joined("or", () => this.all());
  }

  all() {
    return this.joined("and", () => this.negation());
  }

  joined(word, read) {
    const parts = [read()];
    while (this.take(word)) parts.push(read());
    return parts.length === 1 ? parts[0] : [word, parts];
  }

  negation() {
    if (this.take("not")) return ["not", this.deeper(() => this.negation())];
    return this.comparison();
  }

  comparison() {
    const first = this.sum();
    const rest = [];
    while (true) {
      let sign = this.take("<", ">", "<=", ">=", "==", "!=", "in");
      if (sign === null && this.sign === "not") {
        this.at += 1;
        this.need("in", "behind “not”");
        sign = "not in";
      }
      if (sign === null) return rest.length ? ["compare", first, rest] : first;
      rest.push([sign, this.sum()]);
    }
  }

  sum() {
    return this.chain(["+", "-"], () => this.chain(["*", "/", "//", "%"], () => this.factor()));
  }

  chain(signs, read) {
    const first = read();
    const rest = [];
    for (let sign = this.take(...signs); sign; sign = this.take(...signs)) rest.push([sign, read()]);
    return rest.length ? ["chain", first, rest] : first;
  }

  factor() {
    const sign = this.take("-", "+");
    if (sign) return ["sign", sign, this.deeper(() => this.factor())];
    const base = this.item();
    return this.take("**") ? ["power", base, this.deeper(() => this.factor())] : base;
  }

  item() {
    let value = this.atom();
    while (true) {
      if (this.sign === "(") {
        if (value[0] !== "name") throw new LanguageError("A sign such as * is missing before “(”.");
        this.at += 1;
        this.used.pop();
        value = ["call", value[1], this.list(")")];
      } else if (this.take("[")) value = this.index(value);
      else return value;
    }
  }

  index(value) {
    const part = () => ([":", "]"].includes(this.sign) ? null : this.expression());
    const parts = [part()];
    while (parts.length < 3 && this.take(":")) parts.push(part());
    this.need("]", "at the end");
    if (parts.length > 1) return ["slice", value, [...parts, null].slice(0, 3)];
    if (parts[0] === null) throw new LanguageError("An index is missing between “[” and “]”.");
    return ["index", value, parts[0]];
  }

  list(closing) {
    const found = [];
    while (!this.take(closing)) {
      found.push(this.expression());
      if (!this.take(",")) {
        this.need(closing, "at the end");
        break;
      }
    }
    return found;
  }

  atom() {
    const [kind, value] = this.tokens[this.at];
    if (kind === "end") throw new LanguageError(`Something is missing at the end${this.behindPercent()}.`);
    this.at += 1;
    if (kind === "number" || kind === "string") return ["value", value];
    if (kind === "name") {
      this.used.push(value);
      return ["name", value];
    }
    if (value === "True" || value === "False") return ["value", value === "True"];
    if (value === "(") return this.group();
    if (value === "[") return this.brackets();
    throw new LanguageError(`${quoted(value)} is not expected here.`);
  }

  behindPercent() {
    const [kind, value] = this.at ? this.tokens[this.at - 1] : [];
    if (kind !== "sign" || value !== "%") return "";
    return ": here “%” gives the remainder of a division, and a share is written 0.9 or 90/100";
  }

  group() {
    if (this.take(")")) return ["list", []];
    const first = this.expression();
    if (this.take(",")) return ["list", [first, ...this.list(")")]];
    this.need(")", "at the end");
    return first;
  }

  brackets() {
    if (this.take("]")) return ["list", []];
    const first = this.expression();
    if (this.sign === "for") return this.each(first);
    if (this.take(",")) return ["list", [first, ...this.list("]")]];
    this.need("]", "at the end");
    return ["list", [first]];
  }

  each(value) {
    const loops = [];
    while (this.take("for")) {
      const names = this.names("in");
      const parts = this.any();
      const conditions = [];
      while (this.take("if")) conditions.push(this.any());
      loops.push([names, parts, conditions]);
    }
    this.need("]", "at the end");
    return ["each", value, loops];
  }

  names(closing) {
    const bracket = this.take("(");
    const found = [];
    do {
      const [kind, value] = this.tokens[this.at];
      if (kind !== "name") throw new LanguageError(`A name is missing${this.before()}.`);
      this.at += 1;
      found.push(value);
    } while (this.take(","));
    this.bound.push(...found);
    if (bracket) this.need(")", "at the end");
    this.need(closing, "behind the names");
    return found;
  }
}

export function readExpression(text) {
  return readWhole(text)[0];
}

// The names of values that an expression uses and gives no meaning itself.
export function freeNames(text) {
  const { used, bound } = readWhole(text)[1];
  return used.filter((name) => !bound.includes(name));
}

function readWhole(text) {
  if (signCount(text) > MAX_LENGTH)
    throw new LanguageError(`This is too long: at most ${MAX_LENGTH} characters are read.`);
  balanced(text);
  try {
    return readTokens(text);
  } catch (error) {
    const plain = ungrouped(text);
    if (!(error instanceof LanguageError) || plain === typed(text) || !isReadable(plain)) throw error;
    const reason = "Thousands stand together here, where a comma is between numbers";
    throw new LanguageError(`${reason}: write ${quoted(plain)}.`);
  }
}

function readTokens(text) {
  const reader = new TokenReader(tokensOf(text));
  const found = reader.expression();
  reader.end();
  return [found, reader];
}

function isReadable(text) {
  try {
    readTokens(text);
  } catch (error) {
    if (error instanceof LanguageError) return false;
    throw error;
  }
  return true;
}

// Refuses brackets that do not close, or close what was never opened.
export function balanced(text) {
  const opened = [];
  for (const sign of text) {
    if (sign === "(" || sign === "[") opened.push(sign);
    else if (sign === ")" || sign === "]")
      if (!opened.length || CLOSING[opened.pop()] !== sign) throw new LanguageError(`“${sign}” closes no bracket.`);
  }
  if (opened.length) throw new LanguageError(`“${opened.at(-1)}” is never closed.`);
}

// The parts of a text between commas or semicolons that stand in no brackets.
export function splitAtCommas(text) {
  const parts = [""];
  let depth = 0;
  for (const sign of text) {
    depth += "([".includes(sign) - ")]".includes(sign);
    if (",;".includes(sign) && depth <= 0) parts.push("");
    else parts[parts.length - 1] += sign;
  }
  return parts;
}
