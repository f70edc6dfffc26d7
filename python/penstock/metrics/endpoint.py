"""Serves metrics over HTTP, from threads of its own."""

import errno
import os
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock import signals
from penstock.errors import CANNOT_HERE, UNSAFE_TARGET, PenstockError, wrong
from penstock.metrics.address import Address

PATH = "/metrics"

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PATIENCE_S = 10.0
"""Seconds after which a client that says nothing is left."""


def serve(address: Address, text: Callable[[], str]) -> Callable[[], None]:
    """Serve `text` at this address and no other, and return what ends it.

    # Errors
    The address is in use, or not of this machine.
    """
    server = _server(address, text)
    thread = threading.Thread(target=server.serve_forever, name="penstock-metrics", daemon=True)
    with signals.kept_from_threads():
        thread.start()
    process = os.getpid()

    def close() -> None:
        # A fork has the socket but not the thread.
        if os.getpid() == process:
            server.shutdown()
            thread.join()
        server.server_close()

    return close


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, family: int, place: Any, text: Callable[[], str]) -> None:  # noqa: ANN401
        self.address_family = family
        self.text = text
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        """Bind; an address of IPv6 is not one of IPv4 too."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Not the parent's, which looks up the name of the host.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave a client that has gone."""


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer
    server_version = "penstock"
    sys_version = ""
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"metrics are at {PATH}\n")
            return
        try:
            text = self.server.text()
        except (OSError, ValueError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n")
        else:
            self._answer(HTTPStatus.OK, text)

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the terminal has the answer of the command."""


def _server(address: Address, text: Callable[[], str]) -> _HttpServer:
    try:
        family, _, _, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no name of a host"
        raise wrong(
            f"the host {address.host} of the metrics is not found: {why}",
            "name an address of this machine, as 127.0.0.1",
        ) from None
    try:
        return _HttpServer(family, place, text)
    except OSError as error:
        raise _refused(address, error) from None


def _refused(address: Address, error: OSError) -> PenstockError:
    if error.errno == errno.EADDRNOTAVAIL:
        message = f"{address.host} is no address of this machine"
        return wrong(message, "name one that is, as 127.0.0.1")
    if error.errno == errno.EADDRINUSE:
        message = f"metrics cannot be served at {address}: the port is in use"
        hint, code = "name another port, or end what uses it", UNSAFE_TARGET
    else:
        message = f"metrics cannot be served at {address}: {error.strerror}"
        hint, code = "name another address; ports below 1024 need root", CANNOT_HERE
    return PenstockError(f"error: {message}\nhint: {hint}", exit_code=code)
