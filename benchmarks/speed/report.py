"""What was found, as tables to read."""

from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap

from ropebook.experiments.speed import COPY, Run, quartiles

OURS = "ropelib"
NO_PEERS = ("clone", "Python alone")
WIDTH = 14  # of a column of ratios


def told(run: Run, title: str) -> str:
    """Return a run as text.

    Args:
        run: what ran side by side.
        title: what it was.

    Returns:
        A table of all candidates, this library's beside each peer of its layout, and who is
        missing.
    """
    layouts = dict.fromkeys(row.get("layout") for row in run.rows)
    parts = [_head(run)]
    for layout in layouts:
        parts += [*_table(run, layout), *_beside(run, layout)]
    return "\n".join([title, *parts, *_missing(run), ""])


def _head(run: Run) -> str:
    low, middle, high = quartiles(run.seconds(COPY))
    unit, scale = _unit(run)
    return (
        f"  one copy: {scale * middle:.4g} {unit} [{scale * low:.4g} .. {scale * high:.4g}], "
        f"{len(run.row(COPY)['seconds'])} rounds"
    )


def _unit(run: Run) -> tuple[str, float]:
    return ("ms", 1e3) if quartiles(run.seconds(COPY))[1] > 1e-3 else ("us", 1e6)


def _table(run: Run, layout: str | None) -> Iterator[str]:
    unit, scale = _unit(run)
    yield (
        f"  {layout or '':40}{unit:>10} {'x copy':>8}   {'quartiles':20} {'memory':>7} {'error':>9}"
    )
    for row in _rows(run, layout):
        name = row["candidate"]
        _, seconds, _ = quartiles(run.seconds(name, layout))
        low, ratio, high = run.ratio(name, layout)
        spread = f"[{low:.2f} .. {high:.2f}]"
        memory = "-" if row.get("memory") is None else f"{row['memory']:.2f}"
        error = "-" if row.get("error") is None else f"{row['error']:.3g}"
        yield (
            f"    {name:38}{scale * seconds:10.4g} {ratio:8.2f}   {spread:20} "
            f"{memory:>7} {error:>9}"
        )


def _rows(run: Run, layout: str | None) -> list[dict]:
    return [row for row in run.rows if row.get("layout") == layout]


def _beside(run: Run, layout: str | None) -> Iterator[str]:
    """This library's time over the time of each peer of the same layout, a column each."""
    names = [row["candidate"] for row in _rows(run, layout)]
    ours = [name for name in names if name.startswith(OURS)]
    peers = [name for name in names if name not in (*ours, COPY, *NO_PEERS)]
    if not (ours and peers):
        return
    heads = zip_longest(*(wrap(name, WIDTH - 1) for name in peers), fillvalue="")
    for i, words in enumerate(heads):
        lead = "" if i else "x the time of"
        yield f"    {lead:36}" + "".join(f"{word:>{WIDTH}}" for word in words).rstrip()
    for name in ours:
        ratios = [run.ratio(name, layout, to=peer, to_layout=layout)[1] for peer in peers]
        yield f"    {name:36}" + "".join(f"{ratio:{WIDTH}.3g}" for ratio in ratios)


def _missing(run: Run) -> Iterator[str]:
    for name, reason in run.told["untimed"].items():
        yield f"  NOT TIMED {name}: {reason}"
