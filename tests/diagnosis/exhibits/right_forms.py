"""Rotations that are right, in forms of real code that were once called wrong, or might be."""

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    YARN_FACTOR,
    exhibit,
    over_heads,
    plain,
    round_mantissa,
    swapped_halves,
    turn,
    yarn,
)
from exhibits.several_axes import of
from ropelib import apply_rotary, inv_freq
from ropelib.diagnosis import from_module

# Pairs that stand still between others


EVERY_THIRD = PLAIN.where(torch.arange(DIM // 2) % 3 == 0, 0)
STILL = ("pairs-between-stand-still",)


@exhibit("every third pair, as expected", layout="half", base=10_000, notes=STILL)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, EVERY_THIRD), "inv_freq": EVERY_THIRD}


@exhibit("every third of neighbors, as expected", layout="interleaved", base=10_000, notes=STILL)
def _():
    rotate = lambda x, ids: plain(x, ids, EVERY_THIRD, "interleaved")  # noqa: E731
    return {"rotate": rotate, "inv_freq": EVERY_THIRD, "layout": "interleaved"}


@exhibit("every second pair, from the second", layout="half", base=10_000, notes=STILL)
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) % 2 == 1, 0)
    return {"rotate": lambda x, ids: plain(x, ids, speeds)}


@exhibit("all but one pair, as expected", layout="half", base=10_000, notes=STILL)
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) != 5, 0)
    return {"rotate": lambda x, ids: plain(x, ids, speeds), "inv_freq": speeds}


@exhibit("the last neighbors, as expected", layout="interleaved", notes=("trailing-dimensions",))
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) >= 24, 0)
    return {"rotate": lambda x, ids: plain(x, ids, speeds, "interleaved"), "inv_freq": speeds}


# Several axes


def series_of(shares):
    """Each axis with its own series, one after the other."""
    axes = [axis for axis, share in enumerate(shares) for _ in range(share)]
    return axes, torch.cat([inv_freq(2 * share) for share in shares])


@exhibit("six axes, each with its series", layout="half", notes=("several-axes",))
def _():
    axes, speeds = series_of([4, 6, 6, 6, 5, 5])
    return {"rotate": of(axes, speeds), "axes": 6}


@exhibit("five axes, each with its series", layout="interleaved", notes=("several-axes",))
def _():
    axes, speeds = series_of([2, 3, 5, 9, 13])
    return {"rotate": of(axes, speeds, "interleaved"), "axes": 5, "inv_freq": speeds}


@exhibit("two axes in turn, unequal, each with its series", notes=("several-axes",))
def _():
    axes, speeds = series_of([20, 12])
    order = sorted(range(32), key=lambda i: (i if i < 20 else i - 20, i))  # both, then one
    return {"rotate": of([axes[i] for i in order], speeds[order]), "axes": 2}


@exhibit("six axes as text has them", layout="half", notes=("not-geometric",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, series_of([4, 6, 6, 6, 5, 5])[1])}


# Kernels of one dtype


def only(dtype):
    def rotate(x, ids):
        if x.dtype != dtype:
            raise RuntimeError(f"expected scalar type {dtype}, got {x.dtype}")
        return plain(x, ids)

    return rotate


@exhibit("a kernel of bfloat16 alone", layout="half", notes=("float32-refused",))
def _():
    return {"rotate": only(torch.bfloat16), "inv_freq": PLAIN, "layout": "half"}


@exhibit("a kernel of float16 alone", layout="half", notes=("float32-refused",))
def _():
    return {"rotate": only(torch.float16), "inv_freq": PLAIN}


@exhibit("q in bfloat16, k in float32", layout="half", notes=("vectors-in-low-precision",))
def _():
    def both(q, k, ids):
        return plain(q.bfloat16(), ids), plain(k.float(), ids)

    return {"rotate": from_module(both)}


# Coarse tables


def coarse(x, ids, speeds=PLAIN, factor=1.0, growth=0.0, layout="half"):
    """Rotate by tables in bfloat16; `growth` is xPos."""
    angles, ids = ids[..., None].double() * speeds, ids[..., None].double()
    lengths = factor * (1 + growth) ** ids
    tables = [(table * lengths).bfloat16().float() for table in (angles.cos(), angles.sin())]
    return apply_rotary(x, *tables, layout=layout)


@exhibit("bfloat16 tables, p-RoPE, a factor", notes=("attention-factor", "slow-pairs-stand-still"))
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) < 8, 0)
    return {"rotate": lambda x, ids: coarse(x, ids, speeds, 1.2), "attention_factor": 1.2}


@exhibit("p-RoPE with a factor", base=10_000, notes=("slow-pairs-stand-still", "attention-factor"))
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) < 8, 0)
    return {"rotate": lambda x, ids: plain(x, ids, speeds, factor=1.2)}


@exhibit("p-RoPE of neighbors with a factor, as expected", layout="interleaved", notes=("partial",))
def _():
    speeds = PLAIN.where(torch.arange(DIM // 2) < 8, 0)
    rotate = lambda x, ids: plain(x, ids, speeds, "interleaved", 1.2)  # noqa: E731
    return {"rotate": rotate, "inv_freq": speeds, "attention_factor": 1.2}


@exhibit("bfloat16 tables, YaRN", notes=("attention-factor", "tables-in-low-precision"))
def _():
    expected = {"inv_freq": yarn(), "attention_factor": YARN_FACTOR}
    return {"rotate": lambda x, ids: coarse(x, ids, yarn(), YARN_FACTOR), **expected}


@exhibit("bfloat16 tables, dynamic NTK", notes=("frequencies-depend-on-length",))
def _():
    def rotate(x, ids):
        base = 10_000 * max(1.0, (int(ids.max()) + 1) / 2048)
        return coarse(x, ids, inv_freq(DIM, base))

    return {"rotate": rotate}


@exhibit("bfloat16 tables, xPos", notes=("xpos",), positions=256)
def _():
    def rotate(growth):
        return lambda x, ids: coarse(x, ids, growth=growth)

    return {"rotate": (rotate(0.003), rotate(1 / 1.003 - 1)), "max_position": 256}


@exhibit("all in bfloat16, with a factor", notes=("vectors-in-low-precision",))
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None].double() * PLAIN)
        cos, sin = (
            (1.2 * t).bfloat16().repeat(*[1] * (t.dim() - 1), 2)
            for t in (angles.cos(), angles.sin())
        )
        low = x.bfloat16()
        return (low * cos + swapped_halves(low) * sin).to(x.dtype)

    return {"rotate": rotate}


# Forms of real code


@exhibit(
    "MLA, 64 of 192",
    layout="interleaved",
    base=10_000,
    head_dim=192,
    notes=("trailing-dimensions", "output-permuted"),
)
def _():
    def rotate(x, ids):  # neighbors first become halves
        still, moving = x.split([128, 64], dim=-1)
        halves = moving.unflatten(-1, (32, 2)).transpose(-1, -2).flatten(-2)
        return torch.cat((still, plain(halves, ids)), dim=-1)

    return {"rotate": rotate, "head_dim": 192}


@exhibit("ChatGLM, two positions", notes=("several-axes", "unusual-pairs"))
def _():
    def rotate(x, position, block_position):
        a, b = x.chunk(2, dim=-1)
        ids = position, block_position
        return torch.cat([plain(y, i, inv_freq(32)) for y, i in zip((a, b), ids, strict=True)], -1)

    return {"rotate": rotate, "axes": 2}


@exhibit("frequencies learned around zero", notes=("mixed-directions", "not-geometric"))
def _():
    speeds = torch.randn(32, generator=torch.Generator().manual_seed(3)).double()
    return {"rotate": lambda x, ids: plain(x, ids, speeds)}


@exhibit("frequencies that mirror each other", notes=("mixed-directions", "not-geometric"))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, torch.linspace(-1, 1, 32).double() ** 3)}


@exhibit("Megatron's order of axes inside", layout="half", base=10_000)
def _():
    def rotate(x, ids):  # (seq_len, batch, num_heads, head_dim)
        angles = (ids if ids.dim() == 2 else ids[None]).movedim(1, 0)[:, :, None, None] * PLAIN
        cos, sin = (t.float().repeat(1, 1, 1, 2) for t in (angles.cos(), angles.sin()))
        x = x.permute(2, 0, 1, 3)
        return (x * cos + swapped_halves(x) * sin).to(x.dtype).permute(1, 2, 0, 3)

    return {"rotate": rotate}


@exhibit("a layer without positions, as expected", notes=("nothing-turns",))
def _():
    return {"rotate": from_module(lambda q, k, ids: (q, k)), "inv_freq": torch.zeros(DIM // 2)}


@exhibit("a table that grows", layout="half", base=10_000)
def _():
    tables = []

    def rotate(x, ids):
        if not tables or int(ids.max()) >= len(tables[0]):
            angles = torch.arange(2 * int(ids.max()) + 2).double()[:, None] * PLAIN
            tables[:] = angles.cos().float(), angles.sin().float()
        return apply_rotary(x, *(table[ids] for table in tables), layout="half")

    return {"rotate": rotate}


# Scaled and centered coordinates, short tables


def axial(scale=1.0, shift=0.0, count=2, layout="half"):
    """Positions times a number on each axis, and each axis with its series."""
    axes, speeds = series_of([32 // count] * count)
    rotate = of(axes, speeds * scale, layout)
    return lambda x, ids: rotate(x, ids + shift)


@exhibit("an image's positions halved", layout="half", notes=("several-axes", "linearly-scaled"))
def _():
    return {"rotate": axial(0.5), "axes": 2}


@exhibit("an image's positions halved, as expected", layout="interleaved", notes=("several-axes",))
def _():
    rotate = axial(0.875, layout="interleaved")
    return {"rotate": rotate, "axes": 2, "expected": rotate}


@exhibit("an image's positions halved, as text has them", layout="half", notes=("not-geometric",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, series_of([16, 16])[1] / 2)}


@exhibit("coordinates from -1 to 1", layout="half", notes=("several-axes", "centered"))
def _():
    rotate = axial(4 * torch.pi / 224, -111.5)
    return {"rotate": rotate, "axes": 2, "expected": rotate}


def pixels(count, places=32, largest=256):
    """Frequencies up to `largest` half turns over coordinates from -1 to 1, most beyond pi."""
    speeds = torch.linspace(1, largest / 2, 32 // count).double() * torch.pi
    angles = torch.linspace(-1, 1, places).double()[:, None] * speeds

    def rotate(x, ids):
        each = ids if count > 1 else ids[None]
        return turn(x, torch.cat([angles[row] for row in each], dim=-1), "interleaved")

    return rotate


PIXELS = ("several-axes", "centered", "mixed-directions", "not-geometric")


@exhibit("pixels of an image (rotary-embedding-torch's README)", notes=PIXELS, positions=32)
def _():
    return {"rotate": pixels(2), "axes": 2, "max_position": 32}


@exhibit("pixels of a line", notes=("centered", "not-geometric", "few-positions"), positions=31)
def _():
    return {"rotate": pixels(1, 31, 10), "max_position": 31}


@exhibit(
    "pixels of a line, a table", notes=("centered", "table-ends", "not-geometric"), positions=32
)
def _():
    return {"rotate": pixels(1, 63, 10)}


@exhibit("q alone has centered coordinates", "positions-shifted", layout="half")
def _():
    return {"rotate": (axial(0.05, -6.5), axial(0.05)), "axes": 2}


SHORT = ("several-axes", "table-ends", "few-positions")


@exhibit("a table of 16 rows for each side", layout="half", notes=SHORT, positions=16)
def _():
    table = torch.arange(16).double()[:, None] * inv_freq(32)

    def rotate(x, row, column):
        angles = torch.cat((table[row], table[column]), dim=-1)
        return turn(x, angles, "half")

    return {"rotate": rotate, "axes": 2}


@exhibit("LongRoPE divides fast pairs too", base=10_000, notes=("not-geometric",))
def _():
    factors = torch.tensor([1.05] * 8 + [1.1] * 12 + [2.5] * 12).double()
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / factors)}


# Names that do not tell how it is called


@exhibit("heads first in Meta's form", layout="interleaved", base=10_000, notes=("called-as",))
def _():
    def apply_rotary_enc(xq, xk, freqs_cis):  # as SAM 2 has it
        pairs = (torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) for x in (xq, xk))
        table = freqs_cis.view(1, 1, *freqs_cis.shape)
        return tuple(torch.view_as_real(x * table).flatten(-2).type_as(xq) for x in pairs)

    return {"rotate": apply_rotary_enc}


UNLIKE = ("layout-unlike-the-form",)


@exhibit("halves in Meta's form", layout="half", base=10_000, notes=UNLIKE)
def _():
    def apply_rotary_emb(x, freqs_cis):  # as Gemma has it
        a, b = x.float().chunk(2, dim=-1)
        turned = torch.complex(a, b) * freqs_cis[:, None]
        return torch.cat((turned.real, turned.imag), dim=-1).type_as(x)

    return {"rotate": apply_rotary_emb}


@exhibit("clockwise by the tables it is handed", layout="half", base=10_000, notes=("clockwise",))
def _():
    def apply_rotary_emb(x, cos, sin):  # as nanochat has it
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1).type_as(x)

    return {"rotate": apply_rotary_emb}


@exhibit("flat queries, positions first", layout="half", base=10_000, notes=("called-as",))
def _():
    class Flat(torch.nn.Module):  # as vLLM has it
        head_size = 64

        def forward(self, positions, query, key):
            angles = positions.flatten()[:, None].double() * PLAIN

            def turned(x):
                heads = x.view(len(angles), 1, -1, self.head_size).transpose(1, 2)
                return turn(heads, angles[:, None], "half").transpose(1, 2).reshape(x.shape)

            return turned(query), turned(key)

    return {"rotate": Flat()}


# Rounded angles, which are no such form


@exhibit("angles in TF32", "angles-in-tf32", layout="half")
def _():
    return {"rotate": lambda x, ids: turn(x, round_mantissa(ids[..., None] * PLAIN), "half")}


@exhibit("frequencies for heads of 128, and no width said", notes=("called-as",), head_dim=128)
def _():
    frequencies = inv_freq(128)

    def rotate(x, position_ids):
        angles = position_ids[..., None].float() * frequencies.float()
        cos, sin = (over_heads(t) if t.dim() == 3 else t for t in (angles.cos(), angles.sin()))
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)

    return {"rotate": rotate}
