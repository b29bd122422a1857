// Four pairs as four planes: where each was, where it should be, and where it is.
import { setAttributes, svg } from "../kit/dom.js";
import { label, layer, path, vector } from "../kit/layer.js";
import { formatAngle, formatNumber } from "../kit/text.js";

const LEFT = 50;
const LINE = 19;
// How far a pair that has grown is drawn, in lengths of its own.
const FAR = 1.12;

function circle([x, y], r) {
  return ["circle", { class: "rope-circle", cx: x, cy: y, r }];
}

function reported(name, value) {
  return { "data-report": name, "data-value": value };
}

export function pairsPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);

  // `pairs` as measured, and whether anything came back that could be.
  function draw(pairs, readable, width) {
    const cell = (width - LEFT) / pairs.length;
    const radius = Math.min((cell / 2 - 4) / FAR, 66);
    const middle = 2 * LINE + FAR * radius;
    const row = (i) => middle + FAR * radius + 16 + i * LINE;
    const height = row(2) + 8;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    const rows = [words.rows.pair, words.rows.places].map((text, i) => label("", 0, 12 + i * LINE, text));
    const names = [words.rows.turned, words.rows.wanted, words.rows.length];
    paint([
      ...rows,
      ...names.map((text, i) => label(i ? "" : "rope-vector-yours", 0, row(i), text)),
      ...pairs.map((pair, i) => ["g", {}, plane(pair, i, readable, LEFT + (i + 0.5) * cell, middle, radius, row)]),
    ]);
  }
  return { node: picture, draw };
}

function plane({ before, after, should, ...pair }, i, readable, x, y, radius, row) {
  const unit = radius / Math.hypot(...before);
  const at = (point, most = Infinity) => {
    const scale = Math.min(unit, (most * radius) / Math.hypot(...point)) || 0;
    return [x + point[0] * scale, y - point[1] * scale];
  };
  const origin = [x, y];
  const end = at(should);
  const mark = !readable ? "" : pair.fits ? " ✓" : " ✗";
  const number = (name, k, value, text, tone = "") => {
    const shown = readable || name === "wanted";
    return label(tone, x, row(k), shown ? text : "–", "middle", reported(name, shown ? value : NaN));
  };
  return [
    label(readable ? (pair.fits ? "rope-vector-fits" : "rope-vector-off") : "", x, 12, `${i}${mark}`, "middle"),
    label("", x, 12 + LINE, pair.places.join(", "), "middle"),
    circle(origin, radius),
    path("rope-vector-right", Number.isNaN(pair.wanted) ? "" : `M${x} ${y}L${end[0]} ${end[1]}`),
    vector("rope-vector-x", origin, at(before)),
    vector("rope-vector-yours", origin, readable ? at(after, FAR) : origin),
    number("turned", 0, pair.turned, formatAngle(pair.turned), "rope-vector-yours"),
    number("wanted", 1, pair.wanted, formatAngle(pair.wanted)),
    number("length", 2, pair.length, pair.length < 1000 ? `${formatNumber(pair.length)} ×` : "> 999 ×"),
  ];
}

// Samples for a legend.
export const MARKS = {
  before: (node) => layer(node)([vector("rope-vector-x", [1, 8], [27, 8])]),
  should: (node) => layer(node)([path("rope-vector-right", "M3 8L25 8")]),
  yours: (node) => layer(node)([vector("rope-vector-yours", [1, 8], [27, 8])]),
};
