"""Collect programs: choose tasks, draw schedules, order them and measure them on a device."""

__all__: list[str] = []
