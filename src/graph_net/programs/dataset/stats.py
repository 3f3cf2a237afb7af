"""Statistics of a data set of programs, as counts and as Markdown tables."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from graph_net.corpus.marked_region import replace_region
from graph_net.programs.dataset.columns import kind_of, schema_of
from graph_net.programs.dataset.dataset import files, platforms
from graph_net.programs.dataset.splits import Split, make_splits, split_of
from graph_net.programs.view.overview import TaskSummary, summaries, tables
from graph_net.results import Device, read_as

if TYPE_CHECKING:
    from graph_net.store.sql import Sql

BEGIN, END = "<!-- made by `graph-net programs stats` -->", "<!-- end of its tables -->"
_RUNS = """SELECT coalesce(sum(len(costs)), 0), min(len(costs)) FILTER (cost > 0), max(len(costs)),
    median(list_aggregate(costs, 'stddev_samp') / cost) FILTER (len(costs) > 1),
    count(*) FILTER (list_max(costs) > 2 * list_aggregate(costs, 'median') AND NOT again)
    FROM programs"""
_FAILURES = """SELECT stage || ': ' || symptom, count(DISTINCT (task, program)) FROM programs
    WHERE status = 'failed' AND NOT again GROUP BY 1 ORDER BY 2 DESC, 1"""
_PAIRS = """SELECT count(*), median(away), quantile_cont(away, 0.9) FROM (
    SELECT abs(ln(second.cost / first.cost)) AS away FROM
    (SELECT task, program, cost FROM programs WHERE NOT again AND cost IS NOT NULL) AS first
    JOIN (SELECT task, program, cost FROM programs WHERE again AND cost IS NOT NULL) AS second
    USING (task, program))"""
_DEVICE = "SELECT fingerprint FROM programs WHERE fingerprint IS NOT NULL ORDER BY line LIMIT 1"
_EXTRA = "SELECT task, extra FROM programs WHERE contains(extra, ?) ORDER BY line"


SOFTWARE = ("torch", "triton", "tvm")
"""Software that a device lists and that affects times."""


@dataclass(frozen=True)
class Repeatability:
    """How far two measurements of a program, far apart in time, differ."""

    pairs: int
    """Programs that were measured twice and ran both times."""
    median: float
    """Median |log ratio| of the two mean times."""
    ninth_decile: float


@dataclass(frozen=True)
class Platform:
    """The programs of one platform; a program measured twice counts once."""

    name: str
    device: str
    software: str
    tasks: tuple[TaskSummary, ...]
    split: Split
    programs: int
    ran: int
    runs: int
    """Repeats of all programs together; one program has ``fewest`` to ``most``."""
    fewest: int
    most: int
    noise: float
    """Median over programs of the standard deviation of the repeats over their mean."""
    repeatability: Repeatability | None
    """None if no program was measured twice."""
    jumpy: int
    """Programs with a repeat that took more than twice as long as their median."""
    failures: dict[str, int]
    torch: dict[str, float]
    """Seconds that torch takes for a task, if measured."""
    files: dict[str, int]
    """The bytes of each table."""
    schemas: dict[str, pa.Schema]
    """The columns of each table."""
    packed: bool
    """Whether programs are in the packed format, which needs SQL to read."""

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(self.files.values())

    @property
    def networks(self) -> set[str]:
        """All networks that the tasks come from."""
        return {network for task in self.tasks for network in task.weights}


def count(folder: Path) -> list[Platform]:
    """Count every platform of a data set."""
    counted = [_counted(name, path) for name, path in platforms(folder).items()]
    splits = make_splits({one.name: one.tasks for one in counted})
    return [replace(one, split=splits.by_network(one.name, one.tasks)) for one in counted]


def _counted(name: str, path: Path) -> Platform:
    with tables(path) as connection:
        tasks = summaries(connection)
        numbers = connection.execute(_RUNS).fetchone()
        pairs = connection.execute(_PAIRS).fetchone()
        failures = connection.execute(_FAILURES).fetchall()
        torch = {t: v for t, v in _extras(connection, "torch").items() if _are_times(v)}
        software = _software(connection)
    assert numbers is not None
    assert pairs is not None
    runs, fewest, most, noise, jumpy = numbers
    tables_of = files(path)
    return Platform(
        name,
        ", ".join(sorted({task.device for task in tasks})),
        ", ".join(f"{what} {software[what]}" for what in SOFTWARE if what in software),
        tuple(tasks),
        split_of(tasks),
        sum(task.programs for task in tasks),
        sum(task.programs - task.failed for task in tasks),
        int(runs),
        fewest or 0,
        most,
        noise or 0.0,
        Repeatability(*pairs) if pairs[0] else None,
        jumpy,
        dict(failures),
        {task: fmean(costs) for task, costs in torch.items()},
        {table: sum(p.stat().st_size for p in parts) for table, parts in tables_of.items()},
        {table: schema_of(table, parts) for table, parts in tables_of.items()},
        kind_of("programs", tables_of["programs"]) == "packed",
    )


def _software(connection: Sql) -> Mapping[str, Any]:
    """Return the software versions: from a Device, or from an older collector's notes."""
    row = connection.execute(_DEVICE).fetchone()
    if row is not None:
        return read_as(Device, row[0], "device").software
    devices = _extras(connection, "device").values()
    return next((device for device in devices if isinstance(device, dict)), {})


def _extras(connection: Sql, key: str) -> dict[str, Any]:
    """Return the value of a key for each task: from the task's first program that has the key."""
    values: dict[str, Any] = {}
    for task, extra in connection.execute(_EXTRA, [f'"{key}":']).fetchall():
        tree = json.loads(extra)
        if isinstance(tree, dict) and key in tree:
            values.setdefault(task, tree[key])
    return values


def _are_times(value: Any) -> bool:
    """Return whether a value read from a file is a list of durations."""
    times = value if isinstance(value, list) else []
    return bool(times) and all(isinstance(t, int | float) and t > 0 for t in times)


def markdown(counted: Sequence[Platform]) -> str:
    """Return all tables: platforms side by side, architectures, failures."""
    rows = [[what, *(tell(one) for one in counted)] for what, tell in _ROWS.items()]
    lines = _table(["", *(one.name for one in counted)], rows)
    heads = ["platform", "architecture", "networks", "tasks", "held out", "programs"]
    rows = [row for one in counted for row in _architectures(one)]
    lines += ["", *_table([*heads, "typical / best"], rows)]
    rows = [[one.name, *_kind(kind, n)] for one in counted for kind, n in one.failures.items()]
    if rows:
        lines += ["", *_table(["platform", "stage", "symptom", "failures"], rows)]
    return "\n".join(lines)


def with_statistics(page: str, counted: Sequence[Platform]) -> str:
    """Return a page with the text between its two marks regenerated."""
    return replace_region(page, BEGIN, END, markdown(counted))


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _kind(kind: str, number: int) -> list[str]:
    stage, _, symptom = kind.partition(": ")
    return [stage, symptom, f"{number:,}"]


def _architectures(platform: Platform) -> list[list[str]]:
    held = set(platform.split.test)
    named = {network: _architecture(network) for network in platform.networks}
    rows = []
    for architecture in sorted(set(named.values())):
        networks = {network for network, name in named.items() if name == architecture}
        tasks = [task for task in platform.tasks if networks & task.weights.keys()]
        cells = [len(networks), len(tasks), sum(task.task in held for task in tasks)]
        cells.append(sum(task.programs for task in tasks))
        row = [platform.name, architecture, *(f"{cell:,}" for cell in cells)]
        rows.append([*row, _times(geometric_mean([_gain(tasks, one) for one in networks]))])
    return rows


def _architecture(network: str) -> str:
    """Return a name without batch, size and dtype: ``a/b-1x224`` and ``a/b@8:float16`` give b."""
    name = network.rpartition("/")[2]
    return name.partition("@")[0] if "@" in name else name.split("-")[0]


def _gain(tasks: Sequence[TaskSummary], network: str) -> float:
    """Return a network's time with each task's median program over its time with the best."""
    ran = [task for task in tasks if network in task.weights and task.best]
    typical = math.fsum(task.weights[network] * (task.median or 0.0) for task in ran)
    best = math.fsum(task.weights[network] * (task.best or 0.0) for task in ran)
    return typical / best if best else 1.0


def _times(ratio: float) -> str:
    return f"{ratio:.3g} ×"


def _several(platform: Platform) -> list[TaskSummary]:
    """Return the tasks with more than one program; a task of few steps may have only one."""
    return [task for task in platform.tasks if task.programs > 1]


def _over_best(platform: Platform, what: Callable[[TaskSummary], float | None]) -> str:
    ratios = [(what(task) or 0.0) / task.best for task in _several(platform) if task.best]
    return f"{_times(median(ratios))}, {_times(max(ratios))}" if ratios else ""


def _each(platform: Platform) -> str:
    counts = sorted(task.programs for task in _several(platform))
    return f"{counts[0]:,}, {median(counts):,.0f}, {counts[-1]:,}" if counts else ""


def _torch(platform: Platform) -> str:
    ratios = [
        platform.torch[t.task] / t.best
        for t in platform.tasks
        if t.best and t.task in platform.torch
    ]
    return f"{_times(geometric_mean(ratios))} ({len(ratios):,} tasks)" if ratios else "not measured"


def _repeatability(platform: Platform) -> str:
    noise = platform.repeatability
    if noise is None:
        return "not measured"
    return f"{noise.median:.1%}, {noise.ninth_decile:.1%} ({noise.pairs:,} programs)"


_ROWS: dict[str, Callable[[Platform], str]] = {
    "device": lambda platform: platform.device,
    "space": lambda platform: ", ".join(sorted({task.format for task in platform.tasks})),
    "measured with": lambda platform: platform.software or "not recorded",
    "networks": lambda platform: f"{len(platform.networks):,}",
    "networks held out": lambda platform: f"{len(platform.split.held_out):,}",
    "tasks": lambda platform: f"{len(platform.tasks):,}",
    "tasks held out": lambda platform: f"{len(platform.split.test):,}",
    "distinct programs": lambda platform: f"{platform.programs:,}",
    "that ran": lambda platform: f"{platform.ran:,} ({platform.ran / platform.programs:.1%})",
    "tasks with several programs": lambda platform: f"{len(_several(platform)):,}",
    "programs of one of these (fewest, median, most)": _each,
    "timed runs": lambda platform: f"{platform.runs:,}",
    "runs of a program": lambda platform: f"{platform.fewest} to {platform.most}",
    "median over best of one (median, largest)": lambda platform: _over_best(
        platform, lambda t: t.median
    ),
    "worst over best of one (median, largest)": lambda platform: _over_best(
        platform, lambda t: t.worst
    ),
    "torch over the best, geometric mean": _torch,
    "noise within a measurement: deviation over mean of its runs, median": lambda platform: (
        f"{platform.noise:.1%}"
    ),
    "noise between two, turns apart: abs. log ratio of the means, median and 90 %": _repeatability,
    "programs with a run over twice their median": lambda platform: (
        f"{platform.jumpy / platform.programs:.1%}"
    ),
    "space on disk": lambda platform: f"{platform.bytes / 1e6:.2f} MB",
    "bytes per program": lambda platform: f"{platform.bytes / platform.programs:.1f}",
}
