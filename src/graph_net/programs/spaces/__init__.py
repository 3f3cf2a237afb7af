"""Spaces: the schedules that a computation has, as plug-ins."""

from graph_net.programs.spaces.registry import space_names, space_of
from graph_net.programs.spaces.space import Built, Space, SpaceError, Workload, distinct, repeats_of

__all__ = [
    "Built",
    "Space",
    "SpaceError",
    "Workload",
    "distinct",
    "repeats_of",
    "space_names",
    "space_of",
]
