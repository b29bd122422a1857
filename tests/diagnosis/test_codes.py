"""What is code in the sentences of the codes stands as code on their page."""

import re

import pytest

from ropelib.diagnosis.codes import CODES, code_set_off

CODE = """a cos - b sin; (2i - 1)/d; 2(i - 1)/d; d/2 - 1; base ** -(2 * i / d); i = 1 .. d/2
(-b, a); (batch,); (batch, 1, seq_len, num_pairs); [cos sin cos sin ..]; offset[:, None]
torch.cat((angles, angles), dim=-1); position_ids - position_ids[0]; position_ids.max() + 1
.type_as(x); b.neg_(); view(); +=; -sin; --axes 3; expected=; device=x.device; inv_freq; arange"""
PROSE = """rad/token; p-RoPE; M-RoPE; (NoPE); 6e-5; 57.2958; from -1 to 1; float32; (Llama 4)
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
