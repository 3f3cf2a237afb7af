"""A file of verdicts, one per line, so that a stopped validation can resume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from graph_net.store.journal import LineJournal, whole_lines
from graph_net.validate.report import ValidationReport, verdict_from_json

LONGEST_LINE = 1 << 20


class VerdictFile:
    """A file of verdicts; those of unchanged graphs are reused."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def verdicts(self, structures: Mapping[str, str]) -> list[ValidationReport]:
        """Return the last verdict of each graph with one of these names and structures.

        A damaged line, as a killed writer leaves it, is skipped.
        """
        verdicts: dict[str, ValidationReport] = {}
        if not self.path.exists():
            return []
        for line in whole_lines(self.path, LONGEST_LINE):
            try:
                verdict = verdict_from_json(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if verdict.structure and structures.get(verdict.name) == verdict.structure:
                verdicts[verdict.name] = verdict
        return list(verdicts.values())

    def __enter__(self) -> VerdictFile:
        self._lines = LineJournal(self.path, durable=False)
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()

    def add(self, verdict: ValidationReport) -> None:
        """Append a verdict."""
        self._lines.append(json.dumps(verdict.as_json()).encode())
