"""Read measured layouts to learn from: a journal, or a platform of the data set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.collect_layouts import read_pack

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_examples import GraphLayouts
    from graph_net.results import Program

SECONDS = 600


def read_measured(path: Path) -> Iterator[Program]:
    """Yield the programs of a journal of layouts, or of a published platform (a folder)."""
    from graph_net.configs.layouts.layout_predictor import read_layouts
    from graph_net.programs.dataset.restore import read_published

    return read_published(path) if path.is_dir() else read_layouts(path)


def read_layout_examples(
    path: Path,
    target: str = "",
    without: str = "",
    pack: str = "",
    jobs: int = 0,
    compiler: str = "",
) -> list[GraphLayouts]:
    """Return the measured layouts of each graph, ordered by graph id, with the calls they make.

    Layouts are rewritten without data in confined processes. Graphs come from ``pack`` (empty: the
    shipped corpus); the layouts of a graph that is not there have no calls. ``target`` is the
    device to read, empty for all; ``without`` is the id of a graph to leave out;
    ``compiler`` what layouts went through, empty for the one that a graph has most layouts of.
    """
    from graph_net.configs.layouts.layout_predictor import usable_programs
    from graph_net.configs.layouts.measured_layouts import (
        by_graph,
        layouts_from_bytes,
        layouts_to_bytes,
        measured_layouts,
    )
    from graph_net.graph import from_bytes
    from graph_net.isolate import Limits, Pool

    groups = by_graph(usable_programs(read_measured(path), target, without, compiler))
    blobs = dict(read_pack(pack).blobs({group[0].task.kernel for group in groups.values()}))

    def work(item: tuple[str, list[Program]]) -> bytes:
        graph_id, programs = item
        data = blobs.get(programs[0].task.kernel)
        graph = from_bytes(data) if data is not None else None
        opened = graph if graph is not None and graph.id == graph_id else None
        return layouts_to_bytes(measured_layouts(programs, opened))

    pool = Pool(Limits(SECONDS, None), jobs or max(1, (os.cpu_count() or 2) - 1), ready=_load_torch)
    layouts = {}
    for done in pool.each(sorted(groups.items()), work):
        if done.death is None:
            layouts[done.item[0]] = layouts_from_bytes(done.answer)
        else:  # the calls of this graph cannot be followed here
            layouts[done.item[0]] = measured_layouts(done.item[1], None)
    return [layouts[graph] for graph in sorted(layouts)]


def _load_torch() -> None:
    import torch  # noqa: F401  # once, here, rather than in each process that is forked
