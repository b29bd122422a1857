"""Whether a widget reports what it must: its oracle stands in the test file of its folder."""

import importlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from scratch import folder_of


@dataclass(frozen=True)
class Oracle:
    """What a widget must report, `ORACLE` in `ropebook/widgets/NAME/test_NAME.py`.

    `answers` gives ropelib's own values of the readouts (in order, where a name stands several
    times) for the inputs: what the sliders are set to, and what the other fields name.
    """

    answers: Callable[[dict], dict]
    # Traits that are inputs and no slider sets: the vectors of the handles, the switches.
    held: tuple[str, ...] = ()
    # Readouts that are inputs: one number, and a number for each pair.
    chosen: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    # How a slider's own number becomes the input's value, where it is not that number.
    scales: Mapping[str, Callable] = field(default_factory=dict)
    # Sliders that stand on the mark nearest to a value that was set otherwise, and how near it is.
    nearest: Mapping[str, float] = field(default_factory=dict)
    # Readouts that span many powers of ten are held to a relative 1e-6, others to an absolute one.
    wide_ranging: str = "$^"
    # Readouts that are equal when they differ by whole turns.
    angles: tuple[str, ...] = ()
    # Readouts whose text is no number.
    untold: tuple[str, ...] = ()
    # Controls that show more or less than before; no other may change the widget's height.
    resizing: str = "$^"

    def same(self, name: str, shown: float, expected: float) -> bool:
        """Whether a readout shows what it should."""
        if math.isnan(expected):
            return math.isnan(shown)
        if name in self.angles:
            return abs(math.remainder(shown - expected, math.tau)) <= 1e-6
        limit = 1e-6 * abs(expected) if re.search(self.wide_ranging, name) else 1e-6
        return abs(shown - expected) <= limit


def oracle_of(widget):
    """The oracle of a mounted widget, found by its folder."""
    folder = folder_of(str(widget))
    return importlib.import_module(f"ropebook.widgets.{folder}.test_{folder}").ORACLE


def held_by(widget):
    """The inputs beside the sliders, as Python has set them."""
    return {name: widget.state[name] for name in oracle_of(widget).held}


def wrong_readouts(widget, held=None):
    """Compare all readouts with ropelib and with the settings; return what differs."""
    oracle, shown = oracle_of(widget), widget.reports()
    set_to = {
        name: oracle.scales.get(name, float)(widget.native(name)) for name in widget.sliders()
    }
    for name in set(oracle.nearest) & set(set_to):
        value = shown[name][0][0]
        assert value == pytest.approx(set_to[name], rel=oracle.nearest[name])
        set_to[name] = value
    inputs = {**set_to, **(held or {})}
    inputs |= {name: shown[name][0][0] for name in oracle.chosen}
    inputs |= {name: [value for value, _ in shown[name]] for name in oracle.kept}
    expected = {**oracle.answers(inputs), **set_to}
    unknown = set(shown) - set(expected) - set(oracle.chosen)
    assert not unknown, f"{widget} shows readouts that no oracle knows: {unknown}"
    wrong = []
    for name, right in expected.items():
        right = right if isinstance(right, list) else [right]
        values = [value for value, _ in shown[name]]
        if len(values) != len(right) or not all(
            map(oracle.same, [name] * len(right), values, right)
        ):
            wrong.append(f"{widget} at {inputs}: {name} reports {values}, ropelib says {right}")
    return wrong + [
        f"{widget} at {inputs}: {name} is {value} and shows {text!r}"
        for name, found in shown.items()
        for value, text in found
        if name not in oracle.untold and not says(text, value)
    ]


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def says(text, value):
    """Whether a readout's text is its value, rounded, and in degrees where it says so."""
    text = text.replace("−", "-").replace("\u202f", "")
    number = re.match(r"(-?\d+(?:\.(\d+))?)(?:·10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))?", text)
    if number is None:
        return math.isnan(value) or (text == "none" and value == 0)
    if re.fullmatch(r"[^a-z(]*°", text):
        value = math.degrees(value)
    unit = 10.0 ** -len(number[2] or "")
    power = 10.0 ** int((number[3] or "0").translate(_SUPERSCRIPTS))
    return abs(float(number[1]) * power - value) <= 0.5001 * unit * power
