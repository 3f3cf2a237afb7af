"""Publish collected layouts: plain columns, npz in TpuGraphs' form, splits and a card."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.collect_layouts import read_pack

if TYPE_CHECKING:
    from graph_net.results import Program

SPLITS, CARD, NPZ = "splits.json", "README.md", "npz"
JOURNAL = "layouts.jsonl"
"""Name that every row gives as its source, whichever file it came from."""
Group = tuple[str, str, str]
"""Graph id, compiler, search."""
Measurement = tuple[str, str, str, float | None]
"""Device, graph and compiler, layout, when."""


@dataclass(frozen=True)
class PublishedLayouts:
    """What the sources of one platform became."""

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
    sources: Mapping[str, Sequence[Path]], output: Path, graphs: str = ""
) -> list[PublishedLayouts]:
    """Write a data set of layouts, a directory for each platform, of the results of its sources.

    A source is a journal, or a platform that was published: its own folder to add to what is there.
    A result that two sources have is written once. ``graphs`` is the pack that the graphs came
    from; empty: the shipped corpus.
    """
    from graph_net.configs.layouts.layout_card import layouts_card
    from graph_net.configs.layouts.layout_splits import make_layout_splits
    from graph_net.score.family import family_of
    from graph_net.store.atomic import write_text

    found, rows = [], set()
    for platform, paths in sources.items():
        if not re.fullmatch(r"[a-z0-9_]+", platform):
            raise ValueError(f"{platform!r} is not a platform's name; write letters and digits")
        programs = _read_sources(platform, paths)
        _write_columns(programs, output / platform)
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


def _read_sources(platform: str, paths: Iterable[Path]) -> list[Program]:
    """Return the layouts of all sources in their order, each measurement once."""
    found: dict[Measurement, Program] = {}
    for path in paths:
        for program in _read_source(path):
            task = program.task
            key = (task.target, task.workload, program.schedule, program.measured)
            found.setdefault(key, program)
    devices = sorted({program.task.target for program in found.values()})
    if len(devices) != 1:
        raise ValueError(f"{platform} has layouts of {', '.join(devices)}: name one for each")
    return list(found.values())


def _read_source(path: Path) -> list[Program]:
    from graph_net.api.layout_examples import read_measured
    from graph_net.configs.layouts.layout_config import FORMAT
    from graph_net.store.journal import whole_lines

    layouts = [program for program in read_measured(path) if program.task.format == FORMAT]
    if not layouts:
        raise ValueError(f"{path} has no layouts; `graph-net configs collect` writes them")
    if path.is_file() and (others := sum(1 for _ in whole_lines(path)) - len(layouts)):
        raise ValueError(f"{path}: {others} lines are damaged, or are no layouts")
    return layouts


def _write_columns(programs: Iterable[Program], folder: Path) -> None:
    """Write programs as plain columns, by the way of a journal and a directory of records."""
    from graph_net.api.ingest import ingest
    from graph_net.programs.dataset.export import publish
    from graph_net.results import program_to_json

    with TemporaryDirectory(prefix="graph-net-") as scratch:
        journal, records = Path(scratch) / JOURNAL, Path(scratch) / "records"
        journal.write_text("".join(f"{program_to_json(one)}\n" for one in programs), "utf-8")
        list(ingest([journal], records, progress=False))
        publish(records, folder)


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
