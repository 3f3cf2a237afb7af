"""Puts this directory on the path, so that tests can import what they share."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# Whoever starts the tests in the background may ignore interrupts, and every child would too: one
# that a test interrupts would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared and slow at times; how long a test takes never decides whether it passes.
settings.register_profile(
    "shared",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("shared")
