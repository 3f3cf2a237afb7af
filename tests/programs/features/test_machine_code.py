"""Machine code: loops, how often they run, and what their instructions keep busy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.programs.features import compiled_code
from graph_net.programs.features.code_features import (
    COLUMNS,
    WIDTHS,
    Unit,
    count_block,
    describe_code,
)
from graph_net.programs.features.machine_code import (
    MOST_INSTRUCTIONS,
    CodeError,
    CodeFunction,
    read_functions,
)
from graph_net.programs.spaces import Workload

SHARED = """
.L__tvm_parallel_lambda:
.Lfunc_begin4:
\tleal\t63(%rsi), %eax
\tidivl\t%esi
\tcmpl\t$63, %edx
\tjge\t.LBB4_1
.LBB4_4:
\txorl\t%ecx, %ecx
.LBB4_6:
\tvfmadd231ps\t(%rdi,%rcx), %zmm1, %zmm0
\tincq\t%rcx
\tcmpq\t$256, %rcx
\tjne\t.LBB4_6
\tincq\t%r12
\tcmpl\t%r12d, %ebp
\tjne\t.LBB4_4
.LBB4_1:
\tretq
.Lfunc_end4:
"""


def function(*lines: str) -> CodeFunction:
    """Return a function of instructions, indented, and labels."""
    text = "\n".join(["main:", *(line if line[0] == "." else f"\t{line}" for line in lines)])
    (only,) = read_functions(text)
    return only


def lines_of(text: str) -> list[str]:
    """Return instructions that are separated by semicolons, with tabs behind mnemonics."""
    parts = (part.strip() for part in text.split(";"))
    return [part if part[0] == "." else part.replace(" ", "\t", 1) for part in parts]


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        ("xorl %ecx, %ecx; .LBB0_1:; incq %rcx; cmpq $256, %rcx; jne .LBB0_1", 256),
        ("movq $-8192, %rax; .LBB0_1:; addq $16, %rax; jne .LBB0_1", 512),
        ("movl $588, %esi; .LBB0_1:; addq $784, %rsi; cmpq $3724, %rsi; jne .LBB0_1", 4),
        ("movl $7, %eax; .LBB0_1:; decl %eax; jne .LBB0_1", 7),
        ("movl $9, %edx; movq %rdx, %rax; .LBB0_1:; subq $3, %rax; jne .LBB0_1", 3),
        ("movq 8(%rsp), %rax; .LBB0_1:; incq %rax; cmpq $7, %rax; jne .LBB0_1", 7),
        ("xorl %ecx, %ecx; .LBB0_1:; leaq 1(%rcx), %r8; movq %r8, %rcx; cmpq $4, %r8;"
         "jne .LBB0_1", 4),
        (".LBB0_1:; movl $1, %eax; testb $1, %bpl; movl $0, %ebp; jne .LBB0_1", 2),
        (".LBB0_1:; incl %ebx; cmpl %ebp, %ebx; jne .LBB0_1", None),
        (".LBB0_1:; vaddps %zmm0, %zmm1, %zmm1; jmp .LBB0_1", None),
        ("movl $5, %eax; .LBB0_1:; addq $3, %rax; cmpq $7, %rax; jne .LBB0_1", None),
    ],
)  # fmt: skip
def test_a_counter_tells_how_often_a_loop_runs(text: str, trips: int | None) -> None:
    (loop,) = function(*lines_of(text)).loops
    assert loop.trips == trips


def test_a_register_that_inner_loops_use_otherwise_is_no_counter_of_theirs() -> None:
    text = """xorl %eax, %eax; .LBB0_1:; movl $64, %ecx; .LBB0_2:; addq $-4, %rcx; jne .LBB0_2;
        addq $12, %rcx; incq %rax; cmpq $5, %rax; jne .LBB0_1"""
    code = function(*lines_of(text))
    assert [loop.trips for loop in code.loops] == [5, 16]
    assert [block.runs for block in code.run_blocks(1)] == [1, 5, 80, 5]


@pytest.mark.parametrize(("cores", "runs"), [(1, 63), (2, 32), (64, 1)])
def test_threads_share_the_iterations_of_a_parallel_loop(cores: int, runs: int) -> None:
    (code,) = read_functions(SHARED)
    assert code.extent == 63
    (body,) = (block for block in code.run_blocks(cores) if block.is_loop)
    assert body.runs == runs * 256


def test_functions_of_the_runtime_are_left_out() -> None:
    runtime = "__tvm_ffi_main:\n\tcmpl\t$3, %edx\n.LBB0_1:\n\tretq\n.Lfunc_end0:\n"
    assert [code.name for code in read_functions(runtime + SHARED)] == [".L__tvm_parallel_lambda"]


def test_code_of_another_processor_and_too_much_code_are_told() -> None:
    with pytest.raises(CodeError, match="another processor"):
        describe_code("\t.type\tmain,%function\nmain:\n\tfmla\tv0.4s, v1.4s, v2.4s\n", 1)
    with pytest.raises(CodeError, match="more than 200,000 instructions"):
        read_functions("main:\n" + "\tincq\t%rax\n" * (MOST_INSTRUCTIONS + 1))


def test_loops_that_run_too_often_are_told() -> None:
    depth = 60
    opened = "".join(
        f"\txorl\t%eax, %eax\n.LBB0_{n}:\n\tvaddps\t%zmm0, %zmm1, %zmm1\n" for n in range(depth)
    )
    closed = "".join(
        f"\tincq\t%rax\n\tcmpq\t$1000000000, %rax\n\tjne\t.LBB0_{n}\n"
        for n in reversed(range(depth))
    )
    with pytest.raises(CodeError, match="too often"):
        describe_code(f"main:\n{opened}{closed}", 1)


WORDS = ["vfmadd231ps", "vmovups", "cmpq", "testb", "incq", "addq", "leaq", "jne", "jmp", "idivl",
         "callq", "retq", "%rax", "%zmm1", "$1", "$-8", "8(%rsp)", "(", ",", ", ", "\t", "\n",
         "\n\t", ".LBB0_1", ".LBB0_1:", "main:", ".L__tvm_parallel_lambda:", "#", " "]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=60).map("".join))
def test_any_text_has_finite_numbers_or_is_refused(text: str) -> None:
    try:
        row = describe_code(f"main:\n\tincq\t%rax\n{text}", 2)
    except CodeError:
        return
    assert np.isfinite(row.astype(np.float16)).all()


@pytest.mark.parametrize(
    ("instruction", "counted"),
    [
        ("vfmadd231ps 64(%rax), %zmm1, %zmm2", {"fma_16": 1, "lanes": 16, "load_16": 1}),
        ("vfmadd231ss %xmm0, %xmm1, %xmm2", {"fma_1": 1, "lanes": 1}),
        ("vmovups %ymm3, 8(%rsp)", {Unit.MOVE: 1, "store_8": 1, "stack_store": 1}),
        ("vbroadcastss (%rdi), %zmm1", {Unit.MOVE: 1, "load_1": 1, "broadcast": 1}),
        ("vinsertps $16, %xmm2, %xmm3, %xmm2", {Unit.SHUFFLE: 1}),
        ("vscatterqps %ymm9, 336(,%zmm12) {%k2}", {Unit.GATHER: 1, "store_16": 1}),
        ("incq 8(%rsp)", {Unit.WHOLE: 1, "load_1": 1, "store_1": 1,
                          "stack_load": 1, "stack_store": 1}),
        ("leaq 8(%rax,%rbx), %rcx", {Unit.WHOLE: 1}),
        ("cmpq $7, 8(%rbx)", {Unit.WHOLE: 1, "load_1": 1}),
        ("callq *(%r9)", {Unit.CALL: 1}),
    ],
)  # fmt: skip
def test_an_instruction_is_counted_by_what_it_does(
    instruction: str, counted: dict[str, int]
) -> None:
    (block,) = function(*lines_of(instruction)).blocks
    counts = count_block(block)
    cycles = {"busy_cycles", "chain_cycles", "cycles", "all"}
    assert {
        name: count for name, count in counts.items() if count and name not in cycles
    } == counted


@pytest.mark.parametrize(("sums", "cycles"), [(1, 4), (4, 4), (16, 8)])
def test_sums_wait_for_themselves_unless_there_are_enough(sums: int, cycles: int) -> None:
    products = "; ".join(f"vfmadd231ps %zmm30, %zmm31, %zmm{n}" for n in range(sums))
    text = f"xorl %ecx, %ecx; .LBB0_1:; {products}; incq %rcx; cmpq $9, %rcx; jne .LBB0_1"
    blocks = function(*lines_of(text)).run_blocks(1)
    assert count_block(blocks[1])["cycles"] == cycles


def test_a_sum_in_memory_waits_longer_than_one_in_a_register() -> None:
    kept = "vmovups 64(%rsp), %zmm0; vfmadd231ps %zmm1, %zmm2, %zmm0; vmovups %zmm0, 64(%rsp)"
    text = f"xorl %ecx, %ecx; .LBB0_1:; {kept}; incq %rcx; cmpq $9, %rcx; jne .LBB0_1"
    blocks = function(*lines_of(text)).run_blocks(1)
    assert count_block(blocks[1])["chain_cycles"] == 7 + 4 + 1


def product_workload() -> Workload:
    """Return a product of matrices of 64 × 32 and 32 × 64."""
    from tvm import IRModule, te

    from graph_net.programs.spaces.metaschedule import workload_of

    left, right = te.placeholder((64, 32), name="left"), te.placeholder((32, 64), name="right")
    over = te.reduce_axis((0, 32), name="k")
    product = te.compute(
        (64, 64), lambda i, j: te.sum(left[i, over] * right[over, j], axis=over), name="product"
    )
    return workload_of(IRModule({"main": te.create_prim_func([left, right, product])}), "matmul")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ('{"kind":"cuda","arch":"sm_80"}', "of kind cuda"),
        ('{"kind":"llvm","mtriple":"aarch64-linux-gnu","num-cores":2}', "another processor"),
    ],
    ids=["cuda", "aarch64"],
)
def test_targets_whose_code_is_not_read_are_told(target: str, why: str) -> None:
    pytest.importorskip("tvm")
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    workload = product_workload()
    (schedule,) = MetaScheduleSpace(workload).sample(1, 1)
    with pytest.raises(ValueError, match=why):
        compiled_code.extractor(workload, target)(schedule)


def test_products_of_compiled_programs_are_as_many_as_the_task_has() -> None:
    pytest.importorskip("tvm")
    from graph_net.programs.spaces.metaschedule import MetaScheduleSpace

    target = '{"kind":"llvm","mcpu":"x86-64-v4","num-cores":2}'
    space = MetaScheduleSpace(product_workload(), target)
    ratios = []
    for schedule in space.sample(12, 3):
        assembly = space.assembly(schedule)
        row = describe_code(assembly, 2)
        assert row.shape == (len(COLUMNS),)
        assert np.isfinite(row).all()
        ratios.append(_products(assembly) / (64 * 64 * 32))
    assert np.median(ratios) == 1
    assert 0.9 < min(ratios) <= max(ratios) <= 2  # parts of wide vectors may be unused


def _products(assembly: str) -> float:
    """Return the products of all threads."""
    return sum(
        block.runs * min(2, code.extent) * width * count_block(block)[f"{Unit.FMA}_{width}"]
        for code in read_functions(assembly)
        for block in code.run_blocks(2)
        for width in WIDTHS
    )
