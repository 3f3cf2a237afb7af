"""What has no features, and why."""

from __future__ import annotations

from dataclasses import dataclass

from graph_net.isolate import Death


@dataclass(frozen=True)
class Lost:
    """Something without features, and why."""

    reason: str

    @classmethod
    def to(cls, death: Death) -> Lost:
        """What the process that computed them died of, in one line."""
        return cls(" ".join(death.reason.split())[:300])
