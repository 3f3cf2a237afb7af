"""More than 100,000 mutated inputs: only a GraphError ever comes out, and memory stays bounded.

What is accepted all the same must be a graph like any other: it is stored, read and hashed. The
mutations are drawn from seeded generators, so a failure repeats.
"""

from __future__ import annotations

import json
import re
import resource
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.model_source import read_model
from graph_net.graph import (
    Graph,
    GraphError,
    GraphLimits,
    LimitExceeded,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)

ROUNDS = 8_000
SAMPLE_ROUNDS = 4_000
CHUNKS = {"bytes": 6, "json": 5}
MEGABYTE = 1 << 10  # ru_maxrss counts kilobytes
GOLDEN = Path(__file__).parent / "golden" / "small.json"

MODEL = """import torch
from torch import device
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: torch.Tensor, L_w_: torch.nn.parameter.Parameter, s0: torch.SymInt):
        l_x_ = L_x_
        a = torch._C._nn.linear(l_x_, L_w_, None)
        b, c = a.chunk(2, dim=-1)
        b += c; iadd = b; b = None
        d = iadd[(slice(None, s0, None), Ellipsis, 0)]
        d[0] = -1.5
        setitem = d
        e = (setitem.shape, [s0 // 2, {"k": 1e-05}])
        f = torch.zeros((2, s0), dtype=torch.float16, device=device(type="cuda", index=0))
        g = f.to("cuda:0").view(-1, s0 * 2) @ c > 3
        return (g, d, e[0])
"""
META = """class Program_weight_tensor_meta_L_x_:
    name = "L_x_"
    original_name = "x"
    shape = [4, 6]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = -0.5
    std = 1e-05
    data = None
    stride = [1, "S0"]
class Program_weight_tensor_meta_L_w_:
    name = "L_w_"
    shape = [2, 3]
    dtype = "torch.int64"
    min_val = 0
    max_val = 9
    data = [1, -2, 3, 4, 5, 6]
    role = "buffer"
class Program_weight_tensor_meta_s0:
    name = "s0"
    shape = []
    dtype = "torch.int64"
    data = [4]
"""
CONSTRAINTS = """from sympy import Symbol, Expr, Rel, Eq
S0 = Symbol("S0")
dynamic_dim_constraint_symbols = [S0]
dynamic_dim_constraint_symbol2example_value = {S0: 4}
dynamic_dim_constraint_symbol_ranges = {S0: (2, None)}
dynamic_dim_constraint_relations = [S0 < 64, Eq(S0 % 2, 0)]
dynamic_dim_constraint_input_shapes = [([S0, S0 + 2], "L_x_"), ([2, 3], "L_w_"), ([], "s0")]
"""
MARKER = {
    "framework": "torch",
    "num_devices_required": 1,
    "model_name": "small",
    "heuristic_tag": "nlp",
    "tags": ["a"],
    "dynamic": False,
    "passes": [1.5, {"x": None}],
}
SAMPLE = {
    "model.py": MODEL,
    "weight_meta.py": META,
    "input_tensor_constraints.py": CONSTRAINTS,
    "graph_net.json": json.dumps(MARKER, indent=1),
}
TOKEN = re.compile(r'"[^"]*"|\w+(?:\.\w+)*|\s+|[^\w\s]')
WORDS = """
0 1 -1 9999999999 99999999999999999999999999 1e999 1j 0.0 NaN Infinity null true {} [] () "" "x"
"\\ud800" None True ... * ** : = , . @ ~ not lambda yield await x.__class__ __import__ eval exec
torch.load torch.hub.load method:numpy operator.attrgetter os.system torch.relu S0 S9 S0//0 Max
{"ref":"x"} {"tuple":[]} {"float":"nan"} {"slice":[1,2,3]} {"kind":[]} float("nan") -inf **x *x
f"{x}" b"x" [x for x in y] x:=1 # ; int float64 torch.float8 device(1) slice() slice(1,2,3,4) complex(1,2)
""".split()  # noqa: E501
LONG = [
    "9" * 4400,
    "0x" + "f" * 5000,
    "[" * 1200,
    "(" * 150 + ")" * 150,
    "-" * 1500 + "1",
    "~" * 1500 + "x",
    "x" + ".b" * 1500,
    "x" + "[0]" * 900,
    "1" + "+1" * 1200,
    '"' + "y" * 70_000 + '"',
    '{"tuple":[' * 300 + "]}" * 300,
]


def generator(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - nothing secret here


def cut(random: Random, length: int) -> tuple[int, int]:
    start = random.randrange(length + 1)
    return start, min(length, start + random.choice((0, 1, 1, 2, 4, 16, 60)))


def mutated_bytes(random: Random, seeds: Sequence[bytes]) -> bytes:
    """One seed with a few bytes flipped, blown up, inserted, removed, or taken from another."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        start, stop = cut(random, len(data))
        match random.randrange(7):
            case 0:
                data[start:stop] = b""
            case 1:
                data[start:start] = random.randbytes(random.choice((1, 2, 9)))
            case 2:
                data[start:stop] = random.choice((b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\x41"))
            case 3:
                data[start : start + 1] = random.randbytes(random.randrange(1, 11)) + b"\x01"
            case 4:
                data[start : start + 1] = b"\xff" * random.choice((1, 2, 3, 9, 12)) + b"\x7f"
            case 5:
                other = random.choice(seeds)
                begin, end = cut(random, len(other))
                data[start:stop] = other[begin:end]
            case _ if start < len(data):
                data[start] ^= 1 << random.randrange(8)
    return bytes(data)


def mutated_text(random: Random, seed: str) -> str:
    """A text with a few tokens swapped, repeated, removed, or replaced by unpleasant ones."""
    tokens = TOKEN.findall(seed)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        start, stop = cut(random, len(tokens) - 1)
        match random.randrange(7):
            case 0:
                tokens[start:stop] = []
            case 1:
                other = random.randrange(len(tokens))
                tokens[start], tokens[other] = tokens[other], tokens[start]
            case 2 | 3:
                tokens[start] = random.choice(WORDS)
            case 4:
                tokens[start:start] = tokens[slice(*cut(random, len(tokens)))]
            case 5 if random.randrange(4) == 0:
                tokens[start] = random.choice(LONG)
            case _:
                word = tokens[start]
                place = random.randrange(len(word))
                letter = chr(random.choice((0, 10, 34, 92, random.randrange(32, 700), 0xD800)))
                tokens[start] = word[:place] + letter + word[place + 1 :]
        tokens = tokens or [" "]
    return "".join(tokens)


def survive(read: Callable[[], Graph], given: object) -> bool:
    """Whether a mutated input is a graph; anything but a graph or a GraphError fails the test."""
    try:
        graph = read()
        data = to_bytes(graph)
        assert to_bytes(from_bytes(data)) == data
        assert to_bytes(from_json(to_json(graph))) == data
        assert graph.structure != graph.id
    except GraphError:
        return False
    except Exception as error:
        pytest.fail(f"{error!r}\nfor {given!r}")
    return True


def golden() -> Graph:
    return from_json(json.dumps(json.loads(GOLDEN.read_text("utf-8"))["graph"]))


def repeated() -> Graph:
    """The same with its first calls again and again, so that the bytes hold a copy."""
    small = golden()
    again = [
        replace(node, name=f"{node.name}_{i}") for i in range(1, 6) for node in small.nodes[:4]
    ]
    return replace(small, nodes=(*small.nodes, *again))


@pytest.fixture
def _bounded() -> Iterator[None]:
    """The test may not take more memory than a few hundred megabytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python comments on odd literals
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300 * MEGABYTE


bounded = pytest.mark.usefixtures("_bounded")


@bounded
@pytest.mark.parametrize("chunk", range(CHUNKS["bytes"]))
def test_mutated_bytes(chunk: int) -> None:
    random = generator(f"bytes {chunk}")
    seeds = [to_bytes(golden()), to_bytes(repeated())]
    accepted = 0
    for _ in range(ROUNDS):
        data = mutated_bytes(random, seeds)
        accepted += survive(lambda data=data: from_bytes(data), data)  # type: ignore[misc]
    assert ROUNDS / 100 < accepted < ROUNDS * 0.9


@bounded
@pytest.mark.parametrize("chunk", range(CHUNKS["json"]))
def test_mutated_json(chunk: int) -> None:
    random = generator(f"json {chunk}")
    seed = to_json(golden())
    accepted = 0
    for _ in range(ROUNDS):
        text = mutated_text(random, seed)
        accepted += survive(lambda text=text: from_json(text), text)  # type: ignore[misc]
    assert ROUNDS / 100 < accepted < ROUNDS * 0.9


@bounded
@pytest.mark.parametrize("file", SAMPLE)
def test_mutated_samples(file: str, tmp_path: Path) -> None:
    for name, text in SAMPLE.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert survive(lambda: read_sample(tmp_path), "the seed")
    random = generator(file)
    accepted = 0
    for _ in range(SAMPLE_ROUNDS):
        data = mutated_text(random, SAMPLE[file]).encode("utf-8", "surrogatepass")
        (tmp_path / file).write_bytes(data)
        accepted += survive(lambda: read_sample(tmp_path), data)
    assert SAMPLE_ROUNDS / 100 < accepted < SAMPLE_ROUNDS * 0.9


@bounded
@pytest.mark.parametrize("line", ["a = (a, a)", "a = [a, a]", "a = {'l': a, 'r': a}", "a = (a,)"])
def test_a_few_lines_cannot_grow_a_value_beyond_measure(line: str) -> None:
    body = ["a = x", *[line] * 2_000, "return a"]
    source = "class G:\n def forward(self, x):\n" + "".join(f"  {text}\n" for text in body)
    with pytest.raises(LimitExceeded, match="line"):
        read_model(source, GraphLimits(atoms=100_000))


def test_there_are_enough_of_them() -> None:
    assert ROUNDS * sum(CHUNKS.values()) + SAMPLE_ROUNDS * len(SAMPLE) >= 100_000
