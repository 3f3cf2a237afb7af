"""The switch that torch finds when it is imported: nothing is loaded unless it is on.

It stands beside the package, not in it: torch calls it wherever the package is installed, also in a
program that has only a part of the package first on its path (a bundle), and would fail without it.
"""

from __future__ import annotations

import os
import warnings

VARIABLE = "GRAPH_NET_INDUCTOR_MODEL"
"""The folder of a model of choices."""


def enable_from_environment() -> None:
    """Enable the model that the environment names for this process.

    An entry point of the group ``torch.backends``, which torch calls at the end of its import. An
    error here would make ``import torch`` fail, so a model that cannot be used is a warning.
    """
    if not os.environ.get(VARIABLE):
        return
    try:
        from graph_net.search.inductor.plugin import enable, is_widened

        enable(os.environ[VARIABLE], widened=is_widened())
    except Exception as error:
        warnings.warn(f"{VARIABLE} is ignored: {error}", RuntimeWarning, stacklevel=2)
