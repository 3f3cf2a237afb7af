"""The documentation says what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tools.docs import command_page, dead_links, picture

ROOT = Path(__file__).parents[1]


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
