"""torch-geometric: graph convolutions, and models of graphs and molecules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, Entry

_NODES, _EDGES, _WIDTH, _EDGE_WIDTH, _RELATIONS = 64, 256, 64, 16, 3

_ABSENT = frozenset(
    {
        *("MessagePassing", "CuGraphSAGEConv", "CuGraphGATConv", "CuGraphRGCNConv", "FusedGATConv"),
        *("GravNetConv", "DynamicEdgeConv", "XConv", "SplineConv", "PANConv", "MeshCNNConv"),
        *("Node2Vec", "MetaPath2Vec", "RENet", "GPSE", "TGNMemory", "LPFormer"),
        *(
            "WLConv",
            "MetaLayer",
            "CorrectAndSmooth",
            "DimeNet",
            "DimeNetPlusPlus",
            "GNNFF",
            "ViSNet",
        ),
    }
)
"""Base classes, and what needs cuGraph, dgNN, torch-cluster, pyg-lib, a sampler or a data object."""
_MOLECULES = frozenset(
    {"SchNet", "DimeNet", "DimeNetPlusPlus", "AttentiveFP", "GNNFF", "NeuralFingerprint", "ViSNet"}
)
_POINTS = frozenset({"PointNetConv", "PPFConv", "PointTransformerConv", "PointGNNConv"})


class GeometricZoo:
    """Every convolution and every model torch-geometric names, on one small graph.

    Two settings the convolutions share are switched off where they exist: a cache between calls,
    and the adding of self-loops, whose number depends on the values of ``edge_index``.
    """

    library = "torch_geometric"

    def entries(self) -> Iterator[Entry]:
        from torch_geometric.nn import conv, models

        for place, kind in ((conv, "graph convolution"), (models, "graph network")):
            for name in place.__all__:
                if name in _ABSENT or not inspect.isclass(getattr(place, name)):
                    continue
                if name in _MOLECULES:
                    yield Entry(self.library, name, "scientific", "molecules")
                elif name in _POINTS:
                    yield Entry(self.library, name, "other", "point clouds")
                else:
                    yield Entry(self.library, name, "other", kind)

    def build(self, entry: Entry) -> Call:
        from torch_geometric import nn as geometric

        maker = getattr(geometric, entry.name, None) or getattr(geometric.models, entry.name)
        options = _options(entry.name, inspect.signature(maker.__init__).parameters)
        model: nn.Module = maker(**options)
        given = _SPECIAL_INPUTS.get(entry.name)
        if given is not None:
            return Call(model.eval(), tuple(_value(name) for name in given))
        return Call(model.eval(), (), _inputs(inspect.signature(model.forward).parameters, options))


def _options(name: str, parameters: Any) -> dict[str, Any]:
    """Arguments for the constructor: those a graph of our size asks for, the rest as published."""
    known: dict[str, Any] = {
        **dict.fromkeys(("in_channels", "out_channels", "hidden_channels", "channels"), _WIDTH),
        **{"num_relations": _RELATIONS, "dim": _EDGE_WIDTH, "K": 3, "alpha": 0.1},
        **{"kernel_size": 5, "edge_dim": _EDGE_WIDTH, "num_nodes": _NODES, "embedding_dim": _WIDTH},
        **{"num_layers": 3, "depth": 3, "num_timesteps": 2, "num_classes": 10, "first_aggr": True},
        **{"num_node_types": 2, "num_edge_types": 3, "edge_type_emb_dim": 5},
        **{"edge_attr_emb_dim": 5, "hidden_node_channels": 128, "hidden_edge_channels": 128},
        **{"aggregators": ["mean", "min", "max", "std"], "scalers": ["identity", "amplification"]},
        **{"deg": torch.ones(10, dtype=torch.int64), "filter_size": 3, "mode": "cat"},
        **{"dim_emb": _WIDTH, "dim_pe_in": _WIDTH, "dim_pe_out": 32},
    }
    required = {
        key: known[key]
        for key, parameter in parameters.items()
        if parameter.default is parameter.empty and key in known
    }
    off = {key: False for key in ("add_self_loops", "cached") if key in parameters}
    return {**required, **off, **_special_options(name)}


def _special_options(name: str) -> dict[str, Any]:
    """Arguments that are modules, graphs of types, or published sizes."""
    from torch_geometric import nn as geometric

    def mlp(wide: int, out: int = _WIDTH) -> nn.Module:
        return nn.Sequential(nn.Linear(wide, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, out))

    def conv() -> nn.Module:
        return geometric.GraphConv(_WIDTH, _WIDTH)

    wide = _WIDTH + 3
    types = {"metadata": (list(_TYPES), [_WRITES, _WRITTEN]), "heads": 4}
    dimenet = {"hidden_channels": 128, "out_channels": 1, "num_spherical": 7, "num_radial": 6}
    after = {"int_emb_size": 64, "basis_emb_size": 8, "out_emb_channels": 256, "num_blocks": 4}
    judge = {"discriminator": mlp(_WIDTH, 1)} if name.startswith("ARG") else {}
    makers: dict[str, Any] = {
        "GINConv": lambda: {"nn": mlp(_WIDTH)},
        "GINEConv": lambda: {"nn": mlp(_WIDTH), "edge_dim": _EDGE_WIDTH},
        "NNConv": lambda: {"nn": mlp(_EDGE_WIDTH, _WIDTH * _WIDTH)},
        "EdgeConv": lambda: {"nn": mlp(2 * _WIDTH)},
        "PointNetConv": lambda: {"local_nn": mlp(wide), "global_nn": mlp(_WIDTH)},
        "PPFConv": lambda: {"local_nn": mlp(_WIDTH + 4), "global_nn": mlp(_WIDTH)},
        "PointGNNConv": lambda: {"mlp_h": mlp(_WIDTH, 3), "mlp_f": mlp(wide), "mlp_g": mlp(_WIDTH)},
        "GPSConv": lambda: {"conv": conv(), "heads": 4},
        "DirGNNConv": lambda: {"conv": conv()},
        "HeteroConv": lambda: {"convs": {_WRITES: geometric.SAGEConv((_WIDTH, _WIDTH), _WIDTH)}},
        "HGTConv": lambda: types,
        "HANConv": lambda: types,
        "DimeNet": lambda: {**dimenet, "num_blocks": 6, "num_bilinear": 8},
        "DimeNetPlusPlus": lambda: {**dimenet, **after},
        "GCN2Conv": lambda: {"alpha": 0.1, "theta": 0.5, "layer": 1},
        "CGConv": lambda: {"dim": _EDGE_WIDTH},
        "DeepGCNLayer": lambda: {"conv": conv(), "norm": nn.LayerNorm(_WIDTH), "act": nn.ReLU()},
        "GroupAddRev": lambda: {
            "conv": geometric.GraphConv(_WIDTH // 2, _WIDTH // 2),
            "num_groups": 2,
        },
        "HeteroJumpingKnowledge": lambda: {"types": list(_TYPES)},
        "SchNet": lambda: {"interaction_graph": _AllPairs()},
        "MLP": lambda: {"channel_list": [_WIDTH, 128, 128, 10]},
        "DeepGraphInfomax": lambda: {
            "encoder": conv(),
            "summary": lambda z, *rest: z.mean(dim=0).sigmoid(),
            "corruption": lambda x, edges: (x.flip(0), edges),
        },
    }
    if name in ("GAE", "VGAE", "ARGA", "ARGVA"):
        coder = _Variational() if "V" in name else geometric.GCN(_WIDTH, _WIDTH, 2)
        return {"encoder": coder, **judge}
    return makers[name]() if name in makers else {}


_WRITES, _WRITTEN = ("author", "writes", "paper"), ("paper", "written", "author")
_TYPES = ("paper", "author")
_SPECIAL_INPUTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("GAE", "VGAE", "ARGA", "ARGVA", "DeepGCNLayer"), ("x", "edge_index")),
    **dict.fromkeys(("GroupAddRev", "DeepGraphInfomax"), ("x", "edge_index")),
    **dict.fromkeys(("HGTConv", "HANConv", "HeteroConv"), ("x_dict", "edge_index_dict")),
    "DNAConv": ("history", "edge_index"),
    "InnerProductDecoder": ("x", "edge_index"),
    "MLP": ("x",),
    "NeuralFingerprint": ("x", "edge_index"),
}


def _inputs(parameters: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments for the call: what it requires, and what the constructor's arguments imply."""
    wanted = {key for key, value in parameters.items() if value.default is value.empty}
    if options.keys() & {"edge_dim", "dim", "nn"}:
        wanted.add("edge_attr")
    if options.keys() & {"num_relations", "num_edge_types"}:
        wanted.add("edge_type")
    if "hyperedge_index" in parameters:
        wanted.add("num_edges")
    return {key: _value(key) for key in parameters if key in wanted}


def _value(name: str) -> Any:
    """The value of an argument by its name: features, edges, positions, labels, …"""
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
        "x_dict": {key: features + place for place, key in enumerate(_TYPES)},
        "edge_index_dict": {_WRITES: edges, _WRITTEN: edges + 0},
        "history": torch.zeros(_NODES, 3, _WIDTH),
    }
    return values.get(name, features)


class _AllPairs(nn.Module):
    """Every atom beside every other, in place of the neighbours torch-cluster would find."""

    def forward(self, pos: torch.Tensor, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count = pos.size(0)
        atom = torch.arange(count).repeat_interleave(count - 1)
        other = torch.arange(count - 1).repeat(count)
        other = other + (other >= atom)
        return torch.stack([atom, other]), (pos[atom] - pos[other]).norm(dim=-1)


class _Variational(nn.Module):
    """An encoder of two heads, mean and log-deviation."""

    def __init__(self) -> None:
        super().__init__()
        from torch_geometric.nn import GraphConv

        self.mean = GraphConv(_WIDTH, _WIDTH)
        self.deviation = GraphConv(_WIDTH, _WIDTH)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.mean(x, edge_index), self.deviation(x, edge_index)
