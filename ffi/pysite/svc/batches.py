"""One call in several requests, where one would be too large."""

from __future__ import annotations

import operator
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Tuple, Union

from .errors import DuplicateIdError
from .wire import json_bytes

#: Size that a request's body stays below, unless a single row is larger.
BODY_BYTES = 64 * 1024 * 1024
# Room for everything in a body but the rows.
_ENVELOPE_BYTES = 2048
# Integers of at most this size are told apart by every program that reads JSON.
_ID_MAX = 2**53 - 1
# What a row adds to the reply, at least: an id that the server makes. Replies stay as small as requests.
_REPLY_ROW_BYTES = 40


#: An id as a caller may give it. An integer stands for its decimal string: 7 and "7" are one id.
Id = Union[str, int]


class Column(Protocol):
    """One of the lists side by side that a request carries."""

    def size(self, row: int) -> int:
        """Bytes that a row takes in a body, at most."""

    def json(self, start: int, stop: int) -> bytes:
        """The rows from ``start`` to before ``stop`` as an argument."""


class Pieces:
    """A list whose elements are JSON already."""

    def __init__(self, pieces: List[bytes]) -> None:
        self._pieces = pieces

    def size(self, row: int) -> int:
        return len(self._pieces[row]) + 1

    def json(self, start: int, stop: int) -> bytes:
        return b"[%b]" % b",".join(self._pieces[start:stop])


def requests(columns: Mapping[str, Column], rows: int) -> Iterator[Tuple[int, int, Dict[str, bytes]]]:
    """Cuts rows into requests: for each its first row, the row behind its last, and its arguments. At least one, also for no rows."""
    room = BODY_BYTES - _ENVELOPE_BYTES
    start = filled = 0
    for row in range(rows):
        size = max(_REPLY_ROW_BYTES, sum(column.size(row) for column in columns.values()))
        if filled + size > room and row > start:
            yield start, row, {name: column.json(start, row) for name, column in columns.items()}
            start, filled = row, 0
        filled += size
    yield start, rows, {name: column.json(start, rows) for name, column in columns.items()}


def told(error: Exception, done: int, rows: int, change: str, ids: List[str]) -> None:
    """Notes on an error what earlier requests of the same call did: ``error.applied_ids``, and a sentence behind its message."""
    error.applied_ids = ids  # type: ignore[attr-defined]
    if len(error.args) == 1:
        error.args = (f"{error.args[0]} (the first {done} of {rows} rows had been {change} by earlier requests of this call)",)


def id_list(ids: Iterable[Id]) -> List[str]:
    """Ids as a list of strings. Raises TypeError for what is none, as a single string is; ValueError for an integer beyond 2**53 - 1."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise TypeError(f"ids must be a list of strings, not {type(ids).__name__}")
    return [name if isinstance(name, str) else _written(name, f"ids[{index}]") for index, name in enumerate(ids)]


def _written(number: Any, what: str) -> str:
    """The id that an integer stands for, numpy's integers included. True and False stand for none, and neither does 7.0."""
    try:
        value = None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        value = None
    if value is None:
        came = repr(number) if isinstance(number, (bool, float)) else type(number).__name__
        raise TypeError(f"{what} must be a string, or an integer that stands for one, not {came}")
    if abs(value) > _ID_MAX:
        raise ValueError(f"{what} is an integer beyond 2**53 - 1 in size: give it as a string")
    return str(value)


def id_column(ids: List[str]) -> Pieces:
    return Pieces([json_bytes(name, f"ids[{index}]") for index, name in enumerate(ids)])


def refuse_repeats(ids: List[str]) -> None:
    """Raises KeyError for ids that stand twice: in two requests the server would not see that they belong to one call."""
    if len(set(ids)) == len(ids):
        return
    seen = set()  # type: ignore[var-annotated]
    repeated = []
    for name in ids:
        if name in seen and name not in repeated:
            repeated.append(name)
            if len(repeated) == 3:
                break
        seen.add(name)
    names = ", ".join(map(repr, repeated))
    raise DuplicateIdError(f"ids stand twice in the call: {names}; nothing was added. upsert takes the last of each")


def metadata_list(metadata: Iterable[Optional[Mapping[str, Any]]]) -> List[bytes]:
    """Each row's metadata as JSON. Raises TypeError for what is neither a dict nor None."""
    if isinstance(metadata, (str, bytes, Mapping)) or not hasattr(metadata, "__iter__"):
        raise TypeError(f"metadata must be a list with a dict or None for each row, not {type(metadata).__name__}")
    pieces = []
    for index, row in enumerate(metadata):
        if row is not None and not isinstance(row, Mapping):
            raise TypeError(f"metadata[{index}] must be a dict or None, not {type(row).__name__}")
        pieces.append(b"null" if row is None else json_bytes(dict(row), f"metadata[{index}]"))
    return pieces
