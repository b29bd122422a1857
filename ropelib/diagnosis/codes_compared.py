"""Codes of bugs that show beside another rotation, or beside what is expected."""

COMPARED = {
    # q beside k
    "q-not-rotated": (
        "Only k turns.",
        "the rotated q is not the one that goes on",
        "Use the rotated q.",
    ),
    "k-not-rotated": (
        "Only q turns.",
        "the rotated k is not the one that goes on",
        "Use the rotated k, also in the cache.",
    ),
    "q-rotated-twice": (
        "q turns twice as fast as k.",
        "attention that rotates q once more",
        "Rotate once, at the true position.",
    ),
    "k-rotated-twice": (
        "k turns twice as fast as q.",
        "keys rotated again as they come from the cache",
        "Rotate once, at the true position.",
    ),
    "q-and-k-mixed": (
        "One of q and k is made of the other.",
        "a letter left as it was in a copied line",
        "Make each of its own vector and the tables alone.",
    ),
    "v-changed": (
        "v comes back otherwise than it went in.",
        "a loop or a kernel that turns q, k and v alike, or memory of v that is not written",
        "Hand v on as it is: scores alone depend on positions.",
    ),
    "q-and-k-layouts-differ": (
        "q and k are turned in different layouts.",
        "two implementations, or weights of one permuted",
        "Use one layout, and permute both weights or none.",
    ),
    "q-and-k-widths-differ": (
        "More dimensions of one turn than of the other.",
        "rotary_dim handed on for one of the two",
        "Give both the same rotary_dim.",
    ),
    "q-and-k-dimensions-differ": (
        "Other dimensions of q turn than of k.",
        "heads cut as (nope, rope) and as (rope, nope)",
        "Cut both alike, as the weights are.",
    ),
    "q-and-k-orders-differ": (
        "Dimensions of q come out in another order than those of k.",
        "parts joined in one order and in the other, (even, odd) or (turned, rest), or neighbors "
        "written as halves in one",
        "Join both alike.",
    ),
    "q-and-k-directions-differ": (
        "q turns one way and k the other.",
        "-sin for one of the two",
        "Turn both the same way.",
    ),
    "q-and-k-frequencies-differ": (
        "q and k turn at different speeds.",
        "tables of two layers or of two lengths",
        "Rotate both once, by the same table.",
    ),
    "q-and-k-axes-differ": (
        "A pair follows one axis in q and another in k.",
        "sections handed on for one of the two",
        "Give both the same sections and order.",
    ),
    # Against what is expected
    "axes-exchanged": (
        "Axes turn the pairs that are meant for each other.",
        "(x, y) where (height, width) is read",
        "Exchange them where positions are made.",
    ),
    "axes-in-blocks": (
        "Axes have blocks of pairs, and are meant to take turns.",
        "mrope_interleaved not read (Qwen3-VL)",
        "Let pair i follow axis i % 3, as far as its section reaches, and the rest axis 0.",
    ),
    "axes-in-turn": (
        "Axes take turns, and are meant to have blocks of pairs.",
        "Qwen3-VL's order for Qwen2-VL",
        "Split the pairs by mrope_section.",
    ),
    "sections-not-as-expected": (
        "Axes have other pairs than expected, or pairs several axes at once.",
        "mrope_section in another order, or of dimensions; a sum or mean of coordinates",
        "Count pairs in each section, in the order of the axes; turn each by one coordinate.",
    ),
    "layout-not-as-expected": (
        "The layout is not the expected one.",
        "weights permuted for one layout and code for the other; an indexer, beside attention of "
        "the other",
        "Change the layout of the code, or convert_rows of the weights; of an indexer say layout=.",
    ),
    "pairs-not-as-expected": (
        "As many pairs turn as expected, and other dimensions are partners.",
        "p-RoPE paired within the part that turns, or the reverse; a head cut at its other end",
        "Pad inv_freq with zeros to half a head (p-RoPE), or cut a partial head at the end meant.",
    ),
    "direction-not-as-expected": (
        "Pairs turn the other way.",
        "-sin for sin, or the two of a pair exchanged",
        "Exchange the sign of sin.",
    ),
    "width-not-as-expected": (
        "More or fewer pairs turn than expected, or each part of a head as a head of its own.",
        "partial_rotary_factor lost, or applied twice; a rotated layer without positions; a head "
        "cut over devices",
        "Set rotary_dim from the configuration, once; leave NoPE layers alone; cut between heads.",
    ),
    "factor-not-as-expected": (
        "All frequencies, or those of an axis or of slow pairs, are off by one factor.",
        "linear scaling left out, applied twice, or multiplied; an axis in other steps",
        "Divide frequencies by the factor, once; scale positions of an axis as the model does.",
    ),
    "scaling-missing": (
        "Frequencies are the unscaled ones.",
        "rope_parameters (rope_scaling) not read",
        "Build tables from the scaled frequencies.",
    ),
    "scaled-as-linear": (
        "All frequencies are divided by the factor, expected of slow ones alone.",
        "rope_type llama3 or yarn read as linear",
        "Dispatch on rope_type.",
    ),
    "blend-not-as-expected": (
        "Base and factor are right, and the blend between is not.",
        "beta_fast, beta_slow, truncate, the training length, 2 pi, or smooth for 1 - smooth",
        "Hand on each of these keys, and take the ends of the blend as the method's own code does.",
    ),
    "base-not-as-expected": (
        "The base, or that of an axis, is another one.",
        "rope_theta lost, so that a default is used, or a base that is written into the code",
        "Use the base given; transformers 5 has it in rope_parameters.",
    ),
    "exponents-not-as-expected": (
        "The base is right, and exponents count something else.",
        "i/d for 2i/d, or another width in the denominator",
        "Use 2i / rotary_dim (p-RoPE: 2i / head_dim).",
    ),
    "frequencies-not-as-expected": (
        "Frequencies are not the expected ones.",
        "another scaling method, or other parameters of it; pairs in another order, or at rest",
        "Compare rope_type and each of its keys; in which order, and to which end, pairs count.",
    ),
    "long-calls-not-as-expected": (
        "Frequencies do not change with the length of the call as they are meant to.",
        "dynamic NTK or LongRoPE read as fixed, or another list or length",
        "Compare rope_type, long_factor and the length at which they change.",
    ),
    "results-not-as-expected": (
        "Vectors come out otherwise than those of the expected code.",
        "another layout, direction or order of dimensions",
        "Compare both on one basis vector at position 1.",
    ),
    "attention-factor-missing": (
        "cos and sin lack the expected factor.",
        "YaRN's frequencies taken over without its factor",
        "Multiply cos and sin by it, once.",
    ),
    "attention-factor-not-as-expected": (
        "cos and sin have another factor.",
        "mscale read as something else, or applied twice",
        "Compute it as the configuration's library does.",
    ),
}
