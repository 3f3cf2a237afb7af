"""Fingerprint of the device, and the environment of one measurement."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graph_net.printable import count_phrase
from graph_net.results import Device, Json, RecordError

CPU_FIELDS = {
    "cpu family": "family",
    "model": "model",
    "CPU implementer": "implementer",
    "CPU part": "part",
}
"""Fields of ``/proc/cpuinfo`` that identify a microarchitecture, and their names here."""


def require_device(device: str) -> None:
    """Raise RecordError unless graphs can run on this device here."""
    if device == "cpu":
        return
    import torch

    try:
        kind, index = torch.device(device).type, torch.device(device).index or 0
    except RuntimeError as error:
        raise RecordError(f"{device!r} is not a device; write cpu, cuda or cuda:1") from error
    count = torch.cuda.device_count() if kind == "cuda" and torch.cuda.is_available() else 0
    if kind == "cuda" and not count:
        built = "" if torch.version.cuda else f" (torch {torch.__version__} is built without)"
        raise RecordError(f"this machine has no CUDA device{built}; run with --device cpu")
    if kind == "cuda" and index >= count:
        devices = count_phrase(count, "CUDA device")
        raise RecordError(f"{device} does not exist; this machine has {devices}")


def describe(kind: str = "cpu", threads: int | None = None) -> Device:
    """Return this machine as a Device; query the GPU only for a CUDA device."""
    require_device(kind)
    cores = len(os.sched_getaffinity(0))
    software = {name: text for name in ("torch", "triton", "numpy") if (text := _version(name))}
    name = cpu_name()
    # In whole GiB: the last megabytes change with the kernel, and do not make it another device.
    memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30) * 2**30
    if kind.startswith("cuda"):
        import torch

        properties = torch.cuda.get_device_properties(0)
        name, memory = properties.name, properties.total_memory
        software["cuda"] = str(torch.version.cuda)
    return Device(
        kind=kind.partition(":")[0],
        name=name,
        cores=cores,
        threads=threads or cores,
        memory_bytes=memory,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        software=software,
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def cpu_name() -> str:
    """Return the processor's brand and its microarchitecture: one brand may have several."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    return cpu_name_from(text) or platform.machine()


def cpu_name_from(cpuinfo: str) -> str:
    """Return what ``/proc/cpuinfo`` says: brand, family and model; on Arm implementer and part."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n", 1)[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    told = [fields["model name"]] if fields.get("model name") else []
    for key, word in CPU_FIELDS.items():
        if fields.get(key):
            told.append(f"{word} {fields[key]}")
    return ", ".join(told)


class Disturbances:
    """Counters of what disturbed this process between construction and ``read``."""

    def __init__(self) -> None:
        self._before = _counters()

    def read(self) -> dict[str, Json]:
        """Return the changes of the counters, and the load.

        Seconds that its threads waited for a core, steal seconds of the machine, involuntary
        context switches, and major page faults.
        """
        now = _counters()
        counters: dict[str, Json] = {k: now[k] - self._before[k] for k in now if k in self._before}
        return counters | {"load": round(os.getloadavg()[0], 2)}


def _counters() -> dict[str, float]:
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    counters = {
        "involuntary_switches": float(usage.ru_nivcsw),
        "major_faults": float(usage.ru_majflt),
    }
    with suppress(OSError, IndexError, ValueError):
        fields = Path("/proc/stat").read_text("utf-8").split("\n", 1)[0].split()
        counters["steal_seconds"] = int(fields[8]) / os.sysconf("SC_CLK_TCK")
    with suppress(OSError, IndexError, ValueError):
        counters["waited_seconds"] = _waited_seconds()
    return counters


def _waited_seconds() -> float:
    """Return how long the threads of this process were ready to run while others had the cores."""
    waited = 0
    for thread in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            waited += int(Path(f"/proc/self/task/{thread}/schedstat").read_text("ascii").split()[1])
    return waited / 1e9


class Peak:
    """The peak of this process's memory from now on, beyond what it holds now."""

    def __init__(self) -> None:
        with suppress(OSError):  # otherwise the peak is that of the process's whole life
            Path("/proc/self/clear_refs").write_text("5", "utf-8")
        self._before = _status_bytes("VmRSS:")

    def read(self) -> int:
        """Return the peak in bytes."""
        return max(0, _status_bytes("VmHWM:") - self._before)


def _status_bytes(field: str) -> int:
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text("utf-8").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0
