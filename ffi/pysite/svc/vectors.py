"""Vectors as they travel: base64 of little-endian single precision.

A vector is anything with numbers in it: a list, a tuple, an iterator, ``array.array``, a memoryview, an array of numpy or of what converts
to one. Buffers of single precision are copied as they are. numpy is used where the caller has it.
"""

from __future__ import annotations

import base64
import math
import sys
from array import array
from typing import Any, Iterable, List, Optional, Tuple, Union

from .wire import json_bytes

Vector = Iterable[float]
#: A vector, or a matrix of one row, which stands for it.
Query = Union[Vector, Iterable[Vector]]
#: Rows of vectors, or a flat buffer with one row behind the other.
Vectors = Union[Iterable[Iterable[float]], Iterable[float]]

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
    """One vector as an argument of a request. Raises TypeError or ValueError for what is none."""
    one_row = isinstance(vector, (list, tuple)) and len(vector) == 1 and hasattr(vector[0], "__iter__")
    name = "vector[0]" if one_row else "vector"
    floats, shape = _floats(vector[0] if one_row else vector, name)  # type: ignore[index]
    if len(shape) == 2 and shape[0] == 1 and not one_row:
        shape = shape[1:]
    if len(shape) != 1:
        raise ValueError(f"{name} has the shape {shape}; a search takes one vector, of the shape (dim,) or (1, dim)")
    _check_finite(floats, name, None)
    if sys.byteorder == "big":
        floats.byteswap()
    return b'{"f32":"%b"}' % base64.b64encode(floats)


def matrix(vectors: Vectors, rows: Optional[int]) -> Matrix:
    """Rows of vectors. ``rows``: how many a flat buffer holds, one where it is None."""
    found = _buffer(vectors, "vectors")
    if found is None:
        return _from_rows(_iterate(vectors, "vectors"))
    floats, shape = found
    if len(shape) == 2:
        count, dim = shape
    elif len(shape) == 1:
        count = 1 if rows is None else rows
        dim = len(floats) // count if count else 0
        if count * dim != len(floats):
            raise ValueError(f"vectors is flat and holds {len(floats)} numbers, which do not make {count} rows of one length")
    else:
        raise ValueError(f"vectors has the shape {shape}; it must be (rows, dim)")
    _check_finite(floats, "vectors", dim)
    return Matrix(floats, count, dim)


def _from_rows(rows: Iterable[Any]) -> Matrix:
    floats = array("f")
    count = dim = 0
    for row in rows:
        name = f"vectors[{count}]"
        if isinstance(row, (int, float)):
            raise TypeError(f"{name} is a number; vectors must be a list of rows, as in [[0.1, 0.2], [0.3, 0.4]]")
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
            raise ValueError(f"{name} has {length} numbers and vectors[0] has {dim}; all rows must have the same length")
        dim = length
        count += 1
    _check_finite(floats, "vectors", dim)
    return Matrix(floats, count, dim)


def _floats(value: Any, name: str) -> Tuple[array[float], Tuple[int, ...]]:
    """Floats that are nobody else's, and their shape."""
    found = _buffer(value, name)
    if found is not None:
        return found
    floats = array("f")
    _extend(floats, _iterate(value, name), name)
    return floats, (len(floats),)


def _iterate(value: Any, name: str) -> Iterable[Any]:
    if isinstance(value, (str, dict, set, frozenset)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name} must hold numbers in an order; a {type(value).__name__} does not")
    return value  # type: ignore[no-any-return]


def _extend(floats: array[float], numbers: Iterable[Any], name: str) -> None:
    try:
        floats.extend(numbers)
    except TypeError as error:
        raise TypeError(f"{name} must hold numbers only: {error}") from None
    except OverflowError:
        raise ValueError(f"{name} holds a number that single precision cannot hold") from None


def _buffer(value: Any, name: str) -> Optional[Tuple[array[float], Tuple[int, ...]]]:
    """The numbers of an array or a buffer; None where the value is neither."""
    if isinstance(value, (list, tuple)):
        return None
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{name} is {type(value).__name__}, which has no shape: pass memoryview(...).cast('f', shape=[rows, dim])")
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
        raise TypeError(f"{name} is a buffer of bytes, which has no shape: pass memoryview(...).cast('f', shape=[rows, dim])")
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
    with numpy.errstate(over="ignore"):  # What becomes infinite is refused by name.
        packed = numpy.ascontiguousarray(numbers, dtype=numpy.float32)
    return array("f", packed.tobytes()), tuple(numbers.shape)


def _check_finite(floats: array[float], name: str, dim: Optional[int]) -> None:
    # A sum in double precision of finite single-precision numbers is finite, and one NaN or infinity in it stays: it is the fastest look
    # at every number that the standard library has.
    if "numpy" in sys.modules and len(floats) > 4096:
        import numpy

        finite = bool(numpy.isfinite(numpy.frombuffer(floats, dtype=numpy.float32)).all())
    else:
        finite = math.isfinite(sum(floats))
    if finite:
        return
    at, number = next((i, number) for i, number in enumerate(floats) if not math.isfinite(number))
    where = f"{name}[{at}]" if dim is None else f"{name}[{at // dim}][{at % dim}]"
    raise ValueError(f"{where} is {number} in single precision; every number must be finite there")


def texts_json(texts: Iterable[str]) -> List[bytes]:
    """Each text as JSON. Raises TypeError for what is no text."""
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise TypeError(f"texts must be a list of strings, not {type(texts).__name__}")
    pieces = []
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}] must be a string, not {type(text).__name__}")
        pieces.append(json_bytes(text, f"texts[{index}]"))
    return pieces
