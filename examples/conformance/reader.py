"""Check a rotation against the conformance vectors: python reader.py vectors.json."""

import json
import sys

import numpy as np

ANGLES, BETWEEN = 0, 0  # exact; float32 angles: 2**-19, 0; rounded between, bfloat16: 2**-19, 0.02


def tables(at, case):
    """Cosines and sines, `(rows, tokens, pairs)`; large angles need float64."""
    return case["attention_factor"] * np.array([f(at * case["inv_freq"]) for f in (np.cos, np.sin)])


def rotate(x, at, case):
    """Put your own here; x: `(rows, heads, tokens, head_dim)`; pair i stands at `at[..., i]`."""
    cos, sin = (t.astype(np.float32)[:, None] for t in tables(at, case))
    (a, b), out = case["seats"], x.copy()
    out[..., a], out[..., b] = x[..., a] * cos - x[..., b] * sin, x[..., a] * sin + x[..., b] * cos
    return out


cases, wrong = json.load(open(sys.argv[1]))["cases"], []
for case in cases:
    i = np.arange(len(case["inv_freq"]))  # the seats of each pair: its first dimension, its second
    case["seats"] = (i, i + len(i)) if case["layout"] == "half" else (2 * i, 2 * i + 1)
    at = np.moveaxis(np.array(case["position_ids"], float)[case["axis_of_pair"]], 0, -1)
    good = np.allclose(tables(at, case), (case["cos"], case["sin"]), rtol=0, atol=1e-8)
    for key in ("q", "k"):
        want, (a, b) = np.array(case[f"{key}_rotated"]), case["seats"]
        off, allowed = rotate(np.float32(case[key]), at, case) - want, np.zeros_like(want)
        loose = 2**-22 + BETWEEN + np.minimum(ANGLES * abs(at * case["inv_freq"]), 1 / 16)[:, None]
        half_units = np.ldexp(0.5, np.frexp(np.maximum(abs(want), 2**-126))[1] - 24)  # of float32
        allowed[..., a] = allowed[..., b] = loose * np.hypot(want[..., a], want[..., b])
        good &= (abs(off) <= allowed + half_units * (allowed > 0)).all()
    wrong += [] if good else [case["name"]]
print(f"{len(cases) - len(wrong)} of {len(cases)} right", *wrong, sep="\n")
sys.exit(bool(wrong) or not cases)
