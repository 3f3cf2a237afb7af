"""A progress bar on the terminal, nothing where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from graph_net.cli.common import err


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Yields a function to call once for each thing done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # Drawn when something is done, not by a thread: workers are forked meanwhile.
    with Progress(*columns, console=err, disable=not err.is_terminal, auto_refresh=False) as bar:
        task = bar.add_task(what, total=total)
        bar.refresh()

        def advance() -> None:
            bar.advance(task)
            bar.refresh()

        yield advance
