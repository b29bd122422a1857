"""RoPE whose hands can be held back, one by one: for asking which of them breaks a model."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ropelib import apply_rotary, checks, cos_sin
from ropelib.encodings import PositionEncoding, Rotary
from ropelib.encodings.base import signed_distance


class HeldRotary(PositionEncoding):
    """RoPE with pairs that stand still, count for nothing, or see far keys at an old distance.

    With nothing held it is `Rotary`. The pairs are neighbors, layout "interleaved".

    Args:
        inv_freq: `(num_pairs,)`, rad/token, float64; two dimensions of the head for each.
        trained: tokens that the model saw in training; distances 0 to `trained - 1` are old.
        frozen: pairs that do not turn at all.
        dropped: pairs that add nothing to any score.
        clipped: pairs whose angle at every distance from `trained` on is that at `trained - 1`. A
            score of an old distance stays what it is, here and in what follows.
        folded: pairs that see every key from distance `trained` on at an old distance,
            `folded_to[n % len(folded_to)]` for a key at n: each pair has old angles there, and
            pairs that are folded together have old angles together.
        folded_to: neighboring distances below `trained`; the last half of them unless given.
        folded_at: "new" or "old", to fold a pair only where its own angle would be one that
            training never showed, or only where it would be one that it did; all unless given.
        window: how many keys a query sees, itself and those before; all of them unless given.
        sharpened: whether a query at m >= `trained` multiplies its scores by
            `log(m + 1) / log(trained)`, against the number of keys.

    Raises:
        TypeError: if `trained` or `window` is not an integer.
        ValueError: if one is too small, a pair does not exist, is named twice, or is both clipped
            and folded, or `folded_to` or `folded_at` is none of those named above.

    Convention:
        Distances are counted back here, m - n. At a new one, the part of pairs that see the key at
        distance r instead is `q^T R(-r * inv_freq) k`.

    Example:
        >>> from ropelib import inv_freq
        >>> q = k = torch.ones(4, 2)
        >>> held = HeldRotary(inv_freq(2), trained=2, clipped=[0])
        >>> places = torch.arange(4), torch.arange(4)
        >>> held.score_bias(*held.rotate(q, k, *places), *places)[3, 0] > 2
        tensor(True)
    """

    def __init__(
        self,
        inv_freq: Tensor,
        *,
        trained: int,
        frozen: Sequence[int] = (),
        dropped: Sequence[int] = (),
        clipped: Sequence[int] = (),
        folded: Sequence[int] = (),
        folded_to: range | None = None,
        folded_at: str | None = None,
        window: int | None = None,
        sharpened: bool = False,
    ):
        super().__init__()
        checks.integer("trained", trained, 2)
        if window is not None:
            checks.integer("window", window, 1)
        held = {"frozen": frozen, "dropped": dropped, "clipped": clipped, "folded": folded}
        held["clipped and folded together"] = [*clipped, *folded]
        for name, pairs in held.items():
            if len({*pairs}) < len(pairs) or not {*pairs} <= {*range(len(inv_freq))}:
                raise ValueError(
                    f"{name} must name pairs from 0 to {len(inv_freq) - 1}, each once, "
                    f"got {checks.shown(list(pairs))}"
                )
        to = range(trained // 2, trained // 2 * 2) if folded_to is None else folded_to
        if not to or to.step != 1 or to.start < 0 or to.stop > trained:
            raise ValueError(
                f"folded_to must be a range in steps of 1 within 0 to {trained - 1}, got {to}"
            )
        if folded_at not in (None, "new", "old"):
            raise ValueError(
                f'folded_at must be "new", "old" or None, got {checks.shown(folded_at)}'
            )
        self.folded_to, self.folded_at = to, folded_at
        self.trained, self.window, self.sharpened = trained, window, sharpened
        self.dropped, self.clipped, self.folded = list(dropped), list(clipped), list(folded)
        self.inv_freq = inv_freq.clone()
        self.inv_freq[list(frozen)] = 0
        self.rotary = Rotary(2 * len(inv_freq), inv_freq=self.inv_freq)

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys turned, those of dropped pairs zero, and queries sharpened."""
        q, k = self.rotary.rotate(q, k, position_ids, key_position_ids)
        if self.dropped:
            q = q.index_fill(-1, _dimensions(self.dropped).to(q.device), 0)
        if self.sharpened:
            factor = (position_ids + 1).to(q.dtype).log() / math.log(self.trained)
            q = q * factor.clamp(min=1)[..., None]
        return q, k

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor | None:
        """Return what is new in the scores of new distances; minus infinity beyond the window."""
        if not self.clipped and not self.folded and self.window is None:
            return None
        back = -signed_distance(position_ids, key_position_ids)
        bias = torch.zeros_like(back, dtype=q.dtype)
        if self.clipped:
            at, keys_at = self.trained - 1, torch.zeros_like(key_position_ids)
            bias = bias + self._change(
                self.clipped, q, k, position_ids, key_position_ids, at, keys_at
            )
        if self.folded:
            at, keys_at = self.folded_to.start, -(key_position_ids % len(self.folded_to))
            for pairs in [self.folded] if self.folded_at is None else [[i] for i in self.folded]:
                change = self._change(pairs, q, k, position_ids, key_position_ids, at, keys_at)
                if self.folded_at is not None:
                    old = self._old_angle(pairs[0], back)
                    change = change.masked_fill(old if self.folded_at == "new" else ~old, 0)
                bias = bias + change
        bias = bias.masked_fill(back < self.trained, 0)
        if self.window is not None:
            bias = bias.masked_fill(back >= self.window, -math.inf)
        return bias

    def _old_angle(self, pair: int, back: Tensor) -> Tensor:
        """Return where a pair's angle is one of those that it went through in training."""
        angle = back.double() * self.inv_freq[pair].double()
        return angle % math.tau <= (self.trained - 1) * self.inv_freq[pair].item()

    def _change(self, pairs, q, k, position_ids, key_position_ids, at, keys_at) -> Tensor:
        """Return some pairs' part with queries and keys moved to other places, less as it is."""
        dimensions, inv_freq = _dimensions(pairs).to(q.device), self.inv_freq[pairs]
        q, k = q[..., dimensions], k[..., dimensions]
        moved_q = _turned(q, at - position_ids, inv_freq)
        moved_k = _turned(k, keys_at - key_position_ids, inv_freq)
        change = moved_q @ moved_k.transpose(-2, -1) - q @ k.transpose(-2, -1)
        return self.scale(self.rotary.rotary.head_dim) * change


def _turned(x: Tensor, position_ids: Tensor, inv_freq: Tensor) -> Tensor:
    return apply_rotary(x, *cos_sin(position_ids, inv_freq, dtype=x.dtype), layout="interleaved")


def _dimensions(pairs: Sequence[int]) -> Tensor:
    return torch.tensor([d for pair in pairs for d in (2 * pair, 2 * pair + 1)])
