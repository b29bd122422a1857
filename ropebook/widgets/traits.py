"""Synced traits with a rule. An error names the trait, the rule and the value."""

import math
from collections.abc import Sequence
from typing import Any

import traitlets


class IntInRange(traitlets.Int):
    """An integer from `low` to `high`, both included.

    Args:
        default: the first value.
        low: the least value.
        high: the greatest value.
        unit: what is counted, for the error: "tokens".

    Raises:
        traitlets.TraitError: the value does not lie in the range.

    Example:
        >>> class Ruler(traitlets.HasTraits):
        ...     m = IntInRange(3, low=0, high=24, unit="tokens")
        >>> Ruler(m=25)
        Traceback (most recent call last):
        traitlets.traitlets.TraitError: m must lie in [0, 24] tokens, got 25
    """

    def __init__(self, default: int, *, low: int, high: int, unit: str = "", **kwargs: Any) -> None:
        super().__init__(default, **kwargs)
        self.low, self.high, self.unit = low, high, unit
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> int:
        """Return the value if it keeps the rule."""
        value = super().validate(obj, value)
        _check_range(self, value, f"[{self.low}, {self.high}]")
        return value


class EvenInRange(IntInRange):
    """An even integer from `low` to `high`, both included."""

    def validate(self, obj: traitlets.HasTraits, value: Any) -> int:
        """Return the value if it keeps the rule."""
        value = traitlets.Int.validate(self, obj, value)
        if value % 2 or not self.low <= value <= self.high:
            raise traitlets.TraitError(
                f"{self.name} must be even and lie in [{self.low}, {self.high}], got {value}"
            )
        return value


class FloatInRange(traitlets.Float):
    """A number from `low` to `high`, both included; NaN never is.

    Args:
        default: the first value.
        low: the least value.
        high: the greatest value.
        said: the range as the error says it, "[0, pi]"; by default its numbers.
        unit: what is counted, for the error: "rad per token".

    Raises:
        traitlets.TraitError: the value does not lie in the range.
    """

    def __init__(
        self,
        default: float,
        *,
        low: float,
        high: float,
        said: str | None = None,
        unit: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(default, **kwargs)
        self.low, self.high, self.unit = low, high, unit
        self.said = said or f"[{low:g}, {high:g}]"
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> float:
        """Return the value if it keeps the rule."""
        value = super().validate(obj, value)
        _check_range(self, value, self.said)
        return value


class Positive(traitlets.Float):
    """A finite number greater than 0: the base of the frequencies.

    Raises:
        traitlets.TraitError: the value is 0, negative, infinite or NaN.
    """

    def __init__(self, default: float, **kwargs: Any) -> None:
        super().__init__(default, **kwargs)
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> float:
        """Return the value if it keeps the rule."""
        value = super().validate(obj, value)
        if not 0 < value < math.inf:
            raise traitlets.TraitError(
                f"{self.name} must be finite and greater than 0, got {value}"
            )
        return value


class OneOf(traitlets.Unicode):
    """One of several words.

    Args:
        default: the first value.
        known: all of them.

    Raises:
        traitlets.TraitError: the value is none of them.
    """

    def __init__(self, default: str, known: Sequence[str], **kwargs: Any) -> None:
        super().__init__(default, **kwargs)
        self.known = tuple(known)
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> str:
        """Return the value if it keeps the rule."""
        value = super().validate(obj, value)
        if value not in self.known:
            raise traitlets.TraitError(
                f"{self.name} must be one of {', '.join(self.known)}, got {value!r}"
            )
        return value


class InDisc(traitlets.List):
    """A vector [x, y] of a length of at most `radius`; none with NaN is.

    Args:
        default: the first value.
        radius: the greatest length.
        parts: what its two numbers are called, for the error.

    Raises:
        traitlets.TraitError: there are not two numbers, or the vector is too long.
    """

    def __init__(
        self, default: list[float], *, radius: float, parts: str = "two coordinates", **kwargs: Any
    ) -> None:
        super().__init__(traitlets.Float(), default, **kwargs)
        self.radius, self.parts = radius, parts
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> list[float]:
        """Return the value if it keeps the rule."""
        value = super().validate(obj, value)
        if len(value) != 2:
            raise traitlets.TraitError(f"{self.name} must have {self.parts}, got {value}")
        # Not "length > radius": NaN has to fail as well.
        if not math.hypot(*value) <= self.radius:
            raise traitlets.TraitError(
                f"{self.name} must have length at most {self.radius:g}, got {value}"
            )
        return value


def _check_range(trait: IntInRange | FloatInRange, value: float, said: str) -> None:
    if not trait.low <= value <= trait.high:
        unit = f" {trait.unit}" if trait.unit else ""
        raise traitlets.TraitError(f"{trait.name} must lie in {said}{unit}, got {value}")
