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


CONFINED = """
import os, signal, sys, time
from pathlib import Path
from graph_net.isolate import Limits, Sandbox, enter
from graph_net.isolate.fork import fork

reads, writes = os.pipe()

def live():
    enter(Limits(60, None), Sandbox(Path(sys.argv[1])), writes)
    child = fork(lambda: time.sleep(600))
    os.kill(child, signal.SIGSTOP)
    os.write(writes, b"%d" % child)
    time.sleep(600)

fork(live)
print(os.read(reads, 100).decode(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_stopped_child_of_a_confined_process_dies_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CONFINED, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    while _is_alive(int(done.stdout)):
        time.sleep(0.01)


PARALLEL = """
import os, torch
from graph_net.isolate.fork import fork

def compute():
    torch.set_num_threads(2)
    return torch.relu(torch.ones(1 << 22)).sum().item()

before = compute()
child = fork(lambda: os._exit(compute() != before))
print(os.waitpid(child, 0)[1], compute() == before)
"""


def test_a_child_of_a_process_with_openmp_threads_can_use_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARALLEL], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout == "0 True\n"


def _is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
