"""Connections: what a client does when the server, or the way to it, misbehaves."""

import os
import signal
import socket
import struct
import threading
import time
import unittest

import svc
from scripted import Scripted, echo, greeted, who

SECRET = "s3cret-t0ken"


class ErrorsTest(unittest.TestCase):
    def test_types(self):
        cases = [
            ("ValueError: a: b", ValueError, "a: b"),
            ("TypeError: x", TypeError, "x"),
            ("KeyError: 'a' exists", KeyError, "'a' exists"),
            ("PermissionError: x", PermissionError, "x"),
            ("RuntimeError: x", RuntimeError, "x"),
            ("OSError: x", OSError, "x"),
            ("TimeoutError: x", TimeoutError, "x"),
            ("CancelledError: x", svc.CancelledError, "x"),
            ("Strange: x", RuntimeError, "Strange: x"),
            ("no type", RuntimeError, "no type"),
        ]
        with Scripted(greeted(*[lambda peer, line=line: peer.error(line) for line, _, _ in cases])) as server:
            with svc.connect(server.address) as client:
                for line, kind, message in cases:
                    with self.subTest(line), self.assertRaises(kind) as caught:
                        client.collections()
                    self.assertIsInstance(caught.exception, svc.RemoteError)
                    self.assertEqual(str(caught.exception), message)

    def test_lines_without_a_type_end_the_connection(self):
        for line, kind in (("bad request", ValueError), ("unauthorized: send auth first", PermissionError)):
            refuse = greeted(lambda peer, line=line: peer.send({"ok": False, "error": line}))
            with self.subTest(line), Scripted(refuse, greeted(echo([]))) as server, svc.connect(server.address) as client:
                with self.assertRaises(kind) as caught:
                    client.collections()
                self.assertIsInstance(caught.exception, svc.RemoteError)
                self.assertEqual(client.collections(), [])
                self.assertEqual(server.accepted, 2)


class ConnectTest(unittest.TestCase):
    def test_a_server_that_drops_the_connection_says_why(self):
        why = "this connection did not authenticate within 2 seconds: connect again"

        def before_auth(peer):
            peer.send({"ok": False, "error": "RuntimeError: " + why})
            peer.read()

        def after_auth(peer):
            peer.read()
            peer.send({"ok": False, "error": "RuntimeError: " + why})

        for drop in (before_auth, after_auth):
            with self.subTest(drop.__name__), Scripted(drop) as server:
                with self.assertRaises(RuntimeError) as caught:
                    svc.connect(server.address, token=SECRET)
                self.assertEqual(str(caught.exception), why)

    def test_no_server(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with self.assertRaisesRegex(ConnectionRefusedError, "cannot connect to 127.0.0.1:%d" % port):
            svc.connect("127.0.0.1:%d" % port)
        with self.assertRaisesRegex(FileNotFoundError, "cannot connect to /nowhere/svc.sock"):
            svc.connect("/nowhere/svc.sock")
        with self.assertRaisesRegex(OSError, "cannot connect"):
            svc.connect("/" + "long/" * 50 + "svc.sock")

    def test_timeout(self):
        for timeout in (0, -1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                svc.connect("localhost:1", timeout=timeout)

        def silent(peer):
            peer.read()
            peer.wait_for_end()

        with Scripted(silent) as server, self.assertRaises(TimeoutError):
            svc.connect(server.address, timeout=0.1)

    def test_a_server_that_drips_does_not_outlast_the_timeout(self):
        def drip(peer):
            peer.read()
            try:
                for byte in struct.pack(">I", 1000) + b"x" * 100:
                    peer.raw(bytes([byte]))
                    time.sleep(0.05)
            except OSError:
                pass

        start = time.monotonic()
        with Scripted(drip) as server, self.assertRaises(TimeoutError):
            svc.connect(server.address, timeout=0.3)
        self.assertLess(time.monotonic() - start, 3)

    def test_token(self):
        seen = []
        with Scripted(lambda peer: seen.append(peer.greet()), tcp=True) as server:
            with svc.connect(server.address, token=SECRET) as client:
                self.assertNotIn(SECRET, repr(client) + repr(client.__dict__))
        self.assertEqual((seen[0]["op"], seen[0]["args"]), ("auth", {"token": SECRET}))

    def test_wrong_token(self):
        def refuse(peer):
            peer.read()
            peer.error("unauthorized")

        with Scripted(refuse, tcp=True) as server, self.assertRaises(PermissionError) as caught:
            svc.connect(server.address, token=SECRET)
        self.assertNotIn(SECRET, str(caught.exception))

    def test_tokens_that_cannot_be_sent(self):
        for token, kind in ((b"x", TypeError), ("", ValueError), ("x" * 5000, ValueError), (SECRET + "\ud800", ValueError)):
            with self.assertRaises(kind) as caught:
                svc.connect("localhost:1", token=token)
            self.assertNotIn(SECRET, str(caught.exception))

    def test_too_many_connections(self):
        def full(peer):
            peer.send({"ok": False, "error": "RuntimeError: 64 connections are open"})

        for tcp in (False, True):
            with Scripted(full, tcp=tcp) as server, self.assertRaisesRegex(RuntimeError, "64 connections"):
                svc.connect(server.address)

    def test_a_server_that_closes(self):
        closes = [lambda peer: peer.read()] * 3
        with Scripted(*closes) as server:
            with self.assertRaisesRegex(ConnectionError, "closed a new connection"):
                svc.connect(server.address)
            self.assertEqual(server.accepted, 3)
        with Scripted(*closes[:2], greeted(echo([]))) as server, svc.connect(server.address, SECRET) as client:
            self.assertEqual(client.collections(), [])
            self.assertEqual(server.accepted, 3)


class RepliesTest(unittest.TestCase):
    MALFORMED = [
        ("too large", struct.pack(">I", 256 * 1024 * 1024 + 1) + b"{}"),
        ("empty", struct.pack(">I", 0)),
        ("http", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ] + [
        (body[:20], struct.pack(">I", len(body)) + body)
        for body in (
            b"x",
            b"[]",
            b"null",
            b'{"ok":1,"result":[],"id":2}',
            b'{"ok":true,"id":2}',
            b'{"ok":false,"error":7,"id":2}',
            b'{"ok":true,"result":[],"id":3}',
            b'{"ok":true,"result":[]}',
            b'{"ok":false,"error":"ValueError: x","id":77}',
            b'{"ok":true,"result":{},"id":2}',
            b'{"ok":true,"result":[NaN],"id":2}',
            b'{"ok":true,"result":["\xff"],"id":2}',
            '{"ok":true,"result":[],"id":2}'.encode("utf-16"),
            b"[" * 100_000,
        )
    ]

    def test_malformed(self):
        def closes(peer):
            peer.raw(raw)
            peer.wait_for_end()

        for name, raw in self.MALFORMED:
            with self.subTest(name), Scripted(greeted(closes), greeted(echo(["a"]))) as server, svc.connect(server.address) as client:
                with self.assertRaises(OSError) as caught:
                    client.collections()
                self.assertNotIsInstance(caught.exception, (svc.RemoteError, svc.OutcomeUnknownError))
                self.assertEqual(client.collections(), ["a"])

    def test_a_malformed_reply_to_a_change(self):
        with Scripted(greeted(echo({}), lambda peer: peer.body(b"x"))) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(svc.OutcomeUnknownError, "not known whether save was applied"):
                client["a"].save()

    def test_a_reply_in_pieces(self):
        def pieces(peer):
            body = b'{"ok":true,"result":["\xc3\xa9"],"id":2}'
            for byte in struct.pack(">I", len(body)) + body:
                peer.raw(bytes([byte]))

        with Scripted(greeted(pieces)) as server, svc.connect(server.address, timeout=5) as client:
            self.assertEqual(client.collections(), ["é"])

    def test_a_large_reply(self):
        ids = ["id-%07d" % i for i in range(400_000)]
        with Scripted(greeted(echo({}), echo(ids))) as server, svc.connect(server.address) as client:
            self.assertEqual(client["a"].ids(), ids)

    def test_a_reply_that_stops(self):
        def stops(peer):
            peer.raw(struct.pack(">I", 100) + b"{")
            peer.wait_for_end()

        with Scripted(greeted(stops)) as server, svc.connect(server.address, timeout=0.2) as client:
            with self.assertRaises(TimeoutError):
                client.collections()

    def test_a_reply_may_take_any_time_to_begin_but_a_ping_may_not(self):
        def late(peer):
            time.sleep(0.5)
            peer.reply(None)

        def never(peer):
            peer.wait_for_end()

        with Scripted(greeted(echo({}), late, never)) as server, svc.connect(server.address, timeout=0.2) as client:
            client["a"].compact()
            with self.assertRaises(TimeoutError):
                client.ping()


def hang_up(peer):
    peer.sock.close()


def noted(ops, step):
    """A step that writes down what was asked."""

    def run(peer):
        ops.append((peer.request["op"], peer.request.get("collection")))
        step(peer)

    return run


class ReconnectTest(unittest.TestCase):
    READS = [
        (lambda client, rows: client.ping(), {"pong": True}),
        (lambda client, rows: client.collections(), ["a"]),
        (lambda client, rows: client.open_collection("a"), {"opened": "a"}),
        (lambda client, rows: client.stats(), {}),
        (lambda client, rows: rows.stats(), {}),
        (lambda client, rows: rows.ids(), []),
        (lambda client, rows: rows.search([1.0]), {"ids": []}),
        (lambda client, rows: rows.search_text("x"), {"ids": []}),
        (lambda client, rows: rows.search_hits("x"), {"hits": []}),
        (lambda client, rows: rows.get(["x"]), [{"id": "x", "found": False}]),
    ]
    CHANGES = [
        (lambda client, rows: client.create_collection("b", 3), {"created": "b"}),
        (lambda client, rows: rows.add([[1.0]]), ["x"]),
        (lambda client, rows: rows.upsert([[1.0]], ["x"]), ["x"]),
        (lambda client, rows: rows.add_texts(["x"]), ["x"]),
        (lambda client, rows: rows.upsert_texts(["x"], ["x"]), ["x"]),
        (lambda client, rows: rows.delete(["x"]), 1),
        (lambda client, rows: rows.compact(), None),
        (lambda client, rows: rows.save(), None),
    ]

    def test_reads_are_repeated(self):
        for index, (ask, result) in enumerate(self.READS):
            with self.subTest(index), Scripted(greeted(echo({}), hang_up), greeted(echo(result))) as server:
                with svc.connect(server.address) as client:
                    ask(client, client["a"])
                self.assertEqual(server.accepted, 2)

    def test_reads_are_repeated_only_once(self):
        with Scripted(greeted(hang_up), greeted(hang_up)) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(ConnectionError, "twice in a row"):
                client.collections()

    def test_changes_that_had_left_in_full_are_not_repeated(self):
        for index, (change, _) in enumerate(self.CHANGES):
            with self.subTest(index), Scripted(greeted(echo({}), hang_up)) as server, svc.connect(server.address) as client:
                with self.assertRaisesRegex(svc.OutcomeUnknownError, "not known whether .* was applied"):
                    change(client, client["a"])

    def test_changes_find_a_connection_that_was_closed_while_idle(self):
        gone = threading.Event()

        def closes(peer):
            greeted(echo({}))(peer)
            peer.sock.close()
            gone.set()

        for index, (change, result) in enumerate(self.CHANGES):
            for tcp in (False, True):
                gone.clear()
                with self.subTest((index, tcp)), Scripted(closes, greeted(echo(result)), tcp=tcp) as server:
                    with svc.connect(server.address) as client:
                        rows = client["a"]
                        gone.wait(5)
                        time.sleep(0.02)
                        change(client, rows)

    def test_bytes_without_a_request_are_no_reply(self):
        said = threading.Event()

        def talks(peer):
            greeted(echo([]))(peer)
            peer.send({"ok": True, "result": ["stale"], "id": 3})
            said.set()
            peer.wait_for_end()

        with Scripted(talks, greeted(echo(["new"]))) as server, svc.connect(server.address) as client:
            client.collections()
            said.wait(5)
            self.assertEqual(client.collections(), ["new"])

    def test_a_change_that_had_left_in_part_is_repeated(self):
        vector = [1.0] * 2_000_000

        def takes_a_part(peer):
            greeted(echo({}))(peer)
            peer.read_exactly(100_000)
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        for tcp in (False, True):
            with self.subTest(tcp=tcp), Scripted(takes_a_part, greeted(echo(["x"])), tcp=tcp) as server:
                with svc.connect(server.address) as client:
                    self.assertEqual(client["a"].add([vector]), ["x"])

    def test_a_reply_while_a_request_is_sent_is_read(self):
        def refuses(peer):
            greeted(echo({}))(peer)
            peer.read_exactly(100_000)
            peer.send({"ok": False, "error": "RuntimeError: the server ends"})

        with Scripted(refuses) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(RuntimeError, "the server ends"):
                client["a"].add([[1.0] * 2_000_000])

    def test_a_server_that_reads_nothing(self):
        done = threading.Event()

        def stalls(peer):
            greeted(echo({}))(peer)
            done.wait(30)

        with Scripted(stalls) as server, svc.connect(server.address, timeout=0.2) as client:
            with self.assertRaisesRegex(TimeoutError, "add was not done"):
                client["a"].add([[1.0] * 2_000_000])
            done.set()

    def test_a_reconnect_authenticates(self):
        tokens = []

        def closes(peer):
            tokens.append(peer.greet()["args"]["token"])

        def answers(peer):
            closes(peer)
            peer.read()
            peer.reply([])

        with Scripted(closes, answers, tcp=True) as server, svc.connect(server.address, token=SECRET) as client:
            client.collections()
        self.assertEqual(tokens, [SECRET, SECRET])

    def test_a_save_fails_for_changes_lost_with_a_server(self):
        first = greeted(echo({}), echo({}), echo(["x"]), echo(["y"]), instance="1")
        second = greeted(echo(["z"]), echo(None), echo(None), instance="2")
        with Scripted(first, second) as server, svc.connect(server.address) as client:
            rows, other = client["a"], client["b"]
            rows.add([[1.0]], ["x"])
            rows.add([[1.0]], ["y"])
            time.sleep(0.05)
            rows.add([[1.0]], ["z"])
            with self.assertRaisesRegex(OSError, "save was not done: the server was started again .* 'a'"):
                rows.save()
            rows.save()
            other.save()

    def test_a_save_after_a_reconnect_to_the_same_server(self):
        ops = []
        second = greeted(*[noted(ops, step) for step in (echo(None), echo(who()), echo(None))])
        with Scripted(greeted(echo({}), echo(["x"])), second) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            time.sleep(0.05)
            rows.save()
            rows.save()
        self.assertEqual(ops, [("save", "a"), ("stats", None), ("save", "a")])

    def test_a_save_over_the_connection_of_the_changes_sends_nothing_more(self):
        ops = []
        steps = (echo({}), echo(["x"]), echo(None), echo(["y"]), echo(None))
        with Scripted(greeted(*[noted(ops, step) for step in steps])) as server, svc.connect(server.address) as client:
            rows = client["a"]
            for name in ("x", "y"):
                rows.add([[1.0]], [name])
                rows.save()
        self.assertEqual([op for op, _ in ops], ["open_collection", "add", "save", "add", "save"])

    def test_a_save_fails_for_changes_that_a_failed_save_dropped(self):
        for op in ("save", "compact"):
            for at_the_greeting in (0, 1):
                second = greeted(echo(["z"]), echo(None), echo(who(lost_saves=1)), echo(None), lost_saves=at_the_greeting)
                with self.subTest((op, at_the_greeting)), Scripted(greeted(echo({}), echo(["x"])), second) as server:
                    with svc.connect(server.address) as client:
                        rows = client["a"]
                        rows.add([[1.0]], ["x"])
                        time.sleep(0.05)
                        rows.add([[1.0]], ["z"])
                        with self.assertRaisesRegex(OSError, "a save failed after unsaved changes of 'a'.*this %s was done" % op):
                            getattr(rows, op)()
                        rows.save()

    def test_failed_saves_before_a_change_are_none_of_its(self):
        first = greeted(echo({}), echo(["x"]), lost_saves=3)
        second = greeted(echo(None), echo(who(lost_saves=3)), lost_saves=3)
        with Scripted(first, second) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            time.sleep(0.05)
            rows.save()

    def test_a_save_that_fails_in_the_server_reports_all(self):
        first = greeted(echo({}), echo(["x"]), lambda peer: peer.error("OSError: the disk is full"))
        second = greeted(echo(None), instance="1", lost_saves=1)
        with Scripted(first, second) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            with self.assertRaisesRegex(OSError, "the disk is full"):
                rows.save()
            time.sleep(0.05)
            rows.save()

    def test_a_save_that_is_not_done_reports_nothing(self):
        busy = TimeoutError, "TimeoutError: another process holds the lock", None
        full = OSError, "OSError: the disk is full", "OSError.disk_full"
        for kind, line, code in (busy, full):
            first = greeted(echo({}), echo(["x"]), lambda peer, line=line, code=code: peer.error(line, code))
            with self.subTest(line), Scripted(first, greeted(instance="2")) as server:
                with svc.connect(server.address) as client:
                    rows = client["a"]
                    rows.add([[1.0]], ["x"])
                    with self.assertRaisesRegex(kind, line.split(": ")[1]):
                        rows.save()
                    time.sleep(0.05)
                    with self.assertRaisesRegex(OSError, "save was not done: the server was started again"):
                        rows.save()

    def test_a_connection_lost_after_the_save_makes_the_next_save_check_again(self):
        first = greeted(echo({}), echo(["x"]))
        second = greeted(echo(None), hang_up)
        third = greeted(echo(None), echo(who(lost_saves=1)))
        with Scripted(first, second, third) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            time.sleep(0.05)
            with self.assertRaisesRegex(OSError, "a save failed after unsaved changes"):
                rows.save()

    def test_a_server_without_an_instance_is_taken_for_the_same(self):
        first = greeted(echo({}), echo(["x"]), instance=None)
        with Scripted(first, greeted(echo(None), instance=None)) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            time.sleep(0.05)
            rows.save()

    def test_a_server_with_an_instance_is_another_than_one_without(self):
        for one, other in (("1", None), (None, "1")):
            first = greeted(echo({}), echo(["x"]), instance=one)
            with self.subTest(one), Scripted(first, greeted(instance=other)) as server, svc.connect(server.address) as client:
                rows = client["a"]
                rows.add([[1.0]], ["x"])
                time.sleep(0.05)
                with self.assertRaisesRegex(OSError, "the server was started again"):
                    rows.save()

    def test_saved_changes_need_no_check(self):
        first = greeted(echo({}), echo(["x"]), echo(None), instance="1")
        with Scripted(first, greeted(echo(None), instance="2")) as server, svc.connect(server.address) as client:
            rows = client["a"]
            rows.add([[1.0]], ["x"])
            rows.save()
            time.sleep(0.05)
            rows.save()

    def test_ctrl_c_leaves_no_reply_behind(self):
        def late(peer):
            os.kill(os.getpid(), signal.SIGINT)
            peer.wait_for_end()

        with Scripted(greeted(late), greeted(echo(["b"]))) as server, svc.connect(server.address) as client:
            with self.assertRaises(KeyboardInterrupt):
                client.collections()
            self.assertEqual(client.collections(), ["b"])


class SharingTest(unittest.TestCase):
    def test_threads(self):
        def answers(peer):
            peer.greet()
            try:
                while True:
                    peer.reply({"ids": [peer.read()["collection"]]})
            except EOFError:
                pass

        with Scripted(answers) as server, svc.connect(server.address) as client:
            failures = []

            def ask(name):
                rows = client[name]
                for _ in range(100):
                    if rows.search([1.0])["ids"] != [name]:
                        failures.append(name)

            threads = [threading.Thread(target=ask, args=("c%d" % i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])

    def test_close(self):
        with Scripted(greeted()) as server:
            client = svc.connect(server.address)
            client.close()
            client.close()
            with self.assertRaisesRegex(ValueError, "closed"):
                client.ping()

    def test_close_ends_what_another_thread_waits_for(self):
        asked = threading.Event()

        def waits(peer):
            asked.set()
            peer.wait_for_end()

        with Scripted(greeted(waits)) as server:
            client = svc.connect(server.address)
            caught = []

            def ask():
                try:
                    client.collections()
                except OSError as error:
                    caught.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            asked.wait(5)
            client.close()
            thread.join(5)
            self.assertIsInstance(caught[0], ConnectionAbortedError)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_process_has_its_own_connection_needs_fork(self):
        read, write = os.pipe()
        with Scripted(greeted(echo(["parent"])), greeted(echo(["child"]))) as server:
            with svc.connect(server.address) as client:
                pid = os.fork()
                if pid == 0:
                    try:
                        # The script goes on to the second connection only when the first is answered.
                        os.write(write, b"," + client.collections()[0].encode())
                    finally:
                        os._exit(0)
                self.assertEqual(client.collections(), ["parent"])
                client.close()
                os.waitpid(pid, 0)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assertEqual(pipe.read(), ",child")

    def test_a_loop_over_a_client_is_a_mistake(self):
        with Scripted(greeted()) as server, svc.connect(server.address) as client, self.assertRaises(TypeError):
            iter(client)


if __name__ == "__main__":
    unittest.main()
