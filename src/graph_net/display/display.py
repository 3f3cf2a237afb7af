"""Where a long call says how far it is: on standard error, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """Say what is waited for, while it is."""
        return nullcontext() if self.quiet else err.status(what)

    def progress(self, what: str, total: int) -> AbstractContextManager[Advance]:
        """Show a bar; call what it yields once per thing done."""
        return _silence() if self.quiet else progress(what, total)

    def board(self, total: int, until: float | None = None) -> Board:
        """Return the board of a run of measurements."""
        return Board(total, until, self.quiet)


def display_of(progress: Display | bool) -> Display:
    """Return a display: the given one, or with True one that prints, with False a quiet one."""
    return progress if isinstance(progress, Display) else Display(quiet=not progress)


@contextmanager
def _silence() -> Iterator[Advance]:
    def advance(failed: bool = False) -> None:
        """Nobody is told."""

    yield advance
