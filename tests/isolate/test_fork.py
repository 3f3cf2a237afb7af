"""Forked processes end with the process that forked them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
import os, signal, time
from graph_net.isolate.fork import fork
child = fork(lambda: time.sleep(600))
os.kill(child, signal.SIGSTOP)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_that_is_stopped_at_once_dies_with_its_parent() -> None:
    for _ in range(20):  # it was a matter of chance
        done = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, check=False)
        while _is_alive(int(done.stdout)):
            time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
