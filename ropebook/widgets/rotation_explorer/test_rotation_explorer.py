"""The rotation explorer: scores of two turned vectors, and how q, k and the sliders move."""

import math

import pytest
import torch

pytest.importorskip("anywidget")

from browser import watched
from hands import drag
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import RotationExplorer
from ropelib import apply_rotary, cos_sin


def rotation(angle):
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


@pytest.mark.parametrize(("theta", "m", "n"), [(0.5, 3, 7), (0.0, 24, 0), (math.pi, 1, 24)])
def test_explorer_reports_what_explicit_matrices_give(theta, m, n):
    explorer = RotationExplorer(theta=theta, m=m, n=n, q=[0.3, -1.7], k=[1.1, 0.2])
    q_m = rotation(m * theta) @ torch.tensor(explorer.q, dtype=torch.float64)
    k_n = rotation(n * theta) @ torch.tensor(explorer.k, dtype=torch.float64)
    torch.testing.assert_close(torch.tensor(explorer.q_rotated, dtype=torch.float64), q_m)
    torch.testing.assert_close(torch.tensor(explorer.k_rotated, dtype=torch.float64), k_n)
    assert explorer.score == pytest.approx(float(q_m @ k_n), abs=1e-12)
    cosine = float(q_m @ k_n / (q_m.norm() * k_n.norm()))
    assert math.cos(explorer.angle_between) == pytest.approx(cosine, abs=1e-12)


def test_explorer_reports_what_ropelib_gives():
    explorer = RotationExplorer()
    turn = torch.tensor([math.pi / 6], dtype=torch.float64)
    tables = cos_sin([3], turn, dtype=torch.float64)
    q = torch.tensor([explorer.q], dtype=torch.float64)
    q_m = apply_rotary(q, *tables, layout="half")
    assert explorer.q_rotated == tuple(q_m[0].tolist())


def test_explorer_score_stays_when_both_move_and_changes_when_one_does():
    explorer = RotationExplorer()
    before = explorer.score
    explorer.m, explorer.n = explorer.m + 8, explorer.n + 8
    assert explorer.score == pytest.approx(before, abs=1e-12)
    explorer.n += 1
    assert abs(explorer.score - before) > 0.1


def test_explorer_starts_on_a_clear_score():
    explorer = RotationExplorer()
    assert (explorer.m, explorer.n, explorer.keep_distance) == (3, 7, False)
    assert abs(explorer.score) > 0.5


def test_angle_is_unknown_for_a_vector_of_length_zero():
    explorer = RotationExplorer(q=[0, 0])
    assert explorer.score == 0
    assert math.isnan(explorer.angle_between)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theta", 7.0, r"theta must lie in \[0, pi\] rad per token, got 7.0"),
        ("theta", -0.1, r"theta must lie in \[0, pi\] rad per token, got -0.1"),
        ("theta", math.nan, r"theta must lie in \[0, pi\] rad per token, got nan"),
        ("m", 25, r"m must lie in \[0, 24\] tokens, got 25"),
        ("n", -1, r"n must lie in \[0, 24\] tokens, got -1"),
        ("q", [1.0], r"q must have two coordinates, got \[1.0\]"),
        ("k", [2.0, 0.1], r"k must have length at most 2, got \[2.0, 0.1\]"),
        ("k", [math.nan, 0.1], r"k must have length at most 2, got \[nan, 0.1\]"),
    ],
)
def test_explorer_refuses(name, value, message):
    assert_refused(RotationExplorer, name, value, message)


@pytest.mark.parametrize(("name", "value"), [("theta", math.pi), ("m", 24), ("q", [2, 0])])
def test_explorer_takes_the_edge_of_each_rule(name, value):
    assert getattr(RotationExplorer(**{name: value}), name) == value


def test_python_hears_of_every_change():
    heard = []
    explorer = RotationExplorer()
    explorer.observe(lambda change: heard.append(change["new"]), "theta")
    explorer.theta = 1.0
    assert heard == [1.0]


# ---- what it must report ----


def answers(inputs):
    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)

    def turned(vector, position):
        cos, sin = cos_sin(torch.tensor([position]), turn, dtype=torch.float64)
        x = torch.tensor([vector], dtype=torch.float64)
        return apply_rotary(x, cos, sin, layout="interleaved")[0]

    q, k = turned(inputs["q"], inputs["m"]), turned(inputs["k"], inputs["n"])
    cosine = torch.dot(q, k) / (q.norm() * k.norm())
    return {
        "score": torch.dot(q, k).item(),
        "angle_between": math.acos(max(-1.0, min(1.0, cosine.item()))),
        "distance": inputs["n"] - inputs["m"],
        "q_rotated_x": q[0].item(),
        "q_rotated_y": q[1].item(),
        "k_rotated_x": k[0].item(),
        "k_rotated_y": k[1].item(),
    }


ORACLE = Oracle(answers, held=("q", "k"), scales={"theta": math.radians})


# ---- what it does when it is moved ----


def test_the_right_vectors_are_turned_after_arrow_keys(on_scratch):
    explorer = on_scratch("rotation_explorer")
    vectors = {name: list(vector) for name, vector in held_by(explorer).items()}
    for handle, key, axis, step in [
        ("q", "ArrowLeft", 0, -0.1),
        ("q", "ArrowUp", 1, 0.1),
        ("k", "Shift+ArrowUp", 1, 0.5),
        ("k", "ArrowRight", 0, 0.1),
        ("k", "ArrowDown", 1, -0.1),
    ]:
        explorer.control(handle).focus()
        for _ in range(2):
            explorer.page.keyboard.press(key)
            explorer.frames()
            vectors[handle][axis] += step
        assert wrong_readouts(explorer, vectors) == []
    explorer.slide(theta=0.6, m=0.9, n=0.2)
    assert wrong_readouts(explorer, vectors) == []


def test_keys_that_arrive_within_one_frame_all_count(on_scratch):
    explorer = on_scratch("rotation_explorer")
    vectors = {name: list(vector) for name, vector in held_by(explorer).items()}
    explorer.control("q").evaluate(
        """(handle) => {
          const press = () => new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true });
          for (let i = 0; i < 3; i += 1) handle.dispatchEvent(press());
        }"""
    )
    explorer.frames()
    vectors["q"][0] -= 0.3
    assert wrong_readouts(explorer, vectors) == []


def test_a_dragged_vector_follows_the_pointer(on_scratch):
    explorer = on_scratch("rotation_explorer")
    explorer.slide(theta=0)  # without a turn the readouts show the vectors themselves
    for handle in ("q", "k"):
        explorer.reveal(handle)
        start = explorer.center(handle)
        before = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        area = explorer.control(handle).evaluate("(node) => node.ownerSVGElement.clientWidth")
        moved = (-37, 29)
        drag(explorer.page, start, [start[0] + moved[0], start[1] + moved[1]])
        explorer.frames()
        after = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        # The picture shows -2.2 to 2.2 in both directions, and y points up.
        unit = area / 4.4
        assert after[0] - before[0] == pytest.approx(moved[0] / unit, abs=1.5 / unit)
        assert after[1] - before[1] == pytest.approx(-moved[1] / unit, abs=1.5 / unit)
        at = explorer.control(handle).bounding_box()
        assert at["x"] + at["width"] / 2 == pytest.approx(start[0] + moved[0], abs=2)
        assert at["y"] + at["height"] / 2 == pytest.approx(start[1] + moved[1], abs=2)


def test_score_stays_while_the_distance_is_kept(on_scratch):
    explorer = on_scratch("rotation_explorer")
    explorer.slide(m=0.25, n=0.5)
    before = {name: explorer.report(name) for name in ("score", "distance", "m", "q_rotated_x")}
    explorer.control("keep_distance").click()
    explorer.control("m").focus()
    for step in range(1, 6):
        explorer.page.keyboard.press("ArrowRight")
        explorer.frames()
        assert explorer.report("m") == before["m"] + step
        assert explorer.report("distance") == before["distance"]
        assert explorer.report("score") == pytest.approx(before["score"], abs=1e-9)
    assert explorer.report("q_rotated_x") != pytest.approx(before["q_rotated_x"], abs=1e-3)
    explorer.control("keep_distance").click()
    explorer.page.keyboard.press("Tab")
    explorer.control("m").press("ArrowRight")
    explorer.frames()
    assert explorer.report("distance") == before["distance"] - 1
    assert explorer.report("score") != pytest.approx(before["score"], abs=1e-3)


def test_score_stays_in_every_frame_while_both_move(on_scratch):
    explorer = on_scratch("rotation_explorer")
    score = explorer.report("score")
    frames = watched(explorer, "both_move", ["score", "m", "distance"], seconds=1.5)
    assert len({m for _, m, _ in frames}) > 10, "nothing moved"
    assert all(abs(shown - score) <= 1e-9 for shown, _, _ in frames)
    assert len({round(distance, 9) for *_, distance in frames}) == 1


def test_score_changes_while_only_the_key_moves(on_scratch):
    explorer = on_scratch("rotation_explorer")
    frames = watched(explorer, "only_k_moves", ["score", "m", "n"], seconds=1.5)
    assert len({round(score, 6) for score, _, _ in frames}) > 10
    assert len({m for _, m, _ in frames}) == 1
