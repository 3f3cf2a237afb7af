"""The protocol of a measurement: every number that decides what is measured, and the limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from graph_net.results import ProtocolSettings, Stage

VERSION = 3
"""Part of the hash: raise it when the meaning of a measurement changes."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a graph is timed and checked. Two records compare only under one protocol."""

    seed: int = 0
    sample_seconds: float = 1e-3
    """Least seconds of a sample, roughly: a short function is called several times in one."""
    warm_calls: int = 3
    warm_seconds: float = 1.0
    """Seconds after which the warm-up ends, even if calls still get faster (see ``warm_calls``)."""
    width: float = 0.01
    """Sampling ends when the relative half width of the intervals is at most this."""
    seconds: float = 5.0
    """Seconds after which sampling ends, but not before ``min_blocks``."""
    min_blocks: int = 8
    max_blocks: int = 60
    patience: float = 60.0
    """Seconds after which sampling always ends; fewer than ``min_blocks`` blocks are ambiguous."""
    confidence: float = 0.99
    margin: float = 0.02
    """Two functions count as equally fast within this relative difference."""
    noise_limit: float = 0.5
    """A control that is off by more makes the measurement too noisy to keep."""
    exact: bool = True
    """Compare with a float64 run as well, if the graph has one."""
    warm_compile: bool = True
    """Compile a second time, with the caches of the first."""

    @property
    def settings(self) -> ProtocolSettings:
        """The protocol as data, as records hold it."""
        return ProtocolSettings(VERSION, asdict(self))

    @property
    def hash(self) -> str:
        """Equal for equal protocols."""
        return self.settings.hash


@dataclass(frozen=True, slots=True)
class MeasureLimits:
    """Limits of one measurement; not part of the protocol: a killed one is a failure."""

    seconds: dict[Stage, float] = field(
        default_factory=lambda: {
            Stage.LOAD: 120.0,
            Stage.EAGER: 120.0,
            Stage.COMPILE: 600.0,
            Stage.FIRST_RUN: 120.0,
            Stage.VERIFY: 240.0,
            Stage.MEASURE: 240.0,
        }
    )
    memory_bytes: int = 8 << 30

    def with_compile(self, seconds: float) -> MeasureLimits:
        """Return these limits with another time for compiling."""
        return MeasureLimits({**self.seconds, Stage.COMPILE: seconds}, self.memory_bytes)
