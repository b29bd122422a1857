"""Rotations that are right, in many forms, and what is noted of some."""

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    YARN_FACTOR,
    exhibit,
    llama_pair,
    modeling,
    over_heads,
    plain,
    swapped_neighbors,
    yarn,
)
from ropelib import RotaryEmbedding, apply_rotary, inv_freq
from ropelib.diagnosis import from_module, from_tables, seq_first


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


@exhibit("the first pairs stand still", base=10_000, notes=("fast-pairs-stand-still",))
def _():
    speeds = PLAIN.where(torch.arange(32) >= 8, 0)
    return {"rotate": lambda x, ids: plain(x, ids, speeds), "inv_freq": speeds}


@exhibit("p-RoPE, one pair stands still", base=10_000, notes=("slow-pairs-stand-still",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN.where(torch.arange(32) < 31, 0))}


@exhibit("a factor of 1 / sqrt(2)", layout="half", base=10_000, notes=("attention-factor",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=0.5**0.5)}


@exhibit("nanochat, clockwise", layout="half", notes=("clockwise",), direction=-1)
def _():
    nanochat = modeling("nanochat")
    config = nanochat.NanoChatConfig(hidden_size=4 * DIM, num_attention_heads=4)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 10_000.0}
    tables = nanochat.NanoChatRotaryEmbedding(config)
    return {"rotate": from_tables(nanochat.apply_rotary_pos_emb, tables)}


@exhibit("linear scaling by 2048", base=10_000, notes=("linearly-scaled",), factor=2048)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / 2048)}


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


def _dynamic_from(trained):
    def rotate(x, ids):
        longer = max(1.0, 2 * (int(ids.max()) + 1) / trained - 1)
        return plain(x, ids, inv_freq(DIM, 10_000.0 * longer ** (DIM / (DIM - 2))))

    return {"rotate": rotate}


@exhibit("dynamic NTK from 16 on", layout="half", notes=("frequencies-depend-on-length",))
def _():
    return _dynamic_from(16)


@exhibit("dynamic NTK from 128 on", layout="half", notes=("frequencies-depend-on-length",))
def _():
    return _dynamic_from(128)


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


@exhibit("numbers its tokens itself", base=10_000, notes=("counts-itself",))
def _():
    return {"rotate": lambda x: plain(x, torch.arange(x.shape[-2]))}


@exhibit("numbers the tokens of q and k itself", base=10_000, notes=("counts-itself",))
def _():
    def rotate(q, k):
        return tuple(plain(x, torch.arange(x.shape[-2])) for x in (q, k))

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


@exhibit("exponents over the whole head", layout="half", notes=("frequencies-of-the-whole-head",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(DIM, 1e6)[:8])}


@exhibit("for inference alone", base=10_000, notes=("no-gradient",))
def _():
    return {"rotate": lambda x, ids: plain(x.detach(), ids)}


@exhibit("contiguous vectors only", base=10_000, notes=("strides-refused",))
def _():
    return {"rotate": lambda x, ids: plain(x.view(-1).view(x.shape), ids)}


@exhibit("Meta's start_pos", layout="interleaved", notes=("contiguous-positions-only",))
def _():
    angles = torch.outer(torch.arange(8192.0), PLAIN.float())
    table = torch.polar(torch.ones_like(angles), angles)

    def rotate(x, position_ids):
        start = int(position_ids.flatten()[0])
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * table[start : start + x.shape[-2]]
        return torch.view_as_real(turned).flatten(-2).type_as(x)

    return {"rotate": rotate}


@exhibit("an offset, ropelib", base=10_000, notes=("contiguous-positions-only",))
def _():
    module = RotaryEmbedding(DIM, layout="half")
    return {"rotate": lambda x, ids: module(x, x, offset=int(ids.flatten()[0]))[0]}


@exhibit("an offset that gaps are refused for", notes=("contiguous-positions-only",))
def _():
    def rotate(x, ids):
        assert (ids.diff() == 1).all(), "positions must follow each other"
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("positions that do not rise are refused", notes=("rising-positions-only",))
def _():
    def rotate(x, ids):
        assert (ids.diff() > 0).all(), "positions must rise"
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit(
    "an offset, dynamic NTK", notes=("contiguous-positions-only", "frequencies-depend-on-length")
)
def _():
    def rotate(x, ids):
        base = 10_000.0 * max(1.0, x.shape[2] / 2048)
        ids = ids.flatten()[0] + torch.arange(x.shape[2])
        return plain(x, ids, inv_freq(DIM, base))

    return {"rotate": rotate}


@exhibit("Phi, half of each head", layout="half", notes=("takes-the-rotated-part",), head_dim=32)
def _():
    phi = modeling("phi")
    config = phi.PhiConfig(hidden_size=4 * DIM, num_attention_heads=4)
    return {"rotate": from_tables(phi.apply_rotary_pos_emb, phi.PhiRotaryEmbedding(config))}


@exhibit("Persimmon, half of each head", layout="half", notes=("takes-the-rotated-part",))
def _():
    persimmon = modeling("persimmon")
    config = persimmon.PersimmonConfig(hidden_size=4 * DIM, num_attention_heads=4)
    tables = persimmon.PersimmonRotaryEmbedding(config)
    return {"rotate": from_tables(persimmon.apply_rotary_pos_emb, tables)}


@exhibit("StableLM, 20 of 80", notes=("takes-the-rotated-part",), head_dim=20)
def _():
    stablelm = modeling("stablelm")
    config = stablelm.StableLmConfig(hidden_size=4 * 80, num_attention_heads=4)
    tables = stablelm.StableLmRotaryEmbedding(config)
    rotate = from_tables(stablelm.apply_rotary_pos_emb, tables)
    return {"rotate": rotate, "head_dim": 80, "inv_freq": inv_freq(20)}
