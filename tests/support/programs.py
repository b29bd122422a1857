"""What tests of the programs for CUDA share: where they run, what they may differ by.

They run three times: on any machine by plain operations; again under Triton's interpreter, which
`test_interpreter.py` sees to; and on a GPU where there is one.
"""

import numpy as np
import torch

from ropelib import cuda, inv_freq, reference
from ropelib.pairs import join_pairs, split_pairs

DEVICE = "cuda" if torch.cuda.is_available() and not cuda.INTERPRETED else "cpu"
RUN_PROGRAMS = cuda.takes(torch.ones(1, 2, device=DEVICE))


def oracle(x, position_ids, rotary_dim, layout):
    return reference.rotate(x.cpu(), position_ids, inv_freq(rotary_dim), layout=layout)


def assert_rounded_once(result, exact, rotary_dim, layout):
    """Equal to what is exact but for one rounding, and for float32 in between.

    Cosines, sines, products and the sum come to 2 ulp of float32 of the length of a pair.
    """
    assert result.shape == exact.shape
    result = result.cpu()
    first, second = split_pairs(exact[..., :rotary_dim], layout)
    length = join_pairs(*2 * [torch.hypot(first, second)], layout)
    kind = torch.finfo(result.dtype)
    if result.dtype == torch.float64:
        allowed = 1e-13 * length
    else:
        allowed = 2 * 2.0**-23 * length
    if result.dtype in (torch.bfloat16, torch.float16):
        binade = torch.frexp(exact[..., :rotary_dim]).exponent.double() - 1
        allowed = allowed + kind.eps / 2 * torch.exp2(binade).clamp_min(kind.smallest_normal)
    error = (result.double() - exact)[..., :rotary_dim].abs()
    assert (error <= allowed).all(), (error / allowed).max()
    assert torch.equal(result[..., rotary_dim:].double(), exact[..., rotary_dim:])


def round_to_nearest():
    """Mend the interpreter, which cuts float32 off to bfloat16, where a GPU rounds."""
    from triton.runtime import interpreter

    cut = interpreter._convert_float

    def convert(values, source, target, rounding):
        if source.name == "fp32" and target.name == "bf16":
            narrow = torch.from_numpy(np.ascontiguousarray(values)).bfloat16()
            return narrow.view(torch.int16).numpy().view(np.uint16)
        return cut(values, source, target, rounding)

    interpreter._convert_float = convert
