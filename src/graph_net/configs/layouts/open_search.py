"""A search for the layouts of one graph, opened where torch and numpy are installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from graph_net.configs.layouts.layout_predictor import LayoutPredictor
from graph_net.configs.layouts.layout_search import LayoutSearch, SearchSettings
from graph_net.configs.layouts.layout_workers import WorkerSettings
from graph_net.configs.layouts.sites import Site
from graph_net.isolate import Sandbox
from graph_net.isolate.workdir import temporary_directory


@contextmanager
def open_search(
    data: bytes,
    sites: Sequence[Site],
    predictor: LayoutPredictor,
    *,
    device: str,
    threads: int,
    jobs: int = 0,
    settings: SearchSettings | None = None,
    alone: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[LayoutSearch]:
    """Yield the search for the layouts of a graph, given as its bytes and its sites.

    ``jobs`` processes rewrite it, by default all cores but one; ``alone`` makes the context in
    which the device is timed.
    """
    import torch  # noqa: F401  # once, here, rather than in each process that is forked

    with temporary_directory("layout-") as folder:
        yield LayoutSearch(
            sites,
            WorkerSettings((data,), device, "eager", threads, folder),
            Sandbox(folder, device=device),
            jobs or max(1, (os.cpu_count() or 2) - 1),
            settings or SearchSettings(),
            predictor,
            alone,
        )
