"""Sizes of diffusers' models and inputs that follow no rule.

A class is built with its defaults. The few whose defaults are missing or do not fit each other are
given the sizes that diffusers itself builds or converts them with; comments name the place.
"""

from __future__ import annotations

from typing import Any

# HunyuanDiT's DiT-g/2; the defaults' 1,152 is not their 16 heads of 88.
_HUNYUAN = {"in_channels": 4, "patch_size": 2, "hidden_size": 1408, "mlp_ratio": 4.3637}
OPTIONS: dict[str, dict[str, Any]] = {
    # HunyuanImage 2.1, in scripts/convert_hunyuan_image_to_diffusers.py
    "AutoencoderKLHunyuanImage": {
        "in_channels": 3,
        "out_channels": 3,
        "latent_channels": 64,
        "layers_per_block": 2,
        "block_out_channels": (128, 256, 512, 512, 1024, 1024),
        "spatial_compression_ratio": 32,
        "sample_size": 384,
    },
    # the first that DreamLiteUNetModel builds by default
    "DreamLiteTransformer2DModel": {
        "num_attention_heads": 5,
        "attention_head_dim": 64,
        "in_channels": 320,
        "cross_attention_dim": 2048,
        "ff_mult": 6,
    },
    # the defaults its docstring states and its signature lacks
    "EasyAnimateTransformer3DModel": {"in_channels": 16, "out_channels": 16, "patch_size": 2},
    "HunyuanDiT2DControlNetModel": _HUNYUAN,
    "HunyuanDiT2DModel": {**_HUNYUAN, "num_layers": 40},
    # Latte-1, as in its authors' test of LattePipeline
    "LatteTransformer3DModel": {
        "num_layers": 28,
        "patch_size": 2,
        "attention_head_dim": 72,
        "caption_channels": 4096,
        "in_channels": 4,
        "cross_attention_dim": 1152,
        "out_channels": 8,
        "attention_bias": True,
        "activation_fn": "gelu-approximate",
        "num_embeds_ada_norm": 1000,
        "norm_type": "ada_norm_single",
        "norm_elementwise_affine": False,
        "norm_eps": 1e-6,
    },
    # PixArt-Σ, in scripts/convert_pixart_sigma_to_diffusers.py: T5's width, no conditions on size
    "PixArtTransformer2DModel": {"caption_channels": 4096, "use_additional_conditions": False},
    # the first that UNet2DConditionModel builds by default
    "Transformer2DModel": {
        "num_attention_heads": 8,
        "attention_head_dim": 40,
        "in_channels": 320,
        "cross_attention_dim": 1280,
    },
    # the first that UNet3DConditionModel builds by default
    "TransformerTemporalModel": {
        "num_attention_heads": 8,
        "attention_head_dim": 64,
        "in_channels": 320,
    },
}
_WAVE, _STEREO, _CLIP = (1, 1, 16384), (1, 2, 16384), (1, 4, 5, 32, 32)
_COGVIDEO = {"hidden_states": (1, 5, 16, 32, 32), "encoder_hidden_states": (1, 226, 4096)}
_BILINGUAL = {
    "encoder_hidden_states": (1, 77, 1024),
    "text_embedding_mask": (-1, 77),
    "encoder_hidden_states_t5": (1, 256, 2048),
    "text_embedding_mask_t5": (-1, 256),
    "image_meta_size": (-1, 6),
    "style": (-1,),
}
SHAPES: dict[str, dict[str, Any]] = {
    "AceStepTransformer1DModel": {
        "hidden_states": (1, 256, 64),
        "context_latents": (1, 256, 128),
    },
    "AnimaTextConditioner": {"source_hidden_states": (1, 64, 1024), "target_input_ids": (-1, 64)},
    "AnyFlowTransformer3DModel": {
        "hidden_states": (1, 5, 16, 16, 16),
        "timestep": (1, 5),
        "r_timestep": (1, 5),
    },
    "AutoencoderKLKVAEAudio": {"sample": _WAVE},
    "AutoencoderKLLTX2Audio": {"sample": (1, 2, 64, 64)},
    "AutoencoderKLLTX2Video": {"sample": (1, 3, 9, 128, 128)},
    "AutoencoderKLMiniMaxH3Audio": {"sample": _WAVE},
    "AutoencoderKLMochi": {"sample": (1, 3, 7, 128, 128)},
    "AutoencoderKLQwenImage21": {"sample": (1, 4, 1, 256, 256)},
    "AutoencoderOobleck": {"sample": _STEREO},
    "AutoencoderSAME": {"sample": _STEREO},
    "BriaFiboTransformer2DModel": {"text_encoder_layers": [(1, 64, 2048)] * 57},
    "CogVideoXTransformer3DModel": _COGVIDEO,
    "ConsisIDTransformer3DModel": _COGVIDEO,
    "Cosmos3AVAEAudioTokenizer": {"sample": _STEREO},
    "CosmosTransformer3DModel": {"padding_mask": (1, 1, 16, 16)},
    "ErnieImageTransformer2DModel": {"text_bth": (1, 64, 2560), "text_lens": (-1,)},
    "HunyuanDiT2DControlNetModel": {"controlnet_cond": (1, 4, 32, 32), **_BILINGUAL},
    "HunyuanDiT2DModel": _BILINGUAL,
    "HunyuanVideo15Transformer3DModel": {
        "encoder_hidden_states_2": (1, 64, 1472),
        "encoder_attention_mask_2": (-1, 64),
        "image_embeds": (1, 64, 1152),
    },
    "I2VGenXLUNet": {"sample": _CLIP, "image_latents": _CLIP, "image_embeddings": (1, 1024)},
    "Kandinsky3UNet": {"encoder_attention_mask": (-1, 64)},
    "Kandinsky6SRTransformer3DModel": {"hidden_states": (1, 5, 16, 16, 129)},
    "Kandinsky6Transformer3DModel": {"hidden_states": (1, 5, 16, 16, 33)},
    "LTX2VideoDiffusionDecoderModel": {"z": (1, 128, 5, 16, 16)},
    "LTX2VideoTransformer3DModel": {"audio_hidden_states": (1, 64, 128)},
    "LatteTransformer3DModel": {"hidden_states": (1, 4, 16, 64, 64)},
    "LongCatAudioDiTTransformer": {"hidden_states": (1, 256, 64)},
    "MMAudioVAE": {"sample": (1, 16384)},
    "MMAudioVocoder": {"mel": (1, 128, 64)},
    "MiniMaxMusic3Transformer1DModel": {"encoder_hidden_states": (1, 256, 2048)},
    "MiniMaxMusic3Vocoder": {"latents": (1, 128, 256)},
    "PriorTransformer": {
        "hidden_states": (1, 768),
        "proj_embedding": (1, 768),
        "encoder_hidden_states": (1, 77, 768),
    },
    "SD3ControlNetModel": {"controlnet_cond": (1, 16, 32, 32)},
    "SanaControlNetModel": {"controlnet_cond": (1, 32, 32, 32)},
    "SparseControlNetModel": {
        "sample": _CLIP,
        "controlnet_cond": _CLIP,
        "conditioning_mask": (1, 1, 5, 32, 32),
        "encoder_hidden_states": (5, 64, 768),
    },
    "StableAudio3DiTModel": {"global_hidden_states": (1, 768)},
    "StableAudioDiTModel": {"global_hidden_states": (1, 1, 1536)},
    "StableCascadeUNet": {"sample": (1, 16, 24, 24), "clip_text_pooled": (1, 1, 1280)},
    "TransformerTemporalModel": {"encoder_hidden_states": None},
    "UNetControlNetXSModel": {"controlnet_cond": (1, 3, 256, 256)},
    "UNetMotionModel": {"sample": _CLIP, "encoder_hidden_states": (5, 64, 1280)},
    "UNetSpatioTemporalConditionModel": {"sample": (1, 5, 8, 32, 32), "added_time_ids": (1, 3)},
    "UVit2DModel": {"input_ids": (-1, 16, 16), "pooled_text_emb": (1, 768), "micro_conds": (1, 5)},
    "WanVACETransformer3DModel": {"control_hidden_states": (1, 96, 5, 16, 16)},
    "ZImageTransformer2DModel": {"x": [(16, 1, 32, 32)], "cap_feats": [(64, 2560)]},
}
"""Shapes of arguments that the zoo's rules get wrong; integers where the batch is -1."""
