"""Failures, as the exceptions that Python has for them.

An error that the server reports is raised as the built-in class of the same name, and is a :class:`RemoteError` as
well: ``except ValueError`` and ``except svc.RemoteError`` both catch it. An error found before anything is sent is the
plain built-in class.
"""

from __future__ import annotations

from typing import Any, Dict, Type


class RemoteError(Exception):
    """An error that the server reported. Always an instance of the built-in class of its type as well.

    ``code`` is ``<type>.<reason>``, as in ``"TimeoutError.locked"``: stable, unlike the sentence. Empty where the
    server sent none.
    """

    code: str = ""


class OutcomeUnknownError(OSError):
    """The connection failed after a change was sent, before its reply: it was made as a whole or not at all.

    Repeating an ``upsert``, a ``delete`` or a ``save`` is always right. Before repeating an ``add`` without ids, look
    what is there.
    """


class DuplicateIdError(KeyError):
    """An id that exists already, or stands twice in one call."""

    # KeyError shows the repr of its argument, which turns a sentence into a quoted string.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class RemoteValueError(RemoteError, ValueError):
    """A value outside its domain; a collection that does not exist."""


class RemoteTypeError(RemoteError, TypeError):
    """An argument of the wrong type."""


class RemoteKeyError(RemoteError, DuplicateIdError):
    """``add`` of an id that exists. Nothing of the request was added."""


class RemotePermissionError(RemoteError, PermissionError):
    """The token was not accepted, or the server lacks a licence."""


class RemoteRuntimeError(RemoteError, RuntimeError):
    """The server cannot do this in its state, or has as many connections as it allows."""


class RemoteOSError(RemoteError, OSError):
    """The server's disk failed. The collection is as it was last saved."""


class RemoteTimeoutError(RemoteError, TimeoutError):
    """Another process holds the collection's writer's lock."""


class CancelledError(RemoteError):
    """The server stopped the operation before it was done."""


_CLASSES: Dict[str, Type[RemoteError]] = {
    "ValueError": RemoteValueError,
    "TypeError": RemoteTypeError,
    "KeyError": RemoteKeyError,
    "PermissionError": RemotePermissionError,
    "RuntimeError": RemoteRuntimeError,
    "OSError": RemoteOSError,
    "TimeoutError": RemoteTimeoutError,
    "CancelledError": CancelledError,
}


def error_from_reply(reply: Dict[str, Any]) -> RemoteError:
    """The exception for a failed reply, with its code."""
    error = _error_from_line(reply["error"])
    code = reply.get("code")
    error.code = code if isinstance(code, str) else ""
    return error


def _error_from_line(line: str) -> RemoteError:
    """One line ``<Type>: <message>``, or one of the three lines without a type."""
    if line == "unauthorized" or line.startswith("unauthorized:"):
        remedy = "it may be mistyped, revoked or expired; ask the operator of the server for a new one"
        return RemotePermissionError(f"{line}: the server did not accept the token: {remedy}")
    if line == "bad request":
        return RemoteValueError("the server could not read the request: bad request")
    kind, colon, message = line.partition(": ")
    known = _CLASSES.get(kind) if colon else None
    return known(message) if known else RemoteRuntimeError(line)
