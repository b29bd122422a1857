"""The measure of open prose counts what a reader sees, and names the limits that a page breaks."""

import sys
from pathlib import Path

import pytest
from toc import NOTEBOOKS

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import prose

PAGE = """<!doctype html><style>body {{ margin: 0 }} p {{ margin: 0; height: 40px }}</style>
<article>
  <h1>A title</h1>
  <p><strong>The question.</strong> Does it hold?</p>
  <figure class="rope-here" style="height: 100px; margin: 0"><p>not counted</p></figure>
  <div class="rope-widget-host" style="height: 60px"><div data-bet="b"><p>nor this</p></div></div>
  <div style="height: {gap}px"></div>
  <figure style="height: 200px; margin: 0"><svg height="90"></svg></figure>
  <p>three more words</p>
  <ul><li>one <p>two</p></li><li>three</li></ul>
  <pre>not code</pre>
  <details><summary>Fold</summary><p>nothing of this</p><figure style="height: 900px"></figure>
    <div data-answer="x"></div></details>
  <details open><summary>Fold</summary><p>but this</p></details>
  <i data-answer="y"></i><i data-answer="z"></i><i data-fill="f"></i><i data-task="t"></i>
</article>"""


@pytest.fixture
def found(chromium, tmp_path):
    def found(gap):
        page = tmp_path / "page.html"
        page.write_text(PAGE.format(gap=gap), encoding="utf-8")
        tab = chromium.new_page(viewport={"width": prose.WIDE, "height": prose.HIGH})
        answer = prose.measure(tab, prose.Chapter(page, 100))
        answer["height"] = tab.evaluate("document.querySelector('article').offsetHeight")
        tab.close()
        return answer

    return found


def test_words_are_those_outside_folds_code_and_pictures(found):
    assert found(0)["words"] == len("A title The question. Does it hold?".split()) + 3 + 2 + 2


def test_pictures_are_counted_once_and_not_under_closed_folds(found):
    page = found(0)
    # A closed fold's figure has a height all the same, for who asks it.
    assert page["share"] == pytest.approx((100 + 60 + 200) / page["height"], abs=1e-3)


def test_what_asks_is_counted_by_its_kind(found):
    page = found(0)
    assert [page[name] for name in ("bets", "boxes", "gaps", "tasks")] == [1, 3, 1, 1]


def test_what_stands_above_the_fold_is_measured(found):
    near, far = found(0), found(700)
    assert far["picture"] == near["picture"] + 700 and near["bet"] == far["bet"]
    assert near["question"] <= near["first"] < near["bet"] <= near["picture"]
    assert set(prose.broken(near, 100)) == set()
    assert prose.broken(far, 100).get("picture") == "within 800 px"


def test_each_limit_is_named_when_it_is_broken():
    good = {"words": 1100, "share": 0.25, "bets": 1, "boxes": 3}
    good |= {"question": 200, "bet": 700, "picture": 800}
    assert prose.broken(good, 1100) == {}
    for name, value in (
        *(("words", 1101), ("share", 0.24), ("bets", 0), ("boxes", 2)),
        *(("question", None), ("bet", 801), ("picture", 801)),
    ):
        assert set(prose.broken({**good, name: value}, 1100)) == {name}


def test_the_road_may_have_more_words_than_branches(tmp_path):
    for name in NOTEBOOKS:
        page = (tmp_path / name).with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    allowed = {chapter.page.stem: chapter.words for chapter in prose.chapters(tmp_path)}
    assert list(allowed) == [Path(name).stem for name in NOTEBOOKS]
    assert allowed["two_dimensions"] == 1100 and allowed["distance"] == 800
    with pytest.raises(ValueError, match="must be a folder of a built book, got "):
        prose.chapters(tmp_path / "book")
