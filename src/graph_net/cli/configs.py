"""``graph-net configs``: configurations of whole graphs, measured here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_net.api.collect_layouts import WHERE
from graph_net.cli.common import err, out
from graph_net.cli.verbs import Chapter, Verb
from graph_net.printable import count_phrase, printable

configs_app = typer.Typer(
    cls=Chapter,
    no_args_is_help=True,
    help="Configurations of whole graphs: their layouts, measured here.",
)


@configs_app.command("collect", cls=Verb)
def collect_layouts(
    work: Annotated[
        Path, typer.Option(help="Where results are kept; the same directory again resumes.")
    ] = Path("build/layouts"),
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    graphs: Annotated[str, typer.Option(help="A pack; empty: the shipped corpus.")] = "",
    where: Annotated[str, typer.Option(help="Only graphs for which this holds, in SQL.")] = WHERE,
    count: Annotated[
        int, typer.Option(help="Graphs, from all categories in turn, few of a family.", min=1)
    ] = 60,
    per_graph: Annotated[int, typer.Option(help="Layouts per graph.", min=1)] = 200,
    turn: Annotated[int, typer.Option(help="Layouts of one graph measured in a row.", min=1)] = 20,
    repeats: Annotated[int, typer.Option(help="Times each layout is timed.", min=3)] = 10,
    compiler: Annotated[
        str, typer.Option(help="eager, or a compiler that each layout goes through (inductor).")
    ] = "eager",
    layouts_of: Annotated[
        Path | None,
        typer.Option(
            help="Measure, instead of drawn ones, layouts that other compilers ran: "
            "a journal, or a platform of the data set."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes that rewrite; 0: all cores but two.")
    ] = 0,
    threads: Annotated[int, typer.Option(help="Threads of a run; 0: one per core.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the layouts.")] = 0,
    budget: Annotated[
        str, typer.Option(help="Start nothing new after this long: 30m, 2h, ….")
    ] = "",
    plan: Annotated[
        Path | None,
        typer.Option(help="Write a bundle for another machine (python BUNDLE) instead."),
    ] = None,
) -> None:
    """Draw layouts of graphs, rewrite, check and time each beside the original.

    A layout is the dimension order of inputs and output of every convolution, product, reshape and
    permutation. Turns are random and genetic in alternation. A process for each graph times the
    layouts of a turn in rounds with the original; on a GPU as recorded kernels from cold caches.
    Every repeat is kept, one layout in fifty is measured twice, turns apart, and a wrong result is
    a failure. Resumes: what is in --work is not measured again.
    """
    from graph_net.api import collect_layouts as api
    from graph_net.configs.layouts.plan import LayoutsWanted

    wanted = LayoutsWanted(per_graph, turn, seed, repeats=repeats, compiler=compiler)
    choice = api.GraphChoice(graphs, where, count, layouts_of)
    if plan is not None:
        found = api.plan_layouts(plan, choice, wanted, device)
        kinds = ", ".join(f"{name} {number}" for name, number in sorted(found.items()))
        total = count_phrase(sum(found.values()), "graph")
        err.print(f"{plan}: {total} ({kinds}); run `python {plan.name}` there")
        return
    done = api.collect_layouts(
        work, choice, wanted, device=device, jobs=jobs, threads=threads, budget=budget
    )
    for why in done.left_out:
        err.print(printable(f"left out: {why}"), soft_wrap=True, markup=False)
    for line in done.tally.table().splitlines():
        out.print(line, highlight=False, markup=False, soft_wrap=True)


@configs_app.command("publish", cls=Verb)
def publish_layouts(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="PLATFORM=SOURCE, one or more, several of a platform too: a journal of "
            "`configs collect` or of a bundle, or a platform of a data set (a folder)."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory to write.")],
    graphs: Annotated[
        str, typer.Option(help="The pack that the graphs came from; empty: the shipped corpus.")
    ] = "",
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Drop results of these platforms that are there and in no source."
        ),
    ] = False,
) -> None:
    """Write collected layouts as a data set: plain columns, npz files, splits and a card.

    Each platform becomes a directory with one Parquet row per measurement, and npz files in
    TpuGraphs' own form beside them. Graphs are split by their ids and by family. To add to a
    data set, name its folders too (h200=dataset/layouts/h200 h200=more.jsonl.gz); a result that
    two sources have is written once. Nothing is written if a source has a damaged line, or if
    results that are there would be lost.
    """
    from graph_net.api.publish_layouts import publish_layouts as publish

    named: dict[str, list[Path]] = {}
    for platform, path in map(_named, sources):
        named.setdefault(platform, []).append(path)
    for one in publish(named, output, graphs, replace):
        out.print(
            f"{one.platform}: {count_phrase(one.results, 'result')} of "
            f"{count_phrase(one.graphs, 'graph')}, {one.failed} failed, "
            f"{count_phrase(one.twice, 'second measurement')}",
            highlight=False,
        )


@configs_app.command("learn", cls=Verb)
def learn_layouts(
    source: Annotated[
        Path, typer.Argument(help="The journal of a collection, or a platform of the data set.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory to write.")],
    without_family: Annotated[
        list[str] | None,
        typer.Option(help="Leave out the graphs of a family, such as timm/resnet; repeatable."),
    ] = None,
    graphs: Annotated[
        str, typer.Option(help="The pack that the graphs came from; empty: the shipped corpus.")
    ] = "",
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes that rewrite; 0: all cores but one.")
    ] = 0,
) -> None:
    """Learn to rank layouts, and save the model for ``layout --learn-from``.

    It is learned from results of eager on one device. Learning needs LightGBM; the saved model is
    evaluated by numpy alone.
    """
    from graph_net.api.learn_layouts import learn_layout_model

    predictor = learn_layout_model(source, output, without_family or (), graphs, jobs)
    out.print(
        f"{output}: {printable(predictor.name)}, {printable(predictor.target)}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip


def _named(text: str) -> tuple[str, Path]:
    platform, equals, source = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text}: write PLATFORM=SOURCE, such as h200=layouts.jsonl.gz")
    return platform, Path(source)
