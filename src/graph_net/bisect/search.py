"""Bisection of one graph: trials in separate processes, until nothing can be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from graph_net.bisect.infer_specs import infer_specs
from graph_net.bisect.minimize import Members, minimize
from graph_net.bisect.problem import LEVEL, Defect, Problem, find_defect
from graph_net.bisect.values import value_recipes, with_recipes
from graph_net.compilers import require_compiler
from graph_net.graph import Graph, GraphError, Recipe, to_bytes
from graph_net.measure import MeasureLimits, Measurement, Protocol
from graph_net.measure.runner import Ask, lanes
from graph_net.printable import count_phrase
from graph_net.results import Config, Device, Record, Subject
from graph_net.results.signature import headline_of
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.piece_inputs import can_cross

KIND = "witness"
ONCE = Protocol(
    seconds=0.01, warm_calls=1, warm_seconds=0.0, min_blocks=1, max_blocks=1,
    noise_limit=1e9, exact=False, warm_compile=False,
)  # fmt: skip
"""The protocol for anything but slowness: compiled once, called a few times."""


class BisectError(ValueError):
    """The whole graph does not show the problem."""


@dataclass(frozen=True)
class BisectSettings:
    """The settings of trials."""

    device: Device
    problem: Problem | None = None
    """The problem to look for; None for whichever the whole graph shows."""
    level: float = LEVEL
    """An output that passes only above this tolerance level is a mismatch."""
    timing: Protocol = field(default_factory=Protocol)
    limits: MeasureLimits = field(default_factory=MeasureLimits)
    jobs: int = 1


@dataclass(frozen=True)
class Witness:
    """The smallest subgraph with the defect, its record, and the effort to find it."""

    name: str
    graph: Graph
    config: Config
    shown: Defect
    record: Record
    trials: int
    calls: int
    """The calls of the whole graph."""
    imitated: bool
    """Whether inputs that the whole graph computes imitate the values it computes."""
    held: tuple[tuple[str, str], ...] = ()
    """Calls that stay only because the rest does not form a graph, each with the reason."""


@contextmanager
def trials(configs: Iterable[Config], settings: BisectSettings) -> Iterator[Ask]:
    """Start the processes for trials of these configurations, once for many graphs."""
    names = dict.fromkeys(config.name for config in configs)
    for name in names:
        require_compiler(name)
    with lanes(jobs=settings.jobs, compilers=names, device=settings.device.kind) as ask:
        yield ask


def bisect(
    name: str,
    graph: Graph,
    config: Config,
    settings: BisectSettings,
    ask: Ask,
    report: Callable[[str], None] = lambda line: None,
) -> Witness:
    """Return the smallest subgraph that shows the same problem as the whole graph.

    1-minimal: the problem disappears without any one call, unless the rest does not form a graph;
    such calls are the witness's ``held``. ``ask`` comes from ``trials``; ``report`` is called with
    lines of progress.
    """
    return _Trials(name, graph, config, settings, ask, report).search()


class _Trials:
    def __init__(
        self,
        name: str,
        graph: Graph,
        config: Config,
        settings: BisectSettings,
        ask: Ask,
        report: Callable[[str], None],
    ) -> None:
        self.name, self.graph, self.config, self.settings = name, graph, config, settings
        self.ask, self.report, self.whole = ask, report, graph
        self.carver = Carver(graph)
        self.uncut: dict[Members, str] = {}
        """Candidates that do not form a graph, and why: these are never tried."""
        self.recipes: Mapping[str, Recipe] = {}
        self.protocol = settings.timing if settings.problem is Problem.SLOWER else ONCE
        self.wanted: Defect | None = None
        self.tried: dict[Members, tuple[Graph, Record] | None] = {}
        """Candidates that were tried: the piece and its record if they show the problem."""
        self.least = len(graph.nodes)
        self.trials = 0

    def search(self) -> Witness:
        record = self._measure_whole()
        assert self.wanted is not None
        problem = f"{self.wanted.problem} {self.wanted.detail}".strip()
        self.report(f"{count_phrase(len(self.graph.nodes), 'call')}: {problem}")
        self._specify()
        self.recipes = value_recipes(
            self.graph, self.settings.device.kind, self.protocol.seed,
            self.settings.limits.memory_bytes / 2**30,
        )  # fmt: skip
        if not self.recipes:
            self.report("the values inside could not be read: pieces get noise as inputs")
        members = minimize(tuple(range(len(self.graph.nodes))), self.first, self.can_cut)
        piece, record = self.tried.get(members) or (self.whole, record)
        if self.uncut:
            reason, _ = Counter(self.uncut.values()).most_common(1)[0]
            count = len(self.uncut)
            self.report(f"{count} candidates could not be cut out and were not tried: {reason}")
        return Witness(
            self.name, piece, self.config, self.wanted, record, self.trials,
            len(self.graph.nodes), bool(self.recipes), self._held(members),
        )  # fmt: skip

    def _specify(self) -> None:
        """Infer the specifications that a cut needs and an imported sample does not store."""
        self.graph = infer_specs(self.whole, self.settings.limits.memory_bytes / 2**30)
        self.carver = Carver(self.graph, self.whole.id)
        missing = sum(not can_cross(node) for node in self.graph.nodes)
        if missing:
            self.report(f"{missing} values cannot be cut: they are not tensors, or unknown")

    def _held(self, members: Members) -> tuple[tuple[str, str], ...]:
        rests = ((i, members[:k] + members[k + 1 :]) for k, i in enumerate(members))
        return tuple(
            (self.graph.nodes[i].name, self.uncut[rest]) for i, rest in rests if rest in self.uncut
        )

    def _measure_whole(self) -> Record:
        """Return the record of the whole graph, whose defect is searched for."""
        record = self._measure([self.graph])[0]
        defect = find_defect(record, self.settings.level)
        wrong = defect is not None and defect.problem is not Problem.SLOWER
        if not wrong and self.settings.problem is None:
            self.protocol = self.settings.timing  # neither wrong nor dead: perhaps slow
            record = self._measure([self.graph])[0]
            defect = find_defect(record, self.settings.level)
        sought = self.settings.problem
        if defect is None or (sought is not None and defect.problem is not sought):
            result = self._describe_result(record)
            raise BisectError(f"{self.name} does not show {sought or 'a problem'}: {result}")
        self.wanted = defect
        return record

    def first(self, candidates: Sequence[Members]) -> int | None:
        """Return the index of the first candidate with the problem; try several in parallel."""
        for batch in self._batches(candidates):
            pieces = [piece for _, piece in batch]
            for (members, piece), record in zip(batch, self._measure(pieces), strict=True):
                shows = find_defect(record, self.settings.level) == self.wanted
                self.tried[members] = (piece, record) if shows else None
                if shows and len(members) < self.least:
                    self.least = len(members)
                    self.report(f"{self.least} calls after {self.trials} trials")
            index = self._first_tried(candidates)
            if index is not None:
                return index
        return self._first_tried(candidates)

    def can_cut(self, members: Members) -> bool:
        """Return whether a candidate forms a graph."""
        return members in self.tried or self._piece(members) is not None

    def _first_tried(self, candidates: Sequence[Members]) -> int | None:
        """Return the first with the problem, if all before it do not have it or cannot be cut."""
        for index, members in enumerate(candidates):
            if members in self.uncut:
                continue
            if members not in self.tried:
                return None
            if self.tried[members]:
                return index
        return None

    def _batches(self, candidates: Sequence[Members]) -> Iterator[list[tuple[Members, Graph]]]:
        """Yield untried candidates as pieces; ids in a batch are distinct."""
        batch: dict[str, tuple[Members, Graph]] = {}
        for members in candidates:
            if self.tried.get(members):
                break  # later candidates are not needed
            if members in self.tried:
                continue
            piece = self._piece(members)
            if piece is None:
                continue
            if piece.id in batch:
                yield list(batch.values())
                batch = {}
            batch[piece.id] = members, piece
            if len(batch) == self.settings.jobs:
                yield list(batch.values())
                batch = {}
        if batch:
            yield list(batch.values())

    def _piece(self, members: Members) -> Graph | None:
        if members in self.uncut:
            return None
        names = [self.graph.nodes[i].name for i in members]
        try:
            piece = self.carver.carve(names, kind=KIND)
        except GraphError as error:
            self.uncut[members] = error.reason
            return None
        return with_recipes(piece, self.graph, self.recipes)

    def _measure(self, graphs: Sequence[Graph]) -> list[Record]:
        tasks = [
            Measurement(
                Subject(graph.id, graph.structure, self.name),
                self.config,
                self.settings.device,
                to_bytes(graph),
                self.protocol,
                self.settings.limits,
            )
            for graph in graphs
        ]
        self.trials += len(tasks)
        records = {record.subject.id: record for record in self.ask(tasks)}
        return [records[graph.id] for graph in graphs]

    @staticmethod
    def _describe_result(record: Record) -> str:
        if record.failure is not None:
            failure = record.failure
            return f"{failure.stage} {failure.symptom}: {headline_of(failure.message)}"
        assert record.timing is not None
        return f"its outputs pass, and it is {record.timing.verdict}"
