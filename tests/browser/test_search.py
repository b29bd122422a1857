"""The search page: what is typed leads to the section that answers it."""

from urllib.parse import quote

import pytest
from browser import open_page


def test_search_finds_the_section(built_book, chromium):
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    try:
        page, log = open_page(context, (built_book / "index.html").as_uri())
        page.locator("button.search-button-field:visible").first.click()
        page.locator("input[name=q]:visible").fill("why 10 000?")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=why*")
        page.locator("main .rope-found").wait_for()
        page.locator(".rope-results a").first.press("Enter")
        page.wait_for_url("**/distance.html#why-10-000")
        assert "Distance" in page.locator("article h1").inner_text()
        assert (log.outside(), log.failed, log.complaints) == ([], [], [])
    finally:
        context.close()


def test_what_is_typed_is_answered_under_the_box_by_keys_alone(built_book, chromium):
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    try:
        page, log = open_page(context, (built_book / "index.html").as_uri())
        assert page.locator("script[src*='sections.js']").count() == 0, "nobody has asked yet"
        page.keyboard.press("Control+k")
        box = page.get_by_role("combobox")
        page.keyboard.type("why 10 000?")
        options = page.get_by_role("listbox").get_by_role("option")
        options.first.wait_for()
        assert options.count() <= 6 and box.get_attribute("aria-expanded") == "true"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
        page.keyboard.press("ArrowUp")
        assert box.get_attribute("aria-activedescendant") is None, "the box is a place, too"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/distance.html#why-10-000")
        assert (log.outside(), log.failed, log.complaints) == ([], [], [])
    finally:
        context.close()


def test_questions_are_filtered_by_what_is_typed(built_book, chromium):
    context = chromium.new_context(offline=True)
    try:
        page, log = open_page(context, (built_book / "book/questions.html").as_uri())
        questions = page.locator("#questions summary:visible")
        every = questions.count()
        field = page.get_by_role("searchbox", name="Filter these questions")
        field.fill("rotate_half paper")
        page.locator(".rope-filter [role=status]:not(:empty)").wait_for()
        assert 0 < questions.count() < every / 4
        assert page.locator("#rotate-half-and-the-paper").is_visible()
        field.fill("zweihundert")
        page.locator(".rope-filter [role=status]", has_text="0 of").wait_for()
        assert questions.count() == 0
        field.fill("")
        page.wait_for_function(
            "(n) => [...document.querySelectorAll('#questions summary')]"
            ".filter((one) => one.checkVisibility()).length === n",
            arg=every,
        )
        assert log.complaints == []
    finally:
        context.close()


FOUND = {
    "GQA": "questions.html#",
    "attention sinks": "questions.html#",
    "10000": "distance.html#why-10-000",
    "10,000": "distance.html#why-10-000",
    "interleaved": "implementations.html#",
    "hands are all there is": "absolute.html#hands-are-all-there-is",
}


@pytest.fixture(scope="module")
def search_page(built_book, chromium):
    """Return what the search page says and lists for a query."""
    context = chromium.new_context(offline=True)
    page = context.new_page()

    def results(query):
        page.goto(f"{(built_book / 'search.html').as_uri()}?q={quote(query)}")
        page.locator("main .rope-found").wait_for()
        links = page.locator(".rope-results a").evaluate_all("all => all.map(a => a.href)")
        return page.locator("main .rope-found").inner_text(), links

    results.page = page
    yield results
    context.close()


@pytest.mark.parametrize("query", FOUND)
def test_search_leads_to_a_section_on_its_first_screen(search_page, query):
    _, links = search_page(query)
    assert any(FOUND[query] in link for link in links[:6]), links[:6]


TYPED = {  # what engineers type, and the place that answers it
    "rotate_half wrong": "questions.html#rotate-half-and-the-paper",
    "yarn attention factor": "stretching.html#where-the-attention-factor-goes",
    "offset decode kv cache": "implementations.html#tables-offsets-and-the-cache",
    "vision 2d rope": "questions.html#two-d-rope",
    "position ids bf16": "implementations.html#where-to-round",
    "attn_factor": "stretching.html#where-the-attention-factor-goes",
    "context shift": "implementations.html#keys-that-move-on",
    "llama.cpp rope layout": "implementations.html#one-dance-many-flags",
    "m-rope": "questions.html#mrope-section",
    "float32 cos sin": "questions.html#float32-at-a-million",
    "position 0 in the cache": "bugs.html#bug-every-step-at-position-0",
    "Liger": "bugs.html#bug-one-row-of-positions-for-all",
    "attention_factor vllm": "questions.html#yarn-attention-factor",
    "unrecognized keys": "questions.html#unrecognized-keys",
    "hf_overrides": "questions.html#unrecognized-keys",
    "tolerance": "questions.html#kernel-tolerance",
    "fused kernel bf16 tolerance": "questions.html#kernel-tolerance",
    "triton rope kernel test": "questions.html#kernel-tolerance",
    "torch.compile bf16": "questions.html#compiled-and-eager",
    "prefix cache hit": "questions.html#after-a-prefix-hit",
    "rotary_pct": "questions.html#which-dimensions-rotate",
    "prune kv cache": "questions.html#after-eviction",
    "packing": "questions.html#packing",
    "which layers use RoPE": "questions.html#no-rope-layers",
    "Llama 4": "questions.html#no-rope-layers",
    "unpermute": "implementations.html#convert-back",
    "permute back": "implementations.html#convert-back",
    "padding_side": "questions.html#left-padding",
    "only first row right": "questions.html#left-padding",
    "only the first batch row right": "questions.html#left-padding",
    "KV cache decode gives other logits than the full forward": "questions.html#decoding-offset",
    "interleaved models": "census.html",
    "interleaved types": "census.html",
    "list of interleaved models": "census.html",
    "differs from HF": "implementations.html#where-to-round",
    "loops past 8192": "bugs.html#bug-factors-loaded-and-left-lying",
    "repeats itself past 8k": "bugs.html#bug-factors-loaded-and-left-lying",
    "gibberish for long prompts": "bugs.html#bug-factors-loaded-and-left-lying",
}


@pytest.mark.parametrize("query", TYPED)
def test_what_is_typed_most_is_answered_among_the_first_three(search_page, query):
    _, links = search_page(query)
    assert any(link.endswith(TYPED[query]) for link in links[:3]), links[:3]


@pytest.mark.parametrize(
    "query",
    ["C++", "cpp", "rust", "Swift engine", "test vectors", "C++ test vectors", "known vectors"],
)
def test_who_writes_an_engine_is_led_to_the_vectors(search_page, query):
    _, links = search_page(query)
    assert any("library/conformance.html" in link for link in links[:2]), links[:3]


@pytest.mark.parametrize("query", ["cohere2_moe", "zamba2", "Gemma4", "vit"])
def test_a_model_type_leads_to_its_row(search_page, query):
    said, links = search_page(query)
    assert "section" in said and links[0].endswith(f"census.html?type={query.lower()}#the-table")
    search_page.page.goto(links[0])
    rows = search_page.page.locator(".census tbody, .census li").filter(visible=True)
    assert 0 < rows.count() < 60
    assert query.lower() in rows.first.locator("code").first.text_content()
    assert search_page.page.get_by_label("Filter the census").input_value() == query.lower()


def test_a_model_type_among_other_words_is_offered_too(search_page):
    _, links = search_page("cohere interleaved or half")
    assert any(link.endswith("census.html?type=cohere#the-table") for link in links[:3])
    assert not any("?type=" in link for link in search_page("how to rotate")[1])


@pytest.mark.parametrize("query", ["widgets", "score", "frac", "score head turn distance"])
def test_what_search_shows_of_a_section_is_words(search_page, query):
    search_page(query)
    shown = search_page.page.locator(".rope-results p").all_inner_texts()
    assert not [one for one in shown if "object at 0x" in one or "\\" in one]


def test_search_says_when_not_all_or_none_of_the_words_are_there(search_page):
    assert search_page("zweihundert") == ("No section has any of these words.", [])
    said, links = search_page("interleaved zweihundert")
    assert "all of these words" in said and links
    said, links = search_page("")
    assert said.startswith("Ask for") and links == []
    _, links = search_page("<b>.*[(")  # what means something to a pattern, or to a page
    assert links == search_page("b")[1]
