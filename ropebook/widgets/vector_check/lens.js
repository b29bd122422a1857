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

// Where a lens says how many times: at its side if it stands above or below the dial's middle, else on
// the side of that.
function beside([x, y], [x0, y0], r) {
  if (Math.abs(y - y0) > 1.2 * Math.abs(x - x0)) return [x + (x > x0 ? -r - 14 : r + 14), y + 4];
  return [x, y + (y > y0 ? -r - 3 : r + 11)];
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
  return [
    disc("rope-lens", middle, r),
    path("rope-vector-right rope-lens-right", times ? `M${from[0]} ${from[1]}L${to[0]} ${to[1]}` : ""),
    vector("rope-vector-yours", times ? start : middle, times ? end : middle),
    label("rope-times", ...beside(middle, origin, r), times ? `×${times}` : "", "middle"),
  ];
}
