"""The allow-list: what computes may be called, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_net.graph import Graph, GraphError, Input, Node, Normal, Ref, TensorSpec, UnknownTarget
from graph_net.graph.targets import (
    canonical_target,
    check_target,
    is_allowed,
    is_aten_level,
    is_overload,
)

CENSUS = "graphnet/call_targets.json"
SYNTAX = ("op:", "cmp:", "slice", "subscript", "device")
"""What the census counts that is no call: operators and brackets, which the reader spells out."""
VMAP = ("torch._C._functorch.", "torch._functorch.")
DANGEROUS = """
torch.load torch.save torch.hub.load torch.hub.load_state_dict_from_url torch.jit.load torch.compile
torch.ops.load_library torch.ops.c10d.broadcast_ torch.classes.load_library torch.package.PackageImporter
torch.utils.cpp_extension.load torch.from_file torch.frombuffer torch.from_numpy torch.typename
torch.multiprocessing.spawn torch.distributed.init_process_group torch.set_default_device
torch.serialization.load torch._C._cuda_init torch.os.system torch.sys.exit
builtins.eval builtins.exec builtins.open builtins.__import__ builtins.compile builtins.setattr
builtins.delattr builtins.input builtins.vars builtins.globals builtins.type
operator.attrgetter operator.methodcaller operator.itemgetter operator.call operator.delitem
math.__loader__ math.factorial
method:numpy method:__reduce_ex__ method:__reduce__ method:__class__ method:__getattribute__
method:__setstate__ method:data_ptr method:storage method:untyped_storage method:apply_ method:map_
method:register_hook method:backward method:share_memory_ method:tofile method:__array__ method:set_
aten.from_file aten.from_file.default aten.save aten.save.default aten.set_.source_Storage
c10d.broadcast_ c10d.send.default _c10d_functional.all_reduce.default symm_mem.one_shot_all_reduce
aten._sparse_csr_tensor_unsafe.default aten._sparse_mm.reduce aten._sparse_coo_tensor_unsafe.default
aten.const_data_ptr.default aten.sparse_coo_tensor.indices aten.to_sparse.default aten.set_.default
aten.resize_.default aten.ljust.str aten.pow.int aten.remainder.int aten.append.t aten.add.out
image.write_file image.write_file.default image.read_file.default torchvision.roi_align.default
method:const_data_ptr method:to_sparse method:resize_ method:ljust method:format torch.dsmm
prim.Print prim.CallMethod profiler._record_function_enter inductor.resize_storage_bytes_ rpc.rpc_sync
torch.__builtins__.eval torch. .load os system eval __import__ aten aten.add.Tensor.extra
aten..default aten.add. aten.1add.default aten.add-Tensor method: method:a.b operator.
""".split()  # noqa: E501


def read_census(real_files: Path) -> list[str]:
    return sorted(json.loads((real_files / CENSUS).read_text("utf-8")))


def test_every_call_of_the_public_samples_is_allowed(real_files: Path, extent: str) -> None:
    names = read_census(real_files)
    calls = [name for name in names if not name.startswith((*SYNTAX, *VMAP))]
    assert len(calls) == {"slice": 167, "whole": 237}[extent]
    assert [name for name in calls if not is_allowed(canonical_target(name))] == []


def test_vmap_internals_are_refused_with_the_reason(real_files: Path) -> None:
    internals = [name for name in read_census(real_files) if name.startswith(VMAP)]
    assert len(internals) == 10
    for name in internals:
        with pytest.raises(UnknownTarget, match=r"vmap internal.*interpreter state.*line 7"):
            check_target(canonical_target(name), line=7)


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_leaves_the_world_of_tensors_is_refused(name: str) -> None:
    assert not is_allowed(canonical_target(name))
    assert not is_allowed(name)


@pytest.mark.parametrize(
    "name", ["", " ", "torch.relu\n", "torch.relu ", "aten.add.Tensor\n", "größe.add"]
)
def test_a_name_is_allowed_as_a_whole_or_not_at_all(name: str) -> None:
    assert not is_allowed(name)


@pytest.mark.parametrize(
    "attribute", ["__class__", "__dict__", "grad_fn", "_backward_hooks", "__globals__"]
)
def test_an_attribute_is_read_only_if_it_is_a_property_of_tensors(attribute: str) -> None:
    x = Input("x", TensorSpec((), "float32"), Normal(0.0, 1.0))
    with pytest.raises(GraphError, match=rf"{attribute}.*node a, field args"):
        Graph((x,), (Node("a", "builtins.getattr", (Ref("x"), attribute)),), Ref("a"))


@pytest.mark.parametrize(
    ("private", "public"),
    [
        ("torch._C._nn.linear", "torch.nn.functional.linear"),
        ("torch._C._nn.gelu", "torch.nn.functional.gelu"),
        ("torch._C._fft.fft_rfft", "torch.fft.rfft"),
        ("torch.functional.einsum", "torch.einsum"),
        ("torch.ops.aten.relu.default", "aten.relu.default"),
        ("torch.relu", "torch.relu"),
    ],
)
def test_a_function_has_one_name(private: str, public: str) -> None:
    assert canonical_target(private) == public
    assert is_allowed(public)


def test_the_levels_tell_operators_from_functions() -> None:
    assert is_overload("aten.add.Tensor")
    assert is_overload("torchvision.nms")
    assert not is_overload("torch.relu")
    assert is_aten_level("aten.add.Tensor")
    assert is_aten_level("operator.getitem")
    assert is_aten_level("torch.sym_max")
    assert not is_aten_level("aten.add")
    assert not is_aten_level("torch.relu")
    assert not is_aten_level("method:view")


def test_a_packet_is_allowed_where_one_of_its_overloads_is() -> None:
    assert is_allowed("aten.index")
    assert not is_allowed("aten.ljust")
    assert not is_allowed("aten._sparse_mm")


def test_an_operator_off_the_list_is_refused_with_its_name_and_the_way_out() -> None:
    with pytest.raises(UnknownTarget, match=r"aten\._sparse_mm\.reduce is not on the list of oper.*"
                       r"plug-in can list it.*graph_net\.operators.*node made"):  # fmt: skip
        check_target("aten._sparse_mm.reduce", "made")


def test_a_refusal_names_node_and_field() -> None:
    with pytest.raises(UnknownTarget) as caught:
        check_target("torch.load", "loaded")
    assert (caught.value.node, caught.value.field) == ("loaded", "target")


@pytest.mark.parametrize("name", ["os.system", "subprocess.run", "pickle.loads", "load_library.x"])
def test_a_name_in_the_form_of_an_operator_is_looked_up_among_operators_only(name: str) -> None:
    from graph_net.graph.resolve import resolve

    with pytest.raises(UnknownTarget):
        resolve(name)
