"""Modules, tables and other orders of axes become what `diagnose` takes."""

import importlib

import pytest
import torch
from exhibits import PLAIN, plain

import ropelib
from ropelib import RotaryEmbedding, diagnosis, inv_freq
from ropelib.checks import LAYOUTS
from ropelib.diagnosis import (
    Finding,
    Report,
    diagnose,
    from_counting,
    from_module,
    from_offset,
    from_tables,
    seq_first,
)


def test_adapters_give_the_same_report_as_the_rotation_itself():
    def tables(x, ids):
        assert ids.shape == (x.shape[0], x.shape[2])
        return ids, None

    def apply(q, k, ids, _):
        return plain(q, ids), plain(k, ids)

    expected = str(diagnose(plain))
    assert str(diagnose(from_tables(apply, tables))) == expected
    assert str(diagnose(from_module(lambda q, k, ids: apply(q, k, ids, None)))) == expected
    swapped = seq_first(lambda x, ids: plain(x.transpose(1, 2), ids).transpose(1, 2))
    assert str(diagnose(swapped)) == expected


def test_what_comes_back_in_another_shape_is_not_said_to_be_raised():
    def rotate(x, ids):
        if x.shape[1] != ids.shape[-1]:
            return x[:, :1]
        return plain(x.transpose(1, 2), ids).transpose(1, 2)

    (finding,) = diagnose(rotate, max_position=64).findings
    assert finding.code == "takes-sequence-first" and "raised" not in finding.evidence
    said = "must keep the shape of x, got (1, 1, 5, 64) for x (1, 3, 5, 64) "
    assert finding.evidence["an ordinary call"].startswith(said)


@pytest.mark.parametrize("shift", [0, 1])
def test_what_takes_the_sequence_first_is_told_how_to_be_judged(shift):
    def rotate(x, ids):
        return plain(x.transpose(1, 2), ids + shift).transpose(1, 2)

    def breaks(x, ids):
        assert x.shape[1] == ids.shape[-1]
        return rotate(x, ids)

    report = diagnose(breaks)
    if shift:
        assert report.codes == ("off-by-one", "called-as")
        assert "--seq-first" in report.findings[1].sentence
        assert diagnose(seq_first(breaks)).codes == ("off-by-one",)
    else:
        assert report.codes == ("takes-sequence-first",) and not report.ok
        assert "wrap it in seq_first" in report.findings[0].cause
        raised = report.findings[0].evidence["raised"]
        assert raised.startswith("AssertionError for x (1, 3, 5, 64) torch.float32 and ")
        assert diagnose(seq_first(breaks)).ok
        both = diagnose((seq_first(breaks), breaks)).findings[0]
        assert (both.code, both.where) == ("takes-sequence-first", "k")


def by_start(x, start_pos):  # (batch, seq_len, num_heads, head_dim), as Meta has it
    ids = torch.arange(start_pos, start_pos + x.shape[1])
    return plain(x.transpose(1, 2), ids).transpose(1, 2)


def both_by_start(q, k, start_pos):
    return by_start(q, start_pos), by_start(k, start_pos)


def counting(x):
    return by_start(x, 0)


def both_counting(q, k):
    return by_start(q, 0), by_start(k, 0)


def both_at(q, k, position_ids):
    turned = (plain(x.transpose(1, 2), position_ids).transpose(1, 2) for x in (q, k))
    return tuple(turned)


def tables(x, position_ids):
    return position_ids, None


def test_what_counts_itself_is_called_with_few_heads_where_texts_are_long():
    """A call of all basis vectors at once would take longer than all others together."""
    sizes = []

    def counts(q, k):
        sizes.append(q.numel())
        return plain(q, torch.arange(q.shape[-2])), plain(k, torch.arange(k.shape[-2]))

    assert diagnose(counts).codes == ("counts-itself",)
    assert max(sizes) <= 2**22


SEQUENCE_FIRST = {
    "offset": by_start,
    "offset, q and k": both_by_start,
    "counting": counting,
    "counting, q and k": both_counting,
    "q and k": both_at,
    "q and k by an adapter": from_module(both_at),
    "tables": from_tables(lambda q, k, ids, _: both_at(q, k, ids), tables),
    "offset by an adapter": from_offset(by_start),
    "counting by an adapter": from_counting(counting),
}


@pytest.mark.parametrize("form", SEQUENCE_FIRST)
def test_seq_first_composes_with_every_form(form):
    short = {"max_position": 40}
    told = diagnose(SEQUENCE_FIRST[form], **short)
    assert told.codes == ("takes-sequence-first",), told
    report = diagnose(seq_first(SEQUENCE_FIRST[form]), **short)
    assert report.ok and report.base == pytest.approx(10_000, rel=1e-5), report


def test_seq_first_goes_inside_of_an_adapter_as_well():
    for rotate in (from_offset(seq_first(by_start)), from_counting(seq_first(counting))):
        assert diagnose(rotate, max_position=40).ok
    late = seq_first(lambda x, start_pos: by_start(x, start_pos + 1))
    assert diagnose(late, max_position=40).codes == ("off-by-one",)


def signless(x, ids):  # of the sequence first
    a, b = x[..., ::2], x[..., 1::2]
    angles = (ids[:, None].double() * PLAIN)[:, None]
    cos, sin = angles.cos().float(), angles.sin().float()
    return torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1).flatten(-2)


SEQUENCE_FIRST_BUGS = [
    (lambda x, start_pos: by_start(x, start_pos + 1), "off-by-one"),
    (lambda xq, xk, start_pos: both_by_start(xq, xk, start_pos + 1), "off-by-one"),
    (lambda q, k, start_pos: both_by_start(q, k, 0), "positions-restart"),
    (lambda x, ids: both_at(x, x, ids.bfloat16())[0], "positions-in-bfloat16"),
    (signless, "minus-sign-missing"),
]


@pytest.mark.parametrize(("rotate", "code"), SEQUENCE_FIRST_BUGS, ids=range(5))
def test_a_bug_of_the_other_order_is_named_and_the_order_is_said(rotate, code):
    report = diagnose(rotate, max_position=512)
    assert report.codes == (code, "called-as"), report
    assert "seq_first(...) or --seq-first" in report.findings[1].sentence
    assert diagnose(seq_first(rotate), max_position=512).codes == (code,)


def test_where_nothing_tells_heads_from_tokens_both_orders_are_named():
    (finding,) = diagnose(lambda x, ids: by_start(x, 0)).findings
    assert finding.code == "rotates-by-head" and "--seq-first" in finding.sentence
    assert finding.sentence.endswith("it is position-ids-ignored.")


def test_a_mismatch_in_the_other_order_is_told_in_it():
    report = diagnose(lambda x, ids: both_at(x, x, ids)[0], inv_freq=inv_freq(64, 5e5))
    assert report.codes == ("base-not-as-expected", "called-as")


def test_seq_first_hands_over_what_is_contiguous_where_that_is_asked_for():
    def rotate(x, position_ids):
        assert x.is_contiguous()
        return both_at(x, x, position_ids)[0]

    report = diagnose(seq_first(rotate), max_position=40)
    assert report.ok and report.codes == ("strides-refused",)


def test_heads_that_differ_in_either_order_are_named():
    def rotate(x, start_pos):
        ids = torch.arange(start_pos, start_pos + x.shape[2])
        return torch.cat([plain(head, ids * (1 + n)) for n, head in enumerate(x.split(1, 1))], 1)

    assert diagnose(rotate, max_position=40).codes == ("heads-differ",)


def test_what_cannot_be_measured_in_the_other_order_is_not_said_to_take_it():
    def rotate(x, ids):
        assert x.shape[1] == ids.shape[-1]
        if ids.max() >= 11:
            raise IndexError("a table of 11")
        return plain(x.transpose(1, 2), ids).transpose(1, 2)

    assert diagnose(rotate).codes == ("rotates-by-head",)


def test_the_adapter_sees_a_module_that_returns_k_as_it_was():
    assert diagnose(from_module(lambda q, k, ids: (plain(q, ids), k))).codes == ("k-not-rotated",)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_module_of_q_and_k_needs_no_adapter(layout):
    module = RotaryEmbedding(64, layout=layout)
    adapted = from_module(module)
    assert diagnose(module).layout == layout
    assert str(diagnose(module, decode=module)) == str(diagnose(adapted, decode=adapted[1]))

    def off_by_one(query, key, position_ids):
        return plain(query, position_ids), plain(key, position_ids + 1)

    assert str(diagnose(off_by_one)) == str(diagnose(from_module(off_by_one)))
    assert diagnose(off_by_one).findings[0].where == "k"


def test_a_module_of_one_tensor_is_a_rotation_like_any_other():
    class Rotation(torch.nn.Module):
        def forward(self, x, position_ids):
            return plain(x, position_ids)

    assert str(diagnose(Rotation())) == str(diagnose(plain))
    assert str(diagnose(lambda x, ids, scale=1: plain(x, ids) * scale)) == str(diagnose(plain))


def test_the_old_name_of_the_package_finds_all_that_it_holds():
    import ropelib.diagnose as imported
    from ropelib.diagnose import diagnose as same
    from ropelib.diagnose import from_tables as adapter

    assert importlib.import_module("ropelib.diagnose") is diagnosis
    assert imported is same is ropelib.diagnose is diagnose is imported.diagnose
    assert imported.from_tables is adapter is diagnosis.from_tables
    assert ropelib.diagnose.from_module is from_module and imported.seq_first is seq_first
    assert ropelib.diagnose.Report is Report and ropelib.diagnose.Finding is Finding
