"""Rotations of q and k that do not fit each other."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, over_heads, plain
from ropelib import inv_freq
from ropelib.diagnosis import from_module


@exhibit("q rotated and k not", "k-not-rotated", layout="half", base=10_000)
def _():
    return {"rotate": (plain, lambda x, ids: x)}


@exhibit("k rotated and q not", "q-not-rotated", layout="half", base=10_000)
def _():
    return {"rotate": (lambda x, ids: x, plain)}


@exhibit("k in the opposite order within each call", "positions-reversed", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids.flip(-1)))}


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


@exhibit("dimensions of q alone change places", "q-and-k-orders-differ", layout="interleaved")
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


@exhibit("k turned back, beside frequencies", "q-and-k-directions-differ")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, -ids)), "inv_freq": PLAIN}


@exhibit("less of k rotates", "q-and-k-widths-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, PLAIN[:16]))}


@exhibit("k turns with another base", "q-and-k-frequencies-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids, inv_freq(DIM, 20_000.0)))}


@exhibit("k off by one", "off-by-one", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids + 1))}


def cut(x, ids, turning):
    parts = list(x.chunk(2, dim=-1))
    parts[turning] = plain(parts[turning], ids, inv_freq(DIM // 2))
    return torch.cat(parts, dim=-1)


@exhibit("q is (rope, nope) and k (nope, rope)", "q-and-k-dimensions-differ", layout="half")
def _():
    return {"rotate": (lambda x, ids: cut(x, ids, 0), lambda x, ids: cut(x, ids, 1))}


def joined(x, ids, order):
    x = plain(x, ids, layout="interleaved")
    return torch.cat([x[..., first::2] for first in order], dim=-1)


@exhibit("q joins (even, odd) and k (odd, even)", "q-and-k-orders-differ", layout="interleaved")
def _():
    return {
        "rotate": (lambda x, ids: joined(x, ids, (0, 1)), lambda x, ids: joined(x, ids, (1, 0)))
    }


@exhibit("q joins (turned, rest) and k (rest, turned)", "q-and-k-orders-differ", layout="half")
def _():
    def part(order):
        def rotate(x, ids):
            parts = plain(x[..., :16], ids, inv_freq(16)), x[..., 16:]
            return torch.cat(parts[::order], dim=-1)

        return rotate

    return {"rotate": (part(1), part(-1))}


@exhibit("halves of k change places as they come out", "q-and-k-orders-differ", layout="half")
def _():
    return {"rotate": (plain, lambda x, ids: plain(x, ids).roll(DIM // 2, -1))}


def by(factor):
    return lambda x, ids: plain(x, ids, factor=factor)


@exhibit("q alone has the scale of scores", notes=("q-and-k-factors-differ",))
def _():
    return {"rotate": (by(DIM**-0.5), plain)}


@exhibit("q has the scale of scores, and none is expected", "attention-factor-not-as-expected")
def _():
    return {"rotate": (by(DIM**-0.5), plain), "attention_factor": 1.0}


@exhibit("both have the scale of scores", "norm-not-kept")
def _():
    return {"rotate": (by(DIM**-0.5), by(DIM**-0.5))}


@exhibit("k alone has a factor", notes=("q-and-k-factors-differ",))
def _():
    return {"rotate": (plain, by(1.5))}


@exhibit("two factors whose product is expected", notes=("q-and-k-factors-differ",))
def _():
    return {"rotate": (plain, by(1.44)), "attention_factor": 1.2}


@exhibit("two factors whose product is that of other code", notes=("q-and-k-factors-differ",))
def _():
    return {"rotate": (by(1.44), plain), "expected": by(1.2)}


@exhibit("k alone has the factor that both should have", "attention-factor-missing")
def _():
    return {"rotate": (plain, by(1.2)), "attention_factor": 1.2}


@exhibit("k alone has a factor, and none is expected", "attention-factor-not-as-expected")
def _():
    return {"rotate": (plain, by(1.5)), "attention_factor": 1.0}


def twice(x, ids):
    return plain(plain(x, ids), ids)


@exhibit("q and k both rotated twice", "frequencies-multiplied", layout="half", base=10_000)
def _():
    return {"rotate": (twice, twice)}


def slow_still(x, ids):
    return plain(x, ids, PLAIN.where(torch.arange(DIM // 2) < 8, 0))


@exhibit("p-RoPE, q and k", base=10_000, notes=("slow-pairs-stand-still",))
def _():
    return {"rotate": (slow_still, slow_still)}


def in_turns(x, ids):
    return plain(x, ids, PLAIN * torch.tensor([1, -1]).repeat(DIM // 4))


@exhibit("every other pair turns back, q and k", notes=("mixed-directions",))
def _():
    return {"rotate": (in_turns, in_turns)}


def crossed(x, y, ids):
    """A rotation whose second half is made of the other of the two."""
    return torch.cat((plain(x, ids)[..., :32], plain(y, ids)[..., 32:]), -1)


@exhibit("half of q made of k", "q-and-k-mixed")
def _():
    return {"rotate": from_module(lambda q, k, ids: (crossed(q, k, ids), plain(k, ids)))}


@exhibit("half of k made of q", "q-and-k-mixed")
def _():
    return {"rotate": from_module(lambda q, k, ids: (plain(q, ids), crossed(k, q, ids)))}


@exhibit("half of each made of the other (ColossalAI 6444)", "q-and-k-mixed")
def _():
    return {
        "rotate": lambda q, k, position_ids: [crossed(*b, position_ids) for b in ((q, k), (k, q))]
    }


@exhibit("q and k exchanged", "q-and-k-mixed")
def _():
    return {"rotate": lambda q, k, position_ids: (plain(k, position_ids), plain(q, position_ids))}


@exhibit("half of q made of k, by offset", "q-and-k-mixed")
def _():
    def rotate(q, k, offset):
        ids = offset + torch.arange(q.shape[2])
        return crossed(q, k, ids), plain(k, ids)

    return {"rotate": rotate}


@exhibit("one buffer for q and k", "q-and-k-mixed")
def _():
    def rotate(q, k, ids):
        out = plain(q, ids)
        return out, out.copy_(plain(k, ids))

    return {"rotate": from_module(rotate)}


# v beside them


@exhibit("v is handed on as it is", base=10_000)
def _():
    return {
        "rotate": lambda q, k, v, position_ids: (plain(q, position_ids), plain(k, position_ids), v)
    }


@exhibit("v is turned as k is", "v-changed", layout="half", base=10_000)
def _():
    return {"rotate": lambda q, k, v, position_ids: [plain(x, position_ids) for x in (q, k, v)]}


@exhibit("v comes back as zeros", "v-changed", layout="half", base=10_000)
def _():
    def rotate(query, key, value, position_ids):
        return plain(query, position_ids), plain(key, position_ids), value * 0

    return {"rotate": rotate}


@exhibit("v is turned in place", "v-changed", layout="half", base=10_000)
def _():
    def rotate(q, k, v, position_ids):
        v.copy_(plain(v, position_ids))
        return plain(q, position_ids), plain(k, position_ids)

    return {"rotate": rotate}


# Grouped queries, in part of the calls


@exhibit("fewer heads of k in bfloat16 take the first", "grouped-queries-wrong", layout="half")
def _():
    def rotate(q, k, position_ids):
        turned = plain(k, position_ids)
        if k.dtype == torch.bfloat16 and k.shape[1] < q.shape[1]:
            turned = turned[:, :1].expand_as(turned)
        return plain(q, position_ids), turned

    return {"rotate": from_module(rotate)}


@exhibit("fewer heads of k have a table that ends", "grouped-queries-wrong", layout="half")
def _():
    def rotate(q, k, position_ids):
        last = 2047 if k.shape[1] < q.shape[1] else 8191
        return plain(q, position_ids), plain(k, position_ids.clamp(max=last))

    return {"rotate": from_module(rotate)}


@exhibit("fewer heads of k share the first row's positions", "grouped-queries-wrong")
def _():
    def rotate(q, k, position_ids):
        grouped = k.shape[1] < q.shape[1] and position_ids.dim() == 2
        ids = position_ids[:1].expand_as(position_ids) if grouped else position_ids
        return plain(q, position_ids), plain(k, ids)

    return {"rotate": from_module(rotate)}


# xPos far from its middle, where one of the two scales of a pair is lost beside others


def xpos(width, rotary, base, layout, arranged):
    """xPos whose scales are arranged for a layout, right or not that of the pairs."""
    zeta = (torch.arange(0, rotary, 2).double() / rotary + 0.4) / 1.4
    both = torch.cat((zeta, zeta)) if arranged == "half" else zeta.repeat_interleave(2)

    def grown(sign):
        def rotate(x, ids):
            turned = plain(x[..., :rotary].double(), ids, inv_freq(rotary, base), layout)
            scaled = turned * over_heads(both ** (sign * ids[..., None].double() / 512))
            return torch.cat((scaled.type_as(x), x[..., rotary:]), dim=-1)

        return rotate

    return {"rotate": (grown(1), grown(-1)), "head_dim": width}


for width, rotary, base, layout, other in (
    (128, 128, 5e5, "interleaved", "half"),
    (64, 32, 1e4, "interleaved", "half"),
    (96, 96, 1e4, "half", "interleaved"),
    (128, 64, 5e5, "half", "interleaved"),
):
    name = f"xPos, {rotary} of {width}, {layout}, scales as for {other}"
    exhibit(name, "decay-differs-within-pairs", layout=layout)(
        lambda case=(width, rotary, base, layout, other): xpos(*case)
    )


@exhibit("xPos, half of 128, far", notes=("xpos",))
def _():
    return xpos(128, 64, 5e5, "half", "half")
