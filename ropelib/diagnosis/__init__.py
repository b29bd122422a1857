"""Point it at anybody's rotation: it says what that rotation is, or which bug it has.

Three steps, each readable alone. Probes call the rotation and return plain measurements. From them
one description is made: which dimensions form pairs, by what angle each turns at each position.
Rules read the description, the most specific explanation first; the first that finds it wrong ends
the list, so that one cause is reported and not the heap of its consequences. Where it is right,
other rules ask for each way to call: bugs of several ways stand side by side, without those that
rows of a batch, turned wrongly, would feign.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.diagnosis.adapters import from_counting, from_module, from_tables, seq_first
from ropelib.diagnosis.axes_meant import or_by_axes
from ropelib.diagnosis.calls import CALLS
from ropelib.diagnosis.causes import CAUSES, SHAPELESS
from ropelib.diagnosis.circumstances import judged_in_eval, surroundings
from ropelib.diagnosis.compiled import compiled_for_every_call
from ropelib.diagnosis.described import made_again, width_meant
from ropelib.diagnosis.expectation import SUSPECT, Expectation, is_a_rotation
from ropelib.diagnosis.factors import without
from ropelib.diagnosis.filled import filled_in_its_dtype, uncalled
from ropelib.diagnosis.fit import Fit
from ropelib.diagnosis.forms import adapted, as_a_step, as_its_form_asks, from_course, from_offset
from ropelib.diagnosis.guards import LONGEST, Exit, Unmeasured, finding_of
from ropelib.diagnosis.handed import from_freqs_cis, from_operator, refuse_beside_made_tables
from ropelib.diagnosis.heads import called_seq_first, head_by_head
from ropelib.diagnosis.in_company import turns_otherwise_when_short
from ropelib.diagnosis.inputs import unnamed
from ropelib.diagnosis.isolated import differs_in_a_crowd
from ropelib.diagnosis.measured import FEWEST, Measured
from ropelib.diagnosis.models import from_transformers
from ropelib.diagnosis.notes import NOTES
from ropelib.diagnosis.other_width import or_of_another_width
from ropelib.diagnosis.pair import joint_report
from ropelib.diagnosis.paths import large_and_late, not_repeated, unsteady
from ropelib.diagnosis.places import differs_at_places
from ropelib.diagnosis.probes import (
    Probe,
    Rotate,
    broken_call,
    narrower_widths,
    takes_the_part,
    with_width,
)
from ropelib.diagnosis.refusals import or_otherwise, or_too_few_rows
from ropelib.diagnosis.report import Finding, Report, note
from ropelib.diagnosis.series import of_each_axis
from ropelib.diagnosis.several_axes import number_of_axes, text_of
from ropelib.diagnosis.steps import q_in_steps
from ropelib.diagnosis.threads import one_thread

__all__ = ["diagnose"]  # first on its page
__all__ += ["Finding", "Report", "from_counting", "from_course", "from_freqs_cis"]
__all__ += ["from_module", "from_offset", "from_operator", "from_tables"]
__all__ += ["from_transformers", "seq_first"]

# What is wrong with rows or heads shows in other probes as well, which have them too.
FEIGNED = (
    (
        {"batch-rows-mixed", "batch-rows-share-positions"},
        {"one-token-rows-wrong", "strides-ignored", "gradient-wrong", "late-steps-wrong"},
    ),
    ({"first-token-not-turned"}, {"decode-restarts-at-zero", "one-token-rows-wrong"}),
    ({"heads-mixed"}, {"wrong-at-other-widths"}),
    ({"frequencies-stay-grown"}, {"base-not-as-expected"}),  # of k, after a long call of q
    ({"tables-of-an-earlier-call"}, {"position-ids-ignored"}),  # likewise
)
MOST_DIMS, MOST_POSITIONS = 1024, 2**20  # what ordinary memory holds: the probes are some copies


@one_thread()
@or_of_another_width
@compiled_for_every_call()
def diagnose(
    rotate: object,
    *,
    head_dim: int | None = None,
    decode: Rotate | None = None,
    expected: object = None,
    inv_freq: Tensor | Sequence[float] | None = None,
    attention_factor: float | None = None,
    layout: str | None = None,
    axes: int | Sequence[int] | None = None,
    max_position: int = 8192,
    device: str | torch.device = "cpu",
    timeout: float | None = LONGEST,
) -> Report:
    """Say what a rotation is, or which bug it has, by measuring what it does to vectors.

    Args:
        rotate: `rotate(x, position_ids)` returns x rotated; x is `(batch, num_heads, seq_len,
            head_dim)`, `position_ids` int64 `(seq_len,)` or `(batch, seq_len)`. Or a pair of such
            functions, for q and for k; a module or function whose first arguments are named q and
            k; a model of transformers, its rotary module or the file that defines it; torchtune's
            module, rotary-embedding-torch's; a function that takes `offset`, `start_pos` or the
            like, `cos` and `sin`, `freqs_cis`, or no positions at all; the class of the course
            form. What is recognized by its arguments can be said by name: `from_transformers`,
            `from_offset`, `from_operator`, `from_freqs_cis`, `from_counting`, `from_course`;
            `from_tables`, `from_module` and `seq_first` adapt others.
        head_dim: width of the vectors that it is given, 2 to 1024; the rotation's own `head_dim`,
            or that of a configuration that is `expected`, or 64, unless given.
            Where 64, 80, 96, 128, 192 or 256 are taken as well, vectors as wide must be rotated
            alike: same layout, direction, factor, fastest pair and positions, as many dimensions or
            as large a part, and a base that is not that of another width.
        decode: the same for generation, if that is another function: it is called with successive
            chunks of one sequence (eight tokens, eight single ones, two, three, then long chunks
            with single tokens between) and returns each chunk as the cache keeps it. It must equal
            the full pass (of k, where `rotate` is a pair, and of q too where a step follows
            `position_ids`). The last token comes in three rows of a batch, if they are taken. What
            follows `position_ids` and counts nothing is called with rows of single tokens and in
            bfloat16 after that.
        expected: what the rotation is meant to be: an object with any of `inv_freq`,
            `attention_factor` and `layout`, each a value or a method, as `RopeConfig` has them;
            what `RopeConfig.from_hf` reads; the name of a model of the gallery, such as
            "llama-3.1-8b"; or another implementation, in any form that `rotate` may have, which is
            measured and compared. Pairs are meant to turn counterclockwise, unless it has a
            `direction` of -1, or is an implementation that turns clockwise.
        inv_freq: expected frequencies `(num_pairs,)`, rad/token, with zeros for pairs that stand
            still: their number says which dimensions are partners in the half layout; takes the
            place of `expected.inv_freq`, as the next two do.
        attention_factor: expected factor.
        layout: expected layout.
        axes: how many axes a position has, where it has several, 2 for the height and width of an
            image, 3 for M-RoPE; or the axis expected of each pair, as `axis_of_pairs` returns it.
            `expected` may say so too: another implementation, or a configuration with
            `mrope_section`. Positions then are `(axes, batch, seq_len)`, `(axes, seq_len)`, the
            same with axes last, or an argument for each axis. All is measured where the axes
            agree, as in text, then each axis is moved alone, and then places are tried where the
            axes differ: far ones, rows, single tokens, grids, half precision, the way back.
        max_position: positions below it are probed, 62 of 8192 by every basis vector and all by
            one, or as many as the rotation takes, 12 to 2 ** 20; bfloat16 loses positions from 257
            on, TF32 from 2049 on.
        device: where the vectors lie.
        timeout: seconds that one call of the rotation may take, None for any number. Python code
            is stopped there, sleeps and locks that are waited for too. Code outside of Python is
            stopped as it comes back, and not before: a kernel that never ends, a library that
            waits for another process. On Windows, in a thread other than the main one, and beside
            an alarm that rings earlier, no limit is kept.

    Returns:
        `Report`. A rotation that breaks on ordinary input is diagnosed where the break names the
        bug. One that cannot be measured has a report of one finding, which says so in a sentence:
        it raises, or would end the program (`call-raises`), takes longer than `timeout`
        (`call-hangs`), returns a tensor of another shape, on another device or without finite
        numbers. One that raises or returns another shape for some inputs alone, far positions,
        rows, bfloat16, has a note, as has one that returns another dtype or changes x.

    Raises:
        TypeError: if `rotate` or `decode` is not callable, cannot be called with `(x,
            position_ids)`, or returns no tensor; an argument has a wrong type, or `expected` says
            nothing of what is compared.
        ValueError: if `head_dim` or `max_position` is out of range; `layout` is unknown,
            `inv_freq` not finite or not of one axis, `attention_factor` not positive, `device`
            not one that holds numbers here, `timeout` not positive; `expected` is no configuration
            that can be read, or a rotation that is wrong itself.

    Convention:
        Right means: the score of a rotated q and k depends on their distance alone, position 0 is
        left alone up to a positive factor and an order of dimensions, and every way to call the
        rotation that was tried agrees: rows of a batch, far ones too, many heads and tokens, single
        ones, positions in any order, bfloat16, autocast, train and eval mode, another order in
        memory, and the way back of training. Code that counts on from the first position of a call
        may be right with a note, `contiguous-positions-only`: it turns no other order as it says;
        code for one row of positions with the note `rows-refused`, though it may take some others.
        Notes name what else is right though it differs: `frequencies-depend-on-length` (a call of
        another length turns otherwise), `random-in-training`, `centered` (position 0 is turned).

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
          positions         62 of 0 to 8191 probed
        >>> diagnose(lambda x, position_ids: rotate(x, position_ids.bfloat16().float())).codes
        ('positions-in-bfloat16',)
    """
    checks.integer("max_position", max_position, FEWEST, MOST_POSITIONS)
    if head_dim is not None:
        checks.integer("head_dim", head_dim, 2, MOST_DIMS)
    if timeout is not None:
        checks.positive("timeout", timeout)
    _check_device(device)
    count = None if axes is None else number_of_axes(axes)

    def measurable(source: object, name: str, meant: int | None = None) -> list[Probe]:
        rotations = adapted(source, head_dim or meant, max_position)
        if len(rotations) not in (1, 2):
            raise TypeError(f"{name} must be a function or a pair of them, got {len(rotations)}")
        width = head_dim or meant or _own_width(rotations[0])
        if count:
            rotations = [text_of(each, count, width, device) for each in rotations]
        names = (name, f"{name} of k")
        probes = [
            Probe(each, its, width, device) for each, its in zip(rotations, names, strict=False)
        ]
        for probe in probes:
            probe.timeout = timeout
        return probes

    try:
        probes = measurable(rotate, "rotate")
        of_width = partial(measurable, rotate, "rotate")
        if head_dim is None and (head_dim := width_meant(expected, probes[0], of_width)):
            probes = of_width()
        guessed = all(said is None for said in (expected, inv_freq, attention_factor, layout))
        said = {"inv_freq": inv_freq, "attention_factor": attention_factor}
        refuse_beside_made_tables(probes[0].rotate, None, **said)
        if expected is None:
            expected = getattr(probes[0].rotate, "meant", None)
        other = None
        if is_a_rotation(expected):
            head_dim = probes[0].head_dim
            other = _measured_right(measurable(expected, "expected")[0], max_position)
            if other is None:  # its heads are turned by frequencies of their own
                q, *k = adapted(rotate, head_dim, max_position)
                meant = adapted(expected, head_dim, max_position)[0]
                step = decode and adapted(as_a_step(decode), head_dim, max_position)[-1]
                said |= {"axes": axes, "layout": layout}
                said |= {"max_position": max_position, "timeout": timeout}
                return head_by_head(
                    lambda one: diagnose(
                        (one(q), *map(one, k)) if k else one(q),
                        head_dim=head_dim,
                        decode=step and one(step),
                        expected=one(meant),
                        device=device,
                        **said,
                    )
                )
        if again := made_again(probes[0].rotate, expected, other):
            probes = measurable(again, "rotate", probes[0].head_dim)
        expectation = Expectation.of(expected, inv_freq, attention_factor, layout, other, axes)
        expectation = expectation.beside_the_tables_of(probes[0].rotate)
        if decode is not None:
            head_dim = probes[0].head_dim
            *of_q, decode = measurable(as_a_step(decode), "decode")
            refuse_beside_made_tables(probes[0].rotate, decode.rotate)
            decode.name, decode.of_q = "decode", of_q[0] if of_q else None
        report = _examine(probes, decode, max_position, expectation)
        if "not-deterministic" in report.codes:
            again = partial(_examine, probes, decode, max_position, expectation)
            return judged_in_eval(probes, again) or report
        if report.codes == ("does-not-rotate",) and not count:
            return or_by_axes(report, probes[0])
        return as_its_form_asks(report, probes[0].rotate, guessed)
    except (Exit, Unmeasured) as error:
        report = Report(probes[0].head_dim, findings=(finding_of(error),))
        if count or isinstance(error, Exit):
            return report
        for hinted in (or_too_few_rows, or_by_axes, partial(or_otherwise, rotate=rotate)):
            if (other := hinted(report, probes[0])) is not report:
                return other
        return report


def _own_width(rotation: object) -> int:
    width = getattr(rotation, "head_dim", None)
    return width if isinstance(width, int) and 2 <= width <= MOST_DIMS else 64


def _measured_right(probe: Probe, max_position: int) -> Measured | None:
    """Measure what another rotation is compared with, if it is one; None if its heads differ."""
    report = _examine([probe], None, max_position, Expectation(still_axes=True))
    if report.codes == ("heads-differ",):
        return None
    one_head = getattr(probe.rotate, "is_one_head", False)  # one of several: no series by itself
    said = {"frequencies-multiplied"} if not one_head else SUSPECT  # which is what is expected
    if set(report.codes[:1]) & said:
        meant = Expectation(inv_freq=report.inv_freq)
        report = _examine([probe], None, max_position, meant)
    if not report.ok:
        raise ValueError(
            f"expected must be right itself to be compared with, got {report.codes[0]}: "
            f"{report.findings[0].sentence}"
        )
    return Measured(probe, max_position)


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
    width = _width_of_the_part(probes[0], max_position)
    if width is not None:
        parts = [with_width(probe, width) for probe in probes]
        decode = decode and with_width(decode, width)
        report = _examine(parts, decode, max_position, expectation)
        return replace(report, findings=(*report.findings, takes_the_part(width, probes[0])))
    for i, probe in enumerate(probes):
        finding = broken_call(probe)
        if finding is None:
            states = uncalled(probe.rotate)
            measured.append(Measured(probe, max_position, decode if probe is probes[-1] else None))
            measured[-1].uncalled = states
            reports.append(_report(measured[-1], expectation))
        else:
            reports.append(Report(probe.head_dim, findings=(_in_k(finding, probe),)))
        if reports[-1].codes in (("heads-differ",), ("rotates-by-head",)):
            found = reports[-1].findings[0]
            again = partial(_examine, max_position=max_position, expectation=expectation)
            if other := called_seq_first(probes[i:], decode, found, again):
                return other
        if finding is not None:
            return reports[-1]
    if len(reports) == 1:
        return reports[0]
    report = joint_report(reports, measured, expectation, _report)
    report = replace(report, findings=tuple(_not_feigned([*report.findings])))
    if report.ok and decode is not None and (finding := q_in_steps(*measured)):
        return replace(report, findings=(finding, *report.findings))
    return report


def _width_of_the_part(probe: Probe, max_position: int) -> int | None:
    """Return the width of the part that turns, where the rotation is made for that part alone."""
    for width in narrower_widths(probe):
        try:
            report = _examine([with_width(probe, width)], None, max_position, Expectation())
        except (TypeError, ValueError):
            continue
        if not set(report.codes) & SHAPELESS and not report.codes[:1] == ("tables-half-width",):
            return width
    return None


def _report(m: Measured, expectation: Expectation) -> Report:
    found = filter(None, (rule(m) for rule in CAUSES))
    finding = next((f for f in found if not expectation.excuses(f, m)), None)
    if finding and finding.code == "does-not-rotate" and expectation.nothing_turns(m):
        still = note("nothing-turns", "Nothing turns, as expected: a layer without positions.")
        return Report(m.head_dim, positions=m.limit, probed=len(m.far.positions), findings=(still,))
    if finding and finding.code in SUSPECT and expectation.inv_freq is None:
        meant = f"{finding.sentence} If that is meant, say so: inv_freq= or expected=."
        finding = replace(finding, sentence=meant)
    described = finding is None or finding.code not in SHAPELESS
    m.as_said = expectation.inv_freq is not None
    wrong = list(filter(None, [finding or expectation.mismatch(m)]))
    if finding is None:
        found = {f.code: f for f in reversed([rule(m) for rule in CALLS]) if f}
        wrong += _not_feigned(list(reversed(found.values())))
    if not wrong:
        later = (large_and_late, differs_in_a_crowd, surroundings, filled_in_its_dtype)
        later += (differs_at_places, unnamed)
        wrong += filter(None, [next(filter(None, (rule(m) for rule in later)), None)])
    if wrong and (change := unsteady(m, wrong)):  # what was found may be the chance of one call
        wrong, described = [not_repeated(change)], False
    notes = list(filter(None, (rule(m) for rule in NOTES))) if described and not wrong else []
    notes += expectation.notes(m) if described and not wrong else []
    findings = tuple(_in_k(f, m.probe) for f in (*wrong, *notes))
    if not described or not m.partner:
        probed = len(m.far.positions)
        return Report(m.head_dim, positions=m.limit, probed=probed, findings=findings)
    if finding and finding.code == "position-0-lost":
        m = m.without_position_0()
    told = {"attention_factor": _snap(float(m.scale.mean()))} if m.keeps_lengths else {}
    m = without(m, finding) if finding else m
    if m.is_proportional and not (finding and finding.code == "positions-bent"):
        told |= {"base": m.fit.base, "factor": m.fit.factor, "inv_freq": m.inv_freq}
        told |= {"direction": m.direction, "profile": _profile(m) + _of_which_call(m, finding)}
    return Report(
        head_dim=m.head_dim,
        layout=m.pairing.layout,
        rotary_dim=2 * m.pairing.width,
        axis_of_pairs=m.axes and m.axes.of_pairs,
        positions=int(m.far.positions[-1]) + 1,
        probed=len(m.far.positions),
        findings=findings,
        **told,
    )


def _not_feigned(found: list[Finding]) -> list[Finding]:
    """Return what is left where rows or heads are wrong, which looks like other bugs as well."""
    codes = {f.code for f in found}
    feigned = set().union(*(seen for causes, seen in FEIGNED if codes & causes))
    return [f for f in found if f.code not in feigned]


def _in_k(finding: Finding, probe: Probe) -> Finding:
    return replace(finding, where="k") if probe.name == "rotate of k" else finding


def _snap(value: float) -> float:
    return 1.0 if abs(value - 1) < 1e-6 else value


def _of_which_call(m: Measured, finding: Finding | None) -> str:
    """Say of what call frequencies are, where a shorter one, or an earlier one, has others."""
    if finding and finding.code == "frequencies-stay-grown":
        return ", after a long call"
    in_runs = m.obeys == "start" or getattr(m.probe.rotate, "runs_only", False)
    if in_runs or not turns_otherwise_when_short(m):
        return ""
    tokens, last = len(m.near.positions), int(m.near.positions[-1])
    return f", as in a call of {tokens} tokens up to position {last}"


def _profile(m: Measured) -> str:
    fit, speeds = m.fit, m.turning
    if fit.is_geometric:
        return _in_words(fit, m)
    if fit.jump is not None:
        slow = fit.factor * fit.jump
        return (
            f"not geometric: base {fit.base:.6g} at both ends, the fastest {fit.split[0]} pairs "
            f"divided by {fit.factor:.6g}, the slowest {fit.split[1]} by {slow:.6g}"
        )
    axes = {axis: _in_words(each, m) for axis, each in of_each_axis(m).items()}
    if axes:
        alike = len(set(axes.values())) == 1
        each = {"each axis": axes[min(axes)]} if alike else {f"axis {i}": axes[i] for i in axes}
        return "; ".join(f"{name}: {series}" for name, series in each.items())
    if m.num_pairs == 1:
        return f"one pair, {float(speeds[0]):.6g} rad/token"
    return f"not geometric: {float(speeds.min()):.6g} to {float(speeds.max()):.6g} rad/token"


def _in_words(fit: Fit, m: Measured) -> str:
    times = fit.factor if fit.factor > 1 else 1 / fit.factor
    how = "divided" if fit.factor > 1 else "multiplied"
    factor = "" if abs(fit.factor - 1) < 1e-5 else f", {how} by {times:.6g}"
    about = "about " if m.noise > 1e-4 else ""  # as coarse tables tell it
    return f"geometric with base {about}{fit.base:.6g}{factor}"
