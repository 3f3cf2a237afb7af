"""Search: a cost model in the loop of a tuner or of a compiler."""
