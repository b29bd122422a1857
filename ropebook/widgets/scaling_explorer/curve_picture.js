// The picture over distance: the mean of all hands' cosines before and after, on a logarithmic axis, on
// which slowing all hands alike moves the whole curve to the right.
import { setAttributes, svg, whenChanged } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
import { polylinePath } from "../kit/paths.js";
import { panel } from "../kit/plot.js";
import { formatNumber, formatQuantity } from "../kit/text.js";
import { distancesTo, smoothMeans } from "./methods.js";

const CURVE = { left: 34, right: 12, top: 28, foot: 46 };
const CURVE_HEIGHTS = { wide: 250, narrow: 178 };
const SAMPLE = 2; // pixels

// Distances that are named on an axis of some width: powers of ten with room for their numbers, as far
// from one another as from the last.
export function namedDistances(last, width) {
  const every = Math.ceil((48 * Math.log10(last)) / width);
  const powers = Array.from({ length: 7 }, (_, i) => 10 ** (i * every));
  return [...powers.filter((power) => (1 - Math.log(power) / Math.log(last)) * width > 64), last];
}

export function curvePicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture.curve });
  const paint = layer(picture);
  // Each curve is computed again only where its own hands have changed.
  const means = Array.from({ length: 3 }, () => whenChanged(smoothMeans));

  function draw({ hands, original_length: original, new_length: last }, held, width, narrow = false) {
    const height = CURVE_HEIGHTS[narrow ? "narrow" : "wide"];
    const [right, bottom] = [width - CURVE.right, height - CURVE.foot];
    const toX = (distance) => CURVE.left + (Math.log(distance) / Math.log(last)) * (right - CURVE.left);
    const count = Math.round((right - CURVE.left) / SAMPLE);
    const distances = distancesTo(last, count);
    const curves = [hands.unscaled, held, hands.inverse].map((inverse, i) =>
      inverse ? means[i](inverse, last, count) : [],
    );
    const low = Math.min(...curves.flatMap((curve) => [...curve])) < -0.3 ? -1 : -0.3;
    const axes = panel({ left: CURVE.left, right, top: CURVE.top, bottom, low, high: 1, toX });
    const line = (curve) => polylinePath([...curve].map((mean, i) => axes.at(distances[i], mean)));
    const [ticks, levels] = [namedDistances(last, right - CURVE.left), [1, 0.5, 0, -1].filter((level) => level >= low)];
    const beyond = Math.min(toX(original), right);
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paint([
      box("rope-beyond", [beyond, CURVE.top, right - beyond, bottom - CURVE.top]),
      path("rope-grid", axes.uprights(ticks, 4) + axes.levels(levels)),
      path("rope-axis", axes.levels([0, low])),
      path("rope-scaling-original", original < last ? axes.uprights([original]) : ""),
      path("rope-scaling-unscaled", line(curves[0])),
      path("rope-scaling-held", line(curves[1])),
      path("rope-scaling-curve", line(curves[2])),
      label("rope-scaling-title", 0, 12, words.titles.curve),
      ...axes.numbersUp(levels, (value) => formatNumber(value, value % 1 ? 1 : 0)),
      ...axes.numbersAlong(ticks.slice(0, -1), formatQuantity),
      label("", right + CURVE.right - 2, bottom + 16, formatQuantity(last), "end"),
      label("", (CURVE.left + right) / 2, height - 8, words.axes.distance, "middle"),
    ]);
  }
  return { node: picture, draw };
}
