"""Half precision and what stays of it, large values, heads of a fused qkv, small differences."""

import torch

from exhibits.kit import PLAIN, exhibit, over_heads, plain, turn
from ropelib.diagnosis import from_module


@exhibit("the factor lost in float16", "half-precision-differs", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=1 + 0.08 * (x.dtype != torch.float16))}


for percent in (99, 99.9, 101):

    @exhibit(f"frequencies of {percent} % in bfloat16", "half-precision-differs", layout="half")
    def _(percent=percent):
        other = PLAIN * percent / 100
        return {
            "rotate": lambda x, ids: plain(x, ids, other if x.dtype == torch.bfloat16 else PLAIN)
        }


@exhibit("single tokens of float16 restart", "half-precision-differs", layout="interleaved")
def _():
    def rotate(x, ids):
        restarts = x.dtype == torch.float16 and x.shape[2] == 1
        return plain(x, 0 * ids if restarts else ids, layout="interleaved")

    return {"rotate": rotate}


@exhibit("tables cast by a call in bfloat16, and kept (sglang 33117)", "tables-stay-rounded")
def _():
    angles = torch.arange(8192)[:, None] * PLAIN
    tables = [angles.cos().float(), angles.sin().float()]

    def rotate(x, ids):
        tables[:] = [table.to(x.dtype) for table in tables]
        cos, sin = (over_heads(table[ids].float()) for table in tables)
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)

    return {"rotate": rotate}


@exhibit("no numbers in bfloat16", "not-finite", positions=None)
def _():
    return {"rotate": lambda x, ids: plain(x, ids) / (x.dtype != torch.bfloat16)}


@exhibit("angles of a product in float16 (Megatron 535)", "angles-in-float16", layout="half")
def _():
    def rotate(x, ids):
        return turn(x, (ids[..., None].half() * PLAIN.half()).double(), "half")

    return {"rotate": rotate}


@exhibit("tables of a product in float16 (gpt-neox 1003)", "angles-in-float16", layout="half")
def _():
    def rotate(x, ids):
        return turn(x, ids[..., None].half() * PLAIN.half(), "half")

    return {"rotate": rotate}


@exhibit("values beyond 100 cut off", "large-values-changed", layout="interleaved")
def _():
    return {"rotate": lambda x, ids: plain(x.clamp(-100, 100), ids, layout="interleaved")}


@exhibit("q of a fused qkv read as if alone", "strides-ignored", layout="half")
def _():
    def rotate(x, ids):
        batch, heads, tokens, width = x.shape
        if x.stride(2) > x.stride(1) and x.stride(2) != heads * width:
            step = (x.stride(0), width, heads * width, 1)
            x = x.as_strided((batch, heads, tokens, width), step, x.storage_offset())
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("one head of k is not turned", "grouped-queries-wrong", layout="half")
def _():
    def both(q, k, ids):
        return plain(q, ids), k if k.shape[1] == 1 < q.shape[1] else plain(k, ids)

    return {"rotate": from_module(both)}


@exhibit("keys a little faster than queries", "q-and-k-frequencies-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, PLAIN * (1 + 5e-5)))}


@exhibit("through another basis and back, in float32", layout="half", base=10_000)
def _():
    basis = torch.linalg.qr(torch.randn(64, 64, generator=torch.Generator().manual_seed(0)))[0]
    return {"rotate": lambda x, ids: plain(x.float() @ basis @ basis.T, ids).to(x.dtype)}
