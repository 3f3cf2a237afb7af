"""Verdicts as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from graph_net.cli.common import err, out
from graph_net.printable import count_phrase

if TYPE_CHECKING:
    from graph_net.validate.report import ValidationReport

FEW = 40
"""So many graphs are listed one by one, more are counted by library."""


def verdict_table(verdicts: list[ValidationReport], libraries: Mapping[str, str]) -> None:
    """Print a column for each requirement; a row for each graph, or library if they are many."""
    from graph_net.validate.report import Requirement

    single = len(verdicts) <= FEW
    table = Table()
    table.add_column("graph" if single else "library", overflow="fold")
    if not single:
        table.add_column("graphs", justify="right")
    for requirement in Requirement:
        table.add_column(requirement.value)
    table.add_column("difference", justify="right")
    table.add_column("model" if single else "redundant", justify="right")
    groups: dict[str, list[ValidationReport]] = {}
    for verdict in verdicts:
        key = verdict.name if single else libraries.get(verdict.name, "")
        groups.setdefault(key, []).append(verdict)
    for key, group in sorted(groups.items()):
        cells = [_cell(group, requirement.value) for requirement in Requirement]
        largest = max((v.difference for v in group if v.difference is not None), default=None)
        count = [] if single else [f"{len(group):,}"]
        end = (
            _number(group[0].model_difference)
            if single
            else str(sum(bool(v.redundant_with) for v in group))
        )
        table.add_row(key, *count, *cells, _number(largest), end)
    out.print(table)


def _cell(group: list[ValidationReport], requirement: str) -> Text:
    states = Counter(f.state.value for v in group for f in v.findings
                     if f.requirement.value == requirement)  # fmt: skip
    if len(group) == 1:
        (state,) = states
        return Text(state, "red" if state == "failed" else "")
    words = [Text(f"{states['passed']:,}")]
    words += [Text(f"{states['fake']:,} fake")] if states["fake"] else []
    words += [Text(f"{states['failed']:,} failed", "red")] if states["failed"] else []
    return Text(", ").join(words)


def _number(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"


def failure_table(verdicts: list[ValidationReport]) -> None:
    """Print each reason with its requirement, how many graphs it stands for, and one of them."""
    from graph_net.results.signature import signature_of

    reasons: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for verdict in verdicts:
        told = [(f.requirement.value, f.reason) for f in verdict.failures]
        if verdict.model_reason:
            told.append(("as its model", verdict.model_reason))
        for requirement, reason in told:
            key = (requirement, signature_of(reason))
            reasons.setdefault(key, []).append((verdict.name, reason))
    if not reasons:
        return
    table = Table(title="failed", title_justify="left")
    table.add_column("requirement")
    table.add_column("why", overflow="fold")
    table.add_column("graphs", justify="right")
    table.add_column("for example", overflow="fold")
    for (requirement, _), group in sorted(reasons.items(), key=lambda item: -len(item[1])):
        name, reason = group[0]
        table.add_row(requirement, reason, str(len(group)), name)
    out.print(table)


def summary(verdicts: list[ValidationReport], seconds: float) -> None:
    """Print how many graphs failed, repeat a structure, and were compared on values."""
    import torch

    from graph_net.validate.compare import TOLERANCE

    failed = sum(not verdict.ok for verdict in verdicts)
    again = sum(bool(verdict.redundant_with) for verdict in verdicts)
    really = sum(verdict.difference is not None for verdict in verdicts)
    err.print(
        f"{count_phrase(len(verdicts), 'graph')} in {seconds:.0f} s: {failed:,} failed, "
        f"{again:,} with "
        f"the structure of another; {really:,} compared on values (float32: equal within "
        f"{TOLERANCE[torch.float32]:g} of the largest value)"
    )
