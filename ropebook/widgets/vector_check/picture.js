// Four pairs as four planes: where each was, where it should be, and where it is.
import { div, setAttributes, svg } from "../kit/dom.js";
import { disc, label, layer, path, vector } from "../kit/layer.js";
import { fill, formatAngle, formatNumber } from "../kit/text.js";
import { lens } from "./lens.js";

const LEFT = 50;
const LINE = 19;
// How far a pair that has grown is drawn, in lengths of its own.
const FAR = 1.12;
// Two strokes across an arrow that is drawn shorter than it is.
const STROKES = [0.52, 0.6];
// Two by two where four would be small.
const NARROW = 484;

function circle([x, y], r) {
  return ["circle", { class: "rope-circle", cx: x, cy: y, r }];
}

function reported(name, value) {
  return { "data-report": name, "data-value": value };
}

// Decimals of angles, and of lengths: as many as tell what is from what should be, of one of the two.
export function decimals({ turned, wanted, length, lasting, fits }) {
  const apart = (format, a, b, from) =>
    [0, 1, 2, 3].find((more) => format(a, from + more) !== format(b, from + more)) ?? Infinity;
  const [angle, long] = [apart(formatAngle, turned, wanted, 1), apart(formatNumber, length, lasting, 2)];
  if (fits || Math.min(angle, long) === Infinity) return [1, 2];
  return angle <= long ? [1 + angle, 2] : [1, 2 + long];
}

// A disc with a tick, or with an exclamation mark; of nothing, none.
function sealed(kind, x, y) {
  const sign = { fits: `M${x - 3.5} ${y}l2.5 3l4.5 -6`, off: `M${x} ${y - 4}v4.5m0 3.2v.3` }[kind] ?? "";
  return [disc(`rope-vector-${kind}`, [x, y], kind ? 7.5 : 0), path("rope-vector-sign", sign)];
}

// Where they stand two by two each row is a picture of its own.
export function pairsPicture(words) {
  const pictures = [0, 1].map(() => svg("svg", { role: "img", "aria-label": words.picture }));
  const paints = pictures.map(layer);
  const { places, turned, wanted, length } = words.rows;

  // `pairs` as measured, and whether anything came back that could be.
  function draw(pairs, readable, width) {
    const columns = width < NARROW ? 2 : pairs.length;
    const cell = (width - LEFT) / columns;
    const radius = Math.min((cell / 2 - 4) / FAR, 66);
    const middle = 2 * LINE + 4 + FAR * radius;
    const row = (i) => middle + FAR * radius + 16 + i * LINE;
    const height = row(2) + 8;
    const names = [
      label("", 0, 14 + LINE, places),
      ...[turned, wanted, length].map((text, i) => label(i ? "" : "rope-vector-yours", 0, row(i), text)),
    ];
    pictures.forEach((picture, k) => {
      const shown = pairs.slice(k * columns, (k + 1) * columns);
      const style = shown.length ? "" : "display: none";
      setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, style });
      const at = (i) => LEFT + (i + 0.5) * cell;
      const room = { y: middle, radius, row };
      const one = (pair, i) => plane(words, pair, k * columns + i, readable, at(i), room);
      paints[k](shown.length ? [...names, ...shown.map((pair, i) => ["g", {}, one(pair, i)])] : []);
    });
  }
  return { node: div("rope-vector-picture", ...pictures), draw };
}

function across([x, y], [x2, y2]) {
  const [dx, dy] = [x2 - x, y2 - y];
  const by = 5 / Math.hypot(dx, dy);
  return STROKES.map(
    (t) => `M${x + t * dx - by * dy} ${y + t * dy + by * dx}L${x + t * dx + by * dy} ${y + t * dy - by * dx}`,
  ).join("");
}

function plane(words, { before, after, should, ...pair }, i, readable, x, { y, radius, row }) {
  const unit = radius / Math.hypot(...before);
  const at = (point, most = Infinity) => {
    const scale = Math.min(unit, (most * radius) / Math.hypot(...point)) || 0;
    return [x + point[0] * scale, y - point[1] * scale];
  };
  const origin = [x, y];
  const end = at(should, FAR);
  const kind = readable ? (pair.fits ? "fits" : "off") : "";
  const number = (name, k, value, text, tone = "") => {
    const shown = readable || name === "wanted";
    return label(tone, x, row(k), shown ? text : "–", "middle", reported(name, shown ? value : NaN));
  };
  const tip = at(after, FAR);
  const cut = readable && Math.hypot(...after) * unit > 1.01 * FAR * radius;
  const [ofAngle, ofLength] = decimals(pair);
  const [long, lasting] = [pair.length, pair.lasting].map((one) => formatNumber(one, ofLength));
  const due = pair.fits || long === lasting || Number.isNaN(pair.lasting) ? "" : `not ${lasting}`;
  const size = pair.length < 1000 ? long : "> 999";
  const title = fill(words.rows.pair, { pair: i });
  return [
    ...sealed(kind, x - 32, 9),
    label(kind && `rope-vector-${kind}`, x, 14, title, "middle", { "data-mark": kind }),
    label("", x, 14 + LINE, pair.places.join(", "), "middle"),
    circle(origin, radius),
    path("rope-vector-right", Number.isNaN(pair.wanted) ? "" : `M${x} ${y}L${end[0]} ${end[1]}`),
    vector("rope-vector-x", origin, at(before)),
    vector("rope-vector-yours", origin, readable ? tip : origin),
    path("rope-vector-cut", cut ? across(origin, tip) : ""),
    ...lens(
      origin,
      radius,
      [at(before), kind === "off" ? end : tip, tip].map((point) => [point[0] - x, point[1] - y]),
    ),
    number("turned", 0, pair.turned, formatAngle(pair.turned, ofAngle), "rope-vector-yours"),
    number("wanted", 1, pair.wanted, formatAngle(pair.wanted, ofAngle)),
    number("length", 2, pair.length, due ? `${size}, ${due}` : size),
  ];
}

// Samples for a legend.
export const MARKS = {
  before: (node) => layer(node)([vector("rope-vector-x", [1, 8], [27, 8])]),
  should: (node) => layer(node)([path("rope-vector-right", "M3 8L25 8")]),
  yours: (node) => layer(node)([vector("rope-vector-yours", [1, 8], [27, 8])]),
  lens: (node) => layer(node)([disc("rope-lens", [14, 8], 7)]),
};
