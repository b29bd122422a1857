"""Code that is handed its tables is judged by what it does with them: they are made here."""

import pytest
import torch

from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.diagnosis import diagnose, from_operator, from_tables
from ropelib.diagnosis.forms import adapted


def transformers_form(q, k, cos, sin):
    turned = []
    for x in (q, k):
        a, b = x.chunk(2, dim=-1)
        turned.append(x * cos[:, None] + torch.cat((-b, a), dim=-1) * sin[:, None])
    return tuple(turned)


def meta_form(xq, xk, freqs_cis):
    pairs = (torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) for x in (xq, xk))
    return tuple(torch.view_as_real(x * freqs_cis[:, None]).flatten(-2) for x in pairs)


def proposed_form(x, cos, sin, position_ids):
    return apply_rotary(x, cos[position_ids], sin[position_ids], layout="half")


def with_speeds_of(base):
    def rotate(x, position_ids):
        return apply_rotary(x, *cos_sin(position_ids, inv_freq(128, base)), layout="half")

    return rotate


FORMS = [transformers_form, proposed_form]
QWEN_80 = {"model_type": "qwen3", "rope_theta": 1e6, "head_dim": 80}
EXPECTED = ["qwen3-8b", "qwen2.5-7b-with-yarn", with_speeds_of(1e6)]


@pytest.mark.parametrize("expected", EXPECTED, ids=["base", "yarn", "code"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_expected_of_a_model_is_not_expected_of_our_tables(form, expected):
    report = diagnose(form, expected=expected, head_dim=128, max_position=512)
    assert report.ok and report.rotary_dim == 128, report
    assert "of tables that were made for it" in str(report)


def test_its_pairs_are_compared_all_the_same():
    report = diagnose(meta_form, expected="qwen3-8b", max_position=512)
    assert report.codes[0] == "layout-not-as-expected"
    assert diagnose(meta_form, expected=meta_form, max_position=512).ok


@pytest.mark.parametrize("form", FORMS)
def test_what_is_expected_may_be_handed_its_tables_as_well(form):
    assert diagnose(with_speeds_of(5e5), expected=form, head_dim=128, max_position=512).ok
    crossed = diagnose(with_speeds_of(5e5), expected=meta_form, head_dim=128, max_position=512)
    assert crossed.codes[0] == "layout-not-as-expected"


def test_whose_frequencies_they_are_is_said_and_only_there():
    said = "of tables that were made for it"
    theirs = diagnose(meta_form, max_position=512)
    assert theirs.tables_made and str(theirs).count(said) == 2, theirs
    assert str(theirs).startswith(f"This rotation is right, {said}")
    own = diagnose(with_speeds_of(1e4), head_dim=128, max_position=512)
    assert not own.tables_made and said not in str(own)

    def tables(x, position_ids):
        cos, sin = cos_sin(position_ids, inv_freq(64))
        return [torch.cat((t, t), dim=-1).view(-1, *t.shape[-2:-1], 64) for t in (cos, sin)]

    theirs = diagnose(from_tables(transformers_form, tables), inv_freq=inv_freq(64, 5e5))
    assert theirs.codes[0] == "base-not-as-expected" and said not in str(theirs)


@pytest.mark.parametrize("said", [{"inv_freq": inv_freq(64, 5e5)}, {"attention_factor": 1.2}])
def test_frequencies_that_would_be_passed_over_are_refused(said):
    (name,) = said
    with pytest.raises(ValueError, match=f"{name} must be left out .* from_tables"):
        diagnose(transformers_form, **said, max_position=512)


def test_a_step_that_is_handed_its_tables_is_compared_with_one_that_is_too():
    with pytest.raises(ValueError, match=r"decode must not be handed .* base 10000.* from_tables"):
        diagnose(with_speeds_of(1e6), decode=proposed_form, head_dim=64, max_position=512)
    assert diagnose(proposed_form, decode=proposed_form, max_position=512).ok


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_as_wide_as_the_heads_of_the_configuration(form):
    report = diagnose(form, expected="qwen3-8b", max_position=512)
    assert report.ok and (report.head_dim, report.rotary_dim) == (128, 128), report


def vllm_operator(positions, query, key, times=1):
    """As vLLM's own: rows of all tokens and heads, turned where they lie; nothing comes back."""
    for x in (query, key):
        heads = x.view(1, len(x), -1, 64).transpose(1, 2)
        cos, sin = cos_sin(positions, inv_freq(64))
        heads.copy_(apply_rotary(heads, cos, times * sin, layout="half"))


def test_an_operator_may_write_where_its_vectors_lie_and_return_nothing():
    assert diagnose(vllm_operator, max_position=512).ok

    def sine_too_short(positions, query, key):
        vllm_operator(positions, query, key, times=0.5)

    assert not diagnose(sine_too_short, max_position=512).ok


@pytest.mark.parametrize("form", [*FORMS, meta_form])
def test_so_they_are_where_a_shell_or_who_is_called_has_taken_its_form_already(form):
    """As the command line does, to limit how long loading takes."""
    report = diagnose(adapted(form), expected=QWEN_80)
    assert report.head_dim == report.rotary_dim == 80, report
    made = from_operator(proposed_form, head_dim=48)  # who says a width has it
    assert diagnose(made, expected="qwen3-8b", max_position=512).head_dim == 48
