import { refuse } from "./rules.js";

// Reads JSON, or refuses it and says where the first mistake stands. JSON.parse names no place in some browsers and
// drops the first of two equal keys. `most` are the largest sizes that are read, of ropelib/config/keys.py.
export function parseJson(text, most) {
  if (text.length > most.characters) refuse("long", { value: text.length, most: most.characters });
  let at = text.startsWith("\ufeff") ? 1 : 0; // some editors put a byte order mark there
  const opened = [];
  const lineOf = (where) => text.slice(0, where).split("\n").length;
  const fail = (code, details = {}, where = at) => {
    const column = where - text.lastIndexOf("\n", where - 1);
    refuse(code, { table: "reasons", ...details, line: lineOf(where), column });
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    at += found?.length ?? 0;
    return found;
  };
  const skip = () => take(/[ \t\r\n]*/y);
  const expected = (code, details) => {
    if (at >= text.length) fail("end", { opened: lineOf(opened.at(-1) ?? 0) });
    fail(code, { found: /[\w.+-]+|[\s\S]/u.exec(text.slice(at))[0], ...details });
  };
  const pass = (mark, code, details) => {
    if (text[at] !== mark) expected(code, details);
    at += 1;
    skip();
  };
  const readString = () => {
    const whole = take(/"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y);
    if (whole !== undefined) return JSON.parse(whole);
    // It has no end on its line: either the text ends first, or the line does.
    const rest = text.slice(at + 1).replace(/\\[^\n]/g, "");
    if (!/[\n"]/.test(rest)) fail("end", { opened: lineOf(at) }, text.length);
    fail("string");
  };
  // Items with commas between them, then the closing bracket.
  const readItems = (closing, readItem) => {
    if (opened.push(at) > most.nesting) fail("deep", { most: most.nesting });
    pass(text[at]);
    const items = [];
    while (text[at] !== closing) {
      if (items.length) pass(",", "comma", { closing });
      if (text[at] === closing) fail("trailing", { closing });
      items.push(readItem());
      skip();
    }
    at += 1;
    opened.pop();
    return items;
  };
  const readEntry = (keys) => () => {
    if (text[at] !== '"') expected("key");
    const [where, key] = [at, readString()];
    if (keys.has(key)) fail("twice", { found: key }, where);
    keys.add(key);
    skip();
    pass(":", "colon");
    return [key, readValue()];
  };
  const readValue = () => {
    if (text[at] === '"') return readString();
    if (text[at] === "[") return readItems("]", readValue);
    if (text[at] === "{") return Object.fromEntries(readItems("}", readEntry(new Set())));
    const word = take(/(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)(?![\w.+-])/y);
    return word === undefined ? expected("value") : JSON.parse(word);
  };
  if (!text.trim()) fail("empty");
  skip();
  const value = readValue();
  skip();
  if (at < text.length) expected("rest");
  return value;
}
