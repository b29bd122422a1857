"""Decode token by token where frequencies depend on the length: what to do with older keys."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from ropebook.experiments.encodings import with_rotary
from ropebook.experiments.transformer import Layer, Transformer
from ropelib import apply_rotary, cos_sin
from ropelib.attention import attend
from ropelib.encodings import NoPosition


class Decoding:
    """Texts, read by a RoPE model whose frequencies depend on how long the text is.

    The first `prefill` tokens are read at once, with the frequencies of that length; then each
    token in its turn, at position p with the frequencies of p + 1 tokens.

    Args:
        model: trained; each of its layers rotates, and all of each head.
        texts: `(num_texts, length)`.
        frequencies_at: from a length in tokens to `(num_pairs,)`, rad/token.
        prefill: tokens read at once, from 1 to `length - 1`.

    Raises:
        ValueError: if `prefill` is another number.
    """

    def __init__(
        self,
        model: Transformer,
        texts: Tensor,
        frequencies_at: Callable[[int], Tensor],
        *,
        prefill: int,
    ):
        if not 1 <= prefill < texts.shape[1]:
            raise ValueError(f"prefill must be 1 to {texts.shape[1] - 1} tokens, got {prefill}")
        self.model, self.texts = model, texts
        self.frequencies_at, self.prefill = frequencies_at, prefill

    @torch.no_grad()
    def with_cache(self, *, turn_anew: bool) -> Tensor:
        """Return the loss of each token after the prefill, `(num_texts, length - prefill)`.

        Args:
            turn_anew: whether the cache holds keys as they were before any turn, and every step
                turns all of them by its frequencies; else a key stays as it was turned at first.
        """
        caches = [[] for _ in self.model.layers]
        scores = [self._step(caches, 0, self.prefill, turn_anew)]
        for position in range(self.prefill, self.texts.shape[1] - 1):
            scores.append(self._step(caches, position, position + 1, turn_anew))
        return _losses(torch.stack(scores, dim=1), self.texts[:, self.prefill :])

    @torch.no_grad()
    def without_cache(self, positions: list[int]) -> Tensor:
        """Return the loss of the tokens at some positions, `(num_texts, len(positions))`.

        Each is foretold from all before it, read anew with the frequencies of that length: no key
        and no state is older than the frequencies.

        Args:
            positions: from `prefill` on.
        """
        scores = []
        for position in positions:
            model = with_rotary(self.model, self.frequencies_at(position))
            scores.append(model(self.texts[:, :position])[:, -1])
        return _losses(torch.stack(scores, dim=1), self.texts[:, positions])

    def _step(self, caches: list[list], start: int, stop: int, turn_anew: bool) -> Tensor:
        """Read tokens start .. stop - 1; return the scores of the token after them."""
        inv_freq = self.frequencies_at(stop)
        x = self.model.embedding(self.texts[:, start:stop])
        for layer, cache in zip(self.model.layers, caches, strict=True):
            x = x + _attention(layer, layer.norm_attention(x), cache, inv_freq, turn_anew)
            x = x + layer.mlp(layer.norm_mlp(x))
        return self.model.to_scores(self.model.norm(x[:, -1]))


def _attention(layer: Layer, x: Tensor, cache: list, inv_freq: Tensor, turn_anew: bool) -> Tensor:
    """Return what attention adds to the newest words; their keys and values go into `cache`."""

    def turned(x: Tensor, start: int) -> Tensor:
        tables = cos_sin(torch.arange(start, start + x.shape[-2]), inv_freq)
        return apply_rotary(x, *tables, layout=layer.encoding.rotary.layout)

    past = cache[0].shape[-2] if cache else 0
    q, k, v = layer.project(x)
    q, k = turned(q, past), k if turn_anew else turned(k, past)
    if cache:
        k, v = (torch.cat(pair, dim=-2) for pair in zip(cache, (k, v), strict=True))
    cache[:] = k, v
    output, _ = attend(NoPosition(), q, turned(k, 0) if turn_anew else k, v, causal=True)
    return layer.to_out(output.transpose(-3, -2).flatten(-2))


def _losses(scores: Tensor, token_ids: Tensor) -> Tensor:
    return F.cross_entropy(scores.transpose(1, 2), token_ids, reduction="none").double()
