"""The experiment on trained heads: its texts, its readings, its claim on three seeds."""

import cmath
import math

import pytest
import torch

from ropebook.experiments import heads
from ropebook.experiments.training import seeded
from ropelib import inv_freq
from ropelib.attention import attend

SMALL = heads.Config(num_symbols=3, model_dim=8, num_steps=2, num_test=16, seeds=(0,))


pytestmark = pytest.mark.slow  # trains the model of every seed


@pytest.fixture(scope="module")
def result():
    return heads.run()


CONFIG = heads.Config()


def texts(count=40, config=CONFIG, seed=0):
    return heads.draw(config, count, torch.Generator().manual_seed(seed))


def test_each_symbol_stands_twice_and_tokens_hold_symbol_and_tag():
    config, drawn = heads.Config(), texts()
    twice = [symbol for symbol in range(8) for _ in range(2)]
    assert (drawn.symbols.sort(dim=-1)[0] == torch.tensor(twice)).all()
    assert torch.equal(drawn.token_ids // config.num_tags, drawn.symbols)
    assert drawn.again.sum(-1).tolist() == [8] * 40


def test_the_second_question_asks_for_the_tag_of_the_first_time():
    drawn = texts()
    own = drawn.token_ids % heads.Config().num_tags
    for symbols, tags, wanted, again in zip(
        drawn.symbols.tolist(), own.tolist(), drawn.tags.tolist(), drawn.again.tolist(), strict=True
    ):
        for place, symbol in enumerate(symbols):
            first = symbols.index(symbol)
            assert wanted[place] == tags[first]
            assert again[place] == (first < place)


def test_tags_and_order_vary():
    drawn = texts()
    assert len({tuple(row) for row in drawn.symbols.tolist()}) == 40
    assert set((drawn.token_ids % 4).flatten().tolist()) == {0, 1, 2, 3}


def test_a_layers_projections_are_those_of_its_attention():
    config = SMALL
    model = heads.train(config, 0)
    drawn = texts(4, config)
    layer = model.layers[0]
    with torch.no_grad():
        x = layer.norm_attention(model.embedding(drawn.token_ids))
        q, k, v = layer.project(x)
        for part, mine in zip(layer.to_qkv(x).chunk(3, dim=-1), (q, k, v), strict=True):
            by_head = part.unflatten(-1, (2, -1))
            assert all(torch.equal(mine[:, head], by_head[:, :, head]) for head in (0, 1))
        output, _ = attend(layer.encoding, q, k, v, causal=True)
        by_hand = layer.to_out(output.transpose(-3, -2).flatten(-2))
        torch.testing.assert_close(by_hand, layer.attention(x))


def test_a_seed_gives_the_same_model_and_leaves_torch_alone():
    torch.manual_seed(7)
    before = torch.rand(3)
    torch.manual_seed(7)
    one = heads.run(SMALL)
    assert torch.equal(torch.rand(3), before)
    # As text: nan is not equal to itself.
    assert repr(heads.run(SMALL).readings) == repr(one.readings)


def test_seeds_and_threads_are_left_as_they_were():
    threads = torch.get_num_threads()
    with pytest.raises(KeyError), seeded(3):
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == threads


def test_heads_share_the_work_on_every_seed(result):
    assert len(result.readings) == 3
    for reading in result.readings:
        assert reading.previous_accuracy > 0.99 and reading.earlier_accuracy > 0.99
        assert {reading.previous_head, reading.earlier_head} == {0, 1}
        assert reading.previous_weight > 0.8 and reading.earlier_weight > 0.75


def test_the_previous_head_has_its_peak_one_back_and_its_clocks_say_why(result):
    for reading in result.readings:
        assert reading.learned_offset == -1
        top = max(map(abs, reading.previous_scores))
        for score, clocks in list(zip(reading.previous_scores, reading.clocks, strict=True))[1:]:
            assert abs(score - clocks) < 0.02 * top


def test_the_other_head_finds_its_symbol_at_any_distance_and_itself_least(result):
    for reading in result.readings:
        assert math.isnan(reading.different_scores[0])
        pairs = list(zip(reading.same_scores, reading.different_scores, strict=True))[1:]
        assert min(same - different for same, different in pairs) > 5
        assert reading.same_scores[0] < min(reading.same_scores[1:])


def test_pairs_add_up_to_the_curves(result):
    frequencies = inv_freq(16).tolist()

    def curve(pairs, distance):
        return sum(
            abs(pair) * math.cos(cmath.phase(pair) + distance * frequency)
            for pair, frequency in zip(pairs, frequencies, strict=True)
        )

    for reading in result.readings:
        for back in range(16):
            assert math.isclose(
                curve(reading.previous_pairs, -back), reading.clocks[back], abs_tol=1e-4
            )
            if back > 0:
                near = curve(reading.same_pairs, -back) - reading.same_scores[back]
                assert abs(near) < 1


def test_place_is_on_the_fastest_hand_and_content_on_the_slow_ones(result):
    for reading in result.readings:
        place = [abs(pair) for pair in reading.previous_pairs]
        content = [abs(pair) for pair in reading.same_pairs]
        assert max(place) == place[0] > 0.4 * sum(place)
        assert -1.1 < -cmath.phase(reading.previous_pairs[0]) < -0.7  # tokens: inv_freq is 1
        assert sum(content[2:]) > 0.8 * sum(content)
        assert all(pair.real < 0 for pair in reading.same_pairs[:2])


def test_progress_says_one_line_per_seed():
    lines = []
    heads.run(SMALL, progress=lines.append)
    assert len(lines) == 1 and lines[0].startswith("seed 0: head ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_symbols": 2}, "at least 3 symbols and 2 tags, got 2 and 4"),
        ({"num_tags": 1}, "at least 3 symbols and 2 tags, got 8 and 1"),
        ({"model_dim": 6}, "model_dim must be a multiple of 4, got 6"),
        ({"model_dim": 0}, "model_dim must be a multiple of 4, got 0"),
        ({"num_steps": 1}, "num_steps must be at least 2, got 1"),
        ({"seeds": ()}, "seeds must name at least one seed, got none"),
        ({"seeds": (0, 0)}, r"seeds must be different, got \(0, 0\)"),
    ],
)
def test_it_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        heads.Config(**settings)
