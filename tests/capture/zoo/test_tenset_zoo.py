"""TenSet's networks: which there are, and that those that are shipped are these."""

from __future__ import annotations

from collections import Counter

import torch

from graph_net.capture import capture
from graph_net.capture.zoo.tenset import HELD_OUT, Dcgan, TensetZoo
from graph_net.graph import TensorSpec
from graph_net.programs.collection.networks import networks


def names() -> list[str]:
    return [entry.name for entry in TensetZoo().entries()]


def test_there_are_tensets_120() -> None:
    found = names()
    assert len(found) == len(set(found)) == 120
    kinds = Counter(name.partition("-")[0] for name in found)
    assert len(kinds) == 14
    assert kinds["inception_v3"] == 3
    assert {count for kind, count in kinds.items() if kind != "inception_v3"} == {9}
    assert {"resnet50-8x256", "r3d_18-4x144", "bert_large-4x256", "dcgan-8x96"} <= set(found)
    assert set(HELD_OUT) <= set(found)


def test_all_of_them_are_shipped_with_their_sizes() -> None:
    pack = networks("tenset")
    assert set(pack.names()) == {f"tenset/{name}" for name in names()}
    for batch, side in ((1, 224), (8, 256)):
        graph = pack.graph(f"tenset/resnet18-{batch}x{side}")
        (image,) = [e for e in graph.inputs if e.role.value == "input"]
        assert isinstance(image.spec, TensorSpec)
        assert image.spec.shape == (batch, 3, side, side)


def test_the_generator_makes_images_and_is_the_one_that_is_shipped() -> None:
    model = Dcgan(80).eval()
    assert model(torch.zeros(4, 100)).shape == (4, 3, 80, 80)
    (graph,) = capture(model, (torch.zeros(4, 100),)).graphs
    assert graph.structure == networks("tenset").graph("tenset/dcgan-4x80").structure
