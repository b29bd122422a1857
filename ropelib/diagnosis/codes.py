"""What each code of the diagnosis means: the one table of them."""

import re
from dataclasses import dataclass

from ropelib.diagnosis.codes_wrong import WRONG


@dataclass(frozen=True)
class Code:
    """What a finding of this code says in general; the finding itself has the numbers."""

    severity: str
    sentence: str
    cause: str
    fix: str


_NOTES = {
    "clockwise": (
        "Pairs turn clockwise.",
        "the transpose of the usual matrix, as in nanochat",
        "Use it with weights trained for it; expected= says whether that is so.",
    ),
    "mixed-directions": (
        "Some pairs turn clockwise, some counterclockwise.",
        "frequencies with signs, or above pi, which are seen modulo a turn",
        "Use it with weights trained for it.",
    ),
    "output-permuted": (
        "Dimensions come out in another order.",
        "read as neighbors, written as halves",
        "Do so for q and k both, or write them where they were read.",
    ),
    "unusual-pairs": (
        "Pairs follow neither layout.",
        "another order of dimensions",
        "Compare it with the code that the weights were trained with.",
    ),
    "fast-pairs-stand-still": (
        "The first pairs do not turn.",
        "one axis of several, moved alone; whole turns, of 2 pi rad/token",
        "Right where it is meant; axes= looks at all axes.",
    ),
    "nothing-turns": (
        "Nothing turns, as expected.",
        "a layer without positions (NoPE)",
        "Right where inv_freq= is all zeros.",
    ),
    "pairs-between-stand-still": (
        "Pairs turn with others between them that stand still.",
        "one axis of several, moved alone; every second or third pair",
        "Right where it is meant; inv_freq= says so, with zeros for those that stand still.",
    ),
    "slow-pairs-stand-still": (
        "The slowest pairs do not turn.",
        "p-RoPE, as in Gemma 4; a loop that ends early, or over whole blocks; a base so large that "
        "they turn too little to be seen, as 2e10 at a width of 64 is",
        "Right where it is meant; expected= tells it from a loop that ends early.",
    ),
    "trailing-dimensions": (
        "The last dimensions turn, not the first.",
        "a head that is cut in another order, as in DeepSeek's",
        "Right where weights are cut alike.",
    ),
    "middle-dimensions": (
        "Rotation begins inside the head.",
        "one axis of several, or a head cut in three",
        "Right where weights are cut alike.",
    ),
    "partial": (
        "Only the first dimensions turn.",
        "partial_rotary_factor, rotary_pct",
        "Right where it is meant; expected= says so.",
    ),
    "takes-the-rotated-part": (
        "It takes only the part of a head that turns.",
        "a function whose caller cuts the head, as Phi's",
        "Give its width as head_dim.",
    ),
    "frequencies-of-the-whole-head": (
        "Frequencies fit the whole head, and pairs lie in a part of it.",
        "p-RoPE with its pairs at the wrong distance, or head_dim in the exponent of a partial one",
        "Say which is meant: expected=. Told of halves, where the base of the part is not round.",
    ),
    "linearly-scaled": (
        "All frequencies are divided by one factor, or multiplied as expected.",
        "linear scaling (position interpolation); positions in turns, by 2 pi",
        "Right where it is meant; expected= says so.",
    ),
    "slowest-pairs-first": (
        "Each pair turns faster than the one before.",
        "frequencies in reverse",
        "Right with weights trained so; expected= says whether.",
    ),
    "not-geometric": (
        "Frequencies are no geometric series.",
        "YaRN, Llama 3, LongRoPE, several axes",
        "Compare them with the configuration: expected=.",
    ),
    "attention-factor": (
        "cos and sin are multiplied by a factor.",
        "YaRN or LongRoPE",
        "Right where it is meant; expected= says so. Without it the width, its square root, from a "
        "width of 40 on its fourth root, and the reciprocals of the three are norm-not-kept.",
    ),
    "q-and-k-factors-differ": (
        "q and k have factors of their own, and scores their product.",
        "a temperature or the scale of scores on one of the two, or YaRN's factor lost on one",
        "Right where it is meant; expected= compares the product.",
    ),
    "frequencies-depend-on-length": (
        "Frequencies change with the largest position of the call.",
        "dynamic NTK, LongRoPE",
        "Rotate cached keys again, or fix the length; decode= tries it.",
    ),
    "long-calls-not-tried": (
        "Frequencies are meant to change beyond the positions that were tried.",
        "a max_position below the trained length",
        "Raise max_position.",
    ),
    "table-ends": (
        "Not every position is taken.",
        "a table of fixed length",
        "Make it as long as the longest text.",
    ),
    "layout-unlike-the-form": (
        "Pairs are others than those of the code that its arguments are named after.",
        "a table named freqs_cis, which Meta has with neighbors and Gemma with halves",
        "Right with weights for it: layout= or expected= says which.",
    ),
    "few-positions": (
        "Fewer than 32 positions were tried.",
        "a short table, as that of the sides of an image, or max_position=",
        "What goes wrong later is not seen: give a longer table where there may be more.",
    ),
    "vectors-in-low-precision": (
        "float32 vectors are rounded on the way.",
        "x cast to bfloat16 or float16, and back",
        "Right where it is meant; float32 vectors can keep their digits.",
    ),
    "tables-in-low-precision": (
        "cos and sin are coarse even for float32 vectors.",
        "tables kept in bfloat16 or float16",
        "Keep them in float32, and cast where they are used.",
    ),
    "dtype-changed": (
        "The result has another dtype than x.",
        "float32 tables that promote the product",
        "Cast the result back: .type_as(x).",
    ),
    "float32-refused": (
        "x of float32 is refused, and was sent in the dtype that is taken.",
        "a kernel for half precision alone",
        "Fine where it is meant; rounding hides what is smaller than it.",
    ),
    "bfloat16-refused": (
        "x of bfloat16 is refused.",
        "a fixed dtype inside",
        "Compute in float32, and return the dtype of x.",
    ),
    "changes-its-input": (
        "x itself is overwritten.",
        "an operation in place",
        "Meant in kernels; clone x where it is used again.",
    ),
    "called-as": (
        "It is called in another way than its form usually is.",
        "heads or the sequence first, tables of another shape, under one name",
        "Right where callers do so too; a lambda x, position_ids: says it itself.",
    ),
    "calls-refused": (
        "Some calls raise or return another shape, and others like them do not.",
        "a batch of single tokens, rows, a dtype or a shape of position_ids, not thought of",
        "Take them too, or keep to the calls that are taken.",
    ),
    "rows-refused": (
        "position_ids of shape (batch, seq_len) are refused, or taken wrongly.",
        "tables without a batch axis, or with one and none for the heads",
        "Needed where rows stand at different positions, as in a step after prompts of different "
        "lengths; cos.unsqueeze(1) gives them an axis for the heads.",
    ),
    "contiguous-positions-only": (
        "Positions are counted on from the first of the call.",
        "position_ids[0] + arange(tokens), or an offset of the call",
        "Enough where rows count on through all calls, for scores depend on distances; others need "
        "position_ids.",
    ),
    "rising-positions-only": (
        "Positions that do not rise are refused.",
        "an order that is checked, or searched by halves",
        "Enough where rows count on through all tokens, for scores depend on distances; restarts "
        "and trees of drafts need any order.",
    ),
    "counts-itself": (
        "It takes no positions and numbers its tokens from 0.",
        "an encoder's rotation, or one for training alone",
        "Enough for whole texts; a step that goes on from a cache needs positions.",
    ),
    "strides-refused": (
        "x is refused in another order of memory.",
        "view() where reshape() would do",
        "Call contiguous() before it.",
    ),
    "grouped-queries-refused": (
        "k with fewer heads than q is refused, or comes back with as many.",
        "q and k stacked, or shaped by one count of heads; or k repeated for the heads of q",
        "Right where k is repeated on purpose; with grouped queries else shape k by its own heads.",
    ),
    "no-gradient": (
        "No gradient comes back.",
        "detach(), no_grad, code outside of torch, or an operation in place that autograd refuses",
        "Needed for training alone.",
    ),
    "autocast-refused": (
        "Under torch.autocast it raises.",
        "a kernel for one dtype, or torch.cat of two, beside what autocast has made half precision",
        "Needed under autocast alone: switch it off inside.",
    ),
    "random-in-training": (
        "In train mode results are random.",
        "positions drawn at random, or dropout",
        "Right where it is meant; judge it in eval mode.",
    ),
    "centered": (
        "Places are counted from the middle of an image, or from another origin.",
        "coordinates from -1 to 1 (DINOv3), or from 1 on all axes (Llama 4)",
        "Right where q and k both do so, as scores depend on distances. Of one axis alone: the "
        "middle of all places, or half way between two; others are positions-shifted.",
    ),
    "several-axes": (
        "Each pair follows one axis of several.",
        "M-RoPE, axial rotation of images",
        "Compare which pairs with the model: axes=, expected=.",
    ),
    "axes-mixed": (
        "Pairs follow several axes at once.",
        "mixed frequencies, as in RoPE-ViT",
        "Right with weights trained so.",
    ),
    "axes-not-compared": (
        "What is expected has several axes, and text alone was compared.",
        "a configuration with mrope_section, and no axes=",
        "Say how many there are: --axes 3 (axes=3).",
    ),
    "angles-in-float32": (
        "Angles are computed in float32, whose error grows with the position.",
        "what most code does",
        "Nothing, below some 100,000 positions.",
    ),
    "sines-of-large-angles": (
        "Sine and cosine are less exact the larger the angle.",
        "fast math (__sinf), or a remainder by 2 pi in float32",
        "Reduce angles in float64, or compile without fast math, under which sincosf is fast too.",
    ),
    "heads-of-their-own": (
        "Heads turn otherwise than each other, as those that are expected.",
        "frequencies learned for each head, or one series cut into heads",
        "Right where it is meant; three heads were compared.",
    ),
    "xpos": (
        "One of q and k grows as the other shrinks.",
        "xPos",
        "Right as a pair.",
    ),
}

CODES = {
    code: Code(severity, *words)
    for severity, table in (("wrong", WRONG), ("note", _NOTES))
    for code, words in table.items()
}


UNMEASURED = ("call-raises", "call-hangs", "shape-not-kept", "not-finite", "device-not-kept")
"""Codes of a rotation that could not be measured at all."""

_GROUPS = {
    "It cannot be measured": "call-raises call-hangs shape-not-kept not-finite device-not-kept",
    "No rotation at all": "not-deterministic adds-a-vector not-linear vectors-of-few-bits "
    "does-not-rotate norm-not-kept factor-changes-midway not-pairwise",
    "Pairs, their sine and cosine": "minus-sign-missing cosine-negated lines-miswritten "
    "half-angles-on-interleaved-pairs interleaved-angles-on-half-pairs "
    "angles-differ-within-pairs tables-half-width "
    "last-pair-not-rotated sin-and-cos-swapped sine-is-zero sine-partly-zero rest-not-kept "
    "sines-of-other-pairs",
    "Frequencies": "exponents-from-a-half frequencies-unfilled base-beyond-sense angles-in-degrees "
    "exponents-from-one exponents-positive inverted-ramp frequencies-in-bfloat16 "
    "frequencies-in-float16 frequencies-in-tf32",
    "Positions": "position-ids-ignored positions-restart off-by-one positions-shifted "
    "positions-reversed positions-bent turned-at-position-0 position-0-lost "
    "early-positions-not-turned not-relative order-of-positions-ignored gaps-ignored "
    "repeated-positions-moved single-positions-wrong",
    "Right at first, wrong past some length": "angles-drift turns-of-a-rounded-pi "
    "frequencies-change-midway "
    "positions-clamped table-read-past-its-end positions-wrap-around positions-in-bfloat16 "
    "positions-in-float16 positions-in-tf32 angles-in-bfloat16 angles-in-float16 "
    "table-grown-by-the-last-token table-grown-by-the-first-row far-rows-wrong",
    "Heads and widths": "heads-differ heads-mixed rotates-by-head takes-sequence-first "
    "grouped-queries-wrong keys-repeated-out-of-order wrong-at-other-widths",
    "Rows of a batch": "batch-rows-share-positions batch-rows-mixed packed-rows-wrong "
    "one-token-rows-wrong rows-turned-otherwise row-of-one-ignored batch-taken-for-tokens "
    "many-rows-wrong",
    "From call to call": "decode-restarts-at-zero decode-off-by-one decode-forgets-the-prompt "
    "decode-differs later-chunks-differ short-steps-wrong late-steps-wrong decay-centered-per-call "
    "scaled-in-the-prefill-alone length-told-by-one cached-keys-keep-old-frequencies "
    "frequencies-stay-grown tables-stay-rounded tables-of-an-earlier-call "
    "result-overwritten position-ids-overwritten",
    "Fast paths and large calls": "half-precision-differs large-values-changed strides-ignored "
    "strided-ids-misread tokens-mixed first-token-not-turned last-tokens-not-turned "
    "long-call-differs square-tables-transposed crowded-call-differs",
    "What surrounds a call": "wrong-under-autocast int32-positions-misread train-and-eval-differ",
    "Training": "gradient-rotates-forward gradient-wrong gradient-wrong-far "
    "gradient-of-another-call gradient-overwrites-its-input training-forward-differs",
    "q beside k": "q-not-rotated k-not-rotated q-rotated-twice k-rotated-twice "
    "q-and-k-mixed v-changed q-and-k-layouts-differ q-and-k-widths-differ "
    "q-and-k-dimensions-differ q-and-k-orders-differ q-and-k-directions-differ "
    "q-and-k-frequencies-differ q-and-k-axes-differ",
    "Axes of an image": "axis-ignored axes-summed text-turned-otherwise image-places-wrong "
    "grid-transposed axes-ordered-by-size axes-told-by-lengths axes-exchanged "
    "axes-in-blocks axes-in-turn sections-not-as-expected",
    "Right, and not what was expected": "layout-not-as-expected pairs-not-as-expected "
    "direction-not-as-expected width-not-as-expected factor-not-as-expected scaling-missing "
    "scaled-as-linear blend-not-as-expected base-not-as-expected exponents-not-as-expected "
    "frequencies-not-as-expected results-not-as-expected long-calls-not-as-expected "
    "attention-factor-missing attention-factor-not-as-expected",
    "Notes on pairs": "clockwise mixed-directions output-permuted unusual-pairs "
    "fast-pairs-stand-still slow-pairs-stand-still trailing-dimensions middle-dimensions partial "
    "takes-the-rotated-part several-axes axes-mixed centered heads-of-their-own xpos",
    "Notes on frequencies": "frequencies-of-the-whole-head linearly-scaled slowest-pairs-first "
    "not-geometric attention-factor frequencies-depend-on-length long-calls-not-tried "
    "tables-in-low-precision vectors-in-low-precision angles-in-float32 sines-of-large-angles",
    "Notes on what it takes and returns": "called-as layout-unlike-the-form table-ends "
    "few-positions dtype-changed bfloat16-refused changes-its-input calls-refused rows-refused "
    "contiguous-positions-only rising-positions-only counts-itself strides-refused "
    "grouped-queries-refused no-gradient",
}


def grouped() -> dict[str, list[str]]:
    """Return all codes under the headings of the book's page.

    A code that no heading names stands behind the one that comes before it in `CODES`.

    Example:
        >>> grouped()["It cannot be measured"][0]
        'call-raises'
    """
    groups = {title: codes.split() for title, codes in _GROUPS.items()}
    where = {code: listed for listed in groups.values() for code in listed}
    before = None
    for code in CODES:
        if code not in where:
            where[code] = where[before]
            where[code].insert(where[code].index(before) + 1, code)
        before = code
    return groups


def markdown() -> str:
    """Return the tables of all codes under their headings, as the book's page has them.

    Example:
        >>> print(markdown().splitlines()[2])
        | wrong | usual cause | mend |
    """
    lines = []
    for title, codes in grouped().items():
        severity = CODES[codes[0]].severity
        head = (severity, "usual cause", "mend" if severity == "wrong" else "so")
        lines += ["", f"## {title}", "", _row(head), _row(("---",) * 3)]
        for name in codes:
            code = CODES[name]
            words = [code_set_off(words) for words in (code.sentence, code.cause, code.fix)]
            lines.append(_row((f"`{name}` {words[0]}", *words[1:])))
    return "\n".join(lines[1:])


# What is code in a sentence: an expression, a call, a tuple, an option, a name of two words.
_BRACKETS = r"(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\[[^]]*\])"
_TERM = rf"(?:[ab] (?:cos|sin)\b|-?[\w.]*\w{_BRACKETS}*(?:\.\w+{_BRACKETS}*)*|-?{_BRACKETS})"
_OPERATOR = r"(?: (?:[-+*/%=]|\*\*|//|\.\.) |/(?=[a-z0-9]\b))"
_CODE = re.compile(
    rf"(?<![\w-])(?:{_TERM}(?:{_OPERATOR}{_TERM})+"
    rf"|\.?[\w.]*\w{_BRACKETS}+"
    r"|\((?:-?\w+, )+-?\w+\)|\(\w+,\)|\[[^]]*\]"
    r"|--\w+ \d+|\+=|-[a-z]+\b(?!-)|\b(?:arange|argsort|deg2rad|einsum|unsqueeze)\b"
    r"|(?:\w+\.)*(?:\w+_\w+|\w+=)(?:\w+(?:\.\w+)*)?|[a-z]\w*(?:\.[a-z_]\w*)+)"
)


def code_set_off(text: str) -> str:
    """Return a sentence with what is code in it between backticks, as a page sets it.

    Example:
        >>> code_set_off("Write a cos - b sin for a, and fill inv_freq.")
        'Write `a cos - b sin` for a, and fill `inv_freq`.'
    """
    return _CODE.sub(r"`\g<0>`", text)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
