"""Golden runs on disk: whole sets or none, whatever is killed, and damage is told."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from graph_net.corpus.pack import PackWriter
from graph_net.golden.runs import (
    Lanes,
    Rerun,
    device_like,
    make_golden,
    run_again,
    stored_keys,
)
from graph_net.golden.store import GoldenError, GoldenStore, name_of
from graph_net.measure import MeasureLimits, Measurement
from graph_net.results import Failure, Stage, Symptom, canonical
from measure.asking import mine, small_graph, task

LANES = Lanes(1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden run of two graphs that pass and one that cannot be compiled."""
    path = tmp_path_factory.mktemp("golden")
    todo = [task("eager", small_graph(3)), task("eager", small_graph(4))]
    failed = task(mine("Raises"), small_graph(5))
    assert all(r.failure is None for r in make_golden(GoldenStore(path), todo, LANES, {"x": 1}))
    assert all(r.failure for r in make_golden(GoldenStore(path), [failed], LANES, {}))
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> GoldenStore:
    for file in made.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return GoldenStore(tmp_path)


def named(store: GoldenStore, graph: str) -> str:
    return next(name for name, run in store.runs() if run.record.subject.name == graph)


def seal(store: GoldenStore, name: str, tree: Any) -> None:
    """What somebody writes who knows how."""
    sealed = {"run": tree, "sha256": sha256(canonical(tree).encode()).hexdigest()}
    (store.path / f"{name}.json").write_text(json.dumps(sealed))


def again(store: GoldenStore, names: list[str]) -> list[Rerun]:
    return list(run_again(store, names, device_like("cpu", 1), MeasureLimits(), LANES))


def test_a_worker_that_takes_its_outputs_away_costs_itself_only(tmp_path: Path) -> None:
    todo = [task(mine("TakesItsOutputsAway"), small_graph(3)), task("eager", small_graph(4))]
    found = {r.subject.name: r.failure for r in make_golden(GoldenStore(tmp_path), todo, LANES, {})}
    assert found["small4"] is None
    assert found["small3"] is not None
    assert found["small3"].message == "its worker left no file of outputs"
    assert [run.usable for _, run in GoldenStore(tmp_path).runs()].count(False) == 1


def test_a_set_holds_graph_outputs_samples_hashes_and_environment(store: GoldenStore) -> None:
    assert len(store.names()) == 3
    name = named(store, "small3")
    run = store.read(name)
    assert store.graph(name, run) == task("eager", small_graph(3)).graph
    assert run.record.timing is not None
    assert run.record.timing.candidate.wall
    assert run.asked == {"x": 1}
    assert {"graph_net", "kernel"} <= run.environment.keys()
    assert len(run.outputs_hash) == 64
    assert (store.path / f"{name}.safetensors").stat().st_size > 24


def test_a_failure_is_stored_without_outputs_and_not_run_again(store: GoldenStore) -> None:
    name = named(store, "small5")
    assert not (store.path / f"{name}.safetensors").exists()
    (found,) = again(store, [name])
    assert found.record is None
    assert found.problem == ""
    assert found.run is not None
    assert not found.run.usable


@pytest.mark.parametrize("suffix", ["json", "graph", "safetensors"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone", "empty"])
def test_damage_is_told_and_the_rest_goes_on(store: GoldenStore, suffix: str, how: str) -> None:
    name, other = named(store, "small3"), named(store, "small4")
    path = store.path / f"{name}.{suffix}"
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]
        path.write_bytes({"flipped": flipped, "cut": data[:middle], "empty": b""}[how])
    if suffix == "json":
        with pytest.raises(GoldenError, match=name):
            store.read(name)
    else:
        with pytest.raises(GoldenError, match=name):
            store.graph(name, store.read(name))
    assert store.graph(other, store.read(other))
    found = {each.name: each for each in again(store, [name])}
    assert found[name].damaged
    assert name in found[name].problem


def test_fields_of_other_types_are_no_golden_run(store: GoldenStore) -> None:
    name = named(store, "small3")
    tree = json.loads((store.path / f"{name}.json").read_text())["run"]
    changes: list[Any] = [
        tree | {"format": 2},
        tree | {"protocol": {"seed": "x"}},
        tree | {"more": 1},
        tree | {"record": None},
        [],
    ]
    for changed in changes:
        seal(store, name, changed)
        with pytest.raises(GoldenError):
            store.read(name)


def test_outputs_of_then_are_compared_with_those_of_now(store: GoldenStore) -> None:
    (found,) = again(store, [named(store, "small4")])
    assert found.record is not None
    told = found.record.environment["golden"]
    assert isinstance(told, dict)
    assert told["failure"] is None
    assert told["same_bits"] == [True]


def test_a_golden_run_names_no_file_to_import_and_no_program_to_start(
    store: GoldenStore, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')")
    name = named(store, "small3")
    tree = json.loads((store.path / f"{name}.json").read_text())["run"]
    for config, way_out in (
        ({"name": f"{evil}:Evil"}, "on the command line, as path/to/file.py:Name"),
        ({"name": "inductor", "options": {"cpp.cxx": [None, str(evil)]}}, "NAME[OPTION=VALUE]"),
    ):
        tree["record"]["config"] |= config
        seal(store, name, tree)
        (found,) = again(store, [name])
        assert way_out in found.problem
    assert not (tmp_path / "harmed").exists()


def test_resuming_passes_over_what_is_there_and_refuses_another_machine(store: GoldenStore) -> None:
    first = task("eager", small_graph(3))
    keys = stored_keys(store, first.config, first.device, first.protocol.hash)
    assert first.key in keys
    assert task("eager", small_graph(6)).key not in keys
    (store.path / f"{name_of(first)}.safetensors").write_bytes(b"")
    usual = (first.config, first.device, first.protocol.hash)
    assert first.key not in stored_keys(store, *usual)
    for what, asked in {
        "version": (replace(first.config, version="2"), *usual[1:]),
        "device": (first.config, replace(first.device, name="another"), usual[2]),
        "protocol": (*usual[:2], "another"),
    }.items():
        with pytest.raises(GoldenError, match=f"another {what}"):
            stored_keys(store, *asked)


class Killed(BaseException):
    """Nothing handles it."""


def test_a_set_is_whole_or_absent_wherever_it_is_cut_short(
    store: GoldenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step on disk is the last one in turn, first for a new set, then for one replaced."""
    asked = task("eager", small_graph(3))
    record = store.read(name_of(asked)).record
    kept = (store.path / f"{name_of(asked)}.safetensors").read_bytes()
    for last in range(12):
        _aside(store, asked).write_bytes(kept)
        with monkeypatch.context() as patched:
            _cut_short(patched, last)
            done = True
            try:
                store.add(asked, record, {"try": last})
            except Killed:
                done = False
        for name, run in store.runs():
            assert store.graph(name, run)
        assert not done or store.read(name_of(asked)).asked == {"try": last}
    assert done


def _cut_short(patched: pytest.MonkeyPatch, last: int) -> None:
    """After so many steps on disk the next one kills."""
    steps = iter(range(last))

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def step(*words: object, **more: object) -> object:
            if next(steps, None) is None:
                raise Killed
            return real(*words, **more)

        return step

    for name in ("rename", "unlink", "open"):
        patched.setattr(Path, name, counted(getattr(Path, name)))


def _aside(store: GoldenStore, asked: Measurement) -> Path:
    path = Path(store.writing(asked).path)
    path.parent.mkdir(exist_ok=True)
    return path


def test_outputs_that_a_killed_run_left_are_dropped(tmp_path: Path) -> None:
    store, asked = GoldenStore(tmp_path), task(mine("Raises"), small_graph(3))
    left = _aside(store, asked)
    left.write_bytes(b"half")
    spoilt = Failure(Stage.COMPILE, Symptom.EXCEPTION, "x")
    store.add(asked, asked.failed(spoilt), {})
    assert not left.exists()
    left.write_bytes(b"half")
    store.clear()
    assert not left.exists()


def test_killed_at_any_moment_it_goes_on_and_nothing_is_measured_twice(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        for size in range(3, 10):
            writer.add(f"small{size}", small_graph(size))
    words = ["reference", tmp_path / "pack", "--compiler", "eager", "-o", tmp_path / "golden"]
    words += ["--seconds", "0.05", "--threads", "1", "-j", "1"]
    command = [sys.executable, "-m", "graph_net.cli.main", *map(str, words)]
    store, started = GoldenStore(tmp_path / "golden"), dict[str, str]()
    moments = random.Random(0)  # noqa: S311 - moments, not secrets
    for kill in (True, True, False):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kill:
            before = len(store.names())
            while len(store.names()) == before and run.poll() is None:
                time.sleep(0.01)
            time.sleep(moments.random() * 0.3)
            os.kill(run.pid, signal.SIGKILL)
        assert run.wait() == (-signal.SIGKILL if kill else 0)
        for name in store.names():
            found = store.read(name)
            assert store.graph(name, found)
            assert started.setdefault(name, found.record.started) == found.record.started
    assert len(started) == 7
