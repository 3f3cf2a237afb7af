"""Match the records of two runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graph_net.compare.read import Run
from graph_net.compilers.registry import parse_options
from graph_net.results import RecordError, short_name
from graph_net.score.samples import Ints
from graph_net.store.counting_rows import last_rows
from graph_net.store.record_columns import label_of

_SELECTOR = re.compile(r"(?P<name>[^\[\]]+?)(?:\[(?P<options>.*)\])?(?:@(?P<version>[^@\[\]]+))?")
_GRAPH = ("graph_id", "device_kind")
_CONFIGURED = (*_GRAPH, "compiler", "options")
_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class MatchedRuns:
    """Two runs of equal length, row against row, and the number of records without a partner."""

    first: Run
    second: Run
    only_first: int
    only_second: int


def match_runs(
    first: Run, second: Run, between: tuple[str, str] | None = None, compilers: Sequence[str] = ()
) -> MatchedRuns:
    """Match records of the same graphs: of each common configuration, or of two named ones.

    Runs that have one configuration each are compared whatever it is called. Records of a common
    device are preferred, then those of a common protocol.
    """
    keys: tuple[str, ...] = _CONFIGURED
    if between is not None:
        first, second = select(first, between[0]), select(second, between[1])
        keys = _GRAPH
    elif compilers:
        first, second = (
            run.take(np.unique(np.concatenate([_find_rows(run, name) for name in compilers])))
            for run in (first, second)
        )
    elif len(_configurations(first)) == len(_configurations(second)) == 1:
        keys = _GRAPH
    return _join(first, second, keys)


def select(run: Run, name: str) -> Run:
    """Return the records of ``name``, ``name[option=value]`` or either with ``@version``."""
    selected = run.take(_find_rows(run, name))
    configurations = _configurations(selected, "version")
    if len(configurations) > 1:
        names = ", ".join(sorted(configurations))
        raise RecordError(f"{name!r} stands for several configurations; choose one: {names}")
    return selected


def _find_rows(run: Run, name: str) -> Ints:
    parts = _SELECTOR.fullmatch(name.strip())
    if parts is None:
        raise RecordError(
            f"{name!r} is not a configuration; write name, name[option=value] or name@version"
        )
    wanted = parse_options(parts["options"] or "")
    compilers = pa.array(_compilers_named(run, parts["name"]), pa.string())
    rows = pc.is_in(run.table["compiler"], compilers)
    if parts["version"]:
        rows = pc.and_(rows, pc.starts_with(run.table["version"], parts["version"]))
    if wanted:
        distinct = pc.unique(run.table["options"]).to_pylist()
        fitting = [text for text in distinct if wanted.items() <= json.loads(text).items()]
        rows = pc.and_(rows, pc.is_in(run.table["options"], pa.array(fitting, pa.string())))
    positions = np.flatnonzero(np.asarray(pc.fill_null(rows, False)))
    if not len(positions):
        available = ", ".join(sorted(_configurations(run, "version"))) or "none"
        raise RecordError(f"no records of {name!r}; available: {available}")
    return positions


def _compilers_named(run: Run, name: str) -> list[str]:
    """Return the compilers a user means; a file of the user's own also as ``bench`` took it."""
    compilers = [str(compiler) for compiler in pc.unique(run.table["compiler"]).to_pylist()]
    file, _, attribute = name.partition(":")
    if not file.endswith(".py") or name in compilers:
        return [name]
    path = f"{Path(file).absolute()}:{attribute}"
    whole = bool(attribute)  # without it the only class of the file is meant
    exact = [c for c in compilers if (c == path if whole else c.startswith(path))]
    return exact or [compiler for compiler in compilers if short_name(compiler) == name]


def _configurations(run: Run, *more: str) -> set[str]:
    """Return each configuration as a user would write it."""
    columns = ["compiler", "options", *more]
    rows = run.table.group_by(columns).aggregate([]).to_pylist()
    return {
        label_of(row["compiler"], row["options"])
        + (f"@{row['version']}" if row.get("version") else "")
        for row in rows
    }


def labels_of(run: Run) -> list[str]:
    """Return the configuration of each record, without options if its compiler has one set."""
    table = run.table.select(["compiler", "options"])
    distinct = table.group_by(["compiler", "options"]).aggregate([]).to_pylist()
    times = Counter(row["compiler"] for row in distinct)
    short = {
        (row["compiler"], row["options"]): short_name(row["compiler"])
        if times[row["compiler"]] == 1
        else label_of(row["compiler"], row["options"])
        for row in distinct
    }
    names = zip(table["compiler"].to_pylist(), table["options"].to_pylist(), strict=True)
    return [short[name] for name in names]


def _keep_last(run: Run, keys: tuple[str, ...]) -> Run:
    rows = last_rows(run.table, keys)
    return run if rows is None else run.take(rows)


def _join(first: Run, second: Run, keys: tuple[str, ...]) -> MatchedRuns:
    """Pair records of one device and protocol, then of one device, then the rest."""
    here, exact = (*keys, "device"), (*keys, "device", "protocol")
    first, second = _keep_last(first, exact), _keep_last(second, exact)
    left, right = _common_rows(first, second, exact)
    first, second = _keep_one(first, left, here), _keep_one(second, right, here)
    left = right = np.zeros(0, np.int64)
    for columns in (exact, here, keys):
        rest = [_unpaired(run, taken, columns) for run, taken in ((first, left), (second, right))]
        more = _common_rows(first.take(rest[0]), second.take(rest[1]), columns)
        left = np.concatenate([left, rest[0][more[0]]])
        right = np.concatenate([right, rest[1][more[1]]])
    return MatchedRuns(
        first.take(left), second.take(right), len(first) - len(left), len(second) - len(right)
    )


def _keep_one(run: Run, paired: Ints, columns: tuple[str, ...]) -> Run:
    """Return the paired records, and the last record of each key without one."""
    key = _key(run, columns)
    alone = ~np.asarray(pc.is_in(key, value_set=key.take(pa.array(paired))))
    last = last_rows(run.table, columns)
    alone &= np.isin(np.arange(len(run)), last) if last is not None else True
    return run.take(np.union1d(paired, np.flatnonzero(alone)))


def _unpaired(run: Run, paired: Ints, columns: tuple[str, ...]) -> Ints:
    """Return the records that are in no pair yet, the last of each key."""
    rest = np.setdiff1d(np.arange(len(run)), paired)
    last = last_rows(run.table.take(pa.array(rest)), columns)
    return rest if last is None else rest[last]


def _common_rows(first: Run, second: Run, keys: tuple[str, ...]) -> tuple[Ints, Ints]:
    """Return the rows of two runs that have the same keys, as equally long arrays."""
    positions = pc.index_in(_key(first, keys), value_set=_key(second, keys))
    rows = np.flatnonzero(np.asarray(pc.is_valid(positions)))
    return rows, np.asarray(pc.drop_null(positions), np.int64)


def _key(run: Run, keys: tuple[str, ...]) -> pa.Array:
    columns = [pc.fill_null(run.table[name], "") for name in keys]
    joined = pc.binary_join_element_wise(*columns, _SEPARATOR)
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
