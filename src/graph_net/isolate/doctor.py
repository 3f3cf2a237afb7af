"""Probes of the confinement on this machine: each tries in a child what must be refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graph_net.isolate.call import Died, Raised, call
from graph_net.isolate.descendants import state_of
from graph_net.isolate.limits import Limits
from graph_net.isolate.sandbox import Sandbox, confine

LIMITS = Limits(20, 8 << 30)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One promise, whether it holds here, and what was observed."""

    promise: str
    holds: bool
    seen: str


def examine() -> Iterator[ProbeResult]:
    """Yield probes of what a confined process must not be able to do, and must be able to do."""
    with tempfile.TemporaryDirectory(prefix="graph-net-doctor-") as folder:
        outside = Path(folder)
        secret, home = outside / "secret", Path.home()
        secret.write_text("of the user")
        yield _must("writes its own work directory", _write_home)
        yield _must("starts programs", _run_a_program)
        yield _must_not("writes no other file", lambda: (outside / "new").write_text("x"))
        yield _must_not("reads no other file", secret.read_text)
        yield _changes_no_mode(secret)
        yield _must_not("removes no other file", secret.unlink)
        yield _must_not("lists no home directory", lambda: os.listdir(home))
        yield _must_not("opens no connection", _connect)
        yield _must_not("sends no datagram", lambda: _socket(socket.AF_INET, socket.SOCK_DGRAM))
        yield _must_not("reaches no local service", lambda: _socket(socket.AF_UNIX))
        yield _must_not("signals nobody outside", lambda: os.kill(os.getppid(), 0))
        yield _must_not("sees nobody's environment", _environment_of_parent)
        yield _must_not("a program it starts writes nowhere else", lambda: _shell(outside))
        yield _daemons()


def confinement() -> str:
    """Return the confinement of a worker here, as records state it."""
    return str(call(lambda: str(confine(Sandbox())), LIMITS))


def _must(promise: str, work: Callable[[], object]) -> ProbeResult:
    try:
        call(lambda: str(work()), LIMITS)
    except Died as error:
        return ProbeResult(promise, False, str(error))
    return ProbeResult(promise, True, "yes")


def _must_not(promise: str, work: Callable[[], object]) -> ProbeResult:
    try:
        call(lambda: str(work()), LIMITS)
    except Raised as error:
        refused = error.kind == "PermissionError"
        return ProbeResult(promise, refused, "refused" if refused else str(error))
    except Died as error:
        return ProbeResult(promise, False, str(error))
    return ProbeResult(promise, False, "it could")


def _changes_no_mode(secret: Path) -> ProbeResult:
    """Probe that a change of mode, which is reported as done, has no effect."""
    secret.chmod(0o600)
    with suppress(Died):
        call(lambda: secret.chmod(0o777), LIMITS)
    mode = secret.stat().st_mode & 0o777
    return ProbeResult("changes no file's mode", mode == 0o600, f"{mode:o}")


def _write_home() -> None:
    (Path(os.environ["HOME"]) / "file").write_text("x")


def _run_a_program() -> None:
    subprocess.run(["/bin/sh", "-c", "true"], check=True)


def _connect() -> None:
    """Connect to port 9, where nobody listens: even "connection refused" would be an escape."""
    _socket(socket.AF_INET).connect(("127.0.0.1", 9))


def _socket(family: int, kind: int = socket.SOCK_STREAM) -> socket.socket:
    return socket.socket(family, kind)


def _environment_of_parent() -> bytes:
    return Path(f"/proc/{os.getppid()}/environ").read_bytes()


def _shell(outside: Path) -> None:
    command = ["/bin/sh", "-c", 'echo x > "$0"', str(outside / "from_a_shell")]
    ended = subprocess.run(command, stderr=subprocess.DEVNULL)  # noqa: S603 - a fixed command
    if ended.returncode:
        raise PermissionError(f"the shell ended with {ended.returncode}")


def _daemons() -> ProbeResult:
    """Probe whether a process that leaves its session outlives the one that started it."""
    pid = int(call(_leave_a_daemon, LIMITS))
    alive = state_of(pid) not in "ZX"
    if alive:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ProbeResult("leaves no process behind", not alive, "it lives" if alive else "it is gone")


def _leave_a_daemon() -> int:
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.setsid()
        daemon = os.fork()
        if daemon == 0:
            signal.pause()
        os.write(writes, str(daemon).encode())
        os._exit(0)
    return int(os.read(reads, 32))
