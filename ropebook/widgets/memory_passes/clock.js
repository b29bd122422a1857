// The clock of each way: copies of x, for what is read, written and handed out, a line after another.
import { div, html, setAttributes, svg } from "../kit/dom.js";
import { box, label, layer, path } from "../kit/layer.js";
import { clamp } from "../kit/math.js";

// Until the box that asks for all passes is answered, those of the lines after these are not told.
export const TOLD_LINES = 3;

export function bytesOf(names, sizes) {
  return names.reduce((sum, name) => sum + sizes[name], 0);
}

// New memory that a line writes, in sizes of x.
export function newOf({ reads, writes }, sizes) {
  return reads.includes(writes) ? 0 : sizes[writes];
}

// What fresh memory of the size of x costs, in copies: what a clone paid more for it.
export function priceOf({ clone: [kept, fresh] }) {
  return Math.max(0, fresh - kept);
}

// The bar of `at` lines: its parts, each [kind, from, long], and where they end, in copies. A line under way has read for
// half of its time, then it writes; what is counted holds it as if it were done.
export function clockOf(lines, { sizes, at, price }) {
  const parts = [];
  const found = { whole: 0, counted: 0 };
  let end = 0;
  lines.forEach((line, i) => {
    const part = clamp(at - i, 0, 1);
    const costs = [
      ["read", bytesOf(line.reads, sizes) / 2, 2 * part],
      ["written", sizes[line.writes] / 2, 2 * part - 1],
      ["pages", newOf(line, sizes) * price, 2 * part - 1],
    ];
    for (const [kind, long, done] of costs) {
      const drawn = long * clamp(done, 0, 1);
      parts.push([kind, end, drawn]);
      end += drawn;
      found.whole += long;
      if (part > 0) found.counted += long;
    }
  });
  return { parts, end, ...found, done: at >= lines.length };
}

// The clocks of all ways after the same number of lines, and how many copies a bar has room for: those
// of the longest with this memory, for with the other kind most bars would be too short to read. What
// is not told yet is null: of a way that is asked for, all that goes beyond the first lines.
export function race({ ways, step, sizes, clocks, fresh, asked }) {
  const price = fresh ? priceOf(clocks) : 0;
  const bars = Object.entries(ways).map(([way, lines]) => {
    const hidden = way === asked;
    const at = clamp(step, 0, hidden ? TOLD_LINES : lines.length);
    const clock = clockOf(lines, { sizes, at, price });
    const past = hidden && step > TOLD_LINES;
    const seen = { counted: past ? null : clock.counted, whole: hidden ? null : clock.whole };
    return [way, { ...clock, ...seen, recorded: clock.done ? clocks[way][Number(fresh)] : null, hidden: past }];
  });
  const longest = Object.values(ways).map((lines) => clockOf(lines, { sizes, at: 0, price }).whole);
  const told = Object.values(clocks).map((pair) => pair[Number(fresh)]);
  return { bars: Object.fromEntries(bars), room: Math.max(...longest, ...told) };
}

const [HIGH, DIAMOND] = [18, 5];

// A bar on its copies: what is done, in parts; in outline, all of it, or two lines that do not close
// where all of it is not told; and what a clock said.
export function clockBar(words) {
  const picture = svg("svg", { "aria-hidden": "true", height: HIGH });
  const paint = layer(picture);
  function draw({ parts, end, whole, recorded }, room, width) {
    const scale = (width - DIAMOND) / room;
    const open = whole === null;
    const [from, to] = [end * scale, width - 1];
    const part = ([kind, from, long]) => box(`rope-passes-${kind}`, [from * scale, 3, long * scale, HIGH - 6]);
    const diamond = `M${recorded * scale} ${HIGH / 2 - DIAMOND}l${DIAMOND} ${DIAMOND}-${DIAMOND} ${DIAMOND}-${DIAMOND}-${DIAMOND}z`;
    setAttributes(picture, { viewBox: `0 0 ${width} ${HIGH}` });
    paint([
      path("rope-passes-copy", `M${scale} 0V${HIGH}`),
      ["g", {}, parts.map(part)],
      box("rope-passes-whole", [0.5, 2.5, Math.max(0, (whole ?? 0) * scale - 1), HIGH - 5], { rx: 2 }),
      path("rope-passes-open", open ? `M${from} 2.5H${to}M${from} ${HIGH - 2.5}H${to}` : ""),
      label("rope-passes-untold", (from + to) / 2, HIGH - 4, open ? words.hidden : "", "middle"),
      path("rope-passes-diamond", recorded === null ? "" : diamond),
    ]);
  }
  return { node: picture, draw };
}

// A row for each way: its name, the two nodes of `numbers(way)`, its bar.
export function clockTable(words, ways, numbers) {
  const rows = ways.map((way) => {
    const bar = clockBar(words);
    return {
      way,
      bar,
      name: html("span", { class: "rope-passes-way" }, words.ways[way]),
      held: div("rope-passes-clock", bar.node),
    };
  });
  const kinds = Object.entries(words.kinds).map(([kind, text]) => html("span", { "data-kind": kind }, text));
  const titles = [
    html("span", { class: "rope-passes-kinds" }, words.copies, ...kinds),
    ...[words.counted, words.recorded].map((text) => html("span", {}, text)),
  ];
  for (const title of titles) title.classList.add("rope-passes-title");
  return {
    held: rows[0].held,
    node: div("rope-passes-clocks", ...titles, ...rows.flatMap(({ way, name, held }) => [name, ...numbers(way), held])),
    draw({ bars, room }, width, chosen = null) {
      for (const { way, bar, name } of rows) {
        bar.draw(bars[way], room, width);
        setAttributes(name, { "data-chosen": way === chosen });
      }
    },
  };
}
