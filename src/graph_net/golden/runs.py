"""Making a golden run, and running its graphs again: the lanes of ``measure`` do both."""

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
from graph_net.results import Config, Device, Json, Record, canonical


@dataclass(frozen=True, slots=True)
class Lanes:
    """How the workers are held."""

    jobs: int
    device: str = "cpu"
    work: Path | None = None
    watch: Watch = lambda event, key, stage: None
    until: float | None = None
    """When the run ends, by ``time.monotonic``."""


@dataclass(frozen=True)
class Again:
    """One graph of a golden run, run again; where it could not be, ``problem`` says why."""

    name: str
    run: GoldenRun | None
    record: Record | None = None
    problem: str = ""
    damaged: bool = False


def make_golden(
    store: GoldenStore, todo: Iterable[Measurement], lanes: Lanes, asked: Mapping[str, Json]
) -> Iterator[Record]:
    """Measure tasks and store each as it is done; one that the machine spoilt is not stored."""
    store.clear()
    out: dict[str, Measurement] = {}

    def tasks() -> Iterator[Measurement]:
        for task in todo:
            out[task.key] = replace(task, golden=store.writing(task))
            yield out[task.key]

    for record in _measured(tasks(), lanes):
        task = out.pop(record.key)
        yield store.add(task, record, asked) if record.final else record


def stored_keys(store: GoldenStore, config: Config, device: Device, protocol: str) -> set[str]:
    """What a golden run has already, whole; raises GoldenError if it is of another machine.

    A directory with times of two machines or versions in it would say nothing about either.
    """
    found: set[str] = set()
    for name, run in store.runs():
        record = run.record
        if (record.config.name, canonical(dict(record.config.options))) != (
            config.name,
            canonical(dict(config.options)),
        ):
            continue
        for what, then, now in (
            ("version", record.config.version, config.version),
            ("device", record.device.hash, device.hash),
            ("protocol", record.protocol, protocol),
        ):
            if then != now:
                raise GoldenError(
                    f"{store.path} holds a golden run of {config.name} under another {what}; "
                    "name another directory, or replace it with --again"
                )
        with suppress(GoldenError):  # what is damaged is made again
            store.graph(name, run)
            found.add(record.key)
    return found


def run_again(
    store: GoldenStore,
    names: Collection[str],
    device: Callable[[Device], Device],
    limits: MeasureLimits,
    lanes: Lanes,
    config: Config | None = None,
) -> Iterator[Again]:
    """Every graph of a golden run on this machine; ``config`` in the place of the stored ones."""
    out: dict[str, tuple[str, GoldenRun]] = {}
    told: list[Again] = []

    def tasks() -> Iterator[Measurement]:
        for name in names:
            run = None
            try:
                run = store.read(name)
                data = store.graph(name, run)
            except GoldenError as error:
                told.append(Again(name, run, problem=str(error), damaged=True))
                continue
            if not run.usable:
                told.append(Again(name, run))
                continue
            try:
                used = config or trusted_config(run.record.config)
            except CompilerError as error:
                told.append(Again(name, run, problem=str(error)))
                continue
            task = Measurement(
                run.record.subject, used, device(run.record.device), data, run.protocol, limits,
                golden=store.comparing(name),
            )  # fmt: skip
            if task.key in out:
                told.append(Again(name, run, problem="the same graph twice under one compiler"))
                continue
            out[task.key] = (name, run)
            yield task

    for record in _measured(tasks(), lanes):
        yield Again(*out[record.key], record)
    yield from told


def device_like(kind: str, threads: int = 0) -> Callable[[Device], Device]:
    """This machine as a device, with the threads that a reference had if it has so many cores."""

    @cache
    def described(wanted: int) -> Device:
        here = describe(kind)
        return describe(kind, threads or (wanted if 0 < wanted <= here.cores else here.cores))

    return lambda reference: described(reference.threads)


def _measured(tasks: Iterator[Measurement], lanes: Lanes) -> Iterator[Record]:
    """The records of tasks; the compiler of the first is loaded before any worker is forked."""
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
