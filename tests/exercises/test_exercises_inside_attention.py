"""The exercises inside attention: right in any form, each misconception its hint."""

import numpy as np
import torch
from answers import accepted, hinted

from ropelib.attention import attend
from ropelib.encodings import NoPosition


def positions(mask):
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def by_loop(mask):
    rows = []
    for row in mask.tolist():
        rows.append([max(sum(row[: i + 1]) - 1, 0) for i in range(len(row))])
    return torch.tensor(rows)


def step(offset=0, *, keep=True, turn_values=False, turn_all=False, turn=True, query=True):
    def one_new_word(q, k, v, keys, values, rotary):
        at = keys.shape[-2] + offset
        q_t, k_t = rotary(q, k, offset=at) if turn else (q, k)
        if not query:
            q_t = q
        if not keep:
            return attend(NoPosition(), q_t, keys, values)[0], keys, values
        if turn_values:
            v = rotary(v, v, offset=at)[0]
        if turn_all:
            keys = rotary(keys, keys)[0]
        keys, values = torch.cat([keys, k_t], -2), torch.cat([values, v], -2)
        return attend(NoPosition(), q_t, keys, values)[0], keys, values

    return one_new_word


def mask(owner):
    same = owner[:, None] == owner[None, :]
    return same & torch.ones_like(same).tril()


def same_text(owner):
    return owner[:, None] == owner[None, :]


def past(owner):
    return torch.ones(len(owner), len(owner), dtype=torch.bool).tril()


RIGHT = [
    ("turn the output back", (-2, 1)),
    ("turn the output back", np.array([-2.0, 1.0])),
    ("partly turned", (6, 3)),
    ("partly turned", torch.tensor([6.0, 3.0])),
    ("which projections", {"A", "C", "E"}),
    ("which projections", ["e", "a", "c"]),
    ("which projections", "ACE"),
    ("padded positions", positions),
    ("padded positions", by_loop),
    ("padded positions", lambda mask: (mask.cumsum(-1) - 1).masked_fill(~mask, 1)),
    ("one new word", step()),
    ("packed mask", mask),
    ("count the operations", 7_680_000),
    ("count the operations", 7.68e6),
]
WRONG = [
    ("turn the output back", (2, 1), "left alone"),
    ("turn the output back", (2, -1), "not turned back"),
    ("turn the output back", (-4, 2), "half"),
    *(
        ("turn the output back", one_wrong, "wrong distance")
        for one_wrong in ((0, 3), (0, -1), (-1, 0), (-3, 0), (-2, -1))
    ),
    ("turn the output back", (2, 0), "n - m"),
    ("turn the output back", (9, 9), "n - m"),
    ("partly turned", (7, 3), "without any turn"),
    ("partly turned", (0, 3), "clockwise"),
    ("partly turned", (3, 3), "one of the two parts"),
    ("partly turned", (6, 6), "score is right"),
    ("partly turned", (5, 3), "sum over four"),
    ("which projections", {"A", "C", "D", "E"}, "mirror"),
    ("which projections", {"A", "B"}, "stretches one axis"),
    ("which projections", {"A", "C"}, "another one"),
    ("which projections", {"F"}, "A to E"),
    ("padded positions", lambda mask: mask.long().cumsum(-1), "count from 0"),
    ("padded positions", lambda mask: mask.long().cumsum(-1) - 1, "negative"),
    ("padded positions", lambda mask: torch.arange(6).expand(6, 6), "must be at"),
    ("padded positions", lambda mask: positions(mask).float(), "whole numbers"),
    ("padded positions", lambda mask: positions(mask)[0], "shape"),
    ("padded positions", lambda mask: None, "returned None"),
    ("one new word", step(turn=False), "without its turn"),
    ("one new word", step(-1), "too early"),
    ("one new word", step(-3), "another position"),
    ("one new word", step(1), "another position"),
    ("one new word", step(keep=False), "grow by one"),
    ("one new word", step(turn_values=True), "nobody turns them"),
    ("one new word", step(turn_all=True), "turned once"),
    ("one new word", step(query=False), "is the query turned"),
    ("one new word", lambda *_: torch.zeros(1), "three things"),
    ("one new word", lambda *_: None, "returned None"),
    ("packed mask", same_text, "later words"),
    ("packed mask", past, "texts before"),
    ("packed mask", lambda owner: mask(owner).T, "other way round"),
    ("packed mask", lambda owner: ~mask(owner), "may see a key"),
    ("packed mask", lambda owner: mask(owner).float(), "must be bool"),
    ("packed mask", lambda owner: mask(owner)[0], "must be 3 by 3"),
    ("packed mask", lambda owner: torch.eye(len(owner)).bool(), "misses one"),
    ("packed mask", lambda owner: None, "returned None"),
    ("count the operations", 15_360_000, "128"),
    ("count the operations", 12_288_000, "8, not 32"),
    ("count the operations", 6_144_000, "Keys are turned"),
    ("count the operations", 5_120_000, "additions"),
    ("count the operations", 9_216_000, "Values are not"),
    ("count the operations", 7680, "one token"),
    ("count the operations", 1, "multiply"),
]


test_right_answers_pass = accepted(RIGHT)
test_wrong_answers_get_their_hint = hinted(WRONG)
