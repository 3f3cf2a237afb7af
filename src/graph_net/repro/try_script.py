"""Try a script in a clean process before it is handed out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graph_net.isolate import Ending, Sandbox, confine, deaths
from graph_net.isolate.workdir import temporary_directory

VARIABLES = (
    *("PATH", "LD_LIBRARY_PATH", "LANG", "OMP_NUM_THREADS"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_HOME"),
)
"""The variables that a clean process inherits."""
LIGHT = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
"""Precompiled headers pay off over many runs; here there is one, and its cache is removed."""
TAIL = 4000
_OUTCOMES = ("SHOWN: ", "NOT SHOWN: ", "CANNOT TELL: ")


class ScriptOutcome(StrEnum):
    """The outcome of running a script."""

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

    With ``package`` it can import this package. A crash shows the problem; a kill from outside or
    a lack of memory says nothing about the compiler.
    """
    kills = deaths.oom_kills()
    with temporary_directory("graph_net_repro_") as directory:
        (directory / "script.py").write_text(text, "utf-8")
        with (directory / "printed").open("w+b") as printed:
            code = _run(directory, printed.fileno(), timeout, package)
            end = printed.seek(0, os.SEEK_END)
            printed.seek(max(0, end - TAIL))
            tail = printed.read().decode("utf-8", "replace")
    if code is None:
        return CheckedScript(ScriptOutcome.TIMEOUT, str(deaths.took_longer(timeout)), tail)
    death = deaths.death_from_code(code, None, kills)
    if death.ending is Ending.CRASH:
        return CheckedScript(ScriptOutcome.SHOWN, f"crash: {death}", tail)
    verdicts = [line for line in tail.splitlines() if line.startswith(_OUTCOMES)]
    if code < 0 or not verdicts:  # it ended before its own last line
        return CheckedScript(ScriptOutcome.CANNOT_TELL, str(death), tail)
    outcomes = {0: ScriptOutcome.SHOWN, 1: ScriptOutcome.NOT_SHOWN}
    sentence = verdicts[-1].partition(": ")[2]
    return CheckedScript(outcomes.get(code, ScriptOutcome.CANNOT_TELL), sentence, tail)


def _run(directory: Path, printed: int, timeout: float, package: bool) -> int | None:
    """Return the exit code, None on a timeout; kill everything that the script started."""
    environment = {key: os.environ[key] for key in VARIABLES if key in os.environ}
    environment |= {"HOME": str(directory), "TMPDIR": str(directory), **LIGHT}
    if package:
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    sandbox = Sandbox(directory, device="cuda")
    process = subprocess.Popen(  # noqa: S603 - a script that this program wrote
        [sys.executable, *(("-P", "-s") if package else ("-I",)), "script.py"],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: confine(sandbox),
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
