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
    found = [_counted(name, path) for name, path in platforms(folder).items()]
    splits = make_splits({one.name: one.tasks for one in found})
    return [replace(one, split=splits.by_network(one.name, one.tasks)) for one in found]


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
    found: dict[str, Any] = {}
    for task, extra in connection.execute(_EXTRA, [f'"{key}":']).fetchall():
        tree = json.loads(extra)
        if isinstance(tree, dict) and key in tree:
            found.setdefault(task, tree[key])
    return found


def _are_times(value: Any) -> bool:
    """Return whether a value read from a file is a list of durations."""
    times = value if isinstance(value, list) else []
    return bool(times) and all(isinstance(t, int | float) and t > 0 for t in times)


def markdown(found: Sequence[Platform]) -> str:
    """Return all tables: platforms side by side, architectures, failures."""
    rows = [[what, *(tell(one) for one in found)] for what, tell in _ROWS.items()]
    lines = _table(["", *(one.name for one in found)], rows)
    heads = ["platform", "architecture", "networks", "tasks", "held out", "programs"]
    rows = [row for one in found for row in _architectures(one)]
    lines += ["", *_table([*heads, "typical / best"], rows)]
    rows = [[one.name, *_kind(kind, n)] for one in found for kind, n in one.failures.items()]
    if rows:
        lines += ["", *_table(["platform", "stage", "symptom", "failures"], rows)]
    return "\n".join(lines)


def with_statistics(page: str, found: Sequence[Platform]) -> str:
    """Return a page with the text between its two marks regenerated."""
    return replace_region(page, BEGIN, END, markdown(found))


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _kind(kind: str, number: int) -> list[str]:
    stage, _, symptom = kind.partition(": ")
    return [stage, symptom, f"{number:,}"]


def _architectures(of: Platform) -> list[list[str]]:
    held = set(of.split.test)
    named = {network: _architecture(network) for network in of.networks}
    rows = []
    for architecture in sorted(set(named.values())):
        networks = {network for network, name in named.items() if name == architecture}
        tasks = [task for task in of.tasks if networks & task.weights.keys()]
        cells = [len(networks), len(tasks), sum(task.task in held for task in tasks)]
        cells.append(sum(task.programs for task in tasks))
        row = [of.name, architecture, *(f"{cell:,}" for cell in cells)]
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


def _several(of: Platform) -> list[TaskSummary]:
    """Return the tasks with more than one program; a task of few steps may have only one."""
    return [task for task in of.tasks if task.programs > 1]


def _over_best(of: Platform, what: Callable[[TaskSummary], float | None]) -> str:
    ratios = [(what(task) or 0.0) / task.best for task in _several(of) if task.best]
    return f"{_times(median(ratios))}, {_times(max(ratios))}" if ratios else ""


def _each(of: Platform) -> str:
    counts = sorted(task.programs for task in _several(of))
    return f"{counts[0]:,}, {median(counts):,.0f}, {counts[-1]:,}" if counts else ""


def _torch(of: Platform) -> str:
    ratios = [of.torch[t.task] / t.best for t in of.tasks if t.best and t.task in of.torch]
    return f"{_times(geometric_mean(ratios))} ({len(ratios):,} tasks)" if ratios else "not measured"


def _repeatability(of: Platform) -> str:
    found = of.repeatability
    if found is None:
        return "not measured"
    return f"{found.median:.1%}, {found.ninth_decile:.1%} ({found.pairs:,} programs)"


_ROWS: dict[str, Callable[[Platform], str]] = {
    "device": lambda of: of.device,
    "space": lambda of: ", ".join(sorted({task.format for task in of.tasks})),
    "measured with": lambda of: of.software or "not recorded",
    "networks": lambda of: f"{len(of.networks):,}",
    "networks held out": lambda of: f"{len(of.split.held_out):,}",
    "tasks": lambda of: f"{len(of.tasks):,}",
    "tasks held out": lambda of: f"{len(of.split.test):,}",
    "distinct programs": lambda of: f"{of.programs:,}",
    "that ran": lambda of: f"{of.ran:,} ({of.ran / of.programs:.1%})",
    "tasks with several programs": lambda of: f"{len(_several(of)):,}",
    "programs of one of these (fewest, median, most)": _each,
    "timed runs": lambda of: f"{of.runs:,}",
    "runs of a program": lambda of: f"{of.fewest} to {of.most}",
    "median over best of one (median, largest)": lambda of: _over_best(of, lambda t: t.median),
    "worst over best of one (median, largest)": lambda of: _over_best(of, lambda t: t.worst),
    "torch over the best, geometric mean": _torch,
    "noise within a measurement: deviation over mean of its runs, median": lambda of: (
        f"{of.noise:.1%}"
    ),
    "noise between two, turns apart: abs. log ratio of the means, median and 90 %": _repeatability,
    "programs with a run over twice their median": lambda of: f"{of.jumpy / of.programs:.1%}",
    "space on disk": lambda of: f"{of.bytes / 1e6:.2f} MB",
    "bytes per program": lambda of: f"{of.bytes / of.programs:.1f}",
}
