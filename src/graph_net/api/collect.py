"""Capture the models of zoos into a pack."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.capture.worker import Result
    from graph_net.cluster.connection import Cluster


@dataclass(frozen=True)
class CollectedZoo:
    """A zoo and the results of its models, those of earlier runs included."""

    name: str
    results: list[Result]

    @property
    def failed(self) -> list[Result]:
        """The models that could not be captured."""
        return [result for result in self.results if not result.ok]


def collect_zoos(
    output: Path,
    zoos: str = "",
    *,
    work: Path,
    jobs: int = 0,
    limit: int | None = None,
    seconds: int = 180,
    gigabytes: float = 10.0,
    mode: str = "inference",
    dtype: str = "",
    retry: bool = False,
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> Iterator[CollectedZoo]:
    """Yield each zoo when its models are captured; ``pack_collected`` packs the graphs.

    Models that the pack ``output`` has, and those with a result in ``work``, are not captured
    again. Models come in an order that is shuffled once, so that a part of a run is a fair sample.
    With a ``cluster``, whose nodes need the zoos' libraries, models are captured there.
    """
    from graph_net.capture.collect import collect
    from graph_net.capture.training import MODES
    from graph_net.capture.worker import Spool
    from graph_net.capture.zoo import available, load
    from graph_net.capture.zoo.variant import Variant
    from graph_net.cluster.connection import pools
    from graph_net.corpus.pack import Pack, is_pack
    from graph_net.corpus.pack_collected import name_of
    from graph_net.isolate import Limits

    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; available: {', '.join(MODES)}")
    names = [name for name in zoos.split(",") if name] or [n for n, ok in available().items() if ok]
    spool, limits = Spool(work), Limits.of(seconds, gigabytes)
    packed = set(Pack(output).names()) if is_pack(output) else set()
    with pools(cluster, jobs) as (make_pool, several):
        for name in names:
            zoo = Variant(load(name), mode, dtype) if mode != "inference" or dtype else load(name)
            entries = sorted(
                (entry for entry in zoo.entries() if name_of(entry) not in packed),
                key=lambda entry: entry.name,
            )
            random.Random(0).shuffle(entries)  # noqa: S311 - an order, not a secret
            stored = {entry: spool.result(entry) for entry in entries[:limit]}
            missing = [e for e, r in stored.items() if r is None or (retry and not r.ok)]
            results = [r for e, r in stored.items() if r is not None and e not in set(missing)]
            with display_of(progress).progress(name, len(missing)) as advance:
                for result in collect(zoo, missing, spool, several, limits, make_pool):
                    results.append(result)
                    advance()
            yield CollectedZoo(name, results)


def pack_collected(work: Path, output: Path, by_size: bool = False) -> int:
    """Pack the distinct graphs that ``collect_zoos`` left in ``work``; return how many were new."""
    from graph_net.capture.worker import Spool
    from graph_net.corpus.pack_collected import gather

    return gather(Spool(work), output, by_size)
