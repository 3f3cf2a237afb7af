"""Find the layout under which a graph runs fastest on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_net.api.choose import named_graph
from graph_net.display.display import Display, display_of
from graph_net.graph import Graph

if TYPE_CHECKING:
    from graph_net.configs.layouts.layout_predictor import LayoutPredictor
    from graph_net.configs.layouts.layout_search import SearchOutcome, SearchSettings


@dataclass(frozen=True)
class LayoutResult:
    """What a search for layouts found: the rewritten graph and its proven gain, or none."""

    name: str
    sites: int
    predictor: str
    outcome: SearchOutcome

    @property
    def graph(self) -> Graph | None:
        """The rewritten graph; None where no layout is faster for sure."""
        return self.outcome.best.graph if self.outcome.best else None

    @property
    def speedup(self) -> float:
        """Original time / that of the rewritten graph; 1 where there is none."""
        return self.outcome.best.timing.speedup.value if self.outcome.best else 1.0

    def __str__(self) -> str:
        tried = (
            f"{self.name}: {self.sites} nodes to choose, {self.outcome.predicted} layouts ranked "
            f"by {self.predictor}, {len(self.outcome.measured)} measured"
        )
        return f"{tried}.\n{self._verdict()}"

    def _verdict(self) -> str:
        best = self.outcome.best
        if best is not None:
            gain = best.timing.speedup
            copies = ", ".join(f"{count} {kind}" for kind, (count, _) in best.copies.items())
            return (
                f"{gain.value:.3f} times as fast ({gain.low:.3f} to {gain.high:.3f}, "
                f"99 % confidence), timed anew against the original; copies: {copies}."
            )
        if not self.outcome.proven:
            return "No gain: no other layout could be measured."
        first = self.outcome.proven[0].timing
        why = f" ({first.reason})" if first.reason else ""
        return (
            f"No proven gain: the best is {first.speedup.value:.3f} times as fast "
            f"({first.speedup.low:.3f} to {first.speedup.high:.3f}), {first.verdict}{why}."
        )


def layout(
    model: Graph | str | Path,
    *,
    device: str = "cpu",
    output: str | Path | None = None,
    learn_from: str | Path | LayoutPredictor | None = None,
    settings: SearchSettings | None = None,
    jobs: int = 0,
    threads: int = 0,
    progress: Display | bool = True,
) -> LayoutResult:
    """Search the layouts of a graph and prove the gain of the best on this machine.

    Layouts are ranked without running them: by the bytes they move, or by a model learned from
    ``learn_from``, the journal of a collection on this device or a platform of the data set (a
    folder), without this graph; or by a predictor that was learned before, which `graph-net configs
    learn` has saved in a folder. The few best are measured in rounds with the original; the winner
    is timed anew against it. ``output`` (.json or .bin) is written where the gain is proven.
    """
    from graph_net.configs.layouts.layout_collection import describe_confined, layout_sites
    from graph_net.configs.layouts.open_search import open_search
    from graph_net.graph import to_bytes

    name, graph = named_graph(model)
    graph = _lowered(graph)
    data = to_bytes(graph)
    sites = layout_sites(data)
    described = describe_confined(device, threads)
    predictor = _predictor(learn_from, f"{described.kind}: {described.name}", graph.id)
    with (
        open_search(
            data, sites, predictor, device=device, threads=described.threads, jobs=jobs,
            settings=settings,
        ) as search,
        display_of(progress).progress("layouts", search.steps) as advance,
    ):  # fmt: skip
        result = LayoutResult(name, len(sites), predictor.name, search.run(advance))
    if output is not None and result.graph is not None:
        write_layout(Path(output), result)
    return result


def _lowered(graph: Graph) -> Graph:
    """Return the graph at level aten, lowered in a confined process where it is not."""
    from graph_net.api.confined import run_confined
    from graph_net.graph import Level, from_bytes, to_bytes

    if graph.level is not Level.TORCH:
        return graph

    def lower() -> bytes:
        from graph_net.rewrite.lower import to_aten

        return to_bytes(to_aten(graph))

    return from_bytes(run_confined(lower))


def _predictor(
    learn_from: str | Path | LayoutPredictor | None, target: str, graph: str
) -> LayoutPredictor:
    from graph_net.api.layout_examples import read_layout_examples
    from graph_net.configs.layouts.layout_predictor import BytesMoved, learn_layouts
    from graph_net.learn.layout_model_files import is_layout_model, load_layouts

    if learn_from is None:
        return BytesMoved()
    if not isinstance(learn_from, str | Path):
        return learn_from
    if is_layout_model(Path(learn_from)):
        loaded = load_layouts(learn_from)
        if loaded.target not in ("", target):
            raise ValueError(
                f"{learn_from} was learned on {loaded.target}, and this is {target}: pass "
                "load_layouts(folder) itself to rank by it all the same"
            )
        return loaded
    examples = read_layout_examples(Path(learn_from), target, graph)
    return learn_layouts(examples, f"{learn_from}, on {target},")


def write_layout(path: Path, result: LayoutResult) -> None:
    """Write the rewritten graph, its layout and gain in its provenance."""
    from graph_net.graph import to_bytes, to_json
    from graph_net.store.atomic import open_atomic

    best = result.outcome.best
    assert best is not None
    gain = best.timing.speedup
    noted = {"layout": best.schedule, "layout_speedup": (gain.value, gain.low, gain.high)}
    options = {**dict(best.graph.provenance.options), **noted}
    graph = best.graph.with_provenance(options=tuple(options.items()))
    if path.suffix not in (".json", ".bin"):
        raise ValueError(f"{path} is written as .json or .bin")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(path) as file:
        file.write(to_json(graph).encode() if path.suffix == ".json" else to_bytes(graph))
