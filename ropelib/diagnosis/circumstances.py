"""Rules about what surrounds a call: autocast, positions of another width, train and eval mode."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.inputs import AUTOCAST, through
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Probe, Rotate
from ropelib.diagnosis.refusals import ALONE, refused
from ropelib.diagnosis.report import Finding, Report, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

_ROUNDED = 2.0**-5  # of the largest entry: what tables and sums in bfloat16 leave
_MODES = "modes"
_DEEPEST = 8  # closures within closures
_NO_CODE = (lambda: None).__code__


def surroundings(m: Measured) -> Finding | None:
    """The first of these."""
    rules = (_under_autocast, _narrow_positions, _in_the_other_mode)
    return next(filter(None, (rule(m) for rule in rules)), None)


def _far_call(m: Measured) -> tuple[Tensor, Tensor]:
    """Return random vectors, and positions as far as one call may hold them."""
    ids = m.far.positions if m.obeys == "all" else torch.arange(min(300, m.limit))
    if m.obeys == "all" and m.early is not None:  # rows are taken
        ids = torch.stack((ids, ids.flip(0)))
    return random(ids.dim(), 2, ids.shape[-1], m.head_dim), ids


# Autocast


def _under_autocast(m: Measured) -> Finding | None:
    """Angles must not become bfloat16 because products do."""
    try:
        autocast = torch.autocast(torch.device(m.probe.device).type, dtype=torch.bfloat16)
    except RuntimeError:  # a device that has none
        return None

    def within(rotate: Rotate) -> Rotate:
        def call(x: Tensor, position_ids: Tensor) -> Tensor:
            with autocast:
                return rotate(x, position_ids)

        return call

    x, ids = _far_call(m)
    plain = m.probe(x, ids).double()
    try:
        low = through(m.probe, within)(x, ids).double()
    except CallError as error:
        m.refused[AUTOCAST] = str(error.__cause__ or error).partition("\n")[0]
        return None
    differs = (low - plain).abs() > _ROUNDED * float(plain.abs().max())
    if differs.any():
        return wrong(
            "wrong-under-autocast",
            "Under torch.autocast the same vectors are turned otherwise than without, by more than "
            "rounding.",
            "angles made by a product of matrices (@, or an einsum that sums), which autocast "
            "computes in bfloat16; make them under torch.autocast(..., enabled=False), or by *",
            since=int(ids.expand(len(x), -1)[differs.any(-1).any(1)].min()),
            largest_difference=gap(low, plain),
        )


def refused_autocast(m: Measured) -> Finding | None:
    """Say that it is no part of a model that is trained under autocast."""
    if AUTOCAST in m.refused:
        return note("autocast-refused", f"Under torch.autocast it raises: {m.refused[AUTOCAST]}")


# Positions of another width


def _narrow_positions(m: Measured) -> Finding | None:
    """Positions are often int32, and a kernel reads memory by the width that it is written for."""
    x, ids = random(1, 2, 5, m.head_dim), torch.arange(3, 8)
    try:
        rotated = m.probe(x, ids.int())
    except (TypeError, CallError):  # int64 is what is asked for
        return None
    if m.differs(rotated, x, ids).any() and gap(rotated, m.probe(x, ids)) > 0:
        return wrong(
            "int32-positions-misread",
            "position_ids of int32 are taken, and followed otherwise than those of int64.",
            "a kernel that reads them as int64 without a look at their dtype; convert or refuse "
            "them",
            largest_difference=gap(rotated, m.applied(x, ids)),
        )


# Train and eval mode


def modules_of(source: object, depth: int = 0) -> list[torch.nn.Module]:
    """Return the modules that a rotation is made of: itself, its owner, those that it names.

    Example:
        >>> layer = torch.nn.Identity()
        >>> modules_of(lambda x: layer(x)) == [layer]
        True
    """
    if isinstance(source, torch.nn.Module):
        return [source]
    parts: list[object] = []
    if isinstance(source, functools.partial):
        parts += [source.func, *source.args, *source.keywords.values()]
    if isinstance(source, (tuple, list)):
        parts += source
    parts += [getattr(source, "__self__", None), getattr(source, "__wrapped__", None)]
    for cell in getattr(source, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # not filled yet
            parts.append(cell.cell_contents)
    around = getattr(source, "__globals__", None) or {}
    named = (around.get(name) for name in getattr(source, "__code__", _NO_CODE).co_names)
    parts += [part for part in named if isinstance(part, torch.nn.Module)]
    if depth == _DEEPEST:
        return []
    wanted = [
        part for part in parts if isinstance(part, (torch.nn.Module, tuple, list)) or callable(part)
    ]
    found = [module for part in wanted for module in modules_of(part, depth + 1)]
    return list(dict.fromkeys(found))


def _of_two_modes(source: object) -> list[torch.nn.Module]:
    """Return those of the modules that can change their mode, as exported ones cannot."""
    changing = []
    for module in modules_of(source):
        with contextlib.suppress(Exception):  # whatever its own train() raises
            module.train(module.training)
            changing.append(module)
    return changing


@contextlib.contextmanager
def _in_mode(
    modules: list[torch.nn.Module], training: Callable[[torch.nn.Module], bool]
) -> Iterator[None]:
    """Within this, modules are in the mode that is told for each; after it, in that of before."""
    before = [(part, part.training) for module in modules for part in module.modules()]
    modes = [(module, module.training) for module in modules]
    try:
        for module in modules:
            module.train(training(module))
        yield
    finally:
        for module, mode in modes:  # their own train() may do more than to keep the mode
            module.train(mode)
        for part, mode in before:
            part.training = mode


def judged_in_eval(probes: list[Probe], examine: Callable[[], Report]) -> Report | None:
    """Examine anew in eval mode what is random in train mode; None if that does not help."""
    modules = [module for probe in probes for module in _of_two_modes(probe.rotate)]
    modules = [module for module in dict.fromkeys(modules) if module.training]
    if not modules:
        return None
    with _in_mode(modules, lambda module: False):
        report = examine()
    return None if "not-deterministic" in report.codes else report


def _in_the_other_mode(m: Measured) -> Finding | None:
    """A module in train mode must do what it does in eval mode."""
    modules = _of_two_modes(m.probe.rotate)
    if not modules:
        return None
    x, ids = _far_call(m)
    mode, other = ("train", "eval") if modules[0].training else ("eval", "train")
    here = m.probe(x, ids)
    try:
        with _in_mode(modules, lambda module: not module.training):
            there, again = m.probe(x, ids), m.probe(x, ids)
            few = m.probe(x[:1, :, :9], ids.expand(len(x), -1)[0, :9])
    except CallError as error:  # what is refused in one mode is wrong in none
        refused(m, f"calls in {other} mode", error, ALONE)
        return None
    m.crowd[_MODES] = {"other": other}
    if gap(there, again) > SAME and other == "train":
        m.crowd[_MODES]["random"] = True
        return None
    if gap(here, there) < SAME:
        return None
    if gap(few, there[:1, :, :9]) > SAME and gap(few, here[:1, :, :9]) < SAME:
        m.crowd[_MODES]["by length"] = True
        return None
    return wrong(
        "train-and-eval-differ",
        f"In {other} mode vectors are turned otherwise than in {mode} mode: a model is not asked "
        "what it has learned.",
        "frequencies, a table or a cache that only one of the two modes scales, rebuilds or rounds "
        "(if self.training)",
        judged_in=mode,
        largest_difference=gap(here, there),
    )


def random_in_training(m: Measured) -> Finding | None:
    """Say that positions are random in train mode, which may be meant."""
    if m.crowd.get(_MODES, {}).get("random"):
        return note(
            "random-in-training",
            "In train mode results are random: positions drawn at random, as some train for long "
            "texts, or dropout. What is reported holds in eval mode.",
        )


def length_in_one_mode(m: Measured) -> Finding | None:
    """Say that one mode scales frequencies by the length, as Qwen's first models do in eval."""
    modes = m.crowd.get(_MODES, {})
    if modes.get("by length"):
        return note(
            "frequencies-depend-on-length",
            f"In {modes['other']} mode alone frequencies change with the length of the call "
            "(dynamic NTK): keys cached before must be rotated again. What is reported holds in "
            "the other mode.",
        )
