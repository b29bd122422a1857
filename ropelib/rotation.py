"""Rotary position embedding: exact tables, the rotation, its two layouts, a module."""

import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_batchedtensor, is_legacy_batchedtensor
from torch._subclasses import FakeTensor
from torch.autograd.forward_ad import unpack_dual

from ropelib import frequencies
from ropelib.checks import shown
from ropelib.frequencies import check_head_dim, check_rotary_dim
from ropelib.memory import overlaps, overlaps_itself

_LAYOUTS = ("interleaved", "half")
_SETTINGS = ("head_dim", "rotary_dim", "base", "attention_factor", "layout")  # of a module
_LOW_PRECISION = (torch.bfloat16, torch.float16)
_FULL_PRECISION = (torch.float32, torch.float64)
_FLOATS = (*_LOW_PRECISION, *_FULL_PRECISION)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_KNOW_FLOAT64 = ("cpu", "cuda", "meta")  # for any other device the CPU computes, as for Apple's MPS
_FLOAT64_END = 2**53  # from here on float64 skips whole numbers, and float32 from 2**24 on
_FLOAT32_END = 2**24
_BLOCK = 2**19  # elements that one core's cache holds
_FEW = 2**18  # elements up to which operations are dear and memory is cheap
_MAX_ROWS = 2**18  # of a module's table: 128 MiB for 64 pairs
_ENDLESS = 2**40  # tokens: longer than anything a scaling rule could tell from longer still


def cos_sin(
    position_ids: Tensor | np.ndarray | Sequence,
    inv_freq: Tensor,
    *,
    attention_factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Return the cosine and the sine of the angle of each pair at each position.

    `angles[..., s, i] = position_ids[..., s] * inv_freq[i]`, multiplied, reduced and evaluated in
    float64; only the result is rounded to `dtype`. In float32 an angle near 1000000 rad is known to
    0.03 rad at best, and its cosine no better; in float64 an angle is known to 1.1e-16 of its size.
    On a device without float64, as Apple's MPS, the CPU computes, and the result is moved.

    Args:
        position_ids: integer or real, any sign, `(seq_len,)` or `(batch, seq_len)`, tokens.
        inv_freq: `(num_pairs,)`, rad/token, float64. float32 is taken as it is, so its rounding
            error (up to 6e-8 of the frequency) grows with the position.
        attention_factor: multiplies both tables, as YaRN asks for.
        dtype: of the tables, float32 or float64.

    Returns:
        `(cos, sin)`, each `(..., seq_len, num_pairs)`, on the device of `position_ids`, or of
        `inv_freq` where they are no tensor.

    Raises:
        TypeError: if `position_ids` are bool, complex, of low precision or no numbers, `inv_freq`
            is no tensor, its dtype or `dtype` is neither float32 nor float64, or `attention_factor`
            is no real number.
        ValueError: if a shape is wrong, a position or a frequency is not finite, a position is
            2**53 or more in size (2**24 in float32, which skips whole numbers from there on), an
            angle may be 2**53 rad or more, or `attention_factor` is not positive or not within
            float32. Values inside a tensor are not looked at where that is impossible (while
            `torch.compile` traces, on the "meta" device) or would make a GPU wait (integers there).

    Source:
        RoFormer (Su et al., arXiv:2104.09864), the entries of equation 15.

    Example:
        >>> cos, sin = cos_sin([0, 1, 1_000_000], frequencies.inv_freq(4))
        >>> cos
        tensor([[ 1.0000,  1.0000],
                [ 0.5403,  0.9999],
                [ 0.9368, -0.9522]])
    """
    end = _check_inv_freq(inv_freq)
    if dtype not in _FULL_PRECISION:
        raise TypeError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
    attention_factor = _checked_attention_factor(attention_factor)
    device = (position_ids if isinstance(position_ids, Tensor) else inv_freq).device
    position_ids = _checked_positions(position_ids, end)
    inv_freq = inv_freq.to(_computes_for(device))
    return _tables(position_ids, inv_freq, attention_factor, device=device, dtype=dtype)


def apply_rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: str,
    seq_dim: int = -2,
    out: Tensor | None = None,
) -> Tensor:
    """Rotate each pair of dimensions of `x` by its angle.

    A pair `(x, y)` becomes `(x * cos - y * sin, x * sin + y * cos)`; dimensions after the last
    pair pass through unchanged.

    Args:
        x: `(..., seq_len, head_dim)`, bfloat16, float16, float32 or float64, any strides. The
            sequence is axis `seq_dim`, always: nothing is inferred from sizes.
        cos: from `cos_sin`, `(seq_len, num_pairs)` for all of `x`, or `(batch, seq_len, num_pairs)`
            for an `x` of shape `(batch, num_heads, seq_len, head_dim)`. Nothing else broadcasts.
        sin: like `cos`.
        layout: "interleaved" pairs dimensions (2i, 2i + 1), "half" pairs (i, i + num_pairs).
        seq_dim: axis of the sequence. A tensor `(batch, seq_len, num_heads, head_dim)` needs 1 or
            -3; with -2 it is refused, except where num_heads happens to equal seq_len: that cannot
            be told apart, and is rotated by head instead of by token.
        out: where to write, of the shape, dtype and device of `x`. It may be `x` itself, which is
            then rotated in place, but must not otherwise share memory with `x`, `cos` or `sin`, nor
            with itself, as an expanded tensor does.

    Returns:
        Tensor like `x`, or `out`. float64 is computed in float64 and all else in float32, with
        one rounding to the dtype of `x` at the end.

    Raises:
        TypeError: if `x`, a table or `out` is no tensor, `x` is none of its four dtypes, a table is
            neither float32 nor float64, or `seq_dim` is not an integer.
        ValueError: if shapes or devices do not fit, `layout` is unknown, `seq_dim` is no axis of
            `x` or its last, `out` does not fit `x` or shares memory as it must not, or `out` is
            given where a gradient would have to flow or inside `torch.vmap`.

    Convention:
        Position m rotates counterclockwise by m * inv_freq. Gradients flow to `x` (backward is the
        rotation by the negative angle and stores nothing but the tables), and to `cos` and `sin`.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 34.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> apply_rotary(x, *cos_sin([0, 1], frequencies.inv_freq(2)), layout="interleaved")
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    _check_layout("layout", layout)
    if seq_dim != -2:
        x = _sequence_before_last("x", x, seq_dim)
        if out is None:
            return apply_rotary(x, cos, sin, layout=layout).movedim(-2, seq_dim)
        turned = _sequence_before_last("out", out, seq_dim)
        apply_rotary(x, cos, sin, layout=layout, out=turned)
        return out
    _check_tables(x, cos, sin)
    if out is not None:
        _check_out(out, x, cos, sin)
    if cos.dim() == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)  # (batch, 1, seq_len, num_pairs)
    # A compiler fuses plain operations better than it follows buffers.
    if torch.compiler.is_compiling():
        rotated = _rotate_plainly(x, cos, sin, layout)
    elif x.numel() <= _FEW and not x.requires_grad:
        rotated = _rotate_few(x, *_factors(x, cos, sin, layout))
    elif _has_gradient(cos) or _has_gradient(sin):
        rotated = _rotate_plainly(x, cos, sin, layout)
    elif out is None:
        rotated = _rotate(x, cos, sin, layout)
    else:
        return _rotate_into(out, x, cos, sin, layout)
    return rotated if out is None else out.copy_(rotated)


def convert_layout(x: Tensor, *, source: str, target: str, rotary_dim: int | None = None) -> Tensor:
    """Move each pair of dimensions from where layout `source` has it to where `target` has it.

    Rotating in one layout and converting equals converting and rotating in the other.

    Args:
        x: `(..., head_dim)`, any dtype.
        source: "interleaved" or "half", the layout of `x`.
        target: the layout of the result.
        rotary_dim: leading dimensions that form pairs; all of `head_dim` unless given. The rest
            stays where it is.

    Returns:
        New tensor like `x`, the same numbers in other places.

    Raises:
        TypeError: if `x` is no tensor or `rotary_dim` is not an integer.
        ValueError: if a layout is unknown, `x` has no axis, or `rotary_dim` is odd, not positive or
            above `head_dim`.

    Example:
        >>> convert_layout(torch.arange(6), source="half", target="interleaved")
        tensor([0, 3, 1, 4, 2, 5])
    """
    _check_layout("source", source)
    _check_layout("target", target)
    _check_tensor("x", x)
    if not x.dim():
        raise ValueError("x must be (..., head_dim), got shape ()")
    rotary_dim = _rotary_dim_of(x.shape[-1], rotary_dim)
    pairs = _split_pairs(x[..., :rotary_dim], source)
    return torch.cat((_join_pairs(*pairs, target), x[..., rotary_dim:]), dim=-1)


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
        base: of the frequencies.
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
        base: float = 10_000.0,
        inv_freq: Tensor | None = None,
        attention_factor: float = 1.0,
        layout: str,
    ):
        super().__init__()
        check_head_dim(head_dim)
        _check_layout("layout", layout)
        if inv_freq is None:
            rotary_dim = _rotary_dim_of(head_dim, rotary_dim)
            inv_freq = frequencies.inv_freq(rotary_dim, base)
        else:
            _check_inv_freq(inv_freq)
            if base != 10_000.0:
                raise ValueError(f"give base or inv_freq, not both, got base {shown(base)}")
            if rotary_dim not in (None, 2 * len(inv_freq)):
                raise ValueError(
                    f"rotary_dim must be twice the length of inv_freq, got {shown(rotary_dim)} "
                    f"and {len(inv_freq)} frequencies"
                )
            base, rotary_dim = None, _rotary_dim_of(head_dim, 2 * len(inv_freq))
        self.head_dim = int(head_dim)
        self.rotary_dim = rotary_dim
        self.base = base
        self.attention_factor = _checked_attention_factor(attention_factor)
        self.layout = layout
        self.config = None
        self._inv_freq = inv_freq.detach().cpu().double().clone()
        self._end = _check_inv_freq(self._inv_freq)
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
            TypeError: as the constructor, if the configuration is wrong.
            ValueError: likewise.

        Example:
            >>> from types import SimpleNamespace
            >>> config = SimpleNamespace(head_dim=8, layout="half")
            >>> config.inv_freq = lambda seq_len=None: frequencies.inv_freq(8) / 4
            >>> config.attention_factor = lambda seq_len=None: 1.0
            >>> RotaryEmbedding.from_config(config)
            RotaryEmbedding(8, rotary_dim=8, inv_freq=0.25..0.00025, layout='half')
        """
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
        if seq_dim != -2:
            q, k = (_sequence_before_last(*x, seq_dim) for x in (("q", q), ("k", k)))
            rotated = self.forward(q, k, position_ids, offset=offset, seq_len=seq_len)
            return tuple(x.movedim(-2, seq_dim) for x in rotated)
        for name, x in (("q", q), ("k", k)):
            _check_tensor(name, x)
            if x.dim() < 2 or x.shape[-1] != self.head_dim:
                raise ValueError(
                    f"{name} must have head_dim {self.head_dim}, got shape {tuple(x.shape)}"
                )
        offset = _checked_integer("offset", offset)
        if seq_len is not None:
            seq_len = _checked_integer("seq_len", seq_len)
            if seq_len <= 0:
                raise ValueError(f"seq_len must be positive, got {shown(seq_len)}")
        dtype = torch.float64 if torch.float64 in (q.dtype, k.dtype) else torch.float32
        if position_ids is not None:
            if offset:
                raise ValueError(
                    f"give position_ids or offset, not both, got offset {shown(offset)}"
                )
            position_ids = _shared_row(_checked_positions(position_ids, self._end), q, k)
            cos, sin = self._compute(position_ids, seq_len, device=q.device, dtype=dtype)
            if _is_step(q, k):
                _check_tables(q, cos, sin)
                cos, sin = (t.unsqueeze(1) if t.dim() == 3 else t for t in (cos, sin))
                return _rotate_together(q, k, *_factors(q, cos, sin, self.layout))
        else:
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
            seq_len = max(stop, 1) if seq_len is None else seq_len
            if _is_step(q, k):
                return self._step(q, k, offset, seq_len, dtype=dtype)
            cos, sin = self._rows(offset, stop, seq_len, device=q.device, dtype=dtype)
        _check_batch(q, k)
        return (
            apply_rotary(q, cos, sin, layout=self.layout),
            apply_rotary(k, cos, sin, layout=self.layout),
        )

    def _step(self, q: Tensor, k: Tensor, position: int, seq_len: int, *, dtype):
        """Rotate one position, by what all layers of a model need that share this module."""
        key = (position, seq_len, dtype, q.device)
        # Read once: another thread may put its own step there at any moment.
        last = self._last_step
        if last is None or last[0] != key:
            cos, sin = self._rows(position, position + 1, seq_len, device=q.device, dtype=dtype)
            last = key, _factors(q, cos, sin, self.layout)
            if _may_be_kept(last[1][0]):
                self._last_step = last
        return _rotate_together(q, k, *last[1])

    def _rows(self, start: int, stop: int, seq_len: int, *, device, dtype) -> tuple[Tensor, Tensor]:
        """Return cos and sin of positions start .. stop - 1, from the table where there is one."""
        if _is_traced(device) or self.config is not None or start < 0 or stop > _MAX_ROWS:
            position_ids = torch.arange(start, stop, device=_computes_for(device))
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
                position_ids = torch.arange(min(2 * stop, _MAX_ROWS), device=_computes_for(device))
                table = self._compute(position_ids, seq_len, device=device, dtype=dtype)
            if _may_be_kept(table[0]):
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
            attention_factor = _checked_attention_factor(self.config.attention_factor(seq_len))
            _check_inv_freq(inv_freq)
            inv_freq = inv_freq.to(_computes_for(device))
        return _tables(position_ids, inv_freq, attention_factor, device=device, dtype=dtype)

    def _frequencies(self, device: torch.device) -> Tensor:
        """Return the frequencies where the tables for `device` are computed."""
        device = _computes_for(device)
        if device.type == "cpu":
            return self._inv_freq
        found = self._inv_freq_on.get(device)
        if found is None and _is_traced(device):
            return self._inv_freq.to(device)
        if found is None:
            with torch.inference_mode(False):
                found = self._inv_freq.to(device)
            if _may_be_kept(found):
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


class _Rotation(torch.autograd.Function):
    """The rotation, whose derivative is a rotation: all that backward needs are the tables."""

    @staticmethod
    def forward(x, cos, sin, layout):
        return _rotate_into(torch.empty_like(x), x, cos, sin, layout)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, cos, sin, ctx.layout = inputs
        ctx.save_for_backward(cos, sin)
        ctx.save_for_forward(cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return _rotate(grad, cos, -sin, ctx.layout), None, None, None  # R^T = R(-angle)

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _rotate(tangent, *ctx.saved_tensors, ctx.layout)

    @staticmethod
    def vmap(info, in_dims, x, cos, sin, layout):
        return torch.vmap(_rotate_plainly, in_dims)(x, cos, sin, layout), 0


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    # Gradients in batches (`is_grads_batched`, `jacobian(vectorize=True)`) pass by the vmap above.
    way = _rotate_plainly if is_legacy_batchedtensor(x) else _Rotation.apply
    return way(x, cos, sin, layout)


def _rotate_plainly(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate by operations that torch can differentiate, batch and compile."""
    rotary_dim = 2 * cos.shape[-1]
    dtype = _compute_dtype(x)
    cos, sin = cos.to(dtype), sin.to(dtype)
    turns, rest = x.split((rotary_dim, x.shape[-1] - rotary_dim), dim=-1)
    a, b = _split_pairs(turns.to(dtype), layout)
    turned = _join_pairs(a * cos - b * sin, a * sin + b * cos, layout)
    return torch.cat((turned.to(x.dtype), rest), dim=-1)


def _rotate_few(x: Tensor, *factors: Tensor) -> Tensor:
    """Rotate by as few operations as can be: for a step of decoding their number is the cost."""
    rotary_dim = factors[0].shape[-1] * (3 - len(factors))
    turns = x if rotary_dim == x.shape[-1] else x[..., :rotary_dim]
    wide = _cast(turns, _compute_dtype(x))
    if len(factors) == 1:
        pairs = torch.complex(wide[..., 0::2], wide[..., 1::2])
        turned = torch.view_as_real(pairs * factors[0]).flatten(-2)
    else:
        cos, sin = factors
        turned = torch.addcmul(wide * cos, wide.roll(rotary_dim // 2, -1), sin)
    turned = _cast(turned, x.dtype)
    return turned if turns is x else torch.cat((turned, x[..., rotary_dim:]), dim=-1)


def _rotate_together(q: Tensor, k: Tensor, *factors: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate by the same operations, each of which costs more than its arithmetic."""
    both = _rotate_few(torch.cat((q, k), dim=-3), *factors)
    return both.split_with_sizes((q.shape[-3], k.shape[-3]), dim=-3)


def _factors(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> tuple[Tensor, ...]:
    """Return what `_rotate_few` multiplies `x` by."""
    dtype = _compute_dtype(x)
    cos, sin = _cast(cos, dtype), _cast(sin, dtype)
    if layout == "interleaved":
        return (torch.complex(cos, sin),)
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def _rotate_into(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate fast, into `out`, which may be `x`."""
    num_pairs = cos.shape[-1]
    dtype = _compute_dtype(x)
    cos, sin = cos.to(dtype), sin.to(dtype)
    # One complex table turns neighbors; cos and sin turn dimensions that lie apart.
    tables = (torch.complex(cos, sin),) if layout == "interleaved" else (cos, sin)
    tables = [table.expand(*x.shape[:-1], num_pairs) for table in tables]
    _rotate_blocks(out[..., : 2 * num_pairs], x[..., : 2 * num_pairs], *tables)
    out[..., 2 * num_pairs :].copy_(x[..., 2 * num_pairs :])
    return out


def _rotate_blocks(out: Tensor, x: Tensor, *tables: Tensor) -> None:
    """Rotate all dimensions of `x` into `out`, block by block where `x` overflows the cache."""
    if x.is_cpu and x.dim() > 1 and x.numel() > _BLOCK:
        count = math.ceil(x.numel() / _BLOCK)
        tensors = (out, x, *tables)
        parts = [t.unbind() if count >= len(x) else t.chunk(count) for t in tensors]
        for block in zip(*parts, strict=True):
            _rotate_blocks(*block)
    elif x.dtype in _LOW_PRECISION or (len(tables) == 1 and not _are_complex(x, out)):
        scratch = x.to(_compute_dtype(x), copy=True, memory_format=torch.contiguous_format)
        _rotate_blocks(scratch, scratch, *tables)
        out.copy_(scratch)
    elif len(tables) == 1:
        torch.mul(_as_complex(x), tables[0], out=_as_complex(out))
    else:
        cos, sin = tables
        (first, second), (out_first, out_second) = x.chunk(2, dim=-1), out.chunk(2, dim=-1)
        # Where out is x, the old first half is still needed while the new one is computed.
        new_first = torch.mul(first, cos).addcmul_(second, sin, value=-1)
        torch.mul(second, cos, out=out_second).addcmul_(first, sin)
        out_first.copy_(new_first)


def _as_complex(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _are_complex(*tensors: Tensor) -> bool:
    """Say whether neighbors lie in memory as complex numbers do."""
    return all(
        x.stride(-1) == 1 and all(n % 2 == 0 for n in (*x.stride()[:-1], x.storage_offset()))
        for x in tensors
    )


def _split_pairs(x: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    """Return the first and the second of each pair, both `(..., num_pairs)`."""
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, dim=-1)


def _join_pairs(first: Tensor, second: Tensor, layout: str) -> Tensor:
    if layout == "interleaved":
        # What flattens the last two axes, but for gradients that come in batches.
        return torch.stack((first, second), -1).reshape(*first.shape[:-1], 2 * first.shape[-1])
    return torch.cat((first, second), dim=-1)


def _compute_dtype(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Do as `to` does, which takes a microsecond to find that there is nothing to do."""
    return x if x.dtype == dtype else x.to(dtype)


def _has_gradient(table: Tensor) -> bool:
    """Say whether a derivative with respect to `table` is wanted, backward or forward."""
    return table.requires_grad or unpack_dual(table).tangent is not None


def _rotary_dim_of(head_dim: int, rotary_dim: int | None) -> int:
    if rotary_dim is None and head_dim % 2:
        raise ValueError(f"head_dim must be even where all of it rotates, got {head_dim}")
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    check_rotary_dim(rotary_dim, head_dim)
    return _checked_integer("rotary_dim", rotary_dim)


def _computes_for(device: torch.device) -> torch.device:
    """Return where the tables for `device` are computed, in float64."""
    return device if device.type in _KNOW_FLOAT64 else torch.device("cpu")


def _tables(
    position_ids: Tensor, inv_freq: Tensor, attention_factor: float, *, device, dtype
) -> tuple[Tensor, Tensor]:
    """Return cos and sin for `device`; the frequencies are already where that is computed."""
    position_ids = position_ids.to(inv_freq.device).double()
    angles = position_ids.unsqueeze(-1) * inv_freq.double()  # (..., seq_len, 1) * (num_pairs,)
    return (
        (angles.cos() * attention_factor).to(dtype).to(device),
        (angles.sin() * attention_factor).to(dtype).to(device),
    )


def _is_traced(device: torch.device) -> bool:
    """Say whether operations are recorded, so that what they make is not there to be kept."""
    return torch.compiler.is_compiling() or (
        device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    )


def _may_be_kept(table: Tensor) -> bool:
    """Say whether a table has numbers, and not only for as long as some mode or graph lasts."""
    return type(table) is Tensor and not _is_traced(table.device)


def _sequence_before_last(name: str, x: Tensor, seq_dim: int) -> Tensor:
    """Return `x` with its sequence as axis -2, where it always is from there on."""
    _check_tensor(name, x)
    seq_dim = _checked_integer("seq_dim", seq_dim)
    if not -x.dim() <= seq_dim < x.dim() - 1 or seq_dim == -1:
        raise ValueError(
            f"seq_dim must be an axis of {name} before its last, got {shown(seq_dim)} for shape "
            f"{tuple(x.shape)}"
        )
    return x.movedim(seq_dim, -2)


def _checked_positions(position_ids: Tensor | np.ndarray | Sequence, end: float) -> Tensor:
    """Return positions as a tensor, on the CPU where they were none, or refuse them."""
    if not isinstance(position_ids, Tensor):
        position_ids = torch.as_tensor(_array_of_positions(position_ids), device="cpu")
    if position_ids.dtype in _LOW_PRECISION:
        raise TypeError(
            f"position_ids must be integers, float32 or float64, got {position_ids.dtype}, which "
            "cannot tell positions apart: 0..8191 in bfloat16 are only 897 distinct places"
        )
    if position_ids.dtype not in _INTEGERS + _FULL_PRECISION:
        raise TypeError(f"position_ids must be integer or real, got {position_ids.dtype}")
    if position_ids.dim() not in (1, 2):
        raise ValueError(
            "position_ids must be (seq_len,) or (batch, seq_len), "
            f"got shape {tuple(position_ids.shape)}"
        )
    _check_size_of_positions(position_ids, end)
    return position_ids


def _array_of_positions(position_ids: np.ndarray | Sequence) -> np.ndarray:
    """Return positions as an array that torch can read, on its own memory.

    By way of NumPy, because torch would read a list of floats in float32.
    """
    try:
        array = np.array(position_ids)
    except ValueError as error:
        raise ValueError(
            "position_ids must be (seq_len,) or (batch, seq_len), got rows of different lengths: "
            f"{reprlib.repr(position_ids)}"
        ) from error
    if array.dtype.kind not in "biufc":
        raise TypeError(
            "position_ids must be integer or real, in at most 64 bits, got "
            f"{reprlib.repr(position_ids)}"
        )
    if array.dtype in (np.uint64, np.longdouble):
        return array.astype(np.float64)  # exact for every position that is not refused
    if array.dtype.kind == "u":
        return array.astype(np.int64)
    return array.astype(array.dtype.newbyteorder("="))


def _shared_row(position_ids: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Return positions `(1, seq_len)` as `(seq_len,)`, and refuse rows that are not the batch."""
    if position_ids.dim() != 2:
        return position_ids
    if len(position_ids) == 1:
        return position_ids[0]
    for name, x in (("q", q), ("k", k)):
        if x.dim() != 4 or len(x) != len(position_ids):
            raise ValueError(
                f"position_ids must be (seq_len,), (1, seq_len) or, where {name} is (batch, "
                f"num_heads, seq_len, head_dim), (batch, seq_len), got "
                f"{tuple(position_ids.shape)} for {name} of shape {tuple(x.shape)}"
            )
    return position_ids


def _is_step(q: Tensor, k: Tensor) -> bool:
    """Say whether `q` and `k` are one position each, small, and may be laid side by side."""
    return (
        q.dim() == k.dim() > 2
        and q.shape[-2] == k.shape[-2] == 1
        and q.shape[:-3] == k.shape[:-3]
        and (q.dtype, q.device) == (k.dtype, k.device)
        and q.dtype in _FLOATS
        and q.numel() <= _FEW
        and not (q.requires_grad or k.requires_grad or torch.compiler.is_compiling())
    )


def _check_layout(name: str, layout: str) -> None:
    if layout not in _LAYOUTS:
        raise ValueError(f'{name} must be "interleaved" or "half", got {layout!r}')


def _check_tensor(name: str, x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {reprlib.repr(x)}")


def _checked_integer(name: str, value: int) -> int:
    """Return an integer as one of Python's: sums of NumPy's wrap around."""
    if type(value) is int or isinstance(value, torch.SymInt):
        return value
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    return int(value)


def _check_inv_freq(inv_freq: Tensor) -> float:
    """Return the first position for which float64 does not know itself or its largest angle."""
    _check_tensor("inv_freq", inv_freq)
    if inv_freq.dtype not in _FULL_PRECISION:
        raise TypeError(f"inv_freq must be float64 or float32, got {inv_freq.dtype}")
    if inv_freq.dim() != 1:
        raise ValueError(f"inv_freq must be (num_pairs,), got shape {tuple(inv_freq.shape)}")
    if not (len(inv_freq) and _has_values(inv_freq)):
        return _FLOAT64_END
    largest = inv_freq.abs().max().item()
    if not math.isfinite(largest):
        raise ValueError(f"inv_freq must be finite, got {inv_freq}")
    if largest >= _FLOAT64_END:
        raise ValueError(
            f"inv_freq must be less than 2**53 rad/token, from where on float64 knows no angle, "
            f"got {largest}"
        )
    return _FLOAT64_END / max(largest, 1)


def _checked_attention_factor(attention_factor: float) -> float:
    if not isinstance(attention_factor, Real) or isinstance(attention_factor, bool):
        raise TypeError(f"attention_factor must be a real number, got {shown(attention_factor)}")
    if not 0 < attention_factor < math.inf:
        raise ValueError(
            f"attention_factor must be positive and finite, got {shown(attention_factor)}"
        )
    float32 = torch.finfo(torch.float32)
    if not float32.tiny <= attention_factor <= float32.max:
        raise ValueError(
            f"attention_factor must be between {float32.tiny:.3g} and {float32.max:.3g}, as tables "
            f"in float32 are, got {shown(attention_factor)}"
        )
    return float(attention_factor)  # a tensor cannot be multiplied by a fraction


def _has_values(tensor: Tensor) -> bool:
    """Say whether the numbers in a tensor can be looked at."""
    return not (
        _is_traced(tensor.device)
        or tensor.is_meta
        or isinstance(tensor, FakeTensor)
        or is_batchedtensor(tensor)
    )


def _check_size_of_positions(position_ids: Tensor, end: float) -> None:
    if not position_ids.numel() or not _has_values(position_ids):
        return
    if position_ids.is_floating_point():
        size = position_ids.abs().max().item()
    elif position_ids.is_cpu:
        low, high = position_ids.aminmax()
        size = max(-low.item(), high.item())
    else:  # the GPU would have to be waited for
        return
    if not math.isfinite(size):
        raise ValueError(f"position_ids must be finite, got {position_ids}")
    if position_ids.dtype == torch.float32 and size >= _FLOAT32_END:
        raise ValueError(
            f"position_ids in float32 must be less than 2**24 in size, from where on float32 skips "
            f"whole numbers, got {size:.0f}; give integers or float64"
        )
    if size >= end:
        raise ValueError(
            f"position_ids must be less than {end:.4g} in size, where float64 knows their angles, "
            f"got {size}"
        )


def _check_batch(q: Tensor, k: Tensor) -> None:
    if q.dim() != k.dim() or q.shape[:-3] != k.shape[:-3]:
        raise ValueError(
            "q and k must have the same axes before their heads, "
            f"got {tuple(q.shape)} and {tuple(k.shape)}"
        )


def _check_tables(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    for name, tensor in (("x", x), ("cos", cos), ("sin", sin)):
        _check_tensor(name, tensor)
    if x.dtype not in _FLOATS:
        raise TypeError(f"x must be bfloat16, float16, float32 or float64, got {x.dtype}")
    if cos.shape != sin.shape or cos.dtype != sin.dtype:
        raise ValueError(
            "cos and sin must have the same shape and dtype, "
            f"got {tuple(cos.shape)} {cos.dtype} and {tuple(sin.shape)} {sin.dtype}"
        )
    if cos.dtype not in _FULL_PRECISION:
        raise TypeError(f"cos and sin must be float32 or float64, got {cos.dtype}")
    if not x.device == cos.device == sin.device:
        raise ValueError(
            f"x, cos and sin must be on one device, got {x.device}, {cos.device}, {sin.device}"
        )
    if x.dim() < 2:
        raise ValueError(f"x must be (..., seq_len, head_dim), got shape {tuple(x.shape)}")
    if cos.dim() not in (2, 3):
        raise ValueError(
            "cos and sin must be (seq_len, num_pairs) or (batch, seq_len, num_pairs), "
            f"got shape {tuple(cos.shape)}"
        )
    if cos.dim() == 3 and (x.dim() != 4 or len(x) != len(cos)):
        raise ValueError(
            "cos and sin per batch need x of shape (batch, num_heads, seq_len, head_dim) with the "
            f"same batch, got cos {tuple(cos.shape)} and x {tuple(x.shape)}"
        )
    seq_len, num_pairs = cos.shape[-2:]
    if x.shape[-2] != seq_len:
        message = f"x of shape {tuple(x.shape)} has seq_len {x.shape[-2]}, cos and sin {seq_len}"
        if x.dim() > 2 and x.shape[-3] == seq_len:
            message += "; is x (batch, seq_len, num_heads, head_dim)? Then pass seq_dim=-3"
        raise ValueError(message)
    if not 0 < 2 * num_pairs <= x.shape[-1]:
        raise ValueError(
            f"rotary_dim must be positive and at most head_dim, got {2 * num_pairs} from cos and "
            f"sin with head_dim {x.shape[-1]}"
        )


def _check_out(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> None:
    _check_tensor("out", out)
    for name in ("shape", "dtype", "device"):
        if getattr(out, name) != getattr(x, name):
            raise ValueError(
                f"out must have the {name} of x, got {getattr(out, name)} for {getattr(x, name)}"
            )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (out, x, cos, sin)):
        raise ValueError(
            "out was given while out, x, cos or sin requires grad: "
            "no gradient flows through out; leave it out or use torch.no_grad()"
        )
    if torch.compiler.is_compiling() or out.is_meta or isinstance(out, FakeTensor):
        return
    if any(map(is_batchedtensor, (out, x, cos, sin))):
        raise ValueError("out was given inside torch.vmap, which does not say where it lies")
    _check_overlap(out, x, cos, sin)


def _check_overlap(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> None:
    if overlaps_itself(out):
        raise ValueError(
            "out must have memory of its own for each element, got an expanded or overlapping view "
            f"of shape {tuple(out.shape)} and strides {out.stride()}"
        )
    steps = zip(out.stride(), x.stride(), x.shape, strict=True)
    is_x = out.data_ptr() == x.data_ptr() and all(a == b for a, b, size in steps if size > 1)
    if not is_x and overlaps(out, x):
        raise ValueError("out must be x itself or lie in other memory, got another view of it")
    for name, table in (("cos", cos), ("sin", sin)):
        if overlaps(out, table):
            raise ValueError(f"out must not share memory with {name}, which is still to be read")
