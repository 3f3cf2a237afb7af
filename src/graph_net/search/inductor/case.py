"""KernelCase: an operation of a network, compiled alone, and the file that lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_net.programs.triton.target import Target
from graph_net.results import read_as
from graph_net.search.inductor.families import FLEX, PAIR, SCALED, inductor_family
from graph_net.search.inductor.template_call import CONVOLUTION, key_of
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

MOST_BYTES = 16 << 20
"""Most bytes of a file of cases; each case takes a few hundred."""
FILE = Path("dataset/inductor/cases.json")
KINDS = {
    CONVOLUTION: "convolutions",
    PAIR: "added and scaled products",
    SCALED: "added and scaled products",
    FLEX: "flex attention",
}
"""Kinds of kernels; every other kernel is a product."""


@dataclass(frozen=True)
class KernelCase:
    """A workload that networks call; ``held_out`` cases are never learned from."""

    module: str
    """JSON, in the form of ``TemplateCall.module``."""
    held_out: bool
    weights: Mapping[str, int] = field(default_factory=dict)
    """How often each network calls it."""

    def __post_init__(self) -> None:
        inductor_family(self.parsed, Target())  # raises SpaceError if it is invalid

    @property
    def parsed(self) -> dict[str, Any]:
        """The module as a dictionary."""
        parsed: dict[str, Any] = json.loads(self.module)
        return parsed

    @property
    def key(self) -> str:
        """The case's name in a journal."""
        return key_of(self.parsed)

    @property
    def kernel(self) -> str:
        """The name of its kernel."""
        return str(self.parsed["kernel"])

    @property
    def kind(self) -> str:
        """The kind of its kernel; cases of a kind are compiled and reported together."""
        return kind_of(self.kernel)


def kind_of(kernel: str) -> str:
    """Return the kind of a kernel."""
    return KINDS.get(kernel, "products")


@dataclass(frozen=True)
class KernelCases:
    """The cases of a file."""

    cases: tuple[KernelCase, ...]


def save_cases(cases: Sequence[KernelCase], path: Path) -> None:
    """Write cases, one per line."""
    lines = ",\n".join(json.dumps(asdict(case), sort_keys=True) for case in cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, f'{{"cases": [\n{lines}\n]}}\n')


def load_cases(path: Path) -> tuple[KernelCase, ...]:
    """Return the cases of a file."""
    return read_as(KernelCases, read_text(path, MOST_BYTES), "file of kernel cases").cases
