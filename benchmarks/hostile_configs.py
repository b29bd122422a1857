"""Reads random and hostile configurations; counts wrong exceptions, the longest call, the memory.

    python benchmarks/hostile_configs.py [count] [seed]

Whatever it is given, `from_hf` and `report` answer or raise ValueError or TypeError, within a
second and a few hundred megabytes.
"""

import json
import math
import os
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from ropelib.config import RopeConfig, keys, layer_types, report
from ropelib.config.gallery import GALLERY

LONGEST_CALL, MOST_MEMORY = 1.0, 300  # seconds, MB above what the imports need

NUMBERS = [
    *[0, 1, 2, 3, -1, 7, 64, 4096, 4097, 10_000, 10_001, 10**5, 10**9, 10**12, 2**63, 2**64],
    *[10**30, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.5, 64.0, 1e15, 1e30, 1e300, 1e308, 5e-324],
    *[1 + 2**-52, 1e-300, math.inf, -math.inf, math.nan, Fraction(1, 3), Fraction(10**400)],
]
OTHERS = [
    *[None, True, False, "", "x" * 10**5, "\ud800", "\x1b[2J\u202e", "64", b"64", 1j, object()],
    *[[], [[]], [None], [1.0] * 10**5, ["full_attention"] * 32, (1, 2), {1, 2}, {}, {1: 2}],
    *[{"a": {"b": 1}}, torch.ones(3), torch.tensor(64), torch.float32, np.float64(64.0)],
    *[np.int64(64), np.arange(3), np.nan, lambda: None, ValueError("x"), type],
]
LENGTHS = [*[4096] * 20, 10**7, 10**15]
BASES = [1e4, 1e15, 1e30, 1.5, 500_000]


def nested(depth: int) -> dict | list:
    """Return lists and mappings, each within the other."""
    value: dict | list = {}
    for level in range(depth):
        value = {"text_config": value} if level % 2 else [value]
    return {"text_config": value} if isinstance(value, list) else value


def configurations(count: int, seed: int) -> Iterator[object]:
    """Yield mappings with a few values exchanged for hostile ones, and what is no mapping at all.

    Args:
        count: how many.
        seed: of the choices.

    Yields:
        What to give to `from_hf`.
    """
    chance = random.Random(seed)
    parts = list(keys.ROPE_TYPES)
    models = [*keys.MODEL_TYPES["half"], *keys.MODEL_TYPES["interleaved"], "mine"]
    for i in range(count):
        if i % 50 == 0:
            yield chance.choice([*NUMBERS, *OTHERS, nested(200), nested(20_000)])
            continue
        if i % 3 == 0:
            config = dict(chance.choice(list(GALLERY.values())).config)
            config = dict(config.get("text_config", config))
        else:
            config = {
                **{"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32},
                **{"max_position_embeddings": chance.choice(LENGTHS)},
                **{"model_type": chance.choice(models), "rope_theta": chance.choice(BASES)},
            }
            part = chance.choice(parts)
            values = {
                key: {"positives": [1.0] * 64, "boolean": True, "share": 0.25}.get(rule, 2)
                for key, rule in keys.rules_of(part).items()
            }
            values |= {"rope_type": part, "rope_theta": config["rope_theta"]}
            values |= {"high_freq_factor": 8} if part == "llama3" else {}
            config[chance.choice(["rope_scaling", "rope_parameters"])] = values
        for _ in range(chance.choice([0, 0, 1, 1, 2])):
            key = chance.choice(
                [*keys.KEYS, *keys.TEXT_PARTS, "rope_magic", chance.choice(["", 3])]
            )
            target = config
            styles = ("rope_scaling", "rope_parameters")
            name = next((name for name in styles if isinstance(config.get(name), dict)), None)
            if name and chance.random() < 0.5:
                target = config[name] = dict(config[name])
                key = chance.choice([*keys.rules_of(chance.choice(parts)), "type", "magic", 5])
            target[key] = chance.choice(NUMBERS if chance.random() < 0.8 else OTHERS)
        yield config


def files(folder: Path) -> Iterator[Path]:
    """Yield paths that are no config.json: pipes, devices, holes, long and broken texts.

    Args:
        folder: where to make them.

    Yields:
        Paths to give to `from_hf`.
    """
    os.mkfifo(folder / "pipe")
    with open(folder / "sparse", "wb") as file:
        file.truncate(2 * 2**30)
    texts = {
        "deep": "[" * 10_000,
        "deep object": '{"a":' * 10_000,
        "digits": '{"head_dim": ' + "9" * 500_000 + "}",
        "twice": '{"rope_scaling": {"type": "linear"}, "rope_scaling": null}',
        "long": json.dumps({"model_type": "x" * 900_000}),
        "list": json.dumps({"model_type": "llama", "layer_types": ["a"] * 150_000}),
        "many": json.dumps({f"rope_{i}": i for i in range(50_000)}),
        "surrogate": '{"model_type": "\\ud800"}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "utf-16").write_bytes('{"a": 1}'.encode("utf-16"))
    names = ["pipe", "sparse", "utf-16", *texts, "", "no\0thing", "\ud800", "x" * 5000]
    yield from (folder / name for name in names)
    yield from map(Path, ("/dev/zero", "/dev/null", "/proc/self/mem", "/proc/self/environ"))


def read(config: object) -> None:
    """Do all that a program would do with a configuration."""
    for kind in layer_types(config):
        rope = RopeConfig.from_hf(config, kind)
        hash(rope)
        report(rope).encode("utf-8")


def measure(configs: Iterator[object]) -> tuple[Counter, dict[str, str], float, float, int]:
    """Read configurations, and watch.

    Args:
        configs: what to give to `from_hf`.

    Returns:
        Outcomes by name, wrong exceptions with an example, seconds of the longest call, MB above
        the beginning, characters of the longest message.
    """
    outcomes, wrong, longest, message = Counter(), {}, 0.0, 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for config in configs:
        begun = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(config)
            outcome = "read"
        except (TypeError, ValueError) as error:
            outcome = type(error).__name__
            said = str(error)
            message = max(message, len(said))
            if type(error) not in (TypeError, ValueError) or not said.isprintable():
                wrong[f"{outcome}: {said[:80]!r}"] = repr(config)[:200]
        except BaseException as error:
            outcome = type(error).__name__
            wrong[outcome] = f"{repr(config)[:300]}: {error}"
            if isinstance(error, KeyboardInterrupt):
                raise
        outcomes[outcome] += 1
        longest = max(longest, time.process_time() - begun)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return outcomes, wrong, longest, memory, message


def main() -> None:
    """Print what `measure` finds."""
    count, seed = (int(text) for text in (*sys.argv[1:], "15000", "0")[:2])
    torch.set_num_threads(1)
    for name, configs in (
        ("mappings", lambda _: configurations(count, seed)),
        ("files", files),
    ):
        with tempfile.TemporaryDirectory() as folder:
            outcomes, wrong, longest, memory, message = measure(configs(Path(folder)))
        print(f"{name}: {sum(outcomes.values())}, {dict(outcomes)}")
        print(f"    wrong exceptions {len(wrong)}, longest call {longest:.2f} s of CPU")
        print(f"    memory {memory:.0f} MB above the imports, longest message {message} characters")
        for outcome, example in wrong.items():
            print(f"    {outcome}: {example}")


if __name__ == "__main__":
    main()
