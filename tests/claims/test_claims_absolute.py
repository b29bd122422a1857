"""The sources' claims about absolute encodings, each decided: true, false or imprecise."""

import itertools
import math

import pytest
import sympy as sp
import torch
from claims import decides

from ropebook.symbolic import assert_equal, m, n, rotation, theta
from ropelib.encodings import (
    Alibi,
    LearnedAbsolute,
    PositionEncoding,
    Shaw,
    Sinusoidal,
    T5Bias,
    extend_hierarchically,
    shift_matrix,
    sinusoids,
)
from ropelib.frequencies import inv_freq


def codes(places, d=64, base=10_000.0):
    return sinusoids(places, d, base=base, dtype=torch.float64)


def by_dimension(places, d, base=10_000.0):
    j = torch.arange(d)
    angles = places[:, None] * base ** (-2 * j.double() / d)
    return torch.where(j % 2 == 0, angles.sin(), angles.cos())


def bits(place, count=4):
    return [place >> i & 1 for i in range(count)]


def likeness(distance, d):
    return (torch.as_tensor(distance).double()[..., None] * inv_freq(d)).cos().mean(-1)


def spread(values):
    return float(values.max() - values.min())


@decides("S000-9", "S001-3", "S001-4")
@pytest.mark.parametrize("d", [4, 64, 512])
def test_the_code_is_a_sine_and_a_cosine_per_pair_of_one_frequency(d):
    """True; but i counts pairs, not dimensions."""
    for place in (0, 1, 17, 1000):
        code = codes(torch.tensor([place]), d)[0].tolist()
        for i in range(d // 2):
            angle = place / 10_000 ** (2 * i / d)
            assert math.isclose(code[2 * i], math.sin(angle), abs_tol=1e-10)
            assert math.isclose(code[2 * i + 1], math.cos(angle), abs_tol=1e-10)


@decides("S000-10", "S002-9")
def test_the_dimension_in_the_exponent_leaves_no_pair_and_no_shift():
    """False, with the formula by pair as its control."""
    places = torch.arange(64)
    for code, is_right in ((codes, True), (by_dimension, False)):
        here, there = code(places, 8, 100.0), code(places + 5, 8, 100.0)
        best = torch.linalg.lstsq(here, there, driver="gelsd").solution
        pairs = here.unflatten(-1, (4, 2)).square().sum(-1)
        assert ((here @ best - there).abs().max() < 1e-10) == is_right
        assert bool(torch.allclose(pairs, torch.ones_like(pairs))) == is_right


def test_the_dimension_in_the_exponent_stretches_the_wavelengths_almost_to_the_square():
    """The sources say otherwise: false."""
    slowest_by_pair = 1 / inv_freq(512)[-1]
    assert 9000 < slowest_by_pair < 10_000
    code = by_dimension(torch.tensor([10**5]), 512)[0]
    assert code[-1] > 0.999, "a wave of 6e8 tokens has hardly moved after 1e5"
    assert 10_000 ** (2 * 511 / 512) > 9e7


@decides("S000-11")
@pytest.mark.parametrize(
    ("d", "least"), [(2, 1e-5), (8, 0.6), (32, 1.1), (128, 1.9)], ids=lambda x: str(x)
)
def test_no_two_places_share_a_code(d, least):
    """True; one pair alone is unique by little, several by much."""
    assert torch.pdist(codes(torch.arange(1024), d)).min() > least


def test_fractions_of_the_length_change_with_the_length_and_sinusoids_do_not():
    """As the sources say."""
    assert 5 / (11 - 1) != 5 / (21 - 1)
    short, long = codes(torch.arange(11)), codes(torch.arange(21))
    assert torch.equal(short, long[:11])


def test_raw_integers_outgrow_every_word():
    """True; the sinusoids' length is sqrt(d / 2) everywhere."""
    places = torch.arange(4096)
    assert places[-1] > 100 * 64**0.5
    lengths = codes(places).norm(dim=-1)
    assert torch.allclose(lengths, torch.full_like(lengths, 32**0.5))


@decides("S001-10")
def test_the_binary_table_counts_and_its_lowest_digit_alternates_fastest():
    """As the sources say."""
    table = [bits(place) for place in range(16)]
    assert [sum(bit << i for i, bit in enumerate(row)) for row in table] == list(range(16))
    changes = [sum(a[i] != b[i] for a, b in itertools.pairwise(table)) for i in range(4)]
    assert changes == [15, 7, 3, 1]


@decides("S001-11")
def test_sinusoids_are_like_the_binary_counter_and_are_not_it():
    """Imprecise: the ratio of periods is 2 there and base ** (2 / d) here."""
    for i in range(4):
        wave = [-math.sin(2 * math.pi * (place + 0.5) / 2 ** (i + 1)) for place in range(16)]
        assert [int(height > 0) for height in wave] == [bits(place)[i] for place in range(16)]
    frequencies = inv_freq(512)
    assert math.isclose(frequencies[0] / frequencies[1], 10_000 ** (2 / 512))
    assert max(abs(math.sin(math.pi * place)) for place in range(1000)) < 1e-12


@decides("S001-19")
def test_neighbors_are_most_alike_among_near_places():
    """True: wherever one stands, one step on is more alike than two or more, in wide codes."""
    products = codes(torch.arange(256), 512) @ codes(torch.arange(256), 512).T
    for step in range(2, 64):
        assert products.diagonal(1).min() > products.diagonal(step).max()
    for width, alike in ((2, 0.54), (64, 0.97), (512, 0.97)):
        here, there = codes(torch.arange(2), width)
        assert torch.cosine_similarity(here, there, dim=0).item() == pytest.approx(alike, abs=0.01)


@decides("S001-33")
def test_moving_on_is_one_linear_map_of_turns():
    """As the sources say."""
    angles = sp.symbols("i j", real=True)
    for function in (sp.sin, sp.cos):
        i, j = angles
        expanded = {
            sp.sin: sp.sin(i) * sp.cos(j) + sp.cos(i) * sp.sin(j),
            sp.cos: sp.cos(i) * sp.cos(j) - sp.sin(i) * sp.sin(j),
        }[function]
        assert_equal(function(i + j), expanded)
    here = sp.Matrix([sp.cos(m * theta), sp.sin(m * theta)])
    there = sp.Matrix([sp.cos((m + n) * theta), sp.sin((m + n) * theta)])
    assert_equal(rotation(n * theta) * here, there)
    places = torch.arange(500)
    moved = codes(places) @ shift_matrix(37, 64).T
    assert torch.allclose(moved, codes(places + 37), atol=1e-11)


@decides("S000-12", "S001-25")
def test_bare_codes_know_the_distance_and_projected_ones_lose_the_guarantee():
    """Depends: bare codes know distances, implicitly; projected ones need not."""
    code = codes(torch.arange(128))
    generator = torch.Generator().manual_seed(0)
    to_q, to_k = torch.randn(2, 64, 16, generator=generator, dtype=torch.float64) / 8
    bare, projected = code @ code.T, (code @ to_q) @ (code @ to_k).T
    assert spread(bare.diagonal(7)) < 1e-10
    assert spread(projected.diagonal(7)) > 1
    back = code @ shift_matrix(3, 64) @ code.T  # the possibility: W_Q = I, W_K = T(3)
    assert torch.equal(back.argmax(-1)[3:], torch.arange(125))


@decides("S001-26")
def test_the_dot_product_fades_on_average_and_has_no_limit():
    """That it tends to 0 is false: it comes back."""
    walk = likeness(torch.arange(2001), 128)
    assert 900 < (walk.diff() > 0).sum() < 1100, "about every second step away is a step up"
    decades = [likeness(torch.arange(10**i, 10 ** (i + 1)), 128).mean() for i in range(4)]
    assert decades == sorted(decades, reverse=True)
    assert likeness(6283, 8) > 0.995
    assert likeness(169_646, 8) > 0.99999


@decides("S000-14", "S001-31", "S001-36")
def test_sinusoids_are_defined_everywhere_and_a_table_is_not():
    """A table ends; that sinusoids end too is false. What a model does with them is open."""
    anywhere = torch.tensor([2.5, -3.0, 1e7])
    assert sinusoids(anywhere, 64).isfinite().all()
    with pytest.raises(ValueError, match="no row in a learned table of 512"):
        LearnedAbsolute(512, 8).embed(torch.zeros(1, 8), torch.tensor([512]))


@decides("S001-30")
def test_later_dimensions_are_near_0_and_1_only_for_slow_hands_at_early_places():
    """The sources say it imprecisely."""

    def share(place):
        code = codes(torch.tensor([place]), 512)[0].unflatten(0, (-1, 2))
        near = (code[:, 0].abs() < 0.1) & (code[:, 1] > 0.99)
        return near[128:].double().mean()  # the later half of the hands

    assert share(10) > 0.95
    assert share(1000) < 0.05


@decides("S000-8", "S001-27", "S001-28", "S001-34", "S002-8")
def test_the_codes_are_added_to_the_words_and_depend_on_the_place_alone():
    """True; and W is one constant matrix."""
    generator = torch.Generator().manual_seed(0)
    words, other = torch.randn(2, 5, 8, generator=generator)
    places = torch.tensor([3, 1, 4, 0, 2])
    for encoding in (Sinusoidal(8), LearnedAbsolute(16, 8)):
        added = encoding.embed(words, places) - words
        assert torch.allclose(added, encoding.embed(other, places) - other, atol=1e-6)
    assert next(LearnedAbsolute(16, 8).parameters()).requires_grad
    assert not [*Sinusoidal(8).parameters()]


def test_adding_costs_one_row_per_word_and_relative_schemes_one_number_per_pair():
    """True: an absolute encoding leaves the scores alone."""

    def hooks(kind):
        return {hook for hook in vars(PositionEncoding) if hook in vars(kind)} - {"__init__"}

    assert "score_bias" not in hooks(Sinusoidal) | hooks(LearnedAbsolute)
    for kind in (Shaw, T5Bias, Alibi):
        assert "score_bias" in hooks(kind)


@decides("S001-12", "S001-18")
def test_appending_contains_adding_and_needs_more_parameters():
    """As the sources say; how many more is for the width of the code to say."""
    generator = torch.Generator().manual_seed(0)
    word, code = torch.randn(2, 8, generator=generator)
    blocks = torch.randn(2, 4, 8, generator=generator)
    appended = torch.cat([*blocks], dim=1) @ torch.cat([word, code])
    assert torch.allclose(appended, blocks[0] @ word + blocks[1] @ code, atol=1e-5)
    same = torch.cat([blocks[0], blocks[0]], dim=1) @ torch.cat([word, code])
    assert torch.allclose(same, blocks[0] @ (word + code), atol=1e-5)
    assert torch.cat([*blocks], dim=1).numel() == 2 * blocks[0].numel()
    added, narrow, wide = (torch.nn.Linear(512 + code, 64).weight for code in (0, 16, 512))
    assert wide.numel() == 2 * added.numel()
    assert narrow.numel() / added.numel() == pytest.approx(1.03, abs=0.002)
    padded_word, padded_code = torch.cat([word, 0 * code]), torch.cat([0 * word, code])
    assert padded_word @ padded_code == 0


@decides("S001-13")
def test_the_joint_matrix_has_the_rank_of_the_head_at_most():
    """Imprecise; with one head, W is d x d."""
    generator = torch.Generator().manual_seed(0)
    to_q, to_k = torch.randn(2, 64, 512, generator=generator, dtype=torch.float64)
    x, y = torch.randn(2, 512, generator=generator, dtype=torch.float64)
    assert torch.isclose((to_q @ x) @ (to_k @ y), x @ (to_q.T @ to_k) @ y)
    assert torch.linalg.matrix_rank(to_q.T @ to_k) == 64


@decides("S001-14")
def test_the_score_is_the_sum_of_four_terms():
    """True, with one joint matrix in all four."""
    generator = torch.Generator().manual_seed(0)
    x, y, e, f = torch.randn(4, 32, generator=generator, dtype=torch.float64)
    joint = torch.randn(32, 32, generator=generator, dtype=torch.float64)
    four = [a @ joint @ b for a in (x, e) for b in (y, f)]
    assert torch.isclose((x + e) @ joint @ (y + f), sum(four))


@decides("S001-16")
def test_random_directions_are_nearly_orthogonal_and_codes_use_few():
    """True of random ones; trained words are not measured here."""
    generator = torch.Generator().manual_seed(0)
    for d in (64, 512, 2048):
        a, b = torch.randn(2, 3000, d, generator=generator)
        cosine = torch.cosine_similarity(a, b, dim=-1).abs().mean()
        assert math.isclose(cosine, math.sqrt(2 / (math.pi * d)), rel_tol=0.06)
    energy = torch.linalg.svdvals(codes(torch.arange(512), 512)).square().cumsum(0)
    assert (energy < 0.99 * energy[-1]).sum() + 1 == 109


def test_detr_has_fixed_sines_for_places_and_learns_its_queries():
    """False that it learns them; both kinds, sinusoidal and learned, are in use."""
    from transformers import BertConfig, DetrConfig, GPT2Config
    from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding

    assert DetrConfig().position_embedding_type == "sine"
    assert not [*DetrSinePositionEmbedding(16).parameters()]
    assert (BertConfig().max_position_embeddings, GPT2Config().n_positions) == (512, 1024)


@decides("S001-37")
def test_a_table_of_n_rows_gives_n_squared_codes_unless_alpha_is_a_half():
    """Depends: the codes are there; how good a model is with them is not shown."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(16, 32, generator=generator, dtype=torch.float64)
    longer = extend_hierarchically(table, alpha=0.4)
    assert longer.shape == (256, 32)
    assert torch.allclose(longer[:16], table)
    assert torch.pdist(longer).min() > 0.1
    units = (table - 0.5 * table[0]) / 0.5
    halves = (0.5 * units[:, None] + 0.5 * units[None, :]).flatten(0, 1)
    assert torch.equal(halves[16 * 5 + 3], halves[16 * 3 + 5])
    with pytest.raises(ValueError, match="not be 1/2"):
        extend_hierarchically(table, alpha=0.5)


def eigenvalues_of_the_step(code):
    """Of the matrix that least squares finds between each place and the next."""
    step = torch.linalg.lstsq(code[:-1], code[1:], driver="gelsd").solution
    assert torch.allclose(code[:-1] @ step, code[1:], atol=1e-8), "no matrix moves this code"
    return torch.linalg.eigvals(step)


def test_a_bounded_code_that_one_matrix_moves_is_hands_in_some_basis():
    """The converse of the shift; without each hypothesis there is something else."""
    generator = torch.Generator().manual_seed(0)
    places = torch.arange(64)
    hands = codes(places, 8, 100.0)
    stands_and_flips = torch.stack([torch.ones(64), 1 - 2.0 * (places % 2)], dim=-1).double()
    mixed = torch.cat([hands, stands_and_flips], dim=-1) @ torch.randn(
        10, 10, generator=generator, dtype=torch.float64
    )
    found = eigenvalues_of_the_step(mixed)
    assert torch.allclose(found.abs(), torch.ones(10).double(), atol=1e-6)
    speeds = [*inv_freq(8, 100).tolist(), 0.0, math.pi]
    turned = [angle for angle in found.angle().tolist() if angle > -1e-7]
    for speed in speeds:
        assert min(abs(angle - speed) for angle in [*turned, 2 * math.pi]) < 1e-6

    fading = torch.cat([hands, 0.9 ** places[:, None].double()], dim=-1)
    assert math.isclose(eigenvalues_of_the_step(fading).abs().min(), 0.9, rel_tol=1e-6)
    line = torch.stack([places, torch.ones(64)], dim=-1).double()
    step = torch.linalg.lstsq(line[:-1], line[1:], driver="gelsd").solution
    assert torch.linalg.matrix_rank(step - torch.eye(2), atol=1e-9) == 1, "a chain, no basis"
    assert (torch.linalg.matrix_power(step, 1000) > 999).any()


def test_a_finite_table_of_independent_rows_is_moved_by_a_matrix():
    """The converse needs all whole places: this table moves and is not a set of hands."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    assert torch.linalg.matrix_rank(table) == 8
    assert (eigenvalues_of_the_step(table).abs() - 1).abs().max() > 0.1


def test_a_bounded_code_in_infinitely_many_dimensions_may_have_unbounded_powers():
    """p_m = e_m / (1 + |m|): one step weighs e_m by (1 + |m|) / (1 + |m + 1|), at most 2."""

    def step(place):
        return (1 + abs(place)) / (1 + abs(place + 1))

    assert max(step(place) for place in range(-1000, 1000)) == 2
    for power in (1, 10, 100):
        assert math.isclose(math.prod(step(place) for place in range(-power, 0)), power + 1)


def test_no_matrix_moves_the_binary_counter():
    """A matrix would keep opposites opposite; the carry does not."""
    table = torch.tensor([bits(place, 7) for place in range(128)]).double() * 2 - 1
    assert torch.equal(table[120], -table[7]) and not torch.equal(table[121], -table[8])
    with pytest.raises(AssertionError, match="no matrix moves"):
        eigenvalues_of_the_step(table)
    repeated = torch.tensor([bits(place, 7) for place in (0, 128)])
    assert torch.equal(*repeated), "seven digits: place 128 is place 0 again"


def test_what_keeps_the_offset_commutes_with_the_step_if_the_codes_span():
    """d numbers for distinct speeds between 0 and pi; more where a speed is shared."""

    def free_numbers(speeds):
        turns = [
            torch.tensor([[math.cos(s), math.sin(s)], [-math.sin(s), math.cos(s)]]) for s in speeds
        ]
        step = torch.block_diag(*turns).double()
        one = torch.eye(len(step), dtype=torch.float64)
        commutator = torch.kron(one, step.T.contiguous()) - torch.kron(step, one)
        return len(step) ** 2 - torch.linalg.matrix_rank(commutator, atol=1e-6).item()

    assert free_numbers([1.0, 0.5, 0.2]) == 6
    assert free_numbers([1.0, 1.0, 0.2]) == 10
    assert torch.linalg.matrix_rank(codes(torch.arange(8), 8)) == 8


def test_a_random_table_fits_as_many_examples_as_it_has_dimensions():
    """64 examples exceed 8 dimensions, and 64 dimensions fit them; neither goes on."""
    generator = torch.Generator().manual_seed(0)
    for d, fits in ((8, False), (64, True)):
        table = torch.randn(200, d, generator=generator, dtype=torch.float64)
        step = torch.linalg.lstsq(table[:64], table[5:69], driver="gelsd").solution
        misses = (table[:-5] @ step - table[5:]).abs().amax(-1)
        assert bool(misses[:64].max() < 1e-9) == fits
        assert misses[64] > 1


def test_the_authors_code_puts_all_sines_first_and_ends_at_the_base():
    """fairseq's docstring: "matches the implementation in tensor2tensor", not section 3.5."""
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    table = M2M100SinusoidalPositionalEmbedding.get_embedding(50, 512).double()
    speeds = 10_000 ** (-torch.arange(256) / 255).double()
    angles = torch.arange(50)[:, None] * speeds
    assert torch.allclose(table, torch.cat([angles.sin(), angles.cos()], dim=-1), atol=1e-4)
    assert math.isclose(1 / speeds[-1], 10_000)
    assert round(1 / inv_freq(512)[-1].item()) == 9647
    by_the_paper = sinusoids(torch.arange(50), 512, layout="half", dtype=torch.float64)
    assert (table - by_the_paper).abs().max() > 0.05


def test_the_codes_of_more_places_need_more_directions():
    """Four fifths are free for 512 places only."""
    for count, needed in ((512, 109), (2048, 186), (8192, 263)):
        energy = torch.linalg.svdvals(codes(torch.arange(count), 512)).square().cumsum(0)
        assert (energy < 0.99 * energy[-1]).sum() + 1 == needed


def test_hardly_any_hand_stands_near_0_and_1_at_a_thousand_places():
    """Sines below 0.1 are not angles below 0.1, nor sines near 0."""
    counts = {}
    for place in (10, 100, 1000, 10_000):
        angles = place * inv_freq(512)
        sines = angles.sin()
        counts[place] = [int(held.sum()) for held in (angles < 0.1, sines < 0.1, sines.abs() < 0.1)]
    assert [row[0] for row in counts.values()] == [127, 63, 0, 0]
    assert [row[1] for row in counts.values()] == [151, 121, 84, 114]
    assert [row[2] for row in counts.values()] == [131, 69, 10, 17]
