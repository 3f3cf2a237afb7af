"""What the zoo of transformers adds to configurations and calls; needs no transformers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import Tensor, nn

from graph_net.capture.zoo.transformers import _complete, _cut_lists
from graph_net.capture.zoo.transformers_inputs import Chooser


def test_what_follows_from_other_settings_is_filled_in() -> None:
    config = SimpleNamespace(
        hidden_size=64, num_attention_heads=4, num_key_value_heads=None, head_dim=None
    )
    _complete(config)
    assert (config.num_key_value_heads, config.head_dim) == (4, 16)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128},
        {"hidden_size": 64, "num_attention_heads": 4},
        {"hidden_size": [32, 64], "num_attention_heads": 4, "head_dim": None},
        {"hidden_size": 64, "num_attention_heads": 6, "head_dim": None},
    ],
    ids=["set already", "not a setting", "several widths", "does not divide"],
)
def test_what_is_set_or_does_not_follow_is_left_alone(settings: dict[str, object]) -> None:
    config = SimpleNamespace(**settings)
    _complete(config)
    assert vars(config) == settings


def test_a_list_with_an_entry_a_layer_is_cut_with_the_layers() -> None:
    config = SimpleNamespace(layer_types=["a", "b", "c", "d"], sizes=[1, 2, 3])
    _cut_lists(config, 4)
    assert (config.layer_types, config.sizes) == (["a", "b"], [1, 2, 3])


class Hears(nn.Module):
    """Takes a sound as a wave or as a spectrogram."""

    def forward(self, input_values: Tensor | None = None, input_features: Tensor | None = None):  # type: ignore[no-untyped-def]
        return input_values


def test_a_sound_is_given_in_one_form() -> None:
    config = SimpleNamespace(model_type="hears")
    for option in Chooser(Hears(), config, "").options():
        assert option.keys() == {"input_values"}


class Asks(nn.Module):
    """Looks at an image through questions."""

    def forward(self, query_embeds: Tensor, encoder_hidden_states: Tensor | None = None) -> Tensor:
        return query_embeds


def test_a_model_that_asks_an_image_is_given_features_of_one() -> None:
    config = SimpleNamespace(model_type="asks", encoder_hidden_size=24, hidden_size=16)
    (option,) = Chooser(Asks(), config, "").options()
    assert option["encoder_hidden_states"].shape[-1] == 24
    del config.encoder_hidden_size
    (option,) = Chooser(Asks(), config, "").options()
    assert "encoder_hidden_states" not in option
