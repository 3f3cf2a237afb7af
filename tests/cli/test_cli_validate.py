"""``graph-net validate``, ``sample`` and ``list --mini``; GraphNet's own front door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calling import NAMES, Cli
from graph_net.corpus.mini import Mini, MiniGraph
from graph_net.corpus.pack import Pack
from graph_net.torch.validate import main as front_door

REQUIREMENTS = ("runnable", "serialisable", "decomposable", "analysable", "accessible")


def test_samples_are_validated_in_a_table(zoo: Path, cli: Cli) -> None:
    answer = cli("validate", zoo, "-j", "1")
    assert answer.code == 0, answer.out
    assert all(requirement in answer.out for requirement in REQUIREMENTS)
    assert all(name in answer.out for name in NAMES)
    assert "0 failed" in answer.err


def test_a_pack_is_validated_as_json(pack: Path, cli: Cli) -> None:
    answer = cli("validate", pack, "--where", "name = 'residual'", "-j", "1", "--json")
    assert answer.code == 0
    (verdict,) = json.loads(answer.out)
    assert verdict["ok"] is True
    assert verdict["difference"] == 0
    assert [verdict[requirement] for requirement in REQUIREMENTS] == ["passed"] * 5


def test_kept_verdicts_are_not_found_again(pack: Path, tmp_path: Path, cli: Cli) -> None:
    words = ("validate", pack, "-j", "1", "--keep", tmp_path / "verdicts.jsonl", "--json")
    first = cli(*words, "--limit", "1")
    again = cli(*words)
    assert first.code == again.code == 0
    lines = [json.loads(line) for line in (tmp_path / "verdicts.jsonl").read_text().split("\n")
             if line]  # fmt: skip
    assert sorted(line["name"] for line in lines) == sorted(Pack(pack).names())  # each once
    assert len(json.loads(again.out)) == len(lines)


def test_samples_have_no_structure_to_keep_verdicts_by(zoo: Path, tmp_path: Path, cli: Cli) -> None:
    answer = cli("validate", zoo, "--keep", tmp_path / "verdicts.jsonl")
    assert answer.code == 1
    assert "--keep needs" in answer.err


def test_a_failure_is_told_with_its_requirement_and_the_exit_code(bad: Path, cli: Cli) -> None:
    answer = cli("validate", bad, "-j", "1")
    assert answer.code == 1
    assert "failed" in answer.out
    assert "torch.load" in answer.out
    assert "1 failed" in answer.err


def test_names_from_a_file(pack: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("residual\n")
    answer = cli("validate", pack, "--names", tmp_path / "names", "-j", "1", "--json")
    assert [verdict["name"] for verdict in json.loads(answer.out)] == ["residual"]


def test_a_sample_is_names_or_a_pack(pack: Path, cli: Cli, tmp_path: Path) -> None:
    answer = cli("sample", pack, "-k", "3", "--by", "category")
    drawn = answer.out.split()
    assert len(drawn) == 3
    assert cli("sample", pack, "-k", "3", "--by", "category").out.split() == drawn
    assert cli("sample", pack, "-k", "3", "--by", "category", "-o", tmp_path / "few").code == 0
    assert sorted(Pack(tmp_path / "few").names()) == drawn
    again = cli("sample", pack, "-k", "3", "-o", tmp_path / "few")
    assert again.code == 1
    assert "exists" in again.err


def test_list_mini(pack: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = MiniGraph("residual", "", "", 1, 0.1, 1)
    Mini((chosen,), 1, 1, "").save(pack / "mini.json")
    monkeypatch.setenv("GRAPH_NET_CORPUS", str(pack))
    rows = json.loads(cli("list", "--mini", "--json").out)
    assert [row["name"] for row in rows] == ["residual"]


def test_the_front_door_says_success_as_graphnet_does(
    zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model-path", str(zoo / "residual"), "--graph-net-samples-path", str(zoo)]
    assert front_door(words) == 0
    assert "Validation success" in capsys.readouterr().out


def test_the_front_door_finds_a_redundant_sample(
    zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (zoo / "residual").rename(zoo / "new")
    import shutil

    shutil.copytree(zoo / "new", zoo / "old")
    words = ["--model-path", str(zoo / "new"), "--graph-net-samples-path", str(zoo)]
    assert front_door(words) == 1
    assert "redundant" in capsys.readouterr().out
    assert front_door([*words, "--no-check-redundancy"]) == 0


def test_the_front_door_fails_where_there_is_nothing(tmp_path: Path) -> None:
    assert front_door(["--model-path", str(tmp_path)]) == 1


def test_what_failed_is_tried_again(pack: Path, tmp_path: Path, cli: Cli) -> None:
    kept = tmp_path / "verdicts.jsonl"
    words = ("validate", pack, "-j", "1", "--limit", "1", "--keep", kept, "--json")
    (verdict,) = json.loads(cli(*words).out)
    kept.write_text(json.dumps({**verdict, "runnable": "failed"}) + "\n")
    (again,) = json.loads(cli(*words).out)
    assert again["ok"] is True
    lines = [line for line in kept.read_text().split("\n") if line]
    assert [json.loads(line)["runnable"] for line in lines] == ["failed", "passed"]
