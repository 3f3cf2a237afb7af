"""Workload data on the GPU, the programs loaded with it, and the check of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from graph_net.programs.spaces.space import Built, SpaceError, Workload
from graph_net.programs.triton.compiling import compile_program, kernel_of, torch_dtype
from graph_net.programs.triton.family import Buffer, Config, Family
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.timing import TooSlow, flush_buffer, timed
from graph_net.results import Failure, Stage, Symptom

if TYPE_CHECKING:
    import torch

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "tf32": 1e-2, "float32": 1e-3}
"""Tolerance of a result: relative to each number, plus relative to the mean magnitude."""
MOST_LOADED = 12
"""Most workloads loaded; more than are in flight at a time, so that few are loaded twice."""


class WrongAnswer(SpaceError):
    """A program that computes a wrong result."""


class NoRoom(SpaceError):
    """The data of a workload does not fit in free memory; not the program's fault."""


@dataclass(frozen=True)
class Prepared:
    """A loaded program with its data."""

    run: Callable[[], None]
    details: dict[str, int]
    """The compiler's report: registers per thread, spills, bytes of shared memory."""


class WorkloadData:
    """A workload's data on the GPU, and the expected result."""

    def __init__(self, family: Family, device: str = "cuda") -> None:
        import torch

        self.family = family
        self.device = device
        chance = torch.Generator(device).manual_seed(0)
        self.tensors = {
            name: self._filled(buffer, chance) for name, buffer in family.buffers().items()
        }
        exact = {name: tensor.float() for name, tensor in self.tensors.items()}
        with exact_products():
            self.expected = family.reference(exact).reshape(self.tensors["out"].shape)
        self.scale = self.expected.abs().mean()

    def _filled(self, buffer: Buffer, chance: torch.Generator) -> torch.Tensor:
        import torch

        drawn = torch.randn(buffer.shape, generator=chance, device=self.device)
        return (drawn * buffer.deviation).to(torch_dtype(torch, buffer.dtype))

    def prepare(self, config: Config) -> Prepared:
        """Compile and load a program, run it once, and check its result."""
        tensors = self._with_workspace(config)
        launches = [
            (kernel_of(launch.kernel)[launch.grid], [tensors[name] for name in launch.buffers],
             {**launch.constants, "num_warps": launch.warps, "num_stages": launch.stages})
            for launch in self.family.launches(config)
        ]  # fmt: skip

        def run() -> None:
            for start, arguments, options in launches:
                start(*arguments, **options)

        self.tensors["out"].fill_(float("nan"))
        run()
        self.verify()
        return Prepared(run, details_of(compile_program(self.family, config)))

    def _with_workspace(self, config: Config) -> Mapping[str, torch.Tensor]:
        import torch

        if (space := self.family.workspace(config)) is None:
            return self.tensors
        parts = torch.empty(space.shape, dtype=torch.float32, device=self.device)
        return {**self.tensors, "parts": parts}

    def verify(self) -> None:
        """Raise WrongAnswer if the output differs from torch's."""
        error = (self.tensors["out"].float() - self.expected).abs()
        ratio = error / (self.expected.abs() + self.scale)
        limit = TOLERANCE[self.family.dtype]
        if not bool((ratio <= limit).all()):
            bad = int((~(ratio <= limit)).sum())
            worst = float(ratio.nan_to_num(float("inf")).max())
            raise WrongAnswer(f"{bad} of {ratio.numel()} numbers are off, by up to {worst:.3g}")

    def with_torch(self) -> Callable[[], object]:
        """Return the same computation in eager torch, the baseline."""
        return lambda: self.family.eager(self.tensors)


class TritonBuilt(Built):
    """A program on the GPU whose result was verified."""

    def __init__(self, data: WorkloadData, config: Config, prepared: Prepared) -> None:
        self.data = data
        self.config = config
        self.prepared = prepared

    def times(self, repeats: int) -> list[float]:
        return timed(self.prepared.run, repeats, flush_buffer()).costs


class WorkloadCache:
    """Loads a workload's data on demand; frees the least recently used."""

    def __init__(
        self,
        target: str,
        load: Callable[[Family], WorkloadData] = WorkloadData,
        most: int = MOST_LOADED,
    ) -> None:
        self._load, self._most = load, most
        self._space = cache(lambda workload: TritonSpace(workload, target))
        self._loaded: dict[str, WorkloadData] = {}

    def load(self, workload: Workload) -> tuple[TritonSpace, WorkloadData]:
        """Return a workload's space and data; raise NoRoom if the data does not fit."""
        space = self._space(workload)
        data = self._loaded.pop(workload.hash, None) or self._fresh(space)
        self._loaded[workload.hash] = data  # dictionaries keep order: the most recent is last
        return space, data

    def _fresh(self, space: TritonSpace) -> WorkloadData:
        while len(self._loaded) >= self._most:
            del self._loaded[next(iter(self._loaded))]
        try:
            return self._load(space.family)
        except Exception as error:
            if not out_of_memory(error):
                raise
            self._loaded.clear()  # make room for the next workload
            why = f"no room for the data of {space.workload.name}: {error}"
            raise NoRoom(why[:300]) from error


@contextmanager
def exact_products() -> Iterator[None]:
    """Make torch multiply float32 in full precision inside this context."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def details_of(kernels: list[Any]) -> dict[str, int]:
    """Return the compiler's report on a program's first kernel."""
    first = kernels[0]
    details = {"shared": int(first.metadata.shared)}
    for ours, theirs in (("registers", "n_regs"), ("spills", "n_spills")):
        if (value := getattr(first, theirs, None)) is not None:
            details[ours] = int(value)
    return details


def out_of_memory(error: Exception) -> bool:
    """Return whether the GPU was out of memory; by class name, as torch may be missing."""
    return type(error).__name__ == "OutOfMemoryError"


def failure_of(error: Exception) -> Failure:
    """Return the failure of an exception raised while measuring."""
    text = f"{type(error).__name__}: {error}"[:300]
    match error:
        case WrongAnswer():
            return Failure(Stage.VERIFY, Symptom.NUMERIC, str(error))
        case TooSlow():
            return Failure(Stage.FIRST_RUN, Symptom.TIMEOUT, str(error))
        case NoRoom():
            return Failure(Stage.LOAD, Symptom.INFRASTRUCTURE, str(error))
    if type(error).__name__ == "OutOfResources":
        return Failure(Stage.COMPILE, Symptom.UNSUPPORTED, text)
    if out_of_memory(error):
        return Failure(Stage.FIRST_RUN, Symptom.OUT_OF_MEMORY, text)
    return Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, text)
