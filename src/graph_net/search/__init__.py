"""Search: find a fast program of a task with few measurements, with a cost model in the loop."""
