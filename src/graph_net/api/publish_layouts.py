"""Publish collected layouts: plain columns, npz in TpuGraphs' form, splits and a card."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.collect_layouts import read_pack

if TYPE_CHECKING:
    from graph_net.results import Program

SPLITS, CARD, NPZ = "splits.json", "README.md", "npz"
Group = tuple[str, str, str]
"""Graph id, compiler, search."""


@dataclass(frozen=True)
class PublishedLayouts:
    """What one journal became."""

    platform: str
    device: str
    results: int
    failed: int
    graphs: int
    twice: int
    noise: float | None
    """Median difference of two measurements of a layout, in percent; None where there are none."""
    searches: Mapping[str, int]
    compilers: Mapping[str, int]
    categories: Mapping[str, int]


def publish_layouts(
    journals: Mapping[str, Path], output: Path, graphs: str = ""
) -> list[PublishedLayouts]:
    """Write a data set of layouts, a directory for each journal by the name of its platform.

    ``graphs`` is the pack that the graphs came from; empty: the shipped corpus.
    """
    from graph_net.configs.layouts.layout_card import layouts_card
    from graph_net.configs.layouts.layout_predictor import read_layouts
    from graph_net.configs.layouts.layout_splits import make_layout_splits
    from graph_net.score.family import family_of
    from graph_net.store.atomic import write_text

    found, rows = [], set()
    for platform, journal in journals.items():
        if not re.fullmatch(r"[a-z0-9_]+", platform):
            raise ValueError(f"{platform!r} is not a platform's name; write letters and digits")
        programs = list(read_layouts(journal))
        if not programs:
            raise ValueError(f"{journal} has no layouts; `graph-net configs collect` writes them")
        _write_columns(journal, output / platform)
        for program in programs:
            told = json.loads(program.task.details)
            family = family_of(told["library"], told["model"])
            rows.add((program.task.kernel, told["graph"], family))
        _write_npz(programs, output / NPZ / "layout" / platform, graphs)
        found.append(_counted(platform, programs))
    splits = make_layout_splits(sorted(rows))
    write_text(output / SPLITS, json.dumps(asdict(splits), indent=1) + "\n")
    write_text(output / CARD, layouts_card(found, splits))
    return found


def _write_columns(journal: Path, folder: Path) -> None:
    """Write the programs of a journal as plain columns, by the way of a directory of records."""
    from graph_net.api.ingest import ingest
    from graph_net.programs.dataset.export import publish

    with TemporaryDirectory(prefix="graph-net-") as records:
        for file in ingest([journal], Path(records), progress=False):
            if file.damaged:
                raise ValueError(f"{journal}: {file.damaged} lines are damaged")
        publish(Path(records), folder)


def _write_npz(programs: Sequence[Program], folder: Path, graphs: str) -> None:
    from graph_net.configs.layouts.layout_npz import SEARCHES, layout_arrays, write_npz
    from graph_net.configs.layouts.layout_splits import side_of

    pack = read_pack(graphs)
    for (name, compiler, search), own in _groups(programs).items():
        graph = pack.graph(name)
        arrays = layout_arrays(graph, own)
        if not len(arrays["config_runtime"]):
            continue
        suffix = "" if compiler == "eager" else f".{compiler}"
        file = f"{name.replace('/', '.')}{suffix}.npz"
        write_npz(folder / SEARCHES[search] / side_of("graph", graph.id) / file, arrays)


def _groups(programs: Sequence[Program]) -> dict[Group, list[Program]]:
    """Return programs by graph, compiler and search; a second measurement goes with the first."""
    found: defaultdict[Group, list[Program]] = defaultdict(list)
    searches: dict[tuple[str, str], str] = {}
    for program in programs:
        extra, task = json.loads(program.extra), program.task
        key = (task.workload, program.schedule)
        search = searches.setdefault(key, extra.get("search", "random"))
        found[task.kernel, json.loads(task.details)["compiler"], search].append(program)
    return dict(found)


def _counted(platform: str, programs: Sequence[Program]) -> PublishedLayouts:
    from graph_net.configs.layouts.layout_card import count_by, difference_of_repeats

    details = {p.task.workload: json.loads(p.task.details) for p in programs}
    extras = [json.loads(p.extra) for p in programs]
    device = programs[0].device
    return PublishedLayouts(
        platform,
        device.name if device else programs[0].task.target,
        len(programs),
        sum(p.failure is not None for p in programs),
        len({told["graph"] for told in details.values()}),
        sum(bool(extra.get("again")) for extra in extras),
        difference_of_repeats(programs),
        count_by(extra.get("search", "") for extra in extras),
        count_by(details[p.task.workload]["compiler"] for p in programs),
        count_by(told["category"] for told in details.values()),
    )
