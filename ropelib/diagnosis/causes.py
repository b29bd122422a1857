"""Rules that explain what is wrong with a rotation; the most specific come first."""

import math

import torch

from ropelib.diagnosis.call_decides import (
    early_positions_still,
    kept_by_address,
    last_tokens_left,
    later_chunks,
)
from ropelib.diagnosis.factors import coarse_steps, factors_apart, rows_apart, x_added
from ropelib.diagnosis.heads import heads_differ, heads_made_of_others, rows_as_tokens
from ropelib.diagnosis.in_company import read_in_company
from ropelib.diagnosis.linear import not_linear, of_few_bits
from ropelib.diagnosis.lines import lines_without_partner
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.miswritten import (
    cosine_of_another_axis,
    distinct_columns,
    miswritten,
    pairs_of_two_axes,
    sines_shifted,
    tables_arranged_apart,
)
from ropelib.diagnosis.origins import origin, position_ids_ignored, shifted
from ropelib.diagnosis.past_the_end import clamped_to_the_call, read_past_its_end, wraps_at_the_call
from ropelib.diagnosis.paths import not_repeated, stays_grown
from ropelib.diagnosis.precision import coarse_frequencies, lost_precision, places_matter
from ropelib.diagnosis.reduced import reduced_coarsely
from ropelib.diagnosis.report import PAIRS_OF, Finding, wrong
from ropelib.diagnosis.resting import last_pair, rest_is_not_kept
from ropelib.diagnosis.series import beyond_sense, counted_late, multiplied, unfilled
from ropelib.diagnosis.several_axes import (
    axes_disagree,
    axes_summed,
    axis_ignored,
    scaled_axes,
    still_in_text,
)
from ropelib.diagnosis.slots import as_ranks
from ropelib.diagnosis.tensors import SAME, gap, spread, wrap


def _not_deterministic(m: Measured) -> Finding | None:
    again = m.curves(torch.float32).matrices
    change = max(gap(again, m.far.matrices), gap(*m.fresh_again))
    if change > 1e-6:
        return not_repeated(change)


def _adds_a_vector(m: Measured) -> Finding | None:
    if m.far.added > 1e-6:
        return wrong(
            "adds-a-vector",
            "A vector of zeros does not stay zero: positions are added, not turned into angles.",
            "an additive (sinusoidal or learned) encoding, or a bias after the rotation",
            largest_entry=m.far.added,
        )


def _does_not_rotate(m: Measured) -> Finding | None:
    matrices = m.far.matrices
    if spread(matrices, axis=0) < 1e-6:
        return wrong(
            "does-not-rotate",
            "Every position gives the same result.",
            "the rotated tensor is computed and then dropped, or inv_freq is zero: never filled",
            largest_change=spread(matrices, axis=0),
        )


def _sin_and_cos_swapped(m: Measured) -> Finding | None:
    if not m.partner or float(wrap(m.start - m.start[0]).abs().max()) > 1e-3:
        return None
    if abs(abs(float(m.start[0])) - math.pi / 2) < 1e-3:
        return wrong(
            "sin-and-cos-swapped",
            "At position 0 each pair is turned by a quarter turn, and turns back from there: "
            "cosine stands where sine belongs.",
            "tables handed over as (sin, cos), or unpacked in the wrong order",
            angle_at_position_0=float(m.start[0]),
        )


def _pairs_disagree(m: Measured) -> Finding | None:
    """The two dimensions of a pair must turn by one angle."""
    if not m.partner:
        return None
    first, second = m.speeds.chunk(2)
    tolerance = 1e-4 * m.speeds.abs().amax() + 2 * m.noise / 128
    if bool(((first - second).abs() <= tolerance).all()):
        return None
    if bool(((first + second).abs() <= tolerance).all()):
        count, step = len(first), m.near.matrices[1]
        taken = float(step[m.dims[:count], m.dims[count:]].sum())
        return wrong(
            "minus-sign-missing",
            "Both dimensions of a pair take the other one with the same sign: that is no rotation, "
            "and lengths change.",
            "a rotated copy (b, a) where (-b, a) is needed"
            if taken > 0
            else "b * cos - a * sin in the second line of a pair, or a rotated copy (-b, -a)",
            largest_stretch_at_position_1=float(torch.linalg.matrix_norm(m.near.matrices[1], 2)),
        )
    if apart := tables_arranged_apart(m):
        return apart
    by_dim = dict(zip(m.dims, m.speeds.tolist(), strict=True))
    speeds = torch.tensor([by_dim[r] for r in sorted(by_dim)], dtype=torch.float64)
    count = len(speeds) // 2
    evidence = {
        "frequency of dimension 0": float(speeds[0]),
        "of its partner": by_dim[m.partner[min(by_dim)]],
        "change of scores at one distance": m.relativity_error,
    }
    arranged = {
        "half": bool(((speeds[:count] - speeds[count:]).abs() < tolerance).all()),
        "interleaved": bool(((speeds[0::2] - speeds[1::2]).abs() < tolerance).all()),
    }
    for angles, pairs in (("half", "interleaved"), ("interleaved", "half")):
        if arranged[angles] and m.pairing.layout == pairs:
            how = {"half": "tiled (0 1 2 .. 0 1 2 ..)", "interleaved": "repeated (0 0 1 1 ..)"}
            return Finding(
                f"{angles}-angles-on-{pairs}-pairs",
                "wrong",
                f"Pairs are {PAIRS_OF[pairs]}, but their angles are {how[angles]}: the two "
                "dimensions of a pair turn by different angles, so lengths change and scores "
                "depend on more than the distance.",
                evidence,
                f"cos and sin in the order of the {angles} layout beside a rotated copy in the "
                f"{pairs} one",
            )
    sentence = "The two dimensions of a pair turn by different angles."
    cause = "cos and sin are arranged in another order than the pairs, or cut from wider tables"
    if one_each := distinct_columns(speeds, m.head_dim, tolerance):
        sentence, cause = f"{sentence} {one_each[0]}", one_each[1]
    return Finding("angles-differ-within-pairs", "wrong", sentence, evidence, cause)


def _not_pairwise(m: Measured) -> Finding | None:
    if not m.partner:
        of_one = bool(((m.entries > 1e-7).sum(1) == 1).all())
        return wrong(
            "not-pairwise",
            "Dimensions do not turn in pairs: what comes out of one depends on "
            + ("another, and that on a third." if of_one else "none or on more than one other."),
            "another encoding, or two layouts mixed in one rotation",
            dimensions_mixed=int((m.entries > 1e-7).sum(1).max()) + 1,
            change_of_scores_at_one_distance=m.relativity_error,
        )


def _sine_is_zero(m: Measured) -> Finding | None:
    start, once, twice = m.near.matrices[:3].diagonal(dim1=1, dim2=2)
    if m.partner == {} and gap(twice * start, 2 * once**2 - start**2) < 0.02:  # cos 2f, by cos f
        return wrong(
            "sine-is-zero",
            "Dimensions shrink and grow with the position and never meet their partners: only the "
            "cosine is there.",
            "the table of sin is zero or lost, or the rotated copy of x is",
            smallest_factor=float(m.far.matrices.diagonal(dim1=1, dim2=2).min()),
        )


def _sine_of_both_is_zero(m: Measured) -> Finding | None:
    """The same where both dimensions of a pair have its cosine: then neither line is missing."""
    if m.partner != {}:
        return None
    diagonal = m.far.matrices.diagonal(dim1=1, dim2=2)
    moving = diagonal[:, (diagonal - diagonal[:1]).abs().amax(0) > 1e-5]
    if moving.shape[1] % 2 or moving.shape[1] < 4:
        return None
    both = moving.chunk(2, dim=1), (moving[:, 0::2], moving[:, 1::2])
    return _sine_is_zero(m) if any(gap(a, b) < SAME for a, b in both) else None


def _position_0_lost(m: Measured) -> Finding | None:
    """All positions but 0 are turned as they should be."""
    phases, second = m.phases(m.near).chunk(2, dim=1)
    if float(wrap(phases - second).abs().max()) > 1e-3 + 4 * m.noise:
        return None  # no rotation
    positions = m.near.positions.double()[:, None]
    others = wrap(phases - positions * phases[1])[1:].abs().max()
    if float(others) > 1e-3 + 4 * m.noise or m.noise > 0.02 or m.num_pairs < 2:
        return None
    as_one = float(wrap(phases[0] - phases[1]).abs().max()) < 1e-4
    return wrong(
        "position-0-lost",
        f"Position 0 is turned as {'position 1' if as_one else 'another'} should be, and all "
        "others are right.",
        "clamp(min=1), or 0 taken for padding",
        since=0,
        largest_angle_at_position_0=float(m.start.abs().max()),
    )


def _shifted(m: Measured) -> Finding | None:
    if m.start.abs().max() < 1e-4 or origin(m) is not None:
        return None
    return _position_0_lost(m) or shifted(m)


def _scaled(m: Measured) -> Finding | None:
    lengths = m.lengths(m.near)
    scale = float(m.scale.mean())
    if float((lengths / m.scale - 1).abs().max()) > 0.02:
        return wrong(
            "norm-not-kept",
            "Lengths change with the position.",
            "cos and sin of different angles in one pair, tables that are interpolated, or a decay "
            "as in xPos, which is right only if q grows as k shrinks",
            smallest_length=float(lengths.min()),
            largest_length=float(lengths.max()),
        )
    if float((m.scale / scale - 1).abs().max()) > 0.02:
        return wrong(
            "norm-not-kept",
            "Pairs are scaled differently.",
            "a weight on the tables",
            smallest_scale=float(m.scale.min()),
            largest_scale=float(m.scale.max()),
        )
    roots = {f"1 / sqrt({n})": n**-0.5 for n in (m.head_dim, 2 * m.num_pairs) if n > 2}
    roots |= {f"{n} ** -0.25": n**-0.25 for n in (m.head_dim,) if n != 4}
    roots |= {f"1 / {m.head_dim}": 1 / m.head_dim}
    grown = {f"sqrt({n})": n**0.5 for n in (m.head_dim, 2 * m.num_pairs)}
    grown |= {f"{n} ** 0.25": n**0.25 for n in (m.head_dim,)} | {f"{m.head_dim}": m.head_dim}
    roots |= {name: root for name, root in grown.items() if root > 2.5}  # YaRN has 0.1 ln(s) + 1
    for name, root in roots.items():
        if abs(scale / root - 1) < 1e-4 + m.noise:
            length = "shortened to {} of" if root < 1 else "lengthened to {} times"
            return wrong(
                "norm-not-kept",
                f"Every vector is {length.format(name)} its length, which no attention factor is.",
                "the 1 / sqrt(head_dim) of the scores, a normalization, or the sqrt(d) of "
                "embeddings, moved into the rotation",
                scale=scale,
            )
    rest = [float(m.near.matrices[0, r, r]) for r in m.resting if r not in m.still]
    if rest and abs(scale - 1) > 1e-3 and abs(max(rest) / scale - 1) < 1e-3:
        return wrong(
            "norm-not-kept",
            "Dimensions that are not rotated are scaled as well, so this is no attention factor.",
            "x is scaled before or after the rotation",
            scale_of_all=scale,
        )


def _scaled_far_away(m: Measured) -> Finding | None:
    """Lengths beyond the near positions; lengths of the near ones are right."""
    off = (m.lengths(m.far) / m.scale - 1).abs().amax(1) > 0.02 + 2 * m.noise
    if not off.any() or not m.obeys_ids:
        return None
    since = int(m.far.positions[off][0])
    lengths = m.lengths(m.far)[off]
    one = float(lengths.max() / lengths.min()) - 1 < 0.02 if float(lengths.min()) > 0 else False
    if one and bool(off[m.far.positions >= since].all()):
        return wrong(
            "factor-changes-midway",
            f"From position {since} on vectors are {float(lengths.mean()):.6g} times as long as "
            f"they go in, before that {float(m.scale.mean()):.6g} times.",
            "a table that was made longer without the factor (mscale) of its first rows",
            since,
            before=float(m.scale.mean()),
            after=float(lengths.mean()),
        )
    if finding := read_past_its_end(m, off):
        return finding
    return wrong(
        "norm-not-kept",
        "Lengths change at far positions.",
        "rows of the table that are interpolated, rounded or not written; or a temperature by "
        "position (Llama 4, logn), which belongs to the scores",
        since,
        smallest_length=float(lengths.min()),
        largest_length=float(lengths.max()),
    )


def _inverted_ramp(m: Measured) -> Finding | None:
    fit = m.fit
    if scaled_axes(m):  # a coordinate in steps of its own, as a note says
        return None
    if fit.jump is not None and fit.jump < 1 - 1e-3 and fit.factor > 1 + 1e-3:
        return inverted_blend(fit.factor, fit.split, fit.factor * fit.jump)


def inverted_blend(
    factor: float, split: tuple[int, int] | None = None, slow: float = 1.0
) -> Finding:
    """Return the finding: fast pairs, the first of `split`, are divided by more than slow ones."""
    pairs = f"the fastest {split[0]} pairs are" if split else "fast pairs are"
    alone = "are left alone" if abs(slow - 1) < 1e-3 else f"by {slow:.6g}"
    return wrong(
        "inverted-ramp",
        f"The blend of YaRN or Llama 3 is upside down: {pairs} divided by {factor:.6g} and slow "
        f"ones {alone}, where fast ones should stay and slow ones be divided.",
        "the ramp where 1 - ramp is meant, the two frequencies swapped in the blend, or beta_fast "
        "and beta_slow exchanged",
        factor=factor,
    )


def _not_relative(m: Measured) -> Finding | None:
    if places_matter(m):
        return wrong(
            "not-relative",
            "The score of two rotated vectors depends on where they stand, not only on how far "
            "apart.",
            "angles that are not proportional to the position",
            change_of_scores_at_one_distance=m.relativity_error,
        )


CAUSES = [
    kept_by_address,
    _not_deterministic,
    stays_grown,
    last_tokens_left,
    heads_differ,
    heads_made_of_others,
    _adds_a_vector,
    of_few_bits,
    not_linear,
    rows_as_tokens,
    _does_not_rotate,
    _sine_of_both_is_zero,
    lines_without_partner,
    _sine_is_zero,
    _not_pairwise,
    _sin_and_cos_swapped,
    miswritten,
    early_positions_still,
    later_chunks,
    _pairs_disagree,
    as_ranks,
    position_ids_ignored,
    rows_apart,
    read_in_company,
    _shifted,
    sines_shifted,
    x_added,
    factors_apart,
    coarse_steps,
    _scaled,
    _scaled_far_away,
    rest_is_not_kept,
    cosine_of_another_axis,
    pairs_of_two_axes,
    still_in_text,
    axis_ignored,
    axes_summed,  # before drift: a number of many rows, times a frequency, errs in float32
    reduced_coarsely,
    beyond_sense,
    unfilled,
    counted_late,
    last_pair,
    wraps_at_the_call,
    clamped_to_the_call,
    lost_precision,
    coarse_frequencies,
    _inverted_ramp,
    _not_relative,
    axes_disagree,
    multiplied,
]


SHAPELESS = {  # there is no description of such a thing
    "not-deterministic",
    "heads-differ",
    "rotates-by-head",
    "batch-taken-for-tokens",
    "heads-mixed",
    "adds-a-vector",
    "vectors-of-few-bits",
    "not-linear",
    "does-not-rotate",
    "not-pairwise",
    "sine-is-zero",
    "minus-sign-missing",
    "half-angles-on-interleaved-pairs",
    "interleaved-angles-on-half-pairs",
    "angles-differ-within-pairs",
    "sines-of-other-pairs",
    "cosine-negated",
    "lines-miswritten",
    "last-tokens-not-turned",
    "early-positions-not-turned",
    "later-chunks-differ",
    "gaps-ignored",
}
