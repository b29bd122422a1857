// Functions in the small language: assignments, conditions, loops and returns, for fill-ins.
// ropebook/exercises/program.py reads the same and says the same.
import { balanced, LanguageError, quoted, signCount, TokenReader, tokensOf } from "./language.js";
import { combined, isTrue, Meaning, needItems } from "./meaning.js";

const MAX_CODE = 4000;

// { name, parameters, body } of the function that a text defines.
export function readFunction(code) {
  if (signCount(code) > MAX_CODE) throw new LanguageError(`This is too long: at most ${MAX_CODE} characters are read.`);
  const lines = codeLines(code);
  if (!lines.length || lines[0][0]) throw new LanguageError("A function begins with “def”.");
  const reader = new TokenReader(tokensOf(lines[0][1]));
  reader.need("def", "at the start");
  const [kind, name] = reader.tokens[reader.at];
  if (kind !== "name") throw new LanguageError("The name of the function is missing.");
  reader.at += 1;
  if (reader.sign !== "(") throw new LanguageError(`“(” is missing behind ${name}.`);
  const parameters = reader.names(":");
  reader.end();
  const [body, rest] = blockOf(lines.slice(1), 0);
  if (rest.length || !body.length) throw new LanguageError(`The lines of ${name} must be indented.`);
  return { name, parameters, body };
}

// The lines that say something, [indentation, text], with the brackets closed in each.
function codeLines(code) {
  const found = [];
  let held = "";
  for (const given of code.split("\n")) {
    const line = given.split("#")[0].trimEnd();
    if (!line.trim() || (!held && /^ *""".*"""$/.test(line))) continue;
    held = held ? `${held} ${line.trim()}` : line;
    if (countOf(held, "([") > countOf(held, ")]")) continue;
    const text = held.replace(/^ */, "");
    balanced(text);
    found.push([held.length - text.length, text]);
    held = "";
  }
  if (held) balanced(held);
  return found;
}

function countOf(text, signs) {
  return [...text].filter((sign) => signs.includes(sign)).length;
}

// The statements that stand deeper than `outer`, and the lines behind them.
function blockOf(given, outer) {
  const found = [];
  const inner = given.length ? given[0][0] : 0;
  let lines = given;
  while (lines.length && lines[0][0] > outer) {
    const [indent, text] = lines[0];
    if (indent !== inner) throw new LanguageError(`${quoted(text)} is indented by ${indent}, not by ${inner}.`);
    const reader = new TokenReader(tokensOf(text));
    let statement;
    if (reader.take("for")) {
      statement = ["doFor", reader.names("in"), reader.expression()];
      const [body, rest] = linesUnder(lines, reader);
      statement.push(body);
      lines = rest;
    } else if (reader.take("if")) [statement, lines] = casesOf(lines, reader);
    else {
      statement = statementOf(reader);
      lines = lines.slice(1);
    }
    found.push(statement);
  }
  return [found, lines];
}

// The statements under a first line that ends with a colon, and the lines behind.
function linesUnder(lines, reader) {
  reader.need(":", "at the end");
  reader.end();
  const [body, rest] = blockOf(lines.slice(1), lines[0][0]);
  if (!body.length) throw new LanguageError(`The lines under ${quoted(lines[0][1])} must be indented.`);
  return [body, rest];
}

function casesOf(given, first) {
  const indent = given[0][0];
  const cases = [];
  let [lines, reader, other, body] = [given, first, [], null];
  let condition = reader.expression();
  while (true) {
    [body, lines] = linesUnder(lines, reader);
    cases.push([condition, body]);
    if (!lines.length || lines[0][0] !== indent) break;
    reader = new TokenReader(tokensOf(lines[0][1]));
    if (reader.take("elif")) {
      condition = reader.expression();
      continue;
    }
    if (reader.take("else")) [other, lines] = linesUnder(lines, reader);
    break;
  }
  return [["doWhen", cases, other], lines];
}

function statementOf(reader) {
  let found;
  if (reader.take("return")) found = ["doReturn", valuesBehind(reader)];
  else {
    const [kind, name] = reader.tokens[reader.at];
    const sign = kind === "name" ? reader.tokens[reader.at + 1][1] : "";
    if (["+=", "-=", "*=", "/="].includes(sign)) {
      reader.at += 2;
      found = ["doAugment", name, sign[0], reader.expression()];
    } else found = ["doAssign", reader.names("="), valuesBehind(reader)];
  }
  reader.end();
  return found;
}

function valuesBehind(reader) {
  const first = reader.expression();
  if (reader.sign !== ",") return first;
  const parts = [first];
  while (reader.take(",")) parts.push(reader.expression());
  return ["list", parts];
}

class Running extends Meaning {
  // Runs statements; returns [value] once one of them returns.
  run(body) {
    for (const [what, ...parts] of body) {
      this.step();
      const done = this[what](...parts);
      if (done) return done;
    }
    return null;
  }

  doReturn(tree) {
    return [this.of(tree)];
  }

  doAssign(names, tree) {
    this.bind(names, this.of(tree));
  }

  doAugment(name, sign, tree) {
    this.named.set(name, combined(sign, this.of(["name", name]), this.of(tree)));
  }

  doWhen(cases, other) {
    for (const [condition, body] of cases) if (isTrue(this.of(condition))) return this.run(body);
    return this.run(other);
  }

  doFor(names, tree, body) {
    for (const item of needItems(this.of(tree))) {
      this.step();
      this.bind(names, item);
      const done = this.run(body);
      if (done) return done;
    }
    return null;
  }
}

export function resultOf({ parameters, body }, values) {
  const names = Object.fromEntries(parameters.map((name, i) => [name, values[i]]));
  const done = new Running(names).run(body);
  if (done === null) throw new LanguageError("Your function returned None: does every path end in a return?");
  return done[0];
}
