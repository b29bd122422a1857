"""One query and one key in the plane, turned by their positions."""

import math

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import FloatInRange, InDisc, IntInRange

_MAX_POSITION = 24
_MAX_LENGTH = 2.0


class RotationExplorer(RopeWidget, folder="rotation_explorer"):
    """Turn q by m * theta and k by n * theta and watch the score, which sees only n - m.

    Position m rotates (x, y) counterclockwise by m * theta; q_m . k_n = q^T R((n - m) theta) k.

    Args:
        theta: turn per token, in [0, pi] rad/token; default pi / 6, twelve tokens to a turn.
        m: position of the query, an integer in [0, 24], tokens.
        n: position of the key, an integer in [0, 24], tokens.
        q: the query before its turn, [x, y], of length at most 2.
        k: the key before its turn, [x, y], of length at most 2.
        keep_distance: whether the widget's sliders move m and n together. Values set from Python
            are taken as they are.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> explorer = RotationExplorer(theta=0.5, m=3, n=7)
        >>> before = explorer.score
        >>> explorer.m, explorer.n = 11, 15
        >>> abs(explorer.score - before) < 1e-12
        True
    """

    theta = FloatInRange(math.pi / 6, low=0, high=math.pi, said="[0, pi]", unit="rad per token")
    m = IntInRange(3, low=0, high=_MAX_POSITION, unit="tokens")
    n = IntInRange(7, low=0, high=_MAX_POSITION, unit="tokens")
    q = InDisc([1.3, 0.4], radius=_MAX_LENGTH)
    k = InDisc([0.9, -1.0], radius=_MAX_LENGTH)
    keep_distance = traitlets.Bool(False).tag(sync=True)
    max_position = traitlets.Int(_MAX_POSITION, read_only=True).tag(sync=True)
    max_length = traitlets.Float(_MAX_LENGTH, read_only=True).tag(sync=True)

    @property
    def q_rotated(self) -> tuple[float, float]:
        """The query after its turn by m * theta."""
        return self._rotated(self.q, self.m)

    @property
    def k_rotated(self) -> tuple[float, float]:
        """The key after its turn by n * theta."""
        return self._rotated(self.k, self.n)

    @property
    def score(self) -> float:
        """q_m . k_n, the score that attention sees (unscaled)."""
        (qx, qy), (kx, ky) = self.q_rotated, self.k_rotated
        return qx * kx + qy * ky

    @property
    def angle_between(self) -> float:
        """Angle between the rotated vectors in [0, pi], rad; NaN where one has length zero."""
        (qx, qy), (kx, ky) = self.q_rotated, self.k_rotated
        if not any(self.q) or not any(self.k):
            return math.nan
        return math.atan2(abs(qx * ky - qy * kx), qx * kx + qy * ky)

    def _rotated(self, vector: list[float], position: int) -> tuple[float, float]:
        import torch

        from ropelib import apply_rotary, cos_sin

        turn_per_token = torch.tensor([self.theta], dtype=torch.float64)
        cos, sin = cos_sin(torch.tensor([position]), turn_per_token, dtype=torch.float64)
        x = torch.tensor([vector], dtype=torch.float64)
        return tuple(apply_rotary(x, cos, sin, layout="interleaved")[0].tolist())
