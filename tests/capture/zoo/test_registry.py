"""Which zoos there are, and which are only there by name."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from graph_net.capture.zoo import ZooError, available, load
from graph_net.capture.zoo.registry import ON_REQUEST


def test_zoos_for_tests_are_not_collected_unasked() -> None:
    assert ON_REQUEST
    assert not ON_REQUEST.keys() & available().keys()


@pytest.mark.parametrize("name", ON_REQUEST)
def test_zoos_for_tests_are_loaded_by_name(name: str) -> None:
    library = ON_REQUEST[name][0]
    if find_spec(library) is None:
        with pytest.raises(ZooError, match=f"pip install {library}"):
            load(name)
    else:
        assert load(name).library == name


def test_zoos_for_tests_are_told_to_who_asks_for_an_unknown_one() -> None:
    with pytest.raises(ZooError, match="transformers_small"):
        load("nowhere")
