"""The machine code of a CPU program, compiled by TVM and not run, as numbers."""

from __future__ import annotations

from collections.abc import Callable

from graph_net.programs.features.code_features import describe_code
from graph_net.programs.spaces import Workload


def extractor(workload: Workload, target: str) -> Callable[[str], bytes]:
    """Return a function from a schedule of a workload to its features, as float32 bytes."""
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    space = MetaScheduleSpace(workload, target)
    cores = int(space.tvm_target.attrs.get("num-cores", 1))
    return lambda schedule: describe_code(space.assembly(schedule), cores).tobytes()
