"""What there is to say about a configuration, in words."""

import math
from itertools import pairwise

from ropelib.checks import escaped, printable, shown
from ropelib.config.rope_config import RopeConfig

_LISTED = 16  # indices of layers on one line


def report(config: RopeConfig) -> str:
    """Return what there is to say about a rotation, as lines of text that end with a verdict.

    Args:
        config: the rotation.

    Returns:
        Text to print.

    Raises:
        TypeError: if `config` is no `RopeConfig`.
        ValueError: inside `FakeTensorMode`, whose tensors hold no numbers.

    Example:
        >>> config = RopeConfig(head_dim=128, rotary_dim=128, base=10_000.0, layout="half",
        ...                     max_seq_len=4096)
        >>> print(report(config).splitlines()[-1].split("; ")[0])
        Verdict: 18 of 64 pairs never complete a turn
        >>> print(report(config).splitlines()[-1].split("; ")[1])
        by the cosine bound its base carries 1706 of the 4096 tokens.
    """
    if not isinstance(config, RopeConfig):
        raise TypeError(f"config must be a RopeConfig, got {shown(config)}")
    facts = config.describe()
    num_pairs = config.rotary_dim // 2
    name = printable(facts["model_type"] or "model of no stated type")
    lines = [f"{name}, {printable(facts['layer_type'])} layers" if facts["layer_type"] else name]

    def line(label: str, text: object) -> None:
        lines.append(f"  {label:<17}{text}")

    unknown = f"not known for model_type {name}: give layout= to from_hf"
    line("layout", facts["layout"] or unknown)
    still = facts["still_pairs"]
    turning = num_pairs - still
    which = ", the first of each half" if still and facts["layout"] == "half" else ""
    pairs = f" ({turning} of {num_pairs} pairs)" if still else f", {num_pairs} pairs"
    line("rotates", f"{2 * turning} of {facts['head_dim']} dimensions{which}{pairs}")
    if facts["rotating_layers"] is not None:
        line("layers", _which_layers(facts["rotating_layers"], facts["num_layers"]))
    elif facts["num_layers"] is not None:
        line("layers", f"the file does not tell which of {facts['num_layers']} rotate")
    line("base", f"{facts['base']:g}")
    line("scaling", f"{facts['rope_type']}: {facts['in_words']}")
    if facts["attention_factor"] != 1:
        line("attention factor", f"{facts['attention_factor']:.6g}, on cos and on sin")
    if facts["softmax_factor"] != 1:
        line("softmax factor", f"{facts['softmax_factor']:.6g}, on the scale, outside the tables")
    line(
        "wavelengths",
        f"{facts['shortest_wavelength']:.4g} to {facts['longest_wavelength']:.4g} tokens",
    )
    line("bfloat16", f"keeps integer positions distinct up to {facts['bfloat16_positions']}")
    for sentence in facts["assumed"]:
        line("assumed", escaped(sentence))
    if facts["max_seq_len"] is None:
        return "\n".join([*lines, "Verdict: no length is stated, so none can be judged."])
    line("longest sequence", f"{facts['max_seq_len']} tokens")
    if (reach := _reach(config)) is not None and not math.isclose(reach, config.max_seq_len):
        stated = f"max_position_embeddings says {config.max_seq_len}"
        stretched = f"factor times original_max_position_embeddings is {reach:.10g} tokens"
        line("stretched to", f"{stretched}; {stated}")
    incomplete = facts["incomplete_pairs"]
    verdict = (
        f"{incomplete} of {num_pairs} pairs never complete a turn"
        + (f" ({still} of them stand still)" if still else "")
        if incomplete
        else "all pairs complete a turn"
    )
    first_negative = facts["first_negative_distance"]
    searched = facts["distances_searched"]
    where = "nowhere negative" if first_negative is None else f"negative first at {first_negative}"
    carried = "all" if first_negative is None else f"{first_negative - 1} of the"
    if first_negative is None and searched < facts["max_seq_len"]:
        where, carried = f"not negative up to {searched}", f"at least {searched} of the"
    line("cosine sum", f"{where}, before scaling")
    bound = f"by the cosine bound its base carries {carried} {facts['max_seq_len']} tokens"
    return "\n".join([*lines, f"Verdict: {verdict}; {bound}."])


def _which_layers(rotating: list[int], count: int) -> str:
    """Say how many layers rotate so, and which: they, or the others where those are fewer."""
    others = [i for i in range(count) if i not in set(rotating)]
    text = f"{len(rotating)} of {count} rotate so"
    if not rotating or not others:
        return text
    if len(others) < len(rotating):
        return f"{text}: all but {_listed(others)}, counted from 0"
    return f"{text}: {_listed(rotating)}, counted from 0"


def _listed(layers: list[int]) -> str:
    """Write indices that rise: evenly spaced ones by their step, others one by one."""
    steps = {after - before for before, after in pairwise(layers)}
    if len(layers) > 3 and len(steps) == 1:
        every = "" if steps == {1} else f" in steps of {steps.pop()}"
        return f"{layers[0]} to {layers[-1]}{every}"
    shown = ", ".join(map(str, layers[:_LISTED]))
    more = len(layers) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def _reach(config: RopeConfig) -> float | None:
    """Return how far YaRN stretches, tokens; None for other rules."""
    if config.rope_type != "yarn":
        return None
    return config.scaling["factor"] * config.original_max_seq_len
