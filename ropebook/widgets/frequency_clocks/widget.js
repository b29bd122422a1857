import { arrowKeys } from "../kit/choice.js";
import { IN_POWERS_OF_TEN, IN_POWERS_OF_TWO, OWN_KEYS } from "../kit/controls.js";
import { div, html, setAttributes, svg, whenChanged, widthOf } from "../kit/dom.js";
import { box, disc, label, layer, path } from "../kit/layer.js";
import { TAU, alike, clamp, inverseFrequencies } from "../kit/math.js";
import { prefersReducedMotion } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatAngle, formatQuantity, superscript } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Frequency clocks: one hand per pair of numbers",
    dials: "The hands at this position, fastest first; arrow keys choose one",
    strip: "Wavelength of every hand on a logarithmic axis, against the context",
    completes: "completes a turn within the context",
    short: "never does; shaded: how far it gets",
    rows: "on the left: the number of a row's first hand",
    position: "position, tokens",
    shape: { base: "base", context: "context, tokens", rotaryDim: "numbers that turn, two per hand" },
    player: { play: "play", pause: "pause", step: "one token on" },
    presets: { roformer: "RoFormer", llama3: "Llama 3", llama3_old_base: "Llama 3 with base 10 000" },
    lessons: {
      playing: "At token <b>{position}</b>, hand 0 has made {fast} turns, hand {slowest} has made {slow}.",
      none: "Within {context} tokens, <b>every hand</b> completes a turn: {pairs} of {pairs}.",
      one: "Within {context} tokens, <b>1 of {pairs}</b> hands never completes a turn: hand {first}.",
      many: "Within {context} tokens, <b>{never} of {pairs}</b> hands never complete a turn: hands {first} to {last}.",
    },
    pair: "Hand {index}",
    dial: "hand {index}, wavelength {wavelength} tokens, {turns} turns in the context",
    units: { radians: "{value} rad", tokens: "{value} tokens" },
    one: { frequency: "turn per token", wavelength: "wavelength", turns: "turns in context", angle: "hand now at" },
    all: { pairs: "hands", fastest: "fastest wavelength", slowest: "slowest wavelength" },
    never: { count: "short of a turn", range: "these hands", none: "none" },
    contextLine: "context",
    axis: "wavelength, tokens",
  },
};

const MAX_PAIRS = 128;
const GUTTER = 26;

// Indices of the pairs whose wavelength is longer than the context.
export function neverTurn(inverse, context) {
  return inverse.flatMap((frequency, i) => (TAU / frequency > context ? [i] : []));
}

// The dials share one box, of a height that their number leaves alone, or what stands below would
// move with a slider: as many columns as let them be largest.
export function gridShape(count, width) {
  const [across, height] = [width - GUTTER, width < 420 ? 300 : 240];
  const shapes = Array.from({ length: count }, (_, i) => {
    const [columns, rows] = [i + 1, Math.ceil(count / (i + 1))];
    const pitch = [across / columns, height / rows];
    return { columns, rows, height, pitch, radius: Math.min(46, Math.min(...pitch) / 2 - 4) };
  });
  return shapes.reduce((best, shape) => (shape.radius >= best.radius ? shape : best));
}

// Slow at first, so that the fast hands are seen; then ever faster, so that the slow ones are.
export function playedPosition(start, seconds) {
  const patience = 12;
  const rate = 0.35;
  const lead = Math.max(0, (patience - start) / (patience * rate));
  if (seconds <= lead) return start + patience * rate * seconds;
  return Math.max(start, patience) * Math.exp(rate * (seconds - lead));
}

export function decadeTicks(low, high) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)) + 0; power <= Math.log10(high); power += 1) ticks.push(power);
  return ticks;
}

// Clock faces: each part of all of them is one path, or there were hundreds to write. `share` is how
// far a hand gets, in turns; hands with their hubs are apart, since they alone move with the position.
function faceShapes(faces, radius) {
  const swept = faces.map(({ x, y, share }) => sectorPath(x, y, radius - 1, 0, TAU * Math.min(1, share)));
  return [path("rope-swept", swept.join("")), ...ringShapes("rope-rim", faces, radius)];
}

function handShapes(faces, radius, angles) {
  const hub = clamp(radius * 0.14, 2, 4);
  const hands = faces.map(({ x, y }, i) => {
    const [c, s] = [Math.cos(angles[i]), Math.sin(angles[i])];
    return polylinePath([hub, radius * 0.8].map((r) => [x + r * c, y - r * s]));
  });
  return [path("rope-hand", hands.join("")), ...ringShapes("rope-hub", faces, hub)];
}

function ringShapes(name, faces, radius) {
  const rings = (some) => some.map(({ x, y }) => sectorPath(x, y, radius, 0, -TAU)).join("");
  const [never, others] = [faces.filter((face) => face.never), faces.filter((face) => !face.never)];
  return [path(name, rings(others)), path(`${name} rope-never`, rings(never))];
}

// A face that stands alone, with its ground.
function singleFace([x, y], radius, share, never, angle) {
  const faces = [{ x, y, share, never }];
  return [disc("rope-dial-back", [x, y], radius), ...faceShapes(faces, radius), ...handShapes(faces, radius, [angle])];
}

// All hands, as radios; `focus` holds the one that is { chosen }, and the one that is { hovered }.
function dialGrid(words, focus, redraw) {
  const picture = svg("svg", { role: "radiogroup", "aria-label": words.dials, "data-control": "pair" });
  const [paintRows, paintDials] = [layer(picture), layer(picture)];
  const above = svg("g", { class: "rope-faces", "aria-hidden": "true" }, picture);
  const [paintFaces, paintHands] = [layer(above), layer(above)];
  let shape = null;
  const note = (changes) => {
    Object.assign(focus, changes);
    redraw();
  };
  const pick = (chosen, changes = {}) => {
    note({ chosen, ...changes });
    picture.querySelector(`[data-pair="${chosen}"]`).focus();
  };
  // What a pointer or the focus meets: a pair, or none (null).
  const met = (type, heed) =>
    picture.addEventListener(type, ({ target }) => {
      const dial = target.closest("[data-pair]");
      heed(dial && Number(dial.dataset.pair));
    });
  met("click", (index) => index !== null && pick(index));
  met("focusin", (index) => index !== null && note({ chosen: index }));
  met("pointerover", (hovered) => note({ hovered }));
  picture.addEventListener("pointerleave", () => note({ hovered: null }));
  arrowKeys(picture, {
    current: () => focus.chosen,
    count: () => shape.faces.length,
    columns: () => shape.columns,
    pick: (index) => pick(index, { hovered: null }),
  });

  // What does not move with the position.
  const place = whenChanged((inverse, context, width) => {
    const { columns, rows, height, pitch, radius } = gridShape(inverse.length, width);
    const center = (i) => [GUTTER + ((i % columns) + 0.5) * pitch[0], (Math.floor(i / columns) + 0.5) * pitch[1]];
    const faces = inverse.map((frequency, index) => {
      const [[x, y], share, wavelength] = [center(index), (context * frequency) / TAU, TAU / frequency];
      const said = { index, wavelength: formatQuantity(wavelength), turns: formatQuantity(share) };
      const rings = [disc("rope-halo", [x, y], radius + 2.5), disc("rope-dial-back", [x, y], radius)];
      return { x, y, share, never: wavelength > context, said: fill(words.dial, said), rings };
    });
    const firsts = Array.from({ length: rows }, (_, row) => row * columns);
    const names = firsts.map((first) => label("", GUTTER - 8, center(first)[1] + 4, String(first), "end"));
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paintRows([["g", { "aria-hidden": "true" }, names]]);
    paintFaces(faceShapes(faces, radius));
    return { columns, radius, faces };
  });

  function draw({ inverse, context, angles }, width) {
    shape = place(inverse, context, width);
    const fixed = { class: "rope-dial", role: "radio", "data-report": "hand", ...OWN_KEYS };
    const dials = shape.faces.map(({ said, rings }, i) => {
      const chosen = i === focus.chosen;
      const now = { "data-value": angles[i], "aria-checked": chosen, tabindex: chosen ? 0 : -1 };
      return ["g", { ...fixed, "data-pair": i, "aria-label": said, ...now }, rings];
    });
    paintDials(dials);
    paintHands(handShapes(shape.faces, shape.radius, angles));
  }
  return { node: picture, draw };
}

// The wavelengths of all pairs on a logarithmic axis.
function wavelengthStrip(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.strip });
  const paint = layer(picture);

  function draw({ wavelengths, context, pair }, width) {
    const low = Math.min(4, context, ...wavelengths) * 0.8;
    const high = Math.max(context, ...wavelengths) * 1.6;
    const scale = linearScale(Math.log10(low), Math.log10(high), 10, width - 10);
    const along = (wavelength) => scale(Math.log10(wavelength));
    const powers = decadeTicks(low, high);
    const nameOf = (power) => (power < 4 && power >= 0 ? formatQuantity(10 ** power) : `10${superscript(power)}`);
    const spacing = Math.abs(along(wavelengths[0]) - along(wavelengths.at(-1))) / wavelengths.length;
    const waveOf = (wavelength) => {
      const type = wavelength > context ? "rope-wave-never" : "rope-wave";
      return disc(type, [along(wavelength), 36], clamp(spacing * 0.42, 2, 4.2));
    };
    const line = along(context);
    const [aside, anchor] = line > width / 2 ? [-2, "end"] : [2, "start"];
    const said = `${words.contextLine} ${formatQuantity(context)}`;
    setAttributes(picture, { viewBox: `0 0 ${width} 92`, height: 92 });
    paint([
      box("rope-beyond", [line, 16, Math.max(0, width - line), 40], { rx: 4 }),
      path("rope-axis", [`M0 56H${width}`, ...powers.map((power) => `M${scale(power)} 56v5`)].join("")),
      ...powers.map((power) => label("", scale(power), 73, nameOf(power), "middle")),
      ["g", {}, wavelengths.map(waveOf)],
      path("rope-context-line", `M${line} 16V60`),
      label("rope-context-label", line + aside, 12, said, anchor),
      box("rope-wave-chosen", [along(wavelengths[pair]) - 7, 29, 14, 14], { rx: 3 }),
      label("", width, 89, words.axis, "end"),
    ]);
  }
  return { node: picture, draw };
}

// One hand at large, with the way it turns, and its numbers.
function detail(numbers, heading) {
  const picture = svg("svg", { viewBox: "0 0 132 132", "aria-hidden": "true" });
  const paint = layer(picture);
  const spiral = (end) => spiralPoints(66, 66, 59, 0.12, end);
  const direction = [
    path("rope-direction", polylinePath(spiral(1.2))),
    path("rope-direction-head", arcHeadPath(spiral(1.32))),
    path("rope-direction", "M112 66H119"),
    label("", 122, 70, "0"),
  ];
  return {
    node: div("rope-detail", picture, html("div", {}, heading, div("rope-facts", ...numbers))),
    draw: ({ context, pair_turns, pair_wavelength, pair_angle }) =>
      paint([...singleFace([66, 66], 46, pair_turns, pair_wavelength > context, pair_angle), ...direction]),
  };
}

function legend(words) {
  const item = (said, share) => {
    const picture = svg("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" });
    layer(picture)(singleFace([11, 11], 9, share, share < 1, 0.9));
    return html("li", {}, picture, said);
  };
  return html(
    "ul",
    { class: "rope-legend" },
    item(words.completes, 1),
    item(words.short, 0.35),
    html("li", {}, words.rows),
  );
}

// The clock runs on from a position, and from the beginning where it has run out.
function running(commit) {
  return ({ position, context }) => {
    const from = position >= context ? 0 : position;
    let told = 0;
    return {
      still: { position: Math.min(context, Math.floor(from) + 1) },
      at(seconds) {
        const played = Math.min(context, playedPosition(from, seconds));
        // Python hears of a running clock four times a second, not sixty.
        if (seconds - told > 0.25) {
          told = seconds;
          commit({ position: Math.round(played) });
        }
        return { position: played };
      },
      over: (shown) => shown.position >= context,
    };
  };
}

// What is drawn and said of a state.
function survey({ rotary_dim, base, context, position }, focus) {
  const inverse = inverseFrequencies(rotary_dim, base);
  const wavelengths = inverse.map((frequency) => TAU / frequency);
  const angles = inverse.map((frequency) => position * frequency);
  const never = neverTurn(inverse, context);
  const last = inverse.length - 1;
  focus.chosen = Math.min(focus.chosen ?? never[0] ?? last, last);
  const pair = focus.hovered === null || focus.hovered > last ? focus.chosen : focus.hovered;
  return {
    ...{ inverse, wavelengths, angles, pair },
    num_pairs: inverse.length,
    wavelength_fastest: Math.min(...wavelengths),
    wavelength_slowest: Math.max(...wavelengths),
    never_turn_count: never.length,
    never_turn_first: never[0] ?? NaN,
    never_turn_last: never.at(-1) ?? NaN,
    pair_inv_freq: inverse[pair],
    pair_wavelength: wavelengths[pair],
    pair_turns: (context * inverse[pair]) / TAU,
    pair_angle: angles[pair] % TAU,
  };
}

// What a running clock says: where it is, and how far its fastest and its slowest hand have come.
export function told({ position, inverse }) {
  const [fast, slow] = [inverse[0], inverse.at(-1)].map((frequency) => formatQuantity((position * frequency) / TAU));
  return { position: formatQuantity(Math.round(position)), fast, slow, slowest: inverse.length - 1 };
}

function numbersOf(words, { readouts, show }, until) {
  const format = formatQuantity;
  const tokens = (value) => fill(words.units.tokens, { value: format(value) });
  const radians = (value) => fill(words.units.radians, { value: format(value) });
  const share = ({ never_turn_count: count, num_pairs }) => [count, `${count} / ${num_pairs}`];
  const pairOrNone = (first) => (Number.isNaN(first) ? words.never.none : String(first));
  return {
    all: readouts({
      num_pairs: { label: words.all.pairs, format },
      wavelength_fastest: { label: words.all.fastest, format: tokens },
      wavelength_slowest: { label: words.all.slowest, format: tokens },
      never_turn_count: { label: words.never.count, value: share },
      never_turn_first: { label: words.never.range, format: pairOrNone, more: [until] },
    }),
    ofPair: readouts({
      pair_inv_freq: { label: words.one.frequency, format: radians },
      pair_wavelength: { label: words.one.wavelength, format: tokens },
      pair_turns: { label: words.one.turns, format },
      pair_angle: { label: words.one.angle, format: (angle) => formatAngle(angle, 0) },
    }),
    heading: show("pair", ({ pair }) => [pair, fill(words.pair, { index: pair })]),
  };
}

function controlsOf({ words, set, commit, play, playing, sliders, buttons }, presets, focus) {
  const visit = (values) => () => {
    focus.chosen = null;
    // As far into the new context as it stood in the old one.
    const along = ({ position, context }) => Math.round(Math.min(1, position / context) * values.context);
    set((state) => ({ ...values, position: along(state) }));
  };
  const has = (values) => (state) => Object.entries(values).every(([name, value]) => alike(state[name], value));
  const stop = ([name, values]) => [
    `preset_${name}`,
    { label: words.presets[name] ?? name, pressed: has(values), onClick: visit(values) },
  ];
  const script = running(commit);
  const playLabel = () => words.player[playing() ? "pause" : prefersReducedMotion() ? "step" : "play"];
  const format = formatQuantity;
  const [position, ...shape] = sliders({
    position: {
      ...{ label: words.position, tone: "position", min: 0, max: 512 },
      limit: (state) => Math.max(state.context, state.position),
      format: (at) => format(Math.round(at * 10) / 10),
    },
    base: { label: words.shape.base, tone: "angle", min: 1, max: 7, ...IN_POWERS_OF_TEN, format },
    context: {
      ...{ label: words.shape.context, tone: "neutral", min: 4, max: 20, ...IN_POWERS_OF_TWO, format },
      onInput: (context) => set((state) => ({ context, position: Math.min(state.position, context) })),
    },
    rotary_dim: { label: words.shape.rotaryDim, tone: "neutral", min: 2, max: 2 * MAX_PAIRS, step: 2, format },
  });
  return {
    ...{ position, shape },
    presets: buttons(Object.fromEntries(Object.entries(presets).map(stop))),
    player: buttons({ play: { label: playLabel, onClick: () => play("play", script) } }),
  };
}

function build({ words, model, redraw, lesson, ...tools }) {
  const focus = { chosen: null, hovered: null };
  const [grid, strip] = [dialGrid(words, focus, redraw), wavelengthStrip(words)];
  const lastNever = ({ never_turn_last: last }) => [last, Number.isNaN(last) ? "" : String(last)];
  const until = html("span", { class: "rope-until" }, "–", tools.show("never_turn_last", lastNever));
  const numbers = numbersOf(words, tools, until);
  const one = detail(numbers.ofPair, html("p", { class: "rope-heading" }, numbers.heading));
  const controls = controlsOf({ words, ...tools }, model.get("presets"), focus);
  const [dialBox, stripBox] = [html("div", { "data-card": "" }, grid.node), div("rope-strip", strip.node)];
  lesson.classList.add("rope-lesson-short", "rope-clocks-lesson");
  return {
    node: div(
      "rope-frame",
      div("rope-row rope-row-first", ...controls.presets),
      lesson,
      div("rope-controls", ...controls.shape),
      div("rope-play", controls.position, ...controls.player),
      div("rope-clocks", div("rope-stays", legend(words), dialBox), one.node),
      stripBox,
      div("rope-readouts", ...numbers.all),
    ),
    measure: () => ({ dials: widthOf(dialBox, 200, 800), strip: widthOf(stripBox, 200, 800) }),
    derive: (state) => survey(state, focus),
    draw(state, room) {
      grid.draw(state, room.dials);
      strip.draw(state, room.strip);
      one.draw(state);
      until.hidden = state.never_turn_count < 2;
    },
    lesson({
      context,
      num_pairs: pairs,
      never_turn_count: never,
      never_turn_first: first,
      never_turn_last: last,
      ...at
    }) {
      if (tools.playing()) return fill(words.lessons.playing, told(at));
      const kind = ["none", "one"][never] ?? "many";
      return fill(words.lessons[kind], { context: formatQuantity(context), never, pairs, first, last });
    },
  };
}

const traits = ["rotary_dim", "base", "context", "position"];

export default { render: mount({ words: WORDS, traits, build }) };
