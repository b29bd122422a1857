"""What the modeling files of transformers rotate, found in their code and measured."""

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor, nn

from ropelib import apply_rotary
from ropelib.frequencies import inverse_frequencies

_ROTATES = re.compile(r"^_?(vision_)?(apply_\w*(rotary|rope)|rotate_queries)\w*$")
_ROTATED = ["q", "k", "query", "key", "xq", "xk", "tensor", "x", "hidden_states"]
_POSITIONS = (5.0, 2.0)
_WIDTH = 16


@dataclass
class Found:
    """What a modeling file does for one class of configuration.

    Attributes:
        functions: that rotate, by name.
        rotaries: the modules that make tables.
        users: classes whose methods name such a function.
    """

    functions: dict[str, types.FunctionType] = field(default_factory=dict)
    rotaries: list[type] = field(default_factory=list)
    users: list[type] = field(default_factory=list)


def modules_of(config_class: type) -> list[types.ModuleType]:
    """Return the modeling modules beside a configuration.

    Args:
        config_class: of transformers.

    Returns:
        Modules; none where the model has none of its own, or they need what is not installed.
    """
    folder = config_class.__module__.rpartition(".")[0]
    names = sorted(Path(inspect.getfile(config_class)).parent.glob("modeling_*.py"))
    found = []
    for path in names:
        try:
            found.append(importlib.import_module(f"{folder}.{path.stem}"))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("transformers"):
                raise
    return found


def model_of(config_class: type) -> type:
    """Return the configuration beside whose file stands the model that takes one.

    Args:
        config_class: of transformers.

    Returns:
        Itself, or, as for InternLM3, whose model is Llama's, another.
    """
    if any(Path(inspect.getfile(config_class)).parent.glob("modeling_*.py")):
        return config_class
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    if config_class not in MODEL_MAPPING:
        return config_class
    return MODEL_MAPPING[config_class].config_class


@lru_cache
def rotations_in(module: types.ModuleType) -> dict[str, Found]:
    """Return what a modeling module rotates, by the name of the configuration's class.

    A function counts where a method of a module names it: one that is only defined, as Jamba's,
    rotates nothing. Whose configuration it is says the annotation of `config` in `__init__`.

    Args:
        module: of transformers.

    Returns:
        What was found; under "" for modules whose `config` has no annotation.
    """
    found: dict[str, Found] = {}
    for cls in vars(module).values():
        if not inspect.isclass(cls) or not issubclass(cls, nn.Module):
            continue
        if cls.__module__ != module.__name__:
            continue
        entry = Found()
        named = _names(cls)
        own = {name for name in vars(cls) if _ROTATES.match(name)}
        functions = {name for name in named if _ROTATES.match(name)} - own
        for name in functions:
            if inspect.isfunction(getattr(module, name, None)):
                entry.functions[name] = getattr(module, name)
        for name in own:
            entry.functions[f"{cls.__name__}.{name}"] = getattr(cls, name)
        if entry.functions:
            entry.users.append(cls)
        if re.search("Rotary|Rope|RoPE", cls.__name__) and not entry.functions:
            entry.rotaries.append(cls)
        if entry.functions or entry.rotaries:
            whole = found.setdefault(_config_of(cls), Found())
            whole.functions |= entry.functions
            whole.rotaries += entry.rotaries
            whole.users += entry.users
    return found


def _names(cls: type) -> set[str]:
    """Return the names that methods of a class use, and those of the functions inside them."""
    named = set()
    codes = [
        inspect.unwrap(member).__code__
        for member in vars(cls).values()
        if inspect.isfunction(member) and inspect.isfunction(inspect.unwrap(member))
    ]
    while codes:
        code = codes.pop()
        named |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return named


def _config_of(cls: type) -> str:
    parameter = inspect.signature(cls.__init__).parameters.get("config")
    if parameter is None or parameter.annotation is inspect.Parameter.empty:
        return ""
    annotation = parameter.annotation
    return (
        annotation.__name__ if inspect.isclass(annotation) else str(annotation).rpartition(".")[2]
    )


def measured_layout(function: types.FunctionType) -> str | None:
    """Return which dimensions a function turns together, by what it does to unit vectors.

    It gets tables in each of the ways that models make them: every frequency twice, in halves or
    side by side, once, or as complex numbers. Of every query at one position and every key at
    another it must give the score that the rotation by their difference gives, so the order of
    the dimensions that it returns does not matter.

    Args:
        function: takes what it rotates and tables, or one table of complex numbers.

    Returns:
        "half", "interleaved", or None where it is neither.
    """
    inv_freq = inverse_frequencies(_WIDTH, 10.0).double()
    angles = torch.tensor(_POSITIONS, dtype=torch.float64)[:, None] * inv_freq
    eye = torch.eye(_WIDTH, dtype=torch.float64)
    difference = (angles[0] - angles[1])[None].expand(_WIDTH, -1)
    expected = {
        # R(m - n)^T: the score of query i with key j is e_j . R(m - n) e_i.
        layout: apply_rotary(eye, difference.cos(), difference.sin(), layout=layout)
        for layout in ("half", "interleaved")
    }
    once = torch.polar(torch.ones_like(angles), angles)
    twice = [torch.cat([angles, angles], -1), angles.repeat_interleave(2, -1), angles]
    takes_complex = any(name.startswith("freqs") for name in inspect.signature(function).parameters)
    for table in [once] if takes_complex else twice:
        for scores in _scores(function, table, eye):
            for layout, wanted in expected.items():
                if torch.allclose(scores, wanted, rtol=0, atol=1e-5):
                    return layout
    return None


def _scores(function: types.FunctionType, table: Tensor, eye: Tensor) -> Iterator[Tensor]:
    """Yield the scores of all unit vectors, queries at one position and keys at another.

    One for each shape of tensors and tables that the function takes.
    """
    names = list(inspect.signature(function).parameters)
    taken = [name for name in names if name in _ROTATED]
    # (batch, heads, positions, width), (batch, positions, heads, width), (positions, heads, width)
    x = eye[:, None, :].expand(-1, len(_POSITIONS), -1)
    for given in (x[None], x.transpose(0, 1)[None], x.transpose(0, 1)):
        for tables in (table[None], table, table[None, None], table[:, None], table[None, :, None]):
            try:
                out = _called(function, names, taken, given, tables)
            except (RuntimeError, TypeError, IndexError, ValueError):
                continue  # tables of another shape
            if out.shape != given.shape:
                continue
            if given.shape[-2] == _WIDTH:  # heads behind positions
                out = out.transpose(-3, -2)
            queries, keys = out.reshape(x.shape).double().unbind(1)
            yield queries @ keys.T


def _called(function, names: list[str], taken: list[str], x: Tensor, table: Tensor) -> Tensor:
    values = dict.fromkeys(taken[:2], x)
    if table.is_complex():
        freqs = next(name for name in names if name.startswith("freqs"))
        values[freqs] = table.to(torch.complex64)
        values = {name: v.float() if v is x else v for name, v in values.items()}
    else:
        values |= {"cos": table.cos(), "sin": table.sin()}
    if "v" in names:
        values["v"] = x
    parameters = inspect.signature(function).parameters
    if "position_ids" in names and parameters["position_ids"].default is inspect.Parameter.empty:
        values["position_ids"] = torch.arange(len(_POSITIONS))[None]
    if "self" in names:
        values["self"] = None
    out = function(**values)
    return out[0] if isinstance(out, tuple) else out
