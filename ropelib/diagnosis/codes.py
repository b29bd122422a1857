"""What each code of the diagnosis means: the one table of them."""

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
        "frequencies with signs",
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
        "one axis of several, moved alone",
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
        "p-RoPE, as in Gemma 4",
        "Right where it is meant; expected= says so.",
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
        "p-RoPE with its pairs at the wrong distance, or a partial rotation with d in its exponent",
        "Say which is meant: expected=.",
    ),
    "linearly-scaled": (
        "All frequencies are divided by one factor.",
        "linear scaling (position interpolation)",
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
        "Right where it is meant; expected= says so.",
    ),
    "frequencies-depend-on-length": (
        "Frequencies change with the length of the call.",
        "dynamic NTK, LongRoPE",
        "Rotate cached keys again, or fix the length; decode= tries it.",
    ),
    "table-ends": (
        "Not every position is taken.",
        "a table of fixed length",
        "Make it as long as the longest text.",
    ),
    "tables-in-low-precision": (
        "cos and sin are coarse even for float32 vectors.",
        "tables kept in bfloat16",
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
    "rows-refused": (
        "position_ids of shape (batch, seq_len) are refused.",
        "tables without a batch axis",
        "Needed where rows stand at different positions: packed texts, a step after prompts of "
        "different lengths.",
    ),
    "contiguous-positions-only": (
        "Positions are counted on from the first of the call.",
        "an offset: start_pos, offset, seqlen_offset",
        "Enough for one text at a time; packed or padded rows need position_ids.",
    ),
    "counts-itself": (
        "It takes no positions and numbers its tokens from 0.",
        "an encoder's rotation, or one for training alone",
        "Enough for whole texts; decoding and padded rows need positions.",
    ),
    "strides-refused": (
        "x is refused in another order of memory.",
        "view() where reshape() would do",
        "Call contiguous() before it.",
    ),
    "grouped-queries-refused": (
        "k with fewer heads than q is refused.",
        "q and k stacked, or shaped by one count of heads",
        "Needed by models with grouped queries: shape k by its own heads.",
    ),
    "no-gradient": (
        "No gradient comes back.",
        "detach(), no_grad, or code outside of torch",
        "Needed for training alone.",
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
    "angles-in-float32": (
        "Angles are products in float32, whose error grows with the position.",
        "what most code does",
        "Nothing, below some 100,000 positions.",
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


def markdown() -> str:
    """Return the table of all codes, as the book's page has it.

    Example:
        >>> print(markdown().splitlines()[0])
        | wrong | usual cause | mend |
    """
    lines = []
    for severity in ("wrong", "note"):
        head = (severity, "usual cause", "mend" if severity == "wrong" else "so")
        lines += ["", _row(head), _row(("---",) * 3)] if lines else [_row(head), _row(("---",) * 3)]
        lines += [
            _row((f"`{name}` {code.sentence}", code.cause, code.fix))
            for name, code in CODES.items()
            if code.severity == severity
        ]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
