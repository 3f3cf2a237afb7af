"""Calls every operator and function that a graph may call, with hostile arguments.

``python -m tools.fuzz_operators --calls 100000 --seed 1``

Each call goes through the door that graphs use (``graph_net.graph.guard``), in child processes that
die in the place of this one. A call that killed its process, or ran over the limit, is printed with
the seed that repeats it; the command fails if there is one.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.graph.allow_list import allowed_overloads
from graph_net.graph.guard import guarded_call
from graph_net.graph.targets import allowed_functions
from graph_net.isolate import INHERITED, Batch, Ending, Limits, Pool
from graph_net.isolate.deaths import name_of
from tools.hostile_arguments import arguments_for, exists

MEMORY = 4 << 30
SECONDS = 5
"""Of CPU time; the machine may be busy."""
PATIENCE = 20
"""Wall seconds per second of CPU time: a call that waits for ever uses none."""
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
    """One call: its target, and the seed of its arguments."""

    target: str
    seed: str


@dataclass(frozen=True, slots=True)
class FatalCall:
    """A call that did not return, and what ended its process."""

    call: Call
    how: str


def targets() -> list[str]:
    """List everything of this torch that a graph may call."""
    overloads = [f"aten.{name}" for name in allowed_overloads("aten")]
    names = {*overloads, *allowed_functions()} - SKIPPED
    return sorted(name for name in names if exists(name))


def calls(count: int, seed: int, names: Sequence[str]) -> list[Call]:
    """Return ``count`` calls, each target in turn."""
    return [Call(names[i % len(names)], f"{seed}-{i}") for i in range(count)]


def fuzz(series: Sequence[Call], *, seconds: int = SECONDS) -> Iterator[FatalCall]:
    """Make the calls in child processes; yield those that killed one."""
    torch.set_num_threads(1)  # a forked child has no threads but its own
    pool = Pool(Limits(PATIENCE * seconds, MEMORY), sandbox=INHERITED)
    batches = (series[start : start + BATCH] for start in range(0, len(series), BATCH))
    work = partial(_make_timed, seconds=seconds)
    for done in pool.batches(Batch(lambda: work, tuple(batch)) for batch in batches):
        if done.death is not None:
            number = done.death.signal
            late = done.death.ending is Ending.TIMEOUT or number == signal.SIGPROF
            how = name_of(number) if number else done.death.reason
            yield FatalCall(done.item, f"over {seconds} s" if late else how)


def _make_timed(call: Call, seconds: int) -> None:
    """Make one call; the kernel ends the process after these seconds of CPU time."""
    faulthandler.disable()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    make(call)


def make(call: Call) -> None:
    """Make one call the way a run does; an exception is an answer like any other."""
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
    for fatal in fuzz(calls(chosen.calls, chosen.seed, names)):
        deaths += 1
        print(f"{fatal.how}: {fatal.call.target}={fatal.call.seed}", flush=True)
    print(f"{chosen.calls} calls of {len(names)} targets, {deaths} of which did not come back")
    sys.exit(1 if deaths else 0)


if __name__ == "__main__":
    main()
