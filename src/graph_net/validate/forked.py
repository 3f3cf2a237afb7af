"""One call in a process that may die of it."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any


class Died(RuntimeError):
    """The process ended without an answer: of time, of memory, or of a crash."""


def forked(call: Callable[[], Any], seconds: int, gigabytes: float) -> Any:
    """What a call gives (something JSON can hold), from a process with limits on time and memory.

    An exception in the call comes back as its text in a Died.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            limit_this_process(seconds, gigabytes)
            try:
                answer = {"answer": call()}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            with os.fdopen(write, "wb") as pipe:
                pipe.write(json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or not data:
        raise Died(f"ended by signal {os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}")
    answer = json.loads(data)
    if "error" in answer:
        raise Died(answer["error"])
    return answer["answer"]


def limit_this_process(seconds: int, gigabytes: float) -> None:
    """Let the process end after so many seconds, have so much memory, and say nothing.

    It lives for one call: collecting garbage would copy every page it shares with its parent.
    """
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    most = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
