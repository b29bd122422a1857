"""Positions as rows of clock readings, and the dot product of two such rows."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import EvenInRange, IntInRange, OneOf, Positive

if TYPE_CHECKING:
    import torch

CODES = ("binary", "counter_waves", "transformer")
_BITS = 7
_PLACES = 128


class SinusoidExplorer(RopeWidget, folder="sinusoid_explorer"):
    """Read a position from many hands, move on by an offset, and watch the dot product.

    A hand's tip is (cos, sin), so it turns counterclockwise as the position grows; the code stores
    (sin, cos), side by side. The counter's columns are -1 and +1, lowest bit first, and seven bits
    count positions modulo 128.

    Args:
        code: `"binary"` (seven bits), `"counter_waves"` (sines and cosines with the counter's
            periods 2, 4, ..., 128) or `"transformer"` (default; wavelengths from 2 pi to almost
            base * 2 pi).
        position: row that is read, an integer in [0, 127], tokens.
        offset: from there to the other row, an integer in [-64, 64], tokens.
        pair: which hand is looked at, from 0 (fastest) to `num_pairs - 1`. A change of the code
            that leaves fewer pairs moves it to the last of them.
        model_dim: dimensions of the Transformer's code, even, in [4, 128].
        base: of the Transformer's code, finite and greater than 0.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> explorer = SinusoidExplorer(position=20, offset=5)
        >>> before = explorer.inner
        >>> explorer.position = 90
        >>> abs(explorer.inner - before) < 1e-12
        True
        >>> counter = SinusoidExplorer(code="binary", position=7, offset=1)
        >>> counter.inner, SinusoidExplorer(code="binary", position=8, offset=1).inner
        (-1.0, 5.0)
    """

    code = OneOf("transformer", CODES)
    position = IntInRange(20, low=0, high=_PLACES - 1, unit="tokens")
    offset = IntInRange(5, low=-64, high=64, unit="tokens")
    pair = traitlets.Int(3).tag(sync=True)
    model_dim = EvenInRange(32, low=4, high=128)
    base = Positive(10_000.0)

    def __init__(self, **values):
        super().__init__(**values)
        self.observe(self._keep_a_pair, ["code", "model_dim"])

    def _keep_a_pair(self, change: dict) -> None:
        self.pair = min(self.pair, self.num_pairs - 1)

    @traitlets.validate("pair")
    def _pair_of_code(self, proposal: dict) -> int:
        pair = proposal["value"]
        if not 0 <= pair < self.num_pairs:
            raise traitlets.TraitError(
                f"pair must lie in [0, {self.num_pairs - 1}] for this code, got {pair}"
            )
        return pair

    @property
    def num_pairs(self) -> int:
        """Hands of this code; for the counter, bits."""
        return self.model_dim // 2 if self.code == "transformer" else _BITS

    @property
    def inv_freq(self) -> "torch.Tensor":
        """Turn per token of every hand, rad/token, float64, (num_pairs,)."""
        import torch

        from ropelib.frequencies import inv_freq

        if self.code == "transformer":
            return inv_freq(self.model_dim, self.base)
        return 2 * math.pi / 2.0 ** torch.arange(1, _BITS + 1, dtype=torch.float64)

    @property
    def wavelengths(self) -> "torch.Tensor":
        """Tokens to a full turn of every hand, float64, (num_pairs,)."""
        from ropelib.frequencies import wavelength

        return wavelength(self.inv_freq)

    def codes(self, position_ids: "torch.Tensor | list[int]") -> "torch.Tensor":
        """Return the rows of the heat map.

        Args:
            position_ids: integers, any sign, (seq_len,), tokens.

        Returns:
            float64, (seq_len, dimensions), 7 for the counter, 2 * num_pairs for waves.

        Example:
            >>> SinusoidExplorer(code="binary").codes([6]).tolist()
            [[-1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]]
        """
        import torch

        from ropelib.encodings.sinusoidal import sinusoids
        from ropelib.rotation import cos_sin

        position_ids = torch.as_tensor(position_ids)
        if self.code == "binary":
            bits = (position_ids[:, None] >> torch.arange(_BITS)) & 1
            return (2 * bits - 1).to(torch.float64)
        if self.code == "transformer":
            return sinusoids(position_ids, self.model_dim, base=self.base, dtype=torch.float64)
        cos, sin = cos_sin(position_ids, self.inv_freq, dtype=torch.float64)
        return torch.stack((sin, cos), dim=-1).flatten(-2)

    @property
    def other(self) -> int:
        """Position of the other row, `position + offset`, tokens."""
        return self.position + self.offset

    @property
    def inner(self) -> float:
        """Inner product of the codes of `position` and `position + offset`."""
        here, there = self.codes([self.position, self.other])
        return float(here @ there)

    @property
    def curve(self) -> "torch.Tensor":
        """Inner products of the code of `position` with those at offsets -64 to 64, (129,)."""
        import torch

        return self.codes(self.position + torch.arange(-64, 65)) @ self.codes([self.position])[0]

    @property
    def elsewhere(self) -> tuple[float, float]:
        """Least and greatest dot product that this offset gives from any place in [0, 127]."""
        import torch

        places = torch.arange(_PLACES)
        products = (self.codes(places) * self.codes(places + self.offset)).sum(-1)
        return float(products.min()), float(products.max())

    @property
    def turn(self) -> float:
        """How far the chosen hand turns over the offset, `offset * inv_freq[pair]`, rad."""
        return self.offset * float(self.inv_freq[self.pair])
