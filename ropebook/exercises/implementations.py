"""Checkers of the chapter Implementations."""

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define
from ropelib import reference
from ropelib.diagnosis import diagnose
from ropelib.frequencies import inv_freq
from ropelib.rotation import convert_layout, cos_sin

_WORDS = ("interleaved", "half", "neither")


define(
    Bet(
        "another seating",
        question="A head has 8 dimensions, and so four pairs. Two seatings are in use. "
        "<b>Interleaved</b>: neighbors, (0, 1), (2, 3), (4, 5), (6, 7). <b>Half</b>: one from each "
        "half, (0, 4), (1, 5), (2, 6), (3, 7). A model was trained with the first. The code that "
        "runs it uses the second, for queries and keys alike. What happens to the scores?",
        options=(
            Option(
                "Nothing. A score is a sum, and a sum does not care about order.",
                said="The order of the sum does not matter. But which numbers turned "
                "<i>together</i> before it does.",
            ),
            Option(
                "They no longer depend on the distance alone: positions become noise.",
                said="That happens when q and k sit differently. Here both sit alike, and what "
                "turns q by some angle turns k by the same.",
            ),
            Option(
                "They depend on the distance alone, as they should, and are wrong.",
                said="It is a right rotation, for other weights: strangers turn together.",
                right=True,
            ),
        ),
    ),
    Answer(
        "the partner's seat",
        kind="numbers",
        question="A head has 128 dimensions, numbered from 0. With whom does dimension 5 turn?",
        labels=("interleaved", "half"),
        right=(4, 69),
        hints=(
            Hint(
                (6, 69),
                "Interleaved: the pairs are (0, 1), (2, 3), (4, 5). Is 5 a first or a second?",
                when="a[0] == 6",
            ),
            Hint(
                (4, 68),
                "Half: the partner stands half a head further on. How long is half a head?",
                when="a[0] == 4 and 60 < a[1] and a[1] < 75",
            ),
            Hint(
                (69, 4),
                "Those are the two partners, in the other order.",
            ),
        ),
        otherwise="Interleaved pairs are neighbors; in halves, i goes with i + d/2.",
        solution="Neighbors: (4, 5). Halves: (5, 5 + 64).",
    ),
    FillIn(
        "a turn in halves",
        question="One vector, the layout half, without any library: <code>cos</code> and "
        "<code>sin</code> hold one number per pair. Fill the gaps.",
        code="""def turn_halves(x, cos, sin):
    half = len(x) // 2
    a, b = [], []  # firsts, seconds
    for i in range(half):
        a += [x[i]*cos[i] - <<x[i + half] * sin[i]>>]
        b += [x[i]*sin[i] + <<x[i + half] * cos[i]>>]
    return a + b
""",
        cases=(
            ((1.0, 2.0, 3.0, 4.0), (0.0, 1.0), (1.0, 0.0)),
            ((0.5, -1.0, 2.0, 0.25, 1.5, -2.0), (0.6, 0.8, 0.28), (0.8, 0.6, 0.96)),
        ),
        hints=(
            Hint(
                ("x[i + 1] * sin[i]", "x[i + 1] * cos[i]"),
                "That takes the neighbor. In halves the partner stands half a head further on.",
            ),
            Hint(
                ("x[i + half] * cos[i]", "x[i + half] * sin[i]"),
                "The length does not stay. A turn by a quarter takes (x, y) to (-y, x): which of "
                "cosine and sine is 1 there?",
            ),
        ),
        solution="The first of a pair becomes x cos - y sin, the second x sin + y cos, and the "
        "partner of i is i + half.",
    ),
    Answer(
        "the rows of a head",
        kind="order",
        question="One head of 6 rows of W<sub>q</sub>, trained with neighbors as pairs. In which "
        "order must the rows stand for code that pairs halves?",
        items=("row 0", "row 1", "row 2", "row 3", "row 4", "row 5"),
        right=(0, 2, 4, 1, 3, 5),
        hints=(
            Hint((0, 1, 2, 3, 4, 5), "Nobody has moved: row 0 would turn with row 3."),
            Hint(
                (0, 3, 1, 4, 2, 5),
                "That is the way back, from halves to neighbors.",
            ),
            Hint((1, 3, 5, 0, 2, 4), "The partners are right, but each second now leads its pair."),
            Hint(
                (2, 0, 4, 3, 1, 5),
                "The partners are right, but not the order: the fastest pair comes first, and in "
                "each pair the even row.",
                when="len([i for i in range(3) if floor(a[i] / 2) == floor(a[i + 3] / 2)]) == 3",
            ),
        ),
        otherwise="The code turns seats (0, 3), (1, 4), (2, 5). Who were pairs in training?",
        solution="First all the firsts, then all the seconds.",
    ),
    Answer(
        "name the mistake",
        kind="choice",
        question="You moved a model to another program. Pushing the text on changes no score. The "
        "scores of words with themselves are right. All others are wrong. What happened?",
        options=(
            Option(
                "q and k are turned in different layouts.",
                said="Then pushing the text on would move the scores.",
            ),
            Option(
                "The rows of W<sub>q</sub> were converted, those of W<sub>k</sub> not.",
                said="Then numbers that do not belong together meet, even at distance 0.",
            ),
            Option(
                "No row was converted.",
                said="At distance 0 nobody turns against anybody, so nothing is wrong there.",
                right=True,
            ),
        ),
    ),
    Answer(
        "which offset",
        kind="numbers",
        question="A prompt of 12 tokens has been read at offset 0. Then tokens are generated one "
        "by one, each written into the cache when it is read. (a) At which offset is the third "
        "generated token rotated? (b) After it, to save memory, all but the last 8 rows, which "
        "stay rotated as they are, are thrown out of the cache. At which offset is the fourth "
        "generated token rotated?",
        labels=("a", "b"),
        right=(14, 15),
        hints=(
            Hint(
                (15, 16),
                "(a): positions begin at 0. Which one has the last token of the prompt?",
                when="a[0] == 15",
            ),
            Hint(
                (2, 3),
                "(a): that counts the generated tokens only. The prompt comes before them.",
                when="a[0] in [0, 2, 3]",
            ),
            Hint((12, 13), "(a): the offset is how many tokens came before.", when="a[0] != 14"),
            Hint(
                (14, 8),
                "(b): that is the number of rows. How many tokens have come before, kept or not?",
                when="a[1] in [7, 8, 9]",
            ),
        ),
        otherwise="(b): forgetting a row does not move the tokens that follow.",
        solution="The prompt has positions 0 to 11, the generated tokens 12, 13, 14, 15. What is "
        "forgotten has still been there: rows are not positions.",
    ),
)


@exercise("name the layout")
def _name_the_layout(answer):
    words = [str(word).strip().lower() for word in answer]
    if len(words) != 3:
        return f"Give three words, one each for A, B and C; you gave {len(words)}."
    for word in words:
        if word not in _WORDS:
            return f'Each word is "interleaved", "half" or "neither", got "{word}".'
    a, b, c = words
    if a != "half":
        return "A: which two dimensions does the 1 end up in, and how far are they apart?"
    if b == "neither":
        return "B: a slow pair turns too. Which other dimension has become non-zero?"
    if b != "interleaved":
        return "B: the 1 stood in dimension 2. With 6 dimensions, its partner in halves would be 5."
    if c != "neither":
        return "C: how long is the result? A turn leaves a vector of length 1 at length 1."
    return None


@exercise("the permutation")
def _the_permutation(answer):
    for d in (2, 4, 6, 8, 64):
        order = answer(d)
        if order is None:
            return NO_RETURN
        order = [int(index) for index in order]
        if sorted(order) != list(range(d)):
            return f"For d = {d} each number from 0 to {d - 1} must occur once, got {order[:8]}."
        found = torch.arange(d)[torch.tensor(order)]
        right = convert_layout(torch.arange(d), source="interleaved", target="half")
        if torch.equal(found, right):
            continue
        back = convert_layout(torch.arange(d), source="half", target="interleaved")
        if torch.equal(found, back):
            return "That takes halves to neighbors: the way back."
        if order == list(range(d)):
            return f"For d = {d} nobody has moved."
        return f"For d = {d}: seat 0 .. d/2 - 1 are for the first of each pair. Who are the firsts?"
    return None


@exercise("repair the rotation")
def _repair_the_rotation(answer):
    def rotate(x, position_ids):
        tables = cos_sin(position_ids, inv_freq(64))
        if position_ids.dim() == 2:  # the exercise promises (seq_len, num_pairs)
            return torch.cat([rotate(x[b : b + 1], position_ids[b]) for b in range(len(x))])
        turned = answer(x.clone(), *tables)
        if turned is None:
            raise ValueError(NO_RETURN)
        return turned.to(x.dtype)

    x = torch.randn(2, 3, 5, 64, generator=torch.Generator().manual_seed(0))
    rotate(x, torch.arange(5))  # what it raises is the reader's to see, before diagnose wraps it
    report = diagnose(rotate, layout="half", max_position=256)
    hints = {
        "interleaved-angles-on-half-pairs": "The two numbers of a pair must turn by one angle. "
        "Which places are partners in the layout half, and which get the same cosine?",
        "minus-sign-missing": "One of the two products with the sine needs a minus sign.",
        "layout-not-as-expected": "That is a rotation, in the other layout: wanted is half.",
        "output-permuted": "Each result must go back to where it was read.",
    }
    for code in report.codes:
        if code in hints:
            return f"diagnose says {code}. {hints[code]}"
    if not report.ok:
        return f"diagnose says {report.codes[0]}: {report.findings[0].sentence}"
    if report.direction == -1:
        return "It turns clockwise: the minus sign belongs to the other of the two."
    return None


@exercise("convert back")
def _convert_back(answer):
    generator = torch.Generator().manual_seed(0)
    for heads, head_dim, model_dim in ((1, 8, 6), (4, 8, 32), (2, 16, 64), (3, 4, 12)):
        rows = heads * head_dim
        weight = torch.randn(rows, model_dim, generator=generator)
        bias = torch.randn(rows, generator=generator)
        given = answer(weight.clone(), bias.clone(), heads)
        if given is None:
            return NO_RETURN
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            return "Return two tensors: the weight and the bias."
        order = _rows(heads, head_dim, "half", "interleaved")
        where = f"{heads} heads of {head_dim} dimensions"
        for name, found, expected in zip(("weight", "bias"), given, (weight, bias), strict=True):
            if found.shape != expected.shape:
                return (
                    f"The {name} must keep its shape {tuple(expected.shape)}, "
                    f"got {tuple(found.shape)}."
                )
            if close(found, expected[order]):
                continue
            if close(found, expected[_rows(1, rows, "half", "interleaved")]):
                return f"{where}: reorder within each head, not over all rows at once ({name})."
            if close(found, expected[_rows(heads, head_dim, "interleaved", "half")]):
                return f"{where}: that converts from interleaved to half ({name}); wanted: back."
            if close(found, expected):
                return f"{where}: the {name} is unchanged."
            return f"{where}: the rows of the {name} are not where neighbors are looked for."
    return None


def _rows(heads: int, head_dim: int, source: str, target: str) -> torch.Tensor:
    numbers = torch.arange(heads * head_dim).view(heads, head_dim)
    return convert_layout(numbers, source=source, target=target).flatten()


@exercise("the way back")
def _the_way_back(answer):
    generator = torch.Generator().manual_seed(0)
    for head_dim in (4, 2, 8, 64):
        frequencies = inv_freq(head_dim)
        positions = torch.arange(5)
        tables = cos_sin(positions, frequencies, dtype=torch.float64)
        grad = torch.randn(2, 3, 5, head_dim, generator=generator, dtype=torch.float64)
        given = answer(grad.clone(), *tables)
        if given is None:
            return NO_RETURN
        if given.shape != grad.shape:
            return f"The gradient has the shape of x, {tuple(grad.shape)}, not yours."

        def turned(ids, layout="half", grad=grad, frequencies=frequencies):
            return reference.rotate(grad, ids, frequencies, layout=layout)

        if close(given, turned(-positions)):
            continue
        if close(given, turned(positions)):
            return "That is the forward pass once more. A gradient passes the transposed matrix."
        if close(given, turned(-positions, "interleaved")):
            return "Turned back, but in the other layout: the pairs are (i, i + d/2)."
        if close(given, grad):
            return "That is the gradient by the output. It has yet to pass the rotation."
        return f"With d = {head_dim} it is not the gradient that autograd finds for by_halves."
    return None


# ---- tasks of the widgets ---------------------------------------------------------------------

define(
    Task(
        "mend the score",
        widget="layout_pairs",
        text="Put query and key into the layout of halves, and bring back the right score.",
        done="q_layout == 'half' and k_layout == 'half' and abs(error) < 1e-6",
        said="The numbers stand where the rotation looks for them.",
    ),
)
