"""Tune a graph: search for fast programs of its tasks; the result is a Config that uses them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.api.choose import named_graph
from graph_net.display.display import Display, display_of

if TYPE_CHECKING:
    from graph_net.graph import Graph
    from graph_net.learn.cost_model import CostModel
    from graph_net.results import Config
    from graph_net.search.proposer import Proposer
    from graph_net.search.tvm.final import FinalTimes
    from graph_net.search.tvm.session import TuningSession

COMPILERS = ("tvm",)


@dataclass(frozen=True)
class TunedGraph:
    """What a tuning found: the Config to bench, and how much faster than the first programs."""

    name: str
    config: Config
    trials: int
    tasks: int
    curve: tuple[tuple[int, float], ...]
    """Measurements, and the seconds of the graph's tasks with the best programs so far."""
    final: FinalTimes | None
    problems: tuple[str, ...] = ()

    @property
    def compiler(self) -> str:
        """The Config as ``graph-net bench --compilers`` takes it."""
        given = ",".join(f"{key}={value}" for key, value in sorted(self.config.options.items()))
        return f"{self.config.name}[{given}]"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        final = self.final
        return {
            "graph": self.name,
            "compiler": self.compiler,
            "config": self.config.hash,
            "trials": self.trials,
            "tasks": self.tasks,
            "curve": [list(point) for point in self.curve],
            "speedup": None
            if final is None
            else [final.speedup.value, final.speedup.low, final.speedup.high],
        }


def tune(
    graph: Graph | str | Path,
    compiler: str = "tvm",
    *,
    trials: int = 200,
    model: str | Path | CostModel | None = None,
    draft: str | Path | CostModel | None = None,
    way: str = "",
    work: str | Path = "build/tune",
    batch: int = 8,
    jobs: int = 0,
    seed: int = 0,
    progress: Display | bool = True,
) -> TunedGraph:
    """Search for fast programs of a graph's tasks with at most ``trials`` measurements.

    ``model`` is a cost model that has learned from other tasks (a folder of ``graph-net learn``);
    without one the search learns from its own measurements alone. A model of compiled programs
    (features ``tiles+code``) needs a ``draft``, a model of ``tiles`` that tells which candidates
    are compiled. ``way`` names how it searches (``graph_net.search.models``). Every measurement is
    in ``work``: killed, the same call goes on.
    """
    from graph_net.search.measurer import SearchError
    from graph_net.search.tvm.final import measure_finally
    from graph_net.search.tvm.network import graph_key, network_functions, write_database
    from graph_net.search.tvm.session import TuningSession
    from graph_net.store.lock import hold_lock

    if compiler not in COMPILERS:
        raise SearchError(f"{compiler!r} is not tuned here; available: {', '.join(COMPILERS)}")
    display, cores = display_of(progress), len(os.sched_getaffinity(0))
    name, opened = named_graph(graph)
    learned, cheap = _model_of(model), _model_of(draft)
    _check_models(learned, cheap)
    folder = Path(work) / graph_key(opened, cores)
    with hold_lock(folder):
        with display.waiting("finding tasks"):
            functions = network_functions(opened, cores)
        chosen = way or ("online" if learned is None else "process")
        session = TuningSession(
            folder,
            functions,
            [_proposer(chosen, learned, cheap, seed) for _ in functions],
            trials,
            batch,
            jobs or cores,
            seed,
        )
        if session.measured:
            display.tell(f"{name}: goes on after {session.measured} measurements in {folder}")
        curve = _run(session, display)
        if not session.best():
            reasons = [
                *session.problems[-1:],
                session.last_failure,
                f"all failed earlier: {folder}",
            ]
            raise SearchError(f"{name}: no program ran: {next(filter(None, reasons))}")
        with display.waiting("measuring the first and the best programs again"):
            final = measure_finally(folder, session.tasks, session.histories)
        config = write_database(functions, session.best(), folder / "database")
    return TunedGraph(
        name,
        config,
        session.measured,
        len(functions),
        tuple(curve),
        final,
        tuple(session.problems),
    )


def _run(session: TuningSession, display: Display) -> list[tuple[int, float]]:
    """Tune, and tell of the graph's time after every round."""
    curve: list[tuple[int, float]] = []

    def watch(running: TuningSession, place: int) -> None:
        seconds = running.scheduler.latency
        curve.append((running.measured, seconds))
        whole = f"{seconds * 1e3:.3f} ms" if math.isfinite(seconds) else "not all tasks ran yet"
        task = running.histories[place]
        display.tell(
            f"{running.measured}/{running.trials} measurements: {whole}; "
            f"{running.functions[place].workload.name}: {task.best_seconds * 1e6:.1f} µs"
        )

    session.run(watch)
    return curve


def _model_of(model: str | Path | CostModel | None) -> CostModel | None:
    from graph_net.learn.model_registry import load_model

    return load_model(Path(model)) if isinstance(model, str | Path) else model


def _check_models(model: CostModel | None, draft: CostModel | None) -> None:
    """Raise SearchError unless the models take the features that a search gives them."""
    from graph_net.programs.features.code_features import COLUMNS
    from graph_net.search.measurer import SearchError

    compiles = model is not None and model.learned().columns[-1] == COLUMNS[-1]
    if compiles and draft is None:
        raise SearchError(
            "this model takes compiled programs (tiles+code): give a draft, a model of tiles that "
            "tells which candidates are worth compiling"
        )
    if draft is not None and not compiles:
        raise SearchError("a draft goes with a model of compiled programs (tiles+code)")


def _proposer(way: str, model: CostModel | None, draft: CostModel | None, seed: int) -> Proposer:
    from graph_net.search.models import make_proposer
    from graph_net.search.tvm.tuning_round import EVOLUTION

    return make_proposer(way, model, seed, evolution=EVOLUTION, draft=draft)
