import { OWN_KEYS, button, readout, report, slider, toggle } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { clamp, inverseFrequencies, rotate } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, thereAndBack, watch } from "../kit/motion.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, pickWords, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Layout pairs: which dimensions turn together, for q and for k",
    seats:
      "Eight seats of q above, eight of k below; arcs join the two seats of a pair, and lines between the rows join what the score multiplies",
    curve: "The score while both move together, against the right score",
    layoutOf: { q: "q: pairs sit", k: "k: pairs sit" },
    layouts: { interleaved: "interleaved", half: "half" },
    marks: "rad per token; filled: first of its pair",
    bothInterleaved: "both interleaved",
    bothHalf: "both half",
    converted: "both half, converted",
    oneOfEach: "one of each",
    bothMove: "both move",
    reset: "reset",
    convert: "convert the vectors too",
    n: "n, position of k",
    distance: "distance n − m",
    score: "score",
    reference: "right score",
    error: "error",
    m: "m, position of q",
    drift: "score moves by",
    axisX: "n, both moving together",
    axisY: "score",
    right: "right",
    lessons: {
      trained:
        "As trained: neighbors turn together, and every seat of q meets its like in k. Score <b>{score}</b>, wherever the two stand.",
      strangers:
        "The seats of q and k match, so the score does not move when both move. But strangers turn together (0 with 4): <b>{score}</b> instead of {reference}.",
      reseated:
        "Other seats for everybody: the numbers moved along with the pairs, the same couples turn together. Score <b>{score}</b>, exactly right.",
      mixed:
        "Seat 1 of {one} turns with seat 0, seat 1 of {other} with seat 5: in {misfits} of 8 seats, numbers meet that turn at different speeds. <b>{score}</b> instead of {reference}.",
      mixedConverted:
        "Each row is right by itself, but in {misfits} of 8 seats a number of q meets a stranger of k. <b>{score}</b> instead of {reference}.",
      mixedStart:
        "Both at position 0: nobody turns, and the mistake does not show. Score <b>{score}</b>, right by luck. Now let both move.",
      moving: "Both move, the distance stays {distance}: the score <b>{score}</b> {verdict}.",
      moves: "moves",
      stays: "stays",
    },
  },
};

const HEAD_DIM = 8;
const LAYOUTS = ["interleaved", "half"];
const SHIFT = 12;
// Bars of the seats: an entry of this size reaches the edge.
const FULL = 2;

// Who sits where: for each seat its pair and its place in the pair, 0 or 1.
export function roles(layout, headDim = HEAD_DIM) {
  return Array.from({ length: headDim }, (_, seat) =>
    layout === "interleaved"
      ? { pair: seat >> 1, part: seat % 2 }
      : { pair: seat % (headDim / 2), part: seat < headDim / 2 ? 0 : 1 },
  );
}

// The two seats of a pair.
export function seatsOf(layout, pair, headDim = HEAD_DIM) {
  return layout === "interleaved" ? [2 * pair, 2 * pair + 1] : [pair, pair + headDim / 2];
}

// Which entry of the trained (interleaved) vector sits in each seat.
export function entries(layout, convert, headDim = HEAD_DIM) {
  return roles(layout, headDim).map(({ pair, part }, seat) => (convert ? 2 * pair + part : seat));
}

// The vector as it sits after its rotation by `position`.
export function rotated(vector, position, layout, convert, inverse) {
  const seated = entries(layout, convert, vector.length).map((entry) => vector[entry]);
  inverse.forEach((frequency, pair) => {
    const [a, b] = seatsOf(layout, pair, vector.length);
    [seated[a], seated[b]] = rotate([seated[a], seated[b]], position * frequency);
  });
  return seated;
}

export function inner(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

// Seats in which q and k hold the same place of the same pair.
export function fits(qLayout, kLayout, headDim = HEAD_DIM) {
  const [q, k] = [roles(qLayout, headDim), roles(kLayout, headDim)];
  return q.map(({ pair, part }, seat) => pair === k[seat].pair && part === k[seat].part);
}

// Up where there is room, else down.
export function shiftFrom(n, limit) {
  return n + SHIFT <= limit ? SHIFT : n >= SHIFT ? -SHIFT : limit - n;
}

// The mark of a pair: circle, square, diamond, triangle; each as large to the eye as the others.
export function markPath(pair, radius) {
  const r = radius;
  if (pair === 0) return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
  const points = [
    [
      [-0.88, -0.88],
      [0.88, -0.88],
      [0.88, 0.88],
      [-0.88, 0.88],
    ],
    [
      [0, -1.22],
      [1.22, 0],
      [0, 1.22],
      [-1.22, 0],
    ],
    [
      [0, -1.25],
      [1.25, 0.95],
      [-1.25, 0.95],
    ],
  ][pair - 1];
  return `${polylinePath(points.map(([x, y]) => [x * r, y * r]))}Z`;
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const limit = model.get("max_position");
  const inverse = inverseFrequencies(HEAD_DIM, model.get("base"));
  const start = {
    q_layout: model.get("q_layout"),
    k_layout: model.get("k_layout"),
    convert: model.get("convert"),
    n: model.get("n"),
    distance: model.get("distance"),
  };
  // While an animation runs, n as drawn is not yet that of the model.
  let moving = null;

  const seats = svg("svg", { role: "img", "aria-label": words.seats });
  const rows = ["q", "k"].map((name) => {
    const group = svg("g", { class: `rope-${name}` }, seats);
    const letter = svg("text", { class: "rope-vector-label", "text-anchor": "middle" }, group);
    letter.textContent = name;
    const arcs = inverse.map(() => svg("path", { class: "rope-layout-arc" }, group));
    const made = Array.from({ length: HEAD_DIM }, () => ({
      box: svg("rect", { class: "rope-layout-seat", rx: 5 }, group),
      zero: svg("path", { class: "rope-layout-zero" }, group),
      bar: svg("rect", { class: "rope-layout-bar" }, group),
      mark: svg("path", { class: "rope-layout-mark" }, group),
      pair: svg("text", { class: "rope-layout-pair", "text-anchor": "middle" }, group),
      entry: svg("text", { class: "rope-layout-entry", "text-anchor": "middle" }, group),
    }));
    return { name, letter, arcs, made };
  });
  const links = Array.from({ length: HEAD_DIM }, () => ({
    line: svg("path", { class: "rope-layout-link" }, seats),
    cross: svg("path", { class: "rope-layout-cross" }, seats),
  }));

  const curve = svg("svg", { role: "img", "aria-label": words.curve });
  const grid = svg("path", { class: "rope-grid" }, curve);
  const axis = svg("path", { class: "rope-axis" }, curve);
  const rightLine = svg("path", { class: "rope-layout-right" }, curve);
  const rightLabel = svg("text", { class: "rope-layout-right-label", "text-anchor": "end" }, curve);
  rightLabel.textContent = words.right;
  const gap = svg("path", { class: "rope-layout-gap" }, curve);
  const line = svg("path", { class: "rope-curve" }, curve);
  const dots = Array.from({ length: limit + 1 }, () => svg("circle", { class: "rope-curve-dot", r: 2.6 }, curve));
  const nowRing = svg("circle", { class: "rope-now-ring", r: 10 }, curve);
  const now = svg("circle", { class: "rope-now", r: 7 }, curve);
  const nowLabel = svg("text", { class: "rope-now-label" }, curve);
  const ticks = [0, 6, 12, 18, 24]
    .filter((n) => n <= limit)
    .map((n) => {
      const text = svg("text", { "text-anchor": "middle" }, curve);
      text.textContent = n;
      return { n, text };
    });
  const levels = [1, 0, -1].map((part) => ({ part, text: svg("text", { "text-anchor": "end" }, curve) }));
  const titleX = svg("text", { class: "rope-axis-title", "text-anchor": "middle" }, curve);
  titleX.textContent = words.axisX;
  const titleY = svg("text", { class: "rope-axis-title rope-tone-score", "text-anchor": "start" }, curve);
  titleY.textContent = words.axisY;

  const legend = html("ul", { class: "rope-legend rope-layout-legend" });
  inverse.forEach((frequency, pair) => {
    const picture = svg("svg", { viewBox: "-11 -11 22 22", "aria-hidden": "true" });
    svg("path", { class: "rope-layout-mark", d: markPath(pair, 8) }, picture);
    const number = svg("text", { class: "rope-layout-pair", "text-anchor": "middle", y: pair === 3 ? 6 : 4 }, picture);
    number.textContent = pair;
    legend.append(html("li", {}, picture, formatNumber(frequency, 2)));
  });
  legend.append(html("li", { class: "rope-layout-legend-note" }, words.marks));

  const settle = () => {
    const at = moving;
    moving = null;
    if (at !== null) commit(model, { n: Math.round(at) });
    schedule();
  };
  const animation = animator(settle);
  const setBy = (changes) => {
    animation.stop();
    commit(model, changes);
  };
  const chooser = (name) => {
    const trait = `${name}_layout`;
    const nodes = LAYOUTS.map((layout) => {
      const node = html(
        "button",
        { type: "button", class: "rope-button", role: "radio", ...OWN_KEYS },
        words.layouts[layout],
      );
      node.addEventListener("click", () => setBy({ [trait]: layout }));
      return node;
    });
    const group = html(
      "div",
      { class: "rope-layout-choice", role: "radiogroup", "aria-label": words.layoutOf[name], "data-control": trait },
      html("span", { class: `rope-layout-choice-name rope-tone-${name}`, "aria-hidden": "true" }, words.layoutOf[name]),
      ...nodes,
    );
    group.addEventListener("keydown", (event) => {
      if (!["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"].includes(event.key)) return;
      event.preventDefault();
      const next = 1 - LAYOUTS.indexOf(model.get(trait));
      setBy({ [trait]: LAYOUTS[next] });
      nodes[next].focus();
    });
    return {
      node: group,
      update: (layout) =>
        nodes.forEach((node, i) =>
          setAttributes(node, { "aria-checked": LAYOUTS[i] === layout, tabindex: LAYOUTS[i] === layout ? 0 : -1 }),
        ),
    };
  };
  const choosers = { q: chooser("q"), k: chooser("k") };

  const runBoth = () => {
    if (animation.running()) return animation.stop();
    const from = model.get("n");
    const shift = shiftFrom(from, limit);
    if (prefersReducedMotion()) return commit(model, { n: from + shift });
    animation.start((seconds) => {
      moving = from + shift * thereAndBack(seconds, 3, 0.6);
      schedule();
      return seconds < 6.6;
    });
  };
  const stop = (name, label, q_layout, k_layout, convert) => ({
    settings: String([q_layout, k_layout, convert]),
    ...button({ name, label, onClick: () => setBy({ q_layout, k_layout, convert }) }),
  });
  const stops = [
    stop("both_interleaved", words.bothInterleaved, "interleaved", "interleaved", false),
    stop("both_half", words.bothHalf, "half", "half", false),
    stop("both_half_converted", words.converted, "half", "half", true),
    stop("one_of_each", words.oneOfEach, "interleaved", "half", false),
  ];
  const bothMove = button({ name: "both_move", label: words.bothMove, onClick: runBoth });
  const reset = button({ name: "reset", label: words.reset, pressable: false, onClick: () => setBy(start) });
  const convert = toggle({ name: "convert", label: words.convert, onChange: (checked) => setBy({ convert: checked }) });

  const controls = {
    n: slider({
      name: "n",
      label: words.n,
      tone: "position",
      min: 0,
      max: limit,
      format: tokens,
      onInput: (n) => setBy({ n }),
    }),
    distance: slider({
      name: "distance",
      label: words.distance,
      tone: "position",
      min: -model.get("max_distance"),
      max: 0,
      format: tokens,
      onInput: (distance) => setBy({ distance }),
    }),
  };
  const reports = {
    score: report("score", "rope-tone-score"),
    reference: report("reference"),
    error: report("error"),
    m: report("m", "rope-tone-position"),
    drift: report("drift", "rope-tone-score"),
  };

  const lesson = html("p");
  const seatsBox = html("div", { class: "rope-picture" }, seats, legend);
  const curveBox = html("div", { class: "rope-picture" }, curve);
  const frame = html(
    "div",
    { class: "rope-frame rope-layout" },
    html("div", { class: "rope-layout-choices" }, choosers.q.node, choosers.k.node),
    html(
      "div",
      { class: "rope-pictures" },
      seatsBox,
      html(
        "div",
        { class: "rope-row rope-layout-stops" },
        ...[...stops, bothMove, reset, convert].map(({ node }) => node),
      ),
      curveBox,
    ),
    html("div", { class: "rope-lesson" }, lesson),
    html("div", { class: "rope-controls rope-controls-two" }, controls.n.node, controls.distance.node),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.score, reports.score.node),
      readout(words.reference, reports.reference.node),
      readout(words.error, reports.error.node),
      readout(words.drift, reports.drift.node),
      readout(words.m, reports.m.node),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  // Read before anything is written, so that the browser lays the page out once a frame.
  function measure() {
    const narrow = root.clientWidth < 600;
    const width = clamp(curveBox.clientWidth || 360, 200, 400);
    return {
      seats: clamp(seatsBox.clientWidth || 360, 200, 400),
      width,
      height: narrow ? 210 : 320,
    };
  }

  function drawSeats(state, width) {
    const left = 22;
    const pitch = (width - left) / HEAD_DIM;
    const [arcRoom, box, band] = [56, 62, 54];
    const height = 2 * arcRoom + 2 * box + band;
    setAttributes(seats, { viewBox: `0 0 ${width} ${height}`, height });
    const center = (seat) => left + (seat + 0.5) * pitch;
    rows.forEach(({ name, letter, arcs, made }, row) => {
      const layout = state[`${name}Layout`];
      const top = row === 0 ? arcRoom : arcRoom + box + band;
      setAttributes(letter, { x: 9, y: top + box / 2 + 6 });
      const edge = row === 0 ? top : top + box;
      const up = row === 0 ? -1 : 1;
      arcs.forEach((path, pair) => {
        const [a, b] = seatsOf(layout, pair);
        const reach = layout === "half" ? 46 : 26;
        const [x1, x2] = [center(a), center(b)];
        const y = edge + up * 2;
        const lift = y + (up * reach * 4) / 3;
        setAttributes(path, {
          d: `M${x1.toFixed(1)} ${y}C${x1.toFixed(1)} ${lift} ${x2.toFixed(1)} ${lift} ${x2.toFixed(1)} ${y}`,
          class: state.partners[row] ? "rope-layout-arc" : "rope-layout-arc rope-layout-strangers",
        });
      });
      const vector = state[`${name}Rotated`];
      const who = entries(layout, state.convert);
      roles(layout).forEach(({ pair, part }, seat) => {
        const { box: rect, zero, bar, mark, pair: number, entry } = made[seat];
        const x = center(seat);
        const half = pitch / 2 - 2;
        setAttributes(rect, { x: (x - half).toFixed(1), y: top, width: (2 * half).toFixed(1), height: box });
        // Marks stand on the outer side, next to their arc; bars on the inner one.
        const markY = row === 0 ? top + 14 : top + box - 14;
        const zeroY = row === 0 ? top + 43 : top + 19;
        zero.setAttribute("d", `M${(x - half + 3).toFixed(1)} ${zeroY}h${(2 * half - 6).toFixed(1)}`);
        const size = (clamp(Math.abs(vector[seat]), 0, FULL) / FULL) * 16;
        setAttributes(bar, {
          x: (x - half + 6).toFixed(1),
          width: (2 * half - 12).toFixed(1),
          y: (vector[seat] > 0 ? zeroY - size : zeroY).toFixed(2),
          height: size.toFixed(2),
        });
        setAttributes(mark, {
          d: markPath(pair, 9),
          transform: `translate(${x.toFixed(1)} ${markY})`,
          class: part ? "rope-layout-mark rope-layout-second" : "rope-layout-mark",
        });
        setText(number, String(pair));
        setAttributes(number, {
          x: x.toFixed(1),
          y: markY + (pair === 3 ? 6.5 : 4.3),
          class: part ? "rope-layout-pair rope-layout-second" : "rope-layout-pair",
        });
        setText(entry, `${name}${"₀₁₂₃₄₅₆₇"[who[seat]]}`);
        setAttributes(entry, { x: x.toFixed(1), y: row === 0 ? top + box + 14 : top - 5 });
      });
    });
    state.fits.forEach((fit, seat) => {
      const x = center(seat).toFixed(1);
      const [from, to] = [arcRoom + box + 19, arcRoom + box + band - 19];
      const middle = (from + to) / 2;
      setAttributes(links[seat].line, {
        d: `M${x} ${from}V${to}`,
        class: fit ? "rope-layout-link" : "rope-layout-link rope-layout-misfit",
      });
      links[seat].cross.setAttribute("d", fit ? "" : `M${x - 4} ${middle - 4}l8 8m0 -8l-8 8`);
    });
  }

  function drawCurve(state, { width, height }) {
    const bottom = height - 40;
    const level = Math.max(1, Math.ceil(state.amplitude));
    const toX = linearScale(0, limit, 34, width - 14);
    const toY = linearScale(-level, level, bottom, 34);
    setAttributes(curve, { viewBox: `0 0 ${width} ${height}`, height });
    grid.setAttribute(
      "d",
      ticks.map(({ n }) => `M${toX(n)} 34V${bottom}`).join("") +
        [1, -1].map((part) => `M34 ${toY(part * level)}H${width - 14}`).join(""),
    );
    axis.setAttribute("d", `M34 ${toY(0)}H${width - 14}M34 34V${bottom}`);
    rightLine.setAttribute("d", `M34 ${toY(state.reference)}H${width - 14}`);
    setAttributes(rightLabel, { x: width - 16, y: toY(state.reference) + (state.reference > 0 ? -8 : 18) });
    const samples = Array.from({ length: limit * 4 + 1 }, (_, i) => i / 4);
    line.setAttribute("d", polylinePath(samples.map((n) => [toX(n), toY(state.scoreAt(n))])));
    dots.forEach((node, n) => setAttributes(node, { cx: toX(n).toFixed(2), cy: toY(state.scores[n]).toFixed(2) }));
    const x = toX(state.n);
    const y = toY(state.score);
    gap.setAttribute("d", Math.abs(state.error) > 1e-9 ? `M${x} ${y}V${toY(state.reference)}` : "");
    for (const node of [now, nowRing]) setAttributes(node, { cx: x, cy: y });
    setText(nowLabel, formatNumber(state.score));
    const left = x > width - 80;
    // Clear of the line of the right score, where the two lie close together.
    const below = state.score < state.reference && Math.abs(y - toY(state.reference)) < 40;
    setAttributes(nowLabel, {
      x: x + (left ? -15 : 15),
      y: clamp(y + (below || y < 60 ? 22 : -10), 30, bottom),
      "text-anchor": left ? "end" : "start",
    });
    for (const { n, text } of ticks) setAttributes(text, { x: toX(n), y: bottom + 16 });
    for (const { part, text } of levels) {
      setText(text, formatNumber(part * level, 0));
      setAttributes(text, { x: 28, y: toY(part * level) + 4 });
    }
    setAttributes(titleX, { x: (34 + width - 14) / 2, y: height - 6 });
    setAttributes(titleY, { x: 8, y: 18 });
  }

  function lessonFor(state) {
    if (moving !== null) return words.lessons.moving;
    if (state.qLayout !== state.kLayout) {
      if (state.convert) return words.lessons.mixedConverted;
      return state.n === 0 && state.distance === 0 ? words.lessons.mixedStart : words.lessons.mixed;
    }
    if (state.qLayout === "interleaved") return words.lessons.trained;
    return state.convert ? words.lessons.reseated : words.lessons.strangers;
  }

  function update() {
    const room = measure();
    const [q, k] = [model.get("q"), model.get("k")];
    const [distance, converted] = [model.get("distance"), model.get("convert")];
    const [qLayout, kLayout] = [model.get("q_layout"), model.get("k_layout")];
    const n = moving ?? model.get("n");
    const scoreAt = (position) =>
      inner(
        rotated(q, position - distance, qLayout, converted, inverse),
        rotated(k, position, kLayout, converted, inverse),
      );
    const qRotated = rotated(q, n - distance, qLayout, converted, inverse);
    const kRotated = rotated(k, n, kLayout, converted, inverse);
    const score = inner(qRotated, kRotated);
    const reference = inner(
      rotated(q, n - distance, "interleaved", false, inverse),
      rotated(k, n, "interleaved", false, inverse),
    );
    const scores = Array.from({ length: limit + 1 }, (_, position) => scoreAt(position));
    const state = {
      qLayout,
      kLayout,
      convert: converted,
      n,
      distance,
      qRotated,
      kRotated,
      score,
      reference,
      error: score - reference,
      scores,
      scoreAt,
      drift: Math.max(...scores) - Math.min(...scores),
      amplitude: Math.hypot(...q) * Math.hypot(...k),
      fits: fits(qLayout, kLayout),
      partners: [qLayout, kLayout].map((layout) => converted || layout === "interleaved"),
    };
    drawSeats(state, room.seats);
    drawCurve(state, room);
    choosers.q.update(qLayout);
    choosers.k.update(kLayout);
    controls.n.update(n);
    controls.distance.update(distance);
    convert.update(converted);
    for (const { settings, update: press } of stops) press(settings === String([qLayout, kLayout, converted]));
    bothMove.update(animation.running());
    reports.score.update(score, formatNumber(score));
    reports.reference.update(reference, formatNumber(reference));
    reports.error.update(state.error, formatNumber(state.error));
    reports.m.update(n - distance, tokens(n - distance));
    reports.drift.update(state.drift, formatNumber(state.drift));
    const sentence = fill(lessonFor(state), {
      score: formatNumber(score),
      reference: formatNumber(reference),
      distance: tokens(distance),
      misfits: state.fits.filter((fit) => !fit).length,
      one: qLayout === "interleaved" ? "q" : "k",
      other: qLayout === "interleaved" ? "k" : "q",
      verdict: state.drift > 1e-9 ? words.lessons.moves : words.lessons.stays,
    });
    if (lesson.dataset.said !== sentence) {
      lesson.dataset.said = sentence;
      lesson.innerHTML = sentence;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, [...Object.keys(start), "q", "k"], root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
