"""Run one call in a confined process, so that its crash does not reach the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graph_net.isolate.deaths import Death, Ending
from graph_net.isolate.limits import Limits
from graph_net.isolate.pool import Pool
from graph_net.isolate.sandbox import Sandbox


class Died(RuntimeError):
    """The process ended without an answer: out of time or memory, or crashed."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.reason)
        self.death = death


class Raised(Died):
    """The call raised an exception; ``kind`` is the name of its class."""

    def __init__(self, death: Death) -> None:
        super().__init__(death)
        self.kind, _, self.message = death.reason.partition(": ")


def call(work: Callable[[], Any], limits: Limits, sandbox: Sandbox | None = None) -> Any:
    """Return what ``work`` returns (JSON or bytes), called in a confined process.

    The process has its own work directory unless the sandbox names one. An exception in ``work`` is
    raised here as Raised, any other end without an answer as Died. Descendants of the process die
    with it.
    """
    (done,) = Pool(limits, 1, sandbox or Sandbox()).each([None], lambda _: work())
    if done.death is None:
        return done.answer
    raise (Raised if done.death.ending is Ending.EXCEPTION else Died)(done.death)
