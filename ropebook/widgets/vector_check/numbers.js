// The numbers in what a reader pastes, however it was printed.

const MOST = 2000;
// tensor([1.0], dtype=torch.float32), [np.float64(1.0), ...], y = [...], Node's Float32Array(8) [...],
// Julia's Float32[...], C's 1.0f and Rust's 1f32
const WRAPPED = /(?:[A-Za-z]+\.)?(?:float[0-9]+array(?:\([0-9]*\))?|tensor|array|b?float[0-9]*)\s*[([]/gi;
const NAMED =
  /\b(?:dtype|device|grad_fn|requires_grad|size|shape)\s*=\s*(?:'[^']*'|"[^"]*"|<[^>]*>|\([0-9, ]*\)|[\w.]+)/g;
const ASSIGNED = /^\s*[A-Za-z_]\w*\s*[=:]/;
const APART = /[\s,;()[\]{}]+/;
const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?(?:f(?:32|64)?)?$/i;
const ENDLESS = /^[+-]?(?:nan|inf|infinity)$/i;

// { numbers } or { problem: { code, found } }: what was found in place of `count` numbers.
export function readNumbers(text, count) {
  const wrong = (code, found) => ({ problem: { code, found } });
  if (text.length > MOST) return wrong("long", text.length);
  const bare = text.replaceAll("−", "-").replace(NAMED, " ").replace(WRAPPED, "(").replace(ASSIGNED, " ");
  const parts = bare.split(APART).filter(Boolean);
  if (parts.length === 0) return wrong("empty", 0);
  for (const part of parts) {
    if (ENDLESS.test(part)) return wrong("endless", part);
    if (!NUMBER.test(part)) return wrong("word", part);
    if (!Number.isFinite(Number.parseFloat(part))) return wrong("endless", part);
  }
  return parts.length === count ? { numbers: parts.map(Number.parseFloat) } : wrong("count", parts.length);
}

// As most programs print them: four decimals, and no zero with a minus.
export function printed(numbers) {
  return numbers.map((value) => (Number(value.toFixed(4)) + 0).toFixed(4)).join(", ");
}
