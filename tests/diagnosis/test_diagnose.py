"""Every exhibit gets its verdict; every right rotation is measured; every finding is shown."""

import ast
import functools
import html
import json
import math
import re
import sys
from pathlib import Path

import pytest
import torch
from exhibits import EXHIBITS, PLAIN, YARN_FACTOR, plain, turn, yarn
from hypothesis import given, settings
from hypothesis import strategies as st

import ropelib
from ropelib import RotaryEmbedding, diagnosis, inv_freq
from ropelib.__main__ import COULD_NOT_RUN, main
from ropelib.config import RopeConfig
from ropelib.diagnosis import Finding, Report, diagnose, from_module, from_tables, seq_first

RIGHT = [e for e in EXHIBITS if e.code is None]
WRONG = [e for e in EXHIBITS if e.code is not None]
LAYOUTS = ["interleaved", "half"]


@functools.cache
def report_on(name):
    return diagnose(**next(e for e in EXHIBITS if e.name == name).make())


def named(exhibits):
    return pytest.mark.parametrize("exhibit", exhibits, ids=lambda e: f"{e.name}: {e.code}")


# The museum


@named(RIGHT)
def test_a_right_rotation_is_measured_and_not_blamed(exhibit):
    report = report_on(exhibit.name)
    assert report.ok, report
    if exhibit.layout is not None:
        assert report.layout == exhibit.layout
    if exhibit.base is not None:
        assert report.base == pytest.approx(exhibit.base, rel=1e-6)
    assert set(exhibit.notes) <= set(report.codes)
    assert len(report.codes) <= max(2, len(exhibit.notes) + 1)
    for name, value in ({"positions": 8192} | exhibit.more).items():
        assert getattr(report, name) == pytest.approx(value, rel=1e-6)


@named(WRONG)
def test_a_wrong_rotation_is_named_once(exhibit):
    report = report_on(exhibit.name)
    assert [f.code for f in report.findings if f.severity == "wrong"] == [exhibit.code], report
    assert report.codes[0] == exhibit.code and not report.ok
    assert report.findings[0].sentence and report.findings[0].cause
    if exhibit.layout is not None:
        assert report.layout == exhibit.layout
    if exhibit.base is not None:
        assert report.base == pytest.approx(exhibit.base, rel=1e-6)


# What some exhibits must show: numbers that follow from their own lines.
MEASURED = {
    "GPT-J, transformers": {"at positions below": 8192},
    "read as pairs, written as halves (001)": {"dimension 1 comes out at": 32},
    "trailing half rotates": {"first rotating dimension": 32},
    "p-RoPE, a quarter of the pairs turns": {"pairs that turn": 8, "of": 32},
    "linear scaling by 4": {"factor": 4},
    "YaRN with its factor": {"base": 10_000, "factor": 8, "attention factor": YARN_FACTOR},
    "dynamic NTK, one pass": {
        "slowest in a short call": 10_000 ** (-31 / 32),
        # transformers: base * (factor * 8192 / 2048 - (factor - 1)) ** (64 / 62)
        "slowest in a long call": (10_000 * 13 ** (64 / 62)) ** (-31 / 32),
    },
    "a table of 300 positions": {"probed up to": 255},
    "positions in bfloat16": {"since": 257, "largest angle error": 1},
    "positions in TF32": {"since": 2049, "largest angle error": 1},
    "positions in float16": {"since": 2049, "largest angle error": 1},
    "model.bfloat16() takes the frequencies along": {"base, about": 10_000},
    "model.half() takes the frequencies along": {"base, about": 10_000},
    "V-JEPA 2, transformers": {
        "frequency of dimension 0": 1,
        "of its partner": 10_000 ** (-1 / 32),
    },
    "neighbors' angles on halves": {"frequency of dimension 0": 1, "of its partner": 10_000**-0.5},
    "one half's angles in reverse": {"of its partner": 10_000 ** (-31 / 32)},
    "summed over dimensions": {"dimensions mixed": 64},
    "slower from head to head": {"heads unlike the first": 65, "of": 66},
    "only the first head turns": {"heads unlike the first": 65, "of": 66},
    "sin and cos swapped": {"angle at position 0": math.pi / 2},
    "minus sign forgotten": {
        "largest stretch at position 1": max(math.cos(w) + math.sin(w) for w in PLAIN.tolist())
    },
    "last pair not rotated": {"pairs": 31, "slowest frequency": 10_000 ** (-30 / 32)},
    "divided by sqrt(head_dim)": {"scale": 1 / 8},
    "divided by the fourth root of head_dim": {"scale": 64**-0.25},
    "divided by sqrt(rotary_dim)": {"scale": 1 / 4},
    "a mean in place of a sum": {"scale": 0.5**0.5},
    "what does not rotate is scaled too": {"scale": 1.2},
    "slow pairs weigh less": {"smallest scale": 0.5, "largest scale": 1},
    "a decay over positions": {"smallest length": 0.999**128, "largest length": 1},
    "sinusoids added": {"largest entry": 1},
    "nothing rotated": {"largest change": 0},
    "off by one": {"since": 0, "shift": 1},
    "three late": {"since": 0, "shift": 3},
    "half a token late": {"since": 0, "shift": 0.5},
    "half a radian added to every angle": {"largest angle at position 0": 0.5},
    "the square of the position": {"since": 1},
    "a degree more at odd positions": {"change of scores at one distance": 2 * math.radians(1)},
    "single tokens at position 0": {"since": 8},
    "a decode step one late": {"since": 8, "shift": 1},
    "a decode step that forgets the prompt": {"since": 8, "shift": -8},
    "a decode step that turns back": {"since": 1},
    "dynamic NTK with a cache of old keys": {"since": 0},
    "table clamped at 2048": {"since": 2048},
    "table wraps around at 2048": {"since": 2048},
    "YaRN's ramp inverted (litgpt)": {"factor": 8},
    "YaRN's ramp inverted, against a configuration": {"factor": 8},
    "YaRN without its factor": {"attention factor": 1, "expected": YARN_FACTOR},
    "scaling not read from the configuration": {
        "pair": 31,
        "measured": 10_000 ** (-31 / 32),
        "expected": 10_000 ** (-31 / 32) / 8,
    },
    "linear scaling multiplied": {"ratio": 4},
    "base lost": {"base": 10_000, "expected": 500_000},
    "half as wide as expected": {"rotary dim": 64, "expected": 32},
    "one frequency off": {"pair": 3, "measured": 10_000 ** (-3 / 32)},
    "another factor": {"attention factor": 1.1, "expected": 1.2},
    "k turns with another base": {"largest relative difference": 2 ** (31 / 32) - 1},
    "k off by one": {"since": 0, "shift": 1},
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_follows_from_the_rotation(name):
    findings = report_on(name).findings
    measured = {key: value for f in findings for key, value in f.evidence.items()}
    measured["since"] = next((f.since for f in findings if f.since is not None), None)
    expected = MEASURED[name]
    # Coarse numbers, bfloat16's above all, tell a base to 1 in 1000.
    assert {k: measured[k] for k in expected} == pytest.approx(expected, rel=2e-3)


def test_three_pairs_show_an_end_of_a_series():
    few = diagnose(lambda x, ids: plain(x, ids, yarn(original=360)))
    assert few.base == pytest.approx(10_000, rel=1e-6)
    assert "the fastest 3 pairs divided by 1, the slowest 17 by 8" in few.profile
    assert diagnose(lambda x, ids: plain(x, ids, yarn(original=300))).base is None


def test_every_row_of_a_report_is_printed():
    assert str(report_on("last pair not rotated, interleaved")).splitlines() == [
        "This rotation is wrong: last-pair-not-rotated.",
        "  layout            interleaved, pairs (2i, 2i + 1)",
        "  rotary_dim        62 of 64",
        "  inv_freq          geometric with base 7498.94",
        "  direction         +1, counterclockwise",
        "  attention_factor  1",
        "  positions         0 to 8191 probed",
        "wrong  last-pair-not-rotated: The slowest pair stands still while all others turn.",
        "       measured: pairs 31, slowest frequency 0.000177828",
        "       usual cause: a loop or a slice that ends one pair early",
    ]
    assert str(report_on("minus sign forgotten")).splitlines()[1:7] == [
        "  layout            not measured",
        "  rotary_dim        not measured",
        "  inv_freq          not measured",
        "  direction         not measured",
        "  attention_factor  not measured",
        "  positions         0 to 8191 probed",
    ]
    assert "  direction         -1, clockwise\n" in str(report_on("nanochat, clockwise"))
    profile = report_on("linear scaling by 4").profile
    assert profile == "geometric with base 10000, divided by 4"
    profile = report_on("YaRN with its factor").profile
    assert profile == (
        "not geometric: base 10000 at both ends, the fastest 9 pairs divided by 1, "
        "the slowest 11 by 8"
    )
    profile = report_on("every other pair turns back").profile
    assert profile == "not geometric: 1 to -0.000133352 rad/token"


def test_wrong_and_right_have_their_colors():
    wrong, right = (report_on(n)._repr_html_() for n in ("off by one", "nanochat, clockwise"))
    assert "4px solid var(--rope-k" in wrong and "2px solid var(--rope-k" in wrong
    assert "4px solid var(--rope-score" in right and "2px solid var(--rope-line" in right


@named(EXHIBITS)
def test_everything_found_is_printed_and_shown(exhibit):
    report = report_on(exhibit.name)
    shown = html.unescape(report._repr_html_())
    for text in (str(report), shown):
        assert ("This rotation is right" in text) == report.ok
        for finding in report.findings:
            assert finding.code in text and finding.sentence in text and finding.cause in text
            assert all(name in text for name in finding.evidence)
    tags = re.findall(r"</?(\w+)", report._repr_html_())
    assert all(tags.count(tag) % 2 == 0 for tag in set(tags) - {"br"})


def test_there_are_enough_exhibits_and_codes_are_stable_words():
    assert len(RIGHT) >= 12 and len(WRONG) >= 20
    for exhibit in WRONG:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", exhibit.code)
    assert len({e.name for e in EXHIBITS}) == len(EXHIBITS)


def codes_in(source):
    """Every code that the source can put into a finding, as a regular expression."""

    def patterns(node, function):
        if isinstance(node, ast.Constant):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "[a-z0-9]+" for p in node.values]
            yield "".join(parts)
        elif isinstance(node, ast.IfExp):
            yield from patterns(node.body, function)
            yield from patterns(node.orelse, function)
        elif isinstance(node, ast.Name):  # a variable of the function, or its own argument
            for line in ast.walk(function):
                if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", None) == node.id:
                    yield from patterns(line.value, function)
        else:  # what a _Guess is made with is found where it is made
            assert ast.unparse(node) == "guess.code"

    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                named = getattr(getattr(call, "func", None), "id", None)
                if named in ("Finding", "wrong", "note", "_Guess"):
                    yield from patterns(call.args[0], function)


def test_every_code_has_an_exhibit():
    shown = {code for e in EXHIBITS for code in (e.code, *e.notes) if code}
    files = Path(diagnosis.__file__).parent.glob("*.py")
    patterns = {code for file in files for code in codes_in(file.read_text("utf-8"))}
    assert len(patterns) > 50
    for pattern in patterns:
        assert any(re.fullmatch(pattern, code) for code in shown), pattern
    for code in shown:
        assert any(re.fullmatch(pattern, code) for pattern in patterns), code


# What is measured


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    base=st.floats(2, 8).map(lambda digits: 10**digits),
    num_pairs=st.integers(2, 40),
    still=st.sampled_from([0, 2, 6, 16]),
    leading=st.booleans(),
    layout=st.sampled_from(LAYOUTS),
    direction=st.sampled_from([1, -1]),
    factor=st.sampled_from([1.0, 1.2079]),
    divisor=st.sampled_from([1.0, 4.0]),
    in_float32=st.booleans(),
)
def test_any_geometric_rotation_is_recovered(
    base, num_pairs, still, leading, layout, direction, factor, divisor, in_float32
):
    frequencies = inv_freq(2 * num_pairs, base) / divisor

    def rotate(x, ids):
        parts = x.split([2 * num_pairs, still] if leading else [still, 2 * num_pairs], dim=-1)
        moving, resting = parts if leading else reversed(parts)
        angles = ids[..., None] * direction * frequencies
        if in_float32:
            angles = ids[..., None].float() * direction * frequencies.float()
        moving = turn(moving, angles, layout, factor)
        return torch.cat((moving, resting) if leading else (resting, moving), dim=-1)

    report = diagnose(rotate, head_dim=2 * num_pairs + still)
    assert report.ok, report
    assert report.layout == layout
    assert report.base == pytest.approx(base, rel=1e-6)
    assert report.factor == pytest.approx(divisor, rel=1e-6)
    assert report.rotary_dim == 2 * num_pairs
    assert report.direction == direction
    assert report.attention_factor == pytest.approx(factor, rel=1e-6)
    torch.testing.assert_close(report.inv_freq, frequencies, rtol=1e-6, atol=0)
    assert ("clockwise" in report.codes) == (direction == -1)
    assert ("partial" in report.codes) == (still > 0 and leading)
    assert ("trailing-dimensions" in report.codes) == (still > 0 and not leading)
    assert ("linearly-scaled" in report.codes) == (divisor > 1)
    assert ("attention-factor" in report.codes) == (factor > 1)


def test_three_frequencies_show_that_they_are_rounded_and_two_are_a_series_anyhow():
    def diagnosed(num_pairs):
        rounded = inv_freq(2 * num_pairs).bfloat16()
        return diagnose(lambda x, ids: plain(x, ids, rounded), head_dim=2 * num_pairs)

    assert diagnosed(3).codes == ("frequencies-in-bfloat16",)
    assert diagnosed(2).ok


def test_positions_are_dense_at_first_and_around_powers_of_two():
    far = set()

    def watched(x, ids):
        if x.shape[1] > 60:  # as many heads as matrices take
            far.update(ids.flatten().tolist())
        return plain(x, ids)

    report = diagnose(watched, max_position=1000)
    assert report.positions == 1000 and max(far) == 999
    assert set(range(9)) <= far
    for power in (16, 32, 64, 128, 256, 512):
        assert {power - 1, power, power + 1} <= far
        between = {m for m in far if power + 1 < m < 2 * power - 1}
        assert len(between - {999}) == 1 and (between - {999}).pop() % 2 == 1


def test_a_rotation_so_slow_that_a_few_tokens_do_not_show_it_is_right():
    report = diagnose(lambda x, ids: plain(x, ids, PLAIN / 50_000))
    assert report.ok and report.factor == pytest.approx(50_000, rel=1e-4)


def test_low_precision_vectors_with_exact_tables_are_right():
    assert diagnose(lambda x, ids: plain(x.bfloat16(), ids).to(x.dtype)).ok


def test_since_says_where_positions_begin_to_fail():
    rounded = {"bfloat16": 257, "float32": None}
    for dtype, since in rounded.items():
        report = diagnose(lambda x, ids, d=dtype: plain(x, ids.to(getattr(torch, d))))
        assert (report.findings[0].since if report.findings else None) == since


def test_behind_coarse_tables_the_rest_is_still_told():
    def rotate(x, ids):
        return plain(x.bfloat16(), ids).to(x.dtype)

    assert diagnose(rotate, attention_factor=1.2).codes == ("attention-factor-missing",)
    clamped = diagnose(lambda x, ids: rotate(x, ids.clamp(max=2047)))
    assert clamped.codes == ("angles-drift",)
    assert clamped.base == pytest.approx(10_000, rel=0.01)


def test_coarse_tables_blur_the_base_and_no_more():
    def rotate(x, ids):
        return plain(x.bfloat16(), ids).to(x.dtype)

    report = diagnose(rotate)
    assert report.base == pytest.approx(10_000, rel=0.01)
    assert report.codes == ("tables-in-low-precision",)


def test_two_series_side_by_side_are_not_called_scaled():
    axes = torch.cat((inv_freq(32), inv_freq(32)))
    report = diagnose(lambda x, ids: plain(x, ids, axes))
    assert report.ok and report.base is None and report.codes == ("not-geometric",)
    torch.testing.assert_close(report.inv_freq, axes, rtol=1e-6, atol=0)


def test_decoding_that_equals_the_full_pass_is_right():
    assert diagnose(plain, decode=lambda x, ids: plain(x, ids)).ok


def test_decoding_is_compared_with_the_rotation_of_k():
    turned_back = (plain, lambda x, ids: plain(x, -ids))
    assert "decode-differs" not in diagnose(turned_back, decode=turned_back[1]).codes
    assert "decode-differs" in diagnose((plain, plain), decode=turned_back[1]).codes


def test_a_decode_step_with_its_own_count_is_followed():
    class Cache:
        length = 0

        def __call__(self, x, ids):
            ids = torch.arange(self.length, self.length + x.shape[2])
            self.length += x.shape[2]
            return plain(x, ids)

    assert diagnose(plain, decode=Cache()).ok


# Expectations


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
    with pytest.raises(ValueError, match=r"config must be a file|is missing"):
        diagnose(plain, expected=expected)


def test_pairs_that_stand_still_may_be_expected():
    turning = PLAIN.where(torch.arange(32) < 8, 0)

    def rotate(x, ids):
        return plain(x, ids, turning)

    assert diagnose(rotate, inv_freq=turning).ok and diagnose(rotate, inv_freq=PLAIN[:8]).ok
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


# Adapters


def test_adapters_give_the_same_report_as_the_rotation_itself():
    def tables(x, ids):
        assert ids.shape == (x.shape[0], x.shape[2])
        return ids, None

    def apply(q, k, ids, _):
        return plain(q, ids), plain(k, ids)

    expected = str(diagnose(plain))
    assert str(diagnose(from_tables(apply, tables))) == expected
    assert str(diagnose(from_module(lambda q, k, ids: apply(q, k, ids, None)))) == expected
    swapped = seq_first(lambda x, ids: plain(x.transpose(1, 2), ids).transpose(1, 2))
    assert str(diagnose(swapped)) == expected


@pytest.mark.parametrize("shift", [0, 1])
def test_what_takes_the_sequence_first_is_told_how_to_be_judged(shift):
    def rotate(x, ids):
        return plain(x.transpose(1, 2), ids + shift).transpose(1, 2)

    def breaks(x, ids):
        assert x.shape[1] == ids.shape[-1]
        return rotate(x, ids)

    report = diagnose(breaks)
    if shift:
        assert report.codes == ("rotates-by-head",)
        assert diagnose(seq_first(breaks)).codes == ("off-by-one",)
    else:
        assert report.codes == ("takes-sequence-first",) and not report.ok
        assert "wrap it in seq_first" in report.findings[0].cause
        assert diagnose(seq_first(breaks)).ok
        both = diagnose((seq_first(breaks), breaks)).findings[0]
        assert (both.code, both.where) == ("takes-sequence-first", "k")


def test_the_adapter_sees_a_module_that_returns_k_as_it_was():
    assert diagnose(from_module(lambda q, k, ids: (plain(q, ids), k))).codes == ("k-not-rotated",)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_module_of_q_and_k_needs_no_adapter(layout):
    module = RotaryEmbedding(64, layout=layout)
    adapted = from_module(module)
    assert diagnose(module).layout == layout
    assert str(diagnose(module, decode=module)) == str(diagnose(adapted, decode=adapted[1]))

    def off_by_one(query, key, position_ids):
        return plain(query, position_ids), plain(key, position_ids + 1)

    assert str(diagnose(off_by_one)) == str(diagnose(from_module(off_by_one)))
    assert diagnose(off_by_one).findings[0].where == "k"


def test_a_module_of_one_tensor_is_a_rotation_like_any_other():
    class Rotation(torch.nn.Module):
        def forward(self, x, position_ids):
            return plain(x, position_ids)

    assert str(diagnose(Rotation())) == str(diagnose(plain))
    assert str(diagnose(lambda x, ids, scale=1: plain(x, ids) * scale)) == str(diagnose(plain))


def test_the_function_carries_the_names_of_the_module_that_it_hides():
    import ropelib.diagnose as imported
    from ropelib.diagnose import diagnose as same
    from ropelib.diagnose import from_tables as adapter

    assert imported is same is ropelib.diagnose is diagnose is imported.diagnose
    assert imported.from_tables is adapter is diagnosis.from_tables
    assert ropelib.diagnose.from_module is from_module and imported.seq_first is seq_first
    assert ropelib.diagnose.Report is Report and ropelib.diagnose.Finding is Finding


# Refusals


@pytest.mark.parametrize(
    ("rotate", "error", "message"),
    [
        (3, TypeError, "rotate must be callable, got 3"),
        ((plain, 3), TypeError, "rotate of k must be callable, got 3"),
        ((plain,) * 3, TypeError, "rotate must be a function or a pair of them, got 3"),
        (lambda x: x, TypeError, r"rotate must take \(x, position_ids\): too many positional"),
        (lambda q, k, cos, sin: q, TypeError, "missing a required argument: .*; from_tables and"),
        (lambda x, ids, c: x, TypeError, "missing a required argument: 'c'; from_tables and"),
        (lambda x, ids: None, TypeError, "rotate must return a tensor, got None"),
        (lambda x, ids: (x, x), TypeError, "got tuple .*; see from_tables and from_module"),
        (lambda x, ids: x[0], ValueError, r"keep the shape of x, got \(3, 5, 64\) for x \(1, 3, 5"),
        (
            lambda x, ids: 1 / 0,
            ValueError,
            r"rotate raised ZeroDivisionError for x \(1, 3, 5, 64\)",
        ),
        (lambda x, ids: x / 0, ValueError, "rotate must return finite numbers, got others"),
    ],
)
def test_what_cannot_be_measured_is_refused(rotate, error, message):
    with pytest.raises(error, match=message):
        diagnose(rotate)


class Everything(BaseException):
    pass


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), Everything("ends")])
@pytest.mark.parametrize("at", ["first", "bfloat16", "far", "rows", "decode"])
def test_code_that_would_end_the_program_is_never_right(error, at):
    # Not the first call alone: elsewhere an error is a refusal of some input, and only noted.
    def rotate(x, ids):
        there = {
            "first": True,
            "bfloat16": x.dtype == torch.bfloat16,
            "far": ids.max() > 200,
            "rows": ids.dim() == 2,
            "decode": x.shape[2] == 1,
        }
        if there[at]:
            raise error
        return plain(x, ids)

    options = {"rotate": plain, "decode": rotate} if at == "decode" else {"rotate": rotate}
    with pytest.raises(ValueError, match=f"raised {type(error).__name__} for x .*: ") as caught:
        diagnose(**options, max_position=256)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("bug", ["positions-clamped", "positions-wrap-around"])
@pytest.mark.parametrize("length", [16, 128, 4096])
def test_a_table_that_ends_is_found_at_any_length(bug, length):
    def rotate(x, ids):
        return plain(x, ids.clamp(max=length - 1) if bug == "positions-clamped" else ids % length)

    finding = diagnose(rotate).findings[0]
    assert (finding.code, finding.since) == (bug, length)
    assert str(length) in finding.sentence


def test_a_table_must_hold_the_first_32_positions():
    def table(length):
        def rotate(x, ids):
            if ids.max() >= length:
                raise IndexError(f"a table of {length}")
            return plain(x, ids)

        return rotate

    report = diagnose(table(32), max_position=100)
    assert report.ok and report.positions == 25  # 100, 50, 25 are tried
    with pytest.raises(ValueError, match=r"rotate raised IndexError .*: a table of 20"):
        diagnose(table(20), max_position=100)


def test_who_presses_control_c_is_obeyed():
    def rotate(x, ids):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        diagnose(rotate)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise SystemExit(0)", "module exits cannot be imported: SystemExit: 0"),
        ("import sys; rotate = lambda x, ids: sys.exit(0)", "rotate raised SystemExit for x (1, "),
        (
            "import sys; from ropelib import RotaryEmbedding\n"
            "class Exits(RotaryEmbedding):\n"
            "    def forward(self, q, k, position_ids): sys.exit(0)\n"
            "rotate = Exits(64, layout='half')",
            "rotate raised SystemExit for x (1, ",
        ),
        (
            "import sys\ndef __getattr__(name): sys.exit(0)",
            "exits:rotate cannot be loaded: SystemExit: 0",
        ),
        (
            "import sys\n"
            "class Exits:\n"
            "    def __call__(self, x, ids): return x\n"
            "    __signature__ = property(lambda self: sys.exit(0))\n"
            "rotate = Exits()",
            "reading the signature raised SystemExit: 0",
        ),
    ],
)
def test_a_module_that_exits_does_not_decide_the_status(
    source, message, tmp_path, monkeypatch, capsys
):
    (tmp_path / "exits.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert main(["diagnose", "exits:rotate"]) == COULD_NOT_RUN
    finally:
        sys.modules.pop("exits", None)
    told = capsys.readouterr()
    assert told.out == "" and message in told.err and told.err.count("\n") == 1


@pytest.mark.parametrize("source", ["raise KeyboardInterrupt", "def rotate(x, ids): {}"])
def test_control_c_stops_the_command_line_too(source, tmp_path, monkeypatch):
    (tmp_path / "stops.py").write_text(source.format("raise KeyboardInterrupt"))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(KeyboardInterrupt):
            main(["diagnose", "stops:rotate"])
    finally:
        sys.modules.pop("stops", None)


def test_sizes_in_a_message_name_a_bug_only_where_they_are_those_of_head_dim():
    def raises(message):
        def rotate(x, ids):
            raise RuntimeError(message)

        return rotate

    for message in ("64 and 32", "32 and 64"):
        assert diagnose(raises(message)).codes == ("tables-half-width",)
    for message, head_dim in (("64 and 33", 64), ("164 and 32", 64), ("2 and 1", 2)):
        with pytest.raises(ValueError, match=f"rotate raised RuntimeError .*: {message}"):
            diagnose(raises(message), head_dim=head_dim)
    assert diagnose(raises("4 and 2"), head_dim=4).codes == ("tables-half-width",)


def test_the_smallest_of_each_is_taken():
    report = diagnose(lambda x, ids: plain(x, ids, PLAIN[:1]), head_dim=2, max_position=32)
    assert report.ok and report.positions == 32 and report.profile == "one pair, 1 rad/token"


@pytest.mark.parametrize("shift", [2, -7, 10, 100.25, 4096])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shift_is_found_however_far(shift, layout):
    report = diagnose(lambda x, ids: plain(x, ids.double() + shift, layout=layout))
    assert report.codes == ("positions-shifted",)
    assert report.findings[0].evidence == {"shift": pytest.approx(shift, rel=1e-6)}


def test_pairs_that_are_turned_once_for_all_are_no_shift():
    turning = PLAIN.where(torch.arange(32) < 8, 0)
    report = diagnose(lambda x, ids: turn(x, ids[..., None] * turning + 0.5, "half"))
    assert report.codes == ("turned-at-position-0",)


def test_one_pair_that_is_late_is_found():
    report = diagnose(lambda x, ids: plain(x, ids + 2, PLAIN[:1]), head_dim=2)
    assert report.codes == ("positions-shifted",)
    assert report.findings[0].evidence == {"shift": pytest.approx(2, rel=1e-6)}


def test_of_one_pair_too_something_may_be_expected():
    def rotate(x, ids):
        return plain(x, ids, PLAIN[:1])

    assert all(diagnose(rotate, head_dim=2, layout=layout).ok for layout in LAYOUTS)
    report = diagnose(rotate, head_dim=2, inv_freq=[2.0])
    assert report.codes == ("frequencies-not-as-expected",)
    assert report.findings[0].evidence == pytest.approx(
        {"pair": 0, "measured": 1, "expected": 2}, rel=1e-6
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"head_dim": 1}, ValueError, "head_dim must be at least 2, got 1"),
        ({"head_dim": 1025}, ValueError, "head_dim must be at most 1024, got 1025"),
        ({"head_dim": "a"}, TypeError, "head_dim must be an integer, got 'a'"),
        ({"head_dim": 64.0}, TypeError, "head_dim must be an integer, got 64.0"),
        ({"max_position": 31}, ValueError, "max_position must be at least 32, got 31"),
        ({"max_position": 10**12}, ValueError, "max_position must be at most 1048576, got 1000"),
        ({"max_position": "a"}, TypeError, "max_position must be an integer, got 'a'"),
        ({"max_position": 100.5}, TypeError, "max_position must be an integer, got 100.5"),
        ({"device": "foo"}, ValueError, "device must be one of torch's .*, got 'foo'"),
        ({"device": "meta"}, ValueError, "device must be one of torch's .*, got 'meta'"),
        ({"device": "cuda:99"}, ValueError, "device must be one of torch's .*, got 'cuda:99'"),
        ({"device": 1.5}, TypeError, "device must be one of torch's .*, got 1.5"),
        ({"inv_freq": "a"}, TypeError, "inv_freq must be a list of numbers, got 'a'"),
        ({"inv_freq": [[1.0]]}, ValueError, r"of shape \(num_pairs,\), got \[\[1.0\]\]"),
        ({"inv_freq": [math.nan]}, ValueError, r"inv_freq must be finite numbers .*, got \[nan\]"),
        ({"attention_factor": "a"}, TypeError, "attention_factor must be a real number, got 'a'"),
        ({"attention_factor": 0}, ValueError, "attention_factor must be positive, got 0"),
        ({"layout": "neox"}, ValueError, 'must be "interleaved" or "half", got \'neox\''),
        ({"decode": 3}, TypeError, "decode must be callable, got 3"),
        ({"decode": lambda x, ids: None}, TypeError, "decode must return a tensor, got None"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        diagnose(plain, **options)


# The report is data


def test_reports_are_values():
    finding = Finding("off-by-one", "wrong", "A <b>late</b> one.", {"shift": 1.0}, since=0)
    report = Report(head_dim=8, findings=(finding,))
    assert not report.ok and report.codes == ("off-by-one",)
    assert "<b>late" not in report._repr_html_() and "since position: 0" in str(report)
    assert Report(head_dim=8).ok and "with notes" not in str(Report(head_dim=8))
    with pytest.raises(AttributeError):
        report.layout = "half"


def test_the_same_rotation_gives_the_same_report_and_global_randomness_is_left_alone():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    assert str(diagnose(plain)) == str(diagnose(plain))
    assert torch.equal(torch.get_rng_state(), state)
