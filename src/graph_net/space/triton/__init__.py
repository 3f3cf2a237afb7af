"""Triton kernels on a GPU as a space of programs."""

from graph_net.space.triton.space import TritonSpace, workload_of
from graph_net.space.triton.target import H200, Target

__all__ = ["H200", "Target", "TritonSpace", "workload_of"]
