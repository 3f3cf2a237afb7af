"""Setting up a fresh machine: a browser where one can be had, and a word where it cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="needs make")


def run(folder: Path, **programs: str) -> tuple[list[str], list[str]]:
    """What `make chromium` says where these are all the programs there are, and what it calls."""
    for name, body in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> {folder}/called\n{body}\n')
        path.chmod(0o755)
    ended = subprocess.run(
        [str(MAKE), "-s", "-C", str(ROOT), "chromium"],
        capture_output=True, text=True, env={"PATH": str(folder)}, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    called = folder / "called"
    return ended.stdout.splitlines(), called.read_text().splitlines() if called.exists() else []


@pytest.mark.parametrize("name", ["chromium", "chromium_browser"])
def test_a_browser_that_is_there_is_left_alone(tmp_path: Path, name: str) -> None:
    assert run(tmp_path, **{name: "", "id": "echo 0", "apt_get": ""}) == ([], [])


def test_root_on_debian_gets_one(tmp_path: Path) -> None:
    said, called = run(tmp_path, id="echo 0", apt_get="")
    assert said == ["installing Chromium for the tests of the report"]
    assert called[1:] == ["apt-get install -qq -y --no-install-recommends chromium"]


def test_lists_of_packages_that_are_old_are_fetched_again(tmp_path: Path) -> None:
    old = f'[ "$1" = update ] && : > {tmp_path}/new; [ -e {tmp_path}/new ]'
    said, called = run(tmp_path, id="echo 0", apt_get=old)
    assert len(said) == 1
    assert [line.split()[1] for line in called[1:]] == ["install", "update", "install"]


@pytest.mark.parametrize(
    "programs",
    [{"id": "echo 1000", "apt_get": ""}, {"id": "echo 0"}, {"id": "echo 0", "apt_get": "exit 1"}],
    ids=["no root", "no Debian", "no network"],
)
def test_where_none_can_be_had_it_says_so_and_goes_on(
    tmp_path: Path, programs: dict[str, str]
) -> None:
    said, _ = run(tmp_path, **programs)
    assert said[-1].startswith("no Chromium, and it could not be installed")
