import { html, setAttributes, setText, svg, svgText, whenChanged, widthOf } from "../kit/dom.js";
import { clamp, inverseFrequencies, rotate } from "../kit/math.js";
import { thereAndBack } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { dotsPath, polylinePath } from "../kit/paths.js";
import { nowMarker, scoreAxes } from "../kit/plot.js";
import { fill, formatNumber, tokens } from "../kit/text.js";

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
// Heights of the picture of the seats: room for arcs, a row of seats, and the band between the rows.
const ROOM = { arc: 56, seat: 62, band: 54, left: 22 };
const ROWS = { q: { top: ROOM.arc, outward: -1 }, k: { top: ROOM.arc + ROOM.seat + ROOM.band, outward: 1 } };
const CORNERS = {
  1: [-0.88, -0.88, 0.88, -0.88, 0.88, 0.88, -0.88, 0.88],
  2: [0, -1.22, 1.22, 0, 0, 1.22, -1.22, 0],
  3: [0, -1.25, 1.25, 0.95, -1.25, 0.95],
};

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
export function markPath(pair, r) {
  if (pair === 0) return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
  const corners = CORNERS[pair];
  return `${polylinePath(corners.flatMap((x, i) => (i % 2 ? [] : [[x * r, corners[i + 1] * r]])))}Z`;
}

// One row of seats: arcs and marks to the outside, bars and the names of entries to the inside.
function seatRow(parent, name) {
  const { top, outward } = ROWS[name];
  const group = svg("g", { class: `rope-${name}` }, parent);
  setAttributes(svgText(group, "rope-vector-label", "middle", name), { x: 9, y: top + ROOM.seat / 2 + 6 });
  const arcs = Array.from({ length: HEAD_DIM / 2 }, () => svg("path", {}, group));
  const seats = Array.from({ length: HEAD_DIM }, () => ({
    box: svg("rect", { class: "rope-layout-seat", rx: 5, y: top, height: ROOM.seat }, group),
    zero: svg("path", { class: "rope-layout-zero" }, group),
    bar: svg("rect", { class: "rope-layout-bar" }, group),
    mark: svg("path", {}, group),
    pair: svgText(group, "", "middle"),
    entry: svgText(group, "rope-layout-entry", "middle"),
  }));
  const zeroY = top + (outward < 0 ? 43 : 19);
  const markY = top + (outward < 0 ? 14 : ROOM.seat - 14);

  function drawArcs(layout, partners, center) {
    const y = (outward < 0 ? top : top + ROOM.seat) + outward * 2;
    const lift = y + (outward * (layout === "half" ? 46 : 26) * 4) / 3;
    arcs.forEach((path, pair) => {
      const [x1, x2] = seatsOf(layout, pair).map((seat) => center(seat).toFixed(1));
      setAttributes(path, {
        d: `M${x1} ${y}C${x1} ${lift} ${x2} ${lift} ${x2} ${y}`,
        class: partners ? "rope-layout-arc" : "rope-layout-arc rope-layout-strangers",
      });
    });
  }

  // What does not move with the position.
  const drawSeats = whenChanged((layout, convert, pitch) => {
    const center = (seat) => ROOM.left + (seat + 0.5) * pitch;
    const half = pitch / 2 - 2;
    const who = entries(layout, convert);
    drawArcs(layout, convert || layout === "interleaved", center);
    roles(layout).forEach(({ pair, part }, seat) => {
      const { box, zero, bar, mark, pair: number, entry } = seats[seat];
      const x = center(seat).toFixed(1);
      const second = part ? " rope-layout-second" : "";
      const left = (inset) => (center(seat) - half + inset).toFixed(1);
      const wide = (inset) => (2 * (half - inset)).toFixed(1);
      setAttributes(box, { x: left(0), width: wide(0) });
      setAttributes(zero, { d: `M${left(3)} ${zeroY}h${wide(3)}` });
      setAttributes(bar, { x: left(6), width: wide(6) });
      const transform = `translate(${x} ${markY})`;
      setAttributes(mark, { d: markPath(pair, 9), transform, class: `rope-layout-mark${second}` });
      setText(number, String(pair));
      setAttributes(number, { x, y: markY + (pair === 3 ? 6.5 : 4.3), class: `rope-layout-pair${second}` });
      setText(entry, `${name}${"₀₁₂₃₄₅₆₇"[who[seat]]}`);
      setAttributes(entry, { x, y: outward < 0 ? top + ROOM.seat + 14 : top - 5 });
    });
  });

  return (layout, convert, rotatedVector, pitch) => {
    drawSeats(layout, convert, pitch);
    rotatedVector.forEach((value, seat) => {
      const size = (clamp(Math.abs(value), 0, FULL) / FULL) * 16;
      setAttributes(seats[seat].bar, { y: (value > 0 ? zeroY - size : zeroY).toFixed(2), height: size.toFixed(2) });
    });
  };
}

function seatsPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.seats });
  const drawRows = { q: seatRow(picture, "q"), k: seatRow(picture, "k") };
  const links = Array.from({ length: HEAD_DIM }, () => ({
    line: svg("path", {}, picture),
    cross: svg("path", { class: "rope-layout-cross" }, picture),
  }));

  function draw(state, width) {
    const pitch = (width - ROOM.left) / HEAD_DIM;
    const height = 2 * ROOM.arc + 2 * ROOM.seat + ROOM.band;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    drawRows.q(state.q_layout, state.convert, state.qRotated, pitch);
    drawRows.k(state.k_layout, state.convert, state.kRotated, pitch);
    const [from, to] = [ROOM.arc + ROOM.seat + 19, ROOM.arc + ROOM.seat + ROOM.band - 19];
    state.fits.forEach((fit, seat) => {
      const x = (ROOM.left + (seat + 0.5) * pitch).toFixed(1);
      const type = fit ? "rope-layout-link" : "rope-layout-link rope-layout-misfit";
      setAttributes(links[seat].line, { d: `M${x} ${from}V${to}`, class: type });
      setAttributes(links[seat].cross, { d: fit ? "" : `M${x - 4} ${(from + to) / 2 - 4}l8 8m0 -8l-8 8` });
    });
  }
  return { node: picture, draw };
}

function curvePicture(words, limit) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const axes = scoreAxes(picture, {
    ...{ from: 0, to: limit, right: 14, titleX: words.axisX, titleY: words.axisY },
    ticks: [0, 6, 12, 18, 24].filter((n) => n <= limit),
  });
  const path = (name) => svg("path", { class: name }, picture);
  const rightLine = path("rope-layout-right");
  const rightLabel = svgText(picture, "rope-layout-right-label", "end", words.right);
  const [gap, line, dots] = ["rope-layout-gap", "rope-curve", "rope-curve-dot"].map(path);
  const mark = nowMarker(picture);
  const samples = Array.from({ length: limit * 4 + 1 }, (_, i) => i / 4);

  function draw(state, { width, height }) {
    const { n, score, reference } = state;
    const { toX, toY, bottom } = axes.resize({ width, height, level: Math.max(1, Math.ceil(state.amplitude)) });
    const right = toY(reference);
    setAttributes(rightLine, { d: `M${toX(0)} ${right}H${width - 14}` });
    setAttributes(rightLabel, { x: width - 16, y: right + (reference > 0 ? -8 : 18) });
    setAttributes(line, { d: polylinePath(samples.map((at) => [toX(at), toY(state.scoreAt(at))])) });
    setAttributes(dots, {
      d: dotsPath(
        state.scores.map((value, at) => [toX(at), toY(value)]),
        2.6,
      ),
    });
    const [x, y] = [toX(n), toY(score)];
    setAttributes(gap, { d: Math.abs(state.error) > 1e-9 ? `M${x} ${y}V${right}` : "" });
    // Clear of the line of the right score, where the two lie close together.
    const under = y < 60 || (score < reference && Math.abs(y - right) < 40);
    mark({ x, y, text: formatNumber(score), width, reach: 80, high: bottom, below: under ? 22 : -10 });
  }
  return { node: picture, draw };
}

function legend(words, inverse) {
  const items = inverse.map((frequency, pair) => {
    const picture = svg("svg", { viewBox: "-11 -11 22 22", "aria-hidden": "true" });
    svg("path", { class: "rope-layout-mark", d: markPath(pair, 8) }, picture);
    setAttributes(svgText(picture, "rope-layout-pair", "middle", String(pair)), { y: pair === 3 ? 6 : 4 });
    return html("li", {}, picture, formatNumber(frequency, 2));
  });
  const note = html("li", { class: "rope-layout-legend-note" }, words.marks);
  return html("ul", { class: "rope-legend rope-layout-legend" }, ...items, note);
}

function survey({ q, k, q_layout, k_layout, convert, n, distance }, inverse, limit) {
  const turned = (at, layouts, moved) => [
    rotated(q, at - distance, layouts[0], moved, inverse),
    rotated(k, at, layouts[1], moved, inverse),
  ];
  const scoreAt = (at) => inner(...turned(at, [q_layout, k_layout], convert));
  const [qRotated, kRotated] = turned(n, [q_layout, k_layout], convert);
  const score = inner(qRotated, kRotated);
  const reference = inner(...turned(n, ["interleaved", "interleaved"], false));
  const scores = Array.from({ length: limit + 1 }, (_, at) => scoreAt(at));
  return {
    ...{ qRotated, kRotated, score, reference, scores, scoreAt },
    error: score - reference,
    drift: Math.max(...scores) - Math.min(...scores),
    m: n - distance,
    amplitude: Math.hypot(...q) * Math.hypot(...k),
    fits: fits(q_layout, k_layout),
  };
}

function lessonKind({ q_layout, k_layout, convert, n, distance }) {
  if (q_layout === k_layout) {
    if (q_layout === "interleaved") return "trained";
    return convert ? "reseated" : "strangers";
  }
  if (convert) return "mixedConverted";
  return n === 0 && distance === 0 ? "mixedStart" : "mixed";
}

const seating = (q_layout, k_layout, convert) => ({ q_layout, k_layout, convert });

function build({ words, model, playing, lesson, chooser, buttons, toggles, sliders, readouts }) {
  const limit = model.get("max_position");
  const inverse = inverseFrequencies(HEAD_DIM, model.get("base"));
  const seats = seatsPicture(words);
  const curve = curvePicture(words, limit);
  const seatsBox = html("div", { class: "rope-picture" }, seats.node, legend(words, inverse));
  const curveBox = html("div", { class: "rope-picture" }, curve.node);
  const choosers = ["q", "k"].map((name) => {
    const [label, type] = [words.layoutOf[name], `rope-layout-choice-name rope-tone-${name}`];
    return chooser(`${name}_layout`, {
      ...{ className: "rope-layout-choice", label },
      lead: [html("span", { class: type, "aria-hidden": "true" }, label)],
      options: LAYOUTS.map((layout) => [layout, words.layouts[layout]]),
    });
  });
  const bothMove = ({ n }) => {
    const shift = shiftFrom(n, limit);
    const at = (seconds) => ({ n: n + shift * thereAndBack(seconds, 3, 0.6) });
    return { still: { n: n + shift }, seconds: 6.6, at };
  };
  const stops = buttons({
    both_interleaved: { label: words.bothInterleaved, visit: seating("interleaved", "interleaved", false) },
    both_half: { label: words.bothHalf, visit: seating("half", "half", false) },
    both_half_converted: { label: words.converted, visit: seating("half", "half", true) },
    one_of_each: { label: words.oneOfEach, visit: seating("interleaved", "half", false) },
    both_move: { label: words.bothMove, play: bothMove },
    reset: { label: words.reset, reset: true },
  });
  const ruler = { tone: "position", format: tokens };
  const controls = sliders({
    n: { label: words.n, min: 0, max: limit, ...ruler },
    distance: { label: words.distance, min: -model.get("max_distance"), max: 0, ...ruler },
  });
  const numbers = readouts({
    score: { label: words.score, tone: "score" },
    reference: { label: words.reference },
    error: { label: words.error },
    drift: { label: words.drift, tone: "score" },
    m: { label: words.m, tone: "position", format: tokens },
  });
  const row = html(
    "div",
    { class: "rope-row rope-layout-stops" },
    ...stops,
    ...toggles({ convert: { label: words.convert } }),
  );
  return {
    node: html(
      "div",
      { class: "rope-frame rope-layout" },
      html("div", { class: "rope-layout-choices" }, ...choosers),
      html("div", { class: "rope-pictures" }, seatsBox, row, curveBox),
      lesson,
      html("div", { class: "rope-controls rope-controls-two" }, ...controls),
      html("div", { class: "rope-readouts" }, ...numbers),
    ),
    measure: (narrow) => ({
      seats: widthOf(seatsBox, 200, 400),
      curve: { width: widthOf(curveBox, 200, 400), height: narrow ? 210 : 320 },
    }),
    derive: (state) => survey(state, inverse, limit),
    draw(state, room) {
      seats.draw(state, room.seats);
      curve.draw(state, room.curve);
    },
    lesson: (state) =>
      fill(words.lessons[playing() ? "moving" : lessonKind(state)], {
        score: formatNumber(state.score),
        reference: formatNumber(state.reference),
        distance: tokens(state.distance),
        misfits: state.fits.filter((fit) => !fit).length,
        one: state.q_layout === "interleaved" ? "q" : "k",
        other: state.q_layout === "interleaved" ? "k" : "q",
        verdict: state.drift > 1e-9 ? words.lessons.moves : words.lessons.stays,
      }),
  };
}

const traits = ["q_layout", "k_layout", "convert", "n", "distance", "q", "k"];
const render = mount({ words: WORDS, traits, build });

export default { render };
