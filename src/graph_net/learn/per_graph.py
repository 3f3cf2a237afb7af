"""Models that learn each graph separately: how much each setting of each node costs.

They rank configurations of graphs that they have seen, as a search on one graph needs, and raise an
error for other graphs.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs
from graph_net.configs.layout_codes import distinct_tensors, tensor_numbers
from graph_net.learn.config_set import ConfigSet, as_config_set
from graph_net.learn.cost_model import CostModel, Domain
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints
from graph_net.store.files import read_bytes

PART = "graphs.safetensors"
MOST_BYTES = 1 << 30
Arrays = dict[str, NDArray[Any]]
Ranker = TypeVar("Ranker")
Codes = NDArray[np.int32]


class PerGraph(CostModel, Generic[Ranker]):
    """Fits a ranker to the settings of each graph; higher scores are faster."""

    needs = "safetensors"

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        configs = as_config_set(data, self.name)
        self.rankers: dict[str, tuple[Ints, Ranker]] = {}
        for task, rows in enumerate(configs.programs.rows()):
            graph = configs.graphs[task]
            columns = self.choose_tensors(layouts_of(graph, self.name).take(configs.places[rows]))
            codes = _codes(graph, configs, rows, columns, self.name)
            every = graph.seconds()
            samples = [every[place] for place in configs.places[rows].tolist()]
            ranker = self.fit_graph(codes, configs.programs.costs[rows], samples)
            self.rankers[configs.tasks[task].name] = (columns, ranker)
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        self.learned()
        configs = as_config_set(data, self.name)
        scores = np.zeros(len(data))
        for task, rows in enumerate(configs.programs.rows()):
            name = configs.tasks[task].name
            if name not in self.rankers:
                known = ", ".join(sorted(self.rankers)[:3])
                raise LearnError(
                    f"{self.name} learns each graph apart and has not seen {name} (but {known} …): "
                    "learn from some of its configurations, or use a model over graphs"
                )
            columns, ranker = self.rankers[name]
            codes = _codes(configs.graphs[task], configs, rows, columns, self.name)
            scores[rows] = self.rank_graph(ranker, codes)
        return scores

    def choose_tensors(self, configs: LayoutConfigs) -> Ints:
        """Return the tensors to use: by default, one of each group that vary together."""
        return distinct_tensors(configs)

    @abstractmethod
    def fit_graph(self, codes: Codes, costs: Floats, samples: list[Floats]) -> Ranker:
        """Fit to the configurations of a graph: (configurations, tensors) of order numbers.

        ``samples`` has the runs whose median is each cost.
        """

    @abstractmethod
    def rank_graph(self, ranker: Ranker, codes: Codes) -> Floats:
        """Return scores of configurations."""

    @abstractmethod
    def ranker_arrays(self, ranker: Ranker) -> Arrays:
        """Return the arrays that make up a ranker."""

    @abstractmethod
    def ranker_of(self, arrays: Arrays) -> Ranker:
        """Return the ranker of ``ranker_arrays``; raise KeyError or ValueError on other arrays."""

    def save_parts(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        self.learned()
        arrays: Arrays = {}
        for place, (columns, ranker) in enumerate(self.rankers.values()):
            found = {"columns": columns, **self.ranker_arrays(ranker)}
            arrays |= {f"{place}.{key}": np.ascontiguousarray(a) for key, a in found.items()}
        arrays["names"] = _as_bytes("\n".join(self.rankers))
        save_file(arrays, folder / PART)

    def load_parts(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            arrays = load(read_bytes(folder / PART, MOST_BYTES))
            names = as_text(arrays.pop("names")).split("\n")
            self.rankers = {name: self._one(arrays, place) for place, name in enumerate(names)}
        except OSError as error:
            raise LearnError(f"{folder} has no {PART}") from error
        except (SafetensorError, KeyError, ValueError, TypeError, IndexError) as error:
            raise LearnError(f"{folder / PART} does not fit a model {self.name}") from error

    def _one(self, arrays: Arrays, place: int) -> tuple[Ints, Ranker]:
        prefix = f"{place}."
        mine = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
        return mine.pop("columns").astype(np.int64), self.ranker_of(mine)


def layouts_of(graph: ConfigGraph, model: str) -> LayoutConfigs:
    """Return the layouts of a graph; raise LearnError if it has tiles."""
    if not isinstance(graph.configs, LayoutConfigs):
        raise LearnError(f"{model} ranks layouts; {graph.name} has tiles: use tile_cost")
    return graph.configs


def _codes(graph: ConfigGraph, configs: ConfigSet, rows: Ints, columns: Ints, model: str) -> Codes:
    return tensor_numbers(layouts_of(graph, model).take(configs.places[rows]), columns)


def _as_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def as_text(data: NDArray[Any]) -> str:
    """Return the text of an array of bytes."""
    return data.astype(np.uint8).tobytes().decode()
