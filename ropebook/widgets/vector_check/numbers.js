// The numbers in what a reader pastes, however it was printed.

const MOST = 2000;
// tensor([1.0], dtype=torch.float32), [np.float64(1.0), ...], y = [...], and C's 1.0f
const WRAPPED = /(?:[A-Za-z]+\.)?(?:tensor|array|b?float[0-9]*)\s*\(/gi;
const NAMED = /\b(?:dtype|device|grad_fn|requires_grad|size)\s*=\s*(?:'[^']*'|"[^"]*"|<[^>]*>|[\w.]+)/g;
const ASSIGNED = /^\s*[A-Za-z_]\w*\s*[=:]/;
const APART = /[\s,;()[\]{}]+/;
const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?f?$/i;
const ENDLESS = /^[+-]?(?:nan|inf|infinity)$/i;

// { numbers } or { problem: { code, found } }: what was found in place of `count` numbers.
export function readNumbers(text, count) {
  const wrong = (code, found) => ({ problem: { code, found } });
  if (text.length > MOST) return wrong("long", text.length);
  const bare = text.replaceAll("−", "-").replace(NAMED, " ").replace(WRAPPED, "(").replace(ASSIGNED, " ");
  const words = bare.split(APART).filter(Boolean);
  if (words.length === 0) return wrong("empty", 0);
  for (const word of words) {
    if (ENDLESS.test(word)) return wrong("endless", word);
    if (!NUMBER.test(word)) return wrong("word", word);
    if (!Number.isFinite(Number.parseFloat(word))) return wrong("endless", word);
  }
  return words.length === count ? { numbers: words.map(Number.parseFloat) } : wrong("count", words.length);
}

// As most programs print them: four decimals, and no zero with a minus.
export function printed(numbers) {
  return numbers.map((value) => (Number(value.toFixed(4)) + 0).toFixed(4)).join(", ");
}
