"""What exhibits say of their threads, and of their own lines beside them, computed."""

import inspect
import math
from types import SimpleNamespace

import pytest
import torch
from transformers import Ministral3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.ministral3.modeling_ministral3 import Ministral3Attention
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

from ropebook.museum import EXHIBITS
from ropebook.museum.kit import SPEEDS, turn
from ropebook.museum.lengths import in_tf32
from ropelib import diagnose, inv_freq, scaling


def says(name, *pieces):
    """The exhibit of a name, which must say all this of how its lines differ."""
    assert all(piece in EXHIBITS[name].differs for piece in pieces), EXHIBITS[name].differs
    return EXHIBITS[name]


def drawn(*shape):
    return torch.randn(2, *shape, generator=torch.Generator().manual_seed(3)).unbind()


def scores(rotate, q, k, at_q, at_k):
    return rotate(q, at_q) @ rotate(k, at_k).mT


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("one row of positions for all", torch.arange(8) - torch.tensor([[0], [3], [5]])),
        ("a count that runs on into the next text", torch.arange(8)),
        ("the first document's places", torch.arange(300, 308)),
        ("positions that are asked for their number only", torch.arange(300, 308)),
    ],
)
def test_a_row_that_is_shifted_as_a_whole_changes_no_score_of_one_pass(name, positions):
    exhibit, (q, k) = says(name, "shifted"), drawn(3, 2, 8, 64)
    wrong, right = (
        scores(rotate, q, k, positions, positions) for rotate in (exhibit.wrong(), exhibit.mended())
    )
    torch.testing.assert_close(wrong, right, rtol=0, atol=1e-3)
    assert not torch.allclose(exhibit.wrong()(q, positions), exhibit.mended()(q, positions))


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        # Images, a gap in a text: distances within a row are other ones than those of the first.
        ("one row of positions for all", torch.arange(8) * torch.tensor([[1], [2], [3]])),
        ("positions that are asked for their number only", torch.arange(8) * 3),
        # Padding in front of the first row alone, at position 0, as generate() has it.
        (
            "one row of positions for all",
            (torch.arange(8) - torch.tensor([[3], [0], [0]])).clamp(min=0),
        ),
    ],
)
def test_more_than_a_shift_changes_scores(name, positions):
    exhibit, (q, k) = EXHIBITS[name], drawn(3, 2, 8, 64)
    wrong, right = (
        scores(rotate, q, k, positions, positions) for rotate in (exhibit.wrong(), exhibit.mended())
    )
    assert (wrong - right).abs().max() > 1


def test_the_step_after_it_is_shifted_by_another_number():
    """Rows after the first are wrong there, in a batch whose prompt was right in one pass."""
    exhibit = says("a count that runs on into the next text", "A step after it")
    (_, k), (now, _) = drawn(3, 2, 8, 64), drawn(3, 2, 1, 64)
    prompt, step = torch.arange(8), torch.tensor([8])
    wrong, right = (
        scores(rotate, now, k, step, prompt) for rotate in (exhibit.wrong(), exhibit.mended())
    )
    off = (wrong - right).abs().amax((1, 2, 3))
    assert off[0] < 1e-3 and off[1:].min() > 1


def test_a_division_hid_that_a_factor_was_missing():
    says("a division of whole numbers", "pair / 64", "divided by the frequency", "up to 87")
    speeds = 1 / 10_000.0 ** -(torch.arange(32).double() / 64)
    found = diagnose(lambda x, ids: turn(x, ids, speeds), max_position=512)
    assert not found.ok and (speeds.diff() > 0).all()
    assert float(speeds[-1]) == pytest.approx(87, abs=0.5)


def test_what_is_left_of_a_length_where_sines_are_of_other_pairs():
    exhibit = says("sines from the next power of two", "0.91 of it, at 96", "last 16 of 48", "0.73")
    x, _ = drawn(1, 4, 2048, 96)
    turned = exhibit.wrong()(x, torch.arange(2048))
    assert float(turned.norm() / x.norm()) == pytest.approx(0.91, abs=0.005)
    without = (torch.arange(4096)[:, None] * inv_freq(192)).cos().square().mean().sqrt()
    assert "0.73" in exhibit.saw and float(without) == pytest.approx(0.73, abs=0.005)
    units = torch.eye(96)[:48, None]  # one pair in each row: its partner shows its sine
    sines = exhibit.wrong()(units[:, None], torch.tensor([37]))[:, 0, 0, 48:].diagonal()
    assert (sines[:32] != 0).all() and (sines[32:] == 0).all()


def test_a_factor_that_is_wrong_at_all_positions():
    exhibit = says("a logarithm taken twice", "off at all positions")
    x, _ = drawn(1, 1, 512, 64)
    wrong, right = (rotate(x, torch.arange(512)) for rotate in (exhibit.wrong(), exhibit.mended()))
    stretch = (wrong.norm(dim=-1) / right.norm(dim=-1))[0, 0]
    torch.testing.assert_close(stretch, stretch[0].expand(512), rtol=1e-5, atol=0)
    assert float(stretch[0]) > 1.1


def test_tables_in_bfloat16_are_off_before_their_positions_are():
    says("tables made in bfloat16", "up to 256", "position 58", "0.1 radians")
    rounded = torch.arange(512).bfloat16()
    assert rounded[:257].double().equal(torch.arange(257).double()) and int(rounded[257]) != 257
    angles = (rounded[:, None] * SPEEDS.bfloat16()).double()
    off = (angles - torch.arange(512)[:, None] * SPEEDS).abs().amax(-1)
    assert off[:58].max() < 0.1 < off[58]


def test_the_base_taken_for_the_factor_of_yarn():
    """The largest difference of the thread is that of a factor of 4, whose mscale is lost."""
    exhibit = says("a table that grows differently", "lost YaRN's attention factor")
    x, _ = drawn(1, 1, 512, 64)
    wrong, right = (rotate(x, torch.arange(512)) for rotate in (exhibit.wrong(), exhibit.mended()))
    off = (wrong - right)[0, 0].abs().amax(-1)
    assert off[:256].max() == 0 and off[256:].min() > 0.1
    largest = 1 + scaling.yarn_mscale(4.0)
    assert "2.14" in exhibit.saw and largest == pytest.approx(2.14, abs=0.005)


def test_frequencies_in_bfloat16_are_as_far_off_as_both_heads_say():
    exhibit = says("frequencies in the dtype of x", "head of 128", "0.2 at 512")
    assert "0.6 radians at 512" in exhibit.saw and "half a turn within 4096" in exhibit.saw
    for width, off in ((64, 0.2), (128, 0.6)):
        speeds = inv_freq(width)
        apart = (speeds - speeds.bfloat16().double()).abs()
        assert float(apart.max() * 511) == pytest.approx(off, abs=0.05)
    turned = torch.arange(4096)[:, None] * apart
    assert math.pi - 0.01 < float(torch.minimum(turned, 2 * math.pi - turned).max()) <= math.pi


def test_a_product_in_tf32_rounds_frequencies_too():
    assert "up to 0.33 at 2048" in EXHIBITS["a product on the tensor cores"].saw
    apart = (in_tf32(SPEEDS.float()).double() - SPEEDS).abs().max() * 2048
    assert float(apart) == pytest.approx(0.325, abs=0.001)


def test_a_mend_that_is_right_for_its_threads_model():
    """transformers has the factor 1 for Ministral3, and its attention no other."""
    exhibit = EXHIBITS["a factor that has a divisor"]
    config = Ministral3Config()
    assert "Ministral3" in exhibit.price and config.rope_parameters["factor"] == 16
    _, factor = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    assert factor == pytest.approx(1) and "mscale" not in inspect.getsource(Ministral3Attention)
    assert 0.1 * math.log(16) + 1 == pytest.approx(1.277, abs=5e-4) and "1.277" in exhibit.saw


def test_two_exchanges_were_right():
    exhibit = says("two numbers exchanged, twice", "both were exchanged, and all was right")
    source = exhibit.source.replace("= 32, 1", "= 1, 32")
    exec(source, scope := dict(exhibit.broken.__globals__))
    assert source != exhibit.source
    report = diagnose(scope[exhibit.broken.__name__], expected=exhibit.meant, max_position=512)
    assert report.ok, report


def test_where_the_axes_of_qwen3_vl_run_out_it_is_times_turn():
    says("blocks where axes take turns", "64 pairs, 24 for time and 20", "pairs 61 and 62")
    axes = torch.arange(3.0)[:, None, None, None].expand(3, 1, 1, 64)
    model = SimpleNamespace(mrope_section=[24, 20, 20])
    dealt = Qwen3VLTextRotaryEmbedding.recomposition_frequencies(model, axes.clone()).flatten()[:64]
    unlike = (dealt != torch.arange(64) % 3).nonzero().flatten()
    assert unlike.tolist() == [61, 62] and (dealt[unlike] == 0).all()


def test_the_means_of_five_texts():
    """The five slices of pie #603, before and after."""
    before, after = (64.6, 75.4, 78.3, 45.5, 37.1), (68.5, 80.3, 80.5, 57.6, 47.7)
    for texts in (before, after):
        assert f"{sum(texts) / 5:.1f}" in EXHIBITS["the whole head for its part"].saw
