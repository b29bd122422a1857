"""Every exhibit gets its verdict; every right rotation is measured; every finding is shown."""

import ast
import functools
import html
import math
import re
from pathlib import Path

import pytest
from exhibits import EXHIBITS, PLAIN, YARN_FACTOR, plain, yarn

from ropelib import diagnosis, inv_freq
from ropelib.diagnosis import diagnose
from ropelib.diagnosis.codes import CODES, grouped, markdown
from ropelib.diagnosis.guards import UNMEASURED

RIGHT = [e for e in EXHIBITS if e.code is None]
WRONG = [e for e in EXHIBITS if e.code is not None]


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
    "positions in bfloat16": {"since": 257, "largest angle error": 3},
    "positions of 11 bits": {"since": 2049, "largest angle error": 1},
    "positions in float16": {"since": 2049, "largest angle error": 1},
    "model.bfloat16() takes the frequencies along": {"base, about": 10_000},
    "model.half() takes the frequencies along": {"base, about": 10_000},
    "small frequencies in float16": {"base, about": 500_000},
    "V-JEPA 2, transformers": {
        "frequency of dimension 0": 1,
        "of its partner": 10_000 ** (-1 / 32),
    },
    "neighbors' angles on halves": {"frequency of dimension 0": 1, "of its partner": 10_000**-0.5},
    "heads beyond 96 are not turned": {"first wrong head": 96, "of": 257},
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
    "a mean in place of a sum": {"attention factor": 0.5**0.5, "expected": 1.2},
    "a table grown without its factor (sglang 38786)": {"since": 4097, "before": 1.2, "after": 1},
    "what does not rotate is scaled too": {"scale of all": 1.2},
    "what does not turn comes out as zeros": {"dimensions": 32, "factor": 0},
    "what does not turn comes out an eighth": {"dimensions": 32, "factor": 1 / 8},
    "slow pairs without their sine": {"dimensions": 32},
    "slow neighbors without their sine": {"dimensions": 16},
    "q is (rope, nope) and k (nope, rope)": {"dimensions that turn in both": 0},
    "slow pairs weigh less": {"smallest scale": 0.5, "largest scale": 1},
    "a decay over positions": {"smallest length": 0.999**128, "largest length": 1},
    "sinusoids added": {"largest entry": 1},
    "nothing rotated": {"largest change": 0},
    "off by one": {"since": 0, "shift": 1},
    "three late": {"since": 0, "shift": 3},
    "late by the tokens of the call (mlx-lm 1097)": {
        "since": 0,
        "shift with 9 tokens": 9,
        "shift with 27 tokens": 27,
    },
    "an offset read after the new tokens but one": {
        "shift with 9 tokens": 8,
        "shift with 10 tokens": 9,
    },
    "columns counted from 1 (vmlx-swift 225)": {"since": 0, "shift of axis 2": 1},
    "rows three late, columns five": {"shift of axis 1": 3, "shift of axis 2": 5},
    "frames counted twice (CogVideo 538)": {"ratio of axis 0": 2},
    "frames eight times as fast": {"ratio of axis 0": 8},
    "theta lost on all axes (diffusers 10115)": {
        f"{what} of axis {axis}": base
        for what, base in (("base", 10_000), ("expected", 2000))
        for axis in range(3)
    },
    "theta lost on the axis of columns": {
        "base of axis 2": 10_000,
        "expected of axis 2": 500_000,
    },
    "a layer without positions is rotated (transformers 43756)": {
        "dimensions that turn": 64,
        "expected": 0,
    },
    "exponents of a head of 96 (transformers 32495)": {"exponents times": 64 / 96},
    "half a token late": {"since": 0, "shift": 0.5},
    "half a radian added to every angle": {"largest angle at position 0": 0.5},
    "the square of the position": {"since": 1},
    "a degree more at odd positions": {"change of scores at one distance": 2 * math.radians(1)},
    "single tokens at position 0": {"since": 8},
    "a decode step one late": {"since": 8, "shift": 1},
    "a decode step that forgets the prompt": {"since": 8, "shift": -8},
    "a decode step that turns back": {"since": 1},
    "dynamic NTK with a cache of old keys": {"since": 0},
    "steps of two in decoding alone": {"since": 17},
    "single tokens beyond position 512 one late": {"since": 1023},
    "a step at the first slot of a page of 1024": {"since": 1024},
    "k by the remainder, 32 heads on 8": {"heads": 8, "of the other": 32},
    "one k for six in a step of one token": {"heads": 1, "of the other": 6, "tokens": 1},
    "the gradient of one head of k": {"heads": 2, "of the other": 8},
    "table clamped at 2048": {"since": 2048},
    "table wraps around at 2048": {"since": 2048},
    "a table of 3000 rows, clamped": {"since": 3000},
    "a table of 2000 rows that wraps around": {"since": 2000},
    "YaRN's ramp inverted (litgpt)": {"factor": 8},
    "YaRN's ramp inverted, against a configuration": {"factor": 8},
    "YaRN without its factor": {"attention factor": 1, "expected": YARN_FACTOR},
    "scaling not read from the configuration": {
        "pair": 31,
        "measured": 10_000 ** (-31 / 32),
        "expected": 10_000 ** (-31 / 32) / 8,
    },
    "linear scaling multiplied": {"ratio": 4},
    "multiplied by 8, against a configuration": {"ratio": 8},
    "YaRN multiplied by 4, against a configuration": {"ratio": 4},
    "positions doubled": {"multiplied by": 2},
    "linear scaling by 4 multiplied": {"multiplied by": 4},
    "degrees made of radians": {"multiplied by": math.degrees(1)},
    "halves of k change places as they come out": {"dimensions that come out elsewhere": 64},
    "k alone has a factor": {"factor of q": 1, "factor of k": 1.5},
    "k alone has the factor that both should have": {"factor of q": 1, "factor of k": 1.2},
    "base lost": {"base": 10_000, "expected": 500_000},
    "half as wide as expected": {"dimensions that turn": 64, "expected": 32},
    "one frequency off": {"pair": 3, "measured": 10_000 ** (-3 / 32)},
    "another factor": {"attention factor": 1.1, "expected": 1.2},
    "k turns with another base": {"largest relative difference": 2 ** (31 / 32) - 1},
    "k off by one": {"since": 0, "shift": 1},
    "rows after the first stay zero (MLX 3494)": {"largest entry of other rows": 0},
    "powers of two only (vllm-ascend 12723)": {"width": 80},
    "width 128: nothing turns": {"width": 128},
    "one late: heads by sixteens": {"heads": 32},
    "one late: single tokens in rows by fours": {"rows": 8, "tokens": 1},
    "one late: 512 tokens": {"tokens": 512},
    "frequencies never filled: one entry zero": {"pairs that turn": 31, "of": 32},
    "frequencies never filled: the first alone is there": {"pairs that turn": 1, "of": 32},
    "p-RoPE paired within its part (Megatron-Bridge 4195)": {
        "distance of partners": 8,
        "expected": 32,
    },
    "partial rotation paired across the head": {"distance of partners": 32, "expected": 8},
    "q and k clockwise": {"direction": -1, "expected": 1},
    "the sine of the next pair": {"shift": 1, "pairs": 31, "of": 32},
    "sine read four columns late (vllm-ascend 12723)": {"shift": 4, "pairs": 28, "of": 32},
    "a grid of whole blocks of 2 tokens": {"tokens": 8191, "not turned": 1},
    "a grid of whole blocks of 32 tokens": {"tokens": 8191, "not turned": 31},
    "a grid of whole blocks of 128 tokens, zeros behind": {"tokens": 8191, "not turned": 127},
    "other positions from 3000 tokens on": {"tokens": 8192, "right up to": 2046},
    "LongRoPE by the tokens of the call, from 2048 on": {"position": 8191},
    "a later chunk stands at its last position": {"tokens": 7, "begins at": 5},
    "a later chunk of decoding stands at its last position": {"tokens": 2, "begins at": 16},
    "slot 15 is that of 14, of 16 tokens and more": {"wrong tokens": 1, "first wrong token": 15},
    "two tokens exchanged, of more than 64": {"wrong tokens": 2, "first wrong token": 64},
    "a row of zeros before the table, for a class token": {"first position that differs": 2},
    "257 rows of zeros before the table (ControlAR 18)": {
        "since": 0,
        "first position that differs": 258,
    },
    "one position alone is another": {"since": 4097, "largest angle error": 1},
    "the length is read from the heads (mlx-lm 1553)": {"heads": 66},
    "a call of 2 rows, 3 heads and 8 tokens": {"rows": 2, "heads": 3, "tokens": 8},
    "exponents over the whole head": {"base": 1e6 ** (1 / 4), "base over the head": 1e6},
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
        "  positions         62 of 0 to 8191 probed",
        "wrong  last-pair-not-rotated: The slowest pair stands still while all others turn. If "
        "that is meant, say so: inv_freq= or expected=.",
        "       measured: pairs 31, slowest frequency 0.000177828",
        "       usual cause: a loop or a slice that ends one pair early",
        "       mend: Count pairs from 0 to d/2 - 1, both included.",
    ]
    assert str(report_on("minus sign forgotten")).splitlines()[1:7] == [
        "  layout            not measured",
        "  rotary_dim        not measured",
        "  inv_freq          not measured",
        "  direction         not measured",
        "  attention_factor  not measured",
        "  positions         62 of 0 to 8191 probed",
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
    assert profile == "not geometric: -0.749894 to 1 rad/token"


def test_what_a_bug_makes_of_base_and_factor_is_no_measure():
    report = report_on("sine read four columns late (vllm-ascend 12723)")
    assert report.base is report.inv_freq is report.attention_factor is None
    assert "  inv_freq          not measured\n" in str(report)
    assert "28 of 32 pairs" in str(report) and ", 4 have no sine" in str(report)
    assert "of 32 pairs" in str(report_on("the sine of the pair before"))


@pytest.mark.parametrize("name", ["position 0 clamped to 1", "position 0 taken for padding"])
def test_frequencies_are_not_measured_from_a_position_that_is_lost(name):
    report = report_on(name)
    assert report.profile == "geometric with base 10000"
    assert report.inv_freq.tolist() == pytest.approx(PLAIN.tolist(), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "until"),
    [
        ("a table that the first row alone lets grow", "until a first row has held one as far."),
        ("a table that the last token alone lets grow", "until a call has ended with one as far."),
        ("2048 rows that the first row alone lets grow", "in its first row, or at its end."),
    ],
)
def test_who_lets_a_table_grow_is_said_where_it_is_seen(name, until):
    assert report_on(name).findings[0].sentence.endswith(until)


def test_how_coarse_frequencies_are_is_measured():
    def told(sentence):
        return [
            float(number) for number in re.findall(r"([\d.]+)% .* after (\d+) turns", sentence)[0]
        ]

    for name, base, small in (
        ("model.half() takes the frequencies along", 10_000, 0),
        ("small frequencies in float16", 500_000, 8),
    ):
        sentence, exact = report_on(name).findings[0].sentence, inv_freq(64, base)
        error = float((exact.half() / exact - 1).abs().max())
        assert told(sentence) == pytest.approx([100 * error, 1 / error], rel=0.05)
        fewer = f"bits, {small} of 32 to fewer, as they are below 6.1e-05: angles"
        assert (fewer if small else "bits: angles") in sentence and "at most" in sentence
    slow = yarn(factor=64.0).half().double()  # two series: how exact they were, nothing tells
    sentence = diagnose(lambda x, ids: plain(x, ids, slow)).findings[0].sentence
    step = 2.0**-24 / float(slow[-1])
    assert told(sentence.replace("up to ", "")) == pytest.approx([50 * step, 2 / step], rel=0.05)
    assert "by up to" in sentence


def test_a_frequency_beyond_half_a_turn_is_said_to_be_taken_for_more():
    multiplied = report_on("linear scaling by 4 multiplied")
    assert "taken for 4 rad/token" in multiplied.findings[0].sentence
    assert f"modulo a turn, it is {4 - 2 * math.pi:.6g}." in multiplied.findings[0].sentence
    assert multiplied.profile == "geometric with base 10000, multiplied by 4"
    assert "modulo" not in report_on("positions doubled").findings[0].sentence


def test_what_factors_of_q_and_k_do_to_scores_is_their_product():
    alone, missing, more = (
        report_on(name).findings[0].sentence
        for name in (
            "k alone has a factor",
            "k alone has the factor that both should have",
            "k alone has a factor, and none is expected",
        )
    )
    assert "1 for q and by 1.5 for k: scores by 1.5. " in alone
    assert f"scores are {1 / 1.2:.6g} times what" in missing
    assert "expected 1 for both: scores are 1.5 times what" in more


def test_a_shift_has_its_own_cause():
    names = ("off by one", "three late", "a decode step one late")
    for name in (*names, "a decode step that forgets the prompt"):
        finding = report_on(name).findings[0]
        assert CODES[finding.code].cause.split(", ")[0] in finding.cause


@pytest.mark.parametrize(("part", "frequencies"), [(16, 16), (32, 32), (48, 32)])
def test_columns_cut_from_wider_tables_are_told_as_such(part, frequencies):
    (finding,) = report_on(f"{part} columns of tables over the whole head").findings
    assert f"The {part} dimensions that turn have {frequencies} freq" in finding.sentence
    assert f"cat(freqs, freqs), of which {part} columns" in finding.cause
    assert ("arange(dim)" in finding.cause) == (part < 48)  # the same numbers, without arange's 2
    assert "columns" not in report_on("one half's angles in reverse").findings[0].cause


def test_a_cause_and_a_mend_hold_for_all_that_have_the_code():
    early = "a loop that ends"
    assert early in CODES["slow-pairs-stand-still"].cause
    assert "ends one pair early" in report_on("p-RoPE, one pair stands still").findings[0].sentence
    assert "cut off" in report_on("cut off at 8").findings[0].cause
    assert "inv_freq[0]" not in CODES["frequencies-unfilled"].fix


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
            assert finding.fix in text and bool(finding.fix) == (finding.severity == "wrong")
            assert all(name in text for name in finding.evidence)
    tags = re.findall(r"</?(\w+)", report._repr_html_())
    assert all(tags.count(tag) % 2 == 0 for tag in set(tags) - {"br"})


def test_there_are_enough_exhibits_and_codes_are_stable_words():
    assert len(RIGHT) >= 40 and len(WRONG) >= 100
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


def test_every_code_is_in_the_table_and_the_table_on_its_page():
    severities = {e.code: "wrong" for e in WRONG} | {n: "note" for e in RIGHT for n in e.notes}
    assert {name: code.severity for name, code in CODES.items()} == severities
    for code in CODES.values():
        assert code.sentence.endswith(".") and code.cause
        assert re.fullmatch(r"[A-Z].*\.", code.fix)
    page = Path(__file__).parents[2] / "book/codes.md"
    assert markdown() in page.read_text("utf-8")


def test_a_heading_has_bugs_or_notes_and_each_code_stands_under_one(monkeypatch):
    told = [code for codes in grouped().values() for code in codes]
    assert sorted(told) == sorted(CODES)
    for codes in grouped().values():
        assert len({CODES[code].severity for code in codes}) == 1
    assert "\n\n## Positions\n\n| wrong |" in markdown()
    # The command line calls these, and no others, "could not be checked".
    assert grouped()["It cannot be measured"] == list(UNMEASURED)
    assert all("gradient" in code or "training" in code for code in grouped()["Training"])
    for severity, beside in (("wrong", "off-by-one"), ("note", "partial")):  # one more of each
        more = {}
        for code, one in CODES.items():
            more[code] = one
            if code == beside:
                more[f"new-{severity}"] = one
        monkeypatch.setattr("ropelib.diagnosis.codes.CODES", more)
        (where,) = (codes for codes in grouped().values() if f"new-{severity}" in codes)
        assert where[where.index(f"new-{severity}") - 1] == beside
        monkeypatch.undo()
