"""The process that measures turns of programs on a node, free of Ray.

Reads turns from standard input, with the schedules drawn so far, and writes programs to standard
output, as messages of ``graph_net.isolate``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graph_net.cluster.turn_messages import turn_from_json
from graph_net.isolate.messages import Inbox, encode
from graph_net.isolate.privileges import die_with_parent
from graph_net.programs.collection.bench import Bench, LostTurn
from graph_net.programs.collection.cpu_bench import CpuBench
from graph_net.programs.collection.drawn_schedules import schedules_of
from graph_net.programs.spaces.space import Workload
from graph_net.results import Program, program_to_json


def _open_bench(device: str, work: Path, jobs: int, tree: Any) -> AbstractContextManager[Bench]:
    if device == "cpu":
        return nullcontext(CpuBench(work, jobs))
    from graph_net.programs.triton.cuda_bench import open_cuda_bench

    return open_cuda_bench(Workload(**tree["workload"]), jobs)


def _messages(source: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    inbox = Inbox()
    while data := os.read(source, 1 << 20):
        yield from inbox.feed(data)


def _tell(sink: int, tree: dict[str, Any], blob: bytes = b"") -> None:
    data = memoryview(encode(tree, blob))
    while data:
        data = data[os.write(sink, data) :]


def _measure(bench: Bench, work: Path, tree: dict[str, Any], drawn: bytes, sink: int) -> None:
    """Measure one turn, and report its results."""
    turn, best = turn_from_json(tree)
    file = schedules_of(work, turn.task.workload.hash, turn.seed).path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(drawn)
    for event in bench.run(iter([turn]), best):
        if isinstance(event, Program):
            _tell(sink, {"event": "program"}, program_to_json(event).encode())
        elif isinstance(event, LostTurn):
            _tell(sink, {"event": "lost", **asdict(event)})
    _tell(sink, {"event": "end"}, file.read_bytes()[len(drawn) :])


def main(arguments: list[str]) -> None:
    """Run ``python -m graph_net.cluster.turn_process DEVICE JOBS WORK PARENT``."""
    device, jobs, folder, parent = arguments
    die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sink, work = os.dup(1), Path(folder)
    os.dup2(2, 1)  # prints must not mix with the messages
    messages = _messages(0)
    first, _ = next(messages)
    with _open_bench(device, work, int(jobs), first) as bench:
        _tell(sink, {"event": "ready", "device": asdict(bench.device)})
        for tree, drawn in messages:
            _measure(bench, work, tree, drawn, sink)


if __name__ == "__main__":
    main(sys.argv[1:])
