"""Publishing refuses what would lose a result, and then writes nothing."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from graph_net.api.publish_layouts import publish_layouts
from graph_net.configs.layouts.layout_predictor import read_layouts
from graph_net.programs.dataset.restore import read_published
from graph_net.results import Failure, Program, Stage, Symptom, canonical, program_to_json
from graph_net.store import atomic


def write(path: Path, programs: list[Program]) -> Path:
    path.write_text("".join(f"{program_to_json(one)}\n" for one in programs), "utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = filter(Path.is_file, folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="session")
def programs(journal: Path) -> list[Program]:
    return list(read_layouts(journal))


@pytest.fixture(scope="session")
def pack(journal: Path) -> str:
    return str(journal.parent / "pack")


def refuse(source: Path, why: str) -> None:
    output = source.parent / "published"
    with pytest.raises(ValueError, match=why):
        publish_layouts({"cpu": [source]}, output)
    assert not output.exists()


def test_a_damaged_line_is_named(programs: list[Program], tmp_path: Path) -> None:
    source = write(tmp_path / "damaged.jsonl", programs[:2])
    source.write_text(source.read_text() + "{}\n")
    refuse(source, f"^{source}, line 3: ")


def test_an_extra_that_is_not_canonical_is_refused(programs: list[Program], tmp_path: Path) -> None:
    spaced = replace(programs[1], extra=json.dumps(json.loads(programs[1].extra)))
    source = write(tmp_path / "spaced.jsonl", [programs[0], spaced, *programs[2:]])
    refuse(source, f"^{source}, line 2: schedule, details and extra are canonical JSON$")


def test_details_that_lack_a_name_are_refused(programs: list[Program], tmp_path: Path) -> None:
    bare = replace(programs[0], task=replace(programs[0].task, details="{}"))
    source = write(tmp_path / "bare.jsonl", [bare, bare])
    refuse(source, f"^{source}, line 1: .* do not say the graph, library, .*and 1 more like it")


def test_a_search_that_has_no_folder_is_refused(programs: list[Program], tmp_path: Path) -> None:
    extra = canonical({**json.loads(programs[0].extra), "search": "grid"})
    source = write(tmp_path / "grid.jsonl", [replace(programs[0], extra=extra)])
    refuse(source, f"^{source}, line 1: the search 'grid' is unknown; known: random, genetic$")


def test_times_without_the_originals_are_refused(programs: list[Program], tmp_path: Path) -> None:
    source = write(tmp_path / "alone.jsonl", [replace(programs[0], extra="")])
    refuse(source, f"^{source}, line 1: its extra has no control")


def test_an_extra_that_is_no_object_is_refused(programs: list[Program], tmp_path: Path) -> None:
    source = write(tmp_path / "list.jsonl", [replace(programs[0], extra="[]")])
    refuse(source, f"^{source}, line 1: its extra is not a JSON object")


def test_a_gzip_stream_without_its_end_is_refused(programs: list[Program], tmp_path: Path) -> None:
    whole = gzip.compress(write(tmp_path / "whole.jsonl", programs).read_bytes())
    source = tmp_path / "cut.jsonl.gz"
    source.write_bytes(whole[:-8])
    refuse(source, f"^{source}, line 123: the compressed data breaks off")


def test_a_source_without_layouts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    refuse(tmp_path / "empty.jsonl", "empty.jsonl has no layouts; `graph-net configs collect`")


def test_a_platform_is_of_one_device(programs: list[Program], tmp_path: Path) -> None:
    elsewhere = replace(programs[0], task=replace(programs[0].task, target="cuda: other"))
    source = write(tmp_path / "two.jsonl", [programs[0], elsewhere])
    refuse(source, "^cpu has layouts of cpu: test, cuda: other: name one for each$")


def test_a_graph_that_the_pack_does_not_have_is_refused(
    programs: list[Program], tmp_path: Path
) -> None:
    refuse(write(tmp_path / "other.jsonl", programs), "has no graph 'test/")


def test_nothing_is_written_unless_all_sources_are_good(
    journal: Path, pack: str, tmp_path: Path
) -> None:
    bad, output = tmp_path / "bad.jsonl", tmp_path / "published"
    bad.write_text("{}\n")
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 1"):
        publish_layouts({"cpu": [journal], "h200": [bad]}, output, pack)
    assert not output.exists()


def test_results_without_a_date_are_one_only_if_they_are_equal(
    programs: list[Program], pack: str, tmp_path: Path
) -> None:
    first = replace(programs[0], measured=None)
    slower = Program.from_log(
        first.task, first.schedule, tuple(2 * one for one in first.costs),
        extra=first.extra, device=first.device,
    )  # fmt: skip
    failed = [
        Program.from_log(
            first.task, first.schedule, (), Failure(Stage.VERIFY, Symptom.NUMERIC, why),
            device=first.device,
        )
        for why in ("output 0 differs", "output 1 differs")
    ]  # fmt: skip
    source = write(tmp_path / "undated.jsonl", [first, slower, *failed, first])
    (found,) = publish_layouts({"cpu": [source]}, tmp_path / "published", pack)
    assert (found.results, found.failed, found.twice) == (4, 2, 3)


@pytest.fixture
def existing(programs: list[Program], pack: str, tmp_path: Path) -> Path:
    """A data set of the first half of the results."""
    output = tmp_path / "existing"
    publish_layouts({"cpu": [write(tmp_path / "first.jsonl", programs[:70])]}, output, pack)
    return output


def test_results_that_are_there_must_be_among_the_sources(
    existing: Path, programs: list[Program], pack: str
) -> None:
    before, more = contents(existing), write(existing.parent / "more.jsonl", programs[60:])
    with pytest.raises(
        ValueError, match=r"has 60 results that no source has; .* name it too: cpu="
    ):
        publish_layouts({"cpu": [more]}, existing, pack)
    assert contents(existing) == before


def test_the_same_sources_again_are_the_same_bytes(existing: Path, pack: str) -> None:
    before = contents(existing)
    publish_layouts({"cpu": [existing.parent / "first.jsonl"]}, existing, pack)
    assert contents(existing) == before


@pytest.mark.parametrize("replaced", [False, True])
def test_a_platform_that_is_there_must_be_named(
    existing: Path, programs: list[Program], pack: str, replaced: bool
) -> None:
    before, more = contents(existing), write(existing.parent / "more.jsonl", programs)
    with pytest.raises(ValueError, match=r"has the platform cpu too, .*; name it as well: cpu="):
        publish_layouts({"h200": [more]}, existing, pack, replaced)
    assert contents(existing) == before


def test_replacing_leaves_nothing_of_what_was_there(
    existing: Path, programs: list[Program], pack: str
) -> None:
    images = [one for one in programs if one.task.kernel == "test/images"]
    more = write(existing.parent / "more.jsonl", images)
    assert any("sequence" in name for name in contents(existing))
    publish_layouts({"cpu": [more]}, existing, pack, replace=True)
    publish_layouts({"cpu": [more]}, existing.parent / "fresh", pack)
    assert contents(existing) == contents(existing.parent / "fresh")


@pytest.mark.parametrize("installed", range(1, 9))
def test_the_same_command_finishes_after_a_stop_between_any_two_files(
    programs: list[Program], published: Path, pack: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, installed: int,
) -> None:  # fmt: skip
    images = [one for one in programs if one.task.kernel == "test/images"]
    rest = [one for one in programs if one not in images]
    output, more = tmp_path / "published", write(tmp_path / "more.jsonl", rest)
    publish_layouts({"cpu": [write(tmp_path / "first.jsonl", images)]}, output, pack)
    left, finish = installed, atomic.write_bytes

    def stop(target: Path, data: bytes, *, durable: bool = True) -> None:
        nonlocal left
        if target.is_relative_to(output):
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        finish(target, data, durable=durable)

    sources = {"cpu": [output / "cpu", more]}
    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(atomic, "write_bytes", stop)
        publish_layouts(sources, output, pack)
    assert left <= 0
    publish_layouts(sources, output, pack)
    assert contents(output) == contents(published)


def test_files_that_a_killed_run_left_are_removed(existing: Path, pack: str) -> None:
    before = contents(existing)
    for name in (
        "cpu/.programs-plain.parquet.17",
        "npz/layout/cpu/random/.x.npz.17",
        ".README.md.17",
    ):
        (existing / name).touch()
    publish_layouts({"cpu": [existing / "cpu"]}, existing, pack)
    assert contents(existing) == before


def test_a_published_platform_keeps_an_extra_with_any_keys(
    programs: list[Program], pack: str, tmp_path: Path
) -> None:
    extra = canonical({**json.loads(programs[0].extra), "Above": 1, "again": True})
    source = write(tmp_path / "more.jsonl", [programs[1], replace(programs[0], extra=extra)])
    output = tmp_path / "published"
    publish_layouts({"cpu": [source]}, output, pack)
    publish_layouts({"cpu": [output / "cpu", source]}, output, pack)
    found = [json.loads(one.extra) for one in read_published(output / "cpu")]
    assert [one.get("Above") for one in found] == [None, 1]
