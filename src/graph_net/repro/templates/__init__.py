"""The parts a script is put together from: plain torch, pasted in as they stand."""
