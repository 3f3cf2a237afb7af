"""Readers of tuners' log files: measured programs, read as data, line by line."""

from collections.abc import Iterator
from pathlib import Path

from graph_net.programs.formats.ansor import read_ansor, write_ansor
from graph_net.programs.formats.ansor_quick import read_ansor_blocks
from graph_net.programs.formats.autotvm import read_autotvm, write_autotvm
from graph_net.programs.formats.collected import read_collected
from graph_net.programs.formats.columns import ProgramColumns
from graph_net.programs.formats.detect import Format, detect
from graph_net.programs.formats.metaschedule import (
    MetaScheduleWorkload,
    read_metaschedule,
    read_workloads,
    workload_file,
    write_records,
    write_workloads,
)
from graph_net.programs.formats.t4 import read_t4, write_t4
from graph_net.programs.formats.tpugraphs import read_tpugraphs
from graph_net.results import Program
from graph_net.store.lines import DEFAULT_LIMITS, Damage, Place, ReadError, ReadLimits

__all__ = [
    "DEFAULT_LIMITS",
    "Damage",
    "Format",
    "MetaScheduleWorkload",
    "Place",
    "ProgramColumns",
    "ReadError",
    "ReadLimits",
    "detect",
    "read_ansor",
    "read_ansor_blocks",
    "read_autotvm",
    "read_blocks",
    "read_collected",
    "read_metaschedule",
    "read_programs",
    "read_t4",
    "read_tpugraphs",
    "read_workloads",
    "workload_file",
    "write_ansor",
    "write_autotvm",
    "write_records",
    "write_t4",
    "write_workloads",
]


def read_programs(
    path: Path, kind: Format, kernel: str = "", limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[tuple[Place, Program | Damage]]:
    """Yield the programs of a file; ``kernel`` names the task if no line does."""
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
        case Format.TPUGRAPHS:
            return read_tpugraphs(path)
    raise ReadError(f"{path} holds {kind}, which are no programs")


def read_blocks(
    path: Path, kind: Format, kernel: str = "", rows: int = 1 << 16
) -> Iterator[ProgramColumns | tuple[Place, Program | Damage]]:
    """Yield the same programs in blocks of about ``rows``, for files of millions of lines."""
    if kind is Format.ANSOR:
        return read_ansor_blocks(path, rows)
    return read_programs(path, kind, kernel)
