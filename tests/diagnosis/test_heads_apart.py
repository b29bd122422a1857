"""Heads that differ, rows that fit by chance, and what is repeated before a bug is named."""

import pytest
import torch
from exhibits import PLAIN, plain
from exhibits.lookalikes import broadcast, from_rounded, losing, of_their_own, read_on

from ropelib.diagnosis import diagnose

SHORT = {"max_position": 12}


def found(rotate, **options):
    (finding,) = (f for f in diagnose(rotate, **options).findings if f.severity == "wrong")
    return finding


def test_the_recipe_of_the_report_makes_one_head_of_any():
    finding = found(of_their_own, **SHORT)
    assert finding.code == "heads-differ" and "hand over one by one" in finding.fix
    recipe = finding.sentence.partition("head 0 of 16: ")[2].removesuffix(".")
    alone = eval(recipe, {"torch": torch, "rotate": of_their_own})
    report = diagnose(alone, **SHORT)
    assert report.ok
    torch.testing.assert_close(report.inv_freq, PLAIN, rtol=1e-5, atol=0)


def test_of_heads_that_are_meant_to_differ_the_wrong_one_is_named():
    def late(x, ids):
        one = torch.arange(x.shape[1]) == 1
        return torch.where(one[:, None, None], of_their_own(x, ids + 1), of_their_own(x, ids))

    assert found(late, expected=of_their_own, **SHORT).where == "head 1"
    pair = found((of_their_own, late), expected=of_their_own, **SHORT)
    assert (pair.code, pair.where) == ("off-by-one", "k, head 1")


def test_heads_are_compared_step_by_step_too():
    def late(x, ids):
        return of_their_own(x, ids + int(x.shape[2] == 1))

    options = {"expected": of_their_own, **SHORT}
    assert diagnose(of_their_own, decode=of_their_own, **options).ok
    assert found(of_their_own, decode=late, **options).code == "decode-off-by-one"


def test_a_head_with_a_base_beyond_sense_may_be_one_of_a_series():
    def cut(x, ids):  # as LTX cuts an inner width into heads
        speeds = (10_000.0 ** (-torch.arange(1024) / 1024)).unflatten(0, (32, 32))
        places = ids[..., None, :, None] * speeds.repeat(3, 1)[: x.shape[1], None]
        cos, sin = (torch.cat((t, t), -1) for t in (places.cos(), places.sin()))
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat((-b, a), -1) * sin).to(x.dtype)

    assert diagnose(cut, expected=cut, head_dim=64, **SHORT).ok


def test_rows_are_refused_where_nothing_is_taken_for_them():
    (refused,) = (f for f in diagnose(broadcast, **SHORT).findings if f.code == "rows-refused")
    assert "are refused" in refused.sentence and "as many rows as heads" in refused.sentence

    def one_row(x, ids):
        if ids.dim() > 1:
            raise ValueError("one row")
        return plain(x, ids)

    (told,) = (f for f in diagnose(one_row, **SHORT).findings if f.code == "rows-refused")
    assert told.sentence.endswith("different positions.")
    assert told.evidence["raised"] == "ValueError('one row')"

    def one_text(x, ids):
        if len(x) > 1:
            raise ValueError("one text")
        return plain(x, ids)

    told = {f.code: f.sentence for f in diagnose(one_text, **SHORT).findings}
    assert told["rows-refused"].startswith("x of several rows is refused with any position_ids, ")


LACKING = {
    "angles of position_ids": broadcast,
    "rows of a table": lambda x, ids: broadcast(x, torch.arange(8192)[ids]),
    "clockwise": lambda x, ids: broadcast(x, -ids),
    "q and k": lambda q, k, position_ids: [broadcast(x, position_ids) for x in (q, k)],
}


@pytest.mark.parametrize("name", LACKING)
def test_rows_that_meet_the_heads_are_said_to_lack_an_axis(name):
    report = diagnose(LACKING[name])
    (refused,) = (f for f in report.findings if f.code == "rows-refused")
    assert report.ok and "; as many rows as heads are taken, and wrongly. " in refused.sentence
    assert "Rows of position_ids meet the heads" in refused.sentence
    assert "unsqueeze(1)" in refused.cause
    assert "any position_ids" not in refused.sentence  # one row is right, (seq_len,) and (1, ..)


def test_axes_that_meet_as_many_heads_are_no_axes():
    def rotate(x, ids):
        assert ids.dim() == 2 and len(ids) > 1
        return broadcast(x, ids)

    (finding,) = diagnose(rotate).findings
    assert finding.code == "call-raises" and "axes" not in finding.sentence


def test_as_many_tokens_as_pairs_are_called_wrong_only_where_they_are():
    def one_row(x, ids):  # right, with one row of positions before as many tokens as there are
        assert ids.dim() == 1 or len(ids) == 1
        return plain(x, ids)

    (right,) = (f for f in diagnose(one_row).findings if f.code == "rows-refused")
    assert right.sentence.endswith("different positions.") and not right.cause

    def pairs_first(x, ids):  # (batch, num_pairs, seq_len), where transpose(1, 2) is forgotten
        angles = ids[..., None] * PLAIN
        angles = angles.mT if ids.dim() > 1 else angles
        (a, b), cos, sin = x.chunk(2, -1), angles.cos().float(), angles.sin().float()
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)

    (wrong,) = (f for f in diagnose(pairs_first).findings if f.code == "rows-refused")
    assert wrong.sentence.endswith("; as many tokens as pairs are taken, and wrongly.")
    assert not wrong.cause


def test_rows_that_come_back_in_another_shape_are_not_called_refused():
    def stacked(x, ids):
        return plain(x, ids) if ids.dim() == 1 else plain(x, ids)[None]

    (told,) = (f for f in diagnose(stacked, **SHORT).findings if f.code == "rows-refused")
    assert "come back in another shape" in told.sentence


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_by_chance_is_not_called_a_bug_of_one_call(seed):
    assert diagnose(losing(1e-3, seed=seed)).codes == ("not-deterministic",)


def test_a_state_that_a_call_leaves_is_no_chance():
    grown = [0]

    def rotate(x, ids):
        grown[0] = max(grown[0], x.shape[2])
        return plain(x, ids + int(grown[0] > 4000 and x.shape[2] == 1))

    assert "not-deterministic" not in diagnose(rotate).codes


def test_a_table_read_past_its_end_says_where_it_ends():
    def rotate(x, ids):
        return read_on(*[lambda angles: torch.zeros(5192, 64)] * 2)["rotate"](x, ids)

    assert found(rotate).since == 3000


@pytest.mark.parametrize(("dtype", "first"), [(torch.bfloat16, 257), (torch.float16, 2049)])
def test_a_rounded_offset_is_told_from_rounded_positions(dtype, first):
    finding = found(from_rounded(dtype)["rotate"])
    assert finding.since == first and "first position of a call" in finding.sentence
    assert "integers" in finding.fix
