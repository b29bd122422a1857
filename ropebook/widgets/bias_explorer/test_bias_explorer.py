"""The bias explorer: its Python side, its JavaScript against transformers, its page."""

import math
import random

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

import javascript
from browser import accessibility_faults, watched
from oracles import Oracle
from refusals import assert_refused

from ropebook.widgets import BiasExplorer
from ropebook.widgets.bias_explorer.widget import ENCODINGS
from ropelib import encodings

RELATIVE = [name for name in ENCODINGS if name != "absolute"]
SLIDERS = {
    "query": range(24),
    "key": range(24),
    "shift": range(1001),
    "clip_distance": range(1, 13),
    "num_buckets": range(4, 33, 2),
    "max_distance": range(9, 129),
    "head": range(1, 9),
}
WIDE_ONLY = pytest.mark.parametrize("page", [(1280, "light")], indirect=True, ids=["wide"])


# ---- what is added ----


def test_it_starts_on_one_value_per_diagonal():
    explorer = BiasExplorer()
    assert (explorer.encoding, explorer.head, explorer.slope) == ("alibi", 3, 1 / 8)
    assert explorer.row_bias[explorer.key] == -1.25
    assert (explorer.different_values, explorer.diagonal_spread) == (24, 0)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_only_the_absolute_term_leaves_its_diagonals_and_feels_the_shift(encoding):
    here, there = (BiasExplorer(encoding=encoding, shift=shift) for shift in (0, 500))
    relative = encoding != "absolute"
    assert (here.diagonal_spread == 0) == relative
    assert torch.equal(here.bias, there.bias) == relative
    assert torch.equal(here.weights, there.weights) == relative
    assert here.bias.shape == (24, 24) and here.bias.dtype == torch.float64


def test_alibi_is_what_the_encoding_adds():
    q = torch.zeros(8, 24, 4)
    positions = torch.arange(24)
    added = encodings.Alibi(8).score_bias(q, q, positions, positions).double()
    for head in range(1, 9):
        explorer = BiasExplorer(head=head)
        torch.testing.assert_close(explorer.bias, added[head - 1])
        assert explorer.slope == 2.0**-head


def test_shaw_is_what_the_encoding_adds_for_one_query_vector():
    explorer = BiasExplorer(encoding="shaw", clip_distance=5)
    shaw = encodings.Shaw(head_dim=1, max_distance=5)
    with torch.no_grad():  # with one dimension and q = 1, the table is the dot products
        shaw.key_table.copy_(torch.tensor(explorer.shaw_scores)[7:18, None])
    positions = torch.arange(24)
    added = shaw.score_bias(torch.ones(24, 1), torch.ones(24, 1), positions, positions)
    torch.testing.assert_close(explorer.bias.float(), added.detach().reshape(24, 24))


@pytest.mark.parametrize(("num_buckets", "max_distance"), [(16, 20), (32, 128), (4, 9), (6, 50)])
def test_t5_buckets_are_those_of_transformers(num_buckets, max_distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    explorer = BiasExplorer(encoding="t5", num_buckets=num_buckets, max_distance=max_distance)
    distance = encodings.signed_distance(torch.arange(24), torch.arange(24))
    buckets = T5Attention._relative_position_bucket(distance, True, num_buckets, max_distance)
    half = num_buckets // 2
    for m, n in [(14, 4), (4, 14), (0, 0), (23, 22), (0, 23)]:
        explorer.query, explorer.key = m, n
        bucket = buckets[m, n].item()
        assert explorer.bucket == bucket
        table = explorer.t5_behind if bucket < half else explorer.t5_ahead
        assert explorer.row_bias[n] == table[bucket % half]
    assert explorer.different_values == len(buckets.unique())


def test_the_absolute_term_is_p_w_p():
    explorer = BiasExplorer(encoding="absolute", shift=100)
    p = encodings.sinusoids(torch.arange(100, 124), 16, dtype=torch.float64)
    matrix = torch.diag(torch.tensor([0.75, 0.0] * 8, dtype=torch.float64))
    torch.testing.assert_close(explorer.bias, p @ matrix @ p.T)
    assert explorer.diagonal_spread > 1


def test_example_tables_are_their_formulas_and_no_two_entries_alike():
    explorer = BiasExplorer()
    assert explorer.shaw_scores[12] == round(1.5 * math.cos(math.pi / 4), 2)
    assert len(set(explorer.shaw_scores)) == len(explorer.shaw_scores) == 25
    used = [*explorer.t5_behind, *explorer.t5_ahead[1:]]
    assert len(set(used)) == len(used) == 31
    assert max(used) == explorer.t5_behind[1] == 2, "the neighbor behind is favored"
    with pytest.raises(traitlets.TraitError, match="read-only"):
        explorer.t5_behind = [0.0]


def test_attention_is_the_softmax_over_what_is_seen():
    explorer = BiasExplorer(encoding="none", causal=True)
    assert explorer.row_weights == pytest.approx([1 / 15] * 15 + [0] * 9)
    explorer.content = True
    powers = [math.exp(score) for score in explorer.content_scores[:15]]
    assert explorer.row_weights[:15] == pytest.approx([power / sum(powers) for power in powers])
    assert explorer.different_values == 1
    assert (explorer.slope, explorer.bucket) == (None, None)


# ---- rules ----


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "encoding",
            "rope",
            "encoding must be one of none, absolute, shaw, t5, alibi, got 'rope'",
        ),
        ("query", 24, r"query must lie in \[0, 23\], got 24"),
        ("key", -1, r"key must lie in \[0, 23\], got -1"),
        ("shift", 1001, r"shift must lie in \[0, 1000\], got 1001"),
        ("clip_distance", 0, r"clip_distance must lie in \[1, 12\], got 0"),
        (
            "max_distance",
            8,
            r"max_distance must lie in \[9, 128\], more than num_buckets // 4 ever is, got 8",
        ),
        ("num_buckets", 7, r"num_buckets must be even and lie in \[4, 32\], got 7"),
        ("num_buckets", 2, r"num_buckets must be even and lie in \[4, 32\], got 2"),
        ("num_buckets", 34, r"num_buckets must be even and lie in \[4, 32\], got 34"),
        ("head", 9, r"head must lie in \[1, 8\], got 9"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(BiasExplorer, name, value, message)


@pytest.mark.parametrize("name", SLIDERS)
def test_it_takes_both_ends_of_every_slider(name):
    for value in (SLIDERS[name][0], SLIDERS[name][-1]):
        assert getattr(BiasExplorer(**{name: value}), name) == value


# ---- the bundle ----


_PROGRAM = """
const { t5Bucket } = await import("./bias_explorer/widget.js");
const seen = given.map(([buckets, distance]) =>
  Array.from({ length: 47 }, (_, i) => t5Bucket(i - 23, buckets, distance)));
console.log(JSON.stringify(seen));
"""


def test_the_pictures_buckets_are_transformers_for_every_place_of_its_sliders():
    from transformers.models.t5.modeling_t5 import T5Attention

    asked = [(n, d) for n in SLIDERS["num_buckets"] for d in SLIDERS["max_distance"]]
    found = javascript.run(_PROGRAM, asked)
    distance = torch.arange(-23, 24)
    for (num_buckets, max_distance), buckets in zip(asked, found, strict=True):
        right = T5Attention._relative_position_bucket(distance, True, num_buckets, max_distance)
        assert buckets == right.tolist(), (num_buckets, max_distance)


# ---- the page ----


@pytest.fixture(params=[(1280, "light"), (390, "light"), (340, "dark")], ids=str)
def page(request, on_scratch):
    width, theme = request.param
    return on_scratch("bias_explorer", (width, 844), theme, reduced_motion="reduce").page


def settle(page):
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")


def put(page, **values):
    page.evaluate(
        "(values) => { for (const name in values) model.set(name, values[name]) }", values
    )
    settle(page)


def reports(page, name):
    return page.evaluate(
        """(name) => [...document.querySelectorAll(`[data-report=${name}]`)]
          .filter((node) => node.style.display !== "none" && "value" in node.dataset)
          .map((node) => node.dataset.value)""",
        name,
    )


def some_states(count):
    draw = random.Random(0)
    for i in range(count):
        state = {name: draw.choice(values) for name, values in SLIDERS.items()}
        yield {
            **state,
            "encoding": ENCODINGS[i % len(ENCODINGS)],
            "causal": draw.random() < 0.4,
            "content": draw.random() < 0.4,
        }


def test_the_page_shows_what_python_reports(page):
    for state in some_states(25):
        put(page, **state)
        explorer = BiasExplorer(**state)
        seen = explorer.query + 1 if explorer.causal else 24
        shown = [float(value) for value in reports(page, "row_bias")]
        assert shown == pytest.approx(explorer.row_bias[:seen], abs=1e-9), state
        shown = [float(value) for value in reports(page, "row_weight")]
        assert shown == pytest.approx(explorer.row_weights[:seen], abs=1e-9), state
        expected = {
            "distance": explorer.key - explorer.query,
            "different_values": explorer.different_values,
            "diagonal_spread": explorer.diagonal_spread,
            "slope": math.nan if explorer.slope is None else explorer.slope,
            "bucket": math.nan if explorer.bucket is None else explorer.bucket,
            "key_bias": explorer.row_bias[explorer.key] if explorer.key < seen else math.nan,
            "key_weight": explorer.row_weights[explorer.key] if explorer.key < seen else math.nan,
        }
        for name, right in expected.items():
            (value,) = reports(page, name)
            assert float(value) == pytest.approx(right, abs=1e-9, nan_ok=True), (name, state)


@WIDE_ONLY
def test_cells_are_colored_by_what_python_reports(page):
    state = {"encoding": "t5", "num_buckets": 16, "causal": True}
    put(page, **state)
    cells = page.evaluate(
        """() => {
          const row = document.querySelector(".rope-bias-row");
          const [x, y, cell] = ["x", "y", "height"].map((name) => Number(row.getAttribute(name)));
          const paths = [...document.querySelectorAll(".rope-bias-cells path")];
          return Array.from({ length: 24 * 24 }, (_, i) => {
            const across = x + (i % 24 + 0.5) * cell;
            const down = y + (Math.floor(i / 24) - model.get("query") + 0.5) * cell;
            const at = new DOMPoint(across, down);
            const [path, other] = paths.filter((node) => node.isPointInFill(at));
            if (other) throw new Error("two colors in one place");
            return [path.getAttribute("class"), Number(path.getAttribute("fill-opacity"))];
          });
        }"""
    )
    bias = BiasExplorer(**state).bias
    for i, (kind, opacity) in enumerate(cells):
        m, n = divmod(i, 24)
        if n > m:
            assert kind == "rope-bias-masked"
            continue
        value = bias[m, n].item()
        assert kind == ("rope-bias-less" if value < 0 else "rope-bias-more")
        assert opacity == pytest.approx(min(1, abs(value) / 3), abs=6e-4)


def test_axe_finds_nothing(page):
    for encoding in ENCODINGS:
        put(page, encoding=encoding, causal=encoding == "t5")
        assert accessibility_faults(page) == []


def test_an_encodings_own_sliders_are_seen_with_it_and_only_then(page):
    own = {"shaw": {"clip_distance"}, "t5": {"num_buckets", "max_distance"}, "alibi": {"head"}}
    for encoding in ENCODINGS:
        page.locator(f'[data-control="encoding_{encoding}"]').press("Enter")
        settle(page)
        assert page.evaluate("model.get('encoding')") == encoding
        pressed = page.locator('[data-control^="encoding_"][aria-pressed="true"]')
        assert pressed.get_attribute("data-control") == f"encoding_{encoding}"
        seen = page.evaluate(
            """() => [...document.querySelectorAll("input[type=range]")]
              .filter((node) => node.checkVisibility({ visibilityProperty: true }))
              .map((node) => node.dataset.control)"""
        )
        assert set(seen) == {"query", "key", "shift", *own.get(encoding, ())}
        # So are its own numbers; none of them is a dash.
        shown = page.evaluate(
            """() => [...document.querySelectorAll(".rope-readout [data-report]")]
              .filter((node) => node.checkVisibility({ visibilityProperty: true }))
              .map((node) => [node.dataset.report, node.textContent])"""
        )
        assert "–" not in dict(shown).values()
        numbers = {"alibi": {"slope"}, "t5": {"bucket"}}.get(encoding, set())
        assert set(dict(shown)) & {"slope", "bucket"} == numbers
        for name in own.get(encoding, ()):
            assert reports(page, name) == [str(page.evaluate(f"model.get('{name}')"))]
            slider = page.locator(f'[data-control="{name}"]')
            ends = []
            for key in ("Home", "End"):
                slider.press(key)
                settle(page)
                ends.append(reports(page, "row_bias"))
                assert page.evaluate(f"model.get('{name}')") in (
                    SLIDERS[name][0],
                    SLIDERS[name][-1],
                )
            assert ends[0] != ends[1], name
        hidden = set(SLIDERS) - set(seen)
        assert all(reports(page, name) == [] for name in hidden)


@WIDE_ONLY
def test_a_press_on_a_cell_chooses_its_query_and_its_key(page):
    row = page.locator(".rope-bias-row")
    row.scroll_into_view_if_needed()
    box = row.bounding_box()
    cell, query = box["width"] / 24, page.evaluate("model.get('query')")
    top = box["y"] + box["height"] / 2 - (query + 0.5) * cell
    page.mouse.click(box["x"] + 7.5 * cell, top + 20.5 * cell)
    settle(page)
    assert page.evaluate("[model.get('query'), model.get('key')]") == [20, 7]


@WIDE_ONLY
def test_the_stops_of_alibi_and_the_push(page):
    for name, head in [("steep_head", 1), ("flat_head", 8)]:
        page.click(f'[data-control="{name}"]')
        settle(page)
        assert page.evaluate("model.get('head')") == head
        assert page.locator(f'[data-control="{name}"]').get_attribute("aria-pressed") == "true"
    row = reports(page, "row_bias")
    page.click('[data-control="push"]')
    settle(page)
    assert page.evaluate("model.get('shift')") == 24  # at once, where motion is not wanted
    assert reports(page, "row_bias") == row
    assert "Pushed on by 24: nothing changes." in page.inner_text(".rope-lesson")
    put(page, encoding="absolute", shift=990)
    row = reports(page, "row_bias")
    page.click('[data-control="push"]')
    settle(page)
    assert page.evaluate("model.get('shift')") == 24  # from the start again, at the end
    assert reports(page, "row_bias") != row


@WIDE_ONLY
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, "ALiBi, head 3, slope 1/8: a key 10 behind loses 1.25. Every diagonal has one color"),
        ({"encoding": "t5"}, "a key 10 behind is in bucket 6 (distances 9 to 13) and loses 0.50."),
        ({"encoding": "t5", "key": 14}, "the query's own key is in bucket 0 (distance 0 only)"),
        ({"encoding": "t5", "key": 0}, "is in bucket 7 (distance 14 and more)"),
        ({"encoding": "shaw"}, "Shaw, clip 4: a key 10 behind counts as 4 away and gains 1.58."),
        ({"encoding": "shaw", "key": 15}, "Shaw, clip 4: a key 1 ahead gains 0.44."),
        ({"encoding": "none"}, "All 24 keys that the query sees get the same attention, 0.042."),
        ({"encoding": "none", "causal": True, "query": 0}, "The query sees one key"),
        ({"encoding": "none", "content": True}, "Content alone decides where the query looks."),
        ({"causal": True, "key": 20}, "The causal mask hides a key 6 ahead."),
        ({"encoding": "absolute", "shift": 500}, "Pushed on by 500: another matrix;"),
        ({"encoding": "absolute", "shift": 500}, "A diagonal has many colors: 300 different"),
    ],
)
def test_the_sentence_says_what_is_seen(page, state, said):
    put(page, **state)
    assert said in page.inner_text(".rope-lesson")


def test_the_push_travels_where_motion_is_wanted(on_scratch):
    widget = on_scratch("bias_explorer", traits={"encoding": "absolute"})
    seen = [shift for (shift,) in watched(widget, "push", ["shift"], seconds=6)]
    assert seen == sorted(seen)
    assert set(seen) == set(range(25)), "every place between is passed"
    assert widget.page.evaluate("model.get('shift')") == 24


# ---- what it must report ----


def answers(inputs):
    names = ("query", "key", "shift", "clip_distance", "num_buckets", "max_distance", "head")
    chosen = {name: int(inputs[name]) for name in names if name in inputs}
    kept = {name: inputs[name] for name in ("encoding", "causal", "content")}
    explorer = BiasExplorer(**chosen, **kept)
    query, key = explorer.query, explorer.key
    count = query + 1 if explorer.causal else len(explorer.row_bias)
    hidden = key >= count
    return {
        "row_bias": explorer.row_bias[:count],
        "row_weight": explorer.row_weights[:count],
        "distance": key - query,
        "key_bias": math.nan if hidden else explorer.row_bias[key],
        "key_weight": math.nan if hidden else explorer.row_weights[key],
        "slope": math.nan if explorer.slope is None else explorer.slope,
        "bucket": math.nan if explorer.bucket is None else explorer.bucket,
        "different_values": explorer.different_values,
        "diagonal_spread": explorer.diagonal_spread,
    }


ORACLE = Oracle(answers, held=("encoding", "causal", "content"))
