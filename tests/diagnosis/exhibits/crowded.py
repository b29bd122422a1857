"""Rotations that are wrong for many rows, heads and tokens, for far rows, or in training alone."""

import torch

from exhibits import kernels
from exhibits.kit import PLAIN, exhibit, plain, turn
from ropelib import inv_freq


def rows_only(change):
    """Positions of shape (batch, seq_len) go another way."""
    return lambda x, ids: plain(x, change(ids) if ids.dim() == 2 else ids)


def expanded(x, ids):
    return plain(x, ids.expand(len(x), -1) if ids.dim() == 2 else ids)


@exhibit("rows at positions in bfloat16", "far-rows-wrong", layout="half", base=10_000)
def _():
    return {"rotate": rows_only(lambda ids: ids.bfloat16())}


@exhibit("rows clamped at 512", "far-rows-wrong")
def _():
    return {"rotate": rows_only(lambda ids: ids.clamp(max=511))}


@exhibit("a table as long as the first row asks for", "table-grown-by-the-first-row")
def _():
    def rotate(x, ids):
        return plain(x, ids.clamp(max=max(63, int(ids.flatten()[: ids.shape[-1]].max()))))

    return {"rotate": rotate}


def grown_by(end, length):
    """A table of so many rows that grows where a part of position_ids asks for more."""
    kept = [length]

    def rotate(x, ids):
        kept[0] = max(kept[0], int(end(ids).max()) + 1)
        return plain(x, ids.clamp(max=kept[0] - 1))

    return {"rotate": rotate}


@exhibit("a table that the first row alone lets grow", "table-grown-by-the-first-row")
def _():
    return grown_by(lambda ids: ids.flatten()[: ids.shape[-1]], 512)


@exhibit("2048 rows that the first row alone lets grow", "table-grown-by-the-first-row")
def _():
    return grown_by(lambda ids: ids.flatten()[: ids.shape[-1]], 2048)


@exhibit("a table that the last token alone lets grow", "table-grown-by-the-last-token")
def _():
    return grown_by(lambda ids: ids.flatten()[-1], 512)


@exhibit("a table of each call's first row", "table-grown-by-the-first-row")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=ids.flatten()[: ids.shape[-1]].max()))}


@exhibit("a table of each call's last token", "table-grown-by-the-last-token")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=ids.flatten()[-1]))}


@exhibit("a table of each row's last token", "table-grown-by-the-last-token")
def _():
    return {"rotate": lambda x, ids: plain(x, torch.minimum(ids, ids[..., -1:]))}


@exhibit("a table as long as the last token asks for", "table-grown-by-the-last-token")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=max(63, int(ids.flatten()[-1]))))}


@exhibit("positions of many tokens are sorted", "order-of-positions-ignored")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.sort(-1)[0] if ids.shape[-1] > 20 else ids)}


@exhibit("positions are sorted", "order-of-positions-ignored", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.sort(-1)[0])}


@exhibit("positions are counted on from the first unless they rise", "order-of-positions-ignored")
def _():
    def rotate(x, ids):
        rises = ids[..., 1:] > ids[..., :-1]
        return plain(x, ids if rises.all() else ids[..., :1] + torch.arange(ids.shape[-1]))

    return {"rotate": rotate}


@exhibit("of two tokens at one position the second moves on", "repeated-positions-moved")
def _():
    def rotate(x, ids):
        again = torch.cat((torch.zeros_like(ids[..., :1]), (ids.diff() == 0).long()), -1)
        return plain(x, ids + again * (ids > 0))  # zeros are padding

    return {"rotate": rotate}


@exhibit("a row of one is counted from 0", "row-of-one-ignored", layout="half")
def _():
    one = rows_only(lambda ids: torch.arange(ids.shape[1])[None] if len(ids) == 1 else ids)
    return {"rotate": one}


@exhibit("a row of one for a batch stands at 0", "row-of-one-ignored")
def _():
    def rotate(x, ids):
        return expanded(x, ids * 0 if ids.dim() == 2 and len(ids) < len(x) else ids)

    return {"rotate": rotate}


@exhibit("positions transposed where rows are as many as tokens", "batch-taken-for-tokens")
def _():
    return {"rotate": rows_only(lambda ids: ids.T if ids.shape[0] == ids.shape[1] else ids)}


@exhibit("tables transposed where tokens are as many as pairs", "square-tables-transposed")
def _():
    def rotate(x, ids):
        angles = ids[..., None].double() * PLAIN
        return turn(x, angles.mT if angles.shape[-1] == angles.shape[-2] else angles, "half")

    return {"rotate": rotate}


@exhibit("rows from the ninth on share positions", "many-rows-wrong")
def _():
    return {"rotate": rows_only(lambda ids: ids[torch.arange(len(ids)).clamp(max=8)])}


@exhibit("rows from the ninth on stay zero", "many-rows-wrong")
def _():
    return {"rotate": lambda x, ids: torch.cat((plain(x, ids)[:8], 0 * x[8:]))}


@exhibit("heads from the ninth on rest in other rows", "heads-mixed")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        rotated[1:, 8:] = x[1:, 8:]
        return rotated

    return {"rotate": rotate}


@exhibit("the last odd token of other rows rests", "batch-rows-mixed")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if 1 < x.shape[2] and x.shape[2] % 2:
            rotated[1:, :, -1] = x[1:, :, -1]
        return rotated

    return {"rotate": rotate}


@exhibit("documents in a second row are counted on", "packed-rows-wrong")
def _():
    def rotate(x, ids):
        if ids.dim() == 1:
            return plain(x, ids)
        restarts = (ids.diff() < 0) & (ids[:, 1:] == 0) & (torch.arange(len(ids))[:, None] > 0)
        counted = (ids[:, :-1] + 1) * restarts
        added = torch.cat((torch.zeros_like(ids[:, :1]), counted), -1).cumsum(-1)
        return plain(x, ids + added)

    return {"rotate": rotate}


@exhibit("strides of position_ids ignored", "strided-ids-misread")
def _():
    def rotate(x, ids):
        memory = torch.as_strided(ids, (ids.untyped_storage().size() // 8,), (1,), 0)
        start = ids.storage_offset()
        return plain(x, memory[start : start + ids.numel()].view(ids.shape))

    return {"rotate": lambda x, ids: rotate(x, ids)}


@exhibit("tables kept by the shape of rows", "tables-of-an-earlier-call")
def _():
    kept = {}
    return {"rotate": rows_only(lambda ids: kept.setdefault(ids.shape, ids.clone()))}


@exhibit("a step of two tokens at the position of the first", "short-steps-wrong")
def _():
    return {
        "rotate": lambda x, ids: plain(
            x, ids[..., :1].expand(ids.shape) if x.shape[2] == 2 else ids
        )
    }


def beyond(count, x):
    """Tokens from `count` on are read one off."""
    return torch.cat((x[:, :, :count], x[:, :, count - 1 : -1]), dim=2)


@exhibit("tokens of a second tile are read one off", "tokens-mixed", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(beyond(64, x) if x.shape[2] > 64 else x, ids)}


def written_as(more, slots):
    """Slots of calls of more tokens than so many are written as others."""

    def rotate(x, ids):
        order = torch.arange(x.shape[2])
        if len(order) > more:
            order[list(slots)] = torch.tensor(list(slots.values()))
        return plain(x, ids)[:, :, order]

    return {"rotate": rotate}


@exhibit("two tokens exchanged, of more than 64", "tokens-mixed", layout="half", base=10_000)
def _():
    return written_as(65, {64: 65, 65: 64})


@exhibit("two tokens exchanged, of more than 100", "tokens-mixed")
def _():
    return written_as(100, {99: 100, 100: 99})


@exhibit("slot 15 is that of 14, of 16 tokens and more", "tokens-mixed", layout="half", base=10_000)
def _():
    return written_as(15, {15: 14})


@exhibit("two tokens exchanged, of what counts itself", "long-call-differs")
def _():
    rotate = written_as(65, {64: 65, 65: 64})["rotate"]
    return {"rotate": lambda x: rotate(x, torch.arange(x.shape[2]))}


@exhibit("two positions exchanged, of more than 64", "long-call-differs")
def _():
    def rotate(x, ids):
        order = torch.arange(x.shape[2])
        if len(order) > 65:
            order[[64, 65]] = torch.tensor([65, 64])
        return plain(x, ids[..., order])

    return {"rotate": rotate}


@exhibit("position 15 of a call is that of 14", "long-call-differs", base=10_000)
def _():
    def rotate(x, ids):
        order = torch.arange(x.shape[2])
        order[15:16] = 14
        return plain(x, ids[..., order])

    return {"rotate": rotate}


@exhibit("zigzag of a long sequence not undone", "tokens-mixed")
def _():
    def rotate(x, ids):
        if x.shape[2] >= 256:
            first, second = x.tensor_split(2, dim=2)
            x = torch.cat((first, second.flip(2)), dim=2)
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("tokens of a second tile are read one off, by an offset", "tokens-mixed")
def _():
    def rotate(x, offset):
        ids = offset + torch.arange(x.shape[2])
        return plain(beyond(64, x) if x.shape[2] > 64 else x, ids)

    return {"rotate": rotate}


@exhibit("many heads of many tokens are mixed", "crowded-call-differs")
def _():
    def rotate(x, ids):
        many = min(x.shape[:3]) > 7
        return plain(x.flip(1) if many else x, ids)

    return {"rotate": rotate}


@exhibit("single tokens restart in each block of 16", "late-steps-wrong")
def _():
    def rotate(x, ids):
        return plain(x, ids * (ids % 16 != 0) if x.shape[2] == 1 else ids)

    return {"rotate": rotate}


@exhibit("rows of single tokens at positions in bfloat16", "one-token-rows-wrong")
def _():
    def rotate(x, ids):
        return plain(x, ids.bfloat16() if len(x) > 3 and x.shape[2] == 1 else ids)

    return {"rotate": rotate}


def in_bfloat16(other):
    return {"rotate": lambda x, ids: (plain if x.dtype == torch.float32 else other)(x, ids)}


@exhibit("half precision: single tokens at positions in bfloat16", "half-precision-differs")
def _():
    return in_bfloat16(lambda x, ids: plain(x, ids.bfloat16() if x.shape[2] == 1 else ids))


@exhibit("half precision: rows at positions in bfloat16", "half-precision-differs")
def _():
    return in_bfloat16(rows_only(lambda ids: ids.bfloat16()))


@exhibit("half precision: tokens of a second tile are read one off", "half-precision-differs")
def _():
    return in_bfloat16(lambda x, ids: plain(beyond(8, x) if x.shape[2] > 8 else x, ids))


@exhibit("half precision: strides ignored", "strides-ignored")
def _():
    def rotate(x, ids):  # heads and tokens exchanged, as nobody asked
        _, heads, tokens, d = x.shape
        if x.stride()[1:] == (d, heads * d, 1) and heads > 1 < tokens:
            x = torch.as_strided(x, x.shape, (heads * tokens * d, tokens * d, d, 1))
        return plain(x, ids)

    return in_bfloat16(rotate)


def kernel(back):
    return {"rotate": kernels.kernel(back)}


@exhibit("backward in place, in what it is given", "gradient-overwrites-its-input", layout="half")
def _():
    return kernel(lambda g, ids: g.copy_(plain(g, -ids)))


@exhibit("backward with a table of 64 positions", "gradient-wrong-far", layout="half")
def _():
    return kernel(lambda g, ids: plain(g, -ids.clamp(max=63)))


@exhibit("backward of 16 tokens", "gradient-wrong-far")
def _():
    def back(g, ids):
        turned = plain(g, -ids)
        turned[:, :, 16:] = 0
        return turned

    return kernel(back)


@exhibit("backward of single tokens passes the gradient on", "gradient-wrong-far")
def _():
    return kernel(lambda g, ids: plain(g, -ids) if g.shape[2] > 1 else g)


@exhibit("backward at positions of the last call", "gradient-of-another-call")
def _():
    last = {}

    class Kernel(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, ids):
            last["ids"] = ids
            return plain(x, ids)

        @staticmethod
        def backward(ctx, upstream):
            return plain(upstream, -last["ids"]), None

    return {"rotate": lambda x, ids: Kernel.apply(x, ids)}


@exhibit("backward of bfloat16 turns forward", "gradient-rotates-forward")
def _():
    return kernel(lambda g, ids: plain(g, -ids if g.dtype == torch.float32 else ids))


@exhibit("backward of bfloat16 passes the gradient on", "gradient-wrong")
def _():
    return kernel(lambda g, ids: plain(g, -ids if g.dtype == torch.float32 else 0 * ids))


@exhibit("training with a table of 32 positions", "training-forward-differs", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids.clamp(max=31) if torch.is_grad_enabled() else ids)

    return {"rotate": rotate}


@exhibit("training at half the speed", "training-forward-differs", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids, inv_freq(x.shape[-1]) / 2) if x.requires_grad else plain(x, ids)

    return {"rotate": rotate}


@exhibit("dimensions beyond 64 come out as zeros", "wrong-at-other-widths", layout="half")
def _():
    def rotate(x, ids):
        return torch.cat((plain(x[..., :64], ids), 0 * x[..., 64:]), dim=-1)

    return {"rotate": rotate}


# Right, where what is crowded is handed over as it must be


@exhibit("a row of one for a batch", layout="half", base=10_000)
def _():
    return {"rotate": expanded}


@exhibit("contiguous position_ids only", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.view(-1).view(ids.shape))}


@exhibit("a table of 40 positions", base=10_000, notes=("table-ends",), positions=32)
def _():
    def rotate(x, ids):
        if max(ids.max(), x.shape[2] - 1) >= 40:
            raise IndexError("index out of range")
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("read as pairs, written as halves, in rows", notes=("output-permuted",))
def _():
    order = [*range(0, 64, 2), *range(1, 64, 2)]
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(64), "interleaved")[..., order]}
