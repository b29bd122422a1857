"""What only the other of q and k can show."""

from dataclasses import replace

from ropelib.diagnosis.measured import Measured, relativity_error
from ropelib.diagnosis.report import Finding, Report, note, wrong


def joint_report(reports: list[Report], measured: list[Measured]) -> Report:
    """Join the reports of q and of k, and compare the two."""
    q, k = reports
    codes = [set(report.codes) for report in reports]
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
    if codes[0] == codes[1] == {"norm-not-kept"} and error < 1e-3:
        xpos = note("xpos", "q grows with the position as k shrinks: xPos, right as a pair.")
        return replace(q, findings=(xpos,))
    findings = list(q.findings) + [f for f in k.findings if f.code not in q.codes]
    if q.ok and k.ok:
        findings = [*filter(None, [_difference(q, k)]), *findings]
    return replace(q, findings=tuple(sorted(findings, key=lambda f: f.severity != "wrong")))


def _difference(q: Report, k: Report) -> Finding | None:
    if ("output-permuted" in q.codes) != ("output-permuted" in k.codes) or q.layout != k.layout:
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
    if q.direction != k.direction:
        return wrong(
            "q-and-k-directions-differ",
            "q turns one way and k the other: scores depend on the sum of the positions.",
            "-sin, the inverse rotation, taken for one of the two",
        )
    error = float((q.inv_freq / k.inv_freq.clamp(min=1e-30) - 1).abs().max())
    if error > 1e-4:
        return wrong(
            "q-and-k-frequencies-differ",
            "q and k turn at different speeds.",
            "tables of two layers, or of two lengths",
            largest_relative_difference=error,
        )
