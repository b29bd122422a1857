import { div, html, setAttributes, setText, svg, whenChanged, widthOf } from "../kit/dom.js";
import { label, layer, path } from "../kit/layer.js";
import { mount } from "../kit/mount.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale, panel } from "../kit/plot.js";
import { fill, formatNumber, whole } from "../kit/text.js";
import { BUGS, LAMPS, LAST, SIDED, inputsOf, notice } from "./rows.js";

const WORDS = {
  en: {
    title: "Break it yourself: a rotation, its bugs, and how far off each test finds it",
    picture: "What the chosen test compares: its two lines, and the largest gap between them",
    rows: {
      idle: "not turned",
      sign: "turned backward",
      seat: "wrong pairs",
      base: "base 10, not 100",
      count: "positions from 1",
      rounded: "positions in bfloat16",
      early: "turned before the norm",
      restart: "decodes at position 0",
      reread: "cached k turned again",
    },
    sides: { q: "q", k: "k", restart: "both" },
    lamps: {
      name: "Tests, each with the largest gap that it finds",
      length: "lengths kept",
      zero: "position 0 leaves all",
      moves: "distance matters",
      push: "pushed on by 7",
      far: "pushed on by 10,000",
      cache: "step after a cache",
      by_hand: "one pair by hand",
      reference: "original’s output",
    },
    tests: {
      length: "A turn must leave lengths as they are.",
      zero: "At position 0 all must come out as it went in.",
      moves: "The score must change with the distance.",
      push: "All tokens 7 further on: scores must stay.",
      far: "All tokens 10,000 further on: scores must stay.",
      cache: "The last token, after a cache: as if read at once.",
      by_hand: "(1, 0) with (0, 1) must score the distance’s sine.",
      reference: "Scores must be those of a right program.",
    },
    states: {
      lit: "It notices, off by",
      dark: "It is silent, off by",
      moving: "It is silent, changes by",
      still: "It notices, changes by",
    },
    answers: { moving: "yes", still: "no" },
    key: ["Tick what to break. A lit lamp ", " notices it. Press a lamp to see what it compares."],
    vectors: { name: "tested on", drawn: "random", same: "q = k", ones: "ones" },
    inputs: {
      drawn: "Two vectors at random, not alike.",
      same: "One vector, as q and as k: a mirror may hide.",
      ones: "Every number is 1: what is exchanged may hide.",
    },
    stops: {
      mended: "nothing broken",
      signs: "both backward",
      idle: "nobody turns",
      seats: "wrong pairs, ones",
      reset: "as at the start",
    },
    seen: {
      length: { got: "turned", want: "before" },
      zero: { got: "at position 0", want: "before" },
      moves: { got: "scores", want: "at distance 0" },
      push: { got: "from 7 on", want: "from 0 on" },
      far: { got: "from 10,000 on", want: "from 0 on" },
      cache: { got: "by the cache", want: "read at once" },
      by_hand: { got: "one pair", want: "sine of distance" },
      reference: { got: "this code", want: "the original" },
    },
    axes: { score: "distance, tokens", length: "position, tokens", zero: "place in the vector" },
    levels: { score: "score", length: "length", zero: "number there" },
    over: "over",
    gap: { gap: "gap", moves: "changes by" },
    said: "Lamps lit: <b>{alarms} of 8</b>.",
    lessons: {
      none: "Nothing is broken, and no lamp is lit. Put a bug in the way of q, of k, or of both.",
      many: "{bugs} bugs at once, and none hides another: what one of them lights alone is lit.",
      hides: "{bugs} bugs at once, and they hide: {hidden} of the dark lamps would be lit by one of them alone.",
      silent: "<strong>No test notices</strong>, and the code is wrong. On random vectors {blind} of 8 would notice.",
      blind: "On random vectors {blind} more would be: these are too much alike to tell.",
      idle_one: "One side stands still. The score follows where the other one is, not how far away.",
      idle_both: "What never turns keeps lengths, and every push and cache agrees. Nothing says where a token is.",
      sign_one:
        "One side turns the wrong way, and the score follows m + n. Break the other side too: who falls silent?",
      sign_both: "A mirrored world agrees with itself. A number from outside tells left from right.",
      seat_one: "Numbers that turn at different speeds meet in the score, so every push changes it.",
      seat_both:
        "A right rotation, for other weights. Nothing but the original’s output tells which weights these are.",
      base_one: "q and k turn at different speeds, so every push changes the score.",
      base_both: "Wrong speeds obey every law of turns, and the pair by hand has the one speed that is right.",
      count_one: "Each distance is off by one, everywhere alike. Pushing the text on shows nothing.",
      count_both: "Two errors of one cancel: every score is right. It takes a look at the vectors themselves.",
      rounded_one: "Up to 256 a position is exact in bfloat16. Near 10,000 many tokens share one.",
      rounded_both: "Up to 256 a position is exact in bfloat16. Near 10,000 many tokens share one.",
      early_one: "The norm’s weights come after the turn and bend it: even its length is not kept.",
      early_both: "The norm’s weights come after the turn and bend it: even its length is not kept.",
      restart: "Read at once all is right. The next token alone is put at 0, and one test makes that call.",
      reread: "Read at once all is right. Keys from the cache are turned again, and one test has a cache.",
    },
  },
};

const CACHED = ["restart", "reread"];
const ALL_OFF = Object.fromEntries(BUGS.map((bug) => [bug, false]));
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15];
const RAYS = Array.from({ length: 8 }, (_, i) => {
  const [c, s] = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)];
  return `M${12 + 8 * c} ${12 + 8 * s}L${12 + 11.5 * c} ${12 + 11.5 * s}`;
}).join("");

// The sentence for the bugs that are in: those of one row have their own.
export function kindOf(on) {
  if (on.length === 0) return "none";
  if (on.length === 1 && CACHED.includes(on[0])) return on[0];
  const row = SIDED.find((name) => on.every((bug) => bug.endsWith(`_${name}`)));
  return row ? `${row}_${on.length === 1 ? "one" : "both"}` : "many";
}

// The end of an axis: a plain number that a value does not pass.
export function levelFor(value) {
  return STEPS.find((step) => value <= step * (1 + 1e-9)) ?? 5 * Math.ceil(value / 5);
}

// What a state shows beside the tests: how many bugs, and which tests would notice otherwise.
export function survey(example, base, tolerance, bugs, vectors) {
  const on = BUGS.filter((bug) => bugs[bug]);
  const ask = (kind, some) => notice({ ...inputsOf(example, kind), base }, some, tolerance);
  const found = ask(vectors, bugs);
  const dark = LAMPS.filter((name) => !found.lit.includes(name));
  const wouldSee = (seen) => dark.filter((name) => seen.some(({ lit }) => lit.includes(name)));
  const kind = kindOf(on);
  const alone = kind === "many" ? on.map((bug) => ask(vectors, { [bug]: true })) : [];
  const blind = vectors === "drawn" ? [] : wouldSee([ask("drawn", bugs)]);
  const counts = { hidden: wouldSee(alone).length, blind: blind.length, bugs: on.length, alarms: found.lit.length };
  return { ...found, ...counts, kind };
}

// A score that changes is as it should be: no lamp is lit for its gap.
const gapClass = (shown) => `rope-breakit-gap${shown === "moves" ? " rope-breakit-fine" : ""}`;

// One sentence of several, in the room of the longest: whichever is said, nothing moves.
function oneSaid(table, className) {
  const said = Object.entries(table).map(([name, sentence]) => [name, html("span", {}, sentence)]);
  return {
    node: html("p", { class: `rope-breakit-said ${className}` }, ...said.map(([, node]) => node)),
    draw: (chosen) => said.forEach(([name, node]) => node.classList.toggle("rope-breakit-now", name === chosen)),
  };
}

function bulb() {
  const node = svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  layer(node)([path("rope-breakit-rays", RAYS), ["circle", { cx: 12, cy: 12, r: 5.5 }]]);
  return node;
}

// The lines of the chosen test, and a mark where they are farthest apart.
function rowPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);

  function draw({ shown, compared, gaps }, tolerance, { width, narrow }) {
    const lines = compared[shown];
    const height = narrow ? 92 : 180; // on a phone the lesson stays in sight below it
    const [left, right, bottom] = [34, width - 8, height - 38];
    const first = shown === "zero" ? 1 : 0;
    const places = lines[0].got.map((_, i) => i + first);
    const level = levelFor(Math.max(...lines.flatMap(({ got, want }) => [...got, ...want].map(Math.abs))));
    const low = shown === "length" ? 0 : -level;
    const toX = linearScale(first, places.at(-1), left, right - 6);
    const ground = panel({ left, right, top: narrow ? 8 : 22, bottom, low, high: level, toX });
    const curve = (values) => polylinePath(values.map((value, i) => ground.at(places[i], value)));
    const [up, along] = [words.levels, words.axes].map((names) => names[shown] ?? names.score);
    const ticks = first ? places : [0, 6, 12, 18, LAST];
    const { size, line, place } = gaps[shown];
    const ends = [lines[line].want[place], lines[line].got[place]].map((value) => ground.at(places[place], value));
    const caps = ends.map(([x, y]) => `M${x - 5} ${y}H${x + 5}`).join("");
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paint([
      path("rope-grid", ground.uprights(ticks, 4) + ground.levels([low, level])),
      path("rope-axis", ground.levels([0]) + ground.uprights([first])),
      ...ground.numbersUp([low, 0, level].slice(low === 0 ? 1 : 0), (value) => formatNumber(value, value % 1 ? 1 : 0)),
      ...ground.numbersAlong(ticks, whole),
      label("", (left + right) / 2, height - 5, narrow ? `${up}, ${words.over} ${along}` : along, "middle"),
      label("", 2, 11, narrow ? "" : up),
      ["g", {}, lines.map(({ want }) => path("rope-breakit-want", curve(want)))],
      ["g", {}, lines.map(({ got, side = "score" }) => path(`rope-breakit-got rope-${side}`, curve(got)))],
      path(gapClass(shown), size > tolerance ? polylinePath(ends) + caps : ""),
    ]);
  }
  return { node: picture, draw };
}

// A lamp for each test: chosen, it shows in the picture what the test compares.
function lampBoard(words, { chooser, show, text }) {
  const made = LAMPS.map((name) => {
    const says = html("span", { class: "rope-hidden" }, `. ${words.tests[name]} `);
    const state = html("span", { class: "rope-hidden" });
    const size = show(name, ({ gaps }) => gaps[name].size);
    const title = html("span", { class: "rope-breakit-name" }, words.lamps[name], says, state);
    if (name !== "moves") return { name, state, nodes: [bulb(), title, size] };
    // Whether it changes is a yes or a no; by how much is heard, and stands under the picture.
    title.append(html("span", { class: "rope-hidden" }, size));
    const answer = ({ lit }) => words.answers[lit.includes(name) ? "still" : "moving"];
    const told = text(answer, "span", { class: "rope-report rope-breakit-answer", "aria-hidden": "true" });
    return { name, state, nodes: [bulb(), title, told] };
  });
  const options = made.map(({ name, nodes }) => [name, nodes]);
  const node = chooser("shown", { label: words.lamps.name, options, className: "rope-breakit-lamps" });
  return {
    node,
    draw({ lit }) {
      for (const { name, state } of made) {
        const on = lit.includes(name);
        const [yes, no] = name === "moves" ? ["still", "moving"] : ["lit", "dark"];
        state.closest("button").classList.toggle("rope-breakit-lit", on);
        setText(state, `${words.states[on ? yes : no]} `);
      }
    },
  };
}

// A bug in each row, for q and for k; what is the cache's has no sides.
function switchBoard(words, toggles) {
  const toggleOf = (bug, row, side) => {
    const text = html("span", {}, html("span", { class: "rope-hidden" }, words.rows[row], " "), words.sides[side]);
    const [node] = toggles({ [bug]: { label: text } });
    node.classList.add(`rope-${side}`);
    return node;
  };
  const rows = [
    ...SIDED.map((row) => [row, ["q", "k"].map((side) => toggleOf(`${side}_${row}`, row, side))]),
    ["restart", [toggleOf("restart", "restart", "restart")]],
    ["reread", [toggleOf("reread", "reread", "k")]],
  ];
  const nodes = rows.map(([row, switches]) => {
    const name = html("span", { "aria-hidden": "true" }, words.rows[row]);
    return div("rope-breakit-row", name, ...switches);
  });
  return div("rope-breakit-switches", ...nodes);
}

// What the two lines of the picture are.
function legend(words, { text, show }) {
  const sample = (name) => {
    const node = svg("svg", { viewBox: "0 0 22 14", "aria-hidden": "true" });
    return { node, paint: layer(node), name };
  };
  const [want, got, gap] = ["want", "got", "gap"].map(sample);
  const tell = (part) => text(({ shown }) => words.seen[shown][part]);
  const size = show("gap", ({ gaps, shown }) => gaps[shown].size);
  return {
    node: html(
      "ul",
      { class: "rope-legend rope-breakit-legend" },
      html("li", {}, got.node, tell("got")),
      html("li", {}, want.node, tell("want")),
      html(
        "li",
        {},
        gap.node,
        html(
          "span",
          {},
          text(({ shown }) => words.gap[shown] ?? words.gap.gap),
          " ",
          size,
        ),
      ),
    ),
    draw({ shown, compared }) {
      const sides = compared[shown].map(({ side = "score" }) => side);
      const half = 22 / sides.length;
      want.paint([path("rope-breakit-want", "M2 7H20")]);
      gap.paint([path(gapClass(shown), "M11 1V13M7 1H15M7 13H15")]);
      got.paint([
        ["g", {}, sides.map((side, i) => path(`rope-breakit-got rope-${side}`, `M${i * half} 7H${(i + 1) * half}`))],
      ]);
    },
  };
}

function build({ words, model, lesson, chooser, buttons, toggles, show, text }) {
  const [example, base, tolerance] = ["example", "base", "tolerance"].map((name) => model.get(name));
  const seenBy = whenChanged((bugs, vectors) => survey(example, base, tolerance, bugs, vectors));
  const picture = rowPicture(words);
  const lamps = lampBoard(words, { chooser, show, text });
  const asked = oneSaid(words.tests, "rope-breakit-asked");
  const marks = legend(words, { text, show });
  const box = div("rope-breakit-picture", picture.node);
  const seen = div("rope-breakit-seen rope-stays", lamps.node, asked.node, box, marks.node, lesson);
  const visit = (...bugs) => ({ visit: { ...ALL_OFF, ...Object.fromEntries(bugs.map((bug) => [bug, true])) } });
  const stops = buttons({
    mended: { label: words.stops.mended, ...visit() },
    both_signs: { label: words.stops.signs, ...visit("q_sign", "k_sign") },
    both_idle: { label: words.stops.idle, ...visit("q_idle", "k_idle") },
    both_seats: { label: words.stops.seats, visit: { ...visit("q_seat", "k_seat").visit, vectors: "ones" } },
    reset: { label: words.stops.reset, reset: true },
  });
  const kinds = ["drawn", "same", "ones"].map((kind) => [kind, words.vectors[kind]]);
  const lead = [html("span", { "aria-hidden": "true" }, words.vectors.name)];
  const vectors = chooser("vectors", { label: words.vectors.name, lead, options: kinds });
  const inputs = oneSaid(words.inputs, "rope-breakit-note");
  const lamp = html("span", { class: "rope-breakit-lit" }, bulb());
  const key = html("p", { class: "rope-breakit-note" }, words.key[0], lamp, words.key[1]);
  return {
    node: div(
      "rope-frame rope-breakit",
      div(
        "rope-breakit-parts",
        seen,
        div("rope-row", ...stops), // a phone shows them with what they do
        div("rope-breakit-bugs", key, switchBoard(words, toggles), vectors, inputs.node),
      ),
    ),
    overTask: seen,
    measure: (narrow) => ({ narrow, width: widthOf(box, 200, 700) }),
    derive: ({ vectors: kind, ...state }) => seenBy(Object.fromEntries(BUGS.map((bug) => [bug, state[bug]])), kind),
    draw(state, room) {
      picture.draw(state, tolerance, room);
      lamps.draw(state);
      marks.draw(state);
      asked.draw(state.shown);
      inputs.draw(state.vectors);
    },
    lesson({ kind, blind, hidden, bugs, alarms }) {
      const told = { bugs, alarms, hidden, blind };
      if (kind === "none") return words.lessons.none;
      if (alarms === 0) return fill(words.lessons.silent, told);
      const why = blind > 0 ? "blind" : hidden > 0 ? "hides" : kind;
      return fill(`${words.said} ${words.lessons[why]}`, told);
    },
  };
}

const traits = [...BUGS, "vectors", "shown"];

export default { render: mount({ words: WORDS, traits, build }) };
