"""Exercises of the chapter The museum of shipped bugs."""

from ropebook.exercises.definitions import Answer, Bet, Hint, Option, Task, define

define(
    Bet(
        "told or not",
        question="Below hang some fifty bugs, nearly all shipped. A program measures each "
        "rotation, steps of one and of several tokens beside a right pass, and knows no more "
        "of the model than how wide heads are and how many axes positions have. <b>How many does "
        "it find to be wrong?</b>",
        options=(
            Option(
                "All of them: a bug is a bug.",
                said="A wrong base turns as evenly as the right one. Without the model's number "
                "nobody can tell.",
            ),
            Option(
                "About two in three.",
                said="The others turn like a right rotation of another model.",
                right=True,
            ),
            Option(
                "Hardly any: they all look right.",
                said="They look right in one call. Call them otherwise, far out, in a batch, word "
                "by word, and most give themselves away.",
            ),
        ),
    ),
    Answer(
        "good up to 8192",
        kind="choice",
        question="A model answers well up to 8192 tokens. At 32,768, read in one pass, its "
        "perplexity (among how many words it wavers) is 2916 instead of 5.50. Where do you look "
        "first?",
        options=(
            Option(
                "at the layout: neighbors or halves",
                said="Wrong partners show within tens of tokens, or grow with distance.",
            ),
            Option(
                "at the scaling: are slow pairs slowed down?",
                said="8192 is its length before it was stretched, and scaling shows beyond it.",
                right=True,
            ),
            Option(
                "at the offset after the cache",
                said="It was read in one pass: no cache is read.",
            ),
            Option(
                "at bfloat16",
                said="Rounded positions go wrong from 257 on, not at the length of training.",
            ),
        ),
    ),
    Answer(
        "the longest is right",
        kind="choice",
        question="Four texts are filled up in front to one length (padded), each counted from its "
        "own first word, and answered together. The answer to the longest is right, the other "
        "three are garbage. Which line of the step that answers did it?",
        options=(
            Option(
                "position = places in the cache, for all rows",
                said="The longest has no padding: for it, and for it alone, that goes on counting "
                "where the text has stopped.",
                right=True,
            ),
            Option(
                "position = tokens of the row + 1",
                said="That is one too late for all four, the longest as well.",
            ),
            Option(
                "base = 10000 for 500000",
                said="Then one text alone would be wrong as well.",
            ),
            Option(
                "the rotation returns rows after the first as zeros",
                said="Nearly. But which row is right would go by its place, not by its length.",
            ),
        ),
    ),
    Answer(
        "sines too late",
        kind="number",
        unit="numbers",
        question="A row of a table holds 96 cosines, then 96 sines: a head of 192. The fast kernel "
        "fills 192 up to the next power of two and begins to read sines at half of that. How many "
        "numbers too late does it begin?",
        right=32,
        hints=(
            Hint(64, "That is how much wider it is padded. Sines begin at half of the width."),
            Hint(128, "There it begins to read. Where do the sines begin?"),
            Hint(96, "There they begin. Where does the kernel begin to read?"),
            Hint(0, "For a head of 128 that would be so: a power of two pads to itself."),
            Hint(16, "That is the answer for a head of 96. Here the next power of two is another."),
        ),
        otherwise="The next power of two above 192 is 256.",
        solution="256 / 2 = 128, and the sines begin at 192 / 2 = 96: 32 too late.",
    ),
    Answer(
        "what half an exponent is",
        kind="number",
        question="Code has the exponent i/d where 2i/d belongs, with base 250,000. "
        "<code>diagnose</code> finds a right rotation with another base. Which?",
        right=500,
        hints=(
            Hint(250_000, "Then pair i would turn by 250000<sup>−2i/d</sup>."),
            Hint(125_000, "Halve the exponent, not the base."),
            Hint(10_000, "That has nothing to do with this code. Which b has b² = 250,000?"),
            Hint(250_000**2, "Slow pairs turn too fast here, so its base is smaller."),
        ),
        otherwise="Which base b has b to the 2i/d equal to 250,000 to the i/d?",
        solution="b<sup>2i/d</sup> = 250000<sup>i/d</sup> asks for b = √250,000 = 500.",
    ),
    Task(
        "four bugs, one lamp",
        widget="break_it",
        text="Put in exactly four bugs that light a single lamp, tested on random vectors.",
        done='bugs == 4 and alarms == 1 and vectors == "drawn"',
        said="Four bugs, and each law of turns holds. One test has an answer from outside.",
    ),
)
