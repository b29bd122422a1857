import { OWN_KEYS, button, readout, report, slider } from "../kit/controls.js";
import { announcer, html, setAttributes, setText, svg, widgetRoot } from "../kit/dom.js";
import { TAU, clamp, degrees, inverseFrequencies } from "../kit/math.js";
import { commit, frameScheduler, watch } from "../kit/motion.js";
import { polylinePath } from "../kit/paths.js";
import { linearScale } from "../kit/plot.js";
import { fill, formatNumber, formatQuantity, pickWords } from "../kit/text.js";

const WORDS = {
  en: {
    title: "Score builder: cosines of several clocks, added up",
    picture: "Above, the cosine of every pair over the distance; below, their sum, the score",
    dials: "One clock per pair, fastest first; arrow keys choose one",
    dial: "pair {index}, wavelength {wavelength} tokens, adds {part}",
    dialOff: "pair {index}, wavelength {wavelength} tokens, switched off",
    note: "One clock per pair, fastest first, at the chosen distance. Green: what it adds to the score.",
    distance: "distance n − m",
    pairs: "pairs switched on",
    head: "head_dim, two per pair",
    base: "base",
    heading: "Pair {index}",
    amplitude: "how much it counts, A",
    start: "where it starts, α",
    startValue: "{degrees}°",
    zero: "all agree at 0",
    seven: "aim at −7",
    here: "aim at the marker",
    one: "one pair only",
    fast: "only the fast",
    slow: "only the slow",
    lesson:
      "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. Elsewhere they disagree: the best of the other hills, at {rival}, has <b>{next}</b>.",
    lessonLevel:
      "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. But right beside it they still have <b>{beside}</b>: these clocks are too slow to tell neighbors apart.",
    lessonRival:
      "At distance {peak} all {on} cosines are at their top: together <b>{best}</b>. But at {rival} they nearly agree again: <b>{next}</b>.",
    lessonOne: "One cosine: at its top at distance {peak}, and again every <b>{wavelength}</b> tokens.",
    lessonApart:
      "These cosines have their tops in different places. The best sum is <b>{best}</b>, at distance {peak}; if they agreed, it would be {total}.",
    lessonNothing: "Nothing counts: the score is <b>0</b> at every distance.",
    score: "score here",
    possible: "if all agreed",
    peak: "highest score",
    beside: "beside it",
    rival: "best other hill",
    none: "none",
    at: " at ",
    wavelength: "wavelength",
    tokens: "{value} tokens",
    part: "adds here",
    axisX: "distance n − m (dots: whole tokens)",
    axisParts: "each pair",
    axisSum: "their sum: the score",
  },
};

const REACH = 32;
const MAX_PAIRS = 8;
const FIRST_AIM = -7;
const EQUAL = 1e-9;
const STEPS = 4;
const DISTANCES = Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH);

// The same direction as an angle from -pi to pi.
export function wrapped(angle) {
  const turned = angle - TAU * Math.round(angle / TAU);
  return clamp(turned, -Math.PI, Math.PI);
}

// Where every clock starts so that all are at their top at this distance.
export function aimAngles(distance, inverse) {
  return inverse.map((frequency) => wrapped(-distance * frequency) + 0);
}

// The nearest whole distance at which the first `count` clocks agree; null where they never do.
export function aimedAt(starts, inverse, count) {
  const agrees = (distance) =>
    inverse.slice(0, count).every((f, i) => Math.abs(wrapped(starts[i] + distance * f)) < 1e-7);
  const found = DISTANCES.filter(agrees).sort((a, b) => Math.abs(a) - Math.abs(b));
  return found.length ? found[0] : null;
}

// What each pair that is on adds to the score at a distance.
export function contributions({ amplitudes, starts, inverse, pairs }, distance) {
  return inverse.slice(0, pairs).map((f, i) => amplitudes[i] * Math.cos(starts[i] + distance * f));
}

export function scoreAt(state, distance) {
  return contributions(state, distance).reduce((sum, part) => sum + part, 0);
}

// The whole distance with the highest score among some; of equals the nearest, behind before ahead.
export function bestOf(scores, among = DISTANCES) {
  const best = Math.max(...among.map((distance) => scores[distance + REACH]));
  return among
    .filter((distance) => scores[distance + REACH] > best - EQUAL)
    .reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a));
}

// The best distance that lies on another hill than the peak; NaN where there is no other.
export function rivalOf(scores, peak) {
  const at = (distance) => scores[distance + REACH];
  let [first, last] = [peak, peak];
  while (first > -REACH && at(first - 1) <= at(first) + EQUAL) first -= 1;
  while (last < REACH && at(last + 1) <= at(last) + EQUAL) last += 1;
  const others = DISTANCES.filter((distance) => distance < first || distance > last);
  return others.length ? bestOf(scores, others) : NaN;
}

// The higher of the two scores beside the peak.
export function besideOf(scores, peak) {
  return Math.max(...[-1, 1].flatMap((side) => scores[peak + side + REACH] ?? []));
}

export function lessonKind({ total, aim, on, best, beside, next }) {
  if (total < EQUAL) return "nothing";
  if (aim === null) return "apart";
  if (on === 1) return "one";
  if (beside > 0.97 * best) return "level";
  return next > 0.8 * best ? "rival" : "peak";
}

function render({ model, el }) {
  const words = pickWords(WORDS, document.documentElement.lang);
  let drawnCurves = "";
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const grid = svg("path", { class: "rope-grid" }, picture);
  const axes = svg("path", { class: "rope-axis" }, picture);
  const lines = Array.from({ length: MAX_PAIRS }, () => svg("path", { class: "rope-builder-line" }, picture));
  const top = svg("path", { class: "rope-builder-top" }, picture);
  const sum = svg("path", { class: "rope-curve rope-builder-sum" }, picture);
  const dots = DISTANCES.map(() => svg("circle", { class: "rope-curve-dot", r: 2.2 }, picture));
  const marker = svg("path", { class: "rope-builder-marker" }, picture);
  const partDots = lines.map(() => svg("circle", { class: "rope-builder-part", r: 3.2 }, picture));
  const ring = svg("circle", { class: "rope-now-ring", r: 9 }, picture);
  const now = svg("circle", { class: "rope-now", r: 6 }, picture);
  const nowLabel = svg("text", { class: "rope-now-label" }, picture);
  const label = (text, className, anchor) => {
    const node = svg("text", { class: className, "text-anchor": anchor }, picture);
    setText(node, text);
    return node;
  };
  const ticks = DISTANCES.filter((d) => d % 8 === 0).map((d) => ({ d, text: label(formatNumber(d, 0), "", "middle") }));
  const partLevels = [1, -1].map((level) => ({ level, text: label(formatNumber(level, 0), "", "end") }));
  const sumLevels = [1, 0, -1].map((level) => ({ level, text: label("", "", "end") }));
  const titleParts = label(words.axisParts, "rope-axis-title rope-builder-tone", "start");
  const titleSum = label(words.axisSum, "rope-axis-title rope-tone-score", "start");
  const titleX = label(words.axisX, "rope-axis-title", "middle");
  const pictureBox = html("div", { class: "rope-builder-picture" }, picture);

  const dials = svg("svg", { role: "radiogroup", "aria-label": words.dials, "data-control": "pair" });
  const clocks = Array.from({ length: MAX_PAIRS }, (_, index) => {
    const group = svg("g", { class: "rope-dial", role: "radio", ...OWN_KEYS }, dials);
    const clock = {
      group,
      halo: svg("circle", { class: "rope-halo" }, group),
      back: svg("circle", { class: "rope-dial-back" }, group),
      rim: svg("circle", { class: "rope-rim" }, group),
      bar: svg("path", { class: "rope-builder-bar" }, group),
      start: svg("path", { class: "rope-builder-start" }, group),
      hand: svg("path", { class: "rope-hand" }, group),
      hub: svg("circle", { class: "rope-hub", r: 2.2 }, group),
      name: svg("text", { class: "rope-builder-name", "text-anchor": "middle" }, group),
      part: svg(
        "text",
        { class: "rope-builder-number", "text-anchor": "middle", "data-report": "contribution" },
        group,
      ),
    };
    setText(clock.name, String(index));
    group.addEventListener("click", () => pick(index));
    return clock;
  });
  const dialBox = html("div", {}, dials);
  // Eight of each, so that Python's lists can be read from the page.
  const stored = ["pair_amplitude", "pair_start"].map((name) =>
    Array.from({ length: MAX_PAIRS }, () => html("span", { "data-report": name })),
  );

  const read = () => ({
    headDim: model.get("head_dim"),
    base: model.get("base"),
    pairs: model.get("pairs"),
    amplitudes: model.get("amplitudes"),
    starts: model.get("start_angles"),
    distance: model.get("distance"),
    pair: model.get("pair"),
  });
  const set = (changes) => {
    commit(model, changes);
    schedule();
  };
  const aim = (distance, { headDim, base } = read()) => ({
    start_angles: aimAngles(distance, inverseFrequencies(headDim, base, MAX_PAIRS)),
  });
  const aimNow = ({ headDim, base, starts } = read()) =>
    aimedAt(starts, inverseFrequencies(headDim, base, MAX_PAIRS), headDim / 2);
  // What the clocks aim at is kept while base or width change.
  function setShape(changes) {
    const before = read();
    const after = { ...before, ...changes };
    const aimed = aimNow(before);
    const count = after.headDim / 2;
    set({
      head_dim: after.headDim,
      base: after.base,
      pairs: before.pairs === before.headDim / 2 ? count : Math.min(before.pairs, count),
      pair: Math.min(before.pair, count - 1),
      ...(aimed === null ? {} : aim(aimed, after)),
    });
  }
  function setOne(name, value) {
    const { pair } = read();
    set({ [name]: model.get(name).map((old, i) => (i === pair ? value : old)) });
  }
  function pick(index, focus = true) {
    set({ pair: clamp(index, 0, model.get("head_dim") / 2 - 1) });
    if (focus) clocks[model.get("pair")].group.focus();
  }
  const wants = {
    all: () => true,
    fast: (i, count) => i < count / 2,
    slow: (i, count) => i >= Math.floor(count / 2),
  };
  const counting = (kind, count) => Array.from({ length: MAX_PAIRS }, (_, i) => (wants[kind](i, count) ? 1 : 0));
  function visit(kind, { to = aimNow() ?? FIRST_AIM, pairs = model.get("head_dim") / 2 } = {}) {
    const amplitudes = counting(kind, model.get("head_dim") / 2);
    set({ ...aim(to), amplitudes, pairs, distance: to, pair: amplitudes.indexOf(1) });
  }

  const controls = {
    distance: slider({
      name: "distance",
      label: words.distance,
      tone: "position",
      min: -REACH,
      max: REACH,
      format: (d) => formatNumber(d, 0),
      onInput: (distance) => set({ distance }),
    }),
    pairs: slider({
      name: "pairs",
      label: words.pairs,
      tone: "score",
      min: 1,
      max: MAX_PAIRS,
      format: String,
      onInput: (pairs) => set({ pairs: Math.min(pairs, model.get("head_dim") / 2) }),
    }),
    base: slider({
      name: "base",
      label: words.base,
      tone: "angle",
      min: 1,
      max: 7,
      step: 0.01,
      toInput: (base) => Math.log10(base),
      fromInput: (power) => Number((10 ** power).toPrecision(3)),
      format: formatQuantity,
      onInput: (base) => setShape({ base }),
    }),
    head: slider({
      name: "head_dim",
      label: words.head,
      tone: "neutral",
      min: 2,
      max: 2 * MAX_PAIRS,
      step: 2,
      format: String,
      onInput: (headDim) => setShape({ headDim }),
    }),
    amplitude: slider({
      name: "amplitude",
      label: words.amplitude,
      tone: "score",
      min: 0,
      max: 1,
      step: 0.05,
      format: (a) => formatNumber(a),
      onInput: (a) => setOne("amplitudes", a),
    }),
    start: slider({
      name: "start_angle",
      label: words.start,
      tone: "angle",
      min: -180,
      max: 180,
      // Aimed clocks start between whole degrees.
      step: "any",
      toInput: degrees,
      fromInput: (value) => clamp((value / 360) * TAU, -Math.PI, Math.PI),
      format: (angle) => fill(words.startValue, { degrees: formatNumber(degrees(angle), 0) }),
      onInput: (angle) => setOne("start_angles", angle),
    }),
  };
  const buttons = {
    seven: button({ name: "aim_at_seven", label: words.seven, onClick: () => visit("all", { to: FIRST_AIM }) }),
    zero: button({ name: "agree_at_zero", label: words.zero, onClick: () => visit("all", { to: 0 }) }),
    one: button({ name: "one_pair", label: words.one, onClick: () => visit("all", { pairs: 1 }) }),
    fast: button({ name: "only_fast", label: words.fast, onClick: () => visit("fast") }),
    slow: button({ name: "only_slow", label: words.slow, onClick: () => visit("slow") }),
    here: button({ name: "aim_here", label: words.here, pressable: false, onClick: () => set(aim(read().distance)) }),
  };
  const reports = {
    score: report("score", "rope-tone-score"),
    total: report("total"),
    peakScore: report("peak_score", "rope-tone-score"),
    peak: report("peak", "rope-tone-position"),
    beside: report("beside", "rope-tone-score"),
    rivalScore: report("rival_score", "rope-tone-score"),
    rival: report("rival", "rope-tone-position"),
    wavelength: report("wavelength"),
    part: report("pair_contribution", "rope-tone-score"),
  };
  const rivalAt = html("span", {}, words.at, reports.rival.node);
  const { here, ...stops } = buttons;
  const lessons = {
    nothing: words.lessonNothing,
    apart: words.lessonApart,
    one: words.lessonOne,
    peak: words.lesson,
    level: words.lessonLevel,
    rival: words.lessonRival,
  };
  const lesson = html("p");
  const heading = html("p", { class: "rope-heading", "data-report": "pair" });
  const frame = html(
    "div",
    { class: "rope-frame" },
    html("div", { class: "rope-row rope-row-first rope-builder-stops" }, ...Object.values(stops).map((b) => b.node)),
    html("div", { class: "rope-lesson rope-builder-lesson" }, lesson),
    html(
      "div",
      { class: "rope-builder" },
      pictureBox,
      html(
        "div",
        { class: "rope-builder-walk" },
        html("div", { class: "rope-builder-distance" }, controls.distance.node, here.node),
        controls.pairs.node,
      ),
      html(
        "div",
        { class: "rope-builder-clocks" },
        html("p", { class: "rope-builder-note" }, words.note),
        dialBox,
        html(
          "div",
          { class: "rope-builder-facts" },
          heading,
          readout(words.wavelength, reports.wavelength.node),
          readout(words.part, reports.part.node),
        ),
        controls.amplitude.node,
        controls.start.node,
      ),
      html("div", { class: "rope-builder-shape" }, controls.head.node, controls.base.node),
    ),
    html(
      "div",
      { class: "rope-readouts" },
      readout(words.score, reports.score.node),
      readout(words.possible, reports.total.node),
      readout(words.peak, reports.peakScore.node, words.at, reports.peak.node),
      readout(words.beside, reports.beside.node),
      readout(words.rival, reports.rivalScore.node, rivalAt),
    ),
    html("div", { hidden: "" }, ...stored.flat()),
  );
  const root = widgetRoot(words.title, frame);
  const summary = announcer(root);
  el.append(root);

  dials.addEventListener("keydown", (event) => {
    const { pair } = read();
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -MAX_PAIRS, End: MAX_PAIRS };
    if (!(event.key in steps)) return;
    event.preventDefault();
    pick(pair + steps[event.key]);
  });

  // What the drawing needs to know, once a frame and before anything is written.
  function measure() {
    const wide = root.clientWidth >= 640;
    return {
      wide,
      width: clamp(pictureBox.clientWidth || 360, 220, 460),
      dials: clamp(dialBox.clientWidth || 320, 200, 420),
    };
  }

  function drawCurves(state, { width, wide }) {
    const [left, right] = [30, width - 10];
    const [partsTop, partsBottom] = [24, wide ? 116 : 100];
    const sumTop = partsBottom + 30;
    const height = wide ? 352 : 300;
    const bottom = height - 38;
    const level = state.total || 1;
    const toX = linearScale(-REACH, REACH, left, right);
    const toPart = linearScale(-1, 1, partsBottom, partsTop);
    const toSum = linearScale(-level, level, bottom, sumTop);
    // Moving the marker leaves the curves as they are.
    const wanted = JSON.stringify([
      width,
      wide,
      state.inverse,
      state.pairs,
      state.amplitudes,
      state.starts,
      state.pair,
    ]);
    if (drawnCurves !== wanted) {
      drawnCurves = wanted;
      setAttributes(picture, {
        viewBox: `0 0 ${width} ${height}`,
        style: `width: ${width}px; height: ${height}px; margin: 0 auto`,
      });
      grid.setAttribute(
        "d",
        ticks.map(({ d }) => `M${toX(d)} ${partsTop}V${partsBottom}M${toX(d)} ${sumTop}V${bottom}`).join(""),
      );
      axes.setAttribute(
        "d",
        `M${left} ${toPart(0)}H${right}M${left} ${toSum(0)}H${right}M${toX(0)} ${partsTop}V${partsBottom}M${toX(0)} ${sumTop}V${bottom}`,
      );
      top.setAttribute("d", `M${left} ${sumTop}H${right}`);
      const samples = Array.from({ length: 2 * REACH * STEPS + 1 }, (_, i) => i / STEPS - REACH);
      const sums = samples.map(() => 0);
      lines.forEach((line, i) => {
        const drawn = i < state.pairs && state.amplitudes[i] > 0;
        const points = drawn
          ? samples.map((d, at) => {
              const part = state.amplitudes[i] * Math.cos(state.starts[i] + d * state.inverse[i]);
              sums[at] += part;
              return [toX(d), toPart(part)];
            })
          : [];
        line.setAttribute("d", polylinePath(points));
        line.classList.toggle("rope-builder-chosen", i === state.pair);
      });
      sum.setAttribute("d", polylinePath(samples.map((d, at) => [toX(d), toSum(sums[at])])));
      dots.forEach((dot, i) =>
        setAttributes(dot, { cx: toX(DISTANCES[i]).toFixed(2), cy: toSum(state.scores[i]).toFixed(2) }),
      );
      for (const { d, text } of ticks) setAttributes(text, { x: toX(d), y: bottom + 16 });
      for (const { level: part, text } of partLevels) setAttributes(text, { x: left - 5, y: toPart(part) + 4 });
      for (const { level: part, text } of sumLevels) {
        setText(text, formatNumber(part * level, Number.isInteger(level) ? 0 : 1));
        setAttributes(text, { x: left - 5, y: toSum(part * level) + 4 });
      }
      setAttributes(titleParts, { x: 2, y: partsTop - 10 });
      setAttributes(titleSum, { x: 2, y: sumTop - 10 });
      setAttributes(titleX, { x: (left + right) / 2, y: height - 5 });
    }
    const [x, y] = [toX(state.distance), toSum(state.score)];
    marker.setAttribute("d", `M${x} ${partsTop}V${bottom}`);
    for (const node of [ring, now]) setAttributes(node, { cx: x, cy: y });
    const before = x > width - 76;
    setText(nowLabel, formatNumber(state.score));
    setAttributes(nowLabel, {
      x: x + (before ? -14 : 14),
      y: clamp(y + 5, sumTop + 10, bottom - 2),
      "text-anchor": before ? "end" : "start",
    });
    partDots.forEach((dot, i) =>
      setAttributes(dot, {
        visibility: i < state.pairs && state.amplitudes[i] > 0 ? "visible" : "hidden",
        cx: x,
        cy: toPart(state.parts[i] ?? 0),
      }),
    );
  }

  function drawClocks(state, { dials: width, wide }) {
    const columns = wide ? 4 : 8;
    const cell = width / columns;
    const radius = Math.min(26, cell / 2 - 4);
    const row = 2 * radius + 40;
    const height = (row * MAX_PAIRS) / columns;
    setAttributes(dials, { viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px; height: ${height}px` });
    clocks.forEach((clock, i) => {
      const shown = i < state.count;
      const on = i < state.pairs;
      clock.group.style.display = clock.part.style.display = shown ? "" : "none";
      if (!shown) return;
      const cx = (i % columns) * cell + cell / 2;
      const cy = Math.floor(i / columns) * row + radius + 18;
      const tip = (angle, length) => [cx + length * Math.cos(angle), cy - length * Math.sin(angle)];
      const length = 0.94 * radius * state.amplitudes[i];
      const angle = state.starts[i] + state.distance * state.inverse[i];
      for (const circle of [clock.back, clock.rim]) setAttributes(circle, { cx, cy, r: radius });
      setAttributes(clock.halo, { cx, cy, r: radius + 2.5 });
      setAttributes(clock.hub, { cx, cy });
      clock.group.classList.toggle("rope-builder-off", !on);
      clock.start.setAttribute("d", polylinePath([tip(state.starts[i], 0.7 * radius), tip(state.starts[i], radius)]));
      clock.hand.setAttribute("d", length > 0 ? polylinePath([[cx, cy], tip(angle, length)]) : "");
      clock.bar.setAttribute(
        "d",
        on
          ? polylinePath([
              [cx, cy],
              [tip(angle, length)[0], cy],
            ])
          : "",
      );
      setAttributes(clock.name, { x: cx, y: cy - radius - 6 });
      setAttributes(clock.part, { x: cx, y: cy + radius + 16 });
      const part = on ? state.parts[i] : 0;
      clock.part.dataset.value = part;
      setText(clock.part, formatNumber(part));
      const values = { index: i, wavelength: formatQuantity(TAU / state.inverse[i]), part: formatNumber(part) };
      setAttributes(clock.group, {
        "aria-checked": String(i === state.pair),
        "aria-label": fill(on ? words.dial : words.dialOff, values),
        tabindex: i === state.pair ? 0 : -1,
      });
    });
  }

  function update() {
    const room = measure();
    const given = read();
    const inverse = inverseFrequencies(given.headDim, given.base, MAX_PAIRS);
    const count = given.headDim / 2;
    const state = { ...given, inverse, count, pairs: Math.min(given.pairs, count) };
    state.parts = contributions(state, state.distance);
    state.scores = DISTANCES.map((distance) => scoreAt(state, distance));
    state.score = state.scores[state.distance + REACH];
    state.total = state.amplitudes.slice(0, state.pairs).reduce((a, b) => a + b, 0);
    const peak = bestOf(state.scores);
    const rival = rivalOf(state.scores, peak);
    const [best, next] = [state.scores[peak + REACH], state.scores[rival + REACH] ?? NaN];
    const beside = besideOf(state.scores, peak);
    drawCurves(state, room);
    drawClocks(state, room);

    controls.distance.update(state.distance);
    // A range from 1 to 1 has no length to fill.
    controls.pairs.update(state.pairs, Math.max(2, count));
    controls.head.update(state.headDim);
    controls.base.update(state.base);
    controls.amplitude.update(state.amplitudes[state.pair]);
    controls.start.update(state.starts[state.pair]);
    const isCounting = (kind) => counting(kind, count).every((a, i) => i >= count || a === state.amplitudes[i]);
    const aimed = aimNow(state);
    const all = state.pairs === count && aimed !== null && count > 1;
    buttons.seven.update(all && aimed === FIRST_AIM && isCounting("all"));
    buttons.zero.update(all && aimed === 0 && isCounting("all"));
    buttons.one.update(state.pairs === 1 && count > 1);
    buttons.fast.update(all && isCounting("fast"));
    buttons.slow.update(all && isCounting("slow"));
    heading.dataset.value = state.pair;
    setText(heading, fill(words.heading, { index: state.pair }));
    reports.wavelength.update(
      TAU / inverse[state.pair],
      fill(words.tokens, { value: formatQuantity(TAU / inverse[state.pair]) }),
    );
    const part = state.parts[state.pair] ?? 0;
    reports.part.update(part, formatNumber(part));
    reports.score.update(state.score, formatNumber(state.score));
    reports.total.update(state.total, formatNumber(state.total));
    reports.peakScore.update(best, formatNumber(best));
    reports.beside.update(beside, formatNumber(beside));
    reports.rivalScore.update(next, Number.isFinite(next) ? formatNumber(next) : words.none);
    rivalAt.hidden = !Number.isFinite(rival);
    for (const [name, distance] of Object.entries({ peak, rival })) {
      reports[name].update(distance, Number.isFinite(distance) ? formatNumber(distance, 0) : "");
    }
    [state.amplitudes, state.starts].forEach((values, which) =>
      values.forEach((value, i) => {
        stored[which][i].dataset.value = value;
        setText(stored[which][i], formatNumber(value, 6));
      }),
    );
    const loud = state.amplitudes.slice(0, state.pairs).flatMap((a, i) => (a > 0 ? [i] : []));
    const kind = lessonKind({
      total: state.total,
      aim: aimedAt(state.starts, inverse, state.pairs),
      on: loud.length,
      best,
      beside,
      next,
    });
    const text = fill(lessons[kind], {
      on: loud.length,
      peak: formatNumber(peak, 0),
      rival: formatNumber(rival, 0),
      best: formatNumber(best),
      next: formatNumber(next),
      beside: formatNumber(beside),
      total: formatNumber(state.total),
      wavelength: formatQuantity(TAU / inverse[loud[0] ?? 0]),
    });
    if (lesson.innerHTML !== text) lesson.innerHTML = text;
    summary.say(lesson.textContent);
  }

  const schedule = frameScheduler(update);
  const unwatch = watch(
    model,
    ["head_dim", "base", "pairs", "amplitudes", "start_angles", "distance", "pair"],
    root,
    schedule,
  );
  update();
  return () => {
    unwatch();
    summary.stop();
  };
}

export default { render };
