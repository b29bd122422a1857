"""Right where the axes agree, as in text, and where one moves alone; wrong at places of images."""

import torch

from exhibits.kit import exhibit, swapped_halves, turn
from exhibits.several_axes import AXIAL, IN_BLOCKS, ROWS_FIRST, of, transformers
from ropelib import apply_rotary, inv_freq
from ropelib.axes import axial_cos_sin

FILM, PATCHES = of(IN_BLOCKS), of(ROWS_FIRST, AXIAL)


def is_image(ids):
    return bool((ids != ids[:1]).any())


def elsewhere(change, rotate=FILM):
    """Make a rotation that changes x and the places of images before they are used."""

    def changed(x, ids):
        return rotate(*change(x, ids)) if is_image(ids) else rotate(x, ids)

    return changed


# Right


@exhibit("Qwen2.5-VL, transformers", layout="half", notes=("several-axes",))
def _():
    rotate, config = transformers("qwen2_5_vl", "Qwen2_5_VL", mrope_section=[8, 12, 12])
    return {"rotate": rotate, "axes": 3, "expected": config}


@exhibit(
    "patches of one row, tables in bfloat16",
    layout="interleaved",
    notes=("several-axes", "tables-in-low-precision"),
)
def _():
    def rotate(x, ids):
        assert ids.dim() == 2, "one row"
        tables = axial_cos_sin(ids, AXIAL, sections=[16, 16])
        return apply_rotary(x, *(t.bfloat16().float() for t in tables), layout="interleaved")

    return {"rotate": rotate, "axes": 2}


@exhibit("a path for images that is right", layout="half", notes=("several-axes",))
def _():
    return {"rotate": elsewhere(lambda x, ids: (x, ids.contiguous().double())), "axes": 3}


# Wrong


@exhibit("one grid for all images of a batch", "batch-rows-share-positions", layout="half")
def _():
    return {"rotate": elsewhere(lambda x, ids: (x, ids[:, :1].expand_as(ids))), "axes": 3}


@exhibit("a batch that begins with text is text", "batch-rows-mixed", layout="half")
def _():
    def rotate(x, ids):
        text = ids.dim() == 3 and len(x) > 1 and not is_image(ids[:, :1])
        return FILM(x, ids[:1].expand_as(ids) if text else ids)

    return {"rotate": rotate, "axes": 3}


@exhibit("places of images in bfloat16", "positions-in-bfloat16", layout="half")
def _():
    return {"rotate": elsewhere(lambda x, ids: (x, ids.bfloat16().double())), "axes": 3}


@exhibit("a table for sides up to 300", "positions-clamped", layout="half")
def _():
    return {"rotate": elsewhere(lambda x, ids: (x, ids.clamp(max=299)), PATCHES), "axes": 2}


@exhibit("widths modulo 1000", "positions-wrap-around", layout="half")
def _():
    ends = torch.tensor([10**6, 1000])[:, None, None]
    return {"rotate": elsewhere(lambda x, ids: (x, ids % ends), PATCHES), "axes": 2}


@exhibit("far places of images one further", "image-places-wrong", layout="half")
def _():
    return {"rotate": elsewhere(lambda x, ids: (x, ids + (ids > 500))), "axes": 3}


@exhibit("a kernel for images of 256 tokens", "image-places-wrong", layout="half")
def _():
    def cut(x, ids):
        return x, torch.where(torch.arange(x.shape[2]) < 256, ids, 0)

    return {"rotate": elsewhere(cut), "axes": 3}


@exhibit("a square image by columns", "grid-transposed", layout="half")
def _():
    def by_columns(x, ids):
        height, width = ids[-2:].reshape(2, -1).amax(1) + 1
        square = height == width and height * width == x.shape[2]
        return x, torch.cat((ids[:-2], ids[-2:].flip(0))) if square else ids

    return {"rotate": elsewhere(by_columns), "axes": 3}


@exhibit("three rows of images are axes", "axes-told-by-lengths", layout="half")
def _():
    def axes_second(x, ids):
        return x, ids.transpose(0, 1) if ids.shape[1] == 3 else ids

    return {"rotate": elsewhere(axes_second), "axes": 3}


@exhibit("a step takes the time for all axes", "decode-differs", layout="half")
def _():
    def first(x, ids):
        return x, ids[:1].expand_as(ids) if x.shape[2] == 1 else ids

    return {"rotate": elsewhere(first), "axes": 3}


@exhibit("rows of single tokens at one place", "one-token-rows-wrong", layout="half")
def _():
    def first(x, ids):
        return x, ids[:, -1:].expand_as(ids) if x.shape[2] == 1 else ids

    return {"rotate": elsewhere(first), "axes": 3}


@exhibit("places read as contiguous memory", "strided-ids-misread", layout="half")
def _():
    def read(x, ids):
        dense = sorted(ids.stride(), reverse=True) != list(ids.stride()) and 0 not in ids.stride()
        stride = [ids[0].numel(), ids.shape[-1], 1]
        return x, torch.as_strided(ids, ids.shape, stride) if dense else ids

    return {"rotate": elsewhere(read), "axes": 3}


@exhibit("images of half precision without the height", "half-precision-differs", layout="half")
def _():
    def still(x, ids):
        keep = torch.tensor([1, x.dtype == torch.float32, 1])
        return x, ids * keep.view(3, *[1] * (ids.dim() - 1))

    return {"rotate": elsewhere(still), "axes": 3}


@exhibit("places take the dtype of x", "positions-in-bfloat16", layout="half")
def _():
    def cast(x, ids):
        return x, ids.to(x.dtype).double()

    return {"rotate": elsewhere(cast), "axes": 3}


@exhibit("angles of images by einsum", "wrong-under-autocast", layout="half")
def _():
    def rotate(x, ids):
        if not is_image(ids):
            return FILM(x, ids)
        own = torch.nn.functional.one_hot(torch.tensor(IN_BLOCKS)).T
        angles = torch.einsum("a...s,ap->...sp", ids.float(), own * inv_freq(64).float())
        return turn(x, angles.double(), "half")

    return {"rotate": rotate, "axes": 3}


class Back(torch.autograd.Function):
    """Turns by places, and the gradient by what `change` makes of the sine."""

    @staticmethod
    def forward(ctx, x, cos, sin, change):
        ctx.save_for_backward(cos, change(sin))
        return x * cos + swapped_halves(x) * sin

    @staticmethod
    def backward(ctx, gradient):
        cos, sin = ctx.saved_tensors
        return gradient * cos + swapped_halves(gradient) * sin, None, None, None


def with_backward(change):
    def rotate(x, ids):
        angles = ids[list(IN_BLOCKS)].movedim(0, -1).double() * inv_freq(64)
        angles = torch.cat((angles, angles), -1)
        tables = (
            t[:, None].float() if t.dim() == 3 else t.float() for t in (angles.cos(), angles.sin())
        )
        return Back.apply(x, *tables, change if is_image(ids) else torch.neg)

    return rotate


@exhibit("the gradient of images turned forward", "gradient-rotates-forward", layout="half")
def _():
    return {"rotate": with_backward(lambda sin: sin), "axes": 3}


@exhibit("the gradient of images not turned", "gradient-wrong", layout="half")
def _():
    return {"rotate": with_backward(torch.zeros_like), "axes": 3}
