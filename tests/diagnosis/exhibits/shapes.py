"""Right rotations of more widths, scalings, dtypes and ways to write them."""

import math
from types import SimpleNamespace

import numpy as np
import torch

from exhibits.kernels import kernel
from exhibits.kit import (
    DIM,
    PLAIN,
    exhibit,
    llama_pair,
    modeling,
    over_heads,
    plain,
    swapped_halves,
    swapped_neighbors,
    turn,
)
from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.diagnosis import from_tables, seq_first

PI = PLAIN * math.pi


@exhibit("frequencies from pi on", layout="half", base=10_000, notes=("linearly-scaled",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PI), "inv_freq": PI, "layout": "half"}


@exhibit(
    "neighbors from pi on, clockwise", layout="interleaved", notes=("clockwise",), direction=-1
)
def _():
    meant = SimpleNamespace(inv_freq=PI, layout="interleaved", direction=-1)
    return {"rotate": lambda x, ids: plain(x, ids, -PI, "interleaved"), "expected": meant}


for width in (20, 32, 80, 96, 128, 192):

    @exhibit(f"half of {width} dimensions", layout="half", head_dim=width)
    def _(width=width):
        return {"rotate": lambda x, ids: plain(x, ids, inv_freq(width)), "head_dim": width}


@exhibit("neighbors of 80 dimensions, base 1e6", layout="interleaved", base=1e6)
def _():
    def rotate(x, ids):
        return plain(x, ids, inv_freq(80, 1e6), "interleaved")

    return {"rotate": rotate, "head_dim": 80}


@exhibit("any width", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(x.shape[-1]))}


@exhibit("neighbors, the first half of any width", layout="interleaved", notes=("partial",))
def _():
    def rotate(x, ids):
        return plain(x, ids, inv_freq(x.shape[-1] // 2), "interleaved")

    return {"rotate": rotate, "inv_freq": inv_freq(DIM // 2), "layout": "interleaved"}


@exhibit("p-RoPE of neighbors", layout="interleaved", notes=("partial",))
def _():
    turning = PLAIN.where(torch.arange(DIM // 2) < 8, 0)
    return {"rotate": lambda x, ids: plain(x, ids, turning, "interleaved"), "inv_freq": turning}


@exhibit("as matrices", layout="interleaved", base=10_000)
def _():
    def rotate(x, ids):
        cos, sin = cos_sin(ids, inv_freq(x.shape[-1]))
        turns = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
        pairs = x.float().unflatten(-1, (-1, 2))
        return (turns.unsqueeze(-5) @ pairs[..., None])[..., 0].flatten(-2).to(x.dtype)

    return {"rotate": rotate}


@exhibit("by NumPy", layout="half", base=10_000, notes=("no-gradient",))
def _():
    def rotate(x, ids):
        angles = ids.numpy()[..., None, :, None] * PLAIN.numpy()
        a, b = np.split(x.float().numpy().astype(np.float64), 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return torch.from_numpy(np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)).to(x)

    return {"rotate": rotate}


@exhibit("a kernel with its own backward", layout="half", base=10_000)
def _():
    return {"rotate": kernel(lambda g, ids: plain(g, -ids))}


@exhibit("a kernel with its own backward, for q and k", layout="half", base=10_000)
def _():
    right = kernel(lambda g, ids: plain(g, -ids))
    return {"rotate": (right, right)}


@exhibit("compiled", layout="half", base=10_000)
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos().float(), angles.sin().float()
        return (x * cos + swapped_halves(x) * sin).to(x.dtype)

    torch.compiler.reset()
    return {"rotate": torch.compile(rotate, dynamic=True, backend="aot_eager")}


@exhibit("products in bfloat16", layout="interleaved", base=10_000, notes=())
def _():
    def rotate(x, ids):
        angles = over_heads((ids[..., None] * PLAIN).repeat_interleave(2, dim=-1))
        return x * angles.cos().to(x.dtype) + swapped_neighbors(x) * angles.sin().to(x.dtype)

    return {"rotate": rotate}


@exhibit("float64 inside", layout="half", base=10_000)
def _():
    def rotate(x, ids):
        cos, sin = (t.double() for t in cos_sin(ids, PLAIN, dtype=torch.float64))
        return apply_rotary(x.double(), cos, sin, layout="half").to(x.dtype)

    return {"rotate": rotate}


@exhibit("a result in another order of memory", layout="half", base=10_000)
def _():
    return {"rotate": seq_first(lambda x, ids: plain(x.transpose(1, 2), ids).transpose(1, 2))}


@exhibit("Llama 3.1's scaling", layout="half", notes=("not-geometric",))
def _():
    rope = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rope |= {"factor": 8.0, "original_max_position_embeddings": 2048}
    return {"rotate": llama_pair(rope_type="llama3", **rope)}


@exhibit("factors of LongRoPE", layout="half", notes=("not-geometric",))
def _():
    factors = torch.linspace(1, 40, DIM // 2, dtype=torch.float64) ** 1.1
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / factors, factor=1.19)}


@exhibit("Cohere, transformers", layout="interleaved", base=10_000)
def _():
    cohere = modeling("cohere")
    config = cohere.CohereConfig(hidden_size=4 * DIM, num_attention_heads=4)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    tables = cohere.CohereRotaryEmbedding(config)
    return {"rotate": from_tables(cohere.apply_rotary_pos_emb, tables)}


@exhibit("two axes, the same positions", layout="half", notes=("not-geometric",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, torch.cat((inv_freq(32), inv_freq(32))))}


@exhibit("three axes of 16, 24 and 24 dimensions", layout="interleaved", notes=("not-geometric",))
def _():
    frequencies = torch.cat([inv_freq(width) for width in (16, 24, 24)])
    return {"rotate": lambda x, ids: plain(x, ids, frequencies, "interleaved")}


@exhibit("two axes in turn", layout="half", notes=("not-geometric",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(32).repeat_interleave(2))}


@exhibit("one axis of three, in turn", base=10_000, notes=("pairs-between-stand-still",))
def _():
    height = PLAIN.where(torch.arange(DIM // 2) % 3 == 1, 0)
    return {"rotate": lambda x, ids: plain(x, ids, height)}


@exhibit("whole wavelengths (Resonance)", layout="half", notes=("not-geometric",))
def _():
    waves = (2 * math.pi / inv_freq(128)).round()
    return {"rotate": lambda x, ids: plain(x, ids, 2 * math.pi / waves), "head_dim": 128}


@exhibit("learned frequencies, near their beginning", layout="half", notes=("not-geometric",))
def _():
    noise = torch.randn(32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN * (0.2 * noise).exp())}


@exhibit("pixels' frequencies (lucidrains)", layout="interleaved", notes=("not-geometric",))
def _():
    frequencies = torch.linspace(1, 5, 16, dtype=torch.float64) * math.pi / 16
    return {"rotate": lambda x, ids: plain(x, ids, frequencies, "interleaved"), "head_dim": 32}


@exhibit("a decode step with its own count", layout="half", base=10_000)
def _():
    class Cache:
        length = 0

        def __call__(self, x, ids):
            ids = torch.arange(self.length, self.length + x.shape[2])
            self.length += x.shape[2]
            return plain(x, ids)

    return {"rotate": plain, "decode": Cache()}


@exhibit("a cache for one row", layout="half", base=10_000)
def _():
    def decode(x, ids):
        assert len(x) == 1, "one row"
        return plain(x, ids)

    return {"rotate": plain, "decode": decode}


@exhibit("base 100, of images", layout="half", base=100)
def _():
    return {
        "rotate": lambda x, ids: turn(x, ids[..., None].double() * inv_freq(DIM, 100.0), "half")
    }


@exhibit("rows alone are refused in bfloat16", base=10_000, notes=("calls-refused",))
def _():
    def rotate(x, ids):
        assert x.dtype != torch.bfloat16 or len(x) == 1, "one row"
        return plain(x, ids)

    return {"rotate": rotate}
