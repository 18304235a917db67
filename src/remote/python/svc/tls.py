"""TLS, by the standard library: which server is the right one, and a connection to it."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
from typing import Any, Optional

from .address import Address
from .wire import Connection

_OPTIONS = ("ca", "cert", "key")


def tls_context(address: Address, tls: Any) -> Optional[ssl.SSLContext]:
    """The context for an address; None for one without TLS.

    ``tls`` is None, an ``ssl.SSLContext``, or a dict with ``ca``, ``cert`` and ``key``, each the path of a file in PEM.
    Raises ValueError or TypeError for options that do not fit, OSError for files that cannot be used.
    """
    if not address.tls:
        if tls is not None:
            raise ValueError(f"tls is for an address that begins with tls://, and {address} does not")
        return None
    if isinstance(tls, ssl.SSLContext):
        if address.pin is not None and (tls.check_hostname or tls.verify_mode != ssl.CERT_NONE):
            raise ValueError("the address has a fingerprint, and nothing else is checked: leave the tls context out")
        return tls
    given = _checked({} if tls is None else tls)
    if address.pin is not None:
        if given.get("ca") is not None:
            raise ValueError("the address has a fingerprint, and nothing else is checked: leave the ca out of tls")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context = _read("ca", lambda: ssl.create_default_context(cafile=given.get("ca")))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if given.get("cert") is not None:
        _read("cert and key", lambda: context.load_cert_chain(given["cert"], given["key"]))
    return context


def _checked(tls: Any) -> Any:
    if not isinstance(tls, dict):
        raise TypeError(f"tls must be a dict with {', '.join(_OPTIONS)}, or an ssl.SSLContext, not {type(tls).__name__}")
    for name in tls:
        if name not in _OPTIONS:
            raise ValueError(f"tls has {name!r}; there are {', '.join(_OPTIONS)}")
    if (tls.get("cert") is None) != (tls.get("key") is None):
        raise ValueError("cert and key of tls belong together: give both")
    return tls


def _read(what: str, load: Any) -> Any:
    try:
        return load()
    except OSError as error:
        raise OSError(f"tls: {what} cannot be read: {error.strerror or error}") from None


class TlsRefusal(Exception):
    """A failure of TLS that says what to do; ``meaning`` is the exception that Python has for it."""

    def __init__(self, meaning: OSError) -> None:
        super().__init__(str(meaning))
        self.meaning = meaning


def secure(sock: socket.socket, address: Address, context: ssl.SSLContext) -> ssl.SSLSocket:
    """The socket with TLS, once the server has shown that it is the one of the address.

    Raises TlsRefusal where it is another one, or TLS fails, and OSError.
    """
    try:
        secured = context.wrap_socket(sock, server_hostname=address.host.partition("%")[0])
        if address.pin is not None:
            _check_pin(secured, address, address.pin)
        return secured
    except BaseException as error:
        sock.close()
        if isinstance(error, ssl.SSLError):
            raise TlsRefusal(explained(error, address)) from None
        raise


def _check_pin(secured: ssl.SSLSocket, address: Address, pin: str) -> None:
    certificate = secured.getpeercert(True) or b""
    digest = base64.urlsafe_b64encode(hashlib.sha256(certificate).digest()).rstrip(b"=")
    found = "SHA256:" + digest.decode("ascii")
    if found != pin:
        secured.close()
        message = (
            f"{address} has a certificate with the fingerprint {found}, and the address that was given has {pin}: if the "
            "server's operator has changed it, ask for the new address; if not, something else answers in its place"
        )
        raise TlsRefusal(PermissionError(message))


def explained(error: ssl.SSLError, address: object) -> OSError:
    """What a failure of TLS means, as the exception that Python has for it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return PermissionError(
            f"{address} is refused: its certificate cannot be verified ({error.verify_message}): give its authority's "
            "certificate as ca in tls, or the address with the fingerprint that the server prints"
        )
    reason = str(error.reason)
    if ("ALERT" in reason and "CERTIFICATE" in reason) or reason == "TLSV1_ALERT_UNKNOWN_CA":
        return PermissionError(
            f"{address} refuses this client's certificate, or requires one (--client-ca): give one that its authority "
            "has signed, as cert and key in tls"
        )
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"):
        # Anyone between can cause this: a client that then connects without TLS gives away its token.
        return OSError(
            f"{address} does not speak TLS, or something between answers in its place: check the address and the port; "
            "do not connect without TLS, which would show the token"
        )
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return ConnectionResetError(f"{address} closed the connection in the TLS handshake")
    return OSError(f"no TLS connection to {address}: {reason}")


class TlsConnection(Connection):
    """A connection whose socket speaks TLS."""

    # A send of this size makes progress or times out as a whole.
    write_bytes = 64 * 1024

    def __init__(self, sock: ssl.SSLSocket, pause: Optional[float], address: Address) -> None:
        super().__init__(sock, pause)
        self._address = address

    def _receive_some(self, size: int) -> bytes:
        try:
            return super()._receive_some(size)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return b""
        except ssl.SSLError as error:
            # With TLS 1.3 a server checks the client's certificate after the client's handshake.
            raise explained(error, self._address) from None

    def _send_some(self, data: memoryview) -> int:
        try:
            return super()._send_some(data)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            raise ConnectionResetError("the server closed the connection") from None

    def _is_silent(self, error: OSError) -> bool:
        # Records that hold no data, such as tickets, were read.
        return isinstance(error, ssl.SSLWantReadError) or super()._is_silent(error)
