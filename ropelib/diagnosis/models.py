"""The models of transformers: their rotary modules, with the functions that apply them."""

import importlib
import inspect
import sys
from collections.abc import Callable
from itertools import chain
from types import ModuleType

import torch
from torch import Tensor

from ropelib.checks import shown
from ropelib.diagnosis.adapters import from_module
from ropelib.diagnosis.probes import Rotate

# How the function is called that turns q and k by the tables of the module.
APPLIES = ("apply_rotary_pos_emb_interleave", "apply_rotary_pos_emb", "apply_rotary_emb")


def from_transformers(
    source: object, config: object = None, *, layer_type: str | None = None
) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from a model of transformers, or from its rotary module.

    The module makes the tables and the function beside it in its file applies them, as the model's
    attention does: to the leading dimensions alone where the tables are narrower than a head and
    the function does not see to that. Text that has several axes has one position on all of them.

    Args:
        source: a model, any module of it that holds a rotary module, a rotary module or its class,
            the Python module that defines it, or the model's type such as "llama".
        config: the configuration that a rotary module is made with, where none is given; that of
            the type, with its defaults, unless given.
        layer_type: which layers, where a model rotates its layers differently.

    Returns:
        What `diagnose` takes; it knows its own `head_dim`.

    Raises:
        TypeError: if `source` is none of these.
        ValueError: if nothing is found there that rotates by positions of a text, or `layer_type`
            is missing or unknown.
        ImportError: if a model's code needs a package that is not installed.

    Example:
        >>> from ropelib import diagnose
        >>> diagnose(from_transformers("gpt_neox")).rotary_dim  # of 96: a quarter
        24
    """
    module = _rotary_module(source, config)
    config = getattr(module, "config", config)
    kind = _layer_type(module, layer_type)
    apply = _apply_beside(module, config)
    head_dim = _head_dim(config, kind)
    call = _first_that_works(module, apply, kind, head_dim)
    rotations = from_module(call)
    for rotate in rotations:
        rotate.head_dim = call.head_dim
    return rotations


def is_of_transformers(source: object) -> bool:
    """Say whether it is a model, module or file that `from_transformers` finds something in.

    Example:
        >>> is_of_transformers(torch.nn.Linear(2, 2))
        False
    """
    if inspect.isclass(source):
        return _names_a_rotary_module(source)
    if isinstance(source, ModuleType):
        return True
    if not isinstance(source, torch.nn.Module):
        return False
    return any(_is_rotary(part) for part in source.modules())


def _is_rotary(part: torch.nn.Module) -> bool:
    return _names_a_rotary_module(type(part))


def _names_a_rotary_module(kind: type) -> bool:
    name, forward = kind.__name__, getattr(kind, "forward", None)
    if not name.endswith("RotaryEmbedding") or "Vision" in name or not callable(forward):
        return False
    taken = tuple(inspect.signature(forward).parameters)
    return taken[1:3] == ("x", "position_ids") and bool(_applies(kind))


def _applies(kind: type) -> list[str]:
    return [name for name in APPLIES if hasattr(sys.modules.get(kind.__module__), name)]


def _rotary_module(source: object, config: object) -> torch.nn.Module:
    if isinstance(source, str):
        source, own = _of_type(source)
        for kind in _rotary_classes(source):
            if _annotated(kind) is own:
                return _made(kind, _text_config(config, kind))
    if inspect.isclass(source) and _names_a_rotary_module(source):
        return _made(source, _text_config(config, source))
    if isinstance(source, torch.nn.Module):
        found = next(filter(_is_rotary, source.modules()), None)
        if found is None:
            raise ValueError(
                f"{type(source).__name__} holds no module whose name ends in RotaryEmbedding, that "
                f"takes (x, position_ids) and stands beside one of {', '.join(APPLIES)}"
            )
        return found
    if not isinstance(source, ModuleType):
        raise TypeError(
            "from_transformers takes a model, a rotary module, a Python module or a type of model, "
            f"got {shown(source)}"
        )
    for kind in _rotary_classes(source):
        return _made(kind, _text_config(config, kind))
    raise ValueError(
        f"{source.__name__} defines no class whose name ends in RotaryEmbedding, for text, that "
        f"takes (x, position_ids) and stands beside one of {', '.join(APPLIES)}"
    )


def _of_type(model_type: str) -> tuple[ModuleType, type]:
    """Return the file of a model type's code and the class of its configuration.

    Several types may stand in one file: "gemma4_text" in that of "gemma4".
    """
    configuration_auto = importlib.import_module("transformers.models.auto.configuration_auto")
    if model_type not in configuration_auto.CONFIG_MAPPING:
        version = importlib.import_module("transformers").__version__
        raise ValueError(f"transformers {version} has no model type {shown(model_type)}")
    config = configuration_auto.CONFIG_MAPPING[model_type]
    name = config.__module__.replace(".configuration_", ".modeling_")
    try:
        return importlib.import_module(name), config
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ValueError(
            f"model type {shown(model_type)} has no code of its own: there is no {name}"
        ) from error


def _rotary_classes(module: ModuleType) -> list[type]:
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    return [kind for kind in own if _names_a_rotary_module(kind)]


def _annotated(kind: type) -> object:
    parameter = inspect.signature(kind).parameters.get("config")
    return None if parameter is None else parameter.annotation


def _made(kind: type, config: object) -> torch.nn.Module:
    try:
        return kind(config)
    except Exception as error:  # whatever a class raises that a configuration does not fit
        raise ValueError(
            f"{kind.__name__} cannot be made with {type(config).__name__}, which may be the wrong "
            f"part of a model: give config=. It raised {type(error).__name__}: {error}"
        ) from error


def _text_config(config: object, kind: type) -> object:
    """Return what the module is made with: of a model with several parts, that of its text."""
    config = _default_config(kind) if config is None else config
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _default_config(kind: type) -> object:
    annotated = _annotated(kind)
    if not inspect.isclass(annotated):
        raise ValueError(f"{kind.__name__} does not say which configuration it takes: give config=")
    return annotated()


def _layer_type(module: torch.nn.Module, wanted: str | None) -> str | None:
    asked = inspect.signature(module.forward).parameters.get("layer_type")
    known = list(getattr(module, "layer_types", []))
    if asked is None or (asked.default is None and not known):
        return None
    if wanted is None and len(set(known)) == 1:
        return known[0]
    if not known:
        raise ValueError(
            f"{type(module).__name__} takes a layer_type and names none: give a config whose "
            "layer_types do"
        )
    if wanted not in known:
        raise ValueError(
            f"layer_type must be one of {', '.join(known)}, which rotate differently, got "
            f"{shown(wanted)}: from_transformers(..., layer_type={known[0]!r})"
        )
    return wanted


def _apply_beside(module: torch.nn.Module, config: object) -> Callable:
    names = _applies(type(module))
    if len(names) > 1 and not getattr(config, "rope_interleave", True):
        names = names[1:]
    return getattr(sys.modules[type(module).__module__], names[0])


def _head_dim(config: object, layer_type: str | None) -> int:
    layers, kinds = (getattr(config, name, None) for name in ("per_layer_config", "layer_types"))
    if layers and layer_type in (kinds or []):  # tables may be named otherwise than layers are
        config = layers[kinds.index(layer_type)]
    for name in ("qk_rope_head_dim", "head_dim"):
        if isinstance(width := getattr(config, name, None), int) and width > 0:
            return width
    return config.hidden_size // config.num_attention_heads


def _first_that_works(
    module: torch.nn.Module, apply: Callable, layer_type: str | None, head_dim: int
) -> Callable:
    """Return the way to call the two that fits: order of axes, dimensions that rotate.

    Three heads and five tokens go in, so that neither is taken for the other.
    """
    like = next(chain(module.parameters(), module.buffers()), torch.zeros(()))
    ids = torch.arange(5, device=like.device).expand(2, -1)
    options = {} if layer_type is None else {"layer_type": layer_type}
    x = torch.zeros(2, 3, 5, head_dim, device=like.device)
    try:
        tables = module(x, ids, **options)
    except Exception as error:  # whatever a module raises that its configuration does not fit
        name = type(module).__name__
        raise ValueError(f"{name} makes no tables: {type(error).__name__}: {error}") from error
    width = tables.shape[-1] * 2 if isinstance(tables, Tensor) else tables[0].shape[-1]
    refusals = []
    for wide, rotated in dict.fromkeys(((head_dim, head_dim), (head_dim, width), (width, width))):
        for transposed in (False, True):
            if rotated > wide:
                continue
            call = _way(module, apply, options, rotated, transposed)
            x = torch.zeros(2, 3, 5, wide, device=like.device)
            try:
                results = call(x, x, ids)
            except Exception as error:  # whatever a function raises that is called otherwise
                refusals.append(f"{type(error).__name__}: {error}")
                continue
            if [getattr(result, "shape", None) for result in results] == [x.shape] * 2:
                call.head_dim = wide
                return call
    raise ValueError(
        f"{apply.__name__} does not take the tables of {type(module).__name__} for heads of "
        f"{head_dim}: {(refusals or ['it returns other shapes'])[0]}"
    )


def _way(
    module: torch.nn.Module, apply: Callable, options: dict, rotated: int, transposed: bool
) -> Callable:
    one_by_one = "k" not in tuple(inspect.signature(apply).parameters)[1][-1:]

    def call(q: Tensor, k: Tensor, position_ids: Tensor) -> tuple[Tensor, ...]:
        tables = module(q, position_ids, **options)
        tables = (tables,) if isinstance(tables, Tensor) else tables
        pairs = [(x[..., :rotated], x[..., rotated:]) for x in (q, k)]
        turned = [x.transpose(1, 2) if transposed else x for x, _ in pairs]
        if one_by_one:
            turned = [apply(x, *tables) for x in turned]
        else:
            turned = list(apply(*turned, *tables))
        turned = [x.transpose(1, 2) if transposed else x for x in turned]
        return tuple(
            torch.cat((x, rest), dim=-1) if rest.shape[-1] else x
            for x, (_, rest) in zip(turned, pairs, strict=True)
        )

    return call
