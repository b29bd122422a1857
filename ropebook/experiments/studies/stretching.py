"""How far does a trained model stretch? Every scaling method, before and after a short fine-tune.

All cases start from the same RoPE models, one per seed, that were trained on 128 bytes. A method's
case reads texts of 2, 4 and 8 times that length, once with the frequencies exchanged and nothing
trained, and once after a short training at the new length. Further cases measure what belongs
beside that: long texts seen through a window of the old length, more training at the old length, a
small search in the manner of LongRoPE, and caches of keys whose frequencies change on the way.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ropebook.experiments.corpus import corpus
from ropebook.experiments.decoding import Decoding
from ropebook.experiments.encodings import with_rotary
from ropebook.experiments.evaluate import in_bins, losses
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer
from ropebook.experiments.workshop import Workshop
from ropelib import inv_freq, scaling

BASE = Recipe()
FACTORS = [2, 4, 8]
MIDDLE = 4  # the factor of the search, the caches, and the shorter fine-tunes
TEXTS, BIN = 32, 32  # texts of validation, the same for all; bytes in a bin
# Turns within the old length from which a hand is left alone, and up to which it is slowed: 32 and
# 1 are YaRN's, 4 and 1 those of Llama 3. (The fastest hand makes 20 turns in 128 bytes.)
METHODS: dict[str, dict[str, float]] = {
    "none": {},
    "linear": {},
    "ntk_aware": {},
    "ntk_aware twice": {},  # a factor twice as large as the lengths ask for
    "ntk_fixed": {},
    "ntk_by_parts": {"beta_fast": 32.0, "beta_slow": 1.0},
    "yarn": {"beta_fast": 32.0, "beta_slow": 1.0},
    "yarn plain": {"beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": 1.0},
    "yarn 4 turns": {"beta_fast": 4.0, "beta_slow": 1.0},
    "llama3": {"high_freq_factor": 4.0, "low_freq_factor": 1.0},
    "proportional": {"partial_rotary_factor": 0.5},
}
TUNED = {  # method: at which factors
    **{method: FACTORS for method in ("none", "linear", "ntk_aware", "yarn", "llama3")},
    **{method: [MIDDLE] for method in ("ntk_by_parts", "proportional")},
}
SHORTER = {"none": [5, 10, 20], "linear": [5, 10, 20]}  # further numbers of steps
TUNING = {"num_steps": 40, "warmup": 4, "learning_rate": 5e-4, "bytes_per_step": 2048}
SEARCH = {"texts": 8, "tries": 60, "spread": 0.5}
CACHE = {"texts": 16, "stride": 8}  # the loss is read at every eighth position
CASES = (*METHODS, "window", "longrope", "dynamic_ntk")
CONFIG = {
    "recipe": BASE.told(),
    "factors": FACTORS,
    "middle": MIDDLE,
    "texts": TEXTS,
    "bin": BIN,
    "methods": METHODS,
    "tuned": TUNED,
    "shorter": SHORTER,
    "tuning": TUNING,
    "search": SEARCH,
    "cache": CACHE,
}


def run(case: str, seed: int, workshop: Workshop) -> dict[str, Any]:
    """Return the numbers of one case for the model of one seed, in nats per byte.

    Args:
        case: one of `CASES`.
        seed: of the trained model, the fine-tunes and the search.
        workshop: has the trained models.

    Returns:
        Numbers by name.
        `zero F` and `tuned F`: means in bins of 32 positions, in texts of F times the old length,
        with nothing trained and after the fine-tune; `after N`: likewise after N steps of it, in
        texts of four times the length. The other cases say at their functions what they return.
    """
    model = workshop.trained(BASE, seed).model.cpu()
    if case == "window":
        return _window(model, seed, workshop)
    if case == "longrope":
        return _longrope(model, seed)
    if case == "dynamic_ntk":
        return _dynamic_ntk(model)
    return _method(case, model, seed, workshop)


def frequencies(method: str, factor: float) -> tuple[Tensor, float]:
    """Return what a method makes of the trained models' frequencies.

    Args:
        method: a key of `METHODS`.
        factor: new length over trained length.

    Returns:
        `(inv_freq, attention_factor)`, as the functions of `ropelib.scaling`.

    Example:
        >>> frequencies("linear", 4)[0][0]
        tensor(0.2500, dtype=torch.float64)
    """
    if method == "none":
        return scaling.default(BASE.head_dim, BASE.base)
    name, options = method.partition(" ")[0], dict(METHODS[method])
    if name != "proportional":
        options["factor"] = float(2 * factor if method.endswith("twice") else factor)
    if name in ("ntk_by_parts", "yarn", "llama3"):
        options["original_max_seq_len"] = BASE.seq_len
    return getattr(scaling, name)(BASE.head_dim, BASE.base, **options)


def read(model: Transformer, factor: int) -> Tensor:
    """Return the loss by bins of positions in texts of `factor` times the old length.

    The texts are the first bytes of the same ones, whatever the factor.

    Args:
        model: of any frequencies.
        factor: at most the largest of `FACTORS`.
    """
    return in_bins(losses(model, _texts(factor * BASE.seq_len)), BIN)


def _texts(length: int) -> Tensor:
    """Return texts of validation, and one byte more of each: that which is foretold last."""
    longest = max(FACTORS) * BASE.seq_len
    return corpus().windows("valid", TEXTS, longest + 1)[:, : length + 1]


def _method(method: str, model: Transformer, seed: int, workshop: Workshop) -> dict[str, Any]:
    numbers = {}
    for factor in FACTORS:
        stretched = with_rotary(model, *frequencies(method, factor))
        numbers[f"zero {factor}"] = read(stretched, factor)
        if factor in TUNED.get(method, ()):
            tuned = _tuned(stretched, factor, TUNING["num_steps"], seed, workshop)
            numbers[f"tuned {factor}"] = read(tuned, factor)
    stretched = with_rotary(model, *frequencies(method, MIDDLE))
    for steps in SHORTER.get(method, ()):
        tuned = _tuned(stretched, MIDDLE, steps, seed, workshop)
        numbers[f"after {steps}"] = read(tuned, MIDDLE)
    return numbers


def _tuned(
    start: Transformer, factor: int, num_steps: int, seed: int, workshop: Workshop
) -> Transformer:
    """Return a model trained further, on texts of `factor` times the old length."""
    seq_len = factor * BASE.seq_len
    recipe = replace(
        BASE,
        seq_len=seq_len,
        batch_size=TUNING["bytes_per_step"] // seq_len,
        num_steps=num_steps,
        warmup=TUNING["warmup"],
        learning_rate=TUNING["learning_rate"],
    )
    return workshop.tuned(start, recipe, seed).model.cpu()


def _window(model: Transformer, seed: int, workshop: Workshop) -> dict[str, Any]:
    """Read long texts through a window of the old length: what one has without any stretching.

    `zero`: by bins; `tuned`: after the fine-tune's steps at the old length, which is what training
    gives by itself. Each byte is foretold from the 97 to 128 before it; the first 128 from all.
    """
    tuned = _tuned(model, 1, TUNING["num_steps"], seed, workshop)
    return {"zero": _through_window(model), "tuned": _through_window(tuned)}


def _through_window(model: Transformer) -> Tensor:
    texts = _texts(max(FACTORS) * BASE.seq_len)
    windows = texts.unfold(1, BASE.seq_len + 1, BIN)  # (texts, windows, length + 1)
    loss = losses(model, windows.flatten(0, 1), batch_size=32)
    loss = in_bins(loss.unflatten(0, windows.shape[:2]).mean(dim=0).flatten()[None], BIN)
    first, *rest = loss.unflatten(0, (windows.shape[1], -1))
    return torch.cat((first, torch.stack([bins[-1] for bins in rest])))


def _longrope(model: Transformer, seed: int) -> dict[str, Any]:
    """Search a list of slowdowns at four times the length, on training texts; then switch to it.

    `slowdown`: the list; `zero 4`: by bins, on validation texts; and the numbers of `_cached` where
    all frequencies change at once as the text outgrows the old length.
    """
    slowdown = _searched(model, seed)
    long, short = _by_list(slowdown), inv_freq(BASE.head_dim, BASE.base)
    cached = _cached(model, lambda seq_len: long if seq_len > BASE.seq_len else short)
    return {"slowdown": slowdown, f"zero {MIDDLE}": read(with_rotary(model, long), MIDDLE)} | cached


def _searched(model: Transformer, seed: int) -> list[float]:
    """Return the best slowdown of each pair that mutation and selection find.

    It begins with NTK-aware. A try multiplies a run of neighboring pairs by one random number, and
    keeps the list rising and within 1 .. 4, as LongRoPE does; it stays if the loss on a few
    training texts falls.
    """
    texts = corpus().windows("train", SEARCH["texts"], MIDDLE * BASE.seq_len + 1, seed)

    def loss_of(slowdown: Tensor) -> float:
        return losses(with_rotary(model, _by_list(slowdown.tolist())), texts).mean().item()

    generator = torch.Generator().manual_seed(seed)
    stretched, _ = frequencies("ntk_aware", MIDDLE)
    best = inv_freq(BASE.head_dim, BASE.base) / stretched
    lowest = loss_of(best)
    for _ in range(SEARCH["tries"]):
        start, end = sorted(torch.randint(len(best) + 1, (2,), generator=generator).tolist())
        by = torch.randn((), generator=generator, dtype=torch.float64) * SEARCH["spread"]
        tried = best.clone()
        tried[start:end] *= by.exp()
        tried = tried.clamp(1, MIDDLE).cummax(dim=0).values
        loss = loss_of(tried)
        if loss < lowest:
            best, lowest = tried, loss
    return best.tolist()


def _by_list(slowdown: list[float]) -> Tensor:
    """Return LongRoPE's frequencies of long texts; scores stay as sharp as they were."""
    return scaling.longrope(
        BASE.head_dim,
        BASE.base,
        short_factor=[1.0] * len(slowdown),
        long_factor=slowdown,
        factor=float(MIDDLE),
        original_max_seq_len=BASE.seq_len,
        seq_len=MIDDLE * BASE.seq_len,
    )[0]


def _dynamic_ntk(model: Transformer) -> dict[str, Any]:
    """Let the base grow with every byte beyond the old length: the numbers of `_cached`."""

    def frequencies_at(seq_len: int) -> Tensor:
        return scaling.dynamic_ntk(
            BASE.head_dim, BASE.base, factor=1.0, seq_len=seq_len, max_seq_len=BASE.seq_len
        )[0]

    return _cached(model, frequencies_at)


def _cached(model: Transformer, frequencies_at) -> dict[str, Any]:
    """Decode byte by byte from the old length to four times it, where frequencies change.

    `positions`: of the bytes that are foretold; and their mean loss with each key as it was turned
    when it came (`stale`), with all keys turned anew at each step and states left as they were
    (`turned`), with everything computed anew at each step (`fresh`), and with the frequencies of
    the final length from the first byte on (`constant`).
    """
    length = MIDDLE * BASE.seq_len
    texts = _texts(length)[: CACHE["texts"]]
    decoding = Decoding(model, texts, frequencies_at, prefill=BASE.seq_len)
    positions = list(range(BASE.seq_len, length + 1, CACHE["stride"]))
    every = slice(None, None, CACHE["stride"])
    constant = losses(with_rotary(model, frequencies_at(length)), texts)
    by_position = {
        "stale": decoding.with_cache(turn_anew=False)[:, every],
        "turned": decoding.with_cache(turn_anew=True)[:, every],
        "fresh": decoding.without_cache(positions),
        "constant": constant[:, BASE.seq_len - 1 :][:, every],
    }
    return {"positions": positions} | {k: v.mean(dim=0) for k, v in by_position.items()}
