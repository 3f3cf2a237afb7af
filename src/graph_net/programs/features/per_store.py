"""TenSet's features of a program: 164 numbers for each store to a buffer, through TVM.

They describe the loops around a store after scheduling, so the schedule is replayed. That needs TVM
and takes a hundred times as long as ``programs.spaces.primitives``. Nothing is compiled.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from graph_net.programs.spaces import Workload

WIDTH = 164
VERSION = 1
BUFFERS, CURVE, CACHE_LINE = 5, 10, 64
"""Buffers described per store, points of the intensity curve, bytes per cache line."""
GROUPS = {
    "computation": (0, 57),
    "buffers": (57, 147),
    "intensity": (147, 157),
    "allocation": (157, 161),
    "outer": (161, 164),
}
"""Column range of each group: first, and one past the last."""
MOST_STORES = 64
"""Most stores of a program; one with more gets no features, as a model could not hold it."""


def extractor(workload: Workload, target: str) -> Callable[[str], bytes]:
    """Return a function from a schedule of a workload to its features, as float32 bytes."""
    from tvm.s_tir.meta_schedule import MeasureCandidate, TuneContext
    from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature
    from tvm.target import Target

    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    space = MetaScheduleSpace(workload, target)
    features = PerStoreFeature(BUFFERS, CURVE, CACHE_LINE)
    context = TuneContext(space.module, target=Target(json.loads(space.target)), num_threads=1)

    def work(schedule: str) -> bytes:
        candidate = MeasureCandidate(space.schedule(schedule), [])
        (found,) = features.extract_from(context, [candidate])
        array = np.asarray(found.numpy(), np.float32)
        if not 0 < len(array) <= MOST_STORES or array.shape[1] != WIDTH:
            raise ValueError(f"features of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("features that are no numbers")
        return array.tobytes()

    return work
