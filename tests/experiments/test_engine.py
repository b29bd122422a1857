"""Training: the same bits for a seed, nothing lost by a stop, and two processes train as one."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from recipes import SMALL
from toc import ROOT

from ropebook.experiments import engine, evaluate, files
from ropebook.experiments.corpus import corpus
from ropebook.experiments.encodings import build
from ropebook.experiments.engine import learning_rate, train
from ropebook.experiments.recipe import Recipe


class Stopped(Exception):
    pass


def stop_at(step):
    def progress(done, loss):
        if done == step:
            raise Stopped

    return progress


def same(one, other):
    return one.curve == other.curve and all(
        x.equal(y)
        for x, y in zip(
            one.model.state_dict().values(), other.model.state_dict().values(), strict=True
        )
    )


@pytest.fixture(scope="module")
def whole():
    return train(SMALL, seed=3)


def test_it_learns(whole):
    assert len(whole.curve) == SMALL.num_steps // 10
    assert whole.curve[-1] < whole.curve[0] - 1
    windows = corpus().windows("valid", 8, 17)
    untrained = build(SMALL, 256)
    assert (
        evaluate.losses(whole.model, windows).mean()
        < evaluate.losses(untrained, windows).mean() - 1
    )
    assert not whole.model.training


def test_a_seed_repeats_bit_for_bit_whatever_else_is_drawn(whole):
    torch.manual_seed(99)
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    assert same(train(SMALL, seed=3), whole)
    assert torch.get_rng_state().equal(before) and torch.get_num_threads() == threads
    assert not same(train(SMALL, seed=4), whole)


@pytest.mark.parametrize("step", [50, 110])  # before the first checkpoint, and after it
def test_a_stopped_training_goes_on_and_ends_with_the_same_bits(whole, tmp_path, step):
    path = tmp_path / "deep" / "run.pt"
    with pytest.raises(Stopped):
        train(SMALL, seed=3, path=path, progress=stop_at(step))
    assert path.exists() == (step > engine.CHECKPOINT_EVERY)
    done = []
    resumed = train(SMALL, seed=3, path=path, progress=lambda step, loss: done.append(step))
    assert same(resumed, whole)
    assert done[0] == (110 if step > engine.CHECKPOINT_EVERY else 10)


def test_what_is_done_is_read_and_not_trained_again(whole, tmp_path):
    train(SMALL, seed=3, path=tmp_path / "run.pt")
    again = train(SMALL, seed=3, path=tmp_path / "run.pt", progress=stop_at(SMALL.num_steps))
    assert same(again, whole)


def test_a_file_of_another_training_is_refused(tmp_path):
    path = tmp_path / "run.pt"
    short = replace(SMALL, num_steps=2)
    train(short, seed=0, path=path)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="must hold a training of seed 1, got 0: move it away"):
        train(short, seed=1, path=path)
    with pytest.raises(ValueError, match="must hold a training of recipe"):
        train(replace(short, base=5.0), seed=0, path=path)
    assert path.read_bytes() == kept
    for broken in (b"", kept[: len(kept) // 2], b"text"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"run\.pt must be a training .* cannot be read"):
            train(short, seed=0, path=path)


def test_further_training_leaves_its_start_alone(whole):
    before = [p.clone() for p in whole.model.parameters()]
    further = train(replace(SMALL, num_steps=10, seq_len=32), 0, start=whole.model)
    assert all(map(torch.equal, before, whole.model.parameters()))
    assert not all(map(torch.equal, before, further.model.parameters()))
    assert further.curve[0] < whole.curve[0] - 1  # it does not begin anew


def test_bfloat16_trains_like_float32(whole):
    other = train(replace(SMALL, dtype="bfloat16"), seed=3)
    assert other.curve != whole.curve
    torch.testing.assert_close(
        torch.tensor(other.curve), torch.tensor(whole.curve), atol=0.1, rtol=0
    )


def test_the_rate_rises_straight_and_falls_as_a_cosine():
    recipe = Recipe(num_steps=110, warmup=10, learning_rate=2.0)
    rates = [learning_rate(recipe, step) for step in range(110)]
    assert rates[0] == 0.2 and rates[9] == rates[10] == 2.0
    assert rates[60] == pytest.approx(1.1) and 0.2 < rates[-1] < 0.201
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert learning_rate(replace(recipe, warmup=0), 0) == 2.0


def test_only_linear_maps_decay():
    model = build(replace(SMALL, encoding="shaw"), 256)
    rates = {"learning_rate": 1e-12, "weight_decay": 1e11}  # a tenth, and no step to speak of
    recipe = replace(SMALL, encoding="shaw", num_steps=1, warmup=0, **rates)
    trained = train(recipe, 0, start=model).model
    for (name, before), after in zip(model.named_parameters(), trained.parameters(), strict=True):
        shrunk = after.norm() < 0.95 * before.norm()
        linear = name.endswith("weight") and not any(s in name for s in ("norm", "embedding"))
        assert shrunk == linear, name


# ---- files ------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file_and_no_piece_of_the_new_one(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")

    def write(beside):
        beside.write_text("ha")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"cannot write .*results\.json, which stays .*No space left"):
        files.replace(path, write)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write .*file/run\.pt"):
        train(replace(SMALL, num_steps=1), 0, path=tmp_path / "file" / "run.pt")


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")

    def write(beside):
        beside.write_text("ha")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.replace(path, write)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


# ---- several processes ------------------------------------------------------------------------

PROGRAM = """
import json, sys
from dataclasses import replace
from pathlib import Path
from recipes import SMALL
from ropebook.experiments import engine, processes
recipe = replace(SMALL, num_steps=40)
with processes.together("cpu") as device:
    trained = engine.train(recipe, 3, path=Path(sys.argv[1]) / "run.pt", device=device)
    told = {"count": processes.count(), "curve": trained.curve}
    Path(sys.argv[1], f"{processes.rank()}.json").write_text(json.dumps(told))
"""


@pytest.mark.slow
def test_two_processes_train_as_one_does(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    environment = {"PYTHONPATH": f"{ROOT}:{Path(__file__).parent}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launcher, "--nproc-per-node", "2", str(program), str(tmp_path)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{r}.json").read_text()) for r in range(2))
    assert first["count"] == second["count"] == 2 and first["curve"] == second["curve"]
    alone = train(replace(SMALL, num_steps=40), seed=3)
    # Sums in another order, forty steps long: rounding grows, but the losses stay the same.
    torch.testing.assert_close(
        torch.tensor(first["curve"]), torch.tensor(alone.curve), atol=1e-4, rtol=0
    )
