"""What a candidate gives, held against what eager gives."""

from __future__ import annotations

import pytest
import torch

from graph_net.measure.verify import Reference, check_outputs
from graph_net.results import Symptom


@pytest.mark.parametrize(
    ("given", "wanted", "words"),
    [(1, 2, "1 output instead of 2"), (2, 1, "2 outputs instead of 1")],
)
def test_a_wrong_number_of_outputs_is_said_in_words(given: int, wanted: int, words: str) -> None:
    expected = Reference((torch.ones(2),) * wanted, (None,) * wanted, random=False)
    outputs, failure = check_outputs([torch.ones(2)] * given, expected)
    assert outputs == ()
    assert failure is not None
    assert (failure.symptom, failure.message) == (Symptom.STRUCTURE, words)
