// What each method makes of the hands, in numbers: see ropelib/scaling/ for the formulas' words.
import { TAU, inverseFrequencies } from "../kit/math.js";
import { frequencies } from "../kit/scaled_frequencies.js";

// More than rounding, less than any slider's step.
const SLACK = 1e-9;
// Half the width of what is averaged on a logarithmic axis: from 12 % nearer to 13 % farther.
const SMOOTHING = 0.125;

// rad per token of every hand, and what cos and sin are multiplied by.
export function scaledBy(method, state) {
  const { factor, base, head_dim: rotaryDim, original_length: trained, new_length: length } = state;
  const given = {
    linear: { type: "linear" },
    ntk_aware: { type: "ntk_alpha", alpha: factor },
    ntk_fixed: { type: "linear", base: base * factor, factor: factor ** (2 / rotaryDim) },
    dynamic_ntk: { type: "dynamic" },
    ntk_by_parts: { type: "llama3", low_freq_factor: 1, high_freq_factor: 32 },
    yarn: { type: "yarn", beta_slow: 1, beta_fast: 32, truncate: true },
    llama3: { type: "llama3", low_freq_factor: 1, high_freq_factor: 4 },
    proportional: { type: "proportional", factor: 1, partial_rotary_factor: state.share },
    raised_base: { base: state.new_base },
  };
  const plain = { type: "default", base, rotaryDim, factor, trained, maxSeqLen: trained };
  return frequencies({ ...plain, ...given[method] }, length);
}

// How many times slower each hand turns; Infinity for one that stands still.
export function slowdowns(unscaled, inverse) {
  return unscaled.map((f, i) => f / inverse[i]);
}

// For each hand, whether it turns over the new length no further than it did, or a whole turn, over
// the original one.
export function staysWithin(unscaled, inverse, original, asked) {
  return inverse.map((f, i) => Math.min(asked * f, TAU) <= original * unscaled[i] * (1 + SLACK));
}

// The base whose plain frequencies these are; NaN where there is none.
export function equalBase(inverse) {
  const dim = 2 * inverse.length;
  const base = inverse[1] ** (-dim / 2);
  const same = inverseFrequencies(dim, base).every((f, i) => Math.abs(f / inverse[i] - 1) < SLACK);
  return same ? base : NaN;
}

// For each hand, whether it came round within the original length, and so has seen every angle.
export function cameRound(unscaled, original) {
  return staysWithin(unscaled, unscaled, original, Infinity);
}

export const count = (list) => list.filter(Boolean).length;

// All that is reported of a state, and of its hands.
export function survey(state) {
  const { original_length: original, new_length: asked } = state;
  const { inverse: unscaled } = scaledBy("default", state);
  const { inverse, attentionFactor } = scaledBy(state.method, state);
  const stretch = slowdowns(unscaled, inverse);
  const inside = staysWithin(unscaled, inverse, original, asked);
  const round = cameRound(unscaled, original);
  const inVain = round.map((seenAll, i) => seenAll && stretch[i] > 1 + SLACK);
  return {
    hands: { unscaled, inverse, stretch, inside, inVain },
    outside: stretch.length - count(inside),
    fell_short: stretch.length - count(round),
    slowed_in_vain: count(inVain),
    came_round: count(round),
    attention_factor: attentionFactor,
    first_step_before: unscaled[0],
    first_step: inverse[0],
    equal_base: equalBase(inverse),
  };
}

// Distances from 1 to the last, evenly on a logarithmic axis.
export function distancesTo(last, count) {
  return Array.from({ length: count + 1 }, (_, i) => last ** (i / count));
}

// The mean of all hands' cosines around each of those distances, over the same stretch of the axis:
// cos(r f) integrates to sin(r f) / f. One pixel may hold many turns of the fast hands, and a single
// distance of it would be drawn by chance.
export function smoothMeans(inverse, last, count) {
  const aside = Math.max(1, Math.round((SMOOTHING * count) / Math.log(last)));
  const edges = Array.from({ length: count + 1 + 2 * aside }, (_, i) => last ** ((i - aside) / count));
  const means = new Float64Array(count + 1);
  const sines = new Float64Array(edges.length);
  for (const f of inverse) {
    edges.forEach((edge, i) => (sines[i] = Math.sin(edge * f)));
    for (let i = 0; i <= count; i += 1) {
      const [from, to] = [i, i + 2 * aside];
      means[i] += f === 0 ? 1 : (sines[to] - sines[from]) / (f * (edges[to] - edges[from]));
    }
  }
  return means.map((sum) => sum / inverse.length);
}
