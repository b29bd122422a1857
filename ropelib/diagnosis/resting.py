"""The rules on dimensions that do not turn: they must pass as they are, or turn as well."""

from ropelib.diagnosis.fit import is_round, raised
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import spread

_SLOWEST = 1e-5  # of its length: what the cosine of a slow pair loses, alone


def _lost_since(m: Measured, allowed: float) -> int | None:
    """Return the position where it begins, if all at once: a lost sine sets in slowly."""
    kept = m.far.matrices.diagonal(dim1=1, dim2=2)[:, m.resting]
    changes = (kept - kept[:1]).abs().amax(1)
    first = int((changes > allowed).nonzero()[0])
    if first and changes[first] > max(0.01, 20 * float(changes[first - 1])):
        return int(m.far.positions[first])
    return None


def rest_is_not_kept(m: Measured) -> Finding | None:
    """Dimensions without a partner: their factor must be 1, or that of all, and stay so."""
    if not m.resting:
        return None
    kept = m.far.matrices.diagonal(dim1=1, dim2=2)[:, m.resting]
    allowed = _SLOWEST + 4 * m.noise
    moving = int(((kept - kept[:1]).abs().amax(0) > allowed).sum())
    if moving and (since := _lost_since(m, allowed)) is not None:
        return wrong(
            "rest-not-kept",
            f"Dimensions that do not turn pass as they are at first, and from position {since} on "
            "otherwise: the rotation of far positions forgets them.",
            "a longer table, or a second path for long texts, without the part that passes",
            since,
            dimensions=moving,
            smallest_factor=float(kept.min()),
        )
    if moving:
        return wrong(
            "sine-partly-zero",
            f"At least {moving} dimensions shrink and grow with the position and never meet their "
            "partners: they have their cosine, and no sine.",
            "a table of sin that is filled, or read, for some of the pairs",
            dimensions=moving,
            largest_change=spread(kept, axis=0),
        )
    scale, allowed = float(m.scale.mean()), 0.01 + 2 * m.noise
    strange = ((kept[0] - 1).abs() > allowed) & ((kept[0] - scale).abs() > allowed)
    if bool(strange.any()):
        worst = kept[0][(kept[0] - 1).abs().argmax()]
        zero = bool((kept[0][strange].abs() < 1e-3).all())
        what = "zeros" if zero else "scaled"
        return wrong(
            "rest-not-kept",
            f"{int(strange.sum())} dimensions do not turn and come out {what}: they must pass as "
            "they are.",
            "a result that is made by zeros_like or empty_like, of which the turning part alone is "
            "written"
            if zero
            else "a factor on all of x before the turning part is cut off",
            dimensions=int(strange.sum()),
            factor=float(worst),
        )
    return None


def last_pair(m: Measured) -> Finding | None:
    """Two dimensions that stand still where a round base says that they belong."""
    n, speeds = m.num_pairs, m.turning
    if m.pairing.width > n:
        return None  # p-RoPE has still pairs: a note says so, and an expectation may say more
    missing = False
    if 2 * (n + 1) == m.head_dim and m.pairing.offset == 0 and m.fit.is_geometric:
        # Two dimensions are left over. A round base over all of head_dim means that they belong.
        over_rotary, over_head = m.fit.base, raised(m.fit.base, (n + 1) / n)
        missing = not is_round(over_rotary) and is_round(over_head)
    return last_pair_still(n, float(speeds[-1])) if missing else None


def last_pair_still(pairs: int, slowest: float) -> Finding:
    """Return the finding that the slowest of the pairs is left out."""
    return wrong(
        "last-pair-not-rotated",
        "The slowest pair stands still while all others turn.",
        "a loop or a slice that ends one pair early",
        pairs=pairs,
        slowest_frequency=slowest,
    )
