"""One call in several requests, where one would be too large."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Tuple, Union

from .checks import describe, items, shown, whole, wrong_type
from .errors import DuplicateIdError
from .wire import escaped_bytes, json_bytes

#: Size that a request's body stays below, unless a single row is larger.
BODY_BYTES = 64 * 1024 * 1024
#: Most rows that a request reads.
GET_ROWS = 10_000
# Room for everything in a body but the rows.
_ENVELOPE_BYTES = 2048
# Every reader of JSON keeps integers up to this size distinct.
_ID_MAX = 2**53 - 1
# What a row adds to the reply, at least: an id that the server makes. Replies stay as small as requests.
_REPLY_ROW_BYTES = 40


#: An id as a caller may give it. An integer stands for its decimal string: 7 and "7" are one id.
Id = Union[str, int]


class Column(Protocol):
    """One of the side-by-side lists that a request carries."""

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
    """Cuts rows into requests, at least one: for each its first row, the row after its last, and its arguments."""
    room = BODY_BYTES - _ENVELOPE_BYTES
    start = filled = 0
    for row in range(rows):
        size = max(_REPLY_ROW_BYTES, sum(column.size(row) for column in columns.values()))
        if filled + size > room and row > start:
            yield start, row, {name: column.json(start, row) for name, column in columns.items()}
            start, filled = row, 0
        filled += size
    yield start, rows, {name: column.json(start, rows) for name, column in columns.items()}


def add_progress(error: Exception, done: int, rows: int, change: str, ids: List[str]) -> None:
    """Adds to an error what earlier requests of its call did: ``applied_ids``, and a sentence after its message."""
    error.applied_ids = ids  # type: ignore[attr-defined]
    if len(error.args) == 1:
        progress = f"the first {done} of {rows} rows had been {change} by earlier requests of this call"
        error.args = (f"{error.args[0]} ({progress})",)


def id_list(ids: Iterable[Id]) -> List[str]:
    """Ids as strings. Raises TypeError for no iterable or a single string, ValueError for integers beyond 2**53 - 1."""
    names = items(ids, "ids")
    return [name if isinstance(name, str) else _written(name, f"ids[{index}]") for index, name in enumerate(names)]


def _written(number: Any, what: str) -> str:
    """The id that an integer, also one of numpy, stands for. True, False and 7.0 stand for none."""
    value = whole(number)
    if isinstance(number, float) and math.isinf(number):
        value = _ID_MAX + 1
    if value is None:
        raise wrong_type(what, "a string, or an integer that stands for one", number)
    if abs(value) > _ID_MAX:
        came = describe(number) if abs(value) < 10**20 else "one of more than 20 digits"
        raise ValueError(f"{what} is an integer beyond 2^53 - 1, which arrived as {came}: send it as a string")
    return str(value)


def id_column(ids: List[str]) -> Pieces:
    return Pieces([json_bytes(name, f"ids[{index}]") for index, name in enumerate(ids)])


def refuse_repeats(ids: List[str]) -> None:
    """Raises KeyError for repeated ids: the server would not see those in two requests of one call."""
    repeated = [name for name, count in Counter(ids).items() if count > 1] if len(set(ids)) < len(ids) else []
    if not repeated:
        return
    named = ", ".join(map(shown, repeated[:3])) + (", ..." if len(repeated) > 3 else "")
    which = "this id exists already or stands" if len(repeated) == 1 else "these ids exist already or stand"
    raise DuplicateIdError(f"{which} twice in the call, nothing was added: {named}")


def metadata_list(metadata: Iterable[Optional[Mapping[str, Any]]]) -> List[bytes]:
    """Each row's metadata as JSON. Raises TypeError for what is neither a dict nor None."""
    pieces = []
    for index, row in enumerate(items(metadata, "metadata", "an array with one object or null for each row")):
        name = f"metadata[{index}]"
        if row is not None and not isinstance(row, Mapping):
            raise wrong_type(name, "an object or null", row)
        pieces.append(b"null" if row is None else escaped_bytes(dict(row), name))
    return pieces
