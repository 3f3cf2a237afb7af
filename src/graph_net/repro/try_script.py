"""A script tried in a clean process before it is handed out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graph_net.isolate import Sandbox, confine
from graph_net.isolate.workdir import temporary_directory

KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")
"""All that a clean process sees of this one's environment."""
LIGHT = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
"""Inductor compiles its headers once for many runs; there is one, and its place is removed."""
TAIL = 4000
_WORDS = ("SHOWN: ", "NOT SHOWN: ", "CANNOT TELL: ")


class ScriptOutcome(StrEnum):
    """What became of a script."""

    SHOWN = "shows"
    NOT_SHOWN = "does not show a problem"
    CANNOT_TELL = "cannot tell"
    TIMEOUT = "did not end"


@dataclass(frozen=True)
class CheckedScript:
    """The outcome, the script's own sentence, and the end of what it printed."""

    outcome: ScriptOutcome
    sentence: str
    printed: str


def try_script(text: str, timeout: float, package: bool = False) -> CheckedScript:
    """Run a script as ``python -I``, confined to an empty directory that is removed afterwards.

    With ``package`` it finds this package, wherever it lies.
    """
    with temporary_directory("graph_net_repro_") as place:
        (place / "script.py").write_text(text, "utf-8")
        with (place / "printed").open("w+b") as printed:
            code = _run(place, printed.fileno(), timeout, package)
            end = printed.seek(0, os.SEEK_END)
            printed.seek(max(0, end - TAIL))
            said = printed.read().decode("utf-8", "replace")
    if code is None:
        return CheckedScript(ScriptOutcome.TIMEOUT, f"stopped after {timeout:.0f} s", said)
    if code < 0:
        return CheckedScript(ScriptOutcome.SHOWN, f"crash: {_signal(-code)}", said)
    sentence = next(
        (
            line.partition(": ")[2]
            for line in reversed(said.splitlines())
            if line.startswith(_WORDS)
        ),
        "",
    )
    outcomes = {0: ScriptOutcome.SHOWN, 1: ScriptOutcome.NOT_SHOWN}
    if not sentence:  # it ended before its own last line, so not in a way it foresaw
        return CheckedScript(ScriptOutcome.CANNOT_TELL, f"it ended with exit code {code}", said)
    return CheckedScript(outcomes.get(code, ScriptOutcome.CANNOT_TELL), sentence, said)


def _run(place: Path, printed: int, timeout: float, package: bool) -> int | None:
    """The exit code; None where the time was up. Nothing it started lives on."""
    environment = {key: os.environ[key] for key in KEPT if key in os.environ}
    environment |= {"HOME": str(place), "TMPDIR": str(place), **LIGHT}
    if package:
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    sandbox = Sandbox(place, device="cuda")
    running = subprocess.Popen(  # noqa: S603 - a script that this program wrote
        [sys.executable, *(("-P", "-s") if package else ("-I",)), "script.py"],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: confine(sandbox),
    )
    try:
        return running.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
