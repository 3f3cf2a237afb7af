"""A directory has one writer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_net.store.files import NotRegular
from graph_net.store.lock import InUse, hold_lock


def test_a_second_writer_is_told_and_the_next_one_is_not(tmp_path: Path) -> None:
    with (
        hold_lock(tmp_path),
        pytest.raises(InUse, match="in use by another run"),
        hold_lock(tmp_path),
    ):
        pass
    with hold_lock(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from graph_net.store.lock import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / ".lock").exists()
    with hold_lock(tmp_path):
        pass


def test_a_lock_that_is_a_pipe_or_a_link_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(NotRegular, match="a FIFO"), hold_lock(tmp_path):
        pass
    (tmp_path / ".lock").unlink()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / ".lock").symlink_to("precious")
    with pytest.raises(OSError, match="symbolic links"), hold_lock(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "kept"
