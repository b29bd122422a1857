"""A sequence shared out among processes: positions must be those in the whole sequence."""

import datetime

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from ropelib import RotaryEmbedding
from ropelib.attention import attend
from ropelib.encodings import NoPosition, Rotary

WORLD, LENGTH, HEAD_DIM = 2, 12, 8
LAYOUTS = ["interleaved", "half"]

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="torch without gloo"
)


def inputs():
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 4, LENGTH, HEAD_DIM), (2, 2, LENGTH, HEAD_DIM), (2, 2, LENGTH, HEAD_DIM)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def share_of(rank):
    size = LENGTH // WORLD
    return slice(rank * size, (rank + 1) * size)


def causal_rows(rank):
    """What the queries of a process may see of all keys."""
    return torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()[share_of(rank)]


def attended(rank, layout, position_ids):
    """Attention of the queries here with the keys of all processes, which rotate their own."""
    q, k, v = (x[..., share_of(rank), :] for x in inputs())
    q, k = RotaryEmbedding(HEAD_DIM, layout=layout)(q, k, position_ids)
    gathered = []
    for x in (k, v):
        parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(WORLD)]
        dist.all_gather(parts, x.contiguous())
        gathered.append(torch.cat(parts, dim=-2))
    return attend(NoPosition(), q, *gathered, mask=causal_rows(rank))[0]


def process(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=WORLD,
        timeout=datetime.timedelta(minutes=10),  # of a busy machine
    )
    share = share_of(rank)
    outputs = {
        (layout, where): attended(rank, layout, ids)
        for layout in LAYOUTS
        for where, ids in {
            "in the whole": torch.arange(share.start, share.stop),
            "in the share": torch.arange(share.stop - share.start),
        }.items()
    }
    torch.save(outputs, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    """(layout, where positions count) -> output of all processes, joined."""
    folder = tmp_path_factory.mktemp("processes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        mp.spawn(process, args=(str(folder),), nprocs=WORLD)
    shares = [torch.load(folder / f"{rank}.pt") for rank in range(WORLD)]
    return {key: torch.cat([share[key] for share in shares], dim=-2) for key in shares[0]}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shares_equal_the_whole_where_positions_count_in_the_whole(gathered, layout):
    q, k, v = inputs()
    rotary = RotaryEmbedding(HEAD_DIM, layout=layout)
    expected, _ = attend(Rotary.from_module(rotary), q, k, v, causal=True)
    torch.testing.assert_close(gathered[layout, "in the whole"], expected, rtol=0, atol=1e-12)
    # Positions that begin anew in each process: right in the first, wrong in every other.
    difference = (gathered[layout, "in the share"] - expected).abs().amax(dim=(0, 1, 3))
    assert difference[share_of(0)].max() < 1e-12
    assert difference[share_of(1)].min() > 1e-3
