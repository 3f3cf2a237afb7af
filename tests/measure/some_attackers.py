"""Compilers that attack the processes around them instead of compiling."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graph_net.compilers import Compiler, Job, Runner, Unsupported
from graph_net.graph.fx import to_fx
from graph_net.isolate import Needs

PLACE = "SOME_ATTACKERS_PLACE"
"""The variable that names a directory which attackers may write to, to tell the tests something."""


class _Attacker(Compiler):
    name = "attacker"
    needs = Needs(writes=(Path(os.environ.get(PLACE, "/nowhere")),))

    def compile(self, job: Job) -> Runner:
        self.attack(job)
        forward = to_fx(job.graph).forward
        return lambda inputs: forward(*inputs)

    def attack(self, job: Job) -> Any:
        """Do the harm."""


class Harmless(_Attacker):
    name = "harmless"


class DigsDeep(_Attacker):
    """Leaves a tree of directories that nobody removes by calling itself."""

    def attack(self, job: Job) -> Any:
        os.chdir(tempfile.mkdtemp(dir=job.workdir))
        for _ in range(sys.getrecursionlimit() + 200):
            os.mkdir("a")
            os.chdir("a")
        os.chdir(job.workdir)


class HalfACharacter(_Attacker):
    def attack(self, job: Job) -> Any:
        raise Unsupported(["aten.\ud800", "\x1b]0;title\x07"])


class LongRefusal(_Attacker):
    def attack(self, job: Job) -> Any:
        raise Unsupported(["x" * 50_000_000])


class Unspeakable(_Attacker):
    def attack(self, job: Job) -> Any:
        class Mute(Exception):
            def __str__(self) -> str:
                raise SystemExit

        raise Mute


class Rubbish(_Attacker):
    """Writes to every descriptor it has, the pipe to its parent among them."""

    data = b"\xff" * 64

    def attack(self, job: Job) -> Any:
        for name in os.listdir("/proc/self/fd"):
            try:
                os.write(int(name), self.data)
            except OSError:
                continue


class DeepRubbish(Rubbish):
    """A message whose JSON is nested too deeply."""

    text = b"[" * 100_000
    data = len(text).to_bytes(4, "little") + bytes(8) + text


class HugePromise(Rubbish):
    """A message that says it has four billion bytes."""

    data = b"\xff" * 4 + bytes(8)


class BackInTime(Rubbish):
    """Says it is at an earlier stage again, whose time would begin anew."""

    text = b'{"stage": "load", "known": {}}'
    data = len(text).to_bytes(4, "little") + bytes(8) + text


class KillsItself(_Attacker):
    def attack(self, job: Job) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class KillsTheLanes(_Attacker):
    def attack(self, job: Job) -> Any:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)


class StopsTheLanes(_Attacker):
    def attack(self, job: Job) -> Any:
        while True:
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(0.05)


class KillsItsNeighbours(_Attacker):
    def attack(self, job: Job) -> Any:
        refused = None
        # Numbers begin again at some point: the parent's may be above its children's.
        for pid in (os.getppid(), *range(max(2, os.getpid() - 50), os.getpid() + 50)):
            try:
                if pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            except PermissionError as error:
                refused = error
        if refused is not None:
            raise refused


class Daemon(_Attacker):
    """Leaves a process behind that has left its session, and tells its number."""

    def attack(self, job: Job) -> Any:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                (Path(os.environ[PLACE]) / "daemon").write_text(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        while not (Path(os.environ[PLACE]) / "daemon").exists():
            time.sleep(0.01)


class EatsElsewhere(_Attacker):
    """Takes its memory in a process that has left its session."""

    def attack(self, job: Job) -> Any:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                held = bytearray(1200 << 20)
                for place in range(0, len(held), 4096):
                    held[place] = 1
                time.sleep(600)
            os._exit(0)
        time.sleep(600)


class WritesElsewhere(_Attacker):
    def attack(self, job: Job) -> Any:
        (job.workdir.parent / "stolen").write_text("x")


class StartsAShell(_Attacker):
    def attack(self, job: Job) -> Any:
        target = job.workdir.parent / "shell"
        subprocess.run(["/bin/sh", "-c", 'echo x > "$0"', str(target)], check=True)


class ForksForEver(_Attacker):
    def attack(self, job: Job) -> Any:
        while True:
            subprocess.Popen(["/bin/sleep", "600"])
