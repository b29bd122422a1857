"""Checkers of the chapter Relative encodings."""

import math
from collections.abc import Sequence

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Hint, Task, define, within
from ropelib.encodings import alibi_slopes, t5_bucket


def _bucket(distance: int, **how: bool) -> int:
    return int(t5_bucket(torch.tensor(distance), **how))


_SLOPES = alibi_slopes(8).tolist()
_LAYERS, _HEADS, _WIDTH, _ROWS = 12, 12, 64, 33

define(
    Answer(
        "t5 bucket by hand",
        kind="number",
        question="T5, 32 buckets, maximum distance 128, attention in both directions. The key "
        "stands 20 tokens <b>before</b> the query. Which bucket? (For distances from 8 on, the "
        "step above 8 is 8 ln(distance / 8) / ln(128 / 8), rounded down.)",
        right=_bucket(-20),
        hints=(
            Hint(
                _bucket(20),
                "That is the bucket of a key 20 ahead. This one stands before the query.",
            ),
            Hint(
                _bucket(-20, bidirectional=False),
                "You gave all 32 buckets to one direction; here each direction has half of them.",
            ),
            Hint(20, "Only distances below 8 have a bucket of their own."),
            Hint(10.64, "Buckets are whole numbers: round down.", when="a != round(a)"),
            Hint(_bucket(-20) + 1, "Round down, not up or to the nearest."),
            Hint(
                _bucket(-20) - 8,
                "That is the step above 8. The first 8 buckets are taken by single distances.",
            ),
        ),
        otherwise="Two parts: which half of the 32, "
        "and how many steps above bucket 8 of that half?",
        solution="Behind the query: the lower half, buckets 0 to 15. And 8 ln(20/8) / ln(16) = "
        "8 · 0.916 / 2.773 = 2.64, so 8 + 2.",
    ),
    Answer(
        "alibi halving distance",
        kind="number",
        question="ALiBi with 8 heads. At what distance, in tokens, has the <b>third</b> head "
        "multiplied a weight by one half, compared with distance 0 and the same content? One "
        "decimal is enough.",
        right="8*log(2)",
        unit="tokens",
        accept=within(0.051, f"log(2) / {_SLOPES[2]}"),
        let={
            "others": f"[log(2) / slope for slope in {_SLOPES}]",
            "head": "[i + 1 for i in range(8) if near(a, others[i], 0.02)][0]",
        },
        hints=(
            Hint(-5.5, "A distance is not negative.", when="a < 0"),
            Hint(
                "log(2)/8",
                "You multiplied by the slope. A steeper head halves sooner.",
                when=f"near(a, log(2) * {_SLOPES[2]}, 0.02)",
            ),
            Hint(
                4,
                "There the bias is -1/2. The weight is multiplied by e to the bias.",
                when=f"near(a, 0.5 / {_SLOPES[2]}, 0.02)",
            ),
            Hint(
                8,
                "There the weight has fallen to 1/e (or to 1/2, had the softmax powers of 2).",
                when=f"near(a, 1 / {_SLOPES[2]}, 0.02)",
            ),
            Hint(
                "16*log(2)",
                "That is right for head {head}. Heads are counted from 1 here, the steepest first.",
                when="any([near(a, other, 0.02) for other in others])",
            ),
        ),
        otherwise="Write down the factor after t tokens, put it equal to 1/2, and solve for t.",
        solution="The third slope is 2<sup>−3</sup>. exp(−t / 8) = 1/2 at t = 8 ln 2.",
    ),
    Answer(
        "count the parameters",
        kind="numbers",
        question="A model with 12 layers, 12 heads of 64 dimensions. How many parameters in the "
        "whole model does each scheme add? <b>Shaw</b>, keys and values, L = 16, tables shared by "
        "the heads of a layer but not among layers; <b>T5</b>, 32 buckets, as in the paper; "
        "<b>ALiBi</b>.",
        labels=("Shaw", "T5", "ALiBi"),
        right=(_LAYERS * 2 * _ROWS * _WIDTH, 32 * _HEADS, 0),
        hints=(
            *(
                Hint((shaw, 32 * _HEADS, 0), f"Shaw: {said}", when=f"a[0] == {shaw}")
                for shaw, said in (
                    (
                        _LAYERS * _ROWS * _WIDTH,
                        "there is a table for the keys and one for the values.",
                    ),
                    (2 * _ROWS * _WIDTH, "that is one layer."),
                    (_LAYERS * 2 * 32 * _WIDTH, "distances from -L to L, and there is a 0."),
                    (_LAYERS * 2 * 16 * _WIDTH, "distances run both ways, from -L to L."),
                    (_LAYERS * 2 * 17 * _WIDTH, "distances run both ways, from -L to L."),
                    (_LAYERS * 2 * _ROWS, "an entry of the table is a vector."),
                    (
                        _LAYERS * _HEADS * 2 * _ROWS * _WIDTH,
                        "the heads of a layer share the tables.",
                    ),
                )
            ),
            Hint(
                (7, 32 * _HEADS, 0),
                "Shaw: layers, times tables, times rows, times the width of a row.",
                when="a[0] != right[0]",
            ),
            *(
                Hint((_LAYERS * 2 * _ROWS * _WIDTH, t5, 0), f"T5: {said}", when=f"a[1] == {t5}")
                for t5, said in (
                    (32 * _HEADS * _LAYERS, "all layers share the numbers."),
                    (32, "each head has numbers of its own."),
                    (32 * _WIDTH, "a bucket holds a number, not a vector."),
                    (32 * _HEADS * _WIDTH, "a bucket holds a number, not a vector."),
                )
            ),
            Hint(
                (_LAYERS * 2 * _ROWS * _WIDTH, 7, 0),
                "T5: what does one head have per bucket, and what do layers share?",
                when="a[1] != right[1]",
            ),
        ),
        otherwise="ALiBi: are the slopes learned?",
        solution="Shaw: 12 layers, 2 tables of 33 vectors of 64. T5: 32 numbers per head, shared "
        "by all layers. ALiBi learns nothing.",
    ),
)


@exercise("is it a relative bias")
def _is_it_a_relative_bias(answer):
    ids = torch.arange(12)
    ahead = (ids - ids[:, None]).double()
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(23, generator=generator, dtype=torch.float64)
    right = {
        "a table of one number per distance": table[ahead.long() + 11],
        "a penalty on keys ahead only": -ahead.clamp(min=0),
        "a matrix of zeros": 0 * ahead,
        "cos((n - m) / 3), with rounding errors": (ahead / 3).cos() + 1e-12 * ids,
    }
    corner = table[ahead.long() + 11].clone()
    corner[0, 0] += 1
    wrong = {
        "a bias that depends on the key's position only": (0 * ahead + ids),
        "a bias that depends on the query's position only": (0 * ahead + ids[:, None]),
        "cos((n + m) / 3), which is constant along the other diagonals": (
            (ids + ids[:, None]).double() / 3
        ).cos(),
        "m times n": (ids * ids[:, None]).double(),
        "a relative bias with one corner changed": corner,
        "a relative bias with its other corner changed": corner.flip(0, 1),
        "a symmetric matrix of random numbers": torch.randn(
            12, 12, generator=generator, dtype=torch.float64
        ),
    }
    name = "a symmetric matrix of random numbers"
    wrong[name] = wrong[name] + wrong[name].T
    for name, matrix in (right | wrong).items():
        verdict = answer(matrix.clone())
        if verdict is None:
            return NO_RETURN
        if verdict and name in wrong:
            return f"You accept {name}. The same n - m must give the same number, everywhere."
        if not verdict and name in right:
            return f"You refuse {name}, which depends on n - m only."
    return None


@exercise("shaw's term")
def _shaws_term(answer):
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(4, generator=generator, dtype=torch.float64)
    table = torch.randn(7, 4, generator=generator, dtype=torch.float64)  # limit 3
    dots = table @ q
    for m, n in ((5, 5), (5, 6), (6, 4), (2, 5), (9, 6), (0, 40), (40, 0)):
        given = answer(q.clone(), table.clone(), m, n)
        if given is None:
            return NO_RETURN
        given, distance = float(given), max(-3, min(3, n - m))
        if math.isclose(given, dots[3 + distance], abs_tol=1e-9):
            continue
        if math.isclose(given, dots[3 - distance], abs_tol=1e-9):
            return "You count query minus key. The paper counts key minus query, n - m."
        if math.isclose(given, dots[3 + distance] / 2, abs_tol=1e-9):
            return "Leave out the division by the square root of the head's width."
        if math.isclose(given, dots[distance], abs_tol=1e-9):
            return "Row 0 of the table is for distance -L; distance 0 is row L."
        return f"At m = {m}, n = {n} and L = 3, your term does not use row {3 + distance}."
    return None


@exercise("which conversations")
def _which_conversations(answer):
    content, place, both = "content to position", "position to content", "position to position"
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(13, 4, generator=generator, dtype=torch.float64)
    u = torch.randn(4, generator=generator, dtype=torch.float64)

    def row(distance):
        return table[max(-6, min(6, distance)) + 6]

    cases = {
        "nothing at all": (lambda q, k, d: torch.tensor(0.0), set()),
        "Shaw's": (lambda q, k, d: q @ row(d), {content}),
        "ALiBi's, which is silent at distance 0": (lambda q, k, d: -0.1 * abs(d), {both}),
        "T5's": (lambda q, k, d: row(d)[0], {both}),
        "DeBERTa's": (lambda q, k, d: q @ row(-d) + k @ row(d), {content, place}),
        "Transformer-XL's": (
            lambda q, k, d: (q + u) @ row(-d) + u @ k,
            {content, place, both},
        ),
        "one that listens to keys behind only": (lambda q, k, d: (d < 0) * (k @ u), {place}),
        "one that speaks only at distance 3": (lambda q, k, d: 1.0 * (d == 3), {both}),
    }
    for name, (added, right) in cases.items():
        given = answer(added)
        if given is None:
            return NO_RETURN
        given = set(given)
        if strange := given - {content, place, both}:
            return f"{min(strange, key=str)!r} is none of the three names."
        if given == right:
            continue
        if missing := right - given:
            return f"In {name} you do not hear {min(missing)}. Is it silent at your distances?"
        extra = min(given - right)
        return (
            f"In {name} you hear {extra}, which is not there. Compare with what is left when query "
            "and key are both zero."
        )
    return None


@exercise("alibi in two columns")
def _alibi_in_two_columns(answer):
    slope, places = 0.25, torch.tensor([3, 4, 6, 10, 17])
    columns = answer(slope, places.clone())
    if columns is None:
        return NO_RETURN
    if not isinstance(columns, Sequence) or len(columns) != 2:
        return "Return two tensors: what stands behind the queries, and behind the keys."
    if any(tuple(part.shape) != (5, 2) for part in columns):
        return "Each of the two tensors has a row per word and two columns."
    for_q, for_k = (part.double() for part in columns)

    def same(term):
        return torch.allclose(for_q @ for_k.T, term, atol=1e-5)

    behind = (places[:, None] - places).double()
    if same(-slope * behind):
        return None
    of_key = slope * places.double().expand(5, 5)
    row = torch.arange(5.0).double()
    others = [
        (slope * behind, "That gives more to a key that is further behind. Turn the sign."),
        (of_key, "A softmax needs no more. Here the query's place is asked for too."),
        (-of_key.T, "That is the query's part only. Where is the place of the key?"),
        (of_key + of_key.T, "A distance is a difference: one place counts with a minus."),
        (-behind, "That is a slope of 1. Where is the slope?"),
        (slope * (row - row[:, None]), "Use the positions you are given: they may have gaps."),
    ]
    lost = "Multiply a row of the one with a row of the other: it must give slope times (n - m)."
    return next((hint for term, hint in others if same(term)), lost)


# ---- tasks of the widgets ---------------------------------------------------------------------

define(
    Task(
        "seven distances",
        widget="bias_explorer",
        text="Choose Shaw's encoding, and let it tell exactly seven distances apart.",
        done="encoding == 'shaw' and not causal and different_values == 7",
        said="Three behind, three ahead, and the place itself.",
    ),
)
