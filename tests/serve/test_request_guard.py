"""Nobody but this machine's own user reads the pages: an attack for each promise."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from graph_net.serve.guard import HEADERS, Guard, Keys
from graph_net.serve.listen import bind

if TYPE_CHECKING:
    import httpx

    from graph_net.serve.listen import Served

SECRETS = ("deep", "small00")
"""Names that only somebody with the cookie may learn."""


def raw(port: int, request: str, host: str = "127.0.0.1") -> str:
    """The answer to bytes that no library would send."""
    with socket.create_connection((host, port), timeout=60) as one:
        one.sendall(request.replace("\n", "\r\n").encode())
        one.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: one.recv(1 << 16), b"")).decode("utf-8", "replace")


def test_only_loopback_addresses_are_bound(server: Served) -> None:
    assert {one.getsockname()[0] for one in server.sockets} <= {"127.0.0.1", "::1"}
    own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in own - {"127.0.0.1", "::1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out|assign"):
            socket.create_connection((str(address), server.port), timeout=5).close()


def test_both_loopback_addresses_share_a_port() -> None:
    sockets = bind(0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        with pytest.raises(ValueError, match="--port 0"):
            bind(sockets[0].getsockname()[1])
    finally:
        for one in sockets:
            one.close()


def test_a_peer_from_elsewhere_is_refused() -> None:
    async def pages(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("reached")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:80")]
    scope = {"type": "http", "method": "GET", "client": ("192.0.2.7", 5), "headers": headers,
             "query_string": b"", "raw_path": b"/"}  # fmt: skip
    asyncio.run(Guard(pages, Keys(), 80)(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 403


@pytest.mark.parametrize(
    "path",
    "/ /graphs /sql?q=select+1 /graphs.csv /assets/page.js /picture.json?id=deep /nothing".split(),
)
def test_without_the_token_nothing_is_read(stranger: httpx.Client, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert not any(word in answer.text for word in SECRETS)


def test_a_wrong_token_opens_nothing(server: Served, stranger: httpx.Client) -> None:
    for wrong in ("", "x", server.keys.token[:-1], server.keys.token + "x", server.keys.session):
        answer = stranger.get("/", params={"token": wrong})
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


def test_a_wrong_cookie_opens_nothing(server: Served, stranger: httpx.Client) -> None:
    name = f"graph_net_{server.port}"
    for value in ("", "x", server.keys.token, f"{server.keys.session}x", '"', "\x7f"):
        headers = {"cookie": f"{name}={value}"}
        assert stranger.get("/", headers=headers).status_code == 401


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(
    server: Served, stranger: httpx.Client
) -> None:
    answer = stranger.get(f"/graphs?token={server.keys.token}&q=deep")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/graphs?q=deep"
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert server.keys.token not in cookie
    assert "Domain" not in cookie


def test_the_token_does_not_lead_to_another_site(server: Served) -> None:
    request = (
        f"GET //evil.example/?token={server.keys.token} HTTP/1.1\nHost: 127.0.0.1:{server.port}\n"
    )
    answer = raw(server.port, f"{request}Connection: close\n\n")
    assert "location: /evil.example/\r" in answer


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "user@127.0.0.1:{port}",
     "127.0.0.1:{port}.evil.example", ""],
)  # fmt: skip
def test_a_name_of_another_site_is_refused(server: Served, reader: httpx.Client, host: str) -> None:
    answer = reader.get("/graphs", headers={"host": host.format(port=server.port)})
    assert answer.status_code in (400, 421)
    assert not any(word in answer.text for word in SECRETS)


def test_two_hosts_are_refused(server: Served) -> None:
    host = f"127.0.0.1:{server.port}"
    answer = raw(server.port, f"GET / HTTP/1.1\nHost: {host}\nHost: {host}\nConnection: close\n\n")
    assert answer.split()[1] in ("400", "421")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1",
     "http://127.0.0.1:{port}.evil.example"],
)  # fmt: skip
def test_another_origin_is_refused(server: Served, reader: httpx.Client, origin: str) -> None:
    answer = reader.get("/graphs", headers={"origin": origin.format(port=server.port)})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_cannot_embed_or_fetch(reader: httpx.Client, site: str) -> None:
    for mode, dest in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
        assert reader.get("/graphs", headers=headers).status_code == 403


def test_a_link_from_elsewhere_is_answered_after_a_click_here(stranger: httpx.Client) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate",
               "sec-fetch-dest": "document"}  # fmt: skip
    answer = stranger.get("/graphs?q=%3Cb%3E", headers=headers)
    assert answer.status_code == 401
    assert '<a href="/graphs?q=%3Cb%3E">' in answer.text


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
)
def test_nothing_but_get(server: Served, method: str) -> None:
    host = f"127.0.0.1:{server.port}"
    cookie = f"graph_net_{server.port}={server.keys.session}"
    request = f"{method} /sql?q=select+1 HTTP/1.1\nHost: {host}\nCookie: {cookie}\n"
    answer = raw(server.port, f"{request}Content-Length: 0\nConnection: close\n\n")
    assert answer.split()[1] == "405"


def test_every_answer_has_the_policy(reader: httpx.Client, stranger: httpx.Client) -> None:
    for answer in (reader.get("/"), reader.get("/nothing"), reader.get("/assets/page.js"),
                   reader.get("/graphs.csv"), stranger.get("/")):  # fmt: skip
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
    assert HEADERS["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_an_address_without_end_is_refused(reader: httpx.Client) -> None:
    assert reader.get("/sql", params={"q": "select '" + "x" * 20_000 + "'"}).status_code == 414
