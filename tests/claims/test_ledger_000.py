"""What document 000 claims, where no chapter's own tests decide it."""

import math
import re
from pathlib import Path

import pytest
import sympy as sp
import torch
import transformers
from claims import decides
from test_claims_implementations import pair_by_pair
from torch.utils._python_dispatch import TorchDispatchMode

from ropebook.symbolic import WrongStep, assert_equal, k, m, n, q, rotation, theta
from ropelib import apply_rotary, cos_sin, inv_freq, reference
from ropelib.encodings import Rotary, Sinusoidal

HEAD_DIM, LENGTH = 8, 6
AT = torch.arange(LENGTH)
TURNS = inv_freq(HEAD_DIM)


def vectors(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turned(x, position_ids):
    cos, sin = cos_sin(position_ids, TURNS, dtype=x.dtype)
    return apply_rotary(x, cos, sin, layout="interleaved")


def as_numbers(x):
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())


@decides("S000-15")
def test_most_decoders_rotate_and_most_encoders_of_text_and_of_images_do_not():
    """Depends: counted among the architectures of the installed library."""
    folder = Path(transformers.__file__).parent / "models"
    sources = [path.read_text("utf-8") for path in folder.glob("*/modeling_*.py")]
    share = {}
    for task in ("ForCausalLM", "ForMaskedLM", "ForImageClassification"):
        models = [text for text in sources if re.search(rf"class \w+{task}\(", text)]
        assert len(models) > 20
        rotate = [text for text in models if re.search("rotary", text, re.IGNORECASE)]
        share[task] = len(rotate) / len(models)
    assert share["ForCausalLM"] > 0.5
    assert share["ForMaskedLM"] < 0.4 and share["ForImageClassification"] < 0.1


@decides("S000-17")
def test_a_code_adds_the_same_to_every_word_and_a_turn_to_queries_and_keys_does_not():
    x, y = vectors(2, LENGTH, HEAD_DIM)
    codes, turns = Sinusoidal(HEAD_DIM), Rotary(HEAD_DIM)
    torch.testing.assert_close(codes.embed(x, AT) - x, codes.embed(y, AT) - y)
    assert turns.embed(x, AT) is x
    q, k = turns.rotate(x, y, AT, AT)
    assert ((q - x) - (k - y)).abs().max() > 0.1
    torch.testing.assert_close(turns.rotate(x + y, 0 * y, AT, AT)[0], q + k)  # linear


@decides("S000-19", "S000-20")
def test_the_direction_of_a_pair_tells_the_position_and_its_length_does_not():
    """Its angle is the position times the frequency, so equal steps are equal turns."""
    x = vectors(1, HEAD_DIM).expand(1000, -1)
    moved = as_numbers(turned(x, torch.arange(1000))) / as_numbers(x)
    torch.testing.assert_close(moved.abs(), torch.ones_like(TURNS).expand(1000, -1))
    # The slowest hand is not once around yet: its direction alone has each position.
    torch.testing.assert_close(moved[:, -1].angle() / TURNS[-1], torch.arange(1000).double())
    for position in (2, 3, 500):
        torch.testing.assert_close(moved[position], moved[1] ** position)


@decides("S000-32")
def test_the_rotated_score_is_no_multiple_of_the_plain_one():
    """Two terms, of which the product q . k has one; before the real part it is a product."""
    score = (rotation(m * theta) * q).dot(rotation(n * theta) * k)
    distance = (n - m) * theta
    across = q[1] * k[0] - q[0] * k[1]
    assert_equal(score, q.dot(k) * sp.cos(distance) + across * sp.sin(distance))
    at_right_angles = dict(zip([*q, *k], (1, 0, 0, 1), strict=True))
    assert q.dot(k).subs(at_right_angles) == 0
    assert_equal(score.subs(at_right_angles), -sp.sin(distance))
    numbers = (q[0] + sp.I * q[1]) * (k[0] - sp.I * k[1]) * sp.exp(-sp.I * distance)
    assert_equal(sp.re(numbers), score)
    with pytest.raises(WrongStep):
        assert_equal(sp.re(numbers), q.dot(k) * sp.cos(distance))


def one_pair(vector, position):
    return reference.rotation_matrix(position, [1.0], layout="interleaved") @ torch.tensor(
        vector, dtype=torch.float64
    )


def score(key, m, n):
    return (one_pair([1.0, 0.0], m) @ one_pair(key, n)).item()


@decides("S000-39")
def test_in_the_example_the_matrices_and_the_query_are_right():
    zero, one = (reference.rotation_matrix(p, [1.0], layout="interleaved") for p in (0, 1))
    assert torch.equal(zero, torch.eye(2).double())
    printed = [[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]]
    torch.testing.assert_close(one, torch.tensor(printed, dtype=torch.float64))
    assert one_pair([1.0, 0.0], 0).tolist() == [1.0, 0.0]


@decides("S000-40", "S000-41")
def test_in_the_example_the_key_is_turned_as_if_it_lay_on_the_first_axis():
    """False, both: (cos 1, sin 1) is what becomes of (1, 0), not of (0, 1)."""
    assert one_pair([0.0, 1.0], 1).tolist() == pytest.approx([-math.sin(1), math.cos(1)])
    assert one_pair([1.0, 0.0], 1).tolist() == pytest.approx([math.cos(1), math.sin(1)])
    assert score([0.0, 1.0], 0, 1) == pytest.approx(-math.sin(1)) == pytest.approx(-0.8415, 1e-4)
    assert score([1.0, 0.0], 0, 1) == pytest.approx(math.cos(1)) == pytest.approx(0.5403, 1e-4)


@decides("S000-42")
def test_in_the_example_what_shows_relativity_is_that_the_score_stays():
    """Imprecise: it stays -sin 1, in which there is no cosine; both vectors have changed."""
    assert score([0.0, 1.0], 1, 2) == pytest.approx(score([0.0, 1.0], 0, 1))
    for vector, position in (([1.0, 0.0], 0), ([0.0, 1.0], 1)):
        assert (one_pair(vector, position + 1) - one_pair(vector, position)).abs().max() > 0.5
    by_formula = (rotation(theta) * sp.Matrix([1, 0])).dot(rotation(2 * theta) * sp.Matrix([0, 1]))
    assert_equal(by_formula, -sp.sin(theta))
    # To depend on sin 1 shows nothing: with the query turned alone, scores do, and are absolute.
    alone = [(one_pair([1.0, 0.0], m) @ one_pair([0.0, 1.0], 0)).item() for m in (0, 1)]
    assert alone == pytest.approx([0, math.sin(1)])


class Calls(TorchDispatchMode):
    """Counts the operations that PyTorch is asked for, however many numbers each computes."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def calls(function, width):
    x = vectors(2, LENGTH, width)
    cos, sin = cos_sin(AT, inv_freq(width), dtype=x.dtype)
    with Calls() as made:
        function(x, cos, sin)
    return made.count


@decides("S000-55")
def test_a_loop_over_pairs_asks_for_more_the_wider_a_head_is_and_vectors_do_not():
    """True: a rotation is a few operations at any width, where it is no loop over pairs."""

    def at_once(x, cos, sin):
        return apply_rotary(x, cos, sin, layout="interleaved")

    narrow, wide = (calls(pair_by_pair, width) for width in (8, 64))
    assert wide - 1 == 8 * (narrow - 1), "eight times as many pairs; one copy is made in both"
    assert calls(at_once, 8) == calls(at_once, 64) < narrow
