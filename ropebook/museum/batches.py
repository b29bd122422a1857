"""Wrong in a batch only: rows that stand at each other's places."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, by_angles, turn

HALL = Hall("batch", "In a batch", "One text is right, several at once are not.")


@HALL.shows(
    "rows that are never written",
    shows="fluent",
    saw="With several readers, all but the first get fluent text that is wrong.",
    where="ml-explore/mlx/issues/3949",
    also=("ml-explore/mlx/issues/3494", "ml-explore/mlx/issues/3795"),
    code="one-token-rows-wrong",
    mend=("result[0] = turned[0]", "result[:] = turned"),
)
def first_row_alone(x, position_ids):
    """For one token the launch counts heads, and forgets rows."""
    turned = turn(x, position_ids, SPEEDS)
    if x.shape[2] > 1:
        return turned
    result = torch.zeros_like(x)
    result[0] = turned[0]
    return result


@HALL.shows(
    "one count for all rows of a step",
    shows="nonsense",
    saw="Of texts filled up in front to one length, the longest is right and all shorter ones are "
    "garbage.",
    where="unslothai/unsloth/issues/3699",
    also=("unslothai/unsloth/pull/4100",),
    code="one-token-rows-wrong",
    mend=("rows = rows.max().view(1)", "pass"),
)
def cache_position(x, position_ids):
    """A prompt counts its own tokens, a step those of the longest."""
    rows = position_ids.view(-1, x.shape[2])
    if x.shape[2] == 1:
        rows = rows.max().view(1)
    return turn(x, rows, SPEEDS)


@HALL.shows(
    "one row of positions for all",
    shows="compared",
    saw="A fused kernel is right while all rows count alike. With positions of their own, all rows "
    "but the first are wrong.",
    where="linkedin/Liger-Kernel/pull/477",
    code="batch-rows-share-positions",
    mend=("rows[0]", "rows"),
    differs="Where padding in front is of later rows alone, no score of one pass changes, for each "
    "row is shifted as a whole. The thread's positions were made for images, and differ by more.",
)
def first_row_of_the_tables(x, position_ids):
    """The kernel steps from row to row of x, and not of cos and sin."""
    rows = position_ids.view(-1, x.shape[2])
    return turn(x, rows[0], SPEEDS)


@HALL.shows(
    "a product that sums over rows",
    shows="compared",
    saw="Right with one text, wrong with two: their positions are added.",
    where="huggingface/transformers/pull/29109",
    code="batch-rows-mixed",
    mend=("(SPEEDS[:, None].expand(-1, len(rows)) @ rows).T", "rows[..., None] * SPEEDS"),
)
def summed_over_the_batch(x, position_ids):
    """A matrix product over an axis that has one entry, at first."""
    rows = position_ids.view(-1, x.shape[2]).double()
    angles = (SPEEDS[:, None].expand(-1, len(rows)) @ rows).T
    return by_angles(x, angles)


@HALL.shows(
    "a count that runs on into the next text",
    shows="nonsense",
    saw="One question four times in a batch, no chance involved, and the answers differ.",
    where="turboderp/exllama/pull/101",
    code="batch-rows-mixed",
    mend=("row * x.shape[2]", "0 * row"),
    differs="In one pass no score changes: each row is shifted as a whole, by row times tokens. A "
    "step after it is shifted by another number. And late rows read past the table's end.",
)
def rows_end_to_end(x, position_ids):
    """Rows lie end to end in memory. So do their positions."""
    row = torch.arange(len(x))[:, None]
    return turn(x, position_ids + row * x.shape[2], SPEEDS)
