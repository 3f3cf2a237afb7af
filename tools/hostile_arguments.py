"""Arguments that a stranger might give an operator, drawn so that one number repeats a call.

Half of them are plausible, or no kernel would ever be reached: small tensors of one shape, indices
in range, words that operators know. The rest are what kernels forget to check.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from graph_net.graph.errors import GraphError
from graph_net.graph.resolve import resolve
from graph_net.graph.targets import is_overload

SHAPES = ((), (0,), (1,), (4,), (3, 4), (4, 4), (0, 3), (2, 3, 4), (1, 2, 6, 6), (2, 2, 3, 4),
          (1, 2, 3, 6, 6), (1, 1, 1, 1, 1, 1))  # fmt: skip
DTYPES = (torch.float32,) * 6 + (torch.int64,) * 3 + (
    torch.float64, torch.bool, torch.int32, torch.uint8, torch.int8, torch.int16, torch.bfloat16,
    torch.float16, torch.complex64, torch.complex128, torch.uint16, torch.uint64,
    torch.float8_e4m3fn)  # fmt: skip
SMALL = (0, 1, 1, 1, 2, 2, 3, 4, -1, -2, 5, 6, 8)
HUGE = (2**31 - 1, 2**31, -(2**31), 2**33, 2**40, -(2**40), 2**62, 2**63 - 1, -(2**63), 2**63,
        2**70, 10**9, 65_537, -3, -100)  # fmt: skip
FLOATS = (0.0, 1.0, 0.5, 2.0, -1.0, 1e-5, float("nan"), float("inf"), -float("inf"), 1e308, -1e30)
WORDS = """
none mean sum constant reflect replicate circular nearest bilinear bicubic floor trunc amax amin
prod zeros border tanh ij xy right left same valid U L reduced complete r fro nuc linear lower
higher midpoint gelsy gelss gelsd gels gesvd backward ortho forward ij,jk->ik i,i-> ii->
""".split()


@dataclass
class Draw:
    """A call's arguments, drawn from one generator; ``tame`` calls draw plausible ones only."""

    rng: random.Random
    tame: bool = field(init=False)
    shape: tuple[int, ...] = field(init=False)
    dtype: torch.dtype = field(init=False)

    def __post_init__(self) -> None:
        self.tame = self.rng.random() < 0.5
        self.shape = self.rng.choice(SHAPES)
        self.dtype = self.rng.choice(DTYPES)

    def of(self, kind: str) -> Any:
        """A value for an argument of this type, as a schema writes it."""
        if kind.startswith("Optional["):
            return None if self.rng.random() < 0.4 else self.of(kind[9:-1])
        if kind.startswith("List["):
            count = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6))
            return [self.of(kind[5:-1]) for _ in range(count)]
        return getattr(self, f"_{kind.lower()}", self._anything)()

    def _tensor(self) -> torch.Tensor:
        loose = self.rng.random()
        shape = self.shape if loose < (0.8 if self.tame else 0.5) else self.rng.choice(SHAPES)
        dtype = self.dtype if loose < 0.7 else self.rng.choice(DTYPES)
        return self._formed(self._filled(shape, dtype))

    def _filled(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        count = 1
        for size in shape:
            count *= size
        pool: tuple[float, ...]
        if dtype.is_floating_point or dtype.is_complex:
            pool = (0.0, 1.0, 0.5, -0.25, 0.9) if self.tame else FLOATS
        else:
            pool = (0, 1, 2, 3) if self.rng.random() < 0.6 else (*SMALL, *HUGE[:9])
        if dtype == torch.bool:
            pool = (0, 1)
        values = [self.rng.choice(pool) for _ in range(count)]
        wide = torch.float64 if dtype.is_floating_point or dtype.is_complex else torch.int64
        return torch.tensor(values, dtype=wide).reshape(shape).to(dtype)

    def _formed(self, tensor: torch.Tensor) -> torch.Tensor:
        form = self.rng.random()
        if form < 0.7 or tensor.dim() == 0:
            return tensor
        if form < 0.8:
            return tensor.transpose(0, -1)
        if form < 0.87:
            return tensor[..., ::2]
        if form < 0.94:
            return tensor[:1].expand(tensor.shape) if tensor.shape[0] else tensor
        if tensor.numel() >= 2:
            return tensor.reshape(-1).as_strided((tensor.numel() - 1, 2), (1, 1))
        return tensor

    def _int(self) -> Any:
        if self.tame or self.rng.random() < 0.6:
            return self.rng.choice(SMALL)
        return self.rng.choice(HUGE) if self.rng.random() < 0.95 else 1.5

    def _float(self) -> Any:
        return self.rng.choice(FLOATS[:6] if self.tame else FLOATS)

    def _number(self) -> Any:
        return self.rng.choice((self._int, self._float, self._bool, lambda: 1 + 2j))()

    def _bool(self) -> Any:
        return self.rng.random() < 0.5

    def _str(self) -> Any:
        return self.rng.choice(WORDS) if self.rng.random() < 0.95 else "a" * 5000

    def _scalartype(self) -> Any:
        return 2147483647 if self.rng.random() < 0.1 else self.rng.choice(DTYPES)

    def _layout(self) -> Any:
        return torch.strided if self.tame else self.rng.choice((torch.strided, 7))

    def _memoryformat(self) -> Any:
        formats = (torch.contiguous_format, torch.preserve_format, torch.channels_last)
        return self.rng.choice(formats if self.tame else (*formats, torch.channels_last_3d, 99))

    def _device(self) -> Any:
        return torch.device("cpu")

    def _generator(self) -> Any:
        return None

    def _anything(self) -> Any:
        kinds = ("Tensor", "Tensor", "int", "float", "bool", "List[int]", "str", "List[Tensor]")
        return self.of(self.rng.choice(kinds))


def arguments_for(target: str, rng: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for a call of a target, hostile more often than not."""
    draw = Draw(rng)
    overload = _overload(target, rng)
    if overload is None:
        first = draw.of("Tensor") if target.startswith(("method:", "torch.")) else draw.of("number")
        owner = first if rng.random() < 0.9 else draw.of("Any")
        return (owner, *(draw.of("Any") for _ in range(rng.randint(0, 3)))), {}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in overload._schema.arguments:
        if argument.has_default_value() and rng.random() < 0.5:
            if not argument.kwarg_only:
                break
            continue
        value = draw.of(str(argument.real_type))
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def _overload(target: str, rng: random.Random) -> OpOverload | None:
    """The overload a target is, or one of those that a function of its name calls."""
    if is_overload(target):
        found = resolve(target)
        return found if isinstance(found, OpOverload) else None
    if not target.startswith(("torch.", "method:")):
        return None
    bare = target.removeprefix("method:").rpartition(".")[2]
    for name in (bare, f"linalg_{bare}", f"fft_{bare}", f"special_{bare}"):
        packet = getattr(torch.ops.aten, name, None)
        if not isinstance(packet, OpOverloadPacket):
            continue
        names = [str(n) for n in packet.overloads()]  # type: ignore[no-untyped-call]
        plain: list[OpOverload] = [getattr(packet, n) for n in names if not n.endswith("out")]
        if plain:
            return rng.choice(plain)
    return None


def exists(target: str) -> bool:
    """Whether this torch has what a target names."""
    try:
        resolve(target)
    except GraphError:
        return False
    return True
