import { OWN_KEYS, button, readout, report, toggle } from "../kit/controls.js";
import { announcer, arrow, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { clamp, softmax } from "../kit/math.js";
import { animator, commit, frameScheduler, prefersReducedMotion, watch } from "../kit/motion.js";
import { fill, formatNumber, pickWords } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Token shuffle: move the words, watch what attention says for each",
    sentence: "sentence",
    cards: "The words in their places, each with its output; drag a word, or move it with the arrow keys",
    heat: "How much the word of each row looks at the word of each column",
    mean: "The mean of all outputs, and where it was in the original order",
    tile: "{word}",
    tileGloss: "{word} ({gloss})",
    tilePlace: "place {place} of {last}",
    tileRole: "movable word",
    glosses: { 我: "I, me", 喜欢: "like", 你: "you" },
    place: "place {place}",
    unchanged: "unchanged",
    unchangedShort: "same",
    changed: "changed",
    heatTitle: "weights: row looks at column",
    meanTitle: "mean of all outputs",
    legendNow: "output now",
    legendGhost: "in the original order",
    swap: "swap who and whom",
    shuffle: "shuffle",
    original: "original",
    positions: "add positions",
    causal: "causal mask",
    change: "largest change of an output",
    pooled: "mean of the outputs",
    pooledChange: "change of the mean",
    lessonOriginal:
      "The original order. Each ring keeps what its word says here. Move a word: will its arrow leave the ring?",
    lessonBag:
      "Only the places changed. Each word kept its own output (largest change <b>{change}</b>), so the mean is the same too.",
    lessonTwins: "Both “{twin}” (marked =) say the same: nothing tells them apart.",
    lessonPositions:
      "With positions, the same word says something else in another place: largest change <b>{change}</b>, at “{most}”.",
    lessonApart: "The two “{twin}” now differ.",
    lessonCausal:
      "Under a causal mask a word sees itself and the words before it; “{first}” now sees only itself. Largest change <b>{change}</b>, at “{most}”.",
    lessonBoth: "With positions and a mask the order counts twice: largest change <b>{change}</b>, at “{most}”.",
    lessonReference:
      "The original order, {how}. Each ring keeps what its word says here. Move a word: will its arrow leave the ring?",
    howPositions: "with positions",
    howCausal: "under a causal mask",
    howBoth: "with positions and a mask",
  },
};

const SAME = 1e-9;
const TRAVEL = 0.3;

// The sinusoidal code of a place, two numbers wide: [sin m, cos m].
export function positionCode(place) {
  return [Math.sin(place), Math.cos(place)];
}

export function apply(matrix, [x, y]) {
  return matrix.map(([a, b]) => a * x + b * y);
}

// One head: softmax(q . k / sqrt(2)) v; under a causal mask no word sees a later one.
export function attend(points, head, causal) {
  const [queries, keys, values] = [head.query, head.key, head.value].map((matrix) =>
    points.map((point) => apply(matrix, point)),
  );
  const weights = queries.map((q, m) =>
    softmax(keys.map((k, n) => (causal && n > m ? -Infinity : (q[0] * k[0] + q[1] * k[1]) / Math.SQRT2))),
  );
  const outputs = weights.map((row) =>
    [0, 1].map((axis) => row.reduce((sum, weight, n) => sum + weight * values[n][axis], 0)),
  );
  return { weights, outputs };
}

export function meanOf(points) {
  return [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
}

export function largestChange(a, b) {
  return Math.max(Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1]));
}

// Everything that is shown, by place; `before` is what the same word had in the original order.
export function survey(embeddings, order, head, positions, causal) {
  const run = (line) =>
    attend(
      line.map((word, place) => {
        const code = positions ? positionCode(place) : [0, 0];
        return embeddings[word].map((value, axis) => value + code[axis]);
      }),
      head,
      causal,
    );
  const { weights, outputs } = run(order);
  const original = run(embeddings.map((_, word) => word)).outputs;
  const before = order.map((word) => original[word]);
  const changes = outputs.map((output, place) => largestChange(output, before[place]));
  const pooled = meanOf(outputs);
  const pooledBefore = meanOf(original);
  return {
    weights,
    outputs,
    before,
    changes,
    change: Math.max(...changes),
    pooled,
    pooledBefore,
    pooledChange: largestChange(pooled, pooledBefore),
  };
}

export function permutations(count) {
  if (count === 0) return [[]];
  return permutations(count - 1).flatMap((shorter) =>
    Array.from({ length: count }, (_, at) => [...shorter.slice(0, at), count - 1, ...shorter.slice(at)]),
  );
}

// The smallest box that holds the origin and every output of a sentence, whatever its order.
export function boundsOf(embeddings, head) {
  const box = { left: 0, right: 0, bottom: 0, top: 0 };
  for (const order of permutations(embeddings.length)) {
    for (const [positions, causal] of [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ]) {
      for (const [x, y] of survey(embeddings, order, head, positions, causal).outputs) {
        box.left = Math.min(box.left, x);
        box.right = Math.max(box.right, x);
        box.bottom = Math.min(box.bottom, y);
        box.top = Math.max(box.top, y);
      }
    }
  }
  return box;
}

// Takes what stands at one place to another; what lies between moves up by one.
export function moved(order, from, to) {
  const next = order.filter((_, place) => place !== from);
  next.splice(to, 0, order[from]);
  return next;
}

export function exchanged(order, first, second) {
  return order.map((word) => (word === first ? second : word === second ? first : word));
}

export function isOriginal(order) {
  return order.every((word, place) => word === place);
}

// Words that are written alike and whose outputs are equal, by place.
export function twinsOf(names, outputs) {
  return names.map((name, place) =>
    names.some((other, at) => at !== place && other === name && largestChange(outputs[at], outputs[place]) < SAME),
  );
}

// The unit that fits a box into a picture, and where the origin then is.
export function fitted(box, width, height, margin) {
  const unit = Math.min((width - 2 * margin) / (box.right - box.left), (height - 2 * margin) / (box.top - box.bottom));
  return {
    unit,
    x: width / 2 - ((box.left + box.right) / 2) * unit,
    y: height / 2 + ((box.bottom + box.top) / 2) * unit,
  };
}

// Chinese letters are one em wide in every font, and a reader without one gets as much room.
function roomFor(word) {
  return /\p{Script=Han}/u.test(word) ? { class: "rope-tokens-han", style: `min-width: ${word.length}em` } : {};
}

// Parts that are not in use leave the document, and with them their controls and readouts.
function within(node, parent, wanted) {
  if (!wanted) node.remove();
  else if (node.parentNode !== parent) parent.append(node);
  return wanted;
}

function makePlane(parent) {
  const group = svg("g", { "aria-hidden": "true" }, parent);
  const back = svg("rect", { class: "rope-tokens-back", rx: 8 }, group);
  const axes = svg("path", { class: "rope-axis" }, group);
  const ghost = svg("path", { class: "rope-tokens-ghost" }, group);
  const ring = svg("circle", { class: "rope-tokens-ring", r: 8 }, group);
  const draw = arrow(group, "rope-tokens-output");
  return (left, top, width, height, box, output, before) => {
    const { unit, x, y } = fitted(box, width, height, 10);
    const [cx, cy] = [left + x, top + y];
    const at = ([a, b]) => [cx + a * unit, cy - b * unit];
    setAttributes(back, { x: left, y: top, width, height });
    setAttributes(axes, { d: `M${left} ${cy}H${left + width}M${cx} ${top}V${top + height}` });
    const [gx, gy] = at(before);
    setAttributes(ghost, { d: `M${cx} ${cy}L${gx} ${gy}` });
    setAttributes(ring, { cx: gx, cy: gy });
    draw(cx, cy, ...at(output));
  };
}

function makeReport(parent, name, attributes = {}) {
  const node = svg("tspan", { "data-report": name, ...attributes }, parent);
  return (value) => {
    node.dataset.value = value;
    setText(node, formatNumber(value));
  };
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  const sentences = model.get("sentences");
  const head = {
    query: model.get("query_matrix"),
    key: model.get("key_matrix"),
    value: model.get("value_matrix"),
  };
  const boxes = Object.fromEntries(
    Object.entries(sentences).map(([name, { embeddings }]) => [name, boundsOf(embeddings, head)]),
  );
  const most = Math.max(...Object.values(sentences).map((sentence) => sentence.words.length));
  const original = (sentence) => sentence.words.map((_, word) => word);
  const swappedOrder = (sentence) => exchanged(original(sentence), ...sentence.swap);
  const current = () => {
    const sentence = sentences[model.get("sentence")];
    const order = model.get("order");
    // Python may have sent the sentence and not yet its order.
    return { sentence, order: order.length === sentence.words.length ? order : swappedOrder(sentence) };
  };

  // ---- cards: one per place, in reading order; words pass from one to the next ----
  const cardBox = html("div", { class: "rope-tokens-cards" });
  const cards = svg("svg", { role: "group", "aria-label": words.cards });
  cardBox.append(cards);
  const places = Array.from({ length: most }, (_, place) => {
    const mark = svg("g", {}, cards);
    const code = svg("g", { class: "rope-tokens-code", "aria-hidden": "true" }, mark);
    svg("circle", { r: 8.5 }, code);
    const codeArrow = arrow(code, "rope-tokens-code-arrow");
    const [sine, cosine] = positionCode(place);
    codeArrow(0, 0, 8 * sine, -8 * cosine);
    const label = svg("text", { class: "rope-tokens-place", "text-anchor": "middle", y: 17 }, mark);
    setText(label, fill(words.place, { place }));
    return { mark, code, label };
  });
  const slots = places.map((_, place) => {
    const card = svg("g", { class: "rope-tokens-card" }, cards);
    const tile = svg(
      "g",
      {
        class: "rope-tokens-tile",
        tabindex: 0,
        role: "slider",
        "aria-roledescription": words.tileRole,
        "aria-valuemin": 0,
        "data-control": `tile_${place}`,
        ...OWN_KEYS,
      },
      card,
    );
    const back = svg("rect", { rx: 10 }, tile);
    const name = svg("text", { class: "rope-tokens-word", "text-anchor": "middle" }, tile);
    const gloss = svg("text", { class: "rope-tokens-gloss", "text-anchor": "middle" }, tile);
    const plane = makePlane(card);
    const twin = svg("text", { class: "rope-tokens-twin", "text-anchor": "middle" }, card);
    twin.textContent = "=";
    const number = (axis) => {
      const text = svg("text", { class: "rope-tokens-number", "text-anchor": "middle" }, card);
      svg("tspan", { class: "rope-tokens-axis" }, text).textContent = `${axis} `;
      return { text, update: makeReport(text, `output_${axis}`) };
    };
    const [x, y] = [number("x"), number("y")];
    const status = svg("text", { class: "rope-tokens-status", "text-anchor": "middle" }, card);
    // Chromium does not heed touch-action inside this picture, and would scroll the page instead.
    tile.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    tile.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { order } = current();
      dragged = { word: order[place], grip: shown[order[place]] - placeAt(event), at: shown[order[place]] };
      tile.setPointerCapture(event.pointerId);
      schedule();
    });
    tile.addEventListener("pointermove", (event) => {
      if (!dragged) return;
      const { order } = current();
      dragged.at = clamp(placeAt(event) + dragged.grip, 0, order.length - 1);
      move(order.indexOf(dragged.word), Math.round(dragged.at));
      schedule();
    });
    for (const end of ["pointerup", "pointercancel"]) {
      tile.addEventListener(end, () => {
        if (!dragged) return;
        const { word } = dragged;
        dragged = null;
        slots[current().order.indexOf(word)].tile.focus({ preventScroll: true });
        travel();
      });
    }
    tile.addEventListener("keydown", (event) => {
      const { order } = current();
      const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: order.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      if (to < 0 || to >= order.length) return;
      move(place, to);
      slots[to].tile.focus({ preventScroll: true });
    });
    return { card, tile, back, name, gloss, plane, twin, x, y, status };
  });

  // ---- weights and mean ----
  const heat = svg("svg", { role: "group", "aria-label": words.heat });
  const rowNames = slots.map(() => svg("text", { class: "rope-tokens-name", "text-anchor": "end" }, heat));
  const columnNames = slots.map(() => svg("text", { class: "rope-tokens-name", "text-anchor": "middle" }, heat));
  const cells = [];
  const mean = svg("svg", { role: "img", "aria-label": words.mean });
  const meanPlane = makePlane(mean);

  // Where each word is drawn, in places; on its way while it travels.
  let shown = [];
  let dragged = null;
  let layout = { width: 0, column: 1, left: 0 };
  let known = "";
  const placeAt = (event) => (event.clientX - cards.getBoundingClientRect().left - layout.left) / layout.column - 0.5;
  const move = (from, to) => {
    if (from !== to) commit(model, { order: moved(current().order, from, to) });
  };
  const targets = () => {
    const place = [];
    current().order.forEach((word, at) => (place[word] = at));
    return place;
  };
  const animation = animator(() => {});
  const travel = () => {
    if (prefersReducedMotion()) {
      shown = targets();
      return schedule();
    }
    const from = [...shown];
    animation.start((seconds) => {
      const part = Math.min(1, seconds / TRAVEL);
      const eased = 1 - (1 - part) ** 3;
      shown = targets().map((to, word) => (part < 1 ? from[word] + (to - from[word]) * eased : to));
      schedule();
      return part < 1;
    });
  };
  // Words on their way, or in a hand, belong to one sentence: another one begins at rest.
  const rest = () => {
    animation.stop();
    dragged = null;
    shown = targets();
  };
  model.on("change:sentence", rest);

  // ---- controls ----
  const names = Object.keys(sentences);
  const choose = (name) => {
    if (name !== model.get("sentence")) commit(model, { sentence: name, order: swappedOrder(sentences[name]) });
  };
  const choices = names.map((name) => {
    const { words: list, language } = sentences[name];
    const node = html("button", { type: "button", class: "rope-button", role: "radio", lang: language, ...OWN_KEYS });
    list.forEach((word, at) => node.append(at ? " " : "", html("span", roomFor(word), word)));
    node.addEventListener("click", () => choose(name));
    return node;
  });
  const chooser = html(
    "div",
    {
      class: "rope-row rope-row-first rope-tokens-choices",
      role: "radiogroup",
      "aria-label": words.sentence,
      "data-control": "sentence",
    },
    ...choices,
  );
  chooser.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (names.indexOf(model.get("sentence")) + step + names.length) % names.length;
    choose(names[next]);
    choices[next].focus();
  });
  const buttons = {
    swap: button({
      name: "swap",
      label: words.swap,
      onClick: () => {
        // From any order to the swapped one, and from there back.
        const { sentence, order } = current();
        const swapped = swappedOrder(sentence);
        commit(model, { order: String(order) === String(swapped) ? original(sentence) : swapped });
      },
    }),
    shuffle: button({
      name: "shuffle",
      label: words.shuffle,
      pressable: false,
      onClick: () => {
        const { sentence, order } = current();
        const at = sentence.shuffles.findIndex((shuffle) => String(shuffle) === String(order));
        commit(model, { order: [...sentence.shuffles[(at + 1) % sentence.shuffles.length]] });
      },
    }),
    original: button({
      name: "original",
      label: words.original,
      onClick: () => commit(model, { order: original(current().sentence) }),
    }),
  };
  const positions = toggle({
    name: "positions",
    label: words.positions,
    onChange: (value) => commit(model, { positions: value }),
  });
  const causal = toggle({
    name: "causal",
    label: words.causal,
    onChange: (value) => commit(model, { causal: value }),
  });
  const reports = {
    change: report("change"),
    pooledX: report("pooled_x"),
    pooledY: report("pooled_y"),
    pooledChange: report("pooled_change"),
  };
  const lesson = html("p");
  const sample = (draw) => {
    const picture = svg("svg", { viewBox: "0 0 34 18", "aria-hidden": "true" });
    draw(picture);
    return picture;
  };
  const legend = html(
    "ul",
    { class: "rope-legend rope-tokens-legend" },
    html(
      "li",
      {},
      sample((picture) => arrow(picture, "rope-tokens-output")(2, 9, 30, 9)),
      words.legendNow,
    ),
    html(
      "li",
      {},
      sample((picture) => {
        svg("path", { class: "rope-tokens-ghost", d: "M2 9H25" }, picture);
        svg("circle", { class: "rope-tokens-ring", r: 7, cx: 25, cy: 9 }, picture);
      }),
      words.legendGhost,
    ),
  );
  const heatBox = html("div", { class: "rope-tokens-picture" }, html("p", {}, words.heatTitle), heat);
  const meanBox = html("div", { class: "rope-tokens-picture" }, html("p", {}, words.meanTitle), mean);
  const frame = html(
    "div",
    { class: "rope-frame rope-tokens" },
    chooser,
    cardBox,
    legend,
    html("div", { class: "rope-lesson" }, lesson),
    html(
      "div",
      { class: "rope-row rope-tokens-stops" },
      ...Object.values(buttons).map((one) => one.node),
      html("span", { class: "rope-tokens-toggles" }, positions.node, causal.node),
    ),
    html("div", { class: "rope-tokens-pictures" }, heatBox, meanBox),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.change, reports.change.node),
      readout(words.pooled, html("span", {}, "(", reports.pooledX.node, ", ", reports.pooledY.node, ")")),
      readout(words.pooledChange, reports.pooledChange.node),
    ),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  function measure() {
    return {
      narrow: root.clientWidth < 600,
      cards: clamp(cardBox.clientWidth || 340, 260, 760),
      heat: clamp(heatBox.clientWidth || 200, 150, 420),
      mean: clamp(meanBox.clientWidth || 110, 80, 320),
    };
  }

  function drawCards({ sentence, order, state, box, twins }, room) {
    const count = order.length;
    const column = Math.min(room.cards / count, 190);
    const gap = room.narrow ? 4 : 12;
    const width = column - gap;
    const tileHeight = 50;
    const planeTop = 26 + tileHeight + 6;
    const planeHeight = room.narrow ? 108 : 146;
    const bottom = planeTop + planeHeight;
    layout = { column, left: (room.cards - count * column) / 2 };
    const height = bottom + 60;
    setAttributes(cards, { viewBox: `0 0 ${room.cards} ${height}`, height });
    const centerOf = (place) => layout.left + (place + 0.5) * column;
    const withCode = model.get("positions");
    places.forEach(({ mark, code, label }, place) => {
      mark.style.display = place < count ? "" : "none";
      setAttributes(mark, { transform: `translate(${centerOf(place).toFixed(2)} 0)` });
      setAttributes(code, { transform: "translate(-22 12)", visibility: withCode ? "visible" : "hidden" });
      setAttributes(label, { x: withCode ? 10 : 0 });
      label.classList.toggle("rope-tone-position", withCode);
    });
    slots.forEach((slot, place) => {
      if (!within(slot.card, cards, place < count)) return;
      const word = order[place];
      const text = sentence.words[word];
      const gloss = words.glosses[text];
      const lifted = dragged?.word === word;
      slot.card.classList.toggle("rope-tokens-lifted", lifted);
      setAttributes(slot.card, {
        transform: `translate(${centerOf(lifted ? dragged.at : shown[word]).toFixed(2)} ${lifted ? 20 : 26})`,
      });
      setAttributes(slot.tile, {
        "aria-label": fill(gloss ? words.tileGloss : words.tile, { word: text, gloss }),
        "aria-valuemax": count - 1,
        "aria-valuenow": place,
        "aria-valuetext": fill(words.tilePlace, { place, last: count - 1 }),
      });
      setAttributes(slot.back, { x: -width / 2, y: 0, width, height: tileHeight });
      setText(slot.name, text);
      setAttributes(slot.name, { y: gloss ? 24 : 31, lang: sentence.language });
      setText(slot.gloss, gloss ?? "");
      setAttributes(slot.gloss, { y: 41 });
      slot.plane(-width / 2, planeTop - 26, width, planeHeight, box, state.outputs[place], state.before[place]);
      setAttributes(slot.twin, {
        x: width / 2 - 10,
        y: planeTop - 26 + 17,
        visibility: twins[place] ? "visible" : "hidden",
      });
      slot.x.update(state.outputs[place][0]);
      slot.y.update(state.outputs[place][1]);
      const below = bottom - 26;
      setAttributes(slot.x.text, { y: below + 19 });
      setAttributes(slot.y.text, { y: below + 35 });
      const same = state.changes[place] < SAME;
      setText(slot.status, same ? (column < 80 ? words.unchangedShort : words.unchanged) : words.changed);
      slot.status.classList.toggle("rope-tokens-changed", !same);
      setAttributes(slot.status, { y: below + 53 });
    });
  }

  function drawHeat({ sentence, order, state }, room) {
    const count = order.length;
    const gutter = room.narrow ? 34 : 46;
    // As large for three words as for five: what stands below must not jump.
    const side = Math.min(room.heat - gutter, 220);
    const cell = side / count;
    const left = gutter + (room.heat - gutter - side) / 2;
    const height = 22 + side;
    setAttributes(heat, { viewBox: `0 0 ${room.heat} ${height}`, height });
    while (cells.length < most * most) {
      const group = svg("g", {}, heat);
      const back = svg("rect", { class: "rope-tokens-cell", rx: 4 }, group);
      const text = svg("text", { class: "rope-tokens-weight", "text-anchor": "middle" }, group);
      cells.push({ group, back, text, update: makeReport(text, "weight"), node: text.firstChild });
    }
    const at = (word) => (dragged?.word === word ? dragged.at : shown[word]);
    slots.forEach((_, place) => {
      const inUse = place < count;
      for (const list of [rowNames, columnNames]) list[place].style.display = inUse ? "" : "none";
      if (!inUse) return;
      const word = order[place];
      for (const list of [rowNames, columnNames]) {
        setText(list[place], sentence.words[word]);
        setAttributes(list[place], { lang: sentence.language });
      }
      setAttributes(rowNames[place], { x: left - 6, y: 22 + (at(word) + 0.5) * cell + 5 });
      setAttributes(columnNames[place], { x: left + (at(word) + 0.5) * cell, y: 15 });
    });
    const masked = model.get("causal");
    cells.forEach(({ group, back, text, update, node }, i) => {
      const inUse = i < count * count;
      if (!within(group, heat, inUse)) return;
      const [row, column] = [Math.floor(i / count), i % count];
      const weight = state.weights[row][column];
      const hidden = masked && column > row;
      const [x, y] = [left + at(order[column]) * cell, 22 + at(order[row]) * cell];
      setAttributes(group, { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` });
      setAttributes(back, {
        x: 1.5,
        y: 1.5,
        width: cell - 3,
        height: cell - 3,
        "fill-opacity": (0.55 * weight).toFixed(4),
      });
      back.classList.toggle("rope-tokens-masked", hidden);
      text.classList.toggle("rope-tokens-hidden", hidden);
      setAttributes(text, { x: cell / 2, y: cell / 2 + 4.5 });
      update(weight);
      if (hidden) setText(node, "0");
    });
    return height;
  }

  function lessonFor({ sentence, order, state, twins }) {
    const [coded, masked] = [model.get("positions"), model.get("causal")];
    const twin = sentence.words.find((word, at) => sentence.words.indexOf(word) !== at);
    const quoted = (word) => html("span", { lang: sentence.language, ...roomFor(word) }, word).outerHTML;
    const values = {
      change: formatNumber(state.change),
      most: quoted(sentence.words[order[state.changes.indexOf(state.change)]]),
      first: quoted(sentence.words[order[0]]),
      twin,
      how: coded && masked ? words.howBoth : coded ? words.howPositions : words.howCausal,
    };
    const parts = [];
    if (isOriginal(order)) parts.push(coded || masked ? words.lessonReference : words.lessonOriginal);
    else if (coded && masked) parts.push(words.lessonBoth);
    else if (coded) parts.push(words.lessonPositions);
    else if (masked) parts.push(words.lessonCausal);
    else parts.push(words.lessonBag);
    if (twins.some(Boolean)) parts.push(words.lessonTwins);
    else if (twin && coded && !isOriginal(order)) parts.push(words.lessonApart);
    return fill(parts.join(" "), values);
  }

  function update() {
    const room = measure();
    const { sentence, order } = current();
    const name = model.get("sentence");
    const key = `${name} ${order}`;
    if (key !== known) {
      const stays = known.startsWith(`${name} `);
      known = key;
      if (stays) travel();
      else rest();
    }
    const state = survey(sentence.embeddings, order, head, model.get("positions"), model.get("causal"));
    const twins = twinsOf(
      order.map((word) => sentence.words[word]),
      state.outputs,
    );
    const drawn = { sentence, order, state, box: boxes[name], twins };
    drawCards(drawn, room);
    const height = drawHeat(drawn, room);
    setAttributes(mean, { viewBox: `0 0 ${room.mean} ${height}`, height });
    const tall = height - 22;
    meanPlane(0, 22, room.mean, tall, boxes[name], state.pooled, state.pooledBefore);
    choices.forEach((node, i) =>
      setAttributes(node, { "aria-checked": names[i] === name, tabindex: names[i] === name ? 0 : -1 }),
    );
    buttons.swap.update(String(order) === String(swappedOrder(sentence)));
    buttons.original.update(isOriginal(order));
    positions.update(model.get("positions"));
    causal.update(model.get("causal"));
    reports.change.update(state.change, formatNumber(state.change));
    reports.pooledX.update(state.pooled[0], formatNumber(state.pooled[0]));
    reports.pooledY.update(state.pooled[1], formatNumber(state.pooled[1]));
    reports.pooledChange.update(state.pooledChange, formatNumber(state.pooledChange));
    const said = lessonFor(drawn);
    if (lesson.dataset.said !== said) {
      lesson.dataset.said = said;
      lesson.innerHTML = said;
    }
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(model, ["sentence", "order", "positions", "causal"], root, schedule);
  update();
  return () => {
    animation.cancel();
    model.off("change:sentence", rest);
    unwatch();
    summary.stop();
  };
}

export default { render };
