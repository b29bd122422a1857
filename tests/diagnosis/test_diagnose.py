"""What `diagnose` refuses, and that its report is data."""

import math
from types import SimpleNamespace

import pytest
import torch
from exhibits import plain

from ropelib import RotaryEmbedding
from ropelib.diagnosis import Finding, Report, diagnose
from ropelib.diagnosis.paths import every_position


@pytest.mark.parametrize(
    ("rotate", "error", "message"),
    [
        (3, TypeError, "rotate must be callable, got 3"),
        ((plain, 3), TypeError, "rotate of k must be callable, got 3"),
        ((plain,) * 3, TypeError, "rotate must be a function or a pair of them, got 3"),
        (lambda: 1, TypeError, r"rotate must take \(x, position_ids\): too many positional"),
        (lambda q, k, c, d: q, TypeError, "missing a required argument: .*; from_tables and"),
        (lambda x, ids, c: x, TypeError, "missing a required argument: 'c'; from_tables and"),
        (
            lambda x, ids, c: x,
            TypeError,
            r"and diagnose\(lambda x, position_ids: yours\(\.\.\.\)\) any",
        ),
        (
            lambda x, ids: None,
            TypeError,
            "got None for x .*; end it with return x, or wrap it: lam",
        ),
        (
            lambda x, ids: x.numpy(),
            TypeError,
            "got ndarray .*; wrap it: lambda .* torch.from_numpy",
        ),
        (lambda x, ids: (x, x), TypeError, "got tuple .*; of cos and sin, from_tables"),
    ],
)
def test_what_cannot_be_measured_is_refused(rotate, error, message):
    with pytest.raises(error, match=message):
        diagnose(rotate)


@pytest.mark.parametrize(
    ("rotate", "code", "message"),
    [
        (
            lambda x, ids: x[0],
            "shape-not-kept",
            "rotate must keep the shape of x, got (3, 5, 64) for x (1, 3, 5",
        ),
        (
            lambda x, ids: 1 / 0,
            "call-raises",
            "rotate raised ZeroDivisionError for x (1, 3, 5, 64) ",
        ),
        (
            lambda x, ids: x / 0,
            "not-finite",
            "rotate must return finite numbers, got others for x (1, 3, 5, 64)",
        ),
        (
            lambda x, ids: x.to("meta"),
            "device-not-kept",
            "rotate must return on the device of x, cpu, got meta",
        ),
    ],
)
def test_of_what_cannot_be_measured_one_sentence_is_reported(rotate, code, message):
    report = diagnose(rotate)
    assert (report.codes, report.ok) == ((code,), False)
    (finding,) = report.findings
    assert message in finding.sentence and "\n" not in finding.sentence and finding.cause
    assert str(report).startswith(f"This rotation could not be checked: {code}.\nwrong  {code}: ")
    assert "<table" not in report._repr_html_()


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
    report = diagnose(**options, max_position=256)
    assert report.codes == ("call-raises",) and not report.ok
    assert f" raised {type(error).__name__} for x " in report.findings[0].sentence


def of_length(length):
    """A table that ends."""

    def rotate(x, ids):
        if ids.max() >= length:
            raise IndexError(f"a table of {length}")
        return plain(x, ids)

    return rotate


def test_a_short_table_is_measured_as_far_as_it_goes():
    report = diagnose(of_length(32), max_position=100)
    assert report.ok and report.positions == 25  # 100, 50, 25 are tried
    for length, max_position in ((31, 32), (20, 100), (16, 8192), (14, 8192), (12, 8192)):
        report = diagnose(of_length(length), max_position=max_position)
        assert report.ok and report.positions == length, report
        assert report.base == pytest.approx(10_000, rel=1e-6)
        assert set(report.codes) == {"table-ends", "few-positions"}
        assert f"Positions 0 to {length - 1} alone were tried" in str(report)
    (finding,) = diagnose(of_length(11)).findings
    assert finding.code == "call-raises" and ": a table of 11. It takes" in finding.sentence
    assert "takes positions 0 to 10 and not 11" in finding.sentence
    assert "fewer than 12 positions" in finding.cause


def test_bugs_show_at_few_positions_too():
    short = {"max_position": 16}
    assert diagnose(plain, **short).codes == ("few-positions",)
    assert diagnose(lambda x, ids: plain(x, ids + 1), **short).codes == ("off-by-one",)
    for shift, code in ((0, "restarts-at-zero"), (-1, "off-by-one"), (1, "off-by-one")):

        def step(x, ids, shift=shift):
            alone = ids + shift if shift else 0 * ids
            return plain(x, alone if x.shape[2] == 1 else ids)

        assert diagnose(plain, decode=step, **short).codes == (f"decode-{code}",)


def test_what_makes_a_table_end_is_no_infinity():
    def rotate(x, ids):
        return plain(x, ids) / (ids.max() < 20)

    assert diagnose(rotate, max_position=64).codes == ("not-finite",)


def test_who_presses_control_c_is_obeyed():
    def rotate(x, ids):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        diagnose(rotate)


def test_sizes_in_a_message_name_a_bug_only_where_they_are_those_of_head_dim():
    def raises(message):
        def rotate(x, ids):
            raise RuntimeError(message)

        return rotate

    for message in ("64 and 32", "32 and 64"):
        assert diagnose(raises(message)).codes == ("tables-half-width",)
    for message, head_dim in (("64 and 33", 64), ("164 and 32", 64), ("2 and 1", 2)):
        (finding,) = diagnose(raises(message), head_dim=head_dim).findings
        assert finding.code == "call-raises" and finding.sentence.endswith(f": {message}")
    assert diagnose(raises("4 and 2"), head_dim=4).codes == ("tables-half-width",)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"head_dim": 1}, ValueError, "head_dim must be at least 2, got 1"),
        ({"head_dim": 1025}, ValueError, "head_dim must be at most 1024, got 1025"),
        ({"head_dim": "a"}, TypeError, "head_dim must be an integer, got 'a'"),
        ({"head_dim": 64.0}, TypeError, "head_dim must be an integer, got 64.0"),
        ({"max_position": 11}, ValueError, "max_position must be at least 12, got 11"),
        ({"max_position": 10**12}, ValueError, "max_position must be at most 1048576, got 1000"),
        ({"max_position": "a"}, TypeError, "max_position must be an integer, got 'a'"),
        ({"max_position": 100.5}, TypeError, "max_position must be an integer, got 100.5"),
        ({"timeout": 0}, ValueError, "timeout must be positive, got 0"),
        ({"timeout": "a"}, TypeError, "timeout must be a real number, got 'a'"),
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


def test_bugs_of_several_ways_to_call_stand_side_by_side():
    """Rows that are turned wrongly hide nothing but what they feign."""

    def rotate(x, ids):
        rows = torch.arange(len(x))[:, None] * x.shape[2]
        return plain(x, ids + rows)

    report = diagnose(rotate, decode=lambda x, ids: plain(x, 0 * ids if x.shape[2] == 1 else ids))
    assert report.codes == ("batch-rows-mixed", "decode-restarts-at-zero")


# The report is data


@pytest.mark.parametrize("position", [33, 300, 5000, 8189, 8190])
@pytest.mark.parametrize("taken_for", [-1, 1, -2, 2, -20, 0])
def test_a_single_position_that_is_wrong_is_the_one_that_is_named(position, taken_for):
    ids = torch.arange(8192)
    ids[position] = position + taken_for if taken_for else 0
    x = torch.randn(64, generator=torch.Generator().manual_seed(0))
    full = plain(x.expand(1, 1, 8192, 64), ids)
    found = every_position(SimpleNamespace(full=full, limit=8192))
    assert (found.code, found.since) == ("single-positions-wrong", position)
    assert f"Around position {position} " in found.sentence


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


@pytest.mark.parametrize(
    ("layout", "pairs"),
    [("interleaved", "pairs (2i, 2i + 1)"), ("half", "pairs (i, i + rotary_dim / 2)")],
)
def test_a_report_says_which_dimensions_are_pairs(layout, pairs):
    assert f"{layout}, {pairs}" in str(diagnose(RotaryEmbedding(64, layout=layout)))


def test_what_single_tokens_alone_overwrite_is_said_beside_where_they_stand():
    def rotate(x, ids):
        return plain(x, ids.add_(1) if x.shape[2] == 1 else ids)

    assert {"decode-off-by-one", "position-ids-overwritten"} <= set(diagnose(rotate).codes)


def test_pairs_are_said_to_turn_back_where_they_do():
    """Frequencies that are nearly the expected ones are not said to turn the other way."""
    frequencies = torch.ones(32).double() / 1.3 ** torch.arange(32)
    off = frequencies * (1 + 2e-5 * (torch.arange(32) % 2))
    report = diagnose(lambda x, ids: plain(x, ids, off), inv_freq=frequencies)
    assert report.codes[0] == "frequencies-not-as-expected"
    back = frequencies * (1 - 2 * (torch.arange(32) % 4 == 1).double())
    report = diagnose(lambda x, ids: plain(x, ids, back), inv_freq=frequencies)
    assert report.codes[0] == "direction-not-as-expected"
    assert report.findings[0].evidence == {"pairs": 8}
