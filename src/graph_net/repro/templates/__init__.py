"""The parts of a script: plain torch, pasted in as they are."""

__all__: list[str] = []
