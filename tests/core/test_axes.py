"""Several axes of position: against the models that use them, against a loop, and their law."""

import math

import numpy as np
import pytest
import torch

from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.axes import axial_cos_sin, axial_inv_freq, axis_of_pairs

ORDERS = ["chunked", "interleaved"]
LAYOUTS = ["interleaved", "half"]
SECTIONS = [[24, 20, 20], [16, 24, 24], [4, 2, 2], [3, 3], [5], [0, 0, 3], [2, 2, 1]]
CAN_INTERLEAVE = [[24, 20, 20], [4, 2, 2], [3, 3], [5], [2, 2, 1]]


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positions(num_axes, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-50, 2000, (num_axes, *shape), generator=generator)


CASES = [("chunked", sections) for sections in SECTIONS]
CASES += [("interleaved", sections) for sections in CAN_INTERLEAVE]


@pytest.mark.parametrize(("order", "sections"), CASES)
@pytest.mark.parametrize("shape", [(5,), (2, 5)])
def test_tables_equal_a_loop(order, sections, shape):
    ids, frequencies = positions(len(sections), *shape), inv_freq(2 * sum(sections))
    cos, sin = axial_cos_sin(ids, frequencies, sections=sections, order=order, dtype=torch.float64)
    assert cos.shape == sin.shape == (*shape, sum(sections))
    seen = [0] * len(sections)
    for i in range(sum(sections)):
        if order == "chunked":
            axis = next(a for a in range(len(sections)) if i < sum(sections[: a + 1]))
        else:
            axis = i % len(sections)
            axis = axis if seen[axis] < sections[axis] else 0
        seen[axis] += 1
        for place in torch.cartesian_prod(*map(torch.arange, shape)).reshape(-1, len(shape)):
            place = tuple(place.tolist())
            angle = float(ids[(axis, *place)]) * float(frequencies[i])
            assert cos[(*place, i)] == pytest.approx(math.cos(angle), abs=1e-9)
            assert sin[(*place, i)] == pytest.approx(math.sin(angle), abs=1e-9)
    assert seen == sections


@pytest.mark.parametrize(("order", "sections"), CASES)
def test_text_has_the_tables_of_one_axis(order, sections):
    ids, frequencies = torch.arange(7), inv_freq(2 * sum(sections))
    tables = axial_cos_sin(
        ids.expand(len(sections), 7), frequencies, sections=sections, order=order,
        attention_factor=1.5,
    )  # fmt: skip
    for ours, expected in zip(tables, cos_sin(ids, frequencies, attention_factor=1.5), strict=True):
        assert torch.equal(ours, expected)


def transformers_tables(model, sections, ids):
    """Cos and sin of a vision-language model of transformers; each half holds them once."""
    if model == "qwen2_vl":
        module = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
        config_class, rotary = module.Qwen2VLTextConfig, module.Qwen2VLRotaryEmbedding
    else:
        module = pytest.importorskip("transformers.models.qwen3_vl.modeling_qwen3_vl")
        config_class, rotary = module.Qwen3VLTextConfig, module.Qwen3VLTextRotaryEmbedding
    config = config_class(
        hidden_size=4 * 128,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=128,
        rope_parameters={
            "rope_type": "default", "rope_theta": 1_000_000.0, "mrope_section": sections,
        },
    )  # fmt: skip
    assert list(rotary(config).mrope_section) == sections
    return rotary(config)(torch.zeros(1), ids), module


@pytest.mark.parametrize(
    ("model", "order", "sections"),
    [("qwen2_vl", "chunked", [16, 24, 24]), ("qwen3_vl", "interleaved", [24, 20, 20])],
)
def test_multimodal_rotation_equals_that_of_qwen(model, order, sections):
    ids = positions(3, 2, 9)
    theirs, module = transformers_tables(model, sections, ids)
    frequencies = inv_freq(128, 1_000_000.0)
    ours = axial_cos_sin(ids, frequencies, sections=sections, order=order)
    for a, b in zip(ours, theirs, strict=True):
        # Their angles, up to 2000, are float32 products.
        torch.testing.assert_close(torch.cat((a, a), dim=-1), b, rtol=0, atol=3e-4)
    q, k = randn(2, 4, 9, 128).float(), randn(2, 2, 9, 128, seed=1).float()
    expected = module.apply_rotary_pos_emb(q, k, *theirs)
    for x, rotated in zip((q, k), expected, strict=True):
        torch.testing.assert_close(
            apply_rotary(x, *ours, layout="half"), rotated, rtol=0, atol=2e-3
        )
    other = ORDERS[1 - ORDERS.index(order)]
    wrong, _ = axial_cos_sin(ids, frequencies, sections=[24, 20, 20], order=other)
    assert (wrong - theirs[0][..., :64]).abs().max() > 0.1
    if order == "chunked":
        wrong, _ = axial_cos_sin(ids, frequencies, sections=sections[::-1], order=order)
        assert (wrong - theirs[0][..., :64]).abs().max() > 0.1


def test_image_patches_equal_those_of_qwen():
    module = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
    config = module.Qwen2VLVisionConfig(embed_dim=64, num_heads=2)
    rotary = module.Qwen2VLVisionRotaryEmbedding(config)
    patches = torch.cartesian_prod(torch.arange(4), torch.arange(6))  # (row, column) of each
    cos, sin = rotary(torch.zeros(1), patches)
    q, k = randn(24, 2, 32).float(), randn(24, 2, 32, seed=1).float()
    theirs = module.apply_rotary_pos_emb_vision(q, k, cos, sin)
    ours = axial_cos_sin(patches.T, axial_inv_freq(32, num_axes=2), sections=[8, 8])
    for x, expected in zip((q, k), theirs, strict=True):
        # They have (seq_len, num_heads, head_dim).
        rotated = apply_rotary(x.transpose(0, 1), *ours, layout="half").transpose(0, 1)
        torch.testing.assert_close(rotated, expected, rtol=0, atol=1e-5)
    swapped = axial_cos_sin(patches.T.flip(0), axial_inv_freq(32, num_axes=2), sections=[8, 8])
    assert (swapped[0] - ours[0]).abs().max() > 0.1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("order", "sections"), [("chunked", [2, 3, 3]), ("interleaved", [4, 2, 2])]
)
def test_scores_depend_only_on_the_distance_along_each_axis(layout, order, sections):
    q, k, frequencies = randn(1, 16), randn(1, 16, seed=1), inv_freq(16)

    def score(m, n):
        turned = [
            apply_rotary(
                x,
                *axial_cos_sin(
                    torch.tensor(p)[:, None], frequencies, sections=sections, order=order,
                    dtype=torch.float64,
                ),
                layout=layout,
            )
            for x, p in ((q, m), (k, n))
        ]  # fmt: skip
        return (turned[0] @ turned[1].T).item()

    here = score((5, 3, 8), (2, 9, 1))
    for axis in range(3):
        shift = [100 * (a == axis) for a in range(3)]
        m, n = ([p + s for p, s in zip(ids, shift, strict=True)] for ids in ((5, 3, 8), (2, 9, 1)))
        assert score(m, n) == pytest.approx(here, abs=1e-10)
        assert abs(score(m, (2, 9, 1)) - here) > 0.01


def test_axial_frequencies_are_a_spectrum_for_each_axis():
    assert torch.equal(axial_inv_freq(24, 3, 100.0), torch.cat(3 * [inv_freq(8, 100.0)]))
    assert torch.equal(axial_inv_freq(8, 1), inv_freq(8))


@pytest.mark.parametrize(
    ("sections", "order", "error", "message"),
    [
        ([2.0, 2], "chunked", TypeError, r"sections\[0\] must be an integer, got 2.0"),
        ([2, True], "chunked", TypeError, r"sections\[1\] must be an integer, got True"),
        ([2, -1], "chunked", ValueError, r"sections\[1\] must be at least 0, got -1"),
        ([], "chunked", ValueError, r"at least one pair, got \[\]"),
        ([0, 0], "interleaved", ValueError, r"at least one pair, got \[0, 0\]"),
        ([2, 2], "half", ValueError, "order must be .*, got 'half'"),
        ([16, 24, 24], "interleaved", ValueError, r"cannot be interleaved: taking turns gives \["),
    ],
)
def test_wrong_sections_are_refused(sections, order, error, message):
    with pytest.raises(error, match=message):
        axis_of_pairs(sections, order=order)
    with pytest.raises(error, match=message):
        ids = torch.zeros(len(sections), 5)
        axial_cos_sin(ids, inv_freq(8), sections=sections, order=order)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((8, 2.0), TypeError, "num_axes must be an integer, got 2.0"),
        ((8, True), TypeError, "num_axes must be an integer, got True"),
        ((8, 0), ValueError, "num_axes must be positive, got 0"),
        ((6, 2), ValueError, r"multiple of 2 \* num_axes, got 6 for 2 axes"),
        ((0, 2), ValueError, "rotary_dim must be positive, got 0"),
        ((8.0, 2), TypeError, "rotary_dim must be an integer, got 8.0"),
        ((8, 2, 0.0), ValueError, "base must be positive and finite, got 0.0"),
        ((8, 2, "1"), TypeError, "base must be a real number, got '1'"),
    ],
)
def test_wrong_axial_frequencies_are_refused(args, error, message):
    with pytest.raises(error, match=message):
        axial_inv_freq(*args)


@pytest.mark.parametrize(
    ("ids", "frequencies", "error", "message"),
    [
        (torch.zeros(3, 5), inv_freq(8), ValueError, r"with 2 axes, got shape \(3, 5\)"),
        (torch.zeros(2), inv_freq(8), ValueError, r"with 2 axes, got shape \(2,\)"),
        (torch.zeros(2, 1, 1, 5), inv_freq(8), ValueError, r"got shape \(2, 1, 1, 5\)"),
        (torch.zeros(2, 5), inv_freq(6), ValueError, r"4 pairs from sections \[2, 2\], got .*\(3,"),
        (torch.zeros(2, 5), [1.0] * 4, TypeError, "inv_freq must be a tensor"),
        (torch.zeros(2, 5).half(), inv_freq(8), TypeError, "cannot tell positions apart"),
        (torch.full((2, 5), math.nan), inv_freq(8), ValueError, "position_ids must be finite"),
        (None, inv_freq(8), TypeError, "must be integer or real, .*, got None"),
        ([[0, 1], [2]], inv_freq(8), ValueError, "got rows of different lengths"),
        ([[0, 1], [2, 2**53]], inv_freq(8), ValueError, "must be less than .* in size"),
    ],
)
def test_wrong_positions_are_refused(ids, frequencies, error, message):
    with pytest.raises(error, match=message):
        axial_cos_sin(ids, frequencies, sections=[2, 2])


def test_sizes_of_numpy_are_the_same_numbers():
    sections = [200, 200]
    asked = axis_of_pairs([np.uint8(size) for size in sections], order="interleaved")
    assert asked == axis_of_pairs(sections, order="interleaved")
    assert torch.equal(axial_inv_freq(np.uint8(128), np.int8(64)), axial_inv_freq(128, 64))
