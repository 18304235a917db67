"""The address of a server."""

from __future__ import annotations

import os
import re
import socket
from typing import NamedTuple, Optional

_TCP = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<name>[^\s/:@?#\[\]%]+)):(?P<port>[0-9]{1,5})")

_PIN = re.compile(r"SHA256:[A-Za-z0-9_-]{43}")

# Bytes in a socket's address on every system, without the NUL at its end.
_PATH_BYTES_MAX = 103

_FORMS = (
    "unix:///path/name.sock, an absolute path that ends in .sock, a relative path that starts with ./, "
    "tcp://host:port, host:port, tls://host:port or tls://host:port#SHA256:fingerprint (an IPv6 address in brackets)"
)


class Address(NamedTuple):
    """A Unix socket's ``path``, or ``host`` and ``port``; with ``tls`` also the certificate's fingerprint to ``pin``."""

    path: Optional[str] = None
    host: str = ""
    port: int = 0
    tls: bool = False
    pin: Optional[str] = None

    def __str__(self) -> str:
        if self.path is not None:
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def dial(self, timeout: Optional[float]) -> socket.socket:
        """A connected socket, within ``timeout`` seconds for each address of the host. Raises OSError."""
        if self.path is None:
            sock = socket.create_connection((self.host, self.port), timeout)
            _prompt_and_watched(sock)
            return sock
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this Python has no Unix sockets; connect over TCP")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout)
            sock.connect(self.path)
        except BaseException:
            sock.close()
            raise
        return sock


def parse_address(address: str) -> Address:
    """Reads an address. Raises ValueError, which lists the forms, for any other, and TypeError for another type."""
    if not isinstance(address, str):
        raise TypeError(f"the address must be a string, not {type(address).__name__}: {_FORMS}")
    if "\0" not in address and not address.endswith("/"):
        if address.startswith("unix:///"):
            return Address(path=address[len("unix://") :])
        if address.startswith("/") and address.endswith(".sock"):
            return Address(path=address)
        if address.startswith("./"):
            return Address(path=_lasting(address))
    if address.startswith("tls://"):
        return _tls_address(address)
    found = _TCP.fullmatch(address[len("tcp://") :] if address.startswith("tcp://") else address)
    if found and 1 <= int(found["port"]) <= 65535:
        return Address(host=found["six"] or found["name"], port=int(found["port"]))
    raise ValueError(f"{address!r} is not an address of a server. The forms are: {_FORMS}")


def _tls_address(address: str) -> Address:
    place, hash_sign, pin = address[len("tls://") :].partition("#")
    found = _TCP.fullmatch(place)
    if not found or not 1 <= int(found["port"]) <= 65535:
        raise ValueError(f"{address!r} is not an address of a server. The forms are: {_FORMS}")
    if hash_sign and not _PIN.fullmatch(pin):
        raise ValueError(
            f"{address!r}: after # comes the certificate's fingerprint, SHA256: and 43 characters, as svc serve prints it"
        )
    return Address(host=found["six"] or found["name"], port=int(found["port"]), tls=True, pin=pin if hash_sign else None)


def _lasting(path: str) -> str:
    """The absolute path, which survives os.chdir, or the relative one where that is too long for a socket."""
    absolute = os.path.abspath(path)
    return absolute if len(os.fsencode(absolute)) <= _PATH_BYTES_MAX else path


def _prompt_and_watched(sock: socket.socket) -> None:
    """Small requests leave at once; a vanished host is noticed in about two minutes, however long a reply takes."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
