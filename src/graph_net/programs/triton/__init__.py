"""Triton kernels on a GPU as a space of programs."""

from graph_net.programs.triton.space import TritonSpace, workload_of
from graph_net.programs.triton.target import H200, Target

__all__ = ["H200", "Target", "TritonSpace", "workload_of"]
