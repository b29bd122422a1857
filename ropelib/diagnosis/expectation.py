"""What only an expectation can show."""

import math
import warnings
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.config import RopeConfig
from ropelib.diagnosis.at_length import Meant, differs_when_long, meant_at, not_reached
from ropelib.diagnosis.axes_meant import (
    axes_mismatch,
    axes_mixed,
    axes_not_asked,
    axes_not_compared,
    expected_axes,
)
from ropelib.diagnosis.causes import inverted_blend
from ropelib.diagnosis.described import described, of_the_gallery
from ropelib.diagnosis.dynamic_meant import grown_when_short
from ropelib.diagnosis.expected_frequencies import (
    axes_off,
    base_off,
    in_another_order,
    in_reverse,
    slow_pairs_still,
)
from ropelib.diagnosis.expected_results import others_turn, parts_as_heads, results_differ
from ropelib.diagnosis.fit import Fit
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.scaling_meant import UNSCALED, scaling_off, slipped
from ropelib.diagnosis.tensors import SAME, wrap

SUSPECT = {  # what nobody chooses, unless somebody says so
    "angles-in-degrees",
    "base-beyond-sense",
    "exponents-from-a-half",
    "exponents-from-one",
    "exponents-positive",
    "frequencies-in-bfloat16",
    "frequencies-in-float16",
    "frequencies-in-tf32",
    "frequencies-multiplied",
    "frequencies-unfilled",
    "inverted-ramp",
    "last-pair-not-rotated",
}


@dataclass(frozen=True)
class Expectation:
    """What a rotation is meant to be, as far as that was said."""

    inv_freq: Tensor | None = None
    attention_factor: float | None = None
    layout: str | None = None
    direction: int | None = 1  # None for either
    config: RopeConfig | None = None  # which turns the leading dimensions of a head
    other: Measured | None = None
    axis_of_pairs: tuple[int, ...] | None = None
    at_length: Meant | None = None
    axes_not_asked: int | None = None
    still_axes: bool = False  # whether axes that turn nothing are what is meant

    @classmethod
    def of(
        cls, expected, inv_freq, attention_factor, layout, other=None, axes=None
    ) -> "Expectation":
        """Take what is given by itself, and the rest from `expected`, or as `other` measures."""
        if other is not None:
            factor, its_layout = float(other.scale.mean()), other.pairing.layout
            expected = _Measures(other.inv_freq, factor, its_layout, other.direction or 1)
        values = {"inv_freq": inv_freq, "attention_factor": attention_factor, "layout": layout}
        direction, config, at_length = 1, None, None
        of_pairs, unasked = (
            of(axes, of_the_gallery(expected)) for of in (expected_axes, axes_not_asked)
        )
        if expected is not None:
            with warnings.catch_warnings():
                if of_pairs is not None or unasked:  # then they were read, or a note says so
                    warnings.filterwarnings("ignore", message=".*'mrope_")
                expected = described(expected)
                config = expected if isinstance(expected, RopeConfig) else None
                meant = _attributes(expected, (*values, "direction"))
            if inv_freq is None:
                factor = getattr(expected, "attention_factor", None)
                factor = factor if attention_factor is None else attention_factor
                at_length = meant_at(getattr(expected, "inv_freq", None), factor)
            direction = meant.pop("direction")
            direction = None if getattr(expected, "either_direction", False) else direction
            values = {name: meant[name] if v is None else v for name, v in values.items()}
        if values["layout"] is not None:
            checks.layout("layout", values["layout"])
        if values["inv_freq"] is not None:
            values["inv_freq"] = _frequencies(values["inv_freq"])
        if values["attention_factor"] is not None:
            values["attention_factor"] = _factor(values["attention_factor"])
        about = {"direction": direction, "config": config, "other": other}
        about["axis_of_pairs"] = of_pairs
        return cls(**values, **about, at_length=at_length, axes_not_asked=unasked)

    def beside_the_tables_of(self, rotate: object) -> "Expectation":
        """Expect no frequencies and no factor that one of both alone has from tables made here."""
        tables = getattr(rotate, "meant", None)
        of_other = self.other and getattr(self.other.probe.rotate, "meant", None)
        made, others_are = (getattr(each, "made_here", False) for each in (tables, of_other))
        if made == others_are:
            return self
        if others_are:
            return replace(self, inv_freq=None, attention_factor=None, other=None, at_length=None)
        its_own = {"config": None, "other": None, "at_length": None, "axes_not_asked": None}
        speeds, factor = _frequencies(tables.inv_freq), tables.attention_factor
        return replace(self, inv_freq=speeds, attention_factor=factor, **its_own)

    def excuses(self, finding: Finding, m: Measured) -> bool:
        """Say whether what is merely suspect is what was expected."""
        if finding.code == "frequencies-multiplied" and self.inv_freq is not None:
            return True  # by what, is then told from what is expected
        if finding.code in SUSPECT and self.inv_freq is not None:
            return m.noise < 1e-4 and self._of_frequencies(m) is None
        if finding.code == "axis-ignored":
            return self._means_no_more_axes(m)
        if finding.code == "norm-not-kept" and set(finding.evidence) == {"scale"}:
            return self.attention_factor is not None and self._of_factor(m) is None
        if finding.code == "norm-not-kept" and set(finding.evidence) == {"scale of all"}:
            # Pairs over the whole head, of which some stand still: the factor is theirs too.
            over_all = self.inv_freq is not None and 2 * len(self.inv_freq) == m.head_dim
            return over_all and self._of_frequencies(m) is None
        return False

    def nothing_turns(self, m: Measured) -> bool:
        """Say whether no pair is meant to turn, and x comes out as it went in."""
        if self.inv_freq is None or bool(self.inv_freq.any()):
            return False
        same = torch.eye(m.head_dim, dtype=torch.float64)
        return bool(((m.far.matrices - same).abs() < SAME).all())

    def mismatch(self, m: Measured) -> Finding | None:
        """Return the first difference that explains the others."""
        rules = (
            lambda m: parts_as_heads(m, self.inv_freq),
            self._of_layout,
            lambda m: others_turn(m, self.inv_freq, self.config and self.config.head_dim),
            self._of_pairs,
            self._of_direction,
            lambda m: axes_mixed(m, self.axis_of_pairs),
            lambda m: grown_when_short(m, self.config),
            self._of_frequencies,
            self._of_factor,
            self._of_axes,
            lambda m: results_differ(m, self.other),
            lambda m: differs_when_long(m, self.at_length, self.config),
        )
        return next(filter(None, (rule(m) for rule in rules)), None)

    def notes(self, m: Measured) -> list[Finding]:
        """Return what is expected and was not tried."""
        untried = not_reached(m, self.at_length), axes_not_compared(self.axes_not_asked)
        return list(filter(None, untried))

    def _of_layout(self, m: Measured) -> Finding | None:
        if self.layout not in (None, m.pairing.layout) and m.num_pairs > 1:
            return wrong(
                "layout-not-as-expected",
                f"The layout is {m.pairing.layout or 'unknown'}, expected {self.layout}.",
                "weights permuted for one layout and code written for the other; or an indexer, "
                "whose pairs may be others than those of its attention: hand over layout=",
            )

    def _of_pairs(self, m: Measured) -> Finding | None:
        """In the half layout as many pairs as are meant, still ones too, lie between partners."""
        if self.inv_freq is None or m.pairing.layout != "half":
            return None
        meant, measured = len(self.inv_freq), m.pairing.width
        turn = int((self.inv_freq != 0).sum())
        if meant == measured or turn != m.num_pairs or 2 * meant > m.head_dim:
            return None  # another number of pairs is a matter of width
        expected, found = (self.inv_freq[self.inv_freq != 0], m.turning)
        same = bool(((found / expected - 1).abs() < 1e-5 + 4 * self._noise(m)).all())
        return wrong(
            "pairs-not-as-expected",
            f"As many pairs turn as expected, and others: (i, i + {measured}), expected "
            f"(i, i + {meant}). Frequencies "
            + ("alone do not show it." if same else "are not the expected ones either."),
            "p-RoPE (Gemma 4) has its pairs across the whole head, of which the slow ones stand "
            "still; other partial rotations pair within the part that turns: fill inv_freq with "
            "zeros up to head_dim / 2 for the first, slice the head for the others",
            distance_of_partners=measured,
            expected=meant,
        )

    def _of_direction(self, m: Measured) -> Finding | None:
        if self.inv_freq is None or self.direction is None or m.direction in (None, self.direction):
            return None
        ways = {1: "counterclockwise", -1: "clockwise"}
        return wrong(
            "direction-not-as-expected",
            f"Pairs turn {ways[m.direction]}, expected {ways[self.direction]}: where q and k both "
            "do so, a token scores one ahead as it should score one behind.",
            "-sin for sin, or the two dimensions of a pair exchanged; scores alone look fine, and "
            "weights trained for the other direction do not fit",
            direction=m.direction,
            expected=self.direction,
        )

    def _of_frequencies(self, m: Measured) -> Finding | None:
        if self.inv_freq is None:
            return None
        expected, measured = self.inv_freq, m.inv_freq
        if before := self._still_before(m):
            measured = torch.nn.functional.pad(measured, (before, 0))
        longest = max(len(expected), len(measured))
        if finding := slow_pairs_still(m, measured, expected, m.pairing.first + before):
            return finding
        turn, meant = (int((t != 0).sum()) for t in (measured, expected))  # others rest
        if not meant:
            return wrong(
                "width-not-as-expected",
                f"{turn} pairs rotate, and none is meant to.",
                "rotation in a layer without positions (NoPE): no_rope_layers, or the types of "
                "layers, not read",
                dimensions_that_turn=2 * turn,
                expected=0,
            )
        if turn != meant and (
            (expected[len(measured) :] != 0).any() | (measured[len(expected) :] != 0).any()
        ):
            return wrong(
                "width-not-as-expected",
                f"{turn} pairs rotate, expected {meant}.",
                "partial_rotary_factor, or rotary_dim, not as in the configuration",
                dimensions_that_turn=2 * turn,
                expected=2 * meant,
            )
        expected, measured = (
            torch.nn.functional.pad(t, (0, longest - len(t))) for t in (expected, measured)
        )
        # What turns by less than a millionth of a radian in all is not seen to turn.
        unseen = (measured == 0) & (expected.abs() * int(m.far.positions[-1]) < 2e-6)
        expected = expected.masked_fill(unseen, 0)
        # More than half a turn in one step looks like less, the other way.
        fast = torch.maximum(expected.abs(), measured.abs()) > math.pi
        apart = (measured - expected).where(~fast, wrap(measured - expected))
        error = apart.abs() / expected.abs().clamp(min=1e-30)
        error = error.where(expected != 0, (measured != 0).double())
        if error.max() < 1e-5 + 4 * self._noise(m):
            return None
        worst = int(error.argmax())
        evidence = {
            "pair": worst,
            "measured": float(measured[worst]),
            "expected": float(expected[worst]),
        }
        if finding := slipped(self.config, measured, 1e-5 + 4 * self._noise(m), evidence):
            return finding
        if longest > 2 and expected.min() > 0:
            plain = expected[0] * (expected[1] / expected[0]) ** torch.arange(longest).double()
            both = (measured + expected) / plain
            ratio = measured / expected
            factor = float(plain[-1] / expected[-1])
            if factor > 1 + 1e-3 and (both - 1 - 1 / factor).abs().max() < 1e-3:
                return inverted_blend(factor)
            if ratio.min() < 0 and (ratio.abs() - 1).abs().max() < 1e-4:
                return wrong(
                    "direction-not-as-expected",
                    f"{int((ratio < 0).sum())} of {longest} pairs turn the other way than "
                    "expected, each at the expected speed.",
                    "-sin for sin, or the two dimensions exchanged, in some of the pairs",
                    pairs=int((ratio < 0).sum()),
                )
            turns = ((expected * ratio[-1] - measured) / math.tau).round()
            times = (measured + math.tau * turns) / expected
            alike = times.min() > 0 and times.max() / times.min() - 1 < 1e-4
            if alike and (times / times.mean() - 1).abs().max() < (times - 1).abs().min() / 2:
                return wrong(
                    "factor-not-as-expected",
                    f"All frequencies are {float(times[0]):.6g} times what is expected.",
                    "linear scaling left out, applied twice, or multiplied instead of divided",
                    ratio=float(times[0]),
                )
            if (measured / plain - 1).abs().max() < 1e-4 and ratio[-1] > 1.01:
                return Finding(
                    "scaling-missing",
                    "wrong",
                    UNSCALED,
                    evidence,
                    "rope_parameters (rope_scaling) not read, or set after the tables were built",
                )
            fit = Fit.of(expected, longest, 5e-6)
            if (fit.jump or 1) > 1.01 and (finding := scaling_off(m, fit, evidence)):
                return finding
            if finding := in_reverse(measured, expected, self._noise(m)) or base_off(m, fit):
                return finding
        elif (
            longest == 2 and meant == turn == 2
        ):  # two pairs have a base where the first turns by 1
            fit = Fit.of(expected, longest, 5e-6)
            unscaled = all(
                each.is_geometric and abs(each.factor - 1) < 1e-4 for each in (m.fit, fit)
            )
            if unscaled and (finding := base_off(m, fit)):
                return finding
        meant = self.axis_of_pairs or (self.other and self.other.axes and self.other.axes.of_pairs)
        exchanged = in_another_order(measured, expected, self._noise(m))
        return (
            axes_off(m, measured, expected, meant)
            or exchanged
            or Finding(
                "frequencies-not-as-expected",
                "wrong",
                "Frequencies are not the expected ones.",
                evidence,
                "another scaling method, or other parameters of it",
            )
        )

    def _noise(self, m: Measured) -> float:
        """Return what rounding leaves unsure, of this and of what it is compared with."""
        return m.noise + (self.other.noise if self.other else 0)

    def _still_before(self, m: Measured) -> int:
        """Return how many neighbors before those that turn are meant to stand still."""
        before = m.pairing.offset // 2
        if m.pairing.layout != "interleaved" or before + m.pairing.width > len(self.inv_freq):
            return 0
        return 0 if bool(self.inv_freq[:before].any()) else before

    def _of_factor(self, m: Measured) -> Finding | None:
        if self.attention_factor is None:
            return None
        scale = float(m.scale.mean())
        if abs(scale / self.attention_factor - 1) < 1e-5 + self._noise(m):
            return None
        missing = abs(scale - 1) < 1e-5 + self._noise(m)
        return wrong(
            "attention-factor-missing" if missing else "attention-factor-not-as-expected",
            f"cos and sin are multiplied by {scale:.6g}, expected {self.attention_factor:.6g}: "
            f"scores are {(scale / self.attention_factor) ** 2:.6g} times what they should be.",
            _why_not_the_factor(self.config, missing),
            attention_factor=scale,
            expected=self.attention_factor,
        )

    def _means_no_more_axes(self, m: Measured) -> bool:
        if self.still_axes:
            return True
        if self.axis_of_pairs is not None:
            return not set(self.axis_of_pairs) & set(m.axes.still)
        return self.other is not None and self.other.axes.still == m.axes.still

    def _of_axes(self, m: Measured) -> Finding | None:
        return axes_mismatch(m, self.axis_of_pairs, self.other and self.other.axes)


def _why_not_the_factor(config: RopeConfig | None, missing: bool) -> str:
    of_lists = config is not None and config.rope_type == "longrope"
    if missing:
        method = "LongRoPE" if of_lists else "YaRN"
        return f"only the frequencies of {method} taken over, without its factor"
    if of_lists:
        return (
            "another length in sqrt(1 + ln(s) / ln(original_max_position_embeddings)), where s is "
            "max_position_embeddings over it; or the factor applied twice"
        )
    return "mscale read as something else, or the factor applied twice"


@dataclass(frozen=True)
class _Measures:
    """What was measured of another rotation."""

    inv_freq: Tensor
    attention_factor: float
    layout: str | None
    direction: int


def is_a_rotation(expected: object) -> bool:
    """Say whether that is another implementation, to be measured, and no description of one."""
    if isinstance(expected, (tuple, list)):
        return len(expected) == 2 and all(map(callable, expected))
    described = all(hasattr(expected, name) for name in ("inv_freq", "layout"))
    return callable(expected) and not described and not hasattr(expected, "to_dict")


def _attributes(expected: object, names: tuple[str, ...]) -> dict[str, object]:
    """Return what `expected` says of each name."""
    values = {name: getattr(expected, name, None) for name in names}
    values = {name: value() if callable(value) else value for name, value in values.items()}
    direction = values.pop("direction")
    if all(value is None for value in values.values()):
        raise TypeError(
            "expected must be a mapping, a path, an object with to_dict(), or one with any of "
            f"{', '.join(values)}, or another rotation, got {shown(expected)}"
        )
    return values | {"direction": _direction(1 if direction is None else direction)}


def _frequencies(values: object) -> Tensor:
    try:
        tensor = torch.as_tensor(values, dtype=torch.float64).cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"inv_freq must be a list of numbers, got {shown(values)}") from error
    if tensor.dim() != 1 or not tensor.isfinite().all():
        raise ValueError(
            f"inv_freq must be finite numbers of shape (num_pairs,), got {shown(values)}"
        )
    return tensor


def _direction(value: object) -> int:
    if value not in (1, -1):
        raise ValueError(f"direction must be 1 or -1, got {shown(value)}")
    return int(value)


def _factor(value: object) -> float:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    checks.positive("attention_factor", value)
    return float(value)
