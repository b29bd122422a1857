"""Traits with a rule: what each takes and refuses, and what its error says."""

import math

import pytest

pytest.importorskip("anywidget")

import traitlets

from ropebook.widgets.traits import EvenInRange, FloatInRange, InDisc, IntInRange, OneOf, Positive


class Ruled(traitlets.HasTraits):
    m = IntInRange(3, low=0, high=24, unit="tokens")
    even = EvenInRange(64, low=2, high=256)
    theta = FloatInRange(1.0, low=0, high=math.pi, said="[0, pi]", unit="rad")
    part = FloatInRange(0.5, low=0, high=1)
    base = Positive(10_000.0)
    way = OneOf("near", ("near", "far"))
    q = InDisc([1.0, 0.0], radius=2.0)
    z = InDisc([1.0, 0.0], radius=2.0, parts="a real and an imaginary part")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("m", 25, r"^m must lie in \[0, 24\] tokens, got 25$"),
        ("m", -1, r"^m must lie in \[0, 24\] tokens, got -1$"),
        ("even", 7, r"^even must be even and lie in \[2, 256\], got 7$"),
        ("even", 258, r"^even must be even and lie in \[2, 256\], got 258$"),
        ("theta", 7.0, r"^theta must lie in \[0, pi\] rad, got 7\.0$"),
        ("theta", math.nan, r"^theta must lie in \[0, pi\] rad, got nan$"),
        ("part", 1.5, r"^part must lie in \[0, 1\], got 1\.5$"),
        ("base", 0.0, r"^base must be finite and greater than 0, got 0\.0$"),
        ("base", math.inf, r"^base must be finite and greater than 0, got inf$"),
        ("base", math.nan, r"^base must be finite and greater than 0, got nan$"),
        ("way", "back", r"^way must be one of near, far, got 'back'$"),
        ("q", [1.0], r"^q must have two coordinates, got \[1\.0\]$"),
        ("z", [1.0], r"^z must have a real and an imaginary part, got \[1\.0\]$"),
        ("q", [2.0, 0.1], r"^q must have length at most 2, got \[2\.0, 0\.1\]$"),
        ("q", [math.nan, 0.0], r"^q must have length at most 2, got \[nan, 0\.0\]$"),
    ],
)
def test_a_rule_refuses_now_and_later_and_keeps_what_was(name, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        Ruled(**{name: value})
    ruled = Ruled()
    before = getattr(ruled, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(ruled, name, value)
    assert getattr(ruled, name) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("m", 0),
        ("m", 24),
        ("even", 2),
        ("even", 256),
        ("theta", math.pi),
        ("part", 0),
        ("base", 1e-300),
        ("way", "far"),
        ("q", [0, -2]),
    ],
)
def test_a_rule_takes_its_edges(name, value):
    assert getattr(Ruled(**{name: value}), name) == value


def test_every_ruled_trait_goes_to_the_page():
    assert all(trait.metadata["sync"] for trait in Ruled().traits().values())


@pytest.mark.parametrize(("name", "value"), [("m", 1.5), ("theta", "1"), ("way", 1), ("q", "12")])
def test_another_type_is_refused_as_ever(name, value):
    with pytest.raises(traitlets.TraitError, match=rf"The '{name}' trait .* expected"):
        Ruled(**{name: value})
