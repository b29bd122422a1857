"""The check: what is right has its grade, what is wrong is named, by anybody's rotation."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

from ropelib import RopeConfig, apply_rotary
from ropelib.__main__ import main
from ropelib.conformance import Report, Verdict, check, read
from ropelib.conformance.checker import GRADES

OTHER = {"interleaved": "half", "half": "interleaved"}
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def angles_of(position_ids, case, dtype=torch.float64):
    """`(rows, tokens, pairs)`: each pair by the position on its axis."""
    axes = position_ids if position_ids.dim() == 3 else position_ids[None]
    inv_freq = torch.tensor(case["inv_freq"], dtype=dtype)
    return torch.stack([axes[a] for a in case["axis_of_pair"]], dim=-1).to(dtype) * inv_freq


def tables_of(position_ids, case, dtype=torch.float64):
    angles = angles_of(position_ids, case, dtype)
    return tuple((case["attention_factor"] * t).float() for t in (angles.cos(), angles.sin()))


def rotate(x, position_ids, case):
    return apply_rotary(x, *tables_of(position_ids, case), layout=case["layout"])


def frequencies(case):
    rope = case["config"].get("rope_parameters", {})
    if rope.get("rope_type") == "axial" or "mrope_section" in rope:
        return case["inv_freq"], case["attention_factor"]
    config = RopeConfig.from_hf(case["config"])
    return config.inv_freq(case["seq_len"]), config.attention_factor(case["seq_len"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_right_is_exact(vectors, dtype):
    report = check(vectors, rotate, frequencies=frequencies, dtype=dtype)
    assert report.ok and report.exact, report
    assert len(report.of("exact")) == len(vectors["cases"])
    assert 0.1 < max(verdict.error for verdict in report.verdicts) <= 1


def test_angles_in_float32_have_a_grade_of_their_own(vectors):
    def rounded(x, position_ids, case):
        tables = tables_of(position_ids, case, torch.float32)
        return apply_rotary(x, *tables, layout=case["layout"])

    report = check(vectors, rounded)
    assert report.ok and not report.exact
    assert set(report.of("exact")) >= {"from-zero-half", "packed-interleaved"}
    assert set(report.of("float32 angles")) >= {"default-half", "far-half", "llama-3.1"}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_tables_of_16_bits_too(vectors, dtype):
    def rounded(x, position_ids, case):
        cos, sin = (t.to(dtype) for t in tables_of(position_ids, case))
        return apply_rotary(x, cos.float(), sin.float(), layout=case["layout"])

    report = check(vectors, rounded, dtype=dtype)
    assert report.ok and len(report.of("rounded between")) > 0.9 * len(vectors["cases"])
    assert not check(vectors, rounded).of("rounded between"), "float32 has no such grade"


def with_tables(change):
    def changed(x, position_ids, case):
        cos, sin = change(*tables_of(position_ids, case), position_ids, case)
        return apply_rotary(x, cos, sin, layout=case["layout"])

    return changed


def first_row_for_all(x, position_ids, case):
    return rotate(x, position_ids[..., :1, :].expand_as(position_ids), case)


def first_axis_for_all(x, position_ids, case):
    return rotate(x, position_ids[:1].expand_as(position_ids), case)


def contiguous_from_the_first(x, position_ids, case):
    count = torch.arange(position_ids.shape[-1])
    return rotate(x, position_ids[..., :1] + count, case)


def by_head(x, position_ids, case):
    heads = [rotate(x[:, h : h + 1], position_ids + h, case) for h in range(x.shape[1])]
    return torch.cat(heads, dim=1)


def whole_head(x, position_ids, case):
    cos, sin = tables_of(position_ids, case)
    missing = (x.shape[-1] - 2 * cos.shape[-1]) // 2
    pad = torch.nn.functional.pad
    cos, sin = pad(cos, (0, missing), value=1.0), pad(sin, (0, missing))
    return apply_rotary(x, cos, sin, layout=case["layout"])


def with_factor(power):
    return with_tables(
        lambda c, s, _, case: [t * case["attention_factor"] ** power for t in (c, s)]
    )


# Bugs that were shipped, and what is in the names of the cases that notice, all of them.
BUGS = {
    "backward": (with_tables(lambda c, s, *_: (c, -s)), ""),
    "layout": (
        lambda x, i, case: apply_rotary(x, *tables_of(i, case), layout=OTHER[case["layout"]]),
        "yarn",
    ),
    "counted from one": (lambda x, i, case: rotate(x, i + 1, case), ""),
    "one row for the batch": (first_row_for_all, "one-token-per-row"),
    "positions ignored": (contiguous_from_the_first, "packed"),
    "a head like no other": (by_head, "default"),
    "factor left out": (with_factor(-1), "mscale"),
    "factor twice": (with_factor(1), "longrope-within"),
    "one axis for all": (first_axis_for_all, "mrope"),
    "height for width": (
        lambda x, i, case: rotate(x, i.flip(0) if i.dim() == 3 else i, case),
        "axial",
    ),
    "paired over the whole head": (whole_head, "default-half-partial"),
    "positions in bfloat16": (
        lambda x, i, case: rotate(x, i.to(torch.bfloat16).to(torch.int64), case),
        "default",
    ),
    "angles in float16": (
        lambda x, i, case: apply_rotary(
            x, *tables_of(i.clamp_max(65504), case, torch.float16), layout=case["layout"]
        ),
        "yarn",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_noticed_by_the_cases_made_for_it(vectors, bug):
    wrong, part = BUGS[bug]
    report = check(vectors, wrong)
    assert not report.ok
    assert [name for name in report.of("exact") if part in name] == []
    assert report.of("wrong") and "worst in" in str(report)


def alone_at_0(x, position_ids, case):
    alone = position_ids.shape[-1] == 1
    return rotate(x, torch.zeros_like(position_ids) if alone else position_ids, case)


def repeated_counted_on(x, position_ids, case):
    repeats = torch.nn.functional.pad(position_ids.diff(dim=-1) == 0, (1, 0))
    return rotate(x, position_ids + repeats.long(), case)


# The page's table: a bug -> what is in the names of the cases that notice it, and of no others.
FEW = {
    "a table that ends at position 131071, and is read by a clamp": (
        lambda x, i, case: rotate(x, i.clamp_max(131071), case),
        "far-",
    ),
    "positions in int16": (
        lambda x, i, case: rotate(x, i.short().long(), case),
        "far- llama-3.1 gpt-oss deepseek-v3",
    ),
    "a token that comes alone turned as position 0": (
        alone_at_0,
        "llama-3.1 gpt-oss deepseek-v3 one-token-per-row width-128",
    ),
    "axes in reverse order": (BUGS["height for width"][0], "mrope axial"),
    "a position that repeats the one before counted on": (
        repeated_counted_on,
        "mrope axial left-padded",
    ),
    "halves paired over the whole head, of which a part turns": (
        whole_head,
        "-half-partial of-12-half of-80-half of-96-half in-turns-partial",
    ),
}


@pytest.mark.parametrize("bug", FEW)
def test_few_cases_notice_what_the_page_says(vectors, bug):
    wrong, parts = FEW[bug]
    noticed = check(vectors, wrong).of("wrong")
    names = [case["name"] for case in vectors["cases"]]
    assert list(noticed) == [n for n in names if any(part in n for part in parts.split())]
    page = Path(__file__).parents[2] / "book" / "library" / "conformance.md"
    assert f"| {len(noticed)} | {bug} |" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("rope_type", "others"), [("yarn", "linear"), ("llama3", "linear"), ("dynamic", "default")]
)
def test_frequencies_of_another_method_are_wrong(vectors, rope_type, others):
    def theirs(case):
        rope = case["config"].get("rope_parameters", {})
        if rope.get("rope_type") != rope_type or "alpha" in rope or "mrope_section" in rope:
            raise NotImplementedError(rope_type)
        rope = {k: v for k, v in rope.items() if k in ("rope_theta", "partial_rotary_factor")}
        rope |= {"rope_type": others} | ({"factor": 8.0} if others == "linear" else {})
        config = RopeConfig.from_hf(case["config"] | {"rope_parameters": rope})
        return config.inv_freq(), config.attention_factor()

    report = check(vectors, rotate, frequencies=theirs)
    within = [name for name in report.of("exact") if name.startswith("dynamic-within")]
    assert report.of("exact") == tuple(within), "up to the trained length dynamic is default"
    assert len(report.of("wrong")) >= 4 and "worst in" in str(report)


def test_what_is_no_rotation_is_reported_and_does_not_stop_the_rest(vectors):
    def strange(x, position_ids, case):
        kinds = {
            "default-half": lambda: 1 / 0,
            "linear-half": lambda: x[..., :2],
            "yarn-half": lambda: x.to(torch.float64),
            "llama3-half": lambda: x * torch.nan,
            "axial-half": lambda: NotImplementedError("no images"),
        }
        found = kinds.get(case["name"], lambda: rotate(x, position_ids, case))()
        if isinstance(found, Exception):
            raise found
        return found

    report = check(vectors, strange)
    notes = {v.name: v.note for v in report.verdicts if v.grade != "exact"}
    assert notes["default-half"] == "it raised ZeroDivisionError: division by zero"
    assert notes["linear-half"] == "shape of q must be (2, 2, 3, 16), got (2, 2, 3, 2)"
    assert notes["yarn-half"] == "dtype of q must be torch.float32, got torch.float64"
    assert notes["llama3-half"] == "worst in q[0][0][0][0]" and notes["axial-half"] == "no images"
    assert report.of("wrong") == ("default-half", "linear-half", "yarn-half", "llama3-half")
    assert report.of("not supported") == ("axial-half",) and not report.ok


def test_arrays_of_numpy_are_taken_and_x_may_be_written_to(vectors):
    def in_place(x, position_ids, case):
        x[:] = rotate(x.clone(), position_ids, case)
        return np.asarray(x)

    assert check(vectors, in_place).exact


def test_nothing_supported_is_not_right(vectors):
    def refuse(*_):
        raise NotImplementedError

    report = check(vectors, refuse)
    assert not report.ok and not report.exact
    assert len(report.of("not supported")) == len(vectors["cases"])
    assert not Report("", "float32", ()).ok


@pytest.mark.parametrize("frequency", [[1.0], [[1.0] * 8]])
def test_frequencies_of_another_shape_are_wrong(vectors, frequency):
    report = check(
        vectors | {"cases": vectors["cases"][:1]}, rotate, frequencies=lambda case: (frequency, 1)
    )
    (verdict,) = report.verdicts
    assert verdict.note.startswith("inv_freq must have shape (8,), got (1")


def test_a_flipped_sign_anywhere_is_not_exact(vectors):
    """Of each kind of number, one after the other, in cases of every shape."""
    names = ("default-half", "yarn-interleaved-partial", "mrope-in-turns", "axial-interleaved")
    for case in (case for case in vectors["cases"] if case["name"] in names):
        for key in ("inv_freq", "position_ids", "q", "k", "q_rotated", "k_rotated"):
            flat = torch.tensor(case[key], dtype=torch.float64)
            for place in flat.nonzero()[::3].tolist():
                flipped = flat.clone()
                flipped[tuple(place)] *= -1
                if key == "position_ids":
                    flipped = flipped.long()
                changed = copy.copy(case) | {key: flipped.tolist()}
                assert not check(vectors | {"cases": [changed]}, rotate).exact, (key, place)


def test_a_report_says_how_many_and_which():
    verdicts = [Verdict(f"case-{i}", "wrong", 2.0, "worst in q[0]") for i in range(20)]
    told = str(Report("0123456789abcdef", "bfloat16", (*verdicts, Verdict("last", "exact", 0.5))))
    assert told.startswith("21 cases in bfloat16, vectors 0123456789ab: 1 exact, 20 wrong\n")
    assert "  wrong            case-0: 2 of what exact allows, worst in q[0]\n" in told
    assert told.endswith("\n  and 8 more") and "last" not in told
    assert GRADES[0] == "exact"


def test_the_command_writes_what_can_be_checked(written, tmp_path, capsys):
    assert main(["conformance", "--out", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"sha256 of vectors.txt {written.vectors['sha256']}\n")
    assert read(tmp_path / "new" / "vectors.json") == written.vectors
    assert check(tmp_path / "new" / "vectors.json", rotate).exact


def test_the_command_says_in_one_line_why_it_could_not(tmp_path, capsys):
    (tmp_path / "file").write_text("", "ascii")
    assert main(["conformance", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("python -m ropelib conformance: ")
