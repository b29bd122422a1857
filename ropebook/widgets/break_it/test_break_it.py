"""Break it yourself in Python: each bug by explicit matrices, and what each test finds."""

import functools
import itertools

import pytest
import torch

pytest.importorskip("anywidget")

from browser import PHONE, WIDE
from contrast import channels, contrast
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook import palette
from ropebook.widgets import BreakIt
from ropebook.widgets.break_it.widget import BUGS, LAMPS, LAST, ROWS, VECTORS
from ropelib import inv_freq, reference
from ropelib.diagnosis import diagnose

ONE_SIDE = {
    "q_idle": ["push", "far", "by_hand", "reference"],
    "k_idle": ["moves", "push", "far", "by_hand", "reference"],
    "sign": ["push", "far", "by_hand", "reference"],
    "seat": ["push", "far", "reference"],
    "base": ["push", "far", "reference"],
    "count": ["zero", "by_hand", "reference"],
    "rounded": ["far"],
    "early": ["length", "push", "far", "reference"],
    "restart": ["cache"],
    "reread": ["cache"],
}
BOTH_SIDES = {
    "idle": ["moves", "by_hand", "reference"],
    "sign": ["by_hand", "reference"],
    "seat": ["reference"],
    "base": ["reference"],
    "count": ["zero"],
    "rounded": ["far"],
    "early": ["length", "push", "far", "reference"],
}
# What differs from these where the vectors are too much alike.
BLIND = {
    ("q_sign", "k_sign", "same"): ["by_hand"],
    ("q_sign", "k_sign", "ones"): ["by_hand"],
    ("q_seat", "k_seat", "ones"): [],
    ("q_early", "k_early", "ones"): [],
    ("q_early", "ones"): [],
    ("k_early", "ones"): [],
}


@pytest.mark.parametrize("vectors", VECTORS)
def test_each_bug_is_noticed_by_these_tests_and_no_others(vectors):
    for bug in BUGS:
        expected = ONE_SIDE.get(bug) or ONE_SIDE[bug[2:]]
        expected = BLIND.get((bug, vectors), expected)
        assert BreakIt.with_bugs(bug, vectors=vectors).lit == expected, bug
    for row, expected in BOTH_SIDES.items():
        both = (f"q_{row}", f"k_{row}")
        found = BreakIt.with_bugs(*both, vectors=vectors)
        assert found.lit == BLIND.get((*both, vectors), expected), row
        assert (found.bugs, found.alarms) == (2, len(found.lit))


@pytest.mark.parametrize("vectors", VECTORS)
def test_without_a_bug_nothing_is_noticed(vectors):
    right = BreakIt.with_bugs(vectors=vectors)
    assert (right.lit, right.bugs, right.alarms) == ([], 0, 0)
    errors = right.errors
    assert errors.pop("moves") > 1 and max(errors.values()) < 1e-9


def test_no_lamp_is_lit_or_dark_by_a_hair():
    sets = [*itertools.combinations(BUGS, 1), *itertools.combinations(BUGS, 2), BUGS]
    for bugs in sets:
        for name, error in BreakIt.with_bugs(*bugs).errors.items():
            assert error < 1e-9 or error > 0.005, (bugs, name, error)


def test_at_first_one_side_is_broken_and_the_reference_is_shown():
    first = BreakIt()
    assert [bug for bug in BUGS if getattr(first, bug)] == ["q_sign"]
    assert (first.vectors, first.shown) == ("drawn", "reference")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vectors", "twos", "vectors must be one of drawn, same, ones, got 'twos'"),
        ("shown", "hope", "shown must be one of length, .*, got 'hope'"),
        ("q_sign", "yes", "q_sign"),
    ],
)
def test_the_widget_refuses(name, value, message):
    assert_refused(BreakIt, name, value, message)


def test_a_bug_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"a bug must be one of q_idle, .*, got 'typo'"):
        BreakIt.with_bugs("typo")


# ---- what it must report: the same by explicit matrices ----


def matrix_of(inputs, side, position, width=8):
    """The rotation of a side with its bugs as one matrix."""
    return _matrix(*(inputs[f"{side}_{row}"] for row in ROWS[:-1]), position, width)


@functools.cache
def _matrix(idle, sign, seat, base, count, rounded, position, width):
    if idle:
        return torch.eye(width, dtype=torch.float64)
    at = position + count
    at = torch.tensor(float(at)).bfloat16().item() if rounded else at
    at = -at if sign else at
    speeds = [(10.0 if base else 100.0) ** (-2 * i / width) for i in range(width // 2)]
    speeds = torch.tensor(speeds, dtype=torch.float64)
    return reference.rotation_matrix(at, speeds, layout="half" if seat else "interleaved")


EXAMPLE = {k: torch.tensor(v, dtype=torch.float64) for k, v in BreakIt().example.items()}


def vectors_of(inputs):
    if inputs["vectors"] == "ones":
        return dict.fromkeys(EXAMPLE, torch.ones(8, dtype=torch.float64))
    return EXAMPLE | ({"k": EXAMPLE["q"]} if inputs["vectors"] == "same" else {})


def normed(inputs, x):
    return x / (x @ x / len(x)) ** 0.5 * vectors_of(inputs)["weights"]


def entering(inputs, side, position):
    turn, x = matrix_of(inputs, side, position), vectors_of(inputs)[side]
    return normed(inputs, turn @ x) if inputs[f"{side}_early"] else turn @ normed(inputs, x)


def row(inputs, start):
    query = entering(inputs, "q", start + LAST)
    keys = [entering(inputs, "k", start + LAST - back) for back in range(LAST + 1)]
    return torch.stack([key @ query for key in keys])


def cached(inputs):
    now = 0 if inputs["restart"] else LAST
    keys = [entering(inputs, "k", now)]
    keys += [entering(inputs, "k", LAST - back) for back in range(1, LAST + 1)]
    if inputs["reread"]:
        keys = [matrix_of(inputs, "k", LAST - back) @ key for back, key in enumerate(keys)]
    query = entering(inputs, "q", now)
    return torch.stack([key @ query for key in keys])


def answers(inputs):
    right = dict.fromkeys(BUGS, False) | {"vectors": inputs["vectors"]}
    here = row(inputs, 0)
    plain = {side: normed(inputs, vectors_of(inputs)[side]) for side in "qk"}
    places = range(LAST + 1)
    one, two = torch.eye(2, dtype=torch.float64)
    query = matrix_of(inputs, "q", LAST, 2) @ one
    by_hand = [query @ (matrix_of(inputs, "k", LAST - back, 2) @ two) for back in places]
    lengths = [
        [entering(inputs, side, at).norm() - plain[side].norm() for at in places] for side in "qk"
    ]
    found = {
        "length": torch.tensor(lengths),
        "zero": torch.stack([entering(inputs, side, 0) - plain[side] for side in "qk"]),
        "moves": here - here[0],
        "push": row(inputs, 7) - here,
        "far": row(inputs, 10_000) - here,
        "cache": cached(inputs) - here,
        "by_hand": torch.tensor(by_hand) - torch.arange(LAST + 1, dtype=torch.float64).sin(),
        "reference": here - row(right, 0),
    }
    gaps = {name: off.abs().max().item() for name, off in found.items()}
    return gaps | {"gap": gaps[inputs["shown"]]}


ORACLE = Oracle(answers, held=(*BUGS, "vectors", "shown"))


@pytest.mark.parametrize("vectors", VECTORS)
def test_python_computes_what_the_matrices_say(vectors):
    both = [(f"q_{name}", f"k_{name}") for name in ROWS]
    sets = [(), *itertools.combinations(BUGS, 1), *both, ("q_seat", "k_early", "reread"), BUGS]
    for bugs in sets:
        held = {bug: bug in bugs for bug in BUGS} | {"vectors": vectors, "shown": "far"}
        expected = answers(held)
        expected.pop("gap")
        found = BreakIt.with_bugs(*bugs, vectors=vectors).errors
        assert found == pytest.approx(expected, abs=1e-9), bugs


# ---- the diagnosis, which looks at the rotation itself, knows each by name ----

NAMES = {  # in one of q and k, and in both
    "seat": ("q-and-k-layouts-differ", "layout-not-as-expected"),
    "base": ("exponents-not-as-expected",) * 2,
    "count": ("off-by-one",) * 2,
    "rounded": ("positions-in-bfloat16",) * 2,
}


def way(rotation, side):
    def rotate(x, position_ids):
        at = position_ids.reshape(-1, 1, x.shape[2]).expand(x.shape[:3]).flatten().tolist()
        turned = rotation._turned(x.reshape(-1, x.shape[-1]).double(), at, side)
        return turned.reshape(x.shape).to(x.dtype)

    return rotate


def codes(*bugs):
    rotation = BreakIt.with_bugs(*bugs)
    expected = {"inv_freq": inv_freq(8, 100.0), "layout": "interleaved", "max_position": 512}
    ways = (way(rotation, "q"), way(rotation, "k"))
    return diagnose(ways, head_dim=8, **expected).codes


def test_each_bug_of_the_rotation_is_what_the_diagnosis_calls_it():
    assert codes() == ()
    for row, (in_one, in_both) in NAMES.items():
        q, k = f"q_{row}", f"k_{row}"
        assert codes(q) == codes(k) == (in_one,) and codes(q, k) == (in_both,), row
    assert codes("q_sign") == codes("k_sign") == ("q-and-k-directions-differ",)
    assert codes("q_sign", "k_sign") == ("direction-not-as-expected",)
    assert codes("q_idle") == ("q-not-rotated",) and codes("k_idle") == ("k-not-rotated",)
    assert codes("q_idle", "k_idle") == ("does-not-rotate",)


# ---- what it does when it is used ----


def put(widget, **traits):
    """Choose by the page's own model, as a cell would."""
    widget.page.evaluate(
        "(all) => { for (const [name, value] of Object.entries(all)) model.set(name, value);"
        " model.save_changes(); }",
        traits,
    )
    widget.frames()


def test_every_bug_alone_and_with_the_next_reports_what_the_matrices_say(on_scratch):
    widget = on_scratch("break_it")
    held = held_by(widget)
    widget.control("q_sign").click()
    held["q_sign"] = False
    kinds, lamps = itertools.cycle(VECTORS), itertools.cycle(LAMPS)
    wrong = []
    for bug, following in zip(BUGS, (*BUGS[1:], BUGS[0]), strict=True):
        for switched in (bug, following, following, bug):
            widget.control(switched).click()
            held[switched] = not held[switched]
            chosen = {"vectors": next(kinds), "shown": next(lamps)}
            put(widget, **chosen)
            wrong += wrong_readouts(widget, held | chosen)
    assert not wrong, "\n".join(wrong[:5])


STROKE = "(node) => getComputedStyle(node).stroke"
LIT = """() => [...document.querySelectorAll('.rope-breakit-lit [data-report]')]
  .map((node) => node.dataset.report)"""


def test_a_lamp_is_lit_where_python_says_so_and_says_it(on_scratch):
    widget = on_scratch("break_it")
    sets = [(), ("q_idle", "k_idle"), ("q_early",), ("q_sign", "k_sign"), ("k_count", "reread")]
    for vectors, bugs in itertools.product(VECTORS, sets):
        put(widget, vectors=vectors, **{bug: bug in bugs for bug in BUGS})
        expected = BreakIt.with_bugs(*bugs, vectors=vectors).lit
        assert widget.page.evaluate(LIT) == expected
        radios = widget.control("shown").get_by_role("radio")
        told = ["notices" in text for text in radios.all_text_contents()]
        assert told == [name in expected for name in LAMPS]


def test_a_chosen_lamp_shows_its_two_lines_and_their_gap(on_scratch):
    widget = on_scratch("break_it")
    chosen, seen = widget.control("shown"), set()
    for i, name in enumerate(LAMPS):
        chosen.get_by_role("radio").nth(i).click()
        widget.frames()
        lines = widget.page.locator(".rope-breakit-picture .rope-breakit-got")
        assert lines.count() == (2 if name in ("length", "zero") else 1)
        gap = widget.page.locator(".rope-breakit-picture .rope-breakit-gap").get_attribute("d")
        assert bool(gap) == (BreakIt().errors[name] > 1e-6)
        seen.add(widget.page.locator(".rope-breakit-picture svg").inner_html())
    assert len(seen) == len(LAMPS)


def test_a_chosen_lamp_says_what_it_tests_and_its_axis_is_named(on_scratch):
    widget = on_scratch("break_it")
    radios, said, levels = widget.control("shown").get_by_role("radio"), [], []
    for i in range(len(LAMPS)):
        radios.nth(i).click()
        widget.frames()
        said.append(widget.page.locator(".rope-breakit-asked .rope-breakit-now").inner_text())
        levels.append(widget.page.locator(".rope-breakit-picture text").last.text_content())
        heard = " ".join(radios.nth(i).text_content().split())
        assert said[-1] in heard and said[-1].endswith("."), heard
    assert len(set(said)) == len(LAMPS)
    others = {"length": "length", "zero": "number there"}
    assert levels == [others.get(name, "score") for name in LAMPS]


def test_whether_the_score_changes_is_a_yes_or_a_no(on_scratch):
    widget = on_scratch("break_it")
    for bugs in ([], ["k_sign"], ["k_idle"], ["q_idle", "k_idle"]):
        put(widget, shown="moves", **{bug: bug in bugs for bug in BUGS})
        lit = "moves" in BreakIt.with_bugs(*bugs).lit
        told = widget.page.locator(".rope-breakit-answer").inner_text()
        assert told == ("no" if lit else "yes"), bugs
        mark = widget.page.locator(".rope-breakit-picture .rope-breakit-gap")
        fine = mark.evaluate(STROKE)
        put(widget, shown="reference")
        assert mark.evaluate(STROKE) != fine, bugs  # that of an alarm


def test_what_the_tests_are_run_on_is_said(on_scratch):
    widget = on_scratch("break_it")
    said = []
    for kind in VECTORS:
        put(widget, vectors=kind)
        said.append(widget.page.locator(".rope-breakit-note .rope-breakit-now").inner_text())
    assert len(set(said)) == 3 and said[0].startswith("Two") and "1" in said[2]


STOPS = {
    "mended": [],
    "both_signs": ["q_sign", "k_sign"],
    "both_idle": ["q_idle", "k_idle"],
    "both_seats": ["q_seat", "k_seat"],
    "reset": ["q_sign"],
}


def test_stops_set_their_bugs_and_no_others(on_scratch):
    widget = on_scratch("break_it")
    for stop, bugs in STOPS.items():
        widget.control(stop).click()
        widget.frames()
        assert [bug for bug in BUGS if widget.control(bug).is_checked()] == bugs
        if stop == "both_seats":
            assert widget.page.evaluate(LIT) == []


def test_switches_lamps_and_picture_are_in_sight_at_once(on_scratch):
    widget = on_scratch("break_it", WIDE)
    assert widget.page.locator(".rope-frame").bounding_box()["height"] < 620
    phone = on_scratch("break_it", PHONE)
    top = phone.page.locator(".rope-breakit-seen").bounding_box()["y"]
    assert top - phone.page.locator(".rope-frame").bounding_box()["y"] < 30, "lamps first"
    phone.control("reread").evaluate("(node) => node.scrollIntoView({ block: 'end' })")
    phone.control("reread").click()
    phone.frames()
    seen = phone.page.locator(".rope-breakit-seen").bounding_box()
    assert seen["height"] < PHONE[1] / 2
    assert seen["y"] >= -1 and phone.page.evaluate(LIT)[-3:] == ["cache", "by_hand", "reference"]


def test_on_a_short_phone_the_lamps_alone_stay_while_a_bug_is_put_in(on_scratch):
    phone = on_scratch("break_it", (390, 620))
    phone.control("reread").evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    lamps = phone.page.locator(".rope-breakit-lamps")
    assert -1 <= lamps.bounding_box()["y"] and lamps.bounding_box()["height"] < 620 / 4
    before = phone.page.evaluate(LIT)
    phone.control("reread").click()
    phone.frames()
    lit = phone.page.locator(".rope-breakit-lit").all()
    assert len(phone.page.evaluate(LIT)) > len(before)
    seen = "([x, y]) => document.elementFromPoint(x, y)?.closest('.rope-breakit-lamps') !== null"
    for box in (lamp.bounding_box() for lamp in lit if lamp.bounding_box()):
        if box["y"] < 200:
            assert phone.page.evaluate(seen, [box["x"] + 5, box["y"] + 5]), "nothing lies over it"
    phone.control("q_idle").focus()
    under = lamps.bounding_box()
    assert phone.control("q_idle").bounding_box()["y"] >= under["y"] + under["height"] - 1


def test_on_a_phone_what_a_lamp_asks_stays_over_its_picture(on_scratch):
    phone = on_scratch("break_it", PHONE)
    lamps, picture = (phone.page.locator(f".rope-breakit-{n}") for n in ("lamps", "picture"))
    for i, away in enumerate(("q_idle", "k_seat", "reread")):
        phone.control(away).evaluate("(node) => node.scrollIntoView({ block: 'end' })")
        phone.control("shown").get_by_role("radio").nth(i).click()
        phone.frames()
        box = phone.page.locator(".rope-breakit-asked .rope-breakit-now").bounding_box()
        over, under = lamps.bounding_box(), picture.bounding_box()
        assert over["y"] + over["height"] <= box["y"] < under["y"] < box["y"] + 30
        seen = "([x, y]) => document.elementFromPoint(x, y).matches('.rope-breakit-now')"
        assert phone.page.evaluate(seen, [box["x"] + 5, box["y"] + 5]), away


# Red, green, blue of a color that the page has computed, as CSS writes it.
RGB = """(node, name) => { const paint = new OffscreenCanvas(1, 1).getContext("2d");
  paint.fillStyle = getComputedStyle(node)[name]; paint.fillRect(0, 0, 1, 1);
  return [...paint.getImageData(0, 0, 1, 1).data.slice(0, 3)]; }"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_only_what_is_missed_is_red_and_a_lit_lamp_is_read(on_scratch, theme):
    widget = on_scratch("break_it", PHONE, theme)
    colors = palette.named(dark=theme == "dark")
    red = [channels(colors[name]) for name in ("one", "one-text")]
    lit = widget.page.locator("button.rope-breakit-lit").first
    ground = lit.evaluate(RGB, "backgroundColor")
    for node in (lit.locator(".rope-breakit-name"), lit.locator(".rope-report")):
        assert contrast(node.evaluate(RGB, "color"), ground) >= 4.5
    assert contrast(lit.locator("svg").evaluate(RGB, "stroke"), ground) >= 3
    assert contrast(ground, colors["page"]) > 1.1
    gap = widget.page.locator(".rope-breakit-gap").first.evaluate(RGB, "stroke")
    count = widget.page.locator(".rope-lesson b").evaluate(RGB, "color")
    assert not [color for color in (ground, gap, count) if color in red]
    widget.control("both_seats").click()
    widget.frames()
    assert widget.page.locator(".rope-lesson strong").evaluate(RGB, "color") in red


def longest_lessons(page):
    """Put in the bugs of each of these states, and yield after each."""
    for bugs in (["q_sign"], ["k_sign"], ["q_base", "q_sign", "reread"], ["q_idle", "k_idle"]):
        page.locator("[data-control=mended]").evaluate("(button) => button.click()")
        for bug in bugs:
            page.locator(f"[data-control={bug}]").click()
        yield bugs


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_the_lesson_is_read_where_a_bug_is_put_in(on_scratch, theme):
    phone = on_scratch("break_it", PHONE, theme, {"task": "four bugs, one lamp"})
    page, lesson = phone.page, phone.page.locator(".rope-lesson")
    heights = set()
    for bugs in longest_lessons(page):
        phone.frames()
        page.locator("[data-control=reread]").evaluate("(n) => n.scrollIntoView({ block: 'end' })")
        sentence = lesson.locator("p").bounding_box()
        seen = page.locator(".rope-breakit-seen").bounding_box()
        assert 0 <= sentence["y"] and sentence["y"] + sentence["height"] < PHONE[1] / 2, bugs
        assert lesson.evaluate("(node) => node.scrollHeight <= node.clientHeight")
        at = [sentence["x"] + 5, sentence["y"] + 5]
        on_top = "([x, y]) => document.elementFromPoint(x, y).closest('.rope-lesson') !== null"
        assert page.evaluate(on_top, at), "nothing lies over it"
        heights.add(seen["height"])
    assert len(heights) == 1, "and nothing jumps"
    assert page.locator(".rope-task").evaluate("(task) => !task.closest('.rope-stays')")
