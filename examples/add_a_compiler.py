"""Add a compiler: one class in one file, checked by the conformance kit.

python examples/add_a_compiler.py                                   # check it
graph-net bench --mini --compilers examples/add_a_compiler.py:Traced     # measure it
"""

from typing import ClassVar

import torch

from graph_net.compilers import Compiler, Job, Runner, Unsupported
from graph_net.compilers.export import export_program, pure_function_of


class Traced(Compiler):
    """``torch.jit.trace``; ``freeze`` lets it fold constants."""

    name = "traced"
    packages = ("torch",)  # what must be installed; the first one's version is the compiler's
    defaults: ClassVar = {"freeze": True}  # every option; other names and types are refused

    def compile(self, job: Job) -> Runner:
        program = pure_function_of(job)  # a pure function of tensors
        module = export_program(job, program).module()
        try:
            traced = torch.jit.trace(module, program.examples(job), check_trace=False)
        except RuntimeError as error:
            raise Unsupported([str(error)]) from error
        if self.options["freeze"]:
            traced = torch.jit.freeze(traced.eval())
        return program.runner(job, lambda tensors: traced(*tensors))


if __name__ == "__main__":
    from graph_net.testing.compiler import check_compiler

    report = check_compiler(Traced())  # fifteen graphs, each right or refused
    print(f"right on {len(report.taken)} graphs, refused {len(report.unsupported)}")
