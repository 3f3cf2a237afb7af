"""Values as people write them: durations, compilers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.measure import MeasureLimits
    from graph_net.results import Config


def parse_seconds(text: str | float) -> float:
    """Return the seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", str(text))
    if found is None:
        raise ValueError(f"{text!r} is no time; write 90s, 10m or 2h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def configs_of(compilers: str | Config | Sequence[str | Config]) -> list[Config]:
    """Return configurations from ``"inductor,tvm"``, or from a list of such words."""
    from graph_net.measure.plan import parse_compilers

    if isinstance(compilers, str):
        return parse_compilers(compilers)
    if not isinstance(compilers, Sequence):
        return [compilers]
    return [config for each in compilers for config in configs_of(each)]


def limits_of(gigabytes: float, compile_seconds: float) -> MeasureLimits:
    """Return what one measurement may cost."""
    from graph_net.measure import MeasureLimits

    return MeasureLimits(memory_bytes=int(gigabytes * 2**30)).with_compile(compile_seconds)


def config_of(compiler: str | Config, error: type[ValueError], why: str) -> Config:
    """Return one configuration; more than one raises ``error`` with the reason."""
    configs = configs_of(compiler)
    if len(configs) != 1:
        raise error(f"{compiler!r} names {len(configs)} compilers; {why}")
    return configs[0]
