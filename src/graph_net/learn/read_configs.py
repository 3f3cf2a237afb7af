"""Read configurations to learn from: TpuGraphs' files, or folders of them.

A configuration that was run several times counts once, with the median of its runs; its first two
runs show the noise. Graphs without run times, or with one configuration, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np

from graph_net.configs import layout_features, tile_features
from graph_net.configs.config_graph import ConfigGraph, Floats32, LayoutConfigs
from graph_net.configs.config_programs import platform_of, schedule_text
from graph_net.configs.files import ConfigFile, find_files, stream_graphs
from graph_net.configs.hlo_graph import hlo_graph
from graph_net.learn.config_set import ConfigSet
from graph_net.learn.learning_set import LearnError, LearningTask
from graph_net.learn.measured_set import MeasuredSet, Uint64s
from graph_net.learn.metrics import Floats, Ints, TaskCosts
from graph_net.learn.ranked_tasks import RepeatedCosts
from graph_net.store.files import open_regular

AUTO, HAND, SETTINGS, BOTH = "auto", "hand", "settings", "hand+settings"
KINDS = (AUTO, HAND, SETTINGS, BOTH)
LEAST = 2
Tell = Callable[[str], None]


def has_configs(source: Path) -> bool:
    """Return whether a source is TpuGraphs' files or a folder with some."""
    return bool(config_files(source))


def config_files(source: Path) -> list[ConfigFile]:
    """Return the TpuGraphs files of a source."""
    return find_files([source])


def read_configs(
    source: Path,
    features: str = AUTO,
    *,
    per_task: int = 1 << 16,
    tell: Tell = lambda line: None,
) -> MeasuredSet:
    """Return the configurations of a source's labelled graphs, all layouts or all tiles.

    ``features`` are ``hand``-made features, which mean the same for every graph, the ``settings``
    of one graph's nodes, or both; ``auto`` is both for a single graph with layouts, else ``hand``.
    """
    if features not in KINDS:
        raise LearnError(f"unknown features {features!r}; of graphs: {', '.join(KINDS)}")
    graphs = _usable(config_files(source), tell)
    if not graphs:
        raise LearnError(f"{source} has no graph with run times of two configurations")
    kinds = {graph.kind for graph in graphs}
    if len(kinds) > 1:
        raise LearnError(f"{source} has layouts and tiles: name a folder of one of them")
    single = len(graphs) == 1 and "layout" in kinds
    kind = features if features != AUTO else BOTH if single else HAND
    if kind != HAND and not single:
        raise LearnError(f"the features {kind} are of one graph with layouts: use {HAND}")
    return _assemble(graphs, kind, per_task)


def _usable(files: Sequence[ConfigFile], tell: Tell) -> list[ConfigGraph]:
    found = []
    for graph in stream_graphs(files):
        if not graph.has_labels:
            tell(f"{graph.name} has no run times and is left out")
        elif len(graph.configs) < LEAST:
            tell(f"{graph.name} has one configuration and is left out")
        else:
            found.append(graph)
    return found


def _assemble(graphs: Sequence[ConfigGraph], kind: str, per_task: int) -> MeasuredSet:
    rows, costs, tasks, places, hashes, repeats, pairs = [], [], [], [], [], [], []
    columns: tuple[str, ...] = ()
    for number, graph in enumerate(graphs):
        names = _hashes(graph)
        chosen = np.sort(np.argsort(names, kind="stable")[:per_task])
        columns, made = graph_rows(graph, kind)
        rows.append(made[chosen])
        costs.append(graph.costs()[chosen])
        tasks.append(np.full(len(chosen), number))
        places.append(chosen)
        hashes.append(names[chosen])
        repeats.append(graph.repeats[chosen])
        pairs.append(_pairs(graph, chosen))
    programs = TaskCosts.of(np.concatenate(costs), np.concatenate(tasks))
    first, second = np.concatenate(pairs, axis=1)
    data = ConfigSet(
        columns,
        np.concatenate(rows),
        np.arange(len(programs.costs) + 1),
        programs,
        tuple(map(_task, graphs)),
        tuple(graphs),
        np.concatenate(places),
        np.concatenate(repeats),
    )
    return MeasuredSet(data, np.concatenate(hashes), noise_of_one_run(first, second), kind)


def noise_of_one_run(first: Floats, second: Floats) -> RepeatedCosts:
    """Return the noise of one run, given two: the difference of two runs is √2 times as large.

    The ceiling is then the score of a model that knows the true costs, on labels of one run each.
    """
    pairs = RepeatedCosts.of(first, second)
    return RepeatedCosts(pairs.costs, pairs.log_ratios / np.sqrt(2))


def graph_rows(graph: ConfigGraph, kind: str = HAND) -> tuple[tuple[str, ...], Floats32]:
    """Return the names and the features of a graph's configurations."""
    if not isinstance(graph.configs, LayoutConfigs):
        return tile_features.COLUMNS, tile_features.tile_features(graph)
    names: tuple[str, ...] = ()
    parts: list[Floats32] = []
    if kind in (HAND, BOTH):
        names += layout_features.COLUMNS
        parts.append(layout_features.layout_features(graph))
    if kind in (SETTINGS, BOTH):
        settings = layout_features.setting_columns(graph.configs)
        names += settings.names
        parts.append(settings.rows)
    return names, np.concatenate(parts, axis=1)


def _hashes(graph: ConfigGraph) -> Uint64s:
    texts = (schedule_text(graph.configs, place).encode() for place in range(len(graph.configs)))
    data = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(data, "<u8").astype(np.uint64)


def _pairs(graph: ConfigGraph, chosen: Ints) -> Floats:
    """Return the first two runs of configurations that have two."""
    runs = graph.seconds()
    found = [runs[place][:2] for place in chosen.tolist() if len(runs[place]) > 1]
    return np.array(found).reshape(-1, 2).T


def _task(graph: ConfigGraph) -> LearningTask:
    family = graph.name.rpartition("/")[2].partition("_")[0].partition(".")[0]
    kind = graph.collection or str(graph.kind)
    graph_id = hlo_graph(graph).id
    return LearningTask(graph.name, kind, platform_of(graph.collection), {family: 1.0}, graph_id)


def configs_digest(source: Path) -> str:
    """Return a hash of the contents of a source's TpuGraphs files."""
    state = sha256()
    for file in config_files(source):
        state.update(f"{file.name}\n".encode())
        with open_regular(file.path) as opened:
            while block := opened.read(1 << 20):
                state.update(block)
    return state.hexdigest()
