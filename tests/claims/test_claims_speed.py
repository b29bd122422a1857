"""What Speed says of recorded clocks, and of what can be counted without one."""

import json
import math
import re

import pytest
import sympy
import torch
from toc import ROOT
from torch.profiler import ProfilerActivity, profile
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from ropebook.experiments import speed
from ropebook.experiments.speed import Run
from ropebook.widgets.memory_passes.widget import CLOCKS, WAYS, expected_of, new_memory_of
from ropelib import (
    apply_rotary,
    cos_sin,
    diagnose,
    inv_freq,
    reference,
)

USUAL, COMPLEX = ("transformers", "half"), ("complex product", "interleaved")
KERNEL = ("ropelib native out=", "half")
CLOCKED = {
    "clone": ("clone", None),
    "steps": USUAL,
    "compiled": ("transformers compiled", "half"),
    "fused": ("ropelib native", "half"),
    "in_place": ("ropelib native in place", "half"),
}


@pytest.fixture(scope="module")
def recorded():
    return speed.load("speed_cpu")


@pytest.fixture(scope="module", params=["stock", "warm"])
def prefill(recorded, request):
    return recorded.run("prefill", request.param, dtype="float32", backward=False)


@pytest.fixture(scope="module")
def fresh(recorded):
    return recorded.run("prefill", "stock", dtype="float32", backward=False)


@pytest.fixture(scope="module")
def kept(recorded):
    return recorded.run("prefill", "warm", dtype="float32", backward=False)


def copies(run: Run, name: str, layout: str | None = None) -> float:
    return run.ratio(name, layout)[1]


def test_the_case_is_that_of_the_bet(prefill):
    case = prefill.told["case"]
    assert case["shape"] == [1, 32, 4096, 128] and case["key_heads"] == 32
    assert case["rotary_dim"] == 128


def test_usual_code_takes_more_than_ten_copies_into_fresh_memory(fresh):
    assert copies(fresh, *USUAL) > 10


def test_of_the_kernels_one_takes_two_to_four_copies_and_ours_about_one(prefill):
    assert copies(prefill, *KERNEL) == pytest.approx(1, abs=0.2)
    assert 2 < copies(prefill, "onnxruntime", "half") < 4


@pytest.mark.parametrize("who", [("ropelib compiled", "half"), COMPLEX], ids=str)
def test_with_memory_kept_so_do_code_written_for_a_compiler_and_the_complex_product(
    fresh, kept, who
):
    assert copies(kept, *who) < 1.2
    assert copies(fresh, *who) > 5


def test_a_compiler_brings_other_code_to_no_two_passes(prefill):
    mine, theirs = (
        copies(prefill, f"{name} compiled", "half") for name in ("ropelib", "transformers")
    )
    assert theirs > 1.3 * mine
    assert prefill.row("transformers compiled", "half")["memory"] == 2
    assert new_memory_of(WAYS["compiled"]) == 2


def test_in_place_a_kernel_can_take_less_than_a_copy(prefill):
    assert copies(prefill, "ropelib native in place", "interleaved") < 1


@pytest.mark.parametrize(
    ("who", "passes"), [(USUAL, 10), (COMPLEX, 2), (("clone", None), 2)], ids=str
)
def test_with_memory_kept_passes_roughly_foretell_the_clock(kept, who, passes):
    assert 0.5 < copies(kept, *who) / (passes / 2) < 2.2


def test_of_code_that_picks_single_numbers_passes_foretell_nothing(kept):
    """The loop over pairs: a copy first, then two products, a difference and its storing."""
    passes = 2 + (2 + 2 + 3 + 2)
    assert copies(kept, "loop over pairs", "interleaved") > 5 * passes / 2


def test_fresh_memory_makes_even_a_clone_some_copies_long(fresh, kept):
    assert copies(fresh, "clone") > 2
    assert copies(fresh, "clone") > 1.5 * copies(kept, "clone")
    assert copies(fresh, *USUAL) > 1.5 * copies(kept, *USUAL)


def test_half_the_passes_and_what_a_clone_pays_for_new_memory_roughly_foretell_both_clocks(
    fresh, kept
):
    price = copies(fresh, "clone") - copies(kept, "clone")
    for run, paid in ((kept, 0.0), (fresh, price)):
        for way, steps in WAYS.items():
            assert 0.7 < copies(run, *CLOCKED[way]) / expected_of(steps, paid) < 1.3
    assert copies(fresh, *USUAL) / expected_of(WAYS["steps"]) > 2, "passes alone do not"


@pytest.mark.parametrize("way", CLOCKED)
def test_the_picture_has_about_these_clocks_where_it_is_given_none(fresh, kept, way):
    recorded = [copies(run, *CLOCKED[way]) for run in (kept, fresh)]
    assert CLOCKS[way] == pytest.approx(recorded, rel=0.1)


def test_fusing_helps_and_so_does_seating_pairs_together(prefill):
    usual = copies(prefill, *USUAL)
    assert copies(prefill, "transformers compiled", "half") < 0.8 * usual
    for layout in ("half", "interleaved"):
        assert copies(prefill, "ropelib compiled", layout) < 0.5 * usual
    assert copies(prefill, *COMPLEX) < 0.5 * usual


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("name", ["ropelib", "ropelib native"])
def test_writing_into_memory_that_is_there_helps_where_memory_is_fresh(fresh, name, layout):
    assert copies(fresh, f"{name} out=", layout) < copies(fresh, name, layout)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_with_memory_kept_writing_into_what_is_there_changes_little(kept, layout):
    for name in ("ropelib", "ropelib native"):
        assert 0.8 < copies(kept, f"{name} out=", layout) / copies(kept, name, layout) < 1.25
    name = "ropelib native"
    for other in (name, f"{name} out="):
        saved = 1 - kept.ratio(f"{name} in place", layout, to=other, to_layout=layout)[1]
        assert 0.05 < saved < 0.5, "in place the kernel saves some"


@pytest.mark.parametrize("allocator", ["stock", "warm"])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_for_one_token_writing_into_what_is_there_costs_more(recorded, allocator, layout):
    for run in recorded.matching("decode", allocator):
        for name in ("ropelib", "ropelib native"):
            for how in ("out=", "in place"):
                assert copies(run, f"{name} {how}", layout) > 1.1 * copies(run, name, layout)


def test_from_memory_halves_are_no_gain_for_the_kernel(prefill):
    name = "ropelib native out="
    ratio = prefill.ratio(name, "half", to=name, to_layout="interleaved")[1]
    assert ratio == pytest.approx(1, abs=0.1)


def test_furthest_is_code_that_goes_step_by_step_or_pair_by_pair(prefill):
    fused = ("transformers compiled", "half"), ("ropelib compiled", "half"), COMPLEX
    steps = USUAL, ("loop over pairs", "interleaved")
    assert min(copies(prefill, *who) for who in steps) > max(copies(prefill, *who) for who in fused)


@pytest.mark.parametrize("who", [USUAL, COMPLEX, ("ropelib", "half")], ids=str)
def test_for_one_token_the_call_costs_more_than_its_numbers(recorded, who):
    lengths, ratios = recorded.curve(*who, allocator="warm")
    middle = {n: ratio for n, (_, ratio, _) in zip(lengths, ratios, strict=True)}
    assert min(lengths) == 1 and max(lengths) == 131_072
    assert middle[1] > 2 * middle[16_384]


def test_the_complex_product_leads_up_to_4096_tokens_and_the_kernel_from_16384_on(recorded):
    """In the same rounds, and by more than a twentieth: who is closer does not lead."""
    leads = {}
    for run in recorded.matching("curve", "warm"):
        others = USUAL, KERNEL, ("ropelib", "half")
        ratios = [run.ratio(*COMPLEX, to=name, to_layout=layout)[1] for name, layout in others]
        leads[run.told["case"]["shape"][2]] = ratios
    assert {256, 1024, 4096, 16_384} < set(leads)
    for tokens, ratios in leads.items():
        if tokens <= 4096:
            assert max(ratios) < 0.95, f"it leads at {tokens}"
        elif tokens >= 16_384:
            assert ratios[1] > 1.05, f"the kernel leads at {tokens}"


def test_the_function_pays_for_checks_on_the_left_and_memory_decides_on_the_right(recorded):
    for run in recorded.matching("curve", "warm"):
        tokens, mine = run.told["case"]["shape"][2], copies(run, "ropelib", "half")
        if tokens <= 64:
            assert copies(run, *USUAL) < min(mine, copies(run, *KERNEL))
        elif tokens >= 1024:
            assert mine < copies(run, *USUAL)
        if tokens <= 16:  # what is checked of `out=` costs, with the kernel and without
            assert mine < min(copies(run, *KERNEL), copies(run, "ropelib out=", "half"))
        if tokens >= 4096:
            assert copies(run, *KERNEL) < mine
        if tokens >= 16_384:
            assert copies(run, *KERNEL) == pytest.approx(1, abs=0.3)
            assert copies(run, *KERNEL) < 0.2 * copies(run, *USUAL)
            assert copies(run, *KERNEL) < copies(run, *COMPLEX)


@pytest.mark.parametrize("allocator", ["stock", "warm"])
def test_a_step_pays_for_what_it_asks(recorded, kept, allocator):
    decode = recorded.run("decode", allocator, dtype="float32")
    assert copies(decode, *USUAL) > copies(kept, *USUAL)
    first, further = (
        copies(decode, f"ropelib module, {which}", "half")
        for which in ("first layer", "further layers")
    )
    assert further < first
    assert further < copies(decode, "transformers module", "half")
    assert further < copies(decode, "ropelib", "half")


@pytest.mark.parametrize("allocator", ["stock", "warm"])
def test_for_one_token_the_function_is_slower_and_the_kernel_in_one_call_fast(recorded, allocator):
    decode = recorded.run("decode", allocator, dtype="float32")
    assert copies(decode, "ropelib", "half") > copies(decode, *USUAL)
    kernel = copies(decode, "ropelib native module, further layers", "half")
    assert kernel < 0.45 * copies(decode, *USUAL)
    assert kernel < copies(decode, "ropelib module, further layers", "half")


def test_exact_tables_are_cheap(recorded):
    tables = recorded.run("tables", "stock")
    assert copies(tables, "ropelib") < copies(tables, "transformers")
    assert copies(tables, "ropelib") < copies(tables, "float32 angles")
    assert tables.row("ropelib")["error"] < 1e-7
    assert tables.row("transformers")["error"] > 1e-3


def test_the_recorded_machine_says_what_the_page_tells(recorded):
    assert all(place["load"] >= 0 for place in recorded.places)
    allocators = recorded.config["allocators"]
    assert allocators["stock"] == {}
    assert allocators["warm"] == {
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "17179869184",
    }


def written(call) -> int:
    """Bytes that PyTorch asks for in a call: what its steps write, each into something new."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        call()
    events = watched.profiler.kineto_results.events()
    return sum(max(e.nbytes(), 0) for e in events if e.name() == "[memory]")


def test_usual_code_writes_four_and_a_half_times_its_input():
    """Beside as many reads and one more, for the sum: ten passes, as the page counts them."""
    q, k = torch.randn(2, 1, 32, 64, 128)
    cos, sin = (torch.cat((t, t), -1)[None] for t in cos_sin(torch.arange(64), inv_freq(128)))
    usual = written(lambda: apply_rotary_pos_emb(q, k, cos, sin))
    assert usual / (q.nbytes + k.nbytes) == 4.5
    assert written(lambda: (q.clone(), k.clone())) == q.nbytes + k.nbytes


def test_turning_is_few_operations_and_much_writing():
    """Of a layer's attention as the page of questions has it, with as many key heads as query's."""
    width, tokens = 4096, 2048
    turning = 2 * 3 * width  # of a token: q and k, three operations for each number
    attention = 4 * 2 * width**2 + 2 * 2 * tokens * width  # four projections; scores and mixing
    assert round(attention / turning, -2) == 6800
    test_usual_code_writes_four_and_a_half_times_its_input()


def test_a_pair_is_six_operations_and_a_number_three():
    a, b, c, s = sympy.symbols("a b c s")
    counted = sum(sympy.count_ops(turned) for turned in (a * c - b * s, a * s + b * c))
    assert counted == 6
    tokens, heads, head_dim = 4096, 2 * 32, 128
    assert round(counted / 2 * tokens * heads * head_dim / 1e6) == 101


def test_rope_sits_where_memory_decides_and_a_large_matrix_product_does_not():
    """Operations that memory lets happen, of those that an H200 could do in float32."""
    rate, peak = 4.8e12, 67e12
    assert 3 / (4 + 4) * rate / peak == pytest.approx(0.027, abs=5e-4)
    assert 3 / (2 + 2) * rate < peak
    size = 4096
    assert 2 * size**3 / (3 * 4 * size**2) * rate > peak


def test_the_share_of_a_layer():
    """Llama 2 7B: one part in 18,000 of the operations, 1.5 % of the time, 7 % step by step."""
    width, mlp, tokens = 4096, 11_008, 4096
    matrices = 2 * (4 * width * width + 3 * width * mlp)
    mixing = 2 * 2 * width * (tokens + 1) / 2  # a token sees half the text, on average
    turning = 6 * (width + width) // 2
    assert (matrices + mixing + turning) / turning == pytest.approx(18_000, rel=0.01)
    busy = (matrices + mixing) / 989e12
    moved = 2 * (width + width) * 2 / 4.8e12
    assert moved / (busy + moved) == pytest.approx(0.015, abs=5e-4)
    assert 5 * moved / (busy + 5 * moved) == pytest.approx(0.07, abs=2e-3)
    # Read and written, in bfloat16: two norms, two sums, and of the MLP the SiLU and a product.
    norms, sums, gate = 2 * 2 * width, 2 * 3 * width, 3 * mlp
    left_out = 2 * tokens * (norms + sums + gate) / 4.8e12
    layer = tokens * (busy + moved)
    assert left_out / layer == pytest.approx(0.07, abs=2e-3)


def padded(x, position_ids):
    """Sines read where they would begin, were the row padded to a power of two."""
    half = x.shape[-1] // 2
    late = 2 ** math.ceil(math.log2(x.shape[-1])) // 2 - half
    cos, sin = cos_sin(position_ids, inv_freq(x.shape[-1]))
    read = torch.zeros_like(sin)
    read[..., : half - late] = sin[..., late:]
    return apply_rotary(x, cos, read, layout="half")


@pytest.mark.parametrize(
    ("width", "right"), [(64, True), (128, True), (80, False), (96, False), (192, False)]
)
def test_sines_of_a_padded_row_are_right_where_nothing_is_padded(width, right):
    code = "wrong-at-other-widths" if right else "sines-of-other-pairs"
    assert diagnose(padded, head_dim=width).codes[0] == code


def test_neighbors_are_complex_numbers_in_memory():
    x = torch.randn(2, 3, 5, 64)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    assert pairs.data_ptr() == x.data_ptr()
    cos, sin = cos_sin(torch.arange(5), inv_freq(64))
    turned = torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    exact = reference.rotate(x.double(), range(5), inv_freq(64), layout="interleaved")
    torch.testing.assert_close(turned.double(), exact, atol=1e-5, rtol=0)
    with pytest.raises(RuntimeError, match="complex"):
        torch.view_as_complex(torch.ones(4, 2, dtype=torch.bfloat16))


def test_angles_add_and_so_tables_need_few_cosines():
    speeds = inv_freq(128)
    high, low = torch.arange(131_072) // 1024, torch.arange(131_072) % 1024
    both = torch.polar(torch.ones(64).double(), high[::997, None] * 1024 * speeds)
    both = both * torch.polar(torch.ones(64).double(), low[::997, None] * speeds)
    exact = torch.polar(torch.ones(64).double(), torch.arange(131_072)[::997, None] * speeds)
    assert (both - exact).abs().max() < 1e-10


def test_what_a_compiled_rotation_of_a_b200_moves_each_second():
    """PyTorch 176223: batch 4, 2048 tokens, 32 heads of 128, bfloat16; ten calls in 0.470 ms."""
    moved = 2 * (4 * 2048 * 32 * 128) * 2 * 2
    assert round(moved / 1e6) == 268
    assert moved / (0.470e-3 / 10) == pytest.approx(5.7e12, rel=0.01)
    assert round(8.675 / 0.470) == 18 and 5 * moved / (8.675e-3 / 10) < 8e12 / 5


def test_a_hue_means_one_thing_on_the_page():
    """In the widget read, written and fresh memory have one each; fresh has the same elsewhere."""
    series = re.compile(r'"(one|two|three|four|five)"')
    cells = json.loads((ROOT / "book/practice/speed.ipynb").read_text("utf-8"))["cells"]
    found = {cell["id"]: set(series.findall("".join(cell["source"]))) for cell in cells}
    assert {cell: hues for cell, hues in found.items() if hues} == {
        "all-of-them": {"three", "four"},  # memory: fresh, kept
        "curve": {"five"},  # ropelib
    }
    css = (ROOT / "ropebook/widgets/memory_passes/widget.css").read_text("utf-8")
    parts = re.findall(r"rope-passes-(\w+) {\s+fill: var\(--rope-(\w+)\)", css)
    assert {("read", "one"), ("written", "two"), ("pages", "three")} <= set(parts)
