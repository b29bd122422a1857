import { OWN_KEYS, readout } from "../kit/controls.js";
import { arrow, div, html, legendOf, setAttributes, setText, svg, svgText } from "../kit/dom.js";
import { svgTexts, whenChanged, widthOf } from "../kit/dom.js";
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
    titles: { heat: "weights: row looks at column", mean: "mean of all outputs" },
    status: { same: "same output", short: "same", changed: "new" },
    legend: { now: "output now", ghost: "in the original order" },
    stops: { swap: "swap who and whom", shuffle: "shuffle", original: "original" },
    switches: { positions: { label: "add positions" }, causal: { label: "causal mask" } },
    changes: { change: { label: "largest change of an output" }, pooled_change: { label: "change of the mean" } },
    pooled: "mean of the outputs",
    lessons: {
      original:
        "The original order{how}. Each ring keeps what its word says here. Move a word: will its arrow leave the ring?",
      bag: "Only the places changed. Each word kept its own output (largest change <b>{change}</b>), so the mean is the same too.",
      twins: "Both “{twin}” (marked =) say the same: nothing tells them apart.",
      positions:
        "With positions, the same word says something else in another place: largest change <b>{change}</b>, at “{most}”.",
      apart: "The two “{twin}” now differ.",
      causal:
        "Under a causal mask a word sees itself and the words before it; “{first}” now sees only itself. Largest change <b>{change}</b>, at “{most}”.",
      both: "With positions and a mask the order counts twice: largest change <b>{change}</b>, at “{most}”.",
    },
    how: { positions: ", with positions", causal: ", under a causal mask", both: ", with positions and a mask" },
  },
};

const SAME = 1e-9;
const TRAVEL = 0.3;
const TILE = 50;
// Where the pictures below the cards begin, under their names.
const TOP = 22;

// The sinusoidal code of a place, two numbers wide: [sin m, cos m].
export const positionCode = (place) => sinusoid(place, [1]);

const weighted = (weights, points) =>
  [0, 1].map((axis) => weights.reduce((sum, weight, n) => sum + weight * points[n][axis], 0));

// One head [query, key, value]: softmax(q . k / sqrt(2)) v; under a causal mask no word sees a later one.
export function attend(points, head, causal) {
  const [queries, keys, values] = head.map((matrix) => points.map((point) => matrix.map((row) => dot(row, point))));
  const scores = queries.map((q, m) => keys.map((k, n) => (causal && n > m ? -Infinity : dot(q, k) / Math.SQRT2)));
  const weights = scores.map(softmax);
  return { weights, outputs: weights.map((row) => weighted(row, values)) };
}

const meanOf = (points) => weighted(Array(points.length).fill(1 / points.length), points);

export const largestChange = (a, b) => Math.max(...a.map((value, axis) => Math.abs(value - b[axis])));

// Everything that is shown, by place; `before` is what the same word had in the original order.
export function survey(embeddings, order, head, positions, causal) {
  const codeAt = (place) => (positions ? positionCode(place) : [0, 0]);
  const pointAt = (word, place) => embeddings[word].map((value, axis) => value + codeAt(place)[axis]);
  const run = (line) => attend(line.map(pointAt), head, causal);
  const { weights, outputs } = run(order);
  const original = run(embeddings.map((_, word) => word)).outputs;
  const before = order.map((word) => original[word]);
  const changes = outputs.map((output, place) => largestChange(output, before[place]));
  const [pooled, pooledBefore] = [meanOf(outputs), meanOf(original)];
  const [change, pooled_change] = [Math.max(...changes), largestChange(pooled, pooledBefore)];
  return { weights, outputs, before, changes, change, pooled, pooledBefore, pooled_change };
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
  const others = order.filter((_, place) => place !== from);
  return [...others.slice(0, to), order[from], ...others.slice(to)];
}

// A sentence with what is computed once: its two orders, and the box of all that it may say.
export function prepared(text, head) {
  const original = text.words.map((_, word) => word);
  const [who, whom] = text.swap;
  const swapped = Object.assign([...original], { [who]: whom, [whom]: who });
  const twin = text.words.find((word, at) => text.words.indexOf(word) !== at);
  return { ...text, original, swapped, twin, box: boundsOf(text.embeddings, head) };
}

// Words that are written alike and whose outputs are equal, by place.
export function twinsOf(names, outputs) {
  return names.map((name, place) =>
    names.some((other, at) => at !== place && other === name && largestChange(outputs[at], outputs[place]) < SAME),
  );
}

// Where a point stands in a picture into which a box fits.
export function fitted({ left, right, bottom, top }, { x, y, width, height }, margin) {
  const unit = Math.min((width - 2 * margin) / (right - left), (height - 2 * margin) / (top - bottom));
  const [middleX, middleY] = [(left + right) / 2, (bottom + top) / 2];
  return ([a, b]) => [x + width / 2 + (a - middleX) * unit, y + height / 2 - (b - middleY) * unit];
}

// Chinese letters are one em wide in every font, and a reader without one gets as much room.
const isHan = (word) => /\p{Script=Han}/u.test(word);
const roomFor = (word) => (isHan(word) ? { class: "rope-tokens-han", style: `min-width: ${word.length}em` } : {});

// The names of the sentences: what the order is, and what becomes of words that are written alike.
export function lessonKinds({ text, order, positions, causal, twins }) {
  const rule = positions && causal ? "both" : positions ? "positions" : causal ? "causal" : "bag";
  const main = alike(order, text.original) ? "original" : rule;
  const alone = main !== "original" && text.twin && positions ? "apart" : "";
  return [main, twins.some(Boolean) ? "twins" : alone, rule];
}

// The sentence of a state, and its order: Python may have sent the one and not yet the other.
function placed(texts, { sentence, order }) {
  const text = texts[sentence];
  return { text, order: order.length === text.words.length ? order : text.swapped };
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
  return (place, box, output, before) => {
    const at = fitted(box, place, 10);
    const [[cx, cy], [gx, gy]] = [at([0, 0]), at(before)];
    setAttributes(back, place);
    setAttributes(axes, { d: `M${place.x} ${cy}h${place.width}M${cx} ${place.y}v${place.height}` });
    setAttributes(ghost, { d: `M${cx} ${cy}L${gx} ${gy}` });
    setAttributes(ring, { cx: gx, cy: gy });
    draw(cx, cy, ...at(output));
  };
}

// The name of a place, and the code that is added there.
function makeMark(parent, words, place) {
  const mark = svg("g", {}, parent);
  const code = svg("g", { class: "rope-tokens-code", "aria-hidden": "true", transform: "translate(-22 12)" }, mark);
  svg("circle", { r: 8.5 }, code);
  const [sine, cosine] = positionCode(place);
  arrow(code, "rope-tokens-code-arrow")(0, 0, 8 * sine, -8 * cosine);
  svgText(mark, "rope-tokens-place", "middle", fill(words.place, { place }), { y: 17 });
  return mark;
}

// A place with the word that stands there, its output, and whether that has changed.
function makeSlot(parent, words, language, place, last) {
  const card = svg("g", { class: "rope-tokens-card" }, parent);
  const name = { "data-control": `tile_${place}`, "aria-roledescription": words.tile.role, ...OWN_KEYS };
  const range = { "aria-valuemin": 0, "aria-valuenow": place, "aria-valuemax": last };
  const said = { ...range, "aria-valuetext": fill(words.tile.place, { place, last }) };
  const tile = svg("g", { class: "rope-tokens-tile", tabindex: 0, role: "slider", ...name, ...said }, card);
  const back = svg("rect", { rx: 10, height: TILE }, tile);
  const word = svgText(tile, "rope-tokens-word", "middle", "", { lang: language });
  const meaning = svgText(tile, "rope-tokens-gloss", "middle", "", { y: 41 });
  const plane = makePlane(card);
  const twin = svgText(card, "rope-tokens-twin", "middle", "=", { y: TILE + 23 });
  const foot = svg("g", {}, card);
  const numbers = ["x", "y"].map((axis, i) => {
    const line = svgText(foot, "rope-tokens-number", "middle", "", { y: 19 + 16 * i });
    svg("tspan", { class: "rope-tokens-axis" }, line).textContent = `${axis} `;
    return svg("tspan", { "data-report": `output_${axis}` }, line);
  });
  const status = svgText(foot, "rope-tokens-status", "middle", "", { y: 53 });

  return {
    tile,
    draw({ names, text, order, outputs, before, changes, twins }, { width, column, tall }, x, lifted) {
      const [said, output, same] = [names[place], outputs[place], changes[place] < SAME];
      const gloss = words.glosses[said];
      card.classList.toggle("rope-tokens-lifted", lifted);
      setAttributes(card, { transform: `translate(${x.toFixed(2)} ${lifted ? 20 : 26})` });
      setAttributes(tile, { "aria-label": fill(words.tile[gloss ? "gloss" : "plain"], { word: said, gloss }) });
      setAttributes(back, { x: -width / 2, width });
      setText(word, said, { y: gloss ? 24 : 31 });
      setText(meaning, gloss ?? "");
      plane({ x: -width / 2, y: TILE + 6, width, height: tall }, text.box, output, before[place]);
      setAttributes(twin, { x: width / 2 - 10, visibility: twins[place] ? "visible" : "hidden" });
      setAttributes(foot, { transform: `translate(0 ${TILE + 6 + tall})` });
      numbers.forEach((number, axis) => setText(number, formatNumber(output[axis]), { "data-value": output[axis] }));
      // In the original order there is nothing yet to compare.
      const kind = same ? (column < 80 ? "short" : "same") : "changed";
      setText(status, alike(text.original, order) ? "" : words.status[kind]);
      status.classList.toggle("rope-tokens-changed", !same);
    },
  };
}

// One card per place, in reading order; words pass from one to the next. `onTile(tile, place)` hears
// of each that is made.
function cardsPicture(words, onTile) {
  const picture = svg("svg", { role: "group", "aria-label": words.cards });
  let [column, left] = [1, 0];
  const slotsOf = whenChanged((count, language) => {
    picture.replaceChildren();
    const [under, over] = [svg("g", {}, picture), svg("g", {}, picture)];
    return Array.from({ length: count }, (_, place) => {
      const slot = makeSlot(over, words, language, place, count - 1);
      onTile(slot.tile, place);
      return { mark: makeMark(under, words, place), draw: slot.draw };
    });
  });
  return {
    node: picture,
    placeAt: (event) => (event.clientX - picture.getBoundingClientRect().left - left) / column - 0.5,
    draw(state, { cards, narrow }) {
      const { order, positions, at, lifted, text } = state;
      column = Math.min(cards / order.length, 190);
      left = (cards - order.length * column) / 2;
      const room = { column, width: column - (narrow ? 4 : 12), tall: narrow ? 108 : 146 };
      const height = 26 + TILE + 6 + room.tall + 60;
      setAttributes(picture, { viewBox: `0 0 ${cards} ${height}`, height });
      picture.classList.toggle("rope-tokens-coded", positions);
      const toX = (place) => left + (place + 0.5) * column;
      slotsOf(order.length, text.language).forEach(({ mark, draw }, place) => {
        setAttributes(mark, { transform: `translate(${toX(place).toFixed(2)} 0)` });
        draw(state, room, toX(at[order[place]]), order[place] === lifted);
      });
    },
  };
}

// The weights: a row of cells for each word, which travels with it.
function heatPicture(words) {
  const picture = svg("svg", { role: "group", "aria-label": words.heat });
  const [drawRows, drawColumns] = ["end", "middle"].map((anchor) => svgTexts(picture, "rope-tokens-name", anchor));
  const table = svg("g", {}, picture);
  const cellsOf = whenChanged((count) => {
    table.replaceChildren();
    return Array.from({ length: count * count }, () => {
      const cell = svg("g", {}, table);
      const back = svg("rect", { class: "rope-tokens-cell", rx: 4, x: 1.5, y: 1.5 }, cell);
      return { cell, back, text: svgText(cell, "rope-tokens-weight", "middle", "", { "data-report": "weight" }) };
    });
  });

  function draw({ names, text: { language: lang }, order, weights, causal, at }, { heat, side, narrow }) {
    const size = side / order.length;
    const left = (heat + (narrow ? 34 : 46) - side) / 2;
    const along = order.map((word) => at[word] * size);
    setAttributes(picture, { viewBox: `0 0 ${heat} ${TOP + side}`, height: TOP + side });
    drawRows(names.map((name, i) => [name, { lang, x: left - 6, y: TOP + along[i] + size / 2 + 5 }]));
    drawColumns(names.map((name, i) => [name, { lang, x: left + along[i] + size / 2, y: 15 }]));
    cellsOf(order.length).forEach(({ cell, back, text }, i) => {
      const [row, column] = [Math.floor(i / order.length), i % order.length];
      const [weight, masked] = [weights[row][column], causal && column > row];
      const [x, y] = [left + along[column], TOP + along[row]];
      setAttributes(cell, { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` });
      cell.classList.toggle("rope-tokens-masked", masked);
      setAttributes(back, { width: size - 3, height: size - 3, "fill-opacity": (0.55 * weight).toFixed(4) });
      setText(text, masked ? "0" : formatNumber(weight), { x: size / 2, y: size / 2 + 4.5, "data-value": weight });
    });
  }
  return { node: picture, draw };
}

const MARKS = {
  now: (sample) => arrow(sample, "rope-tokens-output")(2, 9, 30, 9),
  ghost(sample) {
    svg("path", { class: "rope-tokens-ghost", d: "M2 9H25" }, sample);
    svg("circle", { class: "rope-tokens-ring", r: 7, cx: 25, cy: 9 }, sample);
  },
};

function lessonOf(words, state) {
  const { text, names, changes, change } = state;
  const [main, more, rule] = lessonKinds(state);
  const quoted = (word) => html("span", { lang: text.language, ...roomFor(word) }, word).outerHTML;
  const sentences = [main, more].filter(Boolean).map((kind) => words.lessons[kind]);
  return fill(sentences.join(" "), {
    ...{ change: formatNumber(change), twin: text.twin, how: words.how[rule] ?? "" },
    ...{ most: quoted(names[changes.indexOf(change)]), first: quoted(names[0]) },
  });
}

// Where each word is drawn, in places: on its way while it travels, or in a hand.
function makeTravel({ current, set, redraw, placeAt }) {
  let [shown, held, known] = [[], null, {}];
  const tiles = [];
  const targets = () => current().text.original.map((word) => current().order.indexOf(word));
  const animation = animator(() => {});
  const travel = () => {
    const from = shown;
    const step = (seconds) => {
      const left = (1 - Math.min(1, seconds / TRAVEL)) ** 3;
      shown = targets().map((to, word) => (word === held?.word ? shown[word] : to - (to - from[word]) * left));
      redraw();
      return left > 0;
    };
    if (prefersReducedMotion()) step(TRAVEL);
    else animation.start(step);
  };
  const move = (from, to) => from !== to && set({ order: moved(current().order, from, to) });
  const focus = (place) => tiles[place].focus({ preventScroll: true });
  return {
    hold(tile, place) {
      tiles[place] = tile;
      dragAlong(tile, {
        toValue: placeAt,
        range: () => ({ from: 0, to: current().order.length - 1, current: place }),
        onKey(to) {
          move(place, to);
          focus(to);
        },
        onGrab() {
          const { text, order } = current();
          // It may be on its way, and is then held where it is.
          held = { text, word: order[place], ahead: shown[order[place]] - place };
          redraw();
        },
        onMove(to) {
          const { text, order } = current();
          if (held?.text !== text) return;
          const at = clamp(to + held.ahead, 0, order.length - 1);
          shown[held.word] = at;
          move(order.indexOf(held.word), Math.round(at));
          redraw();
        },
        onDrop() {
          if (held?.text !== current().text) return;
          focus(current().order.indexOf(held.word));
          held = null;
          travel();
        },
      });
    },
    // What is drawn of a state, once it is known to be another one.
    follow({ text, order }) {
      // Words on their way, or in a hand, belong to one sentence: another one begins at rest.
      if (known.text !== text) {
        animation.stop();
        [held, shown] = [null, targets()];
      } else if (!alike(known.order, order)) travel();
      known = { text, order };
      return { lifted: held?.word, at: shown };
    },
    stop: animation.cancel,
  };
}

function build({ words, model, state, set, redraw, lesson, chooser, buttons, toggles, readouts, show }) {
  const head = ["query", "key", "value"].map((name) => model.get(`${name}_matrix`));
  const each = Object.entries(model.get("sentences")).map(([name, text]) => [name, prepared(text, head)]);
  const texts = Object.fromEntries(each);
  const current = () => placed(texts, state());
  const cards = cardsPicture(words, (tile, place) => travel.hold(tile, place));
  const travel = makeTravel({ current, set, redraw, placeAt: cards.placeAt });
  const heat = heatPicture(words);
  const mean = svg("svg", { role: "img", "aria-label": words.mean });
  const meanPlane = makePlane(mean);

  const spaced = (list) => list.flatMap((word, at) => [at ? " " : "", html("span", roomFor(word), word)]);
  const choice = chooser("sentence", {
    className: "rope-row rope-row-first rope-tokens-choices",
    label: words.sentence,
    options: each.map(([name, text]) => [name, spaced(text.words), { lang: text.language }]),
    onChoose: (to) => to !== state().sentence && set({ sentence: to, order: texts[to].swapped }),
  });
  const to = (choose) => (at) => ({ order: choose(placed(texts, at)) });
  const isSwapped = ({ text, order }) => alike(order, text.swapped);
  const thereOrBack = (at) => (isSwapped(at) ? at.text.original : at.text.swapped);
  const stops = buttons({
    swap: { label: words.stops.swap, visit: to(thereOrBack), pressed: isSwapped },
    shuffle: { label: words.stops.shuffle, onClick: () => set(to(shuffled)) },
    original: { label: words.stops.original, visit: to(({ text }) => text.original) },
  });
  const [x, y] = [0, 1].map((axis) => show(`pooled_${"xy"[axis]}`, ({ pooled }) => pooled[axis]));
  const [change, pooledChange] = readouts(words.changes);
  const pooled = readout(words.pooled, html("span", {}, "(", x, ", ", y, ")"));
  const cardBox = html("div", { class: "rope-tokens-cards", "data-card": "" }, cards.node);
  const heatBox = div("rope-tokens-picture", html("p", {}, words.titles.heat), heat.node);
  const meanBox = div("rope-tokens-picture", html("p", {}, words.titles.mean), mean);
  const toggled = html("span", { class: "rope-tokens-toggles" }, ...toggles(words.switches));
  const key = legendOf(words.legend, [34, 18], MARKS, "rope-tokens-legend");
  const upper = [choice, cardBox, key, lesson, div("rope-row rope-tokens-stops", ...stops, toggled)];
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
      const at = placed(texts, given);
      const names = at.order.map((word) => at.text.words[word]);
      const seen = survey(at.text.embeddings, at.order, head, given.positions, given.causal);
      return { ...at, ...seen, names, twins: twinsOf(names, seen.outputs) };
    },
    draw(given, room) {
      const drawn = { ...given, ...travel.follow(given) };
      cards.draw(drawn, room);
      heat.draw(drawn, room);
      setAttributes(mean, { viewBox: `0 0 ${room.mean} ${TOP + room.side}`, height: TOP + room.side });
      const { text, pooled, pooledBefore } = given;
      meanPlane({ x: 0, y: TOP, width: room.mean, height: room.side }, text.box, pooled, pooledBefore);
    },
    lesson: (given) => lessonOf(words, given),
    stop: travel.stop,
  };
}

const render = mount({ words: WORDS, traits: ["sentence", "order", "positions", "causal"], build });

export default { render };
