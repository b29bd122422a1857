"""One query and one key in the plane, turned by their positions."""

import math

import traitlets

from ropebook.widgets.base import RopeWidget


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

    theta = traitlets.Float(math.pi / 6).tag(sync=True)
    m = traitlets.Int(3).tag(sync=True)
    n = traitlets.Int(7).tag(sync=True)
    q = traitlets.List(traitlets.Float(), [1.3, 0.4]).tag(sync=True)
    k = traitlets.List(traitlets.Float(), [0.9, -1.0]).tag(sync=True)
    keep_distance = traitlets.Bool(False).tag(sync=True)
    max_position = traitlets.Int(24, read_only=True).tag(sync=True)
    max_length = traitlets.Float(2.0, read_only=True).tag(sync=True)

    @traitlets.validate("theta")
    def _theta_in_half_turn(self, proposal: dict) -> float:
        theta = proposal["value"]
        if not 0 <= theta <= math.pi:
            raise traitlets.TraitError(f"theta must lie in [0, pi] rad per token, got {theta}")
        return theta

    @traitlets.validate("m", "n")
    def _position_on_ruler(self, proposal: dict) -> int:
        position, name = proposal["value"], proposal["trait"].name
        if not 0 <= position <= self.max_position:
            raise traitlets.TraitError(
                f"{name} must lie in [0, {self.max_position}] tokens, got {position}"
            )
        return position

    @traitlets.validate("q", "k")
    def _vector_in_disc(self, proposal: dict) -> list[float]:
        vector, name = proposal["value"], proposal["trait"].name
        if len(vector) != 2:
            raise traitlets.TraitError(f"{name} must have two coordinates, got {vector}")
        # Not "length > max": NaN has to fail as well.
        if not math.hypot(*vector) <= self.max_length:
            raise traitlets.TraitError(
                f"{name} must have length at most {self.max_length:g}, got {vector}"
            )
        return vector

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
