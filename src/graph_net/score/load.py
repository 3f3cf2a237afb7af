"""Load curves from records, GraphNet logs, JSON results, or directories of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from graph_net.formats.graphnet.log_reader import LogSample, LogStatus, read_log, sample_of_result
from graph_net.results import RecordError
from graph_net.score.family import family_of
from graph_net.score.faults import Fault
from graph_net.score.records import read_records
from graph_net.score.samples import ScoredGraph, ScoredGraphs, Speedup, columns
from graph_net.store.files import read_text
from graph_net.store.records import RecordStore

LOGS = (".log", ".txt")
_FAULTS = {
    LogStatus.EAGER: Fault.EAGER,
    LogStatus.COMPILE: Fault.COMPILE,
    LogStatus.SHAPE: Fault.MISMATCH,
    LogStatus.TYPE: Fault.MISMATCH,
    LogStatus.RUNTIME: Fault.RUNTIME,
}
HINT = "give records, GraphNet logs, JSON results, or a directory of them"


def load(sources: Iterable[Path | str]) -> dict[str, ScoredGraphs]:
    """Return the curves of sources by name; raise RecordError if a source holds none.

    Records give a curve per compiler, a log gives one, and so does a folder of JSON results. In a
    directory that holds neither, each folder is one curve, and a category. The speedups of records
    are paired ratios, those of logs and JSON results ratios of medians.
    """
    curves: dict[str, ScoredGraphs] = {}
    for source in map(Path, sources):
        for name, samples in _read_curves(source):
            if not len(samples) and not samples.blameless:
                raise RecordError(f"{source} holds no samples; {HINT}")
            curves[_free_name(name, source, curves)] = samples
    return curves


def _read_curves(source: Path) -> Iterator[tuple[str, ScoredGraphs]]:
    if source.is_file():
        yield source.stem, _columns(_read_file(source))
        return
    if not source.is_dir():
        raise RecordError(f"{source} does not exist; {HINT}")
    store = RecordStore(source)
    if store.parts() or store.journals():
        yield from read_records(store).items()
        return
    logs = [path for path in sorted(source.iterdir()) if path.suffix in LOGS and path.is_file()]
    if logs:
        yield from ((path.stem, _columns(_read_file(path))) for path in logs)
        return
    if any(source.glob("*.json")):
        yield source.resolve().name, _columns(_read_folder(source, ""))
        return
    folders = [path for path in sorted(source.iterdir()) if path.is_dir()]
    by_folder = {path.name: _columns(_read_folder(path, path.name)) for path in folders}
    curves = {name: samples for name, samples in by_folder.items() if len(samples)}
    if not curves:
        raise RecordError(f"{source} holds no results; {HINT}")
    yield from curves.items()


def _columns(samples: Iterable[ScoredGraph]) -> ScoredGraphs:
    return columns(samples, speedups=Speedup.MEDIANS)


def _free_name(name: str, source: Path, taken: dict[str, ScoredGraphs]) -> str:
    """Return the name, or a longer one if it is taken."""
    if name not in taken:
        return name
    longer = f"{name} ({source.resolve().parent.name}/{source.name})"
    number = 2
    while longer in taken:
        longer, number = f"{name} ({number})", number + 1
    return longer


def _read_folder(folder: Path, category: str) -> Iterator[ScoredGraph]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (*LOGS, ".json") and path.is_file():
            for sample in _read_file(path, strict=False):
                yield replace(sample, category=category)


def _read_file(path: Path, strict: bool = True) -> Iterator[ScoredGraph]:
    """Yield the samples of a log or a JSON result; other JSON is an error if ``strict``."""
    if path.suffix != ".json":
        yield from map(sample_of_log, read_log(path))
        return
    try:
        result = sample_of_result(json.loads(read_text(path)))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        if strict:
            raise RecordError(f"{path} is not a JSON result of GraphNet: {error}") from error
        return
    yield sample_of_log(result)


def sample_of_log(sample: LogSample) -> ScoredGraph:
    """Return a sample of a log as one that can be scored."""
    fault = _FAULTS.get(sample.status, Fault.NONE)
    if fault is Fault.NONE and sample.t is None:
        fault = Fault.ACCURACY if sample.finite else Fault.NON_FINITE
    parts = sample.path.replace("\\", "/").rstrip("/").split("/")
    library = parts[-2] if len(parts) > 1 else ""
    model = sample.config.get("model") or parts[-1]
    return ScoredGraph(
        sample.speedup, sample.t, fault, sample.path or model, family_of(library, model)
    )
