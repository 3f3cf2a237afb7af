"""``graph-net``: every verb on real samples, in this process."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import oracle
from cli.calling import NAMES, Cli
from corpus.some_graphs import some_graph
from graph_net import __version__
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.formats.graphnet import read_sample
from graph_net.graph import from_json
from graph_net.graph.execute import digest, make_inputs, run

# -- show ---------------------------------------------------------------------------------------


def test_show_tells_what_is_in_a_sample(cli: Cli, zoo: Path) -> None:
    answer = cli("show", zoo / "residual")
    graph = read_sample(zoo / "residual")
    assert answer.code == 0
    assert answer.err == ""
    for word in (graph.id, graph.structure, "oracle", "residual", "torch.conv2d", "parameter"):
        assert word in answer.out
    assert f"({graph.parameters:,})" in answer.out
    assert re.search(r"FLOPs .*\d \w \([\d,]+; matrix products", answer.out)


def test_show_counts_every_operator_on_demand(cli: Cli, zoo: Path) -> None:
    few = cli("show", zoo / "residual", "--operators", "2", "--no-flops")
    assert "FLOPs" not in few.out
    assert "… 6 more" in few.out
    every = cli("show", zoo / "residual", "--operators", "0", "--no-flops")
    assert "more" not in every.out
    for target in {node.target for node in read_sample(zoo / "residual").nodes}:
        assert target in every.out


def test_show_json_is_the_graph(cli: Cli, zoo: Path, pack: Path) -> None:
    for name in NAMES:
        shown = cli("show", zoo / name, "--json")
        assert from_json(shown.out) == read_sample(zoo / name)
        assert cli("show", f"{pack}:{name}", "--json").out == shown.out


def test_show_code_is_executable(cli: Cli, zoo: Path) -> None:
    for name in NAMES:
        graph = read_sample(zoo / name)
        source = cli("show", zoo / name, "--code").out
        assert oracle.same(oracle.execute_source(source, make_inputs(graph)), run(graph))


def test_a_graph_may_be_named_by_folder_pack_or_id(cli: Cli, zoo: Path, pack: Path) -> None:
    graph = read_sample(zoo / "residual")
    (part,) = Pack(pack).parts
    places = [
        zoo / "residual",
        f"{zoo}:residual",
        f"{pack}:residual",
        f"{pack}:{graph.id[:10]}",
        f"{part}:residual",
    ]
    shown = {cli("show", place, "--json").out for place in places}
    assert len(shown) == 1


def test_the_only_graph_needs_no_name(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    shutil.copytree(zoo / "noisy", tmp_path / "one" / "noisy")
    cli("import", tmp_path / "one", "-o", tmp_path / "pack", "-j", "1")
    by_folder = cli("show", tmp_path / "one", "--json")
    assert cli("show", tmp_path / "pack", "--json").out == by_folder.out
    assert by_folder.code == 0


# -- list ---------------------------------------------------------------------------------------


def test_list_prints_a_table(cli: Cli, pack: Path) -> None:
    answer = cli("list", pack)
    assert answer.code == 0
    assert answer.err == "5 graphs\n"
    for name in NAMES:
        assert name in answer.out


def test_list_json_has_all_columns(cli: Cli, pack: Path, zoo: Path) -> None:
    rows = json.loads(cli("list", pack, "--json").out)
    assert [row["name"] for row in rows] == NAMES
    assert [row["id"] for row in rows] == [read_sample(zoo / name).id for name in NAMES]
    assert all("graph" not in row for row in rows)


def test_list_takes_conditions_order_and_limit(cli: Cli, pack: Path) -> None:
    words = ("--where", "nodes > 1", "--order", "nodes DESC", "--limit", "2", "--json")
    rows = json.loads(cli("list", pack, *words).out)
    assert [row["name"] for row in rows] == ["gpt_cuda", "residual"]
    assert json.loads(cli("list", pack, "--where", "false", "--json").out) == []


# -- import -------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_import_reads_everything_below_a_folder(
    cli: Cli, zoo: Path, tmp_path: Path, jobs: str
) -> None:
    answer = cli("import", zoo, "-o", tmp_path / "new", "-j", jobs)
    assert answer.code == 0
    assert "5 read into" in answer.err
    assert "0 refused" in answer.err
    found = dict(Pack(tmp_path / "new").graphs())
    assert found == {name: read_sample(zoo / name) for name in NAMES}


def test_import_goes_on_when_some_are_refused(cli: Cli, bad: Path, tmp_path: Path) -> None:
    answer = cli("import", bad, "-o", tmp_path / "new", "-j", "1")
    assert answer.code == 3
    assert "5 read into" in answer.err
    assert "1 refused" in answer.err
    assert "torch.load" in answer.out
    assert "bad" in answer.out
    assert sorted(Pack(tmp_path / "new").names()) == NAMES


def test_import_json_is_for_programs(cli: Cli, bad: Path, tmp_path: Path) -> None:
    answer = cli("import", bad, "-o", tmp_path / "new", "-j", "1", "--json")
    outcome = json.loads(answer.out)
    assert answer.code == 3
    assert (outcome["read"], outcome["already_there"]) == (5, 0)
    assert [refused["sample"] for refused in outcome["refused"]] == ["bad"]
    assert re.search(r"'torch.load' is not on the allow-list .*line \d+", str(outcome["refused"]))
    parts = Pack(tmp_path / "new").parts
    assert outcome["pack_bytes"] == sum(part.stat().st_size for part in parts)
    files = [file for name in NAMES for file in (bad / name).iterdir()]
    assert outcome["sample_bytes"] == sum(file.stat().st_size for file in files)


def test_import_of_nothing_readable_fails(cli: Cli, bad: Path, tmp_path: Path) -> None:
    answer = cli("import", bad / "bad", "-o", tmp_path / "new", "-j", "1", "--json")
    assert answer.code == 1
    assert json.loads(answer.out)["read"] == 0


def test_import_passes_over_what_is_there(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    first = [zoo / "noisy", zoo / "gpt_cuda"]
    cli("import", *first, "-o", tmp_path / "new", "-j", "1")
    before = [part.read_bytes() for part in Pack(tmp_path / "new").parts]
    outcome = json.loads(cli("import", zoo, "-o", tmp_path / "new", "-j", "1", "--json").out)
    assert (outcome["read"], outcome["already_there"]) == (3, 2)
    pack = Pack(tmp_path / "new")
    assert sorted(pack.names()) == NAMES
    assert [part.read_bytes() for part in pack.parts][:1] == before
    again = cli("import", zoo, "-o", tmp_path / "new", "-j", "1")
    assert again.code == 0
    assert "0 read into" in again.err
    assert "5 already there" in again.err


def test_a_sample_imported_from_inside_is_called_by_its_folder(
    cli: Cli, zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(zoo / "noisy")
    cli("import", ".", "-o", tmp_path / "new", "-j", "1")
    assert Pack(tmp_path / "new").names() == ["noisy"]
    assert cli("show", ".", "--no-flops").out.strip().startswith("noisy")


def test_samples_of_the_same_name_are_told_apart(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(zoo, tmp_path / "other"))
    cli("import", zoo, other, "-o", tmp_path / "new", "-j", "1")
    assert sorted(Pack(tmp_path / "new").names()) == sorted(
        [*NAMES, *(f"other/{n}" for n in NAMES)]
    )


# -- export -------------------------------------------------------------------------------------


def test_export_and_import_give_the_same_pack(cli: Cli, pack: Path, tmp_path: Path) -> None:
    answer = cli("export", pack, "-o", tmp_path / "out")
    assert answer.code == 0
    assert "5 samples written" in answer.err
    cli("import", tmp_path / "out", "-o", tmp_path / "again", "-j", "1")
    assert dict(Pack(tmp_path / "again").graphs()) == dict(Pack(pack).graphs())


def test_export_chooses_graphs_and_device(cli: Cli, pack: Path, tmp_path: Path) -> None:
    words = ("--where", "name LIKE 'gpt%'", "--device", "cuda:1")
    assert "1 sample written" in cli("export", pack, "-o", tmp_path / "out", *words).err
    source = (tmp_path / "out" / "gpt_cuda" / "model.py").read_text()
    assert 'device(type="cuda", index=1)' in source


def test_export_passes_over_names_that_no_directory_can_have(cli: Cli, tmp_path: Path) -> None:
    names = ("good", "x" * 5000, "/".join(["deep"] * 3000), "a", "a/model.py")
    with PackWriter(tmp_path / "pack") as writer:
        for number, name in enumerate(names):
            writer.add(name, some_graph(number))
    answer = cli("export", tmp_path / "pack", "-o", tmp_path / "out")
    assert answer.code == 3
    assert "2 samples written" in answer.err
    assert answer.err.count("is not written") == 3
    assert (tmp_path / "out" / "good" / "model.py").is_file()
    assert not list((tmp_path / "out").glob("**/.*"))


# -- run ----------------------------------------------------------------------------------------


def test_run_prints_outputs_and_a_digest(cli: Cli, zoo: Path, pack: Path) -> None:
    graph = read_sample(zoo / "residual")
    answer = cli("run", zoo / "residual")
    assert answer.code == 0
    assert "float32" in answer.out
    assert "[1, 10]" in answer.out
    assert f"digest {digest(run(graph))}" in answer.out
    assert cli("run", f"{pack}:residual").out == answer.out


def test_run_json(cli: Cli, zoo: Path, pack: Path) -> None:
    answer = json.loads(cli("run", f"{pack}:gpt_cuda", "--json").out)
    assert answer["graph"] == "gpt_cuda"
    assert answer["digest"] == digest(run(read_sample(zoo / "gpt_cuda")))
    assert [output["shape"] for output in answer["outputs"]] == [[1, 8, 32]]


def test_run_follows_the_seed(cli: Cli, zoo: Path) -> None:
    digests = [
        json.loads(cli("run", zoo / "noisy", "--json", "--seed", seed).out)["digest"]
        for seed in ("0", "1", "0")
    ]
    assert digests[0] == digests[2] != digests[1]


def test_run_lowered(cli: Cli, zoo: Path) -> None:
    plain = json.loads(cli("run", zoo / "breaks" / "subgraph_1", "--json").out)
    lowered = json.loads(cli("run", zoo / "breaks" / "subgraph_1", "--lower", "--json").out)
    assert lowered == plain


# -- the command itself -------------------------------------------------------------------------


def test_help_and_version(cli: Cli) -> None:
    assert cli("--version").out == f"graph-net {__version__}\n"
    text = cli("--help").out
    for verb in ("show", "list", "import", "export", "run"):
        assert verb in text
        assert cli(verb, "--help").code == 0
