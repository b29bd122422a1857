"""Rotations that are right in one pass and for a token alone, and wrong in another step."""

import torch

from exhibits.kernels import as_contiguous, kernel
from exhibits.kit import (
    DIM,
    PLAIN,
    YARN_FACTOR,
    exhibit,
    over_heads,
    plain,
    swapped_neighbors,
    yarn,
)
from ropelib import inv_freq
from ropelib.diagnosis import from_module


def ntk(length, original=2048):
    """Frequencies of dynamic NTK by 4."""
    base = 10_000.0 * (4 * max(length, original) / original - 3) ** (DIM / (DIM - 2))
    return inv_freq(DIM, base)


# Steps of decoding


def by_offset(position):
    """Rotate from an offset; `position` says which, by the offset and how many tokens there are."""
    return lambda x, offset: plain(x, position(offset, x.shape[2]) + torch.arange(x.shape[2]))


@exhibit("an offset that a single token loses", "decode-restarts-at-zero", base=10_000)
def _():
    return {"rotate": by_offset(lambda offset, tokens: offset if tokens > 1 else 0)}


@exhibit("an offset of q alone that a single token loses", "decode-restarts-at-zero", base=10_000)
def _():
    of_q = by_offset(lambda offset, tokens: offset if tokens > 1 else 0)
    of_k = by_offset(lambda offset, tokens: offset)
    return {"rotate": lambda q, k, start_pos: (of_q(q, start_pos), of_k(k, start_pos))}


@exhibit("an offset that single tokens count already", "decode-off-by-one", base=10_000)
def _():
    return {"rotate": by_offset(lambda offset, tokens: offset + (tokens == 1))}


@exhibit("steps of a few tokens that stand still, by offset", "short-steps-wrong", base=10_000)
def _():
    def rotate(x, offset):
        ids = torch.arange(x.shape[2]) if not 1 < x.shape[2] < 5 else torch.zeros(x.shape[2])
        return plain(x, offset + ids)

    return {"rotate": rotate}


@exhibit("dynamic NTK for prompts, steps unscaled", "scaled-in-the-prefill-alone", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids, ntk(int(ids.max()) + 1) if x.shape[2] > 1 else PLAIN)

    return {"rotate": rotate}


@exhibit("dynamic NTK by the tokens of a call, an offset", "scaled-in-the-prefill-alone")
def _():
    def rotate(x, ids):
        return plain(x, ids.flatten()[0] + torch.arange(x.shape[2]), ntk(x.shape[2]))

    return {"rotate": rotate, "decode": rotate}


@exhibit("short factors in every step (LongRoPE)", "scaled-in-the-prefill-alone")
def _():
    def frequencies(x, ids):
        return PLAIN / 8 if ids.max() >= 4096 and x.shape[2] > 1 else PLAIN

    return {"rotate": lambda x, ids: plain(x, ids, frequencies(x, ids))}


@exhibit("steps of two in decoding alone", "short-steps-wrong", layout="half")
def _():
    def decode(x, ids):
        return plain(x, ids[:1].expand(ids.shape) if x.shape[2] == 2 else ids)

    return {"rotate": plain, "decode": decode}


@exhibit("steps of three in a batch", "short-steps-wrong", layout="half")
def _():
    def rotate(x, ids):
        stand_still = x.shape[2] == 3 and len(x) > 1
        return plain(x, ids[..., :1].expand(ids.shape) if stand_still else ids)

    return {"rotate": rotate}


@exhibit("single tokens beyond position 512 one late", "late-steps-wrong", layout="half")
def _():
    def rotate(x, ids):
        late = x.shape[2] == 1 and len(x) == 1 and 512 < ids.max() < 4096
        return plain(x, ids + 1 if late else ids)

    return {"rotate": rotate}


@exhibit("positions of single tokens in bfloat16", "late-steps-wrong", layout="half")
def _():
    def decode(x, ids):
        return plain(x, ids.bfloat16() if x.shape[2] == 1 else ids)

    return {"rotate": plain, "decode": decode}


@exhibit("a table of 256 rows that grows by the tokens of a call", "late-steps-wrong")
def _():
    table = [torch.arange(256)]

    def rotate(x, ids):
        if x.shape[-2] > len(table[0]):
            table[0] = torch.arange(x.shape[-2])
        return plain(x, table[0][ids])

    return {"rotate": rotate}


@exhibit("a step at the first slot of a page of 1024", "late-steps-wrong", layout="half")
def _():
    def decode(x, ids):
        return plain(x, 0 * ids if x.shape[2] == 1 and ids.min() % 1024 == 0 else ids)

    return {"rotate": plain, "decode": decode}


@exhibit("the second of two rows rests in a step", "one-token-rows-wrong", layout="half")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if x.shape[2] == 1 and len(x) == 2:
            rotated[1] = x[1]
        return rotated

    return {"rotate": rotate}


@exhibit("rows at the position of the first, in decoding alone", "one-token-rows-wrong")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids[0])}


@exhibit("single tokens in the other layout", "decode-differs", layout="half", base=10_000)
def _():
    pairs = {True: "interleaved", False: "half"}
    return {"rotate": lambda x, ids: plain(x, ids, layout=pairs[x.shape[2] == 1])}


@exhibit("a decode step in the other layout, of a part", "decode-differs", layout="interleaved")
def _():
    def part(layout):
        def rotate(x, ids):
            turned = plain(x[..., 32:], ids, inv_freq(32), layout)
            return torch.cat((x[..., :32], turned), -1)

        return rotate

    return {"rotate": part("interleaved"), "decode": part("half")}


@exhibit("keys that a step rotates once more", "decode-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(plain(x, ids), ids)}


@exhibit("single tokens three late, as by padding", "decode-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids + 3 * (x.shape[2] == 1))}


@exhibit("steps by a base of their own", "decode-differs", layout="half", base=500_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(DIM, 500_000.0)), "decode": plain}


@exhibit("steps of the whole head, where a quarter turns", "decode-differs", layout="half")
def _():
    def rotate(x, ids):
        return torch.cat((plain(x[..., :16], ids, inv_freq(16)), x[..., 16:]), -1)

    return {"rotate": rotate, "decode": plain}


@exhibit("steps with exponents of the whole head", "decode-differs", layout="half")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, inv_freq(16)),
        "decode": lambda x, ids: plain(x, ids, PLAIN[:8]),
    }


@exhibit("steps without YaRN's frequencies", "decode-differs", layout="half")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, yarn(), factor=YARN_FACTOR),
        "decode": lambda x, ids: plain(x, ids, factor=YARN_FACTOR),
    }


@exhibit("steps divided once more", "decode-differs", layout="half", base=10_000)
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, PLAIN / 2),
        "decode": lambda x, ids: plain(x, ids, PLAIN / 4),
    }


@exhibit("q of steps by a base of its own, k is right", "decode-differs", layout="half")
def _():
    def step(q, k, position_ids):
        of_one = inv_freq(DIM, 500_000.0) if q.shape[-2] == 1 else PLAIN
        return plain(q, position_ids, of_one), plain(k, position_ids)

    both = from_module(lambda q, k, ids: (plain(q, ids), plain(k, ids)))
    return {"rotate": both, "decode": from_module(step)}


@exhibit("single tokens cached as they are", "decode-restarts-at-zero", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids) if x.shape[2] > 1 else x}


@exhibit("single tokens cached as they are, beside a factor", "decode-differs", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids, factor=1.2)

    return {"rotate": rotate, "decode": lambda x, ids: rotate(x, ids) if x.shape[2] > 1 else x}


@exhibit("a step at the first slot of its page of 16", "decode-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids // 16 * 16)}


def restarts(x, ids, tokens):
    low = x.dtype == torch.bfloat16 and x.shape[2] == tokens and len(x) == 1
    return plain(x, 0 * ids if low else ids)


@exhibit("half precision: one token in decoding alone", "half-precision-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: restarts(x, ids, 1)}


@exhibit("half precision: one token in one row", "half-precision-differs", layout="half")
def _():
    return {"rotate": lambda x, ids: restarts(x, ids, 1)}


@exhibit("half precision: a step of two", "half-precision-differs", layout="half")
def _():
    return {"rotate": lambda x, ids: restarts(x, ids, 2)}


@exhibit("half precision: heads from the 64th on rest", "half-precision-differs", layout="half")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if x.dtype == torch.bfloat16 and x.shape[2] < 8:
            rotated[:, 64:] = x[:, 64:]
        return rotated

    return {"rotate": rotate}


@exhibit("tokens beyond a tile of 2048 are read one off", "tokens-mixed", layout="half")
def _():
    def rotate(x, ids):
        many = x.shape[2] > 2048
        return plain(torch.cat((x[:, :, :2048], x[:, :, 2047:-1]), 2) if many else x, ids)

    return {"rotate": rotate}


# xPos


def grown(x, ids, sign):
    return plain(x, ids) * over_heads(1.003 ** (sign * ids[..., None].double())).float()


def xpos(turned):
    """A pair of which one grows as the other shrinks."""
    pair = [lambda x, ids, sign=sign: turned(x, ids, sign) for sign in (1, -1)]
    return {"rotate": pair, "max_position": 256}


@exhibit("xPos, its decay from the middle of each call", "decay-centered-per-call", layout="half")
def _():
    def turned(x, ids, sign):
        middle = (ids.min() + ids.max()) // 2
        return grown(x, ids, sign) / 1.003 ** (sign * int(middle))

    return xpos(turned)


@exhibit("xPos, single tokens without their decay", "decode-differs", layout="half")
def _():
    return xpos(lambda x, ids, sign: grown(x, ids, sign * (x.shape[2] > 1)))


@exhibit("xPos, rows at the positions of the first", "batch-rows-share-positions", layout="half")
def _():
    return xpos(lambda x, ids, sign: grown(x, ids if ids.dim() == 1 else ids[0], sign))


@exhibit("xPos of whole texts, from their middle", layout="half", notes=("xpos",), positions=256)
def _():
    def both(q, k):
        ids = torch.arange(q.shape[-2])
        middle = len(ids) // 2
        return tuple(
            grown(x, ids, sign) / 1.003 ** (sign * middle) for x, sign in ((q, 1), (k, -1))
        )

    return {"rotate": both, "max_position": 256}


# Grouped queries


def pair_of(turn_both):
    return {"rotate": from_module(lambda q, k, position_ids: turn_both(q, k, position_ids))}


def turned(q, k, ids):
    return plain(q, ids), plain(k, ids)


@exhibit("k by the remainder, 32 heads on 8", "grouped-queries-wrong", layout="half")
def _():
    return pair_of(lambda q, k, ids: turned(q, k.roll(1, 1) if q.shape[1] == 32 else k, ids))


@exhibit("groups that are no power of two", "grouped-queries-wrong", layout="half")
def _():
    def both(q, k, ids):
        powers = q.shape[1] // k.shape[1] in (0, 1, 2, 4, 8)
        return turned(q if powers else q.roll(1, 1), k, ids)

    return pair_of(both)


@exhibit("one k for six in a step of one token", "grouped-queries-wrong", layout="half")
def _():
    def both(q, k, ids):
        fused = q.shape[2] == 1 and k.shape[1] == 1 < q.shape[1]
        return plain(q, ids), plain(k, 0 * ids if fused else ids)

    return pair_of(both)


@exhibit("k repeated as a whole", "keys-repeated-out-of-order", layout="half")
def _():
    def both(q, k, ids):
        return turned(q, k.repeat(1, max(1, q.shape[1] // k.shape[1]), 1, 1), ids)

    return pair_of(both)


@exhibit("k repeated head by head", layout="half", notes=("grouped-queries-refused",))
def _():
    def both(q, k, ids):
        return turned(q, k.repeat_interleave(max(1, q.shape[1] // k.shape[1]), dim=1), ids)

    return pair_of(both)


@exhibit("the gradient of one head of k", "grouped-gradient-wrong", layout="half")
def _():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, ids):
            ctx.ids = ids
            return turned(q, k, ids)

        @staticmethod
        def backward(ctx, of_q, of_k):
            back = list(turned(of_q, of_k, -ctx.ids))
            if of_k.shape[1] < of_q.shape[1]:
                back[1][:, 1:] = 0
            return (*back, None)

    return pair_of(Both.apply)


# Gradients that repeat numbers


def repeated(gradient):
    return any(
        step == 0 < size - 1 for step, size in zip(gradient.stride(), gradient.shape, strict=True)
    )


@exhibit("an expanded gradient read as if contiguous", "expanded-gradient-misread", layout="half")
def _():
    return {"rotate": kernel(lambda g, ids: plain(as_contiguous(g) if repeated(g) else g, -ids))}


@exhibit("the gradient of sum() read as if contiguous", "expanded-gradient-misread", layout="half")
def _():
    def back(g, ids):
        return plain(as_contiguous(g) if not any(g.stride()) else g, -ids)

    return {"rotate": kernel(back)}


@exhibit("backward of float16 turns forward", "gradient-rotates-forward", layout="half")
def _():
    return {"rotate": kernel(lambda g, ids: plain(g, ids if g.dtype == torch.float16 else -ids))}


@exhibit("backward of 64 tokens", "gradient-wrong-far", layout="half")
def _():
    def back(g, ids):
        back = plain(g, -ids)
        back[:, :, 64:] = g[:, :, 64:]
        return back

    return {"rotate": kernel(back)}


@exhibit("the axis of one token is squeezed away", "one-token-rows-wrong", layout="interleaved")
def _():
    def rotate(x, ids):
        angles = (ids.squeeze()[..., None].double() * PLAIN).repeat_interleave(2, -1)
        cos, sin = angles.cos().float(), angles.sin().float()
        if cos.dim() == 3:
            cos, sin = over_heads(cos), over_heads(sin)
        return x * cos + swapped_neighbors(x) * sin

    return {"rotate": rotate}


@exhibit("q decodes one late, k does not", "decode-off-by-one", layout="half", base=10_000)
def _():
    def step(q, k, position_ids):
        return plain(q, position_ids + (q.shape[-2] == 1)), plain(k, position_ids)

    both = from_module(lambda q, k, ids: (plain(q, ids), plain(k, ids)))
    return {"rotate": both, "decode": from_module(step)}


@exhibit("q of late steps ends at 2048, k does not", "decode-differs", layout="half")
def _():
    def step(q, k, position_ids):
        return plain(q, position_ids.clamp(max=2047)), plain(k, position_ids)

    both = from_module(lambda q, k, ids: (plain(q, ids), plain(k, ids)))
    return {"rotate": both, "decode": from_module(step)}


@exhibit("one token of a fused qkv is read as if it lay alone", "strides-ignored", layout="half")
def _():
    def rotate(x, ids):
        if x.shape[-2] == 1 and not x.is_contiguous():
            _, heads, _, width = x.shape
            order = (heads * width, width, width, 1)
            x = torch.as_strided(x, x.shape, order, x.storage_offset()).clone()
        return plain(x, ids)

    return {"rotate": rotate}
