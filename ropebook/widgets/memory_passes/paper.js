// What is printed in place of the picture: all lines of all ways, and their clocks at the end.
import { div, html } from "../kit/dom.js";
import { bytesOf, clockTable, race } from "./clock.js";

const WIDTH = 380;

// The lines of a way, each with what it reads and writes, and with the passes up to it.
export function linesOf(lines, sizes) {
  let passes = 0;
  return lines.map(({ code, reads, writes }) => {
    const [read, written] = [bytesOf(reads, sizes), sizes[writes]];
    passes += read + written;
    return { code, numbers: [read, written, passes] };
  });
}

export function paperOf(words, { ways, sizes, clocks }, { inHalves, inCopies }) {
  const names = Object.keys(words.ways);
  const cell = (name, text) => html("span", { class: name }, text);
  const titles = words.columns.map((text) => cell("rope-passes-title", text));
  const lines = names.flatMap((way) =>
    linesOf(ways[way], sizes).flatMap(({ code, numbers }, i) => [
      cell("rope-passes-way", i ? "" : words.ways[way]),
      html("code", {}, code),
      ...numbers.map((number) => cell("", inHalves(number))),
    ]),
  );
  const step = Math.max(...Object.values(ways).map(({ length }) => length));
  const ends = [false, true].map((fresh) => {
    const found = race({ ways, step, sizes, clocks, fresh });
    const numbers = (way) => [found.bars[way].counted, found.bars[way].recorded].map((n) => cell("", inCopies(n)));
    const table = clockTable(words, names, numbers);
    table.draw(found, WIDTH);
    return div("", cell("rope-passes-how", fresh ? words.fresh_memory : words.kept_memory), table.node);
  });
  return div("rope-passes-paper", div("rope-passes-lines", ...titles, ...lines), ...ends);
}
