"""How many graphs of a pack meet each of the five requirements, from stored verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graph_net.corpus.marked_region import replace_region
from graph_net.corpus.pack import Pack, PackError
from graph_net.validate.report import Requirement, State, ValidationReport
from graph_net.validate.report_file import VerdictFile

BEGIN = "<!-- validation, made by `graph-net corpus stats` -->"
END = "<!-- end of validation -->"
WORDS = {
    State.PASSED: "passed",
    State.FAKE: "passed without values",
    State.FAILED: "failed",
}


def read_verdicts(pack: Pack, path: Path) -> list[ValidationReport]:
    """Return the verdicts that ``graph-net validate --keep`` wrote, of graphs in the pack."""
    if not path.is_file():
        raise PackError(
            f"no verdicts at {path}; write them with `graph-net validate --keep {path}`"
        )
    rows = pack.rows(["name", "structure"]).to_pylist()
    return VerdictFile(path).verdicts({row["name"]: row["structure"] for row in rows})


def verdict_table(verdicts: Sequence[ValidationReport], graphs: int) -> str:
    """Return the number of graphs by requirement and state, as Markdown."""
    lines = [f"| requirement | {' | '.join(WORDS.values())} |", "|---" * (len(WORDS) + 1) + "|"]
    for requirement in Requirement:
        states = [
            finding.state
            for verdict in verdicts
            for finding in verdict.findings
            if finding.requirement is requirement
        ]
        cells = " | ".join(f"{states.count(state):,}" for state in WORDS)
        lines.append(f"| {requirement.value} | {cells} |")
    whole = sum(verdict.ok for verdict in verdicts)
    differ = [v.difference for v in verdicts if v.difference is not None]
    lines += [
        "",
        f"{len(verdicts):,} of {graphs:,} graphs were validated, {whole:,} of them meet all five. "
        f"{len(differ):,} were run on values; the outputs of their re-capture and of their pieces "
        f"differ by at most {max(differ, default=0.0):.1g} of the largest value.",
    ]
    return "\n".join(lines)


def with_verdicts(page: str, table: str) -> str:
    """Return the page with its region on validation replaced."""
    return replace_region(page, BEGIN, END, table)
