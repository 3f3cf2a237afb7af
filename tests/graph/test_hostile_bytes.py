"""The compact form from a stranger: what is wrong is named, and nothing it asks for costs much."""

from __future__ import annotations

import tracemalloc
from itertools import count

import pytest

from graph_net.graph import (
    Constant,
    Graph,
    GraphError,
    GraphLimits,
    Input,
    LimitExceeded,
    Node,
    Ref,
    TensorSpec,
    from_bytes,
    to_bytes,
)

MEGABYTE = 1 << 20
TEXTS = ("", "torch", "float32", "x", "torch.relu", "relu")
EMPTY, TORCH, FLOAT32, X, TARGET, RELU = range(6)
REF, TUPLE, TRUE = 16, 7, 1
FIRST_INPUT = 2  # a reference to an input: the step from the last one, doubled, by 3, plus 2
NO_NUMBERS = (0, 0)


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def assembled(
    texts: tuple[str | bytes, ...] = TEXTS,
    head: tuple[int, ...] = (0, *(EMPTY,) * 4, TORCH, EMPTY, 0, 0, 0, 0),
    specs: tuple[int, ...] = (1, 1, FLOAT32, 0),
    inputs: tuple[int, ...] = (1, X, 0, 1, 4, *NO_NUMBERS * 8, TRUE),
    records: tuple[int, ...] = (1, TARGET, RELU, 0, 1, REF, FIRST_INPUT, 0, 0),
    sequence: tuple[int, ...] = (1, 0),
    output: tuple[int, ...] = (REF, FIRST_INPUT),
) -> bytes:
    """The smallest graph, part by part, each number as a varint."""
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    table = varint(len(raw)) + b"".join(varint(len(text)) + text for text in raw)
    numbers = (*head, *specs, *inputs, *records, *sequence, *output)
    return b"GNG1" + table + b"".join(varint(number) for number in numbers)


SMALLEST = Graph(
    inputs=(Input("x", TensorSpec((), "float32"), Constant(True)),),
    nodes=(Node("relu", "torch.relu", (Ref("x"),)),),
    output=Ref("x"),
)


def swapped(place: int, text: str | bytes) -> tuple[str | bytes, ...]:
    return (*TEXTS[:place], text, *TEXTS[place + 1 :])


def test_the_layout_is_what_this_file_says() -> None:
    assert from_bytes(assembled()) == SMALLEST


@pytest.mark.parametrize(
    ("data", "node", "field"),
    [
        (assembled(swapped(TARGET, "torch.load")), "relu", "target"),
        (assembled(swapped(RELU, "re lu")), "re lu", "name"),
        (assembled(swapped(RELU, "x")), "x", "name"),
        (assembled(swapped(FLOAT32, "float33")), None, "dtype"),
        (assembled(swapped(X, b"\xff\xfe")), None, "texts"),
        (assembled(swapped(TORCH, "\udfff".encode("utf-8", "surrogatepass"))), None, "texts"),
        (assembled(head=(4, *(0,) * 10)), None, "level"),
        (assembled(head=(0, 99, *(0,) * 9)), None, "provenance"),
        (assembled(specs=(1, 9)), None, "result"),
        (assembled(specs=(1, 1, FLOAT32, 1, 99 << 1 | 1)), None, "result"),
        (assembled(inputs=(1, X, 0, 7, 4, *(0,) * 16, TRUE)), None, "result"),
        (assembled(inputs=(1, X, 24 << 2, 1, 4, *(0,) * 16, TRUE)), "x", "inputs"),
        (assembled(inputs=(1, X, 0, 1, 9, *(0,) * 16, TRUE)), None, "inputs"),
        (assembled(inputs=(1, X, 0, 1, 4, *(0,) * 16, 5, EMPTY)), "x", "recipe"),
        (assembled(inputs=(1, X, 0, 1, 0, *(0,) * 16)), None, "recipe"),
        (assembled(records=(1, 99, RELU, 0, 0, 0, 0)), "record 0", "target"),
        (assembled(records=(1, TARGET, RELU, 0, 1, 63, 0, 0)), "relu", "args"),
        (assembled(records=(1, TARGET, RELU, 0, 1, 11, EMPTY, 0, 0)), "relu", "args"),
        (assembled(records=(1, TARGET, RELU, 0, 1, REF, 3 * 5, 0, 0)), "relu", "args"),
        (assembled(records=(1, TARGET, RELU, 0, 1, REF, 3 * 8 + 2, 0, 0)), "relu", "args"),
        (assembled(records=(1, TARGET, RELU, 0, 0, 1, 99, 0, 0)), "relu", "kwargs"),
        (assembled(records=(1, TARGET, RELU, 0, 0, 0, 7)), "relu", "result"),
        (assembled(sequence=(1, 2)), None, "nodes"),
        (assembled(sequence=(1, 4 << 1 | 1, 1)), None, "nodes"),
        (assembled(output=(REF, 3 * 5)), None, "output"),
        (assembled() + b"\x00", None, "output"),
        (b"GNG2" + assembled()[4:], None, "magic"),
    ],
    ids=count(),
)
def test_a_wrong_part_is_named(data: bytes, node: str | None, field: str) -> None:
    with pytest.raises(GraphError) as caught:
        from_bytes(data)
    assert (caught.value.node, caught.value.field) == (node, field)


def test_every_beginning_is_refused() -> None:
    data = to_bytes(SMALLEST)
    for length in range(len(data)):
        with pytest.raises(GraphError):
            from_bytes(data[:length])


@pytest.mark.parametrize("number", [2**32, 2**63, 2**64, 2**69, 2**200])
@pytest.mark.parametrize("part", ["head", "specs", "inputs", "records", "sequence"])
def test_a_huge_count_costs_nothing(part: str, number: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(GraphError):
            from_bytes(assembled(**{part: (number,)}))  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()


def copies(length: int) -> tuple[int, ...]:
    return (2, 0, length << 1 | 1, 1)


LONG_NAME = assembled(swapped(RELU, "r" * 60_000), sequence=copies(200_000))
LONG_INPUT = assembled(
    swapped(X, "x#" + "y" * 60_000),
    inputs=(50_000, *[X] * 50_000, *[2] * 50_000, *[0] * 50_000, *[1] * 50_000, *[4] * 50_000,
            *NO_NUMBERS * 8, *[TRUE] * 50_000),
)  # fmt: skip
WIDE_CALL = assembled(
    records=(1, TARGET, RELU, 0, 1, TUPLE, 50_000, *[64] * 50_000, 0, 0), sequence=copies(200_000)
)
MANY_NODES = assembled(sequence=copies(10**9))


@pytest.mark.parametrize(
    "data",
    [LONG_NAME, LONG_INPUT, WIDE_CALL, MANY_NODES],
    ids=["a long name copied", "a long input name", "a wide call copied", "a billion nodes"],
)
def test_an_expansion_bomb_is_refused_before_it_goes_off(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(LimitExceeded):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 256 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_a_wide_result_that_many_nodes_share_is_checked_once() -> None:
    wide = (1, 5, 30_000, *[3, TORCH] * 30_000)
    assert GraphLimits().nodes > 20_000
    with pytest.raises(GraphError, match="scalar"):  # "torch" is no kind of number: all are read
        from_bytes(assembled(specs=wide, sequence=copies(20_000)))
    kind = (*TEXTS[:1], "int", *TEXTS[2:])
    records = (1, TARGET, RELU, 0, 1, REF, FIRST_INPUT, 0, 1)
    inputs = (1, X, 0, 2, 4, *NO_NUMBERS * 8, TRUE)
    data = assembled(kind, specs=(2, *wide[1:], 3, TORCH), inputs=inputs, records=records,
                     sequence=copies(20_000))  # fmt: skip
    assert len(from_bytes(data).nodes) == 20_001
