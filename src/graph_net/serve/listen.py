"""A server on this machine's loopback addresses, in the foreground or in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any

from graph_net.serve.errors import ServeError
from graph_net.serve.guard import TOKEN, Guard, Keys

LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
MISSING = "serving pages needs starlette and uvicorn: pip install 'graph-net[serve]'"
WAIT = 300.0
"""Seconds within which the server must be listening."""


def bind(port: int = 0) -> list[socket.socket]:
    """Return sockets that listen on 127.0.0.1 and, if available, ::1, on the same port."""
    with ExitStack() as undo:
        sockets: list[socket.socket] = []
        for family, host in LOOPBACK:
            try:
                one = _listening(family, host, port)
            except OSError as error:
                if family is socket.AF_INET:
                    raise ServeError(
                        f"port {port} of {host} cannot be used: {error.strerror}; --port 0 takes "
                        "any free one"
                    ) from error
                continue  # no IPv6 on this machine
            sockets.append(undo.enter_context(one))
            port = one.getsockname()[1]
        undo.pop_all()
    return sockets


def _listening(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((host, port))
        one.listen(64)
    except BaseException:
        one.close()
        raise
    return one


class Served:
    """Pages that are served until ``close`` or the end of a ``with`` block."""

    def __init__(self, roots: Sequence[Path], port: int = 0) -> None:
        try:
            import uvicorn

            from graph_net.serve.pages import Pages
        except ModuleNotFoundError as error:
            if error.name not in ("uvicorn", "starlette"):
                raise
            raise ServeError(MISSING) from error
        self.keys = Keys()
        self.sockets = bind(port)
        self.port: int = self.sockets[0].getsockname()[1]
        self.pages = Pages(roots)
        guard = Guard(self.pages.application(), self.keys, self.port)
        config = uvicorn.Config(
            guard, log_config=None, access_log=False, server_header=False, lifespan="off",
            proxy_headers=False, limit_concurrency=64, timeout_keep_alive=20, ws="none",
            h11_max_incomplete_event_size=32_768, timeout_graceful_shutdown=2,
        )  # fmt: skip
        self._server: Any = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Address of the first page with the token, which grants access to everything."""
        return f"http://127.0.0.1:{self.port}/?{TOKEN}={self.keys.token}"

    def run(self) -> None:
        """Serve until interrupted."""
        try:
            self._server.run(sockets=self.sockets)
        finally:
            self.pages.close()

    def start(self) -> Served:
        """Serve in a thread; return once requests are answered."""
        self._thread = threading.Thread(target=self.run, name="graph-net serve", daemon=True)
        self._thread.start()
        end = time.monotonic() + WAIT
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise ServeError("the server did not start")
            time.sleep(0.005)
        return self

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        for one in self.sockets:
            one.close()

    def __enter__(self) -> Served:
        return self if self._thread else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Served at http://127.0.0.1:{self.port}/>"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.address)}" target="_blank">graph-net serve</a>'
