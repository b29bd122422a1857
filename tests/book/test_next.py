"""The last page of the road: short, with a branch for every chapter beside the road."""

import json
import re

import yaml
from addresses import LINK, leads_somewhere
from toc import ROOT

TEXT = (ROOT / "book/next.md").read_text("utf-8")
FOLD = re.compile(r"^\{\.deeper\}\n### (.+)\n\n(.+)$", re.MULTILINE)


def parts():
    """The parts of the contents: name -> pages, without the folder of the book."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]
    return {
        part["caption"]: [one["file"].removeprefix("book/") for one in part["chapters"]]
        for part in contents
    }


def test_it_is_the_last_page_of_the_road():
    assert parts()["The road"][-1] == "next"


def test_what_is_open_is_short_and_each_fold_answers_a_question():
    assert len(re.sub(r"\]\([^)]+\)", "]", FOLD.sub("", TEXT)).split()) <= 350
    folds = FOLD.findall(TEXT)
    assert len(folds) == TEXT.count("### ") == 8
    for question, answer in folds:
        assert question.endswith("?") and 10 <= len(answer.split()) <= 50


def test_every_branch_is_named_once_by_its_question():
    beside = ("The road", "Questions", "Appendix", "Reference")
    branches = [page for name, pages in parts().items() if name not in beside for page in pages]
    hooks = re.findall(r"^- \[[^\]]+\?\]\(([a-z_/]+)\.(?:ipynb|md)\)", TEXT, re.MULTILINE)
    assert len(branches) >= 8 and sorted(hooks) == sorted(branches)


def test_how_to_check_is_answered_in_the_words_of_the_page_of_checks():
    (answer,) = [answer for question, answer in FOLD.findall(TEXT) if "check" in question]
    cells = json.loads((ROOT / "book/rope/checks.ipynb").read_text("utf-8"))["cells"]
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    kinds = re.findall(r"^- \*\*([^*]+)\*\*(: [^.]+\.)", prose, re.MULTILINE)
    assert len(kinds) == 3
    for name, what in kinds:
        assert name + what in answer


def test_its_links_lead_somewhere():
    assert [address for address in LINK.findall(TEXT) if not leads_somewhere(address)] == []
