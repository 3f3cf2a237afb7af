"""Measuring programs of tasks: which tasks, which programs, in what order, on the lanes."""
