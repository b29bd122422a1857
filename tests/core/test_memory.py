"""Where tensors lie: the exact rule, and `apply_rotary(out=)`, which is right by it or refused."""

import itertools
import random

import numpy as np
import pytest
import torch

from ropelib import apply_rotary, cos_sin, inv_freq, reference
from ropelib.memory import _addresses, overlaps, overlaps_itself

LAYOUTS = ["interleaved", "half"]
DTYPES = [torch.float64, torch.float32, torch.bfloat16]
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


both_ways = pytest.mark.usefixtures("way")


def randn(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def tables(seq_len=5, dtype=torch.float32):
    return cos_sin(range(seq_len), inv_freq(8), dtype=dtype)


def places(x):
    """Every address of an element, one by one."""
    steps = itertools.product(*(range(size) for size in x.shape))
    return [
        x.data_ptr() + x.element_size() * sum(i * s for i, s in zip(step, x.stride(), strict=True))
        for step in steps
    ]


def random_view(memory, chance):
    shape = [chance.randint(1, 4) for _ in range(chance.randint(0, 3))]
    strides = [chance.choice((0, 1, 1, 2, 3, 4, 5, 8)) for _ in shape]
    return memory.as_strided(shape, strides, chance.randint(0, 20))


def test_the_rule_is_that_of_addresses_compared_one_by_one():
    chance, memory, seen = random.Random(0), torch.zeros(200), set()
    for _ in range(2000):
        a, b = random_view(memory, chance), random_view(memory, chance)
        shared = bool(set(places(a)) & set(places(b)))
        assert overlaps(a, b) == overlaps(b, a) == shared, (a.shape, a.stride(), b.shape)
        met = len(set(places(a))) < a.numel()
        assert overlaps_itself(a) == met, (a.shape, a.stride())
        seen |= {("two", shared), ("one", met)}
    assert len(seen) == 4


def test_bytes_count_and_not_elements():
    memory = np.zeros(64, dtype=np.uint8)
    whole = torch.from_numpy(memory[:32].view(np.float32))
    for start, shared in ((0, True), (1, True), (31, True), (32, False)):
        other = torch.from_numpy(memory[start : start + 8])
        assert overlaps(whole, other) == shared


def test_nothing_is_shared_where_there_is_nothing():
    x = torch.zeros(3, 4)
    assert not overlaps(x, x[:0]) and not overlaps(x[:, :0], x)
    assert not overlaps_itself(x[:0].expand(5, 0, 4))
    assert not overlaps(x, torch.zeros(3, 4))


def test_what_cannot_be_settled_counts_as_shared():
    # Whether some of these strides, less some others, come to one byte is a riddle of 3**16 tries.
    chance = random.Random(0)
    strides = [chance.randrange(2**21, 2**22) for _ in range(16)]
    memory = torch.empty(sum(strides) + 10, dtype=torch.uint8)  # never touched
    a, b = (memory.as_strided([2] * 16, strides, start) for start in (0, 1))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(_addresses(a), _addresses(b), max_work=10**6)
    assert overlaps(a, b)


# out=


@both_ways
@every_layout
@every_dtype
def test_expanded_out_is_refused(layout, dtype):
    x = randn(1, 3, 5, 8, dtype=dtype).expand(4, 3, 5, 8)
    fresh = torch.empty(1, 3, 5, 8, dtype=dtype).expand(4, 3, 5, 8)
    overlapping = torch.empty(100, dtype=dtype).as_strided((4, 3, 5, 8), (1, 2, 8, 1))
    for out in (x, fresh, overlapping):
        message = r"out must have memory of its own for each element, got .* and strides \("
        with pytest.raises(ValueError, match=message):
            apply_rotary(x, *tables(), layout=layout, out=out)
    # Expanded x is fine where out is not.
    out = torch.empty(4, 3, 5, 8, dtype=dtype)
    assert apply_rotary(x, *tables(), layout=layout, out=out) is out
    assert torch.equal(out, apply_rotary(x, *tables(), layout=layout))


def test_an_expanded_out_is_refused_without_a_list_of_its_addresses(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the addresses were listed")

    small, cos_and_sin = torch.empty(1, 1, 5, 8), tables()
    monkeypatch.setattr(torch, "arange", refuse)
    for out in (
        small.expand(2**20, 2**20, -1, -1),  # more addresses than any memory holds
        torch.empty(40).as_strided((4, 3, 5, 6), (1, 2, 5, 1)),  # 360 elements on 33 places
    ):
        assert overlaps_itself(out)
    out = small.expand(64, 32, -1, -1)
    with pytest.raises(ValueError, match="out must have memory of its own for each element"):
        apply_rotary(torch.empty(64, 32, 5, 8), *cos_and_sin, layout="half", out=out)


@both_ways
@every_layout
def test_a_stride_of_an_axis_of_size_one_says_nothing(layout):
    x = randn(1, 5, 8)
    out = x.as_strided(x.shape, (7, 8, 1))
    exact = reference.rotate(x, range(5), inv_freq(8), layout=layout)
    assert apply_rotary(x, *tables(), layout=layout, out=out) is out
    torch.testing.assert_close(x.double(), exact, rtol=0, atol=1e-6)


def shifted(dtype):
    """Pairs of views of one shape that share some memory, and are not one view."""
    memory = randn(6, 10, dtype=dtype)
    yield memory[:5, :8], memory[1:, :8]
    yield memory[:5, :8], memory[:5, 2:]
    yield memory[:5, :8], memory[:5, 1:9]
    line = randn(200, dtype=dtype)
    yield line[:40].view(5, 8), line[39:79].view(5, 8)
    yield line[:80:2].view(5, 8), line[2:82:2].view(5, 8)
    yield line[:40].view(5, 8), line[:40].view(8, 5).T
    if dtype != torch.bfloat16:  # two storages that only NumPy knows to be one memory
        array = np.arange(6 * 8, dtype=str(dtype)[6:]).reshape(6, 8)
        yield torch.from_numpy(array[:5]), torch.from_numpy(array[1:])


@both_ways
@every_layout
@every_dtype
def test_out_that_shares_some_memory_with_x_is_refused(layout, dtype):
    for pair in shifted(dtype):
        for x, out in (pair, pair[::-1]):
            before = x.clone()
            with pytest.raises(ValueError, match="out must be x itself or lie in other memory"):
                apply_rotary(x, *tables(), layout=layout, out=out)
            assert torch.equal(x, before)


def disjoint(dtype):
    """Pairs of views of one shape in one buffer that share nothing."""
    packed = randn(2, 5, 16, dtype=dtype)
    yield packed[..., :8], packed[..., 8:]
    packed = randn(2, 5, 16, dtype=dtype)
    yield packed[..., 0::2], packed[..., 1::2]
    packed = randn(2, 10, 8, dtype=dtype)
    yield packed[:, 0::2], packed[:, 1::2]
    packed = randn(4, 5, 8, dtype=dtype)
    yield packed[:2], packed[2:]
    packed = randn(3, 5, 2, 8, dtype=dtype)
    yield packed[:, :, 0], packed[:, :, 1]
    if dtype != torch.bfloat16:
        array = np.random.default_rng(0).normal(size=(10, 8)).astype(str(dtype)[6:])
        yield torch.from_numpy(array[:5]), torch.from_numpy(array[5:])


@both_ways
@every_layout
@every_dtype
def test_out_beside_x_in_one_buffer_is_right(layout, dtype):
    bound = {torch.float64: 1e-6, torch.float32: 1e-6, torch.bfloat16: 2e-2}[dtype]
    for x, out in disjoint(dtype):
        before = x.clone()
        assert apply_rotary(x, *tables(), layout=layout, out=out) is out
        exact = reference.rotate(before, range(5), inv_freq(8), layout=layout)
        torch.testing.assert_close(out.double(), exact, rtol=0, atol=bound)
        assert torch.equal(x, before)


@both_ways
@every_layout
def test_out_that_lies_on_a_table_is_refused(layout):
    memory = torch.zeros(5, 16)
    memory[:, :4], memory[:, 4:8] = tables()
    cos, sin = memory[:, :4], memory[:, 4:8]
    for out, name in ((memory[:, 1:9], "cos"), (memory[:, 4:12], "sin")):
        with pytest.raises(ValueError, match=f"out must not share memory with {name}"):
            apply_rotary(randn(5, 8), cos, sin, layout=layout, out=out)
    x = randn(5, 8)
    apply_rotary(x, cos, sin, layout=layout, out=memory[:, 8:])
    exact = reference.rotate(x, range(5), inv_freq(8), layout=layout)
    torch.testing.assert_close(memory[:, 8:].double(), exact, rtol=0, atol=1e-6)


@every_layout
def test_out_needs_no_memory_on_the_meta_device(layout):
    x, out = torch.empty(5, 8, device="meta"), torch.empty(8, 5, device="meta").T
    cos, sin = (table.to("meta") for table in tables())
    assert apply_rotary(x, cos, sin, layout=layout, out=out) is out


def test_out_is_refused_inside_vmap():
    x, out = randn(2, 5, 8), torch.empty(2, 5, 8)
    with pytest.raises(ValueError, match=r"out was given inside torch\.vmap"):
        torch.vmap(lambda x, out: apply_rotary(x, *tables(), layout="half", out=out))(x, out)


def test_out_must_be_a_tensor():
    with pytest.raises(TypeError, match=r"out must be a tensor, got \[\]"):
        apply_rotary(randn(5, 8), *tables(), layout="half", out=[])


@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_out_is_refused_inside_a_transform(transform):
    x, other = randn(5, 8), randn(5, 8)

    def rotate(y):
        return apply_rotary(x, *tables(), layout="half", out=torch.empty_like(y)).sum()

    with pytest.raises(ValueError, match=r"another transform of torch\.func"):
        if transform == "grad":
            torch.func.grad(rotate)(other)
        else:
            torch.func.jvp(rotate, (other,), (other,))


def test_the_default_device_is_not_asked():
    x = torch.zeros(30).as_strided((3, 2), (2, 3))  # strides that take a list of addresses
    with torch.device("meta"):
        assert not overlaps_itself(x)
