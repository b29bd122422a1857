"""Exercises of the chapter Speed."""

from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define

define(
    Bet(
        "beside a copy",
        question="A model's usual library code, in PyTorch on a CPU as it comes, turns the queries "
        "and keys of 4096 tokens: 32 heads of 128 numbers each. Beside it, the same numbers are "
        "merely <b>copied</b>, into memory that is there already. How long does turning take, with "
        "each result in new memory?",
        options=(
            Option(
                "About as long as copying.",
                said="That is about the floor: read once, write once. The best code comes near it, "
                "and usual code does not.",
            ),
            Option(
                "Twice as long: there is arithmetic to do as well.",
                said="Arithmetic is hardly the reason: three operations for each number that is "
                "moved.",
            ),
            Option(
                "About five times as long.",
                said="Count what its steps read and write, and you come to five. But each of them "
                "also asks for fresh memory.",
            ),
            Option(
                "More than ten times as long.",
                said="Five times for its steps. The rest is fresh memory, for which each of them "
                "asks.",
                right=True,
            ),
        ),
    ),
    Answer(
        "bytes that must move",
        kind="number",
        unit="MiB",
        question="One text of 8192 tokens, 32 heads of queries, 8 heads of keys, 128 numbers a "
        "head, bfloat16 (2 bytes). Each number is read once and written once. How many MiB "
        "(1,048,576 bytes) move?",
        right="(32 + 8) * 8192 * 128 * 2 * 2 / 2**20",
        hints=(
            Hint(80, "Read <i>and</i> written: each byte moves twice."),
            Hint(128, "Keys turn as well as queries."),
            Hint(256, "There are 8 heads of keys here, not 32."),
            Hint(320, "A number of bfloat16 has 2 bytes, not 4."),
            Hint("160 * 2**20 / 1e6", "Those are millions of bytes; a MiB has 1,048,576."),
        ),
        otherwise="Heads (both kinds) times tokens times 128 numbers, times 2 bytes, times 2.",
        solution="40 heads · 8192 · 128 numbers, each 2 bytes in and 2 bytes out.",
    ),
    Answer(
        "operations for each byte",
        kind="numbers",
        question="Turning a pair takes 4 multiplications and 2 additions. How many operations is "
        "that for each <b>byte</b> moved, in and out?",
        labels=("float32", "bfloat16"),
        right=("3/8", "3/4"),
        hints=(
            Hint(
                ("3/4", "3/2"),
                "Twice too many. Six operations turn a pair, which is two numbers, and each of "
                "them goes in and comes out.",
            ),
            Hint(("3/2", "3"), "A pair is two numbers, and each goes in and comes out."),
            Hint((3, 3), "That is for each number. How many bytes of it move?"),
            Hint(("3/4", "3/8"), "The other way round: a shorter number moves fewer bytes."),
        ),
        otherwise="Operations for each number, over bytes of it in and out.",
        solution="3 operations for each number; a float32 is 4 bytes in and 4 out, a bfloat16 2 "
        "and 2.",
    ),
    Answer(
        "time at the pace of memory",
        kind="number",
        unit="microseconds",
        question="The 160 MiB of the first box, on a GPU whose memory moves 4.8 TB (4.8 · "
        "10<sup>12</sup> bytes) each second. How many microseconds must turning take at least?",
        right="160 * 2**20 / 4.8e12 * 1e6",
        tolerance=0.03,
        hints=(
            Hint("160 / 4.8", "160 MiB are 167.8 million bytes."),
            Hint(17.5, "The 160 MiB are both ways already."),
            Hint(1.88, "That is the time of the arithmetic. Memory takes longer."),
            Hint(69.9, "The 160 MiB are both ways already: count them once."),
        ),
        otherwise="Bytes over bytes per second; a microsecond is a millionth of a second.",
        solution="167,772,160 bytes over 4.8 million bytes per microsecond.",
    ),
    Answer(
        "passes over memory",
        kind="number",
        unit="passes",
        question="Usual code computes <code>x * cos + rotate_half(x) * sin</code> step by step. A "
        "<b>pass</b> is reading, or writing, as many bytes as x has. The picture tells the "
        "first three steps. How many passes are all five? (The tables cos and sin are small.)",
        right=10,
        hints=(
            Hint(2, "That is the floor, one read and one write."),
            Hint(5, "Five steps, each of which reads and writes."),
            Hint(9, "The last step reads two tensors."),
            Hint(4.5, "Those are the writes. Reads count as well."),
            Hint(5.5, "Those are the reads. Writes take as long."),
        ),
        otherwise="Product: 2 passes. Sum of two tensors: 3 passes. Add them to the five "
        "of the picture.",
        solution="2 + 1 + 2 + 2 + 3; the floor is 2.",
    ),
    Task(
        "two passes and nothing new",
        widget="memory_passes",
        text="Find the way that takes two passes and no new memory.",
        done="passes == 2 and new_memory == 0",
        said="Read once, written once, where it stood: a copy, at most.",
    ),
    FillIn(
        "the floor of a rotation",
        question="Complete what predicts a time, in microseconds, from a shape, the bytes of a "
        "number and a memory of <code>rate</code> bytes per microsecond. Code that makes "
        "<code>passes</code> over its input takes the floor's time or longer. Return both times, "
        "the floor first.",
        code="""def times(heads, tokens, head_dim, width, passes, rate):
    size = heads * tokens * head_dim * width
    floor_time = <<2 * size / rate>>
    return [floor_time, <<floor_time * passes / 2>>]
""",
        cases=(
            (40, 8192, 128, 2, 10, 4.8e6),
            (64, 4096, 128, 4, 10, 2e4),
            (2, 1, 64, 4, 2, 100),
            (8, 100, 80, 2, 5, 3000),
        ),
        hints=(
            Hint(
                ("size / rate", "floor_time * passes / 2"),
                "Each byte is read, and each is written.",
            ),
            Hint(
                ("2 * size / rate", "floor_time * passes"),
                "The floor makes two passes already.",
            ),
            Hint(
                ("2 * size * rate", "floor_time * passes / 2"),
                "A faster memory takes less time.",
            ),
        ),
        solution="Two passes are the floor; so code of ten takes five times as long.",
    ),
)
