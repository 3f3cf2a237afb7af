"""Confinement: what a process that runs a graph, a schedule or a compiler can reach.

``confine`` is called right after a fork. Afterwards the process can read the installation, the
system's libraries and its inputs, and write its own work directory; it can open no socket and
signal nobody outside, and neither it nor a program that it starts can undo this.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path

from graph_net.isolate import landlock, seccomp
from graph_net.isolate.limits import lower
from graph_net.isolate.privileges import give_up_privileges

SWITCH = "GRAPH_NET_SANDBOX"
"""The environment variable that ``--no-sandbox`` sets to ``off``, for every process to see."""
MOST_FILE_BYTES = 16 << 30
MOST_DESCRIPTORS = 4096

_SYSTEM = """
/usr /lib /lib32 /lib64 /bin /sbin /opt /nix/store /gnu/store /sys
/etc/alternatives /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime
/etc/nsswitch.conf /etc/passwd /etc/OpenCL
/proc/cpuinfo /proc/meminfo /proc/stat /proc/version /proc/uptime /proc/loadavg
/proc/filesystems /proc/vmstat /proc/pressure /proc/modules /proc/sys /proc/driver
/dev/zero /dev/full /dev/random /dev/urandom
""".split()
_GPU_DEVICES = ("/dev/nvidia*", "/dev/nvidia-caps", "/dev/dri", "/dev/kfd")
_SEARCH_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH")
_PRIVATE_FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TRITON_HOME": "home",
    "CUDA_CACHE_PATH": "cuda",
    "MPLCONFIGDIR": "config",
}
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_KEY|AUTH", re.I)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a compiler declares that it needs beyond its work directory and the installation."""

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    shared_memory: bool = False
    """Files in /dev/shm, which the processes of a pool share."""
    sockets: bool = False
    """New sockets, and with them the machine's network."""

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.reads + other.reads,
            self.writes + other.writes,
            self.shared_memory or other.shared_memory,
            self.sockets or other.sockets,
        )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where a confined process may write, what else it needs, and its device."""

    workdir: Path | None = None
    needs: Needs = Needs()
    device: str = "cpu"
    inherits: bool = False
    """Add no confinement: the parent is confined already, or the work is trusted."""

    def needing(self, more: Needs) -> Sandbox:
        """Return this sandbox with more needs."""
        return replace(self, needs=self.needs | more)


INHERITED = Sandbox(inherits=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The ``layers`` of confinement in force, and those ``missing``, with the reason."""

    layers: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        layers = ", ".join(self.layers) or "none"
        return f"{layers} (without {'; '.join(self.missing)})" if self.missing else layers


def is_off(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the user has switched confinement off."""
    return (os.environ if environment is None else environment).get(SWITCH) == "off"


def confine(sandbox: Sandbox) -> Confinement:
    """Confine this process; return the confinement that holds from now on.

    The kernel confines the calling thread and those it starts later: no other thread may exist yet.
    """
    if sandbox.inherits:
        return Confinement((), ("anything of its own: it has what its parent has",))
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("only a process of one thread can be confined")
    _limit_resources()
    rules = list(_rules(sandbox))
    if sandbox.workdir is not None:
        _use_as_home(sandbox.workdir)
    if is_off():
        return Confinement((), ("everything: --no-sandbox",))
    _forget_secrets()
    layers, missing = ["resource limits"], []
    give_up_privileges()
    layers.append("no new privileges")
    version = landlock.abi()
    if version:
        landlock.restrict(rules, tcp=sandbox.needs.sockets)
        layers.append(f"landlock {version}")
        if version < landlock.SCOPED_SIGNALS:
            missing.append(f"scoped signals (Landlock has them from {landlock.SCOPED_SIGNALS} on)")
    else:
        missing.append("landlock (the kernel has none, or it is switched off)")
    try:
        if seccomp.available():
            seccomp.restrict(_sockets(sandbox), memory_files=_makes_memory_files(sandbox))
            layers.append("seccomp")
        else:
            missing.append("seccomp (unknown architecture)")
    except OSError as error:
        missing.append(f"seccomp ({error.strerror})")
    return Confinement(tuple(layers), tuple(missing))


def _sockets(sandbox: Sandbox) -> seccomp.Sockets:
    if sandbox.needs.sockets:
        return seccomp.Sockets.ALL
    on_gpu = sandbox.device.startswith("cuda")
    return seccomp.Sockets.UNCONNECTED if on_gpu else seccomp.Sockets.NONE


def _makes_memory_files(sandbox: Sandbox) -> bool:
    return sandbox.needs.shared_memory or sandbox.device.startswith("cuda")


def _limit_resources() -> None:
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, MOST_FILE_BYTES)
    lower(resource.RLIMIT_NOFILE, MOST_DESCRIPTORS)


def _use_as_home(workdir: Path) -> None:
    """Point every library's home, cache and temporary directory into the work directory."""
    for variable, folder in _PRIVATE_FOLDERS.items():
        os.environ[variable] = f"{workdir.absolute()}/{folder}"
    for folder in ("home", "tmp"):  # libraries create the others
        (workdir / folder).mkdir(exist_ok=True)
    tempfile.tempdir = None


def _forget_secrets() -> None:
    """Remove variables named like secrets, from ``/proc/self/environ`` too."""
    for name in [name for name in os.environ if _SECRET.search(name)]:
        del os.environ[name]
    fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # the addresses of the initial environment
    if not 0 < start < end:
        return
    address = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        key = entry.partition(b"=")[0]
        if _SECRET.search(key.decode("utf-8", "replace")):
            ctypes.memset(address + len(key), 0, len(entry) - len(key))
        address += len(entry) + 1


def _rules(sandbox: Sandbox) -> Iterator[tuple[Path, int]]:
    for name in {*_installation(), *_SYSTEM, *map(str, sandbox.needs.reads)}:
        yield Path(name), landlock.READ
    for folder in (sandbox.workdir, *sandbox.needs.writes):
        if folder is not None:
            yield folder, landlock.WRITE
    yield Path("/dev/null"), landlock.DEVICE | landlock.TRUNCATE
    # Its own entry in /proc: a process writes there to reset its peak memory.
    yield Path("/proc/self"), landlock.READ | landlock.DEVICE | landlock.TRUNCATE
    if sandbox.needs.shared_memory:
        yield Path("/dev/shm"), landlock.WRITE  # noqa: S108 - what is named
    if sandbox.device.startswith("cuda"):
        for pattern in _GPU_DEVICES:
            for name in glob(pattern):
                yield Path(name), landlock.DEVICE | landlock.READ_DIR


def _installation() -> Iterable[str]:
    """Return the directories of the interpreter, its packages and the programs on the path.

    A home directory is not among them, though ``python -m`` started there puts it on the path.
    """
    searched = {*sys.path}
    for variable in _SEARCH_VARIABLES:
        searched.update(os.environ.get(variable, "").split(os.pathsep))
    home = os.path.realpath(os.path.expanduser("~"))
    folders = {
        folder
        for folder in searched
        if os.path.isabs(folder) and not Path(home).is_relative_to(os.path.realpath(folder))
    }
    own = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.dirname(__file__))}
    return {folder for folder in folders | own if os.path.realpath(folder) != "/"}
