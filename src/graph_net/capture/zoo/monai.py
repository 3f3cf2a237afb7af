"""monai: networks of medical imaging, with settings in the manner of its documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.compat import torchvision_operators
from graph_net.capture.zoo.zoo import Call, Entry

_Shape = tuple[int, ...]
_Table = dict[str, tuple[dict[str, Any], tuple[_Shape, ...]]]
"""For each name the arguments of the constructor and the shapes of the inputs."""
_VOLUME, _LARGE, _LABELS = (1, 1, 64, 64, 64), (1, 1, 96, 96, 96), (1, 3, 64, 64, 64)
_PAIR, _SMALL, _STEP = (1, 2, 64, 64, 64), (1, 1, 32, 32, 32), (1,)
_SLICE, _PICTURE, _PATCH = (1, 1, 256, 256), (1, 3, 224, 224), (1, 3, 256, 256)
_TOKENS = (-1, 256)
_DEPTHS = (10, 18, 34, 50, 101, 152, 200)
_DEFAULTS = (
    *("BasicUNet", "BasicUNetPlusPlus", "HighResNet", "SegResNet", "SegResNetDS", "SegResNetDS2"),
    *("VNet", "MedNeXtS", "MedNeXtB", "MedNeXtM", "MedNeXtL", "vista3d132"),
)
_SENETS = ("SENet154", "SEResNet50", "SEResNet101", "SEResNet152", "SEResNext50", "SEResNext101")


class MonaiZoo:
    """Every network in ``monai.networks.nets`` that needs no other library and no download."""

    library = "monai"

    def __init__(self) -> None:
        torchvision_operators()

    def entries(self) -> Iterator[Entry]:
        for kind, table in _tables().items():
            for name in table:
                yield Entry(self.library, name, "scientific", kind)

    def build(self, entry: Entry) -> Call:
        options, shapes = _tables()[entry.subcategory][entry.name]
        model = _model(entry.name.partition("-")[0], dict(options)).eval()
        prompt = {"class_vector": torch.ones(1, 1, dtype=torch.int64)}
        named = prompt if entry.name == "vista3d132" else {}
        return Call(model, tuple(_input(shape) for shape in shapes), named)


def _input(shape: _Shape) -> torch.Tensor:
    """An image of zeros, or integers: time steps (one dimension), tokens (batch written as -1)."""
    if len(shape) == 1 or shape[0] < 0:
        return torch.ones(1, *shape[1:], dtype=torch.int64)
    return torch.zeros(*shape, device="cpu")


def _model(maker: str, options: dict[str, Any]) -> nn.Module:
    from monai.networks import nets

    if maker == "DiNTS":
        shared = {"channel_mul": 0.5, "num_blocks": 12, "num_depths": 4, "use_downsample": True}
        options["dints_space"] = getattr(nets, options["dints_space"])(**shared)
    made: nn.Module = getattr(nets, maker)(**options)
    return made


def _tables() -> dict[str, _Table]:
    """The networks by what they are for; the part of a name before a dash is what makes it."""
    return {
        "medical segmentation": _segmentation(),
        "medical classification": _classification(),
        "autoencoder": _autoencoders(),
        "diffusion": _diffusion(),
        "generation": _generation(),
        "image registration": _registration(),
    }


def _segmentation() -> _Table:
    plain = {"in_channels": 1, "out_channels": 2}
    solid = {"spatial_dims": 3, **plain}
    steps = {**solid, "channels": (16, 32, 64, 128, 256), "strides": (2, 2, 2, 2)}
    nnunet = {"kernel_size": [3] * 6, "strides": [1] + [2] * 5, "upsample_kernel_size": [2] * 5}
    dints = {"in_channels": 1, "num_classes": 3, "node_a": [[1] * 4] * 13}
    swin = {**plain, "feature_size": 48}
    found: _Table = {
        "AHNet": ({"spatial_dims": 3}, ((1, 1, 128, 128, 64),)),
        "AttentionUnet": (steps, (_VOLUME,)),
        "DAF3D": (plain, (_VOLUME,)),
        "DiNTS-instance": ({**dints, "dints_space": "TopologyInstance"}, (_VOLUME,)),
        "DiNTS-search": ({**dints, "dints_space": "TopologySearch"}, (_VOLUME,)),
        "DynUNet": ({**solid, **nnunet}, (_VOLUME,)),
        "DynUNet-residual": ({**solid, **nnunet, "res_block": True}, (_VOLUME,)),
        "HoVerNet-fast": ({"mode": "fast"}, (_PATCH,)),
        "HoVerNet-original": ({"mode": "original"}, ((1, 3, 270, 270),)),
        "Quicknat": ({}, (_SLICE,)),
        "SegResNetVAE": ({"input_image_size": (64, 64, 64)}, (_VOLUME,)),
        "SwinUNETR": (swin, (_LARGE,)),
        "SwinUNETR-v2": ({**swin, "use_v2": True}, (_LARGE,)),
        "UNETR": ({**plain, "img_size": (96, 96, 96)}, (_LARGE,)),
        "UNet": (steps, (_VOLUME,)),
        "UNet-residual": ({**steps, "num_res_units": 2}, (_VOLUME,)),
        **{name: ({}, (_VOLUME,)) for name in _DEFAULTS},
    }
    for backbone in (*(f"efficientnet-b{n}" for n in range(9)), *(f"resnet{n}" for n in _DEPTHS)):
        options = {"in_channels": 3, "out_channels": 2, "backbone": backbone}
        found[f"FlexibleUNet-{backbone}"] = (options, (_PATCH,))
    return found


def _classification() -> _Table:
    shape = {"in_shape": (1, 64, 64, 64), "channels": (8, 16, 32), "strides": (2, 2, 2)}
    vit = {"in_channels": 1, "img_size": (96, 96, 96), "patch_size": (16, 16, 16)}
    found: _Table = {
        "Classifier": ({**shape, "classes": 2}, (_VOLUME,)),
        "Regressor": ({**shape, "out_shape": (1,)}, (_VOLUME,)),
        "TorchVisionFCModel": ({}, (_PICTURE,)),
        "ViT": ({**vit, "classification": True}, (_LARGE,)),
    }
    for depth in _DEPTHS:
        options: dict[str, Any] = {"spatial_dims": 3, "n_input_channels": 1, "num_classes": 2}
        found[f"resnet{depth}"] = (options, (_VOLUME,))
    for dims, size in ((2, _PICTURE), (3, (1, 3, 96, 96, 96))):
        options = {"spatial_dims": dims, "in_channels": 3}
        for depth in (121, 169, 201, 264):
            found[f"DenseNet{depth}-{dims}d"] = ({**options, "out_channels": 2}, (size,))
        for maker in _SENETS:
            found[f"{maker}-{dims}d"] = ({**options, "num_classes": 2}, (size,))
    for scale in range(9):
        options = {"model_name": f"efficientnet-b{scale}", "pretrained": False}
        for maker in ("EfficientNetBN", "EfficientNetBNFeatures"):
            found[f"{maker}-b{scale}"] = (options, (_PICTURE,))
    for mode in ("mean", "max", "att", "att_trans", "att_trans_pyramid"):
        options = {"num_classes": 5, "mil_mode": mode, "pretrained": False}
        found[f"MILModel-{mode}"] = (options, ((1, 4, 3, 224, 224),))
    return found


def _autoencoders() -> _Table:
    solid = {"spatial_dims": 3, "in_channels": 1, "out_channels": 1}
    steps = {"channels": (16, 32, 64), "strides": (2, 2, 2)}
    shape = {"spatial_dims": 3, "in_shape": (1, 64, 64, 64), "out_channels": 1, "latent_size": 64}
    vector = {"in_channels": 10, "out_channels": 3, "latent_size": 30}
    ends = {"encode_channels": (8, 16), "decode_channels": (16, 8)}
    vit = {"in_channels": 1, "img_size": (96, 96, 96), "patch_size": (16, 16, 16)}
    return {
        "AutoEncoder": ({**solid, **steps}, (_VOLUME,)),
        "AutoencoderKL": (solid, (_VOLUME,)),
        "MaskedAutoEncoderViT": (vit, (_LARGE,)),
        "SPADEAutoencoderKL": ({**solid, "label_nc": 3}, (_VOLUME, _LABELS)),
        "VarAutoEncoder": ({**shape, **steps}, (_VOLUME,)),
        "VarFullyConnectedNet": ({**vector, **ends}, ((1, 10),)),
        "ViTAutoEnc": (vit, (_LARGE,)),
        "VQVAE": (solid, (_VOLUME,)),
    }


def _diffusion() -> _Table:
    solid = {"spatial_dims": 3, "in_channels": 1}
    both, labels = {**solid, "out_channels": 1}, (1, 3, 32, 32, 32)
    return {
        "ControlNet": (solid, ((1, 1, 16, 16, 16), _STEP, (1, 1, 128, 128, 128))),
        "DiffusionModelUNet": (both, (_SMALL, _STEP)),
        "SPADEDiffusionModelUNet": ({**both, "label_nc": 3}, (_SMALL, _STEP, labels)),
    }


def _generation() -> _Table:
    shape = {"in_shape": (1, 64, 64, 64), "channels": (8, 16, 32), "strides": (2, 2, 2)}
    latent = {"latent_shape": (64,), "start_shape": (32, 8, 8, 8), "channels": (32, 16, 1)}
    judge = {"spatial_dims": 2, "in_channels": 3, "channels": 64, "num_layers_d": 3}
    tokens = {"num_tokens": 256, "max_seq_len": 512, "attn_layers_dim": 512}
    layers = {"attn_layers_depth": 8, "attn_layers_heads": 8}
    spade = {"spatial_dims": 2, "in_channels": 1, "out_channels": 1, "label_nc": 3, "z_dim": 16}
    sizes = {"input_shape": (64, 64), "channels": [16, 32, 64]}
    vector = {"in_channels": 10, "out_channels": 3, "hidden_channels": (8, 16)}
    return {
        "Critic": (shape, (_VOLUME,)),
        "DecoderOnlyTransformer": ({**tokens, **layers}, (_TOKENS,)),
        "Discriminator": (shape, (_VOLUME,)),
        "FullyConnectedNet": (vector, ((1, 10),)),
        "Generator": ({**latent, "strides": (2, 2, 2)}, ((1, 64),)),
        "MultiScalePatchDiscriminator": ({**judge, "num_d": 2}, (_PATCH,)),
        "PatchDiscriminator": (judge, (_PATCH,)),
        "SPADENet": ({**spade, **sizes}, ((1, 3, 64, 64), (1, 1, 64, 64))),
    }


def _registration() -> _Table:
    pair = {"spatial_dims": 3, "in_channels": 2, "num_channel_initial": 16}
    return {
        "GlobalNet": ({**pair, "depth": 3, "image_size": [64, 64, 64]}, (_PAIR,)),
        "LocalNet": ({**pair, "extract_levels": (0, 1, 2, 3)}, (_PAIR,)),
        "RegUNet": ({**pair, "depth": 3}, (_PAIR,)),
        "VoxelMorph": ({}, (_VOLUME, _VOLUME)),
    }
