"""What the exercises of practice/speed accept, and what they answer to a misconception."""

import pytest

from ropebook.exercises import check


def times(heads, tokens, head_dim, width, passes, rate):
    moved = heads * tokens * head_dim * width * passes / rate
    return [moved * 2 / passes, moved]


def one_way(heads, tokens, head_dim, width, passes, rate):
    floor, _ = times(heads, tokens, head_dim, width, passes, rate)
    return [floor / 2, floor / 2 * passes / 2]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("bytes that must move", 40 * 8192 * 128 * 4 / 1024**2),
        ("operations for each byte", (0.375, 0.75)),
        ("time at the pace of memory", 35),
        ("passes over memory", 10),
        ("the floor of a rotation", times),
    ],
)
def test_a_right_answer_about_speed_is_accepted(name, answer):
    assert check(name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("bytes that must move", 80, "moves twice"),
        ("bytes that must move", 128, "Keys turn"),
        ("bytes that must move", 256, "8 heads of keys"),
        ("bytes that must move", 320, "2 bytes, not 4"),
        ("bytes that must move", 161, "Heads (both kinds)"),
        ("operations for each byte", (0.75, 1.5), "Twice too many"),
        ("operations for each byte", (1.5, 3), "A pair is two numbers"),
        ("operations for each byte", (3, 3), "for each number"),
        ("operations for each byte", (0.75, 0.375), "other way round"),
        ("operations for each byte", (1, 2), "Operations for each number"),
        ("time at the pace of memory", 17.5, "both ways already"),
        ("time at the pace of memory", 1.88, "time of the arithmetic"),
        ("time at the pace of memory", 69.9, "count them once"),
        ("time at the pace of memory", 4.8, "millionth"),
        ("passes over memory", 2, "the floor"),
        ("passes over memory", 5, "reads and writes"),
        ("passes over memory", 9, "two tensors"),
        ("passes over memory", 4.5, "the writes"),
        ("passes over memory", 5.5, "the reads"),
        ("passes over memory", 7, "of the picture"),
        ("the floor of a rotation", one_way, "each is written"),
    ],
)
def test_a_misconception_about_speed_gets_its_own_hint(name, answer, hint):
    verdict = check(name, answer)
    assert not verdict
    assert hint in verdict.message


def test_the_hints_of_the_time_are_what_the_misconceptions_come_to():
    numbers = 40 * 8192 * 128
    assert 3 * numbers / 67e12 * 1e6 == pytest.approx(1.88, rel=0.01)
    assert 2 * numbers / 4.8e12 * 1e6 == pytest.approx(17.5, rel=0.01)
    assert 8 * numbers / 4.8e12 * 1e6 == pytest.approx(69.9, rel=0.01)


def test_passes_of_the_usual_code_are_read_and_written_as_the_solution_says():
    reads, writes = (1, 0.5, 1, 1, 2), (1, 0.5, 1, 1, 1)
    assert sum(reads) == 5.5 and sum(writes) == 4.5
    assert [a + b for a, b in zip(reads, writes, strict=True)] == [2, 1, 2, 2, 3]
