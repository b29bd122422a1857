// Path data: lines, arcs and arrow heads. Screens have y pointing down, angles do not.
import { TAU } from "./math.js";

export function polylinePath(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

// Many dots of one size as one path, which is drawn faster than a circle for each.
export function dotsPath(points, radius) {
  const [r, across] = [radius, 2 * radius];
  const dot = ([x, y]) =>
    `M${(x - r).toFixed(2)} ${y.toFixed(2)}a${r} ${r} 0 1 0 ${across} 0a${r} ${r} 0 1 0 ${-across} 0Z`;
  return points.map(dot).join("");
}

export function spiralPoints(cx, cy, radius, start, end, growth = 0) {
  const count = Math.max(2, Math.ceil(Math.abs(end - start) / (TAU / 60)) + 1);
  return Array.from({ length: count }, (_, i) => {
    const turned = ((end - start) * i) / (count - 1);
    const r = radius + (growth * Math.abs(turned)) / TAU;
    return [cx + r * Math.cos(start + turned), cy - r * Math.sin(start + turned)];
  });
}

export function sectorPath(cx, cy, radius, start, end) {
  const at = (angle) => `${(cx + radius * Math.cos(angle)).toFixed(2)} ${(cy - radius * Math.sin(angle)).toFixed(2)}`;
  const sweep = end > start ? 0 : 1;
  const middle = (start + end) / 2;
  const arc = (to) => `A${radius} ${radius} 0 0 ${sweep} ${at(to)}`;
  if (Math.abs(end - start) >= TAU - 1e-9) return `M${at(start)}${arc(middle)}${arc(end)}Z`;
  return `M${cx} ${cy}L${at(start)}${arc(middle)}${arc(end)}Z`;
}

export function arrowPaths(x1, y1, x2, y2, head = 9) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 1e-6) return { shaft: "", head: "" };
  const size = Math.min(head, length);
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - ux * size, y2 - uy * size];
  const side = size * 0.45;
  const shaft = polylinePath([
    [x1, y1],
    [bx, by],
  ]);
  const point = polylinePath([
    [x2, y2],
    [bx - uy * side, by + ux * side],
    [bx + uy * side, by - ux * side],
  ]);
  return { shaft, head: `${point}Z` };
}

export function arcHeadPath(points) {
  const [[x1, y1], [x2, y2]] = points.slice(-2);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const back = (aside) => [x2 - 8 * Math.cos(angle + aside), y2 - 8 * Math.sin(angle + aside)];
  return `${polylinePath([[x2, y2], back(0.42), back(-0.42)])}Z`;
}
