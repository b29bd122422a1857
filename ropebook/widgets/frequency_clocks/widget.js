import { arrowKeys, markChosen } from "../kit/choice.js";
import { IN_POWERS_OF_TEN, IN_POWERS_OF_TWO, OWN_KEYS } from "../kit/controls.js";
import { html, setAttributes, setText, svg, svgText, svgTexts, whenChanged, widthOf } from "../kit/dom.js";
import { TAU, alike, clamp, inverseFrequencies } from "../kit/math.js";
import { prefersReducedMotion } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatAngle, formatQuantity, superscript } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Frequency clocks: one hand per pair of dimensions",
    dials: "The hands at this position, fastest first; arrow keys choose a pair",
    strip: "Wavelength of every pair on a logarithmic axis, against the context",
    completes: "completes a turn within the context",
    never: "never does; shaded: how far it gets",
    rows: "on the left: the number of a row's first pair",
    position: "position, tokens",
    rotaryDim: "rotary_dim, two per hand",
    base: "base",
    context: "context, tokens",
    play: "play",
    pause: "pause",
    step: "one token on",
    presets: { roformer: "RoFormer", llama3: "Llama 3", llama3_old_base: "Llama 3 with base 10 000" },
    lesson: "Within {context} tokens, <b>{never} of {pairs}</b> hands never complete a turn: pairs {first} to {last}.",
    lessonOne: "Within {context} tokens, <b>1 of {pairs}</b> hands never completes a turn: pair {first}.",
    lessonNone: "Within {context} tokens, <b>every hand</b> completes a turn: {pairs} of {pairs}.",
    pair: "Pair {index}",
    dial: "pair {index}, wavelength {wavelength} tokens, {turns} turns in the context",
    inverseFrequency: "turn per token",
    wavelength: "wavelength",
    turns: "turns in context",
    angle: "hand now at",
    radians: "{value} rad",
    tokens: "{value} tokens",
    pairs: "hands (pairs)",
    fastest: "fastest wavelength",
    slowest: "slowest wavelength",
    neverCount: "short of a turn",
    neverRange: "these pairs",
    none: "none",
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

// Clock faces around centers: each part of all of them is one path, or there were hundreds to write.
function clockFaces(parent) {
  const layer = svg("g", { class: "rope-faces", "aria-hidden": "true" }, parent);
  const path = (name) => svg("path", { class: name }, layer);
  const [swept, rims, neverRims] = ["rope-swept", "rope-rim", "rope-rim rope-never"].map(path);
  const [hands, hubs, neverHubs] = ["rope-hand", "rope-hub", "rope-hub rope-never"].map(path);
  const put = (node, faces, draw) => setAttributes(node, { d: faces.map(draw).join("") });
  const hubOf = (radius) => clamp(radius * 0.14, 2, 4);
  return {
    layer,
    // `share` is how far a hand gets, in turns.
    drawFaces(faces, radius) {
      const disc =
        (r) =>
        ({ x, y }) =>
          sectorPath(x, y, r, 0, -TAU);
      const [never, others] = [faces.filter((face) => face.never), faces.filter((face) => !face.never)];
      put(swept, faces, ({ x, y, share }) => sectorPath(x, y, radius - 1, 0, TAU * Math.min(1, share)));
      put(rims, others, disc(radius));
      put(neverRims, never, disc(radius));
      put(hubs, others, disc(hubOf(radius)));
      put(neverHubs, never, disc(hubOf(radius)));
    },
    drawHands(centers, radius, angles) {
      put(hands, centers, ({ x, y }, i) => {
        const [c, s] = [Math.cos(angles[i]), Math.sin(angles[i])];
        return polylinePath([hubOf(radius), radius * 0.8].map((r) => [x + r * c, y - r * s]));
      });
    },
  };
}

// A face that stands alone, with its ground.
function singleFace(picture, x, y, radius) {
  svg("circle", { class: "rope-dial-back", cx: x, cy: y, r: radius }, picture);
  const faces = clockFaces(picture);
  return (share, never, angle) => {
    faces.drawFaces([{ x, y, share, never }], radius);
    faces.drawHands([{ x, y }], radius, [angle]);
  };
}

// All hands, as radios; `focus` holds the one that is { chosen }, and the one that is { hovered }.
function dialGrid(words, focus, redraw) {
  const picture = svg("svg", { role: "radiogroup", "aria-label": words.dials, "data-control": "pair" });
  const drawRows = svgTexts(svg("g", { "aria-hidden": "true" }, picture), "", "end");
  const faces = clockFaces(picture);
  const dials = [];
  let shape = null;
  const note = (changes) => {
    Object.assign(focus, changes);
    redraw();
  };
  const pick = (chosen, changes = {}) => {
    note({ chosen, ...changes });
    dials[chosen].focus();
  };
  arrowKeys(picture, {
    current: () => focus.chosen,
    count: () => shape.centers.length,
    columns: () => shape.columns,
    pick: (index) => pick(index, { hovered: null }),
  });

  function addDial(index) {
    const names = { class: "rope-dial", role: "radio", "data-report": "hand", "data-pair": index };
    const dial = svg("g", { ...names, ...OWN_KEYS });
    for (const name of ["rope-halo", "rope-dial-back"]) svg("circle", { class: name }, dial);
    dial.addEventListener("click", () => pick(index));
    dial.addEventListener("focus", () => note({ chosen: index }));
    dial.addEventListener("pointerenter", () => note({ hovered: index }));
    dial.addEventListener("pointerleave", () => note({ hovered: null }));
    faces.layer.before(dial);
    dials.push(dial);
  }

  const place = whenChanged((count, width) => {
    const { columns, rows, height, pitch, radius } = gridShape(count, width);
    const [toX, toY] = pitch.map((step) => (place) => (place + 0.5) * step);
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    const firsts = Array.from({ length: rows }, (_, row) => row * columns);
    drawRows(firsts.map((first, row) => [String(first), { x: GUTTER - 8, y: toY(row) + 4 }]));
    while (dials.length < count) addDial(dials.length);
    const centers = dials.map((dial, i) => {
      const [x, y] = [GUTTER + toX(i % columns), toY(Math.floor(i / columns))];
      dial.style.display = i < count ? "" : "none";
      [radius + 2.5, radius].forEach((r, part) => setAttributes(dial.children[part], { cx: x, cy: y, r }));
      return { x, y };
    });
    return { columns, radius, centers: centers.slice(0, count) };
  });

  // What does not move with the position.
  const drawFaces = whenChanged((inverse, context, width) => {
    shape = place(inverse.length, width);
    const shares = inverse.map((frequency) => (context * frequency) / TAU);
    const parts = shape.centers.map((at, i) => ({ ...at, share: shares[i], never: TAU / inverse[i] > context }));
    faces.drawFaces(parts, shape.radius);
    inverse.forEach((frequency, index) => {
      const said = { index, wavelength: formatQuantity(TAU / frequency), turns: formatQuantity(shares[index]) };
      setAttributes(dials[index], { "aria-label": fill(words.dial, said) });
    });
  });

  function draw({ inverse, context, angles }, width) {
    drawFaces(inverse, context, width);
    faces.drawHands(shape.centers, shape.radius, angles);
    angles.forEach((angle, i) => setAttributes(dials[i], { "data-value": angle }));
    markChosen(dials, focus.chosen);
  }
  return { node: picture, draw };
}

// The wavelengths of all pairs on a logarithmic axis.
function wavelengthStrip(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.strip });
  const shade = svg("rect", { class: "rope-beyond", y: 16, height: 40, rx: 4 }, picture);
  const path = (name) => svg("path", { class: name }, picture);
  const axis = path("rope-axis");
  const drawTicks = svgTexts(svg("g", {}, picture), "", "middle");
  const waves = svg("g", {}, picture);
  const contextLine = path("rope-context-line");
  const contextLabel = svgText(picture, "rope-context-label");
  const chosenWave = svg("circle", { class: "rope-wave-chosen", r: 7.5, cy: 36 }, picture);
  const title = setAttributes(svgText(picture, "", "end", words.axis), { y: 89 });

  const place = whenChanged((wavelengths, context, width) => {
    const low = Math.min(4, context, ...wavelengths) * 0.8;
    const high = Math.max(context, ...wavelengths) * 1.6;
    const scale = linearScale(Math.log10(low), Math.log10(high), 10, width - 10);
    const along = (wavelength) => scale(Math.log10(wavelength));
    const powers = decadeTicks(low, high);
    setAttributes(picture, { viewBox: `0 0 ${width} 92`, height: 92 });
    setAttributes(axis, { d: [`M0 56H${width}`, ...powers.map((power) => `M${scale(power)} 56v5`)].join("") });
    const nameOf = (power) => (power < 4 && power >= 0 ? formatQuantity(10 ** power) : `10${superscript(power)}`);
    drawTicks(powers.map((power) => [nameOf(power), { x: scale(power), y: 73 }]));
    const spacing = Math.abs(along(wavelengths[0]) - along(wavelengths.at(-1))) / wavelengths.length;
    while (waves.childElementCount < wavelengths.length) svg("circle", { cy: 36 }, waves);
    [...waves.children].forEach((wave, i) => {
      wave.style.display = i < wavelengths.length ? "" : "none";
      if (i >= wavelengths.length) return;
      const type = wavelengths[i] > context ? "rope-wave-never" : "rope-wave";
      setAttributes(wave, { cx: along(wavelengths[i]), r: clamp(spacing * 0.42, 2, 4.2), class: type });
    });
    const line = along(context);
    const atEnd = line > width / 2;
    setAttributes(shade, { x: line, width: Math.max(0, width - line) });
    setAttributes(contextLine, { d: `M${line} 16V60` });
    setText(contextLabel, `${words.contextLine} ${formatQuantity(context)}`);
    setAttributes(contextLabel, { x: line + (atEnd ? -2 : 2), y: 12, "text-anchor": atEnd ? "end" : "start" });
    setAttributes(title, { x: width });
    return along;
  });

  function draw({ wavelengths, context, pair }, width) {
    const along = place(wavelengths, context, width);
    setAttributes(chosenWave, { cx: along(wavelengths[pair]) });
  }
  return { node: picture, draw };
}

// One hand at large, with the way it turns, and its numbers.
function detail(numbers, heading) {
  const picture = svg("svg", { viewBox: "0 0 132 132", "aria-hidden": "true" });
  const face = singleFace(picture, 66, 66, 46);
  svg("path", { class: "rope-direction", d: polylinePath(spiralPoints(66, 66, 59, 0.12, 1.2)) }, picture);
  svg("path", { class: "rope-direction-head", d: arcHeadPath(spiralPoints(66, 66, 59, 0.12, 1.32)) }, picture);
  svg("path", { class: "rope-direction", d: "M112 66H119" }, picture);
  setAttributes(svgText(picture, "", "start", "0"), { x: 122, y: 70 });
  const facts = html("div", { class: "rope-facts" }, ...numbers);
  const node = html("div", { class: "rope-detail" }, picture, html("div", {}, heading, facts));
  return {
    node,
    draw: (state) => face(state.pair_turns, state.pair_wavelength > state.context, state.pair_angle),
  };
}

function legend(words) {
  const face = (share) => {
    const picture = svg("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" });
    singleFace(picture, 11, 11, 9)(share, share < 1, 0.9);
    return picture;
  };
  const item = (...content) => html("li", {}, ...content);
  const items = [item(face(1), words.completes), item(face(0.35), words.never), item(words.rows)];
  return html("ul", { class: "rope-legend" }, ...items);
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

function numbersOf(words, readouts, until) {
  const format = formatQuantity;
  const tokens = (value) => fill(words.tokens, { value: format(value) });
  const radians = (value) => fill(words.radians, { value: format(value) });
  const share = ({ never_turn_count: count, num_pairs }) => [count, `${count} / ${num_pairs}`];
  const pairOrNone = (first) => (Number.isNaN(first) ? words.none : String(first));
  return {
    all: readouts({
      num_pairs: { label: words.pairs, format },
      wavelength_fastest: { label: words.fastest, format: tokens },
      wavelength_slowest: { label: words.slowest, format: tokens },
      never_turn_count: { label: words.neverCount, value: share },
      never_turn_first: { label: words.neverRange, format: pairOrNone, more: [until] },
    }),
    ofPair: readouts({
      pair_inv_freq: { label: words.inverseFrequency, format: radians },
      pair_wavelength: { label: words.wavelength, format: tokens },
      pair_turns: { label: words.turns, format },
      pair_angle: { label: words.angle, format: (angle) => formatAngle(angle, 0) },
    }),
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
  const playLabel = () => (playing() ? words.pause : prefersReducedMotion() ? words.step : words.play);
  const format = formatQuantity;
  const [position, ...shape] = sliders({
    position: {
      ...{ label: words.position, tone: "position", min: 0, max: 512 },
      limit: (state) => Math.max(state.context, state.position),
      format: (at) => format(Math.round(at * 10) / 10),
    },
    base: { label: words.base, tone: "angle", min: 1, max: 7, ...IN_POWERS_OF_TEN, format },
    context: {
      ...{ label: words.context, tone: "neutral", min: 4, max: 20, ...IN_POWERS_OF_TWO, format },
      onInput: (context) => set((state) => ({ context, position: Math.min(state.position, context) })),
    },
    rotary_dim: { label: words.rotaryDim, tone: "neutral", min: 2, max: 2 * MAX_PAIRS, step: 2, format },
  });
  return {
    ...{ position, shape },
    presets: buttons(Object.fromEntries(Object.entries(presets).map(stop))),
    player: buttons({ play: { label: playLabel, onClick: () => play("play", script) } }),
  };
}

function build({ words, model, redraw, lesson, ...tools }) {
  const { readouts, show } = tools;
  const focus = { chosen: null, hovered: null };
  const grid = dialGrid(words, focus, redraw);
  const strip = wavelengthStrip(words);
  const lastNever = ({ never_turn_last: last }) => [last, Number.isNaN(last) ? "" : String(last)];
  const until = html("span", { class: "rope-until" }, "–", show("never_turn_last", lastNever));
  const numbers = numbersOf(words, readouts, until);
  const heading = show("pair", ({ pair }) => [pair, fill(words.pair, { index: pair })]);
  const one = detail(numbers.ofPair, html("p", { class: "rope-heading" }, heading));
  const controls = controlsOf({ words, ...tools }, model.get("presets"), focus);
  const dialBox = html("div", {}, grid.node);
  const stripBox = html("div", { class: "rope-strip" }, strip.node);
  lesson.classList.add("rope-lesson-short");
  return {
    node: html(
      "div",
      { class: "rope-frame" },
      html("div", { class: "rope-row rope-row-first" }, ...controls.presets),
      lesson,
      html("div", { class: "rope-controls" }, ...controls.shape),
      html("div", { class: "rope-play" }, controls.position, ...controls.player),
      html("div", { class: "rope-clocks" }, html("div", {}, legend(words), dialBox), one.node),
      stripBox,
      html("div", { class: "rope-readouts" }, ...numbers.all),
    ),
    measure: () => ({ dials: widthOf(dialBox, 200, 800), strip: widthOf(stripBox, 200, 800) }),
    derive: (state) => survey(state, focus),
    draw(state, room) {
      grid.draw(state, room.dials);
      strip.draw(state, room.strip);
      one.draw(state);
      until.hidden = state.never_turn_count < 2;
    },
    lesson: ({
      context,
      never_turn_count: never,
      num_pairs: pairs,
      never_turn_first: first,
      never_turn_last: last,
    }) => {
      const sentence = [words.lessonNone, words.lessonOne][never] ?? words.lesson;
      return fill(sentence, { context: formatQuantity(context), ...{ never, pairs, first, last } });
    },
  };
}

const render = mount({ words: WORDS, traits: ["rotary_dim", "base", "context", "position"], build });

export default { render };
