"""A file of lines: whole ones are read, a torn one goes, whatever a kill left."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_net.store.files import NotRegular, TooLarge
from graph_net.store.journal import CHUNK, LineJournal, cut_torn_line, whole_lines

LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.integers(0, 60), LINES)
def test_wherever_a_kill_cuts_whole_lines_stay_and_new_ones_follow(
    tmp_path_factory: pytest.TempPathFactory, first: list[bytes], cut: int, second: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "lines"
    with LineJournal(path, durable=False) as journal:
        for line in first:
            journal.append(line)
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    whole = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    assert b"".join(whole_lines(path)) == b"".join(whole)
    with LineJournal(path, durable=False) as journal:
        for line in second:
            journal.append(line)
    assert path.read_bytes() == b"".join(whole) + b"".join(line + b"\n" for line in second)


@pytest.mark.parametrize("torn", [1, CHUNK - 1, CHUNK, 2 * CHUNK + 1])
def test_a_torn_line_of_any_length_is_cut(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"whole\n" + b"x" * torn)
    cut_torn_line(path)
    assert path.read_bytes() == b"whole\n"
    path.write_bytes(b"x" * torn)
    cut_torn_line(path)
    assert path.read_bytes() == b""


def test_a_line_that_is_too_long_is_named_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"short\n" + b"x" * (3 << 20) + b"\n")
    with pytest.raises(TooLarge, match="lines, line 2: longer than the limit of 1 MiB"):
        list(whole_lines(path, 1 << 20))


def test_a_directory_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(NotRegular):
        list(whole_lines(tmp_path))


@pytest.mark.parametrize("lost", [0, 1, 9, 30])
def test_a_compressed_journal_continues_wherever_it_was_cut_off(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "lines.gz"
    with LineJournal(path, durable=False) as journal:
        journal.append(b"one")
        journal.append(b"two")
        torn = path.read_bytes()  # as a kill leaves it
    path.write_bytes(torn[: len(torn) - lost])
    kept = list(whole_lines(path))
    assert kept == [b"one\n", b"two\n"][: len(kept)]
    assert len(kept) == 2 or lost
    with LineJournal(path) as journal:
        journal.append(b"three")
    assert gzip.decompress(path.read_bytes()).splitlines(keepends=True) == [*kept, b"three\n"]
