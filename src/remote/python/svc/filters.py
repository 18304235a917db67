"""Filters, and keys that stand for several values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Mapping, Optional, Union

from .checks import number, string, wrong_type
from .wire import escaped_bytes

#: What a column can be compared with. None matches rows that have no value there.
FilterValue = Union[str, int, float, bool, None]


@dataclass(frozen=True)
class Eq:
    """Rows whose metadata ``column`` equals ``value``. Equality is typed: 1 equals 1.0, not "1" and not True.

    The column must be the collection's partition key or one of its ``filter_columns``.
    """

    column: str
    value: FilterValue


#: :class:`Eq`, or a dict with one key; an empty one filters nothing.
Where = Union[Eq, Mapping[str, FilterValue]]


def where_json(where: Optional[Where]) -> Optional[bytes]:
    """A filter as JSON; the server checks column and value. Raises TypeError for anything else."""
    if where is None:
        return None
    if isinstance(where, Eq):
        where = {where.column: where.value}
    elif not isinstance(where, Mapping):
        raise wrong_type("where", 'an object with one key, as in {"scope": "work"}', where)
    if not where:
        return None
    for column in where:
        string(column, "a key of where")
    return escaped_bytes(dict(where), "where")


def scope_key(*parts: Union[str, int, float, bool]) -> str:
    """A key for a combination of values in one column: ``scope_key("acme", "note")`` is ``"acme:note"``.

    Different parts never give the same key: ``%`` and ``:`` inside a part are written ``%25`` and ``%3A``. Numbers and
    booleans are written as in the JavaScript client, so that both make the same keys: 1.0 is ``"1"``, True is
    ``"true"``.
    """
    return ":".join(_written(part).replace("%", "%25").replace(":", "%3A") for part in parts)


def _written(part: object) -> str:
    if isinstance(part, bool):
        return "true" if part else "false"
    if isinstance(part, str):
        return str(part)
    if isinstance(part, int):
        return str(int(part))
    if isinstance(part, float):
        return _number(float(part))
    raise wrong_type("a part of a scope key", "a string, a number, true or false", part)


def _number(value: float) -> str:
    """A float as in JavaScript: Python's shortest digits, with an exponent only below 1e-6 and from 1e21."""
    if not math.isfinite(value):
        return number(value)
    if value == 0:
        return "0"
    decimal = Decimal(repr(value)).normalize()
    exponent = decimal.adjusted()
    if -7 < exponent < 21:
        return format(decimal, "f")
    digits = "".join(map(str, decimal.as_tuple().digits))
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{exponent:+d}"
