"""TLS: which servers the client accepts, and what it says of the others. The servers are in SVC_TEST_SERVERS, as JSON."""

import contextlib
import json
import os
import socket
import ssl
import threading
import unittest

import svc

GIVEN = json.loads(os.environ.get("SVC_TEST_SERVERS", "{}"))


@contextlib.contextmanager
def in_front(address, resets):
    """A port whose first connections are reset; later ones go through to the server."""
    host, port = address.partition("#")[0][len("tls://") :].rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", 0))
    seen = []

    def pump(source, target):
        with contextlib.suppress(OSError):
            while True:
                data = source.recv(65536)
                if not data:
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                seen.append(sock)
                if len(seen) <= resets:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    sock.close()
                    continue
                server = socket.create_connection((host, int(port)))
                for pair in ((sock, server), (server, sock)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1], seen
    finally:
        listener.close()


@unittest.skipUnless(GIVEN, "needs running servers")
class TlsTest(unittest.TestCase):
    def connect(self, name, **options):
        client = svc.connect(GIVEN[name], GIVEN["token"], **options)
        self.addCleanup(client.close)
        return client

    def test_an_address_with_a_fingerprint_needs_no_further_argument(self):
        client = self.connect("own")
        self.assertEqual(client.collections(), [])
        # A connection that was idle, on which tickets of TLS have come, is used again.
        before = client.stats()["connections"]["accepted"]
        client.ping()
        self.assertEqual(client.stats()["connections"]["accepted"], before)

    def test_large_requests_and_replies(self):
        notes = self.connect("own").create_collection("large", 2)
        ids = ["row-%d-%s" % (i, "x" * 100) for i in range(60_000)]
        self.assertEqual(notes.add([[1.0, 0.0]] * len(ids), ids=ids), ids)
        self.assertEqual(sorted(notes.ids()), sorted(ids))

    def test_another_fingerprint(self):
        place, _, pin = GIVEN["own"].partition("#")
        wrong = "SHA256:" + "A" * 43
        with self.assertRaises(PermissionError) as caught:
            svc.connect(place + "#" + wrong, GIVEN["token"])
        for part in (pin, wrong, "ask for the new address"):
            self.assertIn(part, str(caught.exception))

    def test_an_authority(self):
        for tls in ({"ca": GIVEN["ca"]}, ssl.create_default_context(cafile=GIVEN["ca"])):
            self.connect("signed", tls=tls).ping()
        for tls in (None, {"ca": GIVEN["other_ca"]}):
            with self.assertRaisesRegex(PermissionError, "is refused: its certificate cannot be verified .*issuer"):
                self.connect("signed", tls=tls)
        with self.assertRaisesRegex(PermissionError, "cannot be verified .*expired"):
            self.connect("expired", tls={"ca": GIVEN["ca"]})
        with self.assertRaisesRegex(PermissionError, "cannot be verified .*(mismatch|not valid for)"):
            self.connect("elsewhere", tls={"ca": GIVEN["ca"]})

    def test_mutual_tls(self):
        tls = {"cert": GIVEN["client_cert"], "key": GIVEN["client_key"]}
        self.connect("mutual", tls=tls).ping()
        with self.assertRaisesRegex(PermissionError, "refuses this client's certificate, or requires one"):
            self.connect("mutual")
        with self.assertRaisesRegex(OSError, "--client-ca"):
            self.connect("mutual", tls={"cert": GIVEN["other_cert"], "key": GIVEN["other_key"]})

    def test_a_wrong_token(self):
        with self.assertRaisesRegex(PermissionError, "unauthorized"):
            svc.connect(GIVEN["own"], "wrong")

    def test_one_side_speaks_tls_and_the_other_does_not(self):
        plain = GIVEN["own"].partition("#")[0].replace("tls:", "tcp:")
        with self.assertRaisesRegex(OSError, "this port speaks TLS, and the client does not"):
            svc.connect(plain, GIVEN["token"])
        with self.assertRaisesRegex(OSError, "^127.0.0.1:[0-9]+ does not speak TLS.* do not connect without TLS"):
            svc.connect(GIVEN["plain"].replace("tcp:", "tls:"), GIVEN["token"], tls={"ca": GIVEN["ca"]})

    def test_a_first_connection_that_is_reset_is_tried_again(self):
        pin = GIVEN["own"].partition("#")[2]
        with in_front(GIVEN["own"], 2) as (port, seen):
            with svc.connect(f"tls://127.0.0.1:{port}#{pin}", GIVEN["token"]) as client:
                client.ping()
            self.assertEqual(len(seen), 3)
        with in_front(GIVEN["own"], 99) as (port, seen):
            with self.assertRaises(ConnectionResetError):
                svc.connect(f"tls://127.0.0.1:{port}#{pin}", GIVEN["token"])
            self.assertEqual(len(seen), 3)
            with self.assertRaises(ConnectionResetError):
                svc.connect(f"tls://127.0.0.1:{port}#{pin}", GIVEN["token"], timeout=0.01)
            self.assertEqual(len(seen), 4)

    def test_a_server_that_does_not_finish_its_handshake(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with self.assertRaisesRegex(TimeoutError, "did not answer in time"):
                svc.connect("tls://127.0.0.1:%d" % listener.getsockname()[1], "token", 0.1)

    def test_closing_ends_a_request_of_another_thread(self):
        client = svc.connect(GIVEN["own"], GIVEN["token"])
        notes = client.create_collection("busy", 2)
        failures = []

        def work():
            try:
                while True:
                    notes.ids()
            except (OSError, ValueError) as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        client.close()
        thread.join(10)
        self.assertEqual(len(failures), 1)

    def test_options_that_do_not_fit(self):
        pinned = "tls://localhost:1#SHA256:" + "A" * 43
        ca = GIVEN["ca"]
        for address, tls, kind, message in (
            ("tcp://localhost:1", {"ca": ca}, ValueError, "begins with tls://"),
            ("./s.sock", {}, ValueError, "begins with tls://"),
            (pinned, {"ca": ca}, ValueError, "leave the ca out"),
            (pinned, ssl.create_default_context(), ValueError, "nothing else is checked"),
            (pinned, {"cert": ca}, ValueError, "cert and key of tls belong together"),
            (pinned, {"cafile": ca}, ValueError, "tls has 'cafile'; there are ca, cert, key"),
            (pinned, {"cert": ca, "key": ca}, OSError, "tls: cert and key cannot be read"),
            ("tls://localhost:1", {"ca": "/nowhere/ca.pem"}, OSError, "tls: ca cannot be read"),
            ("tls://localhost:1", ca, TypeError, "tls must be a dict"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                svc.connect(address, "token", tls=tls)


if __name__ == "__main__":
    unittest.main()
