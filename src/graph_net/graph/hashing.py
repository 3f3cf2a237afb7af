"""Hashes of a Graph: ``structure`` and ``id``, and between them ``code``.

All ignore names and the order of independent nodes; ``structure`` also ignores sizes (shapes of
inputs, sizes among the arguments) and dtypes, ``code`` only those of inputs. Inputs count by
position, so that ``x - y`` and ``y - x`` differ. A node is hashed twice: upwards from what it
computes, then downwards from its users, so that one value used twice differs from two equal
values. Each edge is visited a constant number of times: the cost is linear.

The text that is hashed is defined here and nowhere else; it depends on neither Python's nor
torch's version. Changing it changes every stored hash: HASH_VERSION goes into each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from hashlib import blake2b

from graph_net.graph.effects import effect_edges
from graph_net.graph.graph import Graph, Node
from graph_net.graph.recipe import Constant
from graph_net.graph.sizes import is_size_keyword, size_positions
from graph_net.graph.spec import ScalarSpec
from graph_net.graph.values import (
    DictValue,
    Dtype,
    ListValue,
    Ref,
    RunDevice,
    Slice,
    TorchConstant,
    Value,
)

HASH_VERSION = 1
_VERSION = str(HASH_VERSION).encode()
DIGEST_BYTES = 16
Token = bytes


def structure_hash(graph: Graph) -> str:
    """Return the hash of what is computed, whatever the sizes and dtypes."""
    return _digest(b"structure", _VERSION, *_graph_tokens(graph, blind=True)).hex()


def id_hash(graph: Graph) -> str:
    """Return the hash of what is computed at these sizes and dtypes."""
    parts = [_spec_token(graph, i) for i in range(len(graph.inputs))]
    return _digest(b"id", _VERSION, *_graph_tokens(graph, blind=False), *parts).hex()


def code_hash(graph: Graph) -> str:
    """Return the hash by which GraphNet identifies a graph: operators, wiring, literal arguments.

    Shapes and dtypes of inputs do not count, sizes written in the code do. Graphs of equal code
    have equal structure.
    """
    return _digest(b"code", _VERSION, *_graph_tokens(graph, blind=False)).hex()


def call_token(node: Node, *, sizes: bool = False) -> Token:
    """Return the hash of one call: target and attributes, optionally with sizes and dtypes.

    Which values it reads does not count, only at which positions.
    """
    tokens = _node_tokens(node, lambda ref: b"", blind=not sizes)
    return _digest(*tokens, repr(node.result).encode()) if sizes else _digest(*tokens)


def _digest(*parts: bytes) -> Token:
    state = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        state.update(len(part).to_bytes(4, "little"))
        state.update(part)
    return state.digest()


def _spec_token(graph: Graph, position: int) -> bytes:
    entry = graph.inputs[position]
    if isinstance(entry.spec, ScalarSpec):
        value = entry.recipe.value if isinstance(entry.recipe, Constant) else None
        return f"{entry.spec.kind}={value!r}".encode()
    sizes, strides = entry.spec.sizes(graph.bindings), entry.spec.strides(graph.bindings)
    return f"{entry.spec.dtype}{list(sizes)}{'' if strides is None else list(strides)}".encode()


def _graph_tokens(graph: Graph, blind: bool) -> list[bytes]:
    """Return the tokens of a graph: its nodes as a multiset, its inputs and output in order."""
    nodes = graph.nodes
    effects = effect_edges(graph)
    above: dict[str, Token] = {entry.name: b"input%d" % i for i, entry in enumerate(graph.inputs)}
    uses: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
    ups: list[Token] = []
    for i, node in enumerate(nodes):
        order = [0]

        def token(ref: Ref, i: int = i, order: list[int] = order) -> bytes:
            uses[ref.name].append((i, b"%d" % order[0]))
            order[0] += 1
            return above[ref.name]

        parts = _node_tokens(node, token, blind)
        before = effects.get(i)
        if before:
            parts.append(b"after")
            parts.extend(sorted(ups[j] for j in before))
            for j in before:
                uses[nodes[j].name].append((i, b"effect"))
        up = _digest(*parts)
        ups.append(up)
        above[node.name] = up

    returned: defaultdict[str, list[bytes]] = defaultdict(list)

    def note(ref: Ref) -> bytes:
        returned[ref.name].append(b"%d" % len(returned))
        return b"value"

    _value_token(graph.output, note, False)
    full: list[Token] = [b""] * len(nodes)

    def below(name: str) -> list[bytes]:
        users = sorted(full[i] + position for i, position in uses.get(name, ()))
        return [*users, b"returned", *sorted(returned.get(name, ()))]

    for i in range(len(nodes) - 1, -1, -1):
        full[i] = _digest(ups[i], *below(nodes[i].name))
    inputs = [_digest(above[entry.name], *below(entry.name)) for entry in graph.inputs]
    tokens = {node.name: full[i] for i, node in enumerate(nodes)}
    tokens.update((entry.name, inputs[i]) for i, entry in enumerate(graph.inputs))
    output = _value_token(graph.output, lambda ref: tokens[ref.name], False)
    return [graph.level.value.encode(), *inputs, b"nodes", *sorted(full), b"output", output]


def _node_tokens(node: Node, token: Callable[[Ref], bytes], blind: bool) -> list[bytes]:
    start, stop = size_positions(node.target) if blind else (0, 0)
    tokens = [node.target.encode()]
    for position, value in enumerate(node.args):
        tokens.append(_value_token(value, token, blind, start <= position < stop))
    for key, value in sorted(node.kwargs):
        tokens.append(b"k" + key.encode())
        tokens.append(_value_token(value, token, blind, blind and is_size_keyword(key)))
    return tokens


def _value_token(
    value: Value, token: Callable[[Ref], bytes], blind: bool, size: bool = False
) -> bytes:
    if isinstance(value, Ref):
        return b"r" + token(value)
    if value is None:
        return b"n"
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    if isinstance(value, int):
        return b"#" if size and value >= 0 else b"i%d" % value
    if isinstance(value, (tuple, ListValue)):
        items = value if isinstance(value, tuple) else value.items
        return _join([_value_token(item, token, blind, size) for item in items])
    if isinstance(value, float):
        return b"f" + value.hex().encode()
    if isinstance(value, str):
        return b"s" + value.encode()
    if isinstance(value, Slice):
        bounds = [_value_token(v, token, blind, blind) for v in (value.start, value.stop)]
        return b":" + _join([*bounds, _value_token(value.step, token, blind)])
    if isinstance(value, Dtype):
        return b"dtype" if blind else b"d" + value.name.encode()
    if isinstance(value, TorchConstant):
        return b"t" + value.name.encode()
    if isinstance(value, RunDevice):
        return b"device"
    if isinstance(value, DictValue):
        pairs = ((key.encode(), item) for key, item in value.items)
        return b"{" + _join(
            [part for key, item in pairs for part in (key, _value_token(item, token, blind, size))]
        )
    if isinstance(value, complex):
        return f"c{value.real.hex()},{value.imag.hex()}".encode()
    return b"..."


def _join(tokens: list[bytes]) -> bytes:
    return b"(" + b"".join(b"%d:%b" % (len(token), token) for token in tokens) + b")"
