"""What the page of questions answers and no other test decides."""

import copy

import pytest
import torch
from torch import nn

from ropelib import RopeConfig, RotaryEmbedding, apply_rotary, cos_sin, inv_freq
from ropelib.attention import attend
from ropelib.axes import axial_cos_sin, axis_of_pairs
from ropelib.config.gallery import GALLERY
from ropelib.diagnosis import diagnose
from ropelib.distance import cosine_mean
from ropelib.encodings import Alibi, Rotary
from ropelib.frequencies import wavelength

LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, rope_type="llama3")


def turned(x, positions, *, layout="half", base=10_000.0):
    return apply_rotary(x, *cos_sin(positions, inv_freq(x.shape[-1], base)), layout=layout)


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_with_10000_half_of_the_hands_come_round_in_512_tokens():
    assert (wavelength(inv_freq(64, 10_000.0)) <= 512).sum() == 16
    assert (wavelength(inv_freq(64, 1_000_000.0)) <= 512).sum() < 16


def test_rope_theta_is_the_base_and_no_angle():
    file = dict(model_type="llama", hidden_size=64, num_attention_heads=1, rope_theta=5e5)
    config = RopeConfig.from_hf(file)
    assert config.base == 5e5
    torch.testing.assert_close(config.inv_freq(), inv_freq(64, 5e5), rtol=1e-15, atol=0)


def test_two_functions_are_called_rotate_half():
    from transformers.models.cohere.modeling_cohere import rotate_half as neighbors
    from transformers.models.llama.modeling_llama import rotate_half as halves

    x = torch.arange(4.0)
    assert neighbors.__name__ == halves.__name__ == "rotate_half"
    assert neighbors(x).tolist() == [-1, 0, -3, 2] and halves(x).tolist() == [-2, -3, 0, 1]


def test_a_wrong_layout_or_softmax_scale_leaves_the_first_token_alone():
    q, k, v = drawn(3, 2, 6, 8)
    right, seated, scaled = (
        attend(Rotary(8, layout=layout), q * scale, k, v, causal=True)[0]
        for layout, scale in (("half", 1), ("interleaved", 1), ("half", 1.87))
    )
    for wrong in (seated, scaled):
        torch.testing.assert_close(right[..., 0, :], wrong[..., 0, :])
        for place in range(1, 6):
            assert not torch.allclose(right[..., place, :], wrong[..., place, :])


def test_the_other_direction_is_a_sign_in_every_pair():
    q, k = drawn(2, 5, 8)
    flip = torch.tensor([1.0] * 4 + [-1.0] * 4).double()  # the second numbers, in halves

    def clockwise(x):
        cos, sin = cos_sin(range(5), inv_freq(8), dtype=torch.float64)
        return apply_rotary(x, cos, -sin, layout="half")

    ours = turned(q * flip, range(5)) @ turned(k * flip, range(5)).mT
    torch.testing.assert_close(clockwise(q) @ clockwise(k).mT, ours, rtol=0, atol=1e-5)
    assert not torch.allclose(
        clockwise(q) @ clockwise(k).mT, turned(q, range(5)) @ turned(k, range(5)).mT
    )


def test_three_spellings_of_the_exponent_are_one():
    by_dimension = 10_000.0 ** -(torch.arange(0, 64, 2).double() / 64)
    by_half = 10_000.0 ** -(torch.arange(32).double() / 32)
    torch.testing.assert_close(by_dimension, inv_freq(64), rtol=1e-14, atol=0)
    torch.testing.assert_close(by_half, inv_freq(64), rtol=1e-14, atol=0)
    whole = 10_000.0 ** -(torch.arange(32).double() / 64)  # the slip that was proposed
    assert not torch.allclose(whole, inv_freq(64))


@pytest.mark.parametrize("counted, same", [(20, True), (8, False)])
def test_after_eviction_the_next_position_counts_all_tokens_so_far(counted, same):
    """Twenty tokens were read; the last eight rows are kept, turned as they were."""
    q, k, v = drawn(3, 1, 21, 16)
    read = dict(position_ids=torch.tensor([20]), key_position_ids=torch.arange(12, 21))
    whole, _ = attend(Rotary(16, layout="half"), q[:, 20:], k[:, 12:], v[:, 12:], **read)
    table = RotaryEmbedding(16, layout="half")
    kept = table(k, k)[1][:, 12:20]
    query, key = table(q[:, 20:], k[:, 20:], offset=counted)
    scores = query @ torch.cat([kept, key], 1).mT / 4
    out = scores.softmax(-1) @ v[:, 12:]
    assert torch.allclose(out, whole, atol=1e-5) == same


def test_counting_one_side_from_elsewhere_changes_the_scores():
    q, k = drawn(4, 8), drawn(6, 8)

    def scores(of_queries, of_keys):
        return (
            turned(q, range(of_queries, of_queries + 4)) @ turned(k, range(of_keys, of_keys + 6)).mT
        )

    torch.testing.assert_close(scores(0, 0), scores(7, 7), rtol=0, atol=1e-5)
    assert not torch.allclose(scores(0, 0), scores(0, 7), atol=0.1)


def tiny_phi_3():
    """A Phi-3 in float64 whose LongRoPE has its switch at 16 tokens."""
    from transformers import Phi3Config, Phi3Model

    part = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 16}
    part |= {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "factor": 4.0}
    sizes = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, vocab_size=32)
    sizes |= dict(num_attention_heads=4, num_key_value_heads=4)
    torch.manual_seed(0)
    config = Phi3Config(
        **sizes,
        **dict(max_position_embeddings=64, original_max_position_embeddings=16),
        **dict(pad_token_id=0, bos_token_id=1, eos_token_id=2),
        rope_parameters=part,
    )
    return Phi3Model(config).double().eval()


@torch.no_grad()
def states(model, ids, **options):
    return model(ids, **options).last_hidden_state


def test_padding_that_counts_pushes_a_row_over_the_switch_of_longrope():
    """Of 12 tokens with 16 trained, 4 places of padding do nothing, and 5 do."""
    model, text = tiny_phi_3(), torch.randint(3, 32, (1, 12))
    alone = states(model, text)
    for pads, same in ((4, True), (5, False)):
        padded = nn.functional.pad(text, (pads, 0))
        mask = (torch.arange(12 + pads) >= pads).long()[None]
        counted = (mask.cumsum(-1) - 1).clamp(min=0)
        left = states(model, padded, attention_mask=mask)[:, pads:]
        assert ((left - alone).abs().max() < 1e-6) == same
        assert same or (left - alone).abs().max() > 1e-3
        skipped = states(model, padded, attention_mask=mask, position_ids=counted)[:, pads:]
        torch.testing.assert_close(skipped, alone, rtol=0, atol=1e-12)


def test_dynamic_ntk_takes_padding_for_text_too():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    part = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    config = LlamaConfig(head_dim=16, max_position_embeddings=16, rope_parameters=part)
    x = torch.zeros(1)

    def step(length):  # from each position to the next, pair by pair
        cos, sin = LlamaRotaryEmbedding(config)(x, torch.arange(length)[None])
        return torch.atan2(sin[0, 1, :8], cos[0, 1, :8])

    assert torch.equal(step(16), step(12)) and (step(17)[1:] < step(12)[1:]).all()


def test_phi_3_in_chunks_over_the_switch_mixes_both_lists():
    model = tiny_phi_3()
    for length, same in ((16, True), (20, False)):
        text = torch.randint(3, 32, (1, length))
        with torch.no_grad():
            first = model(text[:, :12], use_cache=True)
            second = model(text[:, 12:], past_key_values=first.past_key_values)
        chunks = torch.cat([first.last_hidden_state, second.last_hidden_state], 1)
        apart = (chunks - states(model, text)).abs().max()
        assert apart < 1e-6 if same else apart > 1e-3


def test_the_longest_row_of_a_batch_chooses_longropes_list_for_all():
    model, batch = tiny_phi_3(), torch.randint(3, 32, (2, 20))
    mask = torch.ones(2, 20, dtype=torch.long)
    mask[1, 12:] = 0
    together = states(model, batch, attention_mask=mask)[1, :12]
    assert (together - states(model, batch[1:, :12])[0]).abs().max() > 1e-3
    within = states(model, batch[:, :16], attention_mask=mask[:, :16])[1, :12]
    assert (within - states(model, batch[1:, :12])[0]).abs().max() < 1e-6


def test_yarn_slows_hands_and_sharpens_scores_at_every_length():
    yarn = RopeConfig.from_hf(GALLERY["Qwen2.5 7B with YaRN"].config)
    for seq_len in (1, 1000, 32_768, 131_072):
        assert (yarn.inv_freq(seq_len) < inv_freq(128, 1e6) * 0.999).any()
        assert yarn.attention_factor(seq_len) == pytest.approx(1.1386, abs=1e-4)


def test_an_attention_factor_that_is_not_read_doubles_the_scores():
    def factor_of(**more):
        rope = dict(rope_type="yarn", factor=64.0, original_max_position_embeddings=4096, **more)
        file = dict(model_type="llama", hidden_size=64, num_attention_heads=1, rope_theta=5e5)
        return RopeConfig.from_hf(file | {"rope_scaling": rope}).attention_factor()

    assert factor_of(attention_factor=1.0) == 1
    assert factor_of(mscale=1.0, mscale_all_dim=1.0) == 1
    assert factor_of() == pytest.approx(1.416, abs=5e-4)
    assert factor_of() ** 2 == pytest.approx(2, abs=0.01)


SCALINGS = {  # what the answer says of each rule: how much scores change, and the code
    "llama3": (LLAMA3 | {"original_max_position_embeddings": 8192}, 0, 0.01, "scaling-missing"),
    "linear": ({"factor": 4.0}, 0.4, 0.8, "factor-not-as-expected"),
    "yarn": (
        {"factor": 4.0, "original_max_position_embeddings": 8192},
        0.2,
        0.4,
        "scaling-missing",
    ),
    "dynamic": ({"factor": 4.0}, 0, 0, "long-calls-not-tried"),
}


@pytest.mark.parametrize("rope_type", SCALINGS)
def test_a_scaling_that_is_missing_shows_in_short_texts_by_its_rule(rope_type):
    rule, least, most, code = SCALINGS[rope_type]
    file = dict(model_type="llama", head_dim=128, rope_theta=5e5, max_position_embeddings=1024)
    file["rope_scaling"] = {"rope_type": rope_type, **rule}
    scaled = RopeConfig.from_hf(file)
    q, k = drawn(2, 64, 32, 128)

    def scores(speeds, factor):
        tables = cos_sin(range(32), speeds, attention_factor=factor, dtype=torch.float64)
        return apply_rotary(q, *tables, layout="half") @ apply_rotary(k, *tables, layout="half").mT

    plain = scores(inv_freq(128, 5e5), 1)
    changed = plain - scores(scaled.inv_freq(32), scaled.attention_factor(32))
    assert least <= changed.std() / plain.std() <= most

    def without(x, ids):
        return turned(x, ids, base=5e5)

    options = {"expected": file, "head_dim": 128}
    assert diagnose(without, **options, max_position=512).codes == (code,)
    if rope_type == "dynamic":
        assert not diagnose(without, **options, max_position=4096).ok


def test_a_misspelled_key_is_passed_over_by_transformers_and_refused_here():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    def speeds(**key):
        rope = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6, **key}
        file = LlamaConfig(max_position_embeddings=131_072, head_dim=128, rope_parameters=rope)
        return LlamaRotaryEmbedding(file).inv_freq

    misspelled = speeds(original_max_position_embedding=32_768)
    assert torch.equal(misspelled, speeds(original_max_position_embeddings=131_072))
    assert not torch.equal(misspelled, speeds(original_max_position_embeddings=32_768))
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embedding": 32_768}
    file = dict(model_type="llama", head_dim=128, rope_theta=1e6, rope_scaling=rope)
    with pytest.raises(ValueError, match=r"'original_max_position_embedding'\] is unknown"):
        RopeConfig.from_hf(file)


def rounded_at_each_step(x, positions):
    cos, sin = (torch.cat((t, t), -1).to(x.dtype) for t in cos_sin(positions, inv_freq(128)))
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


@pytest.mark.parametrize(("dtype", "share"), [(torch.bfloat16, 2**-6), (torch.float16, 2**-9)])
def test_a_fair_kernel_is_within_a_share_of_the_pair_and_not_of_each_number(dtype, share):
    x = drawn(4, 8, 256, 128).to(dtype)
    found, exact = rounded_at_each_step(x, range(256)), turned(x.double(), range(256))
    one, other = exact.chunk(2, -1)
    allowed = share * torch.hypot(one, other).repeat(1, 1, 1, 2)
    assert ((found.double() - exact).abs() <= allowed).all()
    with pytest.raises(AssertionError, match="Mismatched elements"):
        torch.testing.assert_close(found, exact.to(dtype))


def test_what_is_rounded_once_differs_in_a_third_of_the_numbers_and_is_nearer():
    x = drawn(4, 8, 256, 128).bfloat16()
    often, once = rounded_at_each_step(x, range(256)), turned(x, range(256))
    exact = turned(x.double(), range(256))
    assert 0.25 < (often != once).double().mean() < 0.45
    off = [(found.double() - exact).square().mean() for found in (once, often)]
    assert off[0] < 0.7 * off[1]


def test_a_step_that_restarts_after_a_prefix_is_named():
    def restarts(x, ids):
        return turned(x, ids - ids[:1] if ids.dim() == 1 else ids)

    def one_late(x, ids):
        return turned(x, ids + (ids[..., :1] > 0))

    def plain(x, ids):
        return turned(x, ids)

    said = {restarts: ("decode-restarts-at-zero",), one_late: ("decode-off-by-one",), plain: ()}
    for step, codes in said.items():
        assert diagnose(plain, decode=step, head_dim=64, max_position=600).codes == codes


def test_a_larger_base_keeps_equal_contents_alike_at_10000_tokens():
    def slowest_quarter(base):
        return cosine_mean(inv_freq(128, base)[48:], [10_000]).item()

    assert slowest_quarter(10_000.0) < 0 and slowest_quarter(500_000.0) > 0.9


def test_deepseeks_tables_are_plain_and_its_softmax_scale_is_not():
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

    file = GALLERY["DeepSeek-V3"].config
    assert RopeConfig.from_hf(file).attention_factor() == 1
    small = dict(hidden_size=64, num_attention_heads=1, num_hidden_layers=1)
    scale = DeepseekV3Attention(DeepseekV3Config(**{**file, **small}), 0).scaling
    assert scale * (128 + 64) ** 0.5 == pytest.approx(1.87, abs=0.005)


def test_the_base_has_left_the_top_of_transformers_configurations():
    from transformers import LlamaConfig

    config = LlamaConfig(rope_theta=500_000.0)
    assert config.rope_parameters["rope_theta"] == 500_000
    assert getattr(config, "rope_theta", 10_000) == 10_000


def test_the_stretched_length_in_place_of_the_original_slows_other_hands():
    def slowed(original):
        file = dict(GALLERY["Llama 3.1 8B"].config)
        file["rope_scaling"] = {**LLAMA3, "original_max_position_embeddings": original}
        return (RopeConfig.from_hf(file).inv_freq() < inv_freq(128, 5e5) / 7.99).sum().item()

    assert slowed(8192) == 29 > slowed(131_072)


def test_gemma_3_slows_its_full_layers_alone():
    file = GALLERY["Gemma 3 12B"].config
    full, sliding = (
        RopeConfig.from_hf(file, layer_type=f"{kind}_attention") for kind in ("full", "sliding")
    )
    assert (full.base, sliding.base) == (1_000_000, 10_000)
    torch.testing.assert_close(full.inv_freq(), inv_freq(256, 1e6) / 8, rtol=1e-14, atol=0)
    torch.testing.assert_close(sliding.inv_freq(), inv_freq(256, 1e4), rtol=1e-14, atol=0)
    text = file["text_config"]
    assert (text["sliding_window"], text["sliding_window_pattern"]) == (1024, 6)


def test_a_norm_with_weights_goes_before_the_turn():
    q, k = drawn(2, 3, 8)
    plain = nn.RMSNorm(8, elementwise_affine=False).double()
    weighted = nn.RMSNorm(8).double()
    weighted.weight.data = torch.linspace(0.5, 2, 8).double()

    def scores(start, norm, *, first):
        ids = range(start, start + 3)
        q_, k_ = (turned(norm(x), ids) if first else norm(turned(x, ids)) for x in (q, k))
        return q_ @ k_.mT

    close = dict(rtol=0, atol=1e-5)
    torch.testing.assert_close(scores(0, plain, first=True), scores(0, plain, first=False), **close)
    torch.testing.assert_close(
        scores(0, weighted, first=True), scores(50, weighted, first=True), **close
    )
    behind = scores(0, weighted, first=False), scores(50, weighted, first=False)
    assert not torch.allclose(*behind, atol=0.01)


def test_alternating_axes_are_halves_in_other_seats():
    ids = torch.stack([torch.arange(6) // 3, torch.arange(6) % 3])
    spectrum = inv_freq(8)  # one spectrum for each axis: four pairs of rows, four of columns
    q, k = drawn(2, 6, 16)
    seats = torch.arange(8).reshape(2, 4).T.flatten()  # row, column, row, column, ...
    tables = axial_cos_sin(ids, torch.cat([spectrum, spectrum]), sections=[4, 4])
    mixed = [table[..., seats] for table in tables]
    dimensions = torch.cat([seats, seats + 8])  # both numbers of a pair, in halves

    def scores(x, y, cos, sin):
        return (
            apply_rotary(x, cos, sin, layout="half") @ apply_rotary(y, cos, sin, layout="half").mT
        )

    halves = scores(q, k, *tables)
    torch.testing.assert_close(
        scores(q[:, dimensions], k[:, dimensions], *mixed), halves, rtol=0, atol=1e-5
    )
    assert not torch.allclose(scores(q, k, *mixed), halves, atol=0.01)


def test_qwen3_vl_interleaves_axes_and_turns_halves():
    from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen

    assert axis_of_pairs([4, 2, 2], order="interleaved") == [0, 1, 2, 0, 1, 2, 0, 0]
    assert qwen.rotate_half(torch.arange(4.0)).tolist() == [-2, -3, 0, 1]
    x = drawn(1, 1, 8)
    cos, sin = cos_sin([5], inv_freq(8), dtype=torch.float64)
    q, _ = qwen.apply_rotary_pos_emb(
        x[None], x[None], *(torch.cat([t, t], -1)[None] for t in (cos, sin))
    )
    torch.testing.assert_close(q[0], apply_rotary(x, cos, sin, layout="half"))


def tiny_qwen2_vl():
    from transformers import Qwen2VLConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel

    text = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, vocab_size=32)
    text |= dict(num_attention_heads=2, num_key_value_heads=2, pad_token_id=0)
    text |= dict(bos_token_id=1, eos_token_id=2)
    text["rope_parameters"] = dict(rope_type="default", rope_theta=1e4, mrope_section=[2, 3, 3])
    vision = dict(depth=1, embed_dim=32, num_heads=2, hidden_size=32)
    return Qwen2VLModel(Qwen2VLConfig(text_config=text, vision_config=vision)).eval()


def with_image(side):
    """Three words, an image of `side` by `side` patches of which four make a token, three words."""
    kinds = torch.tensor([[0] * 3 + [1] * (side * side // 4) + [0] * 3], dtype=torch.int)
    return dict(
        input_ids=torch.ones(kinds.shape, dtype=torch.long),
        mm_token_type_ids=kinds,
        image_grid_thw=torch.tensor([[1, side, side]]),
    )


def test_after_an_image_the_next_position_is_the_number_of_tokens_plus_a_delta():
    model, chat = tiny_qwen2_vl(), with_image(8)
    ids, delta = model.get_rope_index(**chat)
    tokens = chat["input_ids"].shape[1]
    assert (tokens, ids.max().item(), delta.item()) == (22, 9, -12)
    assert ids.max() + 1 == tokens + delta.item() != tokens


def test_the_delta_is_in_the_model_and_not_in_the_cache():
    """Of two chats in turn the first goes on by the delta of the second, if none puts it back."""
    from transformers import DynamicCache

    model, chats = tiny_qwen2_vl(), [with_image(8), with_image(4)]
    deltas = []
    for chat in chats:
        model.compute_3d_position_ids(inputs_embeds=None, **chat)
        deltas.append(model.rope_deltas)
    assert [delta.item() for delta in deltas] == [-12, -2]
    cache = DynamicCache(config=model.config.text_config)
    cache.update(*torch.zeros(2, 1, 2, 22, 16), 0)
    assert not [name for name in vars(cache) if "delta" in name]

    def continued():
        return model.compute_3d_position_ids(
            input_ids=None, inputs_embeds=torch.zeros(1, 2, 32), past_key_values=cache
        )

    assert (continued()[:, 0] == torch.tensor([20, 21])).all()
    model.rope_deltas = deltas[0]
    assert (continued()[:, 0] == torch.tensor([10, 11])).all()


def test_tables_of_8192_positions_take_4_mib():
    cos, sin = cos_sin(range(8192), inv_freq(128))
    assert cos.nbytes + sin.nbytes == 4 * 2**20


def test_plain_distances_do_not_tell_before_from_after():
    x = drawn(2, 5, 8)
    read = lambda order: attend(Alibi(2), *[x[:, order]] * 3)[0][:, order]  # noqa: E731
    torch.testing.assert_close(read([4, 3, 2, 1, 0]), read([0, 1, 2, 3, 4]))
    assert not torch.allclose(read([1, 0, 2, 3, 4]), read([0, 1, 2, 3, 4]), atol=0.01)


@pytest.mark.parametrize("name", ["Llama", "Cohere"])
def test_a_model_that_is_cast_has_rounded_frequencies_and_one_that_is_loaded_has_not(
    tmp_path, name
):
    import transformers

    small = dict(hidden_size=64, intermediate_size=64, vocab_size=8, pad_token_id=0)
    small |= dict(num_attention_heads=4, num_hidden_layers=1, eos_token_id=1, bos_token_id=1)
    kind = getattr(transformers, f"{name}Model")
    model = kind(getattr(transformers, f"{name}Config")(**small))
    exact = model.rotary_emb.inv_freq.clone()
    model.save_pretrained(tmp_path)
    loaded = kind.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert (loaded.dtype, exact.dtype) == (torch.bfloat16, torch.float32)
    assert torch.equal(loaded.rotary_emb.inv_freq, exact)
    for cast, dtype in (("bfloat16", torch.bfloat16), ("half", torch.float16)):
        found = getattr(copy.deepcopy(model), cast)().rotary_emb.inv_freq
        assert found.dtype == dtype and not torch.equal(found.float(), exact)
    cast = model.to(torch.bfloat16).rotary_emb.inv_freq
    assert torch.equal(cast, exact.bfloat16())
