"""``graph-net score``: S(t) and ES(t) of records and logs, with intervals and a ranking."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out

if TYPE_CHECKING:
    from graph_net.results import Interval
    from graph_net.score import Ranking, Scoreboard, ScoredGraphs

AGGREGATES = {"graphnet": "aggregate", "passbench": "AS"}
CONTROL = "eager (control)"


def score_sources(
    sources: opt.Sources,
    p: opt.Penalty = 0.0,
    b: opt.Base = 0.1,
    json: Annotated[bool, typer.Option("--json", help="Print {curve: {t: ES(t)}}.")] = False,
    interpretation: opt.Interpretation = "default",
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    aggregate: Annotated[str, typer.Option(help="graphnet, or passbench for its AS.")] = "graphnet",
) -> None:
    """Score compilers: correctness and speedup in one number for each tolerance t.

    α, β, λ and η are those at t = 0. Speedups of records are paired ratios, as `bench` prints them,
    those of GraphNet's logs ratios of medians. Intervals cover the choice of graphs and the error
    of each measurement; the control, eager against itself, stands below. Measurements that were too
    noisy count by their outputs, without a speedup; those that the machine broke are excluded.
    """
    from graph_net.score import score_sources as score_all

    if aggregate not in AGGREGATES:
        raise ValueError(f"unknown aggregate {aggregate!r}; available: {', '.join(AGGREGATES)}")
    board = score_all(sources, p, b, interpretation, confidence)
    if json:
        typer.echo(jsonlib.dumps(board.es(), indent=4))
        return
    _print_scores(board, aggregate)
    if len(board.scored) > 1:
        _print_ranking(board.ranking)
    _print_excluded(board.curves)
    _print_graph_breaks(board.scored)


def _title(board: Scoreboard) -> str:
    """Return the parameters, the kind of speedups, and what the intervals cover."""
    scored, parameters = board.scored.values(), board.parameters
    kinds = " and ".join(sorted({str(samples.speedups) for samples in scored}))
    sources = "model families"
    if any(samples.doubt.any() for samples in scored):
        sources += " and measurements"
    return (
        f"p = {parameters.p:g}, b = {parameters.b:g}, {parameters.interpretation.name}; speedups: "
        f"{kinds}; {board.confidence:.0%} intervals over {sources}"
    )


def _print_scores(board: Scoreboard, aggregate: str) -> None:
    from graph_net.score.scoreboard import COLUMNS

    numbers = ("graphs", "families", *COLUMNS, AGGREGATES[aggregate])
    table = new_table("compiler", *numbers, title=_title(board), numbers=numbers)
    control = {} if board.control is None else {CONTROL: board.control}
    for name, scores in {**board.estimates, **control}.items():
        if name == CONTROL:
            table.add_section()
        last = scores.graphnet if aggregate == "graphnet" else scores.passbench
        cells = [*(scores.at(which, t) for which, t in COLUMNS.values()), last]
        families = f"{scores.families}{'!' if scores.uncertain else ''}"
        table.add_row(
            name, f"{scores.samples:,}", families, *(_cell(cell, scores.alone) for cell in cells)
        )
    out.print(table)
    few = [n for n, scores in board.estimates.items() if scores.uncertain and not scores.alone]
    if few:
        err.print(
            f"! fewer than 10 model families: the intervals of {', '.join(few)} do not cover "
            "failures that none of them shows"
        )
    alone = [name for name, scores in board.estimates.items() if scores.alone]
    if alone:
        err.print(
            f"! one model family: no interval over graphs for {', '.join(alone)}; the intervals "
            "shown are those of measuring"
        )


def _cell(score: Interval | None, alone: bool) -> Text:
    if score is None:
        return Text()
    if alone and score.low == score.high:
        return Text.assemble(f"{score.value:.3f}\n", ("no interval", "dim"))
    return _with_interval(score, "\n")


def _with_interval(score: Interval, between: str) -> Text:
    return Text.assemble(
        f"{score.value:.3f}{between}", (f"{score.low:.3f}…{score.high:.3f}", "dim")
    )


def _print_ranking(ranking: Ranking) -> None:
    title = "pairs, on the graphs both have; intervals are corrected for the number of tests"
    numbers = ("times", "graphs", "families", "p")
    table = new_table("first", "second", *numbers, "verdict", title=title, numbers=numbers)
    for pair in ranking.pairs:
        verdict = "first is better" if pair.significant else "no significant difference"
        if not pair.graphs:
            verdict = "no graph in common"
        times = _with_interval(pair.ratio, " ")
        table.add_row(
            pair.first, pair.second, times, f"{pair.graphs:,}",
            f"{pair.families:,}", f"{pair.p_value:.2g}", verdict,
        )  # fmt: skip
    out.print(table)


def _print_excluded(curves: Mapping[str, ScoredGraphs]) -> None:
    for name, samples in curves.items():
        if samples.too_noisy:
            err.print(f"{name}: {samples.too_noisy} too noisy: outputs count, without a speedup")
        if samples.blameless:
            kinds = ", ".join(f"{n} {symptom}" for symptom, n in sorted(samples.blameless.items()))
            err.print(f"{name}: {sum(samples.blameless.values())} excluded ({kinds})")


def _print_graph_breaks(scored: Mapping[str, ScoredGraphs]) -> None:
    """Print which scores are partly eager's own."""
    for name, samples in scored.items():
        parts = []
        if samples.broken:
            parts.append(f"{samples.broken} taken in pieces, with eager code between them")
        if samples.uncompiled:
            parts.append(f"{samples.uncompiled} not compiled at all, but run by eager")
        if parts:
            err.print(f"{name}: of {len(samples):,} graphs {' and '.join(parts)}")
