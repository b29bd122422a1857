// The two grounds on which most pictures are drawn: a square plane, and a curve over a distance.
import { resize, setAttributes, setText, svg, svgText } from "./dom.js";
import { clamp } from "./math.js";
import { formatNumber } from "./text.js";

export function linearScale(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

// A plane from -extent to extent both ways, with lines at whole numbers. `resize(size)` returns
// { middle, unit, at }: pixels of the origin, of a length of 1, and of a point.
export function squarePlane(picture, extent) {
  const grid = svg("path", { class: "rope-grid" }, picture);
  const axes = svg("path", { class: "rope-axis" }, picture);
  const lines = Array.from({ length: 2 * Math.floor(extent) + 1 }, (_, i) => i - Math.floor(extent)).filter(Boolean);
  return {
    resize(size) {
      const [middle, unit] = [size / 2, size / (2 * extent)];
      resize(picture, size, size);
      setAttributes(grid, {
        d: lines.map((v) => `M${middle + v * unit} 0V${size}M0 ${middle - v * unit}H${size}`).join(""),
      });
      setAttributes(axes, { d: `M${middle} 0V${size}M0 ${middle}H${size}` });
      return { size, middle, unit, at: ([x, y]) => [middle + x * unit, middle - y * unit] };
    },
  };
}

const EDGE = { top: 34, left: 34, foot: 40 };

// The axes of a score over a distance (or a position) at `ticks`, with levels -1, 0 and 1 times a
// level. `resize({ width, height, level })` returns the scales { toX, toY, bottom }.
export function scoreAxes(picture, { from, to, ticks, right, titleX, titleY }) {
  const grid = svg("path", { class: "rope-grid" }, picture);
  const axis = svg("path", { class: "rope-axis" }, picture);
  const parts = [1, 0, -1].map((part) => ({ part, text: svgText(picture, "", "end") }));
  const marks = ticks.map((at) => ({ at, text: svgText(picture, "", "middle", formatNumber(at, 0)) }));
  const along = svgText(picture, "rope-axis-title", "middle", titleX);
  const up = svgText(picture, "rope-axis-title rope-tone-score", "start", titleY);
  return {
    resize({ width, height, level }) {
      const { top, left, foot } = EDGE;
      const [bottom, end] = [height - foot, width - right];
      const toX = linearScale(from, to, left, end);
      const toY = linearScale(-level, level, bottom, top);
      setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
      const uprights = ticks.map((at) => `M${toX(at)} ${top}V${bottom}`);
      setAttributes(grid, {
        d: [...uprights, ...[1, -1].map((part) => `M${left} ${toY(part * level)}H${end}`)].join(""),
      });
      setAttributes(axis, { d: `M${left} ${toY(0)}H${end}M${toX(0)} ${top}V${bottom}` });
      for (const { at, text } of marks) setAttributes(text, { x: toX(at), y: bottom + 16 });
      for (const { part, text } of parts) {
        setText(text, formatNumber(part * level, level < 1 ? 1 : 0));
        setAttributes(text, { x: left - 6, y: toY(part * level) + 4 });
      }
      setAttributes(along, { x: (left + end) / 2, y: height - 6 });
      setAttributes(up, { x: 8, y: 18 });
      return { toX, toY, bottom, width };
    },
  };
}

// A dot in a ring that says where a curve stands, and its number on the side that has room.
// `reach` is the width that a number takes, `low` and `high` how far up and down it may stand.
export function nowMarker(picture, { radius = 7, ringed = true } = {}) {
  const ring = ringed ? [svg("circle", { class: "rope-now-ring", r: radius + 3 }, picture)] : [];
  const dot = svg("circle", { class: "rope-now", r: radius }, picture);
  const aside = radius + (ringed ? 8 : 5);
  const label = svgText(picture, "rope-now-label");
  return ({ x, y, text, width, reach = 70, low = 30, high, below = -10 }) => {
    for (const node of [dot, ...ring]) setAttributes(node, { cx: x, cy: y });
    setText(label, text);
    const left = x > width - reach;
    setAttributes(label, {
      x: x + (left ? -aside : aside),
      y: clamp(y + below, low, high),
      "text-anchor": left ? "end" : "start",
    });
  };
}
