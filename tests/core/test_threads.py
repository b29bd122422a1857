"""One `RotaryEmbedding` shared by threads: each gets the rotation that it asked for."""

import sys
import threading

import pytest
import torch

from ropelib import RotaryEmbedding, decoding, embedding, inv_freq, reference

THREADS, STEPS = 8, 3000
every_layout = pytest.mark.parametrize("layout", ["interleaved", "half"])


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(x, position, layout):
    return reference.rotate(x, [position], inv_freq(8), layout=layout)


def is_right(rotated, expected):
    return (rotated.double() - expected).abs().max().item() < 1e-5


class Interruption:
    """Let something else happen at one chosen instruction of the module, as a thread would."""

    def __init__(self, instruction, happens):
        self.left, self.happens = instruction, happens

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, _):
        if frame.f_code.co_filename not in (embedding.__file__, decoding.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == -1:
                self.happens()
        return self.trace


@every_layout
@pytest.mark.parametrize(
    ("before", "there"), [(None, 40), (3, 40), (40, 3)], ids=["first", "again", "both arrive"]
)
def test_a_step_that_is_interrupted_anywhere_is_right(layout, before, there):
    q = randn(1, 2, 1, 8)
    mine, other = exact(q, 3, layout), exact(q, there, layout)
    instruction = 0
    while True:
        rotary = RotaryEmbedding(8, layout=layout)
        if before is not None:
            rotary(q, q, offset=before)
        interfered = []
        with Interruption(
            instruction, lambda r=rotary, i=interfered: i.append(r(q, q, offset=there))
        ):
            rotated = rotary(q, q, offset=3)
        assert all(is_right(x, mine) for x in rotated), instruction
        if not interfered:
            break
        assert all(is_right(x, other) for x in interfered[0]), instruction
        # What the interruption left behind serves whoever comes next.
        assert is_right(rotary(q, q, offset=3)[0], mine), instruction
        assert is_right(rotary(q, q, offset=there)[1], other), instruction
        instruction += 1
    assert instruction > 50


def test_threads_that_share_a_module_are_all_right(layout="half"):
    rotary, errors = RotaryEmbedding(8, layout=layout), []
    q = randn(THREADS, 1, 2, 1, 8)
    rotated = [[] for _ in range(THREADS)]
    start = threading.Barrier(THREADS)

    def decode(thread):
        try:
            start.wait()
            for step in range(STEPS):
                rotated[thread].append(rotary(q[thread], q[thread], offset=7 * thread + step)[0])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=decode, args=(t,)) for t in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
    for thread in range(THREADS):
        positions = range(7 * thread, 7 * thread + STEPS)
        repeated = q[thread].expand(1, 2, STEPS, 8)
        expected = reference.rotate(repeated, positions, inv_freq(8), layout=layout)
        # In float32 and at these positions the right rotation is within 1e-6 of the oracle.
        wrong = (torch.cat(rotated[thread], dim=-2) - expected).abs().amax((0, 1, 3)) > 1e-5
        assert not wrong.any(), wrong.nonzero().flatten().tolist()
