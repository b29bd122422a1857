"""Recorded speed: what is written is read again, and a ratio is that of one round."""

import json
import math

import pytest

from ropebook.experiments import recorded, speed
from ropebook.experiments.speed import Run, Speed

PLACE = {"processor": "P, AVX2", "torch": "2.13.0", "threads": 2}


def run(name="prefill", allocator="warm", dtype="float32", length=8, **seconds):
    rows = [
        {"candidate": who.partition("_")[0], "seconds": times}
        | ({"layout": who.partition("_")[2]} if "_" in who else {})
        for who, times in {"copy": [1.0, 2.0, 4.0, 1.0], **seconds}.items()
    ]
    case = {"name": name, "dtype": dtype, "shape": [1, 2, length, 4]}
    told = {"kind": "rotation", "case": case, "rows": rows, "untimed": {}}
    return Run({**told, "allocator": allocator, "date": "2026-11-22", "place": 0})


@pytest.fixture
def found():
    slow = {"ours_half": [3.0, 6.0, 16.0, None], "theirs_half": [6.0, 24.0, 16.0, None]}
    points = [
        run("curve", allocator, length=length, ours_half=[length] * 4)
        for length in (1, 16)
        for allocator in ("stock", "warm")
    ]
    runs = [run(**slow), run(dtype="bfloat16"), run(allocator="stock"), *points]
    return Speed({"fast": False}, [PLACE], runs)


def test_a_ratio_is_that_of_rounds_and_not_of_middles(found):
    prefill = found.run("prefill", "warm", dtype="float32")
    assert prefill.seconds("ours", "half") == [3, 6, 16]
    assert prefill.ratio("ours", "half") == (3, 3, 3.5)  # 3, 3 and 4
    assert prefill.ratio("ours", "half", to="theirs", to_layout="half") == (0.375, 0.5, 0.75)
    assert prefill.ratio("copy") == (1, 1, 1)


def test_a_curve_goes_over_lengths(found):
    lengths, ratios = found.curve("ours", "half", allocator="warm")
    assert lengths == [1, 16]
    assert [middle for _, middle, _ in ratios] == [0.75, 12]  # of 1, 1/2, 1/4, 1


def test_what_is_written_is_read_again(found, tmp_path):
    path = tmp_path / "speed_cpu.json"
    speed.save(found, path)
    assert speed.load(path) == found
    told = json.loads(path.read_text())
    assert told["study"] == "speed_cpu" and told["places"] == [PLACE]
    assert told["command"] == speed.COMMAND and told["format"] == 1
    assert found.told() == (
        "7 runs, recorded 2026-11-22 on P, AVX2, 2 threads, torch 2.13.0; "
        "again by `make bench FAST=1 OUT=book/results/speed_cpu.json`"
    )


def test_what_did_not_run_is_named(found, tmp_path):
    prefill = found.run("prefill", "stock")
    with pytest.raises(ValueError, match=r"candidate must be one of \['copy'\], got 'ours, half'"):
        prefill.ratio("ours", "half")
    with pytest.raises(ValueError, match=r"one run must match .*'decode'.*, got 0"):
        found.run("decode")
    with pytest.raises(ValueError, match=r"one run must match .*, got 3"):
        found.run("prefill")
    with pytest.raises(
        FileNotFoundError, match=r"nothing is recorded at .*: make bench FAST=1 OUT="
    ):
        speed.load(tmp_path / "nothing.json")
    with pytest.raises(ValueError, match="values must be at least one, got none"):
        speed.quartiles([])
    assert speed.quartiles([2.0]) == (2, 2, 2)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_seconds_that_are_none_are_refused(found, tmp_path, seconds):
    path = tmp_path / "speed_cpu.json"
    found.runs[0].rows[0]["seconds"][1] = seconds
    speed.save(found, path)
    with pytest.raises(ValueError, match=rf"seconds of copy in .* must be positive, got {seconds}"):
        speed.load(path)


def test_seconds_that_are_no_number_are_not_written(found, tmp_path):
    found.runs[0].rows[0]["seconds"][1] = math.nan
    with pytest.raises(ValueError, match="not JSON compliant"):
        speed.save(found, tmp_path / "speed_cpu.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_says_less_is_not_written(tmp_path):
    path = tmp_path / "speed_cpu.json"
    with pytest.raises(
        ValueError, match=r"results must have \['command', .*, got \['format', 'runs'"
    ):
        recorded.write({"runs": []}, path)
    assert not path.exists()
