"""What is said of a rotation follows from its numbers."""

import math

import pytest
import torch
from exhibits import EXHIBITS, PLAIN, plain
from exhibits.kit import turn

from ropelib.diagnosis import diagnose

MEASURED = {
    "sine alone has a factor": {"factor of sine": 1.005, "factor of cosine": 1},
    "cosine alone has a factor, in bfloat16": {"factor of cosine": 1.02, "factor of sine": 1},
    "x is added inside": {"x itself": 1, "what is rotated": 1},
    "half of x is added to half of what is rotated": {"x itself": 0.5, "what is rotated": 0.5},
    "one line of each pair has a factor": {"factor of the first": 1.003, "factor of the second": 1},
    "sine is read one row late": {"rows apart": 1},
    "tables of a few bits": {"steps": 16},
    "angles modulo 6.2832": {"off by a turn": math.tau - 6.2832},
    "angles less whole turns of 6.28": {"off by a turn": math.tau - 6.28},
    "the exponent has lost its minus": {"base": 10_000},
    "no minus, against a configuration": {"base": 10_000},
    "an offset above 0 is past_len + 1": {"shift": 1},
    "an offset above 0 is start_pos - 1": {"shift": -1},
    "an offset above 0 is the length after the new tokens": {
        "shift with 3 tokens": 3,
        "shift with 7 tokens": 7,
    },
}


@pytest.mark.parametrize("name", MEASURED)
def test_numbers_are_those_of_the_rotation(name):
    finding = diagnose(**next(e for e in EXHIBITS if e.name == name).make()).findings[0]
    expected = MEASURED[name]
    rel = 2e-3 if "bfloat16" in name else 1e-4
    if "6.28" in name:
        rel = 0.02
    assert {k: finding.evidence[k] for k in expected} == pytest.approx(expected, rel=rel)


def test_tables_in_two_orders_are_told_by_their_orders():
    for name, cosines, sines, pairs in (
        ("cosines tiled, sines repeated", "halves (0", "neighbors (0", "(i, i + rotary_dim / 2)"),
        ("cosines repeated, sines tiled, of neighbors", "neighbors (0", "halves (0", "(2i, 2i + 1"),
    ):
        (finding,) = diagnose(**next(e for e in EXHIBITS if e.name == name).make()).findings
        assert f"Cosines are arranged for {cosines}" in finding.sentence
        assert f"sines for {sines}" in finding.sentence and pairs in finding.sentence
        assert not any("frequency" in name for name in finding.evidence)


@pytest.mark.parametrize("name", ["cosine alone has a large factor", "x is added inside"])
def test_frequencies_are_those_of_the_rotation_without_what_is_wrong_with_it(name):
    report = diagnose(**next(e for e in EXHIBITS if e.name == name).make())
    assert report.profile == "geometric with base 10000" and report.direction == 1
    assert report.inv_freq.tolist() == pytest.approx(PLAIN.tolist(), rel=1e-5)
    assert report.attention_factor is None


def test_pairs_of_no_layout_are_not_said_to_be_unmeasured():
    (made,) = (e.make() for e in EXHIBITS if e.name == "halves that mirror each other")
    report = str(diagnose(**made, max_position=300))
    assert "  layout            neither interleaved nor half\n" in report
    assert "Pairs follow neither layout" in report and "not measured" not in report


def by(shift_q, shift_k):
    return lambda q, k, ids: (plain(q, ids + shift_q), plain(k, ids + shift_k))


def test_scores_of_q_and_k_that_are_shifted_apart_are_not_said_to_be_right():
    for shifts, less in (((0, 1), "1 less"), ((2, 0), "2 more"), ((1, 3), "2 less")):
        (finding,) = diagnose(by(*shifts), max_position=300).findings
        assert finding.sentence.endswith(f"that of another, {less}.")
    alike = diagnose(by(1, 1), max_position=300).findings[0].sentence
    assert "Scores of this rotation with itself are right" in alike


def test_what_is_wholly_made_of_the_other_is_not_said_to_be_so_in_part():
    def exchanged(q, k, ids):
        return plain(k, ids), plain(q, ids)

    def half_of_q(q, k, ids):
        return torch.cat((q[..., :32], plain(k, ids)[..., 32:]), -1), plain(q, ids)

    for rotate, share in ((exchanged, "All"), (half_of_q, "Part")):
        (finding,) = diagnose(rotate).findings
        assert finding.code == "q-and-k-mixed"
        said = f"{share} of q is made of k and all of k is made of q: "
        assert finding.sentence.startswith(said)


def test_an_error_of_angles_is_harmless_only_where_float32_makes_as_large_a_one():
    every_second = PLAIN.where(torch.arange(32) % 2 == 0, 0)
    assert diagnose(lambda x, ids: plain(x, ids, every_second)).codes == (
        "pairs-between-stand-still",
    )
    usual = diagnose(lambda x, ids: plain(x, ids, PLAIN * (1 + 2e-7))).findings
    assert all(f.evidence["largest angle error"] < 3e-3 for f in usual)


def test_a_factor_next_to_1_is_no_scaling():
    nearly = PLAIN.where(torch.arange(32) < 12, PLAIN * (1 - 3e-5))
    (finding,) = diagnose(lambda x, ids: plain(x, ids, nearly)).findings
    assert finding.code == "not-geometric" and "YaRN" not in finding.sentence


def test_layers_that_rotate_differently_are_said_to_have_an_option():
    with pytest.raises(ValueError, match="--layer-type full_attention"):
        diagnose(plain, expected="gemma-3-12b")


SAID = {
    "angles modulo pi": ("From position 4 on", "below about 3.1 rad.", "no whole turn"),
    "angles of the fast half modulo pi": (
        "From position 4 on angles of 16 of 32 pairs",
        "below about 3.1 rad.",
        "no whole turn",
    ),
    "angles by 64 steps of a turn": ("Angles are rounded to", "2 pi / 64, 0.0982 rad.", "nearest"),
    "a table of 64 sines beside an exact cosine": ("Sine has 17 values", "the angle.", "exact one"),
    "1024 sines beside an exact cosine": ("Sine has 255 values", ".", ""),
    "results through bfloat16": ("float32 vectors are", "to bfloat16 as they come back.", ""),
    "vectors through bfloat16": ("float32 vectors are", "to bfloat16 on the way.", ""),
    "the gradient alone in bfloat16": (
        "The gradient of float32 vectors is rounded to bfloat16 on the way back",
        "of its largest entry.",
        "",
    ),
    "the gradient alone of bfloat16 values": (
        "The gradient of float32 vectors is coarse, as in half precision, on the way back",
        "of its largest entry.",
        "",
    ),
    "exponents over 12 heads, base 10000": (
        "The base is 2.15443, which is 10,000 ** (1 / 12)",
        "say so: inv_freq= or expected=.",
        "the width of 12 heads together",
    ),
    "the last block is left out, half, width 112": (
        "Of 112 dimensions 96 turn, of 64 all do",
        "no block of 16.",
        "blocks of 16 pairs",
    ),
    "the last block is left out and expected, interleaved": (
        "The slowest 8 pairs stand still",
        "the 32 others are as expected.",
        "leaves out its last, incomplete block",
    ),
    "in rows: cumsum without - 1": (
        "With position_ids of shape (batch, seq_len) tokens are turned otherwise than with "
        "(seq_len,), as by another rotation. Position 0 is turned as position 1 should be",
        "a decode step that is not shifted, do not fit.",
        "in a path for rows",
    ),
    "in rows: the base of a default": (
        "With position_ids of shape (batch, seq_len)",
        "Its base is 10000, and not 500000.",
        "a path for rows",
    ),
    "in rows of one token: cumsum without - 1": (
        "In a batch of single tokens",
        "each is turned as if it stood one place later.",
        "the length of the cache",
    ),
    "a head cut in 4 parts, interleaved": (
        "Each 32 of the 128 dimensions are turned as a head of their own",
        "by the same angles.",
        "tensor parallel",
    ),
    "fewer than eight tokens counted on from the first, of any width": (
        "The tokens of a call of 7 are counted on from its first position",
        "those of a call of 24 follow position_ids.",
        "a path for short calls",
    ),
    "halves of 128 paired over the whole head": (
        "The base is 500000 over the 32 dimensions that turn, and 6.25e+22 over all",
        "inv_freq= or expected=.",
        "where it is at i + 16, half of the part",
    ),
    "the mean of row and column for either axis": (
        "40 pairs follow several axes at once",
        "a step turns pair 24 by 0.002812 along axis 1, 0.002812 along axis 2 rad.",
        "a sum or a mean of coordinates",
    ),
    "counted from the last of each call": (
        "Positions are counted from the last",
        "step.",
        ".max()",
    ),
    "the part that passes is detached": (
        "No gradient comes back of the dimensions that do not turn",
        "on the way forth.",
        "detach()",
    ),
    "heads beyond a multiple of four pass": (
        "2 of 66 heads",
        "the others turn.",
        "blocks of heads",
    ),
    "steps alone read a table of 1024": (
        "A step is wrong by itself: All positions from 1024 on",
        "like position 1023.",
        "is positions-clamped",
    ),
    "steps alone read the next multiple of eight": (
        "A step is wrong by itself: Position p is not read as p, but as 8 * (ceil(p / 8))",
        "8191 like 8192.",
        "is positions-bent",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_coarse_or_bent_is_said_of_that_alone(name):
    finding = diagnose(**next(e for e in EXHIBITS if e.name == name).make()).findings[0]
    begins, ends, cause = SAID[name]
    assert finding.sentence.startswith(begins) and finding.sentence.endswith(ends)
    assert cause in finding.cause


@pytest.mark.parametrize("error", [-5e-5, 5e-5, 1.5e-4])
def test_an_error_that_does_not_grow_with_turns_is_not_said_to(error):
    def rotate(x, ids):
        angles = ids[..., None].double() * PLAIN
        return turn(x, angles + error * (ids > 0)[..., None], "half")

    assert diagnose(rotate, head_dim=64).ok


def test_a_bug_of_compiled_code_is_seen_however_many_kinds_of_calls_there_are():
    def rotate(x, ids):
        turned = plain(x, ids)
        forgets = torch.compiler.is_compiling() and x.shape[2] == 1 and x.shape[0] > 1
        return turned.flip(-1) if forgets else turned

    report = diagnose(torch.compile(rotate, backend="eager"), head_dim=64)
    assert report.codes[0] == "one-token-rows-wrong"
