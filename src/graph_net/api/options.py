"""Options that calls share: durations, compilers, and how measurements are made."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.api.choose import Graphs, GraphSelection
    from graph_net.measure import MeasureLimits
    from graph_net.results import Config, Device


@dataclass(frozen=True)
class MeasureOptions:
    """Which graphs are measured, where, and for how long; 0 jobs or threads are the default."""

    device: str = "cpu"
    where: str | None = None
    mini: bool = False
    limit: int | None = None
    budget: str | float | None = None
    jobs: int = 0
    threads: int = 0
    seconds: float = 5.0
    gigabytes: float = 8.0
    timeout: float = 600.0

    def select(self, graphs: Graphs) -> GraphSelection:
        """Return names in a fair order, and the graphs in that order."""
        from graph_net.api.choose import chosen_graphs

        return chosen_graphs(graphs, self.where, self.mini, self.limit)

    def describe_device(self) -> Device:
        """Return the device with the threads to use."""
        from graph_net.measure.device import describe

        return describe(self.device, self.threads or None)

    @property
    def deadline(self) -> float | None:
        """The moment at which the budget is spent, if it begins now."""
        return None if self.budget is None else time.monotonic() + parse_seconds(self.budget)

    @property
    def limits(self) -> MeasureLimits:
        """What one measurement may cost."""
        return limits_of(self.gigabytes, self.timeout)

    @property
    def processes(self) -> int:
        """How many processes build at a time."""
        from graph_net.measure.plan import default_jobs

        return self.jobs or default_jobs(self.device)


def parse_seconds(text: str | float) -> float:
    """Return the seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write 90s, 10m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def configs_of(compilers: str | Config | Sequence[str | Config]) -> list[Config]:
    """Return the configurations of ``"inductor,tvm"``, or of a list."""
    from graph_net.measure.plan import parse_compilers

    if isinstance(compilers, str):
        return parse_compilers(compilers)
    if not isinstance(compilers, Sequence):
        return [compilers]
    return [config for compiler in compilers for config in configs_of(compiler)]


def config_of(compiler: str | Config, error: type[ValueError], why: str) -> Config:
    """Return one configuration; raise ``error`` with the reason if there are more."""
    configs = configs_of(compiler)
    if len(configs) != 1:
        raise error(f"{compiler!r} names {len(configs)} compilers; {why}")
    return configs[0]


def limits_of(gigabytes: float, compile_seconds: float) -> MeasureLimits:
    """Return what one measurement may cost."""
    from graph_net.measure import MeasureLimits

    return MeasureLimits(memory_bytes=int(gigabytes * 2**30)).with_compile(compile_seconds)
