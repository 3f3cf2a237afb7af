"""Draw layouts of graphs, measure each beside the original, and store them."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.options import parse_seconds
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_tally import LayoutTally
    from graph_net.configs.layouts.plan import GivenLayout, LayoutsWanted, LayoutTask
    from graph_net.corpus.pack import Pack

DEVICES = ("cpu", "cuda")
WHERE = "symbols = 0 AND nodes BETWEEN 15 AND 400 AND tensor_bytes < 4e8 AND name NOT LIKE '%@%'"
"""Graphs that are measured quickly; @ marks variants."""
PER_FAMILY = 2
JOURNAL = "layouts.jsonl"


@dataclass(frozen=True)
class GraphChoice:
    """Which graphs layouts are collected of."""

    pack: str = ""
    """A pack; empty: the shipped corpus."""
    where: str = WHERE
    """A condition on the graphs, in SQL."""
    count: int = 60
    layouts_of: Path | None = None
    """A journal or a platform of the data set whose layouts are measured, instead of drawn ones."""


@dataclass(frozen=True)
class CollectedLayouts:
    """What was measured now, and the graphs that were left out."""

    tally: LayoutTally
    graphs: int
    left_out: tuple[str, ...]


def plan_layouts(
    bundle: Path, choice: GraphChoice, wanted: LayoutsWanted, device: str = "cuda"
) -> dict[str, int]:
    """Write a bundle that collects layouts on another machine; return its graphs by category."""
    from graph_net.configs.layouts.layout_bundle import write_layout_bundle

    tasks = choose_layout_graphs(choice, wanted.compiler)
    write_layout_bundle(bundle, tasks, wanted, _known(device))
    return dict(Counter(task.subject.category for task in tasks))


def collect_layouts(
    work: Path,
    choice: GraphChoice,
    wanted: LayoutsWanted,
    *,
    device: str = "cpu",
    jobs: int = 0,
    threads: int = 0,
    budget: str | float | None = None,
    progress: Display | bool = True,
) -> CollectedLayouts:
    """Measure layouts of graphs into the journal of ``work``; what is there is not measured again.

    ``graph-net ingest`` takes the journal in, and ``graph-net configs publish`` publishes it.
    """
    from graph_net.configs.layouts.layout_collection import open_layout_bench, sort_graphs
    from graph_net.configs.layouts.layout_tally import LayoutTally
    from graph_net.store.lock import hold_lock

    display = display_of(progress)
    until = time.monotonic() + parse_seconds(budget) if budget else math.inf
    journal = work / JOURNAL
    chosen = choose_layout_graphs(choice, wanted.compiler, journal)
    graphs, tally = sort_graphs(chosen), LayoutTally()
    with (
        hold_lock(work),
        open_layout_bench(graphs, wanted, journal, _known(device), jobs, until, threads) as bench,
    ):
        total = sum(
            min(wanted.per_graph, len(task.to_measure) or wanted.per_graph) for task in graphs.tasks
        )
        with display.progress("layouts", total) as advance:
            for program in bench.run():
                tally.add(program)
                advance(failed=program.failure is not None)
        left_out = (*graphs.refused, *bench.lost)
    return CollectedLayouts(tally, len(graphs.tasks), left_out)


def _known(device: str) -> str:
    if device not in DEVICES:
        raise ValueError(f"unknown device {device!r}; known: {', '.join(DEVICES)}")
    return device


def choose_layout_graphs(
    choice: GraphChoice, compiler: str = "eager", journal: Path | None = None
) -> list[LayoutTask]:
    """Return graphs of all categories in turn, few of a family, that have layouts to choose.

    With ``layouts_of`` these are the graphs whose layouts ``compiler`` has not run there, though
    what it ran in ``journal``, which is written now, stays: a second run goes on with the same.
    """
    from graph_net.configs.layouts.layout_collection import sort_graphs
    from graph_net.configs.layouts.plan import LayoutTask
    from graph_net.corpus.query import select
    from graph_net.corpus.subjects import read_subjects

    pack = read_pack(choice.pack)
    rows = select(pack, choice.where or None)
    if not rows:
        raise ValueError(f"no graph of the pack meets {choice.where!r}")
    if choice.layouts_of is not None:
        is_own = journal is not None and choice.layouts_of.resolve() == journal.resolve()
        measured = read_given_layouts(choice.layouts_of, "" if is_own else compiler)
        return _graphs_of_layouts(choice, pack, rows, measured)
    chosen: list[LayoutTask] = []
    for names in _batches(rows):
        found = [LayoutTask(*pair) for pair in read_subjects(pack, names)]
        chosen += sort_graphs(found).tasks
        if len(chosen) >= choice.count:
            break
    if not chosen:
        raise ValueError("none of these graphs has layouts to choose")
    return chosen[: choice.count]


def _graphs_of_layouts(
    choice: GraphChoice,
    pack: Pack,
    rows: Sequence[dict[str, object]],
    measured: Mapping[tuple[str, str], tuple[GivenLayout, ...]],
) -> list[LayoutTask]:
    """Return graphs with layouts that were measured, of all categories in turn."""
    from graph_net.configs.layouts.layout_collection import sort_graphs
    from graph_net.configs.layouts.plan import LayoutTask
    from graph_net.corpus.subjects import read_subjects, stratify

    names = {name for name, _ in measured}
    wanted = stratify([row for row in rows if row["name"] in names])
    found = [
        LayoutTask(subject, graph, measured[subject.name, subject.id])
        for subject, graph in read_subjects(pack, wanted)
        if (subject.name, subject.id) in measured
    ]
    if not found:
        raise ValueError(
            f"{choice.layouts_of} has no layouts of these graphs that this compiler has not run"
        )
    return list(sort_graphs(found).tasks[: choice.count])


def read_given_layouts(path: Path, compiler: str) -> dict[tuple[str, str], tuple[GivenLayout, ...]]:
    """Return the layouts of each graph (name and id) that only other compilers have run.

    Raise ValueError if the file has anything else.
    """
    from graph_net.api.layout_examples import read_measured
    from graph_net.configs.layouts.draws import SearchKind
    from graph_net.configs.layouts.layout_config import FORMAT
    from graph_net.configs.layouts.plan import GivenLayout

    found: defaultdict[tuple[str, str], dict[str, GivenLayout]] = defaultdict(dict)
    known: set[tuple[str, str]] = set()
    for program in read_measured(path):
        if program.task.format != FORMAT:
            raise ValueError(f"{path} has {program.task.format} programs: give measured layouts")
        try:
            details, extra = json.loads(program.task.details), json.loads(program.extra or "{}")
            ran_by, graph = str(details["compiler"]), str(details["graph"])
            search, again = SearchKind(extra.get("search", SearchKind.RANDOM)), extra.get("again")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}: a layout without its compiler or search: {error}") from error
        if ran_by == compiler:
            known.add((graph, program.schedule))
        elif program.failure is None and not again:
            one = GivenLayout(program.schedule, search)
            found[program.task.kernel, graph].setdefault(program.schedule, one)
    return {
        (name, graph): tuple(rest)
        for (name, graph), layouts in sorted(found.items())
        if (rest := [one for text, one in layouts.items() if (graph, text) not in known])
    }


def _batches(rows: Sequence[dict[str, object]]) -> Iterator[list[str]]:
    """Yield names in a fair order, some at a time: one of each category, then the next."""
    from graph_net.results import digest
    from graph_net.score.family import family_of

    by_category: defaultdict[str, list[str]] = defaultdict(list)
    families: Counter[str] = Counter()
    structures: set[object] = set()
    for row in sorted(rows, key=lambda row: digest("layouts", str(row["name"]))):
        family = family_of(str(row["library"]), str(row["model"]))
        if families[family] < PER_FAMILY and row["structure"] not in structures:
            families[family] += 1
            structures.add(row["structure"])
            by_category[str(row["category"])].append(str(row["name"]))
    while any(by_category.values()):
        yield [names.pop() for names in by_category.values() if names]


def read_pack(named: str) -> Pack:
    """Return the pack that a name stands for."""
    from graph_net.programs.collection.networks import networks

    return networks(named or "corpus")
