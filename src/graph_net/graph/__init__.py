"""Graph: the data, its bytes, its hashes, its FX form, its tensors.

Modules that need torch (running, FX) are not imported here: ``graph_net.graph.execute``,
``graph_net.graph.fx``, ``graph_net.graph.tensors``.
"""

from graph_net.graph.binary import from_bytes, to_bytes
from graph_net.graph.errors import GraphError, LimitExceeded, UnknownTarget
from graph_net.graph.expr import Dim, Expr
from graph_net.graph.graph import Graph, Input, Level, Node, Provenance, Role, Symbol
from graph_net.graph.json_codec import from_json, to_json
from graph_net.graph.limits import DEFAULT_LIMITS, GraphLimits
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Literal, Normal, Recipe, Uniform
from graph_net.graph.spec import ScalarSpec, TensorSpec
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

__all__ = [
    "DEFAULT_LIMITS",
    "Bernoulli",
    "Constant",
    "DictValue",
    "Dim",
    "Dtype",
    "Expr",
    "Graph",
    "GraphError",
    "GraphLimits",
    "Input",
    "Integers",
    "Level",
    "LimitExceeded",
    "ListValue",
    "Literal",
    "Node",
    "Normal",
    "Provenance",
    "Recipe",
    "Ref",
    "Role",
    "RunDevice",
    "ScalarSpec",
    "Slice",
    "Symbol",
    "TensorSpec",
    "TorchConstant",
    "Uniform",
    "UnknownTarget",
    "Value",
    "from_bytes",
    "from_json",
    "to_bytes",
    "to_json",
]
