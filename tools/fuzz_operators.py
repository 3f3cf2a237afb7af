"""Calls every operator and function that a graph may call, with hostile arguments.

``python -m tools.fuzz_operators --calls 100000 --seed 1``

Each call goes through the door that graphs use (``graph_net.graph.guard``), in child processes that
die in the place of this one. A call that killed its process, or ran over the limit, is printed with
the seed that repeats it; the command fails if there is one.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import signal
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.graph.allow_list import allowed_overloads
from graph_net.graph.guard import guarded_call
from graph_net.graph.targets import allowed_functions
from tools.hostile_arguments import arguments_for, exists

MEMORY = 4 << 30
SECONDS = 5
"""Of processor time; the machine may be busy."""
BATCH = 500
# They change how this process works, which a graph may and a long series of calls must not.
SKIPPED = frozenset(
    """
torch._C._set_grad_enabled torch.amp.autocast_mode._enter_autocast
torch.amp.autocast_mode._exit_autocast torch.autograd.grad_mode._enter_inference_mode
torch.autograd.grad_mode._exit_inference_mode
""".split()
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: what is called, and the text its arguments are drawn from."""

    target: str
    seed: str


@dataclass(frozen=True, slots=True)
class Death:
    """A call that did not come back, and what ended its process."""

    call: Call
    how: str


def targets() -> list[str]:
    """Everything of this torch that a graph may call."""
    overloads = [f"aten.{name}" for name in allowed_overloads("aten")]
    names = {*overloads, *allowed_functions()} - SKIPPED
    return sorted(name for name in names if exists(name))


def calls(count: int, seed: int, names: Sequence[str]) -> list[Call]:
    """As many calls, each target in turn."""
    return [Call(names[i % len(names)], f"{seed}-{i}") for i in range(count)]


def fuzz(series: Sequence[Call], *, seconds: int = SECONDS) -> Iterator[Death]:
    """Make the calls in child processes; yield those that killed one."""
    torch.set_num_threads(1)  # a forked child has no threads but its own
    start = 0
    while start < len(series):
        batch = series[start : start + BATCH]
        done, how = _in_child(batch, seconds)
        if how is None:
            start += len(batch)
            continue
        yield Death(batch[done], how)
        start += done + 1


def _in_child(batch: Sequence[Call], seconds: int) -> tuple[int, str | None]:
    """How many calls came back, and what ended the child if not all did."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _serve(batch, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        done = len(pipe.read()) // 4
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number in (signal.SIGALRM, signal.SIGPROF)
        return done, f"over {seconds} s" if late else signal.Signals(number).name
    code = os.waitstatus_to_exitcode(status)
    return done, None if done == len(batch) else f"exit {code}"


def _serve(batch: Sequence[Call], writer: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for ended in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(ended, signal.SIG_DFL)
    try:
        for index, call in enumerate(batch):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.alarm(20 * seconds)  # a call that waits for ever uses no processor
            make(call)
            os.write(writer, struct.pack("I", index))
    finally:
        os._exit(0)


def make(call: Call) -> None:
    """Make one call the way a run does; what it raises is an answer like any other."""
    rng = random.Random(call.seed + call.target)  # noqa: S311 - repeatable, not secret
    args, kwargs = arguments_for(call.target, rng)
    try:
        if rng.random() < 0.03:
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
                guarded_call(call.target, args, kwargs)
        else:
            with torch.inference_mode(rng.random() < 0.7):
                guarded_call(call.target, args, kwargs)
    except Exception:  # noqa: S110 - refused by the guard or by torch: both are safe
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="how many calls to make")
    parser.add_argument("--seed", type=int, default=1, help="which arguments to draw")
    parser.add_argument("--only", default="", help="targets that contain this text")
    parser.add_argument("--repeat", metavar="TARGET=SEED", help="make one call here, to debug it")
    chosen = parser.parse_args()
    if chosen.repeat:
        make(Call(*chosen.repeat.rsplit("=", 1)))
        return
    names = [name for name in targets() if chosen.only in name]
    deaths = 0
    for death in fuzz(calls(chosen.calls, chosen.seed, names)):
        deaths += 1
        print(f"{death.how}: {death.call.target}={death.call.seed}", flush=True)
    print(f"{chosen.calls} calls of {len(names)} targets, {deaths} of which did not come back")
    sys.exit(1 if deaths else 0)


if __name__ == "__main__":
    main()
