"""The protocol of a compiler: a Job in, a function that runs the graph out."""

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
    from graph_net.compilers.form_cache import KeptForms

Runner = Callable[[Sequence[Any]], Any]
"""Takes the graph's inputs in order; gives its outputs, nested as the graph nests them.

Called under ``torch.inference_mode()`` with tensors of the kind ``Job.inputs`` holds. Inputs that
the graph changes are changed, as PyTorch would; all others stay as they are.
"""


class CompilerError(ValueError):
    """A compiler is unknown, unavailable here, or was given options it does not have."""


class Unsupported(Exception):
    """A compiler cannot take a graph; ``reasons`` names every operator in the way, or says why.

    ``by`` names who refuses where that is not the compiler itself: a converter on the way to it,
    or ``graph-net``, which could do more.
    """

    def __init__(self, reasons: Sequence[str], by: str = "") -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        text = ", ".join(self.reasons)
        super().__init__(f"refused by {by}: {text}" if by else text)


@dataclass(frozen=True, slots=True)
class Job:
    """What a compiler is given.

    ``inputs`` lie on the device, as ``make_inputs`` draws them; a compiler may look at them and
    must not change them. ``workdir`` is where it may keep files: compiling the same job again
    with the same directory is a *warm* compilation. ``threads`` is how many a CPU run may use.
    ``forms`` holds forms of graphs that other measurements made.
    """

    graph: Graph
    inputs: tuple[Any, ...]
    device: str
    workdir: Path
    threads: int = 1
    forms: KeptForms | None = None


class Compiler(ABC):
    """One compiler with its options; a subclass in a file of its own is all a new one needs."""

    name: ClassVar[str]
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    """Distributions that must be installed; the first one's version is the compiler's."""
    modules: ClassVar[tuple[str, ...]] = ()
    """What these are imported as, where that is not the distribution's name."""
    defaults: ClassVar[Mapping[str, Json | Option]] = {}
    """Every option and its default; a compiler that passes options on sets ``open_options``.

    A value has the type of the default; ``Option`` declares more, such as the choices there are.
    """
    open_options: ClassVar[bool] = False
    needs: Needs = Needs()
    """What its process must reach beyond the installation and the work directory."""
    stored_options: ClassVar[Mapping[str, Option]] = {}
    """Options beside ``defaults`` that a record may set: harmless whatever the value is."""
    before_declared: ClassVar[Mapping[str, Json]] = {}
    """What a stored configuration that lacks an option means, where that is not the default.

    An option that is declared later than records were written belongs here if its default
    changes what the compiler does.
    """
    levels: ClassVar[tuple[Level, ...]] = (Level.TORCH, Level.ATEN)
    """Whose operators a graph may call: PyTorch's, or those of Paddle as well or instead."""

    def __init__(self, options: Mapping[str, Json] | None = None) -> None:
        given = dict(options or {})
        unknown = sorted(given.keys() - self.defaults.keys())
        if unknown and not self.open_options:
            known = ", ".join(self.defaults) or "none"
            raise CompilerError(f"{self.name} has no option {unknown[0]!r}; it has: {known}")
        declared = {key: option_of(value) for key, value in self.defaults.items()}
        for key, option in declared.items():
            if key in given and not option.takes(given[key]):
                raise CompilerError(f"{self.name}{option.refusal(key, given[key])}")
        self.options: dict[str, Json] = {
            **{key: option.default for key, option in declared.items()},
            **given,
        }

    def check_level(self, graph: Graph) -> None:
        """Raise Unsupported where the graph calls another framework's operators."""
        if graph.level not in self.levels:
            taken = " or ".join(level.value for level in self.levels)
            why = f"a graph of level {graph.level.value}; {self.name} takes level {taken}"
            raise Unsupported([why])

    @abstractmethod
    def compile(self, job: Job) -> Runner:
        """A function that runs the job's graph; raises Unsupported where it cannot take it."""

    def remarks(self) -> Mapping[str, Json]:
        """What the record is to say of the last compilation, beside its cost; nothing by default.

        A few short values: the record and its page show all of them.
        """
        return {}

    def prepare(self, device: str) -> None:  # noqa: B027
        """What is worth doing once in the process that workers for a device are forked from.

        Nothing by default. It must start no thread and no process: a fork loses the one and
        shares the other.
        """

    def version(self) -> str:
        """The version of what compiles, as recorded with every measurement."""
        return importlib.metadata.version(self.packages[0])

    def missing(self) -> str | None:
        """Why it cannot be used here, with the command that helps; None where it can."""
        absent = [
            package
            for package, module in zip(self.packages, self.modules or self.packages, strict=True)
            if not _is_there(module.replace("-", "_"))
        ]
        if absent:
            return f"not installed: pip install {' '.join(absent)}"
        return None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would hold it is absent
        return False
