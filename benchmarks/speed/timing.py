"""Rounds in random order, in each of which a copy of the same bytes is timed too; and memory."""

import gc
import math
import random
import time
from collections.abc import Callable, Mapping

from torch.profiler import ProfilerActivity, profile

LEAST, MOST = 7, 15  # rounds that a candidate takes part in
TRIES = 3  # calls of which the fastest tells how often to repeat
SHORT = 0.002  # seconds: what takes less is repeated until it takes as long


def seconds(
    calls: Mapping[str, Callable[[], object]],
    budget: float,
    before: Mapping[str, Callable[[], None]] | None = None,
) -> dict[str, list]:
    """Time calls in rounds, each round in another random order.

    Each call has its share of the budget, and so takes part in as many rounds as it can, 7 at least
    and 15 at most. A slow one sits out rounds between, and not the last ones: a machine that warms
    up would else be another for it.

    Args:
        calls: what to time, by name; each has been called before.
        budget: seconds for all.
        before: by name, what to do before each measurement of a call.

    Returns:
        For each name its seconds in each round, None for a round without it.
    """
    before = before or {}

    def once(name, repeats):
        before.get(name, _nothing)()
        return _once(calls[name], repeats)

    # A call that met the system at work is not told by one: too few repeats would time a cold one.
    single = {name: min(once(name, 1) for _ in range(TRIES)) for name in calls}
    repeats = {name: max(1, math.ceil(SHORT / max(t, 1e-7))) for name, t in single.items()}
    share = budget / len(calls)
    rounds = {
        name: min(MOST, max(LEAST, int(share / max(t * repeats[name], 1e-7))))
        for name, t in single.items()
    }
    found = {name: [None] * max(rounds.values()) for name in calls}
    gc.collect()
    gc.disable()
    try:
        for i in range(max(rounds.values())):
            present = [name for name in calls if takes_part(i, rounds[name], max(rounds.values()))]
            for name in random.sample(present, len(present)):
                found[name][i] = float(f"{once(name, repeats[name]):.5g}")
    finally:
        gc.enable()
    return found


def takes_part(index: int, rounds: int, of: int) -> bool:
    """Say whether a call that takes part in some rounds takes part in this one: evenly spread.

    Args:
        index: of the round, from 0.
        rounds: that the call takes part in.
        of: how many rounds there are.
    """
    return (index + 1) * rounds // of > index * rounds // of


def _nothing() -> None:
    pass


def _once(call: Callable[[], object], repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the most memory that a call held at a time, above what was there before.

    These are the allocations of torch as its profiler reports them: what a call returns is among
    them, what an allocator keeps for later is not.

    Args:
        call: what to look at.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        kept = call()
    del kept
    held = peak = 0
    events = watched.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak
