"""What an exhibit is, how it is entered, and what several are made of."""

import importlib
import math
from dataclasses import dataclass, field

import torch

from ropelib import apply_rotary, inv_freq
from ropelib.diagnosis import from_tables

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


def turned_back(by):
    """Turn vectors as `plain` does, and a gradient by what `by(upstream, ids)` makes of it."""

    class Turned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, ids):
            ctx.ids = ids
            return plain(x, ids)

        @staticmethod
        def backward(ctx, upstream):
            return by(upstream, ctx.ids), None

    return {"rotate": lambda x, ids: Turned.apply(x, ids)}


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


def yarn(inverted=False, factor=8.0, original=2048, betas=(32, 1)):
    """YaRN: pairs that turn often within the training length stay, slow ones are divided."""

    def pair_of(turns):
        return DIM * math.log(original / (2 * math.pi * turns)) / (2 * math.log(10_000))

    low, high = math.floor(pair_of(betas[0])), math.ceil(pair_of(betas[1]))
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


def in_eight_bits(kind, axes=None):
    """Return what rounds numbers to float8, or to whole numbers of eight bits by a factor."""

    def rounded(x):
        most = x.abs().amax(axes, keepdim=True) if axes else x.abs().max()
        step = most.clamp(min=1e-12) / (127 if kind == torch.int8 else torch.finfo(kind).max)
        parts = (x / step).round() if kind == torch.int8 else (x / step).to(kind).to(x.dtype)
        return parts * step

    return rounded
