"""Studies: questions about learning, each answered by many small trainings, a table, a plot."""

__all__: list[str] = []
