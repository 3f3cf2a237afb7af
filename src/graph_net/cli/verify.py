"""``graph-net verify``: this machine against a golden run."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli.reference import COMPILER_HELP
from graph_net.cli.verify_table import show_environment, show_summary, show_table, tree_of
from graph_net.display.progress import progress

if TYPE_CHECKING:
    from graph_net.corpus.golden import GoldenStore
    from graph_net.corpus.golden_runs import Again
    from graph_net.measure import Limits
    from graph_net.record import Config

HOLDS, WORSE, UNUSABLE = 0, 1, 2
"""Exit codes: all as it was; something regressed; something could not be read or compared."""


def verify_golden(
    golden: Annotated[Path, typer.Argument(metavar="DIR", help="A golden run.")],
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; the reference's if not named.")
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(help=f"Instead of the reference's. {COMPILER_HELP}")
    ] = None,
    t: Annotated[
        float, typer.Option("--t", help="Outputs are the same up to this tolerance level.")
    ] = -3.0,
    margin: Annotated[float, typer.Option(help="Within this two runs are equally fast.")] = 0.05,
    limit: Annotated[int | None, typer.Option(help="At most so many graphs.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Builders; 0 for one a core.")] = 0,
    threads: Annotated[
        int, typer.Option(help="Of a graph; 0 for as many as the reference had.")
    ] = 0,
    gigabytes: Annotated[float, typer.Option(help="Memory limit for one graph.")] = 8.0,
    timeout: Annotated[float, typer.Option(help="Time limit for one compilation.")] = 600.0,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run a golden run again here: the same outputs, and as fast? (`validate` checks graphs.)

    Inputs are drawn from the same seeds. Exit code 1 if outputs differ, a graph fails or is surely
    slower; 2 if the golden run cannot be used or is damaged.
    """
    from graph_net.corpus.golden import GoldenStore
    from graph_net.measure import Limits
    from graph_net.measure.plan import parse_compilers
    from graph_net.score.golden import Standing, judged

    limits = Limits(memory_bytes=int(gigabytes * 2**30)).with_compile(timeout)
    config = None if compiler is None else parse_compilers(compiler)[0]
    store = GoldenStore(golden).require()
    found = _run(store, device, config, limits, threads, jobs, limit)
    results = [(again.run, judged(again, t, margin)) for again in found]
    results.sort(key=lambda pair: (pair[1].compiler, pair[1].name))
    if json:
        typer.echo(jsonlib.dumps([tree_of(run, each) for run, each in results], indent=1))
    else:
        show_environment(results)
        show_table([each for _, each in results])
        show_summary([each for _, each in results], t, margin)
    standings = {each.standing for _, each in results}
    if Standing.DAMAGED in standings or standings <= {Standing.NO_REFERENCE, Standing.NOT_JUDGED}:
        raise typer.Exit(UNUSABLE)
    raise typer.Exit(WORSE if any(each.worse for _, each in results) else HOLDS)


def _run(
    store: GoldenStore,
    device: str | None,
    config: Config | None,
    limits: Limits,
    threads: int,
    jobs: int,
    limit: int | None,
) -> Iterator[Again]:
    """Every graph of a golden run, run again, with a bar that shows how far it is."""
    from graph_net.corpus.golden_runs import Lanes, device_like, run_again
    from graph_net.measure.plan import default_jobs

    names = store.names()[:limit]
    first = next((run for _, run in store.runs()), None)
    kind = device or (first.record.device.kind if first is not None else "cpu")
    lanes = Lanes(jobs or default_jobs(kind), not kind.startswith("cuda"))
    with progress("verify", len(names)) as advance:
        for again in run_again(store, names, device_like(kind, threads), limits, lanes, config):
            yield again
            advance()
