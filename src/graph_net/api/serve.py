"""Serve a local page over packs, records, programs and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_net.api.records import Records
    from graph_net.serve.listen import Served

BUILD = Path("build")


def serve(*sources: str | Path | Records, port: int = 0) -> Served:
    """Serve pages over directories in the background; return the server, with its ``address``.

    Without sources, the shipped corpus and ``build/``. It listens on this machine alone and ends
    with ``close()``, with a ``with`` block, or with the program.
    """
    from graph_net.api.records import record_paths

    return served(record_paths(sources), port).start()


def served(paths: Sequence[Path], port: int = 0) -> Served:
    """Return a server over directories that has its sockets and does not answer yet."""
    from graph_net.serve.listen import Served

    return Served(list(paths) or default_paths(), port)


def default_paths() -> list[Path]:
    """Return the shipped corpus and ``build/``, as far as they are there."""
    from graph_net.corpus.pack import PackError
    from graph_net.corpus.shipped import corpus_at_hand

    found = [BUILD] if BUILD.is_dir() else []
    try:
        return [corpus_at_hand(), *found]
    except PackError:
        return found
