"""q and k in one go, by programs where they run and by plain operations where not."""

from itertools import product

import pytest
import torch
from programs import DEVICE, RUN_PROGRAMS, assert_rounded_once, oracle
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from vectors import LAYOUTS, every_layout, randn, tables

from ropelib import RotaryEmbedding, apply_rotary, diagnose, inv_freq, rotation
from ropelib.cuda import ops
from ropelib.fused import rotate_qk
from ropelib.table_rows import check_rows, looked_up

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
# (head_dim, rotary_dim): one pair; all; no powers of two, whole and in part; odd; an odd rest
WIDTHS = [(2, 2), (8, 8), (10, 6), (80, 80), (24, 12), (9, 4)]
ROWS = torch.tensor([[0, 3, 3, 40, 1], [7, 0, 2, 5, 99]])
FORMS = {  # how a token says where it stands: what the call is told, and what it means
    "in a row": ({}, torch.arange(5)),
    "per row": ({}, ROWS),
    "rows of a table": ({"position_ids": ROWS}, ROWS),
    "one row of a table": ({"position_ids": ROWS[1].int()}, ROWS[1]),
    "packed": ({"cu_seqlens": torch.tensor([0, 1, 1, 4, 5]).int()}, torch.tensor([0, 0, 1, 2, 0])),
    "packed, with a rest": ({"cu_seqlens": torch.tensor([0, 2])}, torch.tensor([0, 1, 0, 1, 2])),
}
CASES = [
    (layout, width, dtype, list(FORMS)[i % len(FORMS)])
    for i, (layout, width, dtype) in enumerate(product(LAYOUTS, WIDTHS, DTYPES))
]


def asked(form, rotary_dim, dtype=torch.float32):
    """Tables, what the call is told beside them, and the positions that this means."""
    told, positions = FORMS[form]
    told = {name: x.to(DEVICE) for name, x in told.items()}
    spelled_out = tables(range(100) if told else positions, rotary_dim, dtype)
    return [table.to(DEVICE) for table in spelled_out], told, positions


def q_and_k(head_dim, dtype):
    """Three heads beside two, so that no count can stand for the other."""
    return (randn(2, h, 5, head_dim, seed=h, dtype=dtype).to(DEVICE) for h in (3, 2))


@pytest.mark.parametrize(("layout", "width", "dtype", "form"), CASES)
def test_rotation_equals_the_oracle_but_for_one_rounding(layout, width, dtype, form, launches):
    head_dim, rotary_dim = width
    exact_in = torch.float64 if dtype == torch.float64 else torch.float32
    cos_and_sin, told, positions = asked(form, rotary_dim, exact_in)
    q, k = q_and_k(head_dim, dtype)
    turned = rotate_qk(q, k, *cos_and_sin, layout=layout, **told)
    for x, result in zip((q, k), turned, strict=True):
        assert result.dtype == dtype
        assert_rounded_once(result, oracle(x, positions, rotary_dim, layout), rotary_dim, layout)
    assert launches == ["rotate"] * RUN_PROGRAMS


def strided(x):
    """Views equal to `x` that lie differently in memory, by name."""
    return {
        "sequence first": x.transpose(1, 2).contiguous().transpose(1, 2),
        "dimensions first": x.transpose(-2, -1).contiguous().transpose(-2, -1),
        "every other": torch.stack((x, x), dim=-1)[..., 0],
        "a part of something wider": torch.cat((x[..., :1], x), dim=-1)[..., 1:],
    }


@every_layout
@pytest.mark.parametrize("lies", [*strided(torch.ones(1, 1, 1, 1)), "expanded"])
@pytest.mark.parametrize("in_place", [False, True])
def test_strides_do_not_matter(layout, lies, in_place, launches):
    cos_and_sin, told, positions = asked("rows of a table", 6)
    q, k = q_and_k(8, torch.float32)
    if lies == "expanded":
        if in_place:
            with pytest.raises(ValueError, match="memory of its own"):
                q = q[:, :1].expand(-1, 3, -1, -1)
                rotate_qk(q, k, *cos_and_sin, layout=layout, out=(q, k), **told)
            return
        q, k = q[:, :1].expand(-1, 3, -1, -1), k[:1].expand(2, -1, -1, -1)
    else:
        q, k = strided(q)[lies], strided(k)[lies]
    exact = [oracle(x, positions, 6, layout) for x in (q, k)]
    out = (q, k) if in_place else None
    turned = rotate_qk(q, k, *cos_and_sin, layout=layout, out=out, **told)
    for result, expected in zip(turned, exact, strict=True):
        assert_rounded_once(result, expected, 6, layout)
    if in_place:
        assert turned[0] is q and turned[1] is k
    assert launches == ["rotate"] * RUN_PROGRAMS


@every_layout
def test_heads_may_lie_far_apart(layout, launches):
    """More than 2**31 elements from the first to the last, of which few are ever touched."""
    apart = 2**30 + 1
    memory = torch.empty(2 * apart + 40, dtype=torch.bfloat16, device=DEVICE)
    far = memory.as_strided((3, 5, 8), (apart, 8, 1))
    q, k = (x[0] for x in q_and_k(8, torch.bfloat16))
    far.copy_(q)
    cos_and_sin, _, positions = asked("in a row", 8)
    rotate_qk(far, k, *cos_and_sin, layout=layout, out=(far, torch.empty_like(k)))
    assert_rounded_once(far, oracle(q, positions, 8, layout), 8, layout)
    assert launches == ["rotate"] * RUN_PROGRAMS


@every_layout
def test_the_sequence_may_be_any_axis_and_out_any_memory(layout, launches):
    cos_and_sin, told, positions = asked("packed", 6)
    q, k = q_and_k(8, torch.bfloat16)
    exact = [oracle(x, positions, 6, layout) for x in (q, k)]
    q, k = (x.transpose(1, 2).contiguous() for x in (q, k))
    out = [torch.full((2, 5, x.shape[2], 9), 7.0, dtype=x.dtype, device=DEVICE) for x in (q, k)]
    inside = tuple(x[..., 1:] for x in out)
    rotate_qk(q, k, *cos_and_sin, layout=layout, seq_dim=1, out=inside, **told)
    turned = rotate_qk(q, k, *cos_and_sin, layout=layout, seq_dim=-3, **told)
    for i in range(2):
        assert_rounded_once(inside[i].transpose(1, 2), exact[i], 6, layout)
        assert torch.equal(inside[i], turned[i])
        assert (out[i][..., 0] == 7).all()
    assert launches == 2 * ["rotate"] * RUN_PROGRAMS


@every_layout
@pytest.mark.parametrize("heads_at_once", [1, 2, 4])
@pytest.mark.parametrize(("rows_at_once", "many"), [(32, 0), (128, 2**31)])
def test_how_the_work_is_cut_does_not_matter(
    layout, heads_at_once, rows_at_once, many, monkeypatch, launches
):
    if not RUN_PROGRAMS:
        pytest.skip("plain operations are not cut")
    from ropelib.cuda import launch

    monkeypatch.setattr(launch, "_heads_at_once", lambda *_: heads_at_once)
    monkeypatch.setattr(launch, "ROWS", rows_at_once)
    monkeypatch.setattr(launch, "MANY", many)
    (cos, sin), x = tables(range(9), 20, torch.float32), randn(1, 5, 9, 24, dtype=torch.float32)
    turned = rotate_qk(*(t.to(DEVICE) for t in (x, x[:, :1], cos, sin)), layout=layout)
    for result, given in zip(turned, (x, x[:, :1]), strict=True):
        assert_rounded_once(result, oracle(given, range(9), 20, layout), 20, layout)


@every_layout
def test_dimensions_after_the_pairs_pass_bit_for_bit(layout, launches):
    x = randn(1, 2, 5, 12, dtype=torch.bfloat16).to(DEVICE)
    x[..., 9], x[..., 10], x[..., 11] = torch.nan, -0.0, torch.inf
    (cos, sin), _, _ = asked("in a row", 8)
    for result in rotate_qk(x, x[:, 1:], cos, sin, layout=layout):
        given = x[:, -result.shape[1] :]
        assert torch.equal(result[..., 8:].view(torch.int16), given[..., 8:].view(torch.int16))
        assert result[..., :8].isfinite().all()


# Gradients


@every_layout
@pytest.mark.parametrize("form", FORMS)
def test_gradients_equal_those_of_the_oracle(layout, form, launches):
    cos_and_sin, told, positions = asked(form, 6)
    q, k = (x.requires_grad_() for x in q_and_k(10, torch.float32))
    weights = [randn(*x.shape, seed=7, dtype=torch.float32).to(DEVICE) for x in (q, k)]
    turned = rotate_qk(q, k, *cos_and_sin, layout=layout, **told)
    sum((x * w).sum() for x, w in zip(turned, weights, strict=True)).backward()
    for x, weight in zip((q, k), weights, strict=True):
        y = x.detach().cpu().double().requires_grad_()
        (oracle(y, positions, 6, layout) * weight.cpu()).sum().backward()
        # The gradient of a rotation is one of the weights: the same bound holds.
        assert_rounded_once(x.grad, y.grad, 6, layout)
    assert launches == 2 * ["rotate"] * RUN_PROGRAMS


@every_layout
def test_derivatives_of_first_and_second_order_are_right(layout):
    cos_and_sin, told, _ = asked("one row of a table", 2, torch.float64)
    q, k = (randn(h, 5, 3, seed=h).to(DEVICE).requires_grad_() for h in (2, 1))

    def rotate(q, k):
        return rotate_qk(q, k, *cos_and_sin, layout=layout, **told)

    assert torch.autograd.gradcheck(rotate, (q, k), fast_mode=True)
    assert torch.autograd.gradgradcheck(rotate, (q, k), fast_mode=True)
    assert torch.autograd.gradcheck(lambda k: rotate(q.detach(), k)[1], k, fast_mode=True)


def test_backward_keeps_only_the_tables():
    kept, (q, k) = [], q_and_k(8, torch.float32)
    cos_and_sin, told, _ = asked("rows of a table", 8)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        rotate_qk(q.requires_grad_(), k, *cos_and_sin, layout="half", **told)
    if RUN_PROGRAMS:
        known = {t.data_ptr() for t in (*cos_and_sin, *told.values())}
        assert {t.data_ptr() for t in kept} == known
    assert q.data_ptr() not in {t.data_ptr() for t in kept}


def test_gradients_in_batches_and_forward_mode_find_another_way():
    cos_and_sin, told, _ = asked("rows of a table", 8, torch.float64)
    q, k = (x.requires_grad_() for x in q_and_k(8, torch.float64))
    turned, _ = rotate_qk(q, k, *cos_and_sin, layout="half", **told)
    grads = randn(3, *q.shape, seed=1).to(DEVICE)
    (ours,) = torch.autograd.grad(turned, q, grads, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(turned, q, grad, retain_graph=True)[0] for grad in grads]
    torch.testing.assert_close(ours, torch.stack(each))

    def rotate(q):
        return rotate_qk(q, k.detach(), *cos_and_sin, layout="half", **told)[0]

    tangent = torch.func.jvp(rotate, (q.detach(),), (grads[0],))[1]
    torch.testing.assert_close(tangent, rotate(grads[0]))
    with forward_ad.dual_level():
        dual = rotate(forward_ad.make_dual(q.detach(), grads[0]))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, tangent)
    weight = torch.func.grad(lambda q: (rotate(q) * grads[0]).sum())(q.detach())
    torch.testing.assert_close(weight, each[0])


# The same path from the library's own doors


@every_layout
def test_the_module_and_the_function_take_this_way(layout, launches):
    q, k = q_and_k(8, torch.float32)
    module = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    cos_and_sin, _, positions = asked("per row", 6)
    both = module(q, k, positions.to(DEVICE))
    for x, result in zip((q, k), both, strict=True):
        assert_rounded_once(result, oracle(x, positions, 6, layout), 6, layout)
    alone = apply_rotary(q, *cos_and_sin, layout=layout)
    assert_rounded_once(alone, oracle(q, positions, 6, layout), 6, layout)
    assert apply_rotary(q, *cos_and_sin, layout=layout, out=q) is q
    torch.testing.assert_close(q, alone, rtol=0, atol=1e-6)
    step = module(q[..., :1, :], k[..., :1, :], offset=70)
    assert_rounded_once(step[1], oracle(k[..., :1, :], [70], 6, layout), 6, layout)
    assert launches == 4 * ["rotate"] * RUN_PROGRAMS


def test_the_diagnosis_finds_nothing_wrong(launches):
    cos, sin = (t.to(DEVICE) for t in rotation.cos_sin(range(64), inv_freq(16)))

    def rotate(x, position_ids):
        return rotate_qk(x, x, cos, sin, layout="half", position_ids=position_ids)[0]

    report = diagnose(rotate, head_dim=24, max_position=64, device=DEVICE, layout="half")
    assert report.ok, report
    assert (report.layout, report.rotary_dim) == ("half", 16)
    assert bool(launches) == RUN_PROGRAMS


def test_what_the_programs_cannot_take_goes_another_way(launches):
    (cos, sin), _, _ = asked("in a row", 8, torch.float64)
    q, k = q_and_k(8, torch.float64)
    deep = q[:, None], k[:, None]  # five axes
    for x, result in zip((q, k), rotate_qk(*deep, cos, sin, layout="half"), strict=True):
        torch.testing.assert_close(result[:, 0], apply_rotary(x, cos, sin, layout="half"))
    alone = len(launches)
    turned = torch._neg_view(q)  # its memory holds the numbers with the other sign
    torch.testing.assert_close(
        rotate_qk(turned, k, cos, sin, layout="half")[0],
        -apply_rotary(q.clone(), cos, sin, layout="half"),
    )
    into = torch._neg_view(torch.empty_like(q))
    rotate_qk(q, k, cos, sin, layout="half", out=(into, torch.empty_like(k)))
    torch.testing.assert_close(into.clone(), apply_rotary(q, cos, sin, layout="half"))
    apply_rotary(q, cos, sin, layout="half", out=into.zero_())
    torch.testing.assert_close(into.clone(), apply_rotary(q, cos, sin, layout="half"))
    zero = torch._efficientzerotensor(q.shape, dtype=q.dtype, device=DEVICE)  # has no memory
    assert not rotate_qk(zero, k, cos, sin, layout="half")[0].any()
    alone = len(launches)
    learned = cos.clone().requires_grad_()
    rotate_qk(q, k, learned, sin, layout="half")[0].sum().backward()
    assert learned.grad.abs().max() > 0.1 and len(launches) == alone
    empty = rotate_qk(q[:, :, :0], k[:, :, :0], cos[:0], sin[:0], layout="half")
    assert [x.shape for x in empty] == [(2, 3, 0, 8), (2, 2, 0, 8)]


# Compilers


@every_layout
@pytest.mark.parametrize("form", ["in a row", "rows of a table", "packed"])
def test_a_compiler_meets_no_break(layout, form):
    torch.compiler.reset()
    cos_and_sin, told, positions = asked(form, 6)
    q, k = (x.requires_grad_() for x in q_and_k(8, torch.float32))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def rotate(q, k):
        return [2 * x for x in rotate_qk(q, k, *cos_and_sin, layout=layout, **told)]

    turned = rotate(q, k)
    sum(x.sum() for x in turned).backward()
    for x, result in zip((q, k), turned, strict=True):
        y = x.detach().cpu().double().requires_grad_()
        exact = oracle(y, positions, 6, layout)
        assert_rounded_once(result.detach() / 2, exact.detach(), 6, layout)
        exact.sum().mul(2).backward()
        torch.testing.assert_close(x.grad.cpu().double(), y.grad, rtol=0, atol=1e-5)


def test_the_operation_is_what_it_says_to_torch():
    if not RUN_PROGRAMS:
        pytest.skip("no program runs here")
    cos_and_sin, told, _ = asked("rows of a table", 6)
    q, k = (x.requires_grad_() for x in q_and_k(8, torch.float32))
    args = (q, k, *cos_and_sin, told["position_ids"], None, "half", False)
    torch.library.opcheck(ops.rotate_qk, args)


# Refusals


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"layout": "neox"}, ValueError, 'must be "interleaved" or "half"'),
        ({"position_ids": ROWS, "cu_seqlens": ROWS[0]}, ValueError, "not both"),
        ({"position_ids": [0, 1]}, TypeError, "position_ids must be a tensor"),
        ({"position_ids": ROWS.float()}, TypeError, "integers or uint8, got torch.float32"),
        ({"position_ids": ROWS[:, :4]}, ValueError, r"with seq_len 5, got shape \(2, 4\)"),
        ({"position_ids": torch.zeros(3, 5).long()}, ValueError, r"\(batch, seq_len\), got \(3, 5"),
        ({"cu_seqlens": torch.tensor([5])}, ValueError, r"\(num_sequences \+ 1,\), got shape \(1,"),
        ({"cu_seqlens": ROWS}, ValueError, r"\(num_sequences \+ 1,\), got shape \(2, 5\)"),
        ({"out": torch.ones(2)}, TypeError, "out must be two tensors"),
    ],
)
def test_what_cannot_be_meant_is_refused(told, error, message):
    q, k = q_and_k(8, torch.float32)
    num_rows = 100 if told.keys() & {"position_ids", "cu_seqlens"} else 5
    cos_and_sin = [t.to(DEVICE) for t in tables(range(num_rows), 8, torch.float32)]
    told = {n: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for n, x in told.items()}
    with pytest.raises(error, match=message):
        rotate_qk(q, k, *cos_and_sin, **{"layout": "half"} | told)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"position_ids": torch.tensor([0, 1, 2, 3, 100])}, "0 to 99, got 100"),
        ({"position_ids": torch.tensor([0, 1, -2, 3, 4])}, "0 to 99, got -2"),
        ({"cu_seqlens": torch.tensor([0, 3, 2, 5])}, r"rise from 0 .*got \[0, 3, 2, 5\]"),
        ({"cu_seqlens": torch.tensor([1, 5])}, r"rise from 0 .*got \[1, 5\]"),
        ({"cu_seqlens": torch.tensor([0, 6])}, r"at most seq_len 5, got \[0, 6\]"),
    ],
)
def test_rows_that_are_not_there_are_refused_where_they_can_be_seen(told, message):
    q, k = (x.cpu() for x in q_and_k(8, torch.float32))
    with pytest.raises(ValueError, match=message):
        rotate_qk(q, k, *tables(range(100), 8, torch.float32), layout="half", **told)
    if "cu_seqlens" in told:
        return
    with pytest.raises(ValueError, match="got 3 for a sequence of 5"):
        rotate_qk(q, k, *tables(range(3), 8), layout="half", cu_seqlens=torch.tensor([0, 0, 5]))


def test_rows_that_are_not_there_become_no_numbers_where_nobody_looks(monkeypatch, launches):
    """As on a GPU, which would have to be waited for."""
    monkeypatch.setattr("ropelib.table_rows.has_values", lambda _: False)
    (cos, sin), q, k = tables(range(3), 6, torch.float32), *q_and_k(8, torch.float32)
    cos, sin = cos.to(DEVICE), sin.to(DEVICE)
    ids = torch.tensor([0, 2, 3, -1, 1], device=DEVICE)
    packed = torch.tensor([0, 1, 5], device=DEVICE)  # at 0; 0, 1, 2 and 3, which is no row
    for told, missing in (({"position_ids": ids}, [2, 3]), ({"cu_seqlens": packed}, [4])):
        for turned in rotate_qk(q, k, cos, sin, layout="half", **told):
            gone = turned[..., :6].isnan().all(dim=-1)
            assert gone[..., missing].all() and gone.sum() == gone[..., missing].numel()
            assert turned[..., 6:].isfinite().all()


def test_vectors_that_do_not_go_together_are_refused():
    (cos, sin), (q, k) = tables(range(5), 8, torch.float32), q_and_k(8, torch.float32)
    cos, sin = cos.to(DEVICE), sin.to(DEVICE)
    for other, message in (
        (k[..., :6], "differ in their heads alone"),
        (k[:, :, :4], "differ in their heads alone"),
        (k[:1], "differ in their heads alone"),
        (k.double(), "one dtype, got torch.float32 and torch.float64"),
    ):
        with pytest.raises(ValueError, match=message):
            rotate_qk(q, other, cos, sin, layout="half")
    with pytest.raises(ValueError, match="same shape and dtype"):
        rotate_qk(q, k, cos, sin[:, :3], layout="half", position_ids=ROWS.to(DEVICE) % 5)
    with pytest.raises(ValueError, match=r"\(num_rows, num_pairs\) where position_ids"):
        rotate_qk(q, k, cos[None], sin[None], layout="half", position_ids=ROWS.to(DEVICE) % 5)
    big = randn(2, 8, 5, 8, dtype=torch.float32).to(DEVICE)
    q, k = big[:, :3], big[:, 3:5]
    for out, message in (
        ((torch.empty_like(q),) * 2, "out must have the shape of x"),
        ((big[:, 4:7], torch.empty_like(k)), "out of q must not share memory with k"),
        ((torch.empty_like(q), big[:, 1:3]), "out of k must not share memory with q"),
    ):
        with pytest.raises(ValueError, match=message):
            rotate_qk(q, k, cos, sin, layout="half", out=out)
    new = torch.empty_like(q)
    with pytest.raises(ValueError, match="the two of out must not share memory"):
        rotate_qk(q, k, cos, sin, layout="half", out=(new, new[:, 1:]))


@pytest.mark.parametrize("seq_dim", [-2, 1])
@pytest.mark.parametrize("out", [5, torch.empty(2, 2, 5, 3, 8)])
def test_out_is_two_tensors_on_any_axis(seq_dim, out):
    q = randn(2, 5, 5, 8)
    with pytest.raises(TypeError, match="out must be two tensors, one for q and one for k, got"):
        rotate_qk(q, q.clone(), *tables(), layout="half", seq_dim=seq_dim, out=out)


@every_layout
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
def test_ends_of_sequences_count_in_few_bits_as_in_many(layout, dtype, launches):
    (cos, sin), told = tables(range(300), 8), torch.tensor([0, 40, 100], device=DEVICE)
    cos, sin, q = cos.to(DEVICE), sin.to(DEVICE), randn(2, 300, 8).to(DEVICE)
    expected = rotate_qk(q, q, cos, sin, layout=layout, cu_seqlens=told)
    for packed in (told.to(dtype), torch.stack((told, told), dim=-1).to(dtype)[:, 0]):
        turned = rotate_qk(q, q, cos, sin, layout=layout, cu_seqlens=packed)
        torch.testing.assert_close(turned, expected, rtol=0, atol=0)
    falling = torch.tensor([0, 50, 30, 100], dtype=dtype)
    with pytest.raises(ValueError, match=r"rise from 0 .*got \[0, 50, 30, 100\]"):
        check_rows(None, falling, cos.cpu(), 300)


def test_ends_of_sequences_may_lie_apart_without_a_warning(recwarn):
    packed, always = torch.tensor([0, 7, 2, 7, 5])[::2], torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # and not once
    assert looked_up(*tables(), None, packed, seq_len=5)[0].shape == (5, 4)
    torch.set_warn_always(always)
    assert not recwarn.list


@every_layout
@pytest.mark.parametrize("in_place", [False, True])
def test_what_looks_on_sees_an_operation(layout, in_place, launches):
    cos_and_sin, told, _ = asked("in a row", 6)
    q, k = q_and_k(8, torch.float32)

    def rotate(q, k):
        q, k = q.clone(), k.clone()
        out = (q, k) if in_place else None
        return rotate_qk(q, k, *cos_and_sin, layout=layout, out=out, **told)

    recorded = make_fx(rotate)(q, k)
    expected = rotate(q + 1, 2 * k)
    torch.testing.assert_close(recorded(q + 1, 2 * k), expected)
    assert launches == 3 * ["rotate"] * RUN_PROGRAMS
