"""Wrong for images only: axes, and places that are no slots."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, by_angles, turn
from ropelib import inv_freq

HALL = Hall("images", "Text alone is right, with an image it is not.")
AXIAL = inv_freq(32).repeat(2)
TIME = SPEEDS * (torch.arange(32) < 8)


@HALL.shows(
    "an image as long as its tokens",
    shows="nonsense",
    saw="With an image or a film: the the the the, from the first word on.",
    where="Blaizzy/mlx-vlm/issues/1619",
    also=("Blaizzy/mlx-vlm/pull/1527",),
    code="decode-differs",
    mend=("turn(x, slot,", "turn(x, slot + delta,"),
    part="decode",
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
    code="layout-not-as-expected",
    mend=("torch.arange(32) % 3", "torch.tensor([0] * 8 + [1] * 12 + [2] * 12)"),
    meant=Meant(TIME),
)
def axes_in_turn(x, position_ids):
    """A film runs, so time moves; height and width are 0."""
    still = torch.zeros_like(position_ids)
    axes = torch.stack((position_ids, still, still), -1)
    axis_of_pair = torch.arange(32) % 3
    return by_angles(x, axes[..., axis_of_pair] * SPEEDS)


@HALL.shows(
    "blocks where axes take turns",
    shows="nonsense",
    saw="Text is as before. With an image the answer never ends.",
    where="alibaba/MNN/pull/4133",
    also=("ollama/ollama/pull/12807",),
    code="width-not-as-expected",
    mend=("torch.tensor([0] * 8 + [1] * 12 + [2] * 12)", "torch.arange(32) % 3"),
    meant=Meant(SPEEDS * (torch.arange(32) % 3 == 1), by_results=True),
)
def axes_in_blocks(x, position_ids):
    """Down one column of the image, height moves."""
    still = torch.zeros_like(position_ids)
    axes = torch.stack((still, position_ids, still), -1)
    axis_of_pair = torch.tensor([0] * 8 + [1] * 12 + [2] * 12)
    return by_angles(x, axes[..., axis_of_pair] * SPEEDS)


@HALL.shows(
    "height for width",
    shows="fluent",
    saw="Square images are right, all others are not.",
    where="huggingface/pytorch-image-models/pull/2541",
    also=("Meituan-AutoML/VisionLLaMA/issues/4",),
    code="frequencies-not-as-expected",
    mend=("width, height =", "height, width ="),
    meant=Meant(AXIAL * (torch.arange(32) < 16), by_results=True),
)
def x_before_y(x, position_ids):
    """Down one column; a grid made as x, y is read as height, width."""
    still = torch.zeros_like(position_ids)
    width, height = position_ids, still
    axes = torch.stack([height] * 16 + [width] * 16, -1)
    return by_angles(x, axes * AXIAL)
