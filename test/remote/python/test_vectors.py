"""Vectors in every form that a caller may have them."""

import base64
import json
import struct
import unittest
from array import array

from svc.vectors import matrix as matrix_of
from svc.vectors import texts_json, vector_json

try:
    import numpy
except ImportError:
    numpy = None

ROWS = [[0.5, -1.0, 2.0], [3.0, 0.25, -0.0]]
FLAT = [number for row in ROWS for number in row]


def matrix(vectors, rows, dim=2):
    return matrix_of(vectors, rows, lambda: dim)


def numbers(packed):
    data = base64.b64decode(packed["f32"], validate=True)
    return list(struct.unpack("<%df" % (len(data) // 4), data))


def sent(vectors, rows=None):
    """What a matrix of these vectors says: its shape and its numbers."""
    made = matrix(vectors, rows)
    packed = json.loads(made.json(0, made.rows).decode())
    return packed["shape"], numbers(packed)


class MatrixTest(unittest.TestCase):
    def test_forms(self):
        flat = array("f", FLAT)
        cases = {
            "lists": ROWS,
            "tuples": tuple(map(tuple, ROWS)),
            "arrays of single precision": [array("f", row) for row in ROWS],
            "arrays of double precision": [array("d", row) for row in ROWS],
            "a memoryview with a shape": memoryview(memoryview(flat).cast("B")).cast("f", (2, 3)),
            "memoryviews": [memoryview(flat)[:3], memoryview(flat)[3:]],
            "iterators": (iter(row) for row in ROWS),
            "mixed": [ROWS[0], array("f", ROWS[1])],
        }
        for name, vectors in cases.items():
            with self.subTest(name):
                self.assertEqual(sent(vectors), ([2, 3], FLAT))

    def test_a_flat_buffer_has_as_many_rows_as_there_are_ids(self):
        flat = array("f", FLAT)
        self.assertEqual(sent(flat), ([1, 6], FLAT))
        self.assertEqual(sent(flat, 2), ([2, 3], FLAT))
        self.assertEqual(sent(array("d", FLAT), 3), ([3, 2], FLAT))
        self.assertEqual(sent(memoryview(array("f", range(12)))[::2], 2), ([2, 3], [0, 2, 4, 6, 8, 10]))
        for rows in (0, 4):
            with self.subTest(rows), self.assertRaisesRegex(ValueError, "6 numbers"):
                matrix(flat, rows)

    def test_no_rows(self):
        for vectors in ([], iter([]), ()):
            self.assertEqual(matrix(vectors, None).json(0, 0), b"[]")
        self.assertEqual(matrix(array("f"), 0).json(0, 0), b"[]")

    def test_integers_and_booleans_are_numbers(self):
        self.assertEqual(sent([[1, True, 2**40]]), ([1, 3], [1.0, 1.0, float(2**40)]))

    def test_ragged_rows(self):
        for vectors in ([[1, 2], [3]], [[1, 2], array("f", [1])], [[1, 2], iter([1])]):
            with self.subTest(repr(vectors)), self.assertRaisesRegex(ValueError, r"^vectors\[1\] has 1 numbers; the dimension is 2$"):
                matrix(vectors, None)
        for vectors in ([[1], [2, 3]], [[], [1]], [[1, 2, 3], [1]]):
            with self.subTest(repr(vectors)), self.assertRaisesRegex(ValueError, r"^vectors\[0\] has \d numbers; the dimension is 2$"):
                matrix(vectors, None)

    def test_not_finite(self):
        nan, inf = float("nan"), float("inf")
        for bad in (nan, inf, -inf, 1e39, -3.5e38):
            for vectors in ([[1, 2], [3, bad]], array("d", [1, 2, 3, bad]), iter([iter([1, 2]), array("f", [3, bad])])):
                with self.subTest(bad), self.assertRaisesRegex(ValueError, r"vectors\[1\]\[1\] is NaN or infinite"):
                    matrix(vectors, 2)
        # Infinities that would cancel out, and finite numbers whose sum single precision could not hold.
        with self.assertRaisesRegex(ValueError, r"vectors\[0\]\[0\]"):
            matrix([[inf, -inf]], None)
        self.assertEqual(sent([[3e38] * 5000])[0], [1, 5000])

    def test_what_is_no_matrix(self):
        values = ["abc", 7, None, {1: 2}, {1, 2}, [1, 2], [None], ["ab"], [["a"]], [[None]], [[[1]]], [[1j]], [b"abcd"]]
        values += [b"abcd", bytearray(8), memoryview(b"abcd"), [{1: 2}]]
        for value in values:
            with self.subTest(repr(value)), self.assertRaises(TypeError):
                matrix(value, None)
        with self.assertRaisesRegex(ValueError, "shape"):
            matrix(memoryview(bytes(32)).cast("f", (2, 2, 2)), None)
        with self.assertRaises(ValueError):
            matrix([[10**400]], None)

    def test_parts(self):
        made = matrix([[i, i] for i in range(10)], None)
        packed = json.loads(made.json(3, 5).decode())
        self.assertEqual((packed["shape"], numbers(packed)), ([2, 2], [3, 3, 4, 4]))
        self.assertLessEqual(len(packed["f32"]), 2 * made.size(0))

    def test_the_callers_array_stays_as_it_is(self):
        flat = array("f", FLAT)
        before = flat.tobytes()
        matrix(flat, 2).json(0, 2)
        vector_json(flat)
        flat.append(1.0)  # No view of it is held.
        self.assertEqual(flat.tobytes()[:24], before)


class VectorTest(unittest.TestCase):
    def test_forms(self):
        for vector in (ROWS[0], tuple(ROWS[0]), iter(ROWS[0]), array("f", ROWS[0]), array("d", ROWS[0]), memoryview(array("f", ROWS[0]))):
            with self.subTest(type(vector)):
                self.assertEqual(numbers(json.loads(vector_json(vector).decode())), ROWS[0])

    def test_what_is_none(self):
        for value in ("ab", None, 1, ROWS, b"abcd", {0: 1.0}):
            with self.subTest(repr(value)), self.assertRaises(TypeError):
                vector_json(value)
        with self.assertRaisesRegex(ValueError, "shape"):
            vector_json(memoryview(bytes(16)).cast("f", (2, 2)))


@unittest.skipIf(numpy is None, "needs numpy")
class NumpyTest(unittest.TestCase):
    def test_arrays_needs_numpy(self):
        for dtype in ("<f4", ">f4", "f2", "f8", ">f8", "i4", "i8"):
            values = [[1, 2, 3], [4, 5, 6]]
            rows = numpy.array(values, dtype=dtype)
            with self.subTest(dtype):
                self.assertEqual(sent(rows), ([2, 3], [1, 2, 3, 4, 5, 6]))
                self.assertEqual(sent(list(rows)), ([2, 3], [1, 2, 3, 4, 5, 6]))
                self.assertEqual(sent(rows.T), ([3, 2], [1, 4, 2, 5, 3, 6]))
                self.assertEqual(sent(rows[::-1, ::2]), ([2, 2], [4, 6, 1, 3]))
                self.assertEqual(sent(rows.ravel(), 2), ([2, 3], [1, 2, 3, 4, 5, 6]))
                self.assertEqual(numbers(json.loads(vector_json(rows[1]).decode())), [4, 5, 6])
                self.assertEqual(numbers(json.loads(vector_json(rows[:, 1]).decode())), [2, 5])

    def test_what_converts_itself_needs_numpy(self):
        class Tensor:
            def __array__(self, dtype=None, copy=None):
                return numpy.array(ROWS, dtype=dtype)

        self.assertEqual(sent(Tensor()), ([2, 3], FLAT))

    def test_numbers_of_numpy_in_lists_needs_numpy(self):
        self.assertEqual(sent([[numpy.float32(0.5), numpy.int64(2)]]), ([1, 2], [0.5, 2.0]))

    def test_no_numbers_needs_numpy(self):
        for dtype in ("c16", "U1", "?", "O"):
            with self.subTest(dtype), self.assertRaises(TypeError):
                matrix(numpy.zeros((2, 2), dtype=dtype), None)
        with self.assertRaisesRegex(ValueError, "shape"):
            matrix(numpy.zeros((2, 2, 2)), None)
        with self.assertRaisesRegex(ValueError, "shape"):
            vector_json(numpy.zeros((2, 1)))
        self.assertEqual(vector_json(numpy.zeros((1, 2))), vector_json([0, 0]))

    def test_not_finite_needs_numpy(self):
        for bad in (float("nan"), float("inf"), 1e39):
            for size in (10, 10_000):
                rows = numpy.zeros((2, size))
                rows[1, size - 1] = bad
                with self.subTest((bad, size)), self.assertRaisesRegex(ValueError, r"vectors\[1\]\[%d\] is" % (size - 1)):
                    matrix(rows, None)

    def test_no_rows_needs_numpy(self):
        self.assertEqual(matrix(numpy.zeros((0, 3), dtype="f4"), None).json(0, 0), b"[]")


class TextsTest(unittest.TestCase):
    def test_texts(self):
        self.assertEqual(texts_json(["a", 'é"\u2028'])[1].decode(), '"é\\"\u2028"')
        for value in ("abc", b"abc", None, [b"a"], [None], [1]):
            with self.subTest(repr(value)), self.assertRaises(TypeError):
                texts_json(value)
        with self.assertRaisesRegex(ValueError, r"texts\[1\]"):
            texts_json(["a", "\udc00"])


if __name__ == "__main__":
    unittest.main()
