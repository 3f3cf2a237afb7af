"""What a directory holds is found by its files, not by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.serve.errors import NotServed, ServeError
from graph_net.serve.holdings import HeldKind, find_holdings


def test_packs_runs_programs_and_models_are_found(folder: Path) -> None:
    found = {held.name.partition("/")[2]: {kind.value for kind in held.kinds}
             for held in find_holdings([folder]).items}  # fmt: skip
    assert found == {"pack": {"pack"}, "old": {"records"}, "new": {"records"},
                     "tuned": {"programs"}, "model": {"model"}}  # fmt: skip


def test_one_directory_may_be_named(folder: Path) -> None:
    (held,) = find_holdings([folder / "old", folder / "old"]).items
    assert held.name == "old"
    assert held.kinds == {HeldKind.RECORDS}


def test_links_are_not_followed(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "inside").symlink_to(folder)
    assert find_holdings([tmp_path]).items == ()


def test_files_that_are_not_ours_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "part-00000.parquet").write_bytes(b"PAR1 no")
    assert find_holdings([tmp_path]).items == ()


def test_what_is_not_there_is_said(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ServeError, match="does not exist"):
        find_holdings([tmp_path / "nothing"])
    with pytest.raises(NotServed, match="no records 'x' is served"):
        find_holdings([folder]).named("x", HeldKind.RECORDS)


def test_a_written_file_changes_the_signature(tmp_path: Path) -> None:
    (tmp_path / "run-0.jsonl").write_text("")
    (held,) = find_holdings([tmp_path]).items
    before = held.signature
    (tmp_path / "run-0.jsonl").write_text("{}\n")
    assert held.signature != before
