"""``graph-net score``: S(t) and ES(t) of records and logs, with intervals and a ranking."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from graph_net.cli.common import err, out

if TYPE_CHECKING:
    from graph_net.score import Bounds, Estimate, Parameters, Ranking, Samples

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
    from graph_net.score import Parameters, control_of, estimate, load, rank
    from graph_net.score import interpretation as interpretation_of

    if not 0.5 <= confidence < 1:
        raise ValueError(f"--confidence is between 0.5 and 1, not {confidence}")
    if aggregate not in AGGREGATES:
        raise ValueError(f"Unknown aggregate: {aggregate!r}. Available: {', '.join(AGGREGATES)}")
    parameters = Parameters(p, b, interpretation_of(interpretation))
    curves = load(sources)
    scored = {name: samples for name, samples in curves.items() if len(samples)}
    if json:
        found = {name: _levels(samples, parameters) for name, samples in scored.items()}
        typer.echo(jsonlib.dumps(found, indent=4))
        return
    estimates = {
        name: estimate(samples, parameters, confidence=confidence)
        for name, samples in scored.items()
    }
    control = control_of(scored.values())
    if control is not None:
        estimates[CONTROL] = estimate(control, parameters, confidence=confidence)
    _table(estimates, _title(scored, parameters, confidence), aggregate)
    if len(scored) > 1:
        _ranking(rank(scored, parameters, confidence))
    _not_counted(curves)
    _in_pieces(scored)


def _levels(samples: Samples, parameters: Parameters) -> dict[str, float]:
    from graph_net.score import score

    curves = score(samples, parameters)
    return {str(int(t)): float(value) for t, value in zip(curves.ts, curves.es[0], strict=True)}


def _title(scored: dict[str, Samples], parameters: Parameters, confidence: float) -> str:
    """What the numbers are: the parameters, which speedups, which doubts."""
    kinds = " and ".join(sorted({str(samples.speedups) for samples in scored.values()}))
    doubts = "model families"
    if any(samples.doubt.any() for samples in scored.values()):
        doubts += " and measurements"
    return (
        f"p = {parameters.p:g}, b = {parameters.b:g}, {parameters.interpretation.name}; speedups: "
        f"{kinds}; {confidence:.0%} intervals over {doubts}"
    )


def _table(estimates: dict[str, Estimate], title: str, aggregate: str) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("compiler", overflow="fold")
    words = "graphs families α β λ η S(-5) S(0) ES(3)"
    for name in [*words.split(), AGGREGATES[aggregate]]:
        table.add_column(name, justify="right")
    for name, found in sorted(estimates.items(), key=_order):
        if name == CONTROL:
            table.add_section()
        columns = [("alpha", 0), ("beta", 0), ("correct_share", 0), ("slower_share", 0),
                   ("s", -5), ("s", 0), ("es", 3)]  # fmt: skip
        last = found.graphnet if aggregate == "graphnet" else found.passbench
        bounds = [*(found.at(which, t) for which, t in columns), last]
        cells = [_cell(each, found.alone) for each in bounds]
        families = f"{found.families}{'!' if found.uncertain else ''}"
        table.add_row(name, f"{found.samples:,}", families, *cells)
    out.print(table)
    compilers = {name: found for name, found in estimates.items() if name != CONTROL}
    few = [name for name, found in compilers.items() if found.uncertain and not found.alone]
    if few:
        err.print(
            f"! fewer than 10 model families: failures that none of them shows are not in the "
            f"intervals of {', '.join(few)}"
        )
    alone = [name for name, found in compilers.items() if found.alone]
    if alone:
        err.print(
            f"! one model family: no interval over graphs for {', '.join(alone)}; what is shown is "
            "the doubt of measuring"
        )


def _order(item: tuple[str, Estimate]) -> tuple[bool, float]:
    """The best first, the control last."""
    name, found = item
    return name == CONTROL, -(found.graphnet.value if found.graphnet is not None else 0.0)


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


def _not_counted(curves: dict[str, Samples]) -> None:
    for name, samples in curves.items():
        if samples.too_noisy:
            err.print(f"{name}: {samples.too_noisy} too noisy: outputs count, without a speedup")
        if samples.blameless:
            kinds = ", ".join(f"{n} {what}" for what, n in sorted(samples.blameless.items()))
            err.print(f"{name}: {sum(samples.blameless.values())} excluded ({kinds})")


def _in_pieces(scored: dict[str, Samples]) -> None:
    """Say which scores are partly eager's own."""
    for name, samples in scored.items():
        parts = []
        if samples.broken:
            parts.append(f"{samples.broken} taken in pieces, with eager code between them")
        if samples.uncompiled:
            parts.append(f"{samples.uncompiled} not compiled at all, but run by eager")
        if parts:
            err.print(f"{name}: of {len(samples):,} graphs {' and '.join(parts)}")
