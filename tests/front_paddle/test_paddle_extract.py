"""``graph_net.paddle.extract`` and ``run``, with Paddle itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from front_paddle import samples
from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import Graph, GraphError, Level, Role, from_bytes, to_bytes
from graph_net.graph.paddle_execute import digest, flat_outputs, make_inputs
from graph_net.paddle import extract, run
from graph_net.paddle.extractor import capture

paddle: Any = pytest.importorskip(
    "paddle", reason='PaddlePaddle is not installed: pip install "graph-net[paddle]"'
)
nn, functional = paddle.nn, paddle.nn.functional
Layer: Any = nn.Layer


class Net(Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return functional.relu(self.layer(x))


class Vision(Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8)
        self.group = nn.GroupNorm(2, 8)

    def forward(self, x: Any) -> Any:
        y = self.group(self.norm(self.conv(x)))
        y = functional.interpolate(y, scale_factor=2, mode="bilinear")
        y[:, 0] = 1.5
        top, index = paddle.topk(y.flatten(1), 5)
        return {"y": y, "top": (top, functional.one_hot(index % 7, 7))}, y.mean([2, 3])


class Text(Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(50, 16), nn.Embedding(12, 16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2)
        self.norm = nn.LayerNorm(16)

    def forward(self, ids: Any, scale: Any = None) -> Any:
        places = paddle.arange(ids.shape[1]).unsqueeze(0)
        x = self.norm(self.word(ids) + self.place(places))
        mask = (ids != 0).astype("float32").unsqueeze([1, 2])
        out = self.encoder(x, (1 - mask) * -1e4)
        return out if scale is None else out * scale


class Recurrent(Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 6, num_layers=2, direction="bidirect")
        self.table = paddle.arange(12).astype("float32")

    def forward(self, x: Any) -> Any:
        y, (h, c) = self.lstm(x)
        left, right = paddle.split(y * self.table, 2, axis=-1)
        return [paddle.concat([right, left], axis=1), h, c]


class Noisy(Layer):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        first, second = paddle.uniform([4]), paddle.randn([4])
        return functional.dropout(x, 0.5) * first - second


class Detached(Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        return y - y.mean(-1, keepdim=True).detach(), y.detach() * 2


class Branching(Layer):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1


def ids() -> Any:
    return paddle.to_tensor(np.arange(10).reshape(2, 5) % 7)


CASES: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "net": (Net, lambda: (paddle.randn([2, 4]),)),
    "vision": (lambda: Vision().eval(), lambda: (paddle.randn([2, 3, 8, 8]),)),
    "training": (Vision, lambda: (paddle.randn([2, 3, 8, 8]),)),
    "text": (lambda: Text().eval(), lambda: (ids(), paddle.randn([1]))),
    "recurrent": (lambda: Recurrent().eval(), lambda: (paddle.randn([2, 3, 8]),)),
    "detached": (Detached, lambda: (paddle.randn([2, 4]),)),
    "noisy": (Noisy, lambda: (paddle.randn([4]),)),
    "lenet": (lambda: paddle.vision.models.LeNet(), lambda: (paddle.randn([1, 1, 28, 28]),)),
}


def tensors_of(model: Any, graph: Graph, args: tuple[Any, ...]) -> list[Any]:
    """Copies of the model's own tensors and the call's, as inputs of the graph."""
    static = paddle.jit.to_static(type(model).forward, full_graph=True)
    concrete, _ = static.__get__(model, type(model)).get_concrete_program(*args)
    known = {tensor.name: tensor for tensor in concrete.parameters[0]}
    found = [known[e.original] for e in graph.inputs if e.name.startswith("parameter_")]
    return [t.clone() if t._is_initialized() else t for t in (*found, *args)]


def assert_equal(given: Any, wanted: Any) -> None:
    pairs = list(zip(flat_outputs(given), flat_outputs(wanted), strict=True))
    assert pairs
    for a, b in pairs:
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("name", CASES)
def test_the_stored_graph_computes_what_the_model_computes(name: str, tmp_path: Path) -> None:
    build, make = CASES[name]
    paddle.seed(1)
    model, args = build(), make()
    graph = capture(model, args, name=name)
    assert graph.level is Level.PADDLE
    assert from_bytes(to_bytes(graph)) == graph
    write_sample(graph, tmp_path / "sample")
    stored = read_sample(tmp_path / "sample")
    assert stored == graph
    inputs = tensors_of(model, graph, args)
    paddle.seed(7)
    with paddle.no_grad():
        wanted = model(*args)
    assert_equal(run(stored, inputs, seed=7), wanted)


@pytest.mark.parametrize("name", ["vision", "recurrent", "detached"])
def test_the_written_source_is_what_graphnet_runs(name: str, tmp_path: Path) -> None:
    build, make = CASES[name]
    graph = capture(build(), make(), name=name)
    write_sample(graph, tmp_path / "sample")
    scope: dict[str, Any] = {}
    exec((tmp_path / "sample" / "model.py").read_text(), scope)
    with paddle.no_grad():
        wanted = scope["GraphModule"]()(*make_inputs(graph))
    assert_equal(run(graph), wanted)


def test_a_sample_written_by_hand_runs(tmp_path: Path) -> None:
    graph = read_sample(samples.write(tmp_path / "norm"))
    half, total = run(graph)
    assert (half.shape, total.shape) == ([6, 2], [12])
    assert digest(run(graph)) == digest(run(graph)) != digest(run(graph, seed=1))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPH_NET_EXTRACT_WORKSPACE", str(tmp_path))
    return tmp_path


def test_a_wrapped_model_computes_the_same_and_leaves_a_sample(workspace: Path) -> None:
    model, x = Net(), paddle.randn([2, 4])
    wrapped = extract(name="net", dynamic=False)(model)
    assert_equal(wrapped(x=x), model(x))
    graph = read_sample(workspace / "net")
    assert graph.provenance.model == "net"
    assert graph.provenance.framework_version == paddle.__version__
    weights = [entry.original for entry in graph.inputs if entry.role is Role.PARAMETER]
    assert sorted(str(name).rpartition(".")[2] for name in weights) == ["b_0", "w_0"]
    assert type(model.forward).__name__ == "method"  # the model is left as it was


def test_a_decorated_class_does_the_same(workspace: Path) -> None:
    made = extract("decorated")(Net)()
    made(paddle.randn([2, 4]))
    made(paddle.randn([2, 4]))
    assert [path.name for path in find_samples(workspace)] == ["decorated"]


def test_an_earlier_extraction_is_not_overwritten(workspace: Path) -> None:
    for _ in range(2):
        extract("twice")(Net())(paddle.randn([2, 4]))
    assert [path.name for path in find_samples(workspace)] == ["twice", "twice_2"]


def test_what_cannot_be_extracted_is_refused(workspace: Path) -> None:
    with pytest.raises(TypeError, match="not int"):
        extract("number")(3)
    with pytest.raises(ValueError, match="dynamic=False"):
        extract("sized", dynamic=True)
    with pytest.raises(GraphError, match=r"pd_op\.if runs one part"):
        extract("branching")(Branching())(paddle.randn([3]))
    assert not list(find_samples(workspace))
