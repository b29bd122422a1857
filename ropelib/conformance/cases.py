"""What the suite asks: configurations, layouts, widths and positions, as data to read by eye."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LAYOUTS = ("half", "interleaved")
# Whose code rotates so: all of a head, and a part of it.
_MODEL_TYPES = {"half": ("llama", "stablelm"), "interleaved": ("cohere", "glm")}
_HEAD_DIM = 16
_TRAINED = 4096

# Rows of a batch, each with its tokens: in no order, and no row like another.
_WITHIN = ((0, 1, 17), (4095, 300, 2))  # the trained length
_BEYOND = ((0, 1, 17), (32767, 4095, 2))

_BASE = {"rope_theta": 10_000.0}
_STRETCHED = {"factor": 8.0, "original_max_position_embeddings": _TRAINED}
_YARN = {"rope_type": "yarn"} | _BASE | _STRETCHED
_LONGROPE = {"rope_type": "longrope"} | _BASE | _STRETCHED
_SHORT_FACTOR = [1.0, 1.0, 1.05, 1.1, 1.25, 1.5, 1.75, 2.0]
_LONG_FACTOR = [1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0]
_DYNAMIC = {"rope_type": "dynamic", "factor": 2.0} | _BASE
_NTK_ALPHA = {"rope_type": "dynamic", "alpha": 1000.0} | _BASE
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

# Every rope type, and those settings of it that change what it computes.
_ROPES = {
    "default": (_BASE, _BEYOND),
    "linear": ({"rope_type": "linear", "factor": 3.0} | _BASE, _BEYOND),
    "dynamic-within": (_DYNAMIC, _WITHIN),
    "dynamic-beyond": (_DYNAMIC, _BEYOND),
    "yarn": (_YARN, _BEYOND),
    "yarn-attention-factor": (_YARN | {"attention_factor": 1.0}, _BEYOND),
    "yarn-mscale": (_YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}, _BEYOND),
    "yarn-not-truncated": (_YARN | {"truncate": False, "beta_fast": 16.0}, _BEYOND),
    "longrope-within": (_LONGROPE, _WITHIN),
    "longrope-beyond": (_LONGROPE, _BEYOND),
    "longrope-attention-factor": (_LONGROPE | {"attention_factor": 1.25}, _BEYOND),
    "llama3": (_LLAMA3, _BEYOND),
    "proportional": (
        {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
        _BEYOND,
    ),
    "proportional-factor": (
        {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5}
        | {"factor": 8.0},
        _BEYOND,
    ),
    "ntk-alpha": (_NTK_ALPHA, _BEYOND),
}

# (head_dim, share of it that rotates), and positions: the wide ones have few.
_WIDTHS = {
    "2": (2, 1.0, _BEYOND),
    "6": (6, 1.0, _BEYOND),
    "6-of-12": (12, 0.5, _BEYOND),
    "20-of-80": (80, 0.25, ((0, 4095), (32767, 2))),
    "24-of-96": (96, 0.25, ((0, 4095), (32767, 2))),
    "64": (64, 1.0, ((1, 4095), (32767, 2))),
    "128": (128, 1.0, ((4095,), (32767,))),
}

_POSITIONS = {
    "from-zero": ((0, 1, 2, 3),),
    "from-an-offset": ((1000, 1001, 1002, 1003),),
    "one-token-per-row": ((5,), (0,), (32767,)),
    "left-padded": ((0, 0, 0, 1), (0, 1, 2, 3)),
    "packed": ((0, 1, 2, 0, 1), (0, 1, 0, 1, 2)),
    "backward": ((3, 2, 1, 0),),
    "far": ((65536, 131071, 1048575),),
}

# As they are published, in the style of each file.
_PUBLISHED = {
    "llama-3.1": (
        "half",
        {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 131072}
        | {"rope_theta": 500_000.0}
        | {"rope_scaling": {k: v for k, v in _LLAMA3.items() if k != "rope_theta"}},
    ),
    "gpt-oss": (
        "half",
        {"model_type": "gpt_oss", "head_dim": 64, "max_position_embeddings": 131072}
        | {"rope_theta": 150_000.0}
        | {
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 32.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "original_max_position_embeddings": 4096,
                "truncate": False,
            }
        },
    ),
    "deepseek-v3": (
        "interleaved",
        {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
        | {"max_position_embeddings": 163840, "rope_theta": 10_000.0}
        | {
            "rope_scaling": {
                "type": "yarn",
                "factor": 40.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096,
            }
        },
    ),
}

# Positions along time, height and width: text, two patches of an image, text again.
_TIME_HEIGHT_WIDTH = (
    ((4, 6, 6, 10), (0, 2, 2, 30000)),
    ((4, 6, 8, 10), (0, 2, 24, 30000)),
    ((4, 8, 6, 10), (0, 34, 2, 30000)),
)
_PATCHES = (((0, 0, 1, 13),), ((0, 1, 0, 27),))  # row and column
_MROPE = {"rope_type": "default", "rope_theta": 1e6}
_AXES = {
    "mrope-chunked": (
        "half",
        {"model_type": "qwen2_vl_text", "rope_parameters": _MROPE | {"mrope_section": [2, 3, 3]}},
        (0, 0, 1, 1, 1, 2, 2, 2),
        _TIME_HEIGHT_WIDTH,
    ),
    "mrope-chunked-interleaved-layout": (
        "interleaved",
        {"model_type": "glm4v_text"}
        | {"rope_parameters": _MROPE | {"mrope_section": [2, 3, 3], "partial_rotary_factor": 1.0}},
        (0, 0, 1, 1, 1, 2, 2, 2),
        _TIME_HEIGHT_WIDTH,
    ),
    "mrope-in-turns": (
        "half",
        {"model_type": "qwen3_vl_text"}
        | {"rope_parameters": _MROPE | {"mrope_section": [4, 2, 2], "mrope_interleaved": True}},
        (0, 1, 2, 0, 1, 2, 0, 0),
        _TIME_HEIGHT_WIDTH,
    ),
    "mrope-in-turns-partial": (
        "half",
        {"model_type": "qwen3_5_text", "head_dim": 32}
        | {
            "rope_parameters": _MROPE
            | {"mrope_section": [3, 3, 2], "mrope_interleaved": True, "partial_rotary_factor": 0.5}
        },
        (0, 1, 2, 0, 1, 2, 0, 1),
        _TIME_HEIGHT_WIDTH,
    ),
    "mrope-yarn": (
        "half",
        {"model_type": "qwen2_vl_text", "rope_parameters": _YARN | {"mrope_section": [2, 3, 3]}},
        (0, 0, 1, 1, 1, 2, 2, 2),
        _TIME_HEIGHT_WIDTH,
    ),
    **{
        f"axial-{layout}": (
            layout,
            {"rope_parameters": {"rope_type": "axial"} | _BASE},
            (0, 0, 0, 0, 1, 1, 1, 1),
            _PATCHES,
        )
        for layout in LAYOUTS
    },
}


@dataclass(frozen=True)
class Case:
    """One question of the suite; `build.answer` computes what is right.

    Attributes:
        name: by which results are reported.
        config: with Hugging Face's keys.
        layout: "half" or "interleaved".
        position_ids: `[axis][row][token]`.
        axis_of_pair: which axis turns each pair; None where there is one axis.
        num_heads: of q and of k.

    Example:
        >>> next(all_cases()).name
        'default-half'
    """

    name: str
    config: dict[str, Any]
    layout: str
    position_ids: tuple
    axis_of_pair: tuple[int, ...] | None = None
    num_heads: tuple[int, int] = (2, 1)


def all_cases() -> Iterator[Case]:
    """Yield every case, in the order of the files.

    Yields:
        Cases with names of their own.

    Example:
        >>> len({case.name for case in all_cases()}) == len(list(all_cases()))
        True
    """
    for layout in LAYOUTS:
        for name, (rope, positions) in _ROPES.items():
            yield Case(f"{name}-{layout}", _config(layout, rope), layout, (positions,))
            if "partial_rotary_factor" not in rope:
                rope = rope | {"partial_rotary_factor": 0.5}
                yield Case(f"{name}-{layout}-partial", _config(layout, rope), layout, (positions,))
        for name, (head_dim, share, positions) in _WIDTHS.items():
            rope = _BASE if share == 1 else _BASE | {"partial_rotary_factor": share}
            config = _config(layout, rope, head_dim)
            yield Case(f"width-{name}-{layout}", config, layout, (positions,), num_heads=(1, 1))
        for name, positions in _POSITIONS.items():
            yield Case(f"{name}-{layout}", _config(layout, _BASE), layout, (positions,))
    for name, (layout, config) in _PUBLISHED.items():
        yield Case(name, config, layout, (((4095,), (100_000,)),), num_heads=(1, 1))
    for name, (layout, config, axes, positions) in _AXES.items():
        config = {"head_dim": _HEAD_DIM, "max_position_embeddings": 32768} | config
        yield Case(name, config, layout, positions, axes)


def _config(layout: str, rope: dict, head_dim: int = _HEAD_DIM) -> dict[str, Any]:
    partial = rope.get("partial_rotary_factor", 1) != 1
    rope = {"rope_type": "default"} | rope
    if rope["rope_type"] == "longrope":
        pairs = head_dim // 4 if partial else head_dim // 2
        lists = {"short_factor": _SHORT_FACTOR[:pairs], "long_factor": _LONG_FACTOR[:pairs]}
        rope = rope | lists
    model_type = _MODEL_TYPES[layout][partial]
    if rope["rope_type"] == "dynamic" and "alpha" in rope and layout == "half" and not partial:
        # Nobody else's code computes it, and whoever else's is given a factor computes another.
        model_type, rope = "hunyuan_v1_dense", rope | {"factor": 1.0}
    return {
        "model_type": model_type,
        "head_dim": head_dim,
        # By which "dynamic" stretches; the others have a trained length of their own.
        "max_position_embeddings": _TRAINED if rope["rope_type"] == "dynamic" else 32768,
        "rope_parameters": rope,
    }
