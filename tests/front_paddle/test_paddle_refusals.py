"""Hostile and broken Paddle samples: refused, with the reason, and nothing of them runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from front_paddle import samples
from graph_net.formats.graphnet import read_sample
from graph_net.graph import GraphError, UnknownTarget

FORWARD = "    def forward(self, data_0):\n"


def body(*lines: str) -> str:
    return samples.HEAD + FORWARD + "".join(f"        {line}\n" for line in lines)


def read(directory: Path, model: str) -> None:
    read_sample(samples.write(directory / "bad", model, "", samples.normal("data_0", "[4]")))


def test_the_frame_of_these_cases_is_itself_readable(tmp_path: Path) -> None:
    read(tmp_path, body("return data_0"))


@pytest.mark.parametrize(
    "call",
    """
__import__("os").system("true")
eval("1")
open("{trace}","w")
paddle.save(data_0,"{trace}")
paddle.load("{trace}")
paddle.jit.load("{trace}")
paddle.framework.io.load("{trace}")
paddle.utils.cpp_extension.load("x",["y"])
paddle._C_ops.read_file("{trace}")
paddle._C_ops.save_combine([data_0],"{trace}")
paddle._C_ops.c_allreduce_sum(data_0,0,True,True)
paddle._C_ops.all_reduce_(data_0,0,0)
paddle._C_ops.as_strided(data_0,[9],[9],9)
paddle._C_ops.__class__(1)
paddle.os.system("true")
torch.load("{trace}")
data_0.numpy()
data_0.detach(1)
[1].detach()
paddle.detach()
data_0.register_hook(print)
(lambda x,f:f(x))(open("{trace}","w"),print)
(lambda:open("{trace}","w"))()
[open("{trace}","w")for _ in [1]]
paddle.abs(*data_0)
paddle.abs(**data_0)
data_0.__class__
data_0[0]
float(data_0)
float("not a number")
""".split("\n")[1:-1],
)
def test_a_call_outside_the_allow_list_is_refused(tmp_path: Path, call: str) -> None:
    trace = tmp_path / "trace"
    call = call.replace("{trace}", str(trace))
    for model in (body(f"x = {call}", "return x"), body(call, "return data_0")):
        with pytest.raises(GraphError):
            read(tmp_path, model)
    assert not trace.exists()


LAMBDAS = "(lambda x, f: f(x))(paddle._C_ops.topk(data_0, 1, -1, True, True), {0})"


@pytest.mark.parametrize(
    "unwrap",
    [
        "lambda out: print(out) if isinstance(out, (list, tuple)) else (out, None)",
        "lambda out: out if print(out) else (out, None)",
        "lambda out: out if isinstance(out, (list, tuple)) else (out, print(1))",
        "lambda out: out if isinstance(out, (list, tuple)) else (print(out), None)",
        "lambda out, y=print(1): out if isinstance(out, (list, tuple)) else (out, None)",
    ],
)
def test_only_the_lambdas_of_graphnet_are_read(tmp_path: Path, unwrap: str) -> None:
    usual = "lambda out: out if isinstance(out, (list, tuple)) else (out, None)"
    read(tmp_path, body(f"a, b = {LAMBDAS.format(usual)}", "return a"))
    with pytest.raises(GraphError, match="cannot hold this Call"):
        read(tmp_path, body(f"a, b = {LAMBDAS.format(unwrap)}", "return a"))


GOOD = body("return data_0")


@pytest.mark.parametrize(
    "model",
    [
        GOOD.replace("import paddle", "import paddle\nimport os"),
        GOOD.replace("import paddle", "import os as paddle"),
        GOOD.replace("import paddle", "import paddle\n\nprint(1)"),
        GOOD.replace("super().__init__()", "super().__init__()\n        print(1)"),
        GOOD.replace("super().__init__()", "print(1)"),
        GOOD.replace("def __init__(self):", "def __init__(self, x=print(1)):"),
        GOOD.replace("    def __init__", "    @print\n    def __init__"),
        GOOD.replace("    def forward", "    @print\n    def forward"),
        GOOD.replace("(self, data_0)", "(self, data_0=print(1))"),
        GOOD.replace("class GraphModule", "@print\nclass GraphModule"),
        GOOD.replace("paddle.nn.Layer", "print(1)"),
        GOOD.replace("paddle.nn.Layer", "paddle.nn.Layer, metaclass=print(1)"),
        GOOD + "    print(1)\n",
        GOOD + "\n\nprint(1)\n",
    ],
)
def test_code_around_forward_is_refused(tmp_path: Path, model: str) -> None:
    assert model != GOOD
    with pytest.raises(GraphError):
        read(tmp_path, model)


def test_the_error_names_call_and_line(tmp_path: Path) -> None:
    with pytest.raises(UnknownTarget, match=r"'paddle.save' is not on the allow-list.*line 9"):
        read(tmp_path, body("x = paddle.save(data_0)", "return x"))


def test_an_undescribed_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"neither weight_meta.py nor input_meta.py.*data_0"):
        read_sample(samples.write(tmp_path / "bare", body("return data_0"), "", "\n"))


def test_metadata_that_calls_is_refused(tmp_path: Path) -> None:
    inputs = samples.meta("data_0", "[4]", "float32", "data = print(1)")
    with pytest.raises(GraphError, match="not a literal"):
        read_sample(samples.write(tmp_path / "calls", body("return data_0"), "", inputs))


def test_a_paddle_sample_cannot_claim_another_level(tmp_path: Path) -> None:
    marker = '{"framework": "paddle", "level": "aten"}'
    with pytest.raises(GraphError, match="unknown level 'aten'"):
        read_sample(samples.write(tmp_path / "claims", marker=marker))


def test_doubling_lists_are_stopped(tmp_path: Path) -> None:
    lines = ["a0 = [1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i} = [{', '.join([f'a{i - 1}'] * 8)}]" for i in range(1, 12)]
    with pytest.raises(GraphError, match="too large"):
        read(tmp_path, body(*lines, "return a11"))
