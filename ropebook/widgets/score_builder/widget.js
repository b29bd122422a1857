import { arrowKeys, markChosen } from "../kit/choice.js";
import { IN_DEGREES, IN_POWERS_OF_TEN, OWN_KEYS } from "../kit/controls.js";
import { div, html, resize, setAttributes, svg, whenChanged, widthOf } from "../kit/dom.js";
import { disc, label, layer, path } from "../kit/layer.js";
import { TAU, clamp, inverseFrequencies } from "../kit/math.js";
import { mount } from "../kit/mount.js";
import { dotsPath, polylinePath } from "../kit/paths.js";
import { linearScale, nowMarker, panel } from "../kit/plot.js";
import { fill, formatAngle, formatNumber, formatQuantity, whole } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Score builder: cosines of several hands, added up",
    picture: "Above, the cosine of every hand over the distance; below, their sum, the score",
    axes: { distance: "distance n − m (dots: whole tokens)", parts: "each hand", sum: "their sum: the score" },
    dials: "One hand per pair, fastest first; arrow keys choose one",
    dial: "hand {index}, wavelength {wavelength} tokens, {state}",
    states: { on: "adds {part}", off: "switched off" },
    note: "The hands, fastest first, at the chosen distance. Green: what each adds to the score.",
    head: {
      distance: "distance n − m",
      pairs: "hands switched on",
      dim: "numbers in the head, two per hand",
      base: "base",
    },
    clock: { amplitude: "how much it counts, A", start: "where it starts, α" },
    aims: { zero: "all agree at 0", seven: "aim at −7", here: "aim at the marker" },
    kinds: { one: "one hand only", fast: "only the fast", slow: "only the slow" },
    lessons: {
      peak: "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. Elsewhere they disagree: the best of the other hills, at {rival}, has <b>{next}</b>.",
      level:
        "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. But right beside it they still have <b>{beside}</b>: these hands are too slow to tell neighbors apart.",
      rival:
        "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. But at {rival} they nearly agree again: <b>{next}</b>.",
      one: "One cosine: at its top at distance {peak}, and again every <b>{wavelength}</b> tokens.",
      apart:
        "These cosines have their tops in different places. The best sum is <b>{best}</b>, at distance {peak}; if they agreed, it would be {total}.",
      nothing: "Nothing counts: the score is <b>0</b> at every distance.",
    },
    scores: { here: "score here", possible: "if all agreed", peak: "highest score", beside: "beside it" },
    rival: { score: "best other hill", none: "none" },
    at: " at ",
    heading: "Hand {index}",
    facts: { wavelength: "wavelength", tokens: "{value} tokens", part: "adds here" },
  },
};

const REACH = 32;
const MAX_PAIRS = 8;
const FIRST_AIM = -7;
const EQUAL = 1e-9;
const STEPS = 4;
const DISTANCES = Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH);
// The nearest first; behind before ahead.
const NEAREST = [...DISTANCES].sort((a, b) => Math.abs(a) - Math.abs(b));
const TICKS = DISTANCES.filter((distance) => distance % 8 === 0);
const SAMPLES = Array.from({ length: 2 * REACH * STEPS + 1 }, (_, i) => i / STEPS - REACH);
const POSITION = { tone: "position", format: whole };
const PAIRS = Array.from({ length: MAX_PAIRS }, (_, i) => i);

// The same direction as an angle from -pi to pi.
export function wrapped(angle) {
  return clamp(angle - TAU * Math.round(angle / TAU), -Math.PI, Math.PI);
}

// Where every clock starts so that all are at their top at this distance.
export function aimAngles(distance, inverse) {
  return inverse.map((frequency) => wrapped(-distance * frequency) + 0);
}

// A clock is { amplitude, start, frequency }: where its hand stands at a distance, and what it adds.
const angleAt = ({ start, frequency }, distance) => start + distance * frequency;
const partAt = (clock, distance) => clock.amplitude * Math.cos(angleAt(clock, distance));

export function scoreAt(clocks, distance) {
  return clocks.reduce((sum, clock) => sum + partAt(clock, distance), 0);
}

// The nearest whole distance at which all these clocks agree; null where they never do.
export function aimedAt(clocks) {
  const agrees = (distance) => clocks.every((clock) => Math.abs(wrapped(angleAt(clock, distance))) < 1e-7);
  return NEAREST.find(agrees) ?? null;
}

// The distance with the highest score among some, of equals the first.
export function bestOf(scores, among = NEAREST) {
  const best = Math.max(...among.map((distance) => scores[distance + REACH]));
  return among.find((distance) => scores[distance + REACH] > best - EQUAL);
}

// The best distance that lies on another hill than the peak; NaN where there is no other.
export function rivalOf(scores, peak) {
  const at = (distance) => scores[distance + REACH];
  let [first, last] = [peak, peak];
  while (first > -REACH && at(first - 1) <= at(first) + EQUAL) first -= 1;
  while (last < REACH && at(last + 1) <= at(last) + EQUAL) last += 1;
  const others = NEAREST.filter((distance) => distance < first || distance > last);
  return others.length ? bestOf(scores, others) : NaN;
}

// The higher of the two scores beside the peak.
export function besideOf(scores, peak) {
  return Math.max(...[-1, 1].flatMap((side) => scores[peak + side + REACH] ?? []));
}

export function lessonKind({ total, aim, on, best, beside, next }) {
  if (total < EQUAL) return "nothing";
  if (aim === null) return "apart";
  if (on === 1) return "one";
  if (beside > 0.97 * best) return "level";
  return next > 0.8 * best ? "rival" : "peak";
}

// All that is said of one head, wherever the marker stands.
export function survey({ head_dim, base, amplitudes, start_angles, pairs: wanted }) {
  const inverse = inverseFrequencies(head_dim, base, MAX_PAIRS);
  const count = head_dim / 2;
  const pairs = Math.min(wanted, count);
  const clocks = PAIRS.map((i) => ({ amplitude: amplitudes[i], start: start_angles[i], frequency: inverse[i] }));
  const on = clocks.slice(0, pairs);
  const scores = DISTANCES.map((distance) => scoreAt(on, distance));
  const at = (distance) => scores[distance + REACH] ?? NaN;
  const peak = bestOf(scores);
  const rival = rivalOf(scores, peak);
  return {
    ...{ clocks, on, count, pairs, scores, peak, rival },
    ...{ peak_score: at(peak), rival_score: at(rival), beside: besideOf(scores, peak) },
    total: on.reduce((sum, { amplitude }) => sum + amplitude, 0),
    loud: PAIRS.filter((i) => i < pairs && amplitudes[i] > 0),
    // What all clocks of the head aim at, and what those that are on aim at.
    aim: aimedAt(clocks.slice(0, count)),
    aimOn: aimedAt(on),
  };
}

// Where the two plots stand: the parts above, from -1 to 1, and their sum below.
function planOf({ width, wide }) {
  const [left, right, middle, height] = [30, width - 10, wide ? 116 : 100, wide ? 352 : 300];
  const shared = { left, right, low: -1, high: 1, toX: linearScale(-REACH, REACH, left, right) };
  const above = panel({ ...shared, top: 24, bottom: middle });
  const below = panel({ ...shared, top: middle + 30, bottom: height - 38 });
  const uprights = (places) => above.uprights(places) + below.uprights(places);
  return { width, height, above, below, uprights, beside: left - 5 };
}

// The cosine of every pair over the distance, and below them their sum.
function curvesPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);
  const markNow = nowMarker(picture);
  // Of a slider's move, only the curves are found anew that it bends; the marker's bends none.
  const lines = PAIRS.map(() =>
    whenChanged(({ above }, clock) => polylinePath(SAMPLES.map((d) => above.at(d, partAt(clock, d))))),
  );
  const sumOf = whenChanged(({ below }, clocks, level) => {
    const points = SAMPLES.map((d) => below.at(d, scoreAt(clocks, d) / level));
    const whole = points.filter((_, i) => i % STEPS === 0);
    return { line: polylinePath(points), dots: dotsPath(whole, 2.2) };
  });

  function draw({ clocks, on, loud, total, pair, distance, score, parts }, room) {
    const plan = planOf(room);
    const { width, height, above, below, uprights, beside } = plan;
    const level = total || 1;
    const sum = sumOf(plan, on, level);
    const [x, y] = below.at(distance, score / level);
    const lineOf = (i) => (loud.includes(i) ? lines[i](plan, clocks[i]) : "");
    resize(picture, width, height);
    paint([
      path("rope-grid", uprights(TICKS)),
      path("rope-axis", above.levels([0]) + below.levels([0]) + uprights([0])),
      ...PAIRS.map((i) => path(`rope-builder-line${i === pair ? " rope-builder-chosen" : ""}`, lineOf(i))),
      path("rope-builder-top", below.levels([1])),
      path("rope-curve rope-builder-sum", sum.line),
      path("rope-curve-dot", sum.dots),
      path("rope-builder-marker", `M${x} ${above.top}V${below.bottom}`),
      ...loud.map((i) => disc("rope-builder-part", [x, above.toY(parts[i])], 3.2)),
      ...above.numbersUp([1, -1], whole, beside),
      ...below.numbersUp([1, 0, -1], (part) => formatNumber(part * level, Number.isInteger(level) ? 0 : 1), beside),
      ...below.numbersAlong(TICKS, whole),
      label("rope-axis-title rope-builder-tone", 2, above.top - 10, words.axes.parts),
      label("rope-axis-title rope-tone-score", 2, below.top - 10, words.axes.sum),
      label("rope-axis-title", below.toX(0), height - 5, words.axes.distance, "middle"),
    ]);
    const ends = { low: below.top + 10, high: below.bottom - 2, below: 5 };
    markNow({ x, y, text: formatNumber(score), width, reach: 76, ...ends });
  }
  return { node: picture, draw };
}

// One clock, drawn around its hub: where it starts, where it stands, what it adds.
function clockShapes(index, { amplitude, start }, { radius, on, angle, part }) {
  const hub = [0, 0];
  const tip = (at, length) => [length * Math.cos(at), -length * Math.sin(at)];
  const [x, y] = tip(angle, 0.94 * radius * amplitude);
  const told = { "data-report": "contribution", "data-value": part };
  return [
    disc("rope-halo", hub, radius + 2.5),
    disc("rope-dial-back", hub, radius),
    disc("rope-rim", hub, radius),
    path("rope-builder-bar", on ? `M0 0H${x}` : ""),
    path("rope-builder-start", polylinePath([tip(start, 0.7 * radius), tip(start, radius)])),
    path("rope-hand", amplitude > 0 ? `M0 0L${x} ${y}` : ""),
    disc("rope-hub", hub, 2.2),
    label("", 0, -radius - 6, String(index), "middle"),
    label("rope-builder-number", 0, radius + 16, formatNumber(part), "middle", told),
  ];
}

// One clock per pair, as radios that choose a pair.
function clocksPicture(words, { state: current, set }) {
  const picture = svg("svg", { role: "radiogroup", "aria-label": words.dials, "data-control": "pair" });
  const groups = PAIRS.map(() => svg("g", { role: "radio", ...OWN_KEYS }, picture));
  const paints = groups.map((group) => layer(group));
  const pick = (pair) => {
    set({ pair });
    groups[pair].focus();
  };
  groups.forEach((group, i) => group.addEventListener("click", () => pick(i)));
  arrowKeys(picture, { current: () => current().pair, count: () => current().head_dim / 2, pick });

  function draw({ clocks, pairs, count, pair, parts, distance }, { dials: width, wide }) {
    const columns = wide ? 4 : 8;
    const cell = width / columns;
    const radius = Math.min(26, cell / 2 - 4);
    const row = 2 * radius + 40;
    const height = (row * MAX_PAIRS) / columns;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px; height: ${height}px` });
    markChosen(groups, pair);
    groups.forEach((group, i) => {
      const [clock, on, part] = [clocks[i], i < pairs, parts[i]];
      const state = on ? fill(words.states.on, { part: formatNumber(part) }) : words.states.off;
      setAttributes(group, {
        class: `rope-dial ${on ? "" : "rope-builder-off"}`,
        style: i < count ? "" : "display: none",
        transform: `translate(${((i % columns) + 0.5) * cell} ${Math.floor(i / columns) * row + radius + 18})`,
        "aria-label": fill(words.dial, { index: i, wavelength: formatQuantity(TAU / clock.frequency), state }),
      });
      const shown = { radius, on, part, angle: angleAt(clock, distance) };
      paints[i](i < count ? clockShapes(i, clock, shown) : []);
    });
  }
  return { node: picture, draw };
}

// Amplitudes of 1 for the pairs of one kind, of 0 for the others.
const wants = { all: () => true, fast: (i, half) => i < half, slow: (i, half) => i >= Math.floor(half) };
const amplitudesOf = (kind, count) => PAIRS.map((i) => (wants[kind](i, count / 2) ? 1 : 0));
const aimAt = ({ distance, head_dim, base }) => ({
  start_angles: aimAngles(distance, inverseFrequencies(head_dim, base, MAX_PAIRS)),
});

// What the clocks aim at is kept while base or width change.
const reshaped = (changes) => (before) => {
  const after = { ...before, ...changes };
  const { aim, count: old } = survey(before);
  const count = after.head_dim / 2;
  const pairs = before.pairs === old ? count : Math.min(before.pairs, count);
  const aimed = aim === null ? {} : aimAt({ ...after, distance: aim });
  return { ...changes, ...aimed, pairs, pair: Math.min(before.pair, count - 1) };
};

// A stop: the clocks of one kind, at their top at `to`, or where they are.
function stop(label, kind, { to, one = false } = {}) {
  const visit = (state) => {
    const { aim, count } = survey(state);
    const [distance, amplitudes] = [to ?? aim ?? FIRST_AIM, amplitudesOf(kind, count)];
    const pairs = one ? 1 : count;
    return { ...aimAt({ ...state, distance }), amplitudes, pairs, distance, pair: amplitudes.indexOf(1) };
  };
  const pressed = ({ pairs, count, aim, amplitudes }) => {
    if (one) return pairs === 1 && count > 1;
    const there = to === undefined ? aim !== null : aim === to;
    const counting = amplitudesOf(kind, count).every((a, i) => i >= count || a === amplitudes[i]);
    return there && counting && pairs === count && count > 1;
  };
  return { label, visit, pressed };
}

function makeSliders(words, { sliders, set }) {
  const tone = "score";
  const own = (name) => ({
    value: (state) => state[name][state.pair],
    onInput: (value) => set((state) => ({ [name]: state[name].with(state.pair, value) })),
  });
  const reshapes = (name) => ({ onInput: (value) => set(reshaped({ [name]: value })) });
  return sliders({
    distance: { label: words.head.distance, tone: "position", min: -REACH, max: REACH, format: whole },
    pairs: {
      ...{ label: words.head.pairs, tone, min: 1, max: MAX_PAIRS },
      // A range from 1 to 1 has no length to fill.
      limit: ({ count }) => Math.max(2, count),
      onInput: (pairs) => set(({ head_dim }) => ({ pairs: Math.min(pairs, head_dim / 2) })),
    },
    amplitude: { label: words.clock.amplitude, tone, max: 1, step: 0.05, format: formatNumber, ...own("amplitudes") },
    start_angle: {
      // Aimed clocks start between whole degrees.
      ...{ label: words.clock.start, tone: "angle", min: -180, max: 180, ...IN_DEGREES, step: "any" },
      ...{ format: (angle) => formatAngle(angle, 0), ...own("start_angles") },
    },
    head_dim: { label: words.head.dim, tone: "neutral", min: 2, max: 2 * MAX_PAIRS, step: 2, ...reshapes("head_dim") },
    base: {
      ...{ label: words.head.base, tone: "angle", min: 1, max: 7, ...IN_POWERS_OF_TEN, format: formatQuantity },
      ...reshapes("base"),
    },
  });
}

function build(tools) {
  const { words, lesson, buttons, readouts, show, set } = tools;
  const [curves, clocks] = [curvesPicture(words), clocksPicture(words, tools)];
  const [distance, pairs, ...rest] = makeSliders(words, tools);
  const stops = buttons({
    aim_at_seven: stop(words.aims.seven, "all", { to: FIRST_AIM }),
    agree_at_zero: stop(words.aims.zero, "all", { to: 0 }),
    one_pair: stop(words.kinds.one, "all", { one: true }),
    only_fast: stop(words.kinds.fast, "fast"),
    only_slow: stop(words.kinds.slow, "slow"),
  });
  const [here] = buttons({ aim_here: { label: words.aims.here, onClick: () => set(aimAt) } });
  const inTokens = (value) => fill(words.facts.tokens, { value }, formatQuantity);
  const facts = readouts({
    wavelength: { label: words.facts.wavelength, format: inTokens },
    pair_contribution: { label: words.facts.part, tone: "score" },
  });
  // Eight of each, so that Python's lists can be read from the page.
  const stored = (name, trait) =>
    PAIRS.map((i) => show(name, (state) => state[trait][i], { format: (value) => formatNumber(value, 6) }));
  const rivalAt = html("span", {}, words.at, show("rival", undefined, POSITION));
  const title = show("pair", undefined, { format: (index) => fill(words.heading, { index }) });

  const tone = "score";
  const ifAny = (score) => (Number.isFinite(score) ? formatNumber(score) : words.rival.none);
  const numbers = readouts({
    score: { label: words.scores.here, tone },
    total: { label: words.scores.possible },
    peak_score: { label: words.scores.peak, tone, more: [words.at, show("peak", undefined, POSITION)] },
    beside: { label: words.scores.beside, tone },
    rival_score: { label: words.rival.score, tone, format: ifAny, more: [rivalAt] },
  });
  const box = (name, ...nodes) => div(`rope-builder${name}`, ...nodes);
  const [pictureBox, dialBox] = [box("-picture", curves.node), html("div", {}, clocks.node)];
  pictureBox.classList.add("rope-stays");
  const note = html("p", { class: "rope-builder-note" }, words.note);
  const heading = html("p", { class: "rope-heading" }, title);
  lesson.classList.add("rope-builder-lesson");
  const frame = div(
    "rope-frame",
    div("rope-row rope-row-first rope-builder-stops", ...stops),
    lesson,
    box(
      "",
      pictureBox,
      box("-walk", box("-distance", distance, here), pairs),
      box("-clocks", note, dialBox, box("-facts", heading, ...facts), ...rest.slice(0, 2)),
      box("-shape", ...rest.slice(2)),
    ),
    div("rope-readouts", ...numbers),
    html("div", { hidden: "" }, ...stored("pair_amplitude", "amplitudes"), ...stored("pair_start", "start_angles")),
  );
  const remember = whenChanged(survey);
  return {
    node: frame,
    measure: (narrow) => ({
      wide: !narrow,
      width: widthOf(pictureBox, 220, 460),
      dials: widthOf(dialBox, 200, 420),
    }),
    derive({ distance, pair, ...given }) {
      const found = remember(given);
      const parts = found.clocks.map((clock, i) => (i < found.pairs ? partAt(clock, distance) : 0));
      const ofPair = { wavelength: TAU / found.clocks[pair].frequency, pair_contribution: parts[pair] };
      return { ...found, ...ofPair, parts, score: found.scores[distance + REACH] };
    },
    draw(state, room) {
      curves.draw(state, room);
      clocks.draw(state, room);
      rivalAt.hidden = !Number.isFinite(state.rival);
    },
    lesson({ loud, peak, rival, clocks, aimOn: aim, ...state }) {
      const scores = { best: state.peak_score, next: state.rival_score, beside: state.beside, total: state.total };
      const kind = lessonKind({ ...scores, aim, on: loud.length });
      const said = Object.fromEntries(Object.entries(scores).map(([name, score]) => [name, formatNumber(score)]));
      const distances = { on: loud.length, peak: whole(peak), rival: whole(rival) };
      const wavelength = formatQuantity(TAU / clocks[loud[0] ?? 0].frequency);
      return fill(words.lessons[kind], { ...said, ...distances, wavelength });
    },
  };
}

const TRAITS = ["head_dim", "base", "pairs", "amplitudes", "start_angles", "distance", "pair"];
const render = mount({ words: WORDS, traits: TRAITS, build });

export default { render };
