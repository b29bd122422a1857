"""Candidates of everybody else: each family yields what it can do for a case, and why not the rest.

Packages that the book's own environment lacks are pinned in `benchmarks/requirements.txt`, and
`make bench` puts them into `.venv/peers`, where nothing but this finds them.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

import torch

from speed.candidates import Candidate, Inputs, Untimed

PEERS = Path(__file__).parents[2] / ".venv" / "peers"
if str(PEERS) not in sys.path:
    sys.path.append(str(PEERS))


def version(package: str) -> str:
    """Return the name of a package with its version, as "torchtune 0.6.1".

    Raises:
        ImportError: if it is not installed.
    """
    return f"{package} {metadata.version(package)}"


def transformers(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """Rotations of models of Hugging Face, with their own tables, in the dtype of q."""
    of, case = version("transformers"), inputs.case
    heads, head_dim = case.shape[1], case.shape[3]
    partial = case.rotary_dim < head_dim
    # Llama's whole heads; GPT-NeoX has Llama's layout and GLM the other one, both for parts.
    for model, folder, layout in (
        ("GPTNeoX", "gpt_neox", "half") if partial else ("Llama", "llama", "half"),
        ("Glm", "glm", "interleaved"),
    ):
        code = import_module(f"transformers.models.{folder}.modeling_{folder}")
        config = getattr(code, f"{model}Config")(
            hidden_size=heads * head_dim,
            num_attention_heads=heads,
            head_dim=head_dim,
            rope_parameters={
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "partial_rotary_factor": case.rotary_dim / head_dim,
            },
        )
        module = getattr(code, f"{model}RotaryEmbedding")(config)
        rotate = code.apply_rotary_pos_emb
        positions = inputs.positions[None]
        tables = module(inputs.q, positions)

        def eager(q, k, rotate=rotate, tables=tables):
            return rotate(q, k, *tables)

        def whole(q, k, rotate=rotate, module=module, positions=positions):
            return rotate(q, k, *module(q, positions))

        yield Candidate("transformers", layout, eager, of)
        if compiled:
            run = torch.compile(eager, dynamic=False, fullgraph=True)
            yield Candidate("transformers compiled", layout, run, of)
        yield Candidate("transformers module", layout, whole, of)


def complex_product(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """Meta's formulation.

    After `precompute_freqs_cis` and `apply_rotary_emb` of github.com/meta-llama/llama, model.py:
    neighbors are complex numbers, computed in float32, and so are the angles.
    """
    case = inputs.case
    name, of = "complex product", "Meta's Llama, its formulation"
    if case.rotary_dim < case.shape[3]:
        yield Untimed(name, "turns whole heads")
        return
    pairs = torch.arange(0, case.rotary_dim, 2).float()
    angles = torch.outer(inputs.positions.float(), 1.0 / 10_000.0 ** (pairs / case.rotary_dim))
    table = torch.polar(torch.ones_like(angles), angles)

    def turn(x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * table).flatten(-2).type_as(x)

    yield Candidate(name, "interleaved", lambda q, k: (turn(q), turn(k)), of, once=True)


def torchtune(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """The module of torchtune, which wants the sequence before the heads."""
    case = inputs.case
    of = version("torchtune")
    if case.rotary_dim < case.shape[3]:
        yield Untimed("torchtune", "turns whole heads")
        return
    # Its package asks for thirty others before it lets go of one module; that file needs torch.
    package = importlib.util.find_spec("torchtune")
    path = Path(package.origin).parent / "modules" / "position_embeddings.py"
    spec = importlib.util.spec_from_file_location("torchtune_position_embeddings", path)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    length = case.start + case.shape[2]
    module = code.RotaryPositionalEmbeddings(case.shape[3], max_seq_len=length)
    # Without positions it begins at 0, and looks nothing up.
    positions = inputs.positions[None] if case.start else None

    def run(q, k):
        return module(q, input_pos=positions), module(k, input_pos=positions)

    yield Candidate("torchtune", "interleaved", run, of, once=True, sequence_first=True)


def rotary_embedding_torch(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """The module of rotary-embedding-torch."""
    of, case = version("rotary-embedding-torch"), inputs.case
    code = import_module("rotary_embedding_torch")
    name, length = "rotary-embedding-torch", case.start + case.shape[2]
    turn = code.RotaryEmbedding(case.rotary_dim, cache_max_seq_len=length).rotate_queries_or_keys

    def run(q, k):
        return turn(q, offset=case.start), turn(k, offset=case.start)

    yield Candidate(name, "interleaved", run, of)
    if case.dtype == "float32":
        return
    # By itself it counts positions in the dtype of q, and bfloat16 knows 897 below 8192; it keeps
    # what it has made of them, so another module is needed.
    module = code.RotaryEmbedding(case.rotary_dim, cache_max_seq_len=length)
    positions = inputs.positions.float()

    def counted(q, k):
        frequencies = module(positions, seq_len=len(positions), offset=case.start)
        return code.apply_rotary_emb(frequencies, q), code.apply_rotary_emb(frequencies, k)

    yield Candidate(f"{name}, float32 positions", "interleaved", counted, of)


def onnxruntime(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """RotaryEmbedding of ONNX (opset 23) as ONNX Runtime does it, into buffers that are there."""
    of, case = version("onnxruntime"), inputs.case
    runtime, onnx = import_module("onnxruntime"), import_module("onnx")
    if case.backward or case.dtype != "float32":
        missing = "has no backward" if case.backward else "has no bfloat16 rotation on a CPU"
        yield Untimed("onnxruntime", missing)
        return
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Idle workers that spin would take a processor from whatever is timed next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    cos, sin = (table[None].expand(case.shape[0], -1, -1).contiguous() for table in inputs.tables)
    for layout in ("half", "interleaved"):
        model = _onnx_model(onnx, case, layout, cos.shape)
        session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

        def run(q, k, session=session):
            binding = session.io_binding()
            for name, x in (("q", q), ("k", k), ("cos", cos), ("sin", sin)):
                binding.bind_input(name, "cpu", 0, "float32", tuple(x.shape), x.data_ptr())
            for name, x in zip(("q_out", "k_out"), inputs.buffers, strict=True):
                binding.bind_output(name, "cpu", 0, "float32", tuple(x.shape), x.data_ptr())
            session.run_with_iobinding(binding)
            return inputs.buffers

        yield Candidate(
            "onnxruntime", layout, run, of, exact=True, once=True, writes="buffer", seen=False
        )


def _onnx_model(onnx, case, layout: str, table_shape) -> bytes:
    """Return a graph of two nodes, one for q and one for k."""
    helper, number = onnx.helper, onnx.TensorProto.FLOAT

    def value(name, shape):
        return helper.make_tensor_value_info(name, number, list(shape))

    shapes = {"q": case.shape, "k": case.key_shape}
    nodes = [
        helper.make_node(
            "RotaryEmbedding",
            [name, "cos", "sin"],
            [f"{name}_out"],
            interleaved=int(layout == "interleaved"),
            rotary_embedding_dim=case.rotary_dim if case.rotary_dim < case.shape[3] else 0,
        )
        for name in shapes
    ]
    graph = helper.make_graph(
        nodes,
        "rotation",
        [value(n, s) for n, s in (*shapes.items(), ("cos", table_shape), ("sin", table_shape))],
        [value(f"{name}_out", shape) for name, shape in shapes.items()],
    )
    sets = [helper.make_opsetid("", 23)]
    return helper.make_model(graph, opset_imports=sets, ir_version=11).SerializeToString()


def hub_kernels(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """The kernel `rotary` of Hugging Face's hub, which only the hub has.

    `LOCAL_KERNELS=kernels-community/rotary=FOLDER` names a copy of it, where there is no hub.
    """
    of, case = version("kernels"), inputs.case
    code, missing = _from_the_hub()
    if missing:
        yield Untimed("hub kernel", missing)
        return
    if case.backward or case.rotary_dim < case.shape[3]:
        reason = "has no backward of its own" if case.backward else "turns whole heads"
        yield Untimed("hub kernel", reason)
        return
    tables = [t.to(inputs.q.dtype)[None] for t in inputs.tables]

    def run(q, k):
        return code.apply_rotary_transformers(q, k, *tables)

    yield Candidate("hub kernel", "half", run, f"kernels-community/rotary 3, {of}", exact=True)


@cache
def _from_the_hub():
    """Return the kernel, or None and why there is none."""
    kernels = import_module("kernels")
    try:
        return kernels.get_kernel("kernels-community/rotary", version=3), ""
    except Exception as error:  # of the network, of trust, of a build for another torch
        said = str(error).splitlines()[0]
        return None, f"NOT INSTALLED: it needs the Hugging Face hub, which said: {said[:72]}..."


def loop(inputs: Inputs, compiled: bool) -> Iterator[Candidate | Untimed]:
    """A loop over pairs, as tutorials have it (document 000 of the ledger), in our own words."""
    name, case = "loop over pairs", inputs.case
    if case.backward:
        yield Untimed(name, "copies the whole gradient for each of its writes: minutes")
        return
    if case.name not in ("prefill", "decode"):
        yield Untimed(name, "is timed in prefill and decode alone: it takes minutes")
        return
    positions = inputs.positions[:, None].float()
    frequencies = 1.0 / 10_000.0 ** (torch.arange(0, case.rotary_dim, 2) / case.rotary_dim)
    cos, sin = (positions * frequencies).cos(), (positions * frequencies).sin()

    def turn(x):
        turned = x.clone()
        for i in range(cos.shape[-1]):
            a, b, c, s = x[..., 2 * i], x[..., 2 * i + 1], cos[:, i], sin[:, i]
            turned[..., 2 * i] = a * c - b * s
            turned[..., 2 * i + 1] = a * s + b * c
        return turned

    yield Candidate(name, "interleaved", lambda q, k: (turn(q), turn(k)), "document 000")


FAMILIES: tuple[Callable[[Inputs, bool], Iterator[Candidate | Untimed]], ...] = (
    *(transformers, complex_product, torchtune, rotary_embedding_torch),
    *(onnxruntime, hub_kernels, loop),
)


def candidates(inputs: Inputs, *, compiled: bool = True) -> Iterator[Candidate | Untimed]:
    """Yield what every family has for a case; one that is not installed says so.

    Args:
        inputs: of the case.
        compiled: whether to compile, which takes seconds each.

    Yields:
        Candidates, and reasons why there is none.
    """
    for family in FAMILIES:
        name = family.__name__.replace("_", "-")
        try:
            yield from family(inputs, compiled)
        except ImportError as error:
            yield Untimed(name, f"NOT INSTALLED: {error}")
