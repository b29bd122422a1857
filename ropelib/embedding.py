"""The rotation as a module: what it remembers from call to call, and what it must not."""

import math
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropelib import checks, cuda, devices, kernels
from ropelib.checks import shown
from ropelib.cuda import ops
from ropelib.decoding import STEPS, Steps
from ropelib.frequencies import check_head_dim, inverse_frequencies, rotary_dim_of
from ropelib.rotation import apply_rotary, exact_tables
from ropelib.tensor_checks import (
    check_batch,
    check_inv_freq,
    check_tables,
    check_tensor,
    checked_positions,
    sequence_before_last,
    shared_row,
)

MAX_ROWS = 2**18  # of a module's table: 128 MiB for 64 pairs
_SETTINGS = ("head_dim", "rotary_dim", "base", "attention_factor", "layout")
_ENDLESS = 2**40  # tokens: longer than anything a scaling rule could tell from longer still


class RotaryEmbedding(torch.nn.Module):
    """Rotate queries and keys by their positions.

    `q[..., s, :]` becomes `R(position_ids[s]) @ q[..., s, :]`, and `k` likewise.

    Frequencies and tables are no parameters and no buffers: `.to(torch.bfloat16)`, `.half()` and
    loading a state_dict cannot change them, and the tables are made on the device of `q`, or on the
    CPU for a device without float64. Frequencies are copied to a device once. Threads may share a
    module.

    Positions that follow one another (`offset`) are looked up in a table of cos and sin that starts
    at position 0 and is made anew, twice as long as needed, whenever it is too short: up to 262144
    positions, at 8 * num_pairs bytes each. All others are computed at use, and so is everything
    under `torch.compile`, which fuses it, or while a CUDA graph is captured. Either way the numbers
    are those of `cos_sin`. Settings are read once: to change one, make another module.

    Args:
        head_dim: width of one head.
        rotary_dim: leading dimensions that rotate; all of `head_dim` unless given.
        base: of the frequencies; 10000 unless it or `inv_freq` is given.
        inv_freq: `(num_pairs,)`, rad/token, float64, in place of `base` and `rotary_dim`; copied.
        attention_factor: multiplies cos and sin, and so every rotated dimension.
        layout: "interleaved" or "half", as in `apply_rotary`.

    Raises:
        TypeError: if `head_dim` or `rotary_dim` is not an integer, `base` or `attention_factor` not
            a real number, or `inv_freq` no tensor of float64 or float32.
        ValueError: if `head_dim` is not positive or above 2**20, or odd while neither `rotary_dim`
            nor `inv_freq` is given, `rotary_dim` is odd, not positive, above `head_dim` or not that
            of `inv_freq`, `base` is not positive and finite or is given together with `inv_freq`,
            `inv_freq` is not `(num_pairs,)`, not finite or 2**53 rad/token or more,
            `attention_factor` is not positive or not within float32, or `layout` is unknown.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equations 14 to 16.

    Example:
        >>> rotary = RotaryEmbedding(head_dim=64, layout="half")
        >>> q, k = torch.ones(1, 8, 5, 64), torch.ones(1, 2, 5, 64)  # 8 heads share 2 key heads
        >>> q, k = rotary(q, k)
        >>> q.shape, k.shape
        (torch.Size([1, 8, 5, 64]), torch.Size([1, 2, 5, 64]))
        >>> q, k = torch.ones(1, 8, 1, 64), torch.ones(1, 2, 1, 64)  # the token after these five
        >>> q, k = rotary(q, k, offset=5)
    """

    def __init__(
        self,
        head_dim: int,
        *,
        rotary_dim: int | None = None,
        base: float | None = None,
        inv_freq: Tensor | None = None,
        attention_factor: float = 1.0,
        layout: str,
    ):
        super().__init__()
        check_head_dim(head_dim)
        checks.layout("layout", layout)
        if inv_freq is None:
            rotary_dim = rotary_dim_of(head_dim, rotary_dim)
            base = 10_000.0 if base is None else base
            inv_freq = inverse_frequencies(rotary_dim, base)
        else:
            check_inv_freq(inv_freq)
            if base is not None:
                raise ValueError(f"give base or inv_freq, not both, got base {shown(base)}")
            if rotary_dim not in (None, 2 * len(inv_freq)):
                raise ValueError(
                    f"rotary_dim must be twice the length of inv_freq, got {shown(rotary_dim)} "
                    f"and {len(inv_freq)} frequencies"
                )
            rotary_dim = rotary_dim_of(head_dim, 2 * len(inv_freq))
        self.head_dim = int(head_dim)
        self.rotary_dim = rotary_dim
        self.base = base
        self.attention_factor = checks.attention_factor(attention_factor)
        self.layout = layout
        self.config = None
        self._inv_freq = inv_freq.detach().cpu().double().clone()
        self._end = check_inv_freq(self._inv_freq)
        self._inv_freq_on = {}
        self._table = self._last_step = None

    @classmethod
    def from_config(cls, config: Any) -> "RotaryEmbedding":
        """Return the module that a model's configuration asks for.

        Where frequencies depend on the length of the sequence (dynamic NTK, LongRoPE), every call
        computes them for its own length. Keys in a cache keep the rotation of the length at which
        they were written: after the length has changed the frequencies, scores of new queries with
        old keys no longer depend on relative position alone, and decoding with a cache is not the
        same as reading the whole text at once. Models in use do just this; to undo it, cache keys
        before their rotation.

        Args:
            config: a `RopeConfig`, or anything with its `head_dim`, `layout`, `inv_freq(seq_len)`
                and `attention_factor(seq_len)`. Frequencies depend on the length if a sequence of
                one token and one of 2**40 have different ones.

        Returns:
            Module whose `config` is `config` where the length matters, else None.

        Raises:
            TypeError: as the constructor, if the configuration is wrong or none.
            ValueError: likewise.

        Example:
            >>> from types import SimpleNamespace
            >>> config = SimpleNamespace(head_dim=8, layout="half")
            >>> config.inv_freq = lambda seq_len=None: inverse_frequencies(8) / 4
            >>> config.attention_factor = lambda seq_len=None: 1.0
            >>> RotaryEmbedding.from_config(config)
            RotaryEmbedding(8, rotary_dim=8, inv_freq=0.25..0.00025, layout='half')
        """
        asked = ("head_dim", "layout", "inv_freq", "attention_factor")
        if not all(hasattr(config, name) for name in asked):
            raise TypeError(
                "a configuration must have head_dim, layout, inv_freq(seq_len) and "
                f"attention_factor(seq_len), got {reprlib.repr(config)}"
            )
        rotary = cls(
            config.head_dim,
            inv_freq=config.inv_freq(1),
            attention_factor=config.attention_factor(1),
            layout=config.layout,
        )
        if not torch.equal(
            config.inv_freq(1), config.inv_freq(_ENDLESS)
        ) or config.attention_factor(1) != config.attention_factor(_ENDLESS):
            rotary.config = config
        return rotary

    @property
    def inv_freq(self) -> Tensor:
        """Frequencies, `(num_pairs,)`, rad/token, float64, of a short sequence; a copy."""
        return self._inv_freq.clone()

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change a setting: what was made from it for use would stay as it was."""
        if name in _SETTINGS and name in self.__dict__:
            raise AttributeError(f"{name} is read once: to change it, make another RotaryEmbedding")
        super().__setattr__(name, value)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        position_ids: Tensor | np.ndarray | Sequence | None = None,
        *,
        offset: int = 0,
        seq_len: int | None = None,
        seq_dim: int = -2,
    ) -> tuple[Tensor, Tensor]:
        """Return `q` and `k` rotated.

        Args:
            q: `(..., num_heads, seq_len, head_dim)`, or `(seq_len, head_dim)`.
            k: like `q`; its number of heads may differ.
            position_ids: `(seq_len,)`, or `(1, seq_len)`, for all rows alike, or
                `(batch, seq_len)` for rank-4 `q` and `k`, tokens. Nothing else broadcasts. Rows
                with padding on the left or with several packed sequences need them.
            offset: the first position where no `position_ids` are given, tokens; the others follow.
                For a step of decoding it is the number of tokens in the cache.
            seq_len: length that chooses the frequencies where those of `config` depend on it,
                tokens; the last position + 1 unless given, which for `position_ids` on a GPU waits
                for it, and which `torch.compile` cannot find out.
            seq_dim: axis of the sequence in `q` and `k`; 1 or -3 for tensors
                `(batch, seq_len, num_heads, head_dim)`.

        Returns:
            `(q, k)`, shapes and dtypes unchanged. Of a single position they may share memory.

        Raises:
            TypeError: if `q` or `k` is no tensor or none of the dtypes of `apply_rotary`, `offset`,
                `seq_len` or `seq_dim` is not an integer, or as `cos_sin` for `position_ids`.
            ValueError: if `q` or `k` has another `head_dim`, they differ in length, rank or batch,
                their length is not the number of positions, rows of positions are neither 1 nor
                `batch`, `offset` is given together with `position_ids` or leads to positions of
                2**53 or more, `seq_len` is not positive, `seq_dim` is no axis of theirs or the
                last, or as `cos_sin` for `position_ids`.
        """
        # What a step of decoding is was checked at the last one that was like it.
        plain = position_ids is None and seq_len is None and seq_dim == -2
        if plain and type(offset) is int and not torch.compiler.is_compiling():
            last = self._last_step  # read once: another thread may put its own there at any moment
            if last is not None and last.serve(q, k, offset):
                return last.rotate(q, k, offset)
        if seq_dim != -2:
            q, k = (sequence_before_last(*x, seq_dim) for x in (("q", q), ("k", k)))
            rotated = self.forward(q, k, position_ids, offset=offset, seq_len=seq_len)
            return tuple(x.movedim(-2, seq_dim) for x in rotated)
        for name, x in (("q", q), ("k", k)):
            check_tensor(name, x)
            if x.dim() < 2 or x.shape[-1] != self.head_dim:
                raise ValueError(
                    f"{name} must have head_dim {self.head_dim}, got shape {tuple(x.shape)}"
                )
        offset = checks.integer("offset", offset)
        if seq_len is not None:
            seq_len = checks.integer("seq_len", seq_len, 1)
        dtype = torch.float64 if torch.float64 in (q.dtype, k.dtype) else torch.float32
        if position_ids is None:
            stop = self._checked_stop(offset, q, k)
            seq_len = max(stop, 1) if seq_len is None else seq_len
            if kernels.fit_together(q, k):
                return self._step(q, k, offset, seq_len, dtype=dtype)
            cos, sin = self._rows(offset, stop, seq_len, device=q.device, dtype=dtype)
        else:
            if offset:
                raise ValueError(
                    f"give position_ids or offset, not both, got offset {shown(offset)}"
                )
            position_ids = shared_row(checked_positions(position_ids, self._end), q, k)
            cos, sin = self._compute(position_ids, seq_len, device=q.device, dtype=dtype)
            if kernels.fit_together(q, k):
                check_tables(q, cos, sin)
                cos, sin = (t.unsqueeze(1) if t.dim() == 3 else t for t in (cos, sin))
                return kernels.rotate_together(q, k, *kernels.factors_of(q, cos, sin, self.layout))
        check_batch(q, k)
        if cuda.takes(q, k, tables=(cos, sin)) and q.shape[-2:] == k.shape[-2:]:
            check_tables(q, cos, sin)
            return ops.rotate(q, k, cos, sin, self.layout)
        return (
            apply_rotary(q, cos, sin, layout=self.layout),
            apply_rotary(k, cos, sin, layout=self.layout),
        )

    def _checked_stop(self, offset: int, q: Tensor, k: Tensor) -> int:
        """Return the position after the last where they follow one another from `offset` on."""
        if q.shape[-2] != k.shape[-2]:
            raise ValueError(
                "q and k must have the same seq_len where no position_ids are given, "
                f"got {q.shape[-2]} and {k.shape[-2]}"
            )
        stop = offset + q.shape[-2]
        if not (torch.compiler.is_compiling() or -self._end < offset <= stop <= self._end):
            raise ValueError(
                f"offset must lead to positions of less than {self._end:.4g} in size, where "
                f"float64 knows their angles, got {shown(offset)}"
            )
        return stop

    def _step(self, q: Tensor, k: Tensor, position: int, seq_len: int, *, dtype):
        """Rotate one position, and keep what all layers that share this module need, and the next.

        What depends on the length of the sequence serves no other length.
        """
        first, count = position, 1
        if self.config is None and 0 <= position < MAX_ROWS and not devices.is_traced(q.device):
            first = position - position % STEPS
            count = min(STEPS, MAX_ROWS - first)
        cos, sin = self._rows(first, first + count, seq_len, device=q.device, dtype=dtype)
        steps = Steps(q, k, cos, sin, self.layout, first)
        if self.config is None and devices.may_be_kept(cos):
            self._last_step = steps
        return steps.rotate(q, k, position)

    def _rows(self, start: int, stop: int, seq_len: int, *, device, dtype) -> tuple[Tensor, Tensor]:
        """Return cos and sin of positions start .. stop - 1, from the table where there is one."""
        if devices.is_traced(device) or self.config is not None or start < 0 or stop > MAX_ROWS:
            position_ids = torch.arange(start, stop, device=devices.computes_for(device))
            return self._compute(position_ids, seq_len, device=device, dtype=dtype)
        table = self._table  # read once, as in _step
        if (
            table is None
            or len(table[0]) < stop
            or table[0].dtype != dtype
            or table[0].device != device
        ):
            # A tensor made in inference mode could never again meet one that wants a gradient.
            with torch.inference_mode(False):
                position_ids = torch.arange(
                    min(2 * stop, MAX_ROWS), device=devices.computes_for(device)
                )
                table = self._compute(position_ids, seq_len, device=device, dtype=dtype)
            if devices.may_be_kept(table[0]):
                self._table = table
        return table[0][start:stop], table[1][start:stop]

    def _compute(
        self, position_ids: Tensor, seq_len: int | None, *, device, dtype
    ) -> tuple[Tensor, Tensor]:
        """Return cos and sin of any positions."""
        if self.config is None:
            inv_freq, attention_factor = self._frequencies(device), self.attention_factor
        else:
            if seq_len is None:
                last = math.floor(position_ids.max()) if position_ids.numel() else 0
                seq_len = max(last + 1, 1)
            inv_freq = self.config.inv_freq(seq_len)
            attention_factor = checks.attention_factor(self.config.attention_factor(seq_len))
            check_inv_freq(inv_freq)
            inv_freq = inv_freq.to(devices.computes_for(device))
        return exact_tables(position_ids, inv_freq, attention_factor, device=device, dtype=dtype)

    def _frequencies(self, device: torch.device) -> Tensor:
        """Return the frequencies where the tables for `device` are computed."""
        device = devices.computes_for(device)
        if device.type == "cpu":
            return self._inv_freq
        found = self._inv_freq_on.get(device)
        if found is None and devices.is_traced(device):
            return self._inv_freq.to(device)
        if found is None:
            with torch.inference_mode(False):
                found = self._inv_freq.to(device)
            if devices.may_be_kept(found):
                self._inv_freq_on[device] = found
        return found

    def _apply(self, fn, recurse=True):
        """Put the frequencies where the module goes, before anything compiles or captures it."""
        self._frequencies(fn(torch.empty(0, device="cpu")).device)
        return super()._apply(fn, recurse)

    def __getstate__(self):
        """Leave behind what was made for use: a copy makes its own."""
        return {**self.__dict__, "_inv_freq_on": {}, "_table": None, "_last_step": None}

    def extra_repr(self) -> str:
        """Return what `print` shows between the parentheses."""
        if self.config is not None:
            made_of = f"config={self.config!r}"
        elif self.base is not None:
            made_of = f"base={self.base}"
        else:
            made_of = f"inv_freq={self._inv_freq[0]:.4g}..{self._inv_freq[-1]:.4g}"
        factor = self.attention_factor
        scaled = f", attention_factor={factor}" if factor != 1 else ""
        return (
            f"{self.head_dim}, rotary_dim={self.rotary_dim}, {made_of}{scaled}, "
            f"layout={self.layout!r}"
        )


def rerotate(
    k: Tensor,
    rotary: Any,
    *,
    by: int | Tensor | np.ndarray | Sequence,
    seq_dim: int = -2,
    out: Tensor | None = None,
) -> Tensor:
    """Move rotated keys to other positions, as when tokens before them leave a cache.

    `R(m + by) k = R(by) R(m) k`, so a key need not be kept as it was before its rotation. The angle
    of `by` is computed in float64, its cosine and sine are stored in float32, and the result is
    rounded once to the dtype of `k`: every further move adds one such rounding. What multiplied the
    keys when they were rotated, `attention_factor`, they keep, and do not get once more.

    Args:
        k: `(..., seq_len, head_dim)`, rotated, as of `apply_rotary`.
        rotary: what rotated them: a `RotaryEmbedding`, or whatever its `from_config` takes.
        by: how far they move, tokens: one integer for all, `(seq_len,)` for each token its own,
            `(batch, 1)` for each row of a rank-4 `k`, or `(batch, seq_len)`. Backward is negative.
        seq_dim: axis of the sequence in `k`.
        out: where to write, as in `apply_rotary`; it may be `k` itself.

    Returns:
        Tensor like `k`, or `out`.

    Raises:
        TypeError: if `k` is no tensor, `by` no integer and none of what `cos_sin` takes, `rotary`
            or its configuration is wrong, or as `apply_rotary`.
        ValueError: if frequencies depend on the length of the sequence (dynamic NTK, LongRoPE), so
            that keys written at one length stand at other angles than at the next; if `k` has
            another `head_dim`, `by` does not fit it, is not finite or too large, or as
            `apply_rotary`.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 16, in which only differences are left.

    Example:
        >>> rotary = RotaryEmbedding(head_dim=64, layout="half")
        >>> q, k = torch.randn(2, 1, 8, 5, 64)
        >>> _, cached = rotary(q, k, offset=100)
        >>> _, fresh = rotary(q, k)
        >>> torch.allclose(rerotate(cached, rotary, by=-100), fresh, atol=1e-5)
        True
    """
    if not isinstance(rotary, RotaryEmbedding):
        rotary = RotaryEmbedding.from_config(rotary)
    if rotary.config is not None:
        kind = getattr(rotary.config, "rope_type", type(rotary.config).__name__)
        raise ValueError(
            "rotary must have the same frequencies at every length, or keys of one length cannot "
            f"be moved at another, got rope_type {shown(kind)}"
        )
    moved = sequence_before_last("k", k, seq_dim)
    if moved.shape[-1] != rotary.head_dim:
        raise ValueError(f"k must have head_dim {rotary.head_dim}, got shape {tuple(k.shape)}")
    if isinstance(by, Tensor | np.ndarray | Sequence) and not isinstance(by, str):
        by = by.reshape(1) if isinstance(by, Tensor) and not by.dim() else by
        delta = checked_positions(by, rotary._end, "by")
    else:
        delta = checks.integer("by", by)
        if not (torch.compiler.is_compiling() or abs(delta) < rotary._end):
            raise ValueError(f"by must be less than {rotary._end:.4g} in size, got {shown(by)}")
        delta = torch.full((1,), delta, device=devices.computes_for(k.device))
    rows, seq_len = (1, *delta.shape)[-2:], moved.shape[-2]
    if rows[1] not in (1, seq_len) or (rows[0] != 1 and (k.dim() != 4 or rows[0] != len(moved))):
        raise ValueError(
            "by must be an integer, (seq_len,) or, where k is (batch, num_heads, seq_len, "
            f"head_dim), (batch, 1) or (batch, seq_len), got {tuple(delta.shape)} for k of shape "
            f"{tuple(k.shape)}"
        )
    delta = delta[0] if rows[0] == 1 and delta.dim() == 2 else delta
    dtype = torch.float64 if k.dtype == torch.float64 else torch.float32
    inv_freq = rotary._frequencies(k.device)
    tables = exact_tables(delta, inv_freq, 1.0, device=k.device, dtype=dtype)
    cos, sin = (table.expand(*table.shape[:-2], seq_len, -1) for table in tables)
    return apply_rotary(k, cos, sin, layout=rotary.layout, seq_dim=seq_dim, out=out)
