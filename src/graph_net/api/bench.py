"""Measure compilers on graphs, and keep the records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs, chosen_graphs
from graph_net.api.options import configs_of, limits_of, parse_seconds
from graph_net.api.records import Records
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.results import Config


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
    progress: Display | bool = True,
) -> Records:
    """Measure compilers on graphs and return the records.

    Each graph and compiler is built and measured in a confined process of its own; building goes
    on beside others, measuring alone. With ``store`` records are kept in that directory, what is
    there is not measured again, and all of it is returned; without, they live as long as the
    returned object. ``budget`` is seconds or ``"10m"``. ``progress=False`` prints nothing.
    """
    from graph_net.measure import Protocol, measure
    from graph_net.measure.device import describe, require_device
    from graph_net.measure.plan import default_jobs, make_tasks
    from graph_net.store.records import RecordStore

    require_device(device)
    display = display_of(progress)
    until = None if budget is None else time.monotonic() + parse_seconds(budget)
    configs = configs_of(compilers)
    names, source = chosen_graphs(graphs, where, mini, limit)
    limits = limits_of(gigabytes, timeout)
    configs = usable_configs(configs, display)
    described = describe(device, threads or None)
    _tell_confinement(display)
    keeps = TemporaryDirectory(prefix="graph-net-") if store is None else None
    place = Path(keeps.name if keeps is not None else store or "")
    kept = RecordStore(place)
    with kept.locked():
        done = kept.final_keys(retry) if resume else set()
        board = display.board(len(names) * len(configs), until)
        protocol = Protocol(seconds=seconds)
        todo = make_tasks(source, configs, described, protocol, limits, done, board.passed)
        if forms:
            beside = str((place / ".forms").absolute())
            todo = (replace(task, forms=beside) for task in todo)
        run = measure(
            board.counted(todo),
            jobs=jobs or default_jobs(device),
            compilers=[config.name for config in configs],
            device=described.kind,
            work=place / ".work",
            watch=board.watch,
            until=until,
        )
        with kept.journal() as journal, board.shown():
            for record in run:
                journal.add(record)
                board.add(record)
        kept.compact()
    board.report()
    return Records(place, keeps)


def plan_bench(
    bundle: Path,
    graphs: Graphs,
    compilers: str | Config | Sequence[str | Config],
    *,
    device: str = "cpu",
    where: str | None = None,
    mini: bool = False,
    limit: int | None = None,
    seconds: float = 5.0,
    gigabytes: float = 8.0,
    timeout: float = 600.0,
) -> tuple[int, int]:
    """Write a bundle that measures on another machine; how many graphs and compilers it holds."""
    from graph_net.measure import Protocol
    from graph_net.measure.bundle import write_bundle

    configs = configs_of(compilers)
    _, source = chosen_graphs(graphs, where, mini, limit)
    limits = limits_of(gigabytes, timeout)
    count = write_bundle(bundle, source, configs, device, Protocol(seconds=seconds), limits)
    return count, len(configs)


def usable_configs(configs: list[Config], display: Display) -> list[Config]:
    """Return those that can be used here; name the others, and raise if none is left."""
    from graph_net.compilers import CompilerError, create
    from graph_net.results import short_name

    missing = [create(config.name, config.options).missing() for config in configs]
    reasons = [
        f"{short_name(config.name)} cannot be used here: {why}"
        for config, why in zip(configs, missing, strict=True)
        if why
    ]
    if len(reasons) == len(configs):
        raise CompilerError("; ".join(reasons))
    for reason in reasons:
        display.tell(f"left out: {reason}")
    return [config for config, why in zip(configs, missing, strict=True) if not why]


def _tell_confinement(display: Display) -> None:
    """Say what does not hold here; where all does, nothing."""
    from graph_net.isolate.doctor import confinement

    held = confinement()
    if "without" in held:
        display.tell(f"Workers are confined by {held}; `graph-net doctor` says more.")
