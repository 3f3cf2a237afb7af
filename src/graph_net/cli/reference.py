"""``graph-net reference``: a golden run, for other machines to be held against."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.api.choose import chosen_graphs
from graph_net.api.options import parse_seconds
from graph_net.cli.common import err
from graph_net.cli.list import WHERE_HELP
from graph_net.display.board import Board

if TYPE_CHECKING:
    from graph_net.measure import Task

COMPILER_HELP = (
    "One compiler, options in brackets: inductor[mode=max-autotune]. A compiler of your own is "
    "path/to/file.py:Name."
)


def reference_graphs(
    graphs: Annotated[
        str | None, typer.Argument(help="A pack or samples; the shipped corpus if none is named.")
    ] = None,
    compiler: Annotated[str, typer.Option(help=COMPILER_HELP)] = "inductor",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the golden run goes; it resumes there.")
    ] = Path("build/golden"),
    where: Annotated[str | None, typer.Option(help=WHERE_HELP)] = None,
    mini: Annotated[
        bool, typer.Option(help="The mini selection: few, quick, of every kind.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="The run ends after this long: 90s, 10m, 2h.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a measured graph; 0 for all.")] = 0,
    seconds: Annotated[float, typer.Option(help="Sampling time for one graph.")] = 5.0,
    seed: Annotated[int, typer.Option(help="Of the tensors, and of random calls.")] = 0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    again: Annotated[bool, typer.Option("--again", help="Replace what is there.")] = False,
) -> None:
    """Store a golden run: outputs, their hashes, every raw sample, the environment.

    `graph-net verify` holds another device, driver or version against it. Each graph is a set of
    files of its own. Stopped or killed, the same command goes on where it was.
    """
    from graph_net.compilers import usable
    from graph_net.corpus.golden import GoldenError, GoldenStore
    from graph_net.corpus.golden_runs import Lanes, make_golden, stored_keys
    from graph_net.corpus.records import RecordStore
    from graph_net.measure import Limits, Protocol
    from graph_net.measure.device import describe
    from graph_net.measure.plan import default_jobs, parse_compilers, tasks

    configs = parse_compilers(compiler)
    if len(configs) != 1:
        raise GoldenError("a golden run is of one compiler; `graph-net bench` takes several")
    usable(configs[0].name)
    until = None if budget is None else time.monotonic() + parse_seconds(budget)
    names, source = chosen_graphs(graphs, where, mini, limit)
    # What is compared is one run with another: nothing is compiled twice, nor run in float64.
    protocol = Protocol(seed=seed, seconds=seconds, exact=False, warm_compile=False)
    limits = Limits(memory_bytes=int(gigabytes * 2**30)).with_compile(timeout)
    described, store = describe(device, threads or None), GoldenStore(output)
    board = Board(len(names), until)
    with RecordStore(output).locked():
        done = set() if again else stored_keys(store, configs[0], described, protocol.hash)
        todo: Iterator[Task] = tasks(
            source, configs, described, protocol, limits, done, board.passed
        )
        lanes = Lanes(
            jobs or default_jobs(device), not device.startswith("cuda"), output / ".work",
            board.watch, until,
        )  # fmt: skip
        with board.shown():
            for record in make_golden(store, board.counted(todo), lanes, {}):
                board.add(record)
    board.report()
    err.print(f"golden run in {output}; `graph-net verify {output}` holds a machine against it",
              highlight=False, soft_wrap=True)  # fmt: skip
