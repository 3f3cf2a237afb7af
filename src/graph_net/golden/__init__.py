"""Golden runs: graphs stored with their outputs and times, to rerun and compare elsewhere."""

__all__: list[str] = []
