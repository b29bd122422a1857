"""The rule on dimensions that do not turn: they must pass as they are, at every position."""

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import spread


def _lost_since(m: Measured, allowed: float) -> int | None:
    """Return the position where it begins, if all at once: a lost sine sets in slowly."""
    kept = m.far.matrices.diagonal(dim1=1, dim2=2)[:, m.resting]
    changes = (kept - kept[:1]).abs().amax(1)
    first = int((changes > allowed).nonzero()[0])
    if first and changes[first] > 20 * changes[first - 1]:
        return int(m.far.positions[first])
    return None


def rest_is_not_kept(m: Measured) -> Finding | None:
    """Dimensions without a partner: their factor must be 1, or that of all, and stay so."""
    if not m.resting:
        return None
    kept = m.far.matrices.diagonal(dim1=1, dim2=2)[:, m.resting]
    allowed = 0.01 + 2 * m.noise
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
            f"{moving} dimensions shrink and grow with the position and never meet their partners: "
            "they have their cosine, and no sine.",
            "a table of sin that is filled, or read, for some of the pairs",
            dimensions=moving,
            largest_change=spread(kept, axis=0),
        )
    scale = float(m.scale.mean())
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
