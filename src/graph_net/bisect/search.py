"""Bisection of one graph: trials in processes of their own, until nothing can be left out."""

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
"""How to look for anything but slowness: compiled once, called a few times."""


class BisectError(ValueError):
    """There is nothing to look for: the whole graph does not show the problem."""


@dataclass(frozen=True)
class BisectSettings:
    """How trials are made."""

    device: Device
    problem: Problem | None = None
    """What to look for; None for whatever the whole graph shows."""
    level: float = LEVEL
    """An output that passes only at a higher tolerance level than this is a mismatch."""
    timing: Protocol = field(default_factory=Protocol)
    limits: MeasureLimits = field(default_factory=MeasureLimits)
    jobs: int = 1


@dataclass(frozen=True)
class Witness:
    """The smallest subgraph that was found, its record, and what it took."""

    name: str
    graph: Graph
    config: Config
    shown: Defect
    record: Record
    trials: int
    calls: int
    """So many calls the whole graph has."""
    imitated: bool
    """Whether inputs that the whole graph computes were made to look like what it computes."""
    held: tuple[tuple[str, str], ...] = ()
    """Calls that stay only because the rest makes no graph without them, each with the reason."""


@contextmanager
def trials(configs: Iterable[Config], settings: BisectSettings) -> Iterator[Ask]:
    """The processes that trials of these configurations run in, started once for many graphs."""
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
    told: Callable[[str], None] = lambda line: None,
) -> Witness:
    """The smallest subgraph of a graph that shows the same problem as the whole.

    1-minimal: no single call can be left out with the problem still there, except where the rest
    makes no graph of its own; such calls are the witness's ``held``. ``ask`` is what ``trials``
    gives; ``told`` hears of progress.
    """
    return _Trials(name, graph, config, settings, ask, told).search()


class _Trials:
    def __init__(
        self,
        name: str,
        graph: Graph,
        config: Config,
        settings: BisectSettings,
        ask: Ask,
        told: Callable[[str], None],
    ) -> None:
        self.name, self.graph, self.config, self.settings = name, graph, config, settings
        self.ask, self.told, self.whole = ask, told, graph
        self.carver = Carver(graph)
        self.uncut: dict[Members, str] = {}
        """Candidates that make no graph of their own, and why: these were never tried."""
        self.recipes: Mapping[str, Recipe] = {}
        self.protocol = settings.timing if settings.problem is Problem.SLOWER else ONCE
        self.wanted: Defect | None = None
        self.known: dict[Members, tuple[Graph, Record] | None] = {}
        """What was tried: the piece and its record where they show the problem."""
        self.least = len(graph.nodes)
        self.trials = 0

    def search(self) -> Witness:
        record = self._whole()
        assert self.wanted is not None
        self.told(f"{count_phrase(len(self.graph.nodes), 'call')}: {self._what()}")
        self._specify()
        self.recipes = value_recipes(
            self.graph, self.settings.device.kind, self.protocol.seed,
            self.settings.limits.memory_bytes / 2**30,
        )  # fmt: skip
        if not self.recipes:
            self.told("the values inside could not be looked at: pieces get noise as inputs")
        members = minimize(tuple(range(len(self.graph.nodes))), self.first, self.can_cut)
        piece, record = self.known.get(members) or (self.whole, record)
        self._tell_uncut()
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
            self.told(f"no cut passes through {missing} values: they are no tensors or unknown")

    def _tell_uncut(self) -> None:
        if self.uncut:
            reason, _ = Counter(self.uncut.values()).most_common(1)[0]
            count = len(self.uncut)
            self.told(f"{count} candidates could not be cut out and were not tried: {reason}")

    def _held(self, members: Members) -> tuple[tuple[str, str], ...]:
        rests = ((i, members[:k] + members[k + 1 :]) for k, i in enumerate(members))
        return tuple(
            (self.graph.nodes[i].name, self.uncut[rest]) for i, rest in rests if rest in self.uncut
        )

    def _whole(self) -> Record:
        """The record of the whole graph, which decides what is looked for."""
        record = self._measured([self.graph])[0]
        found = find_defect(record, self.settings.level)
        wrong = found is not None and found.problem is not Problem.SLOWER
        if not wrong and self.settings.problem is None:
            self.protocol = self.settings.timing  # neither wrong nor dead: perhaps slow
            record = self._measured([self.graph])[0]
            found = find_defect(record, self.settings.level)
        sought = self.settings.problem
        if found is None or (sought is not None and found.problem is not sought):
            got = self._got(record)
            raise BisectError(f"{self.name} does not show {sought or 'a problem'}: {got}")
        self.wanted = found
        return record

    def first(self, candidates: Sequence[Members]) -> int | None:
        """The first candidate that shows the problem; several are tried side by side."""
        for batch in self._batches(candidates):
            pieces = [piece for _, piece in batch]
            for (members, piece), record in zip(batch, self._measured(pieces), strict=True):
                shows = find_defect(record, self.settings.level) == self.wanted
                self.known[members] = (piece, record) if shows else None
                if shows and len(members) < self.least:
                    self.least = len(members)
                    self.told(f"{self.least} calls after {self.trials} trials")
            place = self._known_first(candidates)
            if place is not None:
                return place
        return self._known_first(candidates)

    def can_cut(self, members: Members) -> bool:
        """Whether a candidate makes a graph of its own."""
        return members in self.known or self._piece(members) is not None

    def _known_first(self, candidates: Sequence[Members]) -> int | None:
        """The first that shows it, if all before it are known not to or cannot be tried."""
        for place, members in enumerate(candidates):
            if members in self.uncut:
                continue
            if members not in self.known:
                return None
            if self.known[members]:
                return place
        return None

    def _batches(self, candidates: Sequence[Members]) -> Iterator[list[tuple[Members, Graph]]]:
        """Candidates that are not known, as pieces; in a batch no two have one id."""
        batch: dict[str, tuple[Members, Graph]] = {}
        for members in candidates:
            if self.known.get(members):
                break  # whatever comes behind it is not needed
            if members in self.known:
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

    def _measured(self, graphs: Sequence[Graph]) -> list[Record]:
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
        found = {record.subject.id: record for record in self.ask(tasks)}
        return [found[graph.id] for graph in graphs]

    def _what(self) -> str:
        assert self.wanted is not None
        return f"{self.wanted.problem} {self.wanted.detail}".strip()

    @staticmethod
    def _got(record: Record) -> str:
        if record.failure is not None:
            failure = record.failure
            return f"{failure.stage} {failure.symptom}: {headline_of(failure.message)}"
        assert record.timing is not None
        return f"its outputs pass, and it is {record.timing.verdict}"
