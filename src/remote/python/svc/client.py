"""A connection to a server, and the collections there."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Dict, Iterable, List, Optional, Sequence, Type, Union

from .address import parse_address
from .checks import integer, items, string
from .collection import RemoteCollection
from .session import Session, check_token
from .wire import json_bytes

_DIM_MAX = 65_536


def connect(
    address: str, token: Optional[str] = None, timeout: Optional[float] = 30.0, tls: Any = None
) -> "RemoteTelys":
    """Connects to ``svc serve``.

    ``address`` is ``unix:///path/name.sock``, an absolute path that ends in ``.sock``, a relative path that starts with
    ``./``, ``tcp://host:port`` or ``host:port``, with an IPv6 address in brackets. Over TCP the ``token`` is the one
    that the server was started with. Without TLS nothing is encrypted.

    With TLS it is ``tls://host:port``, whose certificate the system's authorities have to have signed, or
    ``tls://host:port#SHA256:fingerprint`` as ``svc serve --tls self`` prints it, where the fingerprint alone counts.
    ``tls`` is for certificates: a dict with ``ca`` (authorities in place of the system's), ``cert`` and ``key`` (of this
    client), each the path of a file in PEM; or an ``ssl.SSLContext``.

    ``timeout`` is in seconds. It bounds connecting and authenticating, a ``ping``, and any pause within a request or
    reply; None lifts it. A reply may take any time to begin, as saving and compacting do. Over TCP a server that sends
    nothing for 20 seconds is looked for on another connection; if it cannot be reached for 10 more, the connection counts
    as lost.

    Raises ValueError for an address of another form, PermissionError for a wrong or missing token and for a server with
    a wrong certificate, TimeoutError, and OSError where nothing listens.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise ValueError(f"timeout is {timeout}; it must be a number of seconds above 0, or None")
    place = parse_address(address)
    context = None
    if place.tls or tls is not None:
        from .tls import tls_context

        context = tls_context(place, tls)
    session = Session(place, check_token(token), timeout, context)
    session.open()
    return RemoteTelys(session)


class RemoteTelys:
    """A server's collections. A context manager that closes itself; any number of threads may share one.

    A lost connection is replaced, and the request repeated, where that is safe: where it had not been sent in full, or
    changes nothing. Otherwise the call raises :class:`svc.OutcomeUnknownError`, an OSError.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> "RemoteTelys":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<svc.RemoteTelys {self._session.address}>"

    def __getitem__(self, name: str) -> RemoteCollection:
        """The same as :meth:`open_collection`."""
        return self.open_collection(name)

    # Without this, a loop over the client would open collections called 0, 1, 2 and so on.
    __iter__ = None

    def ping(self) -> None:
        """One round trip. Raises OSError or TimeoutError where the server does not answer."""
        self._session.call("ping", dict)

    def create_collection(
        self,
        name: str,
        dim: Optional[int] = None,
        partition_by: Union[str, Sequence[str]] = "scope",
        filter_columns: Iterable[str] = (),
        dtype: str = "f32",
        embedder: Optional[str] = None,
        metric: Optional[str] = None,
    ) -> RemoteCollection:
        """A new collection, in the server's memory until its first ``save``; the existing one where everything agrees.

        ``dim``: numbers in a vector, 1 to 65,536. ``embedder``: the name of a server's embedder (``multigram``,
        ``bigram``, or one that its operator added), which has a dimension: ``dim`` beside it is a hint and may be any
        number, or left out. ``partition_by``: the metadata key that rows are grouped by, or a list of that one.
        ``filter_columns``: further keys that ``where`` can name. ``dtype``: the stored element type, ``f32``, ``f16``,
        ``int8`` or ``int4``; searches are exact over the stored numbers. ``metric``: ``inner_product`` (the default),
        ``cosine``, which scales rows to unit length when they are put, or ``l2``, whose scores are negative squared
        distances; an embedder brings its own.

        Raises ValueError for a value outside its domain, and where a collection of the name exists that differs.
        """
        string(name, "name")
        values: Dict[str, Any] = {
            "dim": None if dim is None else integer(dim, "dim", _DIM_MAX),
            "partition_by": partition_by,
            "filter_columns": items(filter_columns, "filter_columns"),
            "dtype": dtype,
            "metric": metric,
            "embedder": embedder,
        }
        args = {key: json_bytes(value, key) for key, value in values.items() if value is not None}
        self._session.call("create_collection", dict, name, args)
        return RemoteCollection(self._session, name)

    def open_collection(self, name: str) -> RemoteCollection:
        """A collection that exists. Raises ValueError where it does not."""
        string(name, "name")
        self._session.call("open_collection", dict, name)
        return RemoteCollection(self._session, name)

    def collections(self) -> List[str]:
        """Names of the saved collections, sorted."""
        return self._session.call("collections", list)  # type: ignore[no-any-return]

    def stats(self) -> Dict[str, Any]:
        """The server's counters: ``version``, ``uptime_s``, ``connections``, ``requests``, ``errors`` and others."""
        return self._session.call("stats", dict)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the connection. Unsaved changes stay in the server's memory. Closing twice is fine."""
        self._session.close()
