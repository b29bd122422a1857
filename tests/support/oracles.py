"""What a widget must report: ropelib's own answer to whatever its controls are set to."""

import math
import re

import pytest

# What ropelib says about the inputs that a widget is set to: name -> values, in order.


def explorer_oracle(inputs):
    import torch

    from ropelib import apply_rotary, cos_sin

    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)

    def turned(vector, position):
        cos, sin = cos_sin(torch.tensor([position]), turn, dtype=torch.float64)
        x = torch.tensor([vector], dtype=torch.float64)
        return apply_rotary(x, cos, sin, layout="interleaved")[0]

    q, k = turned(inputs["q"], inputs["m"]), turned(inputs["k"], inputs["n"])
    cosine = torch.dot(q, k) / (q.norm() * k.norm())
    return {
        "score": torch.dot(q, k).item(),
        "angle_between": math.acos(max(-1.0, min(1.0, cosine.item()))),
        "distance": inputs["n"] - inputs["m"],
        "q_rotated_x": q[0].item(),
        "q_rotated_y": q[1].item(),
        "k_rotated_x": k[0].item(),
        "k_rotated_y": k[1].item(),
    }


def clocks_oracle(inputs):
    from ropelib import inv_freq
    from ropelib.frequencies import turns, wavelength

    frequencies = inv_freq(int(inputs["rotary_dim"]), inputs["base"])
    lengths = wavelength(frequencies)
    never = (lengths > inputs["context"]).nonzero().flatten().tolist()
    pair, position = int(inputs["pair"]), inputs["position"]
    return {
        "num_pairs": len(frequencies),
        "wavelength_fastest": lengths.min().item(),
        "wavelength_slowest": lengths.max().item(),
        "never_turn_count": len(never),
        "never_turn_first": never[0] if never else math.nan,
        "never_turn_last": never[-1] if never else math.nan,
        "pair_inv_freq": frequencies[pair].item(),
        "pair_wavelength": lengths[pair].item(),
        "pair_turns": turns(frequencies, inputs["context"])[pair].item(),
        "pair_angle": (position * frequencies[pair].item()) % math.tau,
        "hand": [(position * frequency).item() for frequency in frequencies],
    }


def inspector_oracle(inputs):
    from ropelib import RopeConfig, inv_freq
    from ropelib.frequencies import turns, wavelength
    from ropelib.gallery import GALLERY

    config = RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)  # what the widget starts with
    plain, scaled = inv_freq(config.rotary_dim, config.base), config.inv_freq()
    pair = int(inputs["pair"])
    return {
        "base": config.base,
        "head_dim": config.head_dim,
        "rotary_dim": config.rotary_dim,
        "attention_factor": config.attention_factor(),
        "wavelength_fastest": wavelength(scaled).min().item(),
        "wavelength_slowest": wavelength(scaled).max().item(),
        "never_turn_count": int((turns(scaled, config.max_seq_len) < 1).sum()),
        "never_turn_trained": int((turns(plain, config.original_max_seq_len) < 1).sum()),
        "layers_rotating": len(config.rotating_layers),
        "layers_still": config.num_layers - len(config.rotating_layers),
        "pair_first": pair,
        "pair_second": pair + config.rotary_dim // 2,
        "pair_unscaled": wavelength(plain)[pair].item(),
        "pair_wavelength": wavelength(scaled)[pair].item(),
        "pair_stretch": (plain / scaled)[pair].item(),
        "pair_turns": turns(scaled, config.max_seq_len)[pair].item(),
        "wave": scaled.tolist(),
    }


def product_oracle(inputs):
    import torch

    from ropelib.reference import rotation_matrix

    z, w = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("z", "w"))

    def angle(number):
        return math.atan2(number[1], number[0]) if number.any() else math.nan

    # Not by the rule for products: stretched by the length of w, turned by its angle.
    turn = angle(w) if w.any() else 0.0
    matrix = w.norm() * rotation_matrix(1.0, [turn], layout="interleaved")
    numbers = {"z": z, "w": w, "product": matrix @ z}
    return {
        **{f"{name}_re": number[0].item() for name, number in numbers.items()},
        **{f"{name}_im": number[1].item() for name, number in numbers.items()},
        **{f"{name}_length": number.norm().item() for name, number in numbers.items()},
        **{f"{name}_angle": angle(number) for name, number in numbers.items()},
        **{f"matrix_{i}{j}": matrix[i, j].item() for i in (0, 1) for j in (0, 1)},
        "determinant": torch.linalg.det(matrix).item(),
    }


def sinusoid_oracle(inputs):
    import torch

    from ropelib import inv_freq
    from ropelib.encodings.sinusoidal import sinusoids
    from ropelib.frequencies import wavelength

    position, offset, pair = (int(inputs[name]) for name in ("position", "offset", "pair"))
    kind, model_dim = inputs["code"], inputs["model_dim"]
    frequencies = math.tau / 2.0 ** torch.arange(1, 8, dtype=torch.float64)
    if kind == "transformer":
        frequencies = inv_freq(model_dim)

    def rows(positions):
        if kind == "binary":
            digits = [[int(bit) for bit in f"{p % 128:07b}"[::-1]] for p in positions.tolist()]
            return 2 * torch.tensor(digits, dtype=torch.float64) - 1
        if kind == "transformer":
            return sinusoids(positions, model_dim, dtype=torch.float64)
        angles = positions[:, None] * frequencies
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)

    here, there = rows(torch.tensor([position, position + offset]))
    places = torch.arange(128)
    products = (rows(places) * rows(places + offset)).sum(-1)
    bits = kind == "binary"
    return {
        "inner": (here @ there).item(),
        "inner_max": len(frequencies),
        "elsewhere_low": products.min().item(),
        "elsewhere_high": products.max().item(),
        "other": position + offset,
        "wavelength": wavelength(frequencies)[pair].item(),
        "inv_freq": frequencies[pair].item(),
        "turn": offset * frequencies[pair].item(),
        "sin": math.nan if bits else here[2 * pair].item(),
        "cos": math.nan if bits else here[2 * pair + 1].item(),
        "bit": here[pair].item() if bits else math.nan,
    }


def bias_oracle(inputs):
    from ropebook.widgets import BiasExplorer

    names = ("query", "key", "shift", "clip_distance", "num_buckets", "max_distance", "head")
    chosen = {name: int(inputs[name]) for name in names if name in inputs}
    kept = {name: inputs[name] for name in ("encoding", "causal", "content")}
    explorer = BiasExplorer(**chosen, **kept)
    query, key = explorer.query, explorer.key
    count = query + 1 if explorer.causal else len(explorer.row_bias)
    hidden = key >= count
    return {
        "row_bias": explorer.row_bias[:count],
        "row_weight": explorer.row_weights[:count],
        "distance": key - query,
        "key_bias": math.nan if hidden else explorer.row_bias[key],
        "key_weight": math.nan if hidden else explorer.row_weights[key],
        "slope": math.nan if explorer.slope is None else explorer.slope,
        "bucket": math.nan if explorer.bucket is None else explorer.bucket,
        "different_values": explorer.different_values,
        "diagonal_spread": explorer.diagonal_spread,
    }


def shuffle_oracle(inputs):
    import torch

    from ropebook.widgets.token_shuffle import widget as token_shuffle
    from ropelib.attention import attend
    from ropelib.encodings import NoPosition, sinusoids

    order = inputs["order"]
    embeddings = token_shuffle.SENTENCES[inputs["sentence"]]["embeddings"]
    matrices = token_shuffle.QUERY_MATRIX, token_shuffle.KEY_MATRIX, token_shuffle.VALUE_MATRIX

    def read(words):
        x = torch.tensor(embeddings, dtype=torch.float64)[words]
        x = x + inputs["positions"] * sinusoids(torch.arange(len(words)), 2, dtype=torch.float64)
        q, k, v = (x @ torch.tensor(matrix, dtype=torch.float64).T for matrix in matrices)
        return attend(NoPosition(), q, k, v, causal=inputs["causal"])

    outputs, weights = read(order)
    original, _ = read(sorted(order))
    pooled = outputs.mean(dim=0)
    return {
        "output_x": outputs[:, 0].tolist(),
        "output_y": outputs[:, 1].tolist(),
        "weight": weights.flatten().tolist(),
        "change": (outputs - original[order]).abs().max().item(),
        "pooled_x": pooled[0].item(),
        "pooled_y": pooled[1].item(),
        "pooled_change": (pooled - original.mean(dim=0)).abs().max().item(),
    }


def builder_oracle(inputs):
    from ropebook.widgets import ScoreBuilder

    shape = {name: int(inputs[name]) for name in ("head_dim", "pairs", "pair", "distance")}
    content = {"amplitudes": inputs["pair_amplitude"], "start_angles": inputs["pair_start"]}
    builder = ScoreBuilder(base=inputs["base"], **shape, **content)
    parts = builder.contributions
    off = [0.0] * (builder.num_pairs - builder.pairs)
    return {
        "score": builder.score,
        "total": builder.total,
        "peak": builder.peak,
        "peak_score": builder.peak_score,
        "beside": builder.beside,
        "rival": math.nan if builder.rival is None else builder.rival,
        "rival_score": builder.rival_score,
        "wavelength": builder.wavelengths[builder.pair].item(),
        "contribution": parts + off,
        "pair_contribution": (parts + off)[builder.pair],
        # What the sliders last set is what the pair has.
        "amplitude": builder.amplitudes[builder.pair],
        "start_angle": builder.start_angles[builder.pair],
        "pair_amplitude": builder.amplitudes,
        "pair_start": builder.start_angles,
    }


def layout_oracle(inputs):
    import torch

    from ropelib import convert_layout, inv_freq, reference

    n, distance = int(inputs["n"]), int(inputs["distance"])

    def turned(name, position, layout, convert):
        x = torch.tensor([inputs[name]], dtype=torch.float64)
        if convert:
            x = convert_layout(x, source="interleaved", target=layout)
        return reference.rotate(x, [position], inv_freq(8, 100.0), layout=layout)[0]

    def score_at(position, q_layout, k_layout, convert):
        q = turned("q", position - distance, q_layout, convert)
        return (q @ turned("k", position, k_layout, convert)).item()

    seated = [inputs[name] for name in ("q_layout", "k_layout", "convert")]
    score = score_at(n, *seated)
    reference_score = score_at(n, "interleaved", "interleaved", False)
    scores = [score_at(position, *seated) for position in range(25)]
    return {
        "score": score,
        "reference": reference_score,
        "error": score - reference_score,
        "m": n - distance,
        "drift": max(scores) - min(scores),
    }


def distance_oracle(inputs):
    from ropebook.widgets import DistanceCurve

    whole = {name: round(inputs[name]) for name in ("head_dim", "context")}
    curve = DistanceCurve(base=inputs["base"], kept=inputs["kept"], **whole)
    return {
        "rises": curve.rises,
        "first_negative": math.nan if curve.first_negative is None else curve.first_negative,
        "base_bound": math.nan if curve.base_bound is None else curve.base_bound,
        "cosine_at_context": curve.curve[-1].item(),
        "bound_at_context": curve.bound[-1].item(),
        "wavelength_slowest": curve.slowest_wavelength or math.nan,
        "turning_pairs": int((curve.inv_freq > 0).sum()),
    }


def value_oracle(inputs):
    import torch

    from ropebook.widgets.value_rotation import widget as head
    from ropelib import apply_rotary, cos_sin
    from ropelib.attention import attend
    from ropelib.encodings import NoPosition

    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (head.QUERIES, head.KEYS, head.VALUES))

    def head_output(way, shift):
        cos, sin = cos_sin(torch.arange(5) + shift, turn, dtype=torch.float64)
        q_, k_, v_ = (apply_rotary(x, cos, sin, layout="interleaved") for x in (q, k, v))
        output, weights = attend(NoPosition(), q_, k_, v if way == "alone" else v_)
        if way == "turned_back":
            output = apply_rotary(output, cos, -sin, layout="interleaved")
        return output[int(inputs["query"])], weights[int(inputs["query"])]

    shift = int(inputs["shift"])
    output, weights = head_output(inputs["values"], shift)
    return {
        "weight": weights.tolist(),
        "output_x": output[0].item(),
        "output_y": output[1].item(),
        "output_angle": math.atan2(output[1].item(), output[0].item()),
        "output_length": output.norm().item(),
        "change": (output - head_output(inputs["values"], 0)[0]).norm().item(),
        "gap": (output - head_output("alone", shift)[0]).norm().item(),
    }


ORACLES = {
    "ValueRotation": value_oracle,
    "DistanceCurve": distance_oracle,
    "TokenShuffle": shuffle_oracle,
    "BiasExplorer": bias_oracle,
    "LayoutPairs": layout_oracle,
    "RotationExplorer": explorer_oracle,
    "FrequencyClocks": clocks_oracle,
    "ConfigInspector": inspector_oracle,
    "ComplexProduct": product_oracle,
    "SinusoidExplorer": sinusoid_oracle,
    "ScoreBuilder": builder_oracle,
}
# How a slider's own number becomes the input's value, where it is not that number.
SCALES = {
    "theta": math.radians,
    "start_angle": math.radians,
    "base": lambda power: 10**power,
    "context": lambda power: 2**power,
}
# Sliders that stand on the mark nearest to a value that was set otherwise, and how near it is.
NEAREST = {"base": 0.013}
# Readouts that span many powers of ten are held to a relative 1e-6, others to an absolute one.
WIDE_RANGING = re.compile("wave|unscaled|inv_freq|turns|^base$|^context$")


def same(name, shown, expected):
    if math.isnan(expected):
        return math.isnan(shown)
    if name == "pair_angle":
        return abs(math.remainder(shown - expected, math.tau)) <= 1e-6
    limit = 1e-6 * abs(expected) if WIDE_RANGING.search(name) else 1e-6
    return abs(shown - expected) <= limit


def wrong_readouts(widget, vectors=None):
    """Compare all readouts with ropelib and with the settings; return what differs."""
    shown = widget.reports()
    set_to = {name: SCALES.get(name, float)(widget.native(name)) for name in widget.sliders()}
    for name in set(NEAREST) & set(set_to):
        value = shown[name][0][0]
        assert value == pytest.approx(set_to[name], rel=NEAREST[name])
        set_to[name] = value
    # Beside the sliders: the vectors that the handles hold, the chosen pair.
    inputs = {**set_to, **(vectors or {})}
    if "pair" in shown:
        inputs["pair"] = shown["pair"][0][0]
    # One for each pair: they keep what the sliders of one pair after the other have set.
    for name in {"pair_amplitude", "pair_start"} & set(shown):
        inputs[name] = [value for value, _ in shown[name]]
    expected = {**ORACLES[str(widget)](inputs), **set_to}
    unknown = set(shown) - set(expected) - {"pair"}
    assert not unknown, f"{widget} shows readouts that no oracle knows: {unknown}"
    wrong = []
    for name, right in expected.items():
        right = right if isinstance(right, list) else [right]
        values = [value for value, _ in shown[name]]
        if len(values) != len(right) or not all(map(same, [name] * len(right), values, right)):
            wrong.append(f"{widget} at {inputs}: {name} reports {values}, ropelib says {right}")
    return wrong + [
        f"{widget} at {inputs}: {name} is {value} and shows {text!r}"
        for name, found in shown.items()
        for value, text in found
        if name not in ("hand", "pair", "wave") and not says(text, value)
    ]


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def says(text, value):
    """Whether a readout's text is its value, rounded, and in degrees where it says so."""
    text = text.replace("−", "-").replace("\u202f", "")
    number = re.match(r"(-?\d+(?:\.(\d+))?)(?:·10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))?", text)
    if number is None:
        return math.isnan(value) or (text == "none" and value == 0)
    if re.fullmatch(r"[^a-z(]*°", text):
        value = math.degrees(value)
    unit = 10.0 ** -len(number[2] or "")
    power = 10.0 ** int((number[3] or "0").translate(_SUPERSCRIPTS))
    return abs(float(number[1]) * power - value) <= 0.5001 * unit * power


def vectors_of(widget):
    held = ("q", "k", "z", "w", "code", "model_dim", "encoding", "causal", "content")
    held += ("sentence", "order", "positions", "q_layout", "k_layout", "convert", "values")
    return {name: widget.state[name] for name in held if name in widget.state}
