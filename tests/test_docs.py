"""The documentation says what the program does."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest
import torch
from tools.docs import command_page, dead_links, picture

from graph_net.compilers import create
from graph_net.testing.compiler import check_compiler
from graph_net.testing.zoo import check_zoo

ROOT = Path(__file__).parents[1]


def example(page: str, heading: str) -> str:
    """The first Python example under a heading."""
    text = (ROOT / page).read_text("utf-8").partition(f"\n## {heading}")[2]
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_of_commands_is_the_programs_own() -> None:
    assert (ROOT / "docs/cli.md").read_text("utf-8") == command_page(), "run `make docs`"


@pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="the picture was made with torch 2.13"
)
def test_the_picture_is_what_show_prints() -> None:
    assert (ROOT / "docs/show.svg").read_text("utf-8") == picture(), "run `make docs`"


def test_no_link_leads_nowhere() -> None:
    assert dead_links() == []


def test_every_verb_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    verbs = [line[13:] for line in command_page().splitlines() if line.startswith("## graph-net")]
    assert verbs
    assert [verb for verb in verbs if f"| `{verb}` |" not in readme] == []


def test_the_commands_of_the_readme_begin_where_they_can_be_found() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = [line[2:] for line in readme.splitlines() if line.startswith("$ ")]
    assert commands[0].startswith(". .venv/bin/activate")
    assert all(command.startswith("graph-net ") for command in commands[1:])


def test_the_compiler_of_the_guide_is_used_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(example("CONTRIBUTING.md", "Add a compiler"))
    check_compiler(create(f"{tmp_path / 'mine.py'}:Traced"))


def test_the_zoo_of_the_guide_is_used_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("my_models")
    library.names = lambda: ["small"]  # type: ignore[attr-defined]
    library.create = lambda name: torch.nn.Conv2d(3, 2, 3)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_models", library)
    made: dict[str, type] = {}
    exec(example("CONTRIBUTING.md", "Add a zoo"), made)
    check_zoo(made["MyZoo"](), sample=1, seed=0)
