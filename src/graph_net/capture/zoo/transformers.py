"""transformers: every architecture with its base model and its task heads, at its own sizes.

Sizes are the defaults of each configuration class, which are those of the checkpoint that the
class documents. The few settings beyond that are in ``_SETTINGS``, each with its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from graph_net.capture.zoo.transformers_inputs import inputs_for
from graph_net.capture.zoo.transformers_makers import parts_of
from graph_net.capture.zoo.transformers_trial import know_sizes
from graph_net.capture.zoo.zoo import Call, ZooEntry

_MAPPING = re.compile(r"MODEL_(?:FOR_)?(.*?)_?MAPPING_NAMES")
_BASE = "base model"
_HEADS = {
    "": _BASE,
    "IMAGE": _BASE,
    "TEXT_ENCODING": "text encoder",
    "MULTIMODAL_LM": "multimodal LM",
    "IMAGE_TEXT_TO_TEXT": "image-text to text",
    "CAUSAL_LM": "causal LM",
    "MASKED_LM": "masked LM",
    "SEQ_TO_SEQ_CAUSAL_LM": "sequence-to-sequence LM",
    "SPEECH_SEQ_2_SEQ": "speech recognition",
    "CTC": "CTC",
    "RNNT": "speech recognition",
    "TDT": "speech recognition",
}
"""Names of heads where the mapping's own name, in lower case, is not clear."""
_SECOND = ("PRETRAINING", "IMAGE", "RETRIEVAL", "TEXT_ENCODING", "MULTIMODAL_LM")
"""Mappings that name a class only if no more specific one does."""
_MODALITIES = {
    "image": r"pixel_values\w*|flattened_patches|image|bool_masked_pos|visual_\w+|image_patches",
    "audio": r"input_features|input_values|audio_\w+|speaker_embeddings|spectrogram",
    "text": r"input_ids|decoder_input_ids|\w+_input_ids",
    "time": r"past_values|past_time_features",
}
_CATEGORIES = {
    frozenset({"image"}): "computer_vision",
    frozenset({"text"}): "nlp",
    frozenset({"audio"}): "audio",
    frozenset({"time"}): "scientific",
    frozenset(): "other",
}
_SCIENTIFIC = re.compile(r"esm|evolla|protein|time_series|timesfm|autoformer|informer|patchts")
# GLM-4.1V rotates half of each head. glm4v_moe has that as its default; glm4v leaves it out, though
# its three sections of rotations add up to that half.
_GLM_TURNS = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
_GLM_TEXT = {"model_type": "glm4v_text", "rope_parameters": _GLM_TURNS}
# GLM-4.5V: the same sections fit only heads of 128; 96 heads do not divide the default width.
_GLM_MOE_TEXT = {"model_type": "glm4v_moe_text", "head_dim": 128}
_SETTINGS: dict[str, dict[str, Any]] = {
    "glm4v": {"text_config": _GLM_TEXT},
    "glm46v": {"text_config": _GLM_TEXT},
    "glm4v_text": {"rope_parameters": _GLM_TURNS},
    "glm4v_moe": {"text_config": _GLM_MOE_TEXT},
    "glm4v_moe_text": {"head_dim": 128},
    # CohereLabs/aya-vision-8b: the default's 14 heads do not divide its width, nor 2 its patches.
    "aya_vision": {
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 1152,
            "image_size": 364,
            "intermediate_size": 4304,
            "num_attention_heads": 16,
            "num_hidden_layers": 27,
            "patch_size": 14,
        }
    },
    "xmod": {"default_language": "en_XX"},  # the example in its documentation
    # The documentation's example, with the special words of the checkpoint it names.
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "autoformer": {"prediction_length": 24},  # huggingface/autoformer-tourism-monthly
    "informer": {"prediction_length": 12},  # the example in its documentation
    "time_series_transformer": {"prediction_length": 12},  # the example in its documentation
}
"""Settings without which a default configuration cannot be built. All others keep their default:
models have their full size, and only their inputs are short."""
_FEW = 2
_LAYERS = (
    *("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers", "n_layers"),
    *("num_encoder_layers", "num_decoder_layers", "depth"),
)
"""Names of a configuration's number of layers."""
_AUDIO_HEADS = re.compile(r"SPEECH|AUDIO|CTC|RNNT|TDT|SPECTROGRAM|WAVEFORM")


class TransformersZoo:
    """Every model class of the automatic mappings, once."""

    library = "transformers"

    def entries(self) -> Iterator[ZooEntry]:
        for name, (model_type, task) in named_classes().items():
            head = _HEADS.get(task, task.replace("_", " ").lower())
            tags = (model_type, task.lower() or "base")
            yield ZooEntry(self.library, name, _category(name, model_type, task), head, tags)

    def build(self, entry: ZooEntry) -> Call:
        import transformers
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        transformers.logging.set_verbosity_error()
        module = _module_of(entry.tags[0])
        model_class = getattr(module, entry.name, None) or getattr(transformers, entry.name)
        config = _composed(entry.tags[0]) or _default(model_class, CONFIG_MAPPING[entry.tags[0]])
        self.size(config)
        _plain_masks()
        for _, part in parts_of(config):
            # Caches in the output are not plain tensors; grouped matrix products are an operator
            # of the library's own, batched ones are plain.
            part.use_cache = False
            _complete(part)
            part._experts_implementation = "batched_mm"
            if isinstance(getattr(part, "hidden_sizes", None), tuple):
                part.hidden_sizes = list(part.hidden_sizes)  # as a published file has it
        model: nn.Module = model_class(config).eval()
        know_sizes(model)
        return Call(model, kwargs=inputs_for(model, config, entry.subcategory))

    def size(self, config: Any) -> None:
        """Leave the configuration at its own size."""


class SmallTransformersZoo(TransformersZoo):
    """The same models with at most two layers of a kind, for quick tests of real architectures.

    They are not published models, so the zoo is only collected when named.
    """

    library = "transformers_small"

    def size(self, config: Any) -> None:
        """Cut the configuration, and those inside it, to two layers; widths stay."""
        for _, part in parts_of(config):
            for name in _LAYERS:
                count = getattr(part, name, None)
                if isinstance(count, int) and count > _FEW:
                    setattr(part, name, _FEW)
                    _cut_lists(part, count)


def _cut_lists(config: Any, count: int) -> None:
    """Cut lists with one entry per layer to the first few layers."""
    for name, value in list(vars(config).items()):
        if isinstance(value, (list, tuple)) and len(value) == count:
            setattr(config, name, value[:_FEW])


@cache
def _plain_masks() -> None:
    """Make masks by broadcasting: with vmap they would bring operators of functorch."""
    from transformers import masking_utils
    from transformers.exporters.utils import _patch_broadcast_mask_expansion

    masking_utils._vmap_expansion_sdpa = _patch_broadcast_mask_expansion(None)


def named_classes() -> dict[str, tuple[str, str]]:
    """Return every model class of the automatic mappings, with its model type and task."""
    from transformers.models.auto import modeling_auto

    mappings = {
        match[1]: value
        for name, value in vars(modeling_auto).items()
        if (match := _MAPPING.fullmatch(name))
    }
    order = sorted(mappings, key=lambda task: (task != "", task in _SECOND, task))
    classes: dict[str, tuple[str, str]] = {}
    for task in order:
        for model_type, names in mappings[task].items():
            for name in (names,) if isinstance(names, str) else names:
                classes.setdefault(name, (model_type, task))
    return classes


def _default(model_class: Any, fallback: Any) -> Any:
    """Return the configuration the class is documented with, all values the published defaults."""
    config_class = getattr(model_class, "config_class", None) or fallback
    # Configurations keep and change the dictionaries they are given.
    return config_class(**deepcopy(_SETTINGS.get(config_class.model_type, {})))


def _complete(config: Any) -> None:
    """Fill in what follows from other settings, which some configuration classes leave out."""
    heads, width = (getattr(config, name, None) for name in ("num_attention_heads", "hidden_size"))
    if not isinstance(heads, int) or not isinstance(width, int) or width % heads:
        return
    for name, value in (("num_key_value_heads", heads), ("head_dim", width // heads)):
        if getattr(config, name, 0) is None:
            setattr(config, name, value)


def _composed(model_type: str) -> Any:
    """Return the configuration of a model composed of two others, as its documentation does."""
    import transformers as hf

    encoders = {
        "encoder-decoder": (hf.EncoderDecoderConfig, hf.BertConfig),
        "vision-encoder-decoder": (hf.VisionEncoderDecoderConfig, hf.ViTConfig),
        "speech-encoder-decoder": (hf.SpeechEncoderDecoderConfig, hf.Wav2Vec2Config),
    }
    if model_type in encoders:
        config, encoder = encoders[model_type]
        return config.from_encoder_decoder_configs(encoder(), hf.BertConfig())
    if model_type == "vision-text-dual-encoder":
        return hf.VisionTextDualEncoderConfig.from_vision_text_configs(
            hf.ViTConfig(), hf.BertConfig(), projection_dim=512
        )
    return None


def _module_of(model_type: str) -> Any:
    import importlib

    from transformers.models.auto.configuration_auto import model_type_to_module_name

    return importlib.import_module(f"transformers.models.{model_type_to_module_name(model_type)}")


def _category(name: str, model_type: str, task: str) -> str:
    """Return the category that the arguments of the class's call imply."""
    if _SCIENTIFIC.search(model_type) or task.startswith("TIME_SERIES"):
        return "scientific"
    if _AUDIO_HEADS.search(task):
        return "audio"
    arguments = _arguments(name, model_type)
    modalities = frozenset(
        modality
        for modality, pattern in _MODALITIES.items()
        if any(re.fullmatch(pattern, argument) for argument in arguments)
    )
    if not arguments:
        modalities = frozenset({"text"})
    return _CATEGORIES.get(modalities, "multimodal")


def _arguments(name: str, model_type: str) -> list[str]:
    """Read the arguments of a class's call from its source: importing all models takes minutes."""
    from transformers.models.auto.configuration_auto import model_type_to_module_name

    bodies = _classes(model_type_to_module_name(model_type))
    for _ in range(5):
        bases, body = bodies.get(name, ("", ""))
        call = re.search(
            r"\n    def forward\(\s*self,?(.*?)\n    \)|\n    def forward\((.*?)\)", body, re.S
        )
        if call:
            return re.findall(r"(\w+)\s*(?=:|=|,|$)", re.sub(r":[^,=]*", ":", call[1] or call[2]))
        name = bases.split(",")[0].strip()
    return []


@cache
def _classes(module: str) -> dict[str, tuple[str, str]]:
    """Return bases and source of each class in the files of an architecture."""
    import transformers

    classes: dict[str, tuple[str, str]] = {}
    folder = Path(transformers.__file__).parent / "models" / module
    for path in sorted(folder.glob("modeling_*.py")):
        parts = re.split(r"^class (\w+)(?:\((.*?)\))?:", path.read_text("utf-8"), flags=re.M | re.S)
        for name, bases, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            classes[name] = (bases or "", body)
    return classes
