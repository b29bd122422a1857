"""What only an expectation can show, however it is given."""

import json
from functools import partial

import pytest
import torch
from exhibits import EXHIBITS, PLAIN, plain
from exhibits.scaled import BLENDS

from ropelib import convert_layout, inv_freq
from ropelib.checks import LAYOUTS
from ropelib.config import RopeConfig
from ropelib.diagnosis import diagnose


def test_an_expected_configuration_may_be_an_object_with_methods_or_values():
    class Methods:
        layout = "half"

        def inv_freq(self, seq_len=None):
            return PLAIN

        def attention_factor(self, seq_len=None):
            return 1.0

    class Values:
        layout, inv_freq, attention_factor = "half", PLAIN, 1.0

    for expected in (Methods(), Values()):
        assert diagnose(plain, expected=expected).ok
        report = diagnose(plain, expected=expected, attention_factor=1.5)
        assert report.codes[0] == "attention-factor-missing"
    assert diagnose(plain, inv_freq=PLAIN.tolist()).ok


LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4}


def test_a_base_that_is_lost_with_its_scaling_is_told_with_it():
    def with_base(base):
        return lambda x, ids: plain(x, ids, inv_freq(128, base))

    lost = diagnose(with_base(1e4), head_dim=128, expected="llama-3.1-8b", max_position=600)
    assert lost.codes == ("base-not-as-expected",)
    said = "The base is 10000, expected 500000, and the scaling that is expected is missing as well"
    assert lost.findings[0].sentence == f"{said}: slow pairs are meant to be divided by 8."
    scaling = diagnose(with_base(5e5), head_dim=128, expected="llama-3.1-8b", max_position=600)
    assert scaling.codes == ("scaling-missing",)
    linear = diagnose(plain, inv_freq=inv_freq(64, 5e5) / 4).findings[0].sentence
    assert linear.endswith("all pairs are meant to be divided by 4.")
    alike = diagnose(plain, inv_freq=inv_freq(64, 5e5)).findings[0].sentence
    assert alike == "The base is 10000, expected 500000."


def test_heads_are_as_wide_as_those_of_what_is_expected():
    def of_any_width(x, position_ids):
        return plain(x, position_ids, inv_freq(x.shape[-1]))

    def of_64(x, position_ids):
        assert x.shape[-1] == 64
        return plain(x, position_ids)

    of_64.head_dim = of_any_width.head_dim = 64
    told = [
        diagnose(each, expected="llama-2-7b", max_position=64) for each in (of_any_width, of_64)
    ]
    assert [(report.head_dim, report.codes) for report in told] == 2 * [
        (64, ("width-not-as-expected",))
    ]
    del of_64.head_dim, of_any_width.head_dim
    report = diagnose(of_any_width, expected="llama-2-7b", max_position=64)
    assert (report.ok, report.head_dim) == (True, 128)
    assert diagnose(of_64, expected="llama-2-7b", max_position=64).head_dim == 64


class Configuration:
    def __init__(self, **values):
        self.values = values

    def to_dict(self):
        return self.values


def test_an_expected_configuration_is_read_however_it_is_given(tmp_path):
    def forms(config):
        path = tmp_path / f"{config['rope_theta']}.json"
        path.write_text(json.dumps(config))
        return [config, path, str(path), Configuration(**config), RopeConfig.from_hf(config)]

    for expected in forms(LLAMA | {"rope_theta": 500_000.0}):
        assert diagnose(plain, expected=expected).codes == ("base-not-as-expected",)
    for expected in forms(LLAMA | {"rope_theta": 10_000.0}):
        assert diagnose(plain, expected=expected).ok


@pytest.mark.parametrize(
    "expected", [object(), 3, ["half"], type("Nothing", (), {"layout": None})()]
)
def test_what_says_nothing_of_a_rotation_is_no_expectation(expected):
    message = r"expected must be a mapping, a path, an object with to_dict\(\), or .*, got "
    with pytest.raises(TypeError, match=message):
        diagnose(plain, expected=expected)


@pytest.mark.parametrize("expected", ["typo", {}, "absent/config.json"])
def test_what_is_no_configuration_is_refused(expected):
    with pytest.raises(ValueError, match=r"config must be a file|not seem to rotate"):
        diagnose(plain, expected=expected)


def test_each_code_on_a_factor_has_its_cause():
    missing = diagnose(plain, attention_factor=1.5).findings[0]
    twice = diagnose(
        lambda x, ids: plain(x, ids, factor=1.5**2), inv_freq=PLAIN, attention_factor=1.5
    ).findings[0]
    assert (missing.code, twice.code) == (
        "attention-factor-missing",
        "attention-factor-not-as-expected",
    )
    assert missing.cause == "only the frequencies of YaRN taken over, without its factor"
    assert twice.cause == "mscale read as something else, or the factor applied twice"


@pytest.mark.parametrize("base", [1e6, 5e5])
def test_a_round_base_is_a_base_and_no_other_width(base):
    # 1e6 ** (64 / 96) is 1e4: a default in place of it, rather than exponents of another width.
    report = diagnose(plain, inv_freq=inv_freq(64, base))
    assert report.codes == ("base-not-as-expected",)
    wider = diagnose(lambda x, ids: plain(x, ids, inv_freq(160)[:32]), inv_freq=PLAIN)
    assert "2i / 160 in place of 2i / 64" in wider.findings[0].cause


def test_pairs_that_stand_still_may_be_expected():
    turning = PLAIN.where(torch.arange(32) < 8, 0)

    def rotate(x, ids):
        return plain(x, ids, turning)

    assert diagnose(rotate, inv_freq=turning).ok
    assert diagnose(rotate, inv_freq=PLAIN[:8]).codes == ("pairs-not-as-expected",)
    report = diagnose(rotate, inv_freq=PLAIN)
    assert report.codes[0] == "frequencies-not-as-expected"
    assert report.findings[0].evidence == {
        "pair": 8,
        "measured": 0.0,
        "expected": pytest.approx(0.1, rel=1e-6),
    }
    wider = torch.nn.functional.pad(turning, (0, 8))
    assert diagnose(rotate, inv_freq=wider).ok
    wider[-1] = 1e-3
    assert diagnose(rotate, inv_freq=wider).codes[0] == "width-not-as-expected"


def test_a_slight_scaling_that_is_missing_is_named():
    slowed = PLAIN / torch.linspace(0.95, 1.1, 32).clamp(min=1).double()  # the fast ones are not
    assert diagnose(plain, inv_freq=slowed).codes == ("scaling-missing",)


def test_what_is_found_in_k_alone_says_so():
    late = diagnose((plain, lambda x, ids: plain(x, ids + 1)))
    assert late.findings[0].where == "k" and "(in k)" in str(late)
    assert "wrong in k</strong>" in late._repr_html_()


def test_of_one_pair_too_something_may_be_expected():
    def rotate(x, ids):
        return plain(x, ids, PLAIN[:1])

    assert all(diagnose(rotate, head_dim=2, layout=layout).ok for layout in LAYOUTS)
    report = diagnose(rotate, head_dim=2, inv_freq=[2.0])
    assert report.codes == ("frequencies-not-as-expected",)
    assert report.findings[0].evidence == pytest.approx(
        {"pair": 0, "measured": 1, "expected": 2}, rel=1e-6
    )


GEMMA_4 = {
    "model_type": "gemma4_text",
    "head_dim": 64,
    "global_head_dim": 64,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "layer_types": ["full_attention"],
    "rope_parameters": {
        "full_attention": {
            "rope_type": "proportional",
            "partial_rotary_factor": 0.25,
            "rope_theta": 1e6,
        }
    },
}


def test_which_dimensions_turn_is_compared_and_not_only_how_fast():
    config = RopeConfig.from_hf(GEMMA_4, layer_type="full_attention")
    frequencies = config.inv_freq()
    assert len(frequencies) == 32 and int((frequencies != 0).sum()) == 8
    assert diagnose(lambda x, ids: plain(x, ids, frequencies), expected=config).ok
    near = diagnose(lambda x, ids: plain(x, ids, frequencies[:8]), expected=config)
    assert near.codes == ("pairs-not-as-expected",)
    assert "(i, i + 8), expected (i, i + 32)" in near.findings[0].sentence
    torch.testing.assert_close(near.inv_freq, frequencies[:8], rtol=1e-6, atol=0)


def test_a_direction_is_expected_where_frequencies_are():
    def back(x, ids):
        return plain(x, -ids)

    llama = LLAMA | {"rope_theta": 10_000.0}
    assert diagnose(back, expected=llama).codes == ("direction-not-as-expected",)
    assert diagnose(back, layout="half").codes == ("clockwise",)

    class Backward:
        inv_freq, direction = PLAIN, -1

    assert diagnose(back, expected=Backward()).codes == ("clockwise",)
    assert diagnose(plain, expected=Backward()).codes == ("direction-not-as-expected",)
    Backward.direction = 2
    with pytest.raises(ValueError, match="direction must be 1 or -1, got 2"):
        diagnose(back, expected=Backward())


def read_as_neighbors(x, ids):
    """Pairs of neighbors, put side by side as halves."""
    return convert_layout(plain(x, ids, layout="interleaved"), source="interleaved", target="half")


def test_another_order_of_what_comes_out_is_said_with_its_difference():
    neighbors = partial(plain, layout="interleaved")
    for rotate, expected, at in (
        (read_as_neighbors, neighbors, 32),
        (neighbors, read_as_neighbors, 1),
    ):
        (finding,) = diagnose(rotate, expected=expected, max_position=64).findings
        assert finding.code == "results-not-as-expected"
        said = f"another order: dimension 1 at {at}, expected at {33 - at}."
        assert finding.sentence.endswith(said)
        assert finding.evidence["largest difference"] == pytest.approx(1, abs=1e-3)
        assert ("put side by side" in finding.cause) == (at == 32)
    assert diagnose(read_as_neighbors, expected=read_as_neighbors, max_position=64).ok


SAID = {
    "smooth for 1 - smooth in Llama 3's blend": ("the same pairs lie between", "1 - smooth"),
    "YaRN's ramp inverted (litgpt)": ("upside down", "the ramp where 1 - ramp is meant"),
    "YaRN's beta_fast and beta_slow exchanged": ("upside down", "beta_slow exchanged"),
    "another training length (gpt-oss, vLLM 28244)": ("other pairs lie between", "beta_fast"),
    "frequencies in reverse": ("in reverse", "flipped"),
    "NTK-aware, where linear scaling is meant": (
        "expected 10000, and frequencies divided by 4",
        "base * factor ** (d / (d - 2)) with factor 4",
    ),
    "plain, where an NTK-aware base is meant": (
        "is 10000, expected 41829.4, which is 10000 * 4 ** (d / (d - 2)).",
        "NTK-aware scaling by 4 left out",
    ),
    "an NTK-aware base, where a plain one is meant": (
        "is 41829.4, expected 10000; 41829.4 is 10000 * 4 ** (d / (d - 2)).",
        "NTK-aware scaling by 4 where none is expected",
    ),
    "single tokens in the other layout": (
        "turned in the interleaved layout, and in one pass in the half one.",
        "in the path for one token",
    ),
    "a decode step in the other layout, of a part": (
        "turned in the half layout, and in one pass in the interleaved one.",
        "in the path for one token",
    ),
    "keys that a step rotates once more": ("turned by twice its position.", "rotated again"),
    "single tokens three late, as by padding": ("stood +3 from where it does.", "padding"),
    "steps by a base of their own": (
        "alone is turned by frequencies of base 10000, and in one pass by those of base 500000.",
        "rope_theta (base) not handed on",
    ),
    "steps of the whole head, where a quarter turns": (
        "alone is turned in 64 dimensions, and in one pass in 16.",
        "partial_rotary_factor",
    ),
    "steps with exponents of the whole head": (
        "alone is turned by exponents 0.25 times those of one pass.",
        "2i / 64, of the whole head, in place of 2i / 16",
    ),
    "steps without YaRN's frequencies": (
        "by the unscaled frequencies of base 10000, and in one pass by scaled ones.",
        "rope_scaling left out",
    ),
    "steps divided once more": ("by frequencies 0.5 times those of one pass.", "applied twice"),
    "q of steps by a base of its own, k is right": (
        "q that comes alone is turned by frequencies of base 500000, and in one pass by those of "
        "base 10000, and k beside it is right.",
        "rope_theta (base) not handed on",
    ),
    "q joins (even, odd) and k (odd, even)": ("in another order", "as (even, odd) in one"),
    "q joins (turned, rest) and k (rest, turned)": (
        "in another order",
        "as (turned, rest) in q and as (rest, turned) in k",
    ),
    "halves of k change places as they come out": ("in another order", "as (even, odd) in one"),
    "the last rows of a table, by offset": ("as if it began at position 2039.", "cos[-n:]"),
    "the last rows of a table, of q and k": ("as if it began at position 2039.", "cos[-n:]"),
    "single tokens cached as they are": ("at position 0.", "a step that is not rotated at all"),
    "single tokens cached as they are, beside a factor": ("is not turned at all.", "returns x"),
    "rows at the position of the first, in decoding alone": ("of the first.", "position_ids[0]"),
    "rows after the first stay zero (MLX 3494)": ("rows stay zero.", "number of tokens for that"),
    "the first token's position for single tokens": ("of the first.", "position_ids[0]"),
    "a decode step that turns back": ("the other way round, by the same angle.", "sine with the"),
    "base lost": ("is 10000, expected 500000.", "rope_theta lost"),
    "exponents of the whole head, of which half turns": (
        "0.5 times",
        "2i / 64, of the whole head, in place of 2i / 32; or i / d in place of 2i / d",
    ),
    "positions of single tokens in bfloat16": ("rounded from 257 on", "position_ids in bfloat16"),
    "a step at the first slot of a page of 1024": ("otherwise than in one pass", "blocks"),
    "a sign on the wrong term of the second line": ("the second dimension", "p * s - q * c"),
    "exponents i / d (LeetCUDA 290)": ("0.5 times", "i / d in place of 2i / d"),
    "long_factor in short calls": (
        "have the frequencies of long ones",
        "or the two lists exchanged",
    ),
    "LongRoPE left out": ("the unscaled ones", "rope_scaling not read"),
    "YaRN's factor left out of a step": ("is 0.8279 times as long as in one pass", "mscale"),
    "a step in place of a ramp": ("as in a step", "or its ends exchanged"),
    "NTK-aware without its exponent": (
        ", which is 10000 * 4 ** (d / (d - 2)), and the measured one 10000 * 4.",
        "the exponent d / (d - 2)",
    ),
    "one axis by the frequencies of the other": (
        "of axis 1 are 1.33352 times",
        "axis 1 given the frequencies of axis 0",
    ),
    "exponents of the head on each axis": ("10, expected 100", "rope_theta (theta) lost"),
} | {name: (sentence, "") for name, (sentence, *_) in BLENDS.items()}


@pytest.mark.parametrize("name", SAID)
def test_how_a_bug_came_about_is_said(name):
    (sentence, cause), made = SAID[name], next(e for e in EXHIBITS if e.name == name)
    finding = diagnose(**made.make(), max_position=2048).findings[0]
    assert sentence in finding.sentence
    assert cause in finding.cause and "whole head" not in finding.cause.removeprefix(cause)


class Course:
    """The form of CS336, which the check makes an instance of with a theta of its own."""

    def __init__(self, theta, d_k, max_seq_len):
        self.speeds = inv_freq(d_k, theta)

    def __call__(self, x, token_positions):
        return plain(x[:, None], token_positions, self.speeds, layout="interleaved")[:, 0]


class ThetaIgnored(Course):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__(10_000.0, d_k, max_seq_len)


def test_the_theta_of_the_check_is_said_to_be_its_own():
    handed = "theta=20000 was handed over by this check"
    assert f"geometric with base 20000: {handed}\n" in str(diagnose(Course, max_position=64))
    (ignored,) = diagnose(ThetaIgnored, max_position=64).findings
    assert ignored.cause.startswith(f"{handed}, and is not used: ")
    for finding in (ignored, *diagnose(Course, max_position=64, inv_freq=PLAIN).findings):
        assert finding.code == "base-not-as-expected" and finding.cause.startswith(handed)
        assert "configuration" not in str(finding)

    course = Course(10_000.0, 64, 64)
    report = diagnose(
        lambda x, token_positions: course(x, token_positions), max_position=64, inv_freq=PLAIN
    )
    assert report.ok and "theta" not in report.profile


def rounded_at_each_step(x, ids, base=10_000.0, dtype=torch.bfloat16):
    angles = (ids.double()[..., None] * inv_freq(x.shape[-1], base)).float()
    angles = angles[:, None] if ids.dim() == 2 else angles
    cos, sin = (torch.cat((t, t), -1).to(dtype) for t in (angles.cos(), angles.sin()))
    a, b = x.to(dtype).chunk(2, -1)
    return (x.to(dtype) * cos + torch.cat((-b, a), -1) * sin).to(x.dtype)


def in_low_precision_alone(x, ids, **options):
    if x.dtype != torch.bfloat16:
        raise TypeError("bfloat16 alone")
    return rounded_at_each_step(x, ids, **options)


@pytest.mark.parametrize("coarse", [rounded_at_each_step, in_low_precision_alone])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_code_in_bfloat16_is_compared_as_closely_as_it_rounds(coarse, head_dim):
    def exact(x, ids):
        return plain(x, ids, inv_freq(head_dim))

    options = {"head_dim": head_dim, "max_position": 600}
    for one, other in ((coarse, exact), (exact, coarse), (coarse, coarse)):
        assert diagnose(one, expected=other, **options).ok
    wrong = partial(coarse, base=12_000.0)
    assert diagnose(wrong, expected=exact, **options).codes[0] == "base-not-as-expected"
    assert not diagnose(exact, expected=wrong, **options).ok


@pytest.mark.parametrize("base", [1e11, 1e16])
def test_pairs_too_slow_to_be_seen_are_taken_as_expected(base):
    def slow(x, ids):
        return plain(x, ids, inv_freq(64, base))

    options = {"inv_freq": inv_freq(64, base), "layout": "half"}
    assert diagnose(slow, **options).codes == ("slow-pairs-stand-still",)
    assert diagnose(plain, **options).codes[0] == "base-not-as-expected"


@pytest.mark.parametrize("power", [1, 0.5, 0.25, -0.25, -0.5, -1])
def test_powers_of_the_width_are_no_attention_factor(power):
    def scaled(x, ids):
        return plain(x, ids) * x.shape[-1] ** power

    assert diagnose(scaled, max_position=600).codes == ("norm-not-kept",)
    assert diagnose(lambda x, ids: plain(x, ids) * 1.3, max_position=600).ok
