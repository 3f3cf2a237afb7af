"""Files of other projects, read as data."""

__all__: list[str] = []
