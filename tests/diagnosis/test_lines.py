"""What is said of lines of a pair that are no rotation is how they are written."""

import pytest
from exhibits.lines import MISWRITTEN, by_lines

from ropelib.diagnosis import diagnose

SAID = {
    "the first line copied": "the line of b is a cos - b sin, where b cos + a sin is meant",
    "the second line copied": "the line of a is b cos + a sin, where a cos - b sin is meant",
    "a for b in the second line": "the line of b is a cos + a sin, where b cos + a sin is meant",
    "cos handed over twice": "the lines are a cos - b cos and a cos + b cos, where",
    "sin handed over twice": "the lines are a sin - b sin and a sin + b sin, where",
    "rotate_half of rotate_half": "the lines are a cos - a sin and b cos - b sin, where",
    "no second line, of zeros": "the line of b is 0, where b cos + a sin is meant",
    "no second line, of x": "the line of b is b, where b cos + a sin is meant",
    "no cosine": "the lines are -b sin + a and a sin + b, where",
    "no sine": "the lines are a cos - b and b cos + a, where",
    "clockwise, b for a in the second line": "the line of b is b cos - b sin, where b cos - a sin",
}
CAUSES = {
    "the first line copied": "a line copied and not changed",
    "cos handed over twice": "one table handed over as both",
    "sin handed over twice": "one table handed over as both",
    "no second line, of zeros": "a line that is missing",
    "rotate_half of rotate_half": "a rotated copy of x that is x itself, or rotated twice",
    "a for b in the second line": "a letter",
    "no cosine": "x for x * cos",
    "no sine": "the rotated copy for the rotated copy * sin",
}


@pytest.mark.parametrize("name", SAID)
def test_lines_are_said_as_they_are_written(name):
    (finding,) = diagnose(**by_lines(MISWRITTEN[name])).findings
    assert SAID[name] in finding.sentence
    assert finding.cause.startswith(CAUSES.get(name, ""))
    assert finding.evidence["largest difference"] > 0.9


def test_a_line_with_sin_and_cos_exchanged_is_mended_in_that_line():
    report = diagnose(**by_lines(lambda a, b, c, s: (a * c - b * s, b * s + a * c)))
    assert report.codes == ("sin-and-cos-swapped",)
    assert "sin and cos in that line" in report.findings[0].fix


def test_noise_of_low_precision_hides_no_miswritten_line():
    def lines(a, b, c, s):
        c, s = c.bfloat16().double(), s.bfloat16().double()
        return a * c - b * s, a * c + a * s

    assert diagnose(**by_lines(lines)).codes == ("lines-miswritten",)
