"""One table says what an operator is; nobody keeps another, and torch agrees with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from graph_net.graph import Node, Ref
from graph_net.graph.allow_list import allowed_overloads
from graph_net.graph.effects import mutated_arguments
from graph_net.graph.operators import (
    EVERY,
    PADDLE,
    Trait,
    base_name,
    names,
    parse,
    positions,
    table,
)

SOURCE = Path(__file__).parents[2] / "src/graph_net"
OTHER_WORDS = {
    "graph/targets.py": "the Python functions that a graph may call",
    "graph/paddle_targets.py": "those of them that a Paddle graph may call",
    "graph/python_calls.py": "Python functions on numbers and tuples, and their bounds",
    "graph/spec.py": "kinds of numbers",
    "formats/graphnet/signs.py": "Python functions that are written with signs",
    "programs/features/graph_features.py": "columns of stored features, in their order",
    "programs/spaces/relax.py": "operators of TVM",
    "programs/spaces/loop_tiles.py": "words in the names of TVM's blocks",
    "configs/aten_opcodes.py": "HLO's opcodes, beside what they are called here",
    "configs/layouts/sites.py": "kinds of nodes that have a layout",
    "programs/triton/features.py": "kernels written in Triton",
    "programs/triton/gemm.py": "epilogues of a kernel written in Triton",
    "search/inductor/training_data.py": "kernels written in Triton",
}
"""Tables of words that are spelled as operators and name something else."""
RULES = {
    "capture/initial_by_role.py": "a rule per argument of an operator: the values to draw for it",
    "capture/initialisers.py": "a function per operator that writes a parameter",
    "compilers/export.py": "two overloads that read a tensor's value on the host",
    "configs/layouts/call_work.py": "a kind per operator, which columns of the layout model count",
    "configs/layouts/copies.py": "overloads, which a dispatcher sees, and positions in their calls",
    "graph/kernel_rules.py": "a function per operator that checks its sizes",
    "learn/operator_kind.py": "a position in the calls of two operators",
    "programs/triton/graphs.py": "a target and constants per epilogue",
    "programs/triton/rowwise_features.py": "a figure per kernel written in Triton",
    "search/inductor/template_call.py": "a position in the calls of four operators",
}
"""Tables that say something about each operator which nobody else asks: code, or one number."""
OTHER_KEYS = {
    "formats/tpugraphs/hlo_text.py": "dtypes",
    "graph/json_reader.py": "recipes",
    "graph/values.py": "dtypes",
    "measure/golden_outputs.py": "types of Python's numbers",
}
"""Tables by words that are spelled as operators and name something else."""
SHARES_UNTOLD = frozenset(
    """
_to_copy _unsafe_view alpha_dropout atleast_1d atleast_2d atleast_3d broadcast_tensors detach_
dropout feature_dropout list meshgrid requires_grad_ squeeze_ type_as unsqueeze_
""".split()
)
"""Operators that give back their argument or a part of it in some case, which no schema says."""
UNLISTED_VIEWS = frozenset({"_conj", "_neg_view", "linalg_diagonal"})
"""Views that the rules do not know; stored hashes rest on that."""
MUTATION_UNTOLD = frozenset(
    """
batch_norm.default instance_norm.default native_batch_norm.default _batch_norm_with_update.default
rrelu_with_noise.default rrelu_with_noise_.default
""".split()
)
"""Running statistics whose update no schema says; and three writes that the rules do not know."""


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("aten.add_.Tensor", "add_"),
        ("aten.add", "add"),
        ("torch.nn.functional.relu", "relu"),
        ("method:view", "view"),
        ("operator.iadd", "iadd"),
    ],
)
def test_a_call_has_a_bare_name(target: str, name: str) -> None:
    assert base_name(target) == name


def test_every_operator_has_one_line_in_alphabetic_order() -> None:
    text = (SOURCE / "graph/operator_traits.txt").read_text("utf-8")
    listed_names = [name for name, _ in parse(text)]
    assert listed_names == sorted(set(listed_names))
    assert len(listed_names) == len(table()) > 500


def test_every_trait_is_one_that_some_operator_has() -> None:
    had = {trait for traits in table().values() for trait in traits}
    assert had == set(Trait)


def test_a_trait_says_which_arguments_it_speaks_of() -> None:
    assert positions(Trait.SIZES)["narrow"] == (2, 2)
    assert positions(Trait.SIZES)["view"] == (1, EVERY)
    assert positions(Trait.INPLACE_FLAG)["relu"] == (1, 1)


def test_a_name_of_paddle_is_no_name_of_torch() -> None:
    assert "strided_slice" in names(Trait.VIEW, PADDLE)
    assert "strided_slice" not in names(Trait.VIEW)
    assert not any(name.startswith(PADDLE) for name in names(Trait.VIEW))


@pytest.mark.parametrize("line", ["add adds", "add view@", "add Sizes@1", "add sizes@1+2+3"])
def test_a_line_with_an_unknown_trait_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="add has an unknown trait"):
        list(parse(line))


def test_no_module_keeps_a_list_of_operators_of_its_own() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if _has_list(path)}
    listed = {*OTHER_WORDS, *RULES, *OTHER_KEYS}
    assert found == listed, "give these operators traits in operator_traits.txt"


def _has_list(path: Path) -> bool:
    """Whether a module has a collection of texts, or keys, of which most name operators."""
    known = {name.removeprefix(PADDLE) for name in table()}
    lists = _lists(ast.parse(path.read_text("utf-8")))
    return any(len(found := known & words) >= 2 and 2 * len(found) >= len(words) for words in lists)


def _lists(tree: ast.Module) -> Iterator[set[str]]:
    """Yield the texts of each name at a module's top level that is a collection of texts."""
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            yield set(map(_bare, _texts(statement.value)))


def _bare(text: str) -> str:
    """Return the name of an operator that is given as a target, ``aten.add.Tensor``."""
    return base_name(text) if text.startswith("aten.") else text


def _texts(value: ast.expr) -> list[str]:
    if isinstance(value, (ast.Set, ast.List, ast.Tuple)):
        return [text for item in value.elts for text in _texts(item)]
    if isinstance(value, ast.Dict):
        return [text for key in value.keys if key is not None for text in _texts(key)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return [word for text in _texts(value.func.value) for word in text.split()]
    if isinstance(value, ast.Call):  # frozenset(...)
        return [text for item in value.args for text in _texts(item)]
    return [value.value] if isinstance(value, ast.Constant) and type(value.value) is str else []


def _overloads(name: str) -> list[Any]:
    packet = getattr(torch.ops.aten, name, None)
    return [getattr(packet, overload) for overload in packet.overloads()] if packet else []


def _listed_overloads() -> Iterator[tuple[str, Any]]:
    """Yield the overloads that a graph may call and this torch has."""
    for name in sorted(allowed_overloads("aten")):
        packet, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if found is not None:
            yield name, found


def _is_view(overload: Any) -> bool:
    returned = [result.alias_info for result in overload._schema.returns]
    return any(alias is not None and not alias.is_write for alias in returned)


def test_torch_calls_a_view_what_the_table_calls_a_view() -> None:
    registered = {name: found for name in names(Trait.VIEW) if (found := _overloads(name))}
    assert len(registered) > 50
    assert {n for n, found in registered.items() if not any(map(_is_view, found))} <= SHARES_UNTOLD


def test_the_table_knows_the_views_that_a_graph_may_call() -> None:
    views = {name.partition(".")[0] for name, found in _listed_overloads() if _is_view(found)}
    assert len(views) > 50
    assert views - names(Trait.VIEW) <= UNLISTED_VIEWS


def test_a_call_changes_the_arguments_that_its_schema_says() -> None:
    differing = {name for name, found in _listed_overloads() if _written(found) != _changed(found)}
    assert differing <= MUTATION_UNTOLD


def _written(overload: Any) -> list[str]:
    arguments = overload._schema.arguments
    return [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]


def _changed(overload: Any) -> list[str]:
    """The arguments that our rules say a call changes, in training."""
    flags = ("training", "train", "use_input_stats")
    args = [
        Ref(a.name) if "Tensor" in str(a.type) else (True if a.name in flags else None)
        for a in overload._schema.arguments
    ]
    node = Node("call", f"aten.{overload.__name__}", tuple(args))
    return [value.name for value in mutated_arguments(node) if isinstance(value, Ref)]


def test_torch_draws_random_numbers_where_the_table_says_so() -> None:
    tag = torch.Tag.nondeterministic_seeded
    drawing = names(Trait.RANDOM) | names(Trait.DROPOUT)
    registered = {name: found for name in drawing if (found := _overloads(name))}
    untagged = {n for n, found in registered.items() if not any(tag in o.tags for o in found)}
    # Drawn by a function of torch.nn.functional, and given to the operator.
    assert untagged <= {"fractional_max_pool2d", "fractional_max_pool3d"}
    assert len(registered) > 20


def test_the_table_knows_what_depends_on_values() -> None:
    tags = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}
    tagged = {n.partition(".")[0] for n, found in _listed_overloads() if tags & set(found.tags)}
    dependent = names(Trait.VALUE_DEPENDENT) | names(Trait.VALUE_DEPENDENT_ON_REST)
    # one_hot has a rule of its own: only without a number of classes.
    known = dependent | names(Trait.INDEXING) | {"one_hot"}
    assert tagged - known <= {"linalg_lstsq", "unique_dim_consecutive"}
