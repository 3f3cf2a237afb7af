"""TpuGraphs' files, npz and protobuf, read as data without TensorFlow."""
