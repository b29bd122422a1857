import { button, readout, report, slider, toggle } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { clamp, softmax } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, watch } from "../kit/motion.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, pickWords } from "../kit/text.js";

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
    query: "query",
    key: "key",
    shift: "pushed on",
    clip: "clip distance",
    buckets: "buckets",
    maxDistance: "max distance",
    head: "head",
    causal: "causal mask",
    content: "example content",
    push: "push the text on",
    steep: "steep",
    flat: "flat",
    rows: "query m ↓",
    columns: "key n →",
    masked: "hidden",
    least: "≤ −{level}",
    most: "≥ {level}",
    added: "added to the row of m = {m}",
    attention: "its attention",
    attentionContent: "its attention, example content included",
    distance: "distance n − m",
    keyBias: "added",
    weight: "attention",
    slope: "slope",
    bucket: "bucket",
    different: "different values",
    spread: "spread on a diagonal",
    unknown: "–",
    where: { behind: "a key {d} behind", ahead: "a key {d} ahead", own: "the query's own key" },
    gain: { more: "gains <b>{amount}</b>", less: "loses <b>{amount}</b>", nothing: "gets <b>0</b>" },
    range: {
      one: "distance {from} only",
      some: "distances {from} to {to}",
      open: "distance {from} and more",
    },
    lessonNone: "No encoding: <b>0</b> in every cell.",
    lessonEven: "All {count} keys that the query sees get the same attention, <b>{weight}</b>.",
    lessonOnly: "The query sees one key, which gets all of its attention.",
    lessonContent: "Content alone decides where the query looks.",
    lessonAbsolute: "Absolute: {where} {gain} here; its diagonal runs from {low} to {high}.",
    lessonCorner: "Absolute: {where} {gain} here.",
    lessonShaw: "Shaw, clip {clip}: {where} {gain}.",
    lessonClipped: "Shaw, clip {clip}: {where} counts as {clip} away and {gain}.",
    lessonT5: "T5, {buckets} buckets: {where} is in bucket {bucket} ({range}) and {gain}.",
    lessonAlibi: "ALiBi, head {head}, slope 1/{denominator}: {where} {gain}.",
    lessonHidden: "The causal mask hides {where}.",
    oneColor: "Every diagonal has one color: <b>{count}</b> different values in all.",
    sameColor: "Every diagonal has one color, and it is the same for all.",
    manyColors: "A diagonal has many colors: <b>{count}</b> different values in all.",
    still: "Pushed on by {shift}: nothing changes.",
    changed: "Pushed on by {shift}: another matrix; this cell held {before}.",
  },
};

const LENGTH = 24;
const MAX_CLIP = 12;
const MAX_SHIFT = 1000;
const HEADS = 8;
// Bias beyond which a cell has its full color; one scale for all encodings, so that they compare.
const FULL = 3;
const STRIDE = 4;
const PUSH = LENGTH;
const PARAMETERS = { shaw: ["clip_distance"], t5: ["num_buckets", "max_distance"], alibi: ["head"] };

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
  const bucket = t5Bucket(distance, numBuckets, maxDistance);
  const apart = Math.abs(distance);
  let [from, to] = [apart, apart];
  while (from > (distance > 0 ? 1 : 0) && at(from - 1) === bucket) from -= 1;
  while (to <= maxDistance && at(to + 1) === bucket) to += 1;
  return [from, to > maxDistance ? Infinity : to];
}

// sin and cos of one position, in turns: sin, cos, sin, cos, ...
export function sinusoid(position, modelDim, base) {
  return Array.from({ length: modelDim }, (_, j) => {
    const angle = position * base ** (-(j - (j % 2)) / modelDim);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

// p_m^T W p_n; W is diagonal and weighs sines and cosines.
export function absoluteBias(p, r, weights) {
  return p.reduce((sum, value, j) => sum + weights[j % 2] * (value * r[j]), 0);
}

function absoluteMatrix(shift, { model_dim, base, absolute_weights }) {
  const table = Array.from({ length: LENGTH }, (_, i) => sinusoid(shift + i, model_dim, base));
  return table.map((p) => table.map((r) => absoluteBias(p, r, absolute_weights)));
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
  if (state.encoding === "absolute") return absoluteMatrix(state.shift, tables);
  const byDistance = Array.from({ length: 2 * LENGTH - 1 }, (_, i) => relativeBias(i - LENGTH + 1, state, tables));
  return Array.from({ length: LENGTH }, (_, m) => byDistance.slice(LENGTH - 1 - m, 2 * LENGTH - 1 - m));
}

// The diagonals of what is seen, as lists of values; a causal mask hides those ahead.
export function diagonals(matrix, causal) {
  const count = causal ? LENGTH : 2 * LENGTH - 1;
  return Array.from({ length: count }, (_, i) => {
    const distance = i - LENGTH + 1;
    const first = Math.max(0, -distance);
    return Array.from({ length: LENGTH - Math.abs(distance) }, (_, j) => matrix[first + j][first + j + distance]);
  });
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

export function formatLevel(level) {
  return String(level).replace("-", "−");
}

// Slow start, slow end.
export function easing(part) {
  const t = clamp(part, 0, 1);
  return t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) * (1 - t);
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const names = ["encoding", "query", "key", "shift", "clip_distance", "num_buckets", "max_distance", "head"];
  const switches = ["causal", "content"];
  const tables = {
    shaw_scores: model.get("shaw_scores"),
    t5_behind: model.get("t5_behind"),
    t5_ahead: model.get("t5_ahead"),
    absolute_weights: model.get("absolute_weights"),
    content_scores: model.get("content_scores"),
    model_dim: model.get("model_dim"),
    base: model.get("base"),
  };
  // While the text is being pushed on, the drawn shift lies between those of the model.
  let moving = null;
  let drawnWidth = 0;
  const held = new Map(); // the value that a cell was last colored by
  let drawnKind = "";

  const each = (make) => Array.from({ length: LENGTH }, (_, i) => make(i));
  const picture = svg("svg", { role: "img", "aria-label": words.picture, class: "rope-bias-picture" });
  const label = (className, anchor = "start") => svg("text", { class: className, "text-anchor": anchor }, picture);
  const cellGroup = svg("g", {}, picture);
  const cells = each(() => each(() => svg("rect", {}, cellGroup)));
  const rowsTitle = label("rope-bias-q");
  const columnsTitle = label("rope-bias-k");
  setText(rowsTitle, words.rows);
  setText(columnsTitle, words.columns);
  const ticks = each((i) => i)
    .filter((i) => i % STRIDE === 0)
    .map((i) => ({ i, row: label("", "end"), column: label("", "middle") }));
  const column = svg("rect", { class: "rope-bias-column" }, picture);
  const maskedLabel = label("rope-bias-masked-label", "middle");
  setText(maskedLabel, words.masked);
  const row = svg("rect", { class: "rope-bias-row" }, picture);
  const chosen = svg("rect", { class: "rope-bias-chosen" }, picture);
  const legend = Array.from({ length: 13 }, (_, i) => ({ value: (i / 6 - 1) * FULL, node: svg("rect", {}, picture) }));
  const legendEnds = [label("", "end"), label("", "start")];
  setText(legendEnds[0], fill(words.least, { level: FULL }));
  setText(legendEnds[1], fill(words.most, { level: FULL }));
  const strip = (name) => ({
    axis: svg("path", { class: "rope-axis" }, picture),
    ends: [label("", "end"), label("", "end")],
    bars: each(() => {
      const node = svg("rect", { "data-report": name }, picture);
      return { node, title: svg("title", {}, node) };
    }),
    title: label("rope-bias-title"),
  });
  const added = strip("row_bias");
  const attention = strip("row_weight");
  const lesson = html("p");
  const pictureBox = html("div", {}, picture);

  const settle = () => {
    const at = moving;
    moving = null;
    if (at !== null) commit(model, { shift: Math.round(at) });
    schedule();
  };
  const animation = animator(settle);
  const setBy = (changes) => {
    animation.stop();
    commit(model, changes);
    schedule();
  };
  const push = () => {
    if (animation.running()) return animation.stop();
    const now = model.get("shift");
    const from = now + PUSH > MAX_SHIFT ? 0 : now;
    if (prefersReducedMotion()) return setBy({ shift: from + PUSH });
    animation.start((seconds) => {
      moving = from + PUSH * easing(seconds / 5);
      schedule();
      return seconds < 5;
    });
  };

  const whole = (name, text, tone, min, max, step = 1) =>
    slider({
      name,
      label: text,
      tone,
      min,
      max,
      step,
      format: (value) => formatNumber(value, 0),
      onInput: (value) => setBy({ [name]: value }),
    });
  const controls = {
    query: whole("query", words.query, "q", 0, LENGTH - 1),
    key: whole("key", words.key, "k", 0, LENGTH - 1),
    shift: whole("shift", words.shift, "position", 0, MAX_SHIFT),
    clip_distance: whole("clip_distance", words.clip, "neutral", 1, MAX_CLIP),
    num_buckets: whole("num_buckets", words.buckets, "neutral", 4, 32, 2),
    max_distance: whole("max_distance", words.maxDistance, "neutral", 9, 128),
    head: whole("head", words.head, "neutral", 1, HEADS),
  };
  const toggles = {
    causal: toggle({ name: "causal", label: words.causal, onChange: (causal) => setBy({ causal }) }),
    content: toggle({ name: "content", label: words.content, onChange: (content) => setBy({ content }) }),
  };
  const encodings = Object.keys(words.encodings).map((name) => ({
    name,
    ...button({
      name: `encoding_${name}`,
      label: words.encodings[name],
      onClick: () => setBy({ encoding: name }),
    }),
  }));
  const pushButton = button({ name: "push", label: words.push, onClick: push });
  const steep = button({ name: "steep_head", label: words.steep, onClick: () => setBy({ head: 1 }) });
  const flat = button({ name: "flat_head", label: words.flat, onClick: () => setBy({ head: HEADS }) });
  const heads = html("div", { class: "rope-row rope-row-first" }, steep.node, flat.node);
  const notes = Object.entries(words.notes).map(([name, text]) => {
    const note = html("p", { class: "rope-bias-note" });
    note.innerHTML = fill(text, { dim: tables.model_dim });
    return [name, note];
  });
  // The encodings' own notes and sliders take turns in their places, so that nothing below moves.
  const shownWith = Object.fromEntries(notes.map(([name, note]) => [name, [note]]));
  shownWith.alibi.push(heads);
  for (const [name, own] of Object.entries(PARAMETERS)) {
    shownWith[name].push(...own.map((parameter) => controls[parameter].node));
  }
  const place = (...nodes) => html("div", { class: "rope-bias-place" }, ...nodes);
  const { clip_distance: clip, num_buckets: buckets, max_distance: farthest, head: headSlider } = controls;

  const reports = Object.fromEntries(
    ["distance", "key_bias", "key_weight", "slope", "bucket", "different_values", "diagonal_spread"].map((name) => [
      name,
      report(name),
    ]),
  );
  const frame = html(
    "div",
    { class: "rope-frame rope-bias" },
    html(
      "div",
      { class: "rope-bias-head" },
      html(
        "div",
        { class: "rope-row rope-row-first", role: "group", "aria-label": words.encoding },
        ...encodings.map((b) => b.node),
      ),
      place(...notes.map(([, note]) => note)),
    ),
    pictureBox,
    html(
      "div",
      { class: "rope-bias-side" },
      html("div", { class: "rope-lesson" }, lesson),
      html(
        "div",
        { class: "rope-bias-controls" },
        place(clip.node, buckets.node, headSlider.node),
        place(farthest.node, heads),
        controls.query.node,
        controls.key.node,
        controls.shift.node,
        html("div", { class: "rope-row rope-row-first" }, pushButton.node),
      ),
      html("div", { class: "rope-row rope-row-first" }, toggles.causal.node, toggles.content.node),
      html(
        "div",
        { class: "rope-readouts" },
        readout(words.distance, reports.distance.node),
        readout(words.keyBias, reports.key_bias.node),
        readout(words.weight, reports.key_weight.node),
        readout(words.slope, reports.slope.node),
        readout(words.bucket, reports.bucket.node),
        readout(words.different, reports.different_values.node),
        readout(words.spread, reports.diagonal_spread.node),
      ),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  // A shortcut for the two sliders: a press on a cell chooses its query and its key.
  let layout = null;
  const choose = (event) => {
    const box = picture.getBoundingClientRect();
    const at = (offset, origin) => Math.floor((offset - origin) / layout.cell);
    const key = at(event.clientX - box.left, layout.left);
    const query = at(event.clientY - box.top, layout.top);
    if (key < 0 || key >= LENGTH || query < 0) return;
    setBy(query < LENGTH ? { query, key } : { key });
  };
  picture.addEventListener("click", choose);
  picture.addEventListener("pointermove", (event) => {
    if (event.buttons === 1 && event.pointerType === "mouse") choose(event);
  });

  // Read before anything is written, so that the browser lays the page out once a frame.
  function measure() {
    const width = clamp(pictureBox.clientWidth || 360, 250, 420);
    const left = 34;
    const cell = Math.floor((width - left - 2) / LENGTH);
    const [top, strip] = [42, 58];
    const under = top + LENGTH * cell;
    return {
      width,
      left,
      cell,
      top,
      side: LENGTH * cell,
      strip,
      added: under + 24,
      attention: under + 24 + strip + 26,
    };
  }

  function color(node, value) {
    if (held.get(node) === value) return;
    held.set(node, value);
    setAttributes(node, {
      class: value < 0 ? "rope-bias-less" : "rope-bias-more",
      "fill-opacity": Math.min(1, Math.abs(value) / FULL).toFixed(3),
    });
  }

  // What moves only when the width does.
  function drawFrame(room) {
    const { width, left, top, cell, side } = room;
    const height = room.attention + room.strip + 4;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px; height: ${height}px` });
    cells.forEach((line, m) =>
      line.forEach((node, n) =>
        setAttributes(node, { x: left + n * cell, y: top + m * cell, width: cell, height: cell }),
      ),
    );
    setAttributes(rowsTitle, { x: 0, y: 12 });
    setAttributes(columnsTitle, { x: 72, y: 12 });
    for (const { i, row: at, column: over } of ticks) {
      setAttributes(at, { x: left - 5, y: top + (i + 0.5) * cell + 4 });
      setAttributes(over, { x: left + (i + 0.5) * cell, y: top - 6 });
    }
    setAttributes(maskedLabel, { x: left + 0.7 * side, y: top + 0.3 * side + 4 });
    const size = 7;
    const start = left + side - 26 - legend.length * size;
    legend.forEach(({ node, value }, i) => {
      setAttributes(node, { x: start + i * size, y: 3, width: size, height: 10 });
      color(node, value);
    });
    setAttributes(legendEnds[0], { x: start - 4, y: 12 });
    setAttributes(legendEnds[1], { x: left + side - 22, y: 12 });
    for (const [part, y] of [
      [added, room.added],
      [attention, room.attention],
    ]) {
      setAttributes(part.title, { x: left, y: y - 7 });
      setAttributes(part.ends[0], { x: left - 5, y: y + 9 });
      setAttributes(part.ends[1], { x: left - 5, y: y + room.strip });
    }
  }

  function drawMatrix(state) {
    state.matrix.forEach((line, m) =>
      line.forEach((value, n) => {
        if (!state.causal || n <= m) return color(cells[m][n], value);
        held.delete(cells[m][n]);
        setAttributes(cells[m][n], { class: "rope-bias-masked", "fill-opacity": 1 });
      }),
    );
    const { left, top, cell, side } = layout;
    const pushed = Math.round(state.shift);
    for (const { i, row: at, column: over } of ticks) {
      setText(at, String(pushed + i));
      setText(over, String(pushed + i));
    }
    maskedLabel.setAttribute("visibility", state.causal ? "visible" : "hidden");
    const [x, y] = [left + state.key * cell, top + state.query * cell];
    setAttributes(row, { x: left, y, width: side, height: cell });
    setAttributes(column, { x, y: top, width: cell, height: layout.attention + layout.strip - top });
    setAttributes(chosen, { x: x - 1, y: y - 1, width: cell + 2, height: cell + 2 });
  }

  function drawStrip(part, values, low, high, origin) {
    const { left, cell, side, strip: tall } = layout;
    const toY = linearScale(low, high, origin + tall, origin);
    part.axis.setAttribute("d", `M${left} ${toY(0)}H${left + side}`);
    setText(part.ends[0], formatLevel(high));
    setText(part.ends[1], formatLevel(low));
    part.bars.forEach(({ node, title }, n) => {
      const value = values[n];
      node.style.display = value === undefined ? "none" : "";
      if (value === undefined) return;
      const y = toY(clamp(value, low, high));
      setAttributes(node, {
        x: left + n * cell + 1,
        y: Math.min(y, toY(0)).toFixed(2),
        width: cell - 2,
        height: Math.abs(y - toY(0)).toFixed(2),
        class: low === 0 ? "rope-bias-weight" : value < 0 ? "rope-bias-less" : "rope-bias-more",
      });
      node.dataset.value = value;
      setText(title, formatBias(value));
    });
  }

  function gainOf(value) {
    const kind = value > 0 ? "more" : value < 0 ? "less" : "nothing";
    return fill(words.gain[kind], { amount: formatBias(Math.abs(value)) });
  }

  function sentence(state) {
    const { encoding, distance } = state;
    const kind = distance < 0 ? "behind" : distance > 0 ? "ahead" : "own";
    const where = fill(words.where[kind], { d: Math.abs(distance) });
    const values = { where, gain: gainOf(state.value), clip: state.clip_distance, head: state.head };
    const said = [];
    if (encoding === "none") {
      const even = fill(state.weights.length > 1 ? words.lessonEven : words.lessonOnly, {
        count: state.weights.length,
        weight: formatNumber(state.weights[0], 3),
      });
      said.push(words.lessonNone, state.content ? words.lessonContent : even);
    } else if (state.hidden) {
      said.push(fill(words.lessonHidden, values));
    } else if (encoding === "absolute") {
      const line = state.diagonals[distance + LENGTH - 1];
      const [low, high] = [Math.min(...line), Math.max(...line)].map(formatBias);
      said.push(fill(line.length > 1 ? words.lessonAbsolute : words.lessonCorner, { ...values, low, high }));
    } else if (encoding === "shaw") {
      said.push(fill(Math.abs(distance) > state.clip_distance ? words.lessonClipped : words.lessonShaw, values));
    } else if (encoding === "t5") {
      const [from, to] = bucketRange(distance, state.num_buckets, state.max_distance);
      const range = fill(words.range[to === from ? "one" : to < Infinity ? "some" : "open"], { from, to });
      said.push(fill(words.lessonT5, { ...values, range, bucket: state.bucket, buckets: state.num_buckets }));
    } else {
      said.push(fill(words.lessonAlibi, { ...values, denominator: 2 ** state.head }));
    }
    const colors = state.spread ? words.manyColors : state.different > 1 ? words.oneColor : words.sameColor;
    said.push(fill(colors, { count: state.different }));
    const shift = Math.round(state.shift);
    if (shift) {
      const [p, r] = [state.query, state.key].map((i) => sinusoid(i, tables.model_dim, tables.base));
      const before = absoluteBias(p, r, tables.absolute_weights);
      said.push(fill(state.spread ? words.changed : words.still, { shift, before: formatBias(before) }));
    }
    return said.join(" ");
  }

  function update() {
    const room = measure();
    const state = Object.fromEntries([...names, ...switches].map((name) => [name, model.get(name)]));
    state.shift = moving ?? state.shift;
    const { encoding, query, key, causal } = state;
    state.matrix = biasMatrix(state, tables);
    const line = causal ? state.matrix[query].slice(0, query + 1) : state.matrix[query];
    state.weights = softmax(line.map((value, n) => value + (state.content ? tables.content_scores[n] : 0)));
    state.distance = key - query;
    state.hidden = causal && key > query;
    state.value = state.hidden ? NaN : state.matrix[query][key];
    state.slope = encoding === "alibi" ? alibiSlope(state.head) : NaN;
    state.bucket = encoding === "t5" ? t5Bucket(state.distance, state.num_buckets, state.max_distance) : NaN;
    state.diagonals = diagonals(state.matrix, causal);
    state.spread = diagonalSpread(state.diagonals);
    state.different = differentValues(state.diagonals);

    layout = room;
    if (drawnWidth !== room.width) drawFrame(room);
    drawnWidth = room.width;
    drawMatrix(state);
    const high = roundLevel(Math.max(...state.matrix.flat().map(Math.abs)), [FULL, 6, 12]);
    drawStrip(added, line, -high, high, room.added);
    const most = roundLevel(Math.max(...state.weights), [0.1, 0.25, 0.5, 1]);
    drawStrip(attention, state.weights, 0, most, room.attention);
    setText(added.title, fill(words.added, { m: Math.round(state.shift) + query }));
    setText(attention.title, state.content ? words.attentionContent : words.attention);

    if (drawnKind !== encoding) {
      drawnKind = encoding;
      for (const [name, nodes] of Object.entries(shownWith)) {
        for (const node of nodes) node.classList.toggle("rope-bias-off", name !== encoding);
      }
      for (const b of encodings) b.update(b.name === encoding);
    }
    for (const name of ["query", "key", ...(PARAMETERS[encoding] ?? [])]) controls[name].update(state[name]);
    controls.shift.update(Math.round(state.shift));
    for (const name of switches) toggles[name].update(state[name]);
    // A hidden slider reports nothing.
    for (const parameter of Object.values(PARAMETERS).flat()) {
      if (PARAMETERS[encoding]?.includes(parameter)) continue;
      delete controls[parameter].node.querySelector(".rope-value").dataset.value;
    }
    pushButton.update(animation.running());
    steep.update(state.head === 1);
    flat.update(state.head === HEADS);
    const tell = (name, value, text) => reports[name].update(value, Number.isNaN(value) ? words.unknown : text);
    tell("distance", state.distance, formatNumber(state.distance, 0));
    tell("key_bias", state.value, formatBias(state.value));
    tell("key_weight", state.hidden ? NaN : state.weights[key], formatNumber(state.weights[key], 3));
    tell("slope", state.slope, String(state.slope));
    tell("bucket", state.bucket, String(state.bucket));
    tell("different_values", state.different, String(state.different));
    tell("diagonal_spread", state.spread, state.spread ? formatBias(state.spread) : "0");
    const said = sentence(state);
    if (lesson.dataset.said !== said) {
      lesson.dataset.said = said;
      lesson.innerHTML = said;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, [...names, ...switches], root, schedule);
  update();
  return () => {
    animation.cancel();
    unwatch();
    summary.stop();
  };
}

export default { render };
