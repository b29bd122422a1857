"""Shipped bugs that no measurement of a rotation shows, and what would have shown each."""

ELSEWHERE = [
    (
        "rows of the weights not reordered: perplexity 4419, not 44",
        "ggml-org/llama.cpp/pull/22611",
        "the converted model on a short text, against the original",
    ),
    (
        "9 layers of 36 turned that should stand still",
        "timtoole02/Camelid/pull/535",
        "one token at two positions, layer by layer",
    ),
    (
        "a place in the image taken for a place in memory: of 6 drafted tokens 4 to 8 % fewer are "
        "accepted",
        "vllm-project/vllm/issues/54498",
        "the same draft with an image and without",
    ),
    (
        "18.7 % of numbers wrong once compiled",
        "vllm-project/vllm/pull/52005",
        "compiled against not compiled, on the machine that serves",
    ),
    (
        "queries of micro-batches after the first at the last position",
        "NVIDIA/TransformerEngine/pull/536",
        "a batch whole and in parts",
    ),
    (
        "a draft model with a limit shorter than its target's: past it dummies alone are drafted",
        "vllm-project/vllm/issues/58080",
        "tokens accepted at a time, past the trained length",
    ),
]
"""What went wrong, its thread, the test that sees it."""
