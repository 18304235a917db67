"""Checks of values, with the server's messages. What only the server can check is left to it."""

from __future__ import annotations

import json
import math
import operator
import re
from typing import Any, List, Mapping, Optional, Sequence

_SHOWN_MAX = 80
_DEPTH_MAX = 16
_TOP_K_MAX = 100_000


def shown(text: str) -> str:
    """A string in quotes, shortened and on one line."""
    short = text[: _SHOWN_MAX - 3] + "..." if len(text) > _SHOWN_MAX else text
    escaped = json.dumps(short, ensure_ascii=False)[1:-1]
    return f"'{escaped}'"


def describe(value: object) -> str:
    """A value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {shown(value)}"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, (list, tuple)):
        return "an array"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def number(value: float) -> str:
    """A number as JSON writes it, and NaN and infinities as JavaScript does."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def wrong_type(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {wanted}, got {describe(value)}")


def string(value: object, name: str) -> str:
    """Raises TypeError for what is not a string."""
    if isinstance(value, str):
        return value
    raise wrong_type(name, "a string", value)


def items(value: Any, name: str, wanted: str = 'an array of strings, as in ["a", "b"]') -> List[Any]:
    """The values of an iterable. Raises TypeError for anything else, and for a single string."""
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise wrong_type(name, wanted, value)
    return list(value)


def length(values: Optional[Sequence[object]], name: str, rows: int) -> None:
    """Raises ValueError unless ``values``, where given, has an entry for each row."""
    if values is None or len(values) == rows:
        return
    entries = "1 entry" if len(values) == 1 else f"{len(values)} entries"
    raise ValueError(f"{name} has {entries} for {'1 row' if rows == 1 else f'{rows} rows'}: give one for each row")


def whole(value: Any) -> Optional[int]:
    """The integer that a value is, one of numpy too; None for anything else, True and False of either included.

    A truth value of numpy before 2 counts as an index, with a warning only.
    """
    try:
        if not isinstance(value, bool) and getattr(getattr(value, "dtype", None), "kind", None) != "b":
            return operator.index(value)
    except TypeError:
        pass
    return None


def integer(value: Any, name: str, most: int) -> int:
    """An integer, of numpy too; the server checks its range.

    Raises TypeError for anything else, ValueError for NaN and infinities.
    """
    return _whole(value, name, f"from 1 to {most}")


def positive(value: Any, name: str) -> int:
    """The same, without an upper bound."""
    return _whole(value, name, "of at least 1")


def _whole(value: Any, name: str, bounds: str) -> int:
    found = whole(value)
    if found is not None:
        return found
    is_number = isinstance(value, float) and not math.isfinite(value)
    kind = ValueError if is_number else TypeError
    raise kind(f"{name} must be an integer {bounds}, got {describe(value)}")


def top_k(value: Any) -> int:
    """The number of hits; infinities are clamped here, as JSON has none."""
    if isinstance(value, float) and math.isinf(value):
        return _TOP_K_MAX if value > 0 else 1
    return integer(value, "top_k", _TOP_K_MAX)


def unsendable(value: object, name: str, depth: int = 0) -> Optional[Exception]:
    """Why a value cannot be JSON: the first thing in it that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return ValueError(f"{name} is {number(value)}; JSON has no such number")
    if isinstance(value, (Mapping, list, tuple)):
        if depth >= _DEPTH_MAX:
            return ValueError(f"{name} is nested deeper than {_DEPTH_MAX} levels")
        inside = value.items() if isinstance(value, Mapping) else enumerate(value)
        wrongs = (unsendable(item, _member(name, key), depth + 1) for key, item in inside)
        return next((wrong for wrong in wrongs if wrong is not None), None)
    if value is None or isinstance(value, (str, int, float)) or getattr(value, "shape", None) == ():
        return None
    return TypeError(f"{name} is a {type(value).__name__}, which JSON does not have: write it as a string")


def _member(name: str, key: object) -> str:
    if isinstance(key, int):
        return f"{name}[{key}]"
    return f"{name}.{key}" if re.fullmatch(r"[^\W\d][\w-]{0,60}", str(key)) else f"{name}[{shown(str(key))}]"
