"""monai: networks of medical imaging, with the library's own settings.

A constructor's defaults come first. What it requires is taken from the example in its docstring;
failing that, from MONAI's own tests (``tests/networks/nets``) or from the paper that the docstring
cites. Comments name the source where it is not the docstring.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Call, ZooEntry

_Shape = tuple[int, ...]
_Table = dict[str, tuple[dict[str, Any], tuple[_Shape, ...]]]
"""Arguments of the constructor and shapes of the inputs, by name."""
_VOLUME, _LARGE, _LABELS = (1, 1, 64, 64, 64), (1, 1, 96, 96, 96), (1, 3, 64, 64, 64)
_PAIR, _SMALL, _STEP = (1, 2, 64, 64, 64), (1, 1, 32, 32, 32), (1,)
_SLICE, _PICTURE, _PATCH = (1, 1, 256, 256), (1, 3, 224, 224), (1, 3, 256, 256)
_TOKENS = (-1, 16)
_DEPTHS = (10, 18, 34, 50, 101, 152, 200)
_SCALES = (*(f"b{scale}" for scale in range(9)), "l2")
_DEFAULTS = (
    *("BasicUNet", "BasicUNetPlusPlus", "HighResNet", "SegResNet", "SegResNetDS", "SegResNetDS2"),
    *("VNet", "MedNeXtS", "MedNeXtB", "MedNeXtM", "MedNeXtL", "vista3d132"),
)
_SENETS = ("SENet154", "SEResNet50", "SEResNet101", "SEResNet152", "SEResNext50", "SEResNext101")


class MonaiZoo:
    """Every network in ``monai.networks.nets`` that needs no other library and no download."""

    library = "monai"

    def entries(self) -> Iterator[ZooEntry]:
        for kind, table in _tables().items():
            for name in table:
                yield ZooEntry(self.library, name, "scientific", kind)

    def build(self, entry: ZooEntry) -> Call:
        options, shapes = _tables()[entry.subcategory][entry.name]
        model = _model(entry.name.partition("-")[0], dict(options)).eval()
        prompt = {"class_vector": torch.ones(1, 1, dtype=torch.int64)}
        kwargs = prompt if entry.name == "vista3d132" else {}
        return Call(model, tuple(_input(shape) for shape in shapes), kwargs)


def _input(shape: _Shape) -> torch.Tensor:
    """Return an image of zeros, or integers: time steps (one dimension), tokens (batch -1)."""
    if len(shape) == 1 or shape[0] < 0:
        return torch.ones(1, *shape[1:], dtype=torch.int64)
    return torch.zeros(*shape, device="cpu")


def _model(maker: str, options: dict[str, Any]) -> nn.Module:
    from monai.networks import nets

    if maker == "DiNTS":  # the example of TopologySearch; an instance needs a code searched for
        space = nets.TopologySearch(channel_mul=0.5, num_blocks=8, num_depths=4)
        options["dints_space"] = space
    model: nn.Module = getattr(nets, maker)(**options)
    return model


def _tables() -> dict[str, _Table]:
    """Return the networks by purpose; a name up to its dash is the constructor's."""
    return {
        "medical segmentation": _segmentation(),
        "medical classification": _classification(),
        "autoencoder": _autoencoders(),
        "diffusion": _diffusion(),
        "generation": _generation(),
        "image registration": _registration(),
    }


def _segmentation() -> _Table:
    plain = {"in_channels": 1, "out_channels": 2}  # as the defaults of BasicUNet and SegResNet
    flat = {"spatial_dims": 2, "in_channels": 1, "out_channels": 1}
    deep = {**flat, "channels": (4, 8, 16, 32, 64), "strides": (2, 2, 2, 2)}
    shallow = {**flat, "channels": (4, 8, 16), "strides": (2, 2), "num_res_units": 2}
    # Kernels and strides of nnU-Net's full-resolution network for cubes, which the docstring cites.
    nnunet = {"kernel_size": [3] * 6, "strides": [1] + [2] * 5, "upsample_kernel_size": [2] * 5}
    swin = {"in_channels": 1, "out_channels": 4, "feature_size": 48}
    unetr = {"in_channels": 1, "out_channels": 4, "feature_size": 32, "norm_name": "batch"}
    brain = (160, 192, 128)  # the crop of the paper that SegResNetVAE's docstring cites
    table: _Table = {
        "AHNet": ({}, ((1, 1, 128, 128, 64),)),
        "AttentionUnet": (deep, (_SLICE,)),  # no example of its own: that of UNet
        "DAF3D": ({"in_channels": 1, "out_channels": 1}, ((1, 1, 32, 32, 64),)),  # MONAI's tests
        "DiNTS-search": ({"in_channels": 1, "num_classes": 2}, (_VOLUME,)),
        "DynUNet": ({"spatial_dims": 3, **plain, **nnunet}, (_VOLUME,)),
        "HoVerNet-fast": ({"mode": "fast"}, (_PATCH,)),
        "HoVerNet-original": ({"mode": "original"}, ((1, 3, 270, 270),)),
        "Quicknat": ({}, (_SLICE,)),
        "SegResNetVAE": ({"input_image_size": brain}, ((1, 1, *brain),)),
        "SwinUNETR": (swin, (_LARGE,)),
        "SwinUNETR-v2": ({**swin, "use_v2": True}, (_LARGE,)),
        "UNETR": ({**unetr, "img_size": (96, 96, 96)}, (_LARGE,)),
        "UNet": (deep, ((1, 1, 240, 240),)),
        "UNet-residual": (shallow, ((1, 1, 240, 240),)),
        **{name: ({}, (_VOLUME,)) for name in _DEFAULTS},
    }
    backbones = (*(f"efficientnet-{n}" for n in _SCALES), *(f"resnet{n}" for n in _DEPTHS))
    for backbone in backbones:
        options = {"in_channels": 3, "out_channels": 2, "backbone": backbone}
        table[f"FlexibleUNet-{backbone}"] = (options, (_PATCH,))
    return table


_REGRESSOR = {"in_shape": (1, 64, 64), "channels": (2, 4, 8), "strides": (2, 2, 2)}
"""The example of Regressor, and what MONAI's tests of its subclasses use."""
_VIT = {"in_channels": 1, "img_size": (96, 96, 96), "patch_size": (16, 16, 16)}
"""The examples of MaskedAutoEncoderViT and ViTAutoEnc."""


def _classification() -> _Table:
    # Its example leaves out the patch, which is required: that of ViTAutoEnc.
    vit = {"in_channels": 3, "img_size": (128, 128, 128), "patch_size": (16, 16, 16)}
    head = {"pos_embed_type": "sincos", "classification": True}
    table: _Table = {
        "Classifier": ({**_REGRESSOR, "classes": 2}, ((1, 1, 64, 64),)),
        "Regressor": ({**_REGRESSOR, "out_shape": (2,)}, ((1, 1, 64, 64),)),
        "TorchVisionFCModel": ({}, (_PICTURE,)),
        "ViT": ({**vit, **head}, ((1, 3, 128, 128, 128),)),
        **{f"resnet{depth}": ({}, (_LABELS,)) for depth in _DEPTHS},
    }
    for dims, size in ((2, _PICTURE), (3, (1, 3, 96, 96, 96))):
        # Channels and classes of ImageNet: the docstrings cite the networks for it.
        options: dict[str, Any] = {"spatial_dims": dims, "in_channels": 3}
        for depth in (121, 169, 201, 264):
            table[f"DenseNet{depth}-{dims}d"] = ({**options, "out_channels": 1000}, (size,))
        for maker in _SENETS:
            table[f"{maker}-{dims}d"] = (options, (size,))
    for scale in _SCALES:
        options = {"model_name": f"efficientnet-{scale}", "pretrained": False}
        side = _side(f"efficientnet-{scale}")
        for maker in ("EfficientNetBN", "EfficientNetBNFeatures"):
            table[f"{maker}-{scale}"] = (options, ((1, 3, side, side),))
    for mode in ("mean", "max", "att", "att_trans", "att_trans_pyramid"):
        options = {"num_classes": 5, "mil_mode": mode, "pretrained": False}  # MONAI's tests
        table[f"MILModel-{mode}"] = (options, ((1, 2, 3, 512, 512),))
    return table


def _side(name: str) -> int:
    from monai.networks.nets import get_efficientnet_image_size

    return int(get_efficientnet_image_size(name))


def _autoencoders() -> _Table:
    flat = {"spatial_dims": 2, "in_channels": 1, "out_channels": 1}
    steps = {"channels": (2, 4, 8), "strides": (2, 2, 2)}
    variational = {"spatial_dims": 2, "in_shape": (1, 32, 32), "out_channels": 1, "latent_size": 2}
    more = {"channels": (16, 32, 64), "strides": (1, 2, 2)}
    vector = {"in_channels": 4, "out_channels": 3, "latent_size": 2}
    ends = {"encode_channels": [5, 10], "decode_channels": [10, 5]}
    labels = {"spatial_dims": 3, "label_nc": 3}  # MONAI's tests
    return {
        "AutoEncoder": ({**flat, **steps}, (_SLICE,)),
        "AutoencoderKL": ({"spatial_dims": 3}, (_VOLUME,)),
        "MaskedAutoEncoderViT": (_VIT, (_LARGE,)),
        "SPADEAutoencoderKL": (labels, (_VOLUME, _LABELS)),
        "VarAutoEncoder": ({**variational, **more}, ((1, 1, 32, 32),)),
        "VarFullyConnectedNet": ({**vector, **ends}, ((1, 4),)),
        "ViTAutoEnc": (_VIT, (_LARGE,)),
        "VQVAE": ({"spatial_dims": 3, "in_channels": 1, "out_channels": 1}, (_VOLUME,)),
    }


def _diffusion() -> _Table:
    solid = {"spatial_dims": 3, "in_channels": 1}
    both, labels = {**solid, "out_channels": 1}, (1, 3, 32, 32, 32)
    return {
        "ControlNet": (solid, ((1, 1, 16, 16, 16), _STEP, (1, 1, 128, 128, 128))),
        "DiffusionModelUNet": (both, (_SMALL, _STEP)),
        # The number of labels in MONAI's tests.
        "SPADEDiffusionModelUNet": ({**both, "label_nc": 3}, (_SMALL, _STEP, labels)),
    }


def _generation() -> _Table:
    latent = {"latent_shape": (42, 24), "start_shape": (64, 8, 8), "channels": (32, 16, 1)}
    # Pictures and 64 filters of Pix2PixHD, which the docstring cites; scales of MONAI's tests.
    judge = {"spatial_dims": 2, "in_channels": 3, "channels": 64}
    scales = {"num_d": 2, "num_layers_d": 3}
    # The widest case of MONAI's tests.
    tokens = {"num_tokens": 10, "max_seq_len": 16, "attn_layers_dim": 768}
    layers = {"attn_layers_depth": 2, "attn_layers_heads": 12}
    # MONAI's tests.
    spade = {"spatial_dims": 2, "in_channels": 1, "out_channels": 1, "label_nc": 3, "z_dim": 16}
    sizes = {"input_shape": [64, 64], "channels": [16, 32, 64, 128]}
    vector = {"in_channels": 4, "out_channels": 3, "hidden_channels": [10, 20, 10]}
    return {
        "Critic": (_REGRESSOR, ((1, 1, 64, 64),)),
        "DecoderOnlyTransformer": ({**tokens, **layers}, (_TOKENS,)),
        "Discriminator": (_REGRESSOR, ((1, 1, 64, 64),)),
        "FullyConnectedNet": (vector, ((1, 4),)),
        "Generator": ({**latent, "strides": (2, 2, 2)}, ((1, 42, 24),)),
        "MultiScalePatchDiscriminator": ({**judge, **scales}, (_PATCH,)),
        "PatchDiscriminator": (judge, (_PATCH,)),
        "SPADENet": ({**spade, **sizes}, ((1, 3, 64, 64), (1, 1, 64, 64))),
    }


def _registration() -> _Table:
    # MONAI's tests give what the constructors require.
    pair = {"spatial_dims": 3, "in_channels": 2, "num_channel_initial": 16}
    flat = {"spatial_dims": 2, "in_channels": 1, "num_channel_initial": 16, "depth": 1}
    return {
        "GlobalNet": ({**flat, "image_size": [16, 16]}, ((1, 1, 16, 16),)),
        "LocalNet": ({**pair, "extract_levels": (0, 1, 2, 3)}, (_PAIR,)),
        "RegUNet": ({**pair, "depth": 3}, (_PAIR,)),
        "VoxelMorph": ({}, (_VOLUME, _VOLUME)),
    }
