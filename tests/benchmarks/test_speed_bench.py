"""The measurement of speed: who is timed is right, who is not is named, rounds are fair."""

import json
import sys
import types
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
import torch

from ropebook.experiments import speed as reader
from ropelib import apply_rotary

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from speed import cases, command, imports, ours, peers, report, tables, timing, worker
from speed.candidates import Candidate, Inputs, Untimed
from speed.cases import ALL, FAST, Case, fitted
from speed.oracle import Oracle

# Each shape that is measured, with all its kinds of arithmetic, and as few numbers as show it.
TINY = [
    *cases._kinds(Case("prefill", (1, 4, 9, 16), 4, 16), (False, True)),
    *cases._kinds(Case("grouped", (2, 4, 9, 16), 2, 16), (False, True)),
    *cases._kinds(Case("vision", (1, 2, 9, 10), 2, 10)),
    *cases._kinds(Case("partial", (1, 2, 9, 16), 2, 4), (False, True)),
    *cases._kinds(Case("decode", (1, 4, 1, 16), 4, 16, start=4095)),
    Case("prefill", (1, 1, 300, 8), 1, 8, "bfloat16"),
    Case("curve", (1, 1, 4, 16), 1, 16),
]
tiny = pytest.mark.parametrize("case", TINY, ids=Case.told)


@pytest.fixture(scope="module", autouse=True)
def a_cache_of_its_own(tmp_path_factory):
    """What a measurement builds or chooses is forgotten after these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", "restored when this ends")
        patch.setattr(ours, "BUILT", tmp_path_factory.mktemp("built"))
        yield
    ours._missing_kernel.cache_clear()
    if ours.native is not None:
        ours.native.kernel.cache_clear()


def off(inputs, candidate):
    candidate.before()
    with torch.set_grad_enabled(inputs.case.backward):
        return Oracle(inputs).error(candidate, inputs.call(candidate)())


def both(inputs, compiled):
    yield from ours.candidates(inputs, compiled=compiled)
    yield from peers.candidates(inputs, compiled=compiled)


@tiny
def test_every_candidate_is_the_rotation(case):
    inputs = Inputs(case)
    found = [c for c in both(inputs, False) if isinstance(c, Candidate)]
    assert {c.layout for c in found if c.name == "ropelib"} == {"half", "interleaved"}
    names = [(c.name, c.layout) for c in found]
    assert len(names) == len(set(names))
    # It counts in the dtype of q, and bfloat16 knows no 257.
    beyond = case.dtype == "bfloat16" and case.start + case.shape[2] > 257
    known_wrong = {"rotary-embedding-torch"} if beyond else set()
    for candidate in found:
        error = off(inputs, candidate)
        assert (error <= candidate.within(case)) == (candidate.name not in known_wrong), (
            candidate.name,
            error,
        )


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_what_is_compiled_is_the_rotation(backward):
    case = Case("grouped", (1, 2, 9, 16), 1, 16, "bfloat16", backward)
    inputs = Inputs(case)
    torch.compiler.reset()
    found = [c for c in both(inputs, True) if "compiled" in c.name]
    assert {c.name for c in found} >= {"ropelib compiled"} and len(found) % 2 == 0
    for candidate in found:
        assert off(inputs, candidate) <= candidate.within(case), candidate


def test_the_kernel_is_used_where_its_row_says_so_and_nowhere_else():
    inputs = Inputs(Case("prefill", (1, 2, 9, 16), 2, 16))
    listed = list(ours.candidates(inputs, compiled=False))
    found = {c.name: c for c in listed if isinstance(c, Candidate)}
    if "ropelib native" not in found:
        (missing,) = (c for c in listed if isinstance(c, Untimed))
        assert missing.name == "ropelib native" and missing.reason
        return
    for name, candidate in found.items():
        candidate.before()
        assert (ours.native.kernel() is not None) == ("native" in name)


def rotated(inputs, angle=1, layout="half", columns=slice(None)):
    """A right rotation, or one that is wrong in one thing."""
    cos, sin = inputs.tables

    def turn(x):
        y = apply_rotary(x, cos, angle * sin, layout=layout)
        return torch.cat((y[..., columns], x[..., y[..., columns].shape[-1] :]), dim=-1)

    return lambda q, k: (turn(q), turn(k))


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("last", [9, 131_072])
def test_no_wrong_rotation_is_within_the_limit(dtype, last):
    case = Case("mine", (1, 2, 9, 16), 2, 16, dtype, start=last - 9)
    inputs = Inputs(case)
    for wrong in (
        rotated(inputs, angle=-1),
        rotated(inputs, layout="interleaved"),
        rotated(inputs, columns=slice(0, 12)),
        lambda q, k: (q, k),
        lambda q, k: (q, k * torch.nan),
    ):
        candidate = Candidate("mine", "half", wrong, "mine")
        assert off(inputs, candidate) > candidate.within(case)
    right = Candidate("mine", "half", rotated(inputs), "mine", exact=True, once=True)
    assert off(inputs, right) <= right.within(case)


def test_a_gradient_that_is_wrong_is_seen():
    case = Case("mine", (1, 2, 9, 16), 2, 16, backward=True)
    inputs = Inputs(case)
    turn = rotated(inputs)

    def detached(q, k):
        return tuple(x + (y - x).detach() for x, y in zip((q, k), turn(q, k), strict=True))

    candidate = Candidate("mine", "half", detached, "mine")
    assert off(inputs, candidate) > candidate.within(case)


def test_what_passes_through_must_not_change_at_all():
    case = Case("mine", (1, 1, 5, 16), 1, 4)
    inputs = Inputs(case)
    turn = rotated(inputs)

    def moved(q, k):
        q, k = turn(q, k)
        q[..., -1] = torch.nextafter(q[..., -1], torch.tensor(9.0))
        return q, k

    assert off(inputs, Candidate("mine", "half", moved, "mine")) == torch.inf


@pytest.mark.parametrize("change", [lambda x: x.double(), lambda x: x[..., :-1]])
def test_results_of_another_shape_or_type_are_refused(change):
    inputs = Inputs(Case("mine", (1, 1, 5, 16), 1, 16))
    candidate = Candidate("mine", "half", lambda q, k: (change(q), k), "mine")
    with pytest.raises(ValueError, match=r"mine must return torch.float32 \(1, 1, 5, 16\), got"):
        off(inputs, candidate)


# ---- a run --------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch):
    """A run of a tiny case, in which one candidate is wrong and one is not there."""

    def version(package):
        if package == "torchtune":
            raise metadata.PackageNotFoundError(package)
        return f"{package} 1"

    monkeypatch.setattr(peers, "version", version)
    monkeypatch.setattr(peers, "FAMILIES", (peers.complex_product, peers.torchtune, peers.loop))
    listed = worker.listed

    def with_a_wrong_one(inputs, **what):
        return [*listed(inputs, **what), Candidate("w", "half", lambda q, k: (q, k), "nobody")]

    monkeypatch.setattr(worker, "listed", with_a_wrong_one)

    def run(case, allocator="warm"):
        told = worker.measured(case, 0.0, compiled=False)
        return {**told, "allocator": allocator, "date": "2026-11-22", "place": 0}

    return run


def test_who_is_wrong_or_missing_is_named_and_not_timed(run):
    told = run(TINY[0])
    assert "w" not in {row["candidate"] for row in told["rows"]}
    assert told["untimed"].keys() - {"ropelib native"} == {"w, half", "torchtune"}
    assert told["untimed"]["w, half"].startswith("WRONG: it is off by")
    assert told["untimed"]["torchtune"].startswith("NOT INSTALLED: ")
    said = report.told(reader.Run(told), "a title")
    assert "NOT TIMED w, half: WRONG" in said and "NOT TIMED torchtune: NOT INSTALLED" in said


def test_a_rows_numbers_are_its_own(run):
    told = run(Case("prefill", (1, 4, 9, 16), 4, 16, "bfloat16"))
    rows = {(row["candidate"], row.get("layout")): row for row in told["rows"]}
    assert rows["copy", None].keys() == {"candidate", "writes", "seconds"}
    for row in told["rows"][2:]:
        assert 0 <= row["error"] <= row["within"], row
    assert rows["ropelib in place", "half"]["writes"] == "inputs"
    assert rows["loop over pairs", "interleaved"]["memory"] >= 1
    json.dumps(told, allow_nan=False)


def test_a_curve_has_the_candidates_that_do_not_compile(run):
    told = run(TINY[-1])
    names = {row["candidate"] for row in told["rows"]}
    names -= {"ropelib native out="}  # where it can be built
    assert names == {"copy", "clone", "ropelib", "ropelib out=", "complex product"}


def test_the_whole_command_writes_what_is_read(run, monkeypatch, capsys, tmp_path):
    asked = []

    def measured(name, allocator, fast):
        asked.append((name, allocator, fast))
        if name == "tables":
            return [tables.measured(0.0, length=16)]
        told = run(next(case for case in TINY if case.name == name), allocator)
        return [{key: told[key] for key in ("kind", "case", "rows", "untimed")}]

    monkeypatch.setattr(command, "measured", measured)
    monkeypatch.setattr(imports, "measured", lambda: {**IMPORTS, "untimed": {}})
    path = tmp_path / "speed_cpu.json"
    names = ["prefill", "decode", "curve", "tables", "imports"]
    monkeypatch.setattr(sys, "argv", ["speed", "--only", *names, "--out", str(path)])
    assert command.main() == 0
    assert asked == [(n, a, False) for n in names[:-1] for a in ("stock", "warm")]
    said = capsys.readouterr().out
    assert "prefill: q (1, 4, 9, 16), k (1, 4, 9, 16), float32, forward, stock allocator" in said
    assert "warm allocator (MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184)" in said
    assert said.count("x the time of") == 8  # of four cases with peers, each allocator
    found = reader.load(path)
    assert len(found.runs) == 9 and found.config["names"] == names
    assert {"processor", "cores", "threads", "torch", "transformers", "load"} <= set(
        found.places[0]
    )
    _, ratio, _ = found.run("prefill", "warm").ratio("ropelib", "half")
    assert f"{ratio:8.2f}" in said
    assert found.curve("ropelib", "half", allocator="warm")[0] == [4]
    assert found.run("tables", "stock").row("ropelib")["error"] < 1e-7


IMPORTS = {
    "kind": "imports",
    "case": {"name": "imports"},
    "rows": [{"candidate": name, "of": "", "seconds": [1.0, 2.0]} for name in imports.STATEMENTS],
}


def test_a_process_that_fails_fails_the_command_and_writes_nothing(monkeypatch, capsys, tmp_path):
    done = types.SimpleNamespace(returncode=-9, stdout="")
    monkeypatch.setattr(command.subprocess, "run", lambda *_, **__: done)
    path = tmp_path / "speed_cpu.json"
    monkeypatch.setattr(sys, "argv", ["speed", "--only", "decode", "--out", str(path)])
    assert command.main() == 1
    assert "FAILED: measuring decode, warm, failed with -9" in capsys.readouterr().out
    assert not path.exists()


def test_a_part_of_it_is_not_recorded(monkeypatch, capsys):
    path = reader.recorded.RESULTS / "speed_cpu.json"
    monkeypatch.setattr(sys, "argv", ["speed", "--only", "decode", "--out", str(path)])
    monkeypatch.setattr(command, "measured", None)  # nothing is measured, nothing written
    with pytest.raises(SystemExit):
        command.main()
    assert "leave out --only" in capsys.readouterr().err


def test_each_allocator_has_an_environment_of_its_own(monkeypatch):
    seen = []

    def remember(command, env, **_):
        seen.append((command, env))
        return types.SimpleNamespace(returncode=0, stdout='{"kind": "rotation"}\n')

    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setattr(command.subprocess, "run", remember)
    for allocator in command.ALLOCATORS:
        assert command.measured("decode", allocator, True) == [{"kind": "rotation"}]
    (stock, environment), (_, warm) = seen
    assert stock[1:] == ["-m", "speed.worker", "decode", "--fast"]
    assert not [key for key in environment if key.startswith("MALLOC_")]
    assert {key: warm[key] for key in warm if key.startswith("MALLOC_")} == command.WARM


@pytest.mark.slow
def test_a_worker_prints_lines_of_json_and_nothing_else(capfd, monkeypatch):
    monkeypatch.setitem(FAST, "decode", [TINY[0]])
    monkeypatch.setattr(sys, "argv", ["worker", "decode", "--fast", "--budget", "0"])
    monkeypatch.setattr(
        worker, "listed", lambda inputs, **_: list(ours.candidates(inputs, compiled=False))
    )
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    worker.main()
    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["case"]["name"] == "prefill"


# ---- rounds -------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only where a call says so."""
    clock = types.SimpleNamespace(now=0.0, order=[])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)

    def call(name, seconds):
        def call():
            clock.order.append(name)
            clock.now += seconds

        return call

    clock.calls = lambda **times: {name: call(name, t) for name, t in times.items()}
    return clock


def test_a_slow_candidate_sits_rounds_out_and_no_other_pays_for_it(clock):
    found = timing.seconds(clock.calls(copy=0.01, middle=0.1, slow=50.0), budget=3.0)
    took_part = {name: sum(t is not None for t in times) for name, times in found.items()}
    assert took_part == {"copy": 15, "middle": 10, "slow": timing.LEAST}
    assert {len(times) for times in found.values()} == {15}
    assert found["copy"] == pytest.approx([0.01] * 15)


def test_a_slow_candidate_sees_a_machine_that_warms_up_as_the_others_do(clock):
    """Its rounds fall into each third: all in the first would meet the slow copies."""
    found = timing.seconds(clock.calls(copy=0.01, slow=50.0), budget=3.0)
    took_part = [i for i, t in enumerate(found["slow"]) if t is not None]
    assert len(took_part) == timing.LEAST
    assert [sum(i // 5 == third for i in took_part) for third in range(3)] == [2, 2, 3]


@pytest.mark.parametrize(("rounds", "of"), [(3, 15), (10, 15), (15, 15), (3, 4), (1, 1)])
def test_rounds_are_spread_evenly_and_all_are_taken(rounds, of):
    taken = [i for i in range(of) if timing.takes_part(i, rounds, of)]
    assert len(taken) == rounds
    for begin in range(of):
        inside = sum(begin <= i < begin + of // rounds for i in taken)
        assert inside <= 1


def test_what_is_short_is_repeated_and_its_time_is_that_of_one_call(clock):
    found = timing.seconds(clock.calls(copy=1e-5), budget=9.0)
    assert found["copy"] == pytest.approx([1e-5] * 15)
    assert len(clock.order) == timing.TRIES + 15 * 200


def test_one_slow_call_does_not_tell_how_often_to_repeat(clock):
    calls, slow = clock.calls(copy=1e-5), iter([1.0])

    first = calls["copy"]

    def call():
        clock.now += next(slow, 0)  # the system was at work
        return first()

    timing.seconds({"copy": call}, 9.0)
    assert len(clock.order) == timing.TRIES + 15 * 200


def test_what_a_call_needs_is_done_before_each_measurement_and_not_timed(clock):
    calls = clock.calls(copy=0.5, native=0.5)

    def before():
        clock.order.append("before")
        clock.now += 7.0

    found = timing.seconds(calls, 0.0, {"native": before})
    assert found["native"] == pytest.approx([0.5] * timing.LEAST)
    places = [i for i, name in enumerate(clock.order) if name == "native"]
    assert len(places) == timing.TRIES + timing.LEAST
    assert all(clock.order[i - 1] == "before" for i in places)


def test_each_round_has_an_order_of_its_own(clock):
    timing.seconds(clock.calls(a=1.0, b=1.0, c=1.0, d=1.0, e=1.0), budget=1e3)
    rounds = [tuple(clock.order[i : i + 5]) for i in range(5 * timing.TRIES, len(clock.order), 5)]
    assert len(rounds) == 15 and {frozenset(r) for r in rounds} == {frozenset("abcde")}
    assert len(set(rounds)) > 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.mul_(2), 0),
        (lambda x: x.clone(), 1),
        (lambda x: x + 1 + 1, 2),
        (lambda x: [x.clone(), x.clone(), x.clone()], 3),
        (lambda x: [x.clone().sum(), x.clone().sum()], 1),
    ],
)
def test_memory_is_the_most_that_is_held_at_a_time(call, expected):
    x = torch.zeros(4096)
    with torch.no_grad():
        assert timing.peak_bytes(lambda: call(x)) / x.nbytes == pytest.approx(expected, abs=0.01)


def test_a_case_has_as_many_heads_as_fit_into_memory():
    case = ALL["grouped"][0]
    assert fitted(case, 2**50) == case
    small = fitted(case, case.bytes * cases.AT_ONCE // 8)
    assert (small.shape, small.key_heads) == ((1, 8, 4096, 128), 2)
    assert replace(small, shape=case.shape, key_heads=case.key_heads) == case
    with pytest.raises(ValueError, match=r"grouped: .* must fit into memory, got 1 free bytes"):
        fitted(case, 1)


def test_the_curve_is_the_same_work_at_every_length():
    lengths = [case.shape[2] for case in ALL["curve"]]
    assert (lengths[0], lengths[-1]) == (1, 131_072)
    assert len({replace(case, shape=()) for case in ALL["curve"]}) == 1


def test_tables_are_compared_with_what_is_exact():
    found = {row["candidate"]: row for row in tables.measured(0.0, length=5000)["rows"]}
    assert found["ropelib"]["error"] < 1e-7 < found["float32 angles"]["error"]
    assert 1 <= found["ropelib"]["memory"]


def test_the_kernel_of_the_hub_is_called_as_it_is_published(monkeypatch):
    """Half, of the dtype of q, tables `(batch, seq_len, num_pairs)` that it unsqueezes."""

    def published(q, k, cos, sin, unsqueeze_dim=1):
        assert q.dtype == k.dtype == cos.dtype == sin.dtype
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

        def turn(x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

        return turn(q), turn(k)

    code = types.SimpleNamespace(apply_rotary_transformers=published)
    monkeypatch.setattr(peers, "version", lambda package: f"{package} 1")
    monkeypatch.setattr(peers, "_from_the_hub", lambda: (code, ""))
    for case in TINY:
        inputs = Inputs(case)
        for found in peers.hub_kernels(inputs, False):
            if case.backward or case.rotary_dim < case.shape[3]:
                assert isinstance(found, Untimed)
            else:
                assert off(inputs, found) <= found.within(case)


def test_a_family_without_its_package_says_so(monkeypatch):
    def nothing(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", nothing)
    found = list(peers.candidates(Inputs(TINY[0]), compiled=False))
    missing = {c.name for c in found if isinstance(c, Untimed) and "NOT INSTALLED" in c.reason}
    assert missing == {
        *("transformers", "torchtune", "rotary-embedding-torch", "onnxruntime", "hub-kernels")
    }
