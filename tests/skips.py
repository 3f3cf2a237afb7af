"""What was skipped and why, in the last lines that pytest prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def skip_lines(reports: Iterable[Any]) -> list[str]:
    """A line for each reason, the most frequent first."""
    reasons = Counter(_reason(report) for report in reports)
    return [f"skipped {count}: {reason}" for reason, count in reasons.most_common()]


def _reason(report: Any) -> str:
    words = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(words).removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it where everybody looks: a test that is not run is not a test that passes."""
    for line in skip_lines(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)
