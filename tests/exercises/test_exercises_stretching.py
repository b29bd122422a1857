"""The exercises of Stretching RoPE accept what is right and name the misconception."""

import math

import numpy as np
import torch
from answers import accepted, hinted

from ropelib import inv_freq, scaling


def by_llama_3(speed, old, factor):
    turns = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    # Of a head of 4 dimensions the second hand turns by the base to the power of -1/2.
    slowed, _ = scaling.llama3(4, speed**-2, factor=factor, original_max_seq_len=old, **turns)
    return slowed[1]


def by_one_turn(speeds, old, new):
    return torch.where(speeds * old >= 2 * math.pi, speeds, speeds * old / new)


def interpolated(speeds, old, new):
    return speeds * old / new


def faster(speeds, old, new):
    return torch.where(speeds * old >= 2 * math.pi, speeds, speeds / (old / new))


def at_four_turns(speeds, old, new):
    return torch.where(speeds * old >= 8 * math.pi, speeds, speeds * old / new)


def by_two(speeds, old, new):
    return torch.where(speeds * old >= 2 * math.pi, speeds, speeds / 2)


def by_its_ends(speeds):
    slowed = inv_freq(128) / speeds
    factor = float(slowed[-1])
    if slowed[0] > 1.0001:
        return "linear", factor
    return ("by_parts" if slowed[5] < 1.0001 or slowed[50] > 0.99 * factor else "ntk_aware"), factor


def by_the_first(speeds):
    slowed = inv_freq(128) / speeds
    return ("linear" if slowed[0] > 1.0001 else "ntk_aware"), float(slowed[-1])


def by_the_middle(speeds):
    method, _ = by_its_ends(speeds)
    return method, float((inv_freq(128) / speeds)[32])


RIGHT = [
    ("hands left alone", 36),
    ("hands left alone", torch.tensor(36)),
    ("base of NTK-aware", 10_000 * 16 ** (128 / 126)),
    ("base of NTK-aware", 167_200),
    ("where the old key seems to stand", 19_903),
    ("where the old key seems to stand", np.int64(19_903)),
    ("how much sharper", 1.6314),
    ("how much sharper", (0.1 * math.log(16) + 1) ** 2),
    ("draw the line", by_one_turn),
    ("between the two lines", by_llama_3),
    (
        "between the two lines",
        ["(turns - 1) / 3", "speed / factor + kept * (speed - speed / factor)"],
    ),
    ("draw the line", lambda *head: by_one_turn(*head).tolist()),
    ("name the method", by_its_ends),
]
WRONG = [
    ("hands left alone", 18, "slowed by all of 8"),
    ("hands left alone", 46, "slowed a little"),
    ("hands left alone", 21, "YaRN's line"),
    ("hands left alone", 28, "Asked is the rest"),
    ("hands left alone", 64, "from 4 turns"),
    ("base of NTK-aware", 160_000, "number 63"),
    ("base of NTK-aware", 10_000 * 16 ** (126 / 128), "upside down"),
    ("base of NTK-aware", 10_000 * 16.0**64, "together"),
    ("base of NTK-aware", 625, "faster"),
    ("base of NTK-aware", 2_560_000, "Why 126?"),
    ("where the old key seems to stand", -1097, "not slowed"),
    ("where the old key seems to stand", -19_903, "ahead or behind"),
    ("where the old key seems to stand", 24_000, "the distance"),
    ("where the old key seems to stand", 375 - 4097, "other way round"),
    ("where the old key seems to stand", 0, "Angle of the key"),
    ("how much sharper", 1.2773, "on the query and on the key"),
    ("how much sharper", 1.5545, "Square all of it"),
    ("how much sharper", 0.613, "temperature"),
    ("how much sharper", 1.1204, "natural"),
    ("how much sharper", 16, "two turned vectors"),
    ("between the two lines", lambda speed, old, factor: speed / factor, "instead of 1.000"),
    (
        "between the two lines",
        ["(turns - 1) / 3", "kept * speed / factor + (1 - kept) * speed"],
        "sides are swapped",
    ),
    (
        "between the two lines",
        ["turns / 4", "kept * speed + (1 - kept) * speed / factor"],
        "At one turn nothing",
    ),
    (
        "between the two lines",
        ["(turns - 1) / 3", "speed / (kept + (1 - kept) * factor)"],
        "The rule blends the speeds",
    ),
    ("draw the line", lambda *head: None, "returned None"),
    ("draw the line", lambda speeds, old, new: speeds[:2], "one speed per hand"),
    ("draw the line", interpolated, "That is PI"),
    ("draw the line", faster, "got faster"),
    ("draw the line", at_four_turns, "comes round within"),
    ("draw the line", by_two, "It should reach just what it knew"),
    ("draw the line", lambda speeds, old, new: speeds, "It should reach just what it knew"),
    ("name the method", lambda speeds: None, "returned None"),
    ("name the method", lambda speeds: ("yarn", 4), 'Begin with "linear"'),
    ("name the method", by_the_first, "YaRN by 4"),
    ("name the method", by_the_middle, "what the last hand is slowed by"),
]


test_what_is_right_is_accepted = accepted(RIGHT)
test_a_misconception_is_named = hinted(WRONG)
