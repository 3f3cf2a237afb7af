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
    """Compare two runs graph by graph: what got faster, slower, broken or fixed.

    With ``between`` two configurations are compared instead of each with itself. ``threshold`` is
    the smallest factor of speed that counts, ``fdr`` the false discovery rate among faster and
    slower graphs; ``levels`` is how far the smallest passing t must rise to be less correct.
    """
    from graph_net.compare import CompareSettings
    from graph_net.compare import compare as compare_runs

    (path,) = record_paths([first])
    other = None if second is None else record_paths([second])[0]
    settings = CompareSettings(threshold, fdr, levels=levels)
    return compare_runs(path, other, between, compilers, settings)
