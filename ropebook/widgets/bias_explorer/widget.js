import { fold } from "../kit/controls.js";
import { div, html, resize, setAttributes, svg, whenChanged, widthOf } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
import { clamp, inverseFrequencies, sinusoid, softmax } from "../kit/math.js";
import { easing } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, whole } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Bias explorer: what a position encoding adds to the scores",
    picture:
      "What is added to the score of every query (rows) with every key (columns); below, the chosen query's row and its attention",
    encodings: { none: "none", absolute: "absolute", shaw: "Shaw", t5: "T5", alibi: "ALiBi" },
    encoding: "Position encoding",
    notes: {
      none: "Nothing is added to the scores.",
      absolute:
        "<i>p<sub>m</sub></i> · <i>W p<sub>n</sub></i>: what the two positions add by themselves. Sinusoids of {dim} dimensions; this example W keeps the sines and drops the cosines.",
      shaw: "<i>q</i> · <i>a</i> of the clipped distance n − m. Example values, with the same query at every position.",
      t5: "One number per bucket of distances n − m; far distances share wide buckets. Example values of one head.",
      alibi: "− slope · |n − m|. Head 1 is the steepest of the 8, with slope 1/2; each next head has half the slope.",
    },
    place: { query: "query", key: "key", shift: "pushed on" },
    own: { clip_distance: "clip distance", num_buckets: "buckets", max_distance: "max distance", head: "head" },
    more: "more: query, key, place, mask, numbers",
    nothing: "Nothing to set.",
    switches: { causal: "causal mask", content: "example content" },
    stops: { push: "push the text on", steep: "steep", flat: "flat" },
    map: { rows: "query m ↓", columns: "key n →", masked: "hidden", least: "≤ −{level}", most: "≥ {level}" },
    added: "added to the row of m = {m}",
    attention: { plain: "its attention", content: "its attention, example content included" },
    cell: { distance: "distance n − m", bias: "added", weight: "attention", slope: "slope", bucket: "bucket" },
    matrix: { different: "different values", spread: "spread on a diagonal" },
    where: { behind: "a key {d} behind", ahead: "a key {d} ahead", own: "the query's own key" },
    gain: { more: "gains <b>{amount}</b>", less: "loses <b>{amount}</b>", nothing: "gets <b>0</b>" },
    range: { one: "distance {from} only", some: "distances {from} to {to}", open: "distance {from} and more" },
    lessons: {
      none: "No encoding: <b>0</b> in every cell.",
      even: "All {count} keys that the query sees get the same attention, <b>{weight}</b>.",
      only: "The query sees one key, which gets all of its attention.",
      content: "Content alone decides where the query looks.",
      absolute: "Absolute: {where} {gain} here; its diagonal runs from {low} to {high}.",
      corner: "Absolute: {where} {gain} here.",
      shaw: "Shaw, clip {clip_distance}: {where} {gain}.",
      clipped: "Shaw, clip {clip_distance}: {where} counts as {clip_distance} away and {gain}.",
      t5: "T5, {num_buckets} buckets: {where} is in bucket {bucket} ({range}) and {gain}.",
      alibi: "ALiBi, head {head}, slope 1/{denominator}: {where} {gain}.",
      hidden: "The causal mask hides {where}.",
      one: "Every diagonal has one color: <b>{different_values}</b> different values in all.",
      same: "Every diagonal has one color, and it is the same for all.",
      many: "A diagonal has many colors: <b>{different_values}</b> different values in all.",
      still: "Pushed on by {pushed}: nothing changes.",
      changed: "Pushed on by {pushed}: another matrix; this cell held {before}.",
    },
  },
};

const LENGTH = 24;
const MAX_CLIP = 12;
const MAX_SHIFT = 1000;
const HEADS = 8;
// Bias beyond which a cell has its full color; one scale for all encodings, so that they compare.
const FULL = 3;
// What an encoding's matrix depends on; all but the shift have a slider of their own.
const OWN = {
  none: [],
  absolute: ["shift"],
  shaw: ["clip_distance"],
  t5: ["num_buckets", "max_distance"],
  alibi: ["head"],
};
const TRAITS = ["encoding", "query", "key", "shift", "clip_distance", "num_buckets", "max_distance", "head"];
const TABLES = ["shaw_scores", "t5_behind", "t5_ahead", "absolute_weights", "content_scores", "model_dim", "base"];

const each = (make) => Array.from({ length: LENGTH }, (_, i) => make(i));

export function alibiSlope(head) {
  return 2 ** -head;
}

// The rule of T5Attention._relative_position_bucket, both directions; it works in float32.
export function t5Bucket(distance, numBuckets, maxDistance) {
  const half = numBuckets / 2;
  const exact = Math.floor(half / 2);
  const apart = Math.abs(distance);
  const first = distance > 0 ? half : 0;
  if (apart < exact) return first + apart;
  const f = Math.fround;
  const octaves = f(f(Math.log(f(apart / exact))) / f(Math.log(maxDistance / exact)));
  return first + Math.min(half - 1, exact + Math.trunc(f(octaves * f(half - exact))));
}

// Smallest and largest distance on the same side that share a bucket; the last one has no end.
export function bucketRange(distance, numBuckets, maxDistance) {
  const at = (apart) => t5Bucket(distance > 0 ? apart : -apart, numBuckets, maxDistance);
  const all = Array.from({ length: maxDistance + 2 }, (_, apart) => apart);
  const own = all.filter((apart) => at(apart) === at(Math.abs(distance)));
  return [own[0], own.at(-1) > maxDistance ? Infinity : own.at(-1)];
}

// p_m^T W p_n; W is diagonal and weighs sines and cosines.
export function absoluteBias(p, r, weights) {
  return p.reduce((sum, value, j) => sum + weights[j % 2] * (value * r[j]), 0);
}

// What a relative encoding adds at a distance n - m.
export function relativeBias(distance, state, tables) {
  if (state.encoding === "shaw") {
    return tables.shaw_scores[MAX_CLIP + clamp(distance, -state.clip_distance, state.clip_distance)];
  }
  if (state.encoding === "t5") {
    const half = state.num_buckets / 2;
    const bucket = t5Bucket(distance, state.num_buckets, state.max_distance);
    return bucket < half ? tables.t5_behind[bucket] : tables.t5_ahead[bucket - half];
  }
  return state.encoding === "alibi" ? -alibiSlope(state.head) * Math.abs(distance) : 0;
}

export function biasMatrix(state, tables) {
  if (state.encoding === "absolute") {
    const inverse = inverseFrequencies(tables.model_dim, tables.base);
    const table = each((i) => sinusoid(state.shift + i, inverse));
    return table.map((p) => table.map((r) => absoluteBias(p, r, tables.absolute_weights)));
  }
  return each((m) => each((n) => relativeBias(n - m, state, tables)));
}

// The diagonals of what is seen, as lists of values; a causal mask hides those ahead.
export function diagonals(matrix, causal) {
  const distances = Array.from({ length: causal ? LENGTH : 2 * LENGTH - 1 }, (_, i) => i - LENGTH + 1);
  return distances.map((distance) => matrix.map((line, m) => line[m + distance]).filter((v) => v !== undefined));
}

export function diagonalSpread(lines) {
  return Math.max(...lines.map((line) => Math.max(...line) - Math.min(...line)));
}

// To nine decimals: two values that rounding tells apart are one.
export function differentValues(lines) {
  return new Set(lines.flatMap((line) => line.map((v) => Math.round(v * 1e9)))).size;
}

// The smallest of the round levels that holds a value.
export function roundLevel(value, levels) {
  return levels.find((level) => value <= level) ?? levels[levels.length - 1];
}

export function formatBias(value) {
  return formatNumber(value, value !== 0 && Math.abs(value) < 0.095 ? 3 : 2);
}

// What is known of a matrix, whatever cell is chosen; null in a list of cells is a hidden one.
function surveyMatrix(state, tables) {
  const matrix = biasMatrix(state, tables);
  const lines = diagonals(matrix, state.causal);
  const cells = matrix.flatMap((line, m) => line.map((value, n) => (state.causal && n > m ? null : value)));
  const level = roundLevel(Math.max(...matrix.flat().map(Math.abs)), [FULL, 6, 12]);
  const [diagonal_spread, different_values] = [diagonalSpread(lines), differentValues(lines)];
  return { matrix, lines, cells, level, diagonal_spread, different_values };
}

// What is known of the chosen row and cell; NaN is what there is not.
function surveyCell({ encoding, query, key, causal, content, ...state }, matrix, tables) {
  const row = causal ? matrix[query].slice(0, query + 1) : matrix[query];
  const weights = softmax(row.map((value, n) => value + (content ? tables.content_scores[n] : 0)));
  const distance = key - query;
  return {
    ...{ row, weights, distance, pushed: Math.round(state.shift) },
    key_bias: row[key] ?? NaN,
    key_weight: weights[key] ?? NaN,
    slope: encoding === "alibi" ? alibiSlope(state.head) : NaN,
    bucket: encoding === "t5" ? t5Bucket(distance, state.num_buckets, state.max_distance) : NaN,
  };
}

// The names of the sentences: of the chosen cell, of the colors and of the push.
export function lessonKinds({ encoding, distance, row, diagonal_spread: spread, ...state }) {
  const cell = () => {
    if (encoding === "none") return ["none", state.content ? "content" : row.length > 1 ? "even" : "only"];
    if (Number.isNaN(state.key_bias)) return ["hidden"];
    if (encoding === "absolute" && Math.abs(distance) === LENGTH - 1) return ["corner"];
    return [encoding === "shaw" && Math.abs(distance) > state.clip_distance ? "clipped" : encoding];
  };
  const colors = spread ? "many" : state.different_values > 1 ? "one" : "same";
  return [...cell(), colors, ...(state.pushed ? [spread ? "changed" : "still"] : [])];
}

function sentence(state, words, tables) {
  const { distance, key_bias: bias, weights } = state;
  const where = words.where[distance < 0 ? "behind" : distance > 0 ? "ahead" : "own"];
  const gain = words.gain[bias > 0 ? "more" : bias < 0 ? "less" : "nothing"];
  const [from, to] = bucketRange(distance, state.num_buckets, state.max_distance);
  const range = words.range[to === from ? "one" : to < Infinity ? "some" : "open"];
  const line = state.lines[distance + LENGTH - 1] ?? [];
  const inverse = inverseFrequencies(tables.model_dim, tables.base);
  const [p, r] = [state.query, state.key].map((i) => sinusoid(i, inverse));
  const before = absoluteBias(p, r, tables.absolute_weights);
  const [low, high, held, amount] = [Math.min(...line), Math.max(...line), before, Math.abs(bias)].map(formatBias);
  const kinds = lessonKinds(state).map((kind) => words.lessons[kind]);
  return fill(kinds.join(" "), {
    ...{ ...state, low, high, before: held, count: weights.length, weight: formatNumber(weights[0], 3) },
    where: fill(where, { d: Math.abs(distance) }),
    gain: fill(gain, { amount }),
    range: fill(range, { from, to }),
    denominator: 2 ** state.head,
  });
}

// Where everything stands in a picture of a width.
function roomOf(width) {
  const [left, top, strip] = [34, 42, 58];
  const cell = Math.floor((width - left - 2) / LENGTH);
  const added = top + LENGTH * cell + 24;
  const attention = added + strip + 26;
  return { width, height: attention + strip + 4, left, top, cell, side: LENGTH * cell, strip, added, attention };
}

const signOf = (value) => (value < 0 ? "rope-bias-less" : "rope-bias-more");

// How a cell of a value looks: its class and its opacity.
function lookOf(value) {
  return value === null ? ["rope-bias-masked", 1] : [signOf(value), Math.min(1, Math.abs(value) / FULL).toFixed(3)];
}

function colored([name, opacity], d) {
  return path(name, d, { "fill-opacity": opacity });
}

// What the colors stand for, from the right end of the picture.
function legendShapes({ least, most }, end) {
  const sample = (_, i) => colored(lookOf((i / 6 - 1) * FULL), `M${end + 7 * i - 117} 3h7v10h-7Z`);
  const [low, high] = [least, most].map((text) => fill(text, { level: FULL }));
  return [...Array.from({ length: 13 }, sample), label("", end - 121, 12, low, "end"), label("", end - 22, 12, high)];
}

// One path for all cells of a color: hundreds of nodes would take longer to restyle than a frame.
function cellShapes(cells, { left, top, cell }) {
  const byLook = new Map();
  cells.forEach((value, i) => {
    const look = lookOf(value).join(" ");
    const at = `${left + (i % LENGTH) * cell} ${top + Math.floor(i / LENGTH) * cell}`;
    byLook.set(look, `${byLook.get(look) ?? ""}M${at}h${cell}v${cell}h${-cell}Z`);
  });
  return [...byLook].map(([look, d]) => colored(look.split(" "), d));
}

// A cell for every query and key, in the color of what is added, and the numbers of both sides.
function matrixMap(picture, said) {
  const paintCells = layer(svg("g", { class: "rope-bias-cells" }, picture));
  const paint = layer(picture);
  const ticks = [0, 4, 8, 12, 16, 20];
  let painted = null;

  return ({ cells, causal, query, key, pushed }, room) => {
    const { left, top, cell, side } = room;
    const [x, y] = [left + key * cell, top + query * cell];
    // The same values are the same list: most moves leave it as it is.
    if (cells !== painted?.cells || cell !== painted.cell) paintCells(cellShapes(cells, room));
    painted = { cells, cell };
    resize(picture, room.width, room.height);
    paint([
      label("rope-bias-q", 0, 12, said.rows),
      label("rope-bias-k", 72, 12, said.columns),
      ...ticks.map((at) => label("", left - 5, top + (at + 0.5) * cell + 4, String(pushed + at), "end")),
      ...ticks.map((at) => label("", left + (at + 0.5) * cell, top - 6, String(pushed + at), "middle")),
      box("rope-bias-column", [x, top, cell, room.attention + room.strip - top]),
      label("rope-bias-masked-label", left + 0.7 * side, top + 0.3 * side + 4, causal ? said.masked : "", "middle"),
      box("rope-bias-row", [left, y, side, cell]),
      box("rope-bias-chosen", [x - 1, y - 1, cell + 2, cell + 2]),
      ...legendShapes(said, left + side),
    ]);
  };
}

// The numbers of a row as bars, from a level below (0: they have no sign) to one above.
function rowStrip(picture, name) {
  const paint = layer(picture);
  return whenChanged((title, values, [low, high], origin, { left, cell, side, strip }) => {
    const toY = linearScale(low, high, origin + strip, origin);
    const bars = values.map((value, n) => {
      const [y, zero] = [toY(clamp(value, low, high)), toY(0)];
      const place = [left + n * cell + 1, Math.min(y, zero).toFixed(2), cell - 2, Math.abs(y - zero).toFixed(2)];
      const reported = { "data-report": name, "data-value": value };
      const bar = box(low === 0 ? "rope-bias-weight" : signOf(value), place, reported);
      return [...bar, [["title", {}, formatBias(value)]]];
    });
    paint([
      path("rope-axis", `M${left} ${toY(0)}H${left + side}`),
      label("", left - 5, origin + 9, String(high), "end"),
      label("", left - 5, origin + strip, String(low).replace("-", "−"), "end"),
      label("rope-bias-title", left, origin - 7, title),
      ["g", {}, bars],
    ]);
  });
}

// Beside the sliders: a press on a cell chooses its query and its key, one below the cells the key.
function chooseOn(picture, room, choose) {
  const press = (event) => {
    const box = picture.getBoundingClientRect();
    const { left, top, cell } = room();
    const key = Math.floor((event.clientX - box.left - left) / cell);
    const query = Math.floor((event.clientY - box.top - top) / cell);
    if (key >= 0 && key < LENGTH && query >= 0) choose(query < LENGTH ? { query, key } : { key });
  };
  picture.addEventListener("click", press);
  const pressed = ({ buttons, pointerType }) => buttons === 1 && pointerType === "mouse";
  picture.addEventListener("pointermove", (event) => pressed(event) && press(event));
}

function build({ words, model, set, lesson, buttons, sliders, toggles, readouts, text }) {
  const tables = Object.fromEntries(TABLES.map((name) => [name, model.get(name)]));
  const picture = svg("svg", { role: "img", "aria-label": words.picture, class: "rope-bias-picture" });
  const map = matrixMap(picture, words.map);
  const [added, attention] = [rowStrip(picture, "row_bias"), rowStrip(picture, "row_weight")];
  const pictureBox = div("rope-stays", picture);
  const room = () => roomOf(widthOf(pictureBox, 250, 420));
  chooseOn(picture, room, set);

  const row = (...nodes) => div("rope-row rope-row-first", ...nodes);
  const visit = (encoding) => [`encoding_${encoding}`, { label: words.encodings[encoding], visit: { encoding } }];
  const encodings = row(...buttons(Object.fromEntries(Object.keys(OWN).map(visit))));
  setAttributes(encodings, { role: "group", "aria-label": words.encoding });
  const pushOn = ({ shift }) => {
    const from = shift + LENGTH > MAX_SHIFT ? 0 : shift;
    return { still: { shift: from + LENGTH }, seconds: 5, at: (now) => ({ shift: from + LENGTH * easing(now / 5) }) };
  };
  const [push, ...stops] = buttons({
    push: { label: words.stops.push, play: pushOn },
    steep_head: { label: words.stops.steep, visit: { head: 1 } },
    flat_head: { label: words.stops.flat, visit: { head: HEADS } },
  });
  const ruler = (name, tone, max) => ({ label: words.place[name], tone, min: 0, max, format: whole });
  const own = (name, min, max, step) => ({
    ...{ label: words.own[name], tone: "neutral", min, max, step, format: whole },
    value: (state) => (OWN[state.encoding].includes(name) ? state[name] : null),
  });
  const [clip, buckets, farthest, head, ...always] = sliders({
    clip_distance: own("clip_distance", 1, MAX_CLIP),
    num_buckets: own("num_buckets", 4, 32, 2),
    max_distance: own("max_distance", 9, 128),
    head: own("head", 1, HEADS),
    query: ruler("query", "q", LENGTH - 1),
    key: ruler("key", "k", LENGTH - 1),
    shift: { ...ruler("shift", "position", MAX_SHIFT), value: ({ pushed }) => pushed },
  });
  const { causal, content } = words.switches;
  const switches = toggles({ causal: { label: causal }, content: { label: content } });
  const plain = (value) => (Number.isNaN(value) ? formatNumber(value) : String(value));
  const [slope, bucket, ...numbers] = readouts({
    slope: { label: words.cell.slope, format: plain },
    bucket: { label: words.cell.bucket, format: plain },
    distance: { label: words.cell.distance, format: whole },
    key_bias: { label: words.cell.bias, format: formatBias },
    key_weight: { label: words.cell.weight, format: (value) => formatNumber(value, 3) },
    different_values: { label: words.matrix.different, format: plain },
    diagonal_spread: { label: words.matrix.spread, format: (value) => (value ? formatBias(value) : "0") },
  });
  // The encodings' own notes, sliders and numbers take turns in their places, so that nothing below moves.
  const place = (...nodes) => div("rope-bias-place", ...nodes);
  const heads = row(...stops);
  const notes = Object.keys(OWN).map((encoding) => {
    const note = html("p", { class: "rope-bias-note", "data-encoding": encoding });
    note.innerHTML = fill(words.notes[encoding], { dim: tables.model_dim });
    return note;
  });
  const takeTurns = whenChanged((encoding) => {
    for (const note of notes) note.classList.toggle("rope-off", note.dataset.encoding !== encoding);
    for (const node of [heads, slope]) node.classList.toggle("rope-off", encoding !== "alibi");
    bucket.classList.toggle("rope-off", encoding !== "t5");
  });
  const nothing = text(({ encoding }) => (OWN[encoding].some((name) => name !== "shift") ? "" : words.nothing));
  const others = [
    div("rope-bias-controls", ...always),
    row(...switches),
    div("rope-readouts", ...numbers, place(slope, bucket)),
  ];
  const parts = [row(push), div("rope-bias-controls", place(clip, buckets, head, nothing), place(farthest, heads))];
  const more = fold({ label: words.more, nodes: others }).node;
  const top = div("rope-bias-head", encodings, place(...notes));
  const surveyed = whenChanged((state) => surveyMatrix(state, tables));
  return {
    node: div("rope-frame rope-bias", top, pictureBox, div("rope-bias-side", lesson, ...parts), more),
    measure: room,
    derive(state) {
      const matters = OWN[state.encoding].map((name) => [name, state[name]]);
      const seen = surveyed({ encoding: state.encoding, causal: state.causal, ...Object.fromEntries(matters) });
      return { ...seen, ...surveyCell(state, seen.matrix, tables) };
    },
    draw(state, given) {
      takeTurns(state.encoding);
      map(state, given);
      const title = fill(words.added, { m: state.pushed + state.query });
      added(title, state.row, [-state.level, state.level], given.added, given);
      const most = roundLevel(Math.max(...state.weights), [0.1, 0.25, 0.5, 1]);
      attention(words.attention[state.content ? "content" : "plain"], state.weights, [0, most], given.attention, given);
    },
    lesson: (state) => sentence(state, words, tables),
  };
}

export default { render: mount({ words: WORDS, traits: [...TRAITS, "causal", "content"], build }) };
