"""Servers that end: in good order, with a last frame that says so, or by vanishing without closing anything."""

import json
import struct
import unittest

import svc
from scripted import Peer, Scripted, echo, greeted
from svc.session import Session

GOODBYE = {"ok": False, "error": "RuntimeError: the server is ending", "code": "closing"}


def goodbye(peer):
    peer.send(GOODBYE)


class ClosingTest(unittest.TestCase):
    def test_a_change_that_was_not_carried_out_is_sent_to_the_next_server(self):
        scripts = (greeted(goodbye), greeted(echo({"created": "b"}), instance="2"))
        with Scripted(*scripts) as server, svc.connect(server.address) as client:
            client.create_collection("b", 3)
            self.assertEqual(server.accepted, 2)

    def test_twice_in_a_row_is_an_error_that_says_nothing_was_applied(self):
        with Scripted(greeted(goodbye), greeted(goodbye)) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(ConnectionResetError, "lost twice in a row: .*the server is ending") as caught:
                client.create_collection("b", 3)
            self.assertNotIsInstance(caught.exception, svc.OutcomeUnknownError)

    def test_after_the_reply_the_next_request_finds_another_connection(self):
        def reply_and_goodbye(peer):
            replies = [{"ok": True, "result": ["a"], "id": peer.request["id"]}, GOODBYE]
            bodies = [json.dumps(reply).encode() for reply in replies]
            # In one write: the client's next request finds both.
            peer.raw(b"".join(struct.pack(">I", len(body)) + body for body in bodies))

        scripts = (greeted(reply_and_goodbye), greeted(echo({"created": "b"})))
        with Scripted(*scripts) as server, svc.connect(server.address) as client:
            self.assertEqual(client.collections(), ["a"])
            client.create_collection("b", 3)

    def test_an_error_with_the_code_and_an_id_is_about_the_request(self):
        def failed(peer):
            peer.send({**GOODBYE, "id": peer.request["id"]})

        with Scripted(greeted(failed)) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(RuntimeError, "the server is ending"):
                client.create_collection("b", 3)


class SilenceTest(unittest.TestCase):
    def setUp(self):
        limits = (Session.silence, Session.search)
        Session.silence, Session.search = 0.2, 0.4

        def restore():
            Session.silence, Session.search = limits

        self.addCleanup(restore)
        #: Keep connections open that a script has left.
        self.held = []
        self.addCleanup(lambda: [sock.close() for sock in self.held])

    def hold(self, peer):
        self.held.append(peer.sock.dup())

    def test_a_server_that_works_for_long_is_waited_for(self):
        asked = []

        def works(peer):
            asked.append(peer.request)
            self.hold(peer)

        def found(peer):
            peer.greet()
            first = Peer(self.held[0])
            first.request = asked[0]
            first.reply({"created": "b"})

        with Scripted(greeted(works), found, tcp=True) as server, svc.connect(server.address) as client:
            client.create_collection("b", 3)
            self.assertEqual(server.accepted, 2)

    def test_a_server_that_refuses_another_connection_is_there(self):
        asked = []

        def works(peer):
            asked.append(peer.request)
            self.hold(peer)

        def refuses(peer):
            peer.read()
            peer.send({"ok": False, "error": "RuntimeError: too many connections"})
            first = Peer(self.held[0])
            first.request = asked[0]
            first.reply({"created": "b"})

        with Scripted(greeted(works), refuses, tcp=True) as server, svc.connect(server.address) as client:
            client.create_collection("b", 3)

    def test_a_change_on_a_server_that_has_vanished_may_have_been_applied(self):
        with Scripted(greeted(self.hold), tcp=True) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(svc.OutcomeUnknownError, "fell silent, and cannot be reached"):
                client.create_collection("b", 3)

    def test_a_read_fails_with_the_reason_why_the_server_is_not_reached(self):
        with Scripted(greeted(self.hold), tcp=True) as server, svc.connect(server.address) as client:
            with self.assertRaisesRegex(ConnectionRefusedError, "cannot connect to"):
                client.collections()


if __name__ == "__main__":
    unittest.main()
