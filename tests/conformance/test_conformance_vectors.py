"""The vectors: the same bytes everywhere, and the numbers that others arrive at."""

import doctest
import hashlib
import json
import math
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from toc import ROOT

from ropelib import RopeConfig, apply_rotary, reference
from ropelib.axes import axial_inv_freq, axis_of_pairs
from ropelib.config.keys import ROPE_TYPES
from ropelib.conformance import check, read, suite, write
from ropelib.conformance.build import answer, answers, integers
from ropelib.conformance.cases import all_cases
from ropelib.conformance.formulas import frequencies, parameters, rotary_dim

PAGE = (ROOT / "book" / "library" / "conformance.md").read_text("utf-8")
CASES = {case.name: case for case in all_cases()}
TYPES = {parameters(case.config).get("rope_type", "default") for case in CASES.values()}
is_axial = pytest.mark.parametrize("name", [n for n in CASES if n.startswith("axial")])
is_one_spectrum = pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("axial")])


def test_generated_twice_they_are_the_same_bytes(written, tmp_path):
    again = write(tmp_path / "made" / "here")
    assert again == written.vectors
    total = 0
    for name in ("vectors.json", "vectors.txt"):
        content = (written.folder / name).read_bytes()
        assert (tmp_path / "made" / "here" / name).read_bytes() == content
        assert content.isascii() and content.endswith(b"\n")
        total += len(content)
    assert total < 2_000_000
    assert {path.name for path in written.folder.iterdir()} == {"vectors.json", "vectors.txt"}


def with_other_cosines(monkeypatch, change):
    """Let the oracle compute with a machine whose cosine and sine are others."""
    other = SimpleNamespace(cos=lambda x: change(math.cos(x)), sin=lambda x: change(math.sin(x)))
    monkeypatch.setattr(reference, "math", other)


@pytest.mark.parametrize("toward", [-math.inf, math.inf, 0.0])
def test_another_machines_cosines_give_the_same_bytes(vectors, monkeypatch, toward):
    def other(value):
        return value if value in (0.0, 1.0) else math.nextafter(value, toward)

    with_other_cosines(monkeypatch, other)
    assert answers() == vectors["cases"]


def test_cosines_that_are_wrong_do_not(vectors, monkeypatch):
    with_other_cosines(monkeypatch, lambda value: value * (1 + 1e-8))
    assert answer(CASES["default-half"]) != vectors["cases"][0]


def test_a_number_at_the_edge_of_two_roundings_is_refused():
    case = CASES["linear-half"]
    rope = case.config["rope_parameters"] | {"factor": 4.0}  # a cosine is 0.9999999875
    with pytest.raises(ValueError, match=r"linear-half: 0\.99999998750\S+ lies at the edge of two"):
        answer(replace(case, config=case.config | {"rope_parameters": rope}))


def test_frequencies_have_more_digits_than_it_takes(monkeypatch):
    found = [frequencies(case.config, 30_000) for case in CASES.values()]
    monkeypatch.setattr("ropelib.conformance.formulas.PRECISION", 33)
    assert [frequencies(case.config, 30_000) for case in CASES.values()] == found


def test_numbers_are_those_of_the_generator_and_exact_in_every_dtype(vectors):
    numbers = integers(1)
    assert [next(numbers) for _ in range(4)] == [5, -24, -38, -89]  # as rand() of C
    for case in vectors["cases"]:
        for name in ("q", "k"):
            x = torch.tensor(case[name], dtype=torch.float64)
            assert x.abs().max() <= 4 and x.unique().numel() > 1
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                assert torch.equal(x.to(dtype).double(), x)


def test_the_page_names_these_vectors(vectors):
    (row,) = re.findall(
        r"format (\d+), generator (\d+): (\d+) cases\. The sha256 of `vectors.txt` is `(\w+)`", PAGE
    )
    numbers = [str(vectors["format"]), str(vectors["generator"]), str(len(vectors["cases"]))]
    # Where the bytes have changed, GENERATOR of files.py grows by one, and then the page.
    assert list(row) == [*numbers, vectors["sha256"]]
    name = f"format 1, generator 2, {vectors['sha256'][:12]}"
    assert f"{name}, float32, exact: {numbers[2]} of {numbers[2]} right" in PAGE


def test_the_page_links_both_files_and_says_how_large_they_are(written):
    links = re.findall(r'<a href="../../_static/conformance/([a-z.]+)" download>\1</a>', PAGE)
    assert sorted(links) == sorted(path.name for path in written.folder.iterdir())
    size = sum((written.folder / name).stat().st_size for name in links)
    assert f"hold the same, {size / 1e6:.1f} MB together" in PAGE


def test_what_the_page_says_of_its_rotation_is_so(vectors):
    """The cases with a factor are wrong, all of YaRN and LongRoPE; with the factor none is."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    examples = doctest.DocTestParser().get_examples(blocks[1])
    (source,) = (one.source for one in examples if one.source.startswith("def rotate"))

    def told(pattern):
        return int(re.search(pattern, PAGE)[1])

    def reported(source):
        exec(source, namespace := {"torch": torch, "apply_rotary": apply_rotary})
        return check(vectors, namespace["rotate"])

    report = reported(source)
    rope = {case["name"]: parameters(case["config"]) for case in vectors["cases"]}
    assert {rope[name]["rope_type"] for name in report.of("wrong")} == {"yarn", "longrope"}
    assert len(report.of("wrong")) == told(r"The (\d+) are of YaRN and LongRoPE:")
    factor = 'case["attention_factor"]'
    assert f"Multiply `cos` and `sin` by `{factor}`" in PAGE
    mended = source.replace("s.cos()", f"s.cos() * {factor}")
    mended = reported(mended.replace("s.sin()", f"s.sin() * {factor}"))
    assert mended.exact and len(mended.of("exact")) == told(r"all (\d+) that are supported are")


# What is in them


def test_every_rope_type_is_there_in_each_layout_whole_and_in_part():
    assert {*ROPE_TYPES, "axial"} - {"ntk_alpha"} == TYPES - {"ntk_alpha"}
    for layout in ("half", "interleaved"):
        for name in ("default", "linear", "dynamic-beyond", "yarn", "longrope-within", "llama3"):
            whole, part = (CASES[f"{name}-{layout}{end}"] for end in ("", "-partial"))
            assert rotary_dim(whole.config) == 2 * rotary_dim(part.config) == 16
            assert whole.layout == part.layout == layout
        assert f"ntk-alpha-{layout}" in CASES and f"proportional-{layout}" in CASES


def test_every_pair_is_turned_far_and_no_two_rows_are_alike(vectors):
    for case in vectors["cases"]:
        ids = torch.tensor(case["position_ids"])
        assert case["seq_len"] == ids.max() + 1
        rows = {tuple(ids[:, b].flatten().tolist()) for b in range(ids.shape[1])}
        assert len(rows) == ids.shape[1]
        sines = torch.tensor(case["sin"]).abs().amax(dim=(0, 1))
        stands_still = torch.tensor(case["inv_freq"]) == 0
        assert ((sines > 1e-4) | stands_still).all(), case["name"]
        assert stands_still.any() == case["name"].startswith("proportional")


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_oracles(vectors, name):
    case = next(case for case in vectors["cases"] if case["name"] == name)
    ids = torch.tensor(case["position_ids"])
    for axis in range(len(ids)):  # what one axis turns is what it turns where the others stand
        own = [f * (a == axis) for f, a in zip(case["inv_freq"], case["axis_of_pair"], strict=True)]
        for of in ("q", "k"):
            x = torch.tensor(case[of], dtype=torch.float64)
            turned = reference.rotate(x, ids[axis], own, layout=case["layout"])
            turned[..., : 2 * len(own)] *= case["attention_factor"]
            seats = torch.arange(x.shape[-1])
            pair = seats % len(own) if case["layout"] == "half" else seats // 2
            mine = torch.tensor([*case["axis_of_pair"], *(x.shape[-1] * [axis])])
            mine = mine[torch.where(seats < 2 * len(own), pair, len(own))] == axis
            expected = torch.tensor(case[f"{of}_rotated"], dtype=torch.float64)
            error = (turned - expected).abs()[..., mine]
            assert error.max() <= 1e-8 * expected.abs().max()


# What others arrive at


@is_one_spectrum
def test_frequencies_are_those_of_the_configurations_reader(vectors, name):
    case = next(case for case in vectors["cases"] if case["name"] == name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* is about images")
        config = RopeConfig.from_hf(case["config"])
    assert (config.layout, config.head_dim) == (case["layout"], case["head_dim"])
    assert config.rotary_dim == 2 * len(case["inv_freq"])
    inv_freq = torch.tensor(case["inv_freq"], dtype=torch.float64)
    torch.testing.assert_close(config.inv_freq(case["seq_len"]), inv_freq, rtol=1e-13, atol=0)
    assert config.attention_factor(case["seq_len"]) == pytest.approx(
        case["attention_factor"], rel=1e-14
    )


@is_axial
def test_axial_frequencies_are_a_spectrum_for_each_axis(name):
    inv_freq, factor = frequencies(CASES[name].config, 1)
    expected = axial_inv_freq(16, num_axes=2).tolist()
    assert inv_freq == pytest.approx(expected, rel=1e-15) and factor == 1


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("mrope")])
def test_axes_of_pairs_are_those_of_the_sections(name):
    rope = parameters(CASES[name].config)
    order = "interleaved" if rope.get("mrope_interleaved") else "chunked"
    assert list(CASES[name].axis_of_pair) == axis_of_pairs(rope["mrope_section"], order=order)


# Files


def test_the_plain_form_holds_the_same(written):
    text = (written.folder / "vectors.txt").read_text("ascii")
    assert hashlib.sha256(text.encode()).hexdigest() == written.vectors["sha256"]
    head, *cases = text.split("name 1 ")
    assert head == "format 1 1\ngenerator 1 2\n"
    assert len(cases) == len(written.vectors["cases"])
    for lines, case in zip(cases, written.vectors["cases"], strict=True):
        rows = [line.split() for line in f"name 1 {lines}".splitlines()]
        assert all(len(words) == int(count) < 4096 for _, count, *words in rows)
        found = {key: words for key, _, *words in rows}
        q, k, ids = (torch.tensor(case[name]) for name in ("q", "k", "position_ids"))
        shape = [*ids.shape[:2], q.shape[1], k.shape[1], q.shape[2]]
        assert [int(word) for word in found.pop("shape")] == shape
        assert found.pop("name") == [case["name"]] and found.pop("layout") == [case["layout"]]
        assert json.loads(found.pop("config")[0]) == case["config"]
        for key, words in found.items():
            expected = torch.tensor(case[key], dtype=torch.float64).flatten().tolist()
            assert [float(word) for word in words] == expected, key
        assert [key for key, *_ in rows] == [
            *("name", "config", "layout", "shape", "head_dim", "seq_len", "inv_freq"),
            *("attention_factor", "axis_of_pair", "position_ids", "cos", "sin", "q", "k"),
            *("q_rotated", "k_rotated"),
        ]


def test_what_is_read_is_what_was_written(written):
    assert read(written.folder / "vectors.json") == written.vectors == suite()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v | {"format": 2}, "format of the vectors must be 1, got 2"),
        (lambda v: [v], r"format of the vectors must be 1, got \["),
        (lambda v: v | {"sha256": "0"}, "sha256 of the cases must be 0, got [0-9a-f]{64}"),
        (lambda v: v | {"cases": v["cases"][1:]}, "sha256 of the cases must be"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(written, tmp_path, change, message):
    vectors = json.loads((written.folder / "vectors.json").read_text("ascii"))
    (tmp_path / "v.json").write_text(json.dumps(change(vectors)), "ascii")
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "v.json")


def test_an_unknown_rope_type_is_named():
    with pytest.raises(ValueError, match=r"rope_type must be one of default, .*, got 'new'"):
        frequencies({"head_dim": 4, "rope_parameters": {"rope_type": "new", "rope_theta": 1e4}}, 1)
