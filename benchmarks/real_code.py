"""Rotations of packages that install here, as their own code has them.

Of a package that asks for a dozen others before it lets go of its rotation, the functions are
compiled alone, from the file as it is installed.
"""

import ast
import importlib
import importlib.util
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from ropelib import RopeConfig, RotaryEmbedding, inv_freq
from ropelib.diagnosis import from_operator

Case = tuple[str, Callable[[], object], dict]
ROWS = 8192


def pieces(package: str, path: str, *names: str, **known: object) -> dict:
    """Return functions, classes and constants of an installed file, compiled without the rest.

    Args:
        package: whose file it is.
        path: below the package.
        names: of what to take, at the top of the file.
        known: what they find there, beside torch and math.

    Raises:
        ImportError: if the package is not installed.
    """
    found = importlib.util.find_spec(package)
    if found is None:
        raise ImportError(f"No module named {package!r}")
    source = Path(found.submodule_search_locations[0], path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if _named(node) & set(names)]
    space = {"torch": torch, "nn": torch.nn, "math": math, "np": np, "__name__": package, **known}
    future = "from __future__ import annotations\n"
    exec(compile(future + ast.unparse(tree), path, "exec"), space)
    return space


def _named(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {getattr(node, "name", "")}


def torchtune() -> Iterator[Case]:
    """One file of torchtune: the package asks for thirty others."""

    def made():
        path = "modules/position_embeddings.py"
        code = pieces("torchtune", path, "RotaryPositionalEmbeddings")
        return code["RotaryPositionalEmbeddings"](64, max_seq_len=ROWS)

    yield "torchtune RotaryPositionalEmbeddings", made, {"inv_freq": inv_freq(64)}


def rotary_embedding_torch() -> Iterator[Case]:
    """The module of rotary-embedding-torch, whole heads and half of them."""

    def made(dim):
        return importlib.import_module("rotary_embedding_torch").RotaryEmbedding(dim)

    for dim in (64, 32):
        options = {"inv_freq": inv_freq(dim)}
        yield f"rotary-embedding-torch RotaryEmbedding({dim})", partial(made, dim), options


def onnx() -> Iterator[Case]:
    """The reference of ONNX's operator, which takes arrays."""

    def made(interleaved, rotary_dim):
        path = "onnx.reference.ops.op_rotary_embedding"
        operator = importlib.import_module(path).rotary_embedding

        def call(
            X,
            cos_cache,
            sin_cache,
            position_ids,
            interleaved=0,
            rotary_embedding_dim=0,
        ):
            arrays = (t.numpy() for t in (X, cos_cache, sin_cache, position_ids))
            options = {"rotary_embedding_dim": rotary_embedding_dim, "num_heads": X.shape[1]}
            return torch.from_numpy(operator(*arrays, interleaved=interleaved, **options))

        return from_operator(call, interleaved=interleaved, rotary_dim=rotary_dim)

    for interleaved in (False, True):
        for rotary_dim in (64, 16):
            name = (
                f"onnx reference interleaved={int(interleaved)} rotary_embedding_dim={rotary_dim}"
            )
            yield name, partial(made, interleaved, rotary_dim), {}


def x_transformers() -> Iterator[Case]:
    """Interleaved pairs by einops; whole heads, half of them, and positions interpolated."""

    def made(dim, **settings):
        einops = importlib.import_module("einops")
        names = "RotaryEmbedding", "rotate_half", "apply_rotary_pos_emb", "exists"
        known = {name: getattr(torch, name) for name in ("einsum", "stack", "arange", "cat")}
        code = pieces(
            "x_transformers",
            "x_transformers.py",
            *names,
            **known,
            Module=torch.nn.Module,
            rearrange=einops.rearrange,
            is_tensor=torch.is_tensor,
            disable_autocast=lambda function: function,
        )
        module = code["RotaryEmbedding"](dim, **settings)

        def rotate(x, position_ids):
            return code["apply_rotary_pos_emb"](x, *module(position_ids))

        return rotate

    for dim, factor in ((64, 1.0), (32, 1.0), (64, 4.0)):
        name = f"x-transformers RotaryEmbedding({dim}, interpolation_factor={factor:g})"
        options = {"inv_freq": inv_freq(dim) / factor}
        yield name, partial(made, dim, interpolation_factor=factor), options


def diffusers() -> Iterator[Case]:
    """One dimension of what its image models turn by, in the three forms that they use."""

    def made(**form):
        names = "get_1d_rotary_pos_embed", "apply_rotary_emb"
        code = pieces("diffusers", "models/embeddings.py", *names)
        tables, turn = (code[name] for name in names)
        real, half = form.get("use_real", False), not form.get("repeat_interleave_real", True)

        def rotate(x, position_ids):
            found = tables(x.shape[-1], position_ids, **form)
            if real:
                return turn(x, found, use_real_unbind_dim=-2 if half else -1)
            return turn(x.transpose(1, 2), found[None], use_real=False).transpose(1, 2)

        return rotate

    exact = {"use_real": True, "freqs_dtype": torch.float64}
    for what, form in {
        "Flux": exact,
        "Stable Audio": {"use_real": True, "repeat_interleave_real": False},
        "Lumina": {},
    }.items():
        made_for = partial(made, **form)
        yield f"diffusers apply_rotary_emb as {what}", made_for, {"inv_freq": inv_freq(64)}


def litgpt() -> Iterator[Case]:
    """Halves, plain and by Llama 3's rule, and neighbors that it gives back in halves."""
    llama = {
        "rope_type": "llama3",
        "rope_theta": 500_000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    theirs = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    theirs["original_max_seq_len"] = 8192

    def made(function, **settings):
        names = "build_rope_cache", function
        code = pieces("litgpt", "model.py", *names)
        cos, sin = code["build_rope_cache"](ROWS, 64, **settings)

        def rotate(x, position_ids):
            ids = position_ids if position_ids.dim() == 2 else position_ids[None]
            return code[function](x, cos[ids], sin[ids])

        return rotate

    plain = {"inv_freq": inv_freq(64)}
    yield "litgpt apply_rope", partial(made, "apply_rope"), plain
    yield "litgpt apply_rope_interleave", partial(made, "apply_rope_interleave"), plain
    config = RopeConfig.from_hf({"head_dim": 64, "rope_parameters": llama, "model_type": "llama"})
    long = partial(made, "apply_rope", base=500_000, extra_config=theirs)
    yield "litgpt apply_rope, Llama 3.1", long, {"expected": RotaryEmbedding.from_config(config)}


def esm() -> Iterator[Case]:
    """The module of ESM-2, which counts tokens itself."""

    def made():
        return importlib.import_module("esm.rotary_embedding").RotaryEmbedding(64)

    yield "esm RotaryEmbedding", made, {"inv_freq": inv_freq(64)}


def torchscale() -> Iterator[Case]:
    """xPos: a length that grows for queries and shrinks for keys."""

    def made():
        module = importlib.import_module("torchscale.component.xpos_relative_position").XPOS(64)

        def both(q, k, offset=0):
            flat = [x.flatten(0, -3) for x in (q, k)]
            turned = module(flat[0], offset), module(flat[1], offset, downscale=True)
            return tuple(y.reshape(x.shape) for x, y in zip((q, k), turned, strict=True))

        return both

    yield "torchscale XPOS", made, {"inv_freq": inv_freq(64)}


def timm() -> Iterator[Case]:
    """How its vision models apply tables, in both layouts."""

    def made(half):
        known = {name: getattr(importlib.import_module("typing"), name) for name in ("List",)}
        names = "rot", "rope_rotate_half", "apply_rot_embed"
        code = pieces("timm", "layers/pos_embed_sincos.py", *names, **known)

        def rotate(x, position_ids):
            angles = position_ids.double()[:, None] * inv_freq(x.shape[-1])
            wide = torch.cat((angles, angles), -1) if half else angles.repeat_interleave(2, -1)
            return code["apply_rot_embed"](x, wide.sin().float(), wide.cos().float(), half=half)

        return rotate

    for half in (True, False):
        options = {"inv_freq": inv_freq(64), "layout": "half" if half else "interleaved"}
        yield f"timm apply_rot_embed, half={half}", partial(made, half), options


def keras_hub() -> Iterator[Case]:
    """The layer, on torch, tokens before heads."""

    def made(**settings):
        os.environ["KERAS_BACKEND"] = "torch"
        path = "keras_hub.src.layers.modeling.rotary_embedding"
        layer = importlib.import_module(path).RotaryEmbedding(**settings)

        def rotate(x, position_ids):
            return layer(x.transpose(1, 2), positions=position_ids).transpose(1, 2)

        return rotate

    yield "keras-hub RotaryEmbedding", made, {"inv_freq": inv_freq(64)}
    linear = partial(made, scaling_factor=4.0)
    yield "keras-hub RotaryEmbedding, linear", linear, {"inv_freq": inv_freq(64) / 4}


def mlx() -> Iterator[Case]:
    """Its fast operator and its layer, with an offset, as a cache uses them; mlx-lm's long ones."""

    def made(layer):
        core = importlib.import_module("mlx.core")

        def rotate(x, offset=0):
            turned = layer()(core.array(x.numpy()), offset=offset)
            return torch.from_numpy(np.array(turned))

        return rotate

    def plain(traditional):
        return importlib.import_module("mlx.nn").RoPE(64, traditional=traditional)

    def long(scaling):
        code = importlib.import_module("mlx_lm.models.rope_utils")
        return code.initialize_rope(64, 500_000.0, False, scaling, 131_072)

    for traditional in (False, True):
        name = f"mlx nn.RoPE traditional={traditional}"
        yield name, partial(made, partial(plain, traditional)), {"inv_freq": inv_freq(64)}
    for kind, scaling in {
        "llama3": {
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        "linear": {"factor": 4.0},
        "yarn": {"factor": 4.0, "original_max_position_embeddings": 32_768},
    }.items():
        hf = {
            "model_type": "llama",
            "head_dim": 64,
            "max_position_embeddings": 131_072,
            "rope_parameters": {"rope_type": kind, "rope_theta": 500_000.0, **scaling},
        }
        expected = {"expected": RotaryEmbedding.from_config(RopeConfig.from_hf(hf))}
        theirs = {"type": kind, **scaling}
        yield f"mlx-lm {kind}", partial(made, partial(long, theirs)), expected


FAMILIES = (
    torchtune,
    rotary_embedding_torch,
    onnx,
    x_transformers,
    diffusers,
    litgpt,
    esm,
    torchscale,
    timm,
    keras_hub,
    mlx,
)
