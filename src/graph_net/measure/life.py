"""The life of a worker, from the fork to its end: what it says, and when it waits."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

from graph_net.measure.audit import respond
from graph_net.measure.task import Answer, Surroundings, Work, encode, now
from graph_net.record import Failure, Json, Stage, Symptom
from graph_net.record.signature import message_of, signature_of

_PR_SET_PDEATHSIG = 1


def live(
    task: Work, workdir: Path, listens: int, tells: int, paused: mmap.mmap, parent: int
) -> None:
    """The life of a worker; never returns."""
    status = 1

    def tell(tree: dict[str, Any], blob: bytes = b"") -> None:
        data = memoryview(encode(tree, blob))
        while data:
            data = data[os.write(tells, data) :]

    try:
        die_with_parent(parent)
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        workdir.mkdir(parents=True, exist_ok=True)

        def wait() -> None:
            tell({"waiting": True})
            if not os.read(listens, 1):
                os._exit(0)

        def announce(stage: Stage, known: dict[str, Json]) -> None:
            tell({"stage": stage, "known": known})

        def clock() -> float:
            """Seconds that this process ran, those it was stopped for left out."""
            return time.monotonic() - float(struct.unpack_from("d", paused)[0])

        offered: list[Answer] = []
        around = Surroundings(workdir, announce, wait, clock, offered.append)
        tell({"record": True}, task.run(around))
        if offered:
            respond(offered[-1], listens, tell)
        status = 0
    except Exception as error:  # a fault of ours: everything else becomes a record inside
        why = message_of(error)
        failure = Failure(Stage.LOAD, Symptom.INFRASTRUCTURE, why, signature_of(why))
        tell({"record": True}, task.died(failure, {}, now(), 0.0))
    finally:
        # Compilers leave threads and handlers behind that hang or crash at an ordinary exit.
        os._exit(status)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies; it may be dead by now."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
