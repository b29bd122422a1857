"""The rule on crowded calls: where one differs, each condition alone, to name the one at fault."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ropelib.diagnosis.crowded import (
    AGAIN,
    TWO,
    Oracle,
    Outcome,
    Way,
    compared,
    oracle_of,
    outcomes,
    tried,
)
from ropelib.diagnosis.kept import BY_THE_FIRST_ROW, BY_THE_LAST_TOKEN, grown_by
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.paths import otherwise
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.round_sizes import FILLS_BLOCKS, round_sizes
from ropelib.diagnosis.training import differs_in_training

_READ_AS_INT64 = "a kernel that reads them as int64 without a look at their dtype; convert them"


def differs_in_a_crowd(m: Measured) -> Finding | None:
    """Random vectors, in many rows, heads, tokens and orders at once, as they were one by one."""
    oracle = oracle_of(m)
    if oracle is None:
        return None
    return (
        _grown_by_an_end(m, oracle)
        or _in_float32(m, oracle)
        or _in_bfloat16(m, oracle)
        or round_sizes(m)
        or differs_in_training(m, oracle)
    )


def _grown_by_an_end(m: Measured, oracle: Oracle) -> Finding | None:
    """What the first call with a far position gave, neither in the first row nor at its end."""
    if m.early is None or oracle.by_runs:
        return None
    x, ids, early = m.early
    outcome = compared(early, oracle.curves.applied(x, ids), Way(ids, 2, 3), m.noise > 1e-5)
    again = tried(m, oracle, Way(ids, 2, 3)) if outcome.is_wrong else None
    if again and not again.is_wrong:  # else it is not the order of calls
        return grown_by(m, early, x, ids, outcome.error)
    return None


@dataclass
class _Guess:
    """What is tried alone, and what is said if that is at fault."""

    code: str
    way: Way
    sentence: str
    cause: str
    beside: tuple[Way, ...] = ()  # without what is said: where these are wrong too, it is not that


def _in_float32(m: Measured, oracle: Oracle) -> Finding | None:
    crowds = {name: found for name, found in outcomes(m).items() if found and found.is_wrong}
    if not crowds:
        return None
    name, worst = max(crowds.items(), key=lambda item: item[1].error)
    guesses = [] if oracle.by_runs else _guesses(m, oracle)
    for guess in (*guesses, *_many_tokens(m, oracle)):
        outcome = tried(m, oracle, guess.way)
        if outcome is None or not outcome.is_wrong:
            continue
        if not any(found and found.is_wrong for found in _beside(m, oracle, guess)):
            return wrong(
                guess.code,
                guess.sentence,
                guess.cause,
                largest_difference=outcome.error,
                **_size(outcome.way),
            )
    return wrong(
        "crowded-call-differs",
        "Random vectors in one call are turned otherwise than one by one, and none of the "
        f"conditions tried does that alone ({name}).",
        "a path that is taken by large calls, or by two conditions at once; compare its result "
        "with that of parts of the call",
        largest_difference=worst.error,
        **_size(worst.way),
    )


def _beside(m: Measured, oracle: Oracle, guess: _Guess) -> Iterator[Outcome | None]:
    return (tried(m, oracle, way) for way in guess.beside)


def _size(way: Way) -> dict[str, object]:
    return {"rows": way.rows, "heads": way.heads, "tokens": way.ids.shape[-1]}


def _guesses(m: Measured, oracle: Oracle) -> Iterator[_Guess]:
    yield from _positions(oracle)
    yield from _shapes(oracle)
    yield from _rows(oracle)
    yield from _as_many_tokens_as_columns(m, oracle)
    yield from _memory(oracle)
    yield from _narrow(oracle)
    yield from _few_tokens(oracle)


def _positions(oracle: Oracle) -> Iterator[_Guess]:
    all_of, far = oracle.positions, oracle.positions[-4:]
    yield _Guess(
        "tables-of-an-earlier-call",
        Way(AGAIN, 2, 3),
        "Rows are turned by the positions of an earlier call that had as many rows and tokens.",
        "tables kept by the shape of position_ids; keep them by their values, or not at all",
        # Of that many tokens in other rows nothing can be kept.
        (Way(oracle.some(2, 7, below=9), 2, 3), Way(oracle.some(5, 4, below=9), 5, 3)),
    )
    yield _Guess(
        "table-grown-by-the-last-token",
        Way(torch.cat((far, torch.tensor([3, 4, 5])))),
        "Where a call ends with a near position, far ones before it are turned as others.",
        BY_THE_LAST_TOKEN,
        (Way(torch.cat((torch.tensor([3, 4, 5]), far))),),
    )
    yield _mixed(all_of)
    yield _Guess(
        "order-of-positions-ignored",
        Way(all_of[torch.randperm(len(all_of), generator=torch.Generator().manual_seed(2))]),
        "Where positions of a call do not rise, tokens are turned by those of others.",
        "position_ids that are sorted, or taken to rise; look tables up by them as they are",
        (Way(all_of),),
    )
    yield _Guess(
        "repeated-positions-moved",
        Way(all_of[-6:].repeat_interleave(2)),
        "Where two tokens of a call share a position, as those of a tree of drafts do, they are "
        "not turned alike.",
        "positions made unique, or read as their order; look tables up by position_ids",
        (Way(all_of[-12:]),),
    )
    yield _Guess(
        "packed-rows-wrong",
        Way(torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3], [0, 1, 0, 1, 2, 3, 4, 5]]), 2),
        "Where a row of a batch holds several documents, each counted from 0, later ones are "
        "turned otherwise than alone.",
        "positions of a row counted on from its first",
        (Way(torch.stack((torch.arange(8), torch.arange(8))), 2),),
    )


def _shapes(oracle: Oracle) -> Iterator[_Guess]:
    near = oracle.some(1, 7, below=9)
    for rows in (1, 2):
        yield _Guess(
            "row-of-one-ignored",
            Way(near, rows),
            "position_ids of shape (1, seq_len), as most models hand them on, are not followed"
            + (" where the batch has more rows." if rows > 1 else "."),
            "a path for one row that counts tokens, or an axis of rows that is not broadcast",
            (Way(near[0], rows),),
        )
    yield _Guess(
        "batch-taken-for-tokens",
        Way(oracle.some(6, 6, below=9), 6),
        "Where a batch has as many rows as tokens, rows are taken for tokens.",
        "position_ids that are transposed by their shape; say which axis is which",
        (Way(oracle.some(6, 7, below=9), 6),),
    )


def _rows(oracle: Oracle) -> Iterator[_Guess]:
    for tokens in (4, 5):
        yield _Guess(
            "batch-rows-mixed",
            Way(torch.stack((torch.arange(tokens), torch.arange(tokens) + 3)), 2),
            f"A row of {tokens} tokens is turned otherwise in a batch than alone.",
            "a kernel for blocks of tokens whose last one is cut short in each row but the first",
        )
    near = oracle.some(7, below=9).sort()[0]
    first = torch.stack((oracle.positions[-7:], near))
    yield _Guess(
        "far-rows-wrong",
        Way(first, 2),
        "With position_ids of shape (batch, seq_len) far positions are turned otherwise than with "
        "(seq_len,).",
        "a path for rows that rounds positions to the dtype of x, or clamps them to a table that "
        "ends",
        (Way(torch.stack((near, near)), 2),),
    )
    yield _Guess(
        "table-grown-by-the-first-row",
        Way(first.flip(0), 2),
        "A far position in the second row is turned as another, where the first row has none.",
        BY_THE_FIRST_ROW,
        (Way(torch.stack((near, near)), 2),),
    )
    yield _Guess(
        "heads-mixed",
        Way(oracle.some(2, 5, below=9), 2, 9),
        "In a batch of several rows nine heads come out otherwise than two.",
        "a kernel for blocks of heads, or an index of rows and heads that is split at a fixed "
        "number",
        (Way(oracle.some(2, 5, below=9), 2),),
    )
    for rows in (11, 70):
        yield _Guess(
            "many-rows-wrong",
            Way(oracle.some(rows, 5, below=9), rows, 5),
            f"In a batch of {rows} rows some are turned otherwise than in a small one.",
            "a kernel launched over a fixed number of rows, or an index of rows that wraps around",
            (Way(oracle.some(3, 5, below=9), 3, 5),),
        )


def _as_many_tokens_as_columns(m: Measured, oracle: Oracle) -> Iterator[_Guess]:
    for rows, tokens in ((1, m.num_pairs), (2, m.num_pairs), (1, m.head_dim)):
        ids = oracle.some(tokens) if rows == 1 else oracle.some(rows, tokens)
        near = tuple(Way(torch.cat(part, -1), rows) for part in _one_less_and_one_more(ids))
        longer = (n for n in (3 * tokens // 2, 3 * tokens) if n <= m.limit)
        yield _Guess(
            "square-tables-transposed",
            Way(ids, rows),
            f"{tokens} tokens are turned otherwise than fewer or more: as many as cos and sin have "
            "columns.",
            "tables whose axes are told by their lengths, and exchanged where these are equal",
            (*near, *(Way(oracle.some(n), 1) for n in longer)),
        )
        yield _Guess(
            "round-sizes-wrong",
            Way(ids, rows),
            f"{tokens} tokens in a call are turned otherwise than one less or one more, and so are "
            "other round numbers of them.",
            FILLS_BLOCKS,
            near,
        )


def _one_less_and_one_more(ids: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """The same first and last position, and another number between."""
    return (ids[..., :-2], ids[..., -1:]), (ids[..., :1], ids)


def _memory(oracle: Oracle) -> Iterator[_Guess]:
    near = oracle.some(7, below=9)
    both = torch.stack((near, near.flip(0)))
    yield _Guess(
        "strided-ids-misread",
        Way(both, 2, scattered=True),
        "position_ids that are no contiguous memory, a slice or a transposed table, are read as if "
        "they were.",
        "a kernel that counts addresses itself; hand it the strides, or call contiguous()",
        (Way(both, 2),),
    )
    for ids in (near, both):
        rows = 1 if ids.dim() == 1 else 2
        yield _Guess(
            "strides-ignored",
            Way(ids, rows, 5, transposed=True),
            "The same values in another order of memory give another result: x is read as if it "
            "were contiguous.",
            "a kernel that counts addresses itself; hand it the strides, or call x.contiguous()",
            (Way(ids, rows, 5),),
        )


def _narrow(oracle: Oracle) -> Iterator[_Guess]:
    singles = oracle.positions[:, None]
    for ids, what in ((oracle.some(3, 7, below=9), "rows"), (singles, "rows of single tokens")):
        yield _Guess(
            "int32-positions-misread",
            Way(ids, len(ids), narrow=True),
            f"In {what} position_ids of int32 are followed otherwise than those of int64.",
            _READ_AS_INT64,
            (Way(ids, len(ids)),),
        )


def _few_tokens(oracle: Oracle) -> Iterator[_Guess]:
    powers = oracle.positions[(oracle.positions & (oracle.positions - 1)) == 0]
    for position in powers[-1:].tolist():
        yield _Guess(
            "decode-differs",
            Way(torch.tensor([position])),
            f"A single token at position {position} is turned otherwise than beside others.",
            "a path for one token that counts within blocks of the cache, of 16 positions or more",
        )
    for way in (Way(oracle.positions[-2:]), Way(oracle.some(3, 2), 3), Way(oracle.some(2, 3), 2)):
        many = "" if way.rows == 1 else f" in each of {way.rows} rows"
        yield _Guess(
            "short-steps-wrong",
            way,
            f"{way.ids.shape[-1]} tokens in a call{many}, as a step that guesses ahead has them, "
            "are turned otherwise than beside others.",
            "a path for short calls that takes all tokens to stand at the first's position",
            (Way(oracle.some(way.rows, 7), way.rows),) if way.rows > 1 else (),
        )
    yield _Guess(
        "one-token-rows-wrong",
        Way(TWO, 2, 3),
        "In a batch of two single tokens one comes out otherwise than alone.",
        "a fast path for one token that forgets the batch",
    )
    yield _Guess(
        "one-token-rows-wrong",
        Way(oracle.positions[:, None], len(oracle.positions)),
        "In a batch of single tokens, at near and far positions, some come out otherwise than "
        "alone.",
        "a fast path for one token that restarts, rounds or clamps positions",
    )


def _many_tokens(m: Measured, oracle: Oracle) -> Iterator[_Guess]:
    if oracle.by_runs:
        long = (oracle.positions,)
    else:
        long = [oracle.some(min(count, m.limit)).sort()[0] for count in (300, 2100)]
    for ids in long:
        yield _mixed(ids)


def _mixed(ids: Tensor) -> _Guess:
    return _Guess(
        "tokens-mixed",
        Way(ids, heads=1),
        f"In a call of {len(ids)} tokens some come out as others should: where all have one "
        "vector all are right.",
        "a tile that is read one token off, or an order of tokens (context parallelism, zigzag) "
        "that is not undone",
        (Way(ids, heads=1, alike=True),),
    )


def _in_bfloat16(m: Measured, oracle: Oracle) -> Finding | None:
    crowds = {
        name: found for name, found in outcomes(m, "bfloat16").items() if found and found.is_wrong
    }
    if not crowds:
        return None
    low = torch.bfloat16
    if not oracle.by_runs:
        near, far = oracle.some(7, below=9), oracle.positions[-7:]
        for ids in (near, torch.stack((near, near.flip(0)))):
            rows = 1 if ids.dim() == 1 else 2
            plain, across = (
                tried(m, oracle, Way(ids, rows, 5, low, transposed)) for transposed in (False, True)
            )
            if plain and across and across.is_wrong and not plain.is_wrong:
                return wrong(
                    "strides-ignored",
                    "bfloat16 values in another order of memory give another result: x is read as "
                    "if it were contiguous, which float32 is not.",
                    "a kernel for half precision that counts addresses itself; hand it the strides",
                    largest_difference=across.error,
                )
        conditions = {
            "single tokens at far positions": Way(oracle.positions[:, None], len(oracle.positions)),
            "far positions, of shape (batch, seq_len)": Way(torch.stack((far, near)), 2),
            "nine heads": Way(near, heads=9),
            "rows of nine heads": Way(oracle.some(2, 5, below=9), 2, 9),
            "more tokens than a few": Way(oracle.some(min(37, m.limit))),
            "a single token": Way(far[-1:]),
            "a step of two tokens": Way(far[-2:]),
            "many heads": Way(oracle.some(5), heads=71),
            "many tokens": Way(oracle.some(min(300, m.limit)), heads=1),
        }
        singles = replace(conditions["single tokens at far positions"], dtype=low)
        wide, narrow = (tried(m, oracle, replace(singles, narrow=n)) for n in (False, True))
        if wide and narrow and narrow.is_wrong and not wide.is_wrong:
            return wrong(
                "int32-positions-misread",
                "With vectors of bfloat16, in rows of single tokens, position_ids of int32 are "
                "followed otherwise than those of int64.",
                _READ_AS_INT64,
                largest_difference=narrow.error,
            )
        for name, way in conditions.items():
            half = replace(way, dtype=low)
            if (outcome := tried(m, oracle, half)) and outcome.is_wrong:
                return otherwise("bfloat16", name, outcome.error)
    name, worst = max(crowds.items(), key=lambda item: item[1].error)
    return otherwise("bfloat16", f"many at once, {name}", worst.error)
