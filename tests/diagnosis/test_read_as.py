"""What is said of positions that are read as others, and of numbers that no rotation has."""

import functools

import pytest
from exhibits import EXHIBITS, plain

from ropelib import inv_freq
from ropelib.diagnosis import diagnose


@functools.cache
def report_on(name):
    return diagnose(**next(e for e in EXHIBITS if e.name == name).make())


def test_what_positions_are_read_as_is_told():
    told = {
        "the square of the position": "but as 0.01 * (p ** 2): all pairs turn 1 like 0.01, ",
        "the logarithm of the position": "but as log(1 + p): all pairs turn 1 like 0.693147, ",
        "positions in pairs": "but as p // 2: all pairs turn 1 like 0, 255 like 127, 8191 like ",
        "half the position, rounded": "but as round(p / 2): ",
        "a number more for each page": "not read as p: all pairs turn 64 like 65, 769 like 781, ",
        "a table of six rows, clamped": "but as min(p, 5): all pairs turn 6 like 5, ",
        "a table as long as the call, clamped": "In a call of 62 tokens positions from 62 on are "
        "turned like position 61, and in one of 124 tokens they are not, as by a table that is as ",
        "a table as long as the longest call so far, clamped": "In the first call of 62 tokens "
        "positions from 62 on were turned like position 61, and after longer calls they are not, ",
        "divided by the tokens of the call": "by the number of tokens of the call: one step turns "
        "by 6.889 times as much in a call of 9 tokens as in one of 62 tokens",
        "an offset, divided by the tokens of the call": "by the number of tokens of the call: one "
        "step turns by 14.22 times as much in a call of 9 tokens as in one of 128 tokens",
        "an offset, divided by the length of the text": "by the largest position plus one of ",
        "divided by the length of the text": "by the largest position plus one of the call: ",
        "a thousandth of the largest for one": "by the largest position of the call: one step ",
        "a window of 1024 that slides": "all positions below 7168 are turned like position 7168.",
        "a window of 64 that slides": "all positions below 8128 are turned like position 8128.",
        "counted within a window": "are counted from 8092, and those before it are not turned.",
        "an offset that is added twice": "as position 24 should be, and so on: the offset ",
        "frames divided by their number": "Of pairs of axis 0: Positions are divided by ",
        "columns clamped at 63": "Of pairs of axis 2: All positions from 64 on are turned like ",
        "rows in bfloat16": "Of pairs of axis 1: Positions are rounded to 8 significant bits",
        "counted back from the end of the text": "p is turned as 8191 - p should be.",
        "counted back from the last position of the call": " as position_ids[-1] - p should be.",
        "counted back from the number of tokens": "p is turned as seq_len - 1 - p should be.",
    }
    for name, words in told.items():
        assert words in report_on(name).findings[0].sentence, report_on(name)
    assert len(report_on("divided by the tokens of the call").findings) == 1


def test_numbers_that_no_rotation_has_are_not_told():
    bent = report_on("the square of the position")
    assert (bent.layout, bent.rotary_dim, bent.attention_factor) == ("half", 64, 1)
    assert bent.inv_freq is bent.base is bent.factor is bent.direction is bent.profile is None
    assert "inv_freq          not measured" in str(bent)
    divided = report_on("divided by the tokens of the call")  # which would be that of one call
    assert divided.inv_freq is divided.base is divided.factor is divided.direction is None
    decayed = report_on("a decay over positions")
    assert decayed.attention_factor is None and decayed.base == pytest.approx(10_000, rel=1e-3)
    assert report_on("table clamped at 2048").base == pytest.approx(10_000)


def test_frequencies_of_one_call_are_told_as_such():
    near = ", as in a call of 27 tokens up to position 128"
    assert report_on("dynamic NTK from 16 on").profile.endswith(near)
    for name in ("dynamic NTK, one pass", "positions doubled"):
        assert "call" not in report_on(name).profile
    for exhibit in EXHIBITS:  # a call like it that comes first has others
        if exhibit.code == "frequencies-stay-grown":
            assert "as in a call" not in str(profile := report_on(exhibit.name).profile)
            assert profile is None or profile.endswith(", after a long call")


def test_a_base_of_the_length_is_no_bug_of_other_widths():
    report = diagnose(lambda x, ids: plain(x, ids, inv_freq(x.shape[-1], 1e4 * x.shape[2])))
    assert report.codes == ("scaled-in-the-prefill-alone",)


def test_a_cause_names_the_number_that_is_rounded():
    for name, cause in {
        "model.half() takes the frequencies along": "module.half() or .to(torch.float16) takes ",
        "model.bfloat16() takes the frequencies along": "module.bfloat16() or .to(torch.bfloat16)",
        "frequencies in the dtype of x": "inv_freq cast to the dtype of x, bfloat16",
        "angles in float16": "the product of position_ids and inv_freq in float16, ",
        "angles in the dtype of x": "the product of position_ids and inv_freq in bfloat16, ",
        "degrees made of radians": "angles in degrees",
        "positions doubled": "positions that are doubled, ",
        "positions in uint8": "position_ids cast to uint8, which counts to 255; or positions taken",
        "table wraps around at 2048": "positions taken modulo the length of the table",
    }.items():
        assert report_on(name).findings[0].cause.startswith(cause)


def test_scaling_by_an_integer_division_is_told_as_such():
    for name, words in {
        "positions in pairs": "p // 2 for p / 2, so",
        "half the position, rounded": "round(p / 2) for p / 2, so",
    }.items():
        (finding,) = report_on(name).findings
        assert words in finding.cause and "divides by one number" in finding.fix
    for n in (4, 8):  # one step is more than half a turn
        (found,) = diagnose(lambda x, ids, n=n: plain(x, ids // n * n)).findings
        assert f"but as {n} * (p // {n}): all pairs turn 1 like 0, " in found.sentence
        assert "scaling" not in found.cause


def test_another_rotation_may_be_multiplied_too():
    def turned(x, ids):
        return plain(x, ids.double() * 1.5)

    assert diagnose(turned, expected=turned).ok
    assert diagnose(plain, expected=turned).codes == ("factor-not-as-expected",)


def test_the_last_position_of_one_length_is_no_end_of_a_clockwise_rotation():
    for options in ({}, {"max_position": 64}):
        assert diagnose(lambda x, ids: plain(x, -ids), **options).codes == ("clockwise",)
    assert diagnose(lambda x, ids: plain(x, -ids - 3)).codes == ("positions-shifted",)
    assert diagnose(lambda x, ids: plain(x, 1 - ids)).codes == ("off-by-one",)


@pytest.mark.parametrize("name", ["angles modulo 6.2832", "clockwise angles modulo 6.2832"])
def test_whole_turns_that_are_taken_off_are_told_either_way_round(name):
    assert "taken off angles as 6.2832, and" in report_on(name).findings[0].sentence


def test_what_turns_nothing_in_a_short_call_is_measured_in_long_ones():
    report = diagnose(lambda x, ids: plain(x, ids) if x.shape[2] > 9 else x)
    assert report.codes == ("decode-restarts-at-zero",)
