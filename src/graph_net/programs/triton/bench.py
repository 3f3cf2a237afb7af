"""Running programs on the GPU: their data, whether the result is right, how long each run takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph_net.programs.spaces.space import Built, SpaceError, repeats_of
from graph_net.programs.triton.compiling import compile_program, kernel_of, torch_dtype
from graph_net.programs.triton.family import Buffer, Config, Family
from graph_net.results import Failure, Stage, Symptom

if TYPE_CHECKING:
    import torch

FLUSH = 512 << 20
"""Bytes written before each run: over the L2 cache, and long enough to hide the launch behind."""
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "tf32": 1e-2, "float32": 1e-3}
"""Of the result: of each number and, again, of the mean magnitude."""
HEAD_START = 16
"""Flushes before the first run, about 2 ms of an H200: it is awake and the host far ahead."""
ATTEMPTS = 3
CLOCK = 9
"""Digits of a second that the GPU's clock has; what CUDA says beyond them is float32's."""
REPEATS, FEWEST = 8, 3
SPENT = 0.15
"""Seconds of GPU time for the repeats of one program."""
HOPELESS, SHORT = 50.0, 0.1
"""So many times slower than the best, and longer than this: not worth repeats."""


class WrongAnswer(SpaceError):
    """A program that computes something else."""


class TooSlow(SpaceError):
    """A program that is not worth its repeats."""


class NoRoom(SpaceError):
    """The data of a workload does not fit the memory that is free now; no program's fault."""


@dataclass(frozen=True)
class Timed:
    """Seconds of each run; ``overtaken`` where the GPU waited for the host in the last attempt."""

    costs: list[float]
    overtaken: bool = False


@dataclass(frozen=True)
class Prepared:
    """A program that is loaded, with its data."""

    run: Callable[[], None]
    details: dict[str, int]
    """What the compiler says: registers a thread, spills, bytes of shared memory."""


class Bench:
    """A workload's data on the GPU, and what its result should be."""

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
        """Compile and load a program, run it once, and check what it computes."""
        tensors = self._with_workspace(config)
        launches = [
            (kernel_of(launch.kernel)[launch.grid], [tensors[name] for name in launch.buffers],
             {**launch.constants, "num_warps": launch.warps, "num_stages": launch.stages})
            for launch in self.family.launches(config)
        ]  # fmt: skip

        def run() -> None:
            for start, given, options in launches:
                start(*given, **options)

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
        """Raise WrongAnswer where the output is not what torch computes."""
        error = (self.tensors["out"].float() - self.expected).abs()
        ratio = error / (self.expected.abs() + self.scale)
        limit = TOLERANCE[self.family.dtype]
        if not bool((ratio <= limit).all()):
            bad = int((~(ratio <= limit)).sum())
            worst = float(ratio.nan_to_num(float("inf")).max())
            raise WrongAnswer(f"{bad} of {ratio.numel()} numbers are off, by up to {worst:.3g}")

    def with_torch(self) -> Callable[[], object]:
        """The same computation as eager torch does it, to compare with."""
        return lambda: self.family.eager(self.tensors)


class TritonBuilt(Built):
    """A program on the GPU that gave the right answer."""

    def __init__(self, bench: Bench, config: Config, prepared: Prepared) -> None:
        self.bench = bench
        self.config = config
        self.prepared = prepared

    def times(self, repeats: int) -> list[float]:
        return timed(self.prepared.run, repeats, flush_buffer()).costs


def flush_buffer() -> torch.Tensor:
    """What is written to empty the caches."""
    import torch

    return torch.empty(FLUSH // 4, dtype=torch.int32, device="cuda")


def timed(run: Callable[[], object], repeats: int, flush: torch.Tensor) -> Timed:
    """Seconds of each run by the GPU's clock, with cold caches; all are queued, then awaited.

    A run that the GPU had to wait for would count the waiting: a host that was overtaken while it
    queued, because others use its cores, queues all of them again; after the last attempt the
    result says so.
    """
    for _ in range(ATTEMPTS):
        found = _queued(run, repeats, flush)
        if not found.overtaken:
            break
    return found


def _queued(run: Callable[[], object], repeats: int, flush: torch.Tensor) -> Timed:
    import torch

    def mark() -> torch.cuda.Event:
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    marks = [(mark(), mark()) for _ in range(repeats)]
    overtaken = False
    for _ in range(HEAD_START):
        flush.zero_()
    for begin, end in marks:
        flush.zero_()
        begin.record()
        run()
        end.record()
        # only now all of the run is queued: had the GPU reached it before, it may have waited
        overtaken |= begin.query()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    costs = [round(begin.elapsed_time(end) / 1000, CLOCK) for begin, end in marks]
    return Timed(costs, overtaken)


def costs_of(
    run: Callable[[], object], flops: float, best: float | None, flush: torch.Tensor
) -> Timed:
    """Every repeat of a program; raises TooSlow where a first run shows that it is hopeless."""
    once = timed(run, 1, flush)
    (first,) = once.costs
    if best is not None and not once.overtaken and first > max(SHORT, HOPELESS * best):
        raise TooSlow(f"{first:.6f} s, the best program {best:.6f} s")
    wanted = max(REPEATS, repeats_of(flops))
    return timed(run, max(FEWEST, min(wanted, int(SPENT / first))), flush)


def exact_products() -> Any:
    """While this is entered torch multiplies float32 as float32."""
    import contextlib

    import torch

    @contextlib.contextmanager
    def exact() -> Any:
        before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        try:
            yield
        finally:
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before

    return exact()


def details_of(kernels: list[Any]) -> dict[str, int]:
    """What the compiler says of a program's first kernel."""
    first = kernels[0]
    found = {"shared": int(first.metadata.shared)}
    for ours, theirs in (("registers", "n_regs"), ("spills", "n_spills")):
        if (value := getattr(first, theirs, None)) is not None:
            found[ours] = int(value)
    return found


def out_of_memory(error: Exception) -> bool:
    """Whether the GPU had no room; by its name, as torch need not be there."""
    return type(error).__name__ == "OutOfMemoryError"


def failure_of(error: Exception) -> Failure:
    """What an exception while measuring means, in the words of records."""
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
