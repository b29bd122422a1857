"""What is raised, or comes back in another shape, for some calls alone is said by name."""

import pytest
import torch
from exhibits import plain

from ropelib.diagnosis import diagnose

ONE_TOKEN = "a batch of single tokens"
LATER = {
    ONE_TOKEN: lambda x, ids: x.shape[-2] == 1 and len(x) > 1,
    "a batch of 11 rows": lambda x, ids: len(x) > 8,
    "a batch of 62 rows": lambda x, ids: len(x) > 40,
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
