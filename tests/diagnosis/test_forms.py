"""Rotations as others write them are taken as they come, and judged alike."""

import pytest
import torch
from exhibits import PLAIN, plain

from ropelib import RotaryEmbedding, inv_freq
from ropelib.checks import LAYOUTS
from ropelib.diagnosis import (
    diagnose,
    from_course,
    from_freqs_cis,
    from_offset,
    from_operator,
    from_transformers,
)

# Signatures of others, with formulas of our own. Their own code, where it is installed, is measured
# by benchmarks/against_peers.py.


def rotated(x, cos, sin, interleaved):
    """The formula, with tables that broadcast against half of x."""
    width = 2 * cos.shape[-1]
    x, rest = x[..., :width], x[..., width:]
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    pairs = (a * cos - b * sin, a * sin + b * cos)
    turned = torch.stack(pairs, dim=-1).flatten(-2) if interleaved else torch.cat(pairs, dim=-1)
    return torch.cat((turned, rest), dim=-1).type_as(x)


@pytest.mark.parametrize("setting", ["base", "interleaved", "axis", "kind"])
def test_a_setting_after_x_is_no_position(setting):
    settings = {"base": 10_000.0, "interleaved": True, "axis": -2, "kind": "plain"}

    def counts(x, default):
        assert default == settings[setting]
        return plain(x, torch.arange(x.shape[-2]))

    forms = {
        "base": lambda x, base=10_000.0: counts(x, base),
        "interleaved": lambda x, interleaved=True: counts(x, interleaved),
        "axis": lambda x, axis=-2: counts(x, axis),
        "kind": lambda x, kind="plain": counts(x, kind),
    }
    report = diagnose(forms[setting], max_position=64)
    assert report.codes == ("counts-itself",), report


def test_a_setting_after_q_and_k_is_no_position():
    def rotate(q, k, theta=10_000.0):
        return tuple(plain(x, torch.arange(x.shape[-2]), inv_freq(64, theta)) for x in (q, k))

    assert diagnose(rotate, max_position=64).codes == ("counts-itself",)


class Course(torch.nn.Module):
    """The class that CS336 asks for; `first` is the number of the first pair."""

    first = 0

    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        exponents = 2 * (torch.arange(d_k // 2) + self.first) / d_k
        speeds = theta ** -exponents.double()
        angles = torch.arange(max_seq_len)[:, None] * speeds
        self.theta, self.d_k = theta, d_k
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: torch.Tensor, token_positions: torch.Tensor) -> torch.Tensor:
        assert x.shape[-2] == token_positions.shape[-1] and x.dim() == 3
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        return rotated(x, cos, sin, interleaved=True)


class FromOne(Course):
    first = 1


class Blind(Course):
    def forward(self, x, token_positions):
        return super().forward(x, torch.arange(x.shape[-2]).expand(len(x), -1))


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Course(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


class Torchtune(torch.nn.Module):
    """x is (batch, seq_len, num_heads, head_dim)."""

    def __init__(self, dim, late=0):
        super().__init__()
        self.dim, self.late = dim, late

    def forward(self, x, *, input_pos=None):
        ids = torch.arange(x.size(1)) if input_pos is None else input_pos
        angles = (ids + self.late)[..., None].double() * inv_freq(self.dim)
        return rotated(x, *(t[..., None, :].float() for t in (angles.cos(), angles.sin())), True)


class ByOffset(torch.nn.Module):
    """As rotary-embedding-torch has it."""

    def rotate_queries_or_keys(self, t, seq_dim=None, offset=0, scale=None):
        return plain(t, torch.arange(t.shape[-2]) + offset, layout="interleaved")

    def forward(self, t, seq_len=None, offset=0):
        raise AssertionError("this makes angles")


def proposed(x, cos, sin, position_ids=None, *, interleaved=False):
    """As proposed for PyTorch."""
    cos, sin = (table[position_ids][:, None] for table in (cos, sin))
    return rotated(x, cos, sin, interleaved)


def onnx(
    X, cos_cache, sin_cache, position_ids=None, interleaved=0, num_heads=0, rotary_embedding_dim=0
):
    assert cos_cache.shape[-1] == (rotary_embedding_dim or X.shape[-1]) // 2
    return proposed(X, cos_cache, sin_cache, position_ids, interleaved=bool(interleaved))


def flash(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, cu_seqlens=None):
    """x is (batch, seq_len, num_heads, head_dim), and positions are rows of the tables."""
    return rotated(x, cos[: x.shape[1], None], sin[: x.shape[1], None], interleaved)


def meta(xq, xk, freqs_cis):
    assert freqs_cis.shape == (xq.shape[1], xq.shape[-1] // 2)
    pairs = (torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) for x in (xq, xk))
    return tuple(torch.view_as_real(x * freqs_cis[:, None]).flatten(-2).type_as(xq) for x in pairs)


def meta_conjugated(xq, xk, freqs_cis):
    return meta(xq, xk, freqs_cis.conj())


def meta_of_one(x, freqs_cis):
    return meta(x, x, freqs_cis)[0]


def by_start(x, start_pos):
    return plain(x, torch.arange(start_pos, start_pos + x.shape[-2]))


def both_by_offset(q, k, offset=0):
    return by_start(q, offset), by_start(k, offset)


def flash_reference(x, cos, sin, interleaved=False):
    """As flash-attn's `apply_rotary_emb_torch`, the sequence first."""
    return rotated(x, cos[:, None], sin[:, None], interleaved)


def by_name(x, *, position_ids):
    return plain(x, position_ids)


def both_by_name(q, k, *, position_ids):
    return plain(q, position_ids), plain(k, position_ids)


def joined(x):
    return torch.cat((x[..., 0::2], x[..., 1::2]), -1)


class Joined(Course):
    def forward(self, x, token_positions):
        return joined(super().forward(x, token_positions))


class ThetaIgnored(Course):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__(10_000.0, d_k, max_seq_len)


class OneRowShort(Course):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__(theta, d_k, max_seq_len - 1)


def onnx_of_the_end(X, cos_cache, sin_cache, position_ids, rotary_embedding_dim=0):
    n = X.shape[-1] - rotary_embedding_dim
    return torch.cat((X[..., :n], proposed(X[..., n:], cos_cache, sin_cache, position_ids)), -1)


def onnx_by_offset(X, cos_cache, sin_cache, position_ids):
    ids = (position_ids[:, :1] + torch.arange(X.shape[2])).clamp(max=len(cos_cache) - 1)
    return proposed(X, cos_cache, sin_cache, ids)


RIGHT = [
    *(RotaryEmbedding(64, layout=layout) for layout in LAYOUTS),
    *(Course, Course(10_000.0, 64, 8192), run_rope),
    *(Torchtune(64), ByOffset(), proposed, onnx, flash),
    *(meta, meta_of_one, by_start, both_by_offset),
    *(flash_reference, by_name, both_by_name),
]


def name_of(form):
    return getattr(form, "__name__", type(form).__name__)


@pytest.mark.parametrize("form", RIGHT, ids=name_of)
def test_a_form_is_taken_as_it_comes(form):
    report = diagnose(form, max_position=600)
    assert report.ok and report.rotary_dim == 64, report
    theta = 20_000 if form in (Course, run_rope) else 10_000
    assert report.base == pytest.approx(theta, rel=1e-5)
    assert report.positions == 600 and "rows-refused" not in report.codes


def off_by_one(form):
    def late(x, start_pos):
        return form(x, start_pos + 1)

    return late


WRONG = [
    (FromOne, "exponents-from-one"),  # the handout's formula counts pairs from 1
    (Blind, "position-ids-ignored"),
    (Joined, "results-not-as-expected"),
    (OneRowShort, "results-not-as-expected"),
    (ThetaIgnored, "base-not-as-expected"),
    (from_operator(onnx_of_the_end, rotary_dim=32), "results-not-as-expected"),
    (onnx_by_offset, "results-not-as-expected"),
    (
        from_operator(
            lambda X, cos_cache, sin_cache, position_ids, interleaved: joined(
                proposed(X, cos_cache, sin_cache, position_ids, interleaved=True)
            ),
            interleaved=True,
        ),
        "results-not-as-expected",
    ),
    (Torchtune(64, late=1), "off-by-one"),
    (meta_conjugated, "direction-not-as-expected"),
    (off_by_one(by_start), "off-by-one"),
    (lambda x, start_pos: by_start(x, 0), "positions-restart"),
    (lambda q, k, offset: (by_start(q, offset), k), "k-not-rotated"),
    (
        lambda x, cos, sin, position_ids, interleaved=False: proposed(
            x, cos, sin, position_ids, interleaved=not interleaved
        ),
        "layout-not-as-expected",
    ),
]


@pytest.mark.parametrize(("form", "code"), WRONG, ids=[code for _, code in WRONG])
def test_a_bug_in_a_form_is_named(form, code):
    report = diagnose(form, max_position=600)
    assert not report.ok and report.codes[0] == code, report


def test_halves_put_side_by_side_are_named():
    beside = "halves are put side by side, torch.cat((a, b), -1) for torch.stack((a, b), -1)"
    assert beside in diagnose(Joined, max_position=600).findings[0].cause

    def neighbors(x, ids):
        return plain(x, ids, layout="interleaved")

    report = diagnose(lambda x, ids: joined(neighbors(x, ids)), expected=neighbors)
    assert report.codes == ("results-not-as-expected",)
    assert beside in report.findings[0].cause
    assert report.findings[0].evidence["dimension 1 comes out at"] == 32

    def stacked(x, ids):
        return torch.stack(plain(x, ids).chunk(2, -1), -1).flatten(-2)

    assert diagnose(stacked).findings[0].cause.startswith("halves are read and written as neighb")


def test_options_of_a_form_are_said_by_name():
    assert diagnose(from_operator(onnx, interleaved=True), max_position=64).layout == "interleaved"
    partial = diagnose(from_operator(onnx, head_dim=80, rotary_dim=20), max_position=64)
    assert (partial.head_dim, partial.rotary_dim) == (80, 20)
    assert diagnose(from_freqs_cis(meta, head_dim=128), max_position=64).head_dim == 128
    assert diagnose(from_course(Course, d_k=32, max_seq_len=100)).positions <= 100
    assert diagnose(from_offset(by_start), max_position=100).ok


def test_a_module_says_its_own_width_unless_another_is_given():
    module = RotaryEmbedding(128, layout="half")
    assert diagnose(module, max_position=64).head_dim == 128
    assert diagnose(Torchtune(32), max_position=64).head_dim == 32
    assert diagnose(Course, head_dim=16, max_position=64).head_dim == 16
    assert diagnose(module, head_dim=64, max_position=64).codes == ("call-raises",)


def test_what_a_form_means_gives_way_to_what_is_expected():
    report = diagnose(Course, max_position=64, expected="llama-2-7b", inv_freq=inv_freq(64))
    assert report.codes == ("layout-not-as-expected",)


def test_a_class_of_another_kind_is_sent_back():
    with pytest.raises(TypeError, match="got the class RotaryEmbedding: make one"):
        diagnose(RotaryEmbedding)


def test_positions_by_offset_are_asked_for_in_runs():
    asked = []

    def rotate(x, offset):
        asked.append((offset, x.shape[-2]))
        return by_start(x, offset)

    rotation, x = from_offset(rotate), torch.randn(2, 1, 5, 64)
    ids = torch.tensor([[0, 1, 2, 7, 8], [3, 2, 1, 1, 2]])
    assert torch.equal(rotation(x, ids), plain(x, ids))
    assert asked == [(0, 9)] * 6  # among neighbors, for no run is a step of decoding
    rotation(x[:, :, :3], torch.arange(4, 7))
    assert asked[6:] == [(4, 3)]


# What else a rotation may be compared with


def test_another_implementation_is_measured_and_compared():
    half = RotaryEmbedding(64, layout="half")
    options = {"max_position": 64}
    assert diagnose(plain, expected=half, **options).ok
    assert diagnose(plain, expected=lambda x, ids: half(x, x, ids)[0], **options).ok
    assert diagnose(plain, expected=(plain, plain), **options).ok
    report = diagnose(plain, expected=Course, **options)
    assert report.codes == ("layout-not-as-expected",)
    other = diagnose(plain, expected=lambda x, ids: plain(x, ids, PLAIN[:16]), **options)
    assert other.codes == ("width-not-as-expected",)
    slower = diagnose(plain, expected=lambda x, ids: plain(x, ids, factor=1.5), **options)
    assert slower.codes == ("attention-factor-missing",)


def test_what_is_wrong_itself_is_nothing_to_compare_with():
    with pytest.raises(ValueError, match=r"expected must be right itself .* got off-by-one: "):
        diagnose(plain, expected=lambda x, ids: plain(x, ids + 1))


def test_a_model_of_the_gallery_is_known_by_name():
    def llama(x, ids):
        return plain(x, ids, inv_freq(128, 10_000.0))

    for name in ("llama-2-7b", "Llama 2 7B", "Llama-2-7B"):
        assert diagnose(llama, head_dim=128, expected=name, max_position=64).ok
    report = diagnose(llama, head_dim=128, expected="llama-3.1-8b", max_position=64)
    assert report.codes == ("base-not-as-expected",)
    assert "scaling that is expected is missing as well" in report.findings[0].sentence
    with pytest.raises(ValueError, match=r"or one of roformer, .*llama-3.1-8b, .*, got 'lama'"):
        diagnose(llama, expected="lama")


# The models of transformers


@pytest.mark.parametrize(
    ("model", "layout", "rotary_dim", "head_dim"),
    [
        ("llama", "half", 128, 128),
        ("phi", "half", 32, 64),  # its attention slices the heads
        ("stablelm", "half", 20, 80),
        ("gpt_neox", "half", 24, 96),  # its function does
        ("glm", "interleaved", 64, 128),
        ("llama4", "interleaved", 128, 128),  # complex tables, the sequence first
        ("deepseek_v2", "interleaved", 64, 64),  # complex tables, heads first
        ("qwen2_vl", "half", 128, 128),  # three axes, of which text has one
    ],
)
def test_models_of_transformers_are_taken_by_their_type(model, layout, rotary_dim, head_dim):
    report = diagnose(from_transformers(model), max_position=64)
    assert report.ok, report
    measured = (report.layout, report.rotary_dim, report.head_dim)
    assert measured == (layout, rotary_dim, head_dim)


def test_a_model_its_rotary_module_its_class_and_its_file_are_one_rotation():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    sizes = {"hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = llama.LlamaConfig(**sizes, intermediate_size=8, vocab_size=8)
    model = llama.LlamaForCausalLM(config)
    forms = [model, model.model, llama.LlamaRotaryEmbedding(config)]
    forms += [from_transformers(llama, config), from_transformers("llama", config)]
    reports = {str(diagnose(form, max_position=64, expected=config)) for form in forms}
    assert len(reports) == 1 and "This rotation is right" in reports.pop()
    (whole,) = {
        str(diagnose(form, max_position=64)) for form in (llama, llama.LlamaRotaryEmbedding)
    }
    assert "128 of 128" in whole


def test_a_type_is_found_where_its_code_stands_under_another_name():
    modeling = pytest.importorskip("transformers.models.gemma4.modeling_gemma4")
    for layer_type in ("sliding_attention", "full_attention"):
        by_type = from_transformers("gemma4_text", layer_type=layer_type)
        kind = modeling.Gemma4TextRotaryEmbedding
        by_class = from_transformers(kind, layer_type=layer_type)
        reports = {str(diagnose(form, max_position=64)) for form in (by_type, by_class)}
        assert len(reports) == 1 and by_type[0].head_dim == by_class[0].head_dim


def test_layers_that_rotate_differently_are_asked_for():
    with pytest.raises(ValueError, match="layer_type must be one of full_attention, sliding_at"):
        from_transformers("gemma3")
    for layer_type, base in (("sliding_attention", 10_000), ("full_attention", 1_000_000)):
        report = diagnose(from_transformers("gemma3", layer_type=layer_type), max_position=64)
        assert report.ok and report.base == pytest.approx(base, rel=1e-4)


@pytest.mark.parametrize("layer_type", ["main", "compress"])
def test_tables_may_be_named_otherwise_than_layers_are(layer_type):
    rotations = from_transformers("deepseek_v4", layer_type=layer_type)
    x = torch.zeros(1, 2, 3, rotations[0].head_dim)
    assert rotations[0](x, torch.arange(3)).shape == x.shape


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("nosuch", ValueError, "transformers .* has no model type 'nosuch'"),
        ("vision-encoder-decoder", ValueError, "modeling_vision_encoder_decoder defines no class"),
        ("gptj", ValueError, "modeling_gptj defines no class whose name ends in RotaryEmbedding"),
        ("glm4v", ValueError, "Glm4vTextRotaryEmbedding makes no tables: RuntimeError: "),
        (3, TypeError, "from_transformers takes a model, .* got 3"),
        ("blt", ValueError, "BltRotaryEmbedding cannot be made with BltConfig, .* AttributeError"),
        (torch.nn.Linear(2, 2), ValueError, "Linear holds no module whose name ends in Rotary"),
    ],
)
def test_what_has_no_rotation_of_text_is_refused(source, error, message):
    with pytest.raises(error, match=message):
        from_transformers(source)


def test_a_bug_beside_the_module_of_transformers_is_seen(monkeypatch):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    right = llama.apply_rotary_pos_emb
    monkeypatch.setattr(
        llama, "apply_rotary_pos_emb", lambda q, k, *tables: (right(q, k, *tables)[0], k)
    )
    assert diagnose(from_transformers("llama"), max_position=64).codes == ("k-not-rotated",)
