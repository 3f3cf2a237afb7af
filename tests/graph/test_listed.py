"""Lists of operators: what ships is what the review says, and a plug-in adds its own library's."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch
from tools.operator_families import PRIVATE
from tools.operator_list import OUTPUT, may_be_listed

from graph_net.graph import Graph, GraphError, Input, Node, Normal, Ref, TensorSpec
from graph_net.graph import allow_list as module
from graph_net.graph.allow_list import allowed_overloads, listed_packets, overloads_in
from graph_net.graph.execute import run
from graph_net.graph.resolve import resolve
from graph_net.graph.targets import is_allowed

PlugIn = Callable[[str, str], None]


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlugIn:
    """Install a distribution whose module ``<namespace>_list`` says which operators are allowed."""

    def install(namespace: str, source: str) -> None:
        (tmp_path / f"{namespace}_list.py").write_text(source)
        about = tmp_path / f"{namespace}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {namespace}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(
            f"[graph_net.operators]\n{namespace} = {namespace}_list:OVERLOADS\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(module, "_plug_ins", lambda: tuple(entry_points(group=module.GROUP)))

    return install


def one_call(target: str) -> Graph:
    x = Input("x", TensorSpec((2,), "float32"), Normal(0.0, 1.0))
    return Graph((x,), (Node("y", target, (Ref("x"),)),), Ref("y"))


def test_the_shipped_list_holds_core_aten() -> None:
    missing = []
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        overload = getattr(
            getattr(torch.ops.aten, name, None), schema.overload_name or "default", None
        )
        if overload is not None and torch.Tag.core in overload.tags:
            missing += [f"{name}.{overload._overloadname}"]
    outside = {name for name in missing if name not in allowed_overloads("aten")}
    # An `out` argument, and a storage that grows under its views.
    assert outside <= {"atan2.out", "resize_.default"}


def test_everything_on_the_shipped_list_passes_the_review() -> None:
    names = list(overloads_in(OUTPUT.read_text("utf-8")))
    assert len(names) == len(set(names)) > 1000
    assert [name for name in names if not may_be_listed(name)] == []
    unsafe = [name for name in names if "unsafe" in name]
    assert {name.partition(".")[0] for name in unsafe} <= {*PRIVATE, "unsafe_split"}


def test_no_listed_operator_takes_a_storage_a_string_container_or_an_out_tensor() -> None:
    for name in allowed_overloads("aten"):
        try:
            overload = resolve(f"aten.{name}")
        except GraphError:
            continue  # another version's
        for argument in overload._schema.arguments:  # type: ignore[attr-defined]
            kind = str(argument.type)
            assert "Storage" not in kind
            assert "Dict" not in kind
            assert kind not in ("List[str]", "Any", "Stream")
            assert not (argument.kwarg_only and argument.alias_info and argument.name == "out")


def test_a_library_without_a_list_has_no_operators() -> None:
    assert allowed_overloads("nobodys_library") == frozenset()
    assert allowed_overloads("../graph_net") == frozenset()


def test_a_plug_in_adds_the_operators_of_its_library(plug_in: PlugIn) -> None:
    plug_in("its_library", "OVERLOADS = ['double.default']")
    library = torch.library.Library("its_library", "DEF")  # type: ignore[no-untyped-call]
    library.define("double(Tensor x) -> Tensor")  # type: ignore[no-untyped-call]
    library.define("hidden(Tensor x) -> Tensor")  # type: ignore[no-untyped-call]
    kernel = (lambda x: x * 2, "CompositeExplicitAutograd")
    library.impl("double", *kernel)  # type: ignore[no-untyped-call]
    graph = one_call("its_library.double.default")
    assert listed_packets("its_library") == {"double"}
    assert not is_allowed("its_library.hidden.default")
    assert torch.equal(run(graph, [torch.ones(2)]), torch.full((2,), 2.0))


def test_an_operator_nobody_registered_is_refused_with_the_way_out(plug_in: PlugIn) -> None:
    plug_in("absent_library", "OVERLOADS = ['call.default']")
    with pytest.raises(GraphError, match="import that library first"):
        run(one_call("absent_library.call.default"))


@pytest.mark.parametrize(
    ("namespace", "source", "words"),
    [
        ("broken_list", "import no_such_module", "cannot be loaded: ModuleNotFoundError"),
        ("strange_list", "OVERLOADS = ['a b']", "'a b'; write packet.overload"),
    ],
)
def test_a_list_that_is_none_names_the_plug_in(
    plug_in: PlugIn, namespace: str, source: str, words: str
) -> None:
    plug_in(namespace, source)
    with pytest.raises(GraphError, match=rf"{namespace}_list:OVERLOADS.*{words}"):
        is_allowed(f"{namespace}.call.default")
