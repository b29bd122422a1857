"""The page reads a configuration as Python does: both readers over many right and wrong ones."""

import math
import os
import random

import javascript
import numpy as np
import torch
from configurations import other_texts, texts_that_matter

from ropelib import frequencies
from ropelib.config import RopeConfig, keys
from ropelib.config.files import parsed
from ropelib.config.reader import Reader

torch.set_num_threads(1)
# What Python's errors call a key.
ARGUMENTS = {
    "half_a_head": "half of the head",
    "rope_theta": "base",
    "original_max_position_embeddings": "original_max_seq_len",
    "layer_type": "layers of type",
}
PAGE = """
const { texts, table } = given;
const { inspect, tell, WORDS } = await import("./config_inspector/widget.js");
const look = (text, kind) => {
  const seen = inspect(text, kind, 0, table);
  const { layerTypes: kinds, spec, inverse, attentionFactor } = seen;
  const [problem] = seen.problems;
  if (!spec) return { kinds, refused: problem.key ?? null, said: tell(WORDS.en, problem) };
  const notes = seen.notes.map(({ code, key }) => [code, key]);
  const { rotating } = spec.layers;
  const { short_factor, long_factor, ...fields } = spec;
  return { kinds, ...fields, inverse, attentionFactor, rotating, notes };
};
const names = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v);
const answers = texts.map((text) => {
  const first = look(text, "");
  const others = first.kinds.length ? first.kinds.slice(1) : ["sliding_attention"];
  return [first, ...others.map((kind) => look(text, kind))];
});
process.stdout.write(JSON.stringify(answers, names));
"""


def page(texts):
    """What the page's reader finds in each text, for each kind of layer; one process for all."""
    return javascript.run(PAGE, {"texts": texts, "table": keys.table()})


def python(text):
    """The same of Python's reader."""
    try:
        config = parsed(text)
        kinds = Reader(config).layer_types()
    except (TypeError, ValueError) as error:
        return [error], []
    answers = []
    for kind in [*kinds, *(["sliding_attention"] if kinds == [None] else [])]:
        try:
            reading = Reader(config)  # as from_hf does
            answers.append((RopeConfig(**reading.read(kind)), reading.values.notes))
        except (TypeError, ValueError) as error:
            answers.append(error)
    return answers, [kind for kind in kinds if kind is not None]


def difference(ours, theirs):
    """What the two say differently, or None."""
    if isinstance(ours, Exception) or "refused" in theirs:
        if not isinstance(ours, Exception):
            return f"only the page refuses: {theirs['said']}"
        if "refused" not in theirs:
            return f"only Python refuses: {ours}"
        key = (theirs["refused"] or "").split(".")[-1].split("[")[0]
        is_named = key in str(ours) or ARGUMENTS.get(key, key) in str(ours)
        return None if is_named else f"{ours} | {theirs['said']}"
    rope, notes = ours
    fields = {
        "type": rope.rope_type,
        "base": rope.base,
        "headDim": rope.head_dim,
        "rotaryDim": rope.rotary_dim,
        "layout": rope.layout,
        "maxSeqLen": rope.max_seq_len,
        "original": rope.original_max_seq_len,
    }
    for name, value in fields.items():
        if theirs[name] != value:
            return f"{name}: {value} | {theirs[name]}"
    # Two logarithms, products and a quotient: a few roundings of 1.1e-16 each.
    for name, value in (
        ("softmaxFactor", rope.softmax_factor),
        ("attentionFactor", rope.attention_factor(rope.max_seq_len)),
    ):
        if not math.isclose(theirs[name], value, rel_tol=1e-12):
            return f"{name}: {value} | {theirs[name]}"
    rotating = theirs["rotating"]
    if (None if rotating is None else tuple(rotating)) != rope.rotating_layers:
        return f"rotating: {rope.rotating_layers} | {rotating}"
    # The powers of two libraries differ in their last bits. In a ramp, a share that is rounded to
    # 1e-16 is one of the unscaled frequency, however slow the pair has become.
    unscaled = frequencies.inv_freq(rope.rotary_dim, rope.base).numpy()
    inv_freq, shown = rope.inv_freq(rope.max_seq_len).numpy(), np.array(theirs["inverse"], float)
    allowed = 1e-12 * (inv_freq + unscaled * (rope.rope_type in ("yarn", "llama3")))
    if inv_freq.shape != shown.shape or (abs(inv_freq - shown) > allowed).any():
        return f"inv_freq: {inv_freq} | {shown}"
    seen = {(code, key) for code, key in theirs["notes"]}
    said = {(note.code, note.key) for note in notes} - {("assumed", "layout")}
    return None if said == seen else f"notes: {said - seen} | {seen - said}"


def test_both_readers_agree_on_many_configurations():
    texts = list(other_texts())
    if "ALL_CONFIGURATIONS" not in os.environ:
        texts = random.Random(0).sample(texts, 11_000)
    texts += texts_that_matter()
    assert len(texts) >= 12_000
    accepted, differences = 0, []
    for text, theirs in zip(texts, page(texts), strict=True):
        ours, kinds = python(text)
        if kinds != theirs[0]["kinds"]:
            differences.append((text, f"kinds: {kinds} | {theirs[0]['kinds']}"))
        for one, other in zip(ours, theirs, strict=False):
            found = difference(one, other)
            accepted += not isinstance(one, Exception)
            if found:
                differences.append((text, found))
    report = "\n".join(f"{text[:600]}\n    {found}" for text, found in differences[:10])
    assert not differences, f"{len(differences)} differences, such as\n{report}"
    assert accepted > len(texts) / 4
