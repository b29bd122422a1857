"""A small layer with a rotation that can be broken, and the tests that notice it or do not."""

import math
import random
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import OneOf

if TYPE_CHECKING:
    import torch

SENTENCE = ("the", "dog", "sees", "the", "cat")
HEAD_DIM = 8
# Small, so that all four hands are seen to move within five words: 1, 0.32, 0.1, 0.03 rad.
BASE = 100.0
PUSH, FAR = 7, 10_000
# What rounding in float64 does at position 10,000 is a thousand times smaller.
TOLERANCE = 1e-6
BUGS = (
    "q_sign",
    "q_seat",
    "k_sign",
    "k_seat",
    "cosines",
    "exponent",
    "width",
    "rounded",
    "from_one",
    "early",
    "values",
    "restart",
    "reread",
)
TESTS = ("length", "zero", "by_hand", "push", "alike", "cache", "far", "original")
VIEWS = {"start": 0, "pushed": PUSH, "far": FAR, "cached": 0}


def _example() -> dict[str, list[list[float]]]:
    draw = random.Random(147)

    def numbers(rows: int) -> list[list[float]]:
        return [[round(draw.uniform(-1, 1), 1) + 0.0 for _ in range(HEAD_DIM)] for _ in range(rows)]

    of_word = dict(zip(("the", "dog", "sees", "cat"), numbers(4), strict=True))
    projections = {f"w_{name}": numbers(HEAD_DIM) for name in "qkv"}
    return {"embeddings": [of_word[word] for word in SENTENCE], **projections}


EXAMPLE = _example()


class BugLamps(RopeWidget, folder="bug_lamps"):
    """Break the rotation of a small attention layer and see which tests notice.

    The layer is one head of 8 dimensions in layout "interleaved", for which its weights were made,
    and reads *the dog sees the cat*. Each switch is a bug; several may be on. Values are turned as
    keys are, where they are turned.

    Args:
        q_sign: queries turn clockwise.
        q_seat: pairs of the query are looked for as in layout "half".
        k_sign: keys turn clockwise.
        k_seat: pairs of the key are looked for as in layout "half".
        cosines: the table of cosines is doubled as the other layout needs it, so that the two
            numbers of a pair get two angles.
        exponent: frequencies are base ** (-i / d), not base ** (-2i / d).
        width: half of each head turns, as if `rotary_dim` were 4.
        rounded: positions are rounded to bfloat16.
        from_one: positions are counted from 1.
        early: the embeddings are turned, before they are projected.
        values: values are turned too.
        restart: after a cached prompt the next word is at position 0.
        reread: keys are turned a second time, by the number of their row, when the cache is read.
        view: which text the picture shows: "start" from position 0, "pushed" from 7, "far" from
            10,000, "cached" with the last word read after the others were cached.
        vector: whose hands it shows, "q", "k" or "v".

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> BugLamps().lit
        []
        >>> BugLamps(q_sign=True, k_sign=True).lit
        ['by_hand', 'original']
    """

    q_sign = traitlets.Bool(False).tag(sync=True)
    q_seat = traitlets.Bool(False).tag(sync=True)
    k_sign = traitlets.Bool(False).tag(sync=True)
    k_seat = traitlets.Bool(False).tag(sync=True)
    cosines = traitlets.Bool(False).tag(sync=True)
    exponent = traitlets.Bool(False).tag(sync=True)
    width = traitlets.Bool(False).tag(sync=True)
    rounded = traitlets.Bool(False).tag(sync=True)
    from_one = traitlets.Bool(False).tag(sync=True)
    early = traitlets.Bool(False).tag(sync=True)
    values = traitlets.Bool(False).tag(sync=True)
    restart = traitlets.Bool(False).tag(sync=True)
    reread = traitlets.Bool(False).tag(sync=True)
    view = OneOf("start", tuple(VIEWS))
    vector = OneOf("q", ("q", "k", "v"))
    sentence = traitlets.List(traitlets.Unicode(), list(SENTENCE), read_only=True).tag(sync=True)
    base = traitlets.Float(BASE, read_only=True).tag(sync=True)
    tolerance = traitlets.Float(TOLERANCE, read_only=True).tag(sync=True)
    example = traitlets.Dict(default_value=EXAMPLE, read_only=True).tag(sync=True)

    @classmethod
    def with_bugs(cls, *bugs: str) -> "BugLamps":
        """The layer with these bugs and no other.

        Args:
            *bugs: names out of `BUGS`; none for a layer that is right.

        Raises:
            ValueError: a name is none of them.

        Example:
            >>> BugLamps.with_bugs("restart").lit
            ['cache']
        """
        for bug in bugs:
            if bug not in BUGS:
                raise ValueError(f"a bug must be one of {', '.join(BUGS)}, got {bug!r}")
        return cls(**{bug: bug in bugs for bug in BUGS})

    @property
    def errors(self) -> dict[str, float]:
        """What each test measures: 0, up to rounding, where it notices nothing."""
        import torch

        plain = {side: self._plain(side) for side in "qk"}
        here, right = self._whole(0), BugLamps.with_bugs()._whole(0)
        at_zero = {side: self._made(side, [0] * 5) for side in "qk"}
        same = self._plain("q")[-1:]
        ways = [self._turned(same, [4], side) for side in "qk"]
        q, k = torch.eye(2, dtype=torch.float64)
        by_hand = self._turned(q[None], [2], "q")[0] @ self._turned(k[None], [1], "k")[0]
        found = {
            "length": [(here[s].norm(dim=-1) - plain[s].norm(dim=-1)) for s in "qk"],
            "zero": [at_zero[s] - plain[s] for s in "qk"],
            "by_hand": [by_hand - math.sin(1)],
            "push": [self._whole(PUSH)["scores"] - here["scores"]],
            "alike": [ways[0] - ways[1]],
            "cache": [self._cached()["scores"][-1] - here["scores"][-1]],
            "far": [self._whole(FAR)["scores"] - here["scores"]],
            "original": [here["output"] - right["output"]],
        }
        return {name: max(off.abs().max().item() for off in found[name]) for name in TESTS}

    @property
    def lit(self) -> list[str]:
        """The tests that notice."""
        return [name for name, error in self.errors.items() if error > TOLERANCE]

    @property
    def weights(self) -> list[float]:
        """Attention weights of the last word, in the text that the picture shows."""
        seen = self._cached() if self.view == "cached" else self._whole(VIEWS[self.view])
        return (seen["scores"][-1] / math.sqrt(HEAD_DIM)).softmax(-1).tolist()

    def _plain(self, side: str) -> "torch.Tensor":
        import torch

        x, weight = (
            torch.tensor(self.example[name], dtype=torch.float64)
            for name in ("embeddings", f"w_{side}")
        )
        return x @ weight.T

    def _made(self, side: str, positions: list[int]) -> "torch.Tensor":
        """Queries, keys or values as they enter the score or the sum, (5, 8)."""
        import torch

        if side == "v" and not self.values:
            return self._plain(side)
        if not self.early:
            return self._turned(self._plain(side), positions, side)
        x = torch.tensor(self.example["embeddings"], dtype=torch.float64)
        weight = torch.tensor(self.example[f"w_{side}"], dtype=torch.float64)
        return self._turned(x, positions, side) @ weight.T

    def _turned(self, x: "torch.Tensor", positions: list[int], side: str) -> "torch.Tensor":
        """The rotation with its bugs, float64; `x` is (words, dimensions)."""
        import torch

        from ropelib import apply_rotary, cos_sin, inv_freq

        side = "q" if side == "q" else "k"
        width = max(2, x.shape[-1] // 2) if self.width else x.shape[-1]
        base = math.sqrt(self.base) if self.exponent else self.base
        at = torch.tensor(positions, dtype=torch.float64) + self.from_one
        if self.rounded:
            at = at.bfloat16().double()
        at = -at if getattr(self, f"{side}_sign") else at
        half = getattr(self, f"{side}_seat")
        cos, sin = cos_sin(at, inv_freq(width, base), dtype=torch.float64)
        if not self.cosines:
            return apply_rotary(x, cos, sin, layout="half" if half else "interleaved")
        # Each table doubled as the other layout needs it; partners as this one has them.
        doubled = [
            t.repeat_interleave(2, -1) if half else torch.cat((t, t), -1) for t in (cos, sin)
        ]
        turning, rest = x[..., :width], x[..., width:]
        ones, zeros = torch.ones_like(cos), torch.zeros_like(cos)
        layout = "half" if half else "interleaved"
        partners = apply_rotary(turning, zeros, ones, layout=layout)
        return torch.cat((turning * doubled[0] + partners * doubled[1], rest), -1)

    def _whole(self, start: int) -> dict[str, "torch.Tensor"]:
        positions = list(range(start, start + len(SENTENCE)))
        return _attended(*(self._made(side, positions) for side in "qkv"))

    def _cached(self) -> dict[str, "torch.Tensor"]:
        """The last word alone, after the others were read."""
        positions = [0, 1, 2, 3, 0 if self.restart else 4]
        q, k, v = (self._made(side, positions) for side in "qkv")
        if self.reread:
            k = self._turned(k, list(range(len(SENTENCE))), "k")
        return _attended(q, k, v)


def _attended(q: "torch.Tensor", k: "torch.Tensor", v: "torch.Tensor") -> dict[str, "torch.Tensor"]:
    import torch

    scores = q @ k.T
    later = torch.ones_like(scores).triu(1).bool()
    weights = (scores / math.sqrt(HEAD_DIM)).masked_fill(later, -math.inf).softmax(-1)
    return {"q": q, "k": k, "v": v, "scores": scores, "output": weights @ v}
