"""``cinn``: Paddle's CINN, which takes graphs captured from Paddle.

Written to Paddle's documentation of ``paddle.jit.to_static(full_graph=True, backend="CINN")``.
The builds on PyPI come without CINN, and workers run graphs through torch, not through Paddle
(``graph_net.paddle.run`` does), so here it says what is in the way.
"""

from __future__ import annotations

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported


class Cinn(Compiler):
    """CINN; takes graphs whose provenance names Paddle as their framework."""

    name = "cinn"
    devices = ("cpu", "cuda")
    packages = ("paddlepaddle",)
    modules = ("paddle",)

    def missing(self) -> str | None:
        """Installed is not enough: the build must have CINN in it."""
        absent = super().missing()
        if absent is not None:
            return f"{absent} (a build with CINN: -DWITH_CINN=ON; PyPI's has none)"
        import paddle

        if not paddle.is_compiled_with_cinn():
            return f"paddlepaddle {paddle.__version__} is built without CINN: build -DWITH_CINN=ON"
        return None

    def compile(self, job: Job) -> Runner:
        """A graph of PyTorch's operators is none that CINN could take."""
        framework = job.graph.provenance.framework
        if framework != "paddle":
            raise Unsupported([f"a graph of {framework}; CINN takes graphs captured from Paddle"])
        raise Unsupported(["graphs of Paddle's operators are not run by the measuring workers yet"])
