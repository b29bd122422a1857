// The two grounds on which most pictures are drawn: a square plane, and a curve over a distance.
import { resize, setAttributes } from "./dom.js";
import { disc, label, layer, path } from "./layer.js";
import { clamp } from "./math.js";
import { formatNumber, whole } from "./text.js";

export function linearScale(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

// A plane from -extent to extent both ways, with lines at whole numbers. `resize(size)` returns
// { middle, origin, unit, at }: pixels of the origin, of a length of 1, and of a point; `toPoint` goes
// back, from a place in the picture as it is now.
export function squarePlane(picture, extent) {
  const draw = layer(picture);
  const lines = Array.from({ length: 2 * Math.floor(extent) + 1 }, (_, i) => i - Math.floor(extent)).filter(Boolean);
  let now = null;
  return {
    toPoint: (x, y) => [(x - now.middle) / now.unit, (now.middle - y) / now.unit],
    resize(size) {
      const [middle, unit] = [size / 2, size / (2 * extent)];
      resize(picture, size, size);
      const grid = lines.map((v) => `M${middle + v * unit} 0V${size}M0 ${middle - v * unit}H${size}`);
      draw([path("rope-grid", grid.join("")), path("rope-axis", `M${middle} 0V${size}M0 ${middle}H${size}`)]);
      const at = ([x, y]) => [middle + x * unit, middle - y * unit];
      return (now = { size, middle, origin: [middle, middle], unit, at });
    },
  };
}

// A part of a picture with curves in it: its edges in pixels, the values at its foot and its top, and
// the scale along it, which parts above each other share. It gives the other scale, and what stands
// behind curves: lines at places and at levels, and their numbers.
export function panel({ left, right, top, bottom, low, high, toX }) {
  const toY = linearScale(low, high, bottom, top);
  return {
    ...{ top, bottom, low, high, toX, toY },
    at: (place, value) => [toX(place), toY(value)],
    uprights: (places, below = 0) => places.map((at) => `M${toX(at)} ${top}V${bottom + below}`).join(""),
    levels: (values) => values.map((value) => `M${left} ${toY(value)}H${right}`).join(""),
    numbersAlong: (places, format, y = bottom + 16) => places.map((at) => label("", toX(at), y, format(at), "middle")),
    numbersUp: (values, format, x = left - 6) =>
      values.map((value) => label("", x, toY(value) + 4, format(value), "end")),
  };
}

// The axes of a score over a distance (or a position) at `ticks`, with levels -1, 0 and 1 times a
// level. `resize({ width, height, level })` returns the scales { toX, toY, bottom }.
export function scoreAxes(picture, { from, to, ticks, right, titleX, titleY }) {
  const draw = layer(picture);
  return {
    resize({ width, height, level }) {
      const [left, end, bottom] = [34, width - right, height - 40];
      const toX = linearScale(from, to, left, end);
      const axes = panel({ left, right: end, top: 34, bottom, low: -level, high: level, toX });
      setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
      draw([
        path("rope-grid", axes.uprights(ticks) + axes.levels([level, -level])),
        path("rope-axis", axes.levels([0]) + axes.uprights([0])),
        ...axes.numbersUp([level, 0, -level], (value) => formatNumber(value, level < 1 ? 1 : 0)),
        ...axes.numbersAlong(ticks, whole),
        label("rope-axis-title", (left + end) / 2, height - 6, titleX, "middle"),
        label("rope-axis-title rope-tone-score", 8, 18, titleY),
      ]);
      return { ...axes, width };
    },
  };
}

// A dot that says where something stands: of one color and without a ring, which is what can be grabbed.
export function nowDot(at) {
  return disc("rope-now", at, 5);
}

// Where a curve stands, and its number on the side that has room. `reach` is the width that a number
// takes, `low` and `high` how far up and down it may stand, `told` what its node has beside.
export function nowMarker(picture) {
  const draw = layer(picture);
  return ({ x, y, text, width, reach = 70, low = 30, high, below = -10, told = {} }) => {
    const [at, anchor] = x > width - reach ? [x - 11, "end"] : [x + 11, "start"];
    draw([nowDot([x, y]), label("rope-now-label", at, clamp(y + below, low, high), text, anchor, told)]);
  };
}
