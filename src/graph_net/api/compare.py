"""Compare two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.records import Records, record_paths

if TYPE_CHECKING:
    from graph_net.compare import Comparison


def compare(
    first: str | Path | Records,
    second: str | Path | Records | None = None,
    *,
    between: tuple[str, str] | None = None,
    compilers: Sequence[str] = (),
    threshold: float = 1.05,
    fdr: float = 0.05,
    levels: float = 1.0,
) -> Comparison:
    """Compare two runs graph by graph: what got faster, slower, broken or repaired.

    With ``between`` two configurations are compared instead of each with itself. From a factor of
    ``threshold`` on a difference of speed matters; ``fdr`` is the share of faster and slower graphs
    that may be false; ``levels`` is how far the smallest passing t must rise to be less correct.
    """
    from graph_net.compare import CompareSettings
    from graph_net.compare import compare as compare_runs

    paths = record_paths(each for each in (first, second) if each is not None)
    settings = CompareSettings(threshold, fdr, levels=levels)
    return compare_runs(
        paths[0], paths[1] if len(paths) > 1 else None, between, compilers, settings
    )
