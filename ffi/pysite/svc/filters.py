"""Which rows a question is about, and keys that stand for several values."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Mapping, Optional, Union

from .wire import json_bytes

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
    """A filter as it travels. Raises TypeError or ValueError for what is none."""
    if where is None or (isinstance(where, Mapping) and not where):
        return None
    if isinstance(where, Eq):
        column, value = where.column, where.value
    elif isinstance(where, Mapping):
        if len(where) != 1:
            raise ValueError(f"where must have exactly one key, got {len(where)}: store a svc.scope_key(...) to filter by several")
        ((column, value),) = where.items()
    else:
        raise TypeError(f"where must be a svc.Eq or a dict with one key, not {type(where).__name__}")
    if not isinstance(column, str):
        raise TypeError(f"the column of where must be a string, not {type(column).__name__}")
    if isinstance(value, (list, tuple, dict, set)):
        raise ValueError(f"where[{column!r}] must be a string, a number, True, False or None, not a {type(value).__name__}")
    return json_bytes({column: value}, "where")


def scope_key(*parts: Union[str, int, float, bool]) -> str:
    """One value out of several, for a column that stands for their combination: ``scope_key("acme", "note")`` is ``"acme:note"``.

    Different parts never give the same key: ``%`` and ``:`` inside a part are written ``%25`` and ``%3A``. Numbers and booleans are written
    as the project's JavaScript client writes them, so both make the same keys: 1.0 is ``"1"`` and True is ``"true"``.
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
    raise TypeError(f"a part of a scope key must be a string, a number or a boolean, not {type(part).__name__}")


def _number(value: float) -> str:
    """A float as JavaScript writes it: the same shortest digits as Python's, with an exponent only below 1e-6 and from 1e21."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted()
    if -7 < exponent < 21:
        return format(number, "f")
    digits = "".join(map(str, number.as_tuple().digits))
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{exponent:+d}"
