"""Families: what is drawn together."""

from __future__ import annotations

import pytest

from graph_net.score.family import family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("resnet18", "resnet"),
        ("resnet50d.ra2_in1k", "resnet"),
        ("vgg16_bn", "vgg"),
        ("mobilenetv3_small_075", "mobilenet"),
        ("mobilenetv4_conv_aa_large.e230_r384_in12k", "mobilenet"),
        ("BertModel", "bert"),
        ("BertForMaskedLM", "bert"),
        ("Qwen3_5MoeTextModel", "qwen"),
        ("opus-mt-en-gv", "opus"),
        ("hf-tiny-model-private/tiny-random-Swinv2ForImageClassification", "swin"),
        ("20b", "20b"),
        ("", ""),
    ],
)
def test_the_family_of_a_model(model: str, family: str) -> None:
    assert family_of("timm", model) == f"timm/{family}"


def test_a_family_belongs_to_a_library() -> None:
    assert family_of("timm", "resnet18") != family_of("torchvision", "resnet18")
