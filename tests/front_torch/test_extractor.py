"""``graph_net.torch.extract``, as GraphNet's users call it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.graph.execute import flat_outputs, run
from graph_net.torch import extract


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layer(x))


class Broken(Net):
    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        torch._dynamo.graph_break()
        return x.exp()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    torch._dynamo.reset()
    monkeypatch.setenv("GRAPH_NET_EXTRACT_WORKSPACE", str(tmp_path))
    return tmp_path


def test_a_wrapped_model_computes_the_same_and_leaves_a_sample(workspace: Path) -> None:
    model, x = Net(), torch.randn(2, 4)
    wrapped = extract(name="net", dynamic=False)(model)
    assert torch.equal(wrapped(x), model(x))
    graph = read_sample(workspace / "net")
    assert graph.provenance.model == "net"
    assert flat_outputs(run(graph))[0].shape == (2, 3)


def test_a_decorated_class_does_the_same(workspace: Path) -> None:
    made = extract("decorated", dynamic=False)(Net)()
    made(torch.randn(2, 4))
    assert read_sample(workspace / "decorated").nodes


def test_a_dynamic_extraction_has_sizes_as_arguments(workspace: Path) -> None:
    extract("sized", dynamic=True)(Net())(torch.randn(5, 4))
    graph = read_sample(workspace / "sized")
    sizes = [e.recipe for e in graph.inputs if e.name.startswith("s")]
    assert len(sizes) == 1


def test_the_pieces_of_a_broken_model_lie_side_by_side(workspace: Path) -> None:
    extract("broken", dynamic=False)(Broken())(torch.randn(2, 4))
    names = [str(path.relative_to(workspace)) for path in find_samples(workspace)]
    assert names == ["broken/subgraph_0", "broken/subgraph_1"]


def test_an_earlier_extraction_is_not_overwritten(workspace: Path) -> None:
    for _ in range(2):
        torch._dynamo.reset()
        extract("twice", dynamic=False)(Net())(torch.randn(2, 4))
    assert [path.name for path in find_samples(workspace)] == ["twice", "twice_2"]


def test_without_a_workspace_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPH_NET_EXTRACT_WORKSPACE", raising=False)
    with pytest.raises(OSError, match=r"set \$GRAPH_NET_EXTRACT_WORKSPACE"):
        extract("nowhere")


def test_anything_but_a_module_is_refused(workspace: Path) -> None:
    with pytest.raises(TypeError, match="not int"):
        extract("number")(3)
