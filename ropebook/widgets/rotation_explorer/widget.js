import { IN_DEGREES, readout } from "../kit/controls.js";
import { arrow, html, setAttributes, setText, svg, svgText, vectorLabel, widthOf } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { TAU, clamp, cross, degrees, dot, rotate } from "../kit/math.js";
import { thereAndBack } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { nowMarker, scoreAxes, squarePlane } from "../kit/plot.js";
import { fill, formatAngle, formatNumber, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Rotation explorer: a query, a key, and their score",
    plane: "The plane: q and k before the turn (dashed) and after it (solid)",
    curve: "The score as a curve over the distance n − m",
    theta: "θ, per token",
    thetaValue: "{radians} rad ({degrees}°)",
    m: "m, position of q",
    n: "n, position of k",
    keep: "keep the distance",
    handle: "{name} before the turn; arrow keys move its tip",
    handleRole: "movable point",
    handleValue: "x {x}, y {y}",
    lesson:
      "At distance n − m = {distance} the score is <b>{score}</b>. Dotted: the same pair 3, 6 and 9 tokens on, turned together, with the same score.",
    lessonBoth: "Both move and both arrows turn; the distance stays {distance}, and the score stays <b>{score}</b>.",
    lessonOnlyK: "Only k moves: at distance {distance} the score is <b>{score}</b>.",
    lessonStill: "No turn: the score is <b>{score}</b> at every distance. Positions leave no trace.",
    lessonZero: "A vector of length zero has score <b>0</b> at every distance.",
    both: "both move",
    onlyK: "only k moves",
    quarter: "θ = 90°",
    still: "θ = 0",
    reset: "reset",
    score: "score",
    angle: "angle between",
    distance: "distance n − m",
    coordinatesQ: "q turned by mθ",
    coordinatesK: "k turned by nθ",
    axisX: "distance n − m (dots: whole tokens)",
    axisY: "score",
  },
};

const QUARTER = Math.PI / 2;
const SHIFT = 8;
const GHOST_SHIFTS = [3, 6, 9];
const EXTENT = 2.2;

// q^T R(distance * theta) k
export function scoreAt(q, k, theta, distance) {
  const angle = distance * theta;
  return dot(q, k) * Math.cos(angle) + cross(k, q) * Math.sin(angle);
}

// Unsigned, in [0, pi]; NaN where a vector has no direction.
export function angleBetween(a, b) {
  if (Math.hypot(...a) === 0 || Math.hypot(...b) === 0) return NaN;
  return Math.atan2(Math.abs(cross(a, b)), dot(a, b));
}

// A half, or the next whole number: the axis holds still while a vector is dragged a little.
export function axisLimit(amplitude) {
  return amplitude <= 0.5 ? 0.5 : Math.ceil(amplitude - 1e-9);
}

// Moves both positions by the same amount, as far as both stay on 0..limit.
export function moveTogether(m, n, shift, limit) {
  const allowed = clamp(shift, -Math.min(m, n), limit - Math.max(m, n));
  return [m + allowed, n + allowed];
}

// Room between the turns of a spiral; many turns share a fifth of the unit circle.
export function spiralGrowth(turned) {
  return Math.min(0.05, 0.2 / Math.max(1, Math.abs(turned) / TAU));
}

// The turn seen from one vector to the other, at most half a turn either way.
export function shortTurn(from, to) {
  return Math.atan2(cross(from, to), dot(from, to));
}

// The same pair some tokens on, turned together, dotted and fainter each.
function ghostPairs(picture) {
  const ghosts = GHOST_SHIFTS.map((shift, i) => {
    const group = svg("g", { opacity: 0.75 - 0.18 * i, "aria-hidden": "true" }, picture);
    return {
      ...{ shift, group },
      wedge: svg("path", { class: "rope-between rope-between-ghost" }, group),
      edge: svg("path", { class: "rope-ghost" }, group),
      q: svg("circle", { class: "rope-ghost-q rope-q", r: 3 }, group),
      k: svg("rect", { class: "rope-ghost-k rope-k", width: 6, height: 6 }, group),
      label: svgText(group, "", "middle"),
    };
  });
  return ({ theta, qAfter, kAfter, open, bisector }, { at, middle }, wedge) => {
    for (const { shift, group, edge, label, ...ghost } of ghosts) {
      const [q, k] = [qAfter, kAfter].map((vector) => at(rotate(vector, shift * theta)));
      setAttributes(group, { visibility: theta ? "visible" : "hidden" });
      setAttributes(ghost.wedge, { d: wedge(shift) });
      setAttributes(edge, { d: polylinePath([q, [middle, middle], k]) });
      setAttributes(ghost.q, { cx: q[0], cy: q[1] });
      setAttributes(ghost.k, { x: k[0] - 3, y: k[1] - 3 });
      const along = bisector + shift * theta;
      setText(label, open ? `+${shift}` : "");
      const [x, y] = at([0.88 * Math.cos(along), 0.88 * Math.sin(along)]);
      setAttributes(label, { x, y: y + 4 });
    }
  };
}

// One vector: before its turn, with a handle, and after it, and the spiral between them.
function turnedVector(picture, name, radius) {
  const turn = svg("path", { class: `rope-turn rope-${name}` }, picture);
  const turnHead = svg("path", { class: `rope-turn-head rope-${name}` }, picture);
  const [before, after] = [arrow(picture, `rope-before rope-${name}`), arrow(picture, `rope-${name}`)];
  let labels = null;

  function drawTurn(vector, turned, { middle, unit }) {
    const direction = Math.atan2(vector[1], vector[0]);
    const reach = radius * unit;
    const growth = spiralGrowth(turned) * unit;
    const points = spiralPoints(middle, middle, reach, direction, direction + turned, growth);
    const drawn = turned * reach > 10 && Math.hypot(...vector) > 0;
    turn.classList.toggle("rope-turn-many", Math.abs(turned) > 2 * TAU);
    setAttributes(turn, { d: drawn ? polylinePath(points.slice(0, -1)) : "" });
    setAttributes(turnHead, { d: drawn ? arcHeadPath(points) : "" });
  }

  // Above all else: they are made last.
  function addLabels() {
    labels = [vectorLabel(picture, `rope-${name}`, name), vectorLabel(picture, `rope-${name}`, name)];
  }

  function draw({ vector, tip, position, theta, aside }, scales) {
    const { size, middle, unit, at } = scales;
    drawTurn(vector, position * theta, scales);
    before(middle, middle, ...at(vector));
    after(middle, middle, ...at(tip));
    const beyond = (point, distance, turned = 0) => {
      const angle = Math.atan2(point[1], point[0]) + turned;
      const reach = Math.hypot(...point) * unit + distance;
      const along = (value) => clamp(value, 12, size - 12);
      return [along(middle + reach * Math.cos(angle)), along(middle - reach * Math.sin(angle))];
    };
    const gap = Math.hypot(tip[0] - vector[0], tip[1] - vector[1]) * unit;
    labels[0](...beyond(vector, 24), "", gap > 26);
    labels[1](...beyond(tip, gap > 26 ? 17 : 26, aside), tokens(position));
  }
  return { addLabels, draw };
}

function planePicture(words, { maxLength, onMove }) {
  const picture = svg("svg", { role: "group", "aria-label": words.plane });
  const plane = squarePlane(picture, EXTENT);
  const circle = svg("circle", { class: "rope-circle" }, picture);
  const one = svgText(picture, "", "start", "1");
  const drawGhosts = ghostPairs(picture);
  const between = svg("path", { class: "rope-between" }, picture);
  const vectors = { q: turnedVector(picture, "q", 0.52), k: turnedVector(picture, "k", 0.74) };
  let scales = plane.resize(360);
  const handles = Object.entries(vectors).map(([name, vector]) => {
    const handle = vectorHandle(picture, {
      ...{ name, maxLength, label: fill(words.handle, { name }), description: words.handleRole },
      toPoint: (x, y) => [(x - scales.middle) / scales.unit, (scales.middle - y) / scales.unit],
      onMove: (tip) => onMove({ [name]: tip }),
    });
    vector.addLabels();
    return [name, handle];
  });
  const betweenLabel = svgText(picture, "rope-between-label", "middle");

  function draw(state, size) {
    scales = plane.resize(size);
    const { theta, qAfter, kAfter, open, from, turn, bisector } = state;
    const { middle, unit, at } = scales;
    setAttributes(circle, { cx: middle, cy: middle, r: unit });
    setAttributes(one, { x: at([1, 0])[0] + 5, y: middle + 15 });
    const wedge = (shift) => {
      const begin = from + shift * theta;
      return open ? sectorPath(middle, middle, 0.36 * unit, begin, begin + turn) : "";
    };
    drawGhosts(state, scales, wedge);
    setAttributes(between, { d: wedge(0) });
    setText(betweenLabel, open ? formatAngle(state.angle, 0) : "");
    const [x, y] = at([0.58 * Math.cos(bisector), 0.58 * Math.sin(bisector)]);
    setAttributes(betweenLabel, { x, y: y + 5 });
    // Labels of two tips close together step aside.
    const close = Math.hypot(qAfter[0] - kAfter[0], qAfter[1] - kAfter[1]) * unit < 30;
    const aside = close ? Math.sign(turn || 1) * 0.22 : 0;
    vectors.q.draw({ vector: state.q, tip: qAfter, position: state.m, theta, aside: -aside }, scales);
    vectors.k.draw({ vector: state.k, tip: kAfter, position: state.n, theta, aside }, scales);
    for (const [name, place] of handles) {
      const [re, im] = state[name];
      place(...at(state[name]), state[name], fill(words.handleValue, { x: formatNumber(re), y: formatNumber(im) }));
    }
  }
  return { node: picture, draw };
}

function curvePicture(words, limit) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const distances = Array.from({ length: 2 * limit + 1 }, (_, i) => i - limit);
  const samples = Array.from({ length: distances.length * 10 - 9 }, (_, i) => i / 10 - limit);
  const axes = scoreAxes(picture, {
    ...{ from: -limit, to: limit, right: 12, titleX: words.axisX, titleY: words.axisY },
    ticks: distances.filter((distance) => distance % 8 === 0),
  });
  const line = svg("path", { class: "rope-curve" }, picture);
  const dots = distances.map(() => svg("circle", { class: "rope-curve-dot", r: 2.6 }, picture));
  const stem = svg("path", { class: "rope-stem" }, picture);
  const mark = nowMarker(picture);

  function draw(state, { width, height }) {
    const { toX, toY, bottom } = axes.resize({ width, height, level: axisLimit(state.amplitude) });
    const place = (distance) => [toX(distance), toY(scoreAt(state.q, state.k, state.theta, distance))];
    setAttributes(line, { d: polylinePath(samples.map(place)) });
    dots.forEach((dot, i) => {
      const [cx, cy] = place(distances[i]);
      setAttributes(dot, { cx: cx.toFixed(2), cy: cy.toFixed(2) });
    });
    const [x, y] = [toX(state.distance), toY(state.score)];
    setAttributes(stem, { d: `M${x} ${toY(0)}V${y}` });
    mark({ x, y, text: formatNumber(state.score), width, high: bottom });
  }
  return { node: picture, draw };
}

function derive({ theta, m, n, q, k }) {
  const [qAfter, kAfter] = [rotate(q, m * theta), rotate(k, n * theta)];
  const angle = angleBetween(qAfter, kAfter);
  const from = Math.atan2(qAfter[1], qAfter[0]);
  const turn = shortTurn(qAfter, kAfter);
  return {
    ...{ qAfter, kAfter, angle, from, turn },
    open: Number.isFinite(angle),
    bisector: from + turn / 2,
    distance: n - m,
    score: dot(qAfter, kAfter),
    amplitude: Math.hypot(...q) * Math.hypot(...k),
  };
}

// As far up or down as there is room for m and n, up first.
export function roomFor(m, n, limit) {
  const up = limit - Math.max(m, n);
  const down = Math.min(m, n);
  return up >= Math.min(SHIFT, down) ? Math.min(SHIFT, up) : -Math.min(SHIFT, down);
}

// q and k walk some tokens and back; or k alone.
function walk(limit, together) {
  return ({ m, n }) => {
    const shift = roomFor(together ? m : n, n, limit);
    const moved = (by) => ({ m: m + (together ? by : 0), n: n + by });
    return { still: moved(shift), seconds: 4.9, at: (seconds) => moved(shift * thereAndBack(seconds, 2.2, 0.5)) };
  };
}

function readouts(words, show) {
  const pair = (name, tone) => {
    const [x, y] = ["x", "y"].map((axis, i) => show(`${name}_rotated_${axis}`, (state) => state[`${name}After`][i]));
    return html("span", { class: `rope-tone-${tone}` }, "(", x, ", ", y, ")");
  };
  const angle = show("angle_between", (state) => state.angle, { format: formatAngle, tone: "angle" });
  return [
    readout(
      words.score,
      show("score", ({ score }) => score, { tone: "score" }),
    ),
    readout(words.angle, angle),
    readout(
      words.distance,
      show("distance", ({ distance }) => distance, { format: tokens, tone: "position" }),
    ),
    readout(words.coordinatesQ, pair("q", "q")),
    readout(words.coordinatesK, pair("k", "k")),
  ];
}

function build({ words, model, set, commit, playing, lesson, sliders, toggles, buttons, show }) {
  const limit = model.get("max_position");
  const plane = planePicture(words, { maxLength: model.get("max_length"), onMove: commit });
  const curve = curvePicture(words, limit);
  const [planeBox, curveBox] = [plane, curve].map(({ node }) => html("div", { class: "rope-picture" }, node));
  const stops = buttons({
    both_move: { label: words.both, play: walk(limit, true) },
    only_k_moves: { label: words.onlyK, play: walk(limit, false) },
    quarter_turn: { label: words.quarter, visit: { theta: QUARTER } },
    no_rotation: { label: words.still, visit: { theta: 0 } },
    reset: { label: words.reset, reset: true },
  });
  const keep = toggles({
    keep_distance: { label: words.keep, onChange: (keep_distance) => commit({ keep_distance }) },
  });
  const formatTheta = (theta) =>
    fill(words.thetaValue, { radians: formatNumber(theta, 2), degrees: formatNumber(degrees(theta), 0) });
  const moveTo = (name) => (to) =>
    set(({ keep_distance, ...at }) => {
      if (!keep_distance) return { [name]: to };
      const [m, n] = moveTogether(at.m, at.n, to - at[name], limit);
      return { m, n };
    });
  const ruler = { tone: "position", min: 0, max: limit, format: tokens };
  const controls = sliders({
    theta: { label: words.theta, tone: "angle", min: 0, max: 180, ...IN_DEGREES, format: formatTheta },
    m: { label: words.m, ...ruler, onInput: moveTo("m") },
    n: { label: words.n, ...ruler, onInput: moveTo("n") },
  });
  const lessonFor = ({ amplitude, theta }) => {
    if (amplitude === 0) return words.lessonZero;
    if (theta === 0) return words.lessonStill;
    if (playing()) return playing("both_move") ? words.lessonBoth : words.lessonOnlyK;
    return words.lesson;
  };
  // Beside the plane, so that on a phone a press and what it moves are on one screen.
  const row = html("div", { class: "rope-row" }, ...stops, ...keep);
  return {
    node: html(
      "div",
      { class: "rope-frame" },
      html("div", { class: "rope-pictures" }, planeBox, row, curveBox),
      lesson,
      html("div", { class: "rope-controls" }, ...controls),
      html("div", { class: "rope-readouts" }, ...readouts(words, show)),
    ),
    measure(narrow) {
      const width = widthOf(curveBox, 200, 420);
      const height = Math.round(clamp(width * 0.78, 200, narrow ? 220 : 320));
      return { plane: widthOf(planeBox, 200, narrow ? 300 : 400), curve: { width, height } };
    },
    derive,
    draw(state, room) {
      plane.draw(state, room.plane);
      curve.draw(state, room.curve);
    },
    lesson: (state) => fill(lessonFor(state), { distance: tokens(state.distance), score: formatNumber(state.score) }),
  };
}

const traits = ["theta", "m", "n", "q", "k", "keep_distance"];
const render = mount({ words: WORDS, traits, build });

export default { render };
