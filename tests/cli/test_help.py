"""The help of every verb says what its source says."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from cli.calling import Cli
from graph_net.cli.main import app
from graph_net.cli.verbs import PANELS, VERBS, load


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb by its words, those within a group too, and the program itself."""
    yield (), get_command(app)
    for name in VERBS:
        command = load(name)
        yield (name,), command
        for inner, verb in getattr(command, "commands", {}).items():
            yield (name, inner), verb


EVERY = dict(commands())


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_no_bracket_and_no_word_of_a_help_is_lost(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    command = EVERY[words]
    monkeypatch.setenv("COLUMNS", "80")
    printed = cli(*words, "--help").out
    texts = [command.help, *(getattr(option, "help", None) for option in command.params)]
    for text in filter(None, texts):
        missing = [word for word in text.split() if word not in printed]
        assert not missing


@pytest.mark.parametrize("name", VERBS)
def test_the_line_of_a_verb_is_the_beginning_of_its_own_help(name: str) -> None:
    first = inspect.cleandoc(load(name).help).split("\n\n")[0]
    assert VERBS[name][1] == " ".join(first.split())


def test_every_verb_is_in_one_panel_of_what_people_come_for() -> None:
    assert sorted(" ".join(PANELS.values()).split()) == sorted(VERBS)


def test_the_help_has_the_panels_in_order_with_their_verbs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    printed = cli("--help").out
    for panel, names in PANELS.items():
        _, found, rest = printed.partition(f"─ {panel} ─")
        assert found
        shown = [line.split()[1] for line in rest.split("╰")[0].splitlines() if "│ " in line]
        assert shown == names.split()
        printed = rest


@pytest.mark.parametrize(
    ("first", "second"), [("import", "ingest"), ("verify", "validate"), ("sample", "coreset")]
)
def test_verbs_that_are_easily_confused_name_each_other(first: str, second: str) -> None:
    assert f"`{second}`" in VERBS[first][1]
    assert f"`{first}`" in VERBS[second][1]
