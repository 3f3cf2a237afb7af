"""Measured programs as other people's tuners write them, read as data, a line at a time."""

from collections.abc import Iterator
from pathlib import Path

from graph_net.formats.tuning.ansor import read_ansor, write_ansor
from graph_net.formats.tuning.ansor_quick import read_ansor_blocks
from graph_net.formats.tuning.autotvm import read_autotvm, write_autotvm
from graph_net.formats.tuning.block import Block
from graph_net.formats.tuning.collected import read_collected
from graph_net.formats.tuning.detect import Format, detect
from graph_net.formats.tuning.metaschedule import (
    Workload,
    read_metaschedule,
    read_workloads,
    workload_file,
    write_records,
    write_workloads,
)
from graph_net.formats.tuning.stream import DEFAULT_LIMITS, Damage, Limits, Place, TuningError
from graph_net.formats.tuning.t4 import read_t4, write_t4
from graph_net.record import Program

__all__ = [
    "DEFAULT_LIMITS",
    "Block",
    "Damage",
    "Format",
    "Limits",
    "Place",
    "TuningError",
    "Workload",
    "detect",
    "read_ansor",
    "read_ansor_blocks",
    "read_autotvm",
    "read_blocks",
    "read_collected",
    "read_metaschedule",
    "read_programs",
    "read_t4",
    "read_workloads",
    "workload_file",
    "write_ansor",
    "write_autotvm",
    "write_records",
    "write_t4",
    "write_workloads",
]


def read_programs(
    path: Path, kind: Format, kernel: str = "", limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """The programs of a file of a known format; ``kernel`` names the task where no line does."""
    match kind:
        case Format.ANSOR:
            return read_ansor(path, limits)
        case Format.AUTOTVM:
            return read_autotvm(path, limits)
        case Format.METASCHEDULE:
            return read_metaschedule(path, limits)
        case Format.T4:
            return read_t4(path, kernel, limits)
        case Format.COLLECTED:
            return read_collected(path, limits)
    raise TuningError(f"{path} holds {kind}, which are no programs")


def read_blocks(
    path: Path, kind: Format, kernel: str = "", rows: int = 1 << 16
) -> Iterator[Block | tuple[Place, Program | Damage]]:
    """The same, in blocks of about so many where a format has files of millions."""
    if kind is Format.ANSOR:
        return read_ansor_blocks(path, rows)
    return read_programs(path, kind, kernel)
