"""What is said about distance, length and the base, decided claim by claim."""

import math

import pytest
import torch
from claims import decides

from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.attention import attend
from ropelib.distance import cosine_mean, first_negative_distance, partial_sum_bound
from ropelib.encodings import NoPosition, Rotary, sinusoids
from ropelib.scaling import linear

HEAD_DIM = 64
TURNS = inv_freq(HEAD_DIM)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def scores_over(q, k, distances, turns=TURNS):
    """Scores of one query with the same key at many signed distances n - m, by ropelib's tables."""
    cos, sin = cos_sin(torch.as_tensor(distances), turns, dtype=torch.float64)
    keys = apply_rotary(k.expand(len(distances), -1), cos, sin, layout="interleaved")
    return keys @ q


@decides("S004-16")
def test_no_monotone_decay_of_anything():
    """False: neither a fast cosine, nor their mean, nor the bound is monotone."""
    steps = torch.arange(513)
    curves = [steps.double().cos(), cosine_mean(TURNS, steps), partial_sum_bound(TURNS, steps)]
    for curve in curves:
        assert (curve.diff() > 0).sum() > 200
    assert ((steps * TURNS[-1].double()).cos().diff() < 0).all()  # a slow one is, for half a turn
    # And content can turn the trend around: the key that fits best stands 300 tokens back.
    q = torch.randn(HEAD_DIM, generator=generator(), dtype=torch.float64)
    cos, sin = cos_sin(torch.tensor([300]), TURNS, dtype=torch.float64)
    k = apply_rotary(q[None], cos, sin, layout="interleaved")[0]
    assert scores_over(q, k, -steps).argmax() == 300


def test_the_trend_is_there_for_equal_query_and_key():
    """What is true of decay with distance: on average over stretches."""
    averages = [cosine_mean(TURNS, torch.arange(*ends)).mean() for ends in ((0, 10), (100, 1000))]
    assert averages[0] > 0.7 and 0.2 < averages[1] < 0.3


def test_the_inner_product_of_codes_has_no_limit():
    """Imprecise: the product is the mean of cosines, of size 1/sqrt(d) for good."""
    places = torch.tensor([0, 5, 300, 4096])
    codes = sinusoids(places, HEAD_DIM, dtype=torch.float64)
    torch.testing.assert_close(codes @ codes[0] / 32, cosine_mean(TURNS, places))
    for start in (10**5, 10**6, 10**7):
        far = cosine_mean(TURNS, torch.arange(start, start + 20_000))
        assert far.square().mean().sqrt() == pytest.approx(HEAD_DIM**-0.5, rel=0.15)
    assert cosine_mean(inv_freq(8), torch.tensor(1_966_637)) > 0.999999


@decides("S000-22", "S000-53")
def test_scores_change_with_distance_and_only_with_distance():
    """True: for given q and k the score is a function of n - m."""
    q, k = torch.randn(2, 1, HEAD_DIM, generator=generator(), dtype=torch.float64)
    rotary = Rotary(HEAD_DIM)

    def score(m, n):
        turned = rotary.rotate(q, k, torch.tensor([m]), torch.tensor([n]))
        return (turned[0] @ turned[1].T).item()

    assert score(3, 8) == pytest.approx(score(1003, 1008), abs=1e-9)
    assert abs(score(3, 8) - score(3, 9)) > 0.1
    assert sum(parameter.numel() for parameter in rotary.parameters()) == 0


def test_deeper_contents_still_carry_where_they_stand():
    """Imprecise: a pushed text scores the same, but content depends on the place."""
    start, word = 0.3 * torch.randn(2, HEAD_DIM, generator=generator(), dtype=torch.float64)
    x = torch.stack([start, *[word] * 11])[None]
    first, _ = attend(Rotary(HEAD_DIM), x, x, x, causal=True)
    # The same word, one place on: layer 1 has seen one more copy of it, so its output differs.
    assert ((first[0, 2:] - first[0, 1:-1]).abs().amax(-1) > 1e-3).all()
    places = {name: torch.arange(12) + 500 for name in ("position_ids", "key_position_ids")}
    pushed, _ = attend(Rotary(HEAD_DIM), x, x, x, **places, causal=True)
    torch.testing.assert_close(pushed, first)
    # So layer 2's score of a word with the copy before it depends on where the two stand.
    beside = (first[0, 2:] * first[0, 1:-1]).sum(-1)
    assert beside.max() - beside.min() > 0.1


@decides("S000-38", "S001-39")
def test_whether_relative_or_absolute_matters_depends_on_the_task():
    """Depends: among words all alike one finds by distance or by place, and not both ways.

    A head of constant query and key goes by distance alone under RoPE; a head whose keys are
    codes of places, under one query for all, goes by place alone.
    """
    ids = torch.arange(40)
    places = 4 * sinusoids(ids, HEAD_DIM, dtype=torch.float64)

    def log_weights(encoding, q, k):
        q, k = (x.expand(1, 40, HEAD_DIM) for x in (q, k))
        return attend(encoding, q, k, k, causal=True)[1][0].log()

    def turned(x, position):
        cos, sin = cos_sin(torch.tensor([position]), TURNS, dtype=x.dtype)
        return apply_rotary(x[None], cos, sin, layout="interleaved")[0]

    one, slow = torch.ones(HEAD_DIM).double(), torch.zeros(HEAD_DIM).double()
    slow[-2] = 100  # the slowest pair alone: less than half a turn in any text of this length
    three_back = log_weights(Rotary(HEAD_DIM), one, 4 * turned(one, 3)).argmax(-1)
    assert torch.equal(three_back[3:], ids[3:] - 3)
    farthest = log_weights(Rotary(HEAD_DIM), slow, -slow).argmax(-1)
    assert (farthest == 0).all(), "the first word is the farthest: distance is enough"
    seventh = log_weights(NoPosition(), places[6], places).argmax(-1)
    assert (seventh[6:] == 6).all()
    q, *keys = torch.randn(3, HEAD_DIM, generator=generator(), dtype=torch.float64)
    mixed = places @ torch.outer(*keys)
    by_distance = log_weights(Rotary(HEAD_DIM), q, keys[0])
    by_place = log_weights(NoPosition(), q, mixed)
    # Whoever finds the seventh word has 12 prefer 6 to 0, and 18 prefer 12 least: one preference.
    prefers = by_distance[12, 6] - by_distance[12, 0]
    torch.testing.assert_close(by_distance[18, 12] - by_distance[18, 6], prefers)
    # Whoever finds the word three back has 12 prefer 9 to 10, and 13 prefer 10 to 9.
    prefers = by_place[12, 9] - by_place[12, 10]
    torch.testing.assert_close(by_place[13, 9] - by_place[13, 10], prefers)
    assert prefers.abs() > 1e-3


def trained_head(length, wanted, head_dim=16, steps=300):
    """Free q and k whose weights over `length` distances were fitted, as h = conj(q) k."""
    back = torch.arange(length)
    qk = 0.3 * torch.randn(2, head_dim // 2, 2, generator=generator(), dtype=torch.float64)
    qk.requires_grad_()
    optimizer = torch.optim.Adam([qk], lr=0.05)
    for _ in range(steps):
        h = torch.view_as_complex(qk)[0].conj() * torch.view_as_complex(qk)[1]
        loss = -(wanted * weights_of(h, back).log()).sum() + 0.003 * qk.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return h.detach()


def weights_of(h, back):
    waves = torch.polar(
        torch.ones(len(back), len(h)).double(), -back[:, None] * inv_freq(2 * len(h))
    )
    return (waves * h).real.sum(-1).softmax(0)


@decides("S000-2", "S000-54", "S004-6")
def test_within_the_trained_length_it_is_excellent_and_beyond_it_is_not():
    """Computable at any length, and not robust there.

    The same sum of the same sines and cosines serves sinusoidal codes; see the test of
    their inner product.
    """
    wanted = (torch.arange(256) < 20).double() / 20
    h = trained_head(256, wanted)
    near = {n: weights_of(h, torch.arange(n))[:20].sum().item() for n in (256, 1024, 4096)}
    assert near[256] > 0.95
    by_numbers = near[256] / (near[256] + (1 - near[256]) * (1024 - 20) / 236)
    assert near[1024] < 0.5 * by_numbers  # not only because there are more keys
    assert near[4096] < 0.1
    cos, sin = cos_sin(torch.tensor([10**7]), TURNS)  # but a table there is for any position
    assert torch.isfinite(cos).all() and torch.isfinite(sin).all()


@decides("S000-58")
def test_large_angles_lose_nothing():
    """False: a turn can be turned back; what is new are angles of slow pairs."""
    x = torch.randn(1, HEAD_DIM, generator=generator(), dtype=torch.float64)
    for position in (10, 10_000_000):
        cos, sin = cos_sin(torch.tensor([position]), TURNS, dtype=torch.float64)
        turned = apply_rotary(x, cos, sin, layout="half")
        back = apply_rotary(turned, cos, -sin, layout="half")
        torch.testing.assert_close(back, x)
    trained, fast, slow = 4096, TURNS[0], TURNS[-1]
    assert trained * fast > 100 * 2 * math.pi, "large angles are there from the start"
    assert trained * slow < 2 * math.pi < 64 * trained * slow, "new ones come with length"
    assert (trained * inv_freq(128) < 2 * math.pi).sum() == 18


@decides("S004-18")
def test_interpolation_reaches_128k_and_crowds_the_neighbors():
    """Depends: all angles are seen ones, but neighbors come 64 times closer."""
    trained, wanted = 2048, 131_072
    scaled, _ = linear(HEAD_DIM, factor=wanted / trained)
    torch.testing.assert_close(wanted * scaled, trained * TURNS)
    assert TURNS[0] / scaled[0] == 64
    neighbor = {
        name: cosine_mean(f, torch.tensor(1)) for name, f in (("plain", TURNS), ("pi", scaled))
    }
    assert 1 - neighbor["pi"] < (1 - neighbor["plain"]) / 1000


def test_random_vectors_do_not_decay_and_no_position_does_not_either():
    """In common talk: 'random vectors far apart score less'."""
    q, k = torch.randn(2, 20_000, HEAD_DIM, generator=generator(), dtype=torch.float64)
    h = torch.view_as_complex(q.unflatten(1, (-1, 2))).conj()
    h = h * torch.view_as_complex(k.unflatten(1, (-1, 2)))
    for r in (0, 1, 100, 10_000):
        scores = (h * torch.polar(torch.ones(32).double(), r * TURNS)).real.sum(-1)
        assert abs(scores.mean()) < 4 * scores.std() / len(scores) ** 0.5
        assert scores.std() == pytest.approx(HEAD_DIM**0.5, rel=0.03)
    _, flat = attend(NoPosition(), q[None, :5] * 0, k[None, :5], k[None, :5])
    torch.testing.assert_close(flat, torch.full_like(flat, 0.2))


NEAR = torch.arange(-40, 41)


def largest_not_refuted(head_dim, length, largest):
    """Return the largest base from 1 to `largest` at which no distance was found negative, or None.

    Goes down from `largest` by intervals. The mean of cosines at distance r changes with the base
    by at most r * speed, and speed falls with the base, so where it is negative by a margin at the
    upper end it is negative on a whole interval.
    """
    share = torch.arange(head_dim // 2).double() * 2 / head_dim

    def speed(base):
        return (share * base ** (-share - 1)).mean()

    def deepest(base, distances):
        depths = -torch.cos(distances[:, None] * base**-share).mean(1) / distances
        best = depths.topk(min(100, len(distances)))
        return best.values[0], distances[best.indices]

    base, depth, wanted, best = largest, 0.0, 0.0, 0.0
    witnesses = torch.ones(1).double()
    while base > 1:
        if depth <= wanted * base * speed(base):
            everywhere = torch.arange(1, min(length, int(4 * base) + 4) + 1).double()
            around = (witnesses[:20, None] + NEAR).flatten().clamp(1, length).unique()
            depth, witnesses = deepest(base, around)
            if not best or depth / speed(base) / base < best / 2:
                depth, witnesses = deepest(base, everywhere)
                best = depth / speed(base) / base
            if best < 1e-7:
                return base
            wanted = depth / speed(base) / base / 2
        low = max(base - 0.9 * (depth / speed(base)).item(), 1.0)
        while (base - low) * speed(low) >= depth - 1e-12:
            low = (base + low) / 2
        base, depth = low, deepest(low, witnesses)[0]
    return None


@pytest.mark.parametrize(
    ("head_dim", "length", "base"),
    [
        pytest.param(64, 1536, 1e4, id="RoFormer"),
        pytest.param(128, 4096, 1e4, id="Llama 2"),
        pytest.param(96, 4096, 1e4, id="Phi-3"),
        pytest.param(128, 40_960, 1e6, id="Qwen3's configuration", marks=pytest.mark.slow),
    ],
)
def test_no_base_up_to_theirs_keeps_the_sum_positive(head_dim, length, base):
    assert largest_not_refuted(head_dim, length, base) is None


def test_a_base_that_keeps_the_sum_positive_is_not_refuted():
    found = largest_not_refuted(128, 1024, 5000.0)
    assert found > 4293 and first_negative_distance(inv_freq(128, found - 0.1), 1024) is None


def test_a_base_above_a_good_one_may_fail():
    """Mistral, both Qwen, gpt-oss, Command R: a smaller base grants what theirs does not."""
    for head_dim, length, base, smaller in [
        (128, 32_768, 1e6, 629_978.35),
        (64, 4096, 150_000, 100_165),
        (128, 131_072, 8e6, 4_869_130.4),
    ]:
        assert first_negative_distance(inv_freq(head_dim, base), length) is not None
        assert first_negative_distance(inv_freq(head_dim, smaller), length) is None


def test_a_window_that_steps_of_0_002_percent_find_and_the_step_before_it_does_not():
    """Command R's length: the base of the chapter's table."""
    step, at = 1.00002, 180_748
    before, found = (131_072 * step**k for k in (at - 1, at))
    assert round(found, 1) == 4_869_130.4
    assert first_negative_distance(inv_freq(128, found), 131_072) is None
    assert first_negative_distance(inv_freq(128, before), 131_072) is not None


@pytest.mark.parametrize(
    ("length", "base", "deepest"),
    [
        (1024, 4293.443, 0.12),
        (8192, 83_764.082, 0.15),
        (131_072, 4_869_130.4, 0.20),
        (524_288, 58_496_228.083, 0.25),
        (1_048_576, 65_375_044.990, 0.22),
    ],
)
def test_the_line_at_the_end_is_as_high_as_the_wiggles_are_deep(length, base, deepest):
    """Why the base bound is a growing multiple of L / 0.6165: heads of 128 dimensions."""

    def line(distances):
        return 1 - (distances.double().log() + 0.5772) / math.log(base)

    at = torch.arange(10, length + 1)
    depth = (line(at) - cosine_mean(inv_freq(128, base), at)).max()
    height = line(at[-1])
    multiple = 0.6165 * base / length
    assert height == pytest.approx(math.log(0.911 * multiple) / math.log(base), abs=1e-3)
    assert round(float(depth), 2) == deepest and 1 <= depth / height < 1.2


@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_trend_is_a_line_over_the_logarithm_of_the_distance(head_dim):
    mean = cosine_mean(inv_freq(head_dim), torch.arange(100_001))
    for start in (10, 30, 100, 300, 1000, 3000):
        at = torch.arange(start, int(1.5 * start))
        line = 1 - (at.double().log() + 0.5772) / math.log(10_000)
        assert mean[at].mean() == pytest.approx(line.mean(), abs=2 / head_dim)
    assert -0.05 < mean[7500:20_000].mean() < -0.03 and abs(mean[40_000:].mean()) < 0.01
