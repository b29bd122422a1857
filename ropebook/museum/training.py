"""Wrong in training only: gradients, packing, positions that are handed over."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, turn

HALL = Hall("training", "In training", "The model is used rightly (inference) and trained wrongly.")


@HALL.shows(
    "a kernel without a way back",
    shows="compared",
    saw="No error. Queries and keys get no gradient, and all else goes on learning.",
    where="huggingface/candle/issues/3568",
    also=("NVlabs/LongLive/pull/61", "baidu-baige/LoongForge/pull/106"),
    code="no-gradient",
    mend=("torch.no_grad()", "torch.set_grad_enabled(torch.is_grad_enabled())"),
    price="For inference the first line is right. So `diagnose` has a note for it, and tests that "
    "ask whether the report is `ok` pass: ask for `no-gradient` among its codes.",
)
def cut_from_the_graph(x, position_ids):
    """A raw kernel has no backward unless somebody writes one."""
    with torch.no_grad():
        return turn(x, position_ids, SPEEDS)


@HALL.shows(
    "a gradient that turns on",
    shows="compared",
    saw="A fused kernel whose backward was wrong. The thread says no more; this is one way.",
    where="NVIDIA/apex/pull/1750",
    code="gradient-rotates-forward",
    mend=("(grad, position_ids,", "(grad, -position_ids,"),
)
def forward_twice(x, position_ids):
    """A gradient goes back by the opposite turn."""

    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return turn(x, position_ids, SPEEDS)

        @staticmethod
        def backward(ctx, grad):
            return turn(grad, position_ids, SPEEDS)

    return Fused.apply(x)


@HALL.shows(
    "the first document's places",
    shows="compared",
    saw="Texts packed one behind the other, split over GPUs: rows 0, 3, 0, 3 of the table where "
    "it is 0, 3, 4, 7.",
    where="NVIDIA/Megatron-LM/pull/5243",
    code="positions-restart",
    mend=("offset = 0", "offset = position_ids[..., :1]"),
    differs="Where the table's rows count evenly, no score within a document changes: all of it "
    "is shifted alike. It shows where they do not.",
)
def every_document_reads_the_first(x, position_ids):
    """Where a document begins in the table is left out."""
    offset = 0
    inside = position_ids - position_ids[..., :1]
    return turn(x, offset + inside, SPEEDS)


@HALL.shows(
    "positions that are asked for their number only",
    shows="compared",
    saw="A drafting model, trained with shifted positions, never sees one of them.",
    where="NVIDIA-NeMo/Automodel/pull/2377",
    also=("epfLLM/Megatron-LLM/issues/23",),
    code="position-ids-ignored",
    mend=("torch.arange(length)", "position_ids"),
    differs="Positions that are all shifted alike change no score of one pass; gaps do.",
)
def table_cut_to_length(x, position_ids):
    """Of position_ids, only their shape is read."""
    length = position_ids.shape[-1]
    return turn(x, torch.arange(length), SPEEDS)
