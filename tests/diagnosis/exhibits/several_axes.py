"""Positions with several axes: images and films, and text among them."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, modeling, over_heads, plain, swapped_halves, turn
from ropelib import apply_rotary, inv_freq
from ropelib.axes import axial_cos_sin, axial_inv_freq, axis_of_pairs
from ropelib.diagnosis import from_tables

AXIAL = axial_inv_freq(DIM, 2)
IN_BLOCKS = axis_of_pairs([8, 12, 12], order="chunked")  # of time, height, width
IN_TURN = axis_of_pairs([12, 10, 10], order="interleaved")
ROWS_FIRST = [0] * 16 + [1] * 16
FILM = [0] * 8 + [1] * 12 + [2] * 12
FILM_SPEEDS = torch.cat([inv_freq(2 * FILM.count(axis)) for axis in range(3)])


def of(of_pairs, frequencies=PLAIN, layout="half"):
    """Make a rotation of positions `(axes, ..., seq_len)` from the axis of each pair."""

    def rotate(x, ids):
        return turn(x, ids[list(of_pairs)].movedim(0, -1).double() * frequencies, layout)

    return rotate


def transformers(name, kind, **rope):
    """Return one model's rotation, as its file has it, and its configuration."""
    model = modeling(name)
    config = getattr(model, f"{kind}TextConfig")(
        hidden_size=4 * DIM, num_attention_heads=4, head_dim=DIM
    )
    config.rope_parameters = {"rope_type": "default", "rope_theta": 1e4, **rope}
    names = [f"{kind}{part}RotaryEmbedding" for part in ("", "Text")]
    tables = next(getattr(model, name) for name in names if hasattr(model, name))(config)
    return from_tables(model.apply_rotary_pos_emb, tables), config


# Right


@exhibit("M-RoPE in blocks", base=1e4, notes=("several-axes",), axis_of_pairs=IN_BLOCKS)
def _():
    return {"rotate": of(IN_BLOCKS), "axes": 3, "expected": of(IN_BLOCKS)}


@exhibit("M-RoPE in turn, ropelib", base=1e4, notes=("several-axes",), axis_of_pairs=IN_TURN)
def _():
    def rotate(x, ids):
        tables = axial_cos_sin(ids, PLAIN, sections=[12, 10, 10], order="interleaved")
        return apply_rotary(x, *tables, layout="interleaved")

    return {"rotate": rotate, "axes": IN_TURN, "inv_freq": PLAIN, "layout": "interleaved"}


@exhibit("Qwen2-VL, transformers", layout="half", notes=("several-axes", "angles-in-float32"))
def _():
    rotate, config = transformers("qwen2_vl", "Qwen2VL", mrope_section=[8, 12, 12])
    return {"rotate": rotate, "axes": 3, "expected": config}


@exhibit("Qwen3-VL, transformers", layout="half", notes=("several-axes", "angles-in-float32"))
def _():
    in_turn = {"mrope_section": [12, 10, 10], "mrope_interleaved": True}
    rotate, config = transformers("qwen3_vl", "Qwen3VL", **in_turn)
    return {"rotate": rotate, "axes": 3, "expected": config}


@exhibit("height and width, axes last", notes=("several-axes",), axis_of_pairs=ROWS_FIRST)
def _():
    rotate = of(ROWS_FIRST, AXIAL)
    return {"rotate": lambda x, ids: rotate(x, ids.movedim(-1, 0)), "axes": 2}


@exhibit("height and width, an argument for each", layout="half", notes=("several-axes",))
def _():
    rotate = of(ROWS_FIRST, AXIAL)

    def of_patches(x, height, width):
        assert height.dim() == 1, "one row of patches"
        return rotate(x, torch.stack((height, width)))

    return {"rotate": of_patches, "axes": ROWS_FIRST, "inv_freq": AXIAL}


@exhibit("mixed frequencies (RoPE-ViT)", layout="half", notes=("axes-mixed",))
def _():
    directions = torch.stack((PLAIN, PLAIN.flip(0)), -1)

    def rotate(x, ids):
        return turn(x, ids.movedim(0, -1).double() @ directions.T, "half")

    return {"rotate": rotate, "axes": 2, "expected": rotate}


@exhibit("time turns nothing, as expected", layout="half", notes=("several-axes",))
def _():
    return {"rotate": of([1] * 16 + [2] * 16, AXIAL), "axes": [1] * 16 + [2] * 16}


@exhibit("columns alone turn, as its pairs say", layout="half", notes=("several-axes",))
def _():
    return {"rotate": of([1] * 32), "axes": [1] * 32}


@exhibit("rows alone turn, as in the other code", layout="half", notes=("several-axes",))
def _():
    return {"rotate": of([0] * 32), "axes": 2, "expected": of([0] * 32)}


def late(*by):
    """Make a film's rotation whose axes are counted from other numbers than 0."""

    def rotate(x, ids):
        return of(FILM, FILM_SPEEDS)(x, ids + torch.tensor(by).view(-1, *[1] * (ids.dim() - 1)))

    return rotate


@exhibit("columns from the middle of a film", layout="half", notes=("several-axes", "centered"))
def _():
    return {"rotate": late(0, -7.5, -7.5), "axes": 3, "expected": late(0, -7.5, -7.5)}


@exhibit("frames in steps of half a second", layout="half", notes=("several-axes",))
def _():
    def rotate(x, ids):
        steps = torch.tensor([0.5, 1, 1]).view(-1, *[1] * (ids.dim() - 1))
        return of(FILM)(x, ids * steps)

    return {"rotate": rotate, "axes": 3}


# Wrong alone


@exhibit("(h, h, w, w) beside halves of the whole head", "angles-differ-within-pairs")
def _():
    def rotate(x, ids):
        rows, columns = (place[..., None].double() * inv_freq(DIM // 2) for place in ids)
        angles = over_heads(torch.cat((rows, rows, columns, columns), -1))
        return (x * angles.cos() + swapped_halves(x) * angles.sin()).to(x.dtype)

    return {"rotate": rotate, "axes": 2}


@exhibit("the time of a token for all of its axes", "axis-ignored", layout="half", base=1e4)
def _():
    return {"rotate": of([0] * 32), "axes": 3}


@exhibit("the width's pairs stand still", "axis-ignored")
def _():
    frequencies = PLAIN * (torch.tensor(IN_TURN) != 2)
    return {"rotate": of(IN_TURN, frequencies, "interleaved"), "axes": 3}


@exhibit("patches by their number", "axes-summed", layout="half")
def _():
    return {"rotate": lambda x, ids: of([0] * 32)(x, 24 * ids[:1] + ids[1:]), "axes": 2}


@exhibit("patches by their number, 96 in a row (OpenLTM 10)", "axes-summed", layout="half")
def _():
    return {"rotate": lambda x, ids: of([0] * 32)(x, 96 * ids[:1] + ids[1:]), "axes": 2}


@exhibit("patches by their number, 256 in a column", "axes-summed", layout="half")
def _():
    return {"rotate": lambda x, ids: of([0] * 32)(x, (ids[:1] + 256 * ids[1:]).float()), "axes": 2}


@exhibit("places written into (vllm 54519)", "position-ids-overwritten", layout="half")
def _():
    def rotate(x, ids):
        rotated = of(IN_BLOCKS)(x, ids)
        ids += 1
        return rotated

    return {"rotate": rotate, "axes": 3}


@exhibit("columns counted from 1 (vmlx-swift 225)", "off-by-one", layout="half")
def _():
    return {"rotate": late(0, 0, 1), "axes": 3}


@exhibit("rows three late, columns five", "positions-shifted", layout="half")
def _():
    return {"rotate": late(0, 3, 5), "axes": 3}


@exhibit("height times width", "not-relative", layout="half")
def _():
    def rotate(x, ids):
        height, width = ids
        together = torch.stack((height, width + height * width * (height != width)))
        return of(ROWS_FIRST, AXIAL)(x, together)

    return {"rotate": rotate, "axes": 2}


@exhibit("a frame turned by 45 degrees", "axes-summed", layout="half")
def _():
    def rotate(x, ids):
        height, width = ids
        return of(ROWS_FIRST)(x, torch.stack((height + width, height - width)))

    return {"rotate": rotate, "axes": 2}


@exhibit("the larger of row and column", "axes-ordered-by-size", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.amax(0)), "axes": 2}


@exhibit("text by its column alone", "text-turned-otherwise", layout="half")
def _():
    def rotate(x, ids):
        is_text = (ids == ids[:1]).all()
        return of(ROWS_FIRST, AXIAL)(x, torch.stack((0 * ids[0], ids[1])) if is_text else ids)

    return {"rotate": rotate, "axes": 2}


def with_sines(of_cosines, of_sines):
    def rotate(x, ids):
        cosines, sines = (ids[list(of)].movedim(0, -1) * PLAIN for of in (of_cosines, of_sines))
        return apply_rotary(x, cosines.cos().float(), sines.sin().float(), layout="half")

    return rotate


@exhibit("cosine of the row, sine of the column", "norm-not-kept", layout="half")
def _():
    return {"rotate": with_sines([0] * 32, [1] * 32), "axes": 2}


@exhibit("sections in the cosine alone", "norm-not-kept", layout="half")
def _():
    return {"rotate": with_sines(FILM, [0] * 32), "axes": 3}


OF_ONE_AXIS = [
    ("frames divided by their number", "positions-bent", 0, lambda p: p / (p.max() + 1)),
    ("columns clamped at 63", "positions-clamped", 2, lambda p: p.clamp(max=63)),
    ("rows in bfloat16", "positions-in-bfloat16", 1, lambda p: p.bfloat16().double()),
    ("the time of all frames left at 0", "axis-ignored", 0, lambda p: 0 * p),
]


def read_otherwise(axis, read):
    def rotate(x, ids):
        places = ids.double()
        places[axis] = read(places[axis])
        return of(FILM, FILM_SPEEDS)(x, places)

    return {"rotate": rotate, "axes": 3}


for name, code, axis, read in OF_ONE_AXIS:
    exhibit(name, code, layout="half")(lambda axis=axis, read=read: read_otherwise(axis, read))


@exhibit("frequencies of columns in bfloat16", "frequencies-in-bfloat16", layout="half")
def _():
    coarse = FILM_SPEEDS.bfloat16().double().where(torch.tensor(FILM) == 2, FILM_SPEEDS)
    return {"rotate": of(FILM, coarse), "axes": 3}


@exhibit("text by a base of its own", "text-turned-otherwise", layout="half", base=1e6)
def _():
    slow = PLAIN**1.5

    def rotate(x, ids):
        is_text = (ids == ids[:1]).all()
        return of(IN_BLOCKS, slow if is_text else PLAIN)(x, ids)

    return {"rotate": rotate, "axes": 3}


# Against what is expected


@exhibit("a model of images, as its text is rotated", base=10_000, notes=("axes-not-compared",))
def _():
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [8, 12, 12]}
    config = {"model_type": "qwen2_vl_text", "head_dim": DIM, "rope_parameters": rope}
    return {"rotate": plain, "expected": config}


@exhibit("height for width", "axes-exchanged", layout="half")
def _():
    return {"rotate": of(ROWS_FIRST, AXIAL), "axes": 2, "expected": of(ROWS_FIRST[::-1], AXIAL)}


@exhibit("blocks where axes take turns (MNN 4133)", "axes-in-blocks", layout="half")
def _():
    rotate, _ = transformers("qwen2_vl", "Qwen2VL", mrope_section=[12, 10, 10])
    in_turn = {"mrope_section": [12, 10, 10], "mrope_interleaved": True}
    _, config = transformers("qwen3_vl", "Qwen3VL", **in_turn)
    return {"rotate": rotate, "axes": 3, "expected": config}


@exhibit("turns where axes have blocks (mlx-vlm 576)", "axes-in-turn", layout="half")
def _():
    return {"rotate": of(IN_TURN), "axes": IN_BLOCKS, "inv_freq": PLAIN}


def film(times=(1, 1, 1), bases=(1e4, 1e4, 1e4)):
    series = [
        inv_freq(2 * FILM.count(axis), base) * factor
        for axis, (factor, base) in enumerate(zip(times, bases, strict=True))
    ]
    return of(FILM, torch.cat(series))


@exhibit("frames counted twice (CogVideo 538)", "factor-not-as-expected", layout="half")
def _():
    return {"rotate": film(), "axes": 3, "expected": film((0.5, 1, 1))}


@exhibit("frames eight times as fast", "factor-not-as-expected", layout="half")
def _():
    return {"rotate": film((8, 1, 1)), "axes": 3, "expected": film()}


@exhibit("theta lost on all axes (diffusers 10115)", "base-not-as-expected", layout="half")
def _():
    return {"rotate": film(), "axes": 3, "expected": film(bases=(2e3, 2e3, 2e3))}


@exhibit("theta lost on the axis of columns", "base-not-as-expected", layout="half")
def _():
    alone = inv_freq(DIM, 5e5).where(torch.tensor(IN_TURN) == 2, PLAIN)
    return {"rotate": of(IN_TURN), "axes": 3, "expected": of(IN_TURN, alone)}


@exhibit("sections in another order", "sections-not-as-expected", layout="half")
def _():
    return {"rotate": of([0] * 12 + [1] * 12 + [2] * 8), "axes": IN_BLOCKS}


@exhibit("mixed frequencies, axes exchanged", "sections-not-as-expected", layout="half")
def _():
    directions = torch.stack((PLAIN, PLAIN.flip(0)), -1)

    def rotate(x, ids):
        return turn(x, ids.movedim(0, -1).double() @ directions.T, "half")

    return {"rotate": lambda x, ids: rotate(x, ids.flip(0)), "axes": 2, "expected": rotate}


@exhibit("blocks in q, turns in k", "q-and-k-axes-differ", layout="half")
def _():
    return {"rotate": (of(IN_BLOCKS), of(IN_TURN)), "axes": 3}
