"""Recorded runs: what is written is read again, and nothing that was recorded is lost."""

import errno
import json
import math

import pytest
import torch

from ropebook.experiments import recorded
from ropebook.experiments.recorded import Recorded

PLACE = {"processor": "P, AVX2", "torch": "2.13.0"}


@pytest.fixture
def three():
    runs = Recorded("language", {"bin": 32})
    for seed in (2, 0, 1):
        numbers = {"loss": [1.0 + seed, math.nan], "within": torch.tensor(0.5), "parameters": 7}
        runs.add("rope", seed, numbers, place=PLACE, date=f"2026-11-2{seed}")
    return runs


def test_what_is_written_is_read_again(three, tmp_path):
    path = tmp_path / "language.json"
    recorded.save(three, path)
    again = recorded.load(path)
    assert vars(again) == vars(three)
    assert again.cases == ["rope"] and again.seeds("rope") == [0, 1, 2]
    loss = again.numbers("rope", "loss")
    assert loss.dtype == torch.float64 and loss[:, 0].tolist() == [1, 2, 3]
    assert loss[:, 1].isnan().all()
    assert again.numbers("rope", "within").tolist() == [0.5] * 3


def test_the_file_says_where_its_numbers_come_from(three, tmp_path):
    path = tmp_path / "language.json"
    recorded.save(three, path)
    told = json.loads(path.read_text())
    command = "python -m ropebook.experiments run language --seeds 0-2"
    assert told["command"] == command and told["places"] == [PLACE]
    assert three.told() == (
        "1 cases with 3 seeds each, recorded 2026-11-20 to 2026-11-22 on P, AVX2, torch 2.13.0; "
        f"again by `{command}`"
    )
    here = recorded.here()
    assert set(here) == {"processor", "system", "python", "torch", "numpy", "ropelib", "text"}
    assert all(isinstance(value, str) and value for value in here.values())


def test_a_run_takes_the_place_of_its_like(three):
    three.add("rope", 1, {"within": 9.0}, place=PLACE, date="2026-11-30")
    assert three.seeds("rope") == [0, 1, 2]
    assert three.numbers("rope", "within").tolist() == [0.5, 9.0, 0.5]
    other = {**PLACE, "torch": "3.0"}
    three.add("none", 7, {"within": 1.0}, place=other, date="2026-11-30")
    assert three.has("none", 7) and not three.has("none", 0)
    assert [run["place"] for run in three.runs] == [0, 0, 0, 1]
    assert three.command.endswith("--seeds 0,1,2,7")


def test_what_is_not_recorded_is_named(three, tmp_path):
    with pytest.raises(ValueError, match=r"case must be one of \['rope'\], got 'alibi'"):
        three.numbers("alibi", "loss")
    three.add("rope", 3, {"within": 1.0}, place=PLACE, date="2026-11-20")
    with pytest.raises(ValueError, match=r"name must be one of \['within'\], got 'loss'"):
        three.numbers("rope", "loss")
    with pytest.raises(FileNotFoundError, match=r"run nothing records it"):
        recorded.load(tmp_path / "nothing.json")
    with pytest.raises(FileNotFoundError, match=r"nothing is recorded at .*nothing\.json"):
        recorded.load("nothing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 2}', "must be results of format 1, got 2"),
        ("[]", "must be results of format 1, got None"),
        ('{"format": 1}', "must be results of format 1, got 1"),
        ('{"format": 1, "study": ', "must be JSON"),
    ],
)
def test_a_file_of_another_version_is_refused(tmp_path, text, message):
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        recorded.load(path)
    assert path.read_text() == text


def test_a_full_disk_loses_no_recorded_run(three, tmp_path, monkeypatch):
    path = tmp_path / "language.json"
    recorded.save(three, path)
    kept = path.read_bytes()
    three.add("none", 0, {"within": 1.0}, place=PLACE, date="2026-11-30")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="which stays as it was"):
        recorded.save(three, path)
    assert path.read_bytes() == kept and list(tmp_path.iterdir()) == [path]
