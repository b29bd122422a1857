import { fold } from "../kit/controls.js";
import { div, html, setAttributes, setText, svg, whenChanged, widthOf } from "../kit/dom.js";
import { box, disc, label, layer, path, vector } from "../kit/layer.js";
import { inverseFrequencies } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { fill, formatNumber } from "../kit/text.js";
import { STARTS, TESTS, noticed, readAtOnce, readByCache } from "./layer.js";

const WORDS = {
  en: {
    title: "Bugs and lamps: which test of a rotation notices what",
    picture: "Hands of the five words, as they are and as they should be, and how much cat looks at each word",
    groups: { sides: "One side only", turn: "The turn", around: "Around the turn" },
    bugs: {
      q_sign: "q turns backward",
      q_seat: "q: wrong seats",
      k_sign: "k turns backward",
      k_seat: "k: wrong seats",
      cosines: "two angles in a pair",
      exponent: "exponent i/d, not 2i/d",
      width: "half of the head turns",
      rounded: "positions in 16 bits",
      from_one: "positions from 1",
      early: "turned, then projected",
      values: "v turned too",
      restart: "restarts after the cache",
      reread: "cached keys turned twice",
    },
    tests: {
      length: "lengths kept",
      zero: "position 0 leaves all",
      by_hand: "one pair by hand",
      push: "pushed on by 7",
      alike: "q and k alike",
      cache: "step after a cache",
      far: "pushed on by 10,000",
      original: "original’s output",
    },
    off: "off",
    state: { lit: "notices", dark: "silent" },
    stops: { signs: "both turn backward", seats: "wrong seats for both", reset: "no bug" },
    vectors: { name: "hands of", q: "q", k: "k", v: "v" },
    views: {
      name: "text read",
      start: "from 0",
      pushed: "7 on",
      far: "10,000 on",
      cached: "after a cache",
    },
    legend: "A hand per pair of each word; bars: how much cat looks at the word. Pale: what is right.",
    speed: "{value} rad",
    comma: ", ",
    lessons: {
      none: "No bug, and all eight lamps are dark: what a right rotation looks like to every test. Switch one on.",
      many: "{count} bugs at once. Lit: <b>{lit}</b>.",
      cancel: "{count} bugs at once. Lit: <b>{lit}</b>. Dark, though it would notice one of them alone: {hidden}.",
      nobody: "nothing",
      signs:
        "Noticed by <b>{lit}</b>. A mirrored world is consistent: lengths, pushes and caches agree with themselves. Only a number from outside tells left from right.",
      seats:
        "Noticed by <b>{lit}</b>. It is a right rotation, for other weights. One pair has no seats to confuse, and the rest compares the code with itself.",
      q_sign:
        "Noticed by <b>{lit}</b>. The score now follows m + n. Lengths, position 0 and the cache do not care which way a hand turns.",
      k_sign:
        "Noticed by <b>{lit}</b>. The score now follows m + n. Lengths, position 0 and the cache do not care which way a hand turns.",
      q_seat:
        "Noticed by <b>{lit}</b>. Numbers that turn at different speeds meet in the score. One pair alone has no seats to confuse.",
      k_seat:
        "Noticed by <b>{lit}</b>. Numbers that turn at different speeds meet in the score. One pair alone has no seats to confuse.",
      cosines:
        "Noticed by <b>{lit}</b>. The two numbers of a pair turn by two angles, which is no turn. q and k err alike; one pair has one cosine.",
      exponent:
        "Noticed by <b>{lit}</b>. Every hand but the first has a wrong speed, and all laws of turns still hold. One pair by hand has only the first.",
      width:
        "Noticed by <b>{lit}</b>. Half of the head stands still. What turns keeps every law, and one pair by hand is too small to have two halves.",
      rounded:
        "Noticed by <b>{lit}</b>. Small positions are exact in 16 bits, so nothing nearby can see it. At 10,000 all five words share one position.",
      from_one:
        "Noticed by <b>{lit}</b>. Only distances count, so no score and no output changes: harmless until half of the code counts from 0.",
      early:
        "Noticed by <b>{lit}</b>. The matrix W comes after the turn and bends it. Position 0 is right, q and k err alike, and the test by hand has no W.",
      values:
        "Noticed by <b>{lit}</b>. The scores are right, and all other tests look at scores, queries and keys. What is wrong is the sum of values.",
      restart:
        "Noticed by <b>{lit}</b>. Read at once, the text is right. The next word alone is put at position 0, and seven tests never make that call.",
      reread:
        "Noticed by <b>{lit}</b>. Read at once, the text is right. Keys from the cache have turned twice, and only one test uses a cache.",
    },
  },
};

const GROUPS = {
  sides: ["q_sign", "k_sign", "q_seat", "k_seat"],
  turn: ["exponent", "width", "cosines", "rounded", "from_one"],
  around: ["early", "values", "restart", "reread"],
};
const BUGS = Object.values(GROUPS).flat();
const ALL_OFF = Object.fromEntries(BUGS.map((bug) => [bug, false]));
const PAIRS = 4;
const ROOM = { left: 52, top: 24, row: 54, gap: 0, bar: 72, foot: 28 };
const RAYS = Array.from({ length: 8 }, (_, i) => {
  const [c, s] = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)];
  return `M${13 + 8 * c} ${13 + 8 * s}L${13 + 11.5 * c} ${13 + 11.5 * s}`;
}).join("");

// What is said of the bugs that are on.
export function lessonKind({ on, hidden }) {
  const one = (a, b) => on.length === 2 && on.includes(a) && on.includes(b);
  if (on.length === 0) return "none";
  if (on.length === 1) return on[0];
  if (one("q_sign", "k_sign")) return "signs";
  if (one("q_seat", "k_seat")) return "seats";
  return hidden.length > 0 ? "cancel" : "many";
}

// The hand of a pair as a share of its right length, and the point that it reaches.
export function tip([x, y], pair, right, radius) {
  const length = Math.hypot(right[2 * pair], right[2 * pair + 1]);
  return [x + (radius * right[2 * pair]) / length, y - (radius * right[2 * pair + 1]) / length];
}

export function handTip([x, y], pair, turned, right, radius) {
  const [a, b] = [turned[2 * pair], turned[2 * pair + 1]];
  const share = Math.min(1.25, Math.hypot(a, b) / Math.hypot(right[2 * pair], right[2 * pair + 1]));
  const angle = Math.atan2(b, a);
  return [x + radius * share * Math.cos(angle), y - radius * share * Math.sin(angle)];
}

function handsPicture(words, sentence, inverse) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);
  const speeds = inverse.map((frequency) => fill(words.speed, { value: formatNumber(frequency, 2) }));

  function draw({ seen, right, vector: side }, width) {
    const pitch = (width - ROOM.left) / sentence.length;
    const radius = Math.min(23, pitch / 2 - 4);
    const bars = ROOM.top + PAIRS * ROOM.row + ROOM.gap;
    const height = bars + ROOM.bar + ROOM.foot;
    const center = (word, pair) => [ROOM.left + (word + 0.5) * pitch, ROOM.top + (pair + 0.5) * ROOM.row];
    const pairs = inverse.map((_, pair) => pair);
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    const column = (name, word) => {
      const [x] = center(word, 0);
      const dials = pairs.flatMap((pair) => {
        const at = center(word, pair);
        const [now, wanted] = [seen[side][word], right[side][word]];
        const pale = tip(at, pair, wanted, radius - 3);
        return [
          disc("rope-circle", at, radius),
          path("rope-lamps-right", `M${at[0]} ${at[1]}L${pale[0]} ${pale[1]}`),
          vector(side === "v" ? "rope-lamps-value" : `rope-${side}`, at, handTip(at, pair, now, wanted, radius - 3)),
        ];
      });
      const [share, wanted] = [seen.weights.at(-1)[word], right.weights.at(-1)[word]];
      const thick = Math.min(34, pitch - 14);
      const bar = (kind, part, wide) =>
        box(kind, [x - wide / 2, bars + ROOM.bar * (1 - part), wide, ROOM.bar * part], { rx: 2 });
      return [
        label("rope-lamps-word", x, 14, name, "middle"),
        ...dials,
        bar("rope-lamps-due", wanted, thick + 10),
        bar("rope-lamps-share", share, thick - 8),
        label("rope-lamps-weight", x, bars + ROOM.bar + 16, formatNumber(share), "middle", {
          "data-report": "weights",
          "data-value": share,
        }),
      ];
    };
    paint([
      ...speeds.map((speed, pair) => label("", 0, center(0, pair)[1] + 4, speed)),
      ["g", {}, sentence.flatMap(column)],
      path("rope-axis", `M${ROOM.left} ${bars + ROOM.bar}H${width}`),
    ]);
  }
  return { node: picture, draw };
}

// A lamp for each test, and how far off it found the rotation.
function lampRow(words, { show }) {
  const made = TESTS.map((name) => {
    const bulb = svg("svg", { viewBox: "0 0 26 26", "aria-hidden": "true" });
    layer(bulb)([path("rope-lamps-rays", RAYS), disc("rope-lamps-bulb", [13, 13], 5.5)]);
    const state = html("span", { class: "rope-lamps-state" });
    const off = html(
      "span",
      {},
      words.off,
      " ",
      show(name, ({ errors }) => errors[name]),
    );
    const text = html(
      "span",
      { class: "rope-lamps-text" },
      html("span", { class: "rope-lamps-name" }, words.tests[name]),
    );
    text.append(
      html("span", { class: "rope-lamps-said" }, state, html("span", { class: "rope-lamps-dot" }, " · "), off),
    );
    return { name, state, node: html("li", { class: "rope-lamp" }, bulb, text) };
  });
  return {
    node: html("ul", { class: "rope-lamps-row" }, ...made.map(({ node }) => node)),
    draw({ lit }) {
      for (const { name, state, node } of made) {
        const on = lit.includes(name);
        node.classList.toggle("rope-lamp-lit", on);
        setText(state, words.state[on ? "lit" : "dark"]);
      }
    },
  };
}

function build({ words, model, lesson, chooser, buttons, toggles, ...tools }) {
  const [sentence, base] = [model.get("sentence"), model.get("base")];
  const small = { example: model.get("example"), base };
  const hands = handsPicture(words, sentence, inverseFrequencies(2 * PAIRS, base));
  const lamps = lampRow(words, tools);
  const seenBy = whenChanged((bugs) => noticed(small, bugs, model.get("tolerance")));
  const groups = Object.entries(GROUPS).map(([group, bugs]) => {
    const table = Object.fromEntries(bugs.map((bug) => [bug, { label: words.bugs[bug] }]));
    const nodes = [div("rope-lamps-switches", ...toggles(table))];
    return fold({ label: words.groups[group], nodes, className: "rope-lamps-group" });
  });
  // Where there is room, all switches are in sight; on a phone, the groups of them that are wanted.
  const opened = whenChanged((narrow) => {
    for (const group of groups) group.update(!narrow);
  });
  const visit = (bugs) => ({ visit: { ...ALL_OFF, ...Object.fromEntries(bugs.map((bug) => [bug, true])) } });
  const stops = buttons({
    both_signs: { label: words.stops.signs, ...visit(["q_sign", "k_sign"]) },
    both_seats: { label: words.stops.seats, ...visit(["q_seat", "k_seat"]) },
    reset: { label: words.stops.reset, reset: true },
  });
  const choose = (trait, table, names) => {
    const lead = [html("span", { class: "rope-lamps-choice", "aria-hidden": "true" }, table.name)];
    return chooser(trait, { label: table.name, lead, options: names.map((name) => [name, table[name]]) });
  };
  const choices = [choose("view", words.views, Object.keys(STARTS)), choose("vector", words.vectors, ["q", "k", "v"])];
  const picture = div("rope-lamps-picture", hands.node);
  return {
    node: div(
      "rope-frame rope-lamps",
      div("rope-stays", lamps.node),
      div("rope-row", ...stops),
      div("rope-lamps-groups", ...groups.map(({ node }) => node)),
      lesson,
      div("rope-lamps-choices", ...choices),
      picture,
      html("p", { class: "rope-lamps-legend" }, words.legend),
    ),
    measure: (narrow) => ({ narrow, width: widthOf(picture, 200, 720) }),
    derive({ view, ...state }) {
      const bugs = Object.fromEntries(BUGS.map((bug) => [bug, state[bug]]));
      const read = (some) => (view === "cached" ? readByCache(small, some) : readAtOnce(small, some, STARTS[view]));
      return { ...seenBy(bugs), seen: read(bugs), right: read({}) };
    },
    draw(state, { narrow, width }) {
      opened(narrow);
      hands.draw(state, width);
      lamps.draw(state);
    },
    lesson({ on, lit, hidden }) {
      const named = (tests) => tests.map((name) => words.tests[name]).join(words.comma) || words.lessons.nobody;
      const said = { count: on.length, lit: named(lit), hidden: named(hidden) };
      return fill(words.lessons[lessonKind({ on, hidden })], said);
    },
  };
}

const traits = [...BUGS, "view", "vector"];

export default { render: mount({ words: WORDS, traits, build }) };
