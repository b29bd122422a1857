"""Exercises of the chapter Relative encodings."""

import math
from collections.abc import Sequence

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define

define(
    Bet(
        "numbers for a head",
        question="A text of 1000 words. Every query meets every key, which makes a million scores. "
        "To each score we want to add a number that says how far apart its two words stand. <b>How "
        "many different numbers must an attention head have at hand?</b>",
        options=(
            Option(
                "A million: one for each pair.",
                said="Pairs at the same distance can share one number, and distances can share "
                "too. The least that a scheme of this chapter needs is one.",
            ),
            Option(
                "1999: one for each distance, 999 back to 999 ahead.",
                said="Distances can share: T5 manages with 32 numbers per head. And where the "
                "distance itself is the measure, one will do.",
            ),
            Option(
                "Thirty-two.",
                said="So many T5 has: far distances share a number. ALiBi computes all of its "
                "numbers from one.",
            ),
            Option(
                "One.",
                said="A slope, times the distance: that is ALiBi, and its slope is not even "
                "learned.",
                right=True,
            ),
        ),
    ),
    Answer(
        "push the products",
        kind="numbers",
        question="Let a word and a position be single numbers: <i>dog</i> is 2 at position 1, "
        "<i>cat</i> is 3 at position 4. Query and key are word plus position, and the query is "
        "<i>dog</i>'s. First: what is the score, their product? Second: what is it after somebody "
        "writes ten words in front? Third: cross out the products that begin with the query's "
        "position, and in content to position write the distance n − m in place of the key's "
        "position. What is left, after the push?",
        labels=("score", "score, pushed", "repaired"),
        right=(21, 221, 12),
        hints=(
            Hint(
                (21, 221, 8),
                "The repaired score: query times key, and the query times what?",
                when="a[0] == 21 and a[1] == 221",
            ),
            Hint(
                (21, 31, 12),
                "Both positions grow by ten: the query's and the key's.",
                when="a[0] == 21",
            ),
        ),
        otherwise="The first is (2 + 1)(3 + 4). Both positions grow by ten in the second.",
        solution="(2 + 1)(3 + 4), then (2 + 11)(3 + 14); and 2 · 3 + 2 · (14 − 11), which is what "
        "it was before the push.",
    ),
    Answer(
        "t5 bucket by hand",
        kind="number",
        question="T5, 32 buckets, maximum distance 128, attention in both directions. The key "
        "stands 20 tokens <b>before</b> the query. Which bucket? (For distances from 8 on, the "
        "step above 8 is 8 · ln(distance/8) / ln(128/8), rounded down.)",
        right=10,
        hints=(
            Hint(26, "That is the bucket of a key 20 ahead. This one stands before the query."),
            Hint(
                17,
                "You gave all 32 buckets to one direction; here each direction has half of them.",
            ),
            Hint(20, "Only distances below 8 have a bucket of their own."),
            Hint(10.64, "Buckets are whole numbers: round down.", when="a != round(a)"),
            Hint(11, "Round down, not up or to the nearest."),
            Hint(
                2,
                "That is the step above 8. The first 8 buckets are taken by single distances.",
            ),
        ),
        otherwise="Two parts: which half of the 32, and how many steps above bucket 8 of that "
        "half?",
        solution="Behind the query: the lower half, buckets 0 to 15. And 8 · ln(20/8) / ln 16 = "
        "8 · 0.916 / 2.773 = 2.64, so 8 + 2.",
    ),
    Answer(
        "alibi halving distance",
        kind="number",
        unit="tokens",
        question="ALiBi with 8 heads, whose slopes are 1/2, 1/4, … 1/256. At what distance, in "
        "tokens, has the <b>third</b> head multiplied a weight by one half, compared with distance "
        "0 and the same content? One decimal is enough.",
        right="8*log(2)",
        tolerance=0.0092,
        hints=(
            Hint(-5.5, "A distance is not negative.", when="a < 0"),
            Hint(
                "log(2)/8",
                "You multiplied by the slope. A steeper head halves sooner.",
            ),
            Hint(4, "There the bias is -1/2. The weight is multiplied by e to the bias."),
            Hint(
                8,
                "There the weight has fallen to 1/e (or to 1/2, had the softmax powers of 2).",
            ),
            Hint(
                "16*log(2)",
                "That is right for head {round(log(a / log(2), 2))}. Heads are counted from 1 "
                "here, the steepest first.",
                when="any([near(a, 2**h * log(2), 0.02) for h in range(1, 9)])",
            ),
        ),
        otherwise="Write down the factor after t tokens, put it equal to 1/2, and solve for t.",
        solution="The third slope is 1/8, and exp(−t/8) = 1/2 at t = 8 ln 2.",
    ),
    FillIn(
        "shaw's row",
        question="Which row of its table does Shaw's scheme read for a query at position "
        "<code>m</code> and a key at position <code>n</code>? The table has 2 · "
        "<code>limit</code> + 1 rows, counted from 0; row <code>limit</code> is for distance 0. "
        "The convention is the paper's, key minus query, and positions may be far apart.",
        code="""def shaw_row(limit, m, n):
    distance = <<n - m>>
    return <<limit + max(-limit, min(limit, distance))>>
""",
        cases=((3, 5, 5), (3, 5, 6), (3, 6, 4), (16, 2, 5), (4, 9, 6), (3, 0, 40), (8, 40, 0)),
        hints=(
            Hint(
                ("m - n", "limit + max(-limit, min(limit, distance))"),
                "You count query minus key. The paper counts key minus query, n - m.",
            ),
            Hint(
                ("n - m", "limit + distance"),
                "A table has an end: everything further than the limit uses its last row.",
            ),
            Hint(
                ("n - m", "max(-limit, min(limit, distance))"),
                "Row 0 of the table is for the distance -limit; distance 0 is row limit.",
            ),
        ),
        otherwise="With limit {limit}, m = {m} and n = {n} you read row {a}.",
        solution="The distance is cut off at the limit on both sides, and counted from the middle "
        "row.",
    ),
    Answer(
        "count the parameters",
        kind="numbers",
        question="A model with 12 layers, 12 heads of 64 dimensions. How many parameters in the "
        "whole model does each scheme add? <b>Shaw</b>: keys and values, L = 16, tables shared by "
        "the heads of a layer but not among layers. <b>T5</b>: 32 buckets, a number for each head "
        "and bucket, shared by all layers. <b>ALiBi</b>.",
        labels=("Shaw", "T5", "ALiBi"),
        right=("12*2*33*64", "32*12", 0),
        let={"shaw": "a[0] == 50688", "t5": "shaw and a[1] == 384"},
        hints=(
            Hint(
                ("12*33*64", 384, 0),
                "Shaw: there is a table for the keys and one for the values.",
                when="a[0] == 12*33*64",
            ),
            Hint(("2*33*64", 384, 0), "Shaw: that is one layer.", when="a[0] == 2*33*64"),
            Hint(
                ("12*2*32*64", 384, 0),
                "Shaw: distances from -L to L, and there is a 0.",
                when="a[0] == 12*2*32*64",
            ),
            Hint(
                ("12*2*16*64", 384, 0),
                "Shaw: distances run both ways, from -L to L.",
                when="a[0] == 12*2*16*64 or a[0] == 12*2*17*64",
            ),
            Hint(
                ("12*2*33", 384, 0),
                "Shaw: an entry of the table is a vector.",
                when="a[0] == 12*2*33",
            ),
            Hint(
                ("12*12*2*33*64", 384, 0),
                "Shaw: the heads of a layer share the tables.",
                when="a[0] == 12*12*2*33*64",
            ),
            Hint(
                (7, 384, 0),
                "Shaw: layers, times tables, times rows, times the width of a row.",
                when="not shaw",
            ),
            Hint(
                (50688, "32*12*12", 0),
                "T5: all layers share the numbers.",
                when="shaw and a[1] == 32*12*12",
            ),
            Hint(
                (50688, 32, 0),
                "T5: each head has numbers of its own.",
                when="shaw and a[1] == 32",
            ),
            Hint(
                (50688, "32*64*12", 0),
                "T5: a bucket holds a number, not a vector.",
                when="shaw and (a[1] == 32*64 or a[1] == 32*64*12)",
            ),
            Hint(
                (50688, 7, 0),
                "T5: what does one head have per bucket, and what do layers share?",
                when="shaw and not t5",
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
