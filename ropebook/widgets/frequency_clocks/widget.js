import { OWN_KEYS, button, readout, report, slider } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { TAU, clamp, degrees, inverseFrequencies } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, watch } from "../kit/motion.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, pickWords, superscript } from "../kit/text.js";

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

// Eight dials in a row, more where there are many and the room is wide.
export function gridShape(count, width) {
  const columns = width < 420 || count <= 32 ? 8 : count <= 64 ? 10 : 16;
  const radius = Math.min(26, (width - GUTTER) / columns / 2 - 4);
  return { columns, radius, cell: 2 * radius + 8 };
}

export function matchingPreset(presets, rotaryDim, base, context) {
  const found = Object.entries(presets).find(
    ([, p]) => p.rotary_dim === rotaryDim && p.base === base && p.context === context,
  );
  return found ? found[0] : "custom";
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

function makeDial(parent, choice) {
  const group = svg("g", choice ? { class: "rope-dial", role: "radio", ...OWN_KEYS } : {}, parent);
  return {
    group,
    halo: svg("circle", { class: "rope-halo" }, group),
    back: svg("circle", { class: "rope-dial-back" }, group),
    swept: svg("path", { class: "rope-swept" }, group),
    rim: svg("circle", { class: "rope-rim" }, group),
    hand: svg("path", { class: "rope-hand" }, group),
    hub: svg("circle", { class: "rope-hub" }, group),
  };
}

function drawFace(dial, cx, cy, radius, share, never) {
  for (const circle of [dial.back, dial.rim]) setAttributes(circle, { cx, cy, r: radius });
  setAttributes(dial.halo, { cx, cy, r: radius + 2.5 });
  setAttributes(dial.hub, { cx, cy, r: clamp(radius * 0.14, 2, 4) });
  dial.swept.setAttribute("d", sectorPath(cx, cy, radius - 1, 0, TAU * Math.min(1, share)));
  dial.group.classList.toggle("rope-never", never);
}

function drawHand(dial, cx, cy, radius, angle) {
  const reach = radius * 0.8;
  const hub = clamp(radius * 0.14, 2, 4);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  dial.hand.setAttribute(
    "d",
    polylinePath([
      [cx + hub * c, cy - hub * s],
      [cx + reach * c, cy - reach * s],
    ]),
  );
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const presets = model.get("presets");
  let chosen = null;
  let hovered = null;
  let played = null;
  let faces = "";
  let grid = null;
  let inverse = [];

  const dials = svg("svg", { role: "radiogroup", "aria-label": words.dials, "data-control": "pair" });
  const rowLabels = svg("g", { "aria-hidden": "true" }, dials);
  const made = [];
  const big = svg("svg", { viewBox: "0 0 132 132", "aria-hidden": "true" });
  const bigDial = makeDial(big, false);
  const direction = svg("path", { class: "rope-direction" }, big);
  const directionHead = svg("path", { class: "rope-direction-head" }, big);
  direction.setAttribute("d", polylinePath(spiralPoints(66, 66, 59, 0.12, 1.2)));
  directionHead.setAttribute("d", arcHeadPath(spiralPoints(66, 66, 59, 0.12, 1.32)));
  svg("path", { class: "rope-direction", d: "M112 66H119" }, big);
  const zero = svg("text", { x: 122, y: 70 }, big);
  zero.textContent = "0";

  const strip = svg("svg", { role: "img", "aria-label": words.strip });
  const shade = svg("rect", { class: "rope-beyond", y: 16, height: 40, rx: 4 }, strip);
  const stripAxis = svg("path", { class: "rope-axis" }, strip);
  const stripTicks = svg("g", {}, strip);
  const waves = svg("g", {}, strip);
  const contextLine = svg("path", { class: "rope-context-line" }, strip);
  const contextLabel = svg("text", { class: "rope-context-label" }, strip);
  const chosenWave = svg("circle", { class: "rope-wave-chosen", r: 7.5, cy: 36 }, strip);
  const stripTitle = svg("text", { "text-anchor": "end" }, strip);
  stripTitle.textContent = words.axis;

  const legendDial = (share) => {
    const picture = svg("svg", { viewBox: "0 0 22 22", "aria-hidden": "true" });
    const dial = makeDial(picture, false);
    drawFace(dial, 11, 11, 9, share, share < 1);
    drawHand(dial, 11, 11, 9, 0.9);
    return picture;
  };
  const legend = html(
    "ul",
    { class: "rope-legend" },
    html("li", {}, legendDial(1), words.completes),
    html("li", {}, legendDial(0.35), words.never),
    html("li", {}, words.rows),
  );

  const shown = () => played ?? model.get("position");
  const settle = () => {
    const at = played;
    played = null;
    if (at !== null) commit(model, { position: Math.round(at) });
    schedule();
  };
  const animation = animator(settle);
  const setPosition = (position) => {
    animation.stop();
    commit(model, { position });
  };
  const setShape = (changes, wanted = model.get("position")) => {
    animation.stop();
    const next = {
      rotary_dim: model.get("rotary_dim"),
      base: model.get("base"),
      context: model.get("context"),
      ...changes,
    };
    const position = Math.min(wanted, next.context);
    commit(model, {
      ...next,
      position,
      preset: matchingPreset(presets, next.rotary_dim, next.base, next.context),
    });
  };
  const visit = (values) => {
    chosen = null;
    // As far into the new context as it stood in the old one.
    setShape(values, Math.round((model.get("position") / model.get("context")) * values.context));
    faces = "";
    schedule();
  };
  const play = () => {
    if (animation.running()) return animation.stop();
    const context = model.get("context");
    const from = shown() >= context ? 0 : shown();
    if (prefersReducedMotion()) return setPosition(Math.min(context, Math.floor(from) + 1));
    let told = 0;
    animation.start((seconds) => {
      played = Math.min(context, playedPosition(from, seconds));
      schedule();
      // Python hears of a running clock four times a second, not sixty.
      if (seconds - told > 0.25) {
        told = seconds;
        commit(model, { position: Math.round(played) });
      }
      return played < context;
    });
  };

  const controls = {
    position: slider({
      name: "position",
      label: words.position,
      tone: "position",
      min: 0,
      max: 512,
      format: (p) => formatQuantity(Math.round(p * 10) / 10),
      onInput: setPosition,
    }),
    rotaryDim: slider({
      name: "rotary_dim",
      label: words.rotaryDim,
      tone: "neutral",
      min: 2,
      max: 2 * MAX_PAIRS,
      step: 2,
      format: (d) => formatQuantity(d),
      onInput: (rotary_dim) => setShape({ rotary_dim }),
    }),
    base: slider({
      name: "base",
      label: words.base,
      tone: "angle",
      min: 1,
      max: 7,
      step: 0.01,
      toInput: (base) => Math.log10(base),
      fromInput: (power) => Number((10 ** power).toPrecision(3)),
      format: formatQuantity,
      onInput: (base) => setShape({ base }),
    }),
    context: slider({
      name: "context",
      label: words.context,
      tone: "neutral",
      min: 4,
      max: 20,
      toInput: (context) => Math.log2(context),
      fromInput: (power) => 2 ** power,
      format: formatQuantity,
      onInput: (context) => setShape({ context }),
    }),
  };
  const playButton = button({ name: "play", label: words.play, pressable: false, onClick: play });
  const presetButtons = Object.entries(presets).map(([name, values]) => ({
    values,
    name,
    ...button({ name: `preset_${name}`, label: words.presets[name] ?? name, onClick: () => visit(values) }),
  }));
  const reports = Object.fromEntries(
    [
      "num_pairs",
      "wavelength_fastest",
      "wavelength_slowest",
      "never_turn_count",
      "never_turn_first",
      "never_turn_last",
      "pair_inv_freq",
      "pair_wavelength",
      "pair_turns",
      "pair_angle",
    ].map((name) => [name, report(name)]),
  );
  const heading = html("p", { class: "rope-heading", "data-report": "pair" });
  const detail = html(
    "div",
    { class: "rope-detail" },
    big,
    html(
      "div",
      {},
      heading,
      html(
        "div",
        { class: "rope-facts" },
        readout(words.inverseFrequency, reports.pair_inv_freq.node),
        readout(words.wavelength, reports.pair_wavelength.node),
        readout(words.turns, reports.pair_turns.node),
        readout(words.angle, reports.pair_angle.node),
      ),
    ),
  );
  const lesson = html("p");
  const dialBox = html("div", {}, dials);
  const stripBox = html("div", { class: "rope-strip" }, strip);
  const until = html("span", { class: "rope-until" }, "–", reports.never_turn_last.node);
  const frame = html(
    "div",
    { class: "rope-frame" },
    html("div", { class: "rope-row rope-row-first" }, ...presetButtons.map((b) => b.node)),
    html("div", { class: "rope-lesson rope-lesson-short" }, lesson),
    // Above the dials, whose rows come and go: a slider must not run away from the hand on it.
    html("div", { class: "rope-controls" }, controls.base.node, controls.context.node, controls.rotaryDim.node),
    html("div", { class: "rope-play" }, controls.position.node, playButton.node),
    html("div", { class: "rope-clocks" }, html("div", {}, legend, dialBox), detail),
    stripBox,
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.pairs, reports.num_pairs.node),
      readout(words.fastest, reports.wavelength_fastest.node),
      readout(words.slowest, reports.wavelength_slowest.node),
      readout(words.neverCount, reports.never_turn_count.node),
      readout(words.neverRange, reports.never_turn_first.node, until),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  function pick(index, focus = false) {
    chosen = clamp(index, 0, inverse.length - 1);
    if (focus) made[chosen].group.focus();
    schedule();
  }

  function addDial(index) {
    const dial = makeDial(dials, true);
    dial.wave = svg("circle", { cy: 36 }, waves);
    dial.group.dataset.report = "hand";
    dial.group.dataset.pair = index;
    dial.group.addEventListener("click", () => pick(index, true));
    dial.group.addEventListener("focus", () => pick(index));
    dial.group.addEventListener("pointerenter", () => {
      hovered = index;
      schedule();
    });
    dial.group.addEventListener("pointerleave", () => {
      hovered = null;
      schedule();
    });
    made.push(dial);
  }

  dials.addEventListener("keydown", (event) => {
    const { columns } = grid;
    const last = inverse.length - 1;
    const next = {
      ArrowRight: chosen + 1,
      ArrowLeft: chosen - 1,
      ArrowDown: chosen + columns,
      ArrowUp: chosen - columns,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    hovered = null;
    if (next >= 0 && next <= last) pick(next, true);
  });

  // Everything that does not move with the position.
  function drawFaces(shape, room) {
    const { context } = shape;
    const width = room.dials;
    inverse = inverseFrequencies(shape.rotary_dim, shape.base);
    const never = neverTurn(inverse, context);
    const beyond = new Set(never);
    while (made.length < inverse.length) addDial(made.length);
    grid = gridShape(inverse.length, width);
    const { columns, cell, radius } = grid;
    const rows = Math.ceil(inverse.length / columns);
    setAttributes(dials, { viewBox: `0 0 ${width} ${rows * cell}`, height: rows * cell });
    rowLabels.replaceChildren(
      ...Array.from({ length: rows }, (_, row) => {
        const label = svg("text", { x: GUTTER - 8, y: (row + 0.5) * cell + 4, "text-anchor": "end" });
        label.textContent = row * columns;
        return label;
      }),
    );
    made.forEach((dial, i) => {
      dial.group.style.display = dial.wave.style.display = i < inverse.length ? "" : "none";
      if (i >= inverse.length) return;
      const share = (context * inverse[i]) / TAU;
      dial.cx = GUTTER + ((i % columns) + 0.5) * cell;
      dial.cy = (Math.floor(i / columns) + 0.5) * cell;
      drawFace(dial, dial.cx, dial.cy, radius, share, beyond.has(i));
      dial.group.setAttribute(
        "aria-label",
        fill(words.dial, {
          index: i,
          wavelength: formatQuantity(TAU / inverse[i]),
          turns: formatQuantity(share),
        }),
      );
    });
    drawStrip(shape, beyond, room.strip);

    const wavelengths = inverse.map((frequency) => TAU / frequency);
    const [fastest, slowest] = [Math.min(...wavelengths), Math.max(...wavelengths)];
    reports.num_pairs.update(inverse.length, formatQuantity(inverse.length));
    reports.wavelength_fastest.update(fastest, fill(words.tokens, { value: formatQuantity(fastest) }));
    reports.wavelength_slowest.update(slowest, fill(words.tokens, { value: formatQuantity(slowest) }));
    reports.never_turn_count.update(never.length, `${never.length} / ${inverse.length}`);
    const [first, last] = never.length ? [never[0], never[never.length - 1]] : [NaN, NaN];
    reports.never_turn_first.update(first, never.length ? String(first) : words.none);
    reports.never_turn_last.update(last, never.length ? String(last) : "");
    until.hidden = never.length < 2;
    const sentence = [words.lessonNone, words.lessonOne][never.length] ?? words.lesson;
    lesson.innerHTML = fill(sentence, {
      context: formatQuantity(context),
      never: never.length,
      pairs: inverse.length,
      first,
      last,
    });
    summary.say(lesson.textContent);
    if (chosen === null) chosen = never.length ? first : inverse.length - 1;
    chosen = Math.min(chosen, inverse.length - 1);
    if (hovered >= inverse.length) hovered = null;
  }

  function drawStrip({ context }, beyond, width) {
    const wavelengths = inverse.map((frequency) => TAU / frequency);
    const low = Math.min(4, context, ...wavelengths) * 0.8;
    const high = Math.max(context, ...wavelengths) * 1.6;
    const scale = linearScale(Math.log10(low), Math.log10(high), 10, width - 10);
    grid.toStrip = (wavelength) => scale(Math.log10(wavelength));
    setAttributes(strip, { viewBox: `0 0 ${width} 92`, height: 92 });
    const line = grid.toStrip(context);
    setAttributes(shade, { x: line, width: Math.max(0, width - line) });
    stripAxis.setAttribute("d", `M0 56H${width}`);
    contextLine.setAttribute("d", `M${line} 16V60`);
    setText(contextLabel, `${words.contextLine} ${formatQuantity(context)}`);
    const atEnd = line > width / 2;
    setAttributes(contextLabel, {
      x: line + (atEnd ? -2 : 2),
      y: 12,
      "text-anchor": atEnd ? "end" : "start",
    });
    const spacing =
      Math.abs(grid.toStrip(wavelengths[0]) - grid.toStrip(wavelengths[wavelengths.length - 1])) / wavelengths.length;
    inverse.forEach((_, i) =>
      setAttributes(made[i].wave, {
        cx: grid.toStrip(wavelengths[i]),
        r: clamp(spacing * 0.42, 2, 4.2),
        class: beyond.has(i) ? "rope-wave-never" : "rope-wave",
      }),
    );
    const powers = decadeTicks(low, high);
    stripTicks.replaceChildren(
      ...powers.flatMap((power) => {
        const x = scale(power);
        const label = svg("text", { x, y: 73, "text-anchor": "middle" });
        label.textContent = power < 4 && power >= 0 ? formatQuantity(10 ** power) : `10${superscript(power)}`;
        return [svg("path", { class: "rope-axis", d: `M${x} 56v5` }), label];
      }),
    );
    setAttributes(stripTitle, { x: width, y: 89 });
  }

  function drawHands(position) {
    inverse.forEach((frequency, i) => {
      const dial = made[i];
      const angle = position * frequency;
      drawHand(dial, dial.cx, dial.cy, grid.radius, angle);
      dial.group.dataset.value = angle;
      const selected = i === chosen;
      setAttributes(dial.group, { "aria-checked": selected, tabindex: selected ? 0 : -1 });
    });
  }

  function drawDetail(position, { context }) {
    const index = hovered ?? chosen;
    const frequency = inverse[index];
    const turns = (context * frequency) / TAU;
    drawFace(bigDial, 66, 66, 46, turns, TAU / frequency > context);
    drawHand(bigDial, 66, 66, 46, position * frequency);
    heading.dataset.value = index;
    setText(heading, fill(words.pair, { index }));
    const turned = (((position * frequency) % TAU) + TAU) % TAU;
    reports.pair_inv_freq.update(frequency, fill(words.radians, { value: formatQuantity(frequency) }));
    reports.pair_wavelength.update(TAU / frequency, fill(words.tokens, { value: formatQuantity(TAU / frequency) }));
    reports.pair_turns.update(turns, formatQuantity(turns));
    reports.pair_angle.update(turned, `${formatNumber(degrees(turned), 0)}°`);
    chosenWave.setAttribute("cx", grid.toStrip(TAU / frequency));
  }

  function update() {
    const shape = {
      rotary_dim: model.get("rotary_dim"),
      base: model.get("base"),
      context: model.get("context"),
    };
    // Read before anything is written, so that the browser lays the page out once a frame.
    const room = {
      dials: clamp(dialBox.clientWidth || 480, 200, 800),
      strip: clamp(stripBox.clientWidth || 600, 200, 800),
    };
    const wanted = JSON.stringify([shape, room]);
    if (faces !== wanted) {
      faces = wanted;
      drawFaces(shape, room);
    }
    const position = shown();
    drawHands(position);
    drawDetail(position, shape);
    controls.position.update(position, Math.max(shape.context, position));
    controls.rotaryDim.update(shape.rotary_dim);
    controls.base.update(shape.base);
    controls.context.update(shape.context);
    const preset = matchingPreset(presets, shape.rotary_dim, shape.base, shape.context);
    for (const { name, update: press } of presetButtons) press(name === preset);
    setText(playButton.node, animation.running() ? words.pause : prefersReducedMotion() ? words.step : words.play);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, ["rotary_dim", "base", "context", "position"], root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
