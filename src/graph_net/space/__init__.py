"""Which programs a computation has: spaces of schedules, as plug-ins."""

from graph_net.space.registry import known, space_of
from graph_net.space.space import Built, Space, SpaceError, Workload, distinct, repeats_of

__all__ = [
    "Built",
    "Space",
    "SpaceError",
    "Workload",
    "distinct",
    "known",
    "repeats_of",
    "space_of",
]
