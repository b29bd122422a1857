"""What only the other of q and k can show."""

import functools
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from ropelib.diagnosis.expectation import Expectation
from ropelib.diagnosis.inputs import through
from ropelib.diagnosis.measured import Measured, relativity_error
from ropelib.diagnosis.probes import CallError, signature_of
from ropelib.diagnosis.report import Finding, Report, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, wrap
from ropelib.diagnosis.xpos import decay_within_pairs, wrong_with_decay

_OF_FACTORS = {"attention-factor-missing", "attention-factor-not-as-expected"}
_SHIFTS = {"off-by-one", "positions-shifted"}


def joint_report(
    reports: list[Report],
    measured: list[Measured],
    expectation: Expectation,
    report_on: Callable[[Measured, Expectation], Report],
) -> Report:
    """Join the reports of q and of k, and compare the two."""
    joint = functools.partial(_joint, measured=measured, factor=expectation.attention_factor)
    q, k = reports
    bugs = [f for report in reports for f in report.findings if f.severity == "wrong"]
    if bugs and all(map(_is_of_a_factor, bugs)) and _factors_differ(q, k, measured):
        # Scores have the product of the two: that is what is expected, and each may have its own.
        own = [replace(expectation, attention_factor=each.attention_factor) for each in reports]
        return joint([report_on(m, one) for m, one in zip(measured, own, strict=True)])
    return joint(reports)


def _joint(reports: list[Report], measured: list[Measured], factor: float | None) -> Report:
    q, k = reports
    codes = [set(report.codes) for report in reports]
    if not (q.ok and k.ok) and (finding := _mixed(*measured)):
        return Report(q.head_dim, findings=(finding,))
    for still, other, name in ((k, q, "k"), (q, k, "q")):
        if "does-not-rotate" in still.codes and "does-not-rotate" not in other.codes:
            finding = wrong(
                f"{name}-not-rotated",
                f"Only one of q and k turns: {name} stays, and scores follow one position instead "
                "of the distance.",
                "the rotated tensor of the two is not the one that goes on",
            )
            return replace(other, findings=(finding, *other.findings))
    error = relativity_error(*(m.near for m in measured))
    exact = error < 1e-3
    scaled = all(_is_of_a_factor(f) for report in reports for f in report.findings)
    both = codes[0] == codes[1] == {"norm-not-kept"} and not scaled
    if both and (exact or _is_coarse_xpos(*measured)):
        finding = decay_within_pairs(measured) or (wrong_with_decay(measured) if exact else None)
        if finding:
            return replace(q, findings=(finding,))
        xpos = note(
            "xpos",
            "One of q and k grows with the position as the other shrinks: xPos, right as a pair.",
        )
        return replace(q, findings=(xpos,))
    findings = list(q.findings) + [f for f in k.findings if f.code not in q.codes]
    twice = {"frequencies-multiplied"}  # right beside each other, if both are, or one of the two
    bugs = {f.code for f in findings if f.severity == "wrong"}
    if bugs and bugs <= _SHIFTS and (apart := _shifted_apart(q, k)):
        findings = [apart, *(f for f in findings if f.code not in _SHIFTS)]
    if q.direction != k.direction:
        twice.add("direction-not-as-expected")
    if bugs <= twice and q.inv_freq is not None:
        if difference := _difference(q, k, *measured, error):
            findings = [difference, *(f for f in findings if f.code not in twice)]
        if _factors_differ(q, k, measured):
            allowed = 1e-4 + 2 * sum(m.noise for m in measured)
            scale = q.head_dim**-0.5  # of scores
            told = _factors(q.attention_factor, k.attention_factor, factor, allowed, scale)
            findings = [told, *(f for f in findings if f.code != "attention-factor")]
    elif q.ok != k.ok and all(code.endswith("-not-as-expected") for code in bugs):
        difference = _difference(q, k, *measured, error)
        if difference and difference.code != "q-and-k-frequencies-differ":  # which is told of each
            findings = [difference, *(f for f in findings if f.code not in bugs)]
        elif k.ok:
            findings = [replace(f, where="q") if f.code in bugs else f for f in findings]
    return replace(q, findings=tuple(sorted(findings, key=lambda f: f.severity != "wrong")))


def _shifted_apart(q: Report, k: Report) -> Finding | None:
    """Say what becomes of scores, where q and k are shifted and not by one number."""
    of_q, of_k = (next((f for f in each.findings if f.code in _SHIFTS), None) for each in (q, k))
    by_q, by_k = (each.evidence.get("shift") if each else 0.0 for each in (of_q, of_k))
    if by_q is None or by_k is None or abs(by_k - by_q) < 1e-3:
        return None
    less = f"{abs(by_k - by_q):.6g} {'less' if by_k > by_q else 'more'}"
    return replace(
        of_k or of_q,
        sentence=f"Position 0 is turned as {by_q:.6g} should be in q, and as {by_k:.6g} in k: the "
        f"score of each distance is that of another, {less}.",
    )


def _is_of_a_factor(finding: Finding) -> bool:
    """Say whether it is one factor of all, which the other of the two may make good."""
    of_scores = finding.code == "norm-not-kept" and set(finding.evidence) == {"scale"}
    return of_scores or finding.code in _OF_FACTORS


def _factors_differ(q: Report, k: Report, measured: list[Measured]) -> bool:
    if q.attention_factor is None or k.attention_factor is None:
        return False
    return abs(q.attention_factor / k.attention_factor - 1) > 2e-5 + sum(m.noise for m in measured)


def _factors(
    of_q: float, of_k: float, expected: float | None, allowed: float, scale: float
) -> Finding:
    """Return what factors of q and k make together, beside what is expected."""
    times = of_q * of_k

    def same(one: float, other: float) -> bool:
        return abs(one / other - 1) < allowed

    what = f"cos and sin are multiplied by {of_q:.6g} for q and by {of_k:.6g} for k"
    if expected is None or same(times, expected**2):
        meant = "." if expected is None else ", as expected."
        usual = "YaRN has its factor on both."
        if same(times, scale):
            usual = "That is 1 / sqrt(head_dim), which attention must not apply again (scale=1)."
        return note(
            "q-and-k-factors-differ",
            f"{what}: scores by {times:.6g}{meant} {usual}",
            factor_of_q=of_q,
            factor_of_k=of_k,
        )
    in_one = same(times, expected) and (same(of_q, 1) or same(of_k, 1))
    return wrong(
        "attention-factor-missing" if in_one else "attention-factor-not-as-expected",
        f"{what}, expected {expected:.6g} for both: scores are {times / expected**2:.6g} times "
        "what they should be.",
        "tables with the factor handed to one of the two, and those without it to the other",
        factor_of_q=of_q,
        factor_of_k=of_k,
        expected=expected,
    )


def _mixed(of_q: Measured, of_k: Measured) -> Finding | None:
    """Each of the two must come out as it does beside any other."""
    changes = {"q": _change_beside_another(of_q), "k": _change_beside_another(of_k)}
    mixed = {name: change for name, (change, _) in changes.items() if change > SAME}
    if not mixed:
        return None
    shares = {name: "all" if changes[name][1] else "part" for name in mixed}
    others = {"q": "k", "k": "q"}
    made = " and ".join(f"{shares[name]} of {name} is made of {others[name]}" for name in mixed)
    return wrong(
        "q-and-k-mixed",
        f"{made.capitalize()}: beside another one it comes out otherwise.",
        "a letter left as it was in a copied line, or memory that both are written to",
        **{f"change_of_{name}": change for name, change in mixed.items()},
    )


def _change_beside_another(m: Measured) -> tuple[float, bool]:
    """Return how far a result moves where the other of the two is times -2, and if it follows."""
    try:
        together = "other_times" in signature_of(m.probe.rotate).parameters
        another = through(m.probe, lambda rotate: functools.partial(rotate, other_times=-2))
        if not together:
            return 0.0, False
        x = random(1, 3, 5, m.head_dim)
        y, changed = m.probe(x, range(5)), another(x, range(5))
        return gap(y, changed), gap(-2 * y, changed) < SAME
    except (CallError, ValueError):  # refused, or a built-in function
        return 0.0, False


def _is_coarse_xpos(q: Measured, k: Measured) -> bool:
    """Say whether q grows as k shrinks, and both turn alike, as far as coarse tables tell."""
    if not (q.partner and k.partner):
        return False
    one = max((q, k), key=lambda m: m.num_pairs)  # where one grows far, its slow pairs are lost
    products = one.lengths(q.near) * one.lengths(k.near)
    angles = wrap(one.phases(q.near) - one.phases(k.near)).abs().max()
    return float((products / products[0] - 1).abs().max()) < 0.02 > float(angles)


def _difference(
    q: Report, k: Report, of_q: Measured, of_k: Measured, error: float
) -> Finding | None:
    if q.layout != k.layout:
        return wrong(
            "q-and-k-layouts-differ",
            f"q is turned in the layout {q.layout}, k in {k.layout}.",
            "two implementations, or weights of one of the two permuted",
        )
    if q.rotary_dim != k.rotary_dim:
        return wrong(
            "q-and-k-widths-differ",
            f"{q.rotary_dim} dimensions of q rotate and {k.rotary_dim} of k.",
            "rotary_dim handed on for one of the two",
        )
    if of_q.partner != of_k.partner:
        moving = [sorted(m.partner) for m in (of_q, of_k)]
        since_q, since_k = (dims[0] for dims in moving)
        return wrong(
            "q-and-k-dimensions-differ",
            f"As many dimensions of q turn as of k, and others: those of q begin at {since_q}, "
            f"those of k at {since_k}, and pairs of the two do not meet.",
            "a head that is cut as (nope, rope) in one of the two and as (rope, nope) in the other",
            dimensions_that_turn_in_both=len(set(moving[0]) & set(moving[1])),
            change_of_scores_at_one_distance=error,
        )
    if of_q.permutation != of_k.permutation:
        return wrong(
            "q-and-k-orders-differ",
            "Dimensions of q come out in another order than those of k, so that a score multiplies "
            "what does not belong together.",
            _joined_apart(of_q, of_k)
            or "halves joined as (even, odd) in one of the two and as (odd, even) in the other, or "
            "neighbors written as halves in one alone",
            dimensions_that_come_out_elsewhere=_apart(of_q, of_k),
        )
    if q.direction != k.direction:
        return wrong(
            "q-and-k-directions-differ",
            "q turns one way and k the other: scores depend on the sum of the positions.",
            "-sin, the inverse rotation, taken for one of the two",
        )
    apart = wrap(of_q.start - of_k.start).abs().max()
    if "centered" in (*q.codes, *k.codes) and float(apart) > 1e-3:
        return wrong(
            "positions-shifted",
            "Places of q are counted from another origin than those of k: scores of one distance "
            "are those of another.",
            "coordinates that are centered for one of the two alone",
            largest_angle_at_position_0=float(apart),
        )
    ratio = float((q.inv_freq[:1] / k.inv_freq[:1]).mean())
    for name, times in (("q", 2.0), ("k", 0.5)):
        if abs(ratio / times - 1) < 1e-4 and _largest_error(q.inv_freq, times * k.inv_freq) < 1e-4:
            return wrong(
                f"{name}-rotated-twice",
                f"{name} turns twice as fast as the other of the two.",
                "rotated once more after it came from the cache, or by attention that rotates too",
            )
    if of_q.axes and of_q.axes.of_pairs != of_k.axes.of_pairs:
        return wrong(
            "q-and-k-axes-differ",
            "A pair of q follows another axis than the same pair of k, so that scores of places "
            "depend on more than how far apart they lie.",
            "sections or the order of the axes handed on for one of the two",
        )
    # What coarse tables leave unknown of a frequency, over the near positions.
    unknown = 2 * (of_q.noise + of_k.noise) / float(of_q.near.positions[-1])
    apart = ((q.inv_freq - k.inv_freq).abs() - unknown).clamp(min=0)
    error = _largest_error(k.inv_freq + apart, k.inv_freq)
    apart = float((q.inv_freq - k.inv_freq).abs().max()) * of_q.limit  # at the far end, rad
    if error > 1e-4 or (apart > 0.1 and of_q.noise + of_k.noise < 1e-5):
        return wrong(
            "q-and-k-frequencies-differ",
            "q and k turn at different speeds.",
            "tables of two layers, or of two lengths",
            largest_relative_difference=error,
        )


def _joined_apart(of_q: Measured, of_k: Measured) -> str:
    """Say that the part that turns comes out before the rest in one alone, if no more differs."""
    turning = sorted(of_q.partner)
    rest = [r for r in range(of_q.head_dim) if r not in of_q.partner]
    q, k = ([*(m.permutation or range(m.head_dim))] for m in (of_q, of_k))
    moved = [{k[r] - q[r] for r in part} for part in (turning, rest)]
    if not rest or any(len(by) > 1 for by in moved):
        return ""
    first, other = ("q", "k") if q[turning[0]] < k[turning[0]] else ("k", "q")
    return (
        f"the part that turns joined to the rest as (turned, rest) in {first} and as (rest, "
        f"turned) in {other}"
    )


def _apart(of_q: Measured, of_k: Measured) -> int:
    """Return how many dimensions come out in one place of q and in another of k."""
    orders = [m.permutation or range(m.head_dim) for m in (of_q, of_k)]
    return sum(a != b for a, b in zip(*orders, strict=True))


def _largest_error(measured: Tensor, expected: Tensor) -> float:
    """Return the largest relative error; where nothing is expected to turn, the frequency."""
    error = (measured - expected).abs()
    return float((error / expected.abs().where(expected != 0, 1)).max())
