"""``graph-net score``: S(t) and ES(t) of records and logs, with intervals and a ranking."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.score import Bounds, Ranking, Scoreboard, ScoredGraphs

SOURCES_HELP = "Records, GraphNet logs, JSON results, or directories of them."
AGGREGATES = {"graphnet": "aggregate", "passbench": "AS"}
CONTROL = "eager (control)"
INTERPRETATION_HELP = "Which t tolerates which failure: default, paper or mismatch_extended."


def score_sources(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE…", help=SOURCES_HELP)],
    p: Annotated[float, typer.Option("--p", help="Penalty for slowdowns.")] = 0.0,
    b: Annotated[float, typer.Option("--b", help="The speedup that stands for a failure.")] = 0.1,
    json: Annotated[bool, typer.Option("--json", help="Print {curve: {t: ES(t)}}.")] = False,
    interpretation: Annotated[str, typer.Option(help=INTERPRETATION_HELP)] = "default",
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    aggregate: Annotated[str, typer.Option(help="graphnet, or passbench for its AS.")] = "graphnet",
) -> None:
    """Score compilers: correctness and speedup in one number for each tolerance t.

    α, β, λ and η are those at t = 0. Speedups of records are paired ratios, as `bench` prints them,
    those of GraphNet's logs ratios of medians. Intervals hold the choice of graphs and the doubt of
    each measurement; eager against itself stands below as the control. Measurements that were too
    noisy count by their outputs, without a speedup; those that the machine broke are excluded.
    """
    from graph_net.score import score_sources as score_all

    if aggregate not in AGGREGATES:
        raise ValueError(f"Unknown aggregate: {aggregate!r}. Available: {', '.join(AGGREGATES)}")
    board = score_all(sources, p, b, interpretation, confidence)
    if json:
        typer.echo(jsonlib.dumps(board.es(), indent=4))
        return
    _table(board, _title(board), aggregate)
    if len(board.scored) > 1:
        _ranking(board.ranking)
    _not_counted(board.curves)
    _in_pieces(board.scored)


def _title(board: Scoreboard) -> str:
    """What the numbers are: the parameters, which speedups, which doubts."""
    scored, parameters = board.scored.values(), board.parameters
    kinds = " and ".join(sorted({str(samples.speedups) for samples in scored}))
    doubts = "model families"
    if any(samples.doubt.any() for samples in scored):
        doubts += " and measurements"
    return (
        f"p = {parameters.p:g}, b = {parameters.b:g}, {parameters.interpretation.name}; speedups: "
        f"{kinds}; {board.confidence:.0%} intervals over {doubts}"
    )


def _table(board: Scoreboard, title: str, aggregate: str) -> None:
    from graph_net.score.scoreboard import COLUMNS

    table = Table(title=title, title_justify="left")
    table.add_column("compiler", overflow="fold")
    for name in ["graphs", "families", *COLUMNS, AGGREGATES[aggregate]]:
        table.add_column(name, justify="right")
    control = {} if board.control is None else {CONTROL: board.control}
    for name, found in {**board.estimates, **control}.items():
        if name == CONTROL:
            table.add_section()
        last = found.graphnet if aggregate == "graphnet" else found.passbench
        bounds = [*(found.at(which, t) for which, t in COLUMNS.values()), last]
        cells = [_cell(each, found.alone) for each in bounds]
        families = f"{found.families}{'!' if found.uncertain else ''}"
        table.add_row(name, f"{found.samples:,}", families, *cells)
    out.print(table)
    few = [name for name, found in board.estimates.items() if found.uncertain and not found.alone]
    if few:
        err.print(
            f"! fewer than 10 model families: failures that none of them shows are not in the "
            f"intervals of {', '.join(few)}"
        )
    alone = [name for name, found in board.estimates.items() if found.alone]
    if alone:
        err.print(
            f"! one model family: no interval over graphs for {', '.join(alone)}; what is shown is "
            "the doubt of measuring"
        )


def _cell(bounds: Bounds | None, alone: bool) -> Text:
    if bounds is None:
        return Text()
    if alone and bounds.low == bounds.high:
        return Text.assemble(f"{bounds.value:.3f}\n", ("no interval", "dim"))
    return _with_interval(bounds, "\n")


def _with_interval(bounds: Bounds, between: str) -> Text:
    return Text.assemble(
        f"{bounds.value:.3f}{between}", (f"{bounds.low:.3f}…{bounds.high:.3f}", "dim")
    )


def _ranking(ranking: Ranking) -> None:
    title = "pairs, on the graphs both have; intervals as wide as so many tests at once need"
    table = Table(title=title, title_justify="left")
    for name in ("first", "second"):
        table.add_column(name, overflow="fold")
    for name in ("times", "graphs", "families", "p"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for pair in ranking.pairs:
        verdict = "first is better" if pair.apart else "no significant difference"
        if not pair.graphs:
            verdict = "no graph in common"
        times = _with_interval(pair.ratio, " ")
        table.add_row(
            pair.first, pair.second, times, f"{pair.graphs:,}",
            f"{pair.families:,}", f"{pair.p_value:.2g}", verdict,
        )  # fmt: skip
    out.print(table)


def _not_counted(curves: Mapping[str, ScoredGraphs]) -> None:
    for name, samples in curves.items():
        if samples.too_noisy:
            err.print(f"{name}: {samples.too_noisy} too noisy: outputs count, without a speedup")
        if samples.blameless:
            kinds = ", ".join(f"{n} {what}" for what, n in sorted(samples.blameless.items()))
            err.print(f"{name}: {sum(samples.blameless.values())} excluded ({kinds})")


def _in_pieces(scored: Mapping[str, ScoredGraphs]) -> None:
    """Say which scores are partly eager's own."""
    for name, samples in scored.items():
        parts = []
        if samples.broken:
            parts.append(f"{samples.broken} taken in pieces, with eager code between them")
        if samples.uncompiled:
            parts.append(f"{samples.uncompiled} not compiled at all, but run by eager")
        if parts:
            err.print(f"{name}: of {len(samples):,} graphs {' and '.join(parts)}")
