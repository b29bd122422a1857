// Words of a widget's table, and numbers as a reader sees them.
import { degrees } from "./math.js";

export function pickWords(table, language) {
  const wanted = (language || "en").toLowerCase();
  const names = Object.keys(table);
  const found =
    names.find((name) => name.toLowerCase() === wanted) ??
    names.find((name) => name.toLowerCase() === wanted.split("-")[0]);
  return table[found ?? "en"];
}

export function fill(sentence, values, format = (value) => value) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => format(values[name]));
}

export function formatNumber(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

export function whole(value) {
  return formatNumber(value, 0);
}

export function formatQuantity(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 0) return `−${formatQuantity(-value)}`;
  if (value !== 0 && value < 1e-4) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${mantissa}·10${superscript(Number(exponent))}`;
  }
  if (value < 100 && !Number.isInteger(value)) return String(Number(value.toPrecision(3)));
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function superscript(integer) {
  const digits = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  return [...String(integer)].map((digit) => digits[digit]).join("");
}

// Whole tokens at rest, tenths while an animation passes between them.
export function tokens(count) {
  return formatNumber(count, Math.abs(count - Math.round(count)) < 1e-9 ? 0 : 1);
}

// Says an angle in radians and in degrees, by a sentence with room for both.
export function formatTurn(sentence) {
  return (angle) => fill(sentence, { radians: formatNumber(angle), degrees: formatNumber(degrees(angle), 0) });
}

// An angle in radians, said in degrees.
export function formatAngle(angle, digits = 1) {
  return Number.isFinite(angle) ? `${formatNumber(degrees(angle), digits)}°` : "–";
}
