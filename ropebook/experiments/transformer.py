"""A tiny Transformer that takes any position encoding of `ropelib.encodings`."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.attention import attend
from ropelib.encodings import PositionEncoding


class Layer(nn.Module):
    """One layer: the words look at each other, then each word thinks by itself.

    `x + attention(norm(x))`, then `x + mlp(norm(x))`; only the attention sees more than one word.

    Args:
        model_dim: width of a word's vector, a multiple of `num_heads`.
        num_heads: number of heads.
        encoding: the position encoding; its `embed` is not called here.
        causal: whether a word sees no later word.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is not positive, or `model_dim` not a multiple of `num_heads`.

    Example:
        >>> from ropelib.encodings import NoPosition
        >>> Layer(8, 2, NoPosition())(torch.zeros(3, 8)).shape
        torch.Size([3, 8])
    """

    def __init__(
        self, model_dim: int, num_heads: int, encoding: PositionEncoding, *, causal: bool = False
    ):
        super().__init__()
        checks.integer("model_dim", model_dim, 1)
        checks.num_heads(num_heads)
        if model_dim % num_heads:
            raise ValueError(
                f"model_dim must be a multiple of num_heads, got {model_dim} and {num_heads}"
            )
        self.num_heads, self.encoding, self.causal = num_heads, encoding, causal
        self.to_qkv = nn.Linear(model_dim, 3 * model_dim, bias=False)
        self.to_out = nn.Linear(model_dim, model_dim, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(model_dim, 4 * model_dim), nn.GELU(), nn.Linear(4 * model_dim, model_dim)
        )
        self.norm_attention, self.norm_mlp = nn.LayerNorm(model_dim), nn.LayerNorm(model_dim)

    def forward(self, x: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the words' new vectors.

        Args:
            x: `(..., seq_len, model_dim)`.
            position_ids: `(seq_len,)` or `(batch, seq_len)`, tokens; 0, 1, 2, ... unless given.

        Returns:
            Like `x`.
        """
        x = x + self.attention(self.norm_attention(x), position_ids)
        return x + self.mlp(self.norm_mlp(x))

    def attention(self, x: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return what attention adds to each word: `(..., seq_len, model_dim)`."""
        q, k, v = self.project(x)
        output, _ = attend(
            self.encoding, q, k, v, key_position_ids=position_ids, causal=self.causal
        )
        return self.to_out(output.transpose(-3, -2).flatten(-2))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each `(..., num_heads, seq_len, head_dim)`."""
        parts = self.to_qkv(x).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)
        return tuple(part.transpose(-3, -2) for part in parts)


class Transformer(nn.Module):
    """Embeddings, a stack of layers, and one score per vocabulary entry at each word.

    Args:
        vocab_size: number of different tokens.
        model_dim: width of a word's vector, a multiple of `num_heads`.
        num_heads: number of heads per layer.
        num_layers: number of layers.
        encoding: a position encoding, shared by all layers, or a list of one for each layer: for
            encodings with parameters of their own, and for layers that differ, as where every
            fourth has `NoPosition`. What is added to the embeddings is added once, by that of the
            first layer.
        causal: whether a word sees no later word.

    Raises:
        TypeError: if `encoding` is neither an encoding nor a list of them, or a size is not an
            integer.
        ValueError: if a size is not positive, `model_dim` is not a multiple of `num_heads`, there
            is not one encoding per layer, or one after the first would add to the embeddings.

    Example:
        >>> from ropelib.encodings import NoPosition
        >>> model = Transformer(10, model_dim=8, num_heads=2, num_layers=1, encoding=NoPosition())
        >>> model(torch.tensor([[3, 1, 4]])).shape
        torch.Size([1, 3, 10])
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        model_dim: int,
        num_heads: int,
        num_layers: int,
        encoding: PositionEncoding | Sequence[PositionEncoding],
        causal: bool = False,
    ):
        super().__init__()
        checks.integer("vocab_size", vocab_size, 1)
        checks.integer("num_layers", num_layers, 1)
        encodings = _one_per_layer(encoding, num_layers)
        self.embedding = nn.Embedding(vocab_size, model_dim)
        self.layers = nn.ModuleList(
            Layer(model_dim, num_heads, its_own, causal=causal) for its_own in encodings
        )
        self.norm = nn.LayerNorm(model_dim)
        self.to_scores = nn.Linear(model_dim, vocab_size, bias=False)

    def forward(self, token_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the scores of every vocabulary entry at every word, before the softmax.

        Args:
            token_ids: whole numbers below `vocab_size`, `(seq_len,)` or `(batch, seq_len)`.
            position_ids: `(seq_len,)` or `(batch, seq_len)`, tokens; 0, 1, 2, ... unless given.

        Returns:
            `(..., seq_len, vocab_size)`.

        Raises:
            TypeError: if `token_ids` are not whole numbers.
        """
        return self.to_scores(self.norm(self.states(token_ids, position_ids)))

    def states(self, token_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the words' vectors after the last layer, `(..., seq_len, model_dim)`.

        Raises:
            TypeError: if `token_ids` are not whole numbers.
        """
        checks.whole_numbers("token_ids", token_ids)
        if position_ids is None:
            position_ids = torch.arange(token_ids.shape[-1], device=token_ids.device)
        x = self.layers[0].encoding.embed(self.embedding(token_ids), position_ids)
        for layer in self.layers:
            x = layer(x, position_ids)
        return x


def _one_per_layer(
    encoding: PositionEncoding | Sequence[PositionEncoding], num_layers: int
) -> list[PositionEncoding]:
    if isinstance(encoding, PositionEncoding):
        return [encoding] * num_layers
    if not isinstance(encoding, list | tuple) or not all(
        isinstance(its_own, PositionEncoding) for its_own in encoding
    ):
        rule = "a PositionEncoding or a list of one per layer"
        raise TypeError(f"encoding must be {rule}, got {checks.shown(encoding)}")
    if len(encoding) != num_layers:
        raise ValueError(
            f"encoding must have one per layer, got {len(encoding)} for {num_layers} layers"
        )
    first = encoding[0]
    for number, its_own in enumerate(encoding):
        if its_own is not first and type(its_own).embed is not PositionEncoding.embed:
            raise ValueError(
                f"encoding[{number}], {type(its_own).__name__}, must not add to the embeddings: "
                "only that of the first layer does"
            )
    return list(encoding)
