"""GraphNet's logs, read line by line with the rules of its own parser.

A sample begins at ``[Processing]``. It failed in eager if there is no ``[Datatype][eager]``, failed
to compile if there is no ``[Datatype][compiled]``, has outputs of another kind if ``[Shape]`` or
``[DataType]`` says so, and failed at run time if any line holds "Error:" or "Exception:", in this
order. A run on a reference device is not a sample, as it is compared with nothing. Otherwise each
output is looked up at the tolerances of its dtype. Other lines are skipped; only the sample being
read is held in memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path

from graph_net.formats.graphnet.log import LEVELS, tolerance_key
from graph_net.results import EQUAL, FAMILIES
from graph_net.store.files import open_regular

MAX_LINE = 1 << 20
"""The longest line held in memory; longer ones are junk."""
_LINE = re.compile(
    r"\[(Processing|Config|Datatype|DataType|Shape|Correctness|Speedup|Result)\](\[[^\]]*\]|)(.*)"
)
_MATCH = re.compile(r"\bmatch:(True|False)\b")
_FAMILY = {"complex32": "float16", "complex64": "float32", "complex128": "float64"} | {
    name: name for name in FAMILIES
}
_FLOAT32_TOO = ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")


class LogStatus(StrEnum):
    """The outcome of a sample, in the words of GraphNet's parser."""

    CORRECT = "correct"
    EAGER = "eager_fail"
    COMPILE = "compile_fail"
    SHAPE = "shape_mismatch"
    TYPE = "type_mismatch"
    RUNTIME = "runtime_fail"


_FAILURES = {"eager": LogStatus.EAGER, "compiled": LogStatus.COMPILE} | {
    status.value: status for status in LogStatus
}


@dataclass(frozen=True, slots=True)
class LogSample:
    """One sample of a log; ``t`` is the lowest level listed at which every output passes.

    ``finite`` is false where an output passes at no level and differs by no finite number.
    """

    path: str
    status: LogStatus
    speedup: float | None
    t: float | None
    finite: bool = True
    config: dict[str, str] = field(default_factory=dict)


def read_log(path: Path | str) -> Iterator[LogSample]:
    """Yield the samples of a log file, holding one at a time in memory."""
    with TextIOWrapper(open_regular(path), encoding="utf-8", errors="replace") as file:
        yield from samples_of(iter(lambda: file.readline(MAX_LINE), ""))


def samples_of(lines: Iterable[str]) -> Iterator[LogSample]:
    """Yield the samples of a log's lines, skipping what comes before the first one."""
    current: _Reading | None = None
    for line in lines:
        # A failure's message may hold anything; it only shows that something was raised.
        match = None if "[Message]" in line else _LINE.search(line)
        if match is not None and match[1] == "Processing":
            if current is not None and not current.reference:
                yield current.sample()
            parts = line.split()
            current = _Reading(parts[-1] if len(parts) > 1 else "")
        elif current is not None:
            current.add(line, match)
    if current is not None and not current.reference:
        yield current.sample()


@dataclass
class _Reading:
    """The state of the sample being read."""

    path: str
    config: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, list[str]] = field(default_factory=dict)
    passes: dict[str, list[bool]] = field(default_factory=dict)
    far: list[float] = field(default_factory=list)
    match: dict[str, bool] = field(default_factory=dict)
    speedup: float | None = None
    raised: bool = False
    reference: bool = False
    """Whether it is a run on a reference device, not compared with anything yet."""

    def add(self, line: str, match: re.Match[str] | None) -> None:
        self.raised |= "Error:" in line or "Exception:" in line
        if match is None:
            return
        kind, name, rest = match[1], match[2][1:-1], match[3].removeprefix(":").strip()
        if kind == "Config":
            key, _, value = rest.partition(":")
            self.config[key.strip()] = value.strip()
        elif kind == "Datatype":
            self.dtypes[name] = rest.split()
        elif kind in ("DataType", "Shape") and (verdict := _MATCH.search(rest)):
            self.match[kind] = verdict[1] == "True"
        elif kind == "Speedup" and name == "e2e":
            self.speedup = _positive(rest)
        elif kind == "Correctness" and (name == "equal" or name.startswith("all_close")):
            self.passes[name] = [word not in ("0", "0.0") for word in rest.split()]
        elif kind == "Result" and name == "status":
            self.reference = rest == "eager:success"
        elif kind == "Correctness" and name == "max_diff":
            self.far = [_number(word) for word in rest.split()]

    def status(self) -> LogStatus:
        # Comparisons need results, so both ran, whatever else the log lacks.
        compared = any(name.startswith("all_close") for name in self.passes)
        if "eager" not in self.dtypes and not compared:
            return LogStatus.EAGER
        if "compiled" not in self.dtypes and not compared:
            return LogStatus.COMPILE
        if self.match.get("Shape") is False:
            return LogStatus.SHAPE
        if self.match.get("DataType") is False:
            return LogStatus.TYPE
        if self.raised:
            return LogStatus.RUNTIME
        return LogStatus.CORRECT if compared else LogStatus.SHAPE

    def sample(self) -> LogSample:
        status = self.status()
        if status is LogStatus.CORRECT and self.speedup is None:
            status = LogStatus.RUNTIME  # compared but never timed
        if status is not LogStatus.CORRECT:
            return LogSample(self.path, status, self.speedup, None, True, self.config)
        count = len(self.passes.get("equal", ()))
        levels = [self._level(index) for index in range(count)]
        passed = [level for level in levels if level is not None]
        t = max(passed, default=EQUAL) if len(passed) == count else None
        pairs = zip(levels, self.far, strict=False)
        finite = all(level is not None or math.isfinite(far) for level, far in pairs)
        return LogSample(self.path, status, self.speedup, t, finite, self.config)

    def _level(self, index: int) -> float | None:
        """Return the lowest level at which an output passes."""
        eager = self.dtypes.get("eager", [])
        if self._passed("equal", index):
            return EQUAL
        family = family_of_dtype(eager[index]) if index < len(eager) else None
        if family is None:
            return None
        listed = (t for t in LEVELS if self._passed(tolerance_key(t, family), index))
        return next((float(t) for t in listed), None)

    def _passed(self, name: str, index: int) -> bool:
        bits = self.passes.get(name, ())
        return index < len(bits) and bits[index]


def family_of_dtype(dtype: str) -> str | None:
    """Return the dtype whose tolerances apply; None if values must be equal."""
    name = dtype.removeprefix("torch.").removeprefix("paddle.")
    return "float32" if name in _FLOAT32_TOO else _FAMILY.get(name)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _positive(text: str) -> float | None:
    value = _number(text)
    return value if 0 < value < math.inf else None


def sample_of_result(tree: object) -> LogSample:
    """Return the sample of a JSON result, as GraphNet's older tools wrote one per model.

    Its outcome follows the same rules as a log's; other JSON raises ValueError.
    """
    if not isinstance(tree, dict) or not isinstance(tree.get("performance"), dict):
        raise ValueError("it has no object 'performance'")
    performance = tree["performance"]
    config = tree.get("configuration")
    reading = _Reading(str(tree.get("model_path") or ""))
    if isinstance(config, dict):
        reading.config = {str(key): str(value) for key, value in config.items()}
    dtypes = performance.get("datatype")
    if isinstance(dtypes, dict):
        lists = {str(key): names for key, names in dtypes.items() if isinstance(names, list)}
        reading.dtypes = {key: [str(name) for name in names] for key, names in lists.items()}
    speedup = performance.get("speedup")
    if isinstance(speedup, dict):
        speedup = speedup.get("e2e", speedup.get("gpu"))
    reading.speedup = _positive(str(speedup))
    compared = tree.get("correctness")
    for name, values in compared.items() if isinstance(compared, dict) else ():
        if isinstance(values, list) and str(name) == "[max_diff]":
            reading.far = [_number(str(value)) for value in values]
        elif isinstance(values, list):
            reading.passes[str(name).strip("[]")] = [bool(value) for value in values]
    sample = reading.sample()
    outcome = tree.get("status") or performance.get("failure")
    default = sample.status if outcome in (None, "correct") else LogStatus.RUNTIME
    status = _FAILURES.get(str(outcome), default)
    if status is LogStatus.CORRECT or outcome is None:
        return sample
    return LogSample(sample.path, status, sample.speedup, None, True, sample.config)
