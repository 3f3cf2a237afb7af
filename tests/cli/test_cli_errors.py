"""``graph-net`` on bad input: one sentence with the way out, an exit code, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from cli.calling import Cli
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.formats.graphnet import read_sample
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec

COMMAND = Path(sys.executable).with_name("graph-net")


def sentence(cli: Cli, *words: str | Path) -> str:
    """The one sentence a failing command prints."""
    answer = cli(*words)
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert answer.err.startswith("error: ")
    return answer.err


# -- a place that is none, a graph that is damaged, a question that is none ---------------------


@pytest.mark.parametrize("verb", ["show", "run", "list"])
def test_a_place_that_does_not_exist(cli: Cli, tmp_path: Path, verb: str) -> None:
    assert "nowhere does not exist" in sentence(cli, verb, tmp_path / "nowhere")
    assert "does not exist" in sentence(cli, verb, f"{tmp_path}/nowhere:name")


def test_a_folder_without_samples(cli: Cli, tmp_path: Path) -> None:
    assert "holds no sample" in sentence(cli, "show", tmp_path)
    assert "no sample (a directory with a model.py)" in sentence(
        cli, "import", tmp_path, "-o", tmp_path / "pack"
    )
    assert "is not a directory" in sentence(cli, "import", tmp_path / "a", "-o", tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


def test_a_name_is_needed_among_many(cli: Cli, zoo: Path, pack: Path) -> None:
    assert f"{zoo} holds 5 samples; name one: {zoo}:breaks/subgraph_0" in sentence(cli, "show", zoo)
    assert f"{pack} holds 5 graphs; name one: {pack}:" in sentence(cli, "show", pack)


def test_a_misspelled_name_gets_a_suggestion(cli: Cli, pack: Path) -> None:
    assert "did you mean residual?" in sentence(cli, "show", f"{pack}:resdual")


def test_a_sample_that_cannot_be_read(cli: Cli, bad: Path) -> None:
    for verb in ("show", "run"):
        assert "'torch.load' is not on the allow-list" in sentence(cli, verb, bad / "bad")


def test_a_sample_with_markup_in_its_error(cli: Cli, bad: Path) -> None:
    """Square brackets in a message are text, not the styles of a terminal library."""
    (bad / "bad" / "model.py").write_text("class A:\n    def forward(self): return y['[/red]']\n")
    assert "unknown name 'y'" in sentence(cli, "show", bad / "bad")
    (bad / "bad" / "model.py").write_text("class A:\n    def forward(self): return {'[/red]'}\n")
    assert "[/red]" in sentence(cli, "show", bad / "bad")


def test_a_damaged_pack(cli: Cli, pack: Path) -> None:
    (part,) = Pack(pack).parts
    part.write_bytes(part.read_bytes()[:-8])
    for words in (("show", f"{pack}:noisy"), ("list", pack), ("export", pack, "-o", pack / "out")):
        assert "cannot be read" in sentence(cli, *words)


def test_a_question_that_is_none(cli: Cli, pack: Path, tmp_path: Path) -> None:
    for words in (("list", pack), ("export", pack, "-o", tmp_path / "out")):
        text = sentence(cli, *words, "--where", "size > 3")
        assert 'column "size" not found' in text
        assert "Columns: name, id, " in text
    assert "give one statement at a time" in sentence(
        cli, "list", pack, "--where", "true); SELECT (1"
    )
    assert "cannot answer" in sentence(cli, "list", pack, "--order", "size")


def test_a_device_that_is_not_there(cli: Cli, zoo: Path) -> None:
    assert "'gpu' is not a device" in sentence(cli, "run", zoo / "noisy", "--device", "gpu")


def test_a_graph_too_large_to_run(cli: Cli, zoo: Path) -> None:
    text = sentence(cli, "run", zoo / "residual", "--memory", "0.000001")
    assert "--memory allows 1e-06 GiB" in text


def test_a_pack_that_is_a_file(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file" in sentence(cli, "import", zoo, "-o", tmp_path / "file", "-j", "1")


def test_graphs_that_would_share_a_folder(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("a b", read_sample(zoo / "noisy"))
        writer.add("a?b", read_sample(zoo / "residual"))
    text = sentence(cli, "export", tmp_path / "pack", "-o", tmp_path / "out")
    assert "'a b' and 'a?b'" in text
    assert not (tmp_path / "out").exists()


def test_graphs_are_exported_below_the_folder(cli: Cli, zoo: Path, tmp_path: Path) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        for name in ("../../escaped", "/etc/absolute", "..", "a/b", "a"):
            writer.add(name, read_sample(zoo / "noisy"))
    assert cli("export", tmp_path / "pack", "-o", tmp_path / "deep" / "out").code == 0
    written = {path.parent for path in tmp_path.rglob("deep/**/model.py")}
    below = ["escaped", "etc/absolute", "graph", "a/b", "a"]
    assert written == {tmp_path / "deep" / "out" / name for name in below}
    assert not (tmp_path / "escaped").exists()


def test_outputs_that_json_has_no_word_for(cli: Cli, zoo: Path) -> None:
    source = (zoo / "noisy" / "model.py").read_text()
    body = source[: source.index("        l_x_ = L_x_")] if "        l_x_ = L_x_" in source else ""
    returned = "(L_x_ / 0 * 0, 2j, None, torch.float32, True, 3, L_x_[:0])"
    (zoo / "noisy" / "model.py").write_text(f"{body}        return {returned}\n")
    answer = cli("run", zoo / "noisy", "--json")
    assert answer.code == 0
    outputs = json.loads(answer.out, parse_constant=lambda word: pytest.fail(word))["outputs"]
    assert [output["dtype"] for output in outputs][:2] == ["float32", "complex"]
    assert len(outputs) == 7


# -- --debug, usage, interruption ---------------------------------------------------------------


def test_debug_shows_the_traceback(cli: Cli, tmp_path: Path) -> None:
    for words in (("--debug", "show", "nowhere"), ("show", "nowhere", "--debug")):
        answer = cli(*words)
        assert answer.code == 1
        assert "Traceback (most recent call last)" in answer.err
        assert "PackError" in answer.err


def test_wrong_usage_exits_with_2(cli: Cli, zoo: Path) -> None:
    for words in (("fly",), ("show",), ("show", zoo, "--no-such-option"), ("import", zoo)):
        answer = cli(*words)
        assert answer.code == 2
        assert "Usage" in answer.err
        assert "Traceback" not in answer.err


def test_without_words_it_explains_itself(cli: Cli) -> None:
    assert "Usage: graph-net" in "".join((cli().out, cli().err))


def test_the_installed_command(zoo: Path) -> None:
    ran = subprocess.run(
        [COMMAND, "show", zoo / "noisy", "--no-flops"], capture_output=True, text=True, check=True
    )
    assert "torch.rand_like" in ran.stdout
    failed = subprocess.run([COMMAND, "show", "nowhere"], capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: nowhere does not exist")


def test_looking_does_not_load_torch(pack: Path) -> None:
    """It takes seconds, and listing or completing needs nothing of it."""
    program = (
        "import sys\nfrom graph_net.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    assert 'torch' not in sys.modules\n"
    )
    for words in (["list", pack], ["show", f"{pack}:noisy", "--no-flops"], ["--help"]):
        subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=True)


def test_a_reader_that_goes_away_is_no_error(zoo: Path) -> None:
    shell = f"{COMMAND} show {zoo / 'residual'} --json | head -c 10; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["/bin/bash", "-c", shell], capture_output=True, text=True)
    assert ran.stdout == '{\n "constr'[: len(ran.stdout)]
    assert "Traceback" not in ran.stderr
    assert ran.returncode in (0, 141)


def test_an_interrupted_import_keeps_what_was_read(zoo: Path, tmp_path: Path) -> None:
    for number in range(3000):  # more than are read before it is stopped
        (zoo / f"zzz{number}").mkdir()
        for file in (zoo / "noisy").iterdir():
            os.link(file, zoo / f"zzz{number}" / file.name)
    words: list[str | Path] = [COMMAND, "import", zoo, "-o", tmp_path / "pack", "-j", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as importing:
        journal = tmp_path / "pack" / ".journal"
        while importing.poll() is None and not (journal.exists() and journal.stat().st_size > 9000):
            time.sleep(0.001)  # until some are read
        importing.send_signal(signal.SIGINT)
        assert importing.stderr is not None
        said = importing.stderr.read()
    assert importing.returncode == 130
    assert said == "Stopped; finished work is kept.\n"
    assert 0 < len(Pack(tmp_path / "pack")) < 3005


# -- completion ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_be_taught(shell: str) -> None:
    """Without a shell to detect, its name is given; with one, it is found."""
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run(
        [COMMAND, "--show-completion", shell],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert f"_GRAPH_NET_COMPLETE=complete_{shell}" in shown.stdout


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("graph-net sh", {"show"}), ("graph-net ex", {"export"}), ("graph-net show --j", {"--json"})],
)
def test_words_are_completed(typed: str, expected: set[str]) -> None:
    environment = {
        **os.environ,
        "_GRAPH_NET_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
    }
    answer = subprocess.run([COMMAND], capture_output=True, text=True, env=environment)
    assert set(answer.stdout.split()) == expected


def test_a_graph_that_no_sample_can_hold_does_not_stop_an_export(cli: Cli, tmp_path: Path) -> None:
    entry = Input("x", TensorSpec((2,), "float32"), Normal(0.0, 1.0))
    output = Node("y", "paddle._C_ops.relu", (Ref("x"),))
    odd = Node("z", "operator.getitem", (Ref("x"), 0))
    with PackWriter(tmp_path / "pack") as writer:
        writer.add("odd", Graph((entry,), (odd,), Ref("z"), Level.PADDLE))
        writer.add("plain", Graph((entry,), (output,), Ref("y"), Level.PADDLE))
    answer = cli("export", tmp_path / "pack", "-o", tmp_path / "out")
    assert answer.code == 3
    assert "odd is not written: a Paddle sample cannot index a value this way" in answer.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["plain"]


def test_a_name_that_the_corpus_nearly_has_is_told_which(cli: Cli) -> None:
    said = sentence(cli, "show", "torchvision/resnet18")
    assert "torchvision/resnet18 does not exist" in said
    assert "such as monai/resnet18" in said
    assert "such as timm/resnet50" in sentence(cli, "show", "timm/resnet5O")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize(
    "words",
    [
        ("bench", "ZOO"),
        ("run", "ZOO:noisy"),
        ("repro", "ZOO:noisy", "eager"),
        ("bisect", "ZOO:noisy", "eager"),
        ("reference", "ZOO", "-o", "ZOO/golden"),
        ("roofline",),
    ],
    ids=lambda words: words[0],
)
def test_a_device_that_is_not_there_is_one_sentence(
    cli: Cli, zoo: Path, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    answer = cli(*(word.replace("ZOO", str(zoo)) for word in words), "--device", "cuda")
    said = " ".join(answer.err.split())
    assert said.startswith("error: this machine has no CUDA device")
    assert said.endswith("run with --device cpu")
    assert set(tmp_path.rglob("*")) == before
