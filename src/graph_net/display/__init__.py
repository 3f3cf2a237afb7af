"""What people see of a long call: tables and progress, in a terminal, a notebook or a log."""

__all__: list[str] = []
