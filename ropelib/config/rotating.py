"""Whether a configuration is about rotation at all, and where else it may be looked for."""

from collections.abc import Mapping
from typing import Any

from ropelib.checks import printable, shown
from ropelib.config.keys import MODEL_TYPES, NOT_ROTATING, ROTATING_EMBEDDINGS, TEXT_PARTS

_DEEP = 6  # so far within a part a word about rotation is looked for


def check_model_type(model_type: str | None) -> None:
    """Raise where a model type says that nothing is to be read.

    Args:
        model_type: as the file has it.

    Raises:
        ValueError: if the model does not rotate, or not in a way that is computed here.
    """
    if model_type in MODEL_TYPES["unsupported"]:
        reason = MODEL_TYPES["unsupported"][model_type]
        raise ValueError(f'model_type "{model_type}" is not supported: {reason}')
    if model_type in MODEL_TYPES["without_rotation"]:
        raise ValueError(
            f'model_type is "{model_type}": the model does not rotate, whatever else its '
            "configuration says"
        )


def check_keys(text: dict[str, Any]) -> None:
    """Raise where keys say that the model does not rotate.

    Args:
        text: the text part, each key by its rule.

    Raises:
        ValueError: if one does.
    """
    model_type = text.get("model_type")
    if text.get("alibi"):
        raise ValueError("alibi is true: the model does not rotate")
    if model_type in MODEL_TYPES["needs"]:
        key, needed = MODEL_TYPES["needs"][model_type]
        if text.get(key) != needed:
            raise ValueError(
                f"{key} is {shown(text.get(key))}: a model of type {shown(model_type)} rotates "
                f"only where it is {shown(needed)}"
            )
    for key in NOT_ROTATING:
        kind = text.get(key)
        if kind is not None and kind not in ROTATING_EMBEDDINGS:
            raise ValueError(f'{key} is "{printable(kind)}": the model does not rotate')


def rotating_parts(config: Mapping[str, Any], is_about_rotation: Any) -> list[str]:
    """Return the parts of a configuration that say something about rotation.

    Args:
        config: or a part of it.
        is_about_rotation: says so of a key.

    Returns:
        Names of its mappings, in order.
    """

    def speaks(part: Any, depth: int) -> bool:
        if not isinstance(part, Mapping) or depth > _DEEP:
            return False
        kind = part.get("model_type")
        if isinstance(kind, str):
            if any(kind in MODEL_TYPES[group] for group in ("interleaved", "half", "text_types")):
                return True
            if kind in MODEL_TYPES["without_rotation"]:
                return False
        return any(
            (isinstance(key, str) and is_about_rotation(key) and value not in (None, False))
            or speaks(value, depth + 1)
            for key, value in part.items()
        )

    return sorted(key for key, part in config.items() if isinstance(key, str) and speaks(part, 0))


def refuse_silence(model_type: str | None, parts: list[str]) -> None:
    """Raise where nothing in a configuration of an unknown type is about rotation.

    Args:
        model_type: as the file has it.
        parts: mappings within that are about rotation.

    Raises:
        ValueError: always.
    """
    of = f"model_type {shown(model_type)} is unknown and no key here is about rotation"
    if parts:
        raise ValueError(
            f"{of}; there is no {TEXT_PARTS[0]}, but {', '.join(map(shown, parts[:20]))} may "
            "rotate: read one of them"
        )
    raise ValueError(f"{of}: the model does not seem to rotate")
