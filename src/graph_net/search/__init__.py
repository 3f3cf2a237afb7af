"""Search: cost models inside the loop of a tuner or a compiler."""
