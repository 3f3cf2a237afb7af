"""Target: the properties of a GPU that decide which programs it can run and how they fill it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from graph_net.programs.spaces.space import SpaceError
from graph_net.results import canonical


@dataclass(frozen=True)
class Target:
    """A GPU, as stored in records."""

    name: str = "NVIDIA H200"
    arch: str = "sm_90"
    sms: int = 132
    shared: int = 232448
    """Most bytes of shared memory of one block."""
    registers: int = 65536
    """Registers of a multiprocessor, and the most of one block."""
    l2: int = 62914560
    kind: str = "cuda"

    @property
    def text(self) -> str:
        """The target as canonical JSON."""
        return canonical(asdict(self))


H200 = Target()


def target_of(text: str) -> Target:
    """Parse a target from its JSON; an empty text is this machine's GPU, else an H200."""
    if not text:
        return this_machine() or H200
    try:
        tree = json.loads(text)
        target = Target(**tree)
    except (TypeError, ValueError) as error:
        raise SpaceError(f"no CUDA target: {text[:80]}: {error}") from error
    numbers = (target.sms, target.shared, target.registers, target.l2)
    if target.kind != "cuda" or not all(isinstance(n, int) and n > 0 for n in numbers):
        raise SpaceError(f"no CUDA target: {text[:80]}")
    return target


def this_machine() -> Target | None:
    """Return this machine's GPU; None if there is none. Initializes the GPU."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(0)
    return Target(
        name=properties.name,
        arch=f"sm_{properties.major}{properties.minor}",
        sms=properties.multi_processor_count,
        shared=int(getattr(properties, "shared_memory_per_block_optin", H200.shared)),
        registers=int(getattr(properties, "regs_per_multiprocessor", H200.registers)),
        l2=int(getattr(properties, "L2_cache_size", H200.l2)),
    )
