"""``cinn``: Paddle's CINN, for graphs captured from Paddle.

Follows Paddle's documentation of ``paddle.jit.to_static(full_graph=True, backend="CINN")``.
The builds on PyPI lack CINN; all steps before CINN run with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graph_net.compilers.compiler import Compiler, Job, Runner, Unsupported
from graph_net.graph import Level, ListValue
from graph_net.graph.effects import changed_values
from graph_net.graph.paddle_needed import load_paddle
from graph_net.graph.values import refs


class Cinn(Compiler):
    """CINN on a static Paddle program of the graph's calls."""

    name = "cinn"
    devices = ("cpu", "cuda")
    packages = ("paddlepaddle",)
    modules = ("paddle",)
    levels = (Level.PADDLE,)

    def missing(self) -> str | None:
        """Return why it cannot be used: Paddle is absent, or built without CINN."""
        absent = super().missing()
        if absent is not None:
            return f"{absent} (a build with CINN: -DWITH_CINN=ON; PyPI's has none)"
        paddle = load_paddle()
        if not paddle.is_compiled_with_cinn():
            return f"paddlepaddle {paddle.__version__} is built without CINN: build -DWITH_CINN=ON"
        return None

    def compile(self, job: Job) -> Runner:
        """Compile the graph's static program by a first call on the job's inputs."""
        self.check_level(job.graph)
        changed = sorted(changed_values(job.graph) & {entry.name for entry in job.graph.inputs})
        if changed:
            reasons = [f"its static programs cannot change an input, here {n}" for n in changed]
            raise Unsupported(reasons, "graph-net")
        from graph_net.graph.paddle_execute import nest_outputs, prepare

        paddle = load_paddle()
        computed = {node.name for node in job.graph.nodes}
        results = tuple(dict.fromkeys(r for r in refs(job.graph.output) if r.name in computed))
        # Record the calls as they are made: there is no source to translate.
        calls = paddle.jit.not_to_static(prepare(replace(job.graph, output=ListValue(results))))

        def program(inputs: Any) -> Any:
            return calls(inputs)

        static = paddle.jit.to_static(program, full_graph=True, backend="CINN")
        nest = nest_outputs(job.graph)
        names = [*(entry.name for entry in job.graph.inputs), *(ref.name for ref in results)]

        def run(inputs: Sequence[Any]) -> Any:
            return nest(dict(zip(names, (*inputs, *static(list(inputs))), strict=True)))

        with paddle.no_grad():
            run(job.inputs)
        return run
