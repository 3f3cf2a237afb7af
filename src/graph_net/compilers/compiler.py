"""The protocol of a compiler: it turns a Job into a function that runs the graph."""

from __future__ import annotations

import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from graph_net.compilers.option import Json, Option, option_of
from graph_net.graph import Graph, Level
from graph_net.isolate import Needs

if TYPE_CHECKING:
    from graph_net.compilers.form_cache import FormCache

Runner = Callable[[Sequence[Any]], Any]
"""Takes the graph's inputs in order; returns its outputs, nested as in the graph.

Called under ``torch.inference_mode()`` with tensors like those of ``Job.inputs``. It changes the
inputs that the graph changes, as PyTorch would, and no others.
"""


class CompilerError(ValueError):
    """A compiler is unknown, unavailable here, or was given options it does not have."""


class Unsupported(Exception):
    """A compiler cannot take a graph; ``reasons`` names every operator in the way, or says why.

    ``by`` names the tool that refuses if it is not the compiler itself: a converter on the way to
    it, or ``graph-net`` where its own support ends.
    """

    def __init__(self, reasons: Sequence[str], by: str = "") -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        text = ", ".join(self.reasons)
        super().__init__(f"refused by {by}: {text}" if by else text)


@dataclass(frozen=True, slots=True)
class Job:
    """A graph to compile, with inputs, a device and a work directory.

    ``inputs`` are on the device, as ``make_inputs`` draws them; a compiler may read but not change
    them. ``workdir`` is where it may keep files: compiling the same job again with the same
    directory is a *warm* compilation. ``threads`` is how many threads a CPU run may use. ``forms``
    caches converted graphs across measurements.
    """

    graph: Graph
    inputs: tuple[Any, ...]
    device: str
    workdir: Path
    threads: int = 1
    forms: FormCache | None = None


class Compiler(ABC):
    """A compiler with its options; a new one is a subclass in a file of its own."""

    name: ClassVar[str]
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    """Distributions that must be installed; the first one's version is the compiler's."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Their import names, if those differ from the distributions' names."""
    defaults: ClassVar[Mapping[str, Json | Option]] = {}
    """Every option and its default; a compiler that passes options on sets ``open_options``.

    A value has the type of the default; ``Option`` declares more, such as the choices.
    """
    open_options: ClassVar[bool] = False
    needs: Needs = Needs()
    """What its process needs access to beyond the installation and the work directory."""
    stored_options: ClassVar[Mapping[str, Option]] = {}
    """Options beside ``defaults`` that a record may set: harmless with any value."""
    before_declared: ClassVar[Mapping[str, Json]] = {}
    """Values of options that a stored configuration lacks, if not the defaults.

    An option added after records were written belongs here if its default changes what the
    compiler does.
    """
    levels: ClassVar[tuple[Level, ...]] = (Level.TORCH, Level.ATEN)
    """The levels of graphs it takes: PyTorch's operators or Paddle's."""

    def __init__(self, options: Mapping[str, Json] | None = None) -> None:
        chosen = dict(options or {})
        unknown = sorted(chosen.keys() - self.defaults.keys())
        if unknown and not self.open_options:
            names = ", ".join(self.defaults) or "none"
            raise CompilerError(f"{self.name} has no option {unknown[0]!r}; it has: {names}")
        declared = {key: option_of(value) for key, value in self.defaults.items()}
        for key, option in declared.items():
            if key in chosen and not option.takes(chosen[key]):
                raise CompilerError(f"{self.name}{option.refusal(key, chosen[key])}")
        self.options: dict[str, Json] = {
            **{key: option.default for key, option in declared.items()},
            **chosen,
        }

    def check_level(self, graph: Graph) -> None:
        """Raise Unsupported if the graph calls another framework's operators."""
        if graph.level not in self.levels:
            taken = " or ".join(level.value for level in self.levels)
            why = f"a graph of level {graph.level.value}; {self.name} takes level {taken}"
            raise Unsupported([why])

    @abstractmethod
    def compile(self, job: Job) -> Runner:
        """Return a function that runs the job's graph; raise Unsupported if it cannot be taken."""

    def remarks(self) -> Mapping[str, Json]:
        """Return remarks on the last compilation for its record, beside its cost; none by default.

        A few short values: the record and its page show all of them.
        """
        return {}

    def prepare(self, device: str) -> None:  # noqa: B027
        """Do work that is needed once, in the process that workers for a device are forked from.

        Nothing by default. It must start no thread and no process: a fork loses threads and shares
        processes.
        """

    def version(self) -> str:
        """Return the compiler's version, as recorded with every measurement."""
        return importlib.metadata.version(self.packages[0])

    def missing(self) -> str | None:
        """Return why it cannot be used here, with the command that helps; None if it can."""
        absent = [
            package
            for package, module in zip(self.packages, self.modules or self.packages, strict=True)
            if not _is_installed(module.replace("-", "_"))
        ]
        if absent:
            return f"not installed: pip install {' '.join(absent)}"
        return None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would hold it is absent
        return False
