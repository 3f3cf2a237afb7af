"""Capture many zoo entries at once, each in a process that may die."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from graph_net.capture.worker import Result, Spool, capture_entry, result_from_json, warm_up
from graph_net.capture.zoo.zoo import Zoo, ZooEntry
from graph_net.isolate import INHERITED, Finished, Limits, MakePool, Pool


def collect(
    zoo: Zoo,
    entries: Iterable[ZooEntry],
    spool: Spool,
    jobs: int,
    limits: Limits,
    make_pool: MakePool = Pool,
) -> Iterator[Result]:
    """Yield results in the order they are ready; one process per entry, ``jobs`` at a time.

    Workers are forked from this process, which should have imported torch and the zoo's library and
    must have no computing threads; another ``make_pool`` may fork them elsewhere. They are not
    confined: a model is built by a library that the user installed, which reads its caches and may
    download.
    """
    for done in make_pool(limits, jobs, INHERITED, warm_up).each(entries, partial(_capture, zoo)):
        yield _store(done, spool)


def _capture(zoo: Zoo, entry: ZooEntry) -> Iterator[Any]:
    """Yield the result of an entry, then its graphs."""
    result, blobs = capture_entry(zoo, entry)
    yield asdict(result)
    yield from blobs


def _store(done: Finished[ZooEntry], spool: Spool) -> Result:
    """Store a worker's answers, or why it died."""
    if done.death is None:
        result, blobs = result_from_json(done.answers[0]), list(done.answers[1:])
    else:
        line = " ".join(done.death.reason.split())[:500]
        result, blobs = Result(done.item, False, line, seconds=done.seconds), []
    spool.put(result, blobs)
    return result
