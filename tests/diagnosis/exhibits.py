"""Rotations, right and wrong, a few lines each, and what `diagnose` must say about them.

`python tests/exhibits.py` prints the table. Where another project's form is shown, it is written
anew from its formula; what transformers ships is imported.
"""

import importlib
import math
from dataclasses import dataclass, field

import torch

from ropelib import RotaryEmbedding, apply_rotary, inv_freq
from ropelib.diagnosis import diagnose, from_module, from_tables, seq_first

DIM = 64
PLAIN = inv_freq(DIM)


@dataclass(frozen=True)
class Exhibit:
    name: str
    make: object  # () -> keyword arguments of diagnose
    code: str | None = None  # of the first finding; None where nothing is wrong
    layout: str | None = None  # measured, where something is
    base: float | None = None
    notes: tuple[str, ...] = ()
    more: dict = field(default_factory=dict)  # further attributes of the report


EXHIBITS = []


def exhibit(name, code=None, layout=None, base=None, notes=(), **more):
    def register(make):
        EXHIBITS.append(Exhibit(name, make, code, layout, base, notes, more))
        return make

    return register


def modeling(name):
    """Import one model of transformers; late, since that takes seconds."""
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def turn(x, angles, layout, factor=1.0):
    """Rotate by angles `(seq_len, num_pairs)` or `(batch, seq_len, num_pairs)`."""
    cos, sin = (t.float() * factor for t in (angles.cos(), angles.sin()))
    return apply_rotary(x, cos, sin, layout=layout)


def plain(x, position_ids, frequencies=PLAIN, layout="half", factor=1.0):
    return turn(x, position_ids[..., None].double() * frequencies, layout, factor)


def swapped_halves(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def swapped_neighbors(x):
    return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)


def over_heads(angles):
    """Put an axis for the heads before the sequence."""
    return angles.unsqueeze(-3)


def round_mantissa(x, bits=10):
    """What TF32 keeps of a float32: ten bits of mantissa, rounded to nearest."""
    half = 1 << (22 - bits)
    mask = -1 << (23 - bits)
    return ((x.float().view(torch.int32) + half) & mask).view(torch.float32)


def yarn(inverted=False, factor=8.0, original=2048):
    """YaRN: pairs that turn often within the training length stay, slow ones are divided."""

    def pair_of(turns):
        return DIM * math.log(original / (2 * math.pi * turns)) / (2 * math.log(10_000))

    low, high = math.floor(pair_of(32)), math.ceil(pair_of(1))
    ramp = ((torch.arange(DIM // 2) - low) / (high - low)).clamp(0, 1).double()
    ramp = 1 - ramp if inverted else ramp
    return PLAIN * (1 - ramp) + PLAIN / factor * ramp


YARN_FACTOR = 0.1 * math.log(8) + 1


def llama_tables(**rope):
    llama = modeling("llama")
    config = llama.LlamaConfig(head_dim=DIM, hidden_size=4 * DIM, num_attention_heads=4)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 10_000.0, **rope}
    config.max_position_embeddings = 2048
    return llama.LlamaRotaryEmbedding(config)


def llama_pair(**rope):
    return from_tables(modeling("llama").apply_rotary_pos_emb, llama_tables(**rope))


# Right


@exhibit("ropelib, half", layout="half", base=10_000)
def _():
    return {"rotate": from_module(RotaryEmbedding(DIM, layout="half"))}


@exhibit("ropelib, interleaved, base 500000", layout="interleaved", base=500_000)
def _():
    return {"rotate": RotaryEmbedding(DIM, layout="interleaved", base=500_000.0)}


@exhibit("Llama, transformers", layout="half", base=10_000, notes=("angles-in-float32",))
def _():
    return {"rotate": llama_pair()}


@exhibit("GPT-J, transformers", layout="interleaved", base=10_000, notes=("angles-in-float32",))
def _():
    gptj = modeling("gptj")
    table = gptj.create_sinusoidal_positions(8192, DIM)

    def rotate(x, position_ids):
        sin, cos = table[position_ids].to(x.dtype).chunk(2, dim=-1)
        return gptj.apply_rotary_pos_emb(x, sin, cos)

    def with_batch(x, position_ids):
        return rotate(x, position_ids.expand(len(x), -1))

    return {"rotate": seq_first(with_batch)}


@exhibit("Meta, complex", layout="interleaved", base=10_000, notes=("angles-in-float32",))
def _():
    angles = torch.outer(torch.arange(8192.0), PLAIN.float())
    table = torch.polar(torch.ones_like(angles), angles)

    def rotate(x, position_ids):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * table[position_ids].unsqueeze(-2)
        return torch.view_as_real(turned).flatten(-2).type_as(x)

    return {"rotate": seq_first(rotate)}


@exhibit("torchtune's form", layout="interleaved", base=10_000, notes=("angles-in-float32",))
def _():
    angles = torch.arange(8192.0)[:, None] * PLAIN.float()
    cache = torch.stack((angles.cos(), angles.sin()), dim=-1)  # (positions, pairs, 2)

    def rotate(x, position_ids):
        pairs = x.float().unflatten(-1, (-1, 2))
        cos, sin = cache[position_ids].unsqueeze(-3).unbind(-1)  # (..., seq_len, 1, pairs)
        first, second = pairs.unbind(-1)
        turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return turned.flatten(-2).type_as(x)

    return {"rotate": seq_first(rotate)}


@exhibit("lucidrains' form", layout="interleaved", base=10_000, notes=("angles-in-float32",))
def _():
    def rotate(x, position_ids):
        angles = position_ids[..., None].float() * PLAIN.float()
        angles = over_heads(angles.repeat_interleave(2, dim=-1))
        return (x * angles.cos() + swapped_neighbors(x) * angles.sin()).type_as(x)

    return {"rotate": rotate}


@exhibit("RoFormer's form (001)", layout="interleaved", base=10_000, notes=("angles-in-float32",))
def _():
    def rotate(x, position_ids):
        angles = position_ids[..., None].float() * PLAIN.float()
        sinusoid = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
        cos = over_heads(sinusoid[..., 1::2].repeat_interleave(2, dim=-1))
        sin = over_heads(sinusoid[..., 0::2].repeat_interleave(2, dim=-1))
        return (x * cos + swapped_neighbors(x) * sin).to(x.dtype)

    return {"rotate": rotate}


@exhibit("read as pairs, written as halves (001)", layout="interleaved", notes=("output-permuted",))
def _():
    def rotate(x, position_ids):
        angles = over_heads(position_ids[..., None].double() * PLAIN)
        cos, sin = angles.cos().float(), angles.sin().float()
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.cat((even * cos - odd * sin, even * sin + odd * cos), dim=-1).to(x.dtype)

    return {"rotate": rotate}


@exhibit(
    "GPT-NeoX, a quarter rotates", layout="half", base=10_000, notes=("partial",), rotary_dim=16
)
def _():
    gpt_neox = modeling("gpt_neox")
    config = gpt_neox.GPTNeoXConfig(hidden_size=4 * DIM, num_attention_heads=4)
    config.rope_parameters["partial_rotary_factor"] = 0.25
    tables = gpt_neox.GPTNeoXRotaryEmbedding(config)
    return {"rotate": from_tables(gpt_neox.apply_rotary_pos_emb, tables)}


@exhibit("trailing half rotates", layout="interleaved", base=10_000, notes=("trailing-dimensions",))
def _():
    def rotate(x, position_ids):
        still, moving = x.chunk(2, dim=-1)
        moving = plain(moving, position_ids, inv_freq(DIM // 2), "interleaved")
        return torch.cat((still, moving), dim=-1)

    return {"rotate": rotate, "layout": "interleaved"}


@exhibit("p-RoPE, a quarter of the pairs turns", base=10_000, notes=("slow-pairs-stand-still",))
def _():
    frequencies = PLAIN.clone()
    frequencies[8:] = 0
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)}


@exhibit("nanochat, clockwise", layout="half", notes=("clockwise",), direction=-1)
def _():
    nanochat = modeling("nanochat")
    config = nanochat.NanoChatConfig(hidden_size=4 * DIM, num_attention_heads=4)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    tables = nanochat.NanoChatRotaryEmbedding(config)
    return {"rotate": from_tables(nanochat.apply_rotary_pos_emb, tables)}


@exhibit("linear scaling by 4", layout="half", base=10_000, notes=("linearly-scaled",), factor=4)
def _():
    return {"rotate": llama_pair(rope_type="linear", factor=4.0)}


@exhibit("YaRN with its factor", base=10_000, notes=("not-geometric", "attention-factor"))
def _():
    rotate = llama_pair(rope_type="yarn", factor=8.0, original_max_position_embeddings=2048)
    return {"rotate": rotate, "inv_freq": yarn(), "attention_factor": YARN_FACTOR}


@exhibit("a factor of 1.0005", notes=("attention-factor",), attention_factor=1.0005)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=1.0005)}


@exhibit("dynamic NTK, one pass", layout="half", notes=("frequencies-depend-on-length",))
def _():
    return {"rotate": llama_pair(rope_type="dynamic", factor=4.0)}


@exhibit("xPos, q and k", layout="half", base=10_000, notes=("xpos",), positions=256)
def _():
    def rotate(x, ids, sign):
        scale = 1.003 ** (sign * ids.double())
        return plain(x, ids) * over_heads(scale[..., None]).float()

    return {
        "rotate": (lambda x, ids: rotate(x, ids, 1), lambda x, ids: rotate(x, ids, -1)),
        "max_position": 256,
    }


@exhibit("the middle half rotates", layout="half", base=10_000, notes=("middle-dimensions",))
def _():
    def rotate(x, ids):
        before, moving, after = x.split([16, 32, 16], dim=-1)
        return torch.cat((before, plain(moving, ids, inv_freq(32)), after), dim=-1)

    return {"rotate": rotate}


@exhibit("every other pair turns back", layout="half", notes=("mixed-directions",))
def _():
    signs = torch.tensor([1, -1]).repeat(DIM // 4)
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN * signs)}


@exhibit("halves that mirror each other", notes=("unusual-pairs",))
def _():
    order = [*range(32), *range(63, 31, -1)]
    return {"rotate": lambda x, ids: plain(x[..., order], ids)[..., order]}


@exhibit("tables in bfloat16", layout="half", notes=("tables-in-low-precision",))
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN)
        cos, sin = angles.cos().bfloat16().float(), angles.sin().bfloat16().float()
        return apply_rotary(x, cos, sin, layout="half")

    return {"rotate": rotate}


@exhibit("a table of 300 positions", base=10_000, notes=("table-ends",), positions=256)
def _():
    def rotate(x, ids):
        if ids.max() >= 300:
            raise IndexError("index out of range")
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("in place", base=10_000, notes=("changes-its-input",))
def _():
    return {"rotate": lambda x, ids: x.copy_(plain(x, ids))}


@exhibit("one row of positions for all", base=10_000, notes=("rows-refused",))
def _():
    def rotate(x, ids):
        assert ids.dim() == 1, "one row only"
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("rows of positions only", base=10_000)
def _():
    def rotate(x, ids):
        assert ids.shape == (x.shape[0], x.shape[2]), "one row for each of the batch"
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("always float32", base=10_000, notes=("dtype-changed",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids).float()}


@exhibit("float32 alone", base=10_000, notes=("bfloat16-refused",))
def _():
    def rotate(x, ids):
        assert x.dtype == torch.float32
        return plain(x, ids)

    return {"rotate": rotate}


# Wrong: precision


@exhibit("positions in bfloat16", "positions-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.bfloat16())}


@exhibit("positions in the dtype of x", "positions-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.to(x.dtype))}


@exhibit("positions in TF32", "positions-in-tf32")
def _():
    return {"rotate": lambda x, ids: plain(x, round_mantissa(ids))}


@exhibit("a TF32 product of positions and frequencies", "positions-in-tf32")
def _():
    frequencies = round_mantissa(PLAIN)
    return {"rotate": lambda x, ids: plain(x, round_mantissa(ids), frequencies)}


@exhibit("positions in float16", "positions-in-float16")
def _():
    def rotate(x, ids):
        return plain(x, ids.to(torch.float16 if x.dtype == torch.float16 else torch.float64))

    return {"rotate": rotate}


@exhibit("model.bfloat16() takes the frequencies along", "frequencies-in-bfloat16")
def _():
    apply = modeling("llama").apply_rotary_pos_emb
    return {"rotate": from_tables(apply, llama_tables().bfloat16())}


@exhibit("model.half() takes the frequencies along", "frequencies-in-float16")
def _():
    apply = modeling("llama").apply_rotary_pos_emb
    return {"rotate": from_tables(apply, llama_tables().half())}


@exhibit("frequencies in TF32", "frequencies-in-tf32")
def _():
    # float16 holds larger frequencies as exactly.
    frequencies = round_mantissa(inv_freq(DIM, 500_000.0))
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)}


@exhibit("frequencies in the dtype of x", "frequencies-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN.to(x.dtype))}


@exhibit("angles and tables in bfloat16", "angles-in-bfloat16")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None].bfloat16() * PLAIN.bfloat16())
        return apply_rotary(x, angles.cos().float(), angles.sin().float(), layout="half")

    return {"rotate": rotate}


@exhibit("angles in the dtype of x", "angles-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: turn(x, (ids[..., None] * PLAIN).to(x.dtype), "half")}


@exhibit("angles in float16", "angles-in-float16")
def _():
    def rotate(x, ids):
        dtype = torch.float16 if x.dtype == torch.float16 else torch.float64
        return turn(x, (ids[..., None] * PLAIN).to(dtype), "half")

    return {"rotate": rotate}


@exhibit("angles in bfloat16 (gpt-neox)", "angles-in-bfloat16")
def _():
    def rotate(x, ids):
        return turn(x, ids[..., None].bfloat16() * PLAIN.bfloat16(), "half")

    return {"rotate": rotate}


# Wrong: layouts and tables


@exhibit("V-JEPA 2, transformers", "half-angles-on-interleaved-pairs")
def _():
    def rotate(x, position_ids):
        positions = position_ids.expand(len(x), -1)[:, None].to(x.dtype)
        return modeling("vjepa2").rotate_queries_or_keys(x, positions.expand(-1, x.shape[1], -1))

    return {"rotate": rotate}


@exhibit("neighbors' angles on halves", "interleaved-angles-on-half-pairs")
def _():
    def rotate(x, ids):
        angles = over_heads((ids[..., None] * PLAIN).float().repeat_interleave(2, dim=-1))
        return x * angles.cos() + swapped_halves(x) * angles.sin()

    return {"rotate": rotate}


@exhibit("one half's angles in reverse", "angles-differ-within-pairs")
def _():
    def rotate(x, ids):
        angles = over_heads((ids[..., None] * PLAIN).float())
        angles = torch.cat((angles, angles.flip(-1)), dim=-1)
        return x * angles.cos() + swapped_halves(x) * angles.sin()

    return {"rotate": rotate}


@exhibit("summed over dimensions", "not-pairwise")
def _():
    return {"rotate": lambda x, ids: x.cumsum(-1) * (1 + over_heads(ids[..., None]))}


@exhibit("slower from head to head", "heads-differ")
def _():
    def rotate(x, ids):
        slower = 1 + torch.arange(x.shape[1])[:, None, None]
        angles = (over_heads(ids[..., None] * PLAIN) / slower).float().repeat_interleave(2, dim=-1)
        return (x * angles.cos() + swapped_neighbors(x) * angles.sin()).to(x.dtype)

    return {"rotate": rotate}


@exhibit("only the first head turns", "heads-differ")
def _():
    return {"rotate": lambda x, ids: torch.cat((plain(x[:, :1], ids), x[:, 1:]), dim=1)}


@exhibit("tables broadcast over heads (004)", "rotates-by-head")
def _():
    def rotate(x, position_ids):
        angles = position_ids[..., None] * PLAIN.float()
        cos, sin = angles.cos(), angles.sin()
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

    return {"rotate": seq_first(rotate)}


@exhibit("torchtune's form, not wrapped", "takes-sequence-first")
def _():
    def rotate(x, ids):
        angles = (ids[..., None].double() * PLAIN).unsqueeze(-2)  # an axis for the heads
        cos, sin = angles.cos().float(), angles.sin().float()
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).type_as(x)

    return {"rotate": rotate}


@exhibit("axis taken by its size", "rotates-by-head")
def _():
    def rotate(x, ids):
        if x.shape[1] == ids.shape[-1]:  # "it must be (batch, seq_len, num_heads, head_dim)"
            return plain(x.transpose(1, 2), ids).transpose(1, 2)
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("the columns with d/2 entries (002)", "tables-half-width")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN.float())
        return x * angles.cos() + swapped_neighbors(x) * angles.sin()

    return {"rotate": rotate}


@exhibit("sin and cos swapped", "sin-and-cos-swapped")
def _():
    def apply(q, k, sin, cos):
        return modeling("llama").apply_rotary_pos_emb(q, k, cos, sin)

    return {"rotate": from_tables(apply, llama_tables())}


@exhibit("minus sign forgotten", "minus-sign-missing")
def _():
    def rotate(x, ids):
        angles = over_heads((ids[..., None] * PLAIN).float().repeat(1, 2))
        return x * angles.cos() + x.roll(DIM // 2, dims=-1) * angles.sin()

    return {"rotate": lambda x, ids: rotate(x, ids.reshape(-1) if ids.dim() == 1 else ids[0])}


@exhibit("last pair not rotated", "last-pair-not-rotated", layout="half")
def _():
    frequencies = PLAIN.clone()
    frequencies[-1] = 0
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)}


@exhibit("last pair not rotated, interleaved", "last-pair-not-rotated", layout="interleaved")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN[:-1], "interleaved")}


@exhibit("divided by sqrt(head_dim)", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) / DIM**0.5}


@exhibit("divided by the fourth root of head_dim", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=DIM**-0.25)}


@exhibit("divided by sqrt(rotary_dim)", "norm-not-kept", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(16), factor=1 / 4)}


@exhibit("a mean in place of a sum", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) / 2**0.5}


@exhibit("what does not rotate is scaled too", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: 1.2 * plain(x, ids, inv_freq(16))}


@exhibit("slow pairs weigh less", "norm-not-kept", layout="half")
def _():
    weights = torch.linspace(1, 0.5, DIM // 2)
    return {"rotate": lambda x, ids: plain(x, ids, factor=weights)}


@exhibit("a decay over positions", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) * 0.999 ** over_heads(ids[..., None].float())}


@exhibit("noise added", "not-deterministic")
def _():
    generator = torch.Generator().manual_seed(0)

    def rotate(x, ids):
        return plain(x, ids) + 0.01 * torch.randn(x.shape, generator=generator).to(x.dtype)

    return {"rotate": rotate}


@exhibit("normalized inside", "not-linear")
def _():
    return {"rotate": lambda x, ids: plain(torch.nn.functional.rms_norm(x, (DIM,)), ids)}


@exhibit("sinusoids added", "adds-a-vector")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN.float())
        return x + torch.cat((angles.sin(), angles.cos()), dim=-1).to(x.dtype)

    return {"rotate": rotate}


@exhibit("nothing rotated", "does-not-rotate")
def _():
    return {"rotate": lambda x, ids: x.clone()}


# Wrong: positions


@exhibit("off by one", "off-by-one", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 1)}


@exhibit("three late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 3)}


@exhibit("half a token late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.double() + 0.5)}


@exhibit("half a radian added to every angle", "turned-at-position-0", layout="half")
def _():
    return {"rotate": lambda x, ids: turn(x, ids[..., None] * PLAIN + 0.5, "half")}


@exhibit("the square of the position", "angles-drift", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.double() ** 2 / 100)}


@exhibit("a degree more at odd positions", "not-relative", layout="half")
def _():
    def rotate(x, ids):
        return turn(x, ids[..., None] * PLAIN + math.radians(1) * (ids % 2)[..., None], "half")

    return {"rotate": rotate}


@exhibit("position_ids ignored", "position-ids-ignored", layout="interleaved", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, torch.arange(x.shape[2]), layout="interleaved")}


@exhibit("counted from the first of the call", "positions-restart", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids - ids[..., :1])}


@exhibit("a decode step at position 0", "decode-restarts-at-zero", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, torch.arange(x.shape[2]))}


@exhibit("single tokens at position 0", "decode-restarts-at-zero", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if x.shape[2] > 1 else 0 * ids)}


@exhibit("a decode step one late", "decode-off-by-one")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids + (x.shape[2] == 1))}


@exhibit("a decode step that forgets the prompt", "decode-forgets-the-prompt", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids - 8 * (x.shape[2] == 1))}


@exhibit("a decode step that turns back", "decode-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, -ids)}


@exhibit("dynamic NTK with a cache of old keys", "cached-keys-keep-old-frequencies")
def _():
    rotate, _ = llama_pair(rope_type="dynamic", factor=4.0)
    return {"rotate": rotate, "decode": rotate}


@exhibit("all rows at the positions of the first", "batch-rows-share-positions")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids[0])}


@exhibit("rows of the batch mixed up", "batch-rows-mixed")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids.flip(0))}


@exhibit("table clamped at 2048", "positions-clamped")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=2047))}


@exhibit("table wraps around at 2048", "positions-wrap-around")
def _():
    return {"rotate": lambda x, ids: plain(x, ids % 2048)}


# Wrong: scaling, and what only an expectation shows


@exhibit("YaRN's ramp inverted (litgpt)", "inverted-ramp")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, yarn(inverted=True), factor=YARN_FACTOR)}


@exhibit("YaRN's ramp inverted, against a configuration", "inverted-ramp")
def _():
    # Too few pairs keep their frequency to see two ends of one series without the configuration.
    frequencies = yarn(inverted=True, original=300)
    return {
        "rotate": lambda x, ids: plain(x, ids, frequencies),
        "inv_freq": yarn(original=300),
    }


@exhibit("YaRN without its factor", "attention-factor-missing")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, yarn()),
        "inv_freq": yarn(),
        "attention_factor": YARN_FACTOR,
    }


@exhibit("scaling not read from the configuration", "scaling-missing")
def _():
    return {"rotate": plain, "inv_freq": yarn()}


@exhibit("linear scaling multiplied", "factor-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN * 2), "inv_freq": PLAIN / 2}


@exhibit("base lost", "base-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": inv_freq(DIM, 500_000.0)}


@exhibit("code of the other layout", "layout-not-as-expected")
def _():
    return {"rotate": plain, "layout": "interleaved"}


@exhibit("half as wide as expected", "width-not-as-expected", layout="half")
def _():
    return {"rotate": plain, "inv_freq": PLAIN[:16]}


@exhibit("one frequency off", "frequencies-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": PLAIN * (1 + 0.001 * (torch.arange(DIM // 2) == 3))}


@exhibit("another factor", "attention-factor-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=1.1), "attention_factor": 1.2}


# Wrong: q and k


@exhibit("q rotated and k not", "k-not-rotated", layout="half", base=10_000)
def _():
    return {"rotate": (plain, lambda x, ids: x)}


@exhibit("k rotated and q not", "q-not-rotated", layout="half", base=10_000)
def _():
    return {"rotate": (lambda x, ids: x, plain)}


@exhibit("neither rotated", "does-not-rotate")
def _():
    return {"rotate": (lambda x, ids: x, lambda x, ids: x)}


@exhibit("q grows as k stays", "norm-not-kept", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids) * over_heads(1.003 ** ids[..., None]).float()

    return {"rotate": (rotate, plain), "max_position": 256}


@exhibit("q and k both grow", "norm-not-kept", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids) * over_heads(1.003 ** ids[..., None]).float()

    return {"rotate": (rotate, rotate), "max_position": 256}


@exhibit("dimensions of q alone change places", "q-and-k-layouts-differ")
def _():
    def moved(x, ids):
        x = plain(x, ids, layout="interleaved")
        return torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)

    return {"rotate": (moved, lambda x, ids: plain(x, ids, layout="interleaved"))}


@exhibit("layouts of q and k differ", "q-and-k-layouts-differ")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, layout="interleaved"))}


@exhibit("k turned back", "q-and-k-directions-differ")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, -ids))}


@exhibit("less of k rotates", "q-and-k-widths-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, PLAIN[:16]))}


@exhibit("k turns with another base", "q-and-k-frequencies-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, inv_freq(DIM, 20_000.0)))}


@exhibit("k off by one", "off-by-one", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids + 1))}


if __name__ == "__main__":
    for shown in EXHIBITS:
        report = diagnose(**shown.make())
        first = report.codes[0] if report.codes else ""
        base = f"{report.base:.6g}" if report.base else ""
        print(
            f"{shown.name:52} {'right' if report.ok else 'WRONG':6} {first:34} "
            f"{report.layout or '-':12} {base:8} {', '.join(report.codes[1:])}"
        )
