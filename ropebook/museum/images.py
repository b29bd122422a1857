"""Wrong for images only: axes, and places that are no slots."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, by_angles, turn
from ropelib import inv_freq

HALL = Hall("images", "With an image", "Text alone is right, with an image it is not.")
AXIAL = inv_freq(32).repeat(2)
BLOCKS = (0,) * 8 + (1,) * 12 + (2,) * 12
TURNS = (0, 1, 2) * 10 + (0, 1)


@HALL.shows(
    "an image as long as its tokens",
    shows="nonsense",
    saw="With an image or a film: the the the the, from the first word on.",
    where="Blaizzy/mlx-vlm/issues/1619",
    also=("Blaizzy/mlx-vlm/pull/1527",),
    code="decode-differs",
    mend=("turn(x, slot,", "turn(x, slot + delta,"),
    part="decode",
    differs="In the thread the first step stands at position 0, and those after it at their slots.",
)
def slot_for_position(x, position_ids):
    """An image of 24 by 24 fills 576 slots, and moves on by 24."""
    delta = 24 - 576
    if x.shape[2] > 1:  # the prompt, image and all
        return turn(x, position_ids, SPEEDS)
    slot = position_ids - delta
    return turn(x, slot, SPEEDS)


@HALL.shows(
    "pairs dealt out in turn",
    shows="compared",
    saw="A reader notices: one model has its axes in turn, its forerunner had them in blocks.",
    where="Blaizzy/mlx-vlm/pull/576",
    code="axes-in-turn",
    mend=("torch.arange(32) % 3", "torch.tensor([0] * 8 + [1] * 12 + [2] * 12)"),
    meant=Meant(axis_of_pairs=BLOCKS),
)
def axes_in_turn(x, position_ids):
    """Positions are time, height and width: (3, batch, seq_len)."""
    axis_of_pair = torch.arange(32) % 3
    places = position_ids.movedim(0, -1)[..., axis_of_pair]
    return by_angles(x, places * SPEEDS)


@HALL.shows(
    "blocks where axes take turns",
    shows="nonsense",
    saw="Text is as before. With an image the answer never ends.",
    where="alibaba/MNN/pull/4133",
    also=("ollama/ollama/pull/12807",),
    code="axes-in-blocks",
    mend=("torch.tensor([0] * 8 + [1] * 12 + [2] * 12)", "torch.arange(32) % 3"),
    meant=Meant(axis_of_pairs=TURNS),
    differs="The thread's model, Qwen3-VL, has 64 pairs, 24 for time and 20 for each other axis: "
    "where those run out, at pairs 61 and 62, it is time's turn again.",
)
def axes_in_blocks(x, position_ids):
    """Positions are time, height and width: (3, batch, seq_len)."""
    axis_of_pair = torch.tensor([0] * 8 + [1] * 12 + [2] * 12)
    places = position_ids.movedim(0, -1)[..., axis_of_pair]
    return by_angles(x, places * SPEEDS)


@HALL.shows(
    "height for width",
    shows="fluent",
    saw="Square images are right, all others are not.",
    where="huggingface/pytorch-image-models/pull/2541",
    code="angles-drift",
    mend=("arange(rows), torch.arange(columns)", "arange(columns), torch.arange(rows)"),
    meant=Meant(AXIAL, axis_of_pairs=(1,) * 16 + (0,) * 16),
    differs="The name tells what is seen, angles that do not follow their position, and not why.",
)
def grid_on_its_side(x, position_ids):
    """Positions are height and width; "xy" wants the width first."""
    height, width = position_ids
    rows, columns = 512, 768
    sides = torch.arange(rows), torch.arange(columns)
    xs, ys = torch.meshgrid(sides, indexing="xy")
    token = height * columns + width
    xs, ys = xs.flatten()[token], ys.flatten()[token]
    return by_angles(x, torch.stack([xs] * 16 + [ys] * 16, -1) * AXIAL)
