"""Search for the best layout of one graph: predict many, measure a few, confirm the winner.

The winner of a measurement is partly lucky, so it is timed again alone against the original, with
the original as the control. Only that gain is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from graph_net.configs.layouts.draws import draw_layouts, uniform_layouts
from graph_net.configs.layouts.layout_config import Layout, default_layout, layout_text
from graph_net.configs.layouts.layout_examples import GraphLayouts, candidate_layouts
from graph_net.configs.layouts.layout_predictor import BytesMoved, LayoutPredictor
from graph_net.configs.layouts.layout_workers import TurnItem, WorkerSettings
from graph_net.configs.layouts.rewritten import Rewritten
from graph_net.configs.layouts.search_processes import ProveItem, SearchProcesses
from graph_net.configs.layouts.sites import LayoutError, Site
from graph_net.graph import from_bytes
from graph_net.graph.graph import Graph
from graph_net.isolate import Sandbox
from graph_net.results import Timing, Verdict, read_as

PROVED = 2
"""Most candidates that are confirmed, the fastest first, until one is significantly faster."""


@dataclass(frozen=True)
class SearchSettings:
    """The effort of a search."""

    pool: int = 40
    """Layouts that are predicted per generation."""
    top: int = 6
    """Layouts of the pool that are measured."""
    generations: int = 2
    repeats: int = 8
    seconds: float = 5.0
    """Seconds for confirming the winner."""
    seed: int = 0


@dataclass(frozen=True)
class ProvenLayout:
    """A layout that was timed alone against the original."""

    schedule: str
    graph: Graph
    copies: dict[str, Any]
    timing: Timing

    @property
    def is_faster(self) -> bool:
        """Whether the gain is beyond noise and margin."""
        return self.timing.verdict is Verdict.FASTER


@dataclass(frozen=True)
class SearchOutcome:
    """The confirmed candidates of a search, the best first, and all measurements."""

    proven: tuple[ProvenLayout, ...]
    predicted: int
    measured: dict[str, float]
    """Time of each layout over the original's."""

    @property
    def best(self) -> ProvenLayout | None:
        """The significantly faster layout, if there is one."""
        return next((one for one in self.proven if one.is_faster), None)


@dataclass
class LayoutSearch:
    """Searches one graph's layouts in confined processes."""

    sites: Sequence[Site]
    workers: WorkerSettings
    sandbox: Sandbox
    jobs: int = 1
    settings: SearchSettings = SearchSettings()
    predictor: LayoutPredictor = field(default_factory=BytesMoved)
    alone: Callable[[], AbstractContextManager[object]] = nullcontext
    """Makes the context in which the device is timed: a lock, if several searches share it."""
    seconds: float = 1.0
    """Latest measured seconds of the original."""
    original: bytes = b""
    """Rows of the original's calls, if the predictor needs them."""

    def run(self, advance: Callable[[], None] = lambda: None) -> SearchOutcome:
        """Return the outcome; ``advance`` is called after each of ``steps``."""
        settings = replace(self.workers, with_calls=self.predictor.needs_calls)
        with SearchProcesses(settings, self.sandbox, self.jobs, self.alone) as processes:
            return self._run(processes, advance)

    def _run(self, processes: SearchProcesses, advance: Callable[[], None]) -> SearchOutcome:
        known: dict[str, Rewritten] = {}
        ratios: dict[str, float] = {}
        layouts: dict[str, Layout] = {}
        processes.warm()
        self._measure(processes, [], known)
        if self.predictor.needs_calls:
            self.original = self._calls_of_original(processes)
        for generation in range(self.settings.generations):
            best = sorted(ratios, key=lambda one: ratios[one])
            drawn = self._draw(generation, [layouts[one] for one in best], set(layouts.values()))
            layouts |= {layout_text(layout): layout for layout in drawn}
            rewritten = self._rewrite(processes, [layout_text(layout) for layout in drawn])
            known |= rewritten
            advance()
            ratios |= self._measure(processes, self._choose(generation, rewritten), known)
            advance()
        proven = tuple(self._prove(processes, ratios, known))
        advance()
        return SearchOutcome(proven, len(known), ratios)

    @property
    def steps(self) -> int:
        """How many steps a search has."""
        return 2 * self.settings.generations + 1

    def _draw(self, generation: int, parents: list[Layout], seen: set[Layout]) -> list[Layout]:
        first = [] if generation else uniform_layouts(self.sites)
        count = max(0, self.settings.pool - len(first))
        seed = self.settings.seed * 1000 + generation
        return first + draw_layouts(self.sites, count, seen | set(first), parents, seed)

    def _rewrite(self, processes: SearchProcesses, schedules: list[str]) -> dict[str, Rewritten]:
        """Return the rewritten graphs of valid layouts; equal graphs once."""
        answers = processes.rewrite(schedules)
        seen = {self.workers.graphs[0]}
        kept = {}
        for schedule in schedules:
            one = answers[schedule]
            if one.failure is None and one.graph not in seen:
                seen.add(one.graph)
                kept[schedule] = one
        return kept

    def _calls_of_original(self, processes: SearchProcesses) -> bytes:
        """Return the rows of the calls that the unchanged graph makes."""
        unchanged = layout_text(default_layout(self.sites))
        answer = processes.rewrite([unchanged])[unchanged]
        if answer.failure is not None:
            raise LayoutError(f"the graph cannot be rewritten: {answer.failure.message}")
        return answer.calls

    def _choose(self, generation: int, rewritten: dict[str, Rewritten]) -> list[str]:
        """Return the layouts to measure: the best predicted; at first also the uniform ones."""
        schedules = list(rewritten)
        scores = self.predictor.scores(self._candidates(rewritten))
        ranked = [one for _, one in sorted(zip(scores, schedules, strict=True))]
        usual = [] if generation else [layout_text(one) for one in uniform_layouts(self.sites)]
        chosen = [one for one in usual if one in rewritten] + ranked[: self.settings.top]
        return list(dict.fromkeys(chosen))

    def _candidates(self, rewritten: dict[str, Rewritten]) -> GraphLayouts:
        """Return what is known of rewritten layouts, for the predictor."""
        kinds = "".join(site.kind[0] for site in self.sites)
        copies: list[Any] = [one.facts for one in rewritten.values()]
        calls = [one.calls for one in rewritten.values()] if self.original else []
        return candidate_layouts(
            list(rewritten), kinds, copies, self.seconds, self.workers.device, self.original, calls
        )

    def _measure(
        self, processes: SearchProcesses, schedules: list[str], known: dict[str, Rewritten]
    ) -> dict[str, float]:
        """Return the time of each layout over the original's, measured together."""
        graphs = tuple(known[one].graph for one in schedules)
        item = TurnItem(0, tuple(schedules), graphs, self.settings.repeats, self.settings.seed)
        done = processes.time(item)
        answer = done.answer
        if done.death is not None or "results" not in answer:
            raise LayoutError(f"the original and its layouts cannot be measured: {done.death}")
        self.seconds = control = median(answer["control"])
        return {
            schedule: median(result["costs"]) / control
            for schedule, result in zip(schedules, answer["results"], strict=True)
            if "costs" in result
        }

    def _prove(
        self, processes: SearchProcesses, ratios: dict[str, float], known: dict[str, Rewritten]
    ) -> Iterator[ProvenLayout]:
        for schedule in sorted(ratios, key=lambda one: ratios[one])[:PROVED]:
            facts = known[schedule]
            done = processes.time(ProveItem(facts.graph, self.settings.seconds))
            if done.death is not None:
                raise LayoutError(f"the best layout cannot be timed: {done.death}")
            timing = read_as(Timing, json.dumps(done.answer), "timing")
            proven = ProvenLayout(schedule, from_bytes(facts.graph), facts.facts, timing)
            yield proven
            if proven.is_faster:
                return
