"""Compilers with one defect each, as a user would write them in a file of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from graph_net.compilers import Compiler, Job, Runner, Unsupported
from graph_net.graph.fx import to_fx
from graph_net.isolate import Needs

PLACE = "SOME_COMPILERS_PLACE"
"""The variable that names a directory in which compilers tell the tests something."""


class _Eager(Compiler):
    name = "some"

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward
        return lambda inputs: self.changed(forward(*inputs))

    def changed(self, outputs: Any) -> Any:
        return outputs


class Faithful(_Eager):
    name = "faithful"


class TakesItsOutputsAway(_Eager):
    """Leaves a link where the file of its outputs was."""

    def compile(self, job: Job) -> Runner:
        run, file = super().compile(job), job.workdir / "golden.safetensors"

        def call(inputs: Any) -> Any:
            if file.exists():
                file.unlink()
                file.symlink_to("/etc/passwd")
            return run(inputs)

        return call


class StartsPython(_Eager):
    """Starts an interpreter before any fork, as Inductor does to try what the processor can."""

    def prepare(self, device: str) -> None:
        subprocess.run([sys.executable, "-c", "import ctypes"], check=True)


class Raises(_Eager):
    def compile(self, job: Job) -> Runner:
        raise RuntimeError("cannot lower node 17 at 0x7f00aa")


class Refuses(_Eager):
    def compile(self, job: Job) -> Runner:
        raise Unsupported(["aten.fft", "aten.sort"])


class Crashes(_Eager):
    def compile(self, job: Job) -> Runner:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class CrashesWhenRun(_Eager):
    def changed(self, outputs: Any) -> Any:
        os.kill(os.getpid(), signal.SIGILL)


class Exits(_Eager):
    def compile(self, job: Job) -> Runner:
        sys.exit(3)


class Hangs(_Eager):
    def compile(self, job: Job) -> Runner:
        while True:
            time.sleep(1)


class HangsInAChild(_Eager):
    """Starts a process that would outlive the worker."""

    needs = Needs(writes=(Path(os.environ.get(PLACE, "/nowhere")),))

    def compile(self, job: Job) -> Runner:
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        (Path(os.environ[PLACE]) / "child").write_text(str(child))
        while True:
            time.sleep(1)


class Eats(_Eager):
    def compile(self, job: Job) -> Runner:
        held = []
        while True:
            held.append(torch.ones(1 << 22))
            time.sleep(0.01)


class Halves(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor / 2)


class Wrong(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor * 1e30)


class Slightly(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor + 1e-3)


class NotFinite(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor * float("nan"))


class WrongShape(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor[None])


class WrongDtype(_Eager):
    def changed(self, outputs: Any) -> Any:
        return _each(outputs, lambda tensor: tensor.double())


class TooMany(_Eager):
    def changed(self, outputs: Any) -> Any:
        return (outputs, torch.zeros(1))


class LeavesAChild(_Eager):
    """Dies, but a process that it started lives on with its pipes."""

    def compile(self, job: Job) -> Runner:
        if os.fork() == 0:
            os.setsid()
            time.sleep(20)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class ExitsHard(_Eager):
    def compile(self, job: Job) -> Runner:
        os._exit(1)


class ForgetsToWrite(_Eager):
    """Computes on copies: what the graph changes stays as it was."""

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward
        return lambda inputs: forward(*(value.clone() for value in inputs))


class ZeroLater(_Eager):
    """Right in the first call, all zero in those that are timed."""

    def compile(self, job: Job) -> Runner:
        forward, calls = to_fx(job.graph).forward, [0]

        def run(inputs: Sequence[Any]) -> Any:
            calls[0] += 1
            outputs = forward(*inputs)
            return outputs if calls[0] == 1 else _each(outputs, torch.zeros_like)

        return run


class WrongLater(_Eager):
    """Right in the first call, wrong in those that are timed."""

    def compile(self, job: Job) -> Runner:
        forward, calls = to_fx(job.graph).forward, [0]

        def run(inputs: Sequence[Any]) -> Any:
            calls[0] += 1
            outputs = forward(*inputs)
            return outputs if calls[0] == 1 else _each(outputs, lambda tensor: tensor * 1e30)

        return run


def _each(outputs: Any, change: Any) -> Any:
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(_each(item, change) for item in outputs)
    return change(outputs)


class Threaded(_Eager):
    """Keeps a thread, and writes down in every call which cores the two may use."""

    def compile(self, job: Job) -> Runner:
        forward = to_fx(job.graph).forward
        worker = threading.Thread(target=threading.Event().wait, daemon=True)
        worker.start()
        place = Path(os.environ[PLACE]) / "cores"

        def run(inputs: Sequence[Any]) -> Any:
            cores = [sorted(os.sched_getaffinity(one)) for one in (0, worker.native_id or 0)]
            with place.open("a") as file:
                file.write(json.dumps(cores) + "\n")
            return forward(*inputs)

        return run
