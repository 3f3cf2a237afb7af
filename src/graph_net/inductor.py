"""Learned choices inside Inductor.

    with graph_net.inductor.learned("model"):
        torch.compile(network, mode="max-autotune")(images)

``GRAPH_NET_INDUCTOR_MODEL=model python train.py`` does the same for a whole program.
"""

from __future__ import annotations

from graph_net.search.inductor.choice_model import ChoiceModel, load_choices
from graph_net.search.inductor.plugin import enable, learned, model_folder

__all__ = ["ChoiceModel", "enable", "learned", "load_choices", "model_folder"]
