"""Positions with several axes: how they are handed over, what is expected, what is refused."""

import json
from types import SimpleNamespace

import pytest
import torch
from exhibits import EXHIBITS
from exhibits.kit import plain, turn
from exhibits.several_axes import (
    AXIAL,
    FILM,
    FILM_SPEEDS,
    IN_BLOCKS,
    IN_TURN,
    ROWS_FIRST,
    of,
)

from ropelib import inv_freq
from ropelib.__main__ import main
from ropelib.diagnosis import diagnose
from ropelib.diagnosis.several_axes import in_words

SHORT = {"max_position": 64}
HEIGHT_AND_WIDTH = of(ROWS_FIRST, AXIAL)


def refusing(wrong, rotate):
    """Refuse positions that are not of the one shape that this form takes."""

    def strict(x, *ids):
        if any(each.shape != wrong(x) for each in ids):
            raise ValueError("positions of another shape")
        return rotate(x, *ids)

    return strict


FORMS = {
    "axes, batch, seq_len": (lambda x: (2, len(x), x.shape[2]), HEIGHT_AND_WIDTH),
    "axes, seq_len": (lambda x: (2, x.shape[2]), HEIGHT_AND_WIDTH),
    "batch, seq_len, axes": (
        lambda x: (len(x), x.shape[2], 2),
        lambda x, ids: HEIGHT_AND_WIDTH(x, ids.movedim(-1, 0)),
    ),
    "seq_len, axes": (lambda x: (x.shape[2], 2), lambda x, ids: HEIGHT_AND_WIDTH(x, ids.T)),
    "an argument each, with rows": (
        lambda x: (len(x), x.shape[2]),
        lambda x, height, width: HEIGHT_AND_WIDTH(x, torch.stack((height, width))),
    ),
    "an argument each": (
        lambda x: (x.shape[2],),
        lambda x, height, width: HEIGHT_AND_WIDTH(x, torch.stack((height, width))),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_positions_are_handed_over_as_they_are_taken(form):
    report = diagnose(refusing(*FORMS[form]), axes=2, **SHORT)
    assert report.ok, report
    assert report.axis_of_pairs == tuple(ROWS_FIRST)
    assert report.to_dict()["axis_of_pairs"] == ROWS_FIRST


def by_flat_positions(positions, query, key):
    """As vLLM calls it: positions (axes, tokens), and the heads of a token in one row."""
    if positions.dim() != 2:
        raise ValueError("positions of another shape")

    def one(x):
        heads = x.unflatten(-1, (-1, 64)).transpose(0, 1)[None]
        return HEIGHT_AND_WIDTH(heads, positions[:, None])[0].transpose(0, 1).flatten(1)

    return one(query), one(key)


def test_flat_positions_may_have_axes():
    report = diagnose(by_flat_positions, axes=2, **SHORT)
    assert report.axis_of_pairs == tuple(ROWS_FIRST), report
    assert report.ok and "called-as" in report.codes


def test_positions_of_the_course_may_have_axes():
    def rotate(x, token_positions):
        return HEIGHT_AND_WIDTH(x[:, None], token_positions)[:, 0]

    report = diagnose(rotate, axes=2, **SHORT)
    assert report.axis_of_pairs == tuple(ROWS_FIRST), report


def test_the_axis_of_each_pair_may_be_a_tensor():
    each = diagnose(of(IN_TURN), axes=3, **SHORT).axis_of_pairs
    assert diagnose(of(IN_TURN), axes=torch.tensor(each), **SHORT).ok


def test_what_is_meant_may_be_an_object_or_a_configuration():
    meant = SimpleNamespace(axis_of_pairs=IN_TURN, inv_freq=inv_freq(64))
    assert diagnose(of(IN_TURN), axes=3, expected=meant, **SHORT).ok
    blocks = diagnose(of(IN_BLOCKS), axes=3, expected=meant, **SHORT)
    assert blocks.codes == ("axes-in-blocks",)
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [8, 12, 12]}
    config = {"model_type": "qwen2_vl", "text_config": {"head_dim": 64, "rope_parameters": rope}}
    assert diagnose(of(IN_BLOCKS), axes=3, expected=config, **SHORT).ok
    turns = diagnose(of(IN_TURN), axes=3, expected=config, **SHORT)
    assert turns.codes == ("axes-in-turn",)
    text = diagnose(plain, expected=config, **SHORT)
    assert text.codes == ("axes-not-compared",) and "--axes 3 (axes=3)" in str(text)
    with pytest.raises(ValueError, match=r"mrope_section must have 2 numbers, got \[8, 12, 12\]"):
        diagnose(HEIGHT_AND_WIDTH, axes=2, expected=config, **SHORT)


def by_last_axis(x, ids):  # takes (seq_len,) as well, and turns nothing by it
    places = ids.movedim(0, -1)[..., IN_BLOCKS].double()
    return turn(x, places * inv_freq(64), "half") if places.dim() > 1 else x


@pytest.mark.parametrize(
    ("rotate", "code", "count"),
    [
        (of(IN_BLOCKS), "call-raises", 3),
        (HEIGHT_AND_WIDTH, "call-raises", 2),
        (by_last_axis, "does-not-rotate", 3),
    ],
    ids=["raises", "raises, two", "turns nothing"],
)
def test_where_positions_of_several_axes_would_turn_it_that_is_said(rotate, code, count):
    (finding,) = diagnose(rotate, **SHORT).findings
    assert finding.code == code
    assert finding.sentence.endswith(f"have {count} axes: --axes {count} (axes={count}).")
    assert diagnose(rotate, axes=count, **SHORT).ok


def test_what_turns_nothing_by_several_axes_either_gets_no_hint():
    assert "axes" not in str(diagnose(lambda x, ids: x))


def test_the_command_line_takes_the_number_of_axes(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "film.py").write_text(
        "from ropelib import apply_rotary, inv_freq\n"
        "from ropelib.axes import axial_cos_sin\n"
        "def rotate(x, ids):\n"
        "    tables = axial_cos_sin(ids, inv_freq(64), sections=[8, 12, 12])\n"
        "    return apply_rotary(x, *tables, layout='half')\n"
    )
    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "model_type": "qwen3_vl_text",
                "head_dim": 64,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 1e4,
                    "mrope_section": [12, 10, 10],
                    "mrope_interleaved": True,
                },
            }
        )
    )
    command = ["diagnose", "film:rotate", "--axes", "3", "--max-position", "64"]
    assert main(command) == 0
    assert "in blocks of 8 (axis 0), 12 (axis 1), 12 (axis 2)" in capsys.readouterr().out
    assert main([*command, "--expected", str(tmp_path / "config.json")]) == 1
    assert "axes-in-blocks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("axes", "error", "message"),
    [
        (1, ValueError, "axes must be at least 2, got 1"),
        (9, ValueError, "axes must be at most 8, got 9"),
        ("two", TypeError, "axes must be an integer, got 'two'"),
        (
            [0, 0, 0],
            ValueError,
            r"axes must name an axis for each pair, of two axes at least, .*, got \[0, 0",
        ),
        ([0, 1.5], TypeError, "axes must be an integer, got 1.5"),
    ],
)
def test_axes_that_cannot_be_are_refused(axes, error, message):
    with pytest.raises(error, match=message):
        diagnose(HEIGHT_AND_WIDTH, axes=axes)


def test_what_text_shows_is_found_first():
    def late(x, ids):
        return HEIGHT_AND_WIDTH(x, ids + 2)

    assert diagnose(late, axes=2, **SHORT).codes == ("positions-shifted",)
    frequencies = inv_freq(64, 5e5)
    lost = diagnose(of(IN_BLOCKS), axes=IN_BLOCKS, inv_freq=frequencies, **SHORT)
    assert lost.codes == ("base-not-as-expected",)


def test_a_shift_is_told_axis_by_axis():
    def late(*by):
        def rotate(x, ids):
            return HEIGHT_AND_WIDTH(x, ids + torch.tensor(by).view(-1, *[1] * (ids.dim() - 1)))

        return diagnose(rotate, axes=2, **SHORT)

    each = late(3, -1).findings[0]
    assert "shifted by +3 along axis 0, by -1 along axis 1." in each.sentence
    assert (
        late(1, 0).findings[0].sentence.startswith("Every position is shifted by +1 along axis 0.")
    )
    assert "Position 0 is turned as position 2 should be" in late(2, 2).findings[0].sentence
    ones = late(1, 1)
    assert ones.ok and "from 1 along all axes" in str(ones)
    film = late(0, -5)  # no middle of 64 places, so that it may be a bug
    assert film.codes == ("positions-shifted",)
    assert "centered" in late(0, -31.5).codes
    assert "at 20, 5." in next(f for f in late(-20, -5).findings if f.code == "centered").sentence


def test_places_counted_from_1_are_compared_with_the_same_and_with_k():
    def llama_4(x, ids):
        return HEIGHT_AND_WIDTH(x, ids + 1)

    assert diagnose(llama_4, axes=2, expected=llama_4, **SHORT).ok
    apart = diagnose((llama_4, HEIGHT_AND_WIDTH), axes=2, **SHORT)
    assert not apart.ok and apart.codes[0] == "positions-shifted"
    otherwise = diagnose(llama_4, axes=2, expected=HEIGHT_AND_WIDTH, **SHORT)
    assert not otherwise.ok and otherwise.codes[0] == "results-not-as-expected"


def test_what_is_said_of_an_axis_alone():
    alone = diagnose(of([1] * 32), axes=2, expected=of([0] * 32), **SHORT)
    assert alone.codes == ("axis-ignored",)
    report = diagnose(of([0, 1] * 16), axes=[1] * 32, **SHORT)
    assert report.codes == ("axes-in-turn",)


def test_the_series_of_each_axis_is_told():
    for rotate, count in ((HEIGHT_AND_WIDTH, 2), (of(FILM, FILM_SPEEDS), 3)):
        report = diagnose(rotate, axes=count, **SHORT)
        assert report.profile == "each axis: geometric with base 10000"
        assert "not-geometric" not in report.codes and report.ok
    halved = diagnose(of(ROWS_FIRST, AXIAL / 2), axes=2, **SHORT)
    assert halved.profile == "each axis: geometric with base 10000, divided by 2"
    assert "linearly-scaled" in halved.codes and "not-geometric" not in halved.codes
    two = torch.cat((inv_freq(32), inv_freq(32, 500)))
    profile = "axis 0: geometric with base 10000; axis 1: geometric with base 500"
    assert diagnose(of(ROWS_FIRST, two), axes=2, **SHORT).profile == profile
    two = torch.cat((inv_freq(32), inv_freq(32) / 2))
    apart = diagnose(of(ROWS_FIRST, two), axes=2, **SHORT)
    assert "; axis 1: geometric with base 10000, divided by 2" in apart.profile
    assert "not-geometric" in apart.codes


def test_what_axes_do_where_they_differ_is_told():
    told = {
        "a frame turned by 45 degrees": "32 of 64 dimensions stand still where axes agree, as in ",
        "text by its column alone": "as in text, and turn along axis 0: ",
        "cosine of the row, sine of the column": "cosines follow axis 0, and sines axis 1.",
        "sections in the cosine alone": "cosines follow axis 0 and axis 1 and axis 2, and sines ",
        "the time of all frames left at 0": "that differ in nothing else cannot be told apart.",
        "the time of a token for all of its axes": "All pairs follow axis 0, so that text, whose ",
    }
    for name, words in told.items():
        finding = diagnose(**next(e for e in EXHIBITS if e.name == name).make()).findings[0]
        assert words in finding.sentence, finding


def test_an_einsum_of_images_is_cast_where_it_sums():
    (exhibit,) = (e for e in EXHIBITS if e.name == "angles of images by einsum")
    assert "an einsum that sums" in diagnose(**exhibit.make()).findings[0].cause


def test_an_order_is_told_in_words():
    assert in_words([1, 0, 1, 0, 1], 2) == "in turn, 2, 3 pairs"
    assert in_words([0, 0, 1, 0], 2) == "0 0 1 0"
