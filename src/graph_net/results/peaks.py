"""The noun Peaks: what a device can do at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graph_net.results.canonical import canonical, digest
from graph_net.results.device import Device

DTYPES = ("float32", "bfloat16", "float16")
TF32 = "tf32"


@dataclass(frozen=True)
class Peaks:
    """The figures of one device. ``flops`` is by dtype; products of matrices reach it."""

    device: str
    name: str
    bandwidth: float
    cache_bandwidth: float
    cache_bytes: int
    flops: Mapping[str, float]
    software: str = ""
    measured: str = ""
    load: float = 0.0
    """How busy the machine was; figures of a busy one are too low."""


def identity(device: Device) -> str:
    """Equal for devices whose hardware is equal, whatever runs on it."""
    known = (device.kind, device.name, device.cores, device.threads, device.system)
    # In whole GiB as for a CPU: drivers keep more or less of a GPU's memory to themselves.
    return digest(canonical([*known, round(device.memory_bytes / 2**30)]))
