"""Puts this directory on the path, so that tests can import what they share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from real_files import extent as extent
from real_files import real_files as real_files
from skips import pytest_terminal_summary as pytest_terminal_summary

# setuptools replaces distutils, and refuses to be imported where another library (Paddle) has
# imported Python's own before; Inductor imports setuptools for its C++ templates.
with suppress(ImportError):
    import_module("setuptools")

# Whoever starts the tests in the background may ignore interrupts, and every child would too: one
# that a test interrupts would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared and slow at times; how long a test takes never decides whether it passes.
# HYPOTHESIS_PROFILE=thorough draws many more examples, and others each time.
settings.register_profile(
    "shared",
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "thorough", settings.get_profile("shared"), max_examples=1000, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shared"))


@pytest.fixture(autouse=True)
def _torch_as_it_was() -> Iterator[None]:
    """A test that leaves autocast or another default dtype behind must not decide the next one."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_default_dtype(torch.float32)
        for device in ("cpu", "cuda"):
            torch.set_autocast_enabled(device, False)
