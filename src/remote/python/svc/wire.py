"""Frames on a socket: a 4-byte big-endian length, then that many bytes of UTF-8 JSON."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, Callable, Dict, Optional

from .checks import unsendable

#: Largest body of a frame, in bytes, in both directions.
FRAME_BYTES_MAX = 256 * 1024 * 1024
_HEADER = struct.Struct(">I")
# Memory grows with the bytes received, never with the length in a header.
_READ_BYTES = 1024 * 1024


class MalformedReply(OSError):
    """The frame is not a reply. Nothing after it on the connection can be read."""


class Stalled(TimeoutError):
    """The server read or sent no byte within the caller's timeout."""


class Connection:
    """Sends frames, and knows how much of the last one went out; receives frames."""

    #: Bytes that are given to the kernel at once.
    write_bytes = 4 * 1024 * 1024

    def __init__(self, sock: socket.socket, pause: Optional[float]) -> None:
        """``pause``: seconds that may pass in the middle of a frame without a byte; None for any time."""
        self._socket = sock
        self._pause = pause
        #: Bytes of the frame sent last that the kernel took.
        self.sent = 0
        self._silence: Optional[float] = None
        self._is_reachable: Callable[[], bool] = lambda: True

    def watch(self, silence: float, is_reachable: Callable[[], bool]) -> None:
        """Calls ``is_reachable`` after so many seconds without a byte of a reply that may take any time to begin. Where it
        returns False, the connection counts as lost."""
        self._silence = silence
        self._is_reachable = is_reachable

    def send(self, frame: bytes) -> None:
        """Sends a frame with its header; ``sent`` has how much went out. Raises Stalled, or OSError for a lost
        connection."""
        self.sent = 0
        self._socket.settimeout(self._pause)
        with memoryview(frame) as view:
            while self.sent < len(view):
                try:
                    self.sent += self._send_some(view[self.sent : self.sent + self.write_bytes])
                except socket.timeout as error:
                    raise _stalled(error, f"the server read nothing for {self._pause} seconds") from None

    def receive(self, wait: Optional[float]) -> bytes:
        """The body of the next frame. ``wait``: seconds for all of it; None for any time until it begins.

        Raises Stalled, MalformedReply, or OSError where the connection is lost.
        """
        deadline = None if wait is None else time.monotonic() + wait
        header = self._read(_HEADER.size, deadline, begun=False)
        (length,) = _HEADER.unpack(header)
        if not 1 <= length <= FRAME_BYTES_MAX:
            raise MalformedReply(f"the server announced a reply of {length} bytes; 1 to {FRAME_BYTES_MAX} are allowed")
        return self._read(length, deadline, begun=True)

    def early_reply(self) -> Optional[bytes]:
        """The frame that a server sent before it closed the connection during our request; None where there is none."""
        try:
            return self.receive(1.0)
        except OSError:
            return None

    @property
    def is_stale(self) -> bool:
        """Whether an idle connection is unusable: closed by the server, or with a reply to no request."""
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except OSError as error:
            return not self._is_silent(error)
        return True

    def interrupt(self) -> None:
        """Ends the connection, also for a thread that waits for it."""
        try:
            # Not the method of a TLS socket: that takes its state from the thread that waits.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        """Closes this process's end. A process that was forked before keeps its own."""
        self._socket.close()

    def _read(self, size: int, deadline: Optional[float], begun: bool) -> bytes:
        data = bytearray()
        while len(data) < size:
            limit = self._time_left(deadline, begun or bool(data))
            is_watched = limit is None and self._silence is not None
            self._socket.settimeout(self._silence if is_watched else limit)
            try:
                piece = self._receive_some(min(size - len(data), _READ_BYTES))
            except socket.timeout as error:
                if is_watched and error.errno is None:
                    if self._is_reachable():
                        continue
                    raise ConnectionResetError("the server fell silent, and cannot be reached any more") from None
                raise _stalled(error, "the server's reply did not come in time") from None
            if not piece:
                raise ConnectionResetError("the server closed the connection")
            data += piece
        return bytes(data)

    def _receive_some(self, size: int) -> bytes:
        return self._socket.recv(size)

    def _send_some(self, data: memoryview) -> int:
        return self._socket.send(data)

    def _is_silent(self, error: OSError) -> bool:
        """Whether an error means that there is nothing to read."""
        return isinstance(error, (BlockingIOError, InterruptedError))

    def _time_left(self, deadline: Optional[float], begun: bool) -> Optional[float]:
        if deadline is None:
            return self._pause if begun else None
        left = deadline - time.monotonic()
        if left <= 0:
            raise Stalled("the server's reply did not come in time")
        return left


def _stalled(error: OSError, message: str) -> OSError:
    """A timeout of ours has no errno; one of the system, which closed the connection, has."""
    return Stalled(message) if error.errno is None else ConnectionResetError(error.errno, error.strerror)


def request_frame(op: str, collection: Optional[str], args: Dict[str, bytes], number: int) -> bytes:
    """A request with its header; the arguments are JSON. Raises ValueError for one that is too large for a frame."""
    head = b'{"op":%b,"id":%d' % (json_bytes(op, "op"), number)
    if collection is not None:
        head += b',"collection":' + json_bytes(collection, "name")
    parts = [b"", head, b',"args":{']
    for index, (name, value) in enumerate(args.items()):
        parts += [b',"' if index else b'"', name.encode(), b'":', value]
    parts.append(b"}}")
    length = sum(map(len, parts))
    if length > FRAME_BYTES_MAX:
        raise ValueError(f"the request for {op} has {length} bytes; at most {FRAME_BYTES_MAX} are allowed")
    parts[0] = _HEADER.pack(length)
    return b"".join(parts)


def parse_reply(body: bytes) -> Dict[str, Any]:
    """A reply's object, with ``ok`` and with ``result`` or ``error``. Raises MalformedReply."""
    try:
        reply = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MalformedReply("the server's reply is not JSON in UTF-8") from None
    if isinstance(reply, dict):
        ok = reply.get("ok")
        if (ok is True and "result" in reply) or (ok is False and isinstance(reply.get("error"), str)):
            return reply
    raise MalformedReply('the server\'s reply is not an object with "ok" and "result" or "error"')


def json_bytes(value: object, what: str) -> bytes:
    """JSON in UTF-8. ``what`` names the value in messages. Raises ValueError or TypeError for what JSON lacks."""
    try:
        return _encoded(_ENCODER, value, what).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds half of a surrogate pair, which UTF-8 cannot hold: remove it") from None


def escaped_bytes(value: object, what: str) -> bytes:
    """The same, where the server checks strings: halves of surrogate pairs travel escaped."""
    try:
        return _encoded(_ENCODER, value, what).encode("utf-8")
    except UnicodeEncodeError:
        return _encoded(_ASCII_ENCODER, value, what).encode("ascii")


def _encoded(encoder: json.JSONEncoder, value: object, what: str) -> str:
    try:
        return encoder.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise unsendable(value, what) or TypeError(f"{what} cannot be sent as JSON: {error}") from None


def _plain(value: Any) -> object:
    """Scalars of numpy and the like as Python's."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    raise TypeError(f"there is no JSON for a {type(value).__name__}")


def _refuse(constant: str) -> object:
    raise ValueError(constant)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
_ASCII_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)
