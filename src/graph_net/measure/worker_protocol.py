"""The life of a worker, from the fork to its end: its messages, and when it waits."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from graph_net.isolate import confine
from graph_net.isolate.descriptors import keep_only
from graph_net.isolate.limits import address_space, lower
from graph_net.isolate.messages import encode
from graph_net.isolate.privileges import adopt_orphans
from graph_net.measure.audit import respond
from graph_net.measure.task import Answer, WorkerContext, WorkerJob
from graph_net.results import Json, Stage
from graph_net.results.signature import message_of

AT_ONCE = 4
"""Address space of a worker as a multiple of its memory limit, which is polled instead."""


def live(task: WorkerJob, workdir: Path, listens: int, tells: int, paused: mmap.mmap) -> None:
    """Run a task in this forked process, and exit; never returns."""
    status = 1

    def tell(tree: dict[str, Any], blob: bytes = b"") -> None:
        data = memoryview(encode(tree, blob))
        while data:
            data = data[os.write(tells, data) :]

    try:
        with suppress(OSError):  # if memory runs out, kill this process and not its parent
            Path("/proc/self/oom_score_adj").write_text("500", "ascii")
        adopt_orphans()  # its descendants stay below it, and are counted
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        keep_only({listens, tells})
        workdir.mkdir(parents=True, exist_ok=True)
        sandbox = task.sandbox(workdir)
        if sandbox.device == "cpu":  # a driver reserves more addresses than there is memory
            lower(resource.RLIMIT_AS, address_space() + AT_ONCE * task.limits.memory_bytes)
        confinement = str(confine(sandbox))

        def wait() -> None:
            tell({"waiting": True})
            if not os.read(listens, 1):
                os._exit(0)

        def quiet() -> None:
            tell({"quiet": True})
            os.read(listens, 1)

        def announce(stage: Stage, known: dict[str, Json]) -> None:
            tell({"stage": stage, "known": known})

        def clock() -> float:
            """Return the seconds that this process ran, without those it was stopped for."""
            return time.monotonic() - float(struct.unpack_from("d", paused)[0])

        offered: list[Answer] = []
        context = WorkerContext(workdir, announce, wait, clock, confinement, offered.append, quiet)
        tell({"record": True}, task.run(context))
        if offered:
            respond(offered[-1], listens, tell)
        status = 0
    except Exception as error:  # expected errors became a record inside
        tell({"fault": message_of(error)})
    finally:
        # Compilers leave threads and handlers behind that hang or crash at an ordinary exit.
        os._exit(status)
