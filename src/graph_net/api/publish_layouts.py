"""Publish collected layouts: plain columns, npz in TpuGraphs' form, splits and a card."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.collect_layouts import read_pack
from graph_net.api.layout_sources import NPZ, PROGRAMS, check_nothing_is_lost, read_sources

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_splits import LayoutSplits
    from graph_net.corpus.pack import Pack
    from graph_net.results import Program

SPLITS, CARD = "splits.json", "README.md"
JOURNAL = "layouts.jsonl"
"""Name that every row gives as its source, whichever file it came from."""
Group = tuple[str, str, str]
"""Graph's name, compiler, search."""


@dataclass(frozen=True)
class PublishedLayouts:
    """What the sources of one platform became."""

    platform: str
    device: str
    results: int
    failed: int
    graphs: int
    twice: int
    """Second measurements of a layout, failures among them."""
    pairs: int
    """Layouts with the times of two measurements."""
    noise: float | None
    """Median difference of the two, in percent; None where there are no pairs."""
    searches: Mapping[str, int]
    compilers: Mapping[str, int]
    categories: Mapping[str, int]


def publish_layouts(
    sources: Mapping[str, Sequence[Path]], output: Path, graphs: str = "", replace: bool = False
) -> list[PublishedLayouts]:
    """Write a data set of layouts, a directory for each platform, of the results of its sources.

    A source is a journal, or a platform that was published: its own folder to add to what is there.
    A result that two sources have is written once. All is read, checked and written aside before
    ``output`` is touched, and nothing there is lost: a platform there must be named, and its
    results be among the sources, unless ``replace`` gives them up. ``graphs`` is the pack that the
    graphs came from; empty: the shipped corpus.
    """
    from graph_net.configs.layouts.layout_card import layouts_card
    from graph_net.store.atomic import write_text

    platforms = read_sources(sources)
    check_nothing_is_lost(output, platforms, sources, replace)
    pack = read_pack(graphs)
    with TemporaryDirectory(prefix="graph-net-") as scratch:
        aside = Path(scratch)
        for platform, programs in platforms.items():
            _write_columns(platform, programs, aside / platform)
            _write_npz(platform, programs, aside / NPZ / "layout" / platform, pack)
        found = [_counted(platform, programs) for platform, programs in platforms.items()]
        splits = _splits(platforms)
        write_text(aside / SPLITS, json.dumps(asdict(splits), indent=1) + "\n")
        write_text(aside / CARD, layouts_card(found, splits))
        _install(aside, output, platforms)
    return found


def _splits(platforms: Mapping[str, Sequence[Program]]) -> LayoutSplits:
    from graph_net.configs.layouts.layout_splits import make_layout_splits
    from graph_net.score.family import family_of

    rows = set()
    for task in {program.task for programs in platforms.values() for program in programs}:
        told = json.loads(task.details)
        rows.add((task.kernel, told["graph"], family_of(told["library"], told["model"])))
    return make_layout_splits(sorted(rows))


def _write_columns(platform: str, programs: Sequence[Program], folder: Path) -> None:
    """Write programs as plain columns, by the way of a journal and a directory of records."""
    from graph_net.api.ingest import ingest
    from graph_net.programs.dataset.export import publish
    from graph_net.results import program_to_json
    from graph_net.store.atomic import write_text
    from graph_net.store.lines import ReadError

    with TemporaryDirectory(prefix="graph-net-") as scratch:
        journal, records = Path(scratch) / JOURNAL, Path(scratch) / "records"
        write_text(journal, "".join(f"{program_to_json(one)}\n" for one in programs))
        try:
            added = list(ingest([journal], records, progress=False))
        except ReadError as error:
            reason = str(error).replace(str(journal), "its results")
            raise ValueError(f"{platform} cannot be published: {reason}") from error
        damage = [why.reason for file in added for _, why in file.examples]
        count = publish(records, folder)
    if damage or count != len(programs):
        reason = f": {damage[0]}" if damage else ""
        raise ValueError(
            f"{platform}: only {count:,} of {len(programs):,} results are kept{reason}"
        )


def _write_npz(platform: str, programs: Sequence[Program], folder: Path, pack: Pack) -> None:
    from graph_net.configs.layouts.layout_npz import SEARCHES, layout_arrays, write_npz
    from graph_net.configs.layouts.layout_splits import side_of
    from graph_net.configs.layouts.sites import LayoutError

    for (name, compiler, search), own in _groups(programs).items():
        graph = pack.graph(name)
        if graph.id != json.loads(own[0].task.details)["graph"]:
            raise ValueError(f"{platform}: {name} is another graph in {pack.path}")
        try:
            arrays = layout_arrays(graph, own)
        except LayoutError as error:
            raise ValueError(f"{platform}: a layout of {name}: {error}") from error
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
        task = program.task
        extra = json.loads(program.extra or "{}")
        key = (task.workload, program.schedule)
        search = searches.setdefault(key, extra.get("search", "random"))
        found[task.kernel, json.loads(task.details)["compiler"], search].append(program)
    return dict(found)


def _counted(platform: str, programs: Sequence[Program]) -> PublishedLayouts:
    from graph_net.configs.layouts.layout_card import count_by, differences_of_repeats, search_of
    from graph_net.configs.layouts.second_measurements import second_measurements

    details = {program.task.workload: json.loads(program.task.details) for program in programs}
    categories = {told["graph"]: told["category"] for told in details.values()}
    differences = differences_of_repeats(programs)
    again = second_measurements(programs)
    device = programs[0].device
    return PublishedLayouts(
        platform,
        device.name if device else programs[0].task.target,
        len(programs),
        sum(program.failure is not None for program in programs),
        len(categories),
        sum(again),
        len(differences),
        median(differences) if differences else None,
        count_by(map(search_of, programs, again)),
        count_by(details[program.task.workload]["compiler"] for program in programs),
        count_by(categories.values()),
    )


def _install(aside: Path, output: Path, platforms: Mapping[str, Sequence[Program]]) -> None:
    """Move finished files to their places, each at once, and remove npz files of other graphs.

    A row says nothing without its task, so tasks go first; the same command after a kill finishes.
    """
    from graph_net.store.atomic import write_bytes

    written = sorted(path.relative_to(aside) for path in aside.rglob("*") if path.is_file())
    for file in sorted(written, key=lambda path: (len(path.parts) != 2, path.name == PROGRAMS)):
        target = output / file
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, (aside / file).read_bytes())
        if file.parts[0] != NPZ:
            _remove(target.parent.glob(f".{target.name}.[0-9]*"))
    for platform in platforms:
        own = Path(NPZ) / "layout" / platform
        there = {path.relative_to(output) for path in (output / own).rglob("*.npz*")}
        _remove(output / file for file in there - set(written))


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
