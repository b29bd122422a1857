import { button, readout, report, slider, toggle } from "../kit/controls.js";
import { announcer, arrow, html, setAttributes, setText, svg, vectorLabel, widgetRoot } from "../kit/dom.js";
import { vectorHandle } from "../kit/drag.js";
import { TAU, clamp, cross, degrees, dot, rotate } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, thereAndBack, watch } from "../kit/motion.js";
import { arcHeadPath, polylinePath, sectorPath, spiralPoints } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, pickWords, tokens } from "../kit/text.js";

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

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const limit = model.get("max_position");
  const start = {
    theta: model.get("theta"),
    m: model.get("m"),
    n: model.get("n"),
    q: model.get("q"),
    k: model.get("k"),
    keep_distance: model.get("keep_distance"),
  };
  // While an animation runs, the drawn positions lie between those of the model.
  let moving = null;

  const plane = svg("svg", { role: "group", "aria-label": words.plane });
  const grid = svg("path", { class: "rope-grid" }, plane);
  const axes = svg("path", { class: "rope-axis" }, plane);
  const circle = svg("circle", { class: "rope-circle" }, plane);
  const one = svg("text", { "text-anchor": "start" }, plane);
  one.textContent = "1";
  const ghosts = GHOST_SHIFTS.map((_, i) => {
    const group = svg("g", { opacity: 0.75 - 0.18 * i, "aria-hidden": "true" }, plane);
    return {
      group,
      wedge: svg("path", { class: "rope-between rope-between-ghost" }, group),
      edge: svg("path", { class: "rope-ghost" }, group),
      q: svg("circle", { class: "rope-ghost-q rope-q", r: 3 }, group),
      k: svg("rect", { class: "rope-ghost-k rope-k", width: 6, height: 6 }, group),
      label: svg("text", { "text-anchor": "middle" }, group),
    };
  });
  const between = svg("path", { class: "rope-between" }, plane);
  const vectors = ["q", "k"].map((name) => ({
    name,
    turn: svg("path", { class: `rope-turn rope-${name}` }, plane),
    turnHead: svg("path", { class: `rope-turn-head rope-${name}` }, plane),
    before: arrow(plane, `rope-before rope-${name}`),
    after: arrow(plane, `rope-${name}`),
  }));
  for (const vector of vectors) {
    vector.handle = vectorHandle(plane, {
      name: vector.name,
      label: fill(words.handle, { name: vector.name }),
      description: words.handleRole,
      maxLength: model.get("max_length"),
      toPoint: (x, y) => [(x - size / 2) / unit, (size / 2 - y) / unit],
      onMove: (tip) => commit(model, { [vector.name]: tip }),
    });
    vector.labelBefore = vectorLabel(plane, `rope-${vector.name}`, vector.name);
    vector.labelAfter = vectorLabel(plane, `rope-${vector.name}`, vector.name);
  }
  const betweenLabel = svg("text", { class: "rope-between-label", "text-anchor": "middle" }, plane);
  let size = 360;
  let unit = size / (2 * EXTENT);

  const curve = svg("svg", { role: "img", "aria-label": words.curve });
  const curveGrid = svg("path", { class: "rope-grid" }, curve);
  const curveAxis = svg("path", { class: "rope-axis" }, curve);
  const curveLine = svg("path", { class: "rope-curve" }, curve);
  const distances = Array.from({ length: 2 * limit + 1 }, (_, i) => i - limit);
  const curveDots = distances.map(() => svg("circle", { class: "rope-curve-dot", r: 2.6 }, curve));
  const stem = svg("path", { class: "rope-stem" }, curve);
  const nowRing = svg("circle", { class: "rope-now-ring", r: 10 }, curve);
  const now = svg("circle", { class: "rope-now", r: 7 }, curve);
  const nowLabel = svg("text", { class: "rope-now-label" }, curve);
  const ticks = distances
    .filter((d) => d % 8 === 0)
    .map((d) => {
      const text = svg("text", { "text-anchor": "middle" }, curve);
      text.textContent = formatNumber(d, 0);
      return { d, text };
    });
  const levels = [1, 0, -1].map((part) => ({ part, text: svg("text", { "text-anchor": "end" }, curve) }));
  const titleX = svg("text", { class: "rope-axis-title", "text-anchor": "middle" }, curve);
  titleX.textContent = words.axisX;
  const titleY = svg("text", { class: "rope-axis-title rope-tone-score", "text-anchor": "start" }, curve);
  titleY.textContent = words.axisY;

  const lesson = html("p");
  const pictureBox = html("div", { class: "rope-picture" }, plane);
  const curveBox = html("div", { class: "rope-picture" }, curve);

  const settle = () => {
    // Python and the other views learn where the animation stands, in whole tokens.
    const at = moving;
    moving = null;
    if (at) commit(model, { m: Math.round(at.m), n: Math.round(at.n) });
    schedule();
  };
  const animation = animator(settle);
  const setBy = (changes) => {
    animation.stop();
    commit(model, changes);
  };
  const setPosition = (which, value) => {
    animation.stop();
    if (!model.get("keep_distance")) return commit(model, { [which]: value });
    const [m, n] = moveTogether(model.get("m"), model.get("n"), value - model.get(which), limit);
    commit(model, { m, n });
    schedule();
  };
  let running = null;
  const roomFor = (m, n) => {
    const up = limit - Math.max(m, n);
    const down = Math.min(m, n);
    return up >= Math.min(SHIFT, down) ? Math.min(SHIFT, up) : -Math.min(SHIFT, down);
  };
  const visit = (name) => () => {
    if (running === name && animation.running()) return animation.stop();
    animation.stop();
    const [m, n] = [model.get("m"), model.get("n")];
    const shift = name === "both" ? roomFor(m, n) : roomFor(n, n);
    const part = name === "both" ? 1 : 0;
    if (prefersReducedMotion()) return commit(model, { m: m + part * shift, n: n + shift });
    running = name;
    animation.start((seconds) => {
      const moved = shift * thereAndBack(seconds, 2.2, 0.5);
      moving = { m: m + part * moved, n: n + moved };
      schedule();
      return seconds < 4.9;
    });
  };

  const controls = {
    theta: slider({
      name: "theta",
      label: words.theta,
      tone: "angle",
      min: 0,
      max: 180,
      toInput: degrees,
      fromInput: (value) => (value / 180) * Math.PI,
      format: (theta) =>
        fill(words.thetaValue, { radians: formatNumber(theta, 2), degrees: formatNumber(degrees(theta), 0) }),
      onInput: (theta) => setBy({ theta }),
    }),
    m: slider({
      name: "m",
      label: words.m,
      tone: "position",
      min: 0,
      max: limit,
      format: tokens,
      onInput: (m) => setPosition("m", m),
    }),
    n: slider({
      name: "n",
      label: words.n,
      tone: "position",
      min: 0,
      max: limit,
      format: tokens,
      onInput: (n) => setPosition("n", n),
    }),
  };
  const keep = toggle({
    name: "keep_distance",
    label: words.keep,
    onChange: (value) => commit(model, { keep_distance: value }),
  });
  const buttons = {
    both: button({ name: "both_move", label: words.both, onClick: visit("both") }),
    onlyK: button({ name: "only_k_moves", label: words.onlyK, onClick: visit("onlyK") }),
    quarter: button({ name: "quarter_turn", label: words.quarter, onClick: () => setBy({ theta: QUARTER }) }),
    still: button({ name: "no_rotation", label: words.still, onClick: () => setBy({ theta: 0 }) }),
    reset: button({ name: "reset", label: words.reset, pressable: false, onClick: () => setBy(start) }),
  };
  const reports = {
    score: report("score", "rope-tone-score"),
    angle: report("angle_between", "rope-tone-angle"),
    distance: report("distance", "rope-tone-position"),
    qx: report("q_rotated_x"),
    qy: report("q_rotated_y"),
    kx: report("k_rotated_x"),
    ky: report("k_rotated_y"),
  };
  const pair = (tone, x, y) => html("span", { class: `rope-tone-${tone}` }, "(", x.node, ", ", y.node, ")");

  // Beside the plane, so that on a phone a press and what it moves are on one screen.
  const stops = html("div", { class: "rope-row" }, ...Object.values(buttons).map((b) => b.node), keep.node);
  const frame = html(
    "div",
    { class: "rope-frame" },
    html("div", { class: "rope-pictures" }, pictureBox, stops, curveBox),
    html("div", { class: "rope-lesson" }, lesson),
    html("div", { class: "rope-controls" }, controls.theta.node, controls.m.node, controls.n.node),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.score, reports.score.node),
      readout(words.angle, reports.angle.node),
      readout(words.distance, reports.distance.node),
      readout(words.coordinatesQ, pair("q", reports.qx, reports.qy)),
      readout(words.coordinatesK, pair("k", reports.kx, reports.ky)),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  // Read before anything is written, so that the browser lays the page out once a frame.
  function measure() {
    const narrow = root.clientWidth < 600;
    const width = clamp(curveBox.clientWidth || 360, 200, 420);
    return {
      plane: clamp(pictureBox.clientWidth || 360, 200, narrow ? 300 : 400),
      width,
      height: Math.round(clamp(width * 0.78, 200, narrow ? 220 : 320)),
    };
  }

  function drawPlane(state, room) {
    size = room.plane;
    unit = size / (2 * EXTENT);
    const middle = size / 2;
    const toX = (x) => middle + x * unit;
    const toY = (y) => middle - y * unit;
    setAttributes(plane, {
      viewBox: `0 0 ${size} ${size}`,
      style: `width: ${size}px; height: ${size}px; margin: 0 auto`,
    });
    const lines = [-2, -1, 1, 2].map((v) => `M${toX(v)} 0V${size}M0 ${toY(v)}H${size}`);
    grid.setAttribute("d", lines.join(""));
    axes.setAttribute("d", `M${middle} 0V${size}M0 ${middle}H${size}`);
    setAttributes(circle, { cx: middle, cy: middle, r: unit });
    setAttributes(one, { x: toX(1) + 5, y: middle + 15 });

    const from = Math.atan2(state.qAfter[1], state.qAfter[0]);
    const turn = shortTurn(state.qAfter, state.kAfter);
    const open = Number.isFinite(state.angle);
    const wedge = (shift) => {
      const begin = from + shift * state.theta;
      return open ? sectorPath(middle, middle, 0.36 * unit, begin, begin + turn) : "";
    };
    GHOST_SHIFTS.forEach((shift, i) => {
      const q = rotate(state.qAfter, shift * state.theta);
      const k = rotate(state.kAfter, shift * state.theta);
      const ghost = ghosts[i];
      ghost.group.setAttribute("visibility", state.theta ? "visible" : "hidden");
      ghost.wedge.setAttribute("d", wedge(shift));
      ghost.edge.setAttribute("d", polylinePath([q, [0, 0], k].map(([x, y]) => [toX(x), toY(y)])));
      setAttributes(ghost.q, { cx: toX(q[0]), cy: toY(q[1]) });
      setAttributes(ghost.k, { x: toX(k[0]) - 3, y: toY(k[1]) - 3 });
      const along = from + shift * state.theta + turn / 2;
      setText(ghost.label, open ? `+${shift}` : "");
      setAttributes(ghost.label, {
        x: middle + Math.cos(along) * 0.88 * unit,
        y: middle - Math.sin(along) * 0.88 * unit + 4,
      });
    });

    between.setAttribute("d", wedge(0));
    const bisector = from + turn / 2;
    setText(betweenLabel, open ? `${formatNumber(degrees(state.angle), 0)}°` : "");
    setAttributes(betweenLabel, {
      x: middle + Math.cos(bisector) * 0.58 * unit,
      y: middle - Math.sin(bisector) * 0.58 * unit + 5,
    });

    const tips = { q: state.qAfter, k: state.kAfter };
    const apart = Math.hypot(tips.q[0] - tips.k[0], tips.q[1] - tips.k[1]) * unit;
    vectors.forEach(({ name, turn: turnPath, turnHead, before, after, handle, labelBefore, labelAfter }, i) => {
      const vector = state[name];
      const tip = tips[name];
      const position = i ? state.n : state.m;
      const direction = Math.atan2(vector[1], vector[0]);
      const radius = (i ? 0.74 : 0.52) * unit;
      const turned = position * state.theta;
      const length = Math.hypot(...vector);
      const points = spiralPoints(middle, middle, radius, direction, direction + turned, spiralGrowth(turned) * unit);
      const drawn = turned * radius > 10 && length > 0;
      turnPath.classList.toggle("rope-turn-many", Math.abs(turned) > 2 * TAU);
      turnPath.setAttribute("d", drawn ? polylinePath(points.slice(0, -1)) : "");
      turnHead.setAttribute("d", drawn ? arcHeadPath(points) : "");
      before(middle, middle, toX(vector[0]), toY(vector[1]));
      after(middle, middle, toX(tip[0]), toY(tip[1]));
      handle(
        toX(vector[0]),
        toY(vector[1]),
        vector,
        fill(words.handleValue, { x: formatNumber(vector[0]), y: formatNumber(vector[1]) }),
      );
      const beyond = (point, distance, aside = 0) => {
        const angle = Math.atan2(point[1], point[0]) + aside;
        const reach = Math.hypot(...point) * unit + distance;
        const along = (value) => clamp(value, 12, size - 12);
        return [along(middle + reach * Math.cos(angle)), along(middle - reach * Math.sin(angle))];
      };
      const gap = Math.hypot(tip[0] - vector[0], tip[1] - vector[1]) * unit;
      labelBefore(...beyond(vector, 24), "", gap > 26);
      const aside = apart < 30 ? (i ? 1 : -1) * Math.sign(turn || 1) * 0.22 : 0;
      labelAfter(...beyond(tip, gap > 26 ? 17 : 26, aside), tokens(position));
    });
  }

  function drawCurve(state, { width, height }) {
    const bottom = height - 40;
    const level = axisLimit(state.amplitude);
    const toX = linearScale(-limit, limit, 34, width - 12);
    const toY = linearScale(-level, level, bottom, 34);
    setAttributes(curve, { viewBox: `0 0 ${width} ${height}`, height });
    curveGrid.setAttribute(
      "d",
      ticks.map(({ d }) => `M${toX(d)} 34V${bottom}`).join("") +
        [1, -1].map((part) => `M34 ${toY(part * level)}H${width - 12}`).join(""),
    );
    curveAxis.setAttribute("d", `M34 ${toY(0)}H${width - 12}M${toX(0)} 34V${bottom}`);
    const samples = distances.length * 10 - 9;
    curveLine.setAttribute(
      "d",
      polylinePath(
        Array.from({ length: samples }, (_, i) => {
          const distance = i / 10 - limit;
          return [toX(distance), toY(scoreAt(state.q, state.k, state.theta, distance))];
        }),
      ),
    );
    curveDots.forEach((node, i) =>
      setAttributes(node, {
        cx: toX(distances[i]).toFixed(2),
        cy: toY(scoreAt(state.q, state.k, state.theta, distances[i])).toFixed(2),
      }),
    );
    const x = toX(state.distance);
    const y = toY(state.score);
    stem.setAttribute("d", `M${x} ${toY(0)}V${y}`);
    setAttributes(now, { cx: x, cy: y });
    setAttributes(nowRing, { cx: x, cy: y });
    setText(nowLabel, formatNumber(state.score));
    const left = x > width - 70;
    setAttributes(nowLabel, {
      x: x + (left ? -15 : 15),
      y: clamp(y - 10, 30, bottom),
      "text-anchor": left ? "end" : "start",
    });
    for (const { d, text } of ticks) setAttributes(text, { x: toX(d), y: bottom + 16 });
    for (const { part, text } of levels) {
      setText(text, formatNumber(part * level, level < 1 ? 1 : 0));
      setAttributes(text, { x: 28, y: toY(part * level) + 4 });
    }
    setAttributes(titleX, { x: (34 + width - 12) / 2, y: height - 6 });
    setAttributes(titleY, { x: 8, y: 18 });
  }

  function lessonFor(state) {
    if (state.amplitude === 0) return words.lessonZero;
    if (state.theta === 0) return words.lessonStill;
    if (moving) return running === "both" ? words.lessonBoth : words.lessonOnlyK;
    return words.lesson;
  }

  function update() {
    const room = measure();
    const [theta, q, k] = [model.get("theta"), model.get("q"), model.get("k")];
    const { m, n } = moving ?? { m: model.get("m"), n: model.get("n") };
    const qAfter = rotate(q, m * theta);
    const kAfter = rotate(k, n * theta);
    const state = {
      theta,
      q,
      k,
      m,
      n,
      qAfter,
      kAfter,
      distance: n - m,
      score: dot(qAfter, kAfter),
      angle: angleBetween(qAfter, kAfter),
      amplitude: Math.hypot(...q) * Math.hypot(...k),
    };
    drawPlane(state, room);
    drawCurve(state, room);
    controls.theta.update(theta);
    controls.m.update(m);
    controls.n.update(n);
    keep.update(model.get("keep_distance"));
    buttons.both.update(animation.running() && running === "both");
    buttons.onlyK.update(animation.running() && running === "onlyK");
    buttons.quarter.update(Math.abs(theta - QUARTER) < 1e-9);
    buttons.still.update(theta === 0);
    reports.score.update(state.score, formatNumber(state.score));
    reports.angle.update(state.angle, Number.isFinite(state.angle) ? `${formatNumber(degrees(state.angle), 1)}°` : "–");
    reports.distance.update(state.distance, tokens(state.distance));
    reports.qx.update(qAfter[0], formatNumber(qAfter[0]));
    reports.qy.update(qAfter[1], formatNumber(qAfter[1]));
    reports.kx.update(kAfter[0], formatNumber(kAfter[0]));
    reports.ky.update(kAfter[1], formatNumber(kAfter[1]));
    const sentence = fill(lessonFor(state), { distance: tokens(state.distance), score: formatNumber(state.score) });
    if (lesson.dataset.said !== sentence) {
      lesson.dataset.said = sentence;
      lesson.innerHTML = sentence;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, ["theta", "m", "n", "q", "k", "keep_distance"], root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
