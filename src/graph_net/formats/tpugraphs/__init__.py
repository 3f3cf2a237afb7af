"""TpuGraphs' files, npz and protobuf, read as data without TensorFlow."""

__all__: list[str] = []
