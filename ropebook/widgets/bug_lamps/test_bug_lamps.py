"""The bug lamps in Python: each bug by explicit matrices, and the tests that notice it."""

import itertools
import math

import pytest
import torch

pytest.importorskip("anywidget")

from browser import PHONE, WIDE
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import BugLamps
from ropebook.widgets.bug_lamps.widget import BUGS, TESTS
from ropelib import reference

NOTICED = {
    "q_sign": ["by_hand", "push", "alike", "far", "original"],
    "k_sign": ["by_hand", "push", "alike", "far", "original"],
    "q_seat": ["push", "alike", "far", "original"],
    "k_seat": ["push", "alike", "far", "original"],
    "cosines": ["length", "push", "far", "original"],
    "exponent": ["original"],
    "width": ["original"],
    "rounded": ["far"],
    "from_one": ["zero"],
    "early": ["length", "push", "far", "original"],
    "values": ["original"],
    "restart": ["cache"],
    "reread": ["cache"],
}


@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_is_noticed_by_these_tests_and_no_others(bug):
    assert BugLamps.with_bugs(bug).lit == NOTICED[bug]


def test_without_a_bug_nothing_is_noticed():
    assert BugLamps.with_bugs().lit == []
    assert max(BugLamps.with_bugs().errors.values()) < 1e-9


def test_no_bug_is_on_at_first_so_that_no_bet_is_answered():
    lamps = BugLamps()
    assert [bug for bug in BUGS if getattr(lamps, bug)] == lamps.lit == []
    assert lamps.view == "start"


def test_both_sides_wrong_hides_what_one_side_shows():
    assert BugLamps.with_bugs("q_sign", "k_sign").lit == ["by_hand", "original"]
    assert BugLamps.with_bugs("q_seat", "k_seat").lit == ["original"]


def test_no_lamp_is_lit_or_dark_by_a_hair():
    sets = [*itertools.combinations(BUGS, 1), *itertools.combinations(BUGS, 2), BUGS]
    for bugs in sets:
        for name, error in BugLamps.with_bugs(*bugs).errors.items():
            assert error < 1e-9 or error > 0.005, (bugs, name, error)


def test_all_five_words_share_a_position_far_out():
    far = torch.arange(10_000, 10_005, dtype=torch.float64).bfloat16()
    assert far.tolist() == [9984] * 5


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("view", "later", "view must be .*'later'"),
        ("vector", "w", "vector must be .*'w'"),
        ("q_sign", "yes", "q_sign"),
    ],
)
def test_the_widget_refuses(name, value, message):
    assert_refused(BugLamps, name, value, message)


def test_a_bug_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"a bug must be one of q_sign, .*, got 'typo'"):
        BugLamps.with_bugs("typo")


# ---- what it must report: the same layer once more, by explicit matrices ----


def matrix_of(bugs, side, position, width=8):
    """The rotation with its bugs as one matrix."""
    rotary = max(2, width // 2) if bugs["width"] else width
    pairs = rotary // 2
    power = 1 if bugs["exponent"] else 2
    speeds = [100.0 ** (-power * i / rotary) for i in range(pairs)]
    at = position + int(bugs["from_one"])
    if bugs["rounded"]:
        at = torch.tensor(float(at)).bfloat16().item()
    if bugs[f"{side}_sign"]:
        at = -at
    layout = "half" if bugs[f"{side}_seat"] else "interleaved"
    whole = torch.eye(width, dtype=torch.float64)
    speeds = torch.tensor(speeds, dtype=torch.float64)
    whole[:rotary, :rotary] = reference.rotation_matrix(at, speeds, layout=layout)
    if bugs["cosines"]:
        # Entry (a, b) of a pair has the angle that the other layout gives to seat a.
        seats = [i // 2 if layout == "half" else i % pairs for i in range(rotary)]
        quarter = reference.rotation_matrix(1, torch.full((pairs,), math.pi / 2), layout=layout)
        angles = at * speeds[seats]
        mixed = torch.diag(angles.cos()) + angles.sin()[:, None] * quarter.round()
        whole[:rotary, :rotary] = mixed
    return whole


def layer_of(inputs, positions, read_twice=False):
    example = {k: torch.tensor(v, dtype=torch.float64) for k, v in BugLamps().example.items()}
    made = {}
    for side in "qkv":
        way = "q" if side == "q" else "k"
        rows = []
        for x, position in zip(example["embeddings"], positions, strict=True):
            turn = matrix_of(inputs, way, position)
            if side == "v" and not inputs["values"]:
                turn = torch.eye(8, dtype=torch.float64)
            weight = example[f"w_{side}"]
            rows.append(weight @ (turn @ x) if inputs["early"] else turn @ (weight @ x))
        made[side] = torch.stack(rows)
    if read_twice:
        made["k"] = torch.stack([matrix_of(inputs, "k", i) @ k for i, k in enumerate(made["k"])])
    scores = made["q"] @ made["k"].T
    weights = torch.zeros(5, 5, dtype=torch.float64)
    for m in range(5):
        powers = (scores[m, : m + 1] / 8**0.5).exp()
        weights[m, : m + 1] = powers / powers.sum()
    return {**made, "scores": scores, "weights": weights, "output": weights @ made["v"]}


def answers(inputs):
    right = layer_of(dict.fromkeys(BUGS, False), range(5))
    example = {k: torch.tensor(v, dtype=torch.float64) for k, v in BugLamps().example.items()}
    plain = {side: example["embeddings"] @ example[f"w_{side}"].T for side in "qk"}
    here, pushed, far = (layer_of(inputs, range(s, s + 5)) for s in (0, 7, 10_000))
    by_cache = layer_of(inputs, [0, 1, 2, 3, 0 if inputs["restart"] else 4], inputs["reread"])
    still = layer_of(inputs, [0] * 5)
    one, two = torch.eye(2, dtype=torch.float64)
    by_hand = (matrix_of(inputs, "q", 2, 2) @ one) @ (matrix_of(inputs, "k", 1, 2) @ two)
    alike = (matrix_of(inputs, "q", 4) - matrix_of(inputs, "k", 4)) @ plain["q"][-1]
    found = {
        "length": torch.stack([here[s].norm(dim=-1) - plain[s].norm(dim=-1) for s in "qk"]),
        "zero": torch.stack([still[s] - plain[s] for s in "qk"]),
        "by_hand": by_hand - math.sin(1),
        "push": pushed["scores"] - here["scores"],
        "alike": alike,
        "cache": by_cache["scores"][-1] - here["scores"][-1],
        "far": far["scores"] - here["scores"],
        "original": here["output"] - right["output"],
    }
    views = {"start": here, "pushed": pushed, "far": far, "cached": by_cache}
    return {
        **{name: off.abs().max().item() for name, off in found.items()},
        "weights": views[inputs["view"]]["weights"][-1].tolist(),
    }


ORACLE = Oracle(answers, held=(*BUGS, "view"))


@pytest.mark.parametrize("view", ["start", "pushed", "far", "cached"])
def test_python_computes_what_the_matrices_say(view):
    sets = [(), *itertools.combinations(BUGS, 1), ("cosines", "k_seat", "width", "early"), BUGS]
    for bugs in sets:
        lamps = BugLamps.with_bugs(*bugs)
        lamps.view = view
        expected = answers({**{bug: bug in bugs for bug in BUGS}, "view": view})
        assert lamps.weights == pytest.approx(expected.pop("weights"), abs=1e-9), bugs
        assert lamps.errors == pytest.approx(expected, abs=1e-9), bugs


# ---- what it does when it is used ----


def test_every_bug_alone_and_with_the_next_reports_what_the_matrices_say(on_scratch):
    lamps = on_scratch("bug_lamps")
    held = held_by(lamps)
    wrong, views = [], itertools.cycle(["pushed", "far", "cached", "start"])
    for bug, following in zip(BUGS, (*BUGS[1:], BUGS[0]), strict=True):
        for switched in (bug, following, following, bug):
            lamps.control(switched).click()
            held[switched] = not held[switched]
            held["view"] = next(views)
            lamps.page.evaluate(
                "(view) => { model.set('view', view); model.save_changes(); }", held["view"]
            )
            lamps.frames()
            wrong += wrong_readouts(lamps, held)
    assert not wrong, "\n".join(wrong[:5])


def test_a_lamp_is_lit_where_python_says_so(on_scratch):
    lamps = on_scratch("bug_lamps")
    for bugs in (("rounded",), ("rounded", "q_sign"), ("q_sign",), ("q_sign", "k_sign")):
        for bug in BUGS:
            if lamps.control(bug).is_checked() != (bug in bugs):
                lamps.control(bug).click()
        lamps.frames()
        lit = lamps.page.evaluate(
            "[...document.querySelectorAll('.rope-lamp-lit [data-report]')]"
            ".map((node) => node.dataset.report)"
        )
        assert lit == BugLamps.with_bugs(*bugs).lit
        words = lamps.page.locator(".rope-lamps-state").all_inner_texts()
        assert words == ["notices" if name in lit else "silent" for name in TESTS]


STOPS = {
    "both_signs": ("q_sign", "k_sign"),
    "both_seats": ("q_seat", "k_seat"),
    "reset": (),
}


def test_stops_set_their_bugs_and_no_others(on_scratch):
    lamps = on_scratch("bug_lamps")
    for stop, bugs in STOPS.items():
        lamps.control(stop).click()
        lamps.frames()
        assert [bug for bug in BUGS if lamps.control(bug).is_checked()] == list(
            sorted(bugs, key=BUGS.index)
        )


def test_on_a_phone_the_lamps_stay_in_sight_and_the_switches_wait_in_their_folds(on_scratch):
    for size, opened in ((WIDE, True), (PHONE, False)):
        lamps = on_scratch("bug_lamps", size)
        # As a reader meets it: a test's page has every fold opened.
        groups = lamps.page.locator("details.rope-lamps-group")
        assert groups.count() == 3
        lamps.page.reload()
        lamps.page.wait_for_selector(".rope-widget-host .rope-widget")
        assert groups.evaluate_all("(all) => all.map((one) => one.open)") == [opened] * 3
    top = "() => document.querySelector('.rope-lamps-row').getBoundingClientRect().top"
    frame = lamps.page.locator(".rope-frame").bounding_box()["y"]
    assert lamps.page.evaluate(top) - frame < 30, "lamps first"
    groups.first.locator("summary").click()
    lamps.control("q_sign").evaluate("(node) => node.scrollIntoView({ block: 'end' })")
    lamps.control("q_sign").click()
    lamps.frames()
    assert lamps.page.locator(".rope-lamp-lit").count() == len(NOTICED["q_sign"])
    lamps.page.evaluate("scrollTo({ top: 500, behavior: 'instant' })")
    lamps.frames()
    assert 0 <= lamps.page.evaluate(top) < 60, "and still there, far down"
