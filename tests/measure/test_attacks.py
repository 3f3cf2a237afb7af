"""A worker that attacks the run costs itself: its neighbours are measured, and it is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.isolate import landlock
from graph_net.isolate.descendants import state_of
from graph_net.isolate.sandbox import SWITCH
from graph_net.measure import MeasureLimits
from graph_net.results import Failure, Record, Stage, Symptom, to_json
from measure.asking import measured, small_graph, task

FILE = Path(__file__).with_name("some_attackers.py")
SCOPED = landlock.abi() >= landlock.SCOPED_SIGNALS
EXPECTED = {
    "HalfACharacter": (Symptom.UNSUPPORTED, r"aten.\ud800"),
    "LongRefusal": (Symptom.UNSUPPORTED, "xxx"),
    "Unspeakable": (Symptom.EXCEPTION, "its text cannot be read: SystemExit"),
    "Rubbish": (Symptom.EXCEPTION, "something that is not an answer"),
    "DeepRubbish": (Symptom.EXCEPTION, "something that is not an answer"),
    "HugePromise": (Symptom.EXCEPTION, "something that is not an answer"),
    "BackInTime": (Symptom.EXCEPTION, "announced stage load after compile"),
    "KillsItself": (Symptom.CRASH, "sent itself a signal"),
    "EatsElsewhere": (Symptom.OUT_OF_MEMORY, "held more than the limit"),
    "ForksForEver": (Symptom.CRASH, "started more than 512 processes"),
}
REFUSED = {
    "WritesElsewhere": "PermissionError",
    "StartsAShell": "CalledProcessError",
    "KillsTheLanes": "PermissionError",
    "StopsTheLanes": "PermissionError",
    "KillsItsNeighbours": "PermissionError",
}


def attacker(name: str) -> str:
    return f"{FILE}:{name}"


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """One run over all of them, with a compiler that does no harm between each two."""
    limits = MeasureLimits(memory_bytes=1 << 30).with_compile(20.0)
    tasks = []
    for place, name in enumerate((*EXPECTED, *REFUSED)):
        tasks.append(task(attacker(name), limits=limits))
        tasks.append(task(attacker("Harmless"), small_graph(5 + place), limits=limits))
    found = measured(tasks)
    assert len(found) == len(tasks)
    harmless = [r.failure for r in found if r.config.name == attacker("Harmless")]
    assert harmless == [None] * len(harmless)
    return {record.config.name.rpartition(":")[2]: record for record in found}


def failure_of(name: str, records: dict[str, Record]) -> Failure:
    failure = records[name].failure
    assert failure is not None
    return failure


def test_a_work_directory_too_deep_to_walk_costs_nobody_anything() -> None:
    (record,) = measured([task(attacker("DigsDeep"), limits=MeasureLimits().with_compile(60.0))])
    assert record.failure is None, record.failure


@pytest.mark.parametrize("name", EXPECTED)
def test_an_attack_is_its_own_failure(name: str, records: dict[str, Record]) -> None:
    failure = failure_of(name, records)
    symptom, words = EXPECTED[name]
    assert failure.stage is Stage.COMPILE
    assert failure.symptom is symptom, failure.message
    assert words in failure.message


@pytest.mark.skipif(not SCOPED, reason="the kernel's Landlock is too old")
@pytest.mark.parametrize("name", REFUSED)
def test_what_reaches_outside_is_refused(name: str, records: dict[str, Record]) -> None:
    failure = failure_of(name, records)
    assert (failure.stage, failure.symptom) == (Stage.COMPILE, Symptom.EXCEPTION)
    assert failure.message.startswith(REFUSED[name])


def test_messages_are_bounded_and_printable(records: dict[str, Record]) -> None:
    for record in records.values():
        if record.failure is not None:
            assert len(record.failure.message) <= 20_000
            assert "\x1b" not in record.failure.message
        assert to_json(record).encode()


@pytest.mark.skipif(not SCOPED, reason="the kernel's Landlock is too old")
def test_a_record_tells_what_confined_it(records: dict[str, Record]) -> None:
    told = records["Harmless"].environment["sandbox"]
    assert isinstance(told, str)
    assert f"landlock {landlock.abi()}" in told
    assert "seccomp" in told


def test_a_daemon_dies_with_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_ATTACKERS_PLACE", str(tmp_path))
    (record,) = measured([task(attacker("Daemon"))])
    assert record.failure is None
    assert state_of(int((tmp_path / "daemon").read_text())) in "XZ"


@pytest.mark.parametrize("name", ["KillsTheLanes", "StopsTheLanes"])
def test_without_a_sandbox_the_guilty_one_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "off")
    tasks = [task(attacker("Harmless"), small_graph(5)), task(attacker(name))]
    tasks += [task(attacker("Harmless"), small_graph(6))]
    found = measured(tasks)
    (guilty,) = (record.failure for record in found if record.config.name == attacker(name))
    assert guilty is not None
    assert guilty.symptom is Symptom.CRASH
    assert "died 2 times with this alone in it" in guilty.message
    harmless = [record for record in found if record.config.name == attacker("Harmless")]
    assert [record.failure for record in harmless] == [None, None]
    assert all("--no-sandbox" in str(record.environment["sandbox"]) for record in harmless)
