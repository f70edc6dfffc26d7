"""The address at which metrics are served."""

from typing import NamedTuple, Self

from penstock.errors import wrong

MOST = 65_535


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `HOST:PORT`, an address of IPv6 in brackets.

        # Errors
        It has another form, or names no port.
        """
        host, colon, port = text.rpartition(":")
        if not colon:
            raise wrong(
                f"found {text}, which may be a port or a file; expected HOST:PORT or a file",
                f"name the host too, as 127.0.0.1:{text}, or the file's folder, as ./{text}",
            )
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise wrong(
                f"found {text}; expected an address of IPv6 in brackets", f"as [{host}]:{port}"
            )
        if not host:
            raise wrong(
                f"found {text}; expected a host before the colon",
                "127.0.0.1 is this machine alone, 0.0.0.0 every address of IPv4",
            )
        if not (port.isascii() and port.isdecimal() and 0 < int(port) <= MOST):
            raise wrong(
                f"found {text}; expected a port from 1 to {MOST:,} after the colon",
                f"as 127.0.0.1:9464; a file with a colon in its name needs its folder, as ./{text}",
            )
        return cls(host, int(port))

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
