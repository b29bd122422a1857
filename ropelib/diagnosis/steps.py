"""Rules about decoding: steps of one token and of a few, early and late, against one full pass."""

from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from ropelib.diagnosis.call_decides import (
    later_chunks_differ,
    of_the_long_call,
    scaled_in_the_prefill,
)
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.paths import otherwise
from ropelib.diagnosis.precision import lost_precision
from ropelib.diagnosis.probes import CallError, Probe, with_width
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.slots import tokens_exchanged
from ropelib.diagnosis.step_frequencies import of_other_frequencies
from ropelib.diagnosis.tensors import SAME, gap, random
from ropelib.rotation import convert_layout

_ALONE = range(8, 16)  # a prompt of eight, eight single tokens,
_TOGETHER = (range(16, 18), range(18, 21))  # and steps that guess ahead
_LATE = 4  # powers of two before which, and at which, a token comes alone
_ROUNDED = 2.0**-5  # of the largest entry: what tables and sums in bfloat16 leave


def cached(m: Measured) -> Finding | None:
    """One sequence in chunks must equal one full pass."""
    step = m.decode or m.probe
    length = m.limit
    x, full = random(1, 2, 1, m.head_dim).expand(1, 2, length, m.head_dim), m.full
    # A prompt, short steps, and the rest at once, for what depends on the length.
    ends = _ends(length)
    chunks = [step(x[:, :, a:b], torch.arange(a, b)) for a, b in pairwise(ends)]
    last = _last_token(step, x[:, :, -1:], length - 1)
    if gap(last, last[:1]) > SAME:
        return _one_token_rows(last - last[:1], last[1:])
    together = torch.cat((*chunks, last[:1]), dim=2)
    differs = (together - full).abs().amax(dim=(0, 1, 3)) > SAME
    if not differs.any():
        return _decoded_elsewhere(m, step)
    if m.depends_on_length:
        return _of_another_length(m, together, full)
    if m.decode is None and _as_many_as_heads(m, differs):
        return None  # another rule says so
    return (
        tokens_exchanged(m, length)
        or of_the_long_call(m, together, ends)
        or _named(m, ends, together, full, differs)
        or _wrong_by_itself(m, gap(together, full))
        or _named_by_chunk(ends, together, full, differs)
    )


def _wrong_by_itself(m: Measured, difference: float) -> Finding | None:
    """Say what is wrong with angles of a function for decoding, asked as if it were the whole."""
    if m.decode is None:
        return None
    x, ids = random(1, 2, 1, m.head_dim), m.known[5:6]
    try:
        if gap(m.decode(x, ids), m.decode(x, ids)) > SAME:  # it counts for itself
            return None
        alone = Measured(m.decode, m.limit)
        found = lost_precision(alone) if alone.partner else None
    except ValueError:  # it takes single tokens alone, or counts for itself
        return None
    if found is None or found.code == "angles-drift":
        return None
    return wrong(
        "decode-differs",
        f"A step is wrong by itself: {found.sentence}",
        f"{found.cause}; diagnosed alone, the function for steps is {found.code}",
        since=found.since,
        largest_difference=difference,
    )


def _as_many_as_heads(m: Measured, differs: Tensor) -> bool:
    """Whether two tokens are wrong in two heads alone."""
    two = torch.tensor(list(_TOGETHER[0]))
    x = random(1, 3, 2, m.head_dim)
    wrongly = differs.nonzero().flatten()
    return torch.equal(wrongly, two) and not m.differs(m.probe(x, two), x, two).any()


def _ends(length: int) -> list[int]:
    """Return where chunks of a sequence begin, and where the last but one token ends."""
    powers = [2**k for k in range(5, length.bit_length()) if 2**k < length - 3][-_LATE:]
    late = {end for power in powers for end in (power - 1, power, power + 1)}
    ends = {0, *_ALONE, *(steps.start for steps in _TOGETHER), _TOGETHER[-1].stop, *late}
    return sorted({end for end in ends if end < length - 2} | {length - 2, length - 1})


def _of_another_length(m: Measured, together: Tensor, full: Tensor) -> Finding | None:
    """Frequencies change with the length: of those cached before, or with that of the call."""
    if m.decode is None and m.obeys == "start":
        return None  # what counts from an offset may be for whole texts: a note says so
    if gap(together[:, :, -1:], full[:, :, -1:]) > SAME:
        difference = gap(together[:, :, -1:], full[:, :, -1:])
        return scaled_in_the_prefill(difference, full.shape[2] - 1)
    if m.decode is None:
        return None  # a note says so
    return wrong(
        "cached-keys-keep-old-frequencies",
        "Frequencies change with the length of the sequence, and what was cached before keeps "
        "the old ones: its scores are those of another distance.",
        "dynamic NTK or LongRoPE with keys cached after the rotation; cache them before it, or "
        "fix the length",
        since=0,
        largest_difference=gap(together, full),
    )


def _named(
    m: Measured, ends: list[int], together: Tensor, full: Tensor, differs: Tensor
) -> Finding | None:
    """What single tokens after a prompt of eight tell; of where they restart, late ones too."""
    since = int(differs.nonzero()[0])
    steps = together[0, 0, _ALONE.start : _ALONE.stop]
    alone = together[0, 0, [a for a, b in pairwise((*ends, len(differs))) if b - a == 1]]
    x = random(1, 2, 1, m.head_dim).expand(1, 2, min(32, m.limit), -1)
    line = m.probe(x, range(x.shape[2]))[0, 0]
    evidence = {"largest difference": gap(together, full)}
    unturned = gap(alone, x[0, 0, :1]) < SAME
    if gap(alone, line[:1]) < SAME:
        cause = "positions made by arange over the tokens of the step, without the length of the "
        cause += "cache" + "; or a step that is not rotated at all" * unturned
        return Finding(
            "decode-restarts-at-zero",
            "wrong",
            "A token that comes alone is turned as if it stood at position 0.",
            evidence,
            cause,
            since,
        )
    if unturned:
        sentence = "A token that comes alone is not turned at all."
        cause = "a step that is cached as it is, or a branch for one token that returns x"
        return Finding("decode-differs", "wrong", sentence, evidence, cause, since)
    whole = full[0, 0, _ALONE.start : _ALONE.stop][: len(steps)]
    if gap(steps, whole) < SAME:  # these are right, and others wrong
        return None
    longer = float((steps * whole).sum() / whole.square().sum())
    if abs(longer - 1) > 1e-3 and gap(steps, longer * whole) < SAME:
        sentence = f"A token that comes alone is {longer:.4g} times as long as in one pass, and "
        sentence += "turned alike."
        cause = "the attention factor (mscale) left out of one of the two, or taken twice"
        return Finding("decode-differs", "wrong", sentence, evidence, cause, since)
    for shift in (-8, -1, 1):
        as_if = line[8 + shift : 16 + shift]  # fewer where few positions are taken
        if gap(steps[: len(as_if)], as_if[: len(steps)]) < SAME:
            code = "decode-off-by-one" if abs(shift) == 1 else "decode-forgets-the-prompt"
            cause = "the length of the prompt not added"
            if abs(shift) == 1:
                cause = "the length of the cache taken before, or after, the token is in it"
            return Finding(
                code,
                "wrong",
                f"A token that comes alone is turned as if it stood {shift:+d} from where it does.",
                {"shift": shift, **evidence},
                cause,
                since,
            )
    return _moved(m, x, steps, full[0, 0], evidence, since) or _turned_in_another_way(
        m, x, steps, evidence, since
    )


def _moved(
    m: Measured, x: Tensor, steps: Tensor, line: Tensor, evidence: dict[str, object], since: int
) -> Finding | None:
    """Name steps that are turned by twice their positions, or all by as many more or less."""
    once = m.probe(x[:, :, : len(steps)], torch.arange(_ALONE.start, _ALONE.start + len(steps)))
    again = m.probe(once, torch.arange(_ALONE.start, _ALONE.start + len(steps)))[0, 0]
    by_twice = line[2 * _ALONE.start : 2 * _ALONE.stop : 2]
    said = ""
    doubled = len(by_twice) > 1 and gap(steps[: len(by_twice)], by_twice) < SAME
    if doubled or gap(steps, again) < SAME:
        said, cause = "by twice its position", "keys that are rotated again"
    alike = (line[: 1 - len(steps)] - steps[0]).abs().amax(-1) < SAME
    for first in alike.nonzero().flatten().tolist():
        if (
            not said
            and first != _ALONE.start
            and gap(steps, line[first : first + len(steps)]) < SAME
        ):
            evidence = {"shift": first - _ALONE.start, **evidence}
            said = f"as if it stood {first - _ALONE.start:+d} from where it does"
            cause = "positions from another number than the length of the cache, as with padding,"
    if not said:
        return None
    sentence = f"A token that comes alone is turned {said}."
    cause = f"{cause} in the path for one token"
    return Finding("decode-differs", "wrong", sentence, evidence, cause, since)


def _turned_in_another_way(
    m: Measured, x: Tensor, steps: Tensor, evidence: dict[str, object], since: int
) -> Finding | None:
    """Name steps in the other layout, or in the other direction, by positions that are measured."""
    ids = m.near.positions
    ids = ids[(ids >= _ALONE.start) & (ids < _ALONE.stop)]
    if m.permutation is not None or not len(ids):
        return None
    x, found = x[:, :, :1].expand(-1, -1, len(ids), -1), steps[ids - _ALONE.start]
    layout, part = m.pairing.layout, slice(m.pairing.offset, m.pairing.offset + 2 * m.pairing.width)
    turned_back = m.near.applied(x, ids, back=True)
    ways = [("the other way round, by the same angle", "sine with the other sign", turned_back)]
    if layout:
        other = "half" if layout == "interleaved" else "interleaved"
        moved, turned = x.clone(), x.double().clone()
        moved[..., part] = convert_layout(x[..., part], source=other, target=layout)
        turned[..., part] = convert_layout(
            m.applied(moved, ids)[..., part], source=layout, target=other
        )
        words = f"in the {other} layout, and in one pass in the {layout} one"
        ways.append((words, "is_neox_style, interleaved= or another pairing", turned))
    for how, cause, turned in ways:
        if gap(found, turned[0, 0]) < SAME:
            return Finding(
                "decode-differs",
                "wrong",
                f"A token that comes alone is turned {how}.",
                evidence,
                f"{cause} in the path for one token",
                since,
            )
    said, cause = of_other_frequencies(m, x[0, 0, 0], steps, _ALONE.start)
    sentence = f"A token that comes alone is turned {said}."
    return Finding("decode-differs", "wrong", sentence, evidence, cause, since) if said else None


def _named_by_chunk(ends: list[int], together: Tensor, full: Tensor, differs: Tensor) -> Finding:
    """Which of the chunks are wrong: those of a few tokens, or those that come alone late."""
    wrongly = set(differs.nonzero().flatten().tolist())
    evidence = {"since": min(wrongly), "largest_difference": gap(together, full)}
    sizes = {(a, b): b - a for a, b in pairwise((*ends, len(differs)))}
    few = {i for (a, b), size in sizes.items() if 1 < size < 5 for i in range(a, b)}
    if wrongly <= few:
        return wrong(
            "short-steps-wrong",
            "A step of two or three tokens, as one that guesses ahead has it, is turned otherwise "
            "than the same tokens in one pass; steps of one token are right.",
            "a path for short calls that takes all tokens to stand at the first's position",
            **evidence,
        )
    several = [(a, b) for a, b in sizes if a and b - a > 1]
    inside = [wrongly & set(range(a, b)) for a, b in several]
    if all(inside) and wrongly == set().union(*inside):
        begin, end = several[0]
        return later_chunks_differ(end - begin, begin, gap(together, full))
    late = {a for (a, b), size in sizes.items() if size == 1 and a >= _ALONE.stop}
    if wrongly <= late:
        for kind, whole in ((torch.bfloat16, 256), (torch.float16, 2048)):
            ids = torch.tensor(sorted(late))
            rounded = ids.to(kind).long()
            known = rounded < len(differs)
            if gap(together[0, 0, ids[known]], full[0, 0, rounded[known]]) < SAME:
                return wrong(
                    "late-steps-wrong",
                    "A token that comes alone late in a sequence is turned as its position is in "
                    f"{str(kind)[6:]}, which is rounded from {whole + 1} on.",
                    f"position_ids in {str(kind)[6:]} in the path for one token",
                    **evidence,
                )
        return wrong(
            "late-steps-wrong",
            "A token that comes alone late in a sequence is turned otherwise than in one pass; "
            "those that come early are right.",
            "a path for one token that counts within blocks of the cache, or a table of its own "
            "that ends or is made longer otherwise",
            **evidence,
        )
    return wrong(
        "decode-differs",
        "A sequence in chunks is turned otherwise than in one pass.",
        "positions or tables of a step that are not those of the full pass",
        **evidence,
    )


def _decoded_elsewhere(m: Measured, step: Probe) -> Finding | None:
    """Other steps of a function for decoding that follows position_ids and counts nothing."""
    if m.decode is None or m.depends_on_length or m.obeys != "all":
        return None  # `crowded.py` asks for these, or nothing can be compared
    x = random(1, 2, 1, m.head_dim)
    if _refused_or_wrong(m, step, x, m.known[5:6]):
        return None  # it counts for itself, and stands at the end by now
    far = m.known[-1:]
    for rows in (m.known[[5, 0, 8]][:, None], m.known[-2:][:, None], m.known[[3, -1]][:, None]):
        x = random(len(rows), 2, 1, m.head_dim)
        try:
            found = step(x, rows)
        except CallError:  # rows of a batch share their positions
            break
        if m.differs(found, x, rows).any():
            by_first = not m.differs(found, x, rows[:1]).any()
            return _one_token_rows(found - m.applied(x, rows), found[1:], by_first)
    # A step of two stands at neighbors: code that is told where it begins counts on from there.
    first = int((m.known.diff() == 1).nonzero()[-1])
    two = m.known[first : first + 2]
    for name, ids in {"one token": m.known[5:6], "a late token": far, "two": two}.items():
        x = random(1, 2, len(ids), m.head_dim).bfloat16()
        try:
            low = step(x, ids).double()
        except (TypeError, CallError):
            break
        exact = m.applied(x, ids)
        if gap(low, exact) > _ROUNDED * float(exact.abs().max()):
            return otherwise("bfloat16", f"steps of decoding, {name}", gap(low, exact))
    return None


def _refused_or_wrong(m: Measured, step: Probe, x: Tensor, ids: Tensor) -> bool:
    try:
        return bool(m.differs(step(x, ids), x, ids).any())
    except CallError:
        return True


def q_in_steps(of_q: Measured, of_k: Measured) -> Finding | None:
    """What decodes q and k, where it follows position_ids for k and so counts nothing."""
    step = of_k.decode
    if getattr(step, "of_q", None) is None or of_q.depends_on_length or of_q.obeys != "all":
        return None
    beside = with_width(step.of_q, of_q.head_dim)
    x = random(1, 2, 1, of_q.head_dim)
    for ids in (of_q.known[5:6], of_q.known[-1:]):
        if _refused_or_wrong(of_k, step, x, ids):
            return None
        found = beside(x, ids)
        if not of_q.differs(found, x, ids).any():
            continue
        for shift in (-1, 1):
            if int(ids) == 5 and not of_q.differs(found, x, ids + shift).any():
                return wrong(
                    "decode-off-by-one",
                    f"q that comes alone is turned as if it stood {shift:+d} from where it does, "
                    "and k beside it is right.",
                    "the length of the cache taken before, or after, the token is in it",
                    shift=shift,
                )
        return _q_alone(of_q, beside) or wrong(
            "decode-differs",
            f"q that comes alone at position {int(ids)} is turned otherwise than in one pass, and "
            "k beside it is right.",
            "positions or tables of a step that are not those of the full pass",
            since=int(ids),
            largest_difference=gap(found, of_q.applied(x, ids)),
        )
    return None


def _q_alone(of_q: Measured, beside: Probe) -> Finding | None:
    """Name steps of q by their own numbers, as those of k are named."""
    x = random(1, 2, 1, of_q.head_dim)
    try:
        steps = torch.cat([beside(x, [position])[0, 0] for position in _ALONE])
    except CallError:
        return None
    line, x = of_q.full[0, 0], x.expand(-1, -1, len(steps), -1)
    difference = gap(steps, line[_ALONE.start : _ALONE.stop])
    if difference < SAME:
        return None
    evidence = {"largest difference": difference}
    named = _moved(of_q, x, steps, line, evidence, _ALONE.start) or _turned_in_another_way(
        of_q, x, steps, evidence, _ALONE.start
    )
    if named is None:
        return None
    said = named.sentence.removeprefix("A token").removesuffix(".")
    return replace(named, sentence=f"q{said}, and k beside it is right.")


def one_token_of_each(m: Measured) -> Finding | None:
    """Rows of one token, each at its own position, as a batch of texts is decoded."""
    x, ids = random(3, 2, 1, m.head_dim), torch.tensor([[5], [0], [7]])
    try:
        together = m.probe(x, ids)
    except CallError as error:
        return _grown(m, error)  # what raises is clear enough: a note says so
    apart = torch.cat([m.probe(x[b : b + 1], ids[b]) for b in range(3)])
    if gap(together, apart) < SAME:
        return None
    first = torch.cat([m.probe(x[b : b + 1], ids[0]) for b in range(3)])
    by_first = gap(together, first) < SAME
    if not by_first and not m.differs(together, x, ids + 1).any():
        return wrong(
            "one-token-rows-wrong",
            "In a batch of single tokens, as each step of decoding has it, each is turned as if it "
            "stood one place later.",
            "the length of the cache, with the token in it, taken for its position in that path",
            largest_difference=gap(together, apart),
        )
    return _one_token_rows(together - apart, together[1:], by_first)


def _grown(m: Measured, error: CallError) -> Finding | None:
    """Return the finding that single tokens in rows, and no longer rows, get another shape."""
    if error.code != "shape-not-kept":
        return None
    try:
        m.probe(random(3, 2, 5, m.head_dim), torch.arange(5).expand(3, -1))
    except CallError:  # rows are refused, or all come back so: another note
        return None
    return wrong(
        "one-token-rows-wrong",
        "A batch of single tokens, as each step of decoding has it, comes back in another shape, "
        f"and rows of five tokens do not: {error}.",
        "squeeze() on position_ids or tables, which takes away the axis of one token as well",
    )


def _last_token(step: Probe, x: Tensor, position: int) -> Tensor:
    """Rotate a token that comes alone, in as many rows of a batch as are taken."""
    try:
        return step(x.expand(3, -1, -1, -1), [position])
    except CallError:  # a cache for one row
        return step(x, [position])


def _one_token_rows(errors: Tensor, others: Tensor, by_first: bool = False) -> Finding:
    """Return the finding on rows of one token each, by what is wrong and what others are."""
    what = "stay zero" if float(others.abs().max()) < SAME else "come out otherwise than alone"
    cause = "a kernel that takes the number of tokens for that of rows, or a fast path for one "
    cause += "token that forgets the batch"
    if by_first:
        what = "are all turned by the position of the first"
        cause = "position_ids[0], or the first of all position_ids, in the path for one token"
    return wrong(
        "one-token-rows-wrong",
        f"In a batch of single tokens, as each step of decoding has it, rows {what}.",
        cause,
        wrong_rows=int((errors.abs().amax(dim=(1, 2, 3)) > SAME).sum()),
        largest_difference=float(errors.abs().max()),
        largest_entry_of_other_rows=float(others.abs().max()),
    )
