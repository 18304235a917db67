"""What calls send: arguments, and several requests for one call."""

import unittest
from array import array
from collections import OrderedDict
from unittest import mock

import svc
from scripted import Scripted
from svc.batches import requests
from svc.vectors import matrix

try:
    import numpy
except ImportError:
    numpy = None


def recording(seen, *answers):
    """A script that records each request after the greeting and sends the next answer: a result, or an error's line."""

    def run(peer):
        peer.greet()
        for answer in answers:
            seen.append(peer.read())
            seen[-1]["bytes"] = peer.request_bytes
            peer.error(answer.line) if isinstance(answer, Line) else peer.reply(answer)

    return run


class Line:
    def __init__(self, line):
        self.line = line


class ArgumentsTest(unittest.TestCase):
    def call(self, act, *answers):
        """The requests that a call on an opened collection sends, and what it returns."""
        seen = []
        with Scripted(recording(seen, {"opened": "c"}, *answers)) as server, svc.connect(server.address) as client:
            result = act(client["c"])
        return seen[1:], result

    def test_create(self):
        seen = []
        with Scripted(recording(seen, {"created": "c"}, {"created": "d"})) as server, svc.connect(server.address) as client:
            self.assertEqual(client.create_collection("c", 3).name, "c")
            client.create_collection(
                "d", embedder="bigram", filter_columns=(name for name in "ab"), partition_by=["p"], metric="l2"
            )
            for wrong in ({"dim": 1.5}, {"dim": "3"}, {"filter_columns": "ab"}, {"filter_columns": 7}, {"embedder": object()}):
                with self.subTest(wrong), self.assertRaises(TypeError):
                    client.create_collection("e", **wrong)
            for act in (client.create_collection, client.open_collection, client.__getitem__):
                with self.assertRaises(TypeError):
                    act(7)
            self.assertRaises(ValueError, client.open_collection, "\ud800")
        self.assertEqual(seen[0]["args"], {"dim": 3, "partition_by": "scope", "filter_columns": [], "dtype": "f32"})
        expected = {"partition_by": ["p"], "filter_columns": ["a", "b"], "dtype": "f32", "metric": "l2", "embedder": "bigram"}
        self.assertEqual((seen[1]["collection"], seen[1]["args"]), ("d", expected))

    def test_search(self):
        def ask(rows):
            rows.search((0.0, 1.0), top_k=0)
            rows.search_text("wörds", 3, svc.Eq("scope", None), explain=True, with_metadata=True)

        (first, second), _ = self.call(ask, {"ids": []}, {"ids": []})
        self.assertEqual(first["args"], {"vector": {"f32": "AAAAAAAAgD8="}, "top_k": 0})
        expected = {"text": "wörds", "top_k": 3, "where": {"scope": None}, "explain": True, "with_metadata": True}
        self.assertEqual(second["args"], expected)

    def test_rows_and_hits(self):
        hit = {"id": "a", "score": 1, "created": 1, "updated": 2, "date": "1970-01-01"}

        def ask(rows):
            found = rows.search_hits("q")
            self.assertEqual(found, {"hits": [hit]})
            self.assertIsInstance(found["hits"][0]["score"], float)
            rows.search_hits("wörds", 0, {"k": 1}, with_text=False, with_metadata=False, text_bytes=300)
            self.assertEqual(rows.get(["a", 7]), [{"id": "a", "found": False}])
            self.assertEqual(rows.get((), with_text=False, with_metadata=False), [])

        answers = {"hits": [hit]}, {"hits": []}, [{"id": "a", "found": False}], []
        (first, second, third, fourth), _ = self.call(ask, *answers)
        self.assertEqual((first["op"], first["args"]), ("search_hits", {"text": "q", "top_k": 10}))
        bare = {"with_text": False, "with_metadata": False}
        self.assertEqual(second["args"], {"text": "wörds", "top_k": 0, "where": {"k": 1}, "text_bytes": 300, **bare})
        self.assertEqual((third["op"], third["args"]), ("get", {"ids": ["a", "7"]}))
        self.assertEqual(fourth["args"], {"ids": [], **bare})

    def test_many_rows_in_several_requests(self):
        answers = [[{"id": name, "found": False}] for name in "abc"]
        with mock.patch("svc.collection.GET_ROWS", 2):
            seen, rows = self.call(lambda rows: rows.get(range(5)), *answers)
        self.assertEqual([request["args"]["ids"] for request in seen], [["0", "1"], ["2", "3"], ["4"]])
        self.assertEqual(rows, [row for answer in answers for row in answer])

    def test_a_server_that_does_not_know_an_operation(self):
        def ask(rows):
            for op, act in (("get", lambda: rows.get(["a"])), ("search_hits", lambda: rows.search_hits("q"))):
                with self.assertRaisesRegex(RuntimeError, f"too old for '{op}': update svc") as caught:
                    act()
                self.assertIsInstance(caught.exception, svc.RemoteError)
            with self.assertRaisesRegex(ValueError, "does not exist"):
                rows.get(["a"])

        lines = "unknown op 'get'", "unknown op 'search_hits'", "collection 'c' does not exist"
        self.call(ask, *(Line("ValueError: " + line) for line in lines))

    def test_wrong_arguments_are_not_sent(self):
        def ask(rows):
            for act, kind in (
                (lambda: rows.search_hits(7), TypeError),
                (lambda: rows.search_hits("q", text_bytes=1.5), TypeError),
                (lambda: rows.search_hits("q", text_bytes=True), TypeError),
                (lambda: rows.search_hits("q", text_bytes=float("inf")), ValueError),
                (lambda: rows.search_hits("q", where="x"), TypeError),
                (lambda: rows.get("abc"), TypeError),
                (lambda: rows.get([1.5]), TypeError),
                (lambda: rows.get(["\ud800"]), ValueError),
                (lambda: rows.search([1.0], top_k=1.5), TypeError),
                (lambda: rows.search_text(b"x"), TypeError),
                (lambda: rows.delete("abc"), TypeError),
                (lambda: rows.delete([1.5]), TypeError),
                (lambda: rows.delete([7.0]), TypeError),
                (lambda: rows.delete([True]), TypeError),
                (lambda: rows.delete([None]), TypeError),
                (lambda: rows.delete([{}]), TypeError),
                (lambda: rows.delete([2**53]), ValueError),
                (lambda: rows.delete(["a", -(2**53)]), ValueError),
                (lambda: rows.delete([10**5000]), ValueError),
                (lambda: rows.add([[1.0], [1.0]], ids=[7, "7"]), KeyError),
                (lambda: rows.add_texts(["a", "b"], ids=[7, 7]), KeyError),
                (lambda: rows.search([[1.0], [2.0]]), TypeError),
                (lambda: rows.search([[[1.0]]]), TypeError),
                (lambda: rows.search(["ab"]), TypeError),
                (lambda: rows.add([[1.0]], ids="a"), TypeError),
                (lambda: rows.add([[1.0]], ids=["a", "b"]), ValueError),
                (lambda: rows.add([[1.0]], ids=[]), ValueError),
                (lambda: rows.add([[1.0]], metadata=[]), ValueError),
                (lambda: rows.add([[1.0]], metadata={}), TypeError),
                (lambda: rows.add([[1.0]], metadata=["a"]), TypeError),
                (lambda: rows.add([[1.0]], metadata=[{"a": object()}]), TypeError),
                (lambda: rows.add([[1.0]], metadata=[{"a": float("nan")}]), ValueError),
                (lambda: rows.add_texts("text"), TypeError),
                (lambda: rows.add_texts(["a"], ids=["a", "b"]), ValueError),
                (lambda: rows.ids(where=["a"]), TypeError),
                (lambda: rows.ids(where={1: 2}), TypeError),
                (lambda: rows.ids(where={"a": float("nan")}), ValueError),
            ):
                with self.assertRaises(kind):
                    act()

        self.assertEqual(self.call(ask)[0], [])

    def test_ids_that_stand_twice(self):
        def ask(rows):
            for add in (lambda ids: rows.add([[1.0]] * 3, ids), lambda ids: rows.add_texts(["x"] * 3, ids)):
                with self.assertRaises(KeyError) as caught:
                    add(["a", "b", "a"])
                self.assertRegex(str(caught.exception), "^this id exists already or stands twice in the call, nothing was added: 'a'$")
                self.assertNotIsInstance(caught.exception, svc.RemoteError)
            rows.upsert([[1.0]] * 2, ["a", "a"])

        self.assertEqual(len(self.call(ask, ["a", "a"])[0]), 1)

    def test_an_integer_stands_for_its_decimal_string(self):
        ids = [7, "7", -3, -0, 2**53 - 1]
        written = ["7", "7", "-3", "0", "9007199254740991"]

        def ask(rows):
            rows.upsert([[1.0]] * 5, ids)
            rows.upsert_texts(["x"] * 5, iter(ids))
            rows.add([[1.0]], range(9, 10))
            rows.delete(ids)

        seen, _ = self.call(ask, written, written, ["9"], 3)
        self.assertEqual([request["args"]["ids"] for request in seen], [written, written, ["9"], written])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_integers_of_numpy_are_ids_needs_numpy(self):
        (request,), _ = self.call(lambda rows: rows.delete(numpy.array([7, -3], dtype="int32")), 2)
        self.assertEqual(request["args"]["ids"], ["7", "-3"])
        for wrong in (numpy.float64(7), numpy.bool_(True), numpy.array([7])):
            with self.subTest(repr(wrong)), self.assertRaises(TypeError):
                self.call(lambda rows, wrong=wrong: rows.delete([wrong]), 0)
        with self.assertRaises(TypeError):
            self.call(lambda rows: rows.search("x", top_k=numpy.bool_(True)), 0)

    def test_a_matrix_of_one_row_is_a_query(self):
        def ask(rows):
            rows.search([[0.0, 1.0]], where={})
            rows.search((array("f", [0.0, 1.0]),))
            rows.search(memoryview(memoryview(array("f", [0.0, 1.0])).cast("B")).cast("f", (1, 2)))

        seen, _ = self.call(ask, {"ids": []}, {"ids": []}, {"ids": []})
        expected = {"vector": {"f32": "AAAAAAAAgD8="}, "top_k": 10}
        self.assertEqual([request["args"] for request in seen], [expected] * 3)

    def test_metadata(self):
        metadata = [{"é": [1, {"a": None}], "b": True}, None, OrderedDict(c=1.5)]
        (request,), made = self.call(lambda rows: rows.add([[1.0]] * 3, metadata=iter(metadata)), ["x", "y", "z"])
        self.assertEqual(request["args"]["metadata"], metadata)
        self.assertNotIn("ids", request["args"])
        self.assertEqual(made, ["x", "y", "z"])

    def test_no_rows_are_a_request_all_the_same(self):
        def ask(rows):
            return [rows.add([]), rows.add_texts([], ids=[]), rows.delete([])]

        seen, made = self.call(ask, [], [], 0)
        self.assertEqual(made, [[], [], 0])
        self.assertEqual([request["args"] for request in seen], [{"vectors": []}, {"texts": [], "ids": []}, {"ids": []}])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_numbers_of_numpy_needs_numpy(self):
        metadata = [{"a": numpy.int64(7), "b": numpy.float32(0.5), "c": numpy.bool_(True)}]

        def ask(rows):
            rows.add([[1.0]], metadata=metadata)
            rows.search(numpy.array([1, 2]), top_k=numpy.int32(4), where={"a": numpy.int64(7)})

        (first, second), _ = self.call(ask, ["x"], {"ids": []})
        self.assertEqual(first["args"]["metadata"], [{"a": 7, "b": 0.5, "c": True}])
        self.assertEqual((second["args"]["top_k"], second["args"]["where"]), (4, {"a": 7}))


@mock.patch("svc.batches.BODY_BYTES", 6000)
class BatchesTest(unittest.TestCase):
    call = ArgumentsTest.call

    def test_a_large_add_travels_in_several_requests(self):
        ids = ["id%d" % i for i in range(300)]
        metadata = [{"n": i} for i in range(300)]
        seen = []

        def run(peer):
            peer.greet()
            while sum(len(request["args"].get("ids", [])) for request in seen) < 300:
                request = peer.read()
                if request["op"] == "add":
                    seen.append(request)
                    self.assertLess(peer.request_bytes, 6000)
                    self.assertEqual(request["args"]["vectors"]["shape"], [len(request["args"]["ids"]), 5])
                peer.reply(request["args"].get("ids", {}))

        with Scripted(run) as server, svc.connect(server.address) as client:
            self.assertEqual(client["c"].add([[float(i)] * 5 for i in range(300)], ids, metadata), ids)
        self.assertGreater(len(seen), 3)
        self.assertEqual([row for request in seen for row in request["args"]["metadata"]], metadata)

    def test_texts_and_deletes_too(self):
        texts = ["é" * 1000, "a" * 1000, "b" * 9000, "c", "d"]
        (first, second, third), made = self.call(lambda rows: rows.add_texts(texts), ["1", "2"], ["3"], ["4", "5"])
        self.assertEqual([request["args"]["texts"] for request in (first, second, third)], [texts[:2], texts[2:3], texts[3:]])
        self.assertEqual(made, ["1", "2", "3", "4", "5"])
        ids = ["x" * 400] * 12
        seen, count = self.call(lambda rows: rows.delete(ids), 9, 2)
        self.assertEqual((len(seen), count), (2, 11))

    def test_a_request_that_fails_after_others(self):
        def add(rows):
            with self.assertRaises(KeyError) as caught:
                rows.add_texts(["a" * 3000, "b" * 3000, "c" * 3000], ["a", "b", "c"])
            return caught.exception

        seen, error = self.call(add, ["a"], ["b"], Line("KeyError: 'c' exists"))
        self.assertEqual(len(seen), 3)
        self.assertEqual(error.applied_ids, ["a", "b"])
        self.assertEqual(str(error), "'c' exists (the first 2 of 3 rows had been added by earlier requests of this call)")

    def test_the_first_request_that_fails_says_nothing_of_others(self):
        def add(rows):
            with self.assertRaises(KeyError) as caught:
                rows.add_texts(["a" * 3000, "b" * 3000], ["a", "b"])
            return caught.exception

        seen, error = self.call(add, Line("KeyError: 'a' exists"))
        self.assertEqual((len(seen), str(error), hasattr(error, "applied_ids")), (1, "'a' exists", False))

    def test_replies_stay_small_too(self):
        # A row of one number is smaller than the id that the server makes for it.
        parts = [stop - start for start, stop, _ in requests({"vectors": matrix([[1.0]] * 500, None, lambda: 1)}, 500)]
        self.assertEqual(sum(parts), 500)
        self.assertLessEqual(max(parts) * 40, 6000)


if __name__ == "__main__":
    unittest.main()
