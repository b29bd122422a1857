import { OWN_KEYS, readout } from "../kit/controls.js";
import { arrow, div, html, setAttributes, setText, svg, svgText, widthOf } from "../kit/dom.js";
import { dragAlong } from "../kit/drag.js";
import { alike, clamp, dot, sinusoid, softmax } from "../kit/math.js";
import { animator, prefersReducedMotion } from "../kit/motion.js";
import { mount } from "../kit/mount.js";
import { fill, formatNumber } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Token shuffle: move the words, watch what attention says for each",
    sentence: "sentence",
    cards: "The words in their places, each with its output; drag a word, or move it with the arrow keys",
    heat: "How much the word of each row looks at the word of each column",
    mean: "The mean of all outputs, and where it was in the original order",
    tile: { plain: "{word}", gloss: "{word} ({gloss})", place: "place {place} of {last}", role: "movable word" },
    glosses: { 我: "I, me", 喜欢: "like", 你: "you" },
    place: "place {place}",
    status: { same: "unchanged", short: "same", changed: "changed" },
    heatTitle: "weights: row looks at column",
    meanTitle: "mean of all outputs",
    legend: { now: "output now", ghost: "in the original order" },
    stops: { swap: "swap who and whom", shuffle: "shuffle", original: "original" },
    switches: { positions: "add positions", causal: "causal mask" },
    change: "largest change of an output",
    pooled: "mean of the outputs",
    pooledChange: "change of the mean",
    lessons: {
      original:
        "The original order. Each ring keeps what its word says here. Move a word: will its arrow leave the ring?",
      bag: "Only the places changed. Each word kept its own output (largest change <b>{change}</b>), so the mean is the same too.",
      twins: "Both “{twin}” (marked =) say the same: nothing tells them apart.",
      positions:
        "With positions, the same word says something else in another place: largest change <b>{change}</b>, at “{most}”.",
      apart: "The two “{twin}” now differ.",
      causal:
        "Under a causal mask a word sees itself and the words before it; “{first}” now sees only itself. Largest change <b>{change}</b>, at “{most}”.",
      both: "With positions and a mask the order counts twice: largest change <b>{change}</b>, at “{most}”.",
      reference:
        "The original order, {how}. Each ring keeps what its word says here. Move a word: will its arrow leave the ring?",
    },
    how: { positions: "with positions", causal: "under a causal mask", both: "with positions and a mask" },
  },
};

const SAME = 1e-9;
const TRAVEL = 0.3;
const TILE = 50;
// Where the pictures below the cards begin, under their names.
const TOP = 22;

// The sinusoidal code of a place, two numbers wide: [sin m, cos m].
export const positionCode = (place) => sinusoid(place, [1]);

export function apply(matrix, [x, y]) {
  return matrix.map(([a, b]) => a * x + b * y);
}

// One head: softmax(q . k / sqrt(2)) v; under a causal mask no word sees a later one.
export function attend(points, head, causal) {
  const [queries, keys, values] = [head.query, head.key, head.value].map((matrix) =>
    points.map((point) => apply(matrix, point)),
  );
  const weights = queries.map((q, m) =>
    softmax(keys.map((k, n) => (causal && n > m ? -Infinity : dot(q, k) / Math.SQRT2))),
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
  const code = (place) => (positions ? positionCode(place) : [0, 0]);
  const pointAt = (word, place) => embeddings[word].map((value, axis) => value + code(place)[axis]);
  const run = (line) => attend(line.map(pointAt), head, causal);
  const { weights, outputs } = run(order);
  const original = run(embeddings.map((_, word) => word)).outputs;
  const before = order.map((word) => original[word]);
  const changes = outputs.map((output, place) => largestChange(output, before[place]));
  const [pooled, pooledBefore] = [meanOf(outputs), meanOf(original)];
  const pooledChange = largestChange(pooled, pooledBefore);
  return { weights, outputs, before, changes, change: Math.max(...changes), pooled, pooledBefore, pooledChange };
}

export function permutations(count) {
  if (count === 0) return [[]];
  return permutations(count - 1).flatMap((shorter) =>
    Array.from({ length: count }, (_, at) => [...shorter.slice(0, at), count - 1, ...shorter.slice(at)]),
  );
}

// The smallest box that holds the origin and every output of a sentence, whatever its order.
export function boundsOf(embeddings, head) {
  const outputs = permutations(embeddings.length).flatMap((order) =>
    [0, 1, 2, 3].flatMap((rule) => survey(embeddings, order, head, rule % 2 === 1, rule > 1).outputs),
  );
  const [xs, ys] = [0, 1].map((axis) => [0, ...outputs.map((output) => output[axis])]);
  return { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) };
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
export function fitted({ left, right, bottom, top }, width, height, margin) {
  const unit = Math.min((width - 2 * margin) / (right - left), (height - 2 * margin) / (top - bottom));
  return { unit, x: width / 2 - ((left + right) / 2) * unit, y: height / 2 + ((bottom + top) / 2) * unit };
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

// The names of the sentences: what the order is, and what becomes of words that are written alike.
export function lessonKinds({ order, positions, causal, twins }, twin) {
  const rule = positions && causal ? "both" : positions ? "positions" : causal ? "causal" : "bag";
  if (isOriginal(order)) return [rule === "bag" ? "original" : "reference", twins.some(Boolean) ? "twins" : "", rule];
  return [rule, twins.some(Boolean) ? "twins" : twin && positions ? "apart" : "", rule];
}

// The sentence of a state, and its order: Python may have sent the one and not yet the other.
function placed(sentences, { sentence, order }) {
  const text = sentences[sentence];
  const original = text.words.map((_, word) => word);
  const swapped = exchanged(original, ...text.swap);
  return { text, original, swapped, order: order.length === original.length ? order : swapped };
}

// The order after this one among those that the button goes through.
function shuffled({ text: { shuffles }, order }) {
  return [...shuffles[(shuffles.findIndex((shuffle) => alike(shuffle, order)) + 1) % shuffles.length]];
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

function numberIn(text, name) {
  const node = svg("tspan", { "data-report": name }, text);
  return (value, shown = formatNumber(value)) => {
    setAttributes(node, { "data-value": value });
    setText(node, shown);
  };
}

// The name of a place, and the code that is added there.
function makeMark(parent, words, place) {
  const mark = svg("g", {}, parent);
  const code = svg("g", { class: "rope-tokens-code", "aria-hidden": "true", transform: "translate(-22 12)" }, mark);
  svg("circle", { r: 8.5 }, code);
  const [sine, cosine] = positionCode(place);
  arrow(code, "rope-tokens-code-arrow")(0, 0, 8 * sine, -8 * cosine);
  const label = setAttributes(svgText(mark, "rope-tokens-place", "middle", fill(words.place, { place })), { y: 17 });
  return (x, coded) => {
    mark.style.display = x === null ? "none" : "";
    setAttributes(mark, { transform: `translate(${(x ?? 0).toFixed(2)} 0)` });
    setAttributes(code, { visibility: coded ? "visible" : "hidden" });
    setAttributes(label, { x: coded ? 10 : 0 });
    label.classList.toggle("rope-tone-position", coded);
  };
}

// A place with the word that stands there, its output, and whether that has changed.
function makeSlot(parent, words, place) {
  const card = svg("g", { class: "rope-tokens-card" }, parent);
  const role = { role: "slider", "aria-roledescription": words.tile.role, "aria-valuemin": 0, "aria-valuenow": place };
  const named = { class: "rope-tokens-tile", tabindex: 0, "data-control": `tile_${place}`, ...OWN_KEYS };
  const tile = svg("g", { ...named, ...role }, card);
  const back = svg("rect", { rx: 10, y: 0 }, tile);
  const name = svgText(tile, "rope-tokens-word", "middle");
  const meaning = setAttributes(svgText(tile, "rope-tokens-gloss", "middle"), { y: 41 });
  const plane = makePlane(card);
  const twin = svgText(card, "rope-tokens-twin", "middle", "=");
  const numbers = ["x", "y"].map((axis) => {
    const text = svgText(card, "rope-tokens-number", "middle");
    svg("tspan", { class: "rope-tokens-axis" }, text).textContent = `${axis} `;
    return { text, update: numberIn(text, `output_${axis}`) };
  });
  const status = svgText(card, "rope-tokens-status", "middle");

  function drawTile(word, language, last, width) {
    const gloss = words.glosses[word];
    setAttributes(tile, {
      "aria-label": fill(gloss ? words.tile.gloss : words.tile.plain, { word, gloss }),
      "aria-valuemax": last,
      "aria-valuetext": fill(words.tile.place, { place, last }),
    });
    setAttributes(back, { x: -width / 2, width, height: TILE });
    setText(name, word);
    setAttributes(name, { y: gloss ? 24 : 31, lang: language });
    setText(meaning, gloss ?? "");
  }

  function drawOutput({ box, outputs, before, changes, twins }, { width, column, tall }) {
    const [top, below] = [TILE + 6, TILE + 6 + tall];
    plane(-width / 2, top, width, tall, box, outputs[place], before[place]);
    setAttributes(twin, { x: width / 2 - 10, y: top + 17, visibility: twins[place] ? "visible" : "hidden" });
    numbers.forEach(({ text, update }, axis) => {
      update(outputs[place][axis]);
      setAttributes(text, { y: below + 19 + 16 * axis });
    });
    const same = changes[place] < SAME;
    setText(status, words.status[same ? (column < 80 ? "short" : "same") : "changed"]);
    status.classList.toggle("rope-tokens-changed", !same);
    setAttributes(status, { y: below + 53 });
  }

  return {
    card,
    tile,
    draw(state, room, x, lifted) {
      card.classList.toggle("rope-tokens-lifted", lifted);
      setAttributes(card, { transform: `translate(${x.toFixed(2)} ${lifted ? 20 : 26})` });
      drawTile(state.names[place], state.text.language, state.order.length - 1, room.width);
      drawOutput(state, room);
    },
  };
}

// One card per place, in reading order; words pass from one to the next.
function cardsPicture(words, most) {
  const picture = svg("svg", { role: "group", "aria-label": words.cards });
  const places = Array.from({ length: most }, (_, place) => place);
  const marks = places.map((place) => makeMark(picture, words, place));
  const slots = places.map((place) => makeSlot(picture, words, place));
  let [column, left] = [1, 0];
  return {
    node: picture,
    tiles: slots.map(({ tile }) => tile),
    placeAt: (event) => (event.clientX - picture.getBoundingClientRect().left - left) / column - 0.5,
    draw(state, { cards, narrow }) {
      const { order, positions, at, lifted } = state;
      const count = order.length;
      column = Math.min(cards / count, 190);
      left = (cards - count * column) / 2;
      const room = { column, width: column - (narrow ? 4 : 12), tall: narrow ? 108 : 146 };
      const height = 26 + TILE + 6 + room.tall + 60;
      setAttributes(picture, { viewBox: `0 0 ${cards} ${height}`, height });
      const toX = (place) => left + (place + 0.5) * column;
      marks.forEach((mark, place) => mark(place < count ? toX(place) : null, positions));
      slots.forEach((slot, place) => {
        if (!within(slot.card, picture, place < count)) return;
        slot.draw(state, room, toX(at[order[place]]), order[place] === lifted);
      });
    },
  };
}

// The weights: a row of cells for each word, which travels with it.
function heatPicture(words, most) {
  const picture = svg("svg", { role: "group", "aria-label": words.heat });
  const list = (anchor) => Array.from({ length: most }, () => svgText(picture, "rope-tokens-name", anchor));
  const [rows, columns] = [list("end"), list("middle")];
  const cells = Array.from({ length: most * most }, () => {
    const group = svg("g", {}, picture);
    const back = svg("rect", { class: "rope-tokens-cell", rx: 4, x: 1.5, y: 1.5 }, group);
    const text = svgText(group, "rope-tokens-weight", "middle");
    return { group, back, text, update: numberIn(text, "weight") };
  });

  function draw({ names, text: { language }, order, weights, causal, at }, { heat, side, narrow }) {
    const count = order.length;
    const cell = side / count;
    const left = (heat + (narrow ? 34 : 46) - side) / 2;
    const places = order.map((word) => at[word]);
    setAttributes(picture, { viewBox: `0 0 ${heat} ${TOP + side}`, height: TOP + side });
    for (const nodes of [rows, columns]) {
      nodes.forEach((node, place) => {
        node.style.display = place < count ? "" : "none";
        if (place >= count) return;
        setText(node, names[place]);
        const along = (places[place] + 0.5) * cell;
        const spot = nodes === rows ? { x: left - 6, y: TOP + along + 5 } : { x: left + along, y: 15 };
        setAttributes(node, { lang: language, ...spot });
      });
    }
    cells.forEach(({ group, back, text, update }, i) => {
      if (!within(group, picture, i < count * count)) return;
      const [row, column] = [Math.floor(i / count), i % count];
      const [weight, hidden] = [weights[row][column], causal && column > row];
      const [x, y] = [left + places[column] * cell, TOP + places[row] * cell];
      setAttributes(group, { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` });
      setAttributes(back, { width: cell - 3, height: cell - 3, "fill-opacity": (0.55 * weight).toFixed(4) });
      back.classList.toggle("rope-tokens-masked", hidden);
      text.classList.toggle("rope-tokens-hidden", hidden);
      setAttributes(text, { x: cell / 2, y: cell / 2 + 4.5 });
      update(weight, hidden ? "0" : undefined);
    });
  }
  return { node: picture, draw };
}

function legendOf(words) {
  const sample = () => svg("svg", { viewBox: "0 0 34 18", "aria-hidden": "true" });
  const [now, ghost] = [sample(), sample()];
  arrow(now, "rope-tokens-output")(2, 9, 30, 9);
  svg("path", { class: "rope-tokens-ghost", d: "M2 9H25" }, ghost);
  svg("circle", { class: "rope-tokens-ring", r: 7, cx: 25, cy: 9 }, ghost);
  const items = [html("li", {}, now, words.legend.now), html("li", {}, ghost, words.legend.ghost)];
  return html("ul", { class: "rope-legend rope-tokens-legend" }, ...items);
}

function lessonOf(words, state) {
  const { text, names, changes, change } = state;
  const twin = text.words.find((word, at) => text.words.indexOf(word) !== at);
  const [main, more, rule] = lessonKinds(state, twin);
  const quoted = (word) => html("span", { lang: text.language, ...roomFor(word) }, word).outerHTML;
  const sentences = [main, more].filter(Boolean).map((kind) => words.lessons[kind]);
  return fill(sentences.join(" "), {
    ...{ change: formatNumber(change), twin, how: words.how[rule] },
    ...{ most: quoted(names[changes.indexOf(change)]), first: quoted(names[0]) },
  });
}

// Where each word is drawn, in places: on its way while it travels, or in a hand.
function makeTravel({ model, current, set, redraw, cards }) {
  let [shown, held, known] = [[], null, {}];
  const targets = () => current().original.map((word) => current().order.indexOf(word));
  const animation = animator(() => {});
  const travel = () => {
    const from = shown;
    const step = (seconds) => {
      const eased = 1 - (1 - Math.min(1, seconds / TRAVEL)) ** 3;
      shown = targets().map((to, word) => (eased < 1 ? from[word] + (to - from[word]) * eased : to));
      redraw();
      return eased < 1;
    };
    if (prefersReducedMotion()) step(TRAVEL);
    else animation.start(step);
  };
  // Words on their way, or in a hand, belong to one sentence: another one begins at rest.
  const rest = () => {
    animation.stop();
    held = null;
    shown = targets();
  };
  const move = (from, to) => from !== to && set({ order: moved(current().order, from, to) });
  const focus = (place) => cards.tiles[place].focus({ preventScroll: true });
  const handle = (place) => ({
    toValue: cards.placeAt,
    range: () => ({ from: 0, to: current().order.length - 1, current: place }),
    onKey(to) {
      move(place, to);
      focus(to);
    },
    onGrab() {
      const word = current().order[place];
      // It may be on its way, and is then held where it is.
      held = { word, at: shown[word], ahead: shown[word] - place };
      redraw();
    },
    onMove(to) {
      if (!held) return;
      const { order } = current();
      held.at = clamp(to + held.ahead, 0, order.length - 1);
      move(order.indexOf(held.word), Math.round(held.at));
      redraw();
    },
    onDrop() {
      if (!held) return;
      focus(current().order.indexOf(held.word));
      held = null;
      travel();
    },
  });
  cards.tiles.forEach((tile, place) => dragAlong(tile, handle(place)));
  model.on("change:sentence", rest);
  return {
    // What is drawn of a state, once it is known to be another one.
    follow({ sentence, order }) {
      if (known.sentence !== sentence) rest();
      else if (!alike(known.order, order)) travel();
      known = { sentence, order };
      return { lifted: held?.word, at: shown.map((place, word) => (word === held?.word ? held.at : place)) };
    },
    stop() {
      animation.cancel();
      model.off("change:sentence", rest);
    },
  };
}

function build({ words, model, state, set, redraw, lesson, chooser, buttons, toggles, readouts, show }) {
  const sentences = model.get("sentences");
  const head = { query: model.get("query_matrix"), key: model.get("key_matrix"), value: model.get("value_matrix") };
  const each = Object.entries(sentences);
  const boxes = Object.fromEntries(each.map(([name, { embeddings }]) => [name, boundsOf(embeddings, head)]));
  const most = Math.max(...each.map(([, text]) => text.words.length));
  const current = () => placed(sentences, state());
  const cards = cardsPicture(words, most);
  const heat = heatPicture(words, most);
  const mean = svg("svg", { role: "img", "aria-label": words.mean });
  const meanPlane = makePlane(mean);
  const travel = makeTravel({ model, current, set, redraw, cards });

  const spaced = (list) => list.flatMap((word, at) => [at ? " " : "", html("span", roomFor(word), word)]);
  const choice = chooser("sentence", {
    className: "rope-row rope-row-first rope-tokens-choices",
    label: words.sentence,
    options: each.map(([name, text]) => [name, spaced(text.words), { lang: text.language }]),
    onChoose(sentence) {
      const { order } = placed(sentences, { sentence, order: [] });
      if (sentence !== state().sentence) set({ sentence, order });
    },
  });
  const to = (choose) => (at) => ({ order: choose(placed(sentences, at)) });
  const isSwapped = ({ order, swapped }) => alike(order, swapped);
  const thereOrBack = (at) => (isSwapped(at) ? at.original : at.swapped);
  const stops = buttons({
    swap: { label: words.stops.swap, visit: to(thereOrBack), pressed: isSwapped },
    shuffle: { label: words.stops.shuffle, onClick: () => set(to(shuffled)) },
    original: { label: words.stops.original, visit: to(({ original }) => original) },
  });
  const { positions, causal } = words.switches;
  const switches = toggles({ positions: { label: positions }, causal: { label: causal } });
  const [x, y] = [0, 1].map((axis) => show(`pooled_${"xy"[axis]}`, ({ pooled }) => pooled[axis]));
  const [change, pooledChange] = readouts({
    change: { label: words.change },
    pooled_change: { label: words.pooledChange, value: (at) => at.pooledChange },
  });
  const pooled = readout(words.pooled, html("span", {}, "(", x, ", ", y, ")"));
  const cardBox = div("rope-tokens-cards", cards.node);
  const heatBox = div("rope-tokens-picture", html("p", {}, words.heatTitle), heat.node);
  const meanBox = div("rope-tokens-picture", html("p", {}, words.meanTitle), mean);
  const toggled = html("span", { class: "rope-tokens-toggles" }, ...switches);
  const upper = [choice, cardBox, legendOf(words), lesson, div("rope-row rope-tokens-stops", ...stops, toggled)];
  const lower = [div("rope-tokens-pictures", heatBox, meanBox), div("rope-readouts", change, pooled, pooledChange)];
  return {
    node: div("rope-frame rope-tokens", ...upper, ...lower),
    measure(narrow) {
      const width = widthOf(heatBox, 150, 420);
      // As large for three words as for five: what stands below must not jump.
      const side = Math.min(width - (narrow ? 34 : 46), 220);
      return { narrow, cards: widthOf(cardBox, 260, 760), heat: width, side, mean: widthOf(meanBox, 80, 320) };
    },
    derive(given) {
      const at = placed(sentences, given);
      const names = at.order.map((word) => at.text.words[word]);
      const seen = survey(at.text.embeddings, at.order, head, given.positions, given.causal);
      return { ...at, ...seen, names, twins: twinsOf(names, seen.outputs), box: boxes[given.sentence] };
    },
    draw(given, room) {
      const drawn = { ...given, ...travel.follow(given) };
      cards.draw(drawn, room);
      heat.draw(drawn, room);
      setAttributes(mean, { viewBox: `0 0 ${room.mean} ${TOP + room.side}`, height: TOP + room.side });
      meanPlane(0, TOP, room.mean, room.side, given.box, given.pooled, given.pooledBefore);
    },
    lesson: (given) => lessonOf(words, given),
    stop: travel.stop,
  };
}

const render = mount({ words: WORDS, traits: ["sentence", "order", "positions", "causal"], build });

export default { render };
