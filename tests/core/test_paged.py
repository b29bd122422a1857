"""Keys and values in a cache of pages: rotated and written at once where programs run."""

import pytest
import torch
from programs import DEVICE, RUN_PROGRAMS, assert_rounded_once, oracle
from torch.fx.experimental.proxy_tensor import make_fx
from vectors import every_layout, randn, tables

from ropelib.cuda import ops
from ropelib.paged import rotate_into_cache

TOKENS, BLOCKS, BLOCK_SIZE = 6, 4, 3
SLOTS = torch.tensor([4, 11, -1, 0, 7, -1])
POSITIONS = torch.tensor([0, 1, 2, 0, 1, 2])
FORMS = {
    "a row each": {},
    "rows of a table": {"position_ids": torch.tensor([3, 9, 0, 4, 4, 1])},
    "packed": {"cu_seqlens": torch.tensor([0, 3, 6]).int()},
}
ORDERS = {"places first": (0, 1, 2, 3), "heads first": (0, 2, 1, 3)}


def made(head_dim=10, v_dim=6, dtype=torch.bfloat16, order="places first", q_heads=5):
    """q, k, v of tokens, and caches full of sevens, in memory in this order."""
    shapes = (
        (TOKENS, heads, dim) for heads, dim in ((q_heads, head_dim), (2, head_dim), (2, v_dim))
    )
    vectors = [randn(*shape, seed=i, dtype=dtype).to(DEVICE) for i, shape in enumerate(shapes)]
    caches = []
    for dim in (head_dim, v_dim):
        shape = [(BLOCKS, BLOCK_SIZE, 2, dim)[axis] for axis in ORDERS[order]]
        cache = torch.full(shape, 7.0, dtype=dtype, device=DEVICE)
        caches.append(cache.permute([ORDERS[order].index(axis) for axis in range(4)]))
    return *vectors, *caches


def asked(form, rotary_dim, dtype):
    """Tables, what the call is told beside them, and the positions that this means."""
    told = {name: x.to(DEVICE) for name, x in FORMS[form].items()}
    positions = FORMS[form].get("position_ids", POSITIONS)
    kind = torch.float64 if dtype == torch.float64 else torch.float32
    spelled_out = tables(range(20) if told else positions, rotary_dim, kind)
    return [table.to(DEVICE) for table in spelled_out], told, positions


def assert_written(cache, x, slots):
    """Each token lies in its slot, and in no other slot lies anything new."""
    expected = torch.full_like(cache, 7.0)
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            expected[slot // BLOCK_SIZE, slot % BLOCK_SIZE] = x[token]
    assert torch.equal(cache, expected)


@every_layout
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("head_dim", "rotary_dim", "v_dim", "dtype", "order", "in_place"),
    [
        (10, 10, 6, torch.bfloat16, "places first", False),
        (10, 6, 10, torch.float32, "heads first", True),  # in place, the rest belongs there too
        (24, 12, 5, torch.float16, "heads first", False),
        (9, 4, 1, torch.float64, "places first", True),
    ],
)
def test_each_token_lies_rotated_in_its_slot(
    layout, form, head_dim, rotary_dim, v_dim, dtype, order, in_place, launches
):
    q, k, v, k_cache, v_cache = made(head_dim, v_dim, dtype, order)
    cos_and_sin, told, positions = asked(form, rotary_dim, dtype)
    exact = [oracle(x.transpose(0, 1), positions, rotary_dim, layout) for x in (q, k)]
    v_before, slots = v.clone(), SLOTS.to(DEVICE)
    turned = rotate_into_cache(
        *(q, k, v, *cos_and_sin, k_cache, v_cache, slots),
        layout=layout,
        out=(q, k) if in_place else None,
        **told,
    )
    for result, expected in zip(turned, exact, strict=True):
        assert_rounded_once(result.transpose(0, 1), expected, rotary_dim, layout)
    assert_written(k_cache, turned[1], SLOTS)
    assert_written(v_cache, v_before, SLOTS)
    assert torch.equal(v, v_before) and (turned[0] is q) == in_place
    assert launches == ["rotate_into_cache"] * RUN_PROGRAMS


@every_layout
def test_one_token_and_parts_of_one_tensor(layout, launches):
    """A step of decoding, its vectors cut out of one product as models have them."""
    packed = randn(1, (4 + 2 + 2) * 8, dtype=torch.bfloat16).to(DEVICE).unflatten(-1, (8, 8))
    q, k, v = packed.split((4, 2, 2), dim=1)
    cos, sin = (t.to(DEVICE) for t in tables([41], 8, torch.float32))
    *_, k_cache, v_cache = made(8, 8)
    slot = torch.tensor([5], dtype=torch.int32, device=DEVICE)
    exact = [oracle(x.transpose(0, 1), [41], 8, layout) for x in (q, k)]
    out = rotate_into_cache(q, k, v, cos, sin, k_cache, v_cache, slot, layout=layout, out=(q, k))
    for result, expected in zip(out, exact, strict=True):
        assert_rounded_once(result.transpose(0, 1), expected, 8, layout)
    assert_written(k_cache, k, slot)
    assert_written(v_cache, v, slot)
    assert launches == ["rotate_into_cache"] * RUN_PROGRAMS


@pytest.mark.parametrize("many", [0, 2**31])
def test_slots_beyond_the_cache_are_not_written_where_nobody_looks(many, monkeypatch):
    """As on a GPU, which would have to be waited for."""
    if RUN_PROGRAMS:
        monkeypatch.setattr("ropelib.cuda.launch.MANY", many)
    monkeypatch.setattr("ropelib.paged.has_values", lambda _: False)
    q, k, v, *caches = made(dtype=torch.float32)
    whole = [torch.full((BLOCKS + 2, *x.shape[1:]), 7.0, device=DEVICE) for x in caches]
    caches = [x[1:-1] for x in whole]
    slots = torch.tensor([12, 2**31, 0, -5, 13, -(2**31)], device=DEVICE)
    cos, sin = (t.to(DEVICE) for t in tables(range(6), 10, torch.float32))
    _, turned = rotate_into_cache(q, k, v, cos, sin, *caches, slots, layout="half")
    for cache, x, around in zip(caches, (turned, v), whole, strict=True):
        assert_written(cache, x, torch.tensor([-1, -1, 0, -1, -1, -1]))
        assert (around[0] == 7).all() and (around[-1] == 7).all()


@every_layout
def test_a_compiler_meets_no_break_and_sees_the_cache_change(layout):
    if not RUN_PROGRAMS:
        pytest.skip("plain operations ask which slots are kept: a compiler breaks there")
    torch.compiler.reset()
    q, k, v, *caches = made(dtype=torch.float32)
    cos_and_sin, told, positions = asked("packed", 10, torch.float32)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(q, k, v):
        kept = SLOTS.to(DEVICE)
        turned = rotate_into_cache(q, k, v, *cos_and_sin, *caches, kept, layout=layout, **told)
        return *turned, caches[0] + 1

    q_turned, k_turned, more = step(q, k, v)
    exact = oracle(q.transpose(0, 1), positions, 10, layout)
    assert_rounded_once(q_turned.transpose(0, 1), exact, 10, layout)
    assert_written(caches[0], k_turned, SLOTS)
    assert_written(caches[1], v, SLOTS)
    assert torch.equal(more, caches[0] + 1)


def test_the_operation_is_what_it_says_to_torch():
    if not RUN_PROGRAMS:
        pytest.skip("no program runs here")
    q, k, v, *caches = made(dtype=torch.float32)
    cos_and_sin, _, _ = asked("packed", 10, torch.float32)
    rows = (SLOTS.to(DEVICE), None, FORMS["packed"]["cu_seqlens"].to(DEVICE), "half")
    torch.library.opcheck(ops.rotate_into_cache, (q, k, v, *cos_and_sin, *caches, *rows))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"q": torch.ones(1, 6, 5, 10)}, ValueError, r"q must be \(num_tokens, num_heads, head_di"),
        ({"k": torch.ones(6, 10)}, ValueError, r"k must be .* got shape \(6, 10\)"),
        ({"v": torch.ones(6, 3, 6)}, ValueError, r"v must be \(6, 2, v_dim\), as k, got shape"),
        (
            {"v": torch.ones(6, 2, 6).half()},
            ValueError,
            "v must be torch.float32, as k, got",
        ),
        ({"v": None}, TypeError, "v must be a tensor, got None"),
        (
            {"k_cache": torch.ones(4, 3, 2, 8)},
            ValueError,
            r"\(num_blocks, block_size, 2, 10\)",
        ),
        ({"v_cache": torch.ones(4, 2, 3, 6)}, ValueError, r"\(num_blocks, block_size, 2, 6\)"),
        ({"v_cache": torch.ones(5, 3, 2, 6)}, ValueError, "must have the same blocks"),
        ({"slot_mapping": SLOTS[:5]}, ValueError, r"must be \(6,\), got shape \(5,\)"),
        ({"slot_mapping": SLOTS.float()}, TypeError, "int64 or int32, got torch.float32"),
        ({"k": torch.ones(6, 2, 10, requires_grad=True)}, ValueError, "carries no gradient"),
        ({"k_cache": torch.ones(4, 1, 2, 10).expand(4, 3, 2, 10)}, ValueError, "memory of its own"),
        ({"layout": "neox"}, ValueError, "layout must be"),
    ],
)
def test_what_does_not_fit_is_refused(change, error, message):
    names = ("q", "k", "v", "k_cache", "v_cache")
    told = dict(zip(names, made(dtype=torch.float32), strict=True)) | {"slot_mapping": SLOTS}
    told |= {"layout": "half"} | change
    told = {n: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for n, x in told.items()}
    if "k_cache" in change and message == "memory of its own":
        told["k_cache"] = told["k_cache"][:, :1].expand(4, 3, 2, 10)
    cos, sin = (t.to(DEVICE) for t in tables(range(6), 10, torch.float32))
    with pytest.raises(error, match=message):
        rotate_into_cache(cos=cos, sin=sin, **told)


@pytest.mark.parametrize("which", [0, 1])
def test_a_gradient_of_the_tables_is_refused_before_a_cache_is_written(which):
    q, k, v, k_cache, v_cache = made(dtype=torch.float32)
    before = k_cache.clone()
    told = [table.to(DEVICE) for table in tables(range(6), 10, torch.float32)]
    told[which] = told[which].clone().requires_grad_()
    with pytest.raises(ValueError, match="carries no gradient"):
        rotate_into_cache(q, k, v, *told, k_cache, v_cache, SLOTS.to(DEVICE), layout="half")
    assert torch.equal(k_cache, before) and not k_cache.requires_grad


def test_caches_that_lie_in_one_another_are_refused():
    q, k, v, k_cache, _ = made(10, 10, torch.float32)
    cos_and_sin, slots = tables(range(6), 10, torch.float32), SLOTS
    cos, sin = (t.to(DEVICE) for t in cos_and_sin)
    with pytest.raises(ValueError, match="k_cache and v_cache must not share memory"):
        rotate_into_cache(q, k, v, cos, sin, k_cache, k_cache, slots.to(DEVICE), layout="half")
    big = torch.zeros(4 * 3 * 2 * 10, device=DEVICE)
    mine = big[: 6 * 2 * 10].view(6, 2, 10)
    with pytest.raises(ValueError, match="v_cache must have memory of its own, apart from q, k"):
        rotate_into_cache(
            *(q, k, mine, cos, sin, k_cache, big.view(4, 3, 2, 10), slots.to(DEVICE)), layout="half"
        )


def test_a_slot_that_is_not_there_is_refused_where_it_can_be_seen():
    tensors = [x.cpu() for x in made(dtype=torch.float32)]
    cos_and_sin, slots = tables(range(6), 10, torch.float32), SLOTS + 1
    with pytest.raises(ValueError, match="less than 12, the slots of the cache, got 12"):
        rotate_into_cache(*tensors[:3], *cos_and_sin, *tensors[3:], slots, layout="half")


def test_out_lies_apart_from_values_and_caches():
    q, k, v, k_cache, v_cache = made(10, 10, torch.float32)
    cos, sin = (t.to(DEVICE) for t in tables(range(6), 10, torch.float32))
    packed = torch.cat((q, k, v), dim=1)
    within = packed.split((5, 2, 2), dim=1)
    new_q, new_k, slots = torch.empty_like(q), torch.empty_like(k), SLOTS.to(DEVICE)

    def rotate(q, k, v, out):
        return rotate_into_cache(
            *(q, k, v, cos, sin, k_cache, v_cache, slots), layout="half", out=out
        )

    expected = rotate(q, k, v, None)
    for ours, exact in zip(rotate(*within, within[:2]), expected, strict=True):
        assert torch.equal(ours, exact)
    mine = [cache.flatten(0, 1)[:6] for cache in (k_cache, v_cache)]
    for vectors, out, message in (
        ((q, k, k), (q, k), "out of k must not share memory with v"),
        ((q, k, v), (new_q, v), "out of k must not share memory with v"),
        ((q, k, within[0][:, 1:3]), (within[0], new_k), "out of q must not share memory with v"),
        ((q, k, v), (new_q, mine[0]), "out of k must not share memory with a cache"),
        ((q, k, v), (new_q, mine[1]), "out of k must not share memory with a cache"),
    ):
        before = [x.clone() for x in (*vectors, k_cache, v_cache)]
        with pytest.raises(ValueError, match=message):
            rotate(*vectors, out)
        for x, kept in zip((*vectors, k_cache, v_cache), before, strict=True):
            assert torch.equal(x, kept)


@pytest.mark.parametrize("in_place", [False, True])
def test_what_looks_on_sees_an_operation(in_place, launches, monkeypatch):
    if not RUN_PROGRAMS:
        pytest.skip("plain operations are seen one by one")
    monkeypatch.setattr("ropelib.paged.has_values", lambda _: False)  # as on a GPU
    q, k, v, *caches = made(dtype=torch.float32)
    cos_and_sin, told, _ = asked("a row each", 10, torch.float32)
    slots = SLOTS.to(DEVICE)

    def step(q, k, v, k_cache, v_cache):
        q, k = q.clone(), k.clone()
        out = (q, k) if in_place else None
        where = (k_cache, v_cache, slots)
        return rotate_into_cache(q, k, v, *cos_and_sin, *where, layout="half", out=out, **told)

    recorded = make_fx(step)(q, k, v, *(x.clone() for x in caches))
    again = [x.clone() for x in caches]
    expected = step(q + 1, k, 2 * v, *caches)
    torch.testing.assert_close(recorded(q + 1, k, 2 * v, *again), expected)
    assert all(map(torch.equal, caches, again))
    assert launches == 3 * ["rotate_into_cache"]
