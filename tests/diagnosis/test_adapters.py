"""Modules, tables and other orders of axes become what `diagnose` takes."""

import importlib

import pytest
import torch
from exhibits import plain

import ropelib
from ropelib import RotaryEmbedding, diagnosis
from ropelib.checks import LAYOUTS
from ropelib.diagnosis import Finding, Report, diagnose, from_module, from_tables, seq_first


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


@pytest.mark.parametrize("shift", [0, 1])
def test_what_takes_the_sequence_first_is_told_how_to_be_judged(shift):
    def rotate(x, ids):
        return plain(x.transpose(1, 2), ids + shift).transpose(1, 2)

    def breaks(x, ids):
        assert x.shape[1] == ids.shape[-1]
        return rotate(x, ids)

    report = diagnose(breaks)
    if shift:
        assert report.codes == ("rotates-by-head",)
        assert diagnose(seq_first(breaks)).codes == ("off-by-one",)
    else:
        assert report.codes == ("takes-sequence-first",) and not report.ok
        assert "wrap it in seq_first" in report.findings[0].cause
        assert diagnose(seq_first(breaks)).ok
        both = diagnose((seq_first(breaks), breaks)).findings[0]
        assert (both.code, both.where) == ("takes-sequence-first", "k")


def test_what_cannot_be_measured_in_the_other_order_is_not_said_to_take_it():
    def rotate(x, ids):
        assert x.shape[1] == ids.shape[-1]
        if ids.max() >= 20:
            raise IndexError("a table of 20")
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
