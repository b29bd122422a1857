"""Rotations with wrong pairs, tables, signs or lengths."""

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    exhibit,
    llama_tables,
    modeling,
    over_heads,
    plain,
    swapped_halves,
    swapped_neighbors,
)
from ropelib import apply_rotary, inv_freq
from ropelib.diagnosis import from_tables, seq_first


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


for part in (16, 32, 48):

    @exhibit(f"{part} columns of tables over the whole head", "angles-differ-within-pairs")
    def _(part=part):
        def rotate(x, ids):
            angles = over_heads((ids[..., None] * PLAIN).float())
            angles, turned = torch.cat((angles, angles), dim=-1)[..., :part], x[..., :part]
            turned = turned * angles.cos() + swapped_halves(turned) * angles.sin()
            return torch.cat((turned, x[..., part:]), dim=-1)

        return {"rotate": rotate}


@exhibit("summed over dimensions", "not-pairwise")
def _():
    return {"rotate": lambda x, ids: x.cumsum(-1) * (1 + over_heads(ids[..., None]))}


@exhibit("neighbors joined as halves", "not-pairwise")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN).float().repeat(1, 1, 1, 2)
        joined = torch.cat((-x[..., 1::2], x[..., 0::2]), dim=-1)
        return (x * angles.cos() + joined * angles.sin()).to(x.dtype)

    return {"rotate": rotate}


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


@exhibit("sin and cos swapped in the second line", "sin-and-cos-swapped")
def _():
    def rotate(x, ids):
        a, b = x.chunk(2, dim=-1)
        angles = over_heads(ids[..., None].double() * PLAIN).float()
        return torch.cat(
            (a * angles.cos() - b * angles.sin(), a * angles.cos() + b * angles.sin()), -1
        )

    return {"rotate": rotate}


def in_place(first, second):
    def rotate(x, ids):
        angles = over_heads(ids[..., None].double() * PLAIN).float()
        x = x.clone()
        a, b = x[..., first], x[..., second]
        a[:] = a * angles.cos() - b * angles.sin()
        b[:] = a * angles.sin() + b * angles.cos()
        return x

    return rotate


@exhibit("halves in place, the second from the new first", "pair-overwritten")
def _():
    return {"rotate": in_place(slice(0, 32), slice(32, 64))}


@exhibit("neighbors in place, the second from the new first", "pair-overwritten")
def _():
    return {"rotate": in_place(slice(0, 64, 2), slice(1, 64, 2))}


@exhibit("halves in place, the first from the new second", "pair-overwritten")
def _():
    def rotate(x, ids):
        backwards = in_place(slice(32, 64), slice(0, 32))
        return backwards(x, -ids)

    return {"rotate": rotate}


def from_one_table(written, read):
    def rotate(x, ids):
        angles = over_heads(ids[..., None].double() * PLAIN).float()
        cos, sin = angles.cos(), angles.sin()
        if written == "halves":
            table = torch.cat((cos, sin), dim=-1)
        else:
            table = torch.stack((cos, sin), dim=-1).flatten(-2)
        pieces = table.chunk(2, dim=-1)
        cos, sin = pieces if read == "halves" else (table[..., 0::2], table[..., 1::2])
        return apply_rotary(x, cos, sin, layout="half")

    return {"rotate": rotate}


@exhibit("a table of neighbors read as halves", "table-read-in-another-order")
def _():
    return from_one_table("neighbors", "halves")


@exhibit("a table of halves read as neighbors", "table-read-in-another-order")
def _():
    return from_one_table("halves", "neighbors")


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
    return {"rotate": lambda x, ids: plain(x, ids, frequencies), "inv_freq": PLAIN}


@exhibit("last pair not rotated, interleaved", "last-pair-not-rotated", layout="interleaved")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN[:-1], "interleaved")}


@exhibit("divided by sqrt(head_dim)", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) / DIM**0.5}


@exhibit("divided by the fourth root of head_dim", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=DIM**-0.25)}


@exhibit("multiplied by sqrt(head_dim)", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) * x.shape[-1] ** 0.5}


@exhibit("multiplied by 8, as expected", notes=("attention-factor",), layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) * DIM**0.5, "attention_factor": DIM**0.5}


@exhibit("divided by sqrt(rotary_dim)", "norm-not-kept", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(16), factor=1 / 4)}


@exhibit("a mean in place of a sum", "attention-factor-not-as-expected", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) / 2**0.5, "attention_factor": 1.2}


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


@exhibit("cut off at 8", "not-linear")
def _():
    return {"rotate": lambda x, ids: plain(x.clamp(-8, 8), ids)}


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


@exhibit("the part that turns, off by one", "off-by-one")
def _():
    def rotate(x, ids):
        angles = over_heads((ids[..., None] + 1.0) * inv_freq(32)).repeat(1, 1, 2).float()
        return x * angles.cos() + swapped_halves(x) * angles.sin()

    return {"rotate": lambda x, ids: torch.cat([rotate(row, ids) for row in x[:, None]])}


def with_sines(of_pair):
    """Rotate by the cosine of each pair and the sine that `of_pair` makes of all of them."""

    def rotate(x, ids):
        angles = over_heads(ids[..., None].double() * PLAIN)
        return apply_rotary(x, angles.cos().float(), of_pair(angles.sin()).float(), layout="half")

    return {
        "rotate": lambda x, ids: torch.cat([rotate(x[b : b + 1], row) for b, row in rows(x, ids)])
    }


def rows(x, ids):
    return enumerate(ids.expand(len(x), -1))


@exhibit("sine is zero", "sine-is-zero")
def _():
    return with_sines(torch.zeros_like)


@exhibit("the sine of the next pair", "sines-of-other-pairs")
def _():
    return with_sines(lambda sin: sin.roll(-1, dims=-1))


@exhibit("sine read four columns late (vllm-ascend 12723)", "sines-of-other-pairs")
def _():
    return with_sines(lambda sin: torch.nn.functional.pad(sin[..., 4:], (0, 4)))


@exhibit("the sine of the pair before", "sines-of-other-pairs")
def _():
    return with_sines(lambda sin: torch.cat((sin[..., :1], sin[..., :-1]), dim=-1))


@exhibit("only the first four heads alone (ColossalAI 6428)", "heads-mixed", layout="half")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if 4 < x.shape[1] < 8:  # a block of heads that is not full: read from the one before
            rotated[:, 4:] = rotated[:, :1]
        return rotated

    return {"rotate": rotate}


@exhibit("heads beyond 96 are not turned", "heads-mixed", layout="half")
def _():
    return {"rotate": lambda x, ids: torch.cat((plain(x[:, :96], ids), x[:, 96:]), dim=1)}


@exhibit("heads by blocks of 128 (one too few)", "heads-mixed", layout="half")
def _():
    return {"rotate": lambda x, ids: torch.cat((plain(x[:, :128], ids), x[:, 128:]), dim=1)}


@exhibit("an odd head takes its neighbor's numbers", "heads-mixed")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if x.shape[1] % 2 and x.shape[1] > 3:
            rotated[:, -1] = rotated[:, -2]
        return rotated

    return {"rotate": rotate}


def of_a_part(rest):
    """Half of the dimensions turn; `rest` makes what comes out of the others."""

    def rotate(x, ids):
        moving, still = x.chunk(2, dim=-1)
        return torch.cat((plain(moving, ids, inv_freq(DIM // 2)), rest(still)), dim=-1)

    return {"rotate": rotate}


@exhibit("what does not turn comes out as zeros", "rest-not-kept", layout="half", base=10_000)
def _():
    return of_a_part(torch.zeros_like)


@exhibit("what does not turn comes out an eighth", "rest-not-kept", layout="half", base=10_000)
def _():
    return of_a_part(lambda still: still / 8)


def without_the_sine_of(pairs, layout):
    def rotate(x, ids):
        angles = ids[..., None] * PLAIN
        sine = angles.sin().where(torch.arange(DIM // 2) < DIM // 2 - pairs, 0)
        return apply_rotary(x, angles.cos().float(), sine.float(), layout=layout)

    return {"rotate": rotate}


@exhibit("slow pairs without their sine", "sine-partly-zero", layout="half", base=10_000)
def _():
    return without_the_sine_of(16, "half")


@exhibit("slow neighbors without their sine", "sine-partly-zero", layout="interleaved")
def _():
    return without_the_sine_of(8, "interleaved")


@exhibit("of the sequence first, then the batch, with an offset", "batch-taken-for-tokens")
def _():
    def rotate(x, offset=0):  # (seq_len, batch, num_heads, head_dim)
        return plain(x.permute(1, 2, 0, 3), offset + torch.arange(len(x))).permute(2, 0, 1, 3)

    return {"rotate": rotate}
