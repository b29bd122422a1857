"""The vector check in Python: each verdict by code that has the bug, and by the diagnosis."""

import itertools
import math
import random

import pytest
import torch

pytest.importorskip("anywidget")

import javascript
from browser import PHONE, WIDE, accessibility_faults
from oracles import Oracle
from refusals import assert_refused

from ropebook.widgets import VectorCheck
from ropebook.widgets.vector_check.bugs import COARSE, LAYOUTS, TOLERANCE, X, known, otherwise
from ropebook.widgets.vector_check.widget import HIGHEST, LOWEST, TOLD, read_numbers
from ropelib import inv_freq, reference
from ropelib.diagnosis import diagnose
from ropelib.diagnosis.codes import CODES

POSITIONS = range(LOWEST, HIGHEST + 1)
BASE = 10_000.0


def printed(numbers, digits="%.4f"):
    return ", ".join(digits % number for number in torch.as_tensor(numbers).tolist())


def on(made, position, layout, **more):
    """What the widget says of the numbers that made(x, position_ids, layout) returns."""
    x = torch.tensor(X, dtype=torch.float64).reshape(1, 1, 1, -1)
    y = made(x, torch.tensor([position]), layout).flatten()
    return VectorCheck(position=position, pasted=printed(y, **more))


# ---- x is chosen so that no two verdicts come near each other ----


@pytest.mark.parametrize("position", POSITIONS)
def test_no_two_bugs_come_near_each_other(position):
    more = otherwise(position)
    for (one, a), (other, b) in itertools.combinations([*known(position).items(), *more], 2):
        assert float((a - b).abs().max()) > 5 * TOLERANCE, (one, other)


@pytest.mark.parametrize("position", POSITIONS)
def test_three_digits_tell_every_number_of_a_right_result(position):
    for layout in LAYOUTS:
        right = known(position)["right", layout, None]
        assert float(right.abs().max()) < 10
        pasted = printed(right, "%.3g")
        check = VectorCheck(position=position, pasted=pasted)
        assert (check.verdict, check.layout) == ("right", layout)


# ---- each bug, as code has it; the diagnosis calls it the same ----


def speeds(width, base=BASE):
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def wide(angles, layout):
    if layout == "half":
        return torch.cat((angles, angles), dim=-1)
    return angles.repeat_interleave(2, dim=-1)


def partner(x, layout, sign=-1):
    if layout == "half":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((sign * b, a), dim=-1)
    return torch.stack((sign * x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)


def turn(x, ids, layout, of=speeds, angles_as=None, sign=-1):
    angles = wide(ids[:, None] * of(x.shape[-1]), angles_as or layout)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return x * cos + partner(x, layout, sign) * sin


def overwritten(x, ids, layout):
    width = x.shape[-1]
    out = x.clone()
    a, b = (slice(0, width // 2), slice(width // 2, width))
    if layout == "interleaved":
        a, b = slice(0, width, 2), slice(1, width, 2)
    angles = ids[:, None] * speeds(width)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    out[..., a] = out[..., a] * cos - out[..., b] * sin
    out[..., b] = out[..., b] * cos + out[..., a] * sin
    return out


def swapped(x, ids, layout):
    angles = wide(ids[:, None] * speeds(x.shape[-1]), layout)
    return x * angles.sin().to(x.dtype) + partner(x, layout) * angles.cos().to(x.dtype)


def cosine_alone(x, ids, layout):
    return x * wide(ids[:, None] * speeds(x.shape[-1]), layout).cos().to(x.dtype)


def miswritten(lines):
    """Both lines of a pair, written as lines(a, b, cos, sin)."""

    def made(x, ids, layout):
        width = x.shape[-1]
        places = (slice(0, width, 2), slice(1, width, 2))
        if layout == "half":
            places = (slice(0, width // 2), slice(width // 2, width))
        angles = ids[:, None] * speeds(width)
        out = x.clone()
        both = lines(*(x[..., at] for at in places), *(f(angles) for f in (torch.cos, torch.sin)))
        for at, values in zip(places, both, strict=True):
            out[..., at] = values
        return out

    return made


def permuted(x, ids, layout):
    y = turn(x, ids, layout)
    if layout == "interleaved":
        return torch.cat((y[..., 0::2], y[..., 1::2]), dim=-1)
    return torch.stack(y.chunk(2, dim=-1), dim=-1).flatten(-2)


def in_part(x, ids, layout):
    width = 3 * x.shape[-1] // 4
    return torch.cat((turn(x[..., :width], ids, layout), x[..., width:]), dim=-1)


def in_zeros(x, ids, layout):
    width = 3 * x.shape[-1] // 4
    out = torch.zeros_like(x)
    out[..., :width] = turn(x[..., :width], ids, layout)
    return out


def trailing(x, ids, layout):
    half = x.shape[-1] // 2
    return torch.cat((x[..., :half], turn(x[..., half:], ids, layout)), dim=-1)


def without_last(width):
    return torch.cat((speeds(width)[:-1], torch.zeros(1, dtype=torch.float64)))


def counted(start):
    return lambda width: (
        BASE ** (-2 * (torch.arange(width // 2, dtype=torch.float64) + start) / width)
    )


def by(of):
    return lambda x, ids, layout: turn(x, ids, layout, of)


def other(layout):
    return LAYOUTS[layout == "half"]


# Each as code has it, and whether the diagnosis must be told what is expected to call it wrong.
MADE = {
    "right": (turn, False),
    "clockwise": (by(lambda width: -speeds(width)), False),
    "off-by-one": (lambda x, ids, layout: turn(x, ids + 1, layout), False),
    "exponents-not-as-expected": (
        by(lambda width: BASE ** (-torch.arange(width // 2, dtype=torch.float64) / width)),
        True,
    ),
    "exponents-from-one": (by(counted(1)), False),
    "exponents-from-a-half": (by(counted(0.5)), False),
    "exponents-positive": (by(lambda width: 1 / speeds(width)), False),
    "angles-in-degrees": (by(lambda width: torch.deg2rad(speeds(width))), False),
    "last-pair-not-rotated": (by(without_last), False),
    "slowest-pairs-first": (by(lambda width: speeds(width).flip(0)), False),
    "trailing-dimensions": (trailing, False),
    "mixed": (lambda x, ids, layout: turn(x, ids, layout, angles_as=other(layout)), False),
    "minus-sign-missing": (lambda x, ids, layout: turn(x, ids, layout, sign=1), False),
    "sin-and-cos-swapped": (swapped, False),
    "minus-sign-missing, both with it": (
        miswritten(lambda a, b, c, s: (a * c - b * s, b * c - a * s)),
        False,
    ),
    "sin-and-cos-swapped, in the first": (
        miswritten(lambda a, b, c, s: (a * s - b * c, b * c + a * s)),
        False,
    ),
    "sin-and-cos-swapped, in the second": (
        miswritten(lambda a, b, c, s: (a * c - b * s, b * s + a * c)),
        False,
    ),
    "pair-overwritten, the second first": (
        miswritten(lambda a, b, c, s: (a * c - (b * c + a * s) * s, b * c + a * s)),
        False,
    ),
    "sine-is-zero": (cosine_alone, False),
    "pair-overwritten": (overwritten, False),
    "output-permuted": (permuted, False),
    "width-not-as-expected": (in_part, True),
    "rest-not-kept": (in_zeros, False),
    "does-not-rotate": (lambda x, ids, layout: x.clone(), False),
    "attention-factor": (lambda x, ids, layout: 1.25 * turn(x, ids, layout), False),
    "norm-not-kept": (lambda x, ids, layout: turn(x, ids, layout) / x.shape[-1] ** 0.5, False),
    "norm-not-kept, by its root": (
        lambda x, ids, layout: turn(x, ids, layout) / x.shape[-1] ** 0.25,
        False,
    ),
    "base-not-as-expected": (by(lambda width: speeds(width, 500_000.0)), True),
    "positions-shifted": (lambda x, ids, layout: turn(x, ids + 5, layout), False),
    "linearly-scaled": (lambda x, ids, layout: turn(x, ids / 2.5, layout), False),
    "frequencies-multiplied": (lambda x, ids, layout: turn(x, ids * 1.37, layout), False),
    "base-beyond-sense": (by(lambda width: torch.ones(width // 2, dtype=torch.float64)), False),
}


def code_of(name, layout):
    if name == "last-pair-not-rotated" and layout == "half":
        return "slow-pairs-stand-still"  # as p-RoPE has it; neighbors that rest are no pair
    return f"{other(layout)}-angles-on-{layout}-pairs" if name == "mixed" else name.split(",")[0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MADE)
def test_what_code_with_the_bug_makes_is_called_so_at_every_position(name, layout):
    made, _ = MADE[name]
    pairs = None if name == "does-not-rotate" else layout
    for position in POSITIONS:
        check = on(made, position, layout)
        # By 2.5 it stands at 5 where 2 should: one vector cannot tell the two apart, and says so.
        shifted = name == "linearly-scaled" and position % 5 == 0
        code = "positions-shifted" if shifted else code_of(name, layout)
        assert (check.verdict, check.layout) == (code, pairs), position


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MADE)
def test_the_diagnosis_calls_it_the_same(name, layout):
    made, against = MADE[name]
    expected = {"inv_freq": inv_freq(64), "layout": layout} if against else {}
    report = diagnose(
        lambda x, ids: made(x, ids, layout), head_dim=64, max_position=512, **expected
    )
    codes = [finding.code for finding in report.findings]
    assert code_of(name, layout) in codes or (name == "right" and report.ok), codes
    if name != "right":
        wrong = CODES[code_of(name, layout)].severity == "wrong"
        assert report.ok != wrong and (not wrong or codes[0] == code_of(name, layout))


def test_all_that_can_be_told_is_shown_by_code_here():
    assert {code_of(name, layout) for name in MADE for layout in LAYOUTS} == {"right", *TOLD}
    assert {code for code, *_ in known(5)} <= {"right", *TOLD}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_amounts_are_what_was_put_in(layout):
    amounts = {
        ("off-by-one", 4): 5,
        ("exponents-not-as-expected", 4): 100,
        ("width-not-as-expected", 4): 6,
        ("rest-not-kept", 4): 6,
        ("attention-factor", 4): 1.25,
        ("norm-not-kept", 4): 8**-0.5,
        ("base-not-as-expected", 4): 500_000,
        ("positions-shifted", 4): 9,
        ("linearly-scaled", 4): 2.5,
        ("frequencies-multiplied", 4): 1.37,
        ("base-beyond-sense", 4): 1,
        ("clockwise", 4): None,
    }
    for (name, position), amount in amounts.items():
        check = on(MADE[name][0], position, layout)
        assert check.amount == (amount and pytest.approx(amount, rel=1e-4)), name


@pytest.mark.parametrize("base", [500.0, 50_000.0, 150_000.0, 1e6, 1e7])
def test_a_base_is_measured_though_its_result_was_rounded(base):
    for position, layout in itertools.product((3, 9, 16), LAYOUTS):
        made = by(lambda width: speeds(width, base))
        check = on(made, position, layout, digits="%.5f")
        assert (check.verdict, check.amount) == ("base-not-as-expected", base)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_right_result_of_half_precision_or_two_digits_is_no_bug(layout):
    for position in POSITIONS:
        right = known(position)["right", layout, None]
        half = turn(torch.tensor(X)[None].bfloat16(), torch.tensor([position]), layout)[0]
        for pasted in (printed(half), printed(right, "%.1f")):
            check = VectorCheck(position=position, pasted=pasted)
            assert (check.verdict, check.layout) == ("coarse", layout), (position, pasted)
            off = max(abs(a - b) for a, b in zip(check.numbers, right.tolist(), strict=True))
            assert check.amount == pytest.approx(off, rel=1e-9)
        half = turn(torch.tensor(X)[None].half(), torch.tensor([position]), layout)[0]
        for digits in ("%.2f", "%.3f", "%.4f", "%.9f"):
            check = VectorCheck(position=position, pasted=printed(half, digits))
            assert check.verdict in ("right", "coarse") and check.layout == layout, position


@pytest.mark.parametrize("layout", LAYOUTS)
def test_clockwise_in_half_precision_or_two_digits_is_clockwise(layout):
    for position in POSITIONS:
        made = known(position)["clockwise", layout, None]
        ids = torch.tensor([position])
        half = turn(torch.tensor(X)[None].bfloat16(), ids, layout, lambda width: -speeds(width))[0]
        for pasted in (printed(half), printed(made, "%.1f")):
            check = VectorCheck(position=position, pasted=pasted)
            assert (check.verdict, check.layout) == ("clockwise", layout), (position, pasted)
            off = max(abs(a - b) for a, b in zip(check.numbers, made.tolist(), strict=True))
            assert check.amount == pytest.approx(off, rel=1e-9)


@pytest.mark.parametrize(("layout", "count"), [*itertools.product(LAYOUTS, (4, 6))])
def test_where_a_part_turns_its_pairs_are_told(layout, count):
    check = VectorCheck(pasted=printed(known(3)["width-not-as-expected", layout, count], "%.9f"))
    turned = [math.remainder(3 * speed, math.tau) for speed in speeds(count).tolist()]
    assert check.angles == pytest.approx([*turned, *[0] * (4 - count // 2)], abs=1e-7)
    assert check.lengths == pytest.approx([1] * 4, abs=1e-7)


def test_of_neighbors_two_that_rest_are_numbers_that_do_not_turn():
    def halved(x, ids, layout):
        pairs = torch.arange(x.shape[-1] // 2)
        return turn(x, ids, layout, lambda width: speeds(width) * (pairs < width // 4))

    for position in POSITIONS:
        check = on(halved, position, "interleaved")
        told = (check.verdict, check.layout, check.amount, check.over)
        assert told == ("width-not-as-expected", "interleaved", 4, 8), position
    report = diagnose(
        lambda x, ids: halved(x, ids, "interleaved"), inv_freq=inv_freq(64), max_position=64
    )
    assert report.codes == ("width-not-as-expected",)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_number_off_by_more_than_that_is_wrong(layout):
    for position, place in itertools.product(POSITIONS, range(8)):
        found = []
        for off in (COARSE - 1e-3, COARSE + 1e-3):
            numbers = known(position)["right", layout, None].clone()
            numbers[place] += off
            found.append(VectorCheck(position=position, pasted=printed(numbers)).verdict)
        assert found == ["coarse", "none"], (position, place)


def test_a_factor_that_is_nearly_one_is_none():
    for factor, verdict in [
        (1.0004, "coarse"),
        (1.0015, "coarse"),
        (0.9985, "coarse"),
        (1.0025, "attention-factor"),
    ]:
        check = on(lambda *given, by=factor: by * turn(*given), 7, "half")
        assert check.verdict == verdict


@pytest.mark.parametrize("layout", LAYOUTS)
def test_from_four_decimals_on_right_is_no_farther_off_than_float32(layout):
    """Frequencies of bfloat16 move no number by 0.005 at position 3."""
    rounded = by(lambda width: speeds(width).bfloat16().double())
    for digits, verdict in {"%.3f": "right", "%.4f": "coarse", "%.9f": "coarse"}.items():
        assert on(rounded, 3, layout, digits=digits).verdict == verdict
    for position in POSITIONS:
        single = turn(torch.tensor(X).float()[None], torch.tensor([position]), layout)[0]
        assert VectorCheck(position=position, pasted=printed(single, "%.9f")).verdict == "right"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_factor_of_frequencies_is_found_near_a_whole_position_as_well(layout):
    for position, factor in itertools.product(POSITIONS, (math.pi, 1 / 360, 1 / 512, 1e-3)):
        check = on(lambda x, ids, pairs, by=factor: turn(x, ids * by, pairs), position, layout)
        code = "frequencies-multiplied" if factor > 1 else "linearly-scaled"
        assert check.verdict == code, (position, factor)
        assert check.amount == pytest.approx(max(factor, 1 / factor), rel=1e-2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("over", [4, 6, 12, 32, 64, 128, 256])
def test_exponents_over_another_width_are_told_beside_the_base(over, layout):
    for position in POSITIONS:
        made = by(lambda width: BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / over))
        check = on(made, position, layout, digits="%.6f")
        if check.verdict == "width-not-as-expected":
            assert (over, layout) in {(4, "interleaved"), (6, "interleaved")}
        else:
            assert check.over == over, position


def test_a_base_that_somebody_takes_is_no_other_width():
    for base, position in itertools.product((500.0, 5e4, 1.5e5, 5e5, 1e6, 5e6, 1e7), POSITIONS):
        check = on(by(lambda width, base=base: speeds(width, base)), position, "half")
        assert (check.verdict, check.over) == ("base-not-as-expected", None)


def test_exponents_without_their_denominator_turn_the_first_pair_alone():
    made = by(lambda width: BASE ** (-2 * torch.arange(width // 2, dtype=torch.float64)))
    for position in POSITIONS:
        half, neighbors = (on(made, position, layout) for layout in LAYOUTS)
        assert (half.verdict, half.over) == ("base-beyond-sense", 1)
        assert (neighbors.verdict, neighbors.over) == ("width-not-as-expected", 1)
    report = diagnose(lambda x, ids: made(x, ids, "half"), head_dim=64, max_position=512)
    assert report.findings[0].code == "base-beyond-sense"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [4, 6])
def test_where_the_last_numbers_turn_the_first_rest(layout, count):
    check = VectorCheck(pasted=printed(known(3)["trailing-dimensions", layout, count], "%.9f"))
    turned = [math.remainder(3 * speed, math.tau) for speed in speeds(count).tolist()]
    assert check.angles == pytest.approx([*[0] * (4 - count // 2), *turned], abs=1e-7)


def test_of_two_numbers_that_turn_no_layout_is_told():
    for position, layout in itertools.product(POSITIONS, LAYOUTS):
        check = on(
            lambda x, *rest: torch.cat((turn(x[..., :2], *rest), x[..., 2:]), -1), position, layout
        )
        told = (check.verdict, check.layout, check.amount)
        assert told == ("width-not-as-expected", None, 2)
        assert check.angles == pytest.approx(
            [math.remainder(position, math.tau), 0, 0, 0], abs=1e-4
        )


@pytest.mark.parametrize(
    ("width", "code"),
    [
        (48, "base-beyond-sense"),  # of six heads
        (72, "base-beyond-sense"),
        (100, "exponents-not-as-expected"),
        (128, "base-beyond-sense"),
        (200, "base-beyond-sense"),  # less than 1.5
        (256, "base-beyond-sense"),
    ],
)
def test_a_base_near_one_is_another_denominator_as_the_diagnosis_has_it(width, code):
    def made(x, ids, layout):
        times = x.shape[-1] / 8  # at 64 numbers as at 8: the exponents are the same part
        of = torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / (width * times)
        return turn(x, ids, layout, lambda _: BASE**-of)

    for position in POSITIONS:
        assert on(made, position, "half", digits="%.7f").verdict == code
    report = diagnose(
        lambda x, ids: made(x, ids, "half"), head_dim=64, inv_freq=inv_freq(64), max_position=512
    )
    assert report.findings[0].code == code


def test_where_a_base_looks_like_a_part_that_turns_both_are_told():
    found = {}
    for count, layout in itertools.product((4, 6), LAYOUTS):
        turned = known(3)["width-not-as-expected", layout, count]
        check = VectorCheck(pasted=printed(turned))
        found[count, layout] = check.alike
        if check.alike:
            made = by(lambda width, base=check.alike: speeds(width, base))
            assert on(made, 3, layout).verdict == check.verdict
    assert found == {
        (4, "half"): None,
        (4, "interleaved"): 1e8,
        (6, "half"): None,
        (6, "interleaved"): pytest.approx(BASE ** (8 / 6)),
    }
    assert VectorCheck().alike is None


def test_angles_and_lengths_are_those_of_the_pairs():
    check = on(lambda *given: 2 * turn(*given), 3, "interleaved", digits="%.9f")
    wrapped = [math.remainder(3 * speed, math.tau) for speed in speeds(8).tolist()]
    assert check.angles == pytest.approx(wrapped, abs=1e-8)
    assert check.lengths == pytest.approx([2] * 4, abs=1e-8)


# ---- what a reader pastes ----

READ = [
    "1 2 3 4 5 6 7 8",
    "[1., 2., 3., 4.,\n 5., 6., 7., 8.]",
    "tensor([[[[1, 2, 3, 4, 5, 6, 7, 8]]]], device='cuda:0', grad_fn=<AddBackward0>)",
    "array([1.e+00, 2., 3e0, 0.4E1, 5, 6, 7, 80e-1], dtype=float32)",
    "y = [np.float64(1.0), 2, 3, 4, 5, 6, 7, 8]",
    "{1.0f, 2.f, 3F, +4, 5, 6, 7, 8};",
    "\u00a01;2;3;4\t5,6,,7 (8)",
    "array([1., 2., 3., 4., 5., 6., 7., 8.], shape=(8,), dtype=float32)",
    "tf.Tensor([1. 2. 3. 4. 5. 6. 7. 8.], shape=(8,), dtype=float32)",
    "Float32Array(8) [\n  1, 2, 3, 4,\n  5, 6, 7, 8\n]",
    "Float64Array([1, 2, 3, 4, 5, 6, 7, 8])",
    "y = Float32[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]",
    "[1f32, 2.0f32, 3e0F32, 4.f64, 5f, 6, 7, 8]",
    "<tf.Tensor: shape=(8,), dtype=float32, numpy=\narray([1., 2, 3, 4,\n 5, 6, 7, 8])>",
    "\n".join(f"y[{i}] = {i + 1}.000000" for i in range(8)),
    "[1] 1.0 2.0 3.0 4.0 5.0\n[6] 6.0 7.0 8.0",
    "\n".join(f"{i},{i + 1}" for i in range(8)),
    "\n".join(f"{i}    {i + 1}.0" for i in range(8)) + "\nName: y, dtype: float64",
    '{"0":1,"1":2,"2":3,"3":4,"4":5,"5":6,"6":7,"7":8}',
    "Out[2]: Array([1, 2, 3, 4, 5, 6, 7, 8], dtype=float32, weak_type=True)",
    "8-element Vector{Float64}:\n 1\n 2\n 3\n 4\n 5\n 6\n 7\n 8",
    "1\n2\n3\n4\n5\n6\n7\n8\n[ CPUFloatType{8} ]",
    "[1, 2, 3, 4, 5, 6, 7, 8], shape=[8], strides=[1], layout=CFcf (0xf), const ndim=1",
]
REFUSED = {
    "": ("empty", "pasted must have 8 numbers, got none"),
    "[]": ("empty", "pasted must have 8 numbers, got none"),
    "1 2 3": ("count", "pasted must have 8 numbers, got 3"),
    "1 2 3 4 5 6 7 8 9": ("count", "pasted must have 8 numbers, got 9"),
    "1,25 0,5": ("commas", "pasted must have 8 numbers, got 4"),
    "1,0 2,0 3,0 4,0 5,0 6,0 7,0 8": ("commas", "pasted must have 8 numbers, got 15"),
    "1 2 3 x 5 6 7 8": ("word", "pasted must have numbers and nothing else, got 'x'"),
    "1 2 3 4 5 6 7 8f16": ("word", "pasted must have numbers and nothing else, got '8f16'"),
    "1 2 3 4 5 6 7 1-2": ("word", "pasted must have numbers and nothing else, got '1-2'"),
    "Traceback (most recent call last)": ("word", "got 'Traceback'"),
    "1 nan 3 4 5 6 7 8": ("endless", "pasted must have finite numbers, got 'nan'"),
    "-Inf": ("endless", "pasted must have finite numbers, got '-Inf'"),
    "1e400": ("endless", "pasted must have finite numbers, got '1e400'"),
    "1" * 2001: ("long", "pasted must have at most 2000 characters, got 2001"),
}


@pytest.mark.parametrize("text", READ)
def test_numbers_are_read_however_they_are_printed(text):
    assert read_numbers(text) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("between", [" ", "; ", ", ", "\n"])
def test_commas_are_decimal_points_where_each_number_has_one(between):
    text = between.join(["8,0", "-7,5", "6,0", "5,0", "4,0", "3,0", "2,0", "1,25"])
    assert read_numbers(text) == [8, -7.5, 6, 5, 4, 3, 2, 1.25]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_such_list_stays_and_only_reading_it_raises(text):
    check = VectorCheck(pasted=text)
    assert check.pasted == text
    for part in ("numbers", "verdict", "layout", "angles"):
        with pytest.raises(ValueError) as raised:
            getattr(check, part)
        assert REFUSED[text][1] in str(raised.value)


@pytest.mark.parametrize("value", [LOWEST - 1, HIGHEST + 1])
def test_a_position_outside_of_its_range_is_refused(value):
    message = rf"position must lie in \[3, 16\], got {value}"
    assert_refused(VectorCheck, "position", value, message)


def test_the_edges_of_the_range_are_taken():
    assert [VectorCheck(position=at).position for at in (LOWEST, HIGHEST)] == [LOWEST, HIGHEST]


def test_the_first_state_is_the_bug_of_the_page():
    check = VectorCheck()
    assert check.verdict == "interleaved-angles-on-half-pairs"
    assert max(abs(length - 1) for length in check.lengths) > 0.05, "lengths are not kept"


# ---- the page says the same ----

_TWIN = """
const { readNumbers } = await import("./vector_check/numbers.js");
const { judge, measured, widthsOf } = await import("./vector_check/bugs.js");
const [x, tolerance, texts] = given;
const told = texts.map(([position, text]) => {
  const { numbers, open, problem } = readNumbers(text, x.length);
  if (problem) return { problem: problem.code };
  const found = judge(x, numbers, position, 10000, tolerance, open);
  const widths = widthsOf(found, x.length);
  const pairs = measured(x, numbers, x, found.layout ?? "interleaved", tolerance, widths);
  const [angles, lengths] = ["turned", "length"].map((part) => pairs.map((pair) => pair[part]));
  return { numbers, ...found, angles, lengths };
});
process.stdout.write(JSON.stringify(told));
"""


def page_says(texts):
    return javascript.run(_TWIN, [X, TOLERANCE, texts])


def assert_alike(texts):
    for (position, text), page in zip(texts, page_says(texts), strict=True):
        check = VectorCheck(position=position, pasted=text)
        if "problem" in page:
            with pytest.raises(ValueError, match="pasted must have"):
                check.numbers  # noqa: B018
            continue
        told = (check.verdict, check.layout, check.alike and pytest.approx(check.alike))
        assert (page["code"], page["layout"], page["alike"]) == told, (position, text)
        assert page["amount"] == (check.amount and pytest.approx(check.amount, rel=1e-9))
        assert page["over"] == check.over
        assert page["numbers"] == check.numbers
        if None not in page["angles"]:  # of no length there is no angle
            apart = [a - b for a, b in zip(page["angles"], check.angles, strict=True)]
            assert max(abs(math.remainder(gap, math.tau)) for gap in apart) < 1e-9
        assert page["lengths"] == pytest.approx(check.lengths, rel=1e-9)


def test_the_page_and_python_agree_on_right_and_wrong_results():
    texts = [
        (position, printed(values, digits))
        for position in POSITIONS
        for values in (*known(position).values(), *(made for _, made in otherwise(position)))
        for digits in ("%.4f", "%.3g", "%.9e")
    ]
    for name, layout, position in itertools.product(MADE, LAYOUTS, (3, 10, 16)):
        texts.append((position, on(MADE[name][0], 3, layout).pasted))
    for position, layout in itertools.product(POSITIONS, LAYOUTS):
        right = known(position)["right", layout, None]
        for turned in (right, known(position)["clockwise", layout, None]):
            texts += [(position, printed(turned, digits)) for digits in ("%.0f", "%.1f", "%.2f")]
        texts += [(position, printed(by * right)) for by in (0.998, 0.9985, 1.0015, 1.002)]
        for base in (1.01, 1.4, 1.5, 1.78, 2, 2.9, 3, 10, 464.16, 215443.5, 1e16, 1e20, 1e32):
            turned = on(by(lambda width, base=base: speeds(width, base)), position, layout)
            texts.append((position, turned.pasted))
        for factor in (math.pi, 1 / 512, 1.0004, 1.0015, 1.5):
            turned = turn(torch.tensor(X).double()[None], torch.tensor([position * factor]), layout)
            texts += [(position, printed(turned[0], digits)) for digits in ("%.3f", "%.6f")]
        half = turn(torch.tensor(X)[None].half(), torch.tensor([position]), layout)[0]
        texts += [(position, printed(half, digits)) for digits in ("%.2f", "%.3f", "%.4f")]
    assert_alike(texts)


def test_the_page_and_python_agree_on_senseless_input():
    draw = random.Random(7)
    parts = [
        *"1.,;-+e[](){} \n\tfx=:−",
        "tensor(",
        "nan",
        "1e5",
        "0e400",
        "1.50000",
        ".5e-3",
        "0.5",
        "dtype=",
        "'",
        " 3 4 5 ",
        "f32",
        "shape=(8,)",
        "Float32[",
        "\n[1] ",
        "y[0] = ",
        "<tf.Tensor: numpy=",
        ">",
        "0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 ",
        '"0":',
        "CPUFloatType{8}",
    ]
    texts = [(3, "".join(draw.choices(parts, k=draw.randrange(40)))) for _ in range(3000)]
    texts += [(3, text) for text in (*READ, *REFUSED)]
    texts += [
        (draw.choice(POSITIONS), printed([draw.uniform(-20, 20) for _ in X])) for _ in range(200)
    ]
    texts += [(3, printed([0.0] * 8)), (3, "1e300 " * 8), (3, "1e-320 " * 8)]
    assert_alike(texts)
    codes = [page.get("problem") for page in page_says([(3, text) for text in REFUSED])]
    assert codes == [code for code, _ in REFUSED.values()]


def test_what_is_said_of_a_code_is_what_the_diagnosis_says():
    names = VectorCheck().names
    assert set(names) == set(TOLD)
    for code, told in names.items():
        plain = {part: told[part].replace("`", "") for part in ("sentence", "fix")}
        assert plain == {"sentence": CODES[code].sentence, "fix": CODES[code].fix}


# ---- what it does when it is used ----


@pytest.fixture(params=[(WIDE, "light"), (PHONE, "dark")], ids=str)
def widget(request, on_scratch):
    return on_scratch("vector_check", *request.param)


def settle(widget):
    widget.page.evaluate("() => { endPauses(); return passFrames(2); }")  # a pause in the typing


def verdict(widget):
    return widget.page.locator(".rope-lesson p").inner_text()


def test_a_mistake_is_named_and_mending_it_brings_the_verdict_back(widget):
    box = widget.control("pasted")
    first = verdict(widget)
    assert first.startswith("✗ Wrong: interleaved-angles-on-half-pairs. Pairs are halves")
    right = printed(known(LOWEST)["right", "interleaved", None])
    for text, said in [
        ("", "Nothing is pasted yet. 8 numbers must stand here"),
        ("1 2 3", "Numbers found: 3. There must be 8"),
        ("1,25 0,5", "Numbers found: 4, with commas between them. There must be 8; decimals need"),
        ("1 <img src=x> 3", "“<img” is no number"),
        ("1 inf 3", "“inf” is not finite"),
        ("7" * 2001, "2001 characters are too many"),
    ]:
        box.fill(text)
        settle(widget)
        assert said in verdict(widget)
        assert box.input_value() == text and box.get_attribute("aria-invalid") == "true"
        assert [value for value, _ in widget.reports()["turned"]] == [
            pytest.approx(math.nan, nan_ok=True)
        ] * 4
        assert widget.page.locator(".rope-widget img").count() == 0
    box.fill(f"tensor([{right}])")
    settle(widget)
    assert verdict(widget).startswith("✓ Right, with pairs as neighbors.")
    assert box.get_attribute("aria-invalid") == "false"
    assert accessibility_faults(widget.page) == []


STOPS = {
    "stop_half": "✓ Right, with pairs as halves.",
    "stop_neighbors": "✓ Right, with pairs as neighbors.",
    "stop_clockwise": "✓ With a note: clockwise, in halves.",
    "stop_late": "✗ Wrong: off-by-one, in halves. It is turned as position 4 should be, or",
    "stop_base": "✗ Wrong: base-not-as-expected, in halves. It is turned as by base 500\u202f000.",
    "stop_page": "✗ Wrong: interleaved-angles-on-half-pairs.",
}


def test_what_one_position_does_not_tell_is_said(widget):
    half = turn(torch.tensor(X)[None].bfloat16(), torch.tensor([3]), "half")[0]
    others, heads = (
        by(lambda width, over=over: BASE ** (-torch.arange(0, width, 2) / over))
        for over in (100.0, 128.0)
    )
    for pasted, said in {
        printed(half): "≈ Nearly right, in halves: off by up to 0.012, as half precision",
        f"[1] {printed(known(3)['right', 'half', None]).replace(',', ' ')}": (
            "✓ Right, with pairs as halves. Every pair keeps its length and has turned by position"
            " × frequency. Do your weights want these pairs? Read without the numbers that count"
            " them: -2.4055 to 8.997."
        ),
        printed(known(3)["clockwise", "half", None], "%.1f"): (
            "✓ With a note: clockwise, in halves. Pairs turn clockwise. Off by up to 0.0"
        ),
        printed(known(3)["right", "half", None]).replace(", ", ";").replace(".", ","): (
            "✓ Right, with pairs as halves. Every pair keeps its length and has turned by position"
            " × frequency. Do your weights want these pairs? Read with commas as decimal points:"
            " -2.4055 to 8.997."
        ),
        printed(otherwise(3)[-1][1]): (
            "✗ Wrong: width-not-as-expected, in neighbors. Only the first 4 of 8 numbers have"
            " turned, by exponents over 8: p-RoPE, or an early end. Mend: Set rotary_dim once."
        ),
        printed(known(3)["rest-not-kept", "half", 6]): (
            "✗ Wrong: rest-not-kept, in halves. Only the first 6 of 8 numbers have turned; the"
            " rest are zeros. Mend: Join the turned part and the rest of x, as it is."
        ),
        printed(known(3)["width-not-as-expected", None, 2]): (
            "✗ Wrong: width-not-as-expected. Only the first 2 of 8 numbers have turned."
        ),
        on(others, 3, "half").pasted: (
            "✗ Wrong: exponents-not-as-expected, in halves. It is turned as by base 2.09, or"
            " exponents are divided by 100 in place of 8. Mend: Use 2i / rotary_dim"
        ),
        on(heads, 3, "half").pasted: (
            "✗ Wrong: base-beyond-sense, in halves. It is turned as by base 1.78, or exponents"
            " are divided by 128 in place of 8. Mend: Write base ** -(2 * i / head_dim), of floats."
        ),
        on(lambda x, ids, pairs: turn(x, ids * 1.5, pairs), 3, "half").pasted: (
            "✗ Wrong: frequencies-multiplied, in halves. All frequencies are multiplied by 1.5."
        ),
        on(lambda x, ids, pairs: turn(x, ids * 4 / 3, pairs), 3, "half").pasted: (
            "✗ Wrong: off-by-one, in halves. It is turned as position 4 should be, or by"
            " frequencies × 4/3. At another position a shift stays, a factor does not:"
        ),
        on(lambda x, ids, pairs: turn(x, ids * 2, pairs), 3, "half").pasted: (
            "✗ Wrong: positions-shifted, in halves. It is turned as position 6 should be, or by"
            " frequencies × 2."
        ),
    }.items():
        widget.control("pasted").fill(pasted)
        settle(widget)
        assert verdict(widget).startswith(said)
        fitting = widget.page.locator(".rope-vector-picture [data-mark=fits]").count()
        assert fitting == 4 or said[0] == "✗"


def test_a_stop_pastes_and_its_numbers_follow_the_position(widget):
    for stop, said in STOPS.items():
        widget.control(stop).click()
        widget.frames()
        assert verdict(widget).startswith(said)
        pressed = [
            name for name in STOPS if widget.control(name).get_attribute("aria-pressed") == "true"
        ]
        assert pressed == [stop]
    widget.control("stop_late").click()
    widget.slide(position=1.0)
    settle(widget)
    assert "It is turned as position 17 should be, or by frequencies × 17/16." in verdict(widget)
    assert f"position = {HIGHEST}" in widget.page.locator(".rope-vector-code").inner_text()


@pytest.mark.parametrize("place", [9, LOWEST])
def test_a_readers_own_numbers_stay_when_the_position_moves(widget, place):
    """At another one they are judged, and are said to be elsewhere if they do not belong there."""
    own = printed(
        turn(torch.tensor(X, dtype=torch.float64)[None], torch.tensor([place]), "half")[0]
    )
    widget.control("pasted").fill(own)
    settle(widget)
    before = verdict(widget)
    widget.slide(position=1.0)
    settle(widget)
    assert widget.control("pasted").input_value() == own
    assert verdict(widget).startswith(f"? Pasted at position {LOWEST}. Turn x at the new one")
    assert widget.control("pasted").get_attribute("aria-invalid") == "false"
    assert widget.page.locator(".rope-lesson .rope-vector-off").count() == 0
    widget.slide(position=0.0)
    settle(widget)
    assert verdict(widget) == before
    widget.slide(position=(place - LOWEST) / (HIGHEST - LOWEST))
    settle(widget)
    assert verdict(widget).startswith("✓ Right, with pairs as halves.")
    elsewhere = f"if x was turned at position {place}; it was pasted at {LOWEST}"
    assert (elsewhere in verdict(widget)) == (place != LOWEST)
    assert (widget.control("stop_half").get_attribute("aria-pressed") == "true") == (
        place == LOWEST
    )


def test_who_leaves_the_box_has_pasted_nothing_more(widget):
    """A browser then says that the text has changed, at whichever position that was."""
    own = printed(
        turn(torch.tensor(X, dtype=torch.float64)[None], torch.tensor([LOWEST]), "half")[0]
    )
    box, keys = widget.control("pasted"), widget.page.keyboard
    box.focus()
    keys.press("Control+A")
    keys.insert_text(own)
    settle(widget)
    assert verdict(widget).startswith("✓ Right")
    heard = box.evaluate_handle(
        "(box) => { const heard = []; box.onchange = () => heard.push(1); return heard }"
    )
    widget.slide(position=1.0)
    widget.control("copy").focus()
    settle(widget)
    assert heard.evaluate("(heard) => heard.length") == 1
    assert verdict(widget).startswith(f"? Pasted at position {LOWEST}. Turn x at the new one")


def test_what_is_pasted_takes_the_place_of_the_numbers_that_stand_there(widget):
    box, keys = widget.control("pasted"), widget.page.keyboard
    box.fill("1 2 3")
    keys.press("Control+A")
    keys.press("Control+X")
    widget.control("stop_half").click()
    box.focus()
    keys.press("Control+V")
    settle(widget)
    assert box.input_value() == "1 2 3"
    keys.press("Control+V")  # not yet eight: a second part comes behind the first
    assert box.input_value() == "1 2 31 2 3"


def test_the_vector_is_copied_or_else_chosen(widget):
    page = widget.page
    lines = page.locator(".rope-vector-code").inner_text()
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })"
    )
    widget.control("copy").click()
    widget.frames()
    assert widget.control("copy").inner_text() == "chosen: press Ctrl+C"
    assert page.evaluate("getSelection().toString()") == lines
    settle(widget)
    assert widget.control("copy").inner_text() == "chosen: press Ctrl+C", "until it is done"
    widget.slide(position=0.5)
    settle(widget)
    assert widget.control("copy").inner_text() == "copy", "another position is not copied yet"
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value:"
        " { writeText: async (text) => { window.taken = text; } } })"
    )
    page.evaluate(
        "window.later = []; const start = setTimeout; window.setTimeout = (call, wait, ...given) =>"
        " (wait < 1000 ? start(call, wait, ...given) : void later.push(() => call(...given))); 0"
    )
    widget.control("copy").click()
    widget.frames()
    assert widget.control("copy").inner_text() == "copied"
    assert widget.control("copy").get_attribute("aria-pressed") is None, "no choice, but a deed"
    assert page.evaluate("taken") == page.locator(".rope-vector-code").inner_text() != lines
    page.evaluate("later.forEach((call) => call())")
    widget.frames()
    assert widget.control("copy").inner_text() == "copy"


def test_where_no_bug_is_known_the_command_that_looks_further_is_code(widget):
    widget.control("pasted").fill("1 2 3 4 5 6 7 8")
    settle(widget)
    said = "✗ Wrong, and no bug known here. As halves, 0 of 4 pairs are as they should be."
    assert verdict(widget) == f"{said} To look further: python -m ropelib diagnose."
    command = widget.page.locator(".rope-lesson code")
    assert command.inner_text() == "python -m ropelib diagnose"
    color = "(node) => getComputedStyle(node).backgroundColor"
    assert command.evaluate(color) != "rgba(0, 0, 0, 0)", "it stands out on any page"


def test_the_marks_are_explained_before_they_are_seen(widget):
    legend = widget.page.locator(".rope-vector > .rope-legend").bounding_box()
    picture = widget.page.locator(".rope-vector-picture").bounding_box()
    assert legend["y"] + legend["height"] <= picture["y"]


def test_a_code_leads_to_its_row_where_the_page_knows_the_diagnosis(widget):
    assert widget.page.locator(".rope-lesson a").count() == 0
    widget.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend',"
        " '<a href=\"../codes.html#now\">diagnosis</a>')"
    )
    widget.control("stop_late").click()
    widget.frames()
    address = widget.page.locator(".rope-lesson a").get_attribute("href")
    assert address == "../codes.html#codes-off-by-one"


def _base(position, base):
    made = by(lambda width: speeds(width, base))
    x = torch.tensor(X, dtype=torch.float64)[None]
    return made(x, torch.tensor([position]), "interleaved")[0].tolist()


def test_room_is_kept_for_every_verdict(on_scratch):
    for width in (340, 375, 626, 984):
        widget = on_scratch("vector_check", (width, 844), reduced_motion="reduce")
        heights = {}
        shown = known(5) | {
            name: on(made, 5, "interleaved").numbers for name, (made, _) in MADE.items()
        }
        for base in (10, 1.7782794, 1.3335214, 215443.469, 10_100, 1e32):
            shown[f"base {base}"] = _base(5, base)
        shown["resting"] = otherwise(5)[-1][1].tolist()
        shown["rough"] = (known(5)["clockwise", "interleaved", None] + COARSE / 2).tolist()
        shown["coarse"] = (known(5)["right", "interleaved", None] + COARSE / 2).tolist()
        shown["little"] = (known(5)["right", "interleaved", None] + TOLERANCE / 2).tolist()
        for told, values in shown.items():
            widget.page.evaluate(
                "(text) => { model.set('position', 5); model.set('pasted', text);"
                " model.save_changes(); }",
                printed(values),
            )
            widget.frames()
            height = widget.page.locator(".rope-frame").evaluate("(node) => node.offsetHeight")
            heights.setdefault(height, []).append(told)
        assert len(heights) == 1, (width, heights)


# ---- what it must report ----


def answers(inputs):
    position = int(inputs["position"])
    x = torch.tensor(X, dtype=torch.float64)
    # The bug of the page: halves, by the angles of neighbors, as it is printed.
    angles = (position * inv_freq(8)).repeat_interleave(2)
    mixed = x * angles.cos() + torch.cat((-x[4:], x[:4])) * angles.sin()
    printed_numbers = torch.tensor([round(number, 4) for number in mixed.tolist()])
    before = torch.complex(x[:4], x[4:])
    after = torch.complex(*printed_numbers.double().chunk(2))
    right = reference.rotate(x[None], [position], inv_freq(8), layout="half")[0]
    return {
        "turned": (after / before).angle().tolist(),
        "wanted": (torch.complex(right[:4], right[4:]) / before).angle().tolist(),
        "length": (after.abs() / before.abs()).tolist(),
    }


ORACLE = Oracle(answers, angles=("turned", "wanted"))
