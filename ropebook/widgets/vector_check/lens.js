// Two tips that stand too near to be told apart, drawn once more beside them and enlarged.
import { disc, label, path, vector } from "../kit/layer.js";

// From how many pixels on two tips are seen apart.
const TOLD_APART = 6;
const STEPS = [1, 2, 5];
const SMALLEST = 16; // px: in a smaller lens nothing can be told apart either

// How many times enlarged tips that are `gap` pixels apart are told apart: 2, 5, 10, 20 and so on; null
// where they are without, or stand at one place.
export function enlarged(gap) {
  if (!(gap > 1e-6) || gap >= TOLD_APART) return null;
  const power = 10 ** Math.floor(Math.log10(TOLD_APART / gap));
  return [...STEPS, 10].map((step) => step * power).find((times) => times * gap >= TOLD_APART && times > 1);
}

// The direction in a dial that is farthest from those of all arrows.
function emptiest(arrows) {
  const away = (angle) => Math.min(...arrows.map(([x, y]) => 1 - Math.cos(angle - Math.atan2(y, x))));
  const all = Array.from({ length: 24 }, (_, i) => (i * Math.PI) / 12);
  return all.reduce((best, angle) => (away(angle) > away(best) + 1e-9 ? angle : best));
}

// From the rim of the lens towards `tip`, both seen from its middle, as an arrow from the dial's middle would.
function towards([x, y], [ux, uy], r) {
  const along = x * ux + y * uy;
  const back = along + Math.sqrt(Math.max(r * r - (x * x + y * y - along * along), 0));
  return [x - back * ux, y - back * uy];
}

// How far a point stands from an arrow that begins at `origin`.
function clear([x, y], [x0, y0], [dx, dy]) {
  const along = Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0), 1);
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

// Where a lens says how many times: at its rim, within the dial, and away from the arrows.
function beside(middle, r, origin, radius, arrows, { length }) {
  const [wide, high] = [3.3 * length, 5]; // of the text, from its middle
  const places = Array.from({ length: 24 }, (_, i) => {
    const [ux, uy] = [Math.cos((i * Math.PI) / 12), Math.sin((i * Math.PI) / 12)];
    const away = r + 4 + Math.abs(ux) * wide + Math.abs(uy) * high;
    const [x, y] = [middle[0] + away * ux, middle[1] + away * uy];
    const farthest = Math.hypot(Math.abs(x - origin[0]) + wide, Math.abs(y - origin[1]) + high);
    const past = Math.max(farthest - radius + 3, 0);
    return { x, y, cost: 10 * past - Math.min(...arrows.map((arrow) => clear([x, y], origin, arrow))) };
  });
  const { x, y } = places.reduce((best, one) => (one.cost < best.cost - 1e-9 ? one : best));
  return [x, y + 4];
}

// Shapes for a dial around `origin`: x, what should be there and what is, all as seen from there.
export function lens(origin, radius, [before, should, tip]) {
  const gap = [tip[0] - should[0], tip[1] - should[1]];
  const times = 0.36 * radius < SMALLEST ? null : enlarged(Math.hypot(...gap));
  const angle = emptiest([before, tip]);
  const r = times ? 0.36 * radius : 0;
  const middle = [origin[0] + 0.58 * radius * Math.cos(angle), origin[1] + 0.58 * radius * Math.sin(angle)];
  const at = ([x, y]) => [middle[0] + x, middle[1] + y];
  const seen = (side) => gap.map((part) => (side * (times ?? 0) * part) / 2);
  const unit = [should, tip].map(([x, y]) => [x / Math.hypot(x, y), y / Math.hypot(x, y)]);
  const [[from, to], [start, end]] = [-1, 1].map((side, i) =>
    [towards(seen(side), unit[i], r - 1), seen(side)].map(at),
  );
  const said = times ? `×${times}` : "";
  return [
    disc("rope-lens", middle, r),
    path("rope-vector-right rope-lens-right", times ? `M${from[0]} ${from[1]}L${to[0]} ${to[1]}` : ""),
    vector("rope-vector-yours", times ? start : middle, times ? end : middle),
    label("rope-times", ...beside(middle, r, origin, radius, [before, tip], said), said, "middle"),
  ];
}
