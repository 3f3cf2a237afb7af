"""Search: cost models inside the loop of a tuner or a compiler."""

__all__: list[str] = []
