"""Schedules of tasks: spaces, tuner logs, collection, store, features and the data set."""

__all__: list[str] = []
