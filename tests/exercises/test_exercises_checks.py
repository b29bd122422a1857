"""What the exercises of One page of checks accept, and that what they claim of the layer is so."""

import itertools
import re

import pytest
import torch
from answers import accepted, hinted

from ropebook.exercises import check
from ropebook.exercises.definitions import DEFINITIONS
from ropebook.widgets import BugLamps
from ropebook.widgets.bug_lamps.widget import BUGS
from ropelib.frequencies import inv_freq

ALL_OFF = dict.fromkeys(BUGS, False)
RIGHT = [
    ("the mirror", 3),
    ("the first rounded position", 257),
    ("a test for each family", 1),
    ("speeds of the hands", "-2 * i / d"),
    ("speeds of the hands", "-i / (d // 2)"),
    ("speeds of the hands", lambda d, base: inv_freq(d, base)),
    ("fluent and wrong", 3),
    ("hide a bug", ALL_OFF | {"q_sign": True, "k_sign": True}),
    ("hide a bug", ALL_OFF | {"q_seat": True, "k_seat": True}),
]
WRONG = [
    ("the mirror", 0, "keeps lengths"),
    ("the mirror", 1, "nobody turns at position 0"),
    ("the mirror", 2, "both the wrong way"),
    ("the first rounded position", 256, "The zeros cost nothing"),
    ("the first rounded position", 255, "all ones"),
    ("the first rounded position", 129, "All eight are kept"),
    ("the first rounded position", 1001, "There is a smaller one"),
    ("the first rounded position", 514, "There is a smaller one"),
    ("the first rounded position", 258, "258 is exact"),
    ("the first rounded position", 1000, "1000 is exact"),
    ("the first rounded position", 128, "in binary"),
    ("a test for each family", 0, "a wrong exponent passes"),
    ("a test for each family", 2, "compare the code with itself"),
    ("speeds of the hands", "-i / d", "only the square root"),
    ("speeds of the hands", "-2 * (i + 1) / d", "count pairs from 1"),
    ("speeds of the hands", "2 * i / d", "They must get slower"),
    ("speeds of the hands", "0", "all hands turn alike"),
    ("fluent and wrong", 0, "With one text"),
    ("fluent and wrong", 1, "the first of several"),
    ("fluent and wrong", 2, "The test reads one"),
    ("hide a bug", ALL_OFF | {"q_sign": True, "k_seat": True}, ""),
    ("hide a bug", ALL_OFF | {"q_sign": True, "k_sign": True, "early": True}, ""),
]

test_right_answers_are_recognized = accepted(RIGHT)
test_wrong_answers_get_a_hint_that_fits = hinted(WRONG)


def test_hints_never_give_the_answer():
    for name, answer, _ in WRONG:
        message = check(name, answer).message
        assert not re.search(r"\b257\b|-2 \* i / d", message), message


def test_257_is_the_first_position_that_bfloat16_rounds():
    whole = torch.arange(2000).double()
    assert int((whole.bfloat16().double() != whole).nonzero()[0]) == 257


def test_the_task_is_done_by_just_those_pairs_that_light_fewer_lamps_than_either():
    alone = {bug: len(BugLamps.with_bugs(bug).lit) for bug in BUGS}
    for pair in itertools.combinations(BUGS, 2):
        fewer = len(BugLamps.with_bugs(*pair).lit) < min(alone[bug] for bug in pair)
        done = check("hide a bug", ALL_OFF | dict.fromkeys(pair, True)).ok
        assert done == fewer, pair
    assert not any(check("hide a bug", ALL_OFF | {bug: True}).ok for bug in BUGS)


FAMILIES = [
    ("length", "push", "by_hand"),
    ("original", "cache", "far"),
    ("zero", "alike", "far"),
]


@pytest.mark.parametrize("option", range(3))
def test_three_tests_notice_all_bugs_that_change_an_output(option):
    harmless = {"from_one"}  # it changes no output, alone
    noticed = [
        bool(set(BugLamps.with_bugs(bug).lit) & set(FAMILIES[option]))
        for bug in BUGS
        if bug not in harmless
    ]
    assert all(noticed) == DEFINITIONS["a test for each family"].options[option].right
    assert BugLamps.with_bugs("from_one").errors["original"] < 1e-9
    assert len(noticed) == 12 and "twelve bugs" in DEFINITIONS["a test for each family"].question
