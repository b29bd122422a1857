"""What only an expectation can show."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.config import RopeConfig
from ropelib.diagnosis.causes import inverted_blend
from ropelib.diagnosis.fit import Fit
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong


@dataclass(frozen=True)
class Expectation:
    """What a rotation is meant to be, as far as that was said."""

    inv_freq: Tensor | None = None
    attention_factor: float | None = None
    layout: str | None = None

    @classmethod
    def of(cls, expected, inv_freq, attention_factor, layout) -> "Expectation":
        """Take what is given by itself, and the rest from `expected`."""
        values = {"inv_freq": inv_freq, "attention_factor": attention_factor, "layout": layout}
        if expected is not None:
            meant = _attributes(expected, tuple(values))
            values = {name: meant[name] if v is None else v for name, v in values.items()}
        if values["layout"] is not None:
            checks.layout("layout", values["layout"])
        if values["inv_freq"] is not None:
            values["inv_freq"] = _frequencies(values["inv_freq"])
        if values["attention_factor"] is not None:
            values["attention_factor"] = _factor(values["attention_factor"])
        return cls(**values)

    def mismatch(self, m: Measured) -> Finding | None:
        """Return the first difference that explains the others."""
        return self._of_layout(m) or self._of_frequencies(m) or self._of_factor(m)

    def _of_layout(self, m: Measured) -> Finding | None:
        if self.layout not in (None, m.pairing.layout) and m.num_pairs > 1:
            return wrong(
                "layout-not-as-expected",
                f"The layout is {m.pairing.layout or 'unknown'}, expected {self.layout}.",
                "weights permuted for one layout and code written for the other",
            )

    def _of_frequencies(self, m: Measured) -> Finding | None:
        if self.inv_freq is None:
            return None
        expected, measured = self.inv_freq, m.inv_freq
        longest = max(len(expected), len(measured))
        if (
            len(expected) != len(measured)
            and (expected[len(measured) :] != 0).any() | (measured[len(expected) :] != 0).any()
        ):
            return wrong(
                "width-not-as-expected",
                f"{len(measured)} pairs rotate, expected {len(expected)}.",
                "partial_rotary_factor, or rotary_dim, not as in the configuration",
                rotary_dim=2 * len(measured),
                expected=2 * len(expected),
            )
        expected, measured = (
            torch.nn.functional.pad(t, (0, longest - len(t))) for t in (expected, measured)
        )
        error = (measured - expected).abs() / expected.abs().clamp(min=1e-30)
        error = error.where(expected != 0, (measured != 0).double())
        if error.max() < 1e-5 + 4 * m.noise:
            return None
        worst = int(error.argmax())
        evidence = {
            "pair": worst,
            "measured": float(measured[worst]),
            "expected": float(expected[worst]),
        }
        if longest > 2 and expected.min() > 0:
            plain = expected[0] * (expected[1] / expected[0]) ** torch.arange(longest).double()
            both = (measured + expected) / plain
            ratio = measured / expected
            factor = float(plain[-1] / expected[-1])
            if factor > 1 and (both - 1 - 1 / factor).abs().max() < 1e-3:
                return inverted_blend(factor)
            if ratio.max() / ratio.min() - 1 < 1e-4:
                return wrong(
                    "factor-not-as-expected",
                    f"All frequencies are {float(ratio[0]):.6g} times what is expected.",
                    "linear scaling left out, applied twice, or multiplied instead of divided",
                    ratio=float(ratio[0]),
                )
            if (measured / plain - 1).abs().max() < 1e-4 and ratio[-1] > 1.01:
                return Finding(
                    "scaling-missing",
                    "wrong",
                    "Frequencies are the unscaled ones: the scaling that is expected is missing.",
                    evidence,
                    "rope_parameters (rope_scaling) not read, or set after the tables were built",
                )
            fit = Fit.of(expected, longest, 5e-6)
            if m.fit.is_geometric and fit.is_geometric and abs(m.fit.base / fit.base - 1) > 1e-4:
                return wrong(
                    "base-not-as-expected",
                    f"The base is {m.fit.base:.6g}, expected {fit.base:.6g}.",
                    "rope_theta lost on the way from the configuration, so that a default is used",
                    base=m.fit.base,
                    expected=fit.base,
                )
        return Finding(
            "frequencies-not-as-expected",
            "wrong",
            "Frequencies are not the expected ones.",
            evidence,
            "another scaling method, or other parameters of it",
        )

    def _of_factor(self, m: Measured) -> Finding | None:
        if self.attention_factor is None:
            return None
        scale = float(m.scale.mean())
        if abs(scale / self.attention_factor - 1) < 1e-5 + m.noise:
            return None
        missing = abs(scale - 1) < 1e-5 + m.noise
        return wrong(
            "attention-factor-missing" if missing else "attention-factor-not-as-expected",
            f"cos and sin are multiplied by {scale:.6g}, expected {self.attention_factor:.6g}: "
            f"scores are {(scale / self.attention_factor) ** 2:.6g} times what they should be.",
            "only the frequencies of YaRN taken over, without its factor",
            attention_factor=scale,
            expected=self.attention_factor,
        )


def _attributes(expected: object, names: tuple[str, ...]) -> dict[str, object]:
    """Return what `expected` says of each name; a configuration is read first."""
    if isinstance(expected, (str, os.PathLike, Mapping)) or hasattr(expected, "to_dict"):
        expected = RopeConfig.from_hf(expected)
    values = {name: getattr(expected, name, None) for name in names}
    values = {name: value() if callable(value) else value for name, value in values.items()}
    if all(value is None for value in values.values()):
        raise TypeError(
            "expected must be a mapping, a path, an object with to_dict(), or one with any of "
            f"{', '.join(names)}, got {shown(expected)}"
        )
    return values


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


def _factor(value: object) -> float:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    checks.positive("attention_factor", value)
    return float(value)
