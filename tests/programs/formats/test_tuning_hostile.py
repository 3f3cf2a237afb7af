"""Files made to fill the memory or never to end: what is held, and looked at, has bounds."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from graph_net.programs.formats import (
    Format,
    ProgramColumns,
    ReadLimits,
    read_ansor,
    read_ansor_blocks,
    read_t4,
)
from graph_net.programs.formats import ansor_quick as quick
from graph_net.programs.formats.decoded_parts import DecodedParts
from graph_net.programs.formats.json_stream import _Scan
from graph_net.programs.formats.results import repeats_of
from graph_net.programs.store import program_store as stored
from graph_net.programs.store.columns import templates
from graph_net.programs.store.ingest import add_file
from graph_net.programs.store.program_store import Labels, ProgramStore
from programs.formats.tuning_samples import ansor, autotvm, damages, lines, t4

HELD, CHUNK = 1 << 16, 1 << 12
LONG = ["PR", 0, 0, "x" * 4000]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a file of a megabyte goes over."""
    monkeypatch.setattr(quick, "REMEMBERED", HELD)
    monkeypatch.setattr(stored, "GROUP_BYTES", HELD)
    monkeypatch.setattr("graph_net.store.lines.CHUNK", CHUNK)


def peak(work: Callable[[], Any]) -> int:
    """The most memory, in bytes, that Python held for something."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def blocks(path: Path) -> list[ProgramColumns]:
    return [
        found for found in read_ansor_blocks(path, 1 << 16) if isinstance(found, ProgramColumns)
    ]


def longest(found: Iterable[ProgramColumns], texts: Callable[[ProgramColumns], list[Any]]) -> int:
    """The bytes of the texts of the block that has the most."""
    return max(sum(map(len, texts(block))) for block in found)


def test_steps_that_many_tasks_share_are_counted_for_each(tmp_path: Path, small: None) -> None:
    keys = [json.dumps(["op", n]) for n in range(100)]
    found = blocks(lines(tmp_path / "a", *(ansor(key=key, steps=[LONG]) for key in keys)))
    assert sum(map(len, found)) == 100
    assert {text for block in found for text in block.skeletons.values} == {
        b'[["PR",\x01,\x01,"%s"]]' % (b"x" * 4000)
    }
    assert longest(found, lambda block: templates(block)[0].values) < HELD + 4 * CHUNK


def close(row: Any) -> bytes:
    """A line without a space in it, which no tuner writes: the quick reader leaves it whole."""
    return json.dumps(row, separators=(",", ":")).encode()


def test_lines_of_the_slow_reader_are_counted(tmp_path: Path, small: None) -> None:
    steps = [[LONG, ["SP", n, "y" * n]] for n in range(100)]
    found = blocks(lines(tmp_path / "a", *(close(ansor(steps=each)) for each in steps)))
    assert sum(map(len, found)) == 100
    assert longest(found, lambda block: block.skeletons.values) < HELD + 4 * CHUNK
    tasks = [close(ansor(rest=[[n] * 2000])) for n in range(100)]
    found = blocks(lines(tmp_path / "a", *tasks))
    assert sum(map(len, found)) == 100
    details = longest(found, lambda block: [task.details for task in block.tasks.values])
    assert details < HELD + 4 * CHUNK


def test_long_tasks_are_not_remembered(tmp_path: Path) -> None:
    rows = [ansor(rest=[["x" * 100_000, n]]) for n in range(100)]
    path = lines(tmp_path / "a", *rows)
    assert peak(lambda: sum(1 for _ in read_ansor(path))) < 8 << 20


def test_parts_are_counted_with_what_remembering_them_takes() -> None:
    parts: DecodedParts[bytes] = DecodedParts(lambda part: None)
    words = [b"%d" % n for n in range(5000)]
    assert peak(lambda: parts.codes(words)) < 2 * parts.size


@pytest.mark.parametrize(
    "row",
    [
        lambda n: autotvm(result=[[0.5] * 1000, 0, 1, n]),
        lambda n: autotvm(input=["llvm", "op", ["x" * 4000, n], {}]),
    ],
)
def test_costs_and_names_of_tasks_are_counted(
    tmp_path: Path, small: None, row: Callable[[int], Any]
) -> None:
    add_file(tmp_path, lines(tmp_path / "a", *map(row, range(100))), Format.AUTOTVM, Labels())
    (part,) = ProgramStore(tmp_path).parts()
    assert pq.read_metadata(part).num_row_groups > 5


class Looked(bytes):
    """Bytes that count how many of them were taken out."""

    taken = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Looked.taken += len(found) if isinstance(place, slice) else 1
        return found

    def __add__(self, other: Any) -> Looked:
        return Looked(bytes(self) + other)


@pytest.mark.parametrize("many", [b"[]", b"[ ]", b"{}[]", b"[{}]"])
def test_brackets_are_looked_at_once(many: bytes) -> None:
    Looked.taken = 0
    data = b'{"a": ' + many * 2000 + b"}"
    scan = _Scan(1 << 20, Looked())
    found = list(scan.feed(data))
    assert scan.done
    assert len(found) <= 2
    assert Looked.taken < 8 * len(data)


def test_a_document_of_brackets_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"results": [' + json.dumps(t4()).encode() + b'], "a":' + b"[]" * 500_000)
    found = list(read_t4(path, limits=ReadLimits(line_bytes=1 << 20)))
    assert len(found) == 2
    assert damages(found) == [(1, "the document breaks off")]


def test_a_pattern_does_not_remember_the_way_through_a_text() -> None:
    steps = b"\x01," * 100_000
    assert peak(lambda: quick._STEPS.fullmatch(steps)) < len(steps)
    costs = b"\x01, " * 100_000
    assert peak(lambda: repeats_of(costs)) < len(costs)
