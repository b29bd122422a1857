import { div, html, setAttributes, svg, svgText, widthOf } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
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
    stops: {
      interleaved: "both interleaved",
      half: "both half",
      converted: "both half, converted",
      mixed: "one of each",
    },
    moves: { both: "both move", reset: "reset" },
    convert: "convert the vectors too",
    places: { n: "n, position of k", m: "m, position of q", distance: "distance n − m" },
    numbers: { score: "score", reference: "right score", error: "error", drift: "score moves by" },
    axes: { titleX: "n, both moving together", titleY: "score" },
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
const SHIFT = 12;
// Bars of the seats: an entry of this size reaches the edge.
const FULL = 2;
// Heights of the picture of the seats: room for arcs, a row of seats, and the band between the rows.
const ROOM = { arc: 56, seat: 62, band: 54, left: 22 };
const CORNERS = {
  1: [-0.88, -0.88, 0.88, -0.88, 0.88, 0.88, -0.88, 0.88],
  2: [0, -1.22, 1.22, 0, 0, 1.22, -1.22, 0],
  3: [0, -1.25, 1.25, 0.95, -1.25, 0.95],
};
// Where things of a row stand: its seats, the ends of its arcs and how these swing, the names of the
// entries, and the marks and the zero lines of the bars.
const ROWS = {
  q: { top: ROOM.arc, arcs: -2, outward: -1, entry: ROOM.seat + 14, mark: 14, zero: 43 },
  k: {
    top: ROOM.arc + ROOM.seat + ROOM.band,
    arcs: ROOM.seat + 2,
    outward: 1,
    entry: -5,
    mark: ROOM.seat - 14,
    zero: 19,
  },
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
function seatRow(name, layout, convert, turned, pitch) {
  const { top, outward, ...from } = ROWS[name];
  const [arcY, zeroY, markY] = [from.arcs, from.zero, from.mark].map((below) => top + below);
  const center = (seat) => ROOM.left + (seat + 0.5) * pitch;
  const who = entries(layout, convert);
  const strangers = convert || layout === "interleaved" ? "" : " rope-layout-strangers";
  const lift = arcY + (outward * (layout === "half" ? 46 : 26) * 4) / 3;
  const arcs = Array.from({ length: HEAD_DIM / 2 }, (_, pair) => {
    const [x1, x2] = seatsOf(layout, pair).map(center);
    return path(`rope-layout-arc${strangers}`, `M${x1} ${arcY}C${x1} ${lift} ${x2} ${lift} ${x2} ${arcY}`);
  });
  const seats = roles(layout).flatMap(({ pair, part }, seat) => {
    const x = center(seat);
    // A part of the seat that leaves some room at both sides.
    const across = (inset) => [x - pitch / 2 + inset, pitch - 2 * inset];
    const [[seatX, seatWidth], [zeroX, zeroWidth], [barX, barWidth]] = [2, 5, 8].map(across);
    const second = part ? " rope-layout-second" : "";
    const size = (clamp(Math.abs(turned[seat]), 0, FULL) / FULL) * 16;
    return [
      box("rope-layout-seat", [seatX, top, seatWidth, ROOM.seat], { rx: 5 }),
      path("rope-layout-zero", `M${zeroX} ${zeroY}h${zeroWidth}`),
      box("rope-layout-bar", [barX, turned[seat] > 0 ? zeroY - size : zeroY, barWidth, size]),
      path(`rope-layout-mark${second}`, markPath(pair, 9), { transform: `translate(${x} ${markY})` }),
      label(`rope-layout-pair${second}`, x, markY + (pair === 3 ? 6.5 : 4.3), String(pair), "middle"),
      label("rope-layout-entry", x, top + from.entry, `${name}${"₀₁₂₃₄₅₆₇"[who[seat]]}`, "middle"),
    ];
  });
  const letter = label("rope-vector-label", 9, top + ROOM.seat / 2 + 6, name, "middle");
  return ["g", { class: `rope-${name}` }, [letter, ...arcs, ...seats]];
}

function seatsPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.seats });
  const paint = layer(picture);

  function draw({ convert, ...state }, width) {
    const pitch = (width - ROOM.left) / HEAD_DIM;
    const height = 2 * ROOM.arc + 2 * ROOM.seat + ROOM.band;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    const [from, to] = [ROOM.arc + ROOM.seat + 19, ROOM.arc + ROOM.seat + ROOM.band - 19];
    const links = state.fits.flatMap((fit, seat) => {
      const x = ROOM.left + (seat + 0.5) * pitch;
      return [
        path(fit ? "rope-layout-link" : "rope-layout-link rope-layout-misfit", `M${x} ${from}V${to}`),
        path("rope-layout-cross", fit ? "" : `M${x - 4} ${(from + to) / 2 - 4}l8 8m0 -8l-8 8`),
      ];
    });
    paint([
      seatRow("q", state.q_layout, convert, state.qRotated, pitch),
      seatRow("k", state.k_layout, convert, state.kRotated, pitch),
      ...links,
    ]);
  }
  return { node: picture, draw };
}

function curvePicture(words, limit) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const ticks = [0, 6, 12, 18, 24].filter((n) => n <= limit);
  const axes = scoreAxes(picture, { from: 0, to: limit, right: 14, ticks, ...words.axes });
  const paint = layer(picture);
  const mark = nowMarker(picture);
  const samples = Array.from({ length: limit * 4 + 1 }, (_, i) => i / 4);

  function draw({ n, score, reference, error, scores, scoreAt, amplitude }, { width, height }) {
    const { toX, toY, bottom } = axes.resize({ width, height, level: Math.max(1, Math.ceil(amplitude)) });
    const [x, y, right] = [toX(n), toY(score), toY(reference)];
    const ends = x > width / 2 ? [toX(0) + 2, "start"] : [width - 16, "end"]; // away from the marker
    const place = (value, at) => [toX(at), toY(value)];
    paint([
      path("rope-layout-right", `M${toX(0)} ${right}H${width - 14}`),
      label("rope-layout-right-label", ends[0], right + (reference > 0 ? -8 : 18), words.right, ends[1]),
      path("rope-layout-gap", Math.abs(error) > 1e-9 ? `M${x} ${y}V${right}` : ""),
      path("rope-curve", polylinePath(samples.map((at) => place(scoreAt(at), at)))),
      path("rope-curve-dot", dotsPath(scores.map(place), 2.6)),
    ]);
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

function build({ words, model, playing, lesson, chooser, buttons, toggles, sliders, readouts }) {
  const limit = model.get("max_position");
  const inverse = inverseFrequencies(HEAD_DIM, model.get("base"));
  const [seats, curve] = [seatsPicture(words), curvePicture(words, limit)];
  const seatsBox = div("rope-picture rope-stays", seats.node, legend(words, inverse));
  const curveBox = div("rope-picture", curve.node);
  const choosers = ["q", "k"].map((name) => {
    const [text, type] = [words.layoutOf[name], `rope-layout-choice-name rope-tone-${name}`];
    const lead = [html("span", { class: type, "aria-hidden": "true" }, text)];
    const options = Object.entries(words.layouts);
    return chooser(`${name}_layout`, { className: "rope-layout-choice", label: text, lead, options });
  });
  const bothMove = ({ n }) => {
    const shift = shiftFrom(n, limit);
    const at = (seconds) => ({ n: n + shift * thereAndBack(seconds, 3, 0.6) });
    return { still: { n: n + shift }, seconds: 6.6, at };
  };
  const seated = (q_layout, k_layout, convert) => ({ visit: { q_layout, k_layout, convert } });
  const stops = buttons({
    both_interleaved: { label: words.stops.interleaved, ...seated("interleaved", "interleaved", false) },
    both_half: { label: words.stops.half, ...seated("half", "half", false) },
    both_half_converted: { label: words.stops.converted, ...seated("half", "half", true) },
    one_of_each: { label: words.stops.mixed, ...seated("interleaved", "half", false) },
    both_move: { label: words.moves.both, play: bothMove },
    reset: { label: words.moves.reset, reset: true },
  });
  const ruler = { tone: "position", format: tokens };
  const controls = sliders({
    n: { label: words.places.n, min: 0, max: limit, ...ruler },
    distance: { label: words.places.distance, min: -model.get("max_distance"), max: 0, ...ruler },
  });
  const numbers = readouts({
    score: { label: words.numbers.score, tone: "score" },
    reference: { label: words.numbers.reference },
    error: { label: words.numbers.error },
    drift: { label: words.numbers.drift, tone: "score" },
    m: { label: words.places.m, ...ruler },
  });
  const row = div("rope-row rope-layout-stops", ...stops, ...toggles({ convert: { label: words.convert } }));
  return {
    node: div(
      "rope-frame rope-layout",
      div("rope-layout-choices", ...choosers),
      div("rope-pictures", seatsBox, row, curveBox),
      lesson,
      div("rope-controls rope-controls-two", ...controls),
      div("rope-readouts", ...numbers),
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
    lesson({ q_layout, score, reference, distance, ...state }) {
      const [one, other] = q_layout === "interleaved" ? ["q", "k"] : ["k", "q"];
      const kind = playing() ? "moving" : lessonKind({ q_layout, distance, ...state });
      return fill(words.lessons[kind], {
        ...{ score: formatNumber(score), reference: formatNumber(reference), distance: tokens(distance), one, other },
        misfits: state.fits.filter((fit) => !fit).length,
        verdict: state.drift > 1e-9 ? words.lessons.moves : words.lessons.stays,
      });
    },
  };
}

const traits = ["q_layout", "k_layout", "convert", "n", "distance", "q", "k"];

export default { render: mount({ words: WORDS, traits, build }) };
