"""One request at a time over a connection, which is replaced where that is safe."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, NoReturn, Optional, Tuple, Type, TypeVar, Union

from .address import Address
from .errors import OutcomeUnknownError, RemoteOSError, error_from_reply
from .silence import SEARCH, SILENCE, is_reachable
from .wire import Connection, MalformedReply, Stalled, json_bytes, parse_reply, request_frame

if TYPE_CHECKING:
    from ssl import SSLContext

#: Operations that change nothing and may be repeated.
_REPEATABLE = frozenset(
    ["auth", "ping", "collections", "open_collection", "search", "search_text", "search_hits", "get", "ids", "stats"]
)

# Operations whose changes are unsaved, and those that save them.
_CHANGES = frozenset(["add", "upsert", "add_texts", "upsert_texts", "delete"])
_SAVES = frozenset(["save", "compact"])

# Seconds before a connection that was lost in its beginning is tried again: a server may be starting.
_PAUSES = (0.02, 0.2)

_CERTIFICATE_HINT = "; a server with --client-ca does so where the client's certificate is not one of its authority's"

# Largest frame before authentication, in bytes.
_AUTH_BYTES_MAX = 4096

Kind = Union[Type[Any], Tuple[Type[Any], ...]]
_S = TypeVar("_S", bound=socket.socket)


class _Server(NamedTuple):
    """The identity of a server when a connection began; an object of its own for each connection."""

    instance: object
    lost_saves: int


class Session:
    """Requests to one server, from any number of threads."""

    #: Limits of the watch for a silent server, in seconds; a test shortens them.
    silence = SILENCE
    search = SEARCH

    def __init__(
        self, address: Address, token: Optional[str], timeout: Optional[float], context: Optional["SSLContext"] = None
    ) -> None:
        self.address = address
        self._token = token
        self._context = context
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: Optional[Connection] = None
        self._closed = False
        self._number = 0
        # The server, and for each collection the one that has the first unsaved change of this session.
        self._server = _Server(None, 0)
        self._unsaved: Dict[str, _Server] = {}
        _sessions.add(self)

    def open(self) -> None:
        """Connects and authenticates. Raises OSError, or the server's error."""
        with self._lock:
            self._ready()

    def close(self) -> None:
        """Ends the connection. A request of another thread that waits for its reply fails."""
        self._closed = True
        connection = self._connection
        if connection is not None:
            connection.interrupt()
        with self._lock:
            self._drop()

    def call(
        self, op: str, kind: Kind, collection: Optional[str] = None, args: Optional[Dict[str, bytes]] = None
    ) -> Any:
        """The result of a request, which must be of a ``kind``.

        Raises the server's error; OutcomeUnknownError where a change may or may not have been made; OSError otherwise.
        """
        with self._lock:
            self._number += 1
            number = self._number
            frame = request_frame(op, collection, args or {}, number)
            try:
                return self._attempt(op, number, frame, kind, collection)
            except _Lost:
                pass
            try:
                return self._attempt(op, number, frame, kind, collection)
            except _Lost as lost:
                message = f"the connection to {self.address} was lost twice in a row: {lost}"
                raise ConnectionResetError(message) from None

    def forget(self) -> None:
        """After a fork: the connection is the parent's, and the lock may be held by a thread of the parent."""
        self._lock = threading.Lock()
        self._drop()

    def _attempt(self, op: str, number: int, frame: bytes, kind: Kind, collection: Optional[str]) -> Any:
        connection = self._ready()
        if collection is not None and op in _SAVES:
            return self._save(connection, op, number, frame, kind, collection)
        result = self._exchange(connection, op, number, frame, kind)
        if collection is not None and op in _CHANGES:
            self._unsaved.setdefault(collection, self._server)
        return result

    def _save(self, connection: Connection, op: str, number: int, frame: bytes, kind: Kind, collection: str) -> Any:
        """A save, which covers all unsaved changes of this session. Raises OSError where some of them may be lost."""
        before = self._unsaved.get(collection, self._server)
        if before.instance != self._server.instance:
            # The reconnect hid that the server ended.
            del self._unsaved[collection]
            raise OSError(
                f"{op} was not done: the server was started again after unsaved changes of {collection!r}. If it had "
                "not ended in order, they are lost: look what is there (ids, stats), make them again, and save"
            )
        try:
            result = self._exchange(connection, op, number, frame, kind)
        except RemoteOSError as error:
            # The error covers what was lost. On a full disk the server keeps the changes.
            if error.code != "OSError.disk_full":
                self._unsaved.pop(collection, None)
            raise
        if before is not self._server and before.instance is not None:
            # The server reports a lost change to the connection that carried it, which is gone, so it is queried: after
            # the save, as then no failed save can come between. If this connection is lost too, the save is repeated,
            # harmlessly.
            now = self._identify(connection, self._timeout)
            if now.lost_saves > before.lost_saves:
                self._unsaved.pop(collection, None)
                raise OSError(
                    f"a save failed after unsaved changes of {collection!r} and dropped what was unsaved; this {op} "
                    "was done for what is there: look what that is (ids, stats), make what is missing again, and save"
                )
        self._unsaved.pop(collection, None)
        return result

    def _ready(self) -> Connection:
        """The connection; a new one where none works."""
        if self._closed:
            raise ValueError("the client is closed; svc.connect makes a new one")
        if self._connection is not None and self._connection.is_stale:
            self._drop()
        if self._connection is None:
            self._connection = self._begin()
        return self._connection

    def _begin(self) -> Connection:
        """A new connection, authenticated. One that is lost before that is tried again, within the timeout."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        pauses = list(_PAUSES)
        while True:
            try:
                connection = self._connection = self._dial(_left(deadline))
                try:
                    self._greet(connection, deadline)
                except BaseException:
                    self._drop()
                    raise
                return connection
            except (ConnectionResetError, ConnectionAbortedError, BrokenPipeError):
                if self._closed or not pauses or (deadline is not None and time.monotonic() + pauses[0] >= deadline):
                    raise
                time.sleep(pauses.pop(0))

    def _dial(self, timeout: Optional[float]) -> Connection:
        sock = self._reach(lambda: self.address.dial(timeout))
        connection = self._wrap(sock)
        # On a Unix socket the system reports each end.
        if self.address.path is None:
            connection.watch(self.silence, self._is_reachable)
        return connection

    def _wrap(self, sock: socket.socket) -> Connection:
        context = self._context
        if context is None:
            return Connection(sock, self._timeout)
        from .tls import TlsConnection, TlsRefusal, secure

        try:
            secured = self._reach(lambda: secure(sock, self.address, context))
        except TlsRefusal as refusal:
            raise refusal.meaning from None
        return TlsConnection(secured, self._timeout, self.address)

    def _is_reachable(self) -> bool:
        """Whether the server answers on another connection."""

        def connect(timeout: float) -> None:
            probe = Session(self.address, self._token, timeout, self._context)
            try:
                probe.open()
            finally:
                probe.close()

        return is_reachable(connect, self.search, lambda: self._closed)

    def _reach(self, attempt: Callable[[], _S]) -> _S:
        try:
            return attempt()
        except socket.timeout:
            raise TimeoutError(f"cannot connect to {self.address}: it did not answer in time") from None
        except OSError as error:
            reason = f"cannot connect to {self.address}: {error.strerror or error}; is `svc serve` running there?"
            if error.errno is None or isinstance(error, socket.gaierror):
                raise OSError(reason) from None
            # With the number OSError picks the class: a refused connection stays a ConnectionRefusedError.
            raise OSError(error.errno, reason) from None

    def _greet(self, connection: Connection, deadline: Optional[float]) -> None:
        """Authenticates and reads the server's identity, before anything depends on the connection."""
        try:
            if self._token is not None:
                self._control(connection, "auth", {"token": json_bytes(self._token, "the token")}, _left(deadline))
            self._server = self._identify(connection, _left(deadline))
        except _Lost as lost:
            hint = _CERTIFICATE_HINT if self._context is not None else ""
            raise ConnectionResetError(f"{self.address} closed a new connection: {lost}{hint}") from None

    def _identify(self, connection: Connection, wait: Optional[float]) -> _Server:
        stats = self._control(connection, "stats", {}, wait)
        lost_saves = stats.get("lost_saves")
        return _Server(stats.get("instance"), lost_saves if isinstance(lost_saves, int) else 0)

    def _control(
        self, connection: Connection, op: str, args: Dict[str, bytes], wait: Optional[float]
    ) -> Dict[str, Any]:
        """A request of the session's own, whose reply has to come in time. Raises _Lost as well."""
        self._number += 1
        frame = request_frame(op, None, args, self._number)
        return self._exchange(connection, op, self._number, frame, dict, wait)  # type: ignore[no-any-return]

    def _exchange(
        self, connection: Connection, op: str, number: int, frame: bytes, kind: Kind, wait: Optional[float] = None
    ) -> Any:
        """One request and its reply. Raises _Lost where it may be repeated."""
        if op == "ping":
            wait = self._timeout
        connection.sent = 0
        try:
            reply = parse_reply(self._trade(connection, frame, wait))
            if reply.get("id") != number and (reply["ok"] or "id" in reply):
                raise MalformedReply("the server answered another request than the one that was sent")
            if reply["ok"] and not isinstance(reply["result"], kind):
                raise MalformedReply(f"the server answered {op} with a result of the wrong type")
        except BaseException as error:
            # Also for Ctrl-C: the next frame on this connection may be the reply to this request.
            self._drop()
            if isinstance(error, OSError):
                self._explain(op, connection.sent == len(frame), error)
            raise
        if reply["ok"]:
            return reply["result"]
        # An error without the request's id is about the connection, which the server then closes.
        if "id" not in reply or reply["error"].startswith("unauthorized"):
            self._drop()
        if "id" not in reply and reply.get("code") == "closing":
            # The server ended in good order, and has not carried the request out.
            raise _Lost(reply["error"])
        raise error_from_reply(reply)

    def _trade(self, connection: Connection, frame: bytes, wait: Optional[float]) -> bytes:
        try:
            connection.send(frame)
        except ConnectionError:
            reply = connection.early_reply()
            if reply is None:
                raise
            return reply
        return connection.receive(wait)

    def _explain(self, op: str, is_sent: bool, error: OSError) -> NoReturn:
        """Raises what a failed connection means for the request."""
        if is_sent and op not in _REPEATABLE:
            raise OutcomeUnknownError(f"it is not known whether {op} was applied: {error}") from None
        if isinstance(error, MalformedReply):
            raise error from None
        if isinstance(error, PermissionError):
            raise error from None
        if isinstance(error, Stalled):
            raise TimeoutError(f"{op} was not done: {error}") from None
        if self._closed:
            raise ConnectionAbortedError(f"{op} was not done: the client was closed") from None
        raise _Lost(str(error)) from None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Lost(Exception):
    """The connection is gone, and the request changed nothing."""


def _left(deadline: Optional[float]) -> Optional[float]:
    """Seconds until then, a moment at least; None for any time."""
    return None if deadline is None else max(0.001, deadline - time.monotonic())


def check_token(token: Optional[str]) -> Optional[str]:
    """A token that can be sent. Messages never hold it."""
    if token is None:
        return None
    if not isinstance(token, str):
        raise TypeError(f"the token must be a string, not {type(token).__name__}")
    if not token:
        raise ValueError("the token is empty; leave it out for a server on a Unix socket")
    if len(request_frame("auth", None, {"token": json_bytes(token, "the token")}, 2**53)) > _AUTH_BYTES_MAX:
        raise ValueError(f"the token is too long: its request may have {_AUTH_BYTES_MAX} bytes")
    return token


_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
