// The picture of the inspector: wavelengths before and after scaling, and below how much each pair is slowed.
import { setAttributes, setText, svg, svgText, svgTexts, whenChanged } from "../kit/dom.js";
import { TAU, clamp } from "../kit/math.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatQuantity, superscript } from "../kit/text.js";

// Where everything stands: wavelengths above, how much each pair is slowed below.
export const PLOT = { left: 46, right: 8, top: 16, floor: 226, stretchTop: 278, stretchFloor: 352, height: 388 };

function planOf({ spec, unscaled, length, waves, slowed }, width) {
  const finite = [...waves, ...unscaled.map((f) => TAU / f)].filter(Number.isFinite);
  const rest = !waves.every(Number.isFinite);
  const original = spec.trained ?? length;
  const high = Math.log10(Math.max(length ?? 1, original ?? 1, ...finite) * 1.7);
  const low = Math.log10(Math.min(...finite) * 0.8);
  const toY = linearScale(low, high, PLOT.floor, PLOT.top + (rest ? 26 : 0));
  const right = width - PLOT.right;
  const step = (right - PLOT.left) / waves.length;
  const most = Math.max(2, ...slowed.filter(Number.isFinite));
  const toStretch = linearScale(Math.log(Math.min(1, ...slowed)), Math.log(most), PLOT.stretchFloor, PLOT.stretchTop);
  return {
    ...{ rest, original, high, low, toY, right, step, most },
    xOf: (pair) => PLOT.left + (pair + 0.5) * step,
    yOf: (wave) => (Number.isFinite(wave) ? toY(Math.log10(wave)) : PLOT.top + 6),
    stretchY: (times) => toStretch(Math.log(times)),
    across: (y) => `M${PLOT.left} ${y}H${right}`,
  };
}

export function wavesPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const shape = (tag, className, more = {}) => svg(tag, { class: `rope-${className}`, ...more }, picture);
  const path = (className) => shape("path", className);
  const beyond = shape("rect", "beyond", { rx: 4 });
  const [grid, axis] = ["grid", "axis"].map(path);
  const texts = svg("g", {}, picture);
  svgText(texts, "", "start", words.axes.wavelength, { x: 0, y: 8 });
  svgText(texts, "", "start", words.axes.stretch, { x: 0, y: PLOT.stretchTop - 12 });
  const [drawLevels, drawFeet] = ["end", "middle"].map((anchor) => svgTexts(texts, "", anchor));
  const [chosenLine, originalLine, contextLine] = ["config-chosen", "config-original", "context-line"].map(path);
  const [stems, ghosts, stretchCurve] = ["config-stem", "config-ghost", "config-stretch"].map(path);
  const stretchDot = shape("circle", "config-stretch-dot", { r: 4 });
  const dots = svg("g", {}, picture);
  const chosenDot = shape("rect", "wave-chosen", { width: 14, height: 14, rx: 3 });
  const labels = ["context-label", "config-original-label"].map((name) => svgText(picture, `rope-${name}`));

  // Decades above, the factor below, pair numbers at the foot of both.
  function drawAxes({ low, high, right, rest, toY, xOf, stretchY, most, across }, pairs) {
    const decades = Math.max(1, Math.ceil((high - low) / 10));
    const levels = [...new Set([1, most])].map((times) => [stretchY(times), formatQuantity(times)]);
    for (let power = Math.ceil(low); power <= high; power += decades) {
      levels.push([toY(power), power < 4 ? formatQuantity(10 ** power) : `10${superscript(power)}`]);
    }
    setAttributes(grid, { d: levels.map(([y]) => across(y)).join("") });
    setAttributes(axis, { d: across(PLOT.floor) + across(PLOT.stretchFloor) });
    if (rest) levels.push([PLOT.top + 6, words.amounts.endless]);
    drawLevels(levels.map(([y, said]) => [said, { x: PLOT.left - 6, y: y + 4 }]));
    const ends = [0, pairs - 1].map((pair) => [String(pair), xOf(pair)]);
    const feet = ends.flatMap(([said, x]) =>
      [PLOT.floor, PLOT.stretchFloor].map((foot) => [said, { x, y: foot + 15 }]),
    );
    drawFeet([...feet, [words.axes.pair, { x: (PLOT.left + right) / 2, y: PLOT.stretchFloor + 31 }]]);
  }

  // The context, and the length of training where it is another.
  function drawLengths({ right, yOf, original, across }, { spec, length }) {
    const [endless, apart] = [length === null, original !== length];
    const lineY = endless ? PLOT.top - 4 : yOf(length);
    const originalY = original === null ? lineY : yOf(original);
    setAttributes(beyond, { x: PLOT.left, y: PLOT.top - 4, width: right - PLOT.left, height: lineY - PLOT.top + 4 });
    setAttributes(contextLine, { d: endless ? "" : across(lineY) });
    setAttributes(originalLine, { d: apart ? across(originalY) : "" });
    const name = (line, tokens) => fill(words.lines[line], { value: formatQuantity(tokens) });
    // Of two lines close together, the upper has its name above it and the lower below.
    const beside = (y, other) => ({ x: PLOT.left + 5, y: y + (y > other && y - other < 34 ? 14 : -5) });
    const context = endless ? "" : name(length === spec.maxSeqLen ? "context" : "text", length);
    setText(labels[0], context, beside(lineY, apart ? originalY : Infinity));
    setText(labels[1], apart ? name("trained", original) : "", beside(originalY, lineY));
  }

  function drawPairs({ step, xOf, yOf, stretchY }, { inverse, unscaled, length, waves, slowed }) {
    const [size, wide] = [clamp(step * 0.42, 1.8, 4.2), clamp(step * 0.4, 1.5, 5)];
    const at = waves.map((wave, i) => ({ x: xOf(i), y: yOf(wave), ghost: yOf(TAU / unscaled[i]), rests: !inverse[i] }));
    const moved = at.filter(({ y, ghost }) => Math.abs(ghost - y) >= 1);
    const stretched = moved.filter(({ rests }) => !rests);
    setAttributes(stems, { d: stretched.map(({ x, y, ghost }) => `M${x} ${ghost}V${y + size}`).join("") });
    setAttributes(ghosts, { d: moved.map(({ x, ghost }) => `M${x - wide} ${ghost}H${x + wide}`).join("") });
    dots.replaceChildren();
    at.forEach(({ x, y }, i) => {
      const never = length !== null && waves[i] > length;
      const told = { "data-report": "wave", "data-pair": i, "data-value": inverse[i], "data-never": never };
      svg("circle", { cx: x, cy: y, r: size, class: never ? "rope-wave-never" : "rope-wave", ...told }, dots);
    });
    const shown = slowed.flatMap((times, i) => (Number.isFinite(times) ? [[xOf(i), stretchY(times)]] : []));
    setAttributes(stretchCurve, { d: polylinePath(shown) });
  }

  const drawSeen = whenChanged((seen, width) => {
    if (!seen) return dots.replaceChildren();
    const plan = planOf(seen, width);
    setAttributes(picture, { viewBox: `0 0 ${width} ${PLOT.height}`, height: PLOT.height });
    drawAxes(plan, seen.waves.length);
    drawLengths(plan, seen);
    drawPairs(plan, seen);
    return plan;
  });

  // Another pair moves its marks alone.
  function draw({ spec, inverse, unscaled, length, waves, slowed }, pair, width) {
    const { xOf, yOf, stretchY } = drawSeen({ spec, inverse, unscaled, length, waves, slowed }, width);
    const [cx, still] = [xOf(pair), !Number.isFinite(slowed[pair])];
    setAttributes(chosenLine, { d: `M${cx} ${PLOT.top}V${PLOT.stretchFloor}` });
    setAttributes(chosenDot, { x: cx - 7, y: yOf(waves[pair]) - 7 });
    setAttributes(stretchDot, { cx, cy: still ? PLOT.stretchTop : stretchY(slowed[pair]) });
    stretchDot.style.display = still ? "none" : "";
  }
  // A text that cannot be read has no pairs.
  return { node: picture, draw, clear: () => drawSeen(null) };
}

// The marks of the legend.
const middle = { cx: 11, cy: 11, r: 4 };
export const MARKS = {
  turns: (sample) => svg("circle", { class: "rope-wave", ...middle }, sample),
  never: (sample) => svg("circle", { class: "rope-wave-never", ...middle }, sample),
  ghost(sample) {
    svg("path", { class: "rope-config-stem", d: "M11 3V15" }, sample);
    svg("path", { class: "rope-config-ghost", d: "M6 16H16" }, sample);
  },
};
