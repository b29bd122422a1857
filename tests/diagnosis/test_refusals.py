"""Calls that raise or return another shape are named, and so is what to do about a form."""

import pytest
import torch
from exhibits import plain

from ropelib import inv_freq
from ropelib.diagnosis import diagnose, seq_first

ONE_TOKEN = "a batch of single tokens"
LATER = {
    ONE_TOKEN: lambda x, ids: x.shape[-2] == 1 and len(x) > 1,
    "a batch of 11 rows": lambda x, ids: len(x) > 8,
    "a batch of 62 rows": lambda x, ids: len(x) > 40,
    "x of float16": lambda x, ids: x.dtype == torch.float16,
    "rows of bfloat16": lambda x, ids: x.dtype == torch.bfloat16 and len(x) > 1,
    "a single token of bfloat16": lambda x, ids: x.dtype == torch.bfloat16 and x.shape[-2] == 1,
    "position_ids of int32": lambda x, ids: ids.dtype == torch.int32,
    "position_ids of shape (1, seq_len)": lambda x, ids: ids.dim() == 2 and len(ids) == 1,
    "1 rows of 71 heads and 5 tokens of bfloat16": lambda x, ids: (
        x.dtype == torch.bfloat16 and x.shape[1] == 71
    ),
}


@pytest.mark.parametrize("other_shape", [False, True])
@pytest.mark.parametrize("condition", LATER)
def test_a_call_that_is_refused_is_named(condition, other_shape):
    def rotate(x, position_ids):
        if not LATER[condition](x, position_ids):
            return plain(x, position_ids)
        if other_shape:
            return plain(x, position_ids)[None]
        raise ValueError("not this call")

    report = diagnose(rotate)
    if other_shape and condition == ONE_TOKEN:  # a step of decoding that goes on in that shape
        assert report.codes == ("one-token-rows-wrong",)
        return
    assert report.ok and report.codes == ("calls-refused",), report
    (finding,) = report.findings
    assert f"are taken: {condition}. Of {condition}: " in finding.sentence
    reason = "must keep the shape of x, got (1, " if other_shape else "ValueError('not this call')"
    assert reason in finding.sentence


@pytest.mark.parametrize("code", ["rows-refused", "bfloat16-refused", "no-gradient"])
def test_what_another_note_says_is_not_said_twice(code):
    wrongly = {
        "rows-refused": lambda x: len(x) > 1,
        "bfloat16-refused": lambda x: x.dtype == torch.bfloat16,
        "no-gradient": lambda x: x.requires_grad,
    }[code]

    def rotate(x, position_ids):
        if wrongly(x):
            raise ValueError("not this call")
        return plain(x, position_ids)

    assert diagnose(rotate).codes == (code,)


# What is told of a form that is not taken


def test_positions_may_come_first_by_a_short_name():
    assert diagnose(lambda pos, x: plain(x, pos)).codes == ()


def pairs_turned(x, angles):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def angles_of_heads_last(x, position):  # (batch, seq_len, num_heads, head_dim), as MaxText has it
    return pairs_turned(x, position[:, :, None, None] * inv_freq(64).float())


def angles_as_given(x, position):
    assert position.shape[1:] == (x.shape[1], 1, 1)
    return pairs_turned(x, position * inv_freq(64).float())


OTHERWISE = {
    "lambda x, p: yours(p, x)": lambda m, t: plain(t, m),
    "seq_first(yours)": angles_of_heads_last,
    "lambda x, p: yours(x, p[..., None])": lambda x, p: plain(x, p.squeeze(-1)),
    "lambda x, p: yours(x, p.expand(len(x), -1)[:, None, :, None])": lambda x, p: pairs_turned(
        x, p.expand(-1, -1, x.shape[2], 1) * inv_freq(64).float()
    ),
    "seq_first(lambda x, p: yours(x, p.expand(len(x), -1)[:, :, None, None]))": angles_as_given,
}


@pytest.mark.parametrize("words", OTHERWISE)
def test_what_is_refused_is_told_how_it_is_handed_over(words):
    (finding,) = diagnose(OTHERWISE[words]).findings
    assert finding.code == "call-raises"
    assert finding.sentence.endswith(f"It turns if it is handed over as {words}.")
    handed_over = eval(words, {"yours": OTHERWISE[words], "seq_first": seq_first})
    assert diagnose(handed_over, max_position=64).ok


def test_what_was_already_done_is_no_hint():
    def angles_of_tokens_last(x, position):
        return pairs_turned(x, position[:, None, :, None] * inv_freq(64).float())

    (finding,) = diagnose(seq_first(angles_of_tokens_last)).findings
    assert finding.sentence.endswith(". It turns if it is handed over without seq_first.")


def test_an_error_without_a_text_ends_the_sentence():
    def of_one_column(x, position):
        if position.shape[-1] != 1:
            raise ValueError
        return plain(x, position.squeeze(-1))

    (finding,) = diagnose(of_one_column).findings
    assert "position_ids (5,). It turns if it is handed over as" in finding.sentence


def test_a_table_that_is_handed_positions_is_named():
    def apply(x, emb):
        sin, cos = emb.tensor_split(2, -1)
        return x * cos + x.flip(-1) * sin

    (finding,) = diagnose(apply).findings
    assert "hand over lambda x, position_ids: yours(x, emb[position_ids])" in finding.sentence


def rows_of_the_call(x, position_ids):
    table = plain(torch.ones(1, 1, x.shape[2], 64), torch.arange(x.shape[2]))[0, 0]
    return x * table[position_ids]


def rows_of_the_call_by_offset(x, offset=0):
    table = torch.arange(x.shape[2])[:, None] * inv_freq(64).float()
    return pairs_turned(x, table[offset : offset + x.shape[2]])


@pytest.mark.parametrize("rotate", [rows_of_the_call, rows_of_the_call_by_offset])
def test_a_table_as_long_as_the_call_is_told_as_such(rotate):
    (finding,) = diagnose(rotate).findings
    assert finding.code == "call-raises" and "as long as the call" in finding.sentence
    assert "0 to 4 in a call of 5 tokens and not 1 to 5" in finding.sentence
    assert "axes" not in finding.sentence and "position_ids.max() + 1" in finding.cause


class Grown:
    """A table that is made anew where a call has more tokens than it has rows."""

    def __init__(self, looked_up=lambda table, ids: table[ids]):
        self.table, self.looked_up = torch.zeros(0, 32), looked_up

    def __call__(self, x, position_ids):
        if len(self.table) < x.shape[2]:
            self.table = torch.arange(x.shape[2])[:, None] * inv_freq(64).float()
        angles = self.looked_up(self.table, position_ids)
        return pairs_turned(x, angles[:, None] if angles.dim() == 3 else angles).to(x.dtype)


def test_a_table_as_long_as_the_longest_call_so_far_is_told_as_such():
    by_offset = Grown(lambda table, ids: table[int(ids[0]) :][: len(ids)])
    for rotate in (Grown(), lambda x, offset: by_offset(x, offset + torch.arange(x.shape[2]))):
        (finding,) = diagnose(rotate).findings
        assert finding.code == "call-raises" and "however many" not in finding.sentence
        assert "and after one of 23 tokens 0 to 22 and not 23, as a table " in finding.sentence
        assert "position_ids.max() + 1 are needed" in finding.cause
    short = torch.arange(7)[:, None] * inv_freq(64).float()
    (finding,) = diagnose(lambda x, ids: pairs_turned(x, short[ids])).findings
    assert "0 to 6 and not 7, however many tokens a call has" in finding.sentence


def test_a_table_as_long_as_the_heads_is_not_taken_for_a_short_one():
    (finding,) = diagnose(lambda x, ids: plain(x, torch.arange(x.shape[1])[ids])).findings
    assert finding.code == "call-raises" and "It takes" not in finding.sentence


def test_the_width_is_that_of_the_configuration_where_64_is_refused():
    def rotate(x, position_ids):
        return plain(x, position_ids, inv_freq(128, 500_000.0))

    config = {"model_type": "llama", "head_dim": 128, "rope_theta": 500_000.0}
    report = diagnose(rotate, expected=config)
    assert report.ok and report.head_dim == 128


# Causes that fit


def test_memory_read_with_other_axes_is_told_as_such():
    def rotate(x, position_ids):
        batch, heads, tokens, width = x.shape
        viewed = x.reshape(batch, tokens, heads, width).transpose(1, 2)
        return plain(viewed, position_ids).transpose(1, 2).reshape(x.shape)

    report = diagnose(rotate)
    assert report.codes == ("heads-differ",)
    assert report.findings[0].cause == "view or reshape where transpose(1, 2) is meant"


def test_a_base_that_float16_does_not_hold_is_named():
    exponents = torch.arange(0, 64, 2).half() / 64
    speeds = 1 / torch.tensor(500_000.0).half() ** exponents
    report = diagnose(lambda x, ids: plain(x, ids, speeds.double()))
    assert report.codes == ("frequencies-unfilled",)
    assert "a base above 65504 in float16" in report.findings[0].cause
    one_of_another_speed = torch.cat((torch.tensor([0.5]), torch.zeros(31))).double()
    (finding,) = diagnose(lambda x, ids: plain(x, ids, one_of_another_speed)).findings
    assert "float16" not in finding.cause


def test_a_base_that_is_a_little_off_is_said_to_be():
    report = diagnose(lambda x, ids: plain(x, ids, inv_freq(64, 10_001.0)), inv_freq=inv_freq(64))
    assert report.codes == ("base-not-as-expected",)
    assert report.findings[0].sentence == "The base is 10001, expected 10000."
    assert "default" not in report.findings[0].cause


def test_a_base_that_is_lost_on_two_pairs_is_said_to_be():
    def rotate(x, ids, base=10_000.0):
        return plain(x, ids, inv_freq(4, base))

    (lost,) = diagnose(rotate, head_dim=4, inv_freq=inv_freq(4, 500_000.0)).findings
    assert lost.sentence == "The base is 10000, expected 500000."
    assert lost.cause.startswith("rope_theta lost")
    for times in ([2, 3], [-1, 2]):
        other = diagnose(rotate, head_dim=4, inv_freq=inv_freq(4) * torch.tensor(times))
        assert other.codes == ("frequencies-not-as-expected",)
