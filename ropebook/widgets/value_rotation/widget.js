import { IN_DEGREES, readout } from "../kit/controls.js";
import { arrow, html, resize, setAttributes, setText, svg, svgText, widthOf } from "../kit/dom.js";
import { clamp, degrees, dot, rotate, softmax } from "../kit/math.js";
import { thereAndBack } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { polylinePath } from "../kit/paths.js";
import { squarePlane } from "../kit/plot.js";
import { fill, formatAngle, formatNumber, tokens } from "../kit/text.js";

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
    lessons: {
      still: "No turn: the three ways are one, and positions leave no trace.",
      begin:
        "No token in front yet. The values are turned by their positions. Push the text on and watch the green arrow.",
      turned:
        "{shift} tokens in front: all weights are what they were, and yet the output has moved, by <b>{change}</b>. It spins with the absolute position.",
      round:
        "{shift} tokens in front, and the output has come full circle: <b>{change}</b> from where it was. It spins with the absolute position.",
      alone:
        "{shift} tokens in front: q and all keys have turned, no weight has changed, and the output stands still (change <b>{change}</b>).",
      back: "{shift} tokens in front, and the output stands still (change <b>{change}</b>). Each value arrives turned by its distance n − m, so it is not the plain output: <b>{gap}</b> away.",
    },
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
  return softmax(keys.map((k, i) => dot(q, rotate(k, (shift + i) * theta)) / Math.SQRT2));
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

// What is carried: each value as it was and as it arrives, and the output now and at shift 0.
function carriedPicture(words, texts) {
  const picture = svg("svg", { role: "img", "aria-label": words.plane });
  const plane = squarePlane(picture, EXTENT);
  const carried = texts.map((text) => {
    const group = svg("g", { class: "rope-carried-value" }, picture);
    const [before, after] = [arrow(group, "rope-before"), arrow(group, "")];
    return { group, before, after, label: svgText(picture, "rope-carried-word", "middle", text) };
  });
  const trail = svg("path", { class: "rope-carried-trail" }, picture);
  const ghost = arrow(picture, "rope-carried-output rope-before");
  const ghostTip = svg("circle", { class: "rope-carried-ghost", r: 5 }, picture);
  const output = arrow(picture, "rope-carried-output");
  const outputTip = svg("circle", { class: "rope-now", r: 6 }, picture);
  const ghostLabel = svgText(picture, "rope-carried-start", "middle", words.start);

  function drawOutput(state, { middle, unit, at }) {
    const steps = Math.ceil(state.shift * 4);
    const points = Array.from({ length: steps + 1 }, (_, i) =>
      at(outputOf(state.head, (state.shift * i) / (steps || 1))),
    );
    setAttributes(trail, { d: state.change > 1e-9 || state.head.way === "turned" ? polylinePath(points) : "" });
    const [[gx, gy], [ox, oy]] = [at(state.atZero), at(state.output)];
    ghost(middle, middle, gx, gy);
    output(middle, middle, ox, oy);
    setAttributes(ghostTip, { cx: gx, cy: gy });
    setAttributes(outputTip, { cx: ox, cy: oy });
    // The name of the old place stands inside the circle, where no word does.
    const within = state.atZero.map((value) => value * 0.62);
    const [x, y] = at(rotate(within, -0.42));
    setAttributes(ghostLabel, { x, y, visibility: state.change * unit > 46 ? "visible" : "hidden" });
  }

  function draw(state, size) {
    const scales = plane.resize(size);
    const { middle, unit, at } = scales;
    const most = Math.max(...state.weights);
    carried.forEach(({ group, before, after, label }, i) => {
      const arrived = rotate(state.head.values[i], state.turns[i]);
      before(middle, middle, ...at(state.head.values[i]));
      after(middle, middle, ...at(arrived));
      setAttributes(group, { opacity: (0.3 + 0.7 * (state.weights[i] / most)).toFixed(3) });
      // Neighbors stand at two distances, or words of nearly one direction would overlap.
      const far = 1 + (13 + 14 * (i % 2)) / (Math.hypot(...arrived) * unit);
      const [x, y] = at([arrived[0] * far, arrived[1] * far]);
      setAttributes(label, { x: clamp(x, 14, size - 14), y: clamp(y + 4, 12, size - 4) });
    });
    drawOutput(state, scales);
  }
  return { node: picture, draw };
}

// What is compared: for each word, q and its key as turned, and its weight as a bar.
function comparedPicture(words, texts) {
  const picture = svg("svg", { role: "img", "aria-label": words.heads });
  const base = svg("path", { class: "rope-axis" }, picture);
  const columns = texts.map((text) => ({
    frame: svg("rect", { class: "rope-carried-frame", rx: 8 }, picture),
    word: svgText(picture, "rope-carried-name", "middle", text),
    position: svgText(picture, "rope-carried-position", "middle"),
    back: svg("circle", { class: "rope-dial-back" }, picture),
    q: arrow(picture, "rope-q"),
    k: arrow(picture, "rope-k"),
    bar: svg("rect", { class: "rope-carried-bar" }, picture),
    weight: setAttributes(svgText(picture, "rope-carried-weight", "middle"), { "data-report": "weight" }),
  }));
  const letters = ["q", "k"].map((name) => svgText(picture, `rope-carried-letter rope-${name}`, "middle", name));

  function draw({ head, weights }, width) {
    const column = width / texts.length;
    const radius = Math.min(column / 2 - 4, 36);
    const unit = radius / 2.05;
    const dialY = 44 + radius;
    const floor = dialY + radius + 92;
    resize(picture, width, floor + 24);
    setAttributes(base, { d: `M0 ${floor}H${width}` });
    const q = rotate(head.queries[head.query], (head.shift + head.query) * head.theta);
    const keys = head.keys.map((key, i) => rotate(key, (head.shift + i) * head.theta));
    columns.forEach((part, i) => {
      const x = column * (i + 0.5);
      const visibility = i === head.query ? "visible" : "hidden";
      setAttributes(part.frame, { x: x - column / 2 + 1, y: 0, width: column - 2, height: 38, visibility });
      setAttributes(part.word, { x, y: 16 });
      setText(part.position, tokens(head.shift + i));
      setAttributes(part.position, { x, y: 33 });
      setAttributes(part.back, { cx: x, cy: dialY, r: radius });
      part.q(x, dialY, x + q[0] * unit, dialY - q[1] * unit);
      part.k(x, dialY, x + keys[i][0] * unit, dialY - keys[i][1] * unit);
      const tall = weights[i] * 64;
      const y = floor - tall;
      setAttributes(part.bar, { x: x - 12, y: y.toFixed(2), width: 24, height: tall.toFixed(2) });
      part.weight.dataset.value = weights[i];
      setText(part.weight, formatNumber(weights[i]));
      setAttributes(part.weight, { x, y: (y - 6).toFixed(2) });
    });
    // q and k are named once, in the dial of the word that looks.
    const x = column * (head.query + 0.5);
    [q, keys[head.query]].forEach((vector, i) => {
      const far = (radius + 2) / (Math.hypot(...vector) || 1);
      setAttributes(letters[i], { x: x + vector[0] * far, y: dialY - vector[1] * far + 4 });
    });
  }
  return { node: picture, draw };
}

// All that is drawn and said of one state.
export function survey(head) {
  const output = outputOf(head, head.shift);
  const atZero = outputOf(head, 0);
  const gap = apart(output, outputOf({ ...head, way: "alone" }, head.shift));
  const [weights, turns] = [weightsOf(head, head.shift), turnsOf(head, head.shift)];
  return { head, output, atZero, weights, turns, change: apart(output, atZero), gap };
}

function build({ words, model, commit, lesson, chooser, buttons, sliders, show }) {
  const texts = model.get("words");
  const limit = model.get("max_shift");
  const given = { queries: model.get("queries"), keys: model.get("keys_before"), values: model.get("values_before") };
  const carried = carriedPicture(words, texts);
  const compared = comparedPicture(words, texts);
  const caption = (text) => html("p", { class: "rope-carried-caption" }, text);
  const planeBox = html("div", { class: "rope-picture" }, caption(words.captionPlane), carried.node);
  const headsBox = html("div", { class: "rope-picture" }, caption(words.captionHeads), compared.node);
  const choice = chooser("values", {
    className: "rope-row rope-row-first rope-carried-stops",
    label: words.choice,
    options: WAYS.map((way) => [way, words.ways[way]]),
    // The choice may change while the text is on its way.
    onChoose: (values) => commit({ values }),
  });
  const pushOn = ({ shift }) => {
    const far = pushFrom(shift, limit);
    const at = (seconds) => ({ shift: shift + far * thereAndBack(seconds, 4, 0.6) });
    return { still: { shift: shift + far }, seconds: 8.6, at };
  };
  const stops = buttons({
    push_on: { label: words.push, play: pushOn },
    reset: { label: words.reset, reset: true },
  });
  const formatTheta = (theta) =>
    fill(words.thetaValue, { radians: formatNumber(theta, 2), degrees: formatNumber(degrees(theta), 0) });
  const controls = sliders({
    shift: { label: words.shift, tone: "position", min: 0, max: limit, format: tokens },
    query: { label: words.query, tone: "q", min: 0, max: texts.length - 1, format: (i) => `${i}: ${texts[i]}` },
    theta: { label: words.theta, tone: "angle", min: 0, max: 90, ...IN_DEGREES, format: formatTheta },
  });
  const tone = "score";
  const angle = ({ output: [x, y] }) => Math.atan2(y, x);
  const tip = [show("output_x", ({ output }) => output[0]), ", ", show("output_y", ({ output }) => output[1])];
  const readouts = [
    readout(words.output, html("span", { class: "rope-tone-score" }, "(", ...tip, ")")),
    readout(words.angle, show("output_angle", angle, { format: formatAngle, tone })),
    readout(
      words.length,
      show("output_length", ({ output }) => Math.hypot(...output), { tone }),
    ),
    readout(
      words.change,
      show("change", ({ change }) => change, { tone }),
    ),
    readout(
      words.gap,
      show("gap", ({ gap }) => gap, { tone }),
    ),
  ];
  const row = html("div", { class: "rope-row rope-carried-stops" }, ...stops);
  return {
    node: html(
      "div",
      { class: "rope-frame rope-carried" },
      choice,
      html("div", { class: "rope-pictures" }, planeBox, row, headsBox),
      lesson,
      html("div", { class: "rope-controls" }, ...controls),
      html("div", { class: "rope-readouts" }, ...readouts),
    ),
    measure: (narrow) => ({
      plane: widthOf(planeBox, 200, narrow ? 300 : 340),
      heads: widthOf(headsBox, 200, 400),
    }),
    derive: (state) => survey({ ...state, ...given, way: state.values }),
    draw(state, room) {
      carried.draw(state, room.plane);
      compared.draw(state, room.heads);
    },
    lesson: ({ head, change, gap }) =>
      fill(words.lessons[lessonKind({ ...head, change })], {
        shift: tokens(head.shift),
        change: formatNumber(change),
        gap: formatNumber(gap),
      }),
  };
}

const render = mount({ words: WORDS, traits: ["values", "shift", "query", "theta"], build });

export default { render };
