"""torch-geometric: graph convolutions, and models of graphs and molecules.

Widths have no defaults in the library; here they are those of the one small graph every model is
called with. Other required settings come from the library's own examples (``examples/`` of its
repository), else from its tests or the paper the class cites. The rest is left at its default.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, ZooEntry

_NODES, _EDGES, _WIDTH, _EDGE_WIDTH = 64, 256, 64, 16

_ABSENT = frozenset(
    {
        *("MessagePassing", "CuGraphSAGEConv", "CuGraphGATConv", "CuGraphRGCNConv", "FusedGATConv"),
        *("GravNetConv", "DynamicEdgeConv", "XConv", "SplineConv", "PANConv", "MeshCNNConv"),
        *("Node2Vec", "MetaPath2Vec", "RENet", "GPSE", "TGNMemory", "LPFormer"),
        *("WLConv", "MetaLayer", "CorrectAndSmooth", "GAE", "VGAE", "ARGA", "ARGVA"),
        *("DimeNet", "DimeNetPlusPlus", "GNNFF", "ViSNet"),
    }
)
"""Base classes, wrappers of other models, and classes that need cuGraph, dgNN, torch-cluster,
pyg-lib, samplers, data objects or Python's hash."""
_MOLECULES = frozenset({"SchNet", "AttentiveFP", "NeuralFingerprint"})
_POINTS = frozenset({"PointNetConv", "PPFConv", "PointTransformerConv", "PointGNNConv"})


class GeometricZoo:
    """Every convolution and every model torch-geometric names, on one small graph."""

    library = "torch_geometric"

    def entries(self) -> Iterator[ZooEntry]:
        from torch_geometric.nn import conv, models

        for module, kind in ((conv, "graph convolution"), (models, "graph network")):
            for name in module.__all__:
                if name in _ABSENT or not inspect.isclass(getattr(module, name)):
                    continue
                if name in _MOLECULES:
                    yield ZooEntry(self.library, name, "scientific", "molecules")
                elif name in _POINTS:
                    yield ZooEntry(self.library, name, "other", "point clouds")
                else:
                    yield ZooEntry(self.library, name, "other", kind)

    def build(self, entry: ZooEntry) -> Call:
        from torch_geometric import nn as geometric

        maker = getattr(geometric, entry.name, None) or getattr(geometric.models, entry.name)
        options = _options(entry.name, inspect.signature(maker.__init__).parameters)
        model: nn.Module = maker(**options)
        special = _SPECIAL_INPUTS.get(entry.name)
        if special is not None:
            return Call(model.eval(), tuple(_value(name) for name in special))
        return Call(model.eval(), (), _inputs(inspect.signature(model.forward).parameters, options))


def _options(name: str, parameters: Any) -> dict[str, Any]:
    """Return the constructor's arguments: those our graph determines, the rest by default."""
    widths = ("in_channels", "out_channels", "hidden_channels", "channels", "embedding_dim")
    threes = ("num_relations", "num_edge_types", "num_layers", "depth", "K", "kernel_size")
    values: dict[str, Any] = {
        **dict.fromkeys((*widths, "dim_emb", "dim_pe_in"), _WIDTH),
        **dict.fromkeys(threes, 3),
        **dict.fromkeys(("dim", "edge_dim"), _EDGE_WIDTH),
        **dict.fromkeys(("num_node_types", "num_timesteps"), 2),
        **dict.fromkeys(("edge_type_emb_dim", "edge_attr_emb_dim"), 5),
        **_DEGREES,
        "num_nodes": _NODES,
        "alpha": 0.1,
        "num_classes": 10,
        "first_aggr": True,
        "mode": "cat",
        "dim_pe_out": 32,
    }
    required = {
        key: values[key]
        for key, parameter in parameters.items()
        if parameter.default is parameter.empty and key in values
    }
    return {**required, **_PUBLISHED.get(name, {}), **_special_options(name)}


def _special_options(name: str) -> dict[str, Any]:
    """Return constructor arguments that are modules, graphs of types, or sizes."""
    from torch_geometric import nn as geometric

    def mlp(wide: int, out: int = _WIDTH) -> nn.Module:
        return nn.Sequential(nn.Linear(wide, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, out))

    def conv(width: int = _WIDTH) -> nn.Module:
        module: nn.Module = geometric.GraphConv(width, width)
        return module

    wide = _WIDTH + 3
    types = {"metadata": (list(_TYPES), [_WRITES, _WRITTEN])}
    makers: dict[str, Any] = {
        "GINConv": lambda: {"nn": mlp(_WIDTH)},
        "GINEConv": lambda: {"nn": mlp(_WIDTH), "edge_dim": _EDGE_WIDTH},
        "NNConv": lambda: {"nn": mlp(_EDGE_WIDTH, _WIDTH * _WIDTH)},
        "EdgeConv": lambda: {"nn": mlp(2 * _WIDTH)},
        "PointNetConv": lambda: {"local_nn": mlp(wide), "global_nn": mlp(_WIDTH)},
        "PPFConv": lambda: {"local_nn": mlp(_WIDTH + 4), "global_nn": mlp(_WIDTH)},
        "PointGNNConv": lambda: {"mlp_h": mlp(_WIDTH, 3), "mlp_f": mlp(wide), "mlp_g": mlp(_WIDTH)},
        "GPSConv": lambda: {"conv": conv()},
        "DirGNNConv": lambda: {"conv": conv()},
        "HeteroConv": lambda: {"convs": {_WRITES: geometric.SAGEConv((_WIDTH, _WIDTH), _WIDTH)}},
        "HGTConv": lambda: types,
        "HANConv": lambda: types,
        "GCN2Conv": lambda: {"alpha": 0.1, "theta": 0.5, "layer": 1},
        "CGConv": lambda: {"dim": _EDGE_WIDTH},
        "DeepGCNLayer": lambda: {"conv": conv(), "norm": nn.LayerNorm(_WIDTH), "act": nn.ReLU()},
        "GroupAddRev": lambda: {"conv": conv(_WIDTH // 2), "num_groups": 2},
        "HeteroJumpingKnowledge": lambda: {"types": list(_TYPES)},
        "PNA": lambda: _DEGREES,
        "SchNet": lambda: {"interaction_graph": _AllPairs()},
        "MLP": lambda: {"channel_list": [_EDGE_WIDTH, 32, 64, 128]},  # the docstring's
        "DeepGraphInfomax": lambda: {
            "encoder": conv(),
            "summary": lambda z, *rest: z.mean(dim=0).sigmoid(),
            "corruption": lambda x, edges: (x.flip(0), edges),
        },
    }
    options: dict[str, Any] = makers.get(name, dict)()
    return options


_PUBLISHED: dict[str, dict[str, Any]] = {
    "APPNP": {"K": 10},  # the paper's
    "AttentiveFP": {"hidden_channels": 200, "out_channels": 1, "num_layers": 2},
    "GMMConv": {"kernel_size": 25},  # the paper's
    "GraphUNet": {"hidden_channels": 32},
    "LINKX": {"hidden_channels": 32, "num_layers": 1},
    "LabelPropagation": {"alpha": 0.9},
    "LightGCN": {"num_layers": 2},
    "PMLP": {"hidden_channels": 16, "num_layers": 2, "norm": False},
    "SignedGCN": {"num_layers": 2},
}
"""Settings of the library's examples that differ from the common ones."""
_WRITES, _WRITTEN = ("author", "writes", "paper"), ("paper", "written", "author")
_TYPES = ("paper", "author")
_DEGREES = {
    "aggregators": ["mean", "min", "max", "std"],
    "scalers": ["identity", "amplification", "attenuation"],
    "deg": torch.ones(10, dtype=torch.int64),
}
_SPECIAL_INPUTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("DeepGCNLayer", "GroupAddRev", "DeepGraphInfomax"), ("x", "edge_index")),
    **dict.fromkeys(("HGTConv", "HANConv", "HeteroConv"), ("x_dict", "edge_index_dict")),
    "DNAConv": ("history", "edge_index"),
    "InnerProductDecoder": ("x", "edge_index"),
    "MLP": ("edge_attr",),  # features as wide as the docstring's example has them
}

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _inputs(parameters: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the call's arguments: those required, and those the constructor's imply."""
    named = {key: value for key, value in parameters.items() if value.kind in _NAMED}
    wanted = {key for key, value in named.items() if value.default is value.empty} | {"edge_index"}
    if options.keys() & {"edge_dim", "dim", "nn"}:
        wanted.add("edge_attr")
    if options.keys() & {"num_relations", "num_edge_types"}:
        wanted.add("edge_type")
    if "hyperedge_index" in parameters:
        wanted.add("num_edges")
    return {key: _value(key) for key in named if key in wanted}


def _value(name: str) -> Any:
    """Return the value of an argument by its name: features, edges, positions, labels, …"""
    edge = torch.arange(_EDGES)
    start = edge % _NODES
    edges = torch.stack([start, (start + 1 + 7 * (edge // _NODES)) % _NODES])
    nodes = torch.zeros(_NODES, dtype=torch.int64)
    features = torch.zeros(_NODES, _WIDTH)
    if name.endswith("edge_index"):
        return edges
    values: dict[str, Any] = {
        "edge_attr": torch.zeros(_EDGES, _EDGE_WIDTH),
        "edge_type": edge % 3,
        "hyperedge_index": edges,
        "num_edges": _NODES,
        "node_type": torch.arange(_NODES) % 2,
        "mask": torch.arange(_NODES) % 2 == 0,
        **dict.fromkeys(("pos", "normal"), torch.arange(3.0 * _NODES).reshape(_NODES, 3).sin()),
        **dict.fromkeys(("batch", "y"), nodes),
        "z": nodes + 6,
        "xs": [features, features + 1, features + 2],
        "xs_dict": {key: [features, features + 1] for key in _TYPES},
        "x_dict": {key: features + number for number, key in enumerate(_TYPES)},
        "edge_index_dict": {_WRITES: edges, _WRITTEN: edges + 0},
        "history": torch.zeros(_NODES, 3, _WIDTH),
    }
    return values.get(name, features)


class _AllPairs(nn.Module):
    """All pairs of atoms, in place of the neighbours torch-cluster would find."""

    def forward(self, pos: torch.Tensor, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count = pos.size(0)
        atom = torch.arange(count).repeat_interleave(count - 1)
        other = torch.arange(count - 1).repeat(count)
        other = other + (other >= atom)
        return torch.stack([atom, other]), (pos[atom] - pos[other]).norm(dim=-1)
