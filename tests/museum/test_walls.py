"""The museum on a page: a tree of folds, in whose leaves stands what was computed."""

import os
import re
import subprocess
import sys

import pytest
import torch
from bs4 import BeautifulSoup
from toc import ROOT

from ropebook.museum import EXHIBITS, HALLS
from ropebook.museum.__main__ import main
from ropebook.museum.elsewhere import ELSEWHERE
from ropebook.museum.kit import SHOWS
from ropebook.museum.walls import (
    FEW,
    FORKS,
    Shelf,
    Walls,
    command,
    has_its_numbers,
    how,
    measured,
    slug,
)
from ropebook.site.codes import address
from ropelib.diagnosis import Finding

SMALL, LARGE = "batch", "cache"


@pytest.fixture(scope="module")
def walls():
    return Walls([HALLS[SMALL], HALLS[LARGE]])


@pytest.fixture(scope="module")
def shown(walls):
    return BeautifulSoup(walls._repr_html_(), "html.parser")


def test_each_exhibit_is_a_leaf_with_its_symptom_and_its_thread(walls, shown):
    leaves = shown.select("details.rope-museum-leaf")
    exhibits = [exhibit for hall in walls.halls for exhibit in hall.exhibits]
    assert len(leaves) == len(exhibits)
    for exhibit in exhibits:
        leaf = shown.find(id=f"bug-{slug(exhibit.name)}")
        assert leaf.summary.get_text() == exhibit.saw
        links = [link["href"] for link in leaf.find_all("a", href=True)]
        first, *others = (
            f"https://github.com/{thread}"
            for thread in (exhibit.where, *exhibit.also, *exhibit.akin)
        )
        named = linked_in(exhibit.price + exhibit.differs)
        assert links == [first, *map(target, named), *others]
        assert re.sub(r"\[.+|`", "", exhibit.differs) in leaf.get_text()
        (code,) = leaf.find_all(attrs={"data-rope-page": address(exhibit.code)})
        assert code.get_text() == exhibit.code


def test_another_bug_with_the_same_effect_is_not_called_the_same():
    exhibit = EXHIBITS["a flag that the kernel does not know"]
    html = Walls([HALLS[exhibit.hall]])._repr_html_()
    leaf = BeautifulSoup(html, "html.parser").find(id=f"bug-{slug(exhibit.name)}")
    last = leaf.find_all("p")[-1].get_text()
    assert last == "Another one, the same effect: sglang #13530, mlx-lm #1431."


def test_a_fork_is_not_taken_for_what_it_was_forked_from():
    """Of two repositories of one name all but one are shown with their owner."""
    threads = [t for e in EXHIBITS.values() for t in (e.where, *e.also, *e.akin)]
    repositories = {"/".join(thread.split("/")[:2]) for thread in threads}
    short = [r.split("/")[1] for r in repositories - FORKS]
    assert len(set(short)) == len(short) and repositories >= FORKS
    shown = Walls([HALLS["fast-path"]])._repr_html_()
    assert ">kvcache-ai/sglang #66</a>" in shown and ">sglang #19636</a>" in shown


def test_numbers_that_the_sentence_has_are_not_said_again(walls, shown):
    told, kept = (
        Finding("a-code", "wrong", sentence, {"shift": 16, "base": 10_000.0, "layout": "half"})
        for sentence in ("half, +16, base 10000.", "half, +16, base 100000.")
    )
    assert has_its_numbers(told) and not has_its_numbers(kept)
    for exhibit in (exhibit for hall in walls.halls for exhibit in hall.exhibits):
        small = shown.find(id=f"bug-{slug(exhibit.name)}").find("small")
        finding = walls.finding(exhibit)
        if finding.evidence and not has_its_numbers(finding):
            assert small.get_text() == measured(finding)
        else:
            assert small is None


def linked_in(text):
    return re.findall(r"\[(.+?)\]", text)


def target(name):
    return f"https://github.com/{name}" if "/" in name else f"#bug-{slug(name)}"


def test_what_a_mend_costs_is_said_and_leads_on():
    """Of two mends that undo each other, each names the other."""
    paid = {name: linked_in(exhibit.price) for name, exhibit in EXHIBITS.items() if exhibit.price}
    for names in paid.values():
        assert all("/" in name or name in EXHIBITS for name in names)
    grows, cancels = "a base that grows, keys that stay", "a length that cancels"
    assert paid[grows] == [cancels] and paid[cancels] == [grows]
    ids = torch.arange(512)
    x = torch.randn(1, 1, 512, 64, generator=torch.Generator().manual_seed(5))
    both = (EXHIBITS[grows].mended(), EXHIBITS[cancels].wrong())
    short = [rotate(x[:, :, :100], ids[:100]) for rotate in (*both, EXHIBITS[grows].wrong())]
    assert torch.allclose(*short[:2]) and not torch.allclose(*short[1:], atol=0.1)


def test_code_in_what_is_told_is_set_as_code():
    exhibit = EXHIBITS["a division of whole numbers"]
    leaf = BeautifulSoup(Walls([HALLS[exhibit.hall]])._repr_html_(), "html.parser").find(
        id=f"bug-{slug(exhibit.name)}"
    )
    assert [code.get_text() for code in leaf.select("p code")][:2] == ["pair / 64", "2 * pair / 64"]
    assert "`" not in leaf.get_text()


def test_a_hall_says_where_else_to_look(shown):
    walls = Walls([HALLS["length"]])
    aside = BeautifulSoup(walls._repr_html_(), "html.parser").select_one(
        "#museum-length > .rope-museum-body > .rope-museum-aside"
    )
    named = linked_in(HALLS["length"].aside)
    assert {EXHIBITS[name].hall for name in named} >= {"cache", "first-token"}
    assert [link["href"] for link in aside.find_all("a")] == list(map(target, named))
    assert all(EXHIBITS[name].hall != "length" for name in named)
    assert not shown.select(".rope-museum-hall > .rope-museum-body > .rope-museum-aside")


def test_the_code_is_the_source_with_the_mend_under_its_line(walls, shown):
    for exhibit in (exhibit for hall in walls.halls for exhibit in hall.exhibits):
        code = shown.find(id=f"bug-{slug(exhibit.name)}").pre.get_text().splitlines()
        broken = [line[2:] for line in code if line[0] in " -"]
        mended = [line[2:] for line in code if line[0] in " +"]
        assert "\n".join(broken) == exhibit.source
        assert "\n".join(mended) == exhibit.mended_source


def test_what_diagnose_says_was_computed(walls, shown):
    for exhibit in (exhibit for hall in walls.halls for exhibit in hall.exhibits):
        report, told = exhibit.examined(exhibit.wrong())
        said = shown.find(id=f"bug-{slug(exhibit.name)}").get_text()
        assert exhibit.code in said and report.findings[0].sentence in said
        assert how(exhibit, told).replace("`", "") in said
    assert walls.told == sum(told for _, told in walls.reports.values())
    wrong = [not report.ok and not told for report, told in walls.reports.values()]
    assert walls.found == sum(wrong) <= len(wrong) - walls.told
    assert f"{HALLS[SMALL].exhibits[0].name}: {HALLS[SMALL].exhibits[0].code}" in repr(walls)


def test_how_it_was_called_is_said(walls):
    """A rotation that is handed over beside a right one is not told "alone"."""
    said = {}
    for exhibit in EXHIBITS.values():
        said.setdefault(exhibit.part, set()).update(how(exhibit, told) for told in (False, True))
    alone = {"from the rotation alone", "from the rotation and the number of its axes"}
    assert said["rotate"] == alone | {"once it is told what was meant"}
    assert all("`decode=`" in one for part in ("decode", "both") for one in said[part])


def test_the_command_under_each_leaf_says_what_the_leaf_says(walls, shown, capsys):
    for exhibit in (exhibit for hall in walls.halls for exhibit in hall.exhibits):
        printed = shown.find(id=f"bug-{slug(exhibit.name)}").select_one(".highlight").get_text()
        prompt, python, module, *arguments = printed.split()
        assert (prompt, f"{python} {module}") == ("$", "python -m") and len(printed) < 72
        report, _ = walls.reports[exhibit.name]
        assert arguments.pop(0) == "ropebook.museum"
        assert main(arguments) == (not report.ok)
        told = capsys.readouterr().out
        assert exhibit.source in told and exhibit.code in told and str(report) in told
        assert exhibit.differs in told and (not exhibit.price or exhibit.price not in told)
        assert main([*arguments, "--mended"]) == 0
        assert exhibit.mended_source in capsys.readouterr().out


def test_who_closes_the_pipe_of_a_command_hears_nothing_more():
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "ropebook.museum", next(map(slug, EXHIBITS)), "--mended"]
    done = subprocess.run(command, cwd=ROOT, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_names_an_exhibit():
    for exhibit in EXHIBITS.values():
        assert command(exhibit).split()[-1] in {slug(name) for name in EXHIBITS}
    with pytest.raises(SystemExit):
        main(["no-such-exhibit"])


def test_a_large_hall_asks_once_more_and_a_small_one_does_not(shown):
    small, large = (shown.find(id=f"museum-{name}") for name in (SMALL, LARGE))
    assert len(HALLS[SMALL].exhibits) <= FEW < len(HALLS[LARGE].exhibits)
    assert not small.select("details.rope-museum-branch")
    branches = large.select("details.rope-museum-branch")
    asked = {exhibit.shows for exhibit in HALLS[LARGE].exhibits}
    assert [branch.summary.contents[0].strip() for branch in branches] == [
        SHOWS[name] for name in SHOWS if name in asked
    ]
    for fold in [small, large, *branches]:
        count = int(fold.summary.select_one(".rope-museum-count").get_text())
        assert count == len(fold.select("details.rope-museum-leaf"))


def test_the_shelf_links_every_thread():
    shelf = Shelf(ELSEWHERE)
    found = BeautifulSoup(shelf._repr_html_(), "html.parser")
    assert len(found.find_all("li")) == len(ELSEWHERE)
    for (what, where, test), item in zip(ELSEWHERE, found.find_all("li"), strict=True):
        assert item.a["href"] == f"https://github.com/{where}"
        assert what in item.get_text() and test in item.get_text()
        assert what in repr(shelf)


def test_every_fold_has_an_address_of_its_own():
    names = [slug(name) for hall in HALLS.values() for name in (e.name for e in hall.exhibits)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z0-9-]+", name) for name in names)
