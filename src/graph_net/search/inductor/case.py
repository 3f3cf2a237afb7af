"""KernelCase: an operation of a network, compiled alone, and the file that lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_net.programs.triton.space import workload_of
from graph_net.results import read_as
from graph_net.search.inductor.template_call import key_of
from graph_net.store.atomic import write_text
from graph_net.store.files import read_text

if TYPE_CHECKING:
    import torch

MOST_BYTES = 16 << 20
"""Most bytes of a file of cases; each case takes a few hundred."""
FILE = Path("dataset/inductor/cases.json")


@dataclass(frozen=True)
class KernelCase:
    """A workload that networks call; ``held_out`` cases are never learned from."""

    module: str
    """JSON, in the form of ``TemplateCall.module``."""
    held_out: bool
    weights: Mapping[str, int] = field(default_factory=dict)
    """How often each network calls it."""

    def __post_init__(self) -> None:
        workload_of(self.parsed)  # raises SpaceError if it is invalid

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
    def is_convolution(self) -> bool:
        """Whether the case is a convolution, not a product of matrices."""
        return bool(self.parsed["kernel"] == "convolution")

    @property
    def tf32(self) -> bool:
        """Whether float32 is multiplied with tensor cores."""
        return bool(self.parsed["dtype"] == "tf32")


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


class CaseModule:
    """The operands of a case on a device, and the call that computes it."""

    def __init__(self, case: KernelCase, device: str) -> None:
        self.module = case.parsed
        self.device = device
        dtype = self.module["dtype"]
        self.dtype = "float32" if dtype == "tf32" else dtype

    def operands(self) -> list[torch.Tensor]:
        """Return the tensors: the left factor or the image first, then weights."""
        module = self.module
        if module["kernel"] == "convolution":
            image = self._random(module["n"], module["h"], module["w"], module["c"])
            weight = self._random(module["k"], module["r"], module["s"], module["c"])
            return [image.permute(0, 3, 1, 2), weight.permute(0, 3, 1, 2)]
        batch = (module["b"],) if "b" in module else ()
        rows, columns, depth = module["m"], module["n"], module["k"]
        inner = (columns, depth) if module["transposed"] else (depth, columns)
        right = self._random(*batch, *inner)
        added = {"bias": (columns,), "add": (*batch, rows, columns)}.get(module["epilogue"])
        rest = [] if added is None else [self._random(*added)]
        return [self._random(*batch, rows, depth), right, *rest]

    def call(self, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute the case with one torch operator."""
        import torch

        module = self.module
        left, right, added = (*operands, None)[:3]
        assert left is not None
        assert right is not None
        if module["kernel"] == "convolution":
            stride, pad = module["stride"], module["pad"]
            return torch.nn.functional.conv2d(left, right, stride=stride, padding=pad)
        if module["transposed"]:
            right = right.mT
        if added is None:
            return torch.bmm(left, right) if "b" in module else torch.mm(left, right)
        add = torch.baddbmm if "b" in module else torch.addmm
        return add(added, left, right)

    def _random(self, *sizes: int) -> torch.Tensor:
        import torch

        return torch.randn(sizes, device=self.device, dtype=getattr(torch, self.dtype))
