"""Make a golden run, and rerun its graphs, both on the lanes of ``measure``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

from graph_net.compilers import CompilerError
from graph_net.compilers.trusted import trusted_config
from graph_net.golden.store import GoldenError, GoldenRun, GoldenStore
from graph_net.measure import MeasureLimits, Measurement, measure
from graph_net.measure.device import describe
from graph_net.measure.runner import Watch
from graph_net.results import Config, Device, Json, Record


@dataclass(frozen=True, slots=True)
class Lanes:
    """The settings of the lanes."""

    jobs: int
    device: str = "cpu"
    work: Path | None = None
    watch: Watch = lambda event, key, stage: None
    until: float | None = None
    """The deadline, by ``time.monotonic``."""


@dataclass(frozen=True)
class Rerun:
    """One graph of a golden run, rerun; ``problem`` says why it could not be."""

    name: str
    run: GoldenRun | None
    record: Record | None = None
    problem: str = ""
    damaged: bool = False


def make_golden(
    store: GoldenStore, todo: Iterable[Measurement], lanes: Lanes, asked: Mapping[str, Json]
) -> Iterator[Record]:
    """Measure tasks, and store and yield each record; those to be retried are not stored."""
    store.clear()
    out: dict[str, Measurement] = {}

    def tasks() -> Iterator[Measurement]:
        for task in todo:
            out[task.key] = replace(task, golden=store.writing(task))
            yield out[task.key]

    for record in _measure(tasks(), lanes):
        task = out.pop(record.key)
        yield store.add(task, record, asked) if record.final else record


def stored_keys(store: GoldenStore, config: Config, device: Device, protocol: str) -> set[str]:
    """Return the keys that a golden run has completely; raise GoldenError on another machine's.

    Times of two machines or versions in one directory could not be compared.
    """
    keys: set[str] = set()
    for name, run in store.runs():
        record = run.record
        same_options = record.config.options_text == config.options_text
        if record.config.name != config.name or not same_options:
            continue
        for field, then, now in (
            ("version", record.config.version, config.version),
            ("device", record.device.hash, device.hash),
            ("protocol", record.protocol, protocol),
        ):
            if then != now:
                raise GoldenError(
                    f"{store.path} holds a golden run of {config.name} under another {field}; "
                    "name another directory, or replace it with --again"
                )
        with suppress(GoldenError):  # a damaged one is made again
            store.graph(name, run)
            keys.add(record.key)
    return keys


def run_again(
    store: GoldenStore,
    names: Collection[str],
    device: Callable[[Device], Device],
    limits: MeasureLimits,
    lanes: Lanes,
    config: Config | None = None,
) -> Iterator[Rerun]:
    """Yield every graph of a golden run, rerun here; ``config`` replaces the stored ones."""
    out: dict[str, tuple[str, GoldenRun]] = {}
    skipped: list[Rerun] = []

    def tasks() -> Iterator[Measurement]:
        for name in names:
            run = None
            try:
                run = store.read(name)
                data = store.graph(name, run)
            except GoldenError as error:
                skipped.append(Rerun(name, run, problem=str(error), damaged=True))
                continue
            if not run.usable:
                skipped.append(Rerun(name, run))
                continue
            try:
                used = config or trusted_config(run.record.config)
            except CompilerError as error:
                skipped.append(Rerun(name, run, problem=str(error)))
                continue
            task = Measurement(
                run.record.subject, used, device(run.record.device), data, run.protocol, limits,
                golden=store.comparing(name),
            )  # fmt: skip
            if task.key in out:
                skipped.append(Rerun(name, run, problem="the same graph twice under one compiler"))
                continue
            out[task.key] = (name, run)
            yield task

    for record in _measure(tasks(), lanes):
        yield Rerun(*out[record.key], record)
    yield from skipped


def device_like(kind: str, threads: int = 0) -> Callable[[Device], Device]:
    """Return this machine as a device, with a reference's threads if it has that many cores."""

    @cache
    def described(wanted: int) -> Device:
        here = describe(kind)
        return describe(kind, threads or (wanted if 0 < wanted <= here.cores else here.cores))

    return lambda reference: described(reference.threads)


def _measure(tasks: Iterator[Measurement], lanes: Lanes) -> Iterator[Record]:
    """Return the records of tasks; the first one's compiler is loaded before workers fork."""
    first = next(tasks, None)
    if first is None:
        return iter(())
    return measure(
        chain([first], tasks),
        jobs=lanes.jobs,
        compilers=[first.config.name],
        device=lanes.device,
        watch=lanes.watch,
        work=lanes.work,
        until=lanes.until,
    )
