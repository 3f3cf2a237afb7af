"""Records of measurements: iterate, score, query, report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from graph_net.printable import count_phrase, html_table

if TYPE_CHECKING:
    import pandas as pd

    from graph_net.results import Record
    from graph_net.score.scoreboard import Scoreboard
    from graph_net.store.records import RecordStore

SHOWN = 10
"""Records that a notebook lists."""


class Records:
    """The records of a directory that ``bench`` wrote; the last one of each measurement."""

    def __init__(self, path: str | Path, keeps: TemporaryDirectory[str] | None = None) -> None:
        self.path = Path(path)
        self._keeps = keeps
        """The temporary directory of the records, which lives as long as this."""

    @cached_property
    def store(self) -> RecordStore:
        """The store of the directory."""
        from graph_net.store.records import RecordStore

        return RecordStore(self.path)

    def __iter__(self) -> Iterator[Record]:
        return self.store.records()

    def __len__(self) -> int:
        if not self.store.parts() and not self.store.journals():
            return 0
        ((count,),) = self.query("SELECT count(*) FROM records")[1]
        return int(count)

    def query(self, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return column names and rows of a question in SQL to the table ``records``."""
        from graph_net.api.query import query

        return query(self.store, question)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per record with all stored columns, raw samples among them."""
        from graph_net.api.frames import data_frame

        columns, rows = self.query("SELECT * FROM records")
        return data_frame(rows, columns)

    def score(
        self,
        p: float = 0.0,
        b: float = 0.1,
        interpretation: str = "default",
        confidence: float = 0.95,
    ) -> Scoreboard:
        """Score every compiler: S(t) and ES(t) with intervals, the control, and a ranking."""
        from graph_net.score.scoreboard import score_sources

        return score_sources([self.path], p, b, interpretation, confidence)

    def report(self, output: str | Path = "report.html", title: str = "") -> Path:
        """Write one HTML file with everything the records say, and return its path."""
        from graph_net.api.report import report

        report(self.path, output, title=title)
        return Path(output)

    def __repr__(self) -> str:
        return f"<Records {self.path}: {count_phrase(len(self), 'record')}>"

    def _repr_html_(self) -> str:
        count = len(self)
        if not count:
            return html_table("0 records", (), ())
        columns, rows = self.query(
            "SELECT graph, compiler, coalesce(symptom, verdict) AS result, speedup, t "  # noqa: S608
            f"FROM records LIMIT {SHOWN}"
        )
        cells = [[_cell(value) for value in row] for row in rows]
        return html_table(count_phrase(count, "record"), columns, cells, more=count - len(cells))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def record_paths(sources: Iterable[str | Path | Records]) -> list[Path]:
    """Return the paths of records, given as paths or as records."""
    return [source.path if isinstance(source, Records) else Path(source) for source in sources]
