"""transformers: every architecture with its base model and its task heads, at its own sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from graph_net.capture.zoo.compat import torchvision_operators
from graph_net.capture.zoo.transformers_inputs import inputs_for
from graph_net.capture.zoo.transformers_trial import know_sizes
from graph_net.capture.zoo.zoo import Call, Entry

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
"""What a head is called where the mapping's own name, in lower case, does not say it well."""
_SECOND = ("PRETRAINING", "IMAGE", "RETRIEVAL", "TEXT_ENCODING", "MULTIMODAL_LM")
"""Mappings that repeat classes of more telling ones: they name a class only if no other does."""
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
_SETTINGS: dict[str, dict[str, Any]] = {
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
    "ministral": {"head_dim": 128},
    "xmod": {"default_language": "en_XX"},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "autoformer": {"prediction_length": 24},
    "informer": {"prediction_length": 24},
    "time_series_transformer": {"prediction_length": 24},
}
"""Settings without which a default configuration is no model, as published checkpoints have them.
"""
_AUDIO_HEADS = re.compile(r"SPEECH|AUDIO|CTC|RNNT|TDT|SPECTROGRAM|WAVEFORM")


class TransformersZoo:
    """Every model class of the automatic mappings, once."""

    library = "transformers"

    def __init__(self) -> None:
        torchvision_operators()

    def entries(self) -> Iterator[Entry]:
        for name, (model_type, task) in named_classes().items():
            head = _HEADS.get(task, task.replace("_", " ").lower())
            tags = (model_type, task.lower() or "base")
            yield Entry(self.library, name, _category(name, model_type, task), head, tags)

    def build(self, entry: Entry) -> Call:
        import transformers
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        transformers.logging.set_verbosity_error()
        module = _module_of(entry.tags[0])
        model_class = getattr(module, entry.name, None) or getattr(transformers, entry.name)
        config = _composed(entry.tags[0]) or _default(model_class, CONFIG_MAPPING[entry.tags[0]])
        _plain_masks()
        for part in _parts(config):
            # Caches in the output are no plain tensors; grouped matrix products are an operator
            # of the library's own, batched ones are plain.
            part.use_cache = False
            part._experts_implementation = "batched_mm"
            if isinstance(getattr(part, "hidden_sizes", None), tuple):
                part.hidden_sizes = list(part.hidden_sizes)  # as a published file has it
        model: nn.Module = model_class(config).eval()
        know_sizes(model)
        return Call(model, kwargs=inputs_for(model, config, entry.subcategory))


@cache
def _plain_masks() -> None:
    """Makes masks by broadcasting: by vmap, they would bring operators of functorch."""
    from transformers import masking_utils
    from transformers.exporters.utils import _patch_broadcast_mask_expansion

    masking_utils._vmap_expansion_sdpa = _patch_broadcast_mask_expansion(None)


def named_classes() -> dict[str, tuple[str, str]]:
    """Every model class in the automatic mappings, with its model type and its task."""
    from transformers.models.auto import modeling_auto

    mappings = {
        match[1]: value
        for name, value in vars(modeling_auto).items()
        if (match := _MAPPING.fullmatch(name))
    }
    order = sorted(mappings, key=lambda task: (task != "", task in _SECOND, task))
    found: dict[str, tuple[str, str]] = {}
    for task in order:
        for model_type, names in mappings[task].items():
            for name in (names,) if isinstance(names, str) else names:
                found.setdefault(name, (model_type, task))
    return found


def _default(model_class: Any, fallback: Any) -> Any:
    """The configuration the class is documented with, all its values the published defaults."""
    config_class = getattr(model_class, "config_class", None) or fallback
    return config_class(**_SETTINGS.get(config_class.model_type, {}))


def _composed(model_type: str) -> Any:
    """The configuration of a model composed of two others, as a published checkpoint has it."""
    import transformers as hf

    if model_type == "encoder-decoder":
        return hf.EncoderDecoderConfig.from_encoder_decoder_configs(
            hf.BertConfig(), hf.BertConfig()
        )
    if model_type == "vision-encoder-decoder":
        return hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
            hf.ViTConfig(), hf.GPT2Config()
        )
    if model_type == "speech-encoder-decoder":
        return hf.SpeechEncoderDecoderConfig.from_encoder_decoder_configs(
            hf.Wav2Vec2Config(), hf.BartConfig()
        )
    if model_type == "vision-text-dual-encoder":
        return hf.VisionTextDualEncoderConfig.from_vision_text_configs(
            hf.CLIPVisionConfig(), hf.BertConfig()
        )
    return None


def _parts(config: Any) -> Iterator[Any]:
    """A configuration and those inside it."""
    from transformers import PreTrainedConfig

    yield config
    for value in list(vars(config).values()):
        if isinstance(value, PreTrainedConfig):
            yield from _parts(value)


def _module_of(model_type: str) -> Any:
    import importlib

    from transformers.models.auto.configuration_auto import model_type_to_module_name

    return importlib.import_module(f"transformers.models.{model_type_to_module_name(model_type)}")


def _category(name: str, model_type: str, task: str) -> str:
    """What the arguments of the class's call say it works on."""
    if _SCIENTIFIC.search(model_type) or task.startswith("TIME_SERIES"):
        return "scientific"
    if _AUDIO_HEADS.search(task):
        return "audio"
    arguments = _arguments(name, model_type)
    given = frozenset(
        modality
        for modality, pattern in _MODALITIES.items()
        if any(re.fullmatch(pattern, argument) for argument in arguments)
    )
    if not arguments:
        given = frozenset({"text"})
    return _CATEGORIES.get(given, "multimodal")


def _arguments(name: str, model_type: str) -> list[str]:
    """The arguments of a class's call, read in its source: importing every model takes minutes."""
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
    """The classes in the files of an architecture: bases and source of each."""
    import transformers

    found: dict[str, tuple[str, str]] = {}
    folder = Path(transformers.__file__).parent / "models" / module
    for path in sorted(folder.glob("modeling_*.py")):
        parts = re.split(r"^class (\w+)(?:\((.*?)\))?:", path.read_text("utf-8"), flags=re.M | re.S)
        for name, bases, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found[name] = (bases or "", body)
    return found
