"""Which records are compared with which."""

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
class Matched:
    """Two runs of equal length, row against row, and how many graphs only one of them has."""

    first: Run
    second: Run
    only_first: int
    only_second: int


def match_runs(
    first: Run, second: Run, between: tuple[str, str] | None = None, compilers: Sequence[str] = ()
) -> Matched:
    """The records of the same graphs: of each configuration both have, or of two that are named.

    Runs that have one configuration each are compared whatever it is called. A device that both
    have goes before one that only one has, and so does a protocol.
    """
    keys: tuple[str, ...] = _CONFIGURED
    if between is not None:
        first, second = select(first, between[0]), select(second, between[1])
        keys = _GRAPH
    elif compilers:
        first, second = (
            run.take(np.unique(np.concatenate([_chosen(run, word) for word in compilers])))
            for run in (first, second)
        )
    elif len(_configurations(first)) == len(_configurations(second)) == 1:
        keys = _GRAPH
    return _joined(first, second, keys)


def select(run: Run, word: str) -> Run:
    """The records of ``name``, ``name[option=value]`` or either with ``@version``: one of them."""
    found = run.take(_chosen(run, word))
    several = _configurations(found, "version")
    if len(several) > 1:
        words = ", ".join(sorted(several))
        raise RecordError(f"{word!r} stands for several configurations; choose one: {words}")
    return found


def _chosen(run: Run, word: str) -> Ints:
    parts = _SELECTOR.fullmatch(word.strip())
    if parts is None:
        raise RecordError(f"{word!r} is no configuration: name, name[option=value], name@version")
    wanted = parse_options(parts["options"] or "")
    rows = pc.is_in(run.table["compiler"], pa.array(_called(run, parts["name"]), pa.string()))
    if parts["version"]:
        rows = pc.and_(rows, pc.starts_with(run.table["version"], parts["version"]))
    if wanted:
        distinct = pc.unique(run.table["options"]).to_pylist()
        fitting = [text for text in distinct if wanted.items() <= json.loads(text).items()]
        rows = pc.and_(rows, pc.is_in(run.table["options"], pa.array(fitting, pa.string())))
    found = np.flatnonzero(np.asarray(pc.fill_null(rows, False)))
    if not len(found):
        known = ", ".join(sorted(_configurations(run, "version"))) or "nothing"
        raise RecordError(f"there is no {word!r}; there is: {known}")
    return found


def _called(run: Run, name: str) -> list[str]:
    """The compilers that a user calls so: one of a user's own file also by what ``bench`` took."""
    known = [str(found) for found in pc.unique(run.table["compiler"]).to_pylist()]
    file, _, attribute = name.partition(":")
    if not file.endswith(".py") or name in known:
        return [name]
    path = f"{Path(file).absolute()}:{attribute}"
    whole = bool(attribute)  # without it the only class of the file is meant
    exact = [f for f in known if (f == path if whole else f.startswith(path))]
    return exact or [found for found in known if short_name(found) == name]


def _configurations(run: Run, *more: str) -> set[str]:
    """Each configuration as a user would write it."""
    columns = ["compiler", "options", *more]
    rows = run.table.group_by(columns).aggregate([]).to_pylist()
    return {
        label_of(row["compiler"], row["options"])
        + (f"@{row['version']}" if row.get("version") else "")
        for row in rows
    }


def labels(run: Run) -> list[str]:
    """The configuration of each record, without its options where a compiler has but one set."""
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


def _last(run: Run, keys: tuple[str, ...]) -> Run:
    rows = last_rows(run.table, keys)
    return run if rows is None else run.take(rows)


def _joined(first: Run, second: Run, keys: tuple[str, ...]) -> Matched:
    """Pair records of one device and protocol, then of one device, then what is left of any."""
    here, exact = (*keys, "device"), (*keys, "device", "protocol")
    first, second = _last(first, exact), _last(second, exact)
    left, right = _places(first, second, exact)
    first, second = _one_each(first, left, here), _one_each(second, right, here)
    left = right = np.zeros(0, np.int64)
    for columns in (exact, here, keys):
        rest = [_unpaired(run, taken, columns) for run, taken in ((first, left), (second, right))]
        more = _places(first.take(rest[0]), second.take(rest[1]), columns)
        left = np.concatenate([left, rest[0][more[0]]])
        right = np.concatenate([right, rest[1][more[1]]])
    return Matched(
        first.take(left), second.take(right), len(first) - len(left), len(second) - len(right)
    )


def _one_each(run: Run, paired: Ints, columns: tuple[str, ...]) -> Run:
    """The paired records, and of what has none of them the last."""
    key = _key(run, columns)
    alone = ~np.asarray(pc.is_in(key, value_set=key.take(pa.array(paired))))
    last = last_rows(run.table, columns)
    alone &= np.isin(np.arange(len(run)), last) if last is not None else True
    return run.take(np.union1d(paired, np.flatnonzero(alone)))


def _unpaired(run: Run, paired: Ints, columns: tuple[str, ...]) -> Ints:
    """The records that are in no pair yet, the last of each."""
    rest = np.setdiff1d(np.arange(len(run)), paired)
    last = last_rows(run.table.take(pa.array(rest)), columns)
    return rest if last is None else rest[last]


def _places(first: Run, second: Run, keys: tuple[str, ...]) -> tuple[Ints, Ints]:
    """The rows of two runs that have the same keys, as equally long lists."""
    mine, theirs = (_key(run, keys) for run in (first, second))
    found = pc.index_in(mine, value_set=theirs)
    rows = np.flatnonzero(np.asarray(pc.is_valid(found)))
    return rows, np.asarray(pc.drop_null(found), np.int64)


def _key(run: Run, keys: tuple[str, ...]) -> pa.Array:
    columns = [pc.fill_null(run.table[name], "") for name in keys]
    joined = pc.binary_join_element_wise(*columns, _SEPARATOR)
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
