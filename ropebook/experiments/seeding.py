"""Random numbers of experiments: the same for the same seed, and nobody else's disturbed."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch and use one thread, and leave both as they were found.

    Args:
        seed: of torch's generator.

    Example:
        >>> with seeded(0):
        ...     first = torch.rand(1)
        >>> with seeded(0):
        ...     bool(torch.rand(1) == first)
        True
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
