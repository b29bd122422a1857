"""The vectors against what others compute: transformers, and the operator of ONNX."""

import copy
import re
import warnings
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from toc import ROOT

from ropelib import apply_rotary, cos_sin, inv_freq, reference
from ropelib.conformance import check
from ropelib.conformance.formulas import parameters

# Who rotates so in transformers: all of a head, and a part of it.
APPLY = {
    ("half", True): "llama",
    ("half", False): "phi3",
    ("interleaved", True): "cohere",
    ("interleaved", False): "glm",
}


def of_transformers(model):
    pytest.importorskip("transformers")
    return import_module(f"transformers.models.{model}.modeling_{model}")


def rope_of(case):
    return {"rope_type": "default"} | parameters(case["config"])


def their_frequencies(case):
    """What transformers computes of the configuration, float32."""
    pytest.importorskip("transformers")
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.utils import logging

    logging.set_verbosity_error()
    rope, width = rope_of(case), case["head_dim"]
    if rope["rope_type"] == "axial":
        rotary = of_transformers("qwen2_vl").Qwen2VLVisionRotaryEmbedding
        config = SimpleNamespace(head_dim=width, rope_parameters=rope)
        of_an_axis, factor = rotary.compute_axial_rope_parameters(config)
        return torch.cat((of_an_axis, of_an_axis)), factor
    lengths = {"max_position_embeddings": case["config"]["max_position_embeddings"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "alpha" in rope:
            rotary = of_transformers("hunyuan_v1_dense").HunYuanDenseV1RotaryEmbedding
            config = SimpleNamespace(head_dim=2 * len(case["inv_freq"]), rope_parameters=rope)
            return rotary.compute_ntk_alpha_rope_parameters(config)
        if rope["rope_type"] == "default":  # which each model computes by itself
            width = 2 * len(case["inv_freq"])
        config = LlamaConfig(head_dim=width, rope_parameters=rope, **lengths)
        if rope["rope_type"] == "default":
            return of_transformers("llama").LlamaRotaryEmbedding.compute_default_rope_parameters(
                config
            )
        return ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=case["seq_len"])


def their_rotation(x, position_ids, case):
    """Tables as transformers makes them, angles in float32, and its own function."""
    frequency, factor = their_frequencies(case)
    axes = position_ids if position_ids.dim() == 3 else position_ids[None]
    angles = axes[..., None].float() * frequency.float()
    rope, partial = rope_of(case), 2 * len(frequency) != x.shape[-1]
    if rope.get("mrope_section") and not rope.get("mrope_interleaved"):
        # Qwen2-VL takes each axis's section out of a table of its own.
        parts = [t.split(rope["mrope_section"], dim=-1) for t in (angles.cos(), angles.sin())]
        tables = [torch.cat([p[i][i] for i in range(3)], dim=-1) for p in parts]
    elif rope.get("mrope_section"):
        module = of_transformers("qwen3_vl").Qwen3VLTextRotaryEmbedding
        tables = []
        for t in (angles.cos(), angles.sin()):
            holder = SimpleNamespace(mrope_section=rope["mrope_section"])
            both = module.recomposition_frequencies(holder, t.clone())
            tables.append(both[..., : both.shape[-1] // 2])
    else:
        own = torch.tensor(case["axis_of_pair"])
        tables = [t.movedim(0, -1) for t in (angles.cos(), angles.sin())]
        tables = [t[..., torch.arange(len(own)), own] for t in tables]
    twice = torch.cat if case["layout"] == "half" or partial else repeated
    cos, sin = (twice([factor * t, factor * t], dim=-1) for t in tables)
    apply = of_transformers(APPLY[case["layout"], not partial]).apply_rotary_pos_emb
    return apply(x, x, cos, sin)[0]  # of two tensors, the query


def repeated(tables, dim):
    return tables[0].repeat_interleave(2, dim=dim)  # Cohere's tables hold each entry twice in a row


def test_transformers_arrives_at_the_same(vectors):
    report = check(vectors, their_rotation, frequencies=their_frequencies)
    assert report.ok, report
    assert not report.of("not supported") and report.of("exact")
    assert len(report.of("float32 angles")) > len(vectors["cases"]) / 2


# Whose config names no model type of transformers that computes it; the page names them.
# Whose type has these tables, and another width in its attention.
CUT = {"proportional-half", "proportional-factor-half"}
NOBODYS = {
    *("axial-half", "axial-interleaved"),
    *("ntk-alpha-half-partial", "ntk-alpha-interleaved", "ntk-alpha-interleaved-partial"),
}


def test_a_config_is_what_its_model_type_computes_in_transformers(vectors):
    """Its own class takes it, and the module that makes its tables has the frequencies."""
    pytest.importorskip("transformers")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.utils import logging

    logging.set_verbosity_error()
    named = set()
    for case in vectors["cases"]:
        values = copy.deepcopy(case["config"])  # its class writes into it
        model_type = values.pop("model_type", None)
        if model_type is None or case["name"] in NOBODYS:
            named.add(case["name"])
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = CONFIG_MAPPING[model_type](**values)
        module = import_module(type(config).__module__.replace("configuration_", "modeling_"))
        (rotary, *_) = (
            member
            for name, member in sorted(vars(module).items())
            if name.endswith("RotaryEmbedding") and "Vision" not in name
        )
        tables = rotary(config)
        last = torch.tensor([[case["seq_len"] - 1]])  # by which some choose their frequencies
        tables(torch.zeros(1), last.expand(len(case["position_ids"]), 1, 1).squeeze(0))
        expected = torch.tensor(case["inv_freq"])
        torch.testing.assert_close(tables.inv_freq, expected, rtol=2**-19, atol=0)
        assert tables.attention_scaling == pytest.approx(case["attention_factor"], rel=1e-7)
    assert named == NOBODYS
    page = (ROOT / "book/library/conformance.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `config`"))
    assert set(re.findall(r"`([a-z]+-[a-z-]+)`", row)) == NOBODYS | CUT


@pytest.mark.parametrize("name", sorted(CUT))
def test_some_types_have_these_tables_and_cut_the_head_before_them(vectors, name):
    """Proportional tables are as wide as the head, and StableLM's attention rotates a part."""
    transformers = pytest.importorskip("transformers")
    (case,) = (case for case in vectors["cases"] if case["name"] == name)
    sizes = {"num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 8}
    values = copy.deepcopy(case["config"]) | sizes
    config = transformers.AutoConfig.for_model(values.pop("model_type"), **values)
    model = transformers.AutoModel.from_config(config)
    with pytest.raises(RuntimeError, match="must match the size of tensor"):
        model(torch.tensor([[1, 2, 3]]))


# ONNX


def operator(x, cos, sin, interleaved, rotary_dim):
    """RotaryEmbedding as ONNX's text of opset 23 has it, number by number; tables by token."""
    result = x.astype(np.float64).copy()
    half = rotary_dim // 2
    for place in np.ndindex(x.shape[:-1]):
        b, _, s = place
        for i in range(half):
            first, second = (2 * i, 2 * i + 1) if interleaved else (i, half + i)
            real, imag = float(x[(*place, first)]), float(x[(*place, second)])
            c, n = float(cos[b, s, i]), float(sin[b, s, i])
            result[(*place, first)] = c * real - n * imag
            result[(*place, second)] = n * real + c * imag
    return result


# The node cases of onnx/backend/test/case/node/rotaryembedding.py: name, attributes, how x lies,
# whether rows of a table of 50 are looked up.
ONNX_CASES = [
    ("", {}, "4d", True),
    ("3d_input", {"num_heads": 4}, "3d", True),
    ("interleaved", {"interleaved": 1}, "4d", True),
    ("with_rotary_dim", {"rotary_embedding_dim": 4}, "4d", True),
    ("with_interleaved_rotary_dim", {"interleaved": 1, "rotary_embedding_dim": 4}, "4d", True),
    ("no_position_ids", {}, "4d", False),
    ("no_position_ids_interleaved", {"interleaved": 1}, "4d", False),
    ("no_position_ids_rotary_dim", {"rotary_embedding_dim": 4}, "4d", False),
]
by_name = pytest.mark.parametrize(
    ("attributes", "lies", "looked_up"),
    [case[1:] for case in ONNX_CASES],
    ids=[case[0] or "plain" for case in ONNX_CASES],
)


def inputs_of(attributes, lies, looked_up):
    """As the official cases draw them: tables are any numbers, no cosines of anything."""
    chance = np.random.default_rng(0)
    pairs = attributes.get("rotary_embedding_dim", 8) // 2
    x = chance.random((2, 3, 32) if lies == "3d" else (2, 4, 3, 8), dtype=np.float32)
    shape = (50, pairs) if looked_up else (2, 3, pairs)
    cos, sin = (chance.random(shape, dtype=np.float32) for _ in range(2))
    ids = chance.integers(0, 50, (2, 3)) if looked_up else None
    return x, cos, sin, ids


def by_head(x, lies):
    """`(2, 4, 3, 8)`, of which the form with three axes has the heads side by side."""
    return x.reshape(2, 3, 4, 8).transpose(0, 2, 1, 3) if lies == "3d" else x


@by_name
def test_official_cases_of_onnx(attributes, lies, looked_up):
    x, cos, sin, ids = inputs_of(attributes, lies, looked_up)
    by_token = (cos, sin) if ids is None else (cos[ids], sin[ids])
    heads = by_head(x, lies)
    interleaved = attributes.get("interleaved", 0)
    expected = operator(heads, *by_token, interleaved, 2 * cos.shape[-1])
    layout = "interleaved" if interleaved else "half"
    tables = (torch.from_numpy(t) for t in by_token)
    ours = apply_rotary(torch.from_numpy(heads.copy()), *tables, layout=layout)
    torch.testing.assert_close(ours.double(), torch.from_numpy(expected), rtol=0, atol=3e-7)
    other = operator(heads, *by_token, not interleaved, 2 * cos.shape[-1])
    assert np.abs(other - expected).max() > 0.1


def test_onnx_itself_does_the_same():
    """What `operator` is: the reference of the package, where that is installed."""
    name = "onnx.reference.ops.op_rotary_embedding"
    module = pytest.importorskip(name, reason="onnx is not installed: only its cases were tested")
    for _, attributes, lies, looked_up in ONNX_CASES:
        x, cos, sin, ids = inputs_of(attributes, lies, looked_up)
        by_token = (cos, sin) if ids is None else (cos[ids], sin[ids])
        theirs = module.rotary_embedding(x, cos, sin, position_ids=ids, **attributes)
        ours = operator(
            by_head(x, lies), *by_token, attributes.get("interleaved", 0), 2 * cos.shape[-1]
        )
        np.testing.assert_allclose(by_head(theirs, lies), ours, rtol=0, atol=3e-7)


def test_the_operator_arrives_at_the_same(vectors):
    """One axis, tables looked up in a cache of cosines: what ONNX's operator claims to do."""

    def rotate(x, position_ids, case):
        if position_ids.dim() == 3:
            raise NotImplementedError("positions with several axes")
        tables = (np.float32(case[name]) for name in ("cos", "sin"))
        interleaved = case["layout"] == "interleaved"
        rotary_dim = 2 * len(case["inv_freq"])
        return np.float32(operator(x.numpy(), *tables, interleaved, rotary_dim))

    report = check(vectors, rotate)
    assert report.exact and len(report.of("exact")) > 80


# torchtune


def test_float64_contradicts_the_sums_that_torchtune_stores():
    """Its suite compares a sum over 33 million numbers with 2165.7053; in float64 it is another.

    From tests/torchtune/modules/test_position_embeddings.py: seed 0, (4, 2048, 32, 128), pairs
    interleaved, base 10000. A processor's own randn moves the sum by its last bits, far below.
    """
    torch.manual_seed(0)
    x = torch.randn(4, 2048, 32, 128)
    tables = cos_sin(torch.arange(2048), inv_freq(128), dtype=torch.float64)
    cos, sin = (t.unsqueeze(1) for t in tables)  # (tokens, 1, pairs)
    exact = sum(
        (row[..., ::2].double() * (cos + sin) + row[..., 1::2].double() * (cos - sin)).sum().item()
        for row in x
    )
    some = x[:1, [0, 7, 2047], :2].transpose(1, 2)
    oracle = reference.rotate(some, [0, 7, 2047], inv_freq(128), layout="interleaved")
    parts = some[..., ::2].double(), some[..., 1::2].double()
    c, s = (t[[0, 7, 2047]] for t in tables)
    assert oracle.sum().item() == pytest.approx(
        (parts[0] * (c + s) + parts[1] * (c - s)).sum().item(), abs=1e-9
    )
    assert exact == pytest.approx(2165.5970, abs=0.01)
    assert abs(exact - 2165.7053) > 0.1
