"""The progress of a long call: on standard error, or nowhere."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from graph_net.display.board import Board
from graph_net.display.progress import Advance, progress
from graph_net.display.terminal import err


@dataclass(frozen=True)
class Display:
    """Progress bars and boards on a terminal, lines in a notebook or a log; ``quiet``: nothing.

    Subclass it to send them elsewhere.
    """

    quiet: bool = False

    def tell(self, line: str) -> None:
        """Print a line."""
        if not self.quiet:
            err.print(line, highlight=False, soft_wrap=True)

    def waiting(self, title: str) -> AbstractContextManager[object]:
        """Show what is waited for, inside the block."""
        return nullcontext() if self.quiet else err.status(title)

    def progress(self, title: str, total: int) -> AbstractContextManager[Advance]:
        """Show a bar; call the function it yields once per item done."""
        return nullcontext(_ignore) if self.quiet else progress(title, total)

    def board(self, total: int, until: float | None = None) -> Board:
        """Return the board of a run of measurements."""
        return Board(total, until, self.quiet)


def display_of(progress: Display | bool) -> Display:
    """Return a display: the given one, or with True one that prints, with False a quiet one."""
    return progress if isinstance(progress, Display) else Display(quiet=not progress)


def _ignore(failed: bool = False) -> None:
    """Advance no bar."""
