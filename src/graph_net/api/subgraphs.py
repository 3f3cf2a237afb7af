"""Cut graphs into their distinct subgraphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graph_net.api.choose import Graphs, chosen_graphs
from graph_net.api.corpus import Corpus, corpus
from graph_net.api.options import parse_seconds
from graph_net.corpus.pack import Pack, PackWriter, is_pack
from graph_net.display.display import Display, display_of
from graph_net.graph import GraphError, from_bytes

if TYPE_CHECKING:
    from graph_net.corpus.decompose import Decomposition

KINDS = ("sole_op", "task", "block", "fusible", "typical")
NOT_COMPOSED = "pieces of some graphs do not compose to the whole"


def subgraphs(
    graphs: Graphs = None,
    kinds: str | Sequence[str] = KINDS,
    *,
    where: str | None = None,
    output: str | Path | None = None,
    jobs: int = 0,
    seconds: int = 600,
    gigabytes: float = 8.0,
    check: bool = False,
    progress: Display | bool = True,
) -> Corpus:
    """Cut graphs into subgraphs and return each distinct one once, as a corpus.

    Its rows say how often a subgraph occurs, in how many models and in which. With ``output`` they
    are kept there as a pack; without, they live as long as the returned object. ``check`` runs
    graphs whole and in pieces: the outputs must be equal.
    """
    keeps = TemporaryDirectory(prefix="graph-net-")
    place = Path(keeps.name)
    made = Path(output) if output is not None else place / "subgraphs"
    source = _pack_of(graphs, where, place / "graphs")
    decomposition, rows = decompose(
        source, made, kinds, work=place / "work", jobs=jobs, seconds=seconds, gigabytes=gigabytes,
        check=check, progress=progress,
    )  # fmt: skip
    if any(notes.composed is False for notes in decomposition.notes()):
        raise GraphError(NOT_COMPOSED)
    if not rows:
        why = next((notes.failed for notes in decomposition.notes() if notes.failed), "")
        raise GraphError(f"there is no subgraph of these kinds{f': {why}' if why else ''}")
    return Corpus(made, keeps=keeps if output is None else None)


def decompose(
    source: Pack,
    output: Path,
    kinds: str | Sequence[str] = KINDS,
    *,
    work: Path,
    jobs: int = 0,
    seconds: int = 600,
    gigabytes: float = 8.0,
    check: bool = False,
    retry: bool = False,
    budget: str | float | None = None,
    progress: Display | bool = True,
) -> tuple[Decomposition, int]:
    """Write a pack of the subgraphs of a pack; what became of each graph, and how many there are.

    What lies in ``work`` is not computed again. With ``budget`` the smallest graphs come first and
    none is begun after it.
    """
    from graph_net.corpus.decompose import Decomposition
    from graph_net.corpus.subgraph_spool import SubgraphSpool
    from graph_net.isolate import Limits

    if output.resolve() == source.path.resolve():
        raise ValueError(f"{output} is the pack that is read; name another to write")
    spend = parse_seconds(budget) if budget else None
    names = [name for name in (kinds.split(",") if isinstance(kinds, str) else kinds) if name]
    if not names:
        raise ValueError(f"no kind is named; there are {','.join(KINDS)}")
    decomposition = Decomposition(source, names, SubgraphSpool(work))
    missing = decomposition.missing(retry)
    with display_of(progress).progress("decompose", len(missing)) as advance:
        cores = jobs or os.cpu_count() or 1
        for _ in decomposition.run(missing, cores, Limits.of(seconds, gigabytes), check, spend):
            advance()
    return decomposition, decomposition.write(output)


def _pack_of(graphs: Graphs, where: str | None, target: Path) -> Pack:
    """Return the pack to cut; what is not a whole pack is written as one."""
    if not where and (graphs is None or isinstance(graphs, str | Path)):
        whole = corpus(graphs)
        if whole.path is None or is_pack(whole.path):
            return whole.pack
    _, source = chosen_graphs(graphs, where)
    with PackWriter(target) as writer:
        for subject, data in source:
            writer.add(subject.name, from_bytes(data))
    return Pack(target)
