"""Everything on a real server, with its address in SVC_TEST_ADDRESS and its token, if any, in SVC_TEST_TOKEN."""

import os
import random
import threading
import unittest
import uuid
from array import array
from datetime import datetime, timezone
from unittest import mock

import svc

try:
    import numpy
except ImportError:
    numpy = None

ADDRESS = os.environ.get("SVC_TEST_ADDRESS")
TOKEN = os.environ.get("SVC_TEST_TOKEN") or None


@unittest.skipUnless(ADDRESS, "needs a running svc serve")
class ServerTest(unittest.TestCase):
    """Tests share a server, so each has collections of its own."""

    def setUp(self):
        self.client = svc.connect(ADDRESS, TOKEN)
        self.addCleanup(self.client.close)

    def vectors(self, dim=3, **options):
        return self.client.create_collection("py-" + uuid.uuid4().hex, dim, **options)

    def texts(self, **options):
        return self.client.create_collection("py-" + uuid.uuid4().hex, embedder="multigram", **options)

    def test_ping_and_server_stats(self):
        self.client.ping()
        stats = self.client.stats()
        for field in ("version", "uptime_s", "connections", "requests", "ops"):
            self.assertIn(field, stats)

    def test_a_wrong_token(self):
        if TOKEN is None:
            with svc.connect(ADDRESS, "any") as client:  # A Unix socket needs no token and takes every one.
                client.ping()
            return
        for token in ("wrong", None):
            with self.assertRaises(PermissionError) as caught:
                svc.connect(ADDRESS, token)
            self.assertIsInstance(caught.exception, svc.RemoteError)
        self.client.ping()

    def test_collections(self):
        name = "py-" + uuid.uuid4().hex
        with self.assertRaises(ValueError) as caught:
            self.client.open_collection(name)
        self.assertIsInstance(caught.exception, svc.RemoteError)
        self.assertEqual(caught.exception.code, "ValueError.no_collection")
        rows = self.client.create_collection(name, 2, filter_columns=["kind"])
        self.assertEqual(rows.name, name)
        self.assertNotIn(name, self.client.collections())
        self.assertEqual(self.client.create_collection(name, 2, filter_columns=["kind"]).name, name)
        with self.assertRaises(ValueError):
            self.client.create_collection(name, 3, filter_columns=["kind"])
        rows.save()
        names = self.client.collections()
        self.assertIn(name, names)
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.client[name].name, name)
        for wrong in ("", ".hidden", "a/b", "x" * 129):
            with self.subTest(wrong), self.assertRaises(ValueError):
                self.client.create_collection(wrong, 2)
        for options in ({"dim": 0}, {"dim": 65537}, {}, {"dim": 2, "dtype": "f99"}, {"embedder": "no such embedder"}):
            with self.subTest(options), self.assertRaises(ValueError):
                self.client.create_collection("py-" + uuid.uuid4().hex, **options)
        for wrong, kind in (([], ValueError), (["a", "b"], ValueError), ([7], TypeError)):
            with self.subTest(wrong), self.assertRaises(kind):
                self.client.create_collection("py-" + uuid.uuid4().hex, 3, partition_by=wrong)

    def test_rows(self):
        rows = self.vectors(filter_columns=["kind"])
        metadata = [{"scope": "x", "kind": "é"}, None, {"scope": "y", "kind": 1}]
        self.assertEqual(rows.add([[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "b", "ü"], metadata), ["a", "b", "ü"])
        self.assertEqual(rows.ids(), ["a", "b", "ü"])
        found = rows.search([0.9, 0.5, 0.1], top_k=2)
        self.assertEqual(found["ids"], ["a", "b"])
        self.assertAlmostEqual(found["scores"][0], 0.9, places=5)
        self.assertAlmostEqual(found["scores"][1], 0.5, places=5)
        self.assertEqual(set(found), {"ids", "scores"})
        self.assertEqual({type(score) for score in rows.search([1, 0, 0])["scores"]}, {float})
        found = rows.search(array("f", [0, 0, 1]), where=svc.Eq("kind", 1.0), explain=True, with_metadata=True)
        self.assertEqual((found["ids"], found["metadata"]), (["ü"], [{"scope": "y", "kind": 1}]))
        self.assertIn(found["explain"]["mode"], ("exact", "ivf", "fused"))
        self.assertEqual(rows.search([0, 1, 0], 0, with_metadata=True)["metadata"], [None])
        self.assertEqual(len(rows.search([0, 1, 0], 10**6)["ids"]), 3)
        self.assertEqual(rows.ids({"scope": "x"}), ["a"])
        self.assertEqual(rows.ids({"scope": "default"}), ["b"])
        self.assertEqual(rows.ids(svc.Eq("kind", None)), ["b"])
        self.assertEqual(rows.ids(svc.Eq("kind", "1")), [])
        self.assertEqual(rows.ids(svc.Eq("kind", True)), [])
        self.assertEqual(rows.delete(["a", "nobody"]), 1)
        self.assertEqual(rows.delete(["a"]), 0)
        self.assertEqual(rows.ids(), ["b", "ü"])

    def test_ids_that_exist(self):
        rows = self.vectors()
        rows.add([[1, 0, 0]], ["a"])
        with self.assertRaises(KeyError) as caught:
            rows.add([[0, 1, 0], [0, 1, 0]], ["b", "a"])
        self.assertIsInstance(caught.exception, svc.RemoteError)
        self.assertNotRegex(str(caught.exception), "^[\"'].* .*[\"']$")
        self.assertEqual(rows.ids(), ["a"])
        self.assertEqual(rows.upsert([[0, 1, 0], [0, 0, 1], [0, 0, 1]], ["a", "b", "a"]), ["a", "b", "a"])
        self.assertEqual(set(rows.ids()), {"a", "b"})
        self.assertEqual(set(rows.search([0, 0, 1], 2)["ids"]), {"a", "b"})
        self.assertAlmostEqual(rows.search([0, 0, 1], 2)["scores"][1], 1.0, places=5)

    def test_what_the_original_client_sends(self):
        name = "py-" + uuid.uuid4().hex
        for dim in (384, None, 1):
            rows = self.client.create_collection(name, dim, partition_by=["scope"], embedder="multigram")
        dim = rows.stats()["dim"]
        self.assertNotIn(dim, (384, 1))
        self.assertEqual(rows.add_texts(["one", "two"], [1, 2]), ["1", "2"])
        with self.assertRaises(KeyError):
            rows.add_texts(["one"], ["1"])
        self.assertEqual(rows.upsert([[1.0] * dim, [0.5] * dim], [7, "7"]), ["7", "7"])
        self.assertEqual(set(rows.search([[1.0] * dim], where={})["ids"]), {"1", "2", "7"})
        self.assertEqual(rows.ids({}), ["1", "2", "7"])
        self.assertEqual(rows.delete([1, 7, 99]), 2)
        self.assertEqual(rows.ids(), ["2"])

    def test_ids_that_the_server_makes(self):
        rows = self.vectors()
        made = rows.add([[1, 0, 0]] * 3) + rows.upsert([[1, 0, 0]])
        self.assertEqual({uuid.UUID(name).version for name in made}, {7})
        self.assertEqual(sorted(rows.ids()), sorted(made))
        self.assertEqual(rows.add([]), [])

    def test_what_is_refused(self):
        rows = self.vectors()
        cases = [
            (lambda: rows.add([[1, 0]]), ValueError),
            (lambda: rows.search([1, 0]), ValueError),
            (lambda: rows.add([[1, 0, 0]], [""]), ValueError),
            (lambda: rows.add([[1, 0, 0]], ["x" * 513]), ValueError),
            (lambda: rows.add([[1, 0, 0]], ["a\0b"]), ValueError),
            (lambda: rows.add([[1, 0, 0]], metadata=[{"a": "x" * 70_000}]), ValueError),
            (lambda: rows.ids(svc.Eq("undeclared", 1)), ValueError),
            (lambda: rows.search([1, 0, 0], where={"undeclared": 1}), ValueError),
        ]
        for index, (act, kind) in enumerate(cases):
            with self.subTest(index), self.assertRaises(kind) as caught:
                act()
            self.assertIsInstance(caught.exception, svc.RemoteError)
        for act in (lambda: rows.add_texts(["a"]), lambda: rows.search_text("a")):
            with self.assertRaises(svc.RemoteError):
                act()
        self.assertEqual(rows.ids(), [])

    def test_texts(self):
        rows = self.texts()
        texts = ["the kettle is in the left cupboard", "taxes are due in april", "Grüße aus Köln"]
        metadata = [{"scope": svc.scope_key("home", "note")}, {"scope": "work"}, None]
        self.assertEqual(rows.add_texts(texts, ["k", "t", "g"], metadata), ["k", "t", "g"])
        found = rows.search_text("where is the kettle", top_k=1, with_metadata=True, explain=True)
        self.assertEqual((found["ids"], found["metadata"]), (["k"], [{"scope": "home:note"}]))
        self.assertEqual(rows.search_text("kettle", where={"scope": "work"})["ids"], ["t"])
        self.assertEqual(rows.ids(svc.Eq("scope", svc.scope_key("home", "note"))), ["k"])
        self.assertEqual(rows.upsert_texts(["a kettle of fish"], ["t"]), ["t"])
        self.assertEqual(set(rows.search_text("kettle", 2)["ids"]), {"k", "t"})
        with self.assertRaises(KeyError):
            rows.add_texts(["again"], ["k"])
        self.assertEqual(len(rows.add_texts(["one", "two"])), 2)

    def test_rows_and_hits(self):
        rows = self.texts()
        long = "Lunch is at noon. " * 200 + "The kettle is in the cupboard. " + "Dinner is at seven. " * 200
        rows.add_texts([long, "", "taxes"], ["l", "e", 7], [{"scope": "home"}, None, None])
        got = rows.get(["e", "nobody", 7, "l"])
        self.assertEqual([row["id"] for row in got], ["e", "nobody", "7", "l"])
        self.assertEqual([row["found"] for row in got], [True, False, True, True])
        self.assertEqual([row.get("text") for row in got], ["", None, "taxes", long])
        self.assertEqual((got[3]["metadata"], set(got[1])), ({"scope": "home"}, {"id", "found"}))
        self.assertEqual(set(rows.get(["l"], with_text=False, with_metadata=False)[0]), {"id", "found", "created", "updated"})
        self.assertEqual(rows.get([]), [])
        hits = rows.search_hits("where is the kettle", text_bytes=80)["hits"]
        self.assertEqual([hit["id"] for hit in hits], rows.search_text("where is the kettle")["ids"])
        cut = next(hit for hit in hits if hit["id"] == "l")
        self.assertIn("kettle", cut["text"])
        self.assertTrue(cut["truncated"])
        self.assertTrue(long[cut["start"] :].startswith(cut["text"]))
        day = datetime.fromtimestamp(cut["updated"] / 1000, timezone.utc).date().isoformat()
        self.assertEqual((cut["date"], cut["updated"]), (day, got[3]["updated"]))
        best = rows.search_hits("kettle", 1, {"scope": "home"}, with_text=False, with_metadata=False)["hits"]
        self.assertEqual([set(hit) for hit in best], [{"id", "score", "created", "updated", "date"}])
        for act in (lambda: rows.search_hits("x", text_bytes=0), lambda: rows.search_hits("x", text_bytes=-(10**30))):
            self.assertRaisesRegex(ValueError, "text_bytes must be an integer of at least 1", act)
        self.assertIn("the query has no words", rows.search_hits("")["notice"])
        many = rows.get(["x%d" % i for i in range(10_000)] + ["l"])
        self.assertEqual((len(many), many[-1]["text"]), (10_001, long))

    def test_save_and_compact(self):
        rows = self.vectors()
        rows.add([[1, 0, 0], [0, 1, 0]], ["a", "b"])
        stats = rows.stats()
        self.assertEqual((stats["name"], stats["external_ids"], stats["dim"]), (rows.name, 2, 3))
        self.assertTrue(stats["unsaved_changes"])
        self.assertIsNone(rows.save())
        self.assertFalse(rows.stats()["unsaved_changes"])
        rows.delete(["a"])
        self.assertIsNone(rows.compact())
        self.assertEqual((rows.ids(), rows.stats()["unsaved_changes"]), (["b"], False))

    def test_a_second_client_sees_what_was_not_saved(self):
        rows = self.vectors()
        rows.add([[1, 0, 0]], ["a"])
        with svc.connect(ADDRESS, TOKEN) as other:
            self.assertEqual(other[rows.name].ids(), ["a"])

    def test_several_requests_for_one_call(self):
        rows = self.vectors(8)
        numbers = random.Random(7)
        vectors = [[numbers.random() for _ in range(8)] for _ in range(2000)]
        ids = ["row-%d" % i for i in range(2000)]
        with mock.patch("svc.batches.BODY_BYTES", 20_000):
            self.assertEqual(rows.add(vectors, ids, [{"n": i} for i in range(2000)]), ids)
            self.assertEqual(rows.ids(), ids)
            best = max(range(2000), key=lambda i: sum(a * b for a, b in zip(vectors[i], vectors[5])))
            self.assertEqual(rows.search(vectors[5], 1)["ids"], [ids[best]])
            with self.assertRaises(KeyError) as caught:
                rows.add(vectors[:1000], ["new-%d" % i for i in range(999)] + ["row-0"])
            self.assertGreater(len(caught.exception.applied_ids), 0)
            self.assertEqual(rows.delete(ids), 2000)

    def test_large_requests(self):
        rows = self.vectors(1024)
        row = array("f", range(1024))
        ids = rows.add(row * 6000, ["r%d" % i for i in range(6000)])  # 32 MiB in base64.
        self.assertEqual(rows.stats()["external_ids"], 6000)
        self.assertEqual(rows.ids(), ids)

    def test_threads(self):
        rows = self.vectors()

        def work(part):
            for i in range(20):
                rows.add([[part, i, 1]], ["%d-%d" % (part, i)])
                rows.search([1, 1, 1])

        threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(rows.ids()), 160)

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_arrays_needs_numpy(self):
        rows = self.vectors(16)
        vectors = numpy.random.default_rng(3).standard_normal((200, 16))
        ids = rows.add(vectors, ["n%d" % i for i in range(200)])
        for i in range(0, 200, 20):
            expected = numpy.argsort(-(vectors @ vectors[i]))[:5]
            self.assertEqual(rows.search(vectors[i], 5)["ids"], [ids[k] for k in expected])


if __name__ == "__main__":
    unittest.main()
