"""The command that records a study: it resumes, loses nothing, and says what is wrong."""

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from toc import ROOT

from ropebook.experiments import recorded, runner
from ropebook.experiments.__main__ import main
from ropebook.experiments.workshop import Workshop


class Study:
    """A study that says what it was asked, and may stop at a run."""

    CASES = ("a", "b")

    def __init__(self):
        self.CONFIG, self.asked, self.stop_at = {"size": 1}, [], None

    def run(self, case, seed, workshop):
        if (case, seed) == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append((case, seed))
        return {"value": 10.0 * seed + self.CASES.index(case), "list": [1.0, float("nan")]}


@pytest.fixture
def study(monkeypatch):
    study = Study()
    real = runner.study
    monkeypatch.setattr(runner, "study", lambda name: study if name == "fake" else real(name))
    return study


@pytest.fixture
def run(tmp_path):
    def command(*arguments, name="fake"):
        folders = ["--out", str(tmp_path / "out"), "--folder", str(tmp_path / "runs")]
        return main(["run", name, *folders, *arguments])

    command.path = tmp_path / "out" / "fake.json"
    return command


def test_every_case_is_run_with_every_seed(study, run, capsys):
    assert run("--seeds", "0-1") == 0
    assert study.asked == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    found = recorded.load(run.path)
    assert found.config == {"size": 1} and found.cases == ["a", "b"]
    assert found.numbers("b", "value").tolist() == [1, 11]
    assert "[4/4] b, seed 1: value 11" in capsys.readouterr().out


def test_what_is_recorded_is_not_run_again(study, run, capsys):
    run("--seeds", "1")
    study.asked.clear()
    assert run("--seeds", "0-1", "--cases", "b") == 0
    assert study.asked == [("b", 0)]
    assert "1 runs are recorded already" in capsys.readouterr().out


def test_an_interrupted_command_keeps_what_was_done_and_goes_on(study, run, capsys):
    study.stop_at = ("a", 1)
    assert run("--seeds", "0-1") == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    assert len(recorded.load(run.path).runs) == 2
    study.asked.clear()
    study.stop_at = None
    assert run("--seeds", "0-1") == 0
    assert study.asked == [("a", 1), ("b", 1)]


def test_runs_of_another_configuration_are_kept(study, run, capsys):
    run("--seeds", "0")
    kept = run.path.read_bytes()
    study.CONFIG = {"size": 2}
    assert run("--seeds", "1") == 2
    assert "was recorded with other size: move it away" in capsys.readouterr().err
    assert run.path.read_bytes() == kept


def test_a_file_of_another_version_is_kept(study, run, capsys):
    run.path.parent.mkdir()
    run.path.write_text('{"format": 0}')
    assert run("--seeds", "1") == 2
    assert "must be results of format 1, got 0" in capsys.readouterr().err
    assert run.path.read_text() == '{"format": 0}' and study.asked == []


def test_a_path_that_cannot_be_written_is_said_before_anything_is_run(study, run, capsys):
    run.path.parent.write_text("a file")
    assert run("--seeds", "1") == 2
    assert "cannot write" in capsys.readouterr().err and study.asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "1", "--cases", "a,c"], r"case must be one of \['a', 'b'\], got 'c'"),
        (["--seeds", "1,1"], r"seeds must be different, got \(1, 1\)"),
    ],
)
def test_what_there_is_not_is_refused(study, run, capsys, arguments, message):
    assert run(*arguments) == 2
    assert re.search(message, capsys.readouterr().err)
    assert study.asked == []


def test_an_unknown_study_is_refused(run, capsys):
    assert run(name="langauge") == 2
    error = capsys.readouterr().err
    assert "study must be one of" in error and "'language'" in error


@pytest.mark.parametrize(
    "wrong", [["--seeds", "x"], ["--seeds", "1-"], ["--seeds", "3-1"], ["--jobs", "0"]]
)
def test_what_is_no_number_is_refused(run, capsys, wrong):
    with pytest.raises(SystemExit) as stop:
        run(*wrong)
    assert stop.value.code == 2 and "must be" in capsys.readouterr().err


def test_fewer_steps_are_no_result_for_the_book(capsys):
    assert main(["run", "language", "--steps", "1"]) == 2
    assert "name another folder with --out" in capsys.readouterr().err


def test_all_studies_are_listed(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in listed] == runner.names()


@pytest.mark.parametrize("name", runner.names())
def test_a_study_has_what_the_command_needs(name):
    study = runner.study(name)
    assert study.CASES and len(set(study.CASES)) == len(study.CASES)
    assert not any("," in case for case in study.CASES)
    path = recorded.RESULTS / f"{name}.json"
    assert path.exists(), "record it"
    assert recorded.load(path).config == recorded.plain(study.CONFIG), "record it again"


# One training step each, of the case that is measured fastest.
QUICK = ["--cases", "learned", "--steps", "1", "--seeds", "0-2", "--jobs", "2"]


@pytest.mark.slow
def test_a_killed_command_goes_on_and_records_the_same(tmp_path):
    folders = ["--out", str(tmp_path), "--folder", str(tmp_path / "runs")]
    command = [sys.executable, "-m", "ropebook.experiments", "run", "language", *QUICK, *folders]
    start = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "start_new_session": True}
    path = tmp_path / "language.json"
    killed = subprocess.Popen(command, **start)
    while killed.poll() is None and not (path.exists() and recorded.load(path).runs):
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert recorded.load(path).runs
    assert subprocess.run(command, **start).returncode == 0
    found = recorded.load(path)
    assert found.seeds("learned") == [0, 1, 2]
    for seed in range(3):
        alone = runner.one("language", "learned", seed, Workshop(steps=1))
        for name in ("loss", "within", "curve", "saved_bytes"):
            expected = torch.tensor(alone[name], dtype=torch.float64)
            value = found.numbers("learned", name)[seed]
            torch.testing.assert_close(value, expected, atol=0, rtol=1e-6, equal_nan=True)


def test_a_run_computes_on_one_thread(study):
    runner.one("fake", "a", 0, SimpleNamespace())
    assert torch.get_num_threads() == 1
