"""Cut graphs into their distinct subgraphs."""

from __future__ import annotations

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
    from graph_net.cluster.connection import Cluster
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
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> Corpus:
    """Cut graphs into subgraphs and return each distinct one once, as a corpus.

    Its rows say how often a subgraph occurs, in how many models and in which. With ``output`` they
    are stored there as a pack; without, they live as long as the returned object. ``check`` runs
    graphs whole and in pieces: the outputs must be equal. With a ``cluster`` its nodes cut.
    """
    temporary = TemporaryDirectory(prefix="graph-net-")
    folder = Path(temporary.name)
    target = Path(output) if output is not None else folder / "subgraphs"
    source = _pack_of(graphs, where, folder / "graphs")
    decomposition, rows = decompose(
        source, target, kinds, work=folder / "work", jobs=jobs, seconds=seconds,
        gigabytes=gigabytes, check=check, cluster=cluster, progress=progress,
    )  # fmt: skip
    if any(notes.composed is False for notes in decomposition.notes()):
        raise GraphError(NOT_COMPOSED)
    if not rows:
        reason = next((f": {n.failed}" for n in decomposition.notes() if n.failed), "")
        raise GraphError(f"no subgraph of these kinds{reason}")
    return Corpus(target, keeps=temporary if output is None else None)


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
    cluster: Cluster | str | None = None,
    progress: Display | bool = True,
) -> tuple[Decomposition, int]:
    """Write a pack of the subgraphs of a pack; return the results per graph, and their number.

    Results in ``work`` are not computed again. With ``budget`` the smallest graphs come first and
    none is started after it.
    """
    from graph_net.cluster.connection import pools
    from graph_net.corpus.decompose import Decomposition
    from graph_net.corpus.subgraph_spool import SubgraphSpool
    from graph_net.isolate import Limits

    if output.resolve() == source.path.resolve():
        raise ValueError(f"{output} is the pack that is read; name another output")
    spend = parse_seconds(budget) if budget else None
    names = [name for name in (kinds.split(",") if isinstance(kinds, str) else kinds) if name]
    if not names:
        raise ValueError(f"name a kind; available: {','.join(KINDS)}")
    decomposition = Decomposition(source, names, SubgraphSpool(work))
    missing = decomposition.missing(retry)
    limits, bar = Limits.of(seconds, gigabytes), display_of(progress)
    with (
        pools(cluster, jobs) as (make_pool, several),
        bar.progress("decompose", len(missing)) as advance,
    ):
        for _ in decomposition.run(missing, several, limits, check, spend, make_pool):
            advance()
    return decomposition, decomposition.write(output)


def _pack_of(graphs: Graphs, where: str | None, target: Path) -> Pack:
    """Return the pack to cut; write one if the graphs are not a whole pack."""
    if not where and (graphs is None or isinstance(graphs, str | Path)):
        whole = corpus(graphs)
        if whole.path is None or is_pack(whole.path):
            return whole.pack
    _, source = chosen_graphs(graphs, where)
    with PackWriter(target) as writer:
        for subject, data in source:
            writer.add(subject.name, from_bytes(data))
    return Pack(target)
