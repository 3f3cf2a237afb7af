"""Learned choices inside Inductor: collect timings of its templates, then keep the likely best."""
