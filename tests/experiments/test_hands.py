"""Hands that are held back score as the slow formula says, one query and one key at a time."""

import math

import pytest
import torch

from ropebook.experiments.hands import HeldRotary
from ropelib import inv_freq
from ropelib.attention import attend, attention_scores
from ropelib.encodings import Rotary

HEAD_DIM, TRAINED, LENGTH = 8, 6, 20
SPEEDS = inv_freq(HEAD_DIM, 50.0)


def drawn(*shape):
    generator = torch.Generator().manual_seed(3)
    return torch.randn(*shape, HEAD_DIM, generator=generator, dtype=torch.float64)


def scores(q, k, first=0, **held):
    encoding = HeldRotary(SPEEDS, trained=TRAINED, **held)
    places = torch.arange(first, first + q.shape[-2])
    q, k = encoding.rotate(q, k, places, places)
    return attention_scores(q, k, bias=encoding.score_bias(q, k, places, places))


def slow(
    q,
    k,
    m,
    n,
    *,
    frozen=(),
    dropped=(),
    clipped=(),
    folded=(),
    folded_to=None,
    folded_at=None,
    sharpened=False,
):
    """The score of one query at m and one key at n <= m, pair by pair."""
    total, to = 0.0, folded_to or range(TRAINED // 2, TRAINED)
    for i, speed in enumerate(SPEEDS.tolist()):
        back = m - n
        if i in clipped and back >= TRAINED:
            back = TRAINED - 1
        old = back * speed % math.tau <= (TRAINED - 1) * speed
        if i in folded and back >= TRAINED and folded_at in (None, "old" if old else "new"):
            back = to[n % len(to)]
        angle = 0.0 if i in frozen else -back * speed
        (a, b), (c, d) = q[2 * i : 2 * i + 2].tolist(), k[2 * i : 2 * i + 2].tolist()
        turned = complex(c, d) * complex(math.cos(angle), math.sin(angle))
        total += 0.0 if i in dropped else (complex(a, -b) * turned).real
    factor = max(1.0, math.log(m + 1) / math.log(TRAINED)) if sharpened else 1.0
    return factor * total / math.sqrt(HEAD_DIM)


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"frozen": [1]},
        {"dropped": [0, 3]},
        {"clipped": [0, 2]},
        {"folded": [1, 2]},
        {"folded": [0, 1, 2, 3]},
        {"folded": [0, 1, 2, 3], "folded_to": range(1, 5)},
        {"folded": [0, 1, 2, 3], "folded_at": "new"},
        {"folded": [1, 2, 3], "folded_at": "old", "folded_to": range(6)},
        {"clipped": [3], "folded": [0]},
        {"folded": [2], "frozen": [1], "dropped": [0]},
        {"folded": [0, 1, 2, 3], "sharpened": True},
        {"sharpened": True},
    ],
    ids=str,
)
def test_a_score_is_that_of_the_slow_formula(held):
    q, k = drawn(2, LENGTH)
    found = scores(q, k, **held)
    for m in range(LENGTH):
        for n in range(m + 1):
            assert found[m, n].item() == pytest.approx(slow(q[m], k[n], m, n, **held), abs=1e-12)


def test_nothing_held_is_rope():
    q, k = drawn(2, 2, 3, LENGTH)
    plain, _ = attend(Rotary(HEAD_DIM, inv_freq=SPEEDS), q, k, k, causal=True)
    held, _ = attend(HeldRotary(SPEEDS, trained=TRAINED), q, k, k, causal=True)
    assert torch.equal(plain, held)


@pytest.mark.parametrize("how", ["clipped", "folded"])
def test_old_distances_stay_and_new_ones_do_not(how):
    q, k = drawn(2, LENGTH)
    change = (scores(q, k, **{how: [1, 2]}) - scores(q, k)).abs()
    back = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    assert (change[back < TRAINED] == 0).all() and (change[back >= TRAINED] > 1e-6).all()


def test_a_folded_key_is_scored_as_at_an_old_distance():
    one = drawn(1)
    found = scores(one.expand(LENGTH, -1), one.expand(LENGTH, -1), folded=[0, 1, 2, 3])
    old = found[TRAINED - 1, :3].flip(0)  # distances 3, 4, 5
    far = torch.stack([found[m, n] for m in range(12, LENGTH) for n in range(6)])
    assert (far[:, None] - old).abs().amin(1).max() < 1e-12
    assert far.unique().numel() > 1


def test_a_window_hides_all_keys_before_it():
    q = drawn(LENGTH)
    _, weights = attend(HeldRotary(SPEEDS, trained=TRAINED, window=4), q, q, q, causal=True)
    assert torch.equal(weights > 0, torch.ones(LENGTH, LENGTH).tril().triu(-3) > 0)


def test_a_pushed_text_scores_the_same_when_clipped():
    q, k = drawn(2, LENGTH)
    held = {"clipped": [0, 1, 2, 3]}
    torch.testing.assert_close(scores(q, k, first=1000, **held), scores(q, k, **held))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"trained": 1}, ValueError, "trained must be"),
        ({"trained": 2.5}, TypeError, "trained must be"),
        ({"window": 0}, ValueError, "window must be"),
        ({"window": "4"}, TypeError, "window must be"),
        ({"clipped": [4]}, ValueError, r"clipped must name pairs from 0 to 3, each once, got \[4"),
        ({"folded": [-1]}, ValueError, "folded must name pairs"),
        ({"dropped": [1, 1]}, ValueError, "dropped must name pairs"),
        ({"folded_to": range(7)}, ValueError, "folded_to must be a range .* within 0 to 5"),
        ({"folded_to": range(0)}, ValueError, "folded_to must be"),
        ({"folded_to": range(0, 6, 2)}, ValueError, "folded_to must be a range in steps of 1"),
        ({"folded_at": "far"}, ValueError, 'folded_at must be "new", "old" or None, got \'far'),
        ({"clipped": [1], "folded": [1]}, ValueError, "clipped and folded together must name"),
    ],
)
def test_what_cannot_be_held_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        HeldRotary(SPEEDS, **{"trained": TRAINED, **values})
