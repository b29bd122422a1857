"""Rotated keys that move to other positions: one rotation after another is their sum."""

import pytest
import torch
from vectors import LAYOUTS, both_ways, every_layout, growing, randn, randn32

from ropelib import RopeConfig, RotaryEmbedding, inv_freq, reference, rerotate

FORMS = {
    "an integer": (-7, -7),
    "a tensor of no axis": (torch.tensor(3), 3),
    "one for all": (torch.tensor([[100_000]]), 100_000),
    "each token": ([5, -4, 3, 0, 9], torch.tensor([5, -4, 3, 0, 9])),
    "each row": (torch.tensor([[4], [-900]], dtype=torch.int32), torch.tensor([[4], [-900]])),
    "real": (torch.tensor([0.5] * 5), 0.5),
    "each token of each row": (2 * [range(5)], torch.arange(5)),
}


@both_ways
@every_layout
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("head_dim", "rotary_dim"), [(8, 8), (10, 6), (24, 24)])
def test_moved_keys_are_those_rotated_where_they_are_now(layout, form, head_dim, rotary_dim):
    by, delta = FORMS[form]
    rotary = RotaryEmbedding(head_dim, rotary_dim=rotary_dim, attention_factor=1.5, layout=layout)
    k, old = randn(2, 3, 5, head_dim), torch.tensor([0, 10, 3, 3, 70])
    cached = rotary(k, k, old)[1]
    moved = rerotate(cached, rotary, by=by)
    # The factor is that of the first rotation, once.
    exact = reference.rotate(k, (old + delta).expand(2, 5), inv_freq(rotary_dim), layout=layout)
    exact[..., :rotary_dim] *= 1.5
    torch.testing.assert_close(moved, exact, rtol=0, atol=1e-9)
    torch.testing.assert_close(rotary(k, k, (old + delta).expand(2, 5))[1], exact)
    back = rerotate(moved, rotary, by=-by if isinstance(by, int | torch.Tensor) else -delta[None])
    torch.testing.assert_close(back, cached, rtol=0, atol=1e-9)
    assert rerotate(cached, rotary, by=by, out=cached) is cached and torch.equal(cached, moved)


@both_ways
@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by", [-131_071, 5_000_000])
def test_a_move_rounds_once(layout, dtype, by):
    rotary, cached = RotaryEmbedding(64, layout=layout), randn(2, 3, 5, 64, dtype=dtype)
    moved = rerotate(cached, rotary, by=by)
    exact = reference.rotate(cached, 5 * [by], inv_freq(64), layout=layout)
    assert moved.dtype == dtype
    # Half a step of the dtype, and what float32 adds to it; an angle in float32 would miss by 1e-2.
    within = torch.finfo(dtype).eps / 2 * exact.abs() + 5e-6 * (dtype != torch.float32) + 2e-6
    assert ((moved.double() - exact).abs() <= within).all()


def test_the_axis_may_be_another_and_gradients_flow():
    rotary, k = RotaryEmbedding(8, layout="half"), randn(2, 3, 5, 8)
    expected = rerotate(k, rotary, by=[[1], [9]])
    seq_first = k.transpose(1, 2)
    moved = rerotate(seq_first, rotary, by=[[1], [9]], seq_dim=1)
    torch.testing.assert_close(moved.transpose(1, 2), expected)
    rerotate(seq_first, rotary, by=[[1], [9]], seq_dim=1, out=seq_first)
    torch.testing.assert_close(k, expected)
    k.requires_grad_()
    assert torch.autograd.gradcheck(lambda k: rerotate(k, rotary, by=4), k)
    torch.compiler.reset()
    compiled = torch.compile(
        lambda k, by: rerotate(k, rotary, by=by), fullgraph=True, backend="eager"
    )
    for by in (-3, 2, 100, torch.tensor([[1], [2]])):
        torch.testing.assert_close(compiled(k, by), rerotate(k, rotary, by=by))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_configuration_serves_as_what_rotated(layout):
    config = RopeConfig(8, 6, 100.0, layout, rope_type="linear", scaling={"factor": 4.0})
    rotary, k = RotaryEmbedding.from_config(config), randn32(1, 2, 5, 8)
    assert torch.equal(rerotate(k, config, by=9), rerotate(k, rotary, by=9))
    moved = rerotate(rotary(k, k)[1], config, by=9)
    torch.testing.assert_close(moved, rotary(k, k, offset=9)[1], rtol=0, atol=1e-5)


def test_frequencies_that_depend_on_the_length_are_refused():
    dynamic = RopeConfig(
        8, 8, 1e4, "half", rope_type="dynamic", scaling={"factor": 2.0}, max_seq_len=16
    )
    longrope = RopeConfig(
        *(8, 8, 1e4, "half", "longrope"),
        scaling={"short_factor": 4 * [1.0], "long_factor": 4 * [2.0], "factor": 4.0},
        original_max_seq_len=16,
    )
    k = randn32(1, 2, 5, 8)
    for config, name in ((dynamic, "'dynamic'"), (longrope, "'longrope'"), (growing(), "Simple")):
        for rotary in (config, RotaryEmbedding.from_config(config)):
            with pytest.raises(ValueError, match=f"same frequencies at every length.*{name}"):
                rerotate(k, rotary, by=1)
        # What it would have missed: the same key, rotated anew at another length.
        rotary = RotaryEmbedding.from_config(config)
        old, new = (rotary(k, k, seq_len=n)[1] for n in (8, 64))
        assert (old - new).abs().max() > 1e-2


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"k": None}, TypeError, "k must be a tensor, got None"),
        ({"k": torch.ones(2, 3, 5, 6)}, ValueError, r"k must have head_dim 8, got shape \(2, 3, 5"),
        ({"by": 1.5}, TypeError, "by must be an integer, got 1.5"),
        ({"by": True}, TypeError, "by must be an integer, got True"),
        ({"by": "1"}, TypeError, "by must be an integer, got '1'"),
        ({"by": torch.ones(1).bfloat16()}, TypeError, "by must be integers, float32 or float64"),
        ({"by": [1, 2]}, ValueError, r"\(batch, 1\) or \(batch, seq_len\), got \(2,\) for k of"),
        ({"by": [[1], [2], [3]]}, ValueError, r"by must be an integer, .*got \(3, 1\) for k"),
        ({"by": 2**60}, ValueError, "by must be less than 9.007e.15 in size, got 1152921504606846"),
        ({"by": [2**60]}, ValueError, "by must be less than 9.007e.15 in size"),
        ({"by": [float("nan")]}, ValueError, "by must be finite"),
        ({"seq_dim": 3}, ValueError, "seq_dim must be an axis of k before its last, got 3"),
        ({"out": torch.ones(5, 8)}, ValueError, "out must have the shape of x"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, error, message):
    right = {"k": torch.ones(2, 3, 5, 8), "by": 1}
    k, by, *_ = (right | wrong).values()
    rest = {name: value for name, value in wrong.items() if name not in right}
    with pytest.raises(error, match=message):
        rerotate(k, RotaryEmbedding(8, layout="half"), by=by, **rest)


@pytest.mark.parametrize("what", [None, "x", {"head_dim": 8}])
def test_what_is_no_configuration_is_refused(what):
    for ask in (
        lambda: rerotate(randn32(3, 8), what, by=1),
        lambda: RotaryEmbedding.from_config(what),
    ):
        with pytest.raises(TypeError, match="a configuration must have head_dim, layout, inv_freq"):
            ask()
