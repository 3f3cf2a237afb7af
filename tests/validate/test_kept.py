"""Verdicts that are kept, torn and found again."""

from __future__ import annotations

from pathlib import Path

from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport
from graph_net.validate.report_file import VerdictFile


def a_verdict(name: str, structure: str = "s", state: State = State.PASSED) -> ValidationReport:
    return ValidationReport(
        name, structure, tuple(RequirementResult(r, state) for r in Requirement)
    )


def test_kept_verdicts_are_found_for_the_same_graphs_only(tmp_path: Path) -> None:
    kept = VerdictFile(tmp_path / "in" / "verdicts.jsonl")
    assert kept.verdicts({"a": "s"}) == []
    with kept:
        for verdict in (a_verdict("a"), a_verdict("b", "old"), a_verdict("c", "")):
            kept.add(verdict)
    found = kept.verdicts({"a": "s", "b": "new", "c": "s", "d": "s"})
    assert found == [a_verdict("a")]


def test_a_torn_line_costs_one_verdict_and_the_last_word_counts(tmp_path: Path) -> None:
    kept = VerdictFile(tmp_path / "verdicts.jsonl")
    with kept:
        kept.add(a_verdict("a", state=State.FAILED))
        kept.add(a_verdict("b"))
    whole = kept.path.read_bytes()
    kept.path.write_bytes(whole[:-20])
    with kept:
        kept.add(a_verdict("a"))
    assert kept.verdicts({"a": "s", "b": "s"}) == [a_verdict("a")]
