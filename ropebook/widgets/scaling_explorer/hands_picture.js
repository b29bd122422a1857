// The picture over the hands: wavelengths before and after against both lengths, and below how many
// times slower each hand has become.
import { setAttributes, svg } from "../kit/dom.js";
import { label, layer, path } from "../kit/layer.js";
import { TAU, clamp } from "../kit/math.js";
import { dotsPath, polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatQuantity, superscript } from "../kit/text.js";

const HANDS = { left: 42, right: 8 };
const HEIGHTS = {
  wide: { height: 392, waves: { top: 26, bottom: 222 }, stretches: { top: 266, bottom: 352 } },
  narrow: { height: 332, waves: { top: 26, bottom: 186 }, stretches: { top: 226, bottom: 292 } },
};
const LETTER = { width: 7.5, height: 12, under: 3 }; // of a line's label, generously

// Where everything stands: `wave` and `times` go from a value to its height, Infinity included.
export function planOf({ hands, original_length, new_length }, width, narrow = false) {
  const { height, waves: WAVES, stretches: STRETCH } = HEIGHTS[narrow ? "narrow" : "wide"];
  const { unscaled, inverse, stretch } = hands;
  const waves = [...unscaled, ...inverse].filter((f) => f > 0).map((f) => TAU / f);
  const ends = (values) => [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  const stands = stretch.includes(Infinity);
  const room = stands ? 18 : 0;
  const [low, high] = ends([...waves, original_length, new_length]);
  const onWaves = linearScale(low - 0.4, high + 0.4, WAVES.bottom, WAVES.top + room);
  const finite = stretch.filter(Number.isFinite);
  const most = Math.max(1, ...finite);
  const [least, largest] = ends([2, Math.max(1, new_length / original_length), most, ...finite]);
  const onTimes = linearScale(Math.min(0, least), largest, STRETCH.bottom, STRETCH.top + room);
  const step = (width - HANDS.left - HANDS.right) / stretch.length;
  return {
    ...{ stands, step, low, high, most, height, WAVES, STRETCH, right: width - HANDS.right },
    x: (hand) => HANDS.left + (hand + 0.5) * step,
    wave: (tokens) => (Number.isFinite(tokens) ? onWaves(Math.log(tokens)) : WAVES.top + 4),
    times: (slowdown) => (Number.isFinite(slowdown) ? onTimes(Math.log(slowdown)) : STRETCH.top + 4),
  };
}

// Levels that lie at least `apart` pixels from those before them.
export function sparse(levels, toY, apart = 13) {
  const kept = [];
  for (const level of levels) if (kept.every((other) => Math.abs(toY(other) - toY(level)) >= apart)) kept.push(level);
  return kept;
}

// Of a path, like dots; they lie `size` around their centers.
export function diamondsPath(centers, size) {
  return centers.map(([x, y]) => `M${x - size} ${y}l${size} ${-size}l${size} ${size}l${-size} ${size}Z`).join("");
}

// Where the label of each line stands: above or below it, at its left or its right end, wherever it
// covers the fewest of the marks, which are points, and no other label.
export function labelPlaces(lines, marks, { left, right, top }) {
  const taken = [];
  return lines.map(({ y, text }) => {
    const long = LETTER.width * text.length;
    const ends = [
      { x: left + 6, anchor: "start", from: left + 6 },
      { x: right - 4, anchor: "end", from: right - 4 - long },
    ];
    // The last, over a label over the same line, is for two lines in one place.
    const places = ends.flatMap((end) => [y - 6, y + 15, y - 22].map((under) => ({ ...end, under })));
    const covered = ({ from, under }) => {
      const [high, low] = [under - LETTER.height, under + LETTER.under];
      const over = taken.filter((one) => Math.abs(one.under - under) < 15 && one.from < from + long && from < one.to);
      const dots = marks.filter(([x, dot]) => x > from - 4 && x < from + long + 4 && dot > high - 3 && dot < low + 3);
      // Another line through the letters, or the title above them, is as bad as another label.
      const crossed = lines.filter((line) => line.y > high && line.y < low);
      return 1000 * (over.length + crossed.length + (high < top ? 1 : 0)) + dots.length;
    };
    const best = places.reduce((kept, place) => (covered(place) < covered(kept) ? place : kept));
    taken.push({ ...best, to: best.from + long });
    return { x: best.x, y: best.under, anchor: best.anchor };
  });
}

export function handsPicture(words) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture.hands });
  const paint = layer(picture);

  function draw(state, held, width, narrow = false) {
    const { hands, original_length: original, new_length: asked } = state;
    const { unscaled, inverse, stretch } = hands;
    const plan = planOf(state, width, narrow);
    const { x, wave, times, right, step, stands, most, height, WAVES, STRETCH } = plan;
    const kinds = hands.inside.map((within, i) => (hands.inVain[i] ? "vain" : within ? "inside" : "outside"));
    const across = (y) => `M${HANDS.left} ${y}H${right}`;
    const [size, half] = [clamp(step * 0.8, 1.5, 3.8), clamp(step * 0.45, 1.2, 4)];
    const at = inverse.map((f, i) => ({
      x: x(i),
      y: wave(TAU / f),
      from: wave(TAU / unscaled[i]),
      below: times(stretch[i]),
    }));
    const dots = (kind, key) => {
      const centers = at.filter((_, i) => kinds[i] === kind).map((one) => [one.x, one[key]]);
      return kind === "vain" ? diamondsPath(centers, 1.2 * size) : dotsPath(centers, size);
    };
    const stems = at.filter(({ y, from }) => Math.abs(y - from) > size).map((one) => `M${one.x} ${one.from}V${one.y}`);
    // The more a hand is slowed that had no need of it, the more is shaded.
    const vain = at
      .filter((_, i) => kinds[i] === "vain")
      .map((one) => {
        return `M${one.x - step / 2} ${STRETCH.bottom}V${one.below}h${step}V${STRETCH.bottom}Z`;
      });
    const ticks = at.map((one) => `M${one.x - half} ${one.from}H${one.x + half}`);
    const powers = Array.from({ length: 9 }, (_, i) => 10 ** i).filter((power) => {
      return Math.log(power) >= plan.low - 0.4 && Math.log(power) <= plan.high + 0.4;
    });
    const levels = sparse([1, most, asked / original], times).filter((value) => value >= 1);
    const lengths = Object.entries({ new: asked, original }).sort(([, a], [, b]) => b - a);
    const lines = lengths.map(([name, tokens]) => {
      return { name, y: wave(tokens), text: fill(words.lines[name], { value: formatQuantity(tokens) }) };
    });
    const marks = at.flatMap((one) => [one.y, one.from].map((y) => [one.x, y]));
    const places = labelPlaces(lines, marks, { left: HANDS.left, right, top: 14 });
    const named = lines.map(({ name, text }, i) => {
      const kind = `rope-scaling-line-label rope-scaling-${name}-label`;
      return label(kind, places[i].x, places[i].y, text, places[i].anchor);
    });
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paint([
      path("rope-grid", [...powers.map(wave), ...levels.map(times)].map(across).join("")),
      path("rope-axis", across(WAVES.bottom) + across(STRETCH.bottom)),
      path("rope-scaling-original", across(wave(original))),
      path("rope-scaling-new", across(wave(asked))),
      path("rope-scaling-for-nothing", vain.join("")),
      path("rope-scaling-stem", stems.join("")),
      path("rope-scaling-before", ticks.join("")),
      path("rope-scaling-held", held ? polylinePath(held.map((slowdown, i) => [x(i), times(slowdown)])) : ""),
      ...["y", "below"].flatMap((key) =>
        ["inside", "outside", "vain"].map((kind) => path(`rope-scaling-${kind}`, dots(kind, key))),
      ),
      label("rope-scaling-title", 0, 12, words.titles.waves),
      label("rope-scaling-title", 0, STRETCH.top - 14, words.titles.stretch),
      ...named,
      ...powers.map((power) =>
        label(
          "",
          HANDS.left - 6,
          wave(power) + 4,
          power < 1e4 ? formatQuantity(power) : `10${superscript(Math.log10(power))}`,
          "end",
        ),
      ),
      ...levels.map((value) => label("", HANDS.left - 6, times(value) + 4, formatQuantity(value), "end")),
      label("", HANDS.left - 6, WAVES.top + 8, stands ? words.endless : "", "end"),
      label("", HANDS.left - 6, STRETCH.top + 8, stands ? words.endless : "", "end"),
      label("", x(0), STRETCH.bottom + 16, "0", "middle"),
      label("", x(stretch.length - 1), STRETCH.bottom + 16, String(stretch.length - 1), "middle"),
      label("", (HANDS.left + right) / 2, height - 6, words.axes.hand, "middle"),
    ]);
  }
  return { node: picture, draw };
}
