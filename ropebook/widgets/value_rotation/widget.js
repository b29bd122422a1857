import { OWN_KEYS, button, readout, report, slider } from "../kit/controls.js";
import { announcer, arrow, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { clamp, degrees, dot, rotate } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, thereAndBack, watch } from "../kit/motion.js";
import { polylinePath } from "../kit/paths.js";
import { fill, formatNumber, pickWords, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Value rotation: what is compared is turned; what is carried is turned or not",
    plane: "What is carried: the values as they arrive, and the output, their weighted mean",
    heads: "What is compared: the query with each key, both turned by their positions, and the weights",
    captionPlane: "What is carried: values (gray, darker where the weight is larger), output (green)",
    captionHeads: "What is compared: q with each key, turned by their positions. Below: the weights",
    choice: "values",
    ways: { alone: "values left alone", turned: "values turned too", turned_back: "turned, output turned back" },
    push: "push the text on",
    reset: "reset",
    shift: "shift: tokens in front of the text",
    query: "query: the word that looks",
    theta: "θ, per token",
    thetaValue: "{radians} rad ({degrees}°)",
    lessonTurned:
      "{shift} tokens in front: all weights are what they were, and yet the output has moved, by <b>{change}</b>. It spins with the absolute position.",
    lessonTurnedBegin:
      "No token in front yet. The values are turned by their positions. Push the text on and watch the green arrow.",
    lessonRound:
      "{shift} tokens in front, and the output has come full circle: <b>{change}</b> from where it was. It spins with the absolute position.",
    lessonAlone:
      "{shift} tokens in front: q and all keys have turned, no weight has changed, and the output stands still (change <b>{change}</b>).",
    lessonBack:
      "{shift} tokens in front, and the output stands still (change <b>{change}</b>). Each value arrives turned by its distance n − m, so it is not the plain output: <b>{gap}</b> away.",
    lessonStill: "No turn: the three ways are one, and positions leave no trace.",
    output: "output",
    angle: "its angle",
    length: "its length",
    change: "moved since shift 0",
    gap: "from “left alone”",
    start: "shift 0",
  },
};

const WAYS = ["alone", "turned", "turned_back"];
const EXTENT = 2.15;
const PUSH = 24;

// softmax(q . k / sqrt(2)) of one query, q and every key turned by their positions
export function weightsOf({ queries, keys, query, theta }, shift) {
  const q = rotate(queries[query], (shift + query) * theta);
  const scores = keys.map((k, i) => dot(q, rotate(k, (shift + i) * theta)) / Math.SQRT2);
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

// How far the value of each word has been turned when it enters the output.
export function turnsOf({ way, values, query, theta }, shift) {
  const turn = { alone: () => 0, turned: (i) => (shift + i) * theta, turned_back: (i) => (i - query) * theta }[way];
  return values.map((_, i) => turn(i));
}

export function outputOf(state, shift) {
  const weights = weightsOf(state, shift);
  const turns = turnsOf(state, shift);
  return state.values.reduce(
    ([x, y], value, i) => {
      const arrived = rotate(value, turns[i]);
      return [x + weights[i] * arrived[0], y + weights[i] * arrived[1]];
    },
    [0, 0],
  );
}

export function apart(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

// There is as much room up as is needed, or the text is pulled back instead.
export function pushFrom(shift, limit) {
  return shift + PUSH <= limit ? PUSH : -PUSH;
}

export function lessonKind({ way, theta, shift, change }) {
  if (theta === 0) return "still";
  if (way !== "turned") return way === "alone" ? "alone" : "back";
  if (shift === 0) return "begin";
  return change < 0.005 ? "round" : "turned";
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const texts = model.get("words");
  const limit = model.get("max_shift");
  const traits = ["values", "shift", "query", "theta"];
  const start = Object.fromEntries(traits.map((name) => [name, model.get(name)]));
  // While an animation runs, the drawn shift lies between those of the model.
  let moving = null;
  let size = 320;

  const plane = svg("svg", { role: "img", "aria-label": words.plane });
  const grid = svg("path", { class: "rope-grid" }, plane);
  const axes = svg("path", { class: "rope-axis" }, plane);
  const carried = texts.map((text) => {
    const group = svg("g", { class: "rope-carried-value" }, plane);
    const value = { group, before: arrow(group, "rope-before"), after: arrow(group, "") };
    value.label = svg("text", { class: "rope-carried-word", "text-anchor": "middle" }, plane);
    value.label.textContent = text;
    return value;
  });
  const trail = svg("path", { class: "rope-carried-trail" }, plane);
  const ghost = arrow(plane, "rope-carried-output rope-before");
  const ghostTip = svg("circle", { class: "rope-carried-ghost", r: 5 }, plane);
  const output = arrow(plane, "rope-carried-output");
  const outputTip = svg("circle", { class: "rope-now", r: 6 }, plane);
  const ghostLabel = svg("text", { class: "rope-carried-start", "text-anchor": "middle" }, plane);
  ghostLabel.textContent = words.start;

  const heads = svg("svg", { role: "img", "aria-label": words.heads });
  const base = svg("path", { class: "rope-axis" }, heads);
  const columns = texts.map((text) => {
    const column = {
      frame: svg("rect", { class: "rope-carried-frame", rx: 8 }, heads),
      word: svg("text", { class: "rope-carried-name", "text-anchor": "middle" }, heads),
      position: svg("text", { class: "rope-carried-position", "text-anchor": "middle" }, heads),
      back: svg("circle", { class: "rope-dial-back" }, heads),
      q: arrow(heads, "rope-q"),
      k: arrow(heads, "rope-k"),
      bar: svg("rect", { class: "rope-carried-bar" }, heads),
      weight: svg("text", { class: "rope-carried-weight", "text-anchor": "middle", "data-report": "weight" }, heads),
    };
    column.word.textContent = text;
    return column;
  });
  const letters = ["q", "k"].map((name) => {
    const node = svg("text", { class: `rope-carried-letter rope-${name}`, "text-anchor": "middle" }, heads);
    node.textContent = name;
    return node;
  });

  const settle = () => {
    const at = moving;
    moving = null;
    if (at !== null) commit(model, { shift: Math.round(at) });
    schedule();
  };
  const animation = animator(settle);
  const setBy = (changes) => {
    animation.stop();
    commit(model, changes);
  };
  const runPush = () => {
    if (animation.running()) return animation.stop();
    const from = model.get("shift");
    const far = pushFrom(from, limit);
    if (prefersReducedMotion()) return commit(model, { shift: from + far });
    animation.start((seconds) => {
      moving = from + far * thereAndBack(seconds, 4, 0.6);
      schedule();
      return seconds < 8.6;
    });
  };

  // The choice may change while the text is on its way.
  const choose = (way) => {
    commit(model, { values: way });
    schedule();
  };
  const ways = WAYS.map((way) => {
    const node = html("button", { type: "button", class: "rope-button", role: "radio", ...OWN_KEYS }, words.ways[way]);
    node.addEventListener("click", () => choose(way));
    return node;
  });
  const choice = html(
    "div",
    {
      class: "rope-row rope-row-first rope-carried-stops",
      role: "radiogroup",
      "aria-label": words.choice,
      "data-control": "values",
    },
    ...ways,
  );
  choice.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (WAYS.indexOf(model.get("values")) + step + WAYS.length) % WAYS.length;
    choose(WAYS[next]);
    ways[next].focus();
  });
  const push = button({ name: "push_on", label: words.push, onClick: runPush });
  const reset = button({ name: "reset", label: words.reset, pressable: false, onClick: () => setBy(start) });

  const controls = {
    shift: slider({
      name: "shift",
      label: words.shift,
      tone: "position",
      min: 0,
      max: limit,
      format: tokens,
      onInput: (shift) => setBy({ shift }),
    }),
    query: slider({
      name: "query",
      label: words.query,
      tone: "q",
      min: 0,
      max: texts.length - 1,
      format: (i) => `${i}: ${texts[i]}`,
      onInput: (query) => setBy({ query }),
    }),
    theta: slider({
      name: "theta",
      label: words.theta,
      tone: "angle",
      min: 0,
      max: 90,
      toInput: degrees,
      fromInput: (value) => (value / 180) * Math.PI,
      format: (theta) =>
        fill(words.thetaValue, { radians: formatNumber(theta, 2), degrees: formatNumber(degrees(theta), 0) }),
      onInput: (theta) => setBy({ theta }),
    }),
  };
  const reports = {
    x: report("output_x"),
    y: report("output_y"),
    angle: report("output_angle", "rope-tone-score"),
    length: report("output_length", "rope-tone-score"),
    change: report("change", "rope-tone-score"),
    gap: report("gap", "rope-tone-score"),
  };
  const lessons = {
    still: words.lessonStill,
    alone: words.lessonAlone,
    back: words.lessonBack,
    begin: words.lessonTurnedBegin,
    round: words.lessonRound,
    turned: words.lessonTurned,
  };
  const lesson = html("p");
  const caption = (text) => html("p", { class: "rope-carried-caption" }, text);
  const planeBox = html("div", { class: "rope-picture" }, caption(words.captionPlane), plane);
  const headsBox = html("div", { class: "rope-picture" }, caption(words.captionHeads), heads);
  const frame = html(
    "div",
    { class: "rope-frame rope-carried" },
    choice,
    html(
      "div",
      { class: "rope-pictures" },
      planeBox,
      html("div", { class: "rope-row rope-carried-stops" }, push.node, reset.node),
      headsBox,
    ),
    html("div", { class: "rope-lesson" }, lesson),
    html("div", { class: "rope-controls" }, controls.shift.node, controls.query.node, controls.theta.node),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.output, html("span", { class: "rope-tone-score" }, "(", reports.x.node, ", ", reports.y.node, ")")),
      readout(words.angle, reports.angle.node),
      readout(words.length, reports.length.node),
      readout(words.change, reports.change.node),
      readout(words.gap, reports.gap.node),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  // Read before anything is written, so that the browser lays the page out once a frame.
  function measure() {
    const narrow = root.clientWidth < 600;
    return {
      plane: clamp(planeBox.clientWidth || 320, 200, narrow ? 300 : 340),
      width: clamp(headsBox.clientWidth || 320, 200, 400),
      narrow,
    };
  }

  function drawPlane(state, room) {
    size = room.plane;
    const [middle, unit] = [size / 2, size / (2 * EXTENT)];
    const at = ([x, y]) => [middle + x * unit, middle - y * unit];
    setAttributes(plane, {
      viewBox: `0 0 ${size} ${size}`,
      style: `width: ${size}px; height: ${size}px; margin: 0 auto`,
    });
    const lines = [-2, -1, 1, 2].map((v) => `M${middle + v * unit} 0V${size}M0 ${middle + v * unit}H${size}`);
    grid.setAttribute("d", lines.join(""));
    axes.setAttribute("d", `M${middle} 0V${size}M0 ${middle}H${size}`);
    const most = Math.max(...state.weights);
    carried.forEach((value, i) => {
      const vector = state.values[i];
      const arrived = rotate(vector, state.turns[i]);
      value.before(middle, middle, ...at(vector));
      value.after(middle, middle, ...at(arrived));
      value.group.setAttribute("opacity", (0.3 + 0.7 * (state.weights[i] / most)).toFixed(3));
      // Neighbors stand at two distances, or words of nearly one direction would overlap.
      const far = 1 + (13 + 14 * (i % 2)) / (Math.hypot(...vector) * unit);
      const [x, y] = at([arrived[0] * far, arrived[1] * far]);
      setAttributes(value.label, { x: clamp(x, 14, size - 14), y: clamp(y + 4, 12, size - 4) });
    });
    const steps = Math.ceil(state.shift * 4);
    const points = Array.from({ length: steps + 1 }, (_, i) => at(outputOf(state, (state.shift * i) / (steps || 1))));
    trail.setAttribute("d", state.change > 1e-9 || state.way === "turned" ? polylinePath(points) : "");
    ghost(middle, middle, ...at(state.atZero));
    const [gx, gy] = at(state.atZero);
    setAttributes(ghostTip, { cx: gx, cy: gy });
    output(middle, middle, ...at(state.output));
    const [ox, oy] = at(state.output);
    setAttributes(outputTip, { cx: ox, cy: oy });
    // The name of the old place stands inside the circle, where no word does.
    const moved = apart(state.output, state.atZero) * unit > 46;
    const [lx, ly] = at(
      rotate(
        state.atZero.map((value) => value * 0.62),
        -0.42,
      ),
    );
    setAttributes(ghostLabel, { x: lx, y: ly, visibility: moved ? "visible" : "hidden" });
  }

  function drawHeads(state, { width }) {
    const column = width / texts.length;
    const radius = Math.min(column / 2 - 4, 36);
    const unit = radius / 2.05;
    const dialY = 44 + radius;
    const floor = dialY + radius + 92;
    const height = floor + 24;
    setAttributes(heads, {
      viewBox: `0 0 ${width} ${height}`,
      style: `width: ${width}px; height: ${height}px; margin: 0 auto`,
    });
    base.setAttribute("d", `M0 ${floor}H${width}`);
    const q = rotate(state.queries[state.query], (state.shift + state.query) * state.theta);
    columns.forEach((part, i) => {
      const x = column * (i + 0.5);
      const k = rotate(state.keys[i], (state.shift + i) * state.theta);
      setAttributes(part.frame, {
        x: x - column / 2 + 1,
        y: 0,
        width: column - 2,
        height: 38,
        visibility: i === state.query ? "visible" : "hidden",
      });
      setAttributes(part.word, { x, y: 16 });
      setText(part.position, tokens(state.shift + i));
      setAttributes(part.position, { x, y: 33 });
      setAttributes(part.back, { cx: x, cy: dialY, r: radius });
      part.q(x, dialY, x + q[0] * unit, dialY - q[1] * unit);
      part.k(x, dialY, x + k[0] * unit, dialY - k[1] * unit);
      const tall = state.weights[i] * 64;
      const y = floor - tall;
      setAttributes(part.bar, { x: x - 12, y: y.toFixed(2), width: 24, height: tall.toFixed(2) });
      part.weight.dataset.value = state.weights[i];
      setText(part.weight, formatNumber(state.weights[i]));
      setAttributes(part.weight, { x, y: (y - 6).toFixed(2) });
    });
    // q and k are named once, in the dial of the word that looks.
    const x = column * (state.query + 0.5);
    [q, rotate(state.keys[state.query], (state.shift + state.query) * state.theta)].forEach((vector, i) => {
      const far = (radius + 2) / (Math.hypot(...vector) || 1);
      setAttributes(letters[i], { x: x + vector[0] * far, y: dialY - vector[1] * far + 4 });
    });
  }

  function update() {
    const room = measure();
    const shift = moving ?? model.get("shift");
    const state = {
      way: model.get("values"),
      shift,
      query: model.get("query"),
      theta: model.get("theta"),
      queries: model.get("queries"),
      keys: model.get("keys_before"),
      values: model.get("values_before"),
    };
    state.weights = weightsOf(state, shift);
    state.turns = turnsOf(state, shift);
    state.output = outputOf(state, shift);
    state.atZero = outputOf(state, 0);
    state.change = apart(state.output, state.atZero);
    state.gap = apart(state.output, outputOf({ ...state, way: "alone" }, shift));
    drawPlane(state, room);
    drawHeads(state, room);
    controls.shift.update(shift);
    controls.query.update(state.query);
    controls.theta.update(state.theta);
    ways.forEach((node, i) =>
      setAttributes(node, { "aria-checked": WAYS[i] === state.way, tabindex: WAYS[i] === state.way ? 0 : -1 }),
    );
    push.update(animation.running());
    const angle = Math.atan2(state.output[1], state.output[0]);
    reports.x.update(state.output[0], formatNumber(state.output[0]));
    reports.y.update(state.output[1], formatNumber(state.output[1]));
    reports.angle.update(angle, `${formatNumber(degrees(angle), 1)}°`);
    for (const [name, value] of [
      ["length", Math.hypot(...state.output)],
      ["change", state.change],
      ["gap", state.gap],
    ]) {
      reports[name].update(value, formatNumber(value));
    }
    const sentence = fill(lessons[lessonKind(state)], {
      shift: tokens(shift),
      change: formatNumber(state.change),
      gap: formatNumber(state.gap),
    });
    if (lesson.dataset.said !== sentence) {
      lesson.dataset.said = sentence;
      lesson.innerHTML = sentence;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, traits, root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
