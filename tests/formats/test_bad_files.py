"""Bad metadata, missing files and files beyond the limits: a GraphError that names the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formats.bad_samples import meta, write
from formats.constructs import source_of
from graph_net.formats.graphnet import find_samples, read_sample
from graph_net.graph import GraphError, GraphLimits, LimitExceeded, Role

OF_X = r"\(.*node x, field "


def refusal(directory: Path, limits: GraphLimits | None = None) -> GraphError:
    with pytest.raises(GraphError) as caught:
        read_sample(directory, limits or GraphLimits())
    return caught.value


def test_the_samples_these_are_made_from_are_good(tmp_path: Path) -> None:
    assert len(read_sample(write(tmp_path / "a")).inputs) == 4
    assert len(read_sample(write(tmp_path / "b", weight_meta=meta())).inputs) == 4


# -- files --------------------------------------------------------------------------------------


def test_a_directory_without_a_model(tmp_path: Path) -> None:
    (write(tmp_path / "sample") / "model.py").unlink()
    assert "model.py is missing" in str(refusal(tmp_path / "sample"))
    assert "model.py is missing" in str(refusal(tmp_path / "nowhere"))
    assert list(find_samples(tmp_path)) == []


def test_a_model_that_is_a_directory(tmp_path: Path) -> None:
    (write(tmp_path / "sample") / "model.py").unlink()
    (tmp_path / "sample" / "model.py").mkdir()
    assert "model.py cannot be read: it is a directory" in str(refusal(tmp_path / "sample"))


def test_missing_metadata_names_the_first_argument(tmp_path: Path) -> None:
    (write(tmp_path / "sample") / "weight_meta.py").unlink()
    assert "weight_meta.py does not describe this argument (node x)" in str(
        refusal(tmp_path / "sample")
    )


def test_files_that_samples_may_lack(tmp_path: Path) -> None:
    for name in ("input_meta.py", "input_tensor_constraints.py", "graph_hash.txt"):
        (write(tmp_path / name) / name).unlink()
        assert len(read_sample(tmp_path / name).inputs) == 4


@pytest.mark.parametrize("name", ["model", "weight_meta", "input_meta", "input_tensor_constraints"])
def test_what_is_no_python(tmp_path: Path, name: str) -> None:
    error = refusal(write(tmp_path / "sample", **{name: "x = (\n"}))
    assert f"{name}.py is not valid Python" in str(error)
    assert error.line is not None


@pytest.mark.parametrize("name", ["model", "weight_meta", "input_tensor_constraints", "graph_net"])
def test_what_is_no_utf8(tmp_path: Path, name: str) -> None:
    directory = write(tmp_path / "sample")
    (path,) = directory.glob(f"{name}.*")
    path.write_bytes(b"\xff\xfe\x00")
    error = refusal(directory)
    assert f"{name}." in str(error)
    assert "is not UTF-8 text" in str(error)


@pytest.mark.parametrize("name", ["weight_meta", "input_tensor_constraints"])
@pytest.mark.parametrize("text", ["[" * 150 + "]" * 150, "-" * 100_000 + "1", "1+" * 50_000 + "1j"])
def test_what_is_nested_too_deeply(tmp_path: Path, name: str, text: str) -> None:
    source = f"class M:\n    name = 'x'\n    data = {text}\n"
    if name != "weight_meta":
        source = f"dynamic_dim_constraint_relations = [{text}]\n"
    refusal(write(tmp_path / "sample", **{name: source}))


# -- graph_net.json -----------------------------------------------------------------------------

MARKERS = {
    "no JSON": ("{", "graph_net.json is not JSON"),
    "no object": ("[]", "graph_net.json is not a JSON object"),
    "deep JSON": ("[" * 100_000 + "]" * 100_000, "graph_net.json is not JSON"),
    "deep options": ('{"a": ' + "[" * 20 + "]" * 20 + "}", "graph_net.json is nested too deeply"),
    "another level": ('{"level": "hlo"}', "unknown level 'hlo' .*level"),
    "a lone surrogate": ('{"model_name": "\\ud800"}', "lone surrogate"),
    "a lone surrogate in a key": ('{"\\ud800": 1}', "lone surrogate"),
    "a huge number": ('{"a": 1' + "0" * 5000 + "}", "graph_net.json is not JSON|too large|bits"),
}


@pytest.mark.parametrize(("text", "reason"), MARKERS.values(), ids=MARKERS)
def test_a_marker_that_is_none(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        read_sample(write(tmp_path / "sample", graph_net=text))


def test_a_sample_of_another_framework_is_called_one(tmp_path: Path) -> None:
    error = refusal(write(tmp_path / "sample", graph_net='{"framework": "jax"}'))
    assert "a jax sample; only torch and paddle samples can be read" in str(error)
    assert error.field == "framework"


# -- weight_meta.py -----------------------------------------------------------------------------

METAS = {
    "no metadata": ({"name": '"y"'}, r"does not describe this argument \(node x\)"),
    "no name": ({"name": "3"}, r"no name \(line 1\)"),
    "negative sizes": ({"shape": "[2, -3]"}, OF_X + "shape"),
    "sizes that are no numbers": ({"shape": "['a']"}, OF_X + "shape"),
    "sizes that are truths": ({"shape": "[True]"}, OF_X + "shape"),
    "fractional sizes": ({"shape": "[2.0]"}, OF_X + "shape"),
    "no sizes": ({"shape": "None"}, OF_X + "shape"),
    "too many elements": ({"shape": "[1048576, 1048576, 2]"}, OF_X + "shape"),
    "a huge size": ({"shape": f"[{10**30}]"}, OF_X + "shape"),
    "an unknown dtype": ({"dtype": '"torch.float128"'}, OF_X + "dtype"),
    "a dtype that is none": ({"dtype": "7"}, OF_X + "dtype"),
    "too few values": ({"data": "[1.0, 2.0]"}, r"2 values for shape \[2, 3\] " + OF_X + "data"),
    "too many values": ({"data": "[" + "1.0, " * 7 + "]"}, "7 values.*" + OF_X + "data"),
    "values in rows": ({"data": "[[1.0] * 3] * 2"}, "not a literal.*line"),
    "nested values": ({"data": "[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]"}, OF_X),
    "values that are words": ({"data": "['a', 'b', 'c', 'd', 'e', 'f']"}, OF_X),
    "a mean that is a word": ({"mean": "'a'"}, OF_X),
    "a mean that is a list": ({"mean": "[1.0]"}, OF_X),
    "a negative spread": ({"std": "-1.0"}, OF_X),
    "bounds the wrong way round": ({"min_val": "3.0", "max_val": "1.0"}, OF_X),
    "whole bounds the wrong way round": (
        {"dtype": '"torch.int64"', "min_val": "3", "max_val": "1"}, OF_X),
    "a bound that is not a number": (
        {"dtype": '"torch.int64"', "min_val": "0", "max_val": "float('nan')"}, OF_X),
    "an infinite bound": (
        {"dtype": '"torch.int64"', "min_val": "0", "max_val": "float('inf')"}, OF_X),
    "a call": ({"mean": "open('SENTINEL', 'w')"}, r"not a literal: open\(.*line 6"),
    "a name": ({"mean": "torch"}, "not a literal: torch .*line 6"),
    "arithmetic": ({"mean": "2 ** 99999999"}, "not a literal.*line 6"),
    "a recipe that is none": ({"recipe": '"{}"'}, OF_X + "recipe"),
    "a recipe that is no JSON": ({"recipe": '"{"'}, OF_X + "recipe"),
    "a stride that is none": ({"stride": "3"}, OF_X + "stride"),
    "a stride of another length": ({"stride": "[1]"}, OF_X + "stride"),
    "a stride with an unknown symbol": ({"stride": "['S9', 1]"}, "S9"),
    "a stride that is no expression": ({"stride": "['os.system(1)', 1]"}, OF_X + "stride"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "reason"), METAS.values(), ids=METAS)
def test_metadata_that_makes_no_tensor(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(GraphError, match=reason):
        read_sample(write(tmp_path / "sample", weight_meta=meta(**changes)))
    assert not Path("SENTINEL").exists()


@pytest.mark.parametrize(
    "source",
    [
        "print(1)\n",
        "class M:\n    def f(self):\n        pass\n",
        "class M:\n    a.b = 1\n",
        "x = 1\n",
    ],
)
def test_metadata_that_is_more_than_attributes(tmp_path: Path, source: str) -> None:
    error = refusal(write(tmp_path / "sample", weight_meta=source))
    assert "weight_meta.py" in str(error)
    assert error.line is not None


@pytest.mark.parametrize("data", ["None", "[]", "['a']", "[[1]]", "[1, 2]", "[1j]"])
def test_a_size_argument_without_one_value(tmp_path: Path, data: str) -> None:
    source = meta().replace("name = 's'\n    data = [1]", f"name = 's'\n    data = {data}")
    assert refusal(write(tmp_path / "sample", weight_meta=source)).node == "s"


# -- limits -------------------------------------------------------------------------------------

LIMITS = {
    "bytes": (GraphLimits(bytes=100), "larger than 100 bytes"),
    "nodes": (GraphLimits(nodes=2), "more than 2 calls.*line 11"),
    "inputs": (GraphLimits(inputs=3), "4 arguments; 3 are allowed|4 tensors; 3 are allowed"),
    "depth": (GraphLimits(depth=3), "nested too deeply.*line 12"),
    "text": (GraphLimits(text=2), "string literal too long.*line 9"),
    "literal": (GraphLimits(literal=5), "6 .*values|list of 6"),
    "tensor_elements": (GraphLimits(tensor_elements=5), OF_X + "shape"),
}


@pytest.mark.parametrize(("limits", "reason"), LIMITS.values(), ids=LIMITS)
def test_what_is_larger_than_allowed(tmp_path: Path, limits: GraphLimits, reason: str) -> None:
    body = "y = torch.einsum('abc', x)\nz = y + 1\nw = z + 1\nreturn ((((x, y), z), w), i, b, s)"
    directory = write(tmp_path / "sample", body)
    read_sample(directory)
    with pytest.raises(LimitExceeded, match=reason):
        read_sample(directory, limits)


@pytest.mark.parametrize("name", ["model.py", "weight_meta.py", "graph_net.json", "graph_hash.txt"])
def test_no_more_of_a_file_is_read_than_allowed(tmp_path: Path, name: str) -> None:
    directory = write(tmp_path / "sample")
    (directory / name).write_text(" " * 100_000)
    with pytest.raises(LimitExceeded, match=rf"{name} is larger than 50000 bytes"):
        read_sample(directory, GraphLimits(bytes=50_000))


@pytest.mark.parametrize("role", ["[]", "3", '"king"'])
def test_an_unknown_role_is_passed_over(tmp_path: Path, role: str) -> None:
    graph = read_sample(write(tmp_path / "sample", weight_meta=meta(role=role)))
    assert graph.inputs[0].role is Role.INPUT


def test_unused_metadata_does_no_harm(tmp_path: Path) -> None:
    model = source_of("return x", "x: torch.Tensor")
    directory = write(tmp_path / "sample", graph_net=json.dumps({"tags": "none"}))
    (directory / "model.py").write_text(model)
    assert [entry.name for entry in read_sample(directory).inputs] == ["x"]
