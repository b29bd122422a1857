import { div, html, setAttributes, svg, widthOf } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
import { clamp } from "../kit/math.js";
import { recall } from "../kit/marks.js";
import { mount } from "../kit/mount.js";
import { easing } from "../kit/motion.js";
import { fill, formatNumber } from "../kit/text.js";
import { bytesOf, clockTable, newOf, priceOf, race, TOLD_LINES } from "./clock.js";
import { paperOf } from "./paper.js";

const WORDS = {
  en: {
    title: "Memory passes: what a rotation reads and writes",
    picture: "Strips of memory, the processor beside them, and what moves between",
    way: "how x is turned",
    ways: { steps: "step by step", compiled: "compiled", fused: "fused", in_place: "in place" },
    moves: { back: "Back", on: "Step", play: "Play" },
    memory: "memory; dashed: new",
    processor: ["pro-", "cessor"],
    reads: "reads {size}",
    writes: "writes {size}",
    line: "line {line} of {count}",
    passes: "passes",
    fresh: "new memory",
    hidden: "?",
    fresh_memory: "fresh memory",
    kept_memory: "memory kept",
    clocks: "The time of each way, in copies",
    copies: "copies:",
    kinds: { read: "read", written: "written", pages: "pages" },
    counted: "counted",
    recorded: "◆ clock",
    columns: ["", "", "reads", "writes", "passes"],
    half: "half of {name}",
    and: " and ",
    lessons: {
      begin: "Only x is in memory. Step: the first line fetches it.",
      step: "Line {line} reads {reads} and writes {writes}: <b>{passes}</b> passes so far.",
      asked: "Line {line} reads {reads} and writes {writes}. How many passes now?",
      done: "a, n, r and b were written only to be fetched again: <b>{passes}</b> passes.",
      compiled: "The compiler keeps a, n and b in the processor; r goes through memory: <b>{passes}</b> passes.",
      fused: "Each pair is read, turned in the processor, written to y: <b>{passes}</b> passes.",
      in_place: "Each pair is read, turned and put back over x: <b>{passes}</b> passes.",
    },
    pages: " Pages for {what}: <b>{more}</b> copies more.",
    no_pages: " No page is new.",
    size: "{size} x",
  },
};

// The way whose passes a box asks for.
const ASKED_WAY = "steps";
const ROWS = ["x", "a", "n", "r", "b", "y"];
const LINE_SECONDS = 1.2;
const ROOM = { pitch: 22, strip: 16, narrow: 48, wide: 24, name: 18, processor: 62, bus: 74, lines: 210, code: 24 };

// A half of x stands in the strip of x: from where, and how much.
export function placeOf(name, sizes) {
  const [row] = name;
  return { row, from: name === "x2" ? sizes.x1 : 0, size: sizes[name] };
}

// What follows from a state: the lines done or under way, their sums, and how far the last one is.
export function survey({ way, step, fresh, ways, sizes, clocks, answered }) {
  const lines = ways[way];
  const at = clamp(step, 0, lines.length);
  const now = Math.max(0, Math.ceil(at - 1e-9));
  const done = lines.slice(0, now);
  const born = done.filter((line) => newOf(line, sizes)).map(({ writes }) => writes);
  return {
    ...{ lines, now, born, line: lines[now - 1] ?? null },
    part: now === 0 ? 1 : at - (now - 1),
    last: now === lines.length,
    passes: done.reduce((sum, { reads, writes }) => sum + bytesOf([...reads, writes], sizes), 0),
    new_memory: bytesOf(born, sizes),
    told: answered || way !== ASKED_WAY || now <= TOLD_LINES,
    clock: race({ ways, step, sizes, clocks, fresh, asked: answered ? null : ASKED_WAY }),
  };
}

export function lessonKind({ way, now, last, told }) {
  if (now === 0) return "begin";
  if (!told) return "asked";
  if (!last) return "step";
  return way === ASKED_WAY ? "done" : way;
}

export function inCopies(copies) {
  return formatNumber(copies, 1);
}

// 2.5 -> "2½"
export function inHalves(size) {
  const whole = Math.floor(size);
  return size === whole ? String(whole) : `${whole || ""}½`;
}

// From a line to the next, or from the first to the last, a line at a time; once done, from the start.
export function lead(state, steps) {
  const count = state.ways[state.way].length;
  const from = Math.min(state.step, count);
  const start = from === count && steps > 1 ? 0 : from;
  const end = Math.min(start + steps, count);
  const at = (seconds) => {
    const whole = Math.floor(seconds / LINE_SECONDS);
    return { step: Math.min(end, start + whole + easing(seconds / LINE_SECONDS - whole)) };
  };
  return { still: { step: end }, seconds: (end - start) * LINE_SECONDS, at };
}

function memoryPicture(words, sizes) {
  const picture = svg("svg", { role: "img", "aria-label": words.picture });
  const paint = layer(picture);
  const shown = ({ told }, size) => (told ? inHalves(size) : words.hidden);

  // All lines of code, each to be pressed, the current one lit; where there is no room, that one alone.
  function codeShapes({ lines, now }, wide, width) {
    if (!wide) {
      const place = fill(words.line, { line: Math.max(now, 1), count: lines.length });
      const code = lines[Math.max(now, 1) - 1].code;
      return [
        box("rope-passes-lit", [0.5, 0.5, now ? width - 1 : 0, 25], { rx: 6 }),
        label("rope-passes-code", 8, 18, code),
        label("rope-passes-line", width - 8, 18, place, "end"),
      ];
    }
    const first = ROOM.wide + 13;
    return lines.flatMap(({ code }, i) => [
      box("rope-passes-press", [0.5, first + i * ROOM.code - 16, ROOM.lines - 36, 23], { rx: 6, "data-line": i }),
      box("rope-passes-lit", [0.5, first + i * ROOM.code - 16, i === now - 1 ? ROOM.lines - 36 : 0, 23], { rx: 6 }),
      label(i < now ? "rope-passes-code" : "rope-passes-code rope-passes-later", 8, first + i * ROOM.code, code),
    ]);
  }

  function draw(state, width) {
    const wide = width >= 520;
    const left = wide ? ROOM.lines : 0;
    const [stripX, processorX] = [left + ROOM.name, width - ROOM.processor - 1];
    const full = processorX - ROOM.bus - stripX;
    const top = wide ? ROOM.wide : ROOM.narrow;
    const height = top + ROWS.length * ROOM.pitch;
    const { line, part, born } = state;
    const topOf = (row) => top + ROWS.indexOf(row) * ROOM.pitch;
    const area = (name) => {
      const { row, from, size } = placeOf(name, sizes);
      return [stripX + from * full, topOf(row), size * full, ROOM.strip];
    };
    const isHere = (row) => row === "x" || born.includes(row);
    const strips = ROWS.flatMap((row) => {
      const [x, y, long, high] = area(row);
      const here = isHere(row);
      const writing = line?.writes === row && row !== "x" && part < 1;
      const filled = writing ? long * clamp(2 * part - 1, 0, 1) : long;
      return [
        box("rope-passes-strip", [x, y, here ? filled : 0, high], { rx: 3 }),
        box(`rope-passes-edge${row === "x" ? "" : " rope-passes-new"}`, [x, y, here ? long : 0, high], { rx: 3 }),
        label("rope-passes-name", stripX - 6, y + 14, here ? row : "", "end"),
      ];
    });
    const [x2, xTop] = area("x2");
    const halves = [
      path("rope-passes-halves", `M${x2} ${xTop}v${ROOM.strip}`),
      label("rope-passes-half", stripX + full / 4, xTop + 13.5, "x1", "middle"),
      label("rope-passes-half", stripX + (3 * full) / 4, xTop + 13.5, "x2", "middle"),
    ];
    // What the line reads goes to the processor, and then what it writes comes from there.
    const ways = [...(line?.reads ?? []).map((name) => [name, "one"]), ...(line ? [[line.writes, "two"]] : [])];
    const both = line?.reads.includes(line.writes);
    const buses = ways.flatMap(([name, tone], i) => {
      const [x, y, long] = area(name);
      const aside = both ? (tone === "one" ? -4 : 4) : 0;
      const level = y + ROOM.strip / 2 + aside;
      const writes = tone === "two";
      const gone = easing(clamp(writes ? 2 * part - 1 : 2 * part, 0, 1));
      const [from, to] = writes ? [processorX, stripX + long] : [x + long, processorX];
      const moves = part < 1 && gone > 0 && gone < 1;
      const barLong = 26;
      const barX = from + (to - from - (writes ? -barLong : barLong)) * gone - (writes ? barLong : 0);
      const fresh = writes && born.includes(name) ? " rope-passes-new" : "";
      const head = writes ? to + 1 : to - 1;
      const back = writes ? 7 : -7;
      return [
        box(`rope-passes-mark${fresh} rope-passes-${tone}`, [x, y + (both && writes ? 3 : 0), long, ROOM.strip], {
          rx: 3,
        }),
        path(`rope-passes-bus rope-passes-${tone}`, `M${from} ${level}H${to}`),
        path(`rope-passes-head rope-passes-${tone}`, `M${head} ${level}l${back} -4.5v9z`),
        box(`rope-passes-bar rope-passes-${tone}`, [barX, level - 5, moves ? barLong : 0, 10], { rx: 2, "data-i": i }),
      ];
    });
    const read = (line?.reads ?? []).reduce((sum, name) => sum + sizes[name], 0);
    const middle = processorX + ROOM.processor / 2;
    const said = [
      ...words.processor.map((text, i) =>
        label("rope-passes-processor-name", middle, top + 60 + i * 16, text, "middle"),
      ),
      label(
        "rope-passes-size rope-passes-one",
        processorX + ROOM.processor - 74,
        top - 8,
        line ? fill(words.reads, { size: shown(state, read) }) : "",
        "end",
      ),
      label(
        "rope-passes-size rope-passes-two",
        processorX + ROOM.processor,
        top - 8,
        line ? fill(words.writes, { size: shown(state, sizes[line.writes]) }) : "",
        "end",
      ),
    ];
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
    paint([
      ["g", {}, codeShapes(state, wide, width)],
      ["g", {}, [label("rope-passes-head-line", stripX, top - 8, words.memory), ...strips, ...halves]],
      box("rope-passes-processor", [processorX, top, ROOM.processor, height - top - 7], { rx: 8 }),
      ["g", {}, said],
      ["g", {}, buses],
    ]);
  }
  return { node: picture, draw };
}

function build({ words, model, state, set, play, redraw, lesson, chooser, toggles, buttons, show }) {
  const [ways, sizes, clocks, asked] = ["ways", "sizes", "clocks", "asked"].map((name) => model.get(name));
  const memory = memoryPicture(words, sizes);
  const pictureBox = div("rope-picture rope-passes-picture", memory.node);
  const whole = () => ({ ...state(), ways });
  const onward = () => {
    set({}); // a line under way is carried out at once
    play("on", () => lead(whole(), 1));
  };
  const backward = () => set((now) => ({ step: Math.max(0, Math.min(now.step, ways[now.way].length) - 1) }));
  // A line that is pressed is carried out; keys come to it by the buttons below.
  memory.node.addEventListener("click", ({ target }) => {
    const line = target.getAttribute("data-line");
    if (line === null) return;
    set({ step: Number(line) });
    play("on", () => lead(whole(), 1));
  });
  const [back, on, run] = buttons({
    back: { label: words.moves.back, onClick: backward },
    on: { label: words.moves.on, onClick: onward },
    play: { label: words.moves.play, play: () => lead(whole(), Infinity) },
  });
  const row = div("rope-row rope-passes-moves", back, on, run);
  row.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight") onward();
    if (key === "ArrowLeft") backward();
  });
  const answered = () => recall(asked) !== undefined;
  const heard = ({ detail }) => detail.name === asked && redraw();
  document.addEventListener("rope-mark", heard);
  const number = (name, text) => html("span", {}, text, " ", html("b", {}, name));
  const passes = show("passes", (now) => (now.told ? [now.passes, inHalves(now.passes)] : [Number.NaN, words.hidden]));
  const born = show("new_memory", undefined, { format: (size) => fill(words.size, { size: inHalves(size) }) });
  const onClock = (way) => [
    show(`counted_${way}`, ({ clock }) => {
      const { counted } = clock.bars[way];
      return counted === null ? [Number.NaN, words.hidden] : [counted, inCopies(counted)];
    }),
    show(`recorded_${way}`, ({ clock }) => clock.bars[way].recorded ?? Number.NaN, { format: inCopies }),
  ];
  const clockRows = clockTable(words, Object.keys(words.ways), onClock);
  setAttributes(clockRows.node, { role: "group", "aria-label": words.clocks });
  // What the pages of the line cost, and once all lines are done, of all of them.
  function pages(now) {
    if (!now.fresh || !now.line) return "";
    const all = now.last && now.told;
    const size = all ? now.new_memory : newOf(now.line, sizes);
    if (size === 0) return words.no_pages;
    const what = all && now.now > 1 ? fill(words.size, { size: inHalves(size) }) : now.line.writes;
    return fill(words.pages, { what, more: inCopies(size * priceOf(clocks)) });
  }
  return {
    node: div(
      "rope-frame rope-passes",
      div(
        "rope-passes-choices",
        chooser("way", { label: words.way, options: Object.entries(words.ways) }),
        ...toggles({ fresh: { label: words.fresh_memory } }),
      ),
      pictureBox,
      div("rope-passes-below", row, div("rope-passes-counts", number(passes, words.passes), number(born, words.fresh))),
      clockRows.node,
      lesson,
      paperOf(words, { ways, sizes, clocks }, { inHalves, inCopies }),
    ),
    measure: () => ({ width: widthOf(pictureBox, 200, 640), long: widthOf(clockRows.held, 60, 640) }),
    derive: (now) => survey({ ...now, ways, sizes, clocks, answered: answered() }),
    draw(now, { width, long }) {
      memory.draw(now, width);
      clockRows.draw(now.clock, long, now.way);
      setAttributes(back, { "aria-disabled": now.now === 0 });
      setAttributes(on, { "aria-disabled": now.last });
    },
    lesson(now) {
      const spoken = (name) => (name.length > 1 ? fill(words.half, { name: name[0] }) : name);
      const reads = (now.line?.reads ?? []).map(spoken).join(words.and);
      const told = { line: now.now, reads, writes: now.line?.writes, passes: inHalves(now.passes) };
      return fill(words.lessons[lessonKind(now)], told) + pages(now);
    },
    stop: () => document.removeEventListener("rope-mark", heard),
  };
}

const settle = ({ step }) => ({ step: Math.max(0, Math.ceil(step - 1e-9)) });

export default { render: mount({ words: WORDS, traits: ["way", "step", "fresh"], settle, build }) };
