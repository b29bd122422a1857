import { TAU, clamp, inverseFrequencies } from "./math.js";

// What ropelib/scaling/ computes, for pictures, which have no Python to ask.

export const yarnScale = (factor, mscale) => 0.1 * mscale * Math.log(factor) + 1;

// The pairs, not whole numbers perhaps, between which YaRN's ramp falls.
export function yarnRamp({ base, rotaryDim, trained, beta_fast, beta_slow, truncate }) {
  const pairWith = (turns) =>
    (rotaryDim * (Math.log(trained) - Math.log(TAU) - Math.log(turns))) / (2 * Math.log(base));
  const [low, high] = [Math.max(pairWith(beta_fast), 0), Math.min(pairWith(beta_slow), rotaryDim - 1)];
  return truncate ? [Math.floor(low), Math.ceil(high)] : [low, high];
}

export const dependsOnLength = (spec) => spec?.type === "dynamic" || spec?.type === "longrope";

// The length that the frequencies depend on: 0 stands for the longest that the text names; null
// where it names none.
export function shownLength(spec, seqLen) {
  if (!dependsOnLength(spec)) return spec.maxSeqLen;
  return seqLen > 0 ? seqLen : (spec.maxSeqLen ?? spec.trained);
}

// rad per token of every pair before and after scaling, tokens per turn, how many times slower each
// pair has become, and what cos and sin are multiplied by.
export function frequencies(spec, length) {
  const { type, base, rotaryDim, factor, trained } = spec;
  const unscaled = inverseFrequencies(rotaryDim, base);
  const blend = (slowed) =>
    unscaled.map((f, i) => {
      const share = clamp(slowed(f, i), 0, 1);
      return share * (f / factor) + (1 - share) * f;
    });
  let [inverse, attentionFactor, grownBase] = [unscaled, 1, base];
  if (type === "linear") inverse = blend(() => 1);
  if (type === "proportional") inverse = blend(() => 1).map((f, i) => (i < turningPairs(spec) ? f : 0));
  if (type === "dynamic" || type === "ntk_alpha") {
    const stretched = (factor * Math.max(length, spec.maxSeqLen)) / spec.maxSeqLen - (factor - 1);
    grownBase = base * (type === "dynamic" ? stretched : spec.alpha) ** (rotaryDim / (rotaryDim - 2));
    inverse = inverseFrequencies(rotaryDim, grownBase);
  }
  if (type === "llama3") {
    const { low_freq_factor: low, high_freq_factor: high } = spec;
    inverse = blend((f) => (high - (trained * f) / TAU) / (high - low || Number.MIN_VALUE));
  }
  if (type === "yarn") {
    const [low, high] = yarnRamp(spec);
    const [some, all] = spec.mscale && spec.mscale_all_dim ? [spec.mscale, spec.mscale_all_dim] : [1, 0];
    inverse = blend((_, i) => (i - low) / (high - low || 0.001));
    attentionFactor = yarnScale(factor, some) / yarnScale(factor, all);
  }
  if (type === "longrope") {
    const list = length > trained ? spec.long_factor : spec.short_factor;
    inverse = unscaled.map((f, i) => f / list[i]);
    attentionFactor = Math.sqrt(1 + Math.log(Math.max(factor, 1)) / Math.log(trained));
  }
  const slowed = unscaled.map((f, i) => f / inverse[i]);
  const waves = inverse.map((f) => TAU / f);
  return { unscaled, inverse, waves, slowed, attentionFactor: spec.attention_factor ?? attentionFactor, grownBase };
}

// How many pairs turn at all, in p-RoPE.
export const turningPairs = ({ partial_rotary_factor: share, rotaryDim }) => Math.floor((share * rotaryDim) / 2);
