"""Frequencies of every rope type in decimal arithmetic: the same digits on any processor.

Written from the formulas and sharing no code with `ropelib.scaling`, which the tests compare with
it. Fifty digits are computed and the nearest float64 is returned, so that no machine's logarithm
has a say in it.
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

PRECISION = 50
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_ONE = Decimal(1)


def frequencies(config: Mapping[str, Any], seq_len: int) -> tuple[list[float], float]:
    """Return the frequency of each pair, and what multiplies cosines and sines.

    Args:
        config: of a case of the suite, with Hugging Face's keys.
        seq_len: length by which "dynamic" and "longrope" choose, tokens.

    Returns:
        `(inv_freq, attention_factor)`, the float64 nearest to each exact number.

    Raises:
        ValueError: if the rope type is unknown.

    Source:
        The formulas of `ropelib.scaling`, where each has its paper.

    Example:
        >>> frequencies({"head_dim": 4, "rope_parameters": {"rope_theta": 10000.0}}, 1)
        ([1.0, 0.01], 1.0)
    """
    rope = {key: _decimal(value) for key, value in parameters(config).items()}
    rope_type = rope.get("rope_type", "default")
    if rope_type == "dynamic" and "alpha" in rope:
        rope_type = "ntk_alpha"  # as HunYuan's files have it
    if rope_type not in _METHODS:
        raise ValueError(f"rope_type must be one of {', '.join(_METHODS)}, got {rope_type!r}")
    rope["trained"] = config.get("max_position_embeddings")
    with localcontext(Context(prec=PRECISION)):
        inv_freq, factor = _METHODS[rope_type](rotary_dim(config), rope, seq_len)
        return [float(f) for f in inv_freq], float(factor)


def parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a configuration says of its rotation, in old style or in new, as one mapping.

    Args:
        config: of a case of the suite.

    Returns:
        The rope parameters; the type under "rope_type".

    Example:
        >>> parameters({"rope_theta": 5.0, "rope_scaling": {"type": "linear", "factor": 2.0}})
        {'rope_theta': 5.0, 'rope_type': 'linear', 'factor': 2.0}
    """
    outside = ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings")
    found = {key: config[key] for key in outside if key in config}
    for part in ("rope_scaling", "rope_parameters"):
        for key, value in (config.get(part) or {}).items():
            found["rope_type" if key == "type" else key] = value
    return found


def rotary_dim(config: Mapping[str, Any]) -> int:
    """Return how many leading dimensions rotate, those that stand still among them counted.

    Args:
        config: of a case of the suite.

    Returns:
        An even number.

    Example:
        >>> rotary_dim({"head_dim": 16, "rope_parameters": {"partial_rotary_factor": 0.25}})
        4
    """
    rope, width = parameters(config), config.get("qk_rope_head_dim", config.get("head_dim"))
    if rope.get("rope_type") == "proportional":
        return width
    return int(width * rope.get("partial_rotary_factor", 1))


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return value
    return [Decimal(v) for v in value] if isinstance(value, list) else Decimal(value)


def _powers(base: Decimal, width: int) -> list[Decimal]:
    return [(base.ln() * -2 * i / width).exp() for i in range(width // 2)]


def _default(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    return _powers(rope["rope_theta"], width), _ONE


def _axial(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    return 2 * _powers(rope["rope_theta"], width // 2), _ONE  # one spectrum for each of two axes


def _linear(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    return [f / rope["factor"] for f in _powers(rope["rope_theta"], width)], _ONE


def _proportional(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    turning = int(rope.get("partial_rotary_factor", _ONE) * width // 2)
    inv_freq = [f / rope.get("factor", _ONE) for f in _powers(rope["rope_theta"], width)]
    return inv_freq[:turning] + [Decimal(0)] * (width // 2 - turning), _ONE


def _with_base_stretched(width: int, rope: dict, by: Decimal) -> tuple[list[Decimal], Decimal]:
    stretch = (by.ln() * width / (width - 2)).exp()
    return _powers(rope["rope_theta"] * stretch, width), _ONE


def _dynamic(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    growth = Decimal(max(seq_len, rope["trained"])) / rope["trained"]
    return _with_base_stretched(width, rope, rope["factor"] * growth - (rope["factor"] - 1))


def _ntk_alpha(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    return _with_base_stretched(width, rope, rope["alpha"])


def _longrope(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    trained = rope["original_max_position_embeddings"]
    slowdown = rope["long_factor" if seq_len > trained else "short_factor"]
    inv_freq = [f / s for f, s in zip(_powers(rope["rope_theta"], width), slowdown, strict=True)]
    if "attention_factor" in rope:
        return inv_freq, rope["attention_factor"]
    return inv_freq, (1 + max(rope["factor"], _ONE).ln() / trained.ln()).sqrt()


def _llama3(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    inv_freq = []
    for f in _powers(rope["rope_theta"], width):
        turns = rope["original_max_position_embeddings"] * f / (2 * _PI)
        kept = min(max((turns - low) / (high - low), Decimal(0)), _ONE)
        inv_freq.append(kept * f + (1 - kept) * f / rope["factor"])
    return inv_freq, _ONE


def _yarn(width: int, rope: dict, seq_len: int) -> tuple[list[Decimal], Decimal]:
    trained, base = rope["original_max_position_embeddings"], rope["rope_theta"]

    def pair_that_turns(times: Decimal) -> Decimal:
        return width * (trained / (2 * _PI * times)).ln() / (2 * base.ln())

    first = max(pair_that_turns(rope.get("beta_fast", Decimal(32))), Decimal(0))
    last = min(pair_that_turns(rope.get("beta_slow", _ONE)), Decimal(width - 1))
    if rope.get("truncate", True):
        first = first.to_integral_value(ROUND_FLOOR)
        last = last.to_integral_value(ROUND_CEILING)
    inv_freq = []
    for i, f in enumerate(_powers(base, width)):
        slowed = min(max((i - first) / (last - first), Decimal(0)), _ONE)
        inv_freq.append((1 - slowed) * f + slowed * f / rope["factor"])

    def temperature(weight: Decimal) -> Decimal:
        return weight * rope["factor"].ln() / 10 + 1

    if "attention_factor" in rope:
        return inv_freq, rope["attention_factor"]
    if "mscale" in rope:
        return inv_freq, temperature(rope["mscale"]) / temperature(rope["mscale_all_dim"])
    return inv_freq, temperature(_ONE)


_METHODS: dict[str, Callable] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
    "ntk_alpha": _ntk_alpha,
    "axial": _axial,
}
