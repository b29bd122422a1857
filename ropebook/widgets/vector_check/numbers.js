// The numbers in what a reader pastes, however it was printed.
import { clamp } from "../kit/math.js";

const MOST = 2000;
// What is printed around numbers, in the order in which it is taken away. Python has the same list.
const AROUND = [
  // <tf.Tensor: shape=(8,), dtype=float32, numpy=array([...])>
  [/<tf\.[^<]*?numpy\s*=([^>]*)>/g, "$1"],
  // tensor([...], dtype=torch.float32), array([...], shape=(8,))
  [
    /\b(?:dtype|device|grad_fn|requires_grad|weak_type|precision|size|shape|strides|layout|const ndim|Name)["']?\s*[=:]\s*(?:'[^']*'|"[^"]*"|<[^>]*>|\([0-9, ]*\)|\[[0-9, ]*\]|[A-Za-z0-9_.]+(?: \(0x[0-9a-f]+\))?)/g,
    " ",
  ],
  // What Julia says before, libtorch and candle after
  [/[0-9]+-element [^:\n]*:|\[ *[A-Za-z]+Type\{[0-9,]*\} *\]|Tensor\[\[[0-9, ]*\], [a-z0-9]+\]/g, " "],
  // y = [...], "y": [...], y[0] = 1.0, Out[3]: ...
  [/(?<![A-Za-z0-9_.<])["']?(?:[A-Za-z_]+ )*[A-Za-z_][A-Za-z0-9_]*(?:\[[0-9, ]*\]|\([0-9]+\))*["']?\s*[=:]/g, " "],
  // {"0": 1.0}, 0: 1.0
  [/["'][0-9]+["']\s*:|(?<![A-Za-z0-9_.+-])[0-9]+:(?=\s)/g, " "],
  // tensor(...), [np.float64(1.0), ...], Node's Float32Array(8) [...], Julia's Float32[...], vec![...]
  [/(?:[A-Za-z]+\.)?(?:float[0-9]+array(?:\([0-9]*\))?|tensor|array|vec!|b?float[0-9]*)\s*[([]/gi, "("],
];
// R counts the numbers of a vector at the beginning of its lines: [1] 0.5 -2.0
const COUNTED = /(?:^|\n)[ \t]*\[[0-9]+\](?=[ \t]+[-+.0-9])/g;
const APART = /[\s,;()[\]{}"']+/;
// C's 1.0f and Rust's 1f32 as well
const NUMBER = /^[+-]?(?:[0-9]+\.?([0-9]*)|\.([0-9]+))(?:e([+-]?[0-9]+))?(?:f(?:32|64)?)?$/i;
const ENDLESS = /^[+-]?(?:nan|inf|infinity)$/i;

// Every second part, where those between count from 0 or 1, as a table's first column does.
function uncounted(parts, count) {
  const counts = /^[01]$/.test(parts[0]) && parts.every((part, i) => i % 2 || part === `${+parts[0] + i / 2}`);
  return counts && parts.length === 2 * count ? parts.filter((_, i) => i % 2) : parts;
}

// The same with commas as decimal points, where each number has one; else null.
function withPoints(text, count) {
  const parts = text
    .replace(/(?<=[0-9]),(?=[0-9])/g, ".")
    .split(APART)
    .filter(Boolean);
  const fit = parts.length === count && parts.every((part) => part.split(".").length === 2);
  return fit && !text.includes(".") ? parts : null;
}

// By how much the last digit of a number leaves it open.
function openBy(part) {
  const [, decimals = "", alone = "", exponent = "0"] = NUMBER.exec(part);
  return 0.5 * 10 ** clamp(Number(exponent) - (decimals || alone).length, -20, 20);
}

// { numbers, open, guessed } or { problem: { code, found } }: what was found in place of `count` numbers,
// by how much the last digit of each leaves it open, and what was a guess: that others are "counted", which
// count them, and were left out, or that "commas" are decimal points; else null.
export function readNumbers(text, count) {
  const wrong = (code, found) => ({ problem: { code, found } });
  if (text.length > MOST) return wrong("long", text.length);
  const bare = AROUND.reduce((rest, [around, by]) => rest.replace(around, by), text.replaceAll("−", "-"));
  const found = bare.replace(COUNTED, " ");
  const all = found.split(APART).filter(Boolean);
  const listed = uncounted(all, count);
  const pointed = listed.length === count ? null : withPoints(found, count);
  const parts = pointed ?? listed;
  if (parts.length === 0) return wrong("empty", 0);
  for (const part of parts) {
    if (ENDLESS.test(part)) return wrong("endless", part);
    if (!NUMBER.test(part)) return wrong("word", part);
    if (!Number.isFinite(Number.parseFloat(part))) return wrong("endless", part);
  }
  if (parts.length !== count) {
    const between = !found.includes(".") && /[0-9],[0-9]/.test(found);
    return wrong(between ? "commas" : "count", parts.length);
  }
  const guessed = pointed ? "commas" : found !== bare || parts !== all ? "counted" : null;
  return { numbers: parts.map(Number.parseFloat), open: parts.map(openBy), guessed };
}

// As most programs print them: four decimals, and no zero with a minus.
export function printed(numbers) {
  return numbers.map((value) => (Number(value.toFixed(4)) + 0).toFixed(4)).join(", ");
}
