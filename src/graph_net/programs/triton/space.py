"""TritonSpace: the configurations of a Triton kernel for one workload."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import random
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.programs.spaces.space import Built, Space, SpaceError, Workload
from graph_net.programs.triton.convolution import Convolution
from graph_net.programs.triton.family import Config, Family
from graph_net.programs.triton.matmul import Matmul
from graph_net.programs.triton.rowwise import Rowwise
from graph_net.programs.triton.target import Target, target_of
from graph_net.results import canonical, digest

if TYPE_CHECKING:
    import numpy as np

    from graph_net.programs.triton.occupancy import Configs

NAME = "triton"
FAMILIES: tuple[type[Family], ...] = (Matmul, Convolution, Rowwise)
ENUMERATED = 1 << 18
"""Most configurations that are counted one by one; above, only the product is known."""
ATTEMPTS = 1000
"""Random choices of all parameters after which a draw gives up."""


def family_of(module: Mapping[str, Any], target: Target) -> Family:
    """Return the family of a module; raise SpaceError if there is none."""
    for family in FAMILIES:
        if module.get("kernel") in family.kernels:
            return family(module, target)
    known = ", ".join(kernel for family in FAMILIES for kernel in family.kernels)
    raise SpaceError(f"unknown kernel {module.get('kernel')!r}; known: {known}")


def workload_of(module: Mapping[str, Any]) -> Workload:
    """Return the workload of a module, checked."""
    text = canonical(dict(module))
    family = family_of(module, Target())
    sizes = "x".join(str(module[size]) for size in family.sizes if size in module)
    extra = "" if module.get("epilogue", "none") == "none" else f"_{module['epilogue']}"
    name = f"{module['kernel']}{extra}_{sizes}_{module['dtype']}"
    return Workload(NAME, name, digest(NAME, text), text, family.flops())


class TritonSpace(Space):
    """The programs of one workload on one GPU."""

    name = NAME

    def __init__(self, workload: Workload, target: str = "") -> None:
        try:
            module = json.loads(workload.module)
        except ValueError as error:
            raise SpaceError(f"no workload of this space: {error}") from error
        if not isinstance(module, dict):
            raise SpaceError("no workload of this space: its module is a JSON object")
        self.workload = workload
        self.gpu = target_of(target)
        self.target = self.gpu.text
        self.family = family_of(module, self.gpu)

    def configs(self) -> Iterator[Config]:
        """Yield every valid configuration, in order."""
        names, values = self._parameters.keys(), self._parameters.values()
        for chosen in itertools.product(*values):
            config = dict(zip(names, chosen, strict=True))
            if self.family.wrong(config) is None:
                yield config

    @cached_property
    def _parameters(self) -> dict[str, tuple[int, ...]]:
        return self.family.parameters()

    @cached_property
    def _product(self) -> int:
        return math.prod(len(values) for values in self._parameters.values())

    @cached_property
    def _count(self) -> float:
        enumerated = self._product <= ENUMERATED
        return float(sum(1 for _ in self.configs()) if enumerated else self._product)

    def count(self) -> float:
        return self._count

    def sample(self, count: int, seed: int) -> Iterator[str]:
        """Yield distinct schedules: random ones first, then, if those run out, all others."""
        drawn: set[str] = set()
        for schedule in super().sample(count, seed):
            drawn.add(schedule)
            yield schedule
        if len(drawn) < count and self._product <= ENUMERATED:
            texts = (canonical(dict(config)) for config in self.configs())
            left = [text for text in texts if text not in drawn]
            random.Random(seed).shuffle(left)  # noqa: S311  # no secret
            yield from left[: count - len(drawn)]

    def draw(self, seed: int) -> str | None:
        chance = random.Random(seed)  # noqa: S311  # no secret
        for _ in range(ATTEMPTS):
            config = {name: chance.choice(values) for name, values in self._parameters.items()}
            if self.family.wrong(config) is None:
                return canonical(dict(config))
        return None

    def mutate(self, schedule: str, seed: int) -> str | None:
        config = self.config(schedule)
        steps = [(name, by) for name in self._parameters for by in (-1, 1)]
        random.Random(seed).shuffle(steps)  # noqa: S311  # no secret
        for name, by in steps:
            values = self._parameters[name]
            index = values.index(config[name]) + by
            if 0 <= index < len(values):
                changed = {**config, name: values[index]}
                if self.family.wrong(changed) is None:
                    return canonical(dict(changed))
        return None

    def wrong(self, schedule: str) -> str | None:
        try:
            config = json.loads(schedule)
        except ValueError as error:
            return f"not JSON: {error}"
        if not isinstance(config, dict) or config.keys() != self._parameters.keys():
            return f"a schedule has {', '.join(self._parameters)}"
        for name, values in self._parameters.items():
            if type(config[name]) is not int or config[name] not in values:
                return f"{name} is one of {values}, not {config[name]!r}"
        return self.family.wrong(config)

    def config(self, schedule: str) -> dict[str, int]:
        """Return the parameter values of a schedule; raise SpaceError if it is malformed."""
        if (reason := self.wrong(schedule)) is not None:
            raise SpaceError(f"no program of {self.workload.name}: {reason}")
        config: dict[str, int] = json.loads(schedule)
        return config

    def encode(self, schedule: str) -> np.ndarray:
        from graph_net.programs.triton.features import features_of

        return features_of(self.family, self.config(schedule))

    def encode_many(self, schedules: Sequence[str]) -> np.ndarray:
        return self.encode_configs(self._columns(map(self.config, schedules)))

    def encode_configs(self, configs: Configs) -> np.ndarray:
        """Return the features of programs given as columns of parameters.

        Nothing is checked: use ``all_configs``, or call ``wrong`` first.
        """
        from graph_net.programs.triton.features import features_of_many

        return features_of_many(self.family, configs)

    @cached_property
    def all_configs(self) -> Configs:
        """Return every valid configuration, as columns."""
        return self._columns(self.configs())

    def _columns(self, configs: Iterable[Config]) -> Configs:
        import numpy as np

        rows = [tuple(config[name] for name in self._parameters) for config in configs]
        table = np.array(rows, np.int64).reshape(len(rows), len(self._parameters))
        return dict(zip(self._parameters, table.T, strict=True))

    def computation(self) -> str:
        """Return the sizes, the tensors, and the result as torch computes it."""
        sizes = [f"# {name} = {value}" for name, value in self.family.module.items()]
        tensors = [
            f"# {name}: {buffer.dtype}{list(buffer.shape)}"
            for name, buffer in self.family.buffers().items()
        ]
        reference = textwrap.dedent(inspect.getsource(self.family.reference))
        return "\n".join([*sizes, "", *tensors, "", reference])

    def steps(self, schedule: str) -> str:
        """Return the parameters and their values."""
        return "\n".join(f"{name} = {value}" for name, value in self.config(schedule).items())

    def code(self, schedule: str) -> str:
        config = self.config(schedule)
        folder = Path(inspect.getfile(TritonSpace)).parent
        source = (folder / f"{self.family.source.rpartition('.')[2]}.py").read_text()
        lines = [f"# {self.workload.name}: {schedule}"]
        for launch in self.family.launches(config):
            constants = ", ".join(f"{key}={value!r}" for key, value in launch.constants.items())
            lines += [
                f"# {launch.kernel}[{launch.grid}]({', '.join(launch.buffers)}, {constants}, "
                f"num_warps={launch.warps}, num_stages={launch.stages})"
            ]
        return "\n".join([*lines, "", source])

    def build(self, schedule: str) -> Built:
        from graph_net.programs.triton.workload_data import TritonBuilt, WorkloadData

        config = self.config(schedule)
        data = WorkloadData(self.family)
        return TritonBuilt(data, config, data.prepare(config))
