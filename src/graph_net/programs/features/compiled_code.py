"""The machine code of a CPU program, compiled by TVM and not run, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.features.code_features import describe_code
from graph_net.programs.spaces import SpaceError, Workload

if TYPE_CHECKING:
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

CPU = "llvm"
"""Kind of the targets whose code is read."""


def extractor(workload: Workload, target: str) -> Callable[[str], bytes]:
    """Return a function from a schedule of a workload to its features, as float32 bytes."""
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    space = MetaScheduleSpace(workload, target)
    return lambda schedule: describe_compiled(space, schedule).tobytes()


def describe_compiled(space: MetaScheduleSpace, schedule: str) -> NDArray[np.float32]:
    """Return one row of numbers for a program, compiled for the CPU of its space's target."""
    kind = str(space.tvm_target.kind.name)
    if kind != CPU:
        raise SpaceError(f"machine code is read for CPUs ({CPU}): the target is of kind {kind}")
    cores = int(space.tvm_target.attrs.get("num-cores", 1))
    return describe_code(space.assembly(schedule), max(1, cores))
