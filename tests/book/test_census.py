"""The census: what is recorded is what the installed transformers gives, and the page has all."""

from collections import Counter

import pytest
import transformers
from bs4 import BeautifulSoup
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ropebook.census import survey
from ropebook.census.__main__ import main
from ropebook.census.page import COLUMNS, breakable, dimensions, page, row
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


def test_the_page_has_every_model_type_once():
    markup = BeautifulSoup(page(CENSUS), "html.parser")
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
    assert {*NEEDS} <= {*CENSUS["rotating"]}
    for model_type in NEEDS:
        assert all(facts["where"] for facts in CENSUS["rotating"][model_type])


def test_rows_are_those_of_the_code_where_a_default_misleads():
    """Bamba names its layers with attention, here none; MiniMax-M3's `rotary_dim` is not read."""
    bamba = BeautifulSoup(row("bamba", CENSUS["rotating"]["bamba"]), "html.parser")
    assert bamba.select("td")[-1].get_text() == "0 of 32"
    minimax = row("minimax_m3_vl_text", CENSUS["rotating"]["minimax_m3_vl_text"])
    assert BeautifulSoup(minimax, "html.parser").select("td")[1].get_text() == "all 128"
    wrapped = next(said for said, names in CENSUS["others"].items() if "timm_wrapper" in names)
    assert "wraps a model of timm" in wrapped and "timm_backbone" in CENSUS["others"][wrapped]


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


def test_the_landing_page_leads_from_debugging_to_the_census_and_the_vectors():
    index = (survey.RECORDED.parents[1] / "index.md").read_text("utf-8")
    card = index.partition("{grid-item-card} Debug yours")[2].partition(":::")[0]
    assert "(practice/census.md)" in card and "(library/conformance.md)" in card
