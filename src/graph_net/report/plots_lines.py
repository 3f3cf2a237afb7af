"""The lines of a picture of curves: scores with bands, from samples or from JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from graph_net.results import RecordError
from graph_net.score import LADDER, Parameters, ScoredGraphs, estimate, load
from graph_net.score.samples import Floats
from graph_net.store.files import read_text

Which = Literal["s", "es"]
FINE = np.unique(np.round(np.concatenate([np.linspace(-10, 4, 281), LADDER]), 6))
"""The t of a curve whose levels are known exactly."""


@dataclass(frozen=True)
class Line:
    """One curve; ``low`` and ``high`` are its band, if it has one.

    ``whole`` if only whole t are known, as in a log.
    """

    name: str
    ts: Floats
    values: Floats
    low: Floats | None
    high: Floats | None
    whole: bool
    note: str = ""


def line_of(
    name: str, samples: ScoredGraphs, which: Which, parameters: Parameters, confidence: float = 0.95
) -> Line:
    """Return the curve of samples."""
    levels = samples.t[np.isfinite(samples.t)]
    whole = bool(np.array_equal(levels, np.round(levels)))
    ts = np.asarray(LADDER if whole else FINE)
    scores = estimate(samples, parameters, ts, confidence=confidence)
    value, low, high = (getattr(c, which)[0] for c in (scores.curves, scores.low, scores.high))
    note = f"n = {scores.samples:,}"
    return Line(name, ts, value, np.minimum(low, value), np.maximum(high, value), whole, note)


def lines_of(
    sources: Iterable[Path | str],
    which: Which,
    parameters: Parameters = Parameters(),  # noqa: B008 - frozen
) -> list[Line]:
    """Return the curves of sources; JSON of ``graph-net score --json`` is drawn as it is."""
    lines: list[Line] = []
    for source in map(Path, sources):
        stored = read_scores(source) if source.suffix == ".json" and source.is_file() else None
        if stored is not None:
            lines += [_stored_line(name, values) for name, values in stored.items()]
            continue
        curves = load([source])
        lines += [line_of(n, s, which, parameters) for n, s in curves.items() if len(s)]
    if not lines:
        raise RecordError("nothing to draw: no measurement of these sources counts")
    return lines


def read_scores(path: Path) -> dict[str, dict[float, float]] | None:
    """Read a JSON file ``{t: score}`` or ``{curve: {t: score}}``; return None for other JSON."""
    try:
        tree = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is not JSON: {error}") from error
    if not isinstance(tree, dict) or not tree:
        return None
    levels = _read_levels(tree)
    if levels is not None:
        return {path.stem: levels}
    curves = {}
    for name, values in tree.items():
        levels = _read_levels(values)
        if levels is None:
            return None
        curves[str(name)] = levels
    return curves


def _read_levels(tree: object) -> dict[float, float] | None:
    if not isinstance(tree, Mapping) or not tree:
        return None
    levels = {}
    for key, value in tree.items():
        try:
            t = float(key)
        except (TypeError, ValueError):
            return None
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(t) or not 0 < value < math.inf:
            return None
        levels[t] = float(value)
    return dict(sorted(levels.items()))


def _stored_line(name: str, values: dict[float, float]) -> Line:
    return Line(
        name, np.array(list(values)), np.array(list(values.values())), None, None,
        all(t == round(t) for t in values),
    )  # fmt: skip
