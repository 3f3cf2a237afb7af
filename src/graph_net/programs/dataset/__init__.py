"""The published data set of programs: splits, statistics, card and metadata."""

__all__: list[str] = []
