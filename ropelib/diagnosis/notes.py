"""Rules about what is right and unusual."""

from contextlib import suppress
from dataclasses import replace

import torch

from ropelib.diagnosis.circumstances import (
    length_in_one_mode,
    random_in_training,
    refused_autocast,
)
from ropelib.diagnosis.expected_results import alike_parts
from ropelib.diagnosis.factors import one_is_coarse, steps_of_tables
from ropelib.diagnosis.fit import is_round
from ropelib.diagnosis.grouped import refused_groups
from ropelib.diagnosis.inputs import coarse_gradient, no_gradient, refused_strides, rows_taken
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.miswritten import written_elsewhere
from ropelib.diagnosis.origins import centered
from ropelib.diagnosis.probes import CallError, rising_gaps
from ropelib.diagnosis.refusals import raised_by, refused_calls
from ropelib.diagnosis.report import Finding, note
from ropelib.diagnosis.series import of_each_axis
from ropelib.diagnosis.several_axes import sections
from ropelib.diagnosis.tensors import SAME, gap, random


def _clockwise(m: Measured) -> Finding | None:
    if m.direction == -1:
        return note(
            "clockwise",
            "Pairs turn clockwise, the transpose of the usual matrix: one back scores as one ahead "
            "would, so keys cached or weights trained for the other direction do not fit.",
        )
    if m.direction is None:
        return note(
            "mixed-directions",
            "Some pairs turn clockwise, some counterclockwise: or by more than half a turn a "
            "token, which looks like less the other way.",
        )


def _permuted(m: Measured) -> Finding | None:
    if m.permutation is not None:
        found = note(
            "output-permuted",
            "Dimensions come out in another order than they went in (at position 0 they only "
            "move). Scores are right if q and k both do so.",
            dimension_1_comes_out_at=m.permutation[1],
        )
        return replace(found, cause=written_elsewhere(m.permutation))


def _width(m: Measured) -> Finding | None:
    pairing, d = m.pairing, m.head_dim
    if pairing.layout is None:
        pairs = ", ".join(f"({a}, {m.partner[a]})" for a in m.dims[:3])
        said = f"Pairs follow neither layout: {pairs}, ..."
        if (count := alike_parts(m)) > 1:
            said += (
                f" Each {d // count} dimensions are turned alike, as a head of their own would be."
            )
        return note("unusual-pairs", said)
    if pairing.has_gaps:
        return note(
            "pairs-between-stand-still",
            f"Of {pairing.width} pairs {m.num_pairs} turn, with others between them that stand "
            "still: one axis of several, or a model that turns every second or third.",
            pairs_that_turn=m.num_pairs,
            of=pairing.width,
        )
    if pairing.first:
        return note(
            "fast-pairs-stand-still",
            f"Of {pairing.width} pairs the first "
            + ("stands" if pairing.first == 1 else f"{pairing.first} stand")
            + " still: one axis of several, or a model that leaves its fast pairs alone.",
            first_pair_that_turns=pairing.first,
            pairs_that_turn=m.num_pairs,
            of=pairing.width,
        )
    if pairing.width > m.num_pairs:
        return note(
            "slow-pairs-stand-still",
            f"The slowest pairs do not turn{', as in' if m.as_said else ':'} p-RoPE"
            f"{'' if m.as_said else ', or a kernel that leaves out its last block'}."
            if pairing.width > m.num_pairs + 1
            else "The slowest pair does not turn, as expected."
            if m.as_said
            else "The slowest pair does not turn: p-RoPE, or a loop that ends one pair early.",
            pairs_that_turn=m.num_pairs,
            of=pairing.width,
        )
    if pairing.offset and pairing.offset + 2 * pairing.width == d:
        return note(
            "trailing-dimensions",
            f"The last {2 * pairing.width} of {d} dimensions rotate, not the first.",
            first_rotating_dimension=pairing.offset,
        )
    if pairing.offset:
        return note("middle-dimensions", f"Rotation begins at dimension {pairing.offset}.")
    if 2 * pairing.width < d:
        return note("partial", f"The first {2 * pairing.width} of {d} dimensions rotate.")


def _over_the_whole_head(m: Measured) -> Finding | None:
    """Exponents that count all of head_dim, on pairs that lie in a part of it."""
    rotary, d = 2 * m.pairing.width, m.head_dim
    over_head = m.base_over_the_head
    if m.pairing.layout == "half" and over_head:
        return note(
            "frequencies-of-the-whole-head",
            f"Frequencies are those of base {over_head:.6g} over all {d} dimensions, and pairs lie "
            f"within the first {rotary}. p-RoPE (Gemma 4) has such frequencies, with pairs "
            f"(i, i + {d // 2}); other partial rotations have such pairs, with exponents over "
            f"{rotary}. Say which is meant: diagnose(..., expected=...).",
            base=m.fit.base,
            base_over_the_head=over_head,
        )


def _frequencies(m: Measured) -> Finding | None:
    fit = m.fit
    if fit.is_geometric and fit.base < 1 - 1e-6:
        fastest = float(m.turning.max())
        return note(
            "slowest-pairs-first",
            "Each pair turns faster than the one before: the usual order is the reverse."
            if fastest < 1 + 1e-3 + m.noise
            else "Each pair turns faster than the one before.",
            fastest_frequency=fastest,
        )
    if fit.is_geometric:
        return _scaled_by(fit.factor)
    if fit.jump is not None and abs(fit.factor * fit.jump - 1) > 1e-3:  # less is no scaling
        return note(
            "not-geometric",
            "Fast pairs keep their frequencies and slow ones are divided by a factor, with a blend "
            "between, as in YaRN and Llama 3."
            if abs(fit.factor - 1) < 1e-4
            else f"Fast pairs are divided by {fit.factor:.6g} and slow ones by "
            f"{fit.factor * fit.jump:.6g}, with others between, as in LongRoPE.",
            base=fit.base,
            factor=fit.factor * fit.jump,
        )
    if factors := {f"{each.factor:.4f}": each.factor for each in of_each_axis(m).values()}:
        if len(factors) > 1:
            return note(
                "not-geometric",
                "Each axis has a geometric series, and not all of them begin at one frequency; "
                "compare them with the configuration: diagnose(..., expected=...).",
            )
        return _scaled_by(*factors.values())
    if m.num_pairs > 1:
        return note(
            "not-geometric",
            "Frequencies are no geometric series; compare them with the configuration: "
            "diagnose(..., expected=...).",
        )


def _scaled_by(factor: float) -> Finding | None:
    if abs(factor - 1) > 1e-4:
        return note(
            "linearly-scaled",
            f"All frequencies are {'divided' if factor > 1 else 'multiplied'} by one factor.",
            factor=max(factor, 1 / factor),
        )


def _factor(m: Measured) -> Finding | None:
    scale = float(m.scale.mean())
    if abs(scale - 1) > 1e-5 + m.noise:
        as_yarn = ", as YaRN does" if 1 < scale < 2 else ""
        return note(
            "attention-factor",
            f"cos and sin are multiplied by {scale:.6g}{as_yarn}: scores by {scale**2:.6g}."
            if abs(scale**2 - 0.5) > 1e-4
            else "cos and sin are multiplied by 1 / sqrt(2): a factor, or a mean for a sum.",
            attention_factor=scale,
        )


def _length(m: Measured) -> Finding | None:
    if m.depends_on_length and m.obeys == "start":
        return note(
            "frequencies-depend-on-length",
            "Frequencies change with the length of the call (dynamic NTK, LongRoPE): keys cached "
            "before must be rotated again. What is reported holds for short calls.",
        )
    if m.depends_on_length:
        near = float(speeds_of(m.phases(m.near), m.near.positions)[m.num_pairs - 1])
        curves = m.far.at_most(len(m.near.positions))
        far = float(speeds_of(m.phases(curves), curves.positions)[m.num_pairs - 1])
        return note(
            "frequencies-depend-on-length",
            "Frequencies change with the longest position of the call (dynamic NTK, LongRoPE): "
            "keys cached before must be rotated again. What is reported was measured in a call "
            f"up to position {int(m.near.positions[-1])}.",
            slowest_in_a_short_call=abs(near),
            slowest_in_a_long_call=abs(far),
        )


def _table_ends(m: Measured) -> Finding | None:
    if m.limit_error:
        return note(
            "table-ends", f"Not every position is taken: {m.limit_error}", probed_up_to=m.limit - 1
        )


def _few_positions(m: Measured) -> Finding | None:
    if m.limit < 32:
        return note(
            "few-positions",
            f"Positions 0 to {m.limit - 1} alone were tried: what goes wrong at later ones was not "
            "seen, such as those that bfloat16 cannot hold, from 257 on.",
        )


def _one_dtype(m: Measured) -> Finding | None:
    if m.probe.dtype:
        return note(
            "float32-refused",
            f"x of float32 is refused: it was measured with vectors of {str(m.probe.dtype)[6:]}, "
            "as exactly as their rounding lets one.",
        )


def _coarse_tables(m: Measured) -> Finding | None:
    if m.noise > 1e-4 and m.probe.dtype in (None, torch.float64):
        x = random(1, 2, 5, m.head_dim)
        turned = m.probe(x, range(5))
        for dtype in (torch.bfloat16, torch.float16):
            on_the_way = torch.equal(turned, m.probe(x.to(dtype).float(), range(5)))
            if on_the_way or torch.equal(turned, turned.to(dtype).float()):
                where = "on the way" if on_the_way else "as they come back"
                return note(
                    "vectors-in-low-precision",
                    f"float32 vectors are rounded to {str(dtype)[6:]} {where}.",
                    largest_error_of_a_length=m.noise,
                )
        said = "cos and sin are rounded coarsely even for float32 vectors"
        if steps := steps_of_tables(m):
            said = f"cos and sin are multiples of 1/{steps} even for float32 vectors"
        return note(
            "tables-in-low-precision",
            f"{one_is_coarse(m) or said}.",
            largest_error_of_a_length=m.noise,
        )


def _dtype_changed(m: Measured) -> Finding | None:
    for dtype in (torch.bfloat16, torch.float32):
        try:
            result = m.curves(dtype, end=8).dtype
        except (TypeError, ValueError):
            return note("bfloat16-refused", f"x of {str(dtype)[6:]} is refused.")
        if result != dtype:
            return note("dtype-changed", f"x of {str(dtype)[6:]} comes back as {str(result)[6:]}.")


def _input_changed(m: Measured) -> Finding | None:
    if m.probe.changes_input:
        return note("changes-its-input", "x itself is overwritten.")


def _contiguous(m: Measured) -> Finding | None:
    if m.obeys == "start" and rising_gaps(m.probe):
        return note(
            "rising-positions-only",
            "Positions that do not rise are refused: packed documents, and rows padded on the "
            "left, need another form. It was measured by calls that start at each position.",
        )
    if m.obeys == "start":
        return note(
            "contiguous-positions-only",
            "Positions are counted on from the first of the call, as an offset (start_pos) says: "
            "what comes with gaps, packed documents or rows that are padded, needs another form. "
            "It was measured by calls that start at each position.",
        )


def _counting(m: Measured) -> Finding | None:
    if getattr(m.probe.rotate, "counts_itself", False):
        return note(
            "counts-itself",
            "It takes no positions and numbers its tokens from 0: right for whole texts, but a "
            "step of decoding cannot say where it stands, nor a row where its padding ends.",
        )


def _refused_rows(m: Measured) -> Finding | None:
    try:
        m.probe(random(3, 2, 5, m.head_dim), torch.arange(5).expand(3, 5))
    except CallError as error:
        other_shape = error.code == "shape-not-kept"
        refused = "come back in another shape" if other_shape else "are refused"
        what = f"position_ids of shape (batch, seq_len) {refused}"
        if rows_taken(m) == 1:
            what = "x of several rows "
            what += "comes back in another shape" if other_shape else "is refused"
            if getattr(m.probe.rotate, "hands_rows", False):
                what += " with position_ids of shape (batch, seq_len), as what takes q and k is "
                what += "handed them"
            elif not m.probe.wants_rows:
                what += " with any position_ids, (seq_len,) as (batch, seq_len)"
        taken, cause = _rows_taken_wrongly(m)
        said = f"{what}, so rows of a batch cannot stand at different positions{taken}"
        raised = {} if other_shape else {"raised": raised_by(error)}
        return replace(note("rows-refused", said, **raised), cause=cause)


def _rows_taken_wrongly(m: Measured) -> tuple[str, str]:
    """Say where rows are taken all the same: tables of rows fit as many heads, or as many pairs.

    Returns:
        The end of a sentence, and the cause, if it is known.
    """
    wrongly, by_head = [], False
    with suppress(CallError):
        rows = torch.tensor([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])
        x = random(2, 2, 5, m.head_dim)
        turned = m.probe(x, rows)
        if m.differs(turned, x, rows).any():
            wrongly.append("as many rows as heads")
            by_head = not m.differs(*(each.transpose(0, 1) for each in (turned, x)), rows).any()
    with suppress(CallError):
        one, x = torch.arange(m.num_pairs)[None], random(1, 1, m.num_pairs, m.head_dim)
        if m.num_pairs <= m.limit and gap(m.probe(x, one), m.probe(x, one[0])) > SAME:
            wrongly.append("as many tokens as pairs")
    told = f"; {' and '.join(wrongly)} are taken, and wrongly." if wrongly else "."
    if not by_head:
        return told, ""
    return (
        f"{told} Rows of position_ids meet the heads: of 2 rows and 2 heads, head 0 of both rows "
        "is turned by row 0 of position_ids, and head 1 by row 1.",
        "cos and sin of shape (batch, seq_len, width) that lack unsqueeze(1), an axis for the "
        "heads",
    )


def _float32_angles(m: Measured) -> Finding | None:
    if m.depends_on_length or m.noise > 1e-5:
        return None
    base = m.fit.base if m.fit.is_geometric else None
    if base and is_round(base) and abs(m.fit.factor - 1) < 1e-6:
        # Not the measured frequencies, which would take part of the error along.
        base = float(f"{base:.1e}")
        slots = torch.tensor(m.pairing.slots, dtype=torch.float64)
        speeds = base ** (-slots / m.pairing.width)
        errors = m.residual(m.far, (m.direction or 1) * speeds.repeat(2)).amax(0)
        error, of_the_first = float(errors.max()), float(errors[slots.repeat(2) == 0].sum()) / 2
        if m.direction and of_the_first > 5e-5:  # whose product, by 1, is exact
            return note(
                "sines-of-large-angles",
                "Sine and cosine are those of angles nearby: the first pair, whose angle is the "
                f"position itself, is off by {of_the_first:.2g} rad, where float32 leaves nothing.",
                largest_angle_error=error,
                at_positions_below=m.limit,
            )
        # A product of float32 and a frequency of it are off by a few units in the last place.
        of_float32 = 5e-5 + 4 * m.limit * float(speeds.max()) * 2.0**-24
        if m.direction and 5e-5 < error < of_float32:
            return note(
                "angles-in-float32",
                "Angles are products in float32, whose error grows with the position; that is "
                "usual, and harmless below some 100,000 positions.",
                largest_angle_error=error,
                at_positions_below=m.limit,
            )


def _called_as(m: Measured) -> Finding | None:
    taken = getattr(m.probe.rotate, "way", None)
    if taken and taken[0].words:
        return note(
            "called-as",
            "The names of its arguments do not tell how it is called. Of the ways that were tried "
            f"this is the first that is right: {taken[0].words}.",
        )


NOTES = [
    _called_as,
    sections,
    centered,
    _clockwise,
    _permuted,
    _width,
    _over_the_whole_head,
    _frequencies,
    _factor,
    _length,
    _table_ends,
    _few_positions,
    _one_dtype,
    _coarse_tables,
    _dtype_changed,
    _input_changed,
    _contiguous,
    _counting,
    _refused_rows,
    refused_strides,
    refused_groups,
    no_gradient,
    coarse_gradient,
    refused_autocast,
    random_in_training,
    length_in_one_mode,
    refused_calls,
    _float32_angles,
]
