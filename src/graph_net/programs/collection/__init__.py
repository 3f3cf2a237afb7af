"""Collecting programs: which tasks, which programs, in what order, on which device."""
