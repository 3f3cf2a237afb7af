"""``graph-net decompose``: whole graphs into a pack of their subgraphs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_net.api.subgraphs import KINDS, NOT_COMPOSED, decompose
from graph_net.cli import options as opt
from graph_net.cli.common import err, new_table, out
from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.printable import count_phrase, short_bytes
from graph_net.rewrite.typical import LONGEST, SHORTEST

if TYPE_CHECKING:
    from graph_net.corpus.decompose import Decomposition

EVERY = ",".join(KINDS)
NOTHING = 1
"""The exit code if no subgraph was found."""


def decompose_pack(
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to make.")],
    pack: opt.Pack = None,
    kinds: Annotated[str, typer.Option(help="Some of these, comma-separated.")] = EVERY,
    jobs: opt.Jobs = 0,
    work: opt.Work = Path("build/decompose"),
    seconds: Annotated[int, typer.Option(help="Time limit for one graph.")] = 600,
    gigabytes: opt.Gigabytes = 8.0,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run graphs of up to 1 GB whole and in pieces; outputs must be equal."
        ),
    ] = False,
    retry: Annotated[bool, typer.Option(help="Try graphs again that failed before.")] = False,
    budget: Annotated[
        str, typer.Option(help="Smallest graphs first; start none after 10m, 2h, …")
    ] = "",
    ray: opt.Ray = None,
) -> None:
    """Cut every graph into subgraphs of several kinds and pack each distinct one once.

    Subgraphs are distinct by id; a row says how often one occurs, in how many models and in which.
    A subgraph in which nothing is computed (views and new tensors only) is left out. Graphs of
    level torch are lowered to ATen first. Resumes: results in --work are not computed again; the
    pack is rewritten from all of them. A kind without a subgraph is named with the reason; exits
    with 1 if no kind has any.
    """
    decomposition, rows = decompose(
        Pack(pack or shipped_corpus()), output, kinds, work=work, jobs=jobs, seconds=seconds,
        gigabytes=gigabytes, check=check, retry=retry, budget=budget, cluster=ray,
    )  # fmt: skip
    _print_counts(decomposition, output)
    size = sum(part.stat().st_size for part in output.glob("part-*"))
    err.print(f"{count_phrase(rows, 'subgraph')} in {output}, {short_bytes(size)}")
    if any(notes.composed is False for notes in decomposition.notes()):
        raise ValueError(NOT_COMPOSED)
    if not rows:
        raise typer.Exit(NOTHING)


def _print_counts(decomposition: Decomposition, output: Path) -> None:
    """Print the number of groups of each kind, and why some are not subgraphs."""
    counts: Counter[tuple[str, str]] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for notes in decomposition.notes():
        counts[notes.kind, "groups"] += notes.groups
        counts[notes.kind, "trivial"] += notes.trivial
        counts[notes.kind, "failed"] += bool(notes.failed)
        counts[notes.kind, "composed"] += notes.composed is True
        if notes.composed is False:
            reasons[notes.kind, f"{notes.source}: pieces do not compose"] += 1
        if notes.failed:
            reasons[notes.kind, f"{notes.source}: {notes.failed}"] += 1
        for reason, number in notes.refused.items():
            counts[notes.kind, "refused"] += number
            reasons[notes.kind, reason] += number
    rows = (
        Pack(output).rows(["kind", "id", "structure"]).to_pylist()
        if any(output.glob("part-*"))
        else []
    )
    table = new_table("kind", *_COLUMNS, numbers=_COLUMNS)
    for kind in decomposition.kinds:
        ids = {row["id"] for row in rows if row["kind"] == kind}
        structures = {row["structure"] for row in rows if row["kind"] == kind}
        numbers = [counts[kind, column] for column in _COLUMNS[2:]]
        table.add_row(kind, *(f"{number:,}" for number in (len(ids), len(structures), *numbers)))
    out.print(table)
    for kind in decomposition.kinds:
        if not any(row["kind"] == kind for row in rows):
            err.print(f"{kind}: no subgraphs, {_why(kind, counts)}")
    for (kind, reason), number in reasons.most_common(12):
        err.print(f"{kind}: {number} x {reason}")


_COLUMNS = ("distinct", "structures", "groups", "trivial", "refused", "failed", "composed")


def _why(kind: str, counts: Counter[tuple[str, str]]) -> str:
    """Return why there is no subgraph of a kind."""
    if counts[kind, "groups"]:
        shares = [f"{counts[kind, name]:,} {name}" for name in ("trivial", "refused")]
        return f"of {counts[kind, 'groups']:,} groups {' and '.join(shares)}"
    if counts[kind, "failed"]:
        return f"{counts[kind, 'failed']:,} graphs could not be cut"
    if kind == "typical":
        return f"no sequence of {SHORTEST} to {LONGEST} calls recurs in two graphs"
    return "no graph falls into groups of this kind"
