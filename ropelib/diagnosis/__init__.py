"""Point it at anybody's rotation: it says what that rotation is, or which bug it has.

Three steps, each readable alone. Probes call the rotation and return plain measurements. From them
one description is made: which dimensions form pairs, by what angle each turns at each position.
Rules read the description, the most specific explanation first; the first that finds the rotation
wrong ends the list, so that one cause is reported and not the heap of its consequences.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.diagnosis.adapters import adapted, from_module, from_tables, seq_first
from ropelib.diagnosis.calls import CALLS
from ropelib.diagnosis.causes import CAUSES, SHAPELESS
from ropelib.diagnosis.expectation import Expectation
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.notes import NOTES
from ropelib.diagnosis.pair import joint_report
from ropelib.diagnosis.probes import Exit, Probe, Rotate, broken_call, takes_seq_first
from ropelib.diagnosis.report import Finding, Report

__all__ = ["Finding", "Report", "diagnose", "from_module", "from_tables", "seq_first"]

MOST_DIMS, MOST_POSITIONS = 1024, 2**20  # what ordinary memory holds: the probes are some copies


def diagnose(
    rotate: Rotate | tuple[Rotate, Rotate],
    *,
    head_dim: int = 64,
    decode: Rotate | None = None,
    expected: object = None,
    inv_freq: Tensor | Sequence[float] | None = None,
    attention_factor: float | None = None,
    layout: str | None = None,
    max_position: int = 8192,
    device: str | torch.device = "cpu",
) -> Report:
    """Say what a rotation is, or which bug it has, by measuring what it does to vectors.

    Args:
        rotate: `rotate(x, position_ids)` returns x rotated; x is `(batch, num_heads, seq_len,
            head_dim)`, `position_ids` int64 `(seq_len,)` or `(batch, seq_len)`. Or a pair of such
            functions, for q and for k, or what `from_module` makes a pair of: a module or function
            whose first arguments are named q and k. `from_tables` and `seq_first` adapt others.
        head_dim: width of the vectors that it is given, 2 to 1024.
        decode: the same for generation, if that is another function: it is called with
            successive chunks of one sequence (eight tokens, eight times one token, the rest) and
            returns each chunk as the cache keeps it. It must equal the full pass (of k, where
            `rotate` is a pair).
        expected: what the rotation is meant to be: an object with any of `inv_freq`,
            `attention_factor` and `layout`, each a value or a method, as `RopeConfig` has them; or
            what `RopeConfig.from_hf` reads.
        inv_freq: expected frequencies `(num_pairs,)`, rad/token; takes the place of
            `expected.inv_freq`, as the next two do.
        attention_factor: expected factor.
        layout: expected layout.
        max_position: positions 0 .. max_position - 1 are probed, or as many of them as the rotation
            takes, 32 to 2 ** 20; bfloat16 loses positions from 257 on, TF32 from 2049 on.
        device: where the vectors lie.

    Returns:
        `Report`. A rotation that breaks on ordinary input is diagnosed where the break names the
        bug, and refused otherwise.

    Raises:
        TypeError: if `rotate` or `decode` is not callable, cannot be called with `(x,
            position_ids)`, or returns no tensor; an argument has a wrong type, or `expected` says
            nothing of what is compared.
        ValueError: if it raises, or would end the program, or returns a tensor of another shape or
            no finite numbers; `head_dim` or `max_position` is out of range; `layout` is unknown,
            `inv_freq` not finite or of another shape, `attention_factor` not positive, `device`
            not one that holds numbers here; `expected` is no configuration that can be read.

    Convention:
        Right means: the score of a rotated q and k depends on their distance alone, position 0 is
        left alone up to a constant factor, and every way to call the rotation agrees.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, inv_freq
        >>> def rotate(x, position_ids):
        ...     return apply_rotary(x, *cos_sin(position_ids, inv_freq(64)), layout="half")
        >>> print(diagnose(rotate))
        This rotation is right.
          layout            half, pairs (i, i + rotary_dim / 2)
          rotary_dim        64 of 64
          inv_freq          geometric with base 10000
          direction         +1, counterclockwise
          attention_factor  1
          positions         0 to 8191 probed
        >>> diagnose(lambda x, position_ids: rotate(x, position_ids.bfloat16().float())).codes
        ('positions-in-bfloat16',)
    """
    checks.integer("head_dim", head_dim, 2, MOST_DIMS)
    checks.integer("max_position", max_position, 32, MOST_POSITIONS)
    _check_device(device)
    expectation = Expectation.of(expected, inv_freq, attention_factor, layout)
    try:
        rotations = tuple(rotate) if isinstance(rotate, (tuple, list)) else adapted(rotate)
        if len(rotations) not in (1, 2):
            raise TypeError(f"rotate must be a function or a pair of them, got {len(rotations)}")
        probes = [
            Probe(each, name, head_dim, device)
            for each, name in zip(rotations, ("rotate", "rotate of k"), strict=False)
        ]
        if decode is not None:
            decode = Probe(adapted(decode)[-1], "decode", head_dim, device)
        return _examine(probes, decode, max_position, expectation)
    except Exit as error:
        raise ValueError(str(error)) from error.__cause__


def _check_device(device: str | torch.device) -> None:
    rule = f"device must be one of torch's that holds numbers here, got {shown(device)}"
    try:
        torch.zeros(1, device=device).cpu()  # also what torch knows, and this machine has not
    except TypeError as error:
        raise TypeError(rule) from error
    except Exception as error:  # which kind, each device has its own
        raise ValueError(rule) from error


def _examine(
    probes: list[Probe],
    decode: Probe | None,
    max_position: int,
    expectation: Expectation,
) -> Report:
    reports, measured = [], []
    for probe in probes:
        finding = broken_call(probe)
        if finding is not None:
            if finding.code == "rotates-by-head" and _is_right_seq_first(probe, max_position):
                finding = takes_seq_first(finding.evidence)
            return Report(probe.head_dim, findings=(_in_k(finding, probe),))
        measured.append(Measured(probe, max_position, decode if probe is probes[-1] else None))
        reports.append(_report(measured[-1], expectation))
    if len(reports) == 1:
        return reports[0]
    return joint_report(reports, measured)


def _is_right_seq_first(probe: Probe, max_position: int) -> bool:
    """Say whether the rotation is right in the other order of axes; not if it was said to be."""
    if getattr(probe.rotate, "is_seq_first", False):
        return False
    swapped = Probe(seq_first(probe.rotate), probe.name, probe.head_dim, probe.device)
    try:
        return _examine([swapped], None, max_position, Expectation()).ok
    except (TypeError, ValueError):
        return False


def _report(m: Measured, expectation: Expectation) -> Report:
    finding = next(filter(None, (rule(m) for rule in CAUSES)), None)
    described = finding is None or finding.code not in SHAPELESS
    wrong = [finding] if finding else []
    if described and not wrong:
        wrong += filter(None, [expectation.mismatch(m)])
    if finding is None:
        wrong += filter(None, [rule(m) for rule in CALLS])
    notes = list(filter(None, (rule(m) for rule in NOTES))) if described and not wrong else []
    findings = tuple(_in_k(f, m.probe) for f in (*wrong, *notes))
    if not described or not m.partner:
        return Report(m.head_dim, positions=m.limit, findings=findings)
    return Report(
        head_dim=m.head_dim,
        layout=m.pairing.layout,
        base=m.fit.base,
        factor=m.fit.factor,
        inv_freq=m.inv_freq,
        rotary_dim=2 * m.pairing.width,
        direction=m.direction,
        attention_factor=_snap(float(m.scale.mean())),
        positions=int(m.far.positions[-1]) + 1,
        profile=_profile(m),
        findings=findings,
    )


def _in_k(finding: Finding, probe: Probe) -> Finding:
    return replace(finding, where="k") if probe.name == "rotate of k" else finding


def _snap(value: float) -> float:
    return 1.0 if abs(value - 1) < 1e-6 else value


def _profile(m: Measured) -> str:
    fit, speeds = m.fit, m.inv_freq[: m.num_pairs]
    if fit.is_geometric:
        factor = "" if abs(fit.factor - 1) < 1e-5 else f", divided by {fit.factor:.6g}"
        return f"geometric with base {fit.base:.6g}{factor}"
    if fit.jump is not None:
        slow = fit.factor * fit.jump
        return (
            f"not geometric: base {fit.base:.6g} at both ends, the fastest {fit.split[0]} pairs "
            f"divided by {fit.factor:.6g}, the slowest {fit.split[1]} by {slow:.6g}"
        )
    if m.num_pairs == 1:
        return f"one pair, {float(speeds[0]):.6g} rad/token"
    return f"not geometric: {float(speeds[0]):.6g} to {float(speeds[-1]):.6g} rad/token"
