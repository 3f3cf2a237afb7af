"""Kept verdicts, counted for a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corpus.some_graphs import some_graph
from graph_net.corpus.marked_region import replace_region
from graph_net.corpus.pack import Pack, PackError, PackWriter
from graph_net.corpus.verdict_stats import BEGIN, END, read_verdicts, verdict_table, with_verdicts
from graph_net.validate.report import Requirement, RequirementResult, State, ValidationReport
from graph_net.validate.report_file import VerdictFile


def test_verdicts_of_a_packs_graphs_are_counted(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        for number in range(3):
            writer.add(f"g{number}", some_graph(number))
    passed = tuple(RequirementResult(requirement, State.PASSED) for requirement in Requirement)
    failed = (*passed[:-1], RequirementResult(passed[-1].requirement, State.FAILED, "why"))
    with VerdictFile(tmp_path / "kept") as kept:
        whole = ValidationReport("g0", some_graph(0).structure, passed, difference=1e-7)
        kept.add(whole)
        kept.add(replace(whole, name="g1", structure=some_graph(1).structure, findings=failed))
        kept.add(replace(whole, name="another", structure="of another pack"))
    pack = Pack(tmp_path / "pack")
    table = verdict_table(read_verdicts(pack, tmp_path / "kept"), len(pack))
    assert "| runnable | 2 | 0 | 0 |" in table
    assert "| accessible | 1 | 0 | 1 |" in table
    assert "2 of 3 graphs were validated, 1 of them meet all five" in table
    assert "at most 1e-07" in table
    assert with_verdicts(f"a\n{BEGIN}old{END}\nb", table) == f"a\n{BEGIN}\n{table}\n{END}\nb"


def test_missing_files_and_marks_are_told(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("g", some_graph(0))
    with pytest.raises(PackError, match="validate --keep"):
        read_verdicts(Pack(tmp_path / "pack"), tmp_path / "none")
    with pytest.raises(ValueError, match="needs one"):
        replace_region("no marks", "<a>", "<b>", "text")
