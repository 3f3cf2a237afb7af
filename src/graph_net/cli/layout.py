"""``graph-net layout``: the fastest layout of a graph on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.cli.common import err, out


def find_layout(
    model: Annotated[str, typer.Argument(help="A graph: its name in the corpus, or a file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the rewritten graph here: .json or .bin."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    learn_from: Annotated[
        Path | None,
        typer.Option(
            help="Rank by a model learned from this journal or published folder, or saved by "
            "`configs learn`."
        ),
    ] = None,
    pool: Annotated[int, typer.Option(help="Layouts ranked per generation.", min=1)] = 40,
    top: Annotated[int, typer.Option(help="Of these, how many are measured.", min=1)] = 6,
    generations: Annotated[int, typer.Option(help="Rounds of the search.", min=1)] = 2,
    seconds: Annotated[float, typer.Option(help="For proving the winner.", min=0.1)] = 5.0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes that rewrite; 0: all cores but one.")
    ] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a run; 0: one per core.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the layouts.")] = 0,
) -> None:
    """Find the layout under which a graph runs fastest here, and prove its gain.

    Many layouts are ranked without running, the few best measured in rounds with the original, and
    the winner timed anew against it. The rewritten graph is written where it is faster for sure;
    otherwise the command says that there is no gain. Parameters are laid out beforehand, inputs and
    outputs keep their strides.
    """
    from graph_net.api.layout import layout
    from graph_net.configs.layouts.layout_search import SearchSettings

    if output is not None and output.suffix not in (".json", ".bin"):
        raise typer.BadParameter(f"{output}: a graph is written as .json or .bin")
    settings = SearchSettings(pool, top, generations, seconds=seconds, seed=seed)
    result = layout(
        model, device=device, output=output, learn_from=learn_from, settings=settings, jobs=jobs,
        threads=threads,
    )  # fmt: skip
    for line in str(result).splitlines():
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    if output is not None and result.graph is not None:
        err.print(f"{output}: the rewritten graph", markup=False)
