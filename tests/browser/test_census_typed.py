"""The census in the browser: filtered by typing, whole again when nothing is typed, on a phone."""

import re
from urllib.parse import quote

import pytest
from browser import PHONE, WIDE, accessibility_faults, open_page
from playwright.sync_api import expect
from toc import ROOT

from ropebook import palette, tables
from ropebook.census.page import PARTS
from ropebook.census.picture import BARS, in_full, said_of
from ropebook.census.survey import recorded

PAGE = "book/practice/census.html"
CENSUS = recorded()
ALL = len(CENSUS["rotating"]) + len(CENSUS["parts"]) + sum(map(len, CENSUS["others"].values()))
SHOWN = """() => [...document.querySelectorAll(".census tbody, ul.census li, dl.census li")]
  .filter((row) => row.checkVisibility()).map((row) => row.querySelector("code").innerText)"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_typing_filters_the_census(built_book, chromium, size, theme):
    context = chromium.new_context(
        viewport=dict(zip(("width", "height"), size, strict=True)),
        color_scheme=theme,
        offline=True,
    )
    page, log = open_page(context, (built_book / PAGE).as_uri())
    box = page.get_by_label("Filter the census")
    status = page.locator(".census-form [role=status]")
    assert len(page.evaluate(SHOWN)) == ALL
    assert status.inner_text() == f"{ALL} of {ALL} types"
    box.focus()
    page.keyboard.type("gemma3_text HALF")
    its = and_parts(["gemma3_text"])
    assert page.evaluate(SHOWN) == its and "gemma3" in its
    assert status.inner_text() == f"{len(its)} of {ALL} types"
    assert not page.get_by_role("heading", name="Types that do not rotate").is_visible()
    box.fill("clockwise")
    assert page.evaluate(SHOWN) == ["nanochat"]
    assert page.locator("dt").filter(visible=True).count() == 1
    box.fill("gemma zzz")
    assert page.evaluate(SHOWN) == []
    assert status.inner_text() == f"0 of {ALL} types"
    assert page.locator(".census-top[role=status]").inner_text().startswith("Nothing here matches")
    box.fill("")
    assert len(page.evaluate(SHOWN)) == ALL
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert accessibility_faults(page) == []
    context.close()
    assert (log.outside(), log.failed, log.complaints) == ([], [], [])


# ---- the same on a page of its own, which needs no book ------------------------------------------


@pytest.fixture(scope="module")
def lone(tmp_path_factory):
    """The census on a page of its own, under a bar, with something to read above it."""
    static = ROOT / "book/_static"
    lists = "".join(
        f'<section id="types-{name}"><h3>{part}</h3>{PARTS[part](CENSUS)}</section>'
        for part, name in {
            "rotating": "that-rotate",
            "within": "read-by-their-text",
            "otherwise": "that-rotate-otherwise",
            "still": "that-do-not-rotate",
        }.items()
    )
    colors = "--pst-color-background: #fff; --pst-color-border: #ccc; --pst-color-text-muted: #555"
    path = tmp_path_factory.mktemp("census") / "census.html"
    path.write_text(
        f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Census</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <style>{palette.css()} :root {{ {colors}; --rope-top: 56px }}
        html {{ scroll-padding-top: 64px }} /* as the theme's */
        #bar {{ position: sticky; top: 0; height: 56px; background: #eee }}
        [hidden] {{ display: none !important }}</style>
        <style>{(static / "census.css").read_text("utf-8")}</style><style>{tables.style()}</style>
        <div id="bar"></div><main><section><h1>Who rotates what</h1>{PARTS["form"](CENSUS)}
        <p style="height: 600px">To read.</p>{PARTS["picture"](CENSUS)}
        <section id="the-table"><h2>The table</h2>{PARTS["top"](CENSUS)}
        {lists}</section></section></main>
        <script src="{(static / "census_typed.js").as_uri()}"></script>
        <script src="{(static / "census.js").as_uri()}"></script></html>""",
        encoding="utf-8",
    )
    return path.as_uri()


@pytest.fixture(scope="module")
def typed(chromium, lone):
    """Return what is shown when something is typed, and what is said."""
    context = chromium.new_context(offline=True)
    page, log = open_page(context, lone, settle=False)

    def typed(text):
        page.mouse.move(0, 0)  # a part that is pointed at is shown in all bars
        page.get_by_label("Filter the census").fill(text)
        told = page.locator("[role=status] p").filter(visible=True)
        return page.evaluate(SHOWN), "\n\n".join(filter(None, told.all_inner_texts()))

    typed.page = page
    yield typed
    context.close()
    assert (log.outside(), log.failed, log.complaints) == ([], [], [])


def and_parts(names):
    """These rotating types, and those that are read by the text of one of them."""
    return [*names, *(name for name, text in CENSUS["parts"].items() if text in names)]


def of(condition):
    """The types one of whose rows fulfils a condition."""
    rotating = CENSUS["rotating"].items()
    return and_parts([name for name, kinds in rotating if any(map(condition, kinds))])


@pytest.mark.parametrize("text", ["500000", "500,000", "500 000", "5e5", "500k", "base 500_000"])
def test_a_base_is_found_however_it_is_written(typed, text):
    expected = of(lambda facts: facts["base"] == 500_000)
    assert expected and typed(text)[0] == expected


@pytest.mark.parametrize("text", ["10000", "10,000", "1e4", "rope_theta=10000.0"])
def test_a_base_is_not_found_in_a_greater_one(typed, text):
    shown = typed(text)[0]
    assert shown == of(lambda facts: facts["base"] == 10_000)
    assert set(of(lambda facts: facts["base"] == 100_000)) - set(shown)


@pytest.mark.parametrize(
    "text",
    [
        '{"text_config": {"model_type": "llama"}, "model_type": "phi3", "hidden_size": 3072,'
        ' "partial_rotary_factor": 0.75}',
        '"model_type": "phi3",',
        "microsoft/Phi3ForCausalLM",
    ],
)
def test_a_file_or_its_class_is_found_by_the_model_type(typed, text):
    shown, said = typed(text)
    assert shown[0] == "phi3" and "llama" not in shown
    if "model_type" in text:
        assert shown == ["phi3"] and "Of this file model_type alone is read, phi3" in said
        assert typed.page.locator(".census-top a").get_attribute("href") == "your_model.html"


@pytest.mark.parametrize("text", ["llama", "gemma", "qwen2", "glm4", "GPT NeoX", "Qwen2.5-7B"])
def test_what_is_called_so_stands_first_then_what_begins_so(typed, text):
    name = {"GPT NeoX": "gpt_neox", "Qwen2.5-7B": "qwen2"}.get(text, text)
    shown = [one for one in typed(text)[0] if one in CENSUS["rotating"]]
    assert shown[0] == name
    begins = [one.startswith(name) for one in shown]
    assert begins == sorted(begins, reverse=True)
    assert typed("")[0][: len(CENSUS["rotating"])] == [*CENSUS["rotating"]]


def test_a_million_is_one(typed):
    assert typed("1e6")[0] == typed("1,000,000")[0] == of(lambda facts: facts["base"] == 1e6)


def test_a_base_that_no_type_has_is_said_to_match_nothing(typed):
    assert typed("31415")[0] == [] and "Nothing here matches “31415”" in typed("31415")[1]


HUB = "https://huggingface.co/docs/transformers/model_doc"
SERVED = "https://docs.vllm.ai/en/latest/models/supported_models"  # by the class that runs it
# Each name of a checkpoint that does not begin like its type, and whose word that is.
NAMED = {
    "Command-R": ("cohere", f"{HUB}/cohere"),
    "Command-R7B": ("cohere2", f"{HUB}/cohere2"),
    "DeepSeek-R1": ("deepseek_v3", SERVED),
    "GLM-4.5": ("glm4_moe", f"{HUB}/glm4_moe"),
    "GLM-4.5-Air": ("glm4_moe", f"{HUB}/glm4_moe"),
    "GLM-4.5V": ("glm4v_moe", SERVED),
    "GLM-4.6": ("glm4_moe", f"{HUB}/glm4_moe"),
    "GLM-4.7": ("glm4_moe", SERVED),
    "GLM-4.7-Flash": ("glm4_moe_lite", "https://github.com/huggingface/transformers/pull/43031"),
    "Llama-4-Maverick": ("llama4", f"{HUB}/llama4"),
    "Llama-4-Scout": ("llama4", f"{HUB}/llama4"),
    "Phi-4": ("phi3", SERVED),
}


def test_every_name_that_is_no_type_has_a_source():
    script = (ROOT / "book/_static/census_typed.js").read_text("utf-8")
    table = script.partition("const OF_ANOTHER")[2].partition(");")[0]
    told = {re.sub(r"[^a-z0-9]", "", name.lower()): kind for name, (kind, _) in NAMED.items()}
    assert dict(re.findall(r'(\w+): "(\w+)"', table)) == told
    assert all(source.startswith("https://") for _, source in NAMED.values())


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Qwen2.5-7B", "qwen2"),
        ("qwen2.5", "qwen2"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "qwen2"),
        ("llama 3", "llama"),
        ("meta-llama/Llama-3.1-8B", "llama"),
        ("llama3", "llama"),
        ("Mistral-7B-v0.3", "mistral"),
        ("mixtral 8x7b", "mixtral"),
        ("Qwen3-30B-A3B", "qwen3_moe"),
        ("gpt-oss-20b", "gpt_oss"),
        ("GLM-4-9B", "glm4"),
        ("zai-org/GLM-4.5-Air", "glm4_moe"),
        ("glm 4.6", "glm4_moe"),
        ("microsoft/Phi-4", "phi3"),
        ("Command R 7B", "cohere2"),
        *[(name, model_type) for name, (model_type, _) in NAMED.items()],
    ],
)
def test_a_checkpoint_is_read_as_its_type_and_the_page_says_so(typed, text, first):
    shown, said = typed(text)
    assert first in shown and len(shown) < 15
    assert f"is read as {first}, by its name alone" in said and "model_type" in said
    assert first == "glm4" or "glm4" not in shown


@pytest.mark.parametrize("text", ["gpt-neox", "GPT NeoX", "gptneox", "gpt_neox", "GPT.NeoX"])
def test_hyphens_spaces_dots_and_case_do_not_matter(typed, text):
    shown, said = typed(text)
    assert shown == ["gpt_neox", "gpt_neox_japanese"] and "is read as" not in said


def test_a_type_with_this_number_goes_before_one_without(typed):
    shown, said = typed("llama 4")
    assert (
        set(shown) == {"llama4", "llama4_text", "llama4_vision_model"} and "is read as" not in said
    )
    shown, said = typed("gemma 3 27b it")
    assert {"gemma3", "gemma3_text"} <= set(shown) and "gemma" not in shown
    assert "read as gemma3," in said


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_a_layout_finds_those_that_have_it(typed, layout):
    assert typed(layout)[0] == of(lambda facts: facts["layout"] == layout)
    called = lambda name: "glm4" in name + CENSUS["parts"].get(name, "")  # noqa: E731
    assert {*typed(f"{layout} glm4")[0]} == {
        *filter(called, of(lambda facts: facts["layout"] == layout))
    }


@pytest.mark.parametrize("text", ["none", "no rotation", "does not rotate", "No RoPE"])
def test_none_finds_what_does_not_rotate(typed, text):
    shown = set(typed(text)[0])
    assert {"albert", "detr", "kimi_linear", "bark"} <= shown
    assert not shown & ({*CENSUS["rotating"], *CENSUS["parts"], "nanochat", "vjepa2", "dinov3_vit"})
    assert typed(f"{text} albert")[0] == ["albert"]


def test_no_scaling_finds_the_unscaled(typed):
    assert typed("no scaling")[0] == of(lambda facts: facts["scaling"] is None)
    assert typed("yarn")[0] == of(lambda facts: facts["scaling"] == "yarn")


def test_words_of_a_row_narrow_each_other(typed):
    shown = typed("64 of 128 interleaved 10,000")[0]
    assert "glm4" in shown
    for name in shown:
        assert any(
            (facts["rotary_dim"], facts["head_dim"], facts["base"]) == (64, 128, 10_000)
            for facts in CENSUS["rotating"][CENSUS["parts"].get(name, name)]
        )


PICTURE = [(part, in_full(bar, part)) for bar, (_, *parts) in BARS.items() for part in parts]


def having(*said, name=""):
    """The types that are in all these parts of the picture, and are called so."""
    rotating = CENSUS["rotating"].items()
    within = and_parts([one for one, kinds in rotating if {*said} <= {*said_of(kinds)}])
    return [one for one in within if name in one + CENSUS["parts"].get(one, "")]


def in_bars(names):
    """How many of them the bars count: those with rows of their own."""
    return len({*names} & {*CENSUS["rotating"]})


def on(page):
    """The parts of the picture that are on."""
    lit = page.locator(".census-bar li a[data-on], .census-pieces a[data-on]")
    return {*lit.evaluate_all("(links) => links.map((link) => link.dataset.said)")}


@pytest.mark.parametrize(("part", "called"), PICTURE, ids=[part.said for part, _ in PICTURE])
def test_a_part_of_the_picture_shows_its_types(typed, part, called):
    typed("")
    link = typed.page.locator(f".census-bar li a[data-said={part.said}]")
    link.focus()
    typed.page.keyboard.press("Enter")
    shown = typed.page.evaluate(SHOWN)
    assert shown == having(part.said)
    assert in_bars(shown) == int(link.locator("strong").inner_text())
    answer = typed.page.locator(".census-answer p:visible")
    total = len(CENSUS["rotating"])
    assert answer.inner_text().startswith(f"{in_bars(shown)} of {total} for {called}.")
    assert typed.page.get_by_label("Filter the census").input_value() == called
    for way in filter(None, (called.upper(), part.also)):
        assert typed(way)[0] == shown and on(typed.page) == {part.said}
    typed("")
    typed("")
    piece = typed.page.locator(f".census-pieces a[data-said={part.said}]")
    piece.evaluate("(piece) => piece.scrollIntoView({ block: 'center' })")
    at = typed.page.evaluate("scrollY")
    piece.click()
    assert typed.page.evaluate(SHOWN) == shown
    assert typed.page.evaluate("scrollY") == at, "the bars answer; nobody is led away from them"
    answer.get_by_role("link", name="See them in the list").click()
    assert f"?type={quote(called)}#the-table" in typed.page.url
    assert typed.page.evaluate(SHOWN) == shown
    row = typed.page.locator("tbody").filter(visible=True).first.bounding_box()
    assert 56 < row["y"] and row["y"] + row["height"] < typed.page.viewport_size["height"]


BESIDE = {
    "interleaved part of the head": having("interleaved", "part-of-the-head"),
    "A part of it, and interleaved": having("interleaved", "part-of-the-head"),
    "interleaved whole head": having("interleaved", "whole-head"),
    "half every layer": having("half", "every-layer"),
    "gemma whole head": having("whole-head", name="gemma"),
    "whole head gemma 3": having("whole-head", name="gemma3"),
    "never scaled another base alone": having("never-scaled", "another-base"),
    "pairs half, others": having("half", "another-base"),
    "in some layers interleaved": having("scaled", "interleaved"),
    "layers: every layer; scaling: in some layers or all": having("every-layer", "scaled"),
}


@pytest.mark.parametrize(("text", "names"), BESIDE.items())
def test_words_of_a_part_stand_beside_others(typed, text, names):
    shown = typed(text)[0]
    assert names and {*shown} == {*names}
    rotating = [CENSUS["rotating"][CENSUS["parts"].get(name, name)] for name in names]
    assert all(on(typed.page) <= {*said_of(kinds)} for kinds in rotating)


def test_the_answer_names_the_parts_and_what_is_typed_beside_them(typed):
    typed("half and yarn")
    answer = typed.page.locator(".census-answer p:not([data-off])").inner_text()
    assert " for yarn; Pairs: half. See" in answer
    assert "“llama 3” is read as llama" in typed("llama 3; half")[1]


def test_what_rows_say_of_themselves_is_read_so_beside_a_part(typed):
    assert typed("doesn't rotate")[0] == typed("none")[0] == typed("do not rotate")[0]
    half = typed("half 10,000")[0]
    assert half == of(lambda facts: (facts["layout"], facts["base"]) == ("half", 10_000))
    assert {*having("half", "two-bases")} < {*half} and on(typed.page) == {"half"}
    assert {*typed("half no scaling")[0]} == {*typed("half scaling: none")[0]}
    assert {*typed("no scaling some layers")[0]} >= {*having("some-layers", "never-scaled")}


def test_a_part_of_another_bar_narrows_the_first(typed):
    page, box = typed.page, typed.page.get_by_label("Filter the census")

    def press(said):
        page.locator(f".census-pieces a[data-said={said}]").click()
        page.mouse.move(0, 0)
        return box.input_value(), on(page), page.evaluate(SHOWN)

    def after(*said, box, name=""):
        return box, {*said}, having(*said, name=name)

    typed("")
    press("interleaved")
    both = after(
        "interleaved", "part-of-the-head", box="Pairs: interleaved; Dimensions: a part of it"
    )
    assert press("part-of-the-head") == both and both[2]
    assert read_answers(page) == answers(lambda said: {*both[1]} <= {*said})
    answer = page.locator(".census-answer p:not([data-off])").inner_text()
    total = len(CENSUS["rotating"])
    assert answer.startswith(f"{in_bars(both[2])} of {total} for {both[0]}. See")
    assert page.url.endswith(f"?type={quote(both[0])}")
    half = after("half", "part-of-the-head", box="Pairs: half; Dimensions: a part of it")
    assert press("half") == half, "one part of a bar at a time"
    assert press("part-of-the-head") == after("half", box="Pairs: half")
    page.evaluate("history.go(-2)")
    page.wait_for_function("(text) => document.querySelector('input').value === text", arg=both[0])
    assert on(page) == both[1]
    typed("glm4")
    assert press("interleaved") == after("interleaved", box="glm4; Pairs: interleaved", name="glm4")
    assert press("interleaved")[:2] == ("glm4", set())


ANSWERS = """() => [...document.querySelectorAll(".census-bar li a[data-said]")].map((link) => {
  const pieces = document.querySelectorAll(".census-pieces a");
  const piece = [...pieces].find((one) => one.dataset.said === link.dataset.said);
  return [link.dataset.said, link.querySelector("strong").innerText,
    piece.style.getPropertyValue("--part")];
})"""


def answers(condition=lambda said: True):
    """What each part says of the rotating types whose parts fulfil a condition, and its share."""
    types = [said_of(kinds) for kinds in CENSUS["rotating"].values()]
    told = []
    for part, _ in PICTURE:
        within = [said for said in types if part.said in said]
        count = sum(map(condition, within))
        words = str(count) if count == len(within) else f"{count} of {len(within)}"
        told.append([part.said, words, pytest.approx(count / len(within))])
    return told


def read_answers(page):
    return [[said, words, float(share)] for said, words, share in page.evaluate(ANSWERS)]


def test_all_bars_answer_to_a_part_that_is_pressed_pointed_at_or_typed(typed):
    page = typed.page
    typed("")
    assert read_answers(page) == answers()
    page.locator(".census-pieces a[data-said=interleaved]").click()
    asked = answers(lambda said: "interleaved" in said)
    assert read_answers(page) == asked != answers()
    other = page.locator(".census-pieces a[data-said=scaled]")
    other.hover()
    assert read_answers(page) == asked, "what is drawn is what the numbers say"
    rotate = page.locator('.census-bar li a[href="#types-that-rotate"] strong')
    stand = page.locator('.census-bar li a[href="#types-that-do-not-rotate"] strong')
    assert re.fullmatch(r"\d+ of \d+", rotate.inner_text())
    assert stand.inner_text().startswith("0 of ")
    within = page.locator('.census-bar li a[href="#types-read-by-their-text"] strong')
    shown = page.evaluate(SHOWN)
    assert within.inner_text() == f"{len(shown) - in_bars(shown)} of {len(CENSUS['parts'])}"
    unread = page.locator('.census-bar li a[href="#types-that-rotate-otherwise"] strong')
    assert unread.inner_text().startswith("? of "), "they have no rows: who knows"
    filled = "(piece) => getComputedStyle(piece).backgroundImage"
    assert "linear-gradient" in other.evaluate(filled)
    shown = {*typed("llama")[0]} & {*CENSUS["rotating"]}
    parts = [said for name in shown for said in said_of(CENSUS["rotating"][name])]
    told = [int(words.split()[0]) for _, words, _ in read_answers(page)]
    assert shown and told == [parts.count(part.said) for part, _ in PICTURE]
    typed("")
    assert read_answers(page) == answers() and other.evaluate(filled) == "none"
    other.hover()
    assert read_answers(page) == answers(lambda said: "scaled" in said) != answers()
    page.mouse.move(0, 0)
    assert read_answers(page) == answers()


def test_no_bar_and_no_word_moves_where_a_part_is_pointed_at_or_pressed(typed):
    page = typed.page
    typed("")
    places = """(all) => all.map((one) => {
      const { x, y, width } = one.getBoundingClientRect();
      return [x, y + scrollY, width].map(Math.round).join();
    })"""
    links = page.locator(".census-pieces a, .census-bar li a")
    before = links.evaluate_all(places)
    piece = page.locator(".census-pieces a[data-said=scaled]")
    for touch in (piece.hover, piece.click):
        touch()
        assert links.evaluate_all(places) == before


def test_one_type_is_seen_in_its_parts_and_the_others_are_empty(typed):
    page = typed.page
    typed("cohere2_moe")
    looks = """(pieces) => pieces.map((piece) => {
      const { backgroundImage, backgroundColor } = getComputedStyle(piece);
      return [piece.dataset.said, backgroundImage.includes("7px"), backgroundColor];
    })"""
    inside = said_of(CENSUS["rotating"]["cohere2_moe"])
    for said, seen, color in page.locator(".census-pieces a[data-said]").evaluate_all(looks):
        assert seen == (said in inside)
        assert seen or color == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize(
    ("text", "which"),
    {
        "rotate": lambda kinds: True,
        "rope": lambda kinds: True,
        "partial": lambda kinds: "part-of-the-head" in said_of(kinds),
        "MLA": lambda kinds: kinds[0]["latent"],
    }.items(),
)
def test_words_for_what_a_row_says_find_it(typed, text, which):
    shown = typed(text)[0]
    rows = [name for name, kinds in CENSUS["rotating"].items() if which(kinds)]
    assert rows and shown[: len(rows)] == rows
    assert {*shown[len(rows) :]} <= {*CENSUS["parts"]}


def test_the_words_of_the_picture_find_what_they_count(typed):
    typed("")
    page = typed.page
    legend = {
        link.inner_text().rpartition(" ")[0]: int(link.locator("strong").inner_text())
        for link in page.locator(".census-bar li a").all()
    }
    for words, count in legend.items():
        words = words.rstrip(" ↓")
        if words != "none" and not words[0].isdigit():
            assert count in (len(typed(words)[0]), in_bars(typed(words)[0])), words
    for begun in ("do not rotate", "cannot be read", "read by the text", "in some layers"):
        (count,) = (count for words, count in legend.items() if begun in words)
        shown = typed(begun)[0]
        assert count in (len(shown), in_bars(shown)), begun
    assert len(typed("doesn't rotate")[0]) == len(typed("don't rotate")[0])


def test_what_none_of_the_bars_has_is_said_to_be_found_elsewhere(typed):
    answer = typed.page.locator(".census-answer p:not([data-off])")
    shown, _ = typed("albert")
    said = f"{len(shown)} found for albert. None of them is in these bars. See them in the list"
    assert shown and answer.inner_text() == said
    typed("zzz")
    said = answer.inner_text()
    assert said.startswith("0 found for zzz. Try ") and said.endswith("or paste the file.")


def test_the_box_leads_on_from_the_picture_and_back_to_it(typed):
    page, form = typed.page, typed.page.locator(".census-form")
    typed("")
    part = page.locator(".census-pieces a[data-said=scaled]")
    part.evaluate("(part) => part.scrollIntoView({ block: 'center' })")
    part.click()
    expect(form.locator("a:visible")).to_have_text("To the list")
    form.get_by_role("link", name="To the list").click()
    expect(form.locator("a:visible")).to_have_text("Back to the picture")
    assert page.locator("tbody").filter(visible=True).first.is_visible()


def test_under_the_box_stands_the_heading_of_the_list_alone(typed):
    typed("")
    typed("half")
    form, above, first = (
        typed.page.locator(name).bounding_box()
        for name in (".census-form", "#the-table > h2", "#types-that-rotate > h3")
    )
    below = form["y"] + form["height"]
    assert above["y"] + above["height"] <= below < first["y"] < below + 20


def test_a_part_is_a_place_from_which_back_leads_to_the_picture(typed):
    page, back = typed.page, typed.page.get_by_role("link", name="Back to the picture")
    typed("")
    page.evaluate("scrollTo(0, 0)")
    expect(back).not_to_be_visible()
    typed("llama")
    expect(back).to_be_visible()
    page.locator(".census-picture").scroll_into_view_if_needed()
    expect(back).not_to_be_visible()
    for part in ("half", "scaled"):
        page.locator(f".census-pieces a[data-said={part}]").click()
    both = "llama; Pairs: half; Scaling: in some layers or all"
    assert page.url.endswith(f"?type={quote(both)}")
    page.get_by_role("link", name="See them in the list").click()
    expect(back).to_be_visible()
    back.click()
    in_sight = """() => {
      const { top } = document.querySelector(".census-picture").getBoundingClientRect();
      return top > 56 && top < innerHeight / 2;
    }"""
    page.wait_for_function(in_sight)
    assert on(page) == {"half", "scaled"}
    for steps, text in ((3, "llama; Pairs: half"), (1, "llama")):
        page.evaluate("(steps) => history.go(-steps)", steps)
        page.wait_for_function("(text) => document.querySelector('input').value === text", arg=text)
        assert len(page.evaluate(SHOWN)) == len(typed(text)[0])


@pytest.mark.parametrize("by", ["keyboard", "pointer"])
def test_a_part_that_is_on_is_put_off_by_a_second_press(typed, by):
    page, box = typed.page, typed.page.get_by_label("Filter the census")
    typed("")
    page.locator(".census-bar li a[href='#types-that-rotate']").click()  # where Back leads to
    part = page.locator(f".census-{'bar li' if by == 'keyboard' else 'pieces'} a[data-said=half]")

    def press():
        part.press("Enter") if by == "keyboard" else part.click()

    press()
    length = page.evaluate("history.length")
    assert box.input_value() == "Pairs: half" and part.get_attribute("data-on") == ""
    part.scroll_into_view_if_needed()
    at = page.evaluate("scrollY")
    press()
    assert len(page.evaluate(SHOWN)) == ALL and box.input_value() == ""
    assert page.locator("[data-on]").count() == 0 and "half" not in page.url
    assert page.evaluate("scrollY") == at, "who puts it off stays where it is"
    assert page.evaluate("history.length") == length
    page.go_back()
    page.wait_for_function("location.hash === '#types-that-rotate'")


def test_all_that_is_asked_for_is_let_go_at_once(typed):
    clear = typed.page.get_by_role("button", name="Clear", exact=True)
    typed("")
    assert clear.is_hidden()
    for part in ("interleaved", "part-of-the-head"):
        typed.page.locator(f".census-pieces a[data-said={part}]").click()
    assert len(typed.page.evaluate(SHOWN)) < ALL
    clear.click()
    box = typed.page.get_by_label("Filter the census")
    assert (box.input_value(), len(typed.page.evaluate(SHOWN))) == ("", ALL)
    assert clear.is_hidden() and "?" not in typed.page.url and "#" not in typed.page.url
    assert box.evaluate("(box) => box === document.activeElement")
    assert typed.page.locator(".census-pieces a[data-on]").count() == 0


def test_what_changes_nothing_is_no_place_of_its_own(typed):
    page = typed.page
    typed("")
    link = page.locator('.census-bar li a[href="#types-that-do-not-rotate"]')
    link.click()
    length = page.evaluate("history.length")
    link.click()
    assert page.evaluate("history.length") == length


def test_a_part_and_its_words_answer_to_each_other(typed):
    typed("")
    part = typed.page.locator(".census-pieces a[data-said=interleaved]")
    outline = "(node) => getComputedStyle(node).outlineStyle"
    assert part.evaluate(outline) == "none"
    words = typed.page.locator(".census-bar li a[data-said=interleaved]")
    for node in (part, words):
        node.hover()
        assert part.evaluate(outline) == "solid"
        typed.page.mouse.move(0, 0)
    words.focus()
    typed.page.keyboard.press("Shift+Tab")
    typed.page.keyboard.press("Tab")
    assert part.evaluate(outline) == "solid"


def test_names_of_columns_stay_below_the_box(typed):
    typed("")
    page = typed.page
    page.locator("tbody").nth(120).evaluate("(row) => row.scrollIntoView({ block: 'center' })")
    head, form = (page.locator(name).first.bounding_box() for name in ("thead th", ".census-form"))
    assert abs(head["y"] - form["y"] - form["height"]) < 2
    ends = page.locator("td[data-label=base]").evaluate_all(
        "(cells) => new Set(cells.slice(0, 50).map((cell) => "
        "getComputedStyle(cell).textAlign + cell.getBoundingClientRect().right)).size"
    )
    assert ends == 1, "a base stands under a base, digit under digit"


@pytest.mark.parametrize("width", [1280, 768, 701, 700, 620, 340])
def test_the_table_fits_its_page(chromium, lone, width):
    context = chromium.new_context(offline=True, viewport={"width": width, "height": 800})
    page, _ = open_page(context, lone, settle=False)
    box = page.locator(".census-table")
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    context.close()


def test_what_cannot_be_read_says_what_is_known_and_where_to_go_on(typed):
    shown, _ = typed("glm4_moe")
    row = typed.page.locator("li", has=typed.page.get_by_text("glm4_moe", exact=True)).first
    assert "glm4_moe" in shown and "half, 1/2 of a head" in row.inner_text()
    link = row.locator("xpath=ancestor::dd").locator("a")
    assert link.get_attribute("href") == "your_model.html" and link.is_visible()


def test_the_bar_of_all_keeps_what_is_asked_for_and_leads_to_its_list(typed):
    shown, _ = typed("half llama")
    box = typed.page.get_by_label("Filter the census")
    before = typed.page.url
    for part in ("pieces", "bar li"):
        empty = typed.page.locator(f".census-{part} a[href='#types-that-do-not-rotate']")
        at = typed.page.evaluate("scrollY")
        empty.evaluate("(link) => link.click()")
        assert (typed.page.url, typed.page.evaluate("scrollY")) == (before, at), "nothing is there"
        typed.page.locator(f".census-{part} a[href='#types-that-rotate']").click()
        assert typed.page.evaluate(SHOWN) == shown and box.input_value() == "half llama"
        assert typed.page.url.endswith("census.html?type=half%20llama#types-that-rotate")
        row = typed.page.locator("tbody").filter(visible=True).first.bounding_box()
        assert 56 < row["y"] < typed.page.viewport_size["height"] / 2
        typed.page.go_back()
        typed.page.wait_for_function("(url) => location.href === url", arg=before)
    typed("")
    empty.click()
    assert len(typed.page.evaluate(SHOWN)) == ALL
    assert typed.page.url.endswith("census.html#types-that-do-not-rotate")


def test_an_address_of_a_part_filters_as_the_page_opens(chromium, lone):
    context = chromium.new_context(offline=True)
    page, _ = open_page(context, f"{lone}?type={quote('part of the head')}#the-table", settle=False)
    names = page.evaluate(SHOWN)
    assert names == having("part-of-the-head")
    context.close()


@pytest.mark.parametrize("text", ["zzz", "codellama-7b", "<b>", "[(*", "no scaling albert"])
def test_it_is_said_when_nothing_matches_and_what_to_do(typed, text):
    shown, said = typed(text)
    assert shown == []
    assert said.startswith(f"0 of {ALL} types") and f"Nothing here matches “{text}”" in said
    assert "model_type" in said
    link = typed.page.locator(".census-top[role=status] a")
    assert link.get_attribute("href") == "your_model.html"
    assert typed("")[0] and not link.is_visible()


def test_an_emptied_box_leads_back_to_where_typing_began(typed):
    page = typed.page
    typed("")
    page.evaluate("scrollTo(0, 240)")
    for text in ("l", "lla", "llama"):
        typed(text)
        assert page.evaluate("scrollY") > 600, "to what is left"
    typed("")
    assert page.evaluate("scrollY") == 240
    page.evaluate("scrollTo(0, 300)")
    page.locator(".census-bar li a[data-said=half]").evaluate("(part) => part.click()")
    typed("")
    assert page.evaluate("scrollY") == 300 and len(page.evaluate(SHOWN)) == ALL


def test_where_nothing_is_found_no_heading_is_left_and_the_box_stays_where_it_is(typed):
    page = typed.page
    typed("llama")
    box, heading = page.locator(".census-form"), page.locator("#the-table > h2")
    at = box.bounding_box()["y"]
    assert heading.evaluate("(node) => !node.hidden")
    typed("llama zzz")
    assert heading.evaluate("(node) => node.hidden") and not page.locator("h3:visible").count()
    assert box.bounding_box()["y"] == at
    typed("")
    assert heading.is_visible()


@pytest.mark.parametrize("text", ["z" * 200, f"zz {'llama ' * 30}"])
def test_what_is_typed_is_said_again_in_short(typed, text):
    _, said = typed(text)
    assert f"Nothing here matches “{text[:39]}…”" in said


def test_what_rotates_has_one_color_in_all_bars_and_nothing_else_has(typed):
    """The other bars divide what rotates: they deal no colors anew."""
    typed("")
    looks = """(nodes) => nodes.map((node) => {
      const { boxShadow, backgroundColor } = getComputedStyle(node);
      return [boxShadow.replace(/(?<=\\)).*/, ""), backgroundColor];
    })"""
    bars = typed.page.locator(".census-bar").all()
    for part in ("a", "span"):
        within = ".census-pieces a" if part == "a" else "li span"
        (rotate, *others), *divided = [bar.locator(within).evaluate_all(looks) for bar in bars]
        assert len({color for color, _ in (rotate, *others)}) == 4
        for parts in divided:
            assert {color for color, _ in parts} == {rotate[0]}
            assert len({fill for _, fill in parts}) == len(parts), "told apart by how full it is"


@pytest.fixture
def phone(chromium, lone):
    """The census alone on a phone."""
    size = dict(zip(("width", "height"), PHONE, strict=True))
    context = chromium.new_context(offline=True, viewport=size, has_touch=True, is_mobile=True)
    yield open_page(context, lone, settle=False)[0]
    context.close()


def test_a_finger_finds_each_bar_its_words_and_the_way_back(phone):
    for bar in phone.locator(".census-pieces").all():
        assert bar.bounding_box()["height"] >= 32
    phone.get_by_label("Filter the census").fill("llama")
    expect(phone.get_by_role("link", name="Back to the picture")).to_be_visible()
    for within, least in ((".census-bar li a", 32), (".census-form a[href^='#']", 40)):
        for link in phone.locator(within).filter(visible=True).all():
            assert link.bounding_box()["height"] >= least


def test_where_nothing_is_found_the_answer_says_what_to_do_and_no_bar_moves(phone):
    box, bars = phone.get_by_label("Filter the census"), phone.locator(".census-pieces")
    places = "(all) => all.map((one) => Math.round(one.getBoundingClientRect().y + scrollY))"
    before = bars.evaluate_all(places)
    most = [max((in_full(bar, one) for one in parts), key=len) for bar, (_, *parts) in BARS.items()]
    helps = {
        "zzzz": "Try a part of its model_type, ",
        "z" * 200: "Try a part of its model_type, ",
        "Pairs: half; Pairs: interleaved": "Press a part again to let go of it.",
        "; ".join(most): "Press a part again to let go of it.",
        "; ".join(["zzzz", *most]): "Try a part of its model_type, ",
    }
    for text, said in helps.items():
        box.fill(text)
        assert f". {said}" in phone.locator(".census-answer p:not([data-off])").inner_text()
        assert bars.evaluate_all(places) == before
    link = phone.locator(".census-answer").get_by_role("link", name="paste the file")
    assert link.get_attribute("href") == "your_model.html" and link.is_visible()


def test_on_a_phone_layers_have_a_line_of_their_own_where_they_do_not_fit(phone):
    phone.set_viewport_size({"width": 330, "height": 800})  # letters are narrower here than there
    phone.get_by_label("Filter the census").fill("proportional")
    cells = phone.locator("td[data-label=layers]").filter(visible=True)
    heights = cells.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().height)")
    assert heights and max(heights) < 24


def test_on_a_phone_facts_of_a_type_stand_below_those_of_the_one_above(phone):
    def lefts(*labels):
        cells = phone.locator(", ".join(f"td[data-label={label}]" for label in labels))
        return cells.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")

    first, second = lefts("pairs", "base"), lefts("dimensions", "scaling")
    assert len({*map(round, first)}) == len({*map(round, second)}) == 1 and first < second
    aligned = "(all) => all.map((one) => getComputedStyle(one).textAlign)"
    assert {*phone.locator(".census-table td").evaluate_all(aligned)} == {"left"}
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_the_count_is_announced(typed):
    status = typed.page.locator(".census-form [role=status]")
    assert status.get_attribute("aria-live") == "polite"
    shown, said = typed("gemma3_text")
    assert said == f"{len(shown)} of {ALL} types"


def test_an_address_names_the_type(chromium, lone):
    context = chromium.new_context(offline=True)
    page, _ = open_page(context, f"{lone}?type={quote('cohere2_moe')}", settle=False)
    assert page.get_by_label("Filter the census").input_value() == "cohere2_moe"
    assert page.evaluate(SHOWN) == ["cohere2_moe"]
    context.close()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_box_stays_in_reach_and_typing_leads_to_what_is_left(chromium, lone, size):
    viewport = dict(zip(("width", "height"), size, strict=True))
    context = chromium.new_context(offline=True, viewport=viewport)
    page, _ = open_page(context, lone, settle=False)
    box = page.get_by_label("Filter the census")
    assert box.bounding_box()["y"] < size[1] / 3, "below the question"
    page.locator("tbody").nth(150).evaluate("(row) => row.scrollIntoView({ block: 'center' })")
    at = box.bounding_box()
    assert 56 <= at["y"] < 90, "below the bar"
    on_top = "([x, y]) => document.elementFromPoint(x, y).matches('.census-form input')"
    assert page.evaluate(on_top, [at["x"] + 20, at["y"] + at["height"] / 2])
    page.mouse.click(at["x"] + 20, at["y"] + at["height"] / 2)
    page.keyboard.type("llama")
    row = page.locator("tbody").filter(visible=True).first.bounding_box()
    form = page.locator(".census-form").bounding_box()
    assert form["y"] + form["height"] <= row["y"] < size[1] / 2
    assert form["height"] < size[1] / 4
    context.close()
