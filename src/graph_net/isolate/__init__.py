"""Calls and pools in confined processes that may die; standard library only."""

from graph_net.isolate.call import Died, Raised, call
from graph_net.isolate.deaths import Death, Ending
from graph_net.isolate.limits import Limits
from graph_net.isolate.pool import MakePool, Pool, WorkPool
from graph_net.isolate.sandbox import INHERITED, Confinement, Needs, Sandbox, confine
from graph_net.isolate.worker import Batch, Finished, enter

__all__ = [
    "INHERITED",
    "Batch",
    "Confinement",
    "Death",
    "Died",
    "Ending",
    "Finished",
    "Limits",
    "MakePool",
    "Needs",
    "Pool",
    "Raised",
    "Sandbox",
    "WorkPool",
    "call",
    "confine",
    "enter",
]
