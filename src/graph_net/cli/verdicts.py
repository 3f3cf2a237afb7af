"""Print verdicts of validation as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from graph_net.cli.common import err, new_table, out
from graph_net.printable import count_phrase

if TYPE_CHECKING:
    from graph_net.validate.report import ValidationReport

FEW = 40
"""Up to this many graphs are listed one by one, more are counted by library."""


def print_verdicts(verdicts: list[ValidationReport], libraries: Mapping[str, str]) -> None:
    """Print a column per requirement and a row per graph, or per library if they are many."""
    from graph_net.validate.report import Requirement

    single = len(verdicts) <= FEW
    numbers = ("graphs", "difference", "model", "redundant")
    first, last = (["graph"], "model") if single else (["library", "graphs"], "redundant")
    requirements = [requirement.value for requirement in Requirement]
    table = new_table(*first, *requirements, "difference", last, numbers=numbers)
    groups: dict[str, list[ValidationReport]] = {}
    for verdict in verdicts:
        key = verdict.name if single else libraries.get(verdict.name, "")
        groups.setdefault(key, []).append(verdict)
    for key, group in sorted(groups.items()):
        cells = [_cell(group, requirement) for requirement in requirements]
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
    counts = [Text(f"{states['passed']:,}")]
    counts += [Text(f"{states['fake']:,} fake")] if states["fake"] else []
    counts += [Text(f"{states['failed']:,} failed", "red")] if states["failed"] else []
    return Text(", ").join(counts)


def _number(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"


def print_failures(verdicts: list[ValidationReport]) -> None:
    """Print each reason with its requirement, the number of its graphs, and one of them."""
    from graph_net.results.signature import signature_of

    reasons: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for verdict in verdicts:
        failures = [(f.requirement.value, f.reason) for f in verdict.failures]
        if verdict.model_reason:
            failures.append(("as its model", verdict.model_reason))
        for requirement, reason in failures:
            key = (requirement, signature_of(reason))
            reasons.setdefault(key, []).append((verdict.name, reason))
    if not reasons:
        return
    columns = ("requirement", "why", "graphs", "for example")
    table = new_table(*columns, title="failed", numbers=["graphs"])
    for (requirement, _), group in sorted(reasons.items(), key=lambda item: -len(item[1])):
        name, reason = group[0]
        table.add_row(requirement, reason, str(len(group)), name)
    out.print(table)


def print_summary(verdicts: list[ValidationReport], seconds: float) -> None:
    """Print how many graphs failed, repeat a structure, and were compared on values."""
    import torch

    from graph_net.validate.compare import TOLERANCE

    failed = sum(not verdict.ok for verdict in verdicts)
    redundant = sum(bool(verdict.redundant_with) for verdict in verdicts)
    compared = sum(verdict.difference is not None for verdict in verdicts)
    err.print(
        f"{count_phrase(len(verdicts), 'graph')} in {seconds:.0f} s: {failed:,} failed, "
        f"{redundant:,} with the structure of another; {compared:,} compared on values "
        f"(float32: equal within {TOLERANCE[torch.float32]:g} of the largest value)"
    )
