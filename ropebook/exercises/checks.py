"""Exercises of the chapter Checks."""

from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define

define(
    Bet(
        "the mirror",
        question="Somebody's code turns every q and every k clockwise instead of counterclockwise. "
        "All else is right. Which of these tests notices?",
        options=(
            Option(
                "The lengths of q and k do not change.",
                said="They do not: a turn in the wrong direction is a turn, and keeps lengths.",
            ),
            Option(
                "Position 0 leaves everything as it is.",
                said="It does, in either direction: nobody turns at position 0.",
            ),
            Option(
                "Scores stay the same when the whole text is pushed on by 7.",
                said="They do. Both hands turn on by the same angle, both the wrong way.",
            ),
            Option(
                "One score agrees with the one computed by hand.",
                said="It does not. The score of one back has become that of one ahead.",
                right=True,
            ),
        ),
    ),
    Answer(
        "the first rounded position",
        kind="number",
        question="Positions are rounded to bfloat16: written in binary, a number keeps eight "
        "digits from its first 1 on. Which is the first whole position that comes out wrong?",
        right=257,
        hints=(
            Hint(
                256,
                "256 is a one and eight zeros in binary. The zeros cost nothing: it is exact.",
            ),
            Hint(255, "255 has eight bits, all ones. All eight are kept."),
            Hint(129, "129 has eight bits, 10000001. All eight are kept."),
            Hint(
                258,
                "{a} is exact: it ends in zeros, and eight bits hold the rest.",
                when="257 < a <= 512 and a % 2 == 0 or 512 < a <= 1024 and a % 4 == 0 "
                "or 1024 < a <= 2048 and a % 8 == 0",
            ),
            Hint(
                259,
                "There is a smaller one. Just beyond the answer every second number is exact.",
                when="a > 257",
            ),
        ),
        otherwise="Write positions in binary. When do eight bits no longer suffice?",
        solution="Up to 256 eight bits suffice. 257 is 100000001, nine bits with a one at either "
        "end, and becomes 256.",
    ),
    Answer(
        "a test for each family",
        kind="choice",
        question="You may run three of the eight tests on strange code. Together they shall notice "
        "each of the twelve bugs of the picture that change an output. Which three?",
        options=(
            Option(
                "lengths kept, pushed on by 7, one pair by hand",
                said="All three read one text, near its beginning: no cache, no far position, and "
                "a wrong exponent passes.",
            ),
            Option(
                "original's output, step after a cache, pushed on by 10,000",
                said="A number from outside, another way to call, and far out.",
                right=True,
            ),
            Option(
                "position 0 leaves all, q and k alike, pushed on by 10,000",
                said="These compare the code with itself, and no cache is read.",
            ),
        ),
    ),
    FillIn(
        "speeds of the hands",
        question="The speed of each hand, fastest first, in radians per token. A wrong exponent "
        "here passes every law of turns. Fill the gap.",
        code="""def speeds(d, base):
    found = []
    for i in range(d // 2):
        found += [base ** (<<-2 * i / d>>)]
    return found
""",
        cases=((2, 10000), (4, 100), (8, 10000), (128, 500000)),
        hints=(
            Hint(
                "-i / d",
                "Too slow a fall: each hand is slower than the first by only the square root of "
                "what it should be.",
            ),
            Hint(
                "-2 * (i + 1) / d",
                "You count pairs from 1. The first hand turns by 1 radian per token.",
            ),
            Hint("2 * i / d", "Then hands get faster, up to the base. They must get slower."),
            Hint("0", "Then all hands turn alike, at 1 radian per token."),
        ),
        solution="From 1 down to nearly 1 / base, in equal ratios: the exponent goes from 0 "
        "towards -1.",
    ),
    Answer(
        "fluent and wrong",
        kind="choice",
        question="A program writes well for one reader. With eight readers at once, seven get "
        "fluent nonsense. Which of the eight tests of the picture would have noticed?",
        options=(
            Option(
                "pushed on by 7",
                said="It reads one text, twice, and compares the scores. With one text nothing is "
                "wrong here.",
            ),
            Option(
                "step after a cache",
                said="Nearly: the bug sat in that step. But the test reads one text, and in the "
                "first of several nothing was wrong.",
            ),
            Option(
                "original's output",
                said="Only for a batch of several texts, read word by word. The test reads one.",
            ),
            Option(
                "None of them.",
                said="All eight read one text. A test sees what it calls: several texts, at "
                "different places, want a test of their own.",
                right=True,
            ),
        ),
    ),
    Task(
        "hide a bug",
        widget="bug_lamps",
        text="Switch on two bugs that together light fewer lamps than either does alone.",
        done="(q_sign and k_sign and not q_seat and not k_seat "
        "or q_seat and k_seat and not q_sign and not k_sign) "
        "and not (cosines or exponent or width or rounded or from_one or early or values "
        "or restart or reread)",
        said="What two sides do alike, no test that compares them can see.",
    ),
)
