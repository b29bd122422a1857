import { freePlace } from "../kit/apart.js";
import { IN_DEGREES } from "../kit/controls.js";
import { div, html, resize, svg, widthOf } from "../kit/dom.js";
import { box, disc, label, layer, path, vector } from "../kit/layer.js";
import { clamp, dot, rotate, softmax } from "../kit/math.js";
import { thereAndBack } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { polylinePath } from "../kit/paths.js";
import { nowDot, squarePlane } from "../kit/plot.js";
import { fill, formatAngle, formatNumber, formatTurn, tokens } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Value rotation: what is compared is turned; what is carried is turned or not",
    carried: {
      picture: "What is carried: the values as they arrive, and the output, their weighted mean",
      caption: "What is carried: values (gray, darker where the weight is larger), output (green)",
      start: "shift 0",
    },
    compared: {
      picture: "What is compared: the query with each key, both turned by their positions, and the weights",
      caption: "What is compared: q with each key, turned by their positions. Below: the weights",
    },
    choice: "values",
    ways: { alone: "values left alone", turned: "values turned too", turned_back: "turned, output turned back" },
    stops: { push: "push the text on", reset: "reset" },
    shift: "shift: tokens in front of the text",
    query: "query: the word that looks",
    theta: "θ per token",
    turn: "{radians} rad ({degrees}°)",
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
    output: { point: "output", angle: "its angle", length: "its length" },
    away: { change: "moved since shift 0", gap: "from “left alone”" },
  },
};

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
function carriedPicture(said, texts) {
  const picture = svg("svg", { role: "img", "aria-label": said.picture });
  const plane = squarePlane(picture, EXTENT);
  const paint = layer(picture);

  function valueShapes({ head, weights, turns }, i, { size, origin, unit, at }, taken) {
    const arrived = rotate(head.values[i], turns[i]);
    const arrows = [vector("rope-before", origin, at(head.values[i])), vector("", origin, at(arrived))];
    const opacity = (0.3 + 0.7 * (weights[i] / Math.max(...weights))).toFixed(3);
    // A word stands beyond its tip, as near as no other word is covered.
    const places = [13, 27, 41, 55].map((beyond) => {
      const [x, y] = at(arrived.map((part) => part * (1 + beyond / (Math.hypot(...arrived) * unit))));
      return [clamp(x, 14, size - 14), clamp(y, 10, size - 8)];
    });
    const [x, y] = freePlace(places, 4 + 8 * texts[i].length, 15, taken);
    return [
      ["g", { class: "rope-carried-value", opacity }, arrows],
      label("rope-carried-word", x, y + 4, texts[i], "middle"),
    ];
  }

  function draw(state, size) {
    const scales = plane.resize(size);
    const { head, change } = state;
    const { origin, unit, at } = scales;
    const taken = [];
    const steps = Math.ceil(head.shift * 4);
    const passed = Array.from({ length: steps + 1 }, (_, i) => at(outputOf(head, (head.shift * i) / (steps || 1))));
    const trail = change > 1e-9 || head.way === "turned" ? polylinePath(passed) : "";
    const [ghost, output] = [at(state.atZero), at(state.output)];
    // The name of the old place stands inside the circle, where no word does.
    const within = state.atZero.map((value) => value * 0.62);
    const [x, y] = at(rotate(within, -0.42));
    paint([
      ...texts.flatMap((_, i) => valueShapes(state, i, scales, taken)),
      path("rope-carried-trail", trail),
      vector("rope-carried-output rope-before", origin, ghost),
      disc("rope-carried-ghost", ghost, 3),
      vector("rope-carried-output", origin, output),
      nowDot(output),
      label("rope-carried-start", x, y, change * unit > 46 ? said.start : "", "middle"),
    ]);
  }
  return { node: picture, draw };
}

// What is compared: for each word, q and its key as turned, and its weight as a bar.
function comparedPicture(said, texts) {
  const picture = svg("svg", { role: "img", "aria-label": said.picture });
  const paint = layer(picture);

  function draw({ head, weights }, width) {
    const column = width / texts.length;
    const radius = Math.min(column / 2 - 4, 36);
    const unit = radius / 2.05;
    const dialY = 44 + radius;
    const floor = dialY + radius + 92;
    const q = rotate(head.queries[head.query], (head.shift + head.query) * head.theta);
    const keys = head.keys.map((key, i) => rotate(key, (head.shift + i) * head.theta));
    const chosen = column * (head.query + 0.5);
    const shapesOf = (text, i) => {
      const x = column * (i + 0.5);
      const tip = ([across, up]) => [x + across * unit, dialY - up * unit];
      const tall = weights[i] * 64;
      const reported = { "data-report": "weight", "data-value": weights[i] };
      return [
        label("rope-carried-name", x, 16, text, "middle"),
        label("rope-carried-position", x, 33, tokens(head.shift + i), "middle"),
        disc("rope-dial-back", [x, dialY], radius),
        vector("rope-q", [x, dialY], tip(q)),
        vector("rope-k", [x, dialY], tip(keys[i])),
        box(
          "rope-carried-bar",
          [x - 12, floor - tall, 24, tall].map((part) => part.toFixed(2)),
        ),
        label("rope-carried-weight", x, (floor - tall - 6).toFixed(2), formatNumber(weights[i]), "middle", reported),
      ];
    };
    // q and k are named once, in the dial of the word that looks.
    const letters = [q, keys[head.query]].map(([across, up], i) => {
      const far = (radius + 2) / (Math.hypot(across, up) || 1);
      const [x, y] = [chosen + across * far, dialY - up * far + 4];
      return label(`rope-carried-letter rope-${"qk"[i]}`, x, y, "qk"[i], "middle");
    });
    resize(picture, width, floor + 24);
    paint([
      path("rope-axis", `M0 ${floor}H${width}`),
      box("rope-carried-frame", [chosen - column / 2 + 1, 0, column - 2, 38], { rx: 8 }),
      ...texts.flatMap(shapesOf),
      ...letters,
    ]);
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

function build({ words, model, commit, lesson, chooser, buttons, sliders, readouts }) {
  const texts = model.get("words");
  const limit = model.get("max_shift");
  const given = { queries: model.get("queries"), keys: model.get("keys_before"), values: model.get("values_before") };
  const carried = carriedPicture(words.carried, texts);
  const compared = comparedPicture(words.compared, texts);
  const boxOf = (caption, { node }) => div("rope-picture", html("p", { class: "rope-carried-caption" }, caption), node);
  const planeBox = boxOf(words.carried.caption, carried);
  planeBox.classList.add("rope-stays");
  const headsBox = boxOf(words.compared.caption, compared);
  const choice = chooser("values", {
    className: "rope-row rope-row-first rope-carried-stops",
    label: words.choice,
    options: Object.entries(words.ways),
    // The choice may change while the text is on its way.
    onChoose: (values) => commit({ values }),
  });
  const pushOn = ({ shift }) => {
    const far = pushFrom(shift, limit);
    const at = (seconds) => ({ shift: shift + far * thereAndBack(seconds, 4, 0.6) });
    return { still: { shift: shift + far }, seconds: 8.6, at };
  };
  const stops = buttons({
    push_on: { label: words.stops.push, play: pushOn },
    reset: { label: words.stops.reset, reset: true },
  });
  const inDegrees = { tone: "angle", min: 0, max: 90, ...IN_DEGREES, format: formatTurn(words.turn) };
  const controls = sliders({
    shift: { label: words.shift, tone: "position", min: 0, max: limit, format: tokens },
    query: {
      label: words.query,
      tone: "q",
      min: 0,
      max: texts.length - 1,
      format: (i) => `${i}: ${texts[i]}`,
    },
    theta: { label: words.theta, ...inDegrees },
  });
  const tone = "score";
  const angle = ({ output: [x, y] }) => Math.atan2(y, x);
  const numbers = readouts({
    output: { label: words.output.point, point: ({ output }) => output, tone },
    output_angle: { label: words.output.angle, value: angle, format: formatAngle, tone },
    output_length: { label: words.output.length, value: ({ output }) => Math.hypot(...output), tone },
    change: { label: words.away.change, tone },
    gap: { label: words.away.gap, tone },
  });
  return {
    node: div(
      "rope-frame rope-carried",
      choice,
      div("rope-pictures", planeBox, div("rope-row rope-carried-stops", ...stops), headsBox),
      lesson,
      div("rope-controls", ...controls),
      div("rope-readouts", ...numbers),
    ),
    measure: (narrow) => ({ plane: widthOf(planeBox, 200, narrow ? 300 : 340), heads: widthOf(headsBox, 200, 400) }),
    derive: (state) => survey({ ...state, ...given, way: state.values }),
    draw(state, room) {
      carried.draw(state, room.plane);
      compared.draw(state, room.heads);
    },
    lesson: ({ head, change, gap }) =>
      fill(words.lessons[lessonKind({ ...head, change })], {
        ...{ shift: tokens(head.shift), change: formatNumber(change), gap: formatNumber(gap) },
      }),
  };
}

export default { render: mount({ words: WORDS, traits: ["values", "shift", "query", "theta"], build }) };
