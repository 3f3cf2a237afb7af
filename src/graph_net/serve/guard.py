"""Access control: only this machine's browser, with the token, from this server's own pages.

Any web page open in the same browser can send requests to loopback addresses, and its domain name
can be made to resolve there (DNS rebinding). So the peer, the method, ``Host``, ``Origin`` and
``Sec-Fetch-*`` are checked before anything is read. A token that only the terminal has shown is
exchanged for a cookie that scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from graph_net.serve.markup import Html, tag

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = "token"  # noqa: S105 - the name of the parameter
LONGEST_QUERY = 16_384
POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response, including refusals."""


@dataclass(frozen=True)
class Keys:
    """The token of the address and the cookie's value; both live as long as the server."""

    token: str = field(default_factory=lambda: token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: token_urlsafe(32), repr=False)


@dataclass(frozen=True)
class Refusal:
    """A response without data."""

    status: int
    sentence: str
    again: bool = False
    """Whether a click on the refusal page itself may succeed."""


@dataclass(frozen=True)
class Guard:
    """Passes permitted requests on; refuses all others before they reach the pages."""

    pages: Application
    keys: Keys
    port: int

    @property
    def cookie(self) -> str:
        """Name of the cookie, with the port: browsers send cookies to all ports of a host."""
        return f"graph_net_{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The ``Host`` values that a request may use."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "[::1]", "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.pages(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        headers = _Headers(scope)
        refused = self._refuse(scope, headers)
        if refused is not None:
            await _answer(send, refused, scope)
            return
        offered = _token(scope)
        if offered is not None:
            await self._exchange(offered, scope, send)
        elif not self._knows(headers):
            again = headers.one("sec-fetch-site") in ("cross-site", "same-site")
            sentence = "Open the address that graph-net serve printed: it holds the token."
            await _answer(send, Refusal(401, sentence, again), scope)
        else:
            await self.pages(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope, headers: _Headers) -> Refusal | None:
        if not _is_loopback(scope.get("client")):
            return Refusal(403, "This page is for the machine it runs on.")
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "Nothing can be changed here: GET only.")
        if headers.one("host") not in self.hosts:
            return Refusal(421, "This server is not known by that name.")
        origins = headers.all("origin")
        if origins and (len(origins) > 1 or origins[0] not in {f"http://{h}" for h in self.hosts}):
            return Refusal(403, "Another site may not ask.")
        if headers.one("sec-fetch-site") in ("cross-site", "same-site") and not _navigates(headers):
            return Refusal(403, "Another site may not ask.")
        if len(scope["query_string"]) > LONGEST_QUERY:
            return Refusal(414, "The address is too long.")
        return None

    def _knows(self, headers: _Headers) -> bool:
        jar = SimpleCookie()
        try:
            jar.load(headers.one("cookie"))
        except CookieError:
            return False
        held = jar.get(self.cookie)
        return held is not None and compare_digest(held.value.encode(), self.keys.session.encode())

    async def _exchange(self, offered: str, scope: Scope, send: Send) -> None:
        """Exchange the token for the cookie, and redirect to the address without it."""
        if not compare_digest(offered.encode(), self.keys.token.encode()):
            await _answer(send, Refusal(401, "The token is of another start of the server."), scope)
            return
        cookie = f"{self.cookie}={self.keys.session}; HttpOnly; SameSite=Strict; Path=/"
        more = {"location": _without_token(scope), "set-cookie": cookie}
        await _respond(send, 303, b"", more)


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._pairs = [
            (k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]
        ]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def one(self, name: str) -> str:
        """Return a header that occurs once; empty if it is missing or repeated."""
        found = self.all(name)
        return found[0] if len(found) == 1 else ""


def _is_loopback(client: Any) -> bool:
    try:
        return client is not None and ip_address(client[0]).is_loopback
    except ValueError:
        return False


def _navigates(headers: _Headers) -> bool:
    """Return whether the browser reports a top-level navigation by its user."""
    return (
        headers.one("sec-fetch-mode") == "navigate" and headers.one("sec-fetch-dest") == "document"
    )


def _pairs(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _token(scope: Scope) -> str | None:
    return next((value for key, value in _pairs(scope) if key == TOKEN), None)


def _without_token(scope: Scope) -> str:
    """Return the path without the token; a leading // would lead to another host."""
    rest = urlencode([pair for pair in _pairs(scope) if pair[0] != TOKEN])
    path = "/" + scope.get("raw_path", b"/").decode("latin-1").lstrip("/\\")
    return f"{path}?{rest}" if rest else path


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            extra = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return sending


async def _answer(send: Send, refusal: Refusal, scope: Scope) -> None:
    parts: list[Html] = [tag("h1", refusal.status), tag("p", refusal.sentence)]
    if refusal.again:  # a click here comes from this server, so the cookie is sent
        parts.append(tag("p", tag("a", "Open this address", href=_without_token(scope))))
    page = f'<!doctype html>\n<html lang="en"><title>{refusal.status}</title>{"".join(parts)}'
    more = {"allow": "GET, HEAD"} if refusal.status == 405 else {}
    await _respond(send, refusal.status, page.encode(), more)


async def _respond(send: Send, status: int, body: bytes, more: dict[str, str]) -> None:
    headers = {"content-type": "text/html; charset=utf-8", "content-length": str(len(body))}
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(k.encode(), v.encode()) for k, v in {**headers, **HEADERS, **more}.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})
