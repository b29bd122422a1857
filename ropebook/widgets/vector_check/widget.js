import { OWN_KEYS } from "../kit/controls.js";
import { div, html, legendOf, setAttributes, widthOf } from "../kit/dom.js";
import { mount } from "../kit/mount.js";
import { fill, formatNumber, formatQuantity, whole } from "../kit/text.js";
import { COARSE, candidates, judge, measured, near, rightAt, widthsOf } from "./bugs.js";
import { printed, readNumbers } from "./numbers.js";
import { MARKS, pairsPicture } from "./picture.js";

export const WORDS = {
  en: {
    title: "Vector check: paste what your code made of one vector",
    picture: "Pairs of numbers: where each was, where it should be, and where it is",
    take: "1. Turn this by your code, in float32",
    paste: "2. Paste it back: 3 digits or more",
    position: "position",
    copy: { copy: "copy", copied: "copied", chosen: "chosen: press Ctrl+C" },
    try: "Or try one:",
    stops: {
      page: "rope.py",
      half: "halves, right",
      neighbors: "neighbors, right",
      clockwise: "clockwise",
      late: "one late",
      base: "other base",
    },
    legend: { before: "x", should: "where it should be", yours: "what came back", lens: "enlarged" },
    rows: { pair: "pair {pair}", places: "places", turned: "turned", wanted: "should", length: "length" },
    layouts: { half: "halves", interleaved: "neighbors" },
    verdicts: {
      right: "✓ Right",
      note: "✓ With a note: ",
      wrong: "✗ Wrong: ",
      none: "✗ Wrong",
      coarse: "≈ Nearly right",
    },
    right:
      ", with pairs as {layout}. Every pair keeps its length and has turned by position × frequency. Do your weights want these pairs?",
    none: ", and no bug known here. As {layout}, {fit} of 4 pairs are as they should be. To look further: ",
    further: "python -m ropelib diagnose",
    coarse:
      ", in {layout}: off by up to {amount}, as half precision or two digits are. Paste float32 numbers with three digits or more; if these are such, it is wrong.",
    little:
      ", in {layout}: off by up to {amount}, as half precision is, and as wrong frequencies are where they hardly show. Use float32, and move the slider up.",
    moved: ", with pairs as {layout}. That holds if x was turned at position {now}; it was pasted at {from}.",
    unread: "? ",
    pairs: ", in {layout}",
    rough: "Off by up to {amount}, as half precision or two digits are.",
    guesses: {
      counted: "Read without the numbers that count them: {first} to {last}.",
      commas: "Read with commas as decimal points: {first} to {last}.",
    },
    // What one vector shows, where the code says more or less.
    shown: {
      "does-not-rotate": "x came back as it was.",
      "off-by-one": "It is turned as position {amount} should be, or by frequencies × {ratio}.",
      "positions-shifted": "It is turned as position {amount} should be, or by frequencies × {ratio}.",
      "frequencies-multiplied": "All frequencies are multiplied by {amount}.",
      "linearly-scaled": "All frequencies are divided by {amount}.",
      "attention-factor": "Every pair is {amount} times as long.",
      "norm-not-kept": "Every pair is {amount} times as long: the scale of the scores, or its root.",
      "base-not-as-expected": "It is turned as by base {amount}.",
      "base-beyond-sense": "It is turned as by base {amount}: exponents are too small.",
      "last-pair-not-rotated": "The slowest pair stands still.",
      bare: "All pairs but the first hardly turn: exponents are too large.",
      rounded: "Frequencies in bfloat16 look alike here.",
      "exponents-not-as-expected": "Exponents are `i/d` in place of `2i/d`, or the base is {amount}.",
      over: "It is turned as by base {amount}, or exponents are divided by {over} in place of 8.",
      denominator: "Exponents have another denominator: it is turned as by base {amount}.",
      "exponents-from-one": "Pairs are counted from 1, or all frequencies are divided by 10.",
      "width-not-as-expected": "Only the first {amount} of 8 numbers have turned.",
      "slow-pairs-stand-still": "Only the first {amount} of 4 pairs have turned: p-RoPE, or a loop that ends early.",
      resting: "Only the first {amount} of 8 numbers have turned, by exponents over 8: p-RoPE, or an early end.",
      "rest-not-kept": "Only the first {amount} of 8 numbers have turned; the rest are zeros.",
      "trailing-dimensions": "The last {amount} of 8 numbers have turned, not the first.",
    },
    undivided: "Exponents `2i` that are not divided by 8 look alike here.",
    alike: "Base {base} looks alike here.",
    mend: "Mend: {fix}",
    mends: {
      "off-by-one": "At another position a shift stays, a factor does not: turn x there, and paste.",
      "positions-shifted": "At another position a shift stays, a factor does not: turn x there, and paste.",
      clockwise: "Right with weights that are trained so.",
      "attention-factor": "Right where it is meant.",
      "base-beyond-sense": "Mend: Write `base ** -(2 * i / head_dim)`, of floats.",
      "linearly-scaled": "Right where it is meant.",
      "slow-pairs-stand-still": "Right where it is meant.",
      "slowest-pairs-first": "Right with weights that are trained so.",
      "width-not-as-expected": "Mend: Set `rotary_dim` once.",
      "sin-and-cos-swapped": "Mend: Exchange them there.",
      "norm-not-kept": "Mend: Scale scores, not vectors.",
    },
    problems: {
      empty: "Nothing is pasted yet. 8 numbers must stand here, one for each of x.",
      count: "Numbers found: {found}. There must be 8, one for each of x.",
      commas: "Numbers found: {found}, with commas between them. There must be 8; decimals need points.",
      word: "“{found}” is no number. 8 numbers must stand here, with commas or spaces between.",
      endless: "“{found}” is not finite. 8 finite numbers must stand here.",
      elsewhere: "Pasted at position {found}. Turn x at the new one, and paste what comes back.",
      long: "{found} characters are too many: 8 numbers must stand here, in at most 2000.",
    },
  },
};

// What the stops paste, by the code and the layout of a bug, or by another base.
const STOPS = {
  page: ["interleaved-angles-on-half-pairs", "half"],
  half: ["right", "half"],
  neighbors: ["right", "interleaved"],
  clockwise: ["clockwise", "half"],
  late: ["off-by-one", "half"],
  base: [500_000, "half"],
};

// The numbers of a stop at a position.
export function example(stop, x, position, base) {
  const [code, layout] = STOPS[stop];
  if (typeof code === "number") return rightAt(x, position, code, layout);
  return candidates(x, position, base).find(([name, pairs]) => name === code && pairs === layout)[2];
}

// The stop whose numbers are pasted, or null.
export function stopOf(pasted, x, position, base) {
  const { numbers } = readNumbers(pasted, x.length);
  const names = numbers ? Object.keys(STOPS) : [];
  return names.find((stop) => near(numbers, example(stop, x, position, base), 1e-3)) ?? null;
}

export function given(x, position, base) {
  return `x = [${x.join(", ")}]\nposition = ${position}\nbase = ${base}`;
}

// What a sentence quotes of a reader's text: its beginning, and what cannot be seen by its number.
export function quoted(found) {
  const text = String(found).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

// A fraction in its lowest terms: 4/3, or 2.
export function ratio(over, under) {
  const shared = (a, b) => (b ? shared(b, a % b) : a);
  const by = shared(over, under);
  return under === by ? `${over / by}` : `${over / by}/${under / by}`;
}

// Where the book tells of a code: the page of the diagnosis, found by any link that leads there.
function linkOf(code) {
  const page = document.querySelector('a[href*="codes.html"]')?.getAttribute("href").split("#")[0];
  return page === undefined ? code : html("a", { href: `${page}#codes-${code}` }, code);
}

// What a reader's own numbers are called at a position to which the slider has moved since they came,
// if no more is known of them than that they belong to another.
const ELSEWHERE = ["none", "off-by-one", "positions-shifted", "linearly-scaled", "frequencies-multiplied"];

// Right numbers that are off by less, and by more than their digits say, may hide wrong frequencies.
const TELLING = 0.005;

// A text with what stands between backticks (\x60) as code.
function withCode(text) {
  return text.split("\x60").map((part, i) => (i % 2 ? html("code", {}, part) : part));
}

// The verdict, as nodes and texts.
function sentence(words, names, base, { guess, ...told }) {
  const nodes = verdictOf(words, names, base, told);
  return guess && !told.problem ? [...nodes, ` ${fill(words.guesses[guess.by], guess)}`] : nodes;
}

function verdictOf(words, names, base, { problem, found, pairs, moved, position }) {
  if (problem) {
    const said = fill(words.problems[problem.code], { found: quoted(problem.found) });
    // Numbers of another position are no mistake.
    return [html("b", { class: problem.code === "elsewhere" ? "" : "rope-vector-off" }, words.unread), said];
  }
  const { code, layout, amount, alike, over } = found;
  const verdict = (kind, ...nodes) => {
    const tone = ["wrong", "none"].includes(kind) ? "rope-vector-off" : "rope-vector-fits";
    return html("b", { class: tone }, words.verdicts[kind], ...nodes);
  };
  const told = { layout: words.layouts[layout] };
  if (code === "right") return [verdict("right"), fill(moved ? words.moved : words.right, { ...told, ...moved })];
  if (code === "coarse") {
    const said = amount < TELLING ? words.little : words.coarse;
    return [verdict("coarse"), fill(said, { ...told, amount: formatNumber(amount, amount < 0.001 ? 4 : 3) })];
  }
  if (code === "none") {
    const said = fill(words.none, { ...told, fit: pairs.filter(({ fits }) => fits).length });
    return [verdict("none"), said, html("code", {}, words.further), "."];
  }
  const { severity, sentence: general, fix } = names[code];
  const [denominator, bare] = [code === "exponents-not-as-expected" && amount < 3, amount > 1e15];
  const divided = code === "width-not-as-expected" ? "resting" : "over";
  const shown = bare ? "bare" : over > 1 ? divided : denominator ? "denominator" : code;
  const fast = Number.isInteger(amount) ? ratio(amount, position) : "";
  const parts = [fill(words.shown[shown] ?? general, { amount: formatQuantity(amount), over, ratio: fast })];
  if (over === 1 && !bare) parts.push(words.undivided);
  // Frequencies of 8 binary digits are off by up to 1/2⁹, which a base near the right one may explain.
  if (code === "base-not-as-expected" && Math.abs(amount / base - 1) < 0.03) parts.push(words.shown.rounded);
  if (code === "clockwise" && amount) parts.push(fill(words.rough, { amount: formatNumber(amount, 3) }));
  if (alike) parts.push(fill(words.alike, { base: formatQuantity(alike) }));
  parts.push(words.mends[code] ?? (severity === "note" ? fix : fill(words.mend, { fix })));
  // Some codes say their pairs themselves.
  const where = layout === null || code.endsWith("-pairs") ? "" : fill(words.pairs, told);
  return [verdict(severity, linkOf(code)), ...withCode(`${where}. ${parts.join(" ")}`)];
}

// What is handed over, and a button that takes it along.
function makeGiven(words, { text, buttons, redraw }, x, base) {
  const code = text(({ position }) => given(x, position, base), "code", { class: "rope-vector-code" });
  // What was copied last, and how: the button says for a while that it is copied, its status says so once.
  let [taken, how, done, timer] = ["", "copy", "copy", null];
  const say = (by) => {
    how = by;
    redraw();
  };
  const tell = (by) => {
    clearTimeout(timer);
    [taken, done] = [code.textContent, by];
    if (by === "copied") timer = setTimeout(say, 2000, "copy");
    say(by);
  };
  const choose = () => {
    getSelection().selectAllChildren(code);
    tell("chosen");
  };
  const copy = () => {
    // A page that may not write to the clipboard chooses the text for its reader.
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(() => tell("copied"), choose);
    else choose();
  };
  const isTaken = ({ position }) => taken === given(x, position, base);
  const label = (state) => words.copy[isTaken(state) ? how : "copy"];
  const status = text((state) => (isTaken(state) && done !== "copy" ? words.copy[done] : ""), "span", {
    ...{ class: "rope-hidden", role: "status", "data-report": "copied" },
  });
  const node = div("rope-vector-given", code, ...buttons({ copy: { label, onClick: copy } }), status);
  return { node, stop: () => clearTimeout(timer) };
}

function makeBox(words, count, onText) {
  const box = html("textarea", {
    ...{ class: "rope-vector-text", rows: 4, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...{ "data-control": "pasted", ...OWN_KEYS },
  });
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
  };
  const take = () => {
    stop();
    onText(box.value);
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    // A reader in the middle of a number has made no mistake yet.
    timer = setTimeout(take, 350);
  });
  // Who leaves the box has pasted nothing more: what was taken stays that of its position.
  box.addEventListener("change", () => timer !== null && take());
  // What is pasted takes the place of all numbers that stand there, unless a place among them is chosen.
  box.addEventListener("paste", () => {
    if (box.selectionStart === box.selectionEnd && readNumbers(box.value, count).numbers) box.select();
  });
  return {
    ...{ node: html("label", { class: "rope-vector-step" }, words.paste, box), stop },
    show(text, problem) {
      if (timer === null && box.value !== text) box.value = text;
      setAttributes(box, { "aria-invalid": problem !== null && problem.code !== "elsewhere" });
    },
  };
}

function build(tools) {
  const { words, model, lesson, set, sliders, buttons } = tools;
  const [x, base, tolerance, names] = ["x", "base", "tolerance", "names"].map((name) => model.get(name));
  const picture = pairsPicture(words);
  const box = picture.node;
  // What a reader pasted, and at which position.
  let own = {};
  const paste = makeBox(words, x.length, (pasted) =>
    set(({ position: at }) => {
      own = { pasted, at };
      return { pasted };
    }),
  );
  const [position] = sliders({
    position: {
      ...{
        label: words.position,
        tone: "position",
        min: model.get("lowest"),
        max: model.get("highest"),
        format: whole,
      },
      // The numbers of a stop follow; a reader's own stay.
      onInput: (to) =>
        set(({ position: from, pasted }) => {
          const stop = pasted === own.pasted ? null : stopOf(pasted, x, from, base);
          return { position: to, pasted: stop ? printed(example(stop, x, to, base)) : pasted };
        }),
    },
  });
  const stops = Object.keys(STOPS).map((stop) => [
    `stop_${stop}`,
    {
      label: words.stops[stop],
      visit: ({ position: at }) => ({ pasted: printed(example(stop, x, at, base)) }),
      pressed: ({ pasted, position: at }) =>
        stopOf(pasted, x, at, base) === stop && (pasted !== own.pasted || at === own.at),
    },
  ]);
  const taken = makeGiven(words, tools, x, base);
  const lead = html("span", { "aria-hidden": "true" }, words.try);
  return {
    node: div(
      "rope-frame rope-vector",
      div("rope-vector-parts", div("rope-vector-step", words.take, taken.node, position), paste.node),
      lesson,
      html(
        "div",
        { class: "rope-row rope-vector-stops", role: "group", "aria-label": words.try },
        lead,
        ...buttons(Object.fromEntries(stops)),
      ),
      legendOf(words.legend, [28, 16], MARKS),
      box,
    ),
    stop() {
      paste.stop();
      taken.stop();
    },
    measure: () => ({ width: widthOf(box, 240, 900) }),
    derive({ pasted, position: at }) {
      const { numbers, open, guessed, ...read } = readNumbers(pasted, x.length);
      const found = numbers && judge(x, numbers, at, base, tolerance, open);
      const moved = found && pasted === own.pasted && at !== own.at ? { now: at, from: own.at } : null;
      const problem =
        moved && ELSEWHERE.includes(found.code) ? { code: "elsewhere", found: own.at } : (read.problem ?? null);
      // Where no layout shows, nothing has turned, or two neighbors alone.
      const layout = found?.layout ?? (found?.amount === 2 ? "interleaved" : "half");
      const widths = widthsOf(found, x.length);
      const rest = Array(x.length - widths[0]).fill(NaN);
      // A note says how it should be, if it is meant.
      const noted = found && names[found.code]?.severity === "note";
      const turning = found?.over === x.length ? x : x.slice(0, widths[0]);
      const right = rightAt(turning, at, base, layout).slice(0, widths[0]);
      const should = noted ? found.values : [...right, ...rest];
      const rough = found?.code === "coarse" || (found?.code === "clockwise" && found.amount);
      const pairs = measured(x, numbers ?? x, should, layout, rough ? COARSE : tolerance, widths);
      const guess = guessed && { by: guessed, first: numbers[0], last: numbers.at(-1) };
      return { problem, found, pairs, guess, moved };
    },
    draw({ pasted, problem, pairs }, { width }) {
      paste.show(pasted, problem);
      picture.draw(pairs, problem === null, width);
    },
    lesson: (state) => sentence(words, names, base, state),
  };
}

export default { render: mount({ words: WORDS, traits: ["position", "pasted"], build }) };
