"""The census: what is recorded is what the installed transformers gives, and the page has all."""

import importlib
import inspect
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
import transformers
from bs4 import BeautifulSoup
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ropebook.census import survey
from ropebook.census.__main__ import main
from ropebook.census.page import (
    COLUMNS,
    PARTS,
    ROTATES_BESIDE,
    breakable,
    dimensions,
    others,
    row,
)
from ropebook.census.picture import BARS, picture, said_of, still
from ropebook.census.survey import RUNS_WITH
from ropelib import RopeConfig, inv_freq
from ropelib.config.model_types import NEEDS

CENSUS = survey.recorded()
INSTALLED = transformers.__version__ == CENSUS["transformers"]


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
def test_the_recorded_census_is_that_of_the_installed_transformers(capsys, monkeypatch):
    taken = survey.survey()
    assert taken == CENSUS
    monkeypatch.setattr(survey, "survey", lambda: taken)
    assert main([]) == 0 and "holds" in capsys.readouterr().out
    monkeypatch.setattr(survey, "survey", lambda: taken | {"parts": {}})
    assert main([]) == 1 and "--write" in capsys.readouterr().out


def test_what_is_written_is_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "survey", lambda: {"rotating": {"a": []}})
    survey.write(tmp_path / "census.json")
    assert survey.recorded(tmp_path / "census.json") == {"rotating": {"a": []}}


def page(census):
    """All that the page is made of, in its order."""
    prose = (survey.RECORDED.parents[1] / "practice/census.md").read_text("utf-8")
    parts = re.findall(r"^```\{census\} (\w+)$", prose, re.MULTILINE)
    assert parts == list(PARTS)
    return "".join(PARTS[part](census) for part in parts)


def test_the_page_has_every_model_type_once():
    markup = BeautifulSoup(page(CENSUS), "html.parser")
    for item in markup.select("figure li"):
        item.decompose()
    bodies = [body.th.code.get_text() for body in markup.select("tbody")]
    listed = [item.code.get_text() for item in markup.select("li")]
    assert max(Counter(bodies + listed).values()) == 1
    assert bodies == list(CENSUS["rotating"])
    if INSTALLED:
        assert {*bodies, *listed} == set(CONFIG_MAPPING.keys())
    assert len(page(CENSUS)) < 200_000
    for line in markup.select("tbody tr"):
        assert [cell["data-label"] for cell in line.select("td")] == list(COLUMNS[1:])


def test_a_row_says_what_was_read():
    kinds = CENSUS["rotating"]["gemma3_text"]
    lines = BeautifulSoup(row("gemma3_text", kinds), "html.parser").select("tr")
    said = [[cell.get_text() for cell in line.select("th, td")] for line in lines]
    assert {tuple(cells) for cells in said} == {
        ("gemma3_text full attention", "half", "all 256", "1,000,000", "none", "4 of 26"),
        ("gemma3_text sliding attention", "half", "all 256", "10,000", "none", "22 of 26"),
    }
    glm = BeautifulSoup(row("glm4", CENSUS["rotating"]["glm4"]), "html.parser")
    cells = [cell.get_text() for cell in glm.select("td")]
    assert cells == ["interleaved", "64 of 128", "10,000", "none", "all 40"]
    unsaid = [CENSUS["rotating"]["glm4"][0] | {"layers": None, "num_layers": None}]
    assert ">not said<" in row("glm4", unsaid)
    assert breakable("a<b → c_d") == "<code>a&lt;b</code> → <code>c_<wbr>d</code>"


def bases(kinds):
    """The bases of the kinds of layers that a type has; of all kinds, where it has none."""
    return {one["base"] for one in kinds if one["layers"] != 0} or {one["base"] for one in kinds}


SLOWER = {"linear", "dynamic", "yarn", "longrope", "llama3"}

# What the bars count, counted in another way.
COUNTED = {
    "half": lambda kinds: {one["layout"] for one in kinds} == {"half"},
    "interleaved": lambda kinds: {one["layout"] for one in kinds} == {"interleaved"},
    "whole-head": lambda kinds: all(dimensions(one).startswith("all ") for one in kinds),
    "part-of-the-head": lambda kinds: any(" of " in dimensions(one) for one in kinds),
    "plain-base": lambda kinds: bases(kinds) == {10_000},
    "two-bases": lambda kinds: 10_000 in bases(kinds) and len(bases(kinds)) == 2,
    "another-base": lambda kinds: 10_000 not in bases(kinds),
    "never-scaled": lambda kinds: SLOWER.isdisjoint(one["scaling"] for one in kinds),
    "scaled": lambda kinds: not SLOWER.isdisjoint(one["scaling"] for one in kinds),
    "every-layer": lambda kinds: (
        all(one["layers"] for one in kinds[:1])
        and sum(one["layers"] for one in kinds) == kinds[0]["num_layers"]
    ),
    "some-layers": lambda kinds: (
        all(one["layers"] is not None for one in kinds)
        and 0 < sum(one["layers"] for one in kinds) < kinds[0]["num_layers"]
    ),
    "layers-not-said": lambda kinds: all(one["layers"] in (None, 0) for one in kinds),
}


def test_the_picture_counts_what_the_census_has():
    bars = BeautifulSoup(picture(CENSUS), "html.parser").select(".census-bar")
    rotating = CENSUS["rotating"].values()
    every = len(rotating) + len(CENSUS["parts"]) + sum(map(len, CENSUS["others"].values()))
    heads = [bar.p.get_text() for bar in bars]
    assert heads == [f"All {every} model types", *BARS]
    shown = {}
    for bar, whole in zip(bars, [every] + [len(rotating)] * len(BARS), strict=True):
        counts = [int(item.strong.get_text()) for item in bar.select("li")]
        assert sum(counts) == whole and min(counts) > 0
        drawn = [int(piece["style"].split()[-1]) for piece in bar.select(".census-pieces a")]
        assert drawn == counts
        for item, piece, count in zip(
            bar.select("li a"), bar.select(".census-pieces a"), counts, strict=True
        ):
            assert piece["href"] == item["href"] and piece["title"] == " ".join(
                item.get_text().split()
            )
            shown[item.get("data-said") or item["href"]] = count
    assert {said: shown[said] for said in COUNTED} == {
        said: sum(map(counted, rotating)) for said, counted in COUNTED.items()
    }
    assert shown["#types-that-rotate"] == len(rotating)
    assert shown["#types-read-by-their-text"] == len(CENSUS["parts"])
    stand = BeautifulSoup(PARTS["still"](CENSUS), "html.parser").select("li")
    assert shown["#types-that-do-not-rotate"] == len(stand)


def test_the_caption_says_what_the_bars_show():
    shown = BeautifulSoup(picture(CENSUS), "html.parser")
    counts = [
        [int(n.get_text()) for n in bar.select("strong")] for bar in shown.select(".census-bar")
    ]
    assert 2 * counts[0][-1] > sum(counts[0])  # do not rotate
    assert all(2 * first > sum((first, *rest)) for first, *rest in counts[1:])
    first = ("half", "whole-head", "plain-base", "never-scaled", "every-layer")
    usual = [
        kinds for kinds in CENSUS["rotating"].values() if all(COUNTED[n](kinds) for n in first)
    ]
    assert f"and {len(usual)} in all five" in shown.figcaption.get_text()
    without = {name for name, kinds in CENSUS["rotating"].items() if kinds[0]["layers"] == 0}
    asked = {*NEEDS, *RUNS_WITH}
    assert f"{len(asked)} of them by keys that their default lacks" in shown.get_text()
    assert without - {*NEEDS} == {"bamba"}


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
def test_a_latent_head_counts_the_dimensions_beside_those_that_turn():
    for name, kinds in CENSUS["rotating"].items():
        config = CONFIG_MAPPING[name]().to_dict()
        beside = (config.get("text_config") or config).get("qk_nope_head_dim")
        assert {one["latent"] for one in kinds} == {bool(beside)}
        if beside:
            assert {one["head_dim"] for one in kinds} == {beside + config["qk_rope_head_dim"]}
            assert "part-of-the-head" in said_of(kinds)
    assert said("deepseek_v3") == [["deepseek_v3", "interleaved", "64 of 192, latent attention"]]


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
def test_proportional_slows_nothing_by_any_default():
    proportional = {
        name: kind["kind"]
        for name, kinds in CENSUS["rotating"].items()
        for kind in kinds
        if kind["scaling"] == "proportional"
    }
    assert len(proportional) == 4
    for name, kind in proportional.items():
        rope = RopeConfig.from_hf(CONFIG_MAPPING[name]().to_dict(), kind)
        turning = rope.inv_freq()[rope.inv_freq() != 0]
        plain = inv_freq(rope.head_dim, rope.base)[: len(turning)]
        torch.testing.assert_close(turning, plain, rtol=1e-12, atol=0)


def test_a_row_says_in_which_part_of_each_bar_it_is():
    for name, kinds in CENSUS["rotating"].items():
        told = BeautifulSoup(row(name, kinds), "html.parser").tbody["data-said"].split()
        assert told == said_of(kinds) and all(COUNTED[one](kinds) for one in told)


def said(model_type):
    """Return a type's rows as a reader sees them."""
    lines = BeautifulSoup(row(model_type, CENSUS["rotating"][model_type]), "html.parser")
    return [[cell.get_text() for cell in line.select("th, td")][:3] for line in lines.select("tr")]


def test_pairs_that_stand_still_do_not_count_as_rotating():
    width = "128 of 512, the first of each half (64 of 256 pairs)"
    assert ["gemma4_text full attention", "half", width] in said("gemma4_text")
    assert ["gemma4_text sliding attention", "half", "all 256"] in said("gemma4_text")
    neighbors = {"layout": "interleaved", "head_dim": 8, "rotary_dim": 8, "still_pairs": 3}
    assert dimensions(neighbors).startswith("2 of 8<span") and "(1 of 4 pairs)" in dimensions(
        neighbors
    )


def test_a_type_that_rotates_by_one_value_of_its_file_says_which():
    assert said("zamba2") == [["zamba2 where use_mem_rope is true", "half", "all 160"]]
    assert said("glm4v_text") == [
        ["glm4v_text where partial_rotary_factor is 0.5", "interleaved", "64 of 128"]
    ]
    for model_type in (*NEEDS, *RUNS_WITH):
        assert all(facts["where"] for facts in CENSUS["rotating"][model_type])


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
@pytest.mark.parametrize("model_type", RUNS_WITH)
def test_a_default_that_transformers_refuses_runs_with_that_key(model_type):
    sizes = {"num_hidden_layers": 1, "hidden_size": 512, "num_attention_heads": 4}
    sizes |= {"num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 16}
    part = {"rope_type": "default", "rope_theta": 1e4}

    beside_it, in_part = RUNS_WITH[model_type]

    def run(beside_it, part):
        config = CONFIG_MAPPING[model_type](
            **sizes | beside_it, rope_parameters=part, pad_token_id=0
        )
        AutoModel.from_config(config)(input_ids=torch.arange(5)[None])

    run(beside_it, part | in_part)
    for fewer in [({}, part | in_part)] * bool(beside_it) + [(beside_it, part)]:
        with pytest.raises((RuntimeError, TypeError)):
            run(*fewer)


def test_rows_are_those_of_the_code_where_a_default_misleads():
    """Bamba names its layers with attention, here none; MiniMax-M3's `rotary_dim` is not read."""
    bamba = BeautifulSoup(row("bamba", CENSUS["rotating"]["bamba"]), "html.parser")
    assert bamba.select("td")[-1].get_text() == "0 of 32"
    minimax = row("minimax_m3_vl_text", CENSUS["rotating"]["minimax_m3_vl_text"])
    assert BeautifulSoup(minimax, "html.parser").select("td")[1].get_text() == "all 128"
    wrapped = next(said for said, names in CENSUS["others"].items() if "timm_wrapper" in names)
    assert "wraps a model of timm" in wrapped and "timm_backbone" in CENSUS["others"][wrapped]


def test_a_type_whose_default_fits_no_model_has_its_pairs_all_the_same():
    unread = BeautifulSoup(PARTS["otherwise"](CENSUS), "html.parser")
    told = {item.code.get_text(): item.get_text() for item in unread.select("li")}
    assert told["glm4_moe"] == "glm4_moe half, 1/2 of a head; 4096 for 96 heads"
    assert told["nanochat"] == "nanochat" and told["colpali"] == "colpali vlm_config"
    share = told["qwen3_omni_moe_text"].partition(";")[0]
    assert share == "qwen3_omni_moe_text half", "its file gives no share"
    assert CENSUS["partial"]["glm4_moe"] == 0.5
    for said in unread.select("dd"):
        has_pairs = " half" in said.get_text() or " interleaved" in said.get_text()
        assert has_pairs == bool(said.select("a[href='your_model.html']"))
    headings = [heading.get_text() for heading in unread.select("dt")]
    assert not [said for said in headings if "_config'" in said or "hidden_size" in said]


def test_one_head_that_turns_after_its_pairs_are_reordered_is_no_row():
    """Qwen 2.5 Omni's DiT turns halves, of a head whose neighbors it has put there."""
    assert "qwen2_5_omni_dit" not in CENSUS["rotating"]
    said = next(said for said, names in CENSUS["others"].items() if "qwen2_5_omni_dit" in names)
    assert said.endswith("its first head alone rotates, by pairs of neighbors")


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
def test_which_rows_count_layers_as_their_files_do():
    """The page names the one whose layers have two attentions each."""
    of_the_file = set()
    for model_type, kinds in CENSUS["rotating"].items():
        attentions = getattr(CONFIG_MAPPING[model_type](), "num_hidden_layers", None)
        if kinds[0]["num_layers"] not in (None, attentions):
            assert attentions == 2 * kinds[0]["num_layers"]
            of_the_file.add(model_type)
    prose = (survey.RECORDED.parents[1] / "practice/census.md").read_text("utf-8")
    assert of_the_file == {"longcat_flash"} and "`longcat_flash` has two attentions" in prose


INDEXERS = {
    "neighbors": "deepseek_v4 dots3_note glm_moe_dsa mistral_large4".split(),
    "halves": "hy_v4 minimax_m3_vl qwen4_exp".split(),
    "halves beside neighbors": "axk2 deepseek_v32".split(),
}


def pairs_of(rotate, width=8):
    """Tell by scores which dimensions meet: a function may reorder what it has turned."""
    angles = torch.tensor([0.0, 0.7])[:, None].expand(2, width)[None]
    cos, sin = angles.cos().double(), angles.sin().double()
    unit = torch.eye(width).double()[:, None, None].expand(width, 1, 2, width)  # two positions
    if "k" in inspect.signature(rotate).parameters:
        turned, _ = rotate(unit, unit, cos=cos, sin=sin)
    else:
        turned = rotate(unit, cos[..., : width // 2], sin[..., : width // 2])
    scores = turned[:, 0, 1] @ turned[:, 0, 0].mT
    others = (scores.abs() > 1e-9) & ~torch.eye(width).bool()
    found = [tuple(pair) for pair in others.nonzero().tolist() if pair[0] < pair[1]]
    layouts = {
        "halves": [(i, i + width // 2) for i in range(width // 2)],
        "neighbors": [(i, i + 1) for i in range(0, width, 2)],
    }
    (layout,) = (name for name, pairs in layouts.items() if pairs == found)
    return layout


def called_by(module, name):
    """Return the one function that rotates which a class's `forward` calls."""
    source = inspect.getsource(getattr(module, name).forward)
    (called,) = set(re.findall(r"\b(apply_rotary_pos_emb\w*)\(", source))
    return getattr(module, called)


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
def test_which_indexers_turn_as_the_attention_beside_them():
    found = {said: [] for said in INDEXERS}
    for path in sorted((Path(transformers.__file__).parent / "models").glob("*/modeling_*.py")):
        named = re.findall(r"^class (\w+Indexer)\(", path.read_text("utf-8"), re.MULTILINE)
        if not named:
            continue
        model = path.parent.name
        module = importlib.import_module(f"transformers.models.{model}.{path.stem}")
        (indexer,) = named
        attention = re.sub(r"(QSA)?Indexer$", "Attention", indexer)
        if model == "glm5_next":  # its attention has no position encoding, its indexer neither
            for name in (indexer, attention):
                assert "rotary" not in inspect.getsource(getattr(module, name).forward)
            continue
        layouts = [pairs_of(called_by(module, name)) for name in (indexer, attention)]
        found[" beside ".join(dict.fromkeys(layouts))].append(model)
    assert found == INDEXERS
    prose = (survey.RECORDED.parents[1] / "practice/census.md").read_text("utf-8")
    (said,) = re.findall(r"The indexers of .*?\. Every other indexer .*?\.", prose)
    told = [re.sub("_text$", "", name) for name in re.findall(r"`(\w+)`", said)]
    assert sorted(told) == sorted(itertools.chain.from_iterable(INDEXERS.values()))


def test_the_landing_page_leads_from_debugging_to_the_census_and_the_vectors():
    index = (survey.RECORDED.parents[1] / "index.md").read_text("utf-8")
    card = index.partition("{grid-item-card} Debug yours")[2].partition(":::")[0]
    assert "(practice/census.md)" in card and "(library/conformance.md)" in card


@pytest.mark.skipif(not INSTALLED, reason="the census is that of another transformers")
@pytest.mark.parametrize("model_type", ROTATES_BESIDE)
def test_what_rotates_beside_a_text_that_does_not_is_said(model_type):
    part, words = ROTATES_BESIDE[model_type]
    held = json.dumps(CONFIG_MAPPING[model_type]().to_dict(), default=str)
    assert f'"model_type": "{part}"' in held
    at_rest = {name for said, names in CENSUS["others"].items() if still(said) for name in names}
    assert part not in {name.split(survey.WITHIN)[0] for name in at_rest}
    assert model_type in {name.split(survey.WITHIN)[0] for name in at_rest}
    assert others(CENSUS, stand=True).count(words) >= 1
