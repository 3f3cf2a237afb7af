"""The command line: one file per verb, its options and one call."""

__all__: list[str] = []
