"""Verdicts in a file, one a line as they come: a validation that was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from graph_net.store.journal import LineJournal, whole_lines
from graph_net.validate.report import ValidationReport, verdict_from_json

LONGEST_LINE = 1 << 20


class Kept:
    """A file of verdicts; those of graphs that are what they were need not be found again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def verdicts(self, structures: Mapping[str, str]) -> list[ValidationReport]:
        """The verdicts of the graphs with these names and structures; the last of each counts.

        A line that is torn, as a killed writer leaves it, is passed over.
        """
        found: dict[str, ValidationReport] = {}
        if not self.path.exists():
            return []
        for line in whole_lines(self.path, LONGEST_LINE):
            try:
                verdict = verdict_from_json(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if verdict.structure and structures.get(verdict.name) == verdict.structure:
                found[verdict.name] = verdict
        return list(found.values())

    def __enter__(self) -> Kept:
        self._lines = LineJournal(self.path, durable=False)
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()

    def add(self, verdict: ValidationReport) -> None:
        """Keep a verdict."""
        self._lines.append(json.dumps(verdict.as_json()).encode())
