"""Record: a graph, how it was run, where, and what happened.

A Record is immutable and complete: an impossible one (a success without samples, a compile
failure with timings) cannot be built. All of it is plain JSON, so that a bare machine can write
it and anything can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graph_net.printable import printable
from graph_net.results.canonical import Json, RecordError, digest
from graph_net.results.config import Config
from graph_net.results.device import Device
from graph_net.results.failure import FOUND_BY_COMPARING, RETRIED, Failure, Stage, Symptom
from graph_net.results.protocol import ProtocolSettings
from graph_net.results.timing import Interval, Timing

FAMILIES = {
    "float16": (1.0, 0.6),
    "bfloat16": (1.0, 1.796 / 5),
    "float32": (1.0, 5.886 / 5),
    "float64": (1.4, 1.4),
}
"""GraphNet's tolerances: 10^(a·t) and 10^(r·t) at level t, as (a, r) by dtype."""
EQUAL = -64.0
"""The level of outputs that are equal."""


@dataclass(frozen=True)
class Subject:
    """The measured graph, with the fields that scores are grouped by."""

    id: str
    structure: str
    name: str
    library: str = ""
    model: str = ""
    category: str = ""
    subcategory: str = ""


@dataclass(frozen=True)
class Output:
    """The comparison of one output: the smallest tolerance level t at which it passes.

    ``t`` is against eager, as GraphNet compares; ``t_exact`` and ``eager_t_exact`` are the
    candidate's and eager's against a float64 run, ``t_self`` eager's against itself. ``t_of`` is
    the level by the tolerances of each of FAMILIES, which GraphNet's logs list for every output.
    -64 means equal, None that no tolerance passes (or, without a float64 run, unknown).
    """

    dtype: str
    shape: tuple[int, ...]
    t: float | None
    max_abs: float | None = None
    mean_abs: float | None = None
    t_exact: float | None = None
    eager_t_exact: float | None = None
    t_of: tuple[float | None, ...] = ()
    t_self: float | None = None


@dataclass(frozen=True)
class Cost:
    """The cost of compiling: wall seconds cold and warm, CPU seconds, and peak memory."""

    cold_seconds: float | None = None
    warm_seconds: float | None = None
    cpu_seconds: float | None = None
    compile_peak_bytes: int | None = None
    eager_peak_bytes: int | None = None
    candidate_peak_bytes: int | None = None


@dataclass(frozen=True)
class Record:
    """One measurement of a graph under a configuration on a device.

    ``protocol`` is the hash of ``settings``; records of earlier versions have only the hash.
    """

    subject: Subject
    config: Config
    device: Device
    protocol: str
    failure: Failure | None = None
    timing: Timing | None = None
    outputs: tuple[Output, ...] = ()
    cost: Cost = field(default_factory=Cost)
    environment: Mapping[str, Json] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    settings: ProtocolSettings | None = None

    def __post_init__(self) -> None:
        if self.settings is not None and self.settings.hash != self.protocol:
            raise RecordError("the settings of a record's protocol do not have its hash")
        if self.failure is None:
            self._check_compared("a success")
            return
        stage, symptom = self.failure.stage, self.failure.symptom
        if self.timing is not None and stage not in (Stage.VERIFY, Stage.MEASURE):
            raise RecordError(f"a failure at {stage} has no samples")
        if symptom in FOUND_BY_COMPARING and stage is not Stage.VERIFY:
            raise RecordError(f"{symptom} is found at {Stage.VERIFY}")
        if symptom is Symptom.TOO_NOISY:
            if stage is not Stage.MEASURE:
                raise RecordError(f"{symptom} is found at {Stage.MEASURE}")
            self._check_compared("a measurement that is too noisy")

    def _check_compared(self, what: str) -> None:
        """Raise RecordError unless it was timed and every output passes at some tolerance."""
        if self.timing is None or not self.outputs:
            raise RecordError(f"{what} has samples and compared outputs")
        if any(output.t is None for output in self.outputs):
            raise RecordError(f"{what} has outputs that pass at some tolerance")

    def __repr__(self) -> str:
        from graph_net.results.summary import line_of

        return f"<Record {printable(line_of(self))}>"

    def _repr_html_(self) -> str:
        from graph_net.results.summary import html_of

        return html_of(self)

    @property
    def key(self) -> str:
        """The key under which it is measured once."""
        return key_of(self.subject.id, self.config, self.device, self.protocol)

    @property
    def final(self) -> bool:
        """Whether a resumed run skips it."""
        return self.failure is None or self.failure.symptom not in RETRIED

    @property
    def too_noisy(self) -> bool:
        """Whether the samples are too noisy for a speedup; the outputs still count."""
        return self.failure is not None and self.failure.symptom is Symptom.TOO_NOISY

    @property
    def compared(self) -> bool:
        """Whether it was timed, and all outputs were compared and pass at some tolerance."""
        return self.failure is None or self.too_noisy

    @property
    def speedup(self) -> Interval | None:
        """eager / candidate, from interleaved samples; None if not timed or too noisy."""
        return None if self.timing is None or self.too_noisy else self.timing.speedup

    @property
    def t(self) -> float | None:
        """The smallest tolerance level at which all outputs pass; None for a failure."""
        if not self.compared:
            return None
        return max(output.t for output in self.outputs if output.t is not None)


def key_of(graph_id: str, config: Config, device: Device, protocol: str) -> str:
    """Return the key of a measurement."""
    return digest(graph_id, config.hash, device.hash, protocol)
