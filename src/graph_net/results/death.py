"""The failure of a measurement whose process died."""

from __future__ import annotations

from graph_net.isolate.deaths import Death, Ending
from graph_net.results import Failure, Stage, Symptom
from graph_net.results.signature import clean_text, signature_of

_SYMPTOMS = {
    Ending.CRASH: Symptom.CRASH,
    Ending.TIMEOUT: Symptom.TIMEOUT,
    Ending.OUT_OF_MEMORY: Symptom.OUT_OF_MEMORY,
    Ending.KILLED: Symptom.INFRASTRUCTURE,
}
_OURS = frozenset({Stage.LOAD, Stage.EAGER})
"""Stages before the compiler runs: an exception or exit there is not its fault."""


def failure_from(death: Death, stage: Stage) -> Failure:
    """Return the failure of a process that died at this stage."""
    otherwise = Symptom.INFRASTRUCTURE if stage in _OURS else Symptom.EXCEPTION
    symptom = _SYMPTOMS.get(death.ending, otherwise)
    message = death.reason
    if symptom is Symptom.TIMEOUT:
        message = f"{stage} {message}"
    elif symptom is Symptom.CRASH:
        message = f"{message} at {stage}"
    number = death.signal if symptom is Symptom.CRASH else None
    return Failure(stage, symptom, clean_text(message), signature_of(message), number)
