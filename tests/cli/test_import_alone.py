"""One import at a time into a pack, and nothing is left of one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from cli.calling import Cli
from corpus.some_graphs import some_graph
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.formats.graphnet.write import write_sample

COMMAND = [sys.executable, "-m", "graph_net.cli.main", "import"]
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def many_samples(folder: Path, count: int) -> Path:
    """So many small samples."""
    write_sample(some_graph(3), folder / "s0")
    for number in range(1, count):
        (folder / f"s{number}").mkdir()
        for file in (folder / "s0").iterdir():
            os.link(file, folder / f"s{number}" / file.name)
    return folder


def members(group: int) -> set[int]:
    """The processes of a process group, those that have ended left out."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = place.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(number) == group and state not in "ZX":
            found.add(int(place.parent.name))
    return found


@linux
def test_a_killed_import_leaves_no_process(tmp_path: Path) -> None:
    samples = many_samples(tmp_path / "samples", 3000)
    words = [*COMMAND, str(samples), "-o", str(tmp_path / "pack"), "-j", "3"]
    running = subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL)
    journal = tmp_path / "pack" / ".journal"
    while not journal.exists() and running.poll() is None:  # workers have answered
        time.sleep(0.01)
    assert len(members(running.pid)) > 3
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    while members(running.pid):
        time.sleep(0.01)


def test_a_second_import_into_a_pack_is_told(cli: Cli, tmp_path: Path) -> None:
    samples = many_samples(tmp_path / "samples", 2)
    with PackWriter(tmp_path / "pack"):
        answer = cli("import", samples, "-o", tmp_path / "pack", "-j", "1")
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert f"{tmp_path / 'pack'} is in use by another run" in " ".join(answer.err.split())


def test_names_are_in_a_pack_once_after_imports_at_the_same_time(tmp_path: Path) -> None:
    samples = many_samples(tmp_path / "samples", 40)
    words = [*COMMAND, str(samples), "-o", str(tmp_path / "pack"), "-j", "1"]
    started = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ended = [(running.communicate()[1], running.returncode) for running in started]
    counts = Counter(Pack(tmp_path / "pack").names())
    assert len(counts) == 40
    assert set(counts.values()) == {1}
    for said, code in ended:
        assert code == 0 or "in use by another run" in " ".join(said.split())
