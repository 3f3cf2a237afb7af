"""Store golden runs, and compare this machine with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs
from graph_net.api.options import MeasureOptions, config_of, configs_of, limits_of
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.golden.store import GoldenRun
    from graph_net.golden.verdict import RerunVerdict
    from graph_net.results import Config


def make_reference(
    output: Path,
    graphs: Graphs,
    compiler: str | Config,
    options: MeasureOptions,
    *,
    seed: int = 0,
    again: bool = False,
    progress: Display | bool = True,
) -> None:
    """Store a golden run: outputs, their hashes, every raw sample, the environment.

    What ``output`` has already is not measured again unless ``again``.
    """
    from graph_net.compilers import require_compiler
    from graph_net.golden.runs import Lanes, make_golden, stored_keys
    from graph_net.golden.store import GoldenError, GoldenStore
    from graph_net.measure import Protocol
    from graph_net.measure.plan import make_tasks
    from graph_net.store.records import RecordStore

    config = config_of(compiler, GoldenError, "a golden run is of one compiler")
    require_compiler(config.name)
    until = options.deadline
    names, source = options.select(graphs)
    # One run is compared with another: nothing is compiled twice, nor run in float64.
    protocol = Protocol(seed=seed, seconds=options.seconds, exact=False, warm_compile=False)
    described, store = options.describe_device(), GoldenStore(output)
    board = display_of(progress).board(len(names), until)
    with RecordStore(output).locked():
        done = set() if again else stored_keys(store, config, described, protocol.hash)
        todo = make_tasks(source, [config], described, protocol, options.limits, done, board.skip)
        lanes = Lanes(options.processes, options.device, output / ".work", board.watch, until)
        with board.live_view():
            for record in make_golden(store, board.until_budget(todo), lanes, {}):
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
    """Repeat a golden run here and return each result beside its reference."""
    from graph_net.golden.runs import Lanes, device_like, run_again
    from graph_net.golden.store import GoldenStore
    from graph_net.golden.verdict import judge_rerun
    from graph_net.measure.plan import default_jobs

    limits = limits_of(gigabytes, timeout)
    config = None if compiler is None else configs_of(compiler)[0]
    store = GoldenStore(golden).require()
    names = store.names()[:limit]
    first = next((run for _, run in store.runs()), None)
    kind = device or (first.record.device.kind if first is not None else "cpu")
    described, lanes = device_like(kind, threads), Lanes(jobs or default_jobs(kind), kind)
    results = []
    with display_of(progress).progress("verify", len(names)) as advance:
        for again in run_again(store, names, described, limits, lanes, config):
            results.append((again.run, judge_rerun(again, t, margin)))
            advance()
    return sorted(results, key=lambda pair: (pair[1].compiler, pair[1].name))
