"""``graph-net evaluate``: what a cost model is worth, beside chance and the best possible."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.cli import options as opt
from graph_net.cli.common import new_table, out

if TYPE_CHECKING:
    from graph_net.learn.evaluation import Evaluation, MetricScore, ModelComparison
    from graph_net.learn.paired import PairedDifference

DATA_HELP = (
    "A directory of records, a data set of several platforms, a shipped platform (h200), or "
    "TpuGraphs' files."
)
SPLIT_HELP = (
    "network, task, within_task, operators, platform:NAME[+task], or none; of TpuGraphs' files "
    "within_task, task, files, leave:NAME."
)
CACHE_HELP = "Where features that TVM computes are kept."
NUMBERS = ("model", "95 %", "random", "best", "ceiling")


def evaluate_model(
    model: Annotated[Path, typer.Argument(help="A folder that `learn` wrote.")],
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    against: Annotated[
        Path | None, typer.Option(help="A second model, compared task by task.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help=f"{SPLIT_HELP} As it was learned, if these are the same data; else none."
        ),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help=CACHE_HELP)] = None,
    json: opt.Json = False,
) -> None:
    """Evaluate a cost model: TenSet's metrics, with intervals, on programs it has not learned from.

    Beside each score stand that of a random ranking, the best possible, and what measuring every
    program again would get. A model asked beyond what it has learned from says so.
    """
    from graph_net.api.learn import evaluate

    judged = evaluate(model, data, against=against, split=split, cache=cache)
    if json:
        typer.echo(jsonlib.dumps(judged.as_json(), indent=1))
        return
    print_evaluation(judged.evaluation, f"{model.name}, split {judged.split}")
    if judged.comparison is not None and against is not None:
        print_comparison(judged.comparison, f"{model.name} - {against.name}")


def print_evaluation(evaluation: Evaluation, title: str) -> None:
    """Print all scores, then those of each operator, then those of each network."""
    table = new_table("metric", *NUMBERS, title=title, numbers=NUMBERS)
    for score in evaluation.scores:
        table.add_row(score.metric, *_cells(score))
    out.print(table)
    heads = ("operator", "tasks", "metric", *NUMBERS)
    table = new_table(*heads, numbers=("tasks", *NUMBERS))
    for one in evaluation.kinds:
        for score in one.scores:
            table.add_row(one.kind, f"{one.tasks:,}", score.metric, *_cells(score))
    out.print(table)
    numbers = ("top-1", "top-5")
    table = new_table("network", *numbers, numbers=numbers)
    for network, scores in evaluation.networks.items():
        table.add_row(network, *(f"{scores[name]:.3f}" for name in numbers))
    out.print(table)
    out.print(_rests_on(evaluation), soft_wrap=True)


def print_comparison(comparison: ModelComparison, title: str) -> None:
    """Print how much better one model's picks are, by operator."""
    numbers = ("tasks", "difference", "95 %")
    heads = ("operator", "metric", *numbers, "verdict")
    table = new_table(*heads, title=f"best/picked: {title}", numbers=numbers)
    for k, differences in comparison.differences.items():
        for one in differences:
            interval = f"{one.low:+.3f} … {one.high:+.3f}" if one.tasks > 1 else "one task"
            cells = [f"at {k}", f"{one.tasks:,}", f"{one.value:+.3f}", interval]
            table.add_row(one.kind, *cells, _verdict(one))
    out.print(table)


def _verdict(one: PairedDifference) -> str:
    if one.is_better or one.is_worse:
        return "better" if one.is_better else "worse"
    return "no significant difference"


def _cells(score: MetricScore) -> list[str]:
    ceiling = "" if score.ceiling is None else f"{score.ceiling:.3f}"
    others = [f"{score.random:.3f}", f"{score.best:.3f}", ceiling]
    return [f"{score.value:.3f}", score.interval, *others]


def _rests_on(evaluation: Evaluation) -> str:
    pairs = (
        f"{evaluation.pairs:,} programs were measured twice"
        if evaluation.pairs
        else ("no program was measured twice, so that there is no ceiling")
    )
    return (
        f"{evaluation.programs:,} programs of {evaluation.tasks:,} tasks; pooled scores rest on "
        f"{evaluation.effective_tasks:.1f} effective tasks; {pairs}"
    )
