"""What is code in the sentences of the codes stands as code on their page."""

import re

import pytest
import torch

from ropelib import apply_rotary, diagnose, inv_freq
from ropelib.diagnosis.codes import CODES, code_set_off

CODE = """a cos - b sin; (2i - 1)/d; 2(i - 1)/d; d/2 - 1; base ** -(2 * i / d); i = 1 .. d/2
(-b, a); (batch,); (batch, 1, seq_len, num_pairs); [cos sin cos sin ..]; offset[:, None]
torch.cat((angles, angles), dim=-1); position_ids - position_ids[0]; position_ids.max() + 1
.type_as(x); b.neg_(); view(); +=; -sin; --axes 3; expected=; device=x.device; inv_freq; arange"""
PROSE = """rad/token; p-RoPE; M-RoPE; (NoPE); 0.00006; 57.2958; from -1 to 1; float32; (Llama 4)
row by row; transformers 5; the exponent of base 10000; cos and sin; a lock, or a loop; 2 pi
q and k"""


@pytest.mark.parametrize("code", re.split(r"; |\n", CODE))
def test_code_is_set_off_whole(code):
    assert code_set_off(f"Write {code}, and no more.") == f"Write `{code}`, and no more."


@pytest.mark.parametrize("words", re.split(r"; |\n", PROSE))
def test_prose_is_not(words):
    assert code_set_off(f"It is {words}.") == f"It is {words}."


def test_no_formula_of_a_code_is_cut():
    for name, code in CODES.items():
        for words in (code.sentence, code.cause, code.fix):
            text = code_set_off(words)
            assert text.replace("`", "") == words and text.count("`") % 2 == 0
            # Outside of code there are no operators, and none stands at a border of it.
            prose = re.sub(r"`[^`]*`", "CODE", text)
            assert not re.search(r"CODE (?:[-+*/%=]|\*\*|//) | [-+*/%=] CODE|_|\*|\[", prose), name


def test_no_number_of_a_code_breaks_at_a_hyphen():
    for code in CODES.values():
        assert not re.search(r"\de-\d", code.sentence + code.cause + code.fix)


def turned_by(angles_at):
    """Return a rotation by the angles of a function of the positions, in half-split pairs."""

    def rotate(x, position_ids):
        angles = angles_at(position_ids).double()
        return apply_rotary(x, angles.cos().float(), angles.sin().float(), layout="half")

    return rotate


@pytest.mark.parametrize("mended", [False, True])
def test_a_table_with_rows_of_zeros_is_mended_as_its_code_says(mended):
    assert "in table[n:], or at position + n" in CODES["early-positions-not-turned"].fix
    n = 4
    table = torch.cat((torch.zeros(n, 32), torch.arange(64.0)[:, None] * inv_freq(64)))
    found = table[n:] if mended else table
    codes = diagnose(turned_by(lambda ids: found[ids]), max_position=64).codes
    assert ("early-positions-not-turned" in codes) != mended


@pytest.mark.parametrize("sums", [False, True])
def test_angles_by_einsum_are_wrong_under_autocast_where_it_sums(sums):
    speeds = inv_freq(64).float()

    def angles(ids):
        if not sums:
            return torch.einsum("...i,j->...ij", ids.float(), speeds)
        two = torch.stack((ids, ids), -1).float()
        return torch.einsum("...ia,aj->...ij", two, torch.stack((speeds, speeds)) / 2)

    report = diagnose(turned_by(angles), max_position=64)
    assert report.codes[:1] == (("wrong-under-autocast",) if sums else ())
    causes = [CODES["wrong-under-autocast"].cause, *(each.cause for each in report.findings)]
    assert all("an einsum that sums" in cause for cause in causes)


def shuffled(numbers):
    return numbers[torch.randperm(len(numbers), generator=torch.Generator().manual_seed(1))]


RANDOM = 0.01 + torch.rand(32, generator=torch.Generator().manual_seed(1))
SPEEDS = inv_freq(64)
FREQUENCIES = {
    "a series shuffled": (shuffled(SPEEDS), "frequencies-unfilled"),
    "one number everywhere": (SPEEDS[3].expand(32), "frequencies-unfilled"),
    "1 everywhere": (torch.ones(32, dtype=torch.float64), "base-beyond-sense"),
    "random": (RANDOM, "not-geometric"),
    "random, and two alike": (RANDOM[[*range(31), 0]], "frequencies-unfilled"),
    "a series, and two alike": (SPEEDS[[*range(31), 30]], "not-geometric"),
}


@pytest.mark.parametrize("which", FREQUENCIES)
def test_frequencies_in_no_order_are_called_what_the_pages_say(which):
    speeds, code = FREQUENCIES[which]
    report = diagnose(turned_by(lambda ids: ids[..., None].double() * speeds), max_position=256)
    assert report.codes[:1] == (code,)
    said = CODES["frequencies-unfilled"].sentence
    assert "alike but not 1, shuffled, or repeated in no order" in said


def test_tables_of_rows_are_as_wide_as_before():
    assert not re.search("num_pairs|d/2", CODES["batch-rows-mixed"].fix)
