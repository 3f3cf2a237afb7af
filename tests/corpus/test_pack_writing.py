"""Adding to packs: parts are whole or not there, whatever happens to the writer."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.pack import Pack, PackError, PackWriter

PROGRAM = Path(__file__).with_name("some_graphs.py")


def test_a_name_is_used_once(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("a", some_graph(1))
        with pytest.raises(PackError, match="already has a graph 'a'"):
            writer.add("a", some_graph(2))
    with PackWriter(tmp_path / "pack") as writer, pytest.raises(PackError, match="already has"):
        writer.add("a", some_graph(2))
    assert dict(Pack(tmp_path / "pack").graphs()) == {"a": some_graph(1)}


def test_a_pack_is_added_to_after_it_was_closed(tmp_path: Path) -> None:
    for number in range(4):
        with PackWriter(tmp_path / "pack") as writer:
            assert len(writer.names) == number
            writer.add(f"{number}", some_graph(number))
    pack = Pack(tmp_path / "pack")
    assert [part.name for part in pack.parts] == [f"part-0000{n}.parquet" for n in range(4)]
    assert dict(pack.graphs()) == {f"{n}": some_graph(n) for n in range(4)}


def test_a_part_is_never_replaced(tmp_path: Path) -> None:
    """Not even after another part was taken away, so that their count is a number in use."""
    for number in range(3):
        with PackWriter(tmp_path / "pack") as writer:
            writer.add(f"{number}", some_graph(number))
    (tmp_path / "pack" / "part-00000.parquet").unlink()
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("new", some_graph(7))
    assert Pack(tmp_path / "pack").names() == ["1", "2", "new"]


def test_nothing_added_writes_nothing(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack"):
        pass
    assert list((tmp_path / "pack").iterdir()) == []


def test_what_was_added_before_an_error_is_kept(tmp_path: Path) -> None:
    def stop_halfway() -> None:
        with PackWriter(tmp_path / "pack") as writer:
            writer.add("a", some_graph(1))
            raise KeyError

    with pytest.raises(KeyError):
        stop_halfway()
    assert Pack(tmp_path / "pack").names() == ["a"]


def test_a_reader_sees_no_part_that_is_being_written(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("a", some_graph(1))
        writer.flush()
        opened = Pack(tmp_path / "pack")
        writer.add("b", some_graph(2))
        assert Pack(tmp_path / "pack").names() == ["a"]
    assert opened.names() == ["a"]
    assert Pack(tmp_path / "pack").names() == ["a", "b"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("a", some_graph(1))
    (tmp_path / "pack" / ".part-00001.parquet.4711").write_bytes(b"PAR1 half a part")
    assert Pack(tmp_path / "pack").names() == ["a"]
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("b", some_graph(2))
    names = sorted(file.name for file in (tmp_path / "pack").iterdir())
    assert names == ["part-00000.parquet", "part-00001.parquet"]


@pytest.mark.parametrize("every", [1, 5])
def test_a_writer_may_be_killed_at_any_moment(tmp_path: Path, every: int) -> None:
    """Five times killed and started again: what it said was on disk is there, in order."""
    chance = random.Random(every)  # noqa: S311 - any moment will do
    path, sure = tmp_path / "pack", 0
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, PROGRAM, path, str(every)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for line in writer.stdout:
            sure = int(line)
            if chance.random() < 0.2:
                break
        time.sleep(chance.random() * 0.02)
        writer.kill()
        rest = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        sure = max([sure, *(int(word) for word in rest if word.isdecimal())])
        pack = Pack(path)
        names = pack.names()
        assert names == [f"graph-{number}" for number in range(len(names))]
        assert len(names) >= sure
        assert len(names) % every == 0
        assert all(graph == some_graph(int(name[6:])) for name, graph in pack.graphs())


ADDING = """
import sys
sys.path[:0] = {paths!r}
from some_graphs import some_graph
from graph_net.corpus.pack import PackWriter
writer = PackWriter({pack!r})
for number in range(len(writer.names), 1000):
    writer.add(f"graph-{{number}}", some_graph(number))
    print(number + 1, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_was_added(tmp_path: Path) -> None:
    """No part is full yet: what was added waits in the journal for the next writer."""
    pack = tmp_path / "pack"
    program = ADDING.format(paths=[str(Path(__file__).parent)], pack=str(pack))
    added = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        target = added + 7
        while added < target:
            added = int(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdout.close()
    with PackWriter(pack) as writer:
        assert len(writer.names) >= added
    names = Pack(pack).names()
    assert names == [f"graph-{number}" for number in range(len(names))]
    assert not (pack / ".journal").exists()


def test_a_journal_that_is_no_journal_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / ".journal").write_bytes(b"nothing of the kind")
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("a", some_graph(1))
    assert Pack(tmp_path / "pack").names() == ["a"]
