"""Golden runs: make one, and hold this machine against it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs, chosen_graphs
from graph_net.api.options import configs_of, limits_of, parse_seconds
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.golden.runs import Rerun
    from graph_net.golden.store import GoldenRun, GoldenStore
    from graph_net.golden.verdict import RerunVerdict
    from graph_net.measure import MeasureLimits, Measurement
    from graph_net.results import Config


def make_reference(
    output: Path,
    graphs: Graphs = None,
    compiler: str | Config = "inductor",
    *,
    device: str = "cpu",
    where: str | None = None,
    mini: bool = False,
    limit: int | None = None,
    budget: str | float | None = None,
    jobs: int = 0,
    threads: int = 0,
    seconds: float = 5.0,
    seed: int = 0,
    gigabytes: float = 8.0,
    timeout: float = 600.0,
    again: bool = False,
    progress: Display | bool = True,
) -> None:
    """Store a golden run: outputs, their hashes, every raw sample, the environment.

    What ``output`` has already is not measured again unless ``again``.
    """
    from graph_net.compilers import usable
    from graph_net.golden.runs import Lanes, make_golden, stored_keys
    from graph_net.golden.store import GoldenError, GoldenStore
    from graph_net.measure import Protocol
    from graph_net.measure.device import describe
    from graph_net.measure.plan import default_jobs, make_tasks
    from graph_net.store.records import RecordStore

    configs = configs_of(compiler)
    if len(configs) != 1:
        raise GoldenError("a golden run is of one compiler; `graph-net bench` takes several")
    usable(configs[0].name)
    until = None if budget is None else time.monotonic() + parse_seconds(budget)
    names, source = chosen_graphs(graphs, where, mini, limit)
    # What is compared is one run with another: nothing is compiled twice, nor run in float64.
    protocol = Protocol(seed=seed, seconds=seconds, exact=False, warm_compile=False)
    limits = limits_of(gigabytes, timeout)
    described, store = describe(device, threads or None), GoldenStore(output)
    board = display_of(progress).board(len(names), until)
    with RecordStore(output).locked():
        done = set() if again else stored_keys(store, configs[0], described, protocol.hash)
        todo: Iterator[Measurement] = make_tasks(
            source, configs, described, protocol, limits, done, board.passed
        )
        lanes = Lanes(
            jobs or default_jobs(device), device, output / ".work",
            board.watch, until,
        )  # fmt: skip
        with board.shown():
            for record in make_golden(store, board.counted(todo), lanes, {}):
                board.add(record)
    board.report()


def verify_reference(
    golden: Path,
    *,
    device: str | None = None,
    compiler: str | Config | None = None,
    t: float = -3.0,
    margin: float = 0.05,
    limit: int | None = None,
    jobs: int = 0,
    threads: int = 0,
    gigabytes: float = 8.0,
    timeout: float = 600.0,
    progress: Display | bool = True,
) -> list[tuple[GoldenRun | None, RerunVerdict]]:
    """Run the graphs of a golden run here, and return what came of each beside its reference."""
    from graph_net.golden.store import GoldenStore
    from graph_net.golden.verdict import judge_rerun

    limits = limits_of(gigabytes, timeout)
    config = None if compiler is None else configs_of(compiler)[0]
    store = GoldenStore(golden).require()
    found = _run_again(store, device, config, limits, threads, jobs, limit, display_of(progress))
    results = [(again.run, judge_rerun(again, t, margin)) for again in found]
    return sorted(results, key=lambda pair: (pair[1].compiler, pair[1].name))


def _run_again(
    store: GoldenStore,
    device: str | None,
    config: Config | None,
    limits: MeasureLimits,
    threads: int,
    jobs: int,
    limit: int | None,
    display: Display,
) -> Iterator[Rerun]:
    """Every graph of a golden run, run again, with a bar that shows how far it is."""
    from graph_net.golden.runs import Lanes, device_like, run_again
    from graph_net.measure.plan import default_jobs

    names = store.names()[:limit]
    first = next((run for _, run in store.runs()), None)
    kind = device or (first.record.device.kind if first is not None else "cpu")
    lanes = Lanes(jobs or default_jobs(kind), kind)
    with display.progress("verify", len(names)) as advance:
        for again in run_again(store, names, device_like(kind, threads), limits, lanes, config):
            yield again
            advance()
