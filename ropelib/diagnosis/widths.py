"""The rule on other widths: where vectors of them are taken, they must be rotated as well."""

import math
from contextlib import suppress

import torch
from torch import Tensor

from ropelib.diagnosis.in_company import turns_otherwise_when_short
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, spread

WIDTHS = (64, 80, 96, 128, 192, 256)  # of heads that models have
_FAR = (3, 1, 257, 5, 2049, 7)  # positions: bfloat16 loses 257, TF32 and float16 lose 2049
_BLOCKS = (4, 8, 16, 32, 64)  # of pairs
_APART = 0.02  # of lengths and angles
_BY_BASE = "by base"


def other_widths(m: Measured) -> Finding | None:
    """Measure a few positions at each width, and ask for what is known from the first one."""
    if 2 * m.num_pairs < m.head_dim and (block := _of_blocks(m)):
        return None if m.as_said else _block_left_out(m, *block)
    for width in WIDTHS:
        if width == m.head_dim:
            continue
        try:
            fault = _fault(m, m.at_width(width, _few(m)))
        except (CallError, TypeError):  # made for one width
            continue
        except ValueError as error:
            fault = str(error)  # no finite numbers, or another device
        if fault and not _has_no_width(m, width):
            if m.obeys == "all" and (of_own := _fault(m, m.at_width(m.head_dim, _few(m)))):
                return _wrong_when_short(m, of_own)
            said = (
                f"are rotated rightly, and those of {width}, which are taken too, are not: {fault}"
            )
            if fault.startswith(_BY_BASE):  # either may be the right one
                said = f"turn by base {m.fit.base:.4g}, and those of {width}, which are taken too, "
                said += fault
            return wrong(
                "wrong-at-other-widths",
                f"Vectors of {m.head_dim} dimensions {said}.",
                "a kernel that pads the width to a power of two, and finds sine, exponents or the "
                "second half by the padded width; or a width, or its frequencies, written into the "
                "code",
                width=width,
            )


def _wrong_when_short(m: Measured, fault: str) -> Finding:
    *first, last = _few(m).tolist()
    return wrong(
        "short-steps-wrong",
        f"A call of {len(first) + 1} tokens, at positions {', '.join(map(str, first))} and {last}, "
        f"is turned otherwise than these are in longer ones: {fault}.",
        "a path for short calls that takes all tokens to stand at the first's position, or counts "
        "on from there",
        last_position=last,
    )


def _of_blocks(m: Measured) -> tuple[int, int] | None:
    """Return how many pairs a block has, and a width all of which turns, if blocks alone turn."""
    turning = {m.head_dim: m.num_pairs}
    for width in WIDTHS:
        with suppress(TypeError, ValueError):  # made for one width
            turning.setdefault(width, m.at_width(width, _few(m)).num_pairs)
    whole = [width for width, pairs in turning.items() if 2 * pairs == width]
    if len(set(turning.values())) < 2:  # as many pairs of any width: a part that turns
        return None
    for block in _BLOCKS:
        if all(pairs == width // 2 // block * block for width, pairs in turning.items()):
            return (block, whole[0]) if whole else None
    return None


def _block_left_out(m: Measured, block: int, whole: int) -> Finding:
    return wrong(
        "last-pair-not-rotated",
        f"Of {m.head_dim} dimensions {2 * m.num_pairs} turn, of {whole} all do: at each width the "
        f"slow pairs stand still that fill no block of {block}.",
        f"a loop over blocks of {block} pairs that leaves out the last, incomplete one",
        pairs_that_turn=m.num_pairs,
        of=m.head_dim // 2,
    )


def _has_no_width(m: Measured, width: int) -> bool:
    """Say whether heads lie flat in one row for it: eight of 80 are then ten of 64, rightly so."""
    x = random(1, 8, 9, width)
    if 8 * width % m.head_dim:
        return False

    def regrouped(t: Tensor, width: int) -> Tensor:  # (batch, heads, tokens, other width)
        return t.transpose(1, 2).flatten(2).unflatten(-1, (-1, width)).transpose(1, 2)

    try:
        rotated = m.probe(x, range(9))
        as_others = m.probe(regrouped(x, m.head_dim), range(9))
    except (CallError, TypeError, ValueError):
        return False
    return gap(regrouped(as_others, width), rotated) < SAME


def _few(m: Measured) -> Tensor:
    """Return positions 0 and 1, and one as far as a call for every basis vector may ask for.

    Where tables are coarse each place between must tell the turns of the next.
    """
    if m.noise > 1e-5:
        return m.known
    counts = getattr(m.probe.rotate, "counts_itself", False)  # makes room for all before it
    return torch.tensor([0, 1, int((m.near.positions if counts else m.known)[-1])])


def _fault(m: Measured, other: Measured) -> str | None:
    """Say in words what is wrong with vectors of another width."""
    if spread(other.far.matrices, axis=0) < SAME:
        return "nothing turns"
    if not other.partner:
        return "dimensions do not turn in pairs"
    in_order = [each.permutation is None for each in (m, other)]
    all_turn = 2 * other.num_pairs == other.head_dim  # then no parts are left to exchange
    if in_order[0] != in_order[1] and not all_turn:
        return "dimensions come out in another order"
    if m.num_pairs > 1 and m.pairing.layout not in (None, other.pairing.layout):
        return f"pairs lie in the layout {other.pairing.layout}, and not in {m.pairing.layout}"
    if m.direction and other.direction != m.direction:
        return "pairs turn the other way"
    return _lengths(m, other) or _pairs(m, other) or _places(m, other) or _frequencies(m, other)


def _lengths(m: Measured, other: Measured) -> str | None:
    scale, allowed = float(m.scale.mean()), _APART + 2 * m.noise
    lengths, found = other.lengths(other.far), float(other.scale.mean())
    for power in (-0.5, 0.5):  # the scale of scores, on one of q and k
        if all(abs(each.scale.mean() / each.head_dim**power - 1) < allowed for each in (m, other)):
            scale = found
    if float((lengths / scale - 1).abs().max()) > allowed:
        return "lengths change"
    rest = other.far.matrices.diagonal(dim1=1, dim2=2)[:, other.resting]
    if rest.numel() and float((rest - rest.clamp(*sorted((1.0, scale)))).abs().max()) > allowed:
        return "dimensions that do not turn change their length"


def _pairs(m: Measured, other: Measured) -> str | None:
    """As many turn as before, or as large a part, or all but as many as before."""
    before, turning, width = 2 * m.num_pairs, 2 * other.num_pairs, other.head_dim
    meant = {before, before * width // m.head_dim, before + width - m.head_dim}
    if all(abs(turning - each) > max(2, each // 8) for each in meant):
        return f"{turning} dimensions turn"


def _frequencies(m: Measured, other: Measured) -> str | None:
    fastest, found = float(m.turning.abs().max()), float(other.turning.abs().max())
    if m.pairing.first and m.fit.is_geometric and other.fit.is_geometric:
        fastest, found = 1 / m.fit.factor, 1 / other.fit.factor  # of the first, if it turned
    if fastest > 3 or not m.direction:  # near pi, half a turn, both ways look alike
        return None
    if abs(found / fastest - 1) > _APART + 4 * m.noise:
        return f"the fastest pair turns by {found:.4g} a token, and not by {fastest:.4g}"
    if turns_otherwise_when_short(m):
        return None  # it is the length of the call that differs
    if other.num_pairs == m.num_pairs and _alike(other.turning, m.turning):
        return None  # tables of one width, which turn as many dimensions of any
    if not m.fit.is_geometric or min(m.num_pairs, other.num_pairs) < 4:
        return None
    logs = other.turning.abs().log()
    steps = torch.tensor(other.pairing.slots, dtype=torch.float64)
    slope = float((logs[-1] - logs[0]) / (steps[-1] - steps[0]))
    if float((logs - logs[0] - slope * (steps - steps[0])).abs().max()) > 0.1:
        return "frequencies are no geometric series"
    # A scaled base (NTK) depends on the width a little; exponents of another width by a quarter.
    rotary, meant = 2 * other.pairing.width, math.log(m.fit.base)
    over_the_head = meant * m.head_dim / (2 * m.pairing.width)
    bases = {-slope * rotary / 2: meant, -slope * other.head_dim / 2: over_the_head}
    if all(abs(one - meant) > 0.1 + 0.05 * abs(meant) for one, meant in bases.items()):
        return f"{_BY_BASE} {math.exp(-slope * rotary / 2):.4g}"


def _alike(one: Tensor, other: Tensor) -> bool:
    return bool(((one / other).log().abs() < 2 * _APART).all())


def _places(m: Measured, other: Measured) -> str | None:
    """Random vectors, far too and in rows, against the angles that position 1 tells."""
    ids = _asked(m)
    if ids.dim() == 2:
        x = random(len(ids), 3, ids.shape[1], m.head_dim)
        try:
            if m.differs(m.probe(x, ids), x, ids).any():
                return None  # a rule on rows says so
            return _off(other, ids)
        except CallError:  # rows are refused
            ids = ids[0]
    return _off(other, ids)


def _asked(m: Measured) -> Tensor:
    end = int(m.known[-1])
    if m.obeys == "start" or getattr(m.probe.rotate, "runs_only", False):
        return torch.arange(5) + (257 if end > 261 else 4)
    if getattr(m.probe.rotate, "counts_itself", False):
        end = min(end, 300)
    row = torch.tensor([p for p in _FAR if p < end] + [end])
    return torch.stack((row, row.flip(0)))


def _off(other: Measured, ids: Tensor) -> str | None:
    x = random(len(ids) if ids.dim() == 2 else 1, 3, ids.shape[-1], other.head_dim)
    try:
        turned = other.probe(x, ids)
    except CallError:
        return None
    if other.permutation is not None:
        turned = turned[..., other.permutation]
    given, turned = (_complex(other, each) for each in (x, turned))
    count = other.num_pairs
    angles = ids.double()[..., None] * other.speeds[:count] + other.start[:count]
    expected = given * torch.polar(other.scale[:count].expand_as(angles), angles).unsqueeze(-3)
    allowed = _APART + (1e-6 + 4 * other.noise) * ids.double().unsqueeze(-2)
    if bool(((turned - expected).abs().amax(-1) > allowed * given.abs().amax(-1)).any()):
        return "position_ids are not followed, or not as far"


def _complex(m: Measured, x: Tensor) -> Tensor:
    first, second = x.double()[..., m.dims].chunk(2, dim=-1)
    return torch.complex(first, second)
