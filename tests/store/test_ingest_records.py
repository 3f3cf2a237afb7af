"""Lines of records from elsewhere: what is damaged is named and passed over, the rest is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.calling import Answer
from graph_net.cli.main import main
from graph_net.results import RecordError, from_json, to_json
from graph_net.store.record_journal import read_journal
from graph_net.store.records import RecordStore
from store.test_records import about

LONG = 200 << 20
INGEST = """
import resource, sys
from graph_net.store.ingest_records import add_records
from graph_net.store.records import RecordStore
from pathlib import Path
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = add_records(RecordStore(sys.argv[2]), Path(sys.argv[1]), {})
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(told.added, told.damaged, after - before)
"""


@pytest.fixture
def ingest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs ``graph-net ingest`` on a file of these lines."""

    def run(*lines: bytes) -> Answer:
        file = tmp_path / "lines.jsonl"
        file.write_bytes(b"".join(line + b"\n" for line in lines))
        with pytest.raises(SystemExit) as caught:
            main(["ingest", str(file), "-o", str(tmp_path / "records")])
        printed = capsys.readouterr()
        return Answer(int(caught.value.code or 0), printed.out, printed.err)

    return run


def names(tmp_path: Path) -> list[str]:
    return [one.subject.name for one in RecordStore(tmp_path / "records").records()]


def line(name: str = "a", **changes: Any) -> bytes:
    """A record's line, with parts of its tree replaced."""
    tree = json.loads(to_json(about(name)))
    for key, value in changes.items():
        merged = isinstance(value, dict) and isinstance(tree[key], dict)
        tree[key] = tree[key] | value if merged else value
    return json.dumps(tree).encode()


def test_a_damaged_line_does_not_stop_the_file(ingest: Any, tmp_path: Path) -> None:
    answer = ingest(line("a"), b'{"config": 1}', b"\x00\xff", line("b"), line("c")[:-40])
    assert answer.code == 0
    assert "2 records added, 0 already there, 3 lines are damaged" in answer.err
    assert "line 2, byte " in answer.err
    assert names(tmp_path) == ["a", "b"]


def test_a_file_without_a_record_is_an_error(ingest: Any) -> None:
    answer = ingest(b'{"config": 1}')
    assert answer.code == 1
    assert "0 records added, 0 already there, 1 lines are damaged" in answer.err


@pytest.mark.parametrize(
    "bad",
    [
        line("x", subject={"name": "\ud800"}),
        line("x", environment={"\udfff": 1}),
        line("x", environment={"a": [{"b": "\ud800"}]}),
        line("x").replace(b'"environment": {}', b'"environment": {"a": "\xed\xa0\x80"}'),
        line("x").replace(b'"environment": {}', b'"environment": {"a": 1e999}'),
        line("x").replace(b'"environment": {}', b'"environment": {"a": NaN}'),
        line("x").replace(b'"environment": {}', b'"environment": {"a": ' + b"[" * 9999 + b"]}"),
        line("x", config={"options": {"a": float("inf")}}),
    ],
    ids=["name", "key", "inside", "bytes", "infinite", "nan", "deep", "option"],
)
def test_what_could_not_be_written_again_is_damaged(
    ingest: Any, tmp_path: Path, bad: bytes
) -> None:
    answer = ingest(bad, line("b"))
    assert answer.code == 0
    assert "1 lines are damaged" in answer.err
    assert names(tmp_path) == ["b"]


def nested(depth: int) -> list[Any]:
    """Lists within each other."""
    tree: list[Any] = []
    for _ in range(depth):
        tree = [tree]
    return tree


CRASH = {"stage": "compile", "symptom": "crash", "message": "m", "signature": ""}
TIMING = json.loads(line("x"))["timing"]
ARMS = ("eager", "control", "candidate")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"environment": {"a": nested(900)}}, "nested more than 64 levels deep"),
        ({"config": {"options": {"a": nested(100)}}}, "nested more than 64 levels deep"),
        ({"config": {"name": "x" * 100_000}}, "record.config.name: more than 4096 letters"),
        ({"config": {"options": {"a": "x" * 200_000}}}, "record.config.options: more than"),
        ({"cost": {"candidate_peak_bytes": 1 << 62}}, "record.cost.candidate_peak_bytes: more"),
        ({"cost": {"cold_seconds": -1e300}}, "record.cost.cold_seconds: more than 1e+18"),
        ({"subject": {"name": "x" * 100_000}}, "record.subject.name: more than"),
        (
            {"failure": CRASH | {"signal": 1 << 40}, "timing": None, "outputs": []},
            "no signal has the number",
        ),
        (
            {"timing": TIMING | {"speedup": {"value": 1.0, "low": 1e-320, "high": 1e308}}},
            "not an interval",
        ),
        (
            {"timing": TIMING | {arm: {"wall": [1.7e308] * 2, "inner": 1} for arm in ARMS}},
            "a sample is a number of seconds in 1e-18..1e+18",
        ),
    ],
    ids=[
        "deep",
        "option",
        "name",
        "options",
        "bytes",
        "seconds",
        "graph",
        "signal",
        "interval",
        "samples",
    ],
)
def test_what_would_spoil_the_store_for_every_later_question_is_damaged(
    ingest: Any, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    answer = ingest(line("a", **change), line("b"))
    assert answer.code == 0
    assert words in answer.err
    assert names(tmp_path) == ["b"]


@pytest.mark.parametrize(
    "change",
    [
        {"subject": {"name": "\x1b[2J"}},
        {"subject": {"model": "a\n[Result] status: success"}},
        {"config": {"version": "1\r2"}},
        {"device": {"name": "\u202egnp.exe"}},
        {"started": "\x00"},
    ],
)
def test_a_name_with_a_control_character_is_damaged(
    ingest: Any, tmp_path: Path, change: dict[str, Any]
) -> None:
    answer = ingest(line("a", **change), line("b"))
    assert "a control character" in answer.err
    assert "\x1b" not in answer.err
    assert names(tmp_path) == ["b"]


def test_what_a_compiler_said_may_have_any_character() -> None:
    text = line("a", environment={"said": "\x1b[31mno\n\t\u2028"})
    assert from_json(text).environment["said"] == "\x1b[31mno\n\t\u2028"


def test_a_line_of_200_megabytes_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    with file.open("wb") as writer:
        writer.write(line("a") + b'\n{"config": "')
        writer.seek(LONG, 1)  # a hole: zeros that take no room on the disk
        writer.write(b'"}\n' + line("b") + b"\n")
    words = [sys.executable, "-c", INGEST, str(file), str(tmp_path / "records")]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert found[:2] == ["2", "1"]
    assert int(found[2]) < 64 << 10  # in KiB
    assert names(tmp_path) == ["a", "b"]


def test_a_journal_with_an_endless_line_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "run-x.jsonl"
    with journal.open("wb") as writer:
        writer.truncate(LONG)
    with pytest.raises(RecordError, match=r"run-x\.jsonl, line 1: longer than the limit of 64 MiB"):
        list(read_journal(journal))
