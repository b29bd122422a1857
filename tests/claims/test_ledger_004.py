"""What document 004 claims, where no chapter's own tests decide it."""

import math

import torch
from claims import decides
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from ropelib import RotaryEmbedding, apply_rotary, cos_sin, inv_freq
from ropelib.attention import attention_scores
from ropelib.encodings import LearnedAbsolute, sinusoids
from ropelib.scaling import linear, ntk_aware, yarn

HEAD_DIM = 64
TURNS = inv_freq(HEAD_DIM)


def vectors(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turned(x, position_ids, turns=TURNS):
    cos, sin = cos_sin(position_ids, turns, dtype=x.dtype)
    return apply_rotary(x, cos, sin, layout="interleaved")


class Work(TorchDispatchMode):
    """Counts the numbers that pointwise operations compute, and the bytes that they touch."""

    POINTWISE = ("mul", "add", "sub", "addcmul", "neg")

    def __init__(self):
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__.rstrip("_")
        if name in self.POINTWISE:
            read = [x for x in args if isinstance(x, torch.Tensor)]
            self.operations += result.numel() * (2 if name == "addcmul" else 1)
            self.bytes += sum(x.numel() * x.element_size() for x in (*read, result))
        return result


def work(function, *args):
    with Work() as counted:
        function(*args)
    return counted


@decides("S004-15")
def test_lengths_are_kept_by_turns_that_are_relative_and_by_others_that_are_not():
    """What keeps lengths is orthogonal; that scores ignore a common shift is another property."""
    q, k = vectors(2, 30, HEAD_DIM)
    places = torch.arange(30)
    shuffles = [
        torch.randperm(HEAD_DIM, generator=torch.Generator().manual_seed(p)) for p in range(60)
    ]

    def shuffled(x, position_ids):
        return torch.stack([one[shuffles[p]] for one, p in zip(x, position_ids, strict=True)])

    for move, is_relative in ((turned, True), (shuffled, False)):
        torch.testing.assert_close(move(q, places).norm(dim=-1), q.norm(dim=-1))
        here = attention_scores(move(q, places), move(k, places))
        there = attention_scores(move(q, places + 30), move(k, places + 30))
        assert torch.allclose(here, there) == is_relative


@decides("S004-17")
def test_there_is_nothing_to_learn_and_a_shorter_table_to_keep():
    rotary, learned = RotaryEmbedding(HEAD_DIM, layout="half"), LearnedAbsolute(2048, 4096)
    assert [*rotary.parameters()] == []
    (table,) = learned.parameters()
    kept = sum(x.nbytes for x in cos_sin(torch.arange(2048), TURNS, dtype=torch.float32))
    assert table.nbytes == 4096 // HEAD_DIM * kept


@decides("S004-24")
def test_turning_costs_the_length_and_dot_products_its_square():
    spent = {}
    for length in (64, 128):
        q, k = vectors(2, length, HEAD_DIM)
        cos, sin = cos_sin(torch.arange(length), TURNS, dtype=q.dtype)
        with FlopCounterMode(display=False) as dots:
            attention_scores(q, k)
        turning = work(lambda x, c, s: apply_rotary(x, c, s, layout="half"), q, cos, sin)
        spent[length] = (turning.operations, dots.get_total_flops())
    assert spent[128][0] == 2 * spent[64][0] > 0
    assert spent[128][1] == 4 * spent[64][1] == 4 * 2 * 64 * 64 * HEAD_DIM


@decides("S004-27")
def test_turning_in_every_layer_moves_more_than_adding_once():
    """With one layer already; the code is read from a table in both."""
    words, q, k = vectors(3, 128, HEAD_DIM)
    cos, sin = cos_sin(torch.arange(128), TURNS, dtype=q.dtype)
    codes = sinusoids(torch.arange(128), HEAD_DIM, dtype=q.dtype)
    adding = work(torch.add, words, codes).bytes
    turning = sum(
        work(lambda x: apply_rotary(x, cos, sin, layout="half"), one).bytes for one in (q, k)
    )
    # A fused kernel touches each number once: it reads and writes q and k, and reads the table.
    fused = 2 * (q.nbytes + k.nbytes) + cos.nbytes + sin.nbytes
    assert adding == 3 * words.nbytes
    assert turning >= fused > adding


@decides("S004-41")
def test_a_divisor_below_one_speeds_the_hands_up():
    """To see only angles of training at 4 times the length, frequencies are divided by 4."""
    trained, longer = 2048, 8192
    seen = trained * TURNS
    assert (longer * (TURNS / (trained / longer)) > 15 * seen).all()
    torch.testing.assert_close(longer * (TURNS / (longer / trained)), seen)
    torch.testing.assert_close(linear(HEAD_DIM, factor=4.0)[0], TURNS / 4)


@decides("S004-42")
def test_ntk_slows_each_hand_by_its_own_factor():
    """A power of the factor that grows with the pair; one factor for all is interpolation."""
    slowed = TURNS / ntk_aware(HEAD_DIM, factor=8.0)[0]
    powers = [8 ** (2 * i / (HEAD_DIM - 2)) for i in range(HEAD_DIM // 2)]
    torch.testing.assert_close(slowed, torch.tensor(powers, dtype=torch.float64))
    assert slowed[0] == 1 and math.isclose(slowed[-1], 8)
    assert (slowed.diff() > 0).all()
    torch.testing.assert_close(TURNS / linear(HEAD_DIM, factor=8.0)[0], torch.full_like(TURNS, 8))


@decides("S004-43")
def test_interpolation_scales_positions_which_is_to_scale_frequencies():
    trained, longer = 2048, 8192
    places = torch.arange(0, longer, 97)
    x = vectors(len(places), HEAD_DIM)
    by_place = turned(x, places * trained / longer)
    torch.testing.assert_close(by_place, turned(x, places, linear(HEAD_DIM, factor=4.0)[0]))
    # No new frequency is sampled: each is its old self over one number.
    assert (linear(HEAD_DIM, factor=4.0)[0] * 4 == TURNS).all()


@decides("S004-47")
def test_yarn_leaves_fast_hands_slows_slow_ones_and_sharpens_the_scores():
    """A rule per wavelength and a temperature; training is in none of its formulas."""
    scaled, attention_factor = yarn(HEAD_DIM, factor=16.0, original_max_seq_len=4096)
    ratio = TURNS / scaled
    turns_in_training = 4096 * TURNS / (2 * math.pi)
    assert (ratio[turns_in_training > 33] == 1).all()
    torch.testing.assert_close(
        ratio[turns_in_training < 0.9],
        torch.tensor([16.0]).double().expand(int((turns_in_training < 0.9).sum())),
    )
    between = ratio[(ratio != 1) & (ratio < 15.9)]
    assert len(between) > 3 and (between.diff() > 0).all()
    assert math.isclose(attention_factor, 0.1 * math.log(16) + 1)
