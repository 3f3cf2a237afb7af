"""Ways for a process to die, and compilers that die of them."""

from __future__ import annotations

import faulthandler
import os
import signal
import time

from graph_net.compilers import Job, Runner
from graph_net.compilers.eager import Eager


def killed() -> None:
    """As by somebody else: confined, a process cannot do this to itself."""
    os.kill(os.getpid(), signal.SIGKILL)


def crashes() -> None:
    faulthandler.disable()  # pytest's, which would tell of it
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs() -> None:
    while True:
        time.sleep(60)


def grows() -> None:
    bytearray(1 << 45)


WORDS = {
    killed: r"killed by a signal from outside \(SIGKILL\)",
    crashes: "died of SIGSEGV",
    hangs: r"took more than \d+ s",
    grows: r"held more than the limit of \d+\.\d GiB",
}


class Killed(Eager):
    def compile(self, job: Job) -> Runner:
        killed()
        return super().compile(job)


class Crashes(Eager):
    def compile(self, job: Job) -> Runner:
        crashes()
        return super().compile(job)


class Hangs(Eager):
    def compile(self, job: Job) -> Runner:
        hangs()
        return super().compile(job)


class Grows(Eager):
    def compile(self, job: Job) -> Runner:
        grows()
        return super().compile(job)
