"""A journal of made-up results, and the data set that is made of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from configs.layouts.layout_graphs import images_graph, sequence_graph
from graph_net.api.publish_layouts import publish_layouts
from graph_net.configs.layouts.draws import draw_layouts
from graph_net.configs.layouts.layout_config import layout_text
from graph_net.configs.layouts.layout_journal import LayoutJournal
from graph_net.configs.layouts.plan import LayoutsWanted, LayoutTask
from graph_net.configs.layouts.sites import find_sites
from graph_net.corpus.pack import PackWriter
from graph_net.corpus.subjects import subject_of
from graph_net.graph import to_bytes
from graph_net.results import Device, Failure, Json, Program, Stage, Symptom, canonical

DEVICE = Device("cpu", "test", 2, 2, 1 << 30, "Linux", "3.11", {})
TARGET = "cpu: test"


@pytest.fixture(scope="session")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of made-up times: a layout is slower by every byte it copies."""
    folder = tmp_path_factory.mktemp("layouts")
    kept, draw = LayoutJournal(folder / "layouts.jsonl.gz"), random.Random(0)  # noqa: S311
    with PackWriter(folder / "pack") as pack:
        for graph in (images_graph(), sequence_graph()):
            name = f"test/{graph.provenance.model}"
            pack.add(name, graph)
            sites = find_sites(graph)
            task = LayoutTask(subject_of(name, graph), to_bytes(graph))
            named = task.named(TARGET, LayoutsWanted(), sites)
            for number, layout in enumerate(draw_layouts(sites, 60, set(), [], 1)):
                copied = draw.randrange(1 << 20)
                extra: dict[str, Json] = {
                    "control": [1e-3, 1.1e-3, 1e-3], "second": [1e-3, 1e-3, 1e-3], "error": 0.0,
                    "copies": {"explicit": [1, copied]}, "turn": number // 20,
                    "search": "genetic" if number // 20 % 2 else "random",
                }  # fmt: skip
                costs = tuple(round(1e-3 + copied * 1e-9, 9) for _ in range(3))
                kept.add(
                    Program.from_log(
                        named,
                        layout_text(layout),
                        costs,
                        seconds=1.0,
                        measured=1.0,
                        extra=canonical(extra),
                        device=DEVICE,
                    )
                )
            wrong = Failure(Stage.VERIFY, Symptom.NUMERIC, "output 0 differs")
            lost = canonical({"turn": 0, "search": "random", "copies": {}})
            other = layout_text(draw_layouts(sites, 1, set(), [], 99)[0])
            kept.add(Program.from_log(named, other, (), wrong, extra=lost, device=DEVICE))
    kept.close()
    return kept.path


@pytest.fixture(scope="session")
def published(journal: Path) -> Path:
    """The data set made of it."""
    output = journal.parent / "published"
    (found,) = publish_layouts({"cpu": [journal]}, output, str(journal.parent / "pack"))
    assert (found.results, found.failed, found.graphs) == (122, 2, 2)
    return output
