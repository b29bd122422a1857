"""Every exhibit has its bug, `diagnose` names it, the mend is one line, and then it is right."""

import difflib
import re

import numpy as np
import pytest
import torch

from ropebook.museum import EXHIBITS, HALLS

LINES, WIDTH = 15, 79
NOTED = {"no-gradient"}  # right for inference
THREAD = re.compile(r"[\w.-]+/[\w.-]+/(issues|pull)/[1-9]\d*")
every = pytest.mark.parametrize("exhibit", EXHIBITS.values(), ids=list(EXHIBITS))


def test_there_are_enough_exhibits_in_every_hall():
    assert len(EXHIBITS) >= 36
    assert len(EXHIBITS) == sum(len(hall.exhibits) for hall in HALLS.values())
    assert all(len(hall.exhibits) >= 2 and hall.asks for hall in HALLS.values())
    for name, exhibit in EXHIBITS.items():
        assert exhibit.name == name and exhibit in HALLS[exhibit.hall].exhibits
        assert exhibit.saw.endswith(".")


def test_each_thread_is_a_thread_and_hangs_once():
    threads = [exhibit.where for exhibit in EXHIBITS.values()]
    assert len(set(threads)) == len(threads)
    for exhibit in EXHIBITS.values():
        named = [exhibit.where, *exhibit.also, *exhibit.akin]
        assert len(set(named)) == len(named)
        assert all(THREAD.fullmatch(thread) for thread in named), exhibit.name


@every
def test_the_bug_is_short_and_its_mend_one_line(exhibit):
    before, after = exhibit.source.splitlines(), exhibit.mended_source.splitlines()
    assert len(before) <= LINES and before[0].startswith("def ")
    assert max(map(len, before)) <= WIDTH
    assert exhibit.source.count(exhibit.mend[0]) == 1
    changed = [line[0] for line in difflib.ndiff(before, after) if line[0] in "-+"]
    assert changed == ["-", "+"]


@every
def test_diagnose_names_the_bug(exhibit):
    report, _ = exhibit.examined(exhibit.wrong())
    noted = exhibit.code in NOTED
    assert report.ok == noted and exhibit.code in report.codes[: None if noted else 1], report


@every
def test_what_is_mended_is_not_blamed(exhibit):
    report, told = exhibit.examined(exhibit.mended())
    assert report.ok and told and exhibit.code not in report.codes, report


def right(x, positions, meant):
    """The rotation that was meant, of each pair as a complex number."""
    x, speeds = x.double().numpy(), meant.inv_freq.numpy()
    turned, n = x.copy(), len(speeds)
    axes = meant.axis_of_pairs or (0,) * n
    for i, (axis, speed) in enumerate(zip(axes, speeds, strict=True)):
        own = positions[axis] if meant.axis_of_pairs else positions
        at = np.broadcast_to(own.numpy(), (len(x), x.shape[2]))
        a, b = (2 * i, 2 * i + 1) if meant.layout == "interleaved" else (i, i + n)
        pair = (x[..., a] + 1j * x[..., b]) * np.exp(1j * speed * at)[:, None]
        turned[..., a], turned[..., b] = pair.real, pair.imag
        turned[..., [a, b]] *= meant.attention_factor
    return torch.tensor(turned)


@every
@pytest.mark.parametrize("positions", [torch.arange(6).expand(2, 6), torch.tensor([[3], [0]])])
def test_what_is_mended_is_what_was_meant(exhibit, positions):
    torch.manual_seed(0)
    x = torch.randn(2, 3, positions.shape[-1], exhibit.options.get("head_dim", 64))
    if exhibit.meant.axis_of_pairs:  # another place on each axis
        count = max(exhibit.meant.axis_of_pairs) + 1
        positions = torch.stack([positions.expand(2, -1) * (1 + axis) for axis in range(count)])
    for side in exhibit.sides(exhibit.mended()):
        torch.testing.assert_close(
            side(x, positions).double(), right(x, positions, exhibit.meant), rtol=0, atol=1e-4
        )


@pytest.mark.parametrize("exhibit", HALLS["training"].exhibits[:2], ids=lambda e: e.name)
def test_a_mended_gradient_is_that_of_the_rotation(exhibit):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 1, 3, 5, 64).unbind()
    x.requires_grad_()
    exhibit.mended()(x, torch.arange(5)).mul(weight).sum().backward()
    # The opposite turn takes a weight on the result back to where the result came from.
    torch.testing.assert_close(
        x.grad.double(), right(weight, -torch.arange(5), exhibit.meant), rtol=0, atol=1e-5
    )


def test_a_mended_gradient_is_made_for_those_who_ask_for_one():
    """What is mended leaves autograd as its caller has set it."""
    exhibit = EXHIBITS["a kernel without a way back"]
    x = torch.ones(1, 1, 3, 64, requires_grad=True)
    for wanted in (True, False):
        with torch.set_grad_enabled(wanted):
            assert exhibit.mended()(x, torch.arange(3)).requires_grad == wanted
            assert not exhibit.wrong()(x, torch.arange(3)).requires_grad


@pytest.mark.parametrize("exhibit", [e for e in EXHIBITS.values() if e.code.startswith("width-")])
def test_a_width_that_is_blamed_counts_what_turns(exhibit):
    """Each dimension by itself, far out: does it stay?"""
    x = torch.eye(64)[None, None]
    moved = (exhibit.wrong()(x, torch.full((64,), 300)) - x).abs().amax(-1) > 1e-3
    evidence = exhibit.examined(exhibit.wrong())[0].findings[0].evidence
    meant = 2 * int((exhibit.meant.inv_freq != 0).sum())
    assert evidence == {"dimensions that turn": int(moved.sum()), "expected": meant}


def test_frequencies_are_said_to_agree_where_they_do():
    for name in ("right frequencies, wrong partners", "the whole head for its part"):
        exhibit = EXHIBITS[name]
        report, _ = exhibit.examined(exhibit.wrong())
        found, meant = (f[f != 0] for f in (report.inv_freq, exhibit.meant.inv_freq))
        agree = torch.allclose(found, meant, rtol=1e-4, atol=0)
        assert ("Frequencies alone do not show it" in report.findings[0].sentence) == agree, name


def test_what_is_wrong_with_axes_is_named_by_its_own_word():
    """Text, whose axes agree, is turned rightly by all of them: along an axis it shows."""
    several = [e for e in HALLS["images"].exhibits if e.code.startswith("axes-")]
    assert {exhibit.code for exhibit in several} == {"axes-in-turn", "axes-in-blocks"}
    for exhibit in several:
        count = max(exhibit.meant.axis_of_pairs) + 1
        torch.manual_seed(0)
        x, ids = torch.randn(1, 1, 6, 64), torch.arange(6)[None]
        text = ids.expand(count, 1, 6)
        along = text * (torch.arange(count) == 1)[:, None, None]
        for positions, agree in ((text, True), (along, False)):
            wrong = exhibit.wrong()(x, positions).double()
            assert torch.allclose(wrong, right(x, positions, exhibit.meant), atol=1e-4) == agree


def test_a_grid_on_its_side_is_right_for_square_pictures_alone():
    exhibit = EXHIBITS["height for width"]
    torch.manual_seed(0)
    x = torch.randn(1, 1, 24, 64)
    for rows, columns in ((6, 6), (4, 6), (6, 4)):
        tokens = torch.arange(24)  # of a square one, all rows but the last two
        ids = torch.stack((tokens // columns, tokens % columns))[:, None]
        source = exhibit.source.replace("512, 768", f"{rows}, {columns}")
        exec(source, scope := dict(exhibit.broken.__globals__))
        turned = scope["grid_on_its_side"](x, ids).double()
        agree = torch.allclose(turned, right(x, ids, exhibit.meant), atol=1e-4)
        assert agree == (rows == columns)
