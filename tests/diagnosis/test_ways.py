"""Names do not tell how a function is called: it is called in the way that is right."""

import pytest
import torch
from exhibits import PLAIN, plain

from ropelib import inv_freq
from ropelib.diagnosis import diagnose, from_operator, from_tables, seq_first
from ropelib.diagnosis.ways import Way, the_right_one

SHORT = {"max_position": 64}


def swapped(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def neighbors(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def full_width(x, cos, sin):  # as LitGPT has it
    return x * cos + swapped(x) * sin


def with_rows(x, cos, sin, unsqueeze_dim=1):  # as Gemma 4 and ESM have it
    assert cos.dim() == 3
    cos, sin = (table.unsqueeze(unsqueeze_dim) for table in (cos, sin))
    return full_width(x, cos, sin)


def repeated(x, cos, sin):
    return x * cos + neighbors(x) * sin


def four_axes(x, cos, sin):  # as nanochat has it, the sequence first
    assert x.ndim == cos.ndim == 4 and cos.shape[1] == x.shape[1]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1)


def real_table(x, freqs_cis):  # as gpt-fast has it
    pairs = x.float().unflatten(-1, (-1, 2))
    cos, sin = freqs_cis.view(1, x.shape[1], 1, pairs.shape[3], 2).unbind(-1)
    a, b = pairs.unbind(-1)
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(3).type_as(x)


def lit_llama(x, rope_cache):
    return real_table(x, rope_cache)


def flux(x, freqs_cis):  # as diffusers has it
    cos, sin = freqs_cis
    return (x * cos + neighbors(x) * sin).type_as(x)


def megatron(t, freqs):  # (seq_len, batch, num_heads, head_dim)
    return (t * freqs.cos() + swapped(t) * freqs.sin()).type_as(t)


def heads_first(x, input_pos):
    return plain(x, input_pos)


def runtime(input, position_ids, cos_cache, sin_cache):  # as ONNX Runtime has it
    a, b = input.chunk(2, dim=-1)
    cos, sin = cos_cache[position_ids][:, None], sin_cache[position_ids][:, None]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def before(positions, x):
    return plain(x, positions)


def both_before(positions, query, key=None):
    return plain(query, positions), plain(key, positions)


def falcon(query, key, past_key_values_length=0):
    ids = torch.arange(past_key_values_length, past_key_values_length + query.shape[2])
    return plain(query, ids), plain(key, ids)


def to_length(x, seq_len):
    return plain(x, torch.arange(seq_len))


def by_cache_position(x, *, cache_position):
    return plain(x, cache_position)


def in_words(queries, keys, position_ids):
    return plain(queries, position_ids), plain(keys, position_ids)


def beside_values(q, k, v, position_ids):
    return plain(q, position_ids), plain(k, position_ids), v


def both(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):  # as transformers has it
    return with_rows(q, cos, sin, unsqueeze_dim), with_rows(k, cos, sin, unsqueeze_dim)


def both_sequence_first(q, k, cos, sin):
    return both(q, k, cos, sin, unsqueeze_dim=2)


def both_looked_up(q, k, cos, sin, position_ids):  # as its first Llama had it
    rows = [table.squeeze(1).squeeze(0)[position_ids] for table in (cos, sin)]
    return both(q, k, *rows)


def both_by_offset(q, k, cos, sin, offset=0):  # as GPT-NeoX has it
    rows = [table[..., offset : offset + q.shape[-2], :] for table in (cos, sin)]
    return full_width(q, *rows), full_width(k, *rows)


def k_as_it_was(q, k, cos, sin):
    return both(q, k, cos, sin)[0], k


def packed(qkv, cos, sin, interleaved=False, seqlen_offsets=0):  # as flash-attn has it
    assert qkv.dim() == 5 and qkv.shape[2] == 3
    a, b = qkv[:, :, :2].chunk(2, dim=-1)
    cos, sin = (table[: qkv.shape[1], None, None] for table in (cos, sin))
    qkv[:, :, :2] = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def packed_with_v(qkv, cos, sin):
    a, b = qkv.chunk(2, dim=-1)
    cos, sin = (table[: qkv.shape[1], None, None] for table in (cos, sin))
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def packed_of_q_alone(qkv, cos, sin):
    return torch.cat((packed_with_v(qkv, cos, sin)[:, :, :1], qkv[:, :, 1:]), dim=2)


def test_packed_vectors_are_taken_in_their_order_with_seq_first_too():
    for rotate in (packed, packed_with_v):
        assert (
            diagnose(seq_first(rotate), max_position=64).codes
            == diagnose(rotate, max_position=64).codes
        )


def sines_first(x, sincos, offset=0):  # as GPT-J has it
    ends = slice(offset, offset + x.shape[1])
    sin, cos = (table[None, ends, None].repeat_interleave(2, dim=-1) for table in sincos)
    return repeated(x, cos, sin)


def position_first(position, t):
    return plain(t, position)


RIGHT = [
    (full_width, "half", "(a, b, a, b)"),
    (with_rows, "half", "(1, seq_len, width)"),
    (repeated, "interleaved", "(a, a, b, b)"),
    (four_axes, "half", "(1, seq_len, 1, width)"),
    (real_table, "interleaved", "a real table"),
    (lit_llama, "interleaved", "a real table"),
    (flux, "interleaved", "(cos, sin) with each entry twice, as (a, a, b, b)"),
    (megatron, "half", "x (seq_len, batch, num_heads, head_dim)"),
    (heads_first, "half", "x (batch, num_heads, seq_len, head_dim)"),
    (runtime, "half", None),
    (before, "half", None),
    (both_before, "half", None),
    (falcon, "half", None),
    (to_length, "half", None),
    (by_cache_position, "half", None),
    (in_words, "half", None),
    (beside_values, "half", None),
    (both, "half", "(1, seq_len, width)"),
    (both_sequence_first, "half", "x (batch, seq_len, num_heads, head_dim), cos and sin"),
    (both_looked_up, "half", "(max_position, width)"),
    (both_by_offset, "half", "(a, b, a, b)"),
    (packed, "half", None),
    (sines_first, "interleaved", "(sin, cos)"),
    (position_first, "half", None),
]


@pytest.mark.parametrize(
    ("form", "layout", "words"), RIGHT, ids=lambda v: getattr(v, "__name__", "")
)
def test_a_form_is_called_in_the_way_that_is_right(form, layout, words):
    report = diagnose(form, **SHORT)
    assert report.ok and report.layout == layout, report
    assert report.base == pytest.approx(10_000, rel=1e-5) and report.rotary_dim == 64
    assert ("called-as" in report.codes) == (words is not None)
    assert words is None or words in str(report)


def not_turned(x, freqs_cis):
    return x


def mirrored(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((b, a), dim=-1) * sin


WRONG = [
    (not_turned, "does-not-rotate"),
    (mirrored, "minus-sign-missing"),
    (lambda x, input_pos: plain(x, input_pos + 1), "off-by-one"),
    (lambda positions, x: plain(x, positions + 1), "off-by-one"),
    (lambda x, seq_len: plain(x, 1 + torch.arange(seq_len)), "off-by-one"),
    (lambda q, k, past_key_values_length: falcon(q, k), "positions-restart"),
    (lambda x, cos, sin: full_width(x, sin, cos), "sin-and-cos-swapped"),
    (k_as_it_was, "k-not-rotated"),
    (packed_of_q_alone, "k-not-rotated"),
    (packed_with_v, "v-changed"),
]


@pytest.mark.parametrize(("form", "code"), WRONG, ids=range(len(WRONG)))
def test_a_bug_in_a_form_of_many_ways_is_named(form, code):
    report = diagnose(form, **SHORT)
    assert not report.ok and report.codes[0] == code, report


def test_what_is_read_off_the_form_says_so():
    report = diagnose(
        lambda x, freqs_cis: real_table(x, freqs_cis * torch.tensor([1, -1])), **SHORT
    )
    assert report.codes == ("direction-not-as-expected",)
    assert "What is expected is read off the form of its arguments" in str(report)
    said = diagnose(real_table, layout="half", **SHORT)
    assert said.codes == ("layout-not-as-expected",) and "read off" not in str(said)
    assert "layout-unlike-the-form" not in diagnose(real_table, **SHORT).codes


def test_the_way_is_told_by_scores_and_the_first_that_works_is_judged():
    def one(x, ids):
        return plain(x, ids) + ids[:, None]

    def raises(x, ids):
        raise RuntimeError("not so")

    x, ids = torch.randn(1, 2, 3, 64), torch.arange(3)
    rotate = the_right_one([Way(raises), Way(one, "one"), Way(plain, "plain")])
    assert torch.equal(rotate(x, ids), plain(x, ids)) and rotate.way[0].words == "plain"
    rotate = the_right_one([Way(raises), Way(one, "one"), Way(lambda x, ids: x)])
    assert torch.equal(rotate(x, ids), one(x, ids)) and rotate.way[0].words == "one"
    rotate = the_right_one([Way(raises), Way(raises)])
    with pytest.raises(RuntimeError, match="not so"):
        rotate(x, ids)
    assert rotate.way == []


def test_where_no_way_works_the_sentence_says_that_all_were_tried():
    def three(x, token_positions):
        raise ValueError("no such axes")

    (finding,) = diagnose(three, **SHORT).findings
    assert finding.code == "call-raises"
    assert "in all ways that the names of its arguments allow: no such axes" in finding.sentence
    (finding,) = diagnose(lambda x, ids: three(x, ids), **SHORT).findings
    assert "in all ways" not in finding.sentence


def test_a_table_is_known_only_where_it_stands():
    def of_grids(x, grid_sizes, freqs):
        return x

    with pytest.raises(TypeError, match="missing a required argument: 'freqs'"):
        diagnose(of_grids)


def test_an_operator_may_have_its_positions_second():
    assert diagnose(from_operator(runtime), **SHORT).ok


@pytest.mark.parametrize("looked_up", [True, False])
def test_tables_may_be_made_by_their_length(looked_up):
    def tables(x, seq_len=None):
        angles = torch.arange(seq_len)[:, None] * torch.cat((PLAIN, PLAIN))
        return angles.cos().float(), angles.sin().float()

    def apply(q, k, cos, sin):
        return full_width(q, cos, sin), full_width(k, cos, sin)

    def apply_at(q, k, cos, sin, position_ids):
        return apply(q, k, cos[position_ids][:, None], sin[position_ids][:, None])

    report = diagnose(from_tables(apply_at if looked_up else apply, tables), **SHORT)
    assert report.ok and report.layout == "half"


def test_a_class_of_a_course_may_want_the_heads():
    class Course:
        def __init__(self, theta, d_k, max_seq_len):
            self.speeds = inv_freq(d_k, theta)

        def __call__(self, x, token_positions):
            _, _, _, _ = x.shape
            return plain(x, token_positions, self.speeds, "interleaved")

    report = diagnose(Course, **SHORT)
    assert report.codes == ("called-as",) and "(batch, num_heads, seq_len, d_k)" in str(report)


class Step:
    """Turns token after token, and counts them."""

    def __init__(self, late=0):
        self.count = late

    def __call__(self, x):
        ids = torch.arange(self.count, self.count + x.shape[2])
        self.count += x.shape[2]
        return plain(x, ids)


def test_a_step_that_takes_x_alone_counts_for_itself():
    assert diagnose(plain, decode=Step(), **SHORT).ok
    assert not diagnose(plain, decode=Step(late=1), **SHORT).ok
    restarts = diagnose(plain, decode=lambda x: plain(x, torch.arange(x.shape[2])), **SHORT)
    assert restarts.codes == ("decode-restarts-at-zero",)
    q, k = Step(), Step()
    assert diagnose((plain, plain), decode=lambda query, key: (q(query), k(key)), **SHORT).ok


def test_heads_that_lie_flat_have_no_width_to_be_wrong_at():
    def flat(q, k, position_ids):
        def turned(x):
            rows = position_ids.expand(len(x), -1)
            lying = x.transpose(1, 2).flatten(2).unflatten(-1, (-1, 64)).transpose(1, 2)
            back = plain(lying, rows).transpose(1, 2).flatten(2)
            return back.unflatten(-1, (-1, x.shape[-1])).transpose(1, 2)

        return turned(q), turned(k)

    assert diagnose(flat, **SHORT).ok
    cut = diagnose(
        lambda x, ids: torch.cat((plain(x[..., :64], ids), 2 * x[..., 64:]), -1), **SHORT
    )
    assert cut.codes == ("wrong-at-other-widths",)


def test_what_is_suspect_says_how_to_say_that_it_is_meant():
    for speeds in (torch.ones(32), 0 * PLAIN + 2, PLAIN.bfloat16().double()):
        report = diagnose(lambda x, ids, s=speeds: plain(x, ids, s), **SHORT)
        assert not report.ok and "inv_freq= or expected=" in report.findings[0].sentence
        meant = diagnose(lambda x, ids, s=speeds: plain(x, ids, s), inv_freq=speeds, **SHORT)
        assert meant.ok and "slowest-pairs-first" not in meant.codes


def test_notes_say_no_more_than_is_so():
    still = PLAIN.where(torch.arange(32) < 31, 0)
    rotate = lambda x, ids: plain(x, ids, still)  # noqa: E731
    assert "a loop that ends one pair early" in str(diagnose(rotate, **SHORT))
    assert "does not turn, as expected." in str(diagnose(rotate, inv_freq=still, **SHORT))
    fast = torch.arange(32).double() / 1000
    assert "the first stands still" in str(diagnose(lambda x, ids: plain(x, ids, fast)))


def test_the_command_line_transposes_what_any_form_is_handed(tmp_path, monkeypatch, capsys):
    from ropelib.__main__ import main

    (tmp_path / "first.py").write_text(
        "import torch\nfrom ropelib import apply_rotary, cos_sin, inv_freq\n"
        "def rotate(x, start_pos):\n"
        "    ids = torch.arange(start_pos, start_pos + x.shape[1])\n"
        "    tables = cos_sin(ids, inv_freq(x.shape[-1]))\n"
        "    return apply_rotary(x.transpose(1, 2), *tables, layout='half').transpose(1, 2)\n"
        "def both(q, k, start_pos):\n"
        "    return rotate(q, start_pos), rotate(k, start_pos)\n"
        "def counting(x):\n"
        "    return rotate(x, 0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("rotate", "both", "counting"):
        options = ["--max-position", "40", "--seq-first"]
        assert main(["diagnose", f"first:{name}", *options]) == 0, capsys.readouterr()
    assert main(["diagnose", "first:rotate", "--max-position", "40"]) == 1
    assert "takes-sequence-first" in capsys.readouterr().out


def test_seq_first_of_what_knows_its_order_is_that_order():
    assert diagnose(seq_first(real_table), **SHORT).ok
    assert diagnose(seq_first(heads_first), **SHORT).ok
