"""What the chapter on stretching says, decided by computation and by the recorded runs."""

import itertools
import json
import math

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, Phi3Config, Phi3ForCausalLM
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from ropebook.experiments import recorded
from ropebook.experiments.studies import stretching
from ropelib import RopeConfig, inv_freq, scaling
from ropelib.config.gallery import GALLERY
from ropelib.distance import first_negative_distance, smallest_base
from ropelib.frequencies import turns

RUNS = recorded.load("stretching")
EDGE = stretching.BASE.seq_len // stretching.BIN
SEEDS = 5


def bins(case, state, factor):
    name = state if case == "window" else f"{state} {factor}"
    return RUNS.numbers(case, name)[:, : factor * EDGE]


def beyond(case, factor, state="zero"):
    return bins(case, state, factor)[:, EDGE:].mean(dim=1)


def inside(case, factor, state="zero"):
    return bins(case, state, factor)[:, :EDGE].mean(dim=1)


def higher(one, other):
    """In each seed, and by more than two standard errors of the mean difference."""
    gap = one - other
    return bool((gap > 0).all() and gap.mean() > 2 * gap.std() / len(gap) ** 0.5)


def test_the_recorded_runs_are_of_the_study_as_it_stands():
    assert RUNS.seeds("none") == list(range(SEEDS))
    assert sorted(RUNS.cases) == sorted(stretching.CASES)
    assert RUNS.config == json.loads(json.dumps(stretching.CONFIG))


@pytest.mark.parametrize("factor", [4, 8])
def test_without_training_by_parts_is_best_and_pi_worse_than_nothing(factor):
    order = ("linear", "none", "ntk_aware", "llama3", "yarn 4 turns", "window")
    for worse, better in itertools.pairwise(order):
        assert higher(beyond(worse, factor), beyond(better, factor)), (worse, better)
    assert higher(beyond("ntk_aware", factor), beyond("ntk_aware twice", factor))


def test_at_twice_the_length_pi_is_worse_than_nothing_in_four_models_of_five():
    gap = beyond("linear", 2) - beyond("none", 2)
    assert (gap > 0).sum() == 4 and gap.min() > -0.01


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_pi_spoils_the_old_positions_most(factor):
    others = [case for case in stretching.METHODS if case != "linear"]
    for case in others:
        assert higher(inside("linear", factor), inside(case, factor)), case


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_a_short_fine_tune_mends_all_but_pi_and_the_window_stays_ahead(factor):
    tuned = {c: beyond(c, factor, "tuned") for c in ("none", "ntk_aware", "yarn", "llama3")}
    pi, window = (beyond(case, factor, "tuned") for case in ("linear", "window"))
    for case, loss in tuned.items():
        assert higher(pi, loss) and higher(loss, window)
        assert higher(beyond(case, factor), loss)
    assert higher(tuned["none"], tuned["llama3"])
    assert (tuned["none"] - tuned["llama3"]).mean() < 0.02 < (pi - tuned["none"]).mean()


def test_old_keys_harm_after_a_switch_and_not_under_a_growing_base():
    gaps = {
        (case, name): (RUNS.numbers(case, name) - RUNS.numbers(case, "fresh")).mean(dim=1)
        for case in ("longrope", "dynamic_ntk")
        for name in ("stale", "turned")
    }
    nothing = torch.zeros(SEEDS)
    assert higher(gaps["longrope", "stale"], nothing)
    assert higher(nothing, gaps["dynamic_ntk", "stale"])
    for case in ("longrope", "dynamic_ntk"):
        assert (gaps[case, "turned"].abs() < 0.01).all()


def test_the_search_slows_what_never_comes_round_and_moves_the_rest_little():
    found, round_ = RUNS.numbers("longrope", "slowdown"), turns(inv_freq(64), 128)
    began = inv_freq(64) / stretching.frequencies("ntk_aware", 4)[0]
    slow, fast = round_ < 1, round_ >= 2
    assert (found[:, slow].mean(1) > began[slow].mean() + 1).all()
    assert ((found[:, fast].mean(1) - began[fast].mean()).abs() < 0.25).all()


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_the_attention_factor_helps_far_out_and_not_at_twice_the_length(factor):
    gain = beyond("yarn plain", factor) - beyond("yarn", factor)
    cost = inside("yarn", factor) - inside("yarn plain", factor)
    assert (gain > 0).sum() == (1 if factor == 2 else SEEDS)
    assert (cost > 0).sum() == (4 if factor == 2 else SEEDS)


def test_a_byte_of_the_window_is_foretold_from_97_to_128_bytes(monkeypatch):
    """The loss at position m is foretold from m + 1 bytes: here it is that number."""

    def bytes_seen(_, windows, batch_size):
        return (torch.arange(windows.shape[1] - 1).double() + 1).expand(len(windows), -1)

    monkeypatch.setattr(stretching, "losses", bytes_seen)
    seen = stretching._through_window(None)
    assert (seen[EDGE:] == torch.arange(97, 129).double().mean()).all()


def hands_of(module, position, length):
    """The angles of one position, read off the tables that transformers makes for a length."""
    ids = torch.tensor([[position, length - 1]])
    cos, sin = module(torch.zeros(1, 2, 8), ids)
    half = cos.shape[-1] // 2
    return torch.atan2(sin[0, 0, :half], cos[0, 0, :half])


def test_transformers_turns_a_key_otherwise_when_the_text_has_grown():
    """Dynamic NTK: the same position, another angle; a key in the cache keeps the one it had."""
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    config = LlamaConfig(head_dim=16, max_position_embeddings=64, rope_parameters=rope)
    module = LlamaRotaryEmbedding(config)
    short, longer = hands_of(module, 3, 64), hands_of(module, 3, 256)
    assert short[0] == longer[0] and (short[1:] > longer[1:]).all()
    for length, angles in ((64, short), (256, longer)):
        options = {"factor": 2.0, "seq_len": length, "max_seq_len": 64}
        ours = 3 * scaling.dynamic_ntk(16, 10_000.0, **options)[0]
        torch.testing.assert_close(angles.double().sin(), ours.sin(), atol=1e-5, rtol=0)


def test_transformers_throws_phi_3s_cache_away_at_the_switch():
    rope = {"rope_type": "longrope", "rope_theta": 10_000.0, "factor": 4.0}
    rope |= {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    sizes = {"hidden_size": 8, "intermediate_size": 8, "vocab_size": 8, "num_hidden_layers": 1}
    lengths = {"max_position_embeddings": 64, "original_max_position_embeddings": 16}
    config = Phi3Config(
        **{**sizes, **lengths, "num_attention_heads": 1, "pad_token_id": 0, "eos_token_id": 1},
        rope_parameters={**rope, "original_max_position_embeddings": 16},
    )
    model = Phi3ForCausalLM(config).eval()

    def kept(past, length):
        cache = DynamicCache(config=config)
        states = torch.zeros(1, 1, past, 8)
        cache.update(states, states, 0)
        ids = torch.zeros(1, length, dtype=torch.long)
        prepared = model.prepare_inputs_for_generation(
            ids, past_key_values=cache, attention_mask=torch.ones_like(ids)
        )
        return prepared.get("past_key_values") is not None

    assert kept(15, 16) and not kept(16, 17) and kept(17, 18)


@pytest.mark.parametrize("dim", [64, 96, 128])
def test_dynamic_ntk_with_old_keys_lets_the_slowest_hand_stand_still(dim):
    for length in (4096, 6000, 20_000):
        options = {"factor": 1.0, "seq_len": length, "max_seq_len": 4096}
        slowed, _ = scaling.dynamic_ntk(dim, 10_000.0, **options)
        at = length * slowed / inv_freq(dim)  # where trained token it stands
        assert at[-1] == pytest.approx(4096) and at[0] == pytest.approx(length)
        assert (at.diff() <= 1e-6).all()


def test_with_a_knob_above_1_the_slowest_hand_turns_back():
    """In transformers f is in the configuration: with f = 2 the place falls towards L / 2."""
    places = []
    for length in (4096, 5000, 8192, 16_384, 10**8):
        options = {"factor": 2.0, "seq_len": length, "max_seq_len": 4096}
        slowed, _ = scaling.dynamic_ntk(128, 10_000.0, **options)
        places.append((length * slowed / inv_freq(128))[-1].item())
    assert [round(place) for place in places] == [4096, 3469, 2731, 2341, 2048]


def test_the_knob_of_dynamic_ntk_slows_the_last_hand_by_13_at_four_times_the_length():
    for knob, slowdown in ((1.0, 4), (4.0, 13)):
        options = {"factor": knob, "seq_len": 16_384, "max_seq_len": 4096}
        slowed, _ = scaling.dynamic_ntk(128, 10_000.0, **options)
        assert (inv_freq(128) / slowed)[-1].item() == pytest.approx(slowdown)


def test_su_s_first_formula_is_base_times_s_and_slows_the_last_hand_too_little():
    dim, factor = 128, 8.0
    digit = factor ** (2 / dim)  # lambda of kexue.fm/archives/9706, equation 4
    slowed_by = digit ** torch.arange(dim // 2).double()
    torch.testing.assert_close(slowed_by, inv_freq(dim) / inv_freq(dim, factor * 10_000.0))
    assert slowed_by[-1].item() == pytest.approx(factor ** (1 - 2 / dim))


def test_the_two_ntk_rules_differ_at_the_first_hand_and_meet_at_the_last():
    for dim, factor in ((64, 4.0), (128, 8.0)):
        i = torch.arange(dim // 2).double()
        aware = inv_freq(dim) / scaling.ntk_aware(dim, factor=factor)[0]
        fixed = inv_freq(dim) / scaling.ntk_fixed(dim, factor=factor)[0]
        torch.testing.assert_close(aware, factor ** (2 * i / (dim - 2)))
        torch.testing.assert_close(fixed, factor ** (2 * (i + 1) / dim))


def test_ntk_aware_reaches_less_far_than_its_factor():
    plain = inv_freq(96)
    never_round = turns(plain, 4096) < 1
    by_32, by_121 = (plain / scaling.ntk_aware(96, factor=f)[0] for f in (32, 121))
    assert (by_32[never_round] < 32 * (1 - 1e-9)).sum() == never_round.sum() - 1 == 13
    assert (by_121[never_round] >= 32).all()


def test_the_attention_factor_is_squared_in_a_score_and_deepseek_puts_the_square_outside():
    term = scaling.yarn_mscale(40.0)
    config = RopeConfig.from_hf(GALLERY["DeepSeek-V3"].config)
    assert config.attention_factor() == 1
    assert config.softmax_factor == pytest.approx(term**2)
    options = {"rope_type": "yarn", "factor": 40.0, "mscale_all_dim": 1.0}
    assert modeling_deepseek_v3.yarn_apply_mscale(options, 1.0) == pytest.approx(term**2)
    plain = {"rope_type": "default"}
    assert modeling_deepseek_v3.yarn_apply_mscale(plain, 1.0) == 1


def test_llama_cpp_comes_to_the_factors_of_transformers():
    """Written out from llama.cpp: llama-context.cpp, then rope_yarn of ggml, then deepseek2.cpp."""

    def tables_and_scale(s, all_dim, deepseek2):
        kernel = 1 + 0.1 * math.log(s)  # ggml's, where ext_factor is not 0
        mscale = all_dim if deepseek2 and all_dim != 1 else 1.0
        attn = scaling.yarn_mscale(s, mscale) / scaling.yarn_mscale(s, all_dim) / kernel
        scale = (attn * kernel * (1 + 0.1 * all_dim * math.log(s))) ** 2
        return attn * kernel, scale if deepseek2 else 1.0

    term = scaling.yarn_mscale(40.0)
    assert tables_and_scale(40.0, 0.0, False) == pytest.approx((term, 1.0))
    assert tables_and_scale(40.0, 1.0, True) == pytest.approx((1.0, term**2))


def test_turning_4096_keys_of_llama_2_anew_is_about_a_tenth_of_the_work_of_a_token():
    layers, heads, dim, parameters, kept = 32, 32, 128, 6.74e9, 4096
    turn = layers * heads * kept * dim * 3  # two products and one sum for each dimension
    attention = layers * heads * kept * dim * 4  # a product and a sum for scores, and for values
    assert 0.095 < turn / (2 * parameters + attention) < 0.11


def test_llama_3_1_and_gemma_3_keep_a_smaller_base_and_slow_hands_by_8():
    llama = RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)
    gemma = RopeConfig.from_hf(GALLERY["Gemma 3 12B"].config, layer_type="full_attention")
    assert (llama.base, llama.rope_type, llama.scaling["factor"]) == (5e5, "llama3", 8)
    assert (gemma.base, gemma.rope_type, gemma.scaling["factor"]) == (1e6, "linear", 8)


def test_the_smallest_base_for_128k_is_a_window_and_no_threshold():
    """4.87 million holds, 5 to 8.7 million fail in steps of 0.1 million, 10 million holds."""
    assert smallest_base(128, 131_072, [n * 1e5 for n in range(49, 88)]) is None
    assert smallest_base(128, 131_072, [1e7]) == 1e7
    assert first_negative_distance(inv_freq(128, 8e6), 131_072) == 61_936


def test_at_128k_the_sum_asks_for_fourteen_times_what_ntk_makes_of_10_000():
    """The sum holds at 4.87 million with 64 hands, and fails at what NTK-aware gives."""
    ntk = 10_000 * 32 ** (128 / 126)
    assert 14 < 4_869_130.4 / ntk < 15
    assert first_negative_distance(inv_freq(128, 4_869_130.4), 131_072) is None
    assert first_negative_distance(inv_freq(128, ntk), 131_072) < 131_072
    assert math.isclose(ntk, 338_097, rel_tol=1e-5)
