"""Small Paddle samples in the layout of GraphNet's, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

HEAD = """import paddle


class GraphModule(paddle.nn.Layer):
    def __init__(self):
        super().__init__()

"""
NORM = (
    HEAD
    + """    def forward(self, parameter_0, parameter_1, data_0):
        # pd_op.full_int_array: (2xi64) <- ()
        full_int_array_0 = [-1, 4]

        # pd_op.assign: (2xi64) <- (2xi64)
        assign_0 = full_int_array_0

        # pd_op.reshape: (6x4xf32) <- (2x3x4xf32, 2xi64)
        reshape_0 = paddle._C_ops.reshape(data_0, full_int_array_0)
        del data_0

        # pd_op.layer_norm: (6x4xf32, 6xf32, 6xf32) <- (6x4xf32, 4xf32, 4xf32)
        layer_norm_0, layer_norm_1, layer_norm_2 = (lambda x, f: f(x))(
            paddle._C_ops.layer_norm(
                reshape_0, parameter_0, parameter_1, float("1e-05"), 1
            ),
            lambda out: out if isinstance(out, (list, tuple)) else (out, None, None),
        )
        del parameter_0, parameter_1

        # pd_op.full: (1xi32) <- ()
        full_0 = paddle._C_ops.full(
            [1], float("1"), paddle.int32, paddle.core.CPUPlace()
        )

        # pd_op.split_with_num: ([6x2xf32, 6x2xf32]) <- (6x4xf32, 1xi32)
        split_with_num_0 = paddle._C_ops.split_with_num(layer_norm_0, 2, full_0)
        del full_0, layer_norm_0

        # builtin.split: (6x2xf32, 6x2xf32) <- ([6x2xf32, 6x2xf32])
        (
            split_0,
            split_1,
        ) = split_with_num_0
        del split_with_num_0

        # builtin.combine: ([6x2xf32, 6x2xf32]) <- (6x2xf32, 6x2xf32)
        combine_0 = [split_1, split_0]

        # pd_op.full: (xi32) <- ()
        full_1 = paddle._C_ops.full(
            [], float("0"), paddle.int32, paddle.framework._current_expected_place()
        )

        # pd_op.concat: (12x2xf32) <- ([6x2xf32, 6x2xf32], xi32)
        concat_0 = paddle._C_ops.concat(combine_0, full_1)

        # pd_op.sum: (-1xf32) <- (12x2xf32, 1xi64)
        sum_0 = paddle._C_ops.sum(concat_0, [1], None, False)
        return split_1, sum_0
"""
)
ODD = (
    HEAD
    + """    def forward(self, data_0, data_1):
        full_0 = paddle._C_ops.full([1], float("3"), paddle.int32, paddle.core.CPUPlace())
        one_hot_0 = paddle._C_ops.one_hot(
            data_0 % paddle.cast(full_0, data_0.dtype), full_0
        )
        arange_0 = paddle.arange(full_0, full_0, full_0, dtype="int32")
        full_1 = paddle._C_ops.full(
            [2], float("0"), paddle.int64, paddle.framework._current_expected_place()
        )
        assign_value__0 = paddle._C_ops.assign_value_(
            full_1,
            [2],
            paddle.int64,
            [float("0"), float("-1e+08")],
            paddle.framework._current_expected_place(),
        )
        (
            rnn_0,
            rnn_1,
            rnn_2,
            rnn_3,
        ) = (lambda x, f: f(x))(
            paddle._C_ops.rnn(data_1, [], [], None, data_1, float("0.1"), False, 2, 2, 1),
            lambda out: out
            if isinstance(out, (list, tuple))
            else (out, None, None),
        ) + (None,)
        reshape_0, reshape_1 = paddle.reshape(arange_0, [1, 3]), None
        return (
            one_hot_0,
            [assign_value__0, rnn_2],
            rnn_3,
            reshape_0,
        )
"""
)
DETACHED = (
    HEAD
    + """    def forward(self, data_0):
        # pd_op.exp: (2x3xf32) <- (2x3xf32)
        exp_0 = paddle._C_ops.exp(data_0)

        # pd_op.share_data_: (2x3xf32) <- (2x3xf32)
        share_data__0 = exp_0.detach()
        del exp_0

        # pd_op.subtract: (2x3xf32) <- (2x3xf32, 2x3xf32)
        subtract_0 = paddle._C_ops.subtract(data_0, share_data__0)
        del data_0
        return subtract_0, share_data__0
"""
)
PARAMETERS = {"parameter_0": "[4]", "parameter_1": "[4]"}


def meta(name: str, shape: str, dtype: str = "float32", *lines: str) -> str:
    """One class of a metadata file."""
    fields = "".join(f"    {line}\n" for line in lines or ("data = None",))
    head = f'class Program_weight_tensor_{name}:\n    name = "{name}"\n'
    return f'{head}    shape = {shape}\n    dtype = "{dtype}"\n{fields}'


def normal(name: str, shape: str) -> str:
    """The class of a float tensor with statistics."""
    return meta(
        name,
        shape,
        "float32",
        'min_val = float("-0.5")',
        'max_val = float("0.75")',
        'mean = float("0.0102882")',
        'std = float("0.0325223")',
        "data = None",
    )


def write(
    directory: Path,
    model: str = NORM,
    weights: str | None = None,
    inputs: str | None = None,
    marker: str | None = None,
) -> Path:
    """A sample directory; what is not given is that of ``NORM``."""
    directory.mkdir(parents=True, exist_ok=True)
    if weights is None:
        weights = "\n\n".join(normal(name, shape) for name, shape in PARAMETERS.items())
    if inputs is None:
        inputs = normal("data_0", "[2, 3, 4]")
    fields: dict[str, str | int] = {"framework": "paddle", "model_name": directory.name}
    fields |= {"num_devices_required": 1, "num_nodes_required": 1}
    texts = {
        "model.py": model,
        "weight_meta.py": weights,
        "input_meta.py": inputs,
        "graph_net.json": json.dumps(fields, indent=4) if marker is None else marker,
    }
    for name, text in texts.items():
        if text:
            (directory / name).write_text(text, "utf-8")
    return directory


def write_odd(directory: Path) -> Path:
    """A sample that spells what samples spell rarely."""
    literal = meta("data_0", "[3]", "int64", "data = [0, 5, 2]")
    return write(directory, ODD, "", f"{literal}\n\n{normal('data_1', '[2, 3, 2]')}")
