"""Forms of graphs kept across measurements."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graph_net.compilers import Job
from graph_net.compilers.kept_forms import KeptForms, kept
from graph_net.measure.worker import Worker
from graph_net.testing.compiler_graphs import GRAPHS
from measure.asking import small_graph, task


def job(where: Path, forms: KeptForms | None) -> Job:
    where.mkdir(parents=True, exist_ok=True)
    return Job(GRAPHS["matmul"](), (), "cpu", where, 1, forms)


class Maker:
    """Writes a file, and counts how often it had to."""

    def __init__(self, data: bytes = b"a form") -> None:
        self.data, self.made = data, 0

    def __call__(self, path: Path) -> None:
        self.made += 1
        path.write_bytes(self.data)


def ask(root: Path, number: int, make: Maker, forms: KeptForms | None, word: str = "k") -> bytes:
    """The form as a measurement with a directory of its own gets it."""
    asked = job(root / f"work{number}", forms)
    return kept(asked, asked.workdir / f"{word}.onnx", ("torch",), make).read_bytes()


def test_a_second_measurement_finds_the_form(tmp_path: Path) -> None:
    make, ticks = Maker(), iter(range(100))
    forms = KeptForms(tmp_path / "forms", clock=lambda: float(next(ticks)))
    assert ask(tmp_path, 1, make, forms) == b"a form"
    assert (forms.spared, forms.used) == (0.0, [])
    again = KeptForms(tmp_path / "forms")
    assert ask(tmp_path, 2, make, again) == b"a form"
    assert (make.made, again.spared, again.used) == (1, 1.0, ["onnx"])


def test_without_a_place_nothing_is_kept(tmp_path: Path) -> None:
    make = Maker()
    for number in range(2):
        ask(tmp_path, number, make, None)
    assert make.made == 2


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "no json", "other json"])
def test_a_damaged_entry_is_made_again(tmp_path: Path, harm: str) -> None:
    make, forms = Maker(), KeptForms(tmp_path / "forms")
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
        }[harm]
    )
    assert ask(tmp_path, 2, make, forms) == b"a form"
    assert make.made == 2
    assert ask(tmp_path, 3, make, forms) == b"a form"
    assert make.made == 2


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    make, forms = Maker(b"x" * 1000), KeptForms(tmp_path / "forms", limit=2600)
    for number, word in enumerate("ab"):
        ask(tmp_path, number, make, forms, word)
    for entry in (tmp_path / "forms").iterdir():
        os.utime(entry, (1, 1) if entry.name.startswith("b") else (2, 2))
    ask(tmp_path, 3, make, forms, "a")  # used again
    ask(tmp_path, 4, make, forms, "c")
    assert sorted(entry.name[0] for entry in (tmp_path / "forms").iterdir()) == ["a", "c"]


def test_a_form_that_fails_to_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fails(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("no")

    asked = job(tmp_path / "work", KeptForms(tmp_path / "forms"))
    with pytest.raises(RuntimeError):
        kept(asked, asked.workdir / "k.onnx", (), fails)
    assert not (tmp_path / "forms").exists()
    assert list(asked.workdir.iterdir()) == []


def test_a_record_counts_the_conversion_that_it_was_spared(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    asked = task("onnxruntime", small_graph(), forms=str(tmp_path / "forms"))
    first, second = (Worker(asked, tmp_path / word).run() for word in ("one", "two"))
    assert first.failure is None
    assert second.failure is None
    assert "converted_before" not in first.environment
    assert second.environment["converted_before"] == "onnx"
    spared = second.environment["converted_before_seconds"]
    assert isinstance(spared, float)
    assert second.cost.cold_seconds is not None
    assert second.cost.cold_seconds > spared > 0
    assert [output.t for output in first.outputs] == [output.t for output in second.outputs]
