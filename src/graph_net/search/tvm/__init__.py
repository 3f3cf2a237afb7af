"""Tuning whole graphs with TVM: tasks from Relax, programs measured in forked, confined trials."""

__all__: list[str] = []
