"""Layout configurations as hand-made features: padding, copies between nodes, frequency.

A TPU stores the two most minor dimensions of a tensor in tiles of 8 × 128: a layout that puts small
dimensions there wastes space and time. If a node wants another order than the one in which the
tensor was written, that costs a copy. Settings that a search tried often were good ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.config_graph import (
    DIMENSIONS,
    TENSORS,
    ConfigGraph,
    Floats32,
    LayoutConfigs,
    NodeTable,
)
from graph_net.configs.tensor_links import TensorLink, find_links, tensor_shapes
from graph_net.formats.tpugraphs.opcodes import CONFIGURABLE, opcode_name

LANES, SUBLANES = 128, 8
TENSOR_NAMES = ("output", "input", "kernel")
_KINDS = (*(opcode_name(number) for number in CONFIGURABLE), "other")
_OF_NODE = ("waste", "padded", "minor", "rare")
COLUMNS = (
    *(f"{kind}_{tensor}_{what}" for kind in _KINDS for tensor in TENSOR_NAMES for what in _OF_NODE),
    "copies", "copied_bytes", "kernel_copies", "kernel_copied_bytes", "fixed_copies",
    "fixed_copied_bytes", "settings_frequency", "least_frequency", "nodes", "configurable",
)  # fmt: skip
Floats = NDArray[np.float64]


def layout_features(graph: ConfigGraph) -> Floats32:
    """Return a row of ``COLUMNS`` for each distinct configuration."""
    configs = graph.configs
    assert isinstance(configs, LayoutConfigs)
    shapes = tensor_shapes(graph.nodes, configs.nodes)
    parts = [
        _by_node(configs, graph.nodes, shapes),
        _copies(configs, find_links(graph.nodes, configs.nodes, shapes)),
        _frequency(configs),
        np.tile(np.log2([len(graph.nodes), 1 + len(configs.nodes)]), (len(configs), 1)),
    ]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _by_node(configs: LayoutConfigs, nodes: NodeTable, shapes: Floats) -> Floats:
    """Return sums over the nodes of each kind: what each tensor's order wastes."""
    total = np.zeros((len(configs), len(_KINDS), TENSORS * len(_OF_NODE)))
    for place, node in enumerate(configs.nodes.tolist()):
        opcode = int(nodes.opcodes[node])
        kind = CONFIGURABLE.index(opcode) if opcode in CONFIGURABLE else len(CONFIGURABLE)
        codes = configs.codes[:, place]
        used, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
        orders = configs.settings[used].reshape(-1, TENSORS, DIMENSIONS)
        rows = np.concatenate(
            [_order_costs(orders[:, tensor], shapes[place, tensor]) for tensor in range(TENSORS)],
            axis=1,
        ).reshape(len(used), TENSORS, -1)
        rare = np.broadcast_to(
            -np.log2(counts / len(codes))[:, None, None], (len(used), TENSORS, 1)
        )
        table = np.concatenate([rows, rare * (orders >= 0).any(axis=2)[:, :, None]], axis=2)
        total[:, kind] += table.reshape(len(used), -1)[inverse]
    return np.log2(1 + total.reshape(len(configs), -1))


def _order_costs(orders: NDArray[np.int8], shape: Floats) -> Floats:
    """Return waste (log2 of padded over real), padded mega-elements and the minor size."""
    sizes = np.where(shape > 0, shape, 1.0)
    minor, second = (_size_at(orders[:, place], sizes) for place in (0, 1))
    padded = _up(minor, LANES) / minor * (_up(second, SUBLANES) / second)
    is_set = orders[:, 0] >= 0
    waste = np.where(is_set, np.log2(padded), 0.0)
    extra = np.where(is_set, (padded - 1) * sizes.prod() / 2**20, 0.0)
    return np.stack([waste, extra, np.where(is_set, 1 / minor, 0.0)], axis=1)


def _size_at(dimension: NDArray[np.int8], sizes: Floats) -> Floats:
    return np.where(dimension >= 0, sizes[np.maximum(dimension, 0)], 1.0)


def _up(sizes: Floats, step: int) -> Floats:
    return np.ceil(sizes / step) * step


def _copies(configs: LayoutConfigs, links: list[TensorLink]) -> Floats:
    """Return how many tensors change their order between nodes, and their bytes."""
    total = np.zeros((len(configs), 3, 2))
    index, table = configs.tensor_orders
    for link in links:
        consumer = index[configs.codes[:, link.consumer], link.tensor]
        if link.producer is None:
            kept = _orders_agree(table[consumer], np.array(link.order, np.int8)[None])
            kind = 2
        else:
            producer = index[configs.codes[:, link.producer], 0]
            kept = _orders_agree(table[consumer], table[producer])
            kind = 0 if link.tensor == 1 else 1
        total[:, kind, 0] += ~kept
        total[:, kind, 1] += ~kept * link.bytes / 2**20
    return np.log2(1 + total.reshape(len(configs), -1))


def _orders_agree(one: NDArray[np.int8], other: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return whether two orders agree in every dimension that both set."""
    both = (one >= 0) & (other >= 0)
    return np.asarray(((one == other) | ~both).all(axis=1))


def _frequency(configs: LayoutConfigs) -> Floats:
    """Return the mean and the least log2 share of a configuration's settings among all."""
    shares = np.stack([_shares(column) for column in configs.codes.T], axis=1)
    return np.stack([np.log2(shares).mean(axis=1), np.log2(shares.min(axis=1))], axis=1)


def _shares(codes: NDArray[np.generic]) -> Floats:
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray((counts / len(codes))[inverse])


@dataclass(frozen=True)
class SettingColumns:
    """One-hot columns of the order of each tensor of each node; duplicate columns removed."""

    names: tuple[str, ...]
    rows: Floats32


def setting_columns(configs: LayoutConfigs, most: int = 2048) -> SettingColumns:
    """Return the columns of a graph's configurations; they have no meaning for other graphs."""
    index, table = configs.tensor_orders
    known: dict[bytes, None] = {}
    names: list[str] = []
    columns: list[NDArray[np.bool_]] = []
    for place, node in enumerate(configs.nodes.tolist()):
        for tensor, word in enumerate(TENSOR_NAMES):
            orders = index[configs.codes[:, place], tensor]
            pattern = np.unique(orders, return_inverse=True)[1].astype(np.int32).tobytes()
            if pattern in known:
                continue
            known[pattern] = None
            for order in np.unique(orders).tolist():
                columns.append(orders == order)
                names.append(f"node_{node}_{word}_is_{_order_name(table[order])}")
    spread = np.array([column.mean() for column in columns])
    order = np.argsort(-spread * (1 - spread), kind="stable")[:most]
    chosen = np.sort(order[(spread > 0)[order] & (spread < 1)[order]])
    rows = np.stack([columns[place] for place in chosen], axis=1) if chosen.size else None
    empty = np.zeros((len(configs), 0), np.float32)
    return SettingColumns(
        tuple(names[place] for place in chosen), empty if rows is None else rows.astype(np.float32)
    )


def _order_name(order: NDArray[np.int8]) -> str:
    return "".join(str(one) for one in order.tolist() if one >= 0) or "free"
