"""The distance curve: its Python side, and its JavaScript against ropelib over its sliders."""

import math
import random
from itertools import pairwise

import pytest
import torch

pytest.importorskip("anywidget")

import javascript
from oracles import Oracle, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import DistanceCurve
from ropebook.widgets.distance_curve.widget import BASES, PRESETS


def test_it_starts_on_a_curve_that_rises_almost_every_second_step():
    curve = DistanceCurve()
    assert (curve.head_dim, curve.base, curve.context, curve.kept) == (64, 10_000.0, 512, 1.0)
    assert (curve.rises, curve.first_negative, curve.base_bound) == (244, None, 5620.0)
    assert curve.curve[0] == 1 and curve.bound[0] == 16.5
    assert (curve.bound >= curve.curve.abs() - 1e-12).all()


@pytest.mark.parametrize(
    ("preset", "first_negative"),
    [("roformer", None), ("llama2", 1707), ("llama3", None), ("p_rope", None), ("one_hand", 2)],
)
def test_presets_are_what_they_name(preset, first_negative):
    curve = DistanceCurve(**PRESETS[preset])
    assert curve.first_negative == first_negative
    assert len(curve.curve) == curve.context + 1


def test_a_kept_share_lets_the_slowest_stand_still():
    curve = DistanceCurve(**PRESETS["p_rope"])
    assert int((curve.inv_freq > 0).sum()) == 96 and (curve.inv_freq[96:] == 0).all()
    assert curve.slowest_wavelength == pytest.approx(math.tau * 10_000 ** (95 / 128))
    still = DistanceCurve(kept=0)
    assert still.slowest_wavelength is None and still.rises == 0 and (still.curve == 1).all()


def test_one_hand_is_a_plain_cosine():
    curve = DistanceCurve(**PRESETS["one_hand"])
    torch.testing.assert_close(curve.curve, torch.arange(65).double().cos())
    assert curve.base_bound is None


def test_the_tried_bases_are_twenty_to_a_tenfold():
    assert len(BASES) == 101 and (BASES[0], BASES[20], BASES[-1]) == (100, 1000, 1e7)
    assert all(1.1 < b / a < 1.14 for a, b in pairwise(BASES))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("head_dim", 63, "head_dim must be even, got 63"),
        ("head_dim", 0, r"head_dim must lie in \[2, 256\], got 0"),
        ("head_dim", 258, r"head_dim must lie in \[2, 256\], got 258"),
        ("base", 99.0, r"base must lie in \[100, 1e\+07\], got 99.0"),
        ("base", math.nan, "base must lie in .* got nan"),
        ("context", 63, r"context must lie in \[64, 131072\], got 63"),
        ("kept", 1.01, r"kept must lie in \[0, 1\], got 1.01"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(DistanceCurve, name, value, message)


_PROGRAM = """
const w = await import("./distance_curve/widget.js");
const { states, bases } = given;
const foundBy = (search) => {
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
};
console.log(JSON.stringify(states.map((s) => {
  const inverse = w.keptFrequencies(s.head_dim, s.base, s.kept);
  const means = w.cosineMeans(inverse, s.context);
  return [w.countRises(means, s.context), w.firstNegative(means, s.context),
    foundBy(w.smallestBase(s.head_dim, s.kept, s.context, bases)), means[s.context],
    w.partialSumBound(inverse, s.context), w.slowestTurn(inverse)];
})));
"""


def test_the_pictures_numbers_are_ropelibs_all_over_its_sliders():
    draw = random.Random(0)
    states = [*PRESETS.values()] + [
        {
            "head_dim": draw.randrange(2, 258, 2),
            "base": float(f"{10 ** draw.uniform(2, 7):.3g}"),
            "context": 2 ** draw.randint(6, 13),
            "kept": draw.randint(0, 20) / 20,
        }
        for _ in range(40)
    ]
    answers = javascript.run(_PROGRAM, {"states": states, "bases": BASES})
    for state, found in zip(states, answers, strict=True):
        curve = DistanceCurve(**state)
        expected = [curve.rises, curve.first_negative, curve.base_bound]
        assert found[:3] == expected, state
        slowest = curve.slowest_wavelength
        expected = [curve.curve[-1].item(), curve.bound[-1].item(), slowest]
        assert found[3:5] == pytest.approx(expected[:2], abs=1e-9), state
        assert found[5] == (None if slowest is None else pytest.approx(slowest, rel=1e-12)), state


_SEARCH = """async (size) => {
  const report = document.querySelector("[data-report=base_bound]");
  const frame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  // A drawing that changes nothing reads what stands there all the same.
  let drawn = 0;
  const plain = Element.prototype.getAttribute;
  Element.prototype.getAttribute = function (name) {
    if (this.closest(".rope-distance-picture")) drawn += 1;
    return plain.call(this, name);
  };
  for (const [name, value] of Object.entries(size)) model.set(name, value);
  await frame();
  const first = [drawn > 0, "value" in report.dataset, report.textContent];
  drawn = 0;
  let frames = 0;
  for (; !("value" in report.dataset); frames += 1) await frame();
  Element.prototype.getAttribute = plain;
  return { first, frames, drawn, found: Number(report.dataset.value), text: report.textContent };
}"""


def test_a_long_search_leaves_the_frames_free_and_draws_nothing_again(on_scratch):
    widget = on_scratch("distance_curve")
    # A page whose clock goes on by a millisecond whenever it is read: the same slices everywhere.
    widget.page.evaluate("() => { let now = 0; performance.now = () => (now += 1) }")
    size = {"head_dim": 128, "context": 4096}
    seen = widget.page.evaluate(_SEARCH, size)
    assert seen["first"] == [True, False, "…"]
    assert seen["frames"] > 3 and seen["drawn"] == 0
    assert seen["found"] == DistanceCurve(**size).base_bound
    assert wrong_readouts(widget) == []


# ---- what it must report ----


def answers(inputs):
    whole = {name: round(inputs[name]) for name in ("head_dim", "context")}
    curve = DistanceCurve(base=inputs["base"], kept=inputs["kept"], **whole)
    return {
        "rises": curve.rises,
        "first_negative": math.nan if curve.first_negative is None else curve.first_negative,
        "base_bound": math.nan if curve.base_bound is None else curve.base_bound,
        "cosine_at_context": curve.curve[-1].item(),
        "bound_at_context": curve.bound[-1].item(),
        "wavelength_slowest": curve.slowest_wavelength or math.nan,
        "turning_pairs": int((curve.inv_freq > 0).sum()),
    }


ORACLE = Oracle(
    answers,
    scales={"base": lambda power: 10**power, "context": lambda power: 2**power},
    nearest={"base": 0.013},
    wide_ranging="wavelength|^base$|^context$",
)
