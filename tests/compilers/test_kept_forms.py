"""Forms of graphs kept across measurements."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from graph_net.compilers import Job
from graph_net.compilers.form_cache import OUTBOX, FormCache, form_key, get_or_make, take_forms
from graph_net.measure.worker import Worker
from graph_net.testing.compiler_graphs import GRAPHS
from measure.asking import mine, small_graph, task

GRAPH = b"the bytes of a graph"
KEY = form_key(GRAPH, "cpu")


def job(where: Path, forms: FormCache | None) -> Job:
    where.mkdir(parents=True, exist_ok=True)
    return Job(GRAPHS["matmul"](), (), "cpu", where, 1, forms)


def forms_of(root: Path) -> FormCache:
    return FormCache(root / "forms", root / "outbox")


class Maker:
    """Writes a file, and counts how often it had to."""

    def __init__(self, data: bytes = b"a form") -> None:
        self.data, self.made = data, 0

    def __call__(self, path: Path) -> None:
        self.made += 1
        path.write_bytes(self.data)


def ask(
    root: Path, number: int, make: Maker, forms: FormCache | None, graph: bytes = GRAPH
) -> bytes:
    """The form as a measurement with a directory of its own gets it, and leaves it."""
    asked = job(root / f"work{number}", forms)
    place = asked.workdir / f"{form_key(graph, 'cpu')}.onnx"
    found = get_or_make(asked, place, ("torch",), make).read_bytes()
    if forms is not None:
        take_forms(forms.outbox, forms.root, graph, "cpu", limit=2600)
    return found


def test_a_second_measurement_finds_the_form(tmp_path: Path) -> None:
    make, ticks = Maker(), iter(range(100))
    forms = replace(forms_of(tmp_path), clock=lambda: float(next(ticks)))
    assert ask(tmp_path, 1, make, forms) == b"a form"
    assert (forms.spared, forms.used) == (0.0, [])
    again = forms_of(tmp_path)
    assert ask(tmp_path, 2, make, again) == b"a form"
    assert (make.made, again.spared, again.used) == (1, 1.0, ["onnx"])


def test_without_a_place_nothing_is_kept(tmp_path: Path) -> None:
    make = Maker()
    for number in range(2):
        ask(tmp_path, number, make, None)
    assert make.made == 2


@pytest.mark.parametrize(
    "harm", ["cut", "flip", "empty", "no json", "other json", "no time", "time back"]
)
def test_a_damaged_entry_is_made_again(tmp_path: Path, harm: str) -> None:
    make, forms = Maker(), forms_of(tmp_path)
    ask(tmp_path, 1, make, forms)
    (entry,) = (tmp_path / "forms").iterdir()
    data = entry.read_bytes()
    entry.write_bytes(
        {
            "cut": data[:-1],
            "flip": data[:-1] + bytes([data[-1] ^ 1]),
            "empty": b"",
            "no json": b"x" + data,
            "other json": b"[]\n" + data,
            "no time": re.sub(rb'"seconds": [^,]+', b'"seconds": NaN', data),
            "time back": re.sub(rb'"cpu_seconds": [^}]+', b'"cpu_seconds": -1e9', data),
        }[harm]
    )
    assert ask(tmp_path, 2, make, forms) == b"a form"
    assert make.made == 2
    assert ask(tmp_path, 3, make, forms) == b"a form"
    assert make.made == 2


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    make, forms = Maker(b"x" * 1000), forms_of(tmp_path)
    for number, graph in enumerate((b"a", b"b")):
        ask(tmp_path, number, make, forms, graph)
    for entry in (tmp_path / "forms").iterdir():
        os.utime(entry, (1, 1))
    ask(tmp_path, 3, make, forms, b"a")  # used again
    ask(tmp_path, 4, make, forms, b"c")
    left = {entry.name.partition("-")[0] for entry in (tmp_path / "forms").iterdir()}
    assert left == {form_key(b"a", "cpu"), form_key(b"c", "cpu")}


def test_a_worker_leaves_forms_of_its_own_graph_only(tmp_path: Path) -> None:
    outbox, root = tmp_path / "outbox", tmp_path / "forms"
    outbox.mkdir()
    (tmp_path / "secret").write_text("of the user")
    (outbox / f"{form_key(b'another graph', 'cpu')}-1.onnx").write_bytes(b"poison")
    (outbox / "..onnx").write_bytes(b"no form")
    (outbox / f"{KEY}-1.onnx").symlink_to(tmp_path / "secret")
    (outbox / f"{KEY}-2.onnx").write_bytes(b"its own")
    take_forms(outbox, root, GRAPH, "cpu")
    assert [entry.name for entry in root.iterdir()] == [f"{KEY}-2.onnx"]


@pytest.mark.parametrize(("compiler", "taken"), [("onnxruntime", 1), (mine("Faithful"), 0)])
def test_no_compiler_from_elsewhere_leaves_forms_for_the_others(
    tmp_path: Path, compiler: str, taken: int
) -> None:
    asked = replace(task(compiler), forms=str(tmp_path / "forms"))
    (tmp_path / "work" / OUTBOX).mkdir(parents=True)
    (tmp_path / "work" / OUTBOX / f"{form_key(asked.graph, 'cpu')}-1.onnx").write_bytes(b"form")
    asked.keep(tmp_path / "work")
    assert len(list((tmp_path / "forms").glob("*"))) == taken


def test_a_form_that_fails_to_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fails(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("no")

    asked = job(tmp_path / "work", forms_of(tmp_path))
    with pytest.raises(RuntimeError):
        get_or_make(asked, asked.workdir / "k.onnx", (), fails)
    assert not (tmp_path / "forms").exists()
    assert list(asked.workdir.iterdir()) == []


def test_a_record_counts_the_conversion_that_it_was_spared(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    asked = task("onnxruntime", small_graph(), forms=str(tmp_path / "forms"))
    first = Worker(asked, tmp_path / "one").run()
    asked.keep(tmp_path / "one")
    second = Worker(asked, tmp_path / "two").run()
    assert first.failure is None
    assert second.failure is None
    assert "converted_before" not in first.environment
    assert second.environment["converted_before"] == "onnx"
    spared = second.environment["converted_before_seconds"]
    assert isinstance(spared, float)
    assert second.cost.cold_seconds is not None
    assert second.cost.cold_seconds > spared > 0
    closeness = [output.t for output in first.outputs]
    assert closeness == pytest.approx([output.t for output in second.outputs], abs=0.1)
