"""Measure compilers on graphs and store the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs
from graph_net.api.options import MeasureOptions, configs_of
from graph_net.api.records import Records
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.cluster.connection import Cluster
    from graph_net.display.board import Board
    from graph_net.results import Config, Record, Subject


def bench(
    graphs: Graphs = None,
    compilers: str | Config | Sequence[str | Config] = "inductor",
    *,
    store: str | Path | None = None,
    device: str = "cpu",
    where: str | None = None,
    mini: bool = False,
    limit: int | None = None,
    budget: str | float | None = None,
    jobs: int = 0,
    threads: int = 0,
    seconds: float = 5.0,
    gigabytes: float = 8.0,
    timeout: float = 600.0,
    resume: bool = True,
    retry: bool = False,
    forms: bool = True,
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> Records:
    """Measure compilers on graphs and return the records.

    Each graph and compiler is built and measured in a confined process of its own; builds run in
    parallel, measurements alone. With ``store`` records are stored in that directory, those that
    it has are not measured again, and all are returned; without, they live as long as the returned
    object. ``budget`` is seconds or ``"10m"``. ``cluster`` is the address of a Ray cluster, or
    ``"local"``: its nodes measure then, each as the device that it is. ``progress=False`` prints
    nothing.
    """
    from graph_net.cluster.connection import connected
    from graph_net.measure.device import require_device
    from graph_net.store.records import RecordStore

    options = MeasureOptions(
        device, where, mini, limit, budget, jobs, threads, seconds, gigabytes, timeout
    )
    display = display_of(progress)
    until = options.deadline
    configs = configs_of(compilers)
    names, source = options.select(graphs)
    if cluster is None:
        require_device(device)
        configs = usable_configs(configs, display)
    _warn_of_confinement(display)
    temporary = TemporaryDirectory(prefix="graph-net-") if store is None else None
    path = Path(temporary.name if temporary is not None else store or "")
    records = RecordStore(path)
    with connected(cluster) as nodes, records.locked():
        done = records.final_keys(retry) if resume else set()
        board = display.board(len(names) * len(configs), until)
        if nodes is None:
            kept = path if forms else None
            run = _measure_here(source, configs, options, done, path / ".work", kept, board)
        else:
            run = _measure_there(nodes, source, configs, options, done, forms, board, display.tell)
        with records.journal() as journal, board.live_view():
            for record in run:
                journal.add(record)
                board.add(record)
        records.compact()
    board.report()
    return Records(path, temporary)


def _measure_here(
    source: Iterable[tuple[Subject, bytes]],
    configs: list[Config],
    options: MeasureOptions,
    done: set[str],
    work: Path,
    forms: Path | None,
    board: Board,
) -> Iterator[Record]:
    """Measure on this machine; ``forms`` is where converted graphs are stored."""
    from graph_net.measure import Protocol, measure
    from graph_net.measure.plan import make_tasks

    described = options.describe_device()
    protocol = Protocol(seconds=options.seconds)
    todo = make_tasks(source, configs, described, protocol, options.limits, done, board.skip)
    if forms is not None:
        stored_forms = str((forms / ".forms").absolute())
        todo = (replace(task, forms=stored_forms) for task in todo)
    return measure(
        board.until_budget(todo),
        jobs=options.processes,
        compilers=[config.name for config in configs],
        device=described.kind,
        work=work,
        watch=board.watch,
        until=board.until,
    )


def _measure_there(
    cluster: Cluster,
    source: Iterable[tuple[Subject, bytes]],
    configs: list[Config],
    options: MeasureOptions,
    done: set[str],
    forms: bool,
    board: Board,
    tell: Callable[[str], None],
) -> Iterator[Record]:
    """Measure on the nodes of a cluster."""
    from graph_net.cluster.lane import LanePlan
    from graph_net.cluster.measure_cluster import MeasuringRun
    from graph_net.measure import Protocol

    run = MeasuringRun(
        cluster,
        LanePlan(options.device, tuple(configs), options.threads, forms=forms),
        Protocol(seconds=options.seconds),
        options.limits,
        done=done,
        jobs=options.jobs,
        until=board.until,
        watch=board.watch,
        name_task=board.name_task,
        tell=tell,
    )
    return run.records(source, board.skip)


def plan_bench(
    bundle: Path,
    graphs: Graphs,
    compilers: str | Config | Sequence[str | Config],
    options: MeasureOptions,
) -> tuple[int, int]:
    """Write a bundle that measures on another machine; return its graphs and compilers."""
    from graph_net.measure import Protocol
    from graph_net.measure.bundle import write_bundle

    configs = configs_of(compilers)
    _, source = options.select(graphs)
    protocol = Protocol(seconds=options.seconds)
    count = write_bundle(bundle, source, configs, options.device, protocol, options.limits)
    return count, len(configs)


def usable_configs(configs: list[Config], display: Display) -> list[Config]:
    """Return the configurations that can be used here; raise CompilerError if none can."""
    from graph_net.compilers import CompilerError, create
    from graph_net.results import short_name

    missing = [create(config.name, config.options).missing() for config in configs]
    reasons = [
        f"{short_name(config.name)} cannot be used here: {reason}"
        for config, reason in zip(configs, missing, strict=True)
        if reason
    ]
    if len(reasons) == len(configs):
        raise CompilerError("; ".join(reasons))
    for reason in reasons:
        display.tell(f"left out: {reason}")
    return [config for config, reason in zip(configs, missing, strict=True) if not reason]


def _warn_of_confinement(display: Display) -> None:
    """Print which promises of confinement do not hold here, if any."""
    from graph_net.isolate.doctor import confinement

    confined_by = confinement()
    if "without" in confined_by:
        display.tell(f"Workers are confined by {confined_by}; `graph-net doctor` says more.")
