"""Where RoPE breaks beyond the trained length: five groups of hands, held back one at a time."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ropebook.experiments import evaluate
from ropebook.experiments.corpus import corpus
from ropebook.experiments.encodings import with_encodings
from ropebook.experiments.hands import HeldRotary
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer
from ropebook.experiments.workshop import Workshop
from ropelib.attention import attend
from ropelib.frequencies import turns

RECIPE = Recipe()
TRAINED = RECIPE.seq_len
TEXTS, LONGEST, BIN = 16, 8, 32  # texts of validation; times the trained length; bytes in a bin
MAP_BIN = 64  # bytes in a row or a column of an attention map
SMALL_TEXTS = 8  # for what is measured 32 times, or in tensors of queries by keys
PAIRS = 4000  # queries with two keys each, for what distance does to them
LENGTHS = tuple(2**k for k in range(3, 21))  # tokens

INV_FREQ = RECIPE.frequencies()[0]
# Turns within the trained length: from here on, up to the next.
EDGES = {
    "4 turns or more": 4,
    "1 to 4 turns": 1,
    "1/4 to 1 turn": 1 / 4,
    "1/16 to 1/4 turn": 1 / 16,
    "less than 1/16 turn": 0,
}


def _groups() -> dict[str, list[int]]:
    made = turns(INV_FREQ, TRAINED)
    ends = [math.inf, *EDGES.values()]
    return {
        name: ((made >= low) & (made < high)).nonzero().flatten().tolist()
        for (name, low), high in zip(EDGES.items(), ends, strict=False)
    }


GROUPS = _groups()
ALL = list(range(len(INV_FREQ)))
ALTERED: dict[str, dict[str, Any]] = {
    "as trained": {},
    "window": {"window": TRAINED},
    "all clipped": {"clipped": ALL},
    "all folded": {"folded": ALL},
    # Other old distances than those where the heads expect far keys.
    "all folded near": {"folded": ALL, "folded_to": range(TRAINED // 2)},
    "all folded anywhere": {"folded": ALL, "folded_to": range(TRAINED)},
    # Each hand only where its own angle is new, or only where it is old.
    "new angles folded": {"folded": ALL, "folded_at": "new"},
    "old angles folded": {"folded": ALL, "folded_at": "old"},
    "all folded and sharpened": {"folded": ALL, "sharpened": True},
    "sharpened": {"sharpened": True},
    **{
        f"{what}: {name}": {what: pairs}
        for what in ("frozen", "dropped", "clipped", "folded")
        for name, pairs in GROUPS.items()
    },
    # The counterpart of "folded": this group alone goes on beyond the trained length.
    **{
        f"free: {name}": {"folded": [pair for pair in ALL if pair not in pairs]}
        for name, pairs in GROUPS.items()
    },
}
CASES = (*ALTERED, "each hand", "heads")
CONFIG = {
    "recipe": RECIPE.told(),
    "groups": GROUPS,
    "texts": TEXTS,
    "longest": LONGEST,
    "bin": BIN,
    "map_bin": MAP_BIN,
    "small_texts": SMALL_TEXTS,
    "pairs": PAIRS,
    "lengths": list(LENGTHS),
}


def run(case: str, seed: int, workshop: Workshop) -> dict[str, Any]:
    """Change a trained model's hands and read its loss, or look into its heads.

    Args:
        case: one of `CASES`.
        seed: of the training; validation texts are the same for all.
        workshop: has the trained models.

    Returns:
        Numbers by name.
        Of an altered model `loss`, nats per byte in each bin of 32 positions up to eight times the
        trained length. Of "each hand" `harm`: how much the loss beyond the trained length is above
        that with all hands folded, where this hand alone is not. Of "heads" see `heads`.
    """
    model = workshop.trained(RECIPE, seed).model.cpu()
    if case == "heads":
        return _rounded(heads(model))
    texts = _texts(SMALL_TEXTS if case == "each hand" else TEXTS)
    if case == "each hand":
        return _rounded({"harm": _harm_of_each(model, texts)})
    losses = evaluate.losses(altered(model, **ALTERED[case]), texts)
    return {"loss": evaluate.in_bins(losses, BIN)}


def altered(model: Transformer, **held: Any) -> Transformer:
    """Return a copy of a model whose hands are held back in all layers.

    Args:
        model: of the study's recipe.
        **held: as `HeldRotary` takes it.
    """
    encoding = HeldRotary(INV_FREQ, trained=TRAINED, **held)
    return with_encodings(model, [encoding] * len(model.layers))


def _texts(count: int) -> Tensor:
    return corpus().windows("valid", count, LONGEST * TRAINED + 1)


def _harm_of_each(model: Transformer, texts: Tensor) -> list[float]:
    def beyond(folded: list[int]) -> float:
        return evaluate.losses(altered(model, folded=folded), texts)[:, TRAINED:].mean().item()

    none = beyond(ALL)
    return [beyond([pair for pair in ALL if pair != one]) - none for one in ALL]


def heads(model: Transformer) -> dict[str, Tensor]:
    """Return what the heads do before and after the edge; heads of layer 1 first.

    Args:
        model: of the study's recipe.

    Returns:
        Numbers by name.
        `beyond`: attention on keys of new distances, per head and bin of 32 queries; `entropy`: of
        the attention, in nats, likewise; `map`: mean attention of 64 queries on each 64 keys, per
        head; `folded_...`: the same with all hands folded; `parts`: mean score
        that each group of hands gives to keys at distances of 32 each, per head and group, from the
        last 32 queries of texts that were read through a window; `norms`: mean |q| |k| of each
        pair, per head; `nearer` and `kept`: see `ranking`, per head and length.
    """
    texts = _texts(SMALL_TEXTS)[:, :-1]
    plain, folded = (_weights(altered(model, **held), texts) for held in ({}, {"folded": ALL}))
    q, k = _queries_and_keys(altered(model, window=TRAINED), texts)
    return {
        **_before_and_after(plain),
        **{f"folded_{name}": x for name, x in _before_and_after(folded).items()},
        "parts": _parts(q, k),
        **_within(model),
    }


def _before_and_after(weights: Tensor) -> dict[str, Tensor]:
    place = torch.arange(weights.shape[-1])
    new = place[:, None] - place >= TRAINED
    in_bins = (weights * new).sum(-1).unflatten(-1, (-1, BIN)).mean(-1)
    entropy = torch.special.entr(weights).sum(-1).unflatten(-1, (-1, BIN)).mean(-1)
    rows = weights.unflatten(-1, (-1, MAP_BIN)).sum(-1).unflatten(-2, (-1, MAP_BIN)).mean(-2)
    return {"beyond": in_bins.mean(0), "entropy": entropy.mean(0), "map": rows.mean(0)}


def _layers(model: Transformer, texts: Tensor) -> Iterator[tuple]:
    """Yield each layer with its queries, keys and values."""
    place = torch.arange(texts.shape[-1])
    x = model.embedding(texts)
    for layer in model.layers:
        yield layer, *layer.project(layer.norm_attention(x))
        x = layer(x, place)


@torch.no_grad()
def _weights(model: Transformer, texts: Tensor) -> Tensor:
    """Return the attention of all heads, `(texts, heads, queries, keys)`."""
    return torch.cat(
        [
            attend(layer.encoding, q, k, v, causal=True)[1]
            for layer, q, k, v in _layers(model, texts)
        ],
        dim=1,
    )


@torch.no_grad()
def _queries_and_keys(model: Transformer, texts: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and keys of all heads, not turned yet, `(texts, heads, tokens, head_dim)`."""
    both = [(q, k) for _, q, k, _ in _layers(model, texts)]
    return tuple(torch.cat(x, dim=1) for x in zip(*both, strict=True))


def _parts(q: Tensor, k: Tensor) -> Tensor:
    """Return each group's mean share of the score at each distance, `(heads, groups, bins)`."""
    length = q.shape[-2]
    place = torch.arange(length)
    last = slice(length - BIN, length)
    back = (place[last, None] - place) // BIN
    rotary = HeldRotary(INV_FREQ, trained=TRAINED)
    q, k = rotary.rotate(q, k, place, place)
    both = (q[..., last, :].unflatten(-1, (-1, 2)), k.unflatten(-1, (-1, 2)))
    shares = torch.stack(
        [
            torch.einsum("thmpc,thnpc->hmn", *(x[..., pairs, :] for x in both))
            for pairs in GROUPS.values()
        ],
        dim=1,
    )
    shares = shares * rotary.scale(2 * len(INV_FREQ)) / len(q)
    return torch.stack([shares[..., back == i].mean(-1) for i in range(length // BIN - 1)], -1)


def _within(model: Transformer) -> dict[str, Tensor]:
    """Return what distance does to queries and keys of the trained length."""
    generator = torch.Generator().manual_seed(0)
    texts = corpus().windows("valid", PAIRS // 8, TRAINED)
    q, k = _queries_and_keys(altered(model), texts)
    at = torch.randint(TRAINED // 2, TRAINED, (len(texts), 8), generator=generator)
    other = (torch.rand(2, len(texts), 8, generator=generator) * at).long()  # before the query

    def chosen(x: Tensor, places: Tensor) -> Tensor:
        """Return vectors of some places as complex numbers, `(heads, pairs, hands)`."""
        x = x.take_along_dim(places[:, None, :, None], dim=2).movedim(1, 0).flatten(1, 2)
        return torch.view_as_complex(x.unflatten(-1, (-1, 2)).double())

    query, first, second = chosen(q, at), chosen(k, other[0]), chosen(k, other[1])
    norms = (query.abs() * first.abs()).mean(1)
    return {"norms": norms, **ranking(query.conj() * first, query.conj() * second, INV_FREQ)}


def ranking(
    first: Tensor, second: Tensor, inv_freq: Tensor, lengths: tuple[int, ...] = LENGTHS
) -> dict[str, Tensor]:
    """Return how well scores tell near from far, and one key from another, in texts of any length.

    Args:
        first: products conj(q) k of queries with a key each, `(..., count, num_pairs)`, complex.
        second: likewise, of the same queries with another key each.
        inv_freq: `(num_pairs,)`, rad/token.
        lengths: of the texts, tokens, even.

    Returns:
        Numbers by name.
        `nearer`: how often a key scores higher at a distance of the text's first half than at one
        of its second half, both drawn at random; `kept`: how often the key that scores higher at
        distance 0, of two that do not score the same, does so too at one distance drawn from the
        second half; each `(..., lengths)`.
    """
    generator = torch.Generator().manual_seed(1)
    found = {"nearer": [], "kept": []}
    for length in lengths:
        drawn = torch.randint(length // 2, (2, first.shape[-2]), generator=generator)
        near, far = (
            _scores(first, inv_freq, drawn[0]),
            _scores(first, inv_freq, drawn[1] + length // 2),
        )
        there = far - _scores(second, inv_freq, drawn[1] + length // 2)
        here = (first - second).real.sum(-1)
        found["nearer"].append((near > far).double().mean(-1))
        kept, differ = here * there > 0, here != 0  # two equal keys have no order
        found["kept"].append(kept.sum(-1) / differ.sum(-1).double())
    return {name: torch.stack(values, dim=-1) for name, values in found.items()}


def _scores(products: Tensor, inv_freq: Tensor, back: Tensor) -> Tensor:
    angles = -back[:, None] * inv_freq
    return (products * torch.polar(torch.ones_like(angles), angles)).real.sum(-1)


def _rounded(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the same with four digits: maps are long."""

    def rounded(value: Any) -> Any:
        return [rounded(x) for x in value] if isinstance(value, list) else float(f"{value:.4g}")

    return {name: rounded(torch.as_tensor(x).tolist()) for name, x in numbers.items()}
