"""Peaks: the highest rates of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graph_net.results.canonical import canonical, digest
from graph_net.results.device import Device

DTYPES = ("float32", "bfloat16", "float16")
TF32 = "tf32"


@dataclass(frozen=True)
class Peaks:
    """The peaks of one device; ``flops`` is by dtype, as matrix products reach it."""

    device: str
    name: str
    bandwidth: float
    cache_bandwidth: float
    cache_bytes: int
    flops: Mapping[str, float]
    software: str = ""
    measured: str = ""
    load: float = 0.0
    """The load average; figures of a busy machine are too low."""


def identity(device: Device) -> str:
    """Return a hash that is equal for devices of equal hardware, whatever their software."""
    hardware = (device.kind, device.name, device.cores, device.threads, device.system)
    # In whole GiB as for a CPU: drivers reserve more or less of a GPU's memory.
    return digest(canonical([*hardware, round(device.memory_bytes / 2**30)]))
