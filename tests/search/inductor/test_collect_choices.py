"""A collection inside Inductor: what it measures, and how it goes on after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from benchmarks.inductor_tuning import fill_mask
from torch.nn.attention.flex_attention import create_block_mask

import graph_net as gn
from graph_net.graph import Graph
from graph_net.programs.triton.match import Match, find_matches
from graph_net.results import canonical
from graph_net.search.inductor.case import KernelCase, load_cases, save_cases
from graph_net.search.inductor.case_module import CaseModule
from graph_net.search.inductor.collect import interleaved, main, next_group
from graph_net.search.inductor.collection_journal import CollectionJournal
from graph_net.search.inductor.template_modules import template_modules
from graph_net.search.inductor.timed_call import ATEN, read_timed

BATCHED = {"kernel": "batched_matmul", "b": 4, "m": 32, "n": 64, "k": 96, "epilogue": "none"}
IMAGE = {"kernel": "convolution", "n": 1, "h": 8, "w": 8, "c": 16, "k": 32, "r": 3, "s": 3}


ATTENTION = {"kernel": "flex_attention", "b": 4, "m": 256, "k": 256, "n": 32, "d": 32}
ATTENTION |= {"epilogue": "none"}


def case(**module: object) -> KernelCase:
    return KernelCase(canonical({"dtype": "bfloat16", **module}), False)  # type: ignore[dict-item]


PRODUCT = case(**BATCHED, transposed=False)
CONVOLUTION = case(**IMAGE, stride=1, pad=1, epilogue="none")


def test_every_choice_of_an_operation_is_in_the_journal(tmp_path: Path) -> None:
    cases, journal = tmp_path / "cases.json", tmp_path / "timings.jsonl"
    save_cases([PRODUCT], cases)
    arguments = ["-o", str(journal), "--cases", str(cases), "--device", "cpu", "--jobs", "1"]
    assert main(arguments) == 0
    [timed] = read_timed(journal)
    assert timed.case == PRODUCT.key
    assert timed.call.op == "bmm"
    assert {choice.kind for choice in timed.choices} == {ATEN, "other"}
    assert all(choice.milliseconds for choice in timed.choices)
    before = journal.read_bytes()
    assert main(arguments) == 0
    assert journal.read_bytes() == before  # nothing is measured twice


def test_a_case_that_ended_the_process_is_tried_once_more_and_alone(tmp_path: Path) -> None:
    other = case(**BATCHED | {"m": 64}, transposed=False)
    cases = [PRODUCT, other, CONVOLUTION]
    journal = CollectionJournal(tmp_path / "timings.jsonl")
    assert next_group(cases, journal) == (PRODUCT, other)
    journal.begin([PRODUCT.key, other.key])
    assert next_group(cases, journal) == (CONVOLUTION,)
    journal.begin([CONVOLUTION.key])
    journal.close()
    journal = CollectionJournal(tmp_path / "timings.jsonl")  # the process was killed
    assert next_group(cases, journal) == (PRODUCT,)
    journal.begin([PRODUCT.key])
    journal.fail(other.key, "it hangs")
    assert next_group(cases, journal) == (CONVOLUTION,)
    journal.begin([CONVOLUTION.key])
    assert next_group(cases, journal) == ()


def test_lines_that_no_collection_wrote_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    path.write_text('7\n{"begun": 7}\n[[]]\n{"case": "x"}\n' + "[" * 5000 + "\n")
    journal = CollectionJournal(path)
    assert journal.pending([PRODUCT.key]) == [PRODUCT.key]
    assert not journal.begun
    assert not journal.failed
    assert not journal.measured


def test_a_collection_cut_short_has_some_of_each_kind() -> None:
    products = [case(**BATCHED | {"m": 16 * rows}, transposed=False) for rows in range(1, 73)]
    images = [
        case(**IMAGE | {"h": 7 + rows}, stride=1, pad=1, epilogue="none") for rows in range(24)
    ]
    half = interleaved([*products, *images])[:48]
    assert 8 <= sum(one.kind == "convolutions" for one in half) <= 16


@pytest.mark.parametrize(
    "chosen",
    [
        case(kernel="matmul", m=8, n=4, k=16, epilogue="none", transposed=False),
        case(kernel="matmul", m=8, n=4, k=16, epilogue="bias", transposed=True),
        case(**BATCHED | {"epilogue": "add"}, transposed=True),
        CONVOLUTION,
        case(kernel="mm_plus_mm", m=8, n=4, k=16, epilogue="none", transposed=True),
        case(**ATTENTION, shared=1, masked=False),
        case(**ATTENTION, shared=2, masked=True),
    ],
)
def test_a_case_computes_what_its_workload_says(chosen: KernelCase) -> None:
    module = CaseModule(chosen, "cpu")
    result = module.call(module.operands())
    sizes = chosen.parsed
    expected = {
        "matmul": (sizes.get("m"), sizes.get("n")),
        "batched_matmul": (sizes.get("b"), sizes.get("m"), sizes.get("n")),
        "convolution": (sizes.get("n"), sizes.get("k"), sizes.get("h"), sizes.get("w")),
        "mm_plus_mm": (sizes.get("m"), sizes.get("n")),
        "flex_attention": (1, sizes.get("b"), sizes.get("m"), sizes.get("n")),
    }
    assert tuple(result.shape) == expected[sizes["kernel"]]


def test_held_out_cases_come_from_networks_that_no_case_is_learned_from() -> None:
    cases = load_cases(Path("dataset/inductor/cases.json"))
    learned = {name.partition("@")[0] for one in cases if not one.held_out for name in one.weights}
    tested = {name.partition("@")[0] for one in cases if one.held_out for name in one.weights}
    assert not learned & tested
    held_out = [one for one in cases if one.held_out]
    assert sum(one.kind == "products" for one in held_out) >= 60
    assert sum(one.kind == "convolutions" for one in held_out) >= 20
    assert len({one.key for one in cases}) == len(cases)


def test_cases_of_kernels_that_only_inductor_has_come_from_layers_and_attention() -> None:
    matches = {"kernel": "matmul", "m": 32, "n": 64, "k": 48, "epilogue": "bias_relu"}
    linear = Match({**matches, "transposed": True, "dtype": "float16"}, ("call",))
    graph = attention_graph()
    pair, scaled = template_modules(graph, linear)
    assert (pair["kernel"], pair["m"], pair["n"], pair["k"]) == ("mm_plus_mm", 32, 48, 64)
    assert (scaled["kernel"], scaled["epilogue"], scaled["n"]) == ("scaled_mm", "bias", 64)
    odd = Match({**linear.module, "n": 65}, ("call",))
    assert [one["kernel"] for one in template_modules(graph, odd)] == ["mm_plus_mm"]
    found = [
        one for match in find_matches(graph, "bfloat16") for one in template_modules(graph, match)
    ]
    assert [(one["kernel"], one["b"], one["m"], one["d"]) for one in found] == [
        ("flex_attention", 6, 160, 32),
        ("flex_attention", 6, 640, 32),
    ]
    for module in (pair, scaled, *found):
        KernelCase(canonical(module), held_out=False)


def attention_graph() -> Graph:
    """Return a graph of one call of attention."""

    class Attention(torch.nn.Module):
        def forward(self, query: torch.Tensor) -> torch.Tensor:
            attend = torch.nn.functional.scaled_dot_product_attention
            return attend(query, query, query)

    return gn.capture(Attention(), torch.zeros(2, 3, 160, 32))


def test_the_mask_that_winners_are_timed_with_is_a_causal_one() -> None:
    mask = create_block_mask(
        lambda batch, head, query, key: query >= key, None, None, 512, 512, device="cpu"
    )
    given = (mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices)
    blocks = [one for one in given if one is not None]
    assert len(blocks) == 4
    made = [torch.full_like(one, 99) for one in blocks]
    fill_mask(made)
    assert torch.equal(made[0], blocks[0])
    assert torch.equal(made[2], blocks[2])
    for row in range(4):
        assert made[1][0, 0, row, 0] == blocks[1][0, 0, row, 0]
        count = int(blocks[2][0, 0, row])
        read = {tuple(one[0, 0, row, :count].tolist()) for one in (made[3], blocks[3])}
        assert len(read) == 1
