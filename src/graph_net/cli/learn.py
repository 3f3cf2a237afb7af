"""``graph-net learn``: a cost model from measured programs, with its scores."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err
from graph_net.cli.evaluate import CACHE_HELP, DATA_HELP, SPLIT_HELP, print_evaluation

MODEL_HELP = "A cost model, with options in brackets: lightgbm[rounds=300]."
FEATURES_HELP = (
    "triton, ansor_gpu, tiles, tiles+code, primitives, per_store, per_store+primitives, of graphs "
    "hand, settings, hand+settings, or auto: what fits the tasks."
)


def learn_model(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new folder to save the model to.")
    ] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "lightgbm",
    split: Annotated[str, typer.Option(help=SPLIT_HELP)] = "network",
    features: Annotated[str, typer.Option(help=FEATURES_HELP)] = "auto",
    seed: Annotated[int, typer.Option(help="What chance is seeded with.")] = 0,
    per_task: Annotated[
        int, typer.Option(help="Programs of a task that are taken, at most.", min=2)
    ] = 4096,
    cache: Annotated[Path | None, typer.Option(help=CACHE_HELP)] = None,
    validation: Annotated[
        float,
        typer.Option(help="Part of the training tasks that decides when to stop.", min=0, max=0.5),
    ] = 0.0,
) -> None:
    """Learn a cost model from measured programs; its scores are of what the split holds out.

    Tasks with one program are left out; a program that was measured twice counts once; one that
    failed is slower than any other. The model is saved whole or not at all, with a card that says
    what it learned from, how it scored and where it holds.
    """
    from graph_net.api.learn import learn

    learned = learn(
        data, model, split=split, features=features, seed=seed, output=output, per_task=per_task,
        cache=cache, validation=validation, command=shlex.join(["graph-net", *sys.argv[1:]]),
    )  # fmt: skip
    if learned.evaluation is not None:
        print_evaluation(learned.evaluation, f"{learned.model.name}, held out by {split}")
    if output is not None:
        err.print(f"{output}: the model, and its card in README.md", soft_wrap=True)
