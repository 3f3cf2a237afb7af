"""How the command ends: with its own exit code, whatever threads of libraries still do."""

from __future__ import annotations

import subprocess
import sys

import pytest

ENDING = """
import atexit, sys, threading, time
from graph_net.cli import main as command

def work(stop):
    print("printed")
    atexit.register(print, "at exit")
    threading.Thread(target=time.sleep, args=(3600,)).start()  # a library's, still at work
    if stop is not None:
        sys.exit(stop)

command.main = lambda: work({stop!r})
command.run()
"""


@pytest.mark.parametrize(("stop", "code"), [(None, 0), (0, 0), (1, 1), (130, 130), ("why", 1)])
def test_a_command_ends_with_its_code_and_all_that_it_printed(
    stop: int | str | None, code: int
) -> None:
    words = [sys.executable, "-c", ENDING.format(stop=stop)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (code, "printed\nat exit\n")
    assert ended.stderr == ("why\n" if stop == "why" else "")


def test_output_that_nobody_takes_is_told_by_the_code() -> None:
    words = [sys.executable, "-m", "graph_net.cli.main", "--version"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode != 0
