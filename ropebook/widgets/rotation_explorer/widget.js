import { around, freePlace } from "../kit/apart.js";
import { IN_DEGREES } from "../kit/controls.js";
import { div, svg, widthOf } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { disc, label, layer, letter, path, turn, vector } from "../kit/layer.js";
import { TAU, clamp, cross, dot, rotate } from "../kit/math.js";
import { thereAndBack } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { dotsPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { nowMarker, scoreAxes, squarePlane } from "../kit/plot.js";
import { fill, formatAngle, formatNumber, formatTurn, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Rotation explorer: a query, a key, and their score",
    plane: "The plane: q and k before the turn (dashed) and after it (solid)",
    curve: "The score as a curve over the distance n − m",
    controls: { theta: "θ per token", m: "m, position of q", n: "n, position of k", keep: "keep the distance" },
    turn: "{radians} rad ({degrees}°)",
    handle: { name: "{name} before the turn; arrow keys move its tip", role: "movable point", value: "x {x}, y {y}" },
    lessons: {
      rest: "At distance n − m = {distance} the score is <b>{score}</b>. Dashed: before the turn. Solid: q after {m}, k after {n} steps of θ.",
      both: "Both move and both arrows turn; the distance stays {distance}, and the score stays <b>{score}</b>.",
      onlyK: "Only k moves: at distance {distance} the score is <b>{score}</b>.",
      still: "No turn: the score is <b>{score}</b> at every distance. Positions leave no trace.",
      zero: "A vector of length zero has score <b>0</b> at every distance.",
    },
    stops: { both: "both move", onlyK: "only k moves", quarter: "θ = 90°", still: "θ = 0", reset: "reset" },
    numbers: { angle: "angle between", distance: "distance n − m" },
    turned: { q: "q turned by mθ", k: "k turned by nθ" },
    axes: { titleX: "distance n − m (dots: whole tokens)", titleY: "score" },
  },
};

const SHIFT = 8;
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

// The angle between q and k; nothing where one has no direction.
function wedge({ open, from, between }, { middle, unit }) {
  return open ? sectorPath(middle, middle, 0.36 * unit, from, from + between) : "";
}

// A vector before its turn and after it, and the spiral between them.
function turnedVector(name, radius, before, after, turned, { middle, origin, unit, at }) {
  const reach = radius * unit;
  const begin = Math.atan2(before[1], before[0]);
  const drawn = turned * reach > 10 && Math.hypot(...before) > 0;
  const points = spiralPoints(middle, middle, reach, begin, begin + turned, spiralGrowth(turned) * unit);
  const line = Math.abs(turned) > 2 * TAU ? "rope-turn rope-turn-many" : "rope-turn";
  const arrow = (type, tip) => vector(`${type}rope-${name}`, origin, at(tip));
  return [...turn(`rope-${name}`, drawn ? points : [], line), arrow("rope-before ", before), arrow("", after)];
}

// The names of a vector, beyond its two tips; where these lie close together it has one. Each takes the
// first place around its tip at which nothing is `taken` yet.
function namesOf(name, before, after, position, taken, { size, middle, unit }) {
  const beside = (tip, distance) =>
    [0, 14, -14, 26, -26, 38, -38].flatMap((sideways) =>
      [distance, distance + 12].map((far) => {
        const [x, y] = rotate([Math.hypot(...tip) * unit + far, sideways], Math.atan2(tip[1], tip[0]));
        return [middle + x, middle - y].map((along) => clamp(along, 12, size - 12));
      }),
    );
  const index = tokens(position);
  const two = Math.hypot(after[0] - before[0], after[1] - before[1]) * unit > 26;
  const put = (tip, distance, wide) => freePlace(beside(tip, distance), wide, 20, taken);
  // One that is not said takes no room.
  const plain = two ? letter(name, put(before, 24, 14), name) : letter(name, [middle, middle], "");
  return [plain, letter(name, put(after, two ? 17 : 26, 14 + 9 * index.length), name, index)];
}

function planePicture(words, { maxLength, onMove }) {
  const picture = svg("svg", { role: "group", "aria-label": words.plane });
  const plane = squarePlane(picture, EXTENT);
  const paint = layer(picture);
  const handles = ["q", "k"].map((name) => {
    const spoken = { label: fill(words.handle.name, { name }), description: words.handle.role };
    const moves = { toPoint: plane.toPoint, onMove: (tip) => onMove({ [name]: tip }) };
    return vectorHandle(picture, { name, maxLength, ...spoken, ...moves });
  });
  const paintNames = layer(picture);

  function draw(state, size) {
    const scales = plane.resize(size);
    const { theta, tips, open, bisector } = state;
    const { middle, origin, unit, at } = scales;
    const places = [state.m, state.n];
    const pair = ["q", "k"].map((name, i) => [name, state[name], tips[i], places[i]]);
    paint([
      disc("rope-circle", origin, unit),
      label("", at([1, 0])[0] + 5, middle + 15, "1"),
      path("rope-between", wedge(state, scales)),
      ...pair.flatMap(([name, before, after, position], i) =>
        turnedVector(name, [0.52, 0.74][i], before, after, position * theta, scales),
      ),
    ]);
    // The handles, and the heads of the arrows.
    const taken = pair.flatMap(([, before, tip]) => [around(at(before), 26, 26), around(at(tip), 18, 18)]);
    const names = pair.map((one) => namesOf(...one, taken, scales));
    const [x, y] = at(rotate([0.58, 0], bisector));
    paintNames([
      ...names.flat(),
      label("rope-between-label", x, y + 5, open ? formatAngle(state.angle_between, 0) : "", "middle"),
    ]);
    pair.forEach(([, before], i) => {
      const [x, y] = before.map((part) => formatNumber(part));
      handles[i](...at(before), before, fill(words.handle.value, { x, y }));
    });
  }
  return { node: picture, draw };
}

function curvePicture(words, limit) {
  const picture = svg("svg", { role: "img", "aria-label": words.curve });
  const distances = Array.from({ length: 2 * limit + 1 }, (_, i) => i - limit);
  const samples = Array.from({ length: distances.length * 10 - 9 }, (_, i) => i / 10 - limit);
  const ticks = distances.filter((distance) => distance % 8 === 0);
  const axes = scoreAxes(picture, { from: -limit, to: limit, right: 12, ticks, ...words.axes });
  const paint = layer(picture);
  const mark = nowMarker(picture);

  function draw({ q, k, theta, distance, score, amplitude }, { width, height }) {
    const { toX, toY, bottom } = axes.resize({ width, height, level: axisLimit(amplitude) });
    const place = (along) => [toX(along), toY(scoreAt(q, k, theta, along))];
    const [x, y] = [toX(distance), toY(score)];
    paint([
      path("rope-curve", polylinePath(samples.map(place))),
      path("rope-curve-dot", dotsPath(distances.map(place), 2.6)),
      path("rope-stem", `M${x} ${toY(0)}V${y}`),
    ]);
    const told = { "data-report": "score", "data-value": score };
    mark({ x, y, text: formatNumber(score), width, high: bottom, told });
  }
  return { node: picture, draw };
}

function derive({ theta, m, n, q, k }) {
  const tips = [rotate(q, m * theta), rotate(k, n * theta)];
  const angle_between = angleBetween(...tips);
  const from = Math.atan2(tips[0][1], tips[0][0]);
  const between = shortTurn(...tips);
  return {
    ...{ tips, angle_between, from, between },
    open: Number.isFinite(angle_between),
    bisector: from + between / 2,
    distance: n - m,
    score: dot(...tips),
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

function build({ words, model, set, commit, playing, lesson, sliders, toggles, buttons, readouts }) {
  const limit = model.get("max_position");
  const plane = planePicture(words, { maxLength: model.get("max_length"), onMove: commit });
  const curve = curvePicture(words, limit);
  const [planeBox, curveBox] = [plane, curve].map(({ node }) => div("rope-picture", node));
  const stops = buttons({
    both_move: { label: words.stops.both, play: walk(limit, true) },
    only_k_moves: { label: words.stops.onlyK, play: walk(limit, false) },
    quarter_turn: { label: words.stops.quarter, visit: { theta: TAU / 4 } },
    no_rotation: { label: words.stops.still, visit: { theta: 0 } },
    reset: { label: words.stops.reset, reset: true },
  });
  const keep = toggles({
    keep_distance: { label: words.controls.keep, onChange: (keep_distance) => commit({ keep_distance }) },
  });
  const moveTo = (name) => (to) =>
    set(({ keep_distance, ...at }) => {
      if (!keep_distance) return { [name]: to };
      const [m, n] = moveTogether(at.m, at.n, to - at[name], limit);
      return { m, n };
    });
  const ruler = { tone: "position", min: 0, max: limit, format: tokens };
  const inDegrees = { tone: "angle", min: 0, max: 180, ...IN_DEGREES, format: formatTurn(words.turn) };
  const controls = sliders({
    theta: { label: words.controls.theta, ...inDegrees },
    m: { label: words.controls.m, ...ruler, onInput: moveTo("m") },
    n: { label: words.controls.n, ...ruler, onInput: moveTo("n") },
  });
  const numbers = readouts({
    angle_between: { label: words.numbers.angle, format: formatAngle, tone: "angle" },
    distance: { label: words.numbers.distance, format: tokens, tone: "position" },
    q_rotated: { label: words.turned.q, point: ({ tips }) => tips[0], tone: "q" },
    k_rotated: { label: words.turned.k, point: ({ tips }) => tips[1], tone: "k" },
  });
  const kindOf = ({ amplitude, theta }) => {
    if (amplitude === 0) return "zero";
    if (theta === 0) return "still";
    return playing() ? (playing("both_move") ? "both" : "onlyK") : "rest";
  };
  return {
    node: div(
      "rope-frame",
      // On a phone both stay: the sliders turn the arrows, and the score is what they do not change.
      div("rope-pictures rope-stays", planeBox, curveBox),
      div("rope-row rope-rotation-stops", ...stops, ...keep),
      lesson,
      div("rope-controls", ...controls),
      div("rope-readouts", ...numbers),
    ),
    measure(narrow) {
      const width = widthOf(curveBox, 200, 420);
      const height = Math.round(narrow ? 118 : clamp(width * 0.78, 200, 290));
      return { plane: widthOf(planeBox, 200, narrow ? 222 : 310), curve: { width, height } };
    },
    derive,
    draw(state, room) {
      plane.draw(state, room.plane);
      curve.draw(state, room.curve);
    },
    lesson: (state) =>
      fill(words.lessons[kindOf(state)], {
        ...{ distance: tokens(state.distance), score: formatNumber(state.score) },
        ...{ m: tokens(state.m), n: tokens(state.n) },
      }),
  };
}

const traits = ["theta", "m", "n", "q", "k", "keep_distance"];

export default { render: mount({ words: WORDS, traits, build }) };
