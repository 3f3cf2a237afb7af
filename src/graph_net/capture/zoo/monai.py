"""monai: networks of medical imaging, with the settings of its documentation and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.compat import torchvision_operators
from graph_net.capture.zoo.zoo import Call, Entry

_Shape = tuple[int, ...]
_VOLUME = (1, 1, 64, 64, 64)
_SLICE = (1, 1, 256, 256)
_PICTURE = (1, 3, 224, 224)


@dataclass(frozen=True, slots=True)
class _Net:
    """A network: what is called to make it, with what, and the shapes it takes."""

    maker: str
    options: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[_Shape, ...] = (_VOLUME,)
    kind: str = "medical segmentation"


class MonaiZoo:
    """Every network in ``monai.networks.nets`` that needs no other library and no download."""

    library = "monai"

    def __init__(self) -> None:
        torchvision_operators()

    def entries(self) -> Iterator[Entry]:
        for name, net in _nets().items():
            yield Entry(self.library, name, "scientific", net.kind, (net.maker,))

    def build(self, entry: Entry) -> Call:
        net = _nets()[entry.name]
        return Call(_model(net).eval(), tuple(_input(shape) for shape in net.shapes))


def _input(shape: _Shape) -> torch.Tensor:
    """An image of zeros; a shape of one dimension means time steps, a negative one tokens."""
    if len(shape) == 1:
        return torch.ones(shape, dtype=torch.int64)
    if shape[-1] < 0:
        return torch.zeros(*shape[:-1], -shape[-1], dtype=torch.int64)
    return torch.zeros(*shape, device="cpu")


def _model(net: _Net) -> nn.Module:
    from monai.networks import nets

    options = dict(net.options)
    if net.maker == "DiNTS":
        space = options.pop("space")
        shared = {"channel_mul": 0.5, "num_blocks": 12, "num_depths": 4, "use_downsample": True}
        options["dints_space"] = getattr(nets, space)(**shared)
    made: nn.Module = getattr(nets, net.maker)(**options)
    return made


def _nets() -> dict[str, _Net]:
    """All networks by name."""
    return {**_segmentation(), **_classification(), **_generation(), **_registration()}


def _segmentation() -> dict[str, _Net]:
    plain = {"in_channels": 1, "out_channels": 2}
    steps = {"channels": (16, 32, 64, 128, 256), "strides": (2, 2, 2, 2)}
    solid = {"spatial_dims": 3, **plain}
    nnunet = {"kernel_size": [3] * 6, "strides": [1] + [2] * 5, "upsample_kernel_size": [2] * 5}
    cube = {"img_size": (96, 96, 96)}
    large = ((1, 1, 96, 96, 96),)
    found = {
        "AHNet": _Net("AHNet", {"spatial_dims": 3}, ((1, 1, 128, 128, 64),)),
        "AttentionUnet": _Net("AttentionUnet", {**solid, **steps}),
        "BasicUNet": _Net("BasicUNet"),
        "BasicUNetPlusPlus": _Net("BasicUNetPlusPlus"),
        "DAF3D": _Net("DAF3D", plain, ((1, 1, 64, 64, 64),)),
        "DiNTS-instance": _Net(
            "DiNTS", {"space": "TopologyInstance", "in_channels": 1, "num_classes": 3}
        ),
        "DiNTS-search": _Net(
            "DiNTS", {"space": "TopologySearch", "in_channels": 1, "num_classes": 3}
        ),
        "DynUNet": _Net("DynUNet", {**solid, **nnunet}),
        "DynUNet-residual": _Net("DynUNet", {**solid, **nnunet, "res_block": True}),
        "HighResNet": _Net("HighResNet"),
        "HoVerNet-fast": _Net("HoVerNet", {"mode": "fast"}, ((1, 3, 256, 256),)),
        "HoVerNet-original": _Net("HoVerNet", {"mode": "original"}, ((1, 3, 270, 270),)),
        "Quicknat": _Net("Quicknat", {}, (_SLICE,)),
        "SegResNet": _Net("SegResNet"),
        "SegResNetDS": _Net("SegResNetDS"),
        "SegResNetDS2": _Net("SegResNetDS2"),
        "SegResNetVAE": _Net("SegResNetVAE", {"input_image_size": (64, 64, 64)}),
        "SwinUNETR": _Net("SwinUNETR", {**plain, "feature_size": 48}, large),
        "SwinUNETR-v2": _Net("SwinUNETR", {**plain, "feature_size": 48, "use_v2": True}, large),
        "UNETR": _Net("UNETR", {**plain, **cube}, large),
        "UNet": _Net("UNet", {**solid, **steps}),
        "UNet-residual": _Net("UNet", {**solid, **steps, "num_res_units": 2}),
        "VISTA3D": _Net("vista3d132", {}, ((1, 1, 64, 64, 64),)),
        "VNet": _Net("VNet"),
    }
    for size in "SBML":
        found[f"MedNeXt-{size}"] = _Net(f"MedNeXt{size}")
    backbones = [f"efficientnet-b{n}" for n in range(9)] + [f"resnet{n}" for n in _DEPTHS]
    for backbone in backbones:
        options = {"in_channels": 3, "out_channels": 2, "backbone": backbone}
        found[f"FlexibleUNet-{backbone}"] = _Net("FlexibleUNet", options, ((1, 3, 256, 256),))
    return found


_DEPTHS = (10, 18, 34, 50, 101, 152, 200)
_SENETS = ("SENet154", "SEResNet50", "SEResNet101", "SEResNet152", "SEResNext50", "SEResNext101")


def _classification() -> dict[str, _Net]:
    kind = "medical classification"
    shape = {"in_shape": (1, 64, 64, 64), "channels": (8, 16, 32), "strides": (2, 2, 2)}
    found = {
        "Classifier": _Net("Classifier", {**shape, "classes": 2}, kind=kind),
        "Critic": _Net("Critic", shape, kind=kind),
        "Discriminator": _Net("Discriminator", shape, kind=kind),
        "Regressor": _Net("Regressor", {**shape, "out_shape": (1,)}, kind="regression"),
        "TorchVisionFCModel": _Net("TorchVisionFCModel", {}, (_PICTURE,), kind),
    }
    for depth in _DEPTHS:
        options = {"spatial_dims": 3, "n_input_channels": 1, "num_classes": 2}
        found[f"resnet{depth}"] = _Net(f"resnet{depth}", options, kind=kind)
    for dims, size in ((2, _PICTURE), (3, (1, 3, 96, 96, 96))):
        options = {"spatial_dims": dims, "in_channels": 3}
        for depth in (121, 169, 201, 264):
            maker = f"DenseNet{depth}"
            found[f"{maker}-{dims}d"] = _Net(maker, {**options, "out_channels": 2}, (size,), kind)
        for maker in _SENETS:
            found[f"{maker}-{dims}d"] = _Net(maker, {**options, "num_classes": 2}, (size,), kind)
    for scale in range(9):
        options = {"model_name": f"efficientnet-b{scale}", "pretrained": False}
        for maker in ("EfficientNetBN", "EfficientNetBNFeatures"):
            found[f"{maker}-b{scale}"] = _Net(maker, options, (_PICTURE,), kind)
    for mode in ("mean", "max", "att", "att_trans", "att_trans_pyramid"):
        options = {"num_classes": 5, "mil_mode": mode, "pretrained": False}
        found[f"MILModel-{mode}"] = _Net("MILModel", options, ((1, 4, 3, 224, 224),), kind)
    vit = {"in_channels": 1, "img_size": (96, 96, 96), "patch_size": (16, 16, 16)}
    large = ((1, 1, 96, 96, 96),)
    found["ViT"] = _Net("ViT", {**vit, "classification": True}, large, kind)
    found["ViTAutoEnc"] = _Net("ViTAutoEnc", vit, large, "autoencoder")
    found["MaskedAutoEncoderViT"] = _Net("MaskedAutoEncoderViT", vit, large, "autoencoder")
    return found


def _generation() -> dict[str, _Net]:
    solid = {"spatial_dims": 3, "in_channels": 1, "out_channels": 1}
    steps = {"channels": (16, 32, 64), "strides": (2, 2, 2)}
    latent = {"latent_shape": (64,), "start_shape": (32, 8, 8, 8), "channels": (32, 16, 1)}
    vector = {"in_channels": 10, "out_channels": 3}
    code, ends = "autoencoder", {"encode_channels": (8, 16), "decode_channels": (16, 8)}
    variational = {**steps, "spatial_dims": 3, "in_shape": (1, 64, 64, 64), "out_channels": 1}
    small, step = (1, 1, 32, 32, 32), (1,)
    labels, flat = (1, 3, 64, 64, 64), {"spatial_dims": 2, "in_channels": 1, "out_channels": 1}
    judge = {"spatial_dims": 2, "in_channels": 3, "channels": 64, "num_layers_d": 3}
    tokens = {"num_tokens": 256, "max_seq_len": 512, "attn_layers_dim": 512}
    spade = {**flat, "label_nc": 3, "input_shape": (64, 64), "channels": [16, 32, 64]}
    control = {"spatial_dims": 3, "in_channels": 1}
    return {
        "AutoEncoder": _Net("AutoEncoder", {**solid, **steps}, kind=code),
        "AutoencoderKL": _Net("AutoencoderKL", solid, kind=code),
        "VarAutoEncoder": _Net("VarAutoEncoder", {**variational, "latent_size": 64}, kind=code),
        "VQVAE": _Net("VQVAE", solid, kind=code),
        "SPADEAutoencoderKL": _Net(
            "SPADEAutoencoderKL", {**solid, "label_nc": 3}, (_VOLUME, labels), code
        ),
        "DiffusionModelUNet": _Net("DiffusionModelUNet", solid, (small, step), "diffusion"),
        "SPADEDiffusionModelUNet": _Net(
            "SPADEDiffusionModelUNet",
            {**solid, "label_nc": 3},
            (small, step, (1, 3, 32, 32, 32)),
            "diffusion",
        ),
        "ControlNet": _Net(
            "ControlNet", control, (small, step, (1, 1, 256, 256, 256)), "diffusion"
        ),
        "SPADENet": _Net("SPADENet", spade, ((1, 3, 64, 64), (1, 1, 64, 64)), "generation"),
        "PatchDiscriminator": _Net("PatchDiscriminator", judge, ((1, 3, 256, 256),), "generation"),
        "MultiScalePatchDiscriminator": _Net(
            "MultiScalePatchDiscriminator", {**judge, "num_d": 2}, ((1, 3, 256, 256),), "generation"
        ),
        "Generator": _Net("Generator", {**latent, "strides": (2, 2, 2)}, ((1, 64),), "generation"),
        "DecoderOnlyTransformer": _Net(
            "DecoderOnlyTransformer",
            {**tokens, "attn_layers_depth": 8, "attn_layers_heads": 8},
            ((1, -256),),
            "generation",
        ),
        "FullyConnectedNet": _Net(
            "FullyConnectedNet", {**vector, "hidden_channels": (8, 16)}, ((1, 10),), "regression"
        ),
        "VarFullyConnectedNet": _Net(
            "VarFullyConnectedNet", {**vector, **ends, "latent_size": 30}, ((1, 10),), code
        ),
    }


def _registration() -> dict[str, _Net]:
    kind = "image registration"
    pair = {"spatial_dims": 3, "in_channels": 2, "num_channel_initial": 16}
    both = ((1, 2, 64, 64, 64),)
    return {
        "RegUNet": _Net("RegUNet", {**pair, "depth": 3}, both, kind),
        "GlobalNet": _Net("GlobalNet", {**pair, "depth": 3, "image_size": [64] * 3}, both, kind),
        "LocalNet": _Net("LocalNet", {**pair, "extract_levels": (0, 1, 2, 3)}, both, kind),
        "VoxelMorph": _Net("VoxelMorph", {}, (_VOLUME, _VOLUME), kind),
    }
