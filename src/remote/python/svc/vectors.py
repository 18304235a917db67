"""Vectors as base64 of little-endian single precision.

A vector is any sequence of numbers: a list, a tuple, an iterator, ``array.array``, a memoryview, a numpy array or what
converts to one. Buffers of single precision are copied as they are. numpy is used where the caller has it.
"""

from __future__ import annotations

import base64
import math
import sys
from array import array
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

from .checks import items, string, wrong_type
from .wire import json_bytes

Vector = Iterable[float]
#: A vector, or a matrix of one row, which stands for it.
Query = Union[Vector, Iterable[Vector]]
#: Rows of vectors, or a row-major flat buffer.
Vectors = Union[Iterable[Iterable[float]], Iterable[float]]

#: Follows the name of a number in messages.
NOT_FINITE = "is NaN or infinite; a vector holds numbers that are finite in single precision"
_NO_SHAPE = "which has no shape: pass memoryview(...).cast('f', shape=[rows, dim])"
_FLOAT_FORMATS = ("f", "@f", "=f", "<f" if sys.byteorder == "little" else ">f")


class Matrix:
    """``rows`` times ``dim`` finite floats, row by row."""

    def __init__(self, floats: array[float], rows: int, dim: int) -> None:
        self.rows = rows
        self.dim = dim
        if sys.byteorder == "big":
            floats = floats[:]
            floats.byteswap()
        self._bytes = memoryview(floats).cast("B")

    def size(self, row: int) -> int:
        """Bytes that a row takes in a request, at most."""
        return self.dim * 4 * 4 // 3 + 4

    def json(self, start: int, stop: int) -> bytes:
        """Rows from ``start`` to before ``stop`` as an argument of a request."""
        if start == stop:
            return b"[]"
        width = self.dim * 4
        packed = base64.b64encode(self._bytes[start * width : stop * width])
        return b'{"f32":"%b","shape":[%d,%d]}' % (packed, stop - start, self.dim)


def vector_json(vector: Query) -> bytes:
    """One vector as an argument; the server checks that it is finite. Raises TypeError or ValueError."""
    one_row = isinstance(vector, (list, tuple)) and len(vector) == 1 and isinstance(vector[0], Iterable)
    name = "vector"
    row = vector[0] if one_row and not isinstance(vector[0], str) else vector  # type: ignore[index]
    floats, shape = _floats(row, name)
    if len(shape) == 2 and shape[0] == 1 and not one_row:
        shape = shape[1:]
    if len(shape) != 1:
        raise ValueError(f"{name} has the shape {shape}; a search takes one vector, of the shape (dim,) or (1, dim)")
    if sys.byteorder == "big":
        floats.byteswap()
    return b'{"f32":"%b"}' % base64.b64encode(floats)


def matrix(vectors: Vectors, rows: Optional[int], get_dim: Callable[[], int]) -> Matrix:
    """Rows of vectors; a flat buffer holds ``rows`` of them (1). ``get_dim``: the dimension, for messages."""
    found = _buffer(vectors, "vectors")
    if found is None:
        return _from_rows(_iterate(vectors, "vectors", "an array of vectors"), get_dim)
    floats, shape = found
    if len(shape) == 2:
        count, dim = shape
    elif len(shape) == 1:
        count = 1 if rows is None else rows
        dim = len(floats) // count if count else 0
        if count * dim != len(floats):
            raise _not_so_many(len(floats), get_dim())
    else:
        raise ValueError(f"vectors has the shape {shape}; it must be (rows, dim)")
    _check_finite(floats, "vectors", dim)
    return Matrix(floats, count, dim)


def _not_so_many(numbers: int, dim: int) -> Exception:
    """Why a flat buffer is not one row for each entry beside it."""
    if numbers % dim:
        return ValueError(f"vectors holds {numbers} numbers, which is not a multiple of the dimension {dim}")
    rows = numbers // dim
    return ValueError(f"vectors holds {numbers} numbers: give an entry of ids and metadata for each of {rows} rows")


def _from_rows(rows: Iterable[Any], get_dim: Callable[[], int]) -> Matrix:
    floats = array("f")
    count = dim = 0
    for row in rows:
        name = f"vectors[{count}]"
        before = len(floats)
        if isinstance(row, (list, tuple)):
            _extend(floats, row, name)
        else:
            added, shape = _floats(row, name)
            if len(shape) != 1:
                raise ValueError(f"{name} has the shape {shape}; a row must have the shape (dim,)")
            floats += added
        length = len(floats) - before
        if count and length != dim:
            wanted = get_dim()
            wrong = f"{name} has {length}" if dim == wanted else f"vectors[0] has {dim}"
            raise ValueError(f"{wrong} numbers; the dimension is {wanted}")
        dim = length
        count += 1
    _check_finite(floats, "vectors", dim)
    return Matrix(floats, count, dim)


def _floats(value: Any, name: str) -> Tuple[array[float], Tuple[int, ...]]:
    """Floats in an array of their own, and their shape."""
    found = _buffer(value, name)
    if found is not None:
        return found
    floats = array("f")
    _extend(floats, _iterate(value, name), name)
    return floats, (len(floats),)


def _iterate(value: Any, name: str, wanted: str = "an array of numbers") -> Iterable[Any]:
    if isinstance(value, (str, dict, set, frozenset)) or not hasattr(value, "__iter__"):
        raise wrong_type(name, wanted, value)
    return value  # type: ignore[no-any-return]


def _extend(floats: array[float], numbers: Iterable[Any], name: str) -> None:
    before = len(floats)
    given = numbers if isinstance(numbers, (list, tuple)) else list(numbers)
    try:
        floats.extend(given)
    except (TypeError, OverflowError) as error:
        at = len(floats) - before
        if isinstance(error, TypeError):
            raise wrong_type(f"{name}[{at}]", "a number", given[at]) from None
        raise ValueError(f"{name}[{at}] {NOT_FINITE}") from None


def _buffer(value: Any, name: str) -> Optional[Tuple[array[float], Tuple[int, ...]]]:
    """The numbers of an array or a buffer; None where the value is neither."""
    if isinstance(value, (list, tuple)):
        return None
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{name} is {type(value).__name__}, {_NO_SHAPE}")
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        view = None
    if view is not None and view.format in _FLOAT_FORMATS:
        return array("f", view.tobytes()), view.shape or ()
    if hasattr(value, "__array__"):
        return _from_numpy(value, name)
    if view is None:
        return None
    if view.format == "B":
        raise TypeError(f"{name} is a buffer of bytes, {_NO_SHAPE}")
    try:
        numbers = view.tolist()
    except NotImplementedError:
        raise TypeError(f"{name} is a buffer of the format {view.format!r}; convert it to 'f'") from None
    shape = view.shape or ()
    for _ in shape[1:]:
        numbers = [number for row in numbers for number in row]
    floats = array("f")
    _extend(floats, numbers, name)
    return floats, shape


def _from_numpy(value: Any, name: str) -> Tuple[array[float], Tuple[int, ...]]:
    import numpy

    numbers = numpy.asarray(value)
    if numbers.dtype.kind not in "fiu":
        raise TypeError(f"{name} is an array of {numbers.dtype}; it must hold numbers")
    with numpy.errstate(over="ignore"):  # Infinities are refused later, with their index.
        packed = numpy.ascontiguousarray(numbers, dtype=numpy.float32)
    return array("f", packed.tobytes()), tuple(numbers.shape)


def _check_finite(floats: array[float], name: str, dim: int) -> None:
    # A sum in double precision of finite single-precision numbers is finite, and NaN and infinities stay in it: the
    # fastest check of every number in the standard library.
    if "numpy" in sys.modules and len(floats) > 4096:
        import numpy

        finite = bool(numpy.isfinite(numpy.frombuffer(floats, dtype=numpy.float32)).all())
    else:
        finite = math.isfinite(sum(floats))
    if finite:
        return
    at = next(i for i, number in enumerate(floats) if not math.isfinite(number))
    raise ValueError(f"{name}[{at // dim}][{at % dim}] {NOT_FINITE}")


def texts_json(texts: Iterable[str]) -> List[bytes]:
    """Each text as JSON. Raises TypeError for what is not text."""
    names = ((f"texts[{index}]", text) for index, text in enumerate(items(texts, "texts")))
    return [json_bytes(string(text, name), name) for name, text in names]
