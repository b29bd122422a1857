// The picture of the inspector: wavelengths before and after scaling, and below how much each pair is slowed.
import { setAttributes, setText, svg, svgText, whenChanged } from "../kit/dom.js";
import { TAU, clamp } from "../kit/math.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatQuantity, superscript } from "../kit/text.js";
import { slowdowns } from "./scaled_frequencies.js";

export const PLOT = { left: 46, right: 8, top: 16, height: 210, gap: 40, stretch: 74, bottom: 36 };

// Where everything stands: wavelengths above, how much each pair is slowed below.
function planOf({ spec, inverse, unscaled, length }, width) {
  const stretches = slowdowns({ unscaled, inverse });
  const waves = inverse.map((f) => TAU / f);
  const rest = inverse.some((f) => f === 0);
  const finite = [...waves, ...unscaled.map((f) => TAU / f)].filter(Number.isFinite);
  const original = spec.trained ?? length;
  const high = Math.log10(Math.max(length ?? 1, original ?? 1, ...finite) * 1.7);
  const low = Math.log10(Math.min(...finite) * 0.8);
  const floor = PLOT.top + PLOT.height;
  const toY = linearScale(low, high, floor, PLOT.top + (rest ? 26 : 0));
  const step = (width - PLOT.left - PLOT.right) / inverse.length;
  const stretchTop = floor + PLOT.gap;
  const stretchFloor = stretchTop + PLOT.stretch;
  const most = Math.max(2, ...stretches.filter(Number.isFinite));
  const toStretch = linearScale(Math.log(Math.min(1, ...stretches)), Math.log(most), stretchFloor, stretchTop);
  return {
    ...{ stretches, waves, rest, original, low, high, floor, toY, step, stretchTop, stretchFloor, most, width },
    right: width - PLOT.right,
    xOf: (pair) => PLOT.left + (pair + 0.5) * step,
    yOf: (wave) => (Number.isFinite(wave) ? toY(Math.log10(wave)) : PLOT.top + 6),
    stretchY: (times) => toStretch(Math.log(times)),
  };
}

export function wavesPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const shape = (tag, className, more = {}) => svg(tag, { class: className, ...more }, picture);
  const beyond = shape("rect", "rope-beyond", { rx: 4 });
  const marks = shape("g", "");
  const lines = ["config-chosen", "config-original", "context-line"].map((name) => shape("path", `rope-${name}`));
  const [chosenLine, originalLine, contextLine] = lines;
  const stems = shape("g", "");
  const stretchCurve = shape("path", "rope-config-stretch");
  const stretchDot = shape("circle", "rope-config-stretch-dot", { r: 4 });
  const dots = shape("g", "");
  const chosenDot = shape("circle", "rope-wave-chosen", { r: 7 });
  const [contextLabel, originalLabel] = ["context-label", "config-original-label"].map((name) =>
    svgText(picture, `rope-${name}`),
  );

  // Axes: decades above, the factor below, pair numbers at the foot of both.
  function drawAxes({ low, high, floor, right, rest, toY, xOf, stretchTop, stretchFloor, stretchY, most }, pairs) {
    marks.replaceChildren();
    const text = (x, y, content, anchor = "end") => setAttributes(svgText(marks, "", anchor, content), { x, y });
    const level = (y, content) => text(PLOT.left - 6, y + 4, content);
    const rule = (y, name = "rope-grid") => svg("path", { class: name, d: `M${PLOT.left} ${y}H${right}` }, marks);
    const decades = Math.max(1, Math.ceil((high - low) / 10));
    for (let power = Math.ceil(low); power <= high; power += decades) {
      rule(toY(power));
      level(toY(power), power < 4 ? formatQuantity(10 ** power) : `10${superscript(power)}`);
    }
    if (rest) level(PLOT.top + 6, words.amounts.endless);
    text(0, 8, words.axes.wavelength, "start");
    rule(floor, "rope-axis");
    text(0, stretchTop - 12, words.axes.stretch, "start");
    rule(stretchFloor, "rope-axis");
    for (const value of new Set([1, most])) {
      rule(stretchY(value));
      level(stretchY(value), formatQuantity(value));
    }
    for (const pair of [0, pairs - 1]) {
      for (const foot of [floor, stretchFloor]) text(xOf(pair), foot + 15, String(pair), "middle");
    }
    text((PLOT.left + right) / 2, stretchFloor + 31, words.axes.pair, "middle");
  }

  // The context, and the length of training where it is another.
  function drawLengths({ right, yOf, original }, { spec, length }) {
    const endless = length === null;
    const lineY = endless ? PLOT.top - 4 : yOf(length);
    const originalY = original === null ? lineY : yOf(original);
    const apart = original !== length;
    setAttributes(beyond, { x: PLOT.left, y: PLOT.top - 4, width: right - PLOT.left, height: lineY - PLOT.top + 4 });
    setAttributes(contextLine, { d: endless ? "" : `M${PLOT.left} ${lineY}H${right}` });
    setAttributes(originalLine, { d: apart ? `M${PLOT.left} ${originalY}H${right}` : "" });
    const contextText = length === spec.maxSeqLen ? words.lines.context : words.lines.text;
    setText(contextLabel, endless ? "" : fill(contextText, { value: formatQuantity(length) }));
    setText(originalLabel, apart ? fill(words.lines.trained, { value: formatQuantity(original) }) : "");
    // Of two lines close together, the upper has its name above it and the lower below.
    const above = (y, other) => y + (y > other && y - other < 34 ? 14 : -5);
    setAttributes(contextLabel, { x: PLOT.left + 5, y: above(lineY, apart ? originalY : Infinity) });
    setAttributes(originalLabel, { x: PLOT.left + 5, y: above(originalY, lineY) });
  }

  function drawPairs({ waves, stretches, step, xOf, yOf, stretchY }, { inverse, unscaled, length }) {
    const size = clamp(step * 0.42, 1.8, 4.2);
    const wide = clamp(step * 0.4, 1.5, 5);
    stems.replaceChildren();
    dots.replaceChildren();
    waves.forEach((wave, i) => {
      const [x, y, ghost] = [xOf(i), yOf(wave), yOf(TAU / unscaled[i])];
      const moved = Math.abs(ghost - y) >= 1;
      if (moved && inverse[i]) svg("path", { class: "rope-config-stem", d: `M${x} ${ghost}V${y + size}` }, stems);
      if (moved) svg("path", { class: "rope-config-ghost", d: `M${x - wide} ${ghost}H${x + wide}` }, stems);
      const never = length !== null && wave > length;
      const told = { "data-report": "wave", "data-pair": i, "data-value": inverse[i], "data-never": never };
      svg("circle", { cx: x, cy: y, r: size, class: never ? "rope-wave-never" : "rope-wave", ...told }, dots);
    });
    const shown = stretches.flatMap((times, i) => (Number.isFinite(times) ? [[xOf(i), stretchY(times)]] : []));
    setAttributes(stretchCurve, { d: polylinePath(shown) });
  }

  const drawSeen = whenChanged((seen, width) => {
    if (!seen) return dots.replaceChildren();
    const plan = planOf(seen, width);
    const height = plan.stretchFloor + PLOT.bottom;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    drawAxes(plan, seen.inverse.length);
    drawLengths(plan, seen);
    drawPairs(plan, seen);
    return plan;
  });

  // Another pair moves its marks alone.
  function draw({ spec, inverse, unscaled, length }, pair, width) {
    const plan = drawSeen({ spec, inverse, unscaled, length }, width);
    const { waves, stretches, stretchTop, stretchFloor, stretchY } = plan;
    const [cx, still] = [plan.xOf(pair), !Number.isFinite(stretches[pair])];
    setAttributes(chosenLine, { d: `M${cx} ${PLOT.top}V${stretchFloor}` });
    setAttributes(chosenDot, { cx, cy: plan.yOf(waves[pair]) });
    setAttributes(stretchDot, { cx, cy: still ? stretchTop : stretchY(stretches[pair]) });
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
