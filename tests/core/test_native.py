"""The compiled kernel: when it is asked, what it computes, and how it is built."""

import ctypes
import re
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode
from vectors import OTHER, every_layout, randn, tables32

from ropelib import (
    RotaryEmbedding,
    apply_rotary,
    diagnose,
    inv_freq,
    kernels,
    native,
    pairs,
    reference,
)

pytestmark = pytest.mark.usefixtures("counted")
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


@pytest.fixture
def counted(built, monkeypatch):
    """Rotate everything by the kernel, and count how often it is asked."""
    asked = []
    functions = {
        name: lambda *args, name=name: asked.append(name) or getattr(built, name)(*args)
        for name in ("rotate", "rotate_both")
    }
    monkeypatch.setattr(kernels, "FEW", 0)
    monkeypatch.setattr(kernels, "TINY", 0)
    monkeypatch.setattr(native, "kernel", lambda: SimpleNamespace(**functions))
    return asked


def error_in_steps(result, exact, layout, rotary_dim, bits):
    """Largest error of a rotated dimension, in steps of `bits` bits at the length of its pair."""
    first, second = pairs.split_pairs(exact[..., :rotary_dim], layout)
    length = torch.hypot(first, second)
    step = length * 2.0**-23 if bits == 23 else 2.0 ** (length.log2().floor() - bits)
    error = (result.double() - exact)[..., :rotary_dim].abs()
    return (error / pairs.join_pairs(step, step, layout)).max().item()


# float32: both products and their sum are rounded, 0.5 for the two and 0.5, and cos and sin were
# before, 2**-25 each. 16 bits: one more rounding at the end, beside which those are little.
MOST = {
    torch.float32: (23, 1 + 2**0.5 / 4),
    torch.bfloat16: (7, 0.5 + 2**-14),
    torch.float16: (10, 0.5 + 2**-11),
}
# Widths that are no power of two, tails shorter than a block of positions or a group of heads,
# several of each axis, pairs short of a piece of the loop and beyond one.
SHAPES = [
    ((70, 96), 96),
    ((3, 33, 80), 26),
    ((2, 3, 97, 10), 10),
    ((1, 5, 64, 130), 128),
    ((2, 9, 131, 34), 34),
    ((6, 20, 70), 66),
]


@every_layout
@every_dtype
@pytest.mark.parametrize(("shape", "rotary_dim"), SHAPES)
@pytest.mark.parametrize("past_cache", [True, False])
def test_the_kernel_is_the_oracle(
    counted, layout, dtype, shape, rotary_dim, past_cache, monkeypatch
):
    if past_cache:
        monkeypatch.setattr(native, "_PAST_CACHE", 0)
    x, ids = randn(*shape, dtype=dtype), torch.arange(shape[-2]) + 1000
    exact = reference.rotate(x, ids, inv_freq(rotary_dim), layout=layout)
    cos_and_sin, before = tables32(ids, rotary_dim), x.clone()
    out, (bits, most) = torch.empty_like(x), MOST[dtype]
    for rotated in (
        apply_rotary(x, *cos_and_sin, layout=layout),
        apply_rotary(x, *cos_and_sin, layout=layout, out=out),
    ):
        assert error_in_steps(rotated, exact, layout, rotary_dim, bits) <= most
        assert torch.equal(rotated[..., rotary_dim:], x[..., rotary_dim:])
    assert torch.equal(x, before)
    apply_rotary(x, *cos_and_sin, layout=layout, out=x)
    assert torch.equal(x, out) and len(counted) == 3
    wrong = reference.rotate(before, ids, inv_freq(rotary_dim), layout=OTHER[layout])
    assert error_in_steps(out, wrong, layout, rotary_dim, 7) > 1


@every_layout
@every_dtype
def test_rows_may_lie_anywhere(counted, layout, dtype):
    x = randn(2, 3, 40, 8, dtype=dtype)
    ids = torch.stack((torch.arange(40), torch.arange(40).flip(0) * 7))
    cos, sin = tables32(ids)
    wide = torch.cat((cos, sin), dim=-1)  # two tables in one, a step of 8 from row to row
    exact = reference.rotate(x, ids, inv_freq(8), layout=layout)
    apart = torch.empty(40, 3, 2, 20, dtype=dtype).permute(2, 1, 0, 3)[..., 3:11]
    views = (x, x.transpose(1, 2).contiguous().transpose(1, 2), apart.copy_(x))
    for view in views:
        for out in (torch.empty_like(x), torch.zeros(2, 40, 3, 8, dtype=dtype).transpose(1, 2)):
            apply_rotary(view, wide[..., :4], wide[..., 4:], layout=layout, out=out)
            torch.testing.assert_close(out.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-6)
    assert len(counted) == 6


@every_layout
def test_gradients_come_from_the_kernel_too(counted, layout):
    x, weight = randn(2, 3, 40, 10, dtype=torch.float32), randn(2, 3, 40, 10, seed=1)
    x.requires_grad_()
    y = x.detach().double().requires_grad_()
    (apply_rotary(x, *tables32(range(40)), layout=layout) * weight.float()).sum().backward()
    (reference.rotate(y, range(40), inv_freq(8), layout=layout) * weight).sum().backward()
    torch.testing.assert_close(x.grad.double(), y.grad, rtol=0, atol=1e-5)
    assert len(counted) == 2


@every_layout
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_number_of_16_bits_is_read_and_written_as_it_is(counted, layout, dtype):
    numbers = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    x = torch.stack((numbers, torch.zeros_like(numbers)), dim=-1)
    rotated = apply_rotary(x, *tables32(2**16 * [0], 2), layout=layout)[:, 0]
    torch.testing.assert_close(rotated, numbers, rtol=0, atol=0, equal_nan=True)
    assert len(counted) == 1


@every_layout
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_float32_is_rounded_as_torch_rounds(counted, layout, dtype):
    chance = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (2**18,), generator=chance, dtype=torch.int64)
    near = (torch.arange(2**16) << 16) - 2**31  # halfway between two of bfloat16, and beside it
    ties = [(near + half + by).to(torch.int32) for half in (0, 2**15) for by in (-1, 0, 1)]
    tiny = torch.linspace(0, 1e-4, 2**16).view(torch.int32)  # float16 below its normal numbers
    halves = torch.arange(2**15, dtype=torch.int32) << 12  # halfway between two of float16
    halves = torch.cat([halves + (112 << 23) + by for by in (-1, 0, 1)])
    cos = torch.cat((bits.to(torch.int32), *ties, tiny, halves)).view(torch.float32).unsqueeze(-1)
    x = torch.tensor([[1.0, 0.0]], dtype=dtype).expand(len(cos), 2).contiguous()
    rotated = apply_rotary(x, cos, torch.zeros_like(cos), layout=layout)[:, 0]
    torch.testing.assert_close(rotated, cos[:, 0].to(dtype), rtol=0, atol=0, equal_nan=True)
    assert len(counted) == 1


@every_layout
def test_the_diagnosis_finds_nothing(counted, layout):
    def rotate(x, position_ids):
        return apply_rotary(x, *tables32(position_ids, x.shape[-1]), layout=layout)

    assert diagnose(rotate).ok
    assert counted


@every_layout
@every_dtype
@pytest.mark.parametrize("rotary_dim", [2, 8, 6])
def test_a_step_of_decoding_is_one_call_for_both(counted, layout, dtype, rotary_dim, monkeypatch):
    monkeypatch.setattr(kernels, "FEW", 2**18)
    rotary = RotaryEmbedding(8, rotary_dim=rotary_dim, attention_factor=1.5, layout=layout)
    q, k = randn(2, 6, 1, 8, dtype=dtype), randn(2, 3, 1, 8, seed=1, dtype=dtype)
    later = q.view(2, 1, 6, 8).transpose(1, 2)  # as it comes out of a projection
    for position in (0, 63, 64, 65, 5, 1000):
        before = len(counted)
        for query in (q, later):
            rotated = rotary(query, k, offset=position)
            for x, turned in zip((query, k), rotated, strict=True):
                exact = reference.rotate(x, [position], inv_freq(rotary_dim), layout=layout)
                exact[..., :rotary_dim] *= 1.5
                eps = torch.finfo(dtype).eps
                torch.testing.assert_close(turned.double(), exact, rtol=eps, atol=1e-6)
        assert counted[before:] == 2 * ["rotate_both"]
    before = len(counted)
    for query in (torch.cat((q, q), dim=-1)[..., :8], torch._neg_view(q), q.double()):
        rotated = rotary(query, k, offset=7)[0]
        exact = reference.rotate(query, [7], inv_freq(rotary_dim), layout=layout)
        exact[..., :rotary_dim] *= 1.5
        torch.testing.assert_close(rotated.double(), exact, rtol=eps, atol=1e-6)
    assert "rotate_both" not in counted[before:]


def test_what_does_not_fit_goes_the_other_way(counted):
    cos_and_sin = tables32()
    x = randn(2, 3, 5, 8, dtype=torch.float32)
    others = [
        torch._neg_view(x),
        x.double(),
        x[None],
        x.transpose(1, 3).contiguous().transpose(1, 3),
        randn(5, native._LONGEST_ROW // 4 + 1, dtype=torch.float32),
        x[:0],
    ]
    for other in others:
        rotated = apply_rotary(other, *cos_and_sin, layout="half")
        exact = reference.rotate(other, range(5), inv_freq(8), layout="half")
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=2e-3)
    assert not counted
    for fitting in (x, torch.nn.Parameter(x, requires_grad=False)):
        apply_rotary(fitting, *cos_and_sin, layout="half")
    assert len(counted) == 2


def test_writing_in_place_is_noticed_by_autograd():
    x, weight = randn(5, 8, dtype=torch.float32), torch.ones(8, requires_grad=True)
    kept = (x * weight).sum()
    apply_rotary(x, *tables32(), layout="half", out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()
    with torch.inference_mode():
        x = randn(5, 8, dtype=torch.float32)
        apply_rotary(x, *tables32(), layout="half", out=x)


# Who knows operations alone

RECORDERS = {
    "torch.jit.trace": lambda f, *x: torch.jit.trace(f, x, check_trace=False),
    "make_fx": lambda f, *x: make_fx(f)(*x),
    "make_fx, before dispatch": lambda f, *x: make_fx(f, pre_dispatch=True)(*x),
}


@every_layout
@every_dtype
@pytest.mark.parametrize("recorder", RECORDERS)
@pytest.mark.parametrize("seq_len", [1, 5])
@pytest.mark.filterwarnings("ignore")  # torch.jit.trace warns of much
def test_what_is_recorded_holds_for_other_numbers(
    counted, layout, dtype, recorder, seq_len, monkeypatch
):
    monkeypatch.setattr(kernels, "FEW", 2**18)
    rotary = RotaryEmbedding(8, layout=layout)
    q, k = randn(1, 3, seq_len, 8, dtype=dtype), randn(1, 2, seq_len, 8, seed=1, dtype=dtype)
    expected = rotary(2 * q, k + 1, offset=7)
    before = counted.copy()
    recorded = RECORDERS[recorder](lambda q, k: rotary(q, k, offset=7), q, k)
    assert counted == before != []
    for ours, exact in zip(recorded(2 * q, k + 1), expected, strict=True):
        torch.testing.assert_close(ours, exact, rtol=torch.finfo(dtype).eps, atol=1e-6)


@pytest.mark.parametrize("seq_len", [1, 5])
def test_modes_and_transforms_see_operations(counted, seq_len, monkeypatch):
    monkeypatch.setattr(kernels, "FEW", 2**18)
    rotary, q = RotaryEmbedding(8, layout="half"), randn(1, 3, seq_len, 8, dtype=torch.float32)
    turned, _ = rotary(q, q, offset=7)
    before = counted.copy()
    with FlopCounterMode(display=False):
        torch.testing.assert_close(rotary(q, q, offset=7)[0], turned)
    assert counted == before != []
    grad = torch.func.grad(lambda x: (rotary(q, q, offset=7)[0] * x).sum())(q)
    torch.testing.assert_close(grad, turned)
    rotary(q, q, offset=8)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(rotary(q, q, offset=8)[0], FakeTensor)
    before = len(counted)
    rotary(q, q, offset=8)
    assert len(counted) > before


# Building


@pytest.fixture
def cache(built, monkeypatch, tmp_path):
    """An empty cache, and a process that has not looked into it."""
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernels, "FEW", 0)
    monkeypatch.setattr(kernels, "TINY", 0)
    native.kernel.cache_clear()
    yield tmp_path
    native.kernel.cache_clear()


def test_nothing_is_built_unasked(cache, monkeypatch):
    apply_rotary(randn(5, 8, dtype=torch.float32), *tables32(), layout="half")
    assert native.kernel() is None and not list(cache.iterdir())
    built = native.build()
    assert built.is_relative_to(cache) and [*cache.rglob("*.so")] == [built]
    assert native.kernel() is not None
    monkeypatch.setattr(native, "compiler", lambda: pytest.fail("it was compiled again"))
    assert native.build() == built


def test_another_processor_or_source_has_another_kernel(cache, monkeypatch, tmp_path):
    names = []
    for capability in ("DEFAULT", "AVX2", "AVX512"):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda c=capability: c)
        names.append(native.path())
    monkeypatch.setattr("platform.machine", lambda: "another")
    names.append(native.path())
    (tmp_path / "rotate.cpp").write_text("another")
    monkeypatch.setattr(native, "SOURCE", tmp_path / "rotate.cpp")
    assert len({*names, native.path()}) == 5


def test_what_cannot_be_built_says_why(cache, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr("sys.platform", "win32")
        with pytest.raises(RuntimeError, match="on Linux only, got win32"):
            native.build()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        patch.delenv("CXX", raising=False)
        with pytest.raises(RuntimeError, match=r"no C\+\+ compiler found"):
            native.build()
    (tmp_path / "rotate.cpp").write_text("not C++")
    monkeypatch.setattr(native, "SOURCE", tmp_path / "rotate.cpp")
    with pytest.raises(RuntimeError, match=r"failed: .*rotate\.cpp"):
        native.build()
    assert not list(cache.rglob("*.so"))


def test_python_and_the_kernel_agree_on_the_longest_row():
    source = native.SOURCE.read_text("utf-8")
    (power,) = re.findall(r"ROW = 1 << (\d+);", source)
    assert native._LONGEST_ROW == 2 ** int(power)
    assert ctypes.sizeof(ctypes.c_int64 * 15) == 15 * 8


@pytest.mark.parametrize("home", ["none", "not to be read"])
def test_without_a_home_there_is_no_kernel(cache, monkeypatch, home):
    def fail():
        raise PermissionError("not to be read") if home != "none" else RuntimeError("no home")

    if home == "none":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(native.Path, "home", fail)
    else:
        monkeypatch.setattr(native, "path", lambda: SimpleNamespace(exists=fail))
    assert native.kernel() is None
    x = randn(5, 8, dtype=torch.float32)
    exact = reference.rotate(x, range(5), inv_freq(8), layout="half")
    turned = apply_rotary(x, *tables32(), layout="half").double()
    torch.testing.assert_close(turned, exact, rtol=0, atol=1e-6)
    if home == "none":
        with pytest.raises(RuntimeError, match=r"no folder .* set XDG_CACHE_HOME: no home"):
            native.build()


def test_a_folder_that_cannot_be_written_to_is_named(cache, monkeypatch):
    (cache / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    with pytest.raises(RuntimeError, match=r"no folder for the kernel, .*file"):
        native.build()


def test_a_kernel_that_does_not_load_is_none_and_is_built_anew(cache):
    native.path().parent.mkdir()
    native.path().write_bytes(b"junk")
    assert native.kernel() is None
    apply_rotary(randn(5, 8, dtype=torch.float32), *tables32(), layout="half")
    assert native.build() == native.path() and native.kernel() is not None
    assert native.path().read_bytes() != b"junk"


@pytest.mark.parametrize(
    ("source", "why"),
    [("int gone(); int x = gone();", "undefined symbol"), ("int x;", "undefined symbol: rotate")],
)
def test_what_was_made_and_does_not_load_says_why(cache, monkeypatch, tmp_path, source, why):
    (tmp_path / "rotate.cpp").write_text(source)
    monkeypatch.setattr(native, "SOURCE", tmp_path / "rotate.cpp")
    with pytest.raises(RuntimeError, match=f"made does not load: .*{why}"):
        native.build()
    assert native.kernel() is None and not list(cache.rglob("*.so"))


def test_the_compiler_that_was_asked_for_is_taken_with_its_flags(cache, monkeypatch):
    (name,) = native.compiler()[:1]
    monkeypatch.setenv("CXX", f"{name} -DNOTHING='a b'")
    assert native.compiler() == [name, "-DNOTHING=a b"]
    native.build()
    assert native.kernel() is not None
    native.path().unlink()
    monkeypatch.setenv("CXX", "nowhere/c++")
    assert native.compiler() is None
    with pytest.raises(RuntimeError, match=r"no C\+\+ compiler found: tried nowhere/c\+\+"):
        native.build()
