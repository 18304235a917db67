"""A server scripted by a test, one script for each connection: for all that a real server does not do."""

import json
import os
import socket
import struct
import tempfile
import threading


class Peer:
    """The server's end of one connection."""

    def __init__(self, sock):
        self.sock = sock
        self.request = {}

    def read_exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.sock.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def read(self):
        """The next request."""
        (size,) = struct.unpack(">I", self.read_exactly(4))
        self.request = json.loads(self.read_exactly(size).decode("utf-8"))
        self.request_bytes = size
        return self.request

    def raw(self, data):
        self.sock.sendall(data)

    def body(self, data):
        self.raw(struct.pack(">I", len(data)) + data)

    def send(self, reply):
        self.body(json.dumps(reply).encode("utf-8"))

    def reply(self, result):
        self.send({"ok": True, "result": result, "id": self.request["id"]})

    def error(self, line, code=None):
        self.send({"ok": False, "error": line, "code": code, "id": self.request["id"]})

    def wait_for_end(self):
        """Until the client closes its end. What it had not read makes a reset of that."""
        try:
            assert self.sock.recv(1) == b"", "the client sent more"
        except ConnectionResetError:
            pass

    def greet(self, instance="1", lost_saves=0):
        """Answers what a client says first: auth, if it has a token, and stats. Returns the token's request."""
        first = request = self.read()
        if request["op"] == "auth":
            self.reply({"authenticated": True})
            request = self.read()
        assert request["op"] == "stats", request
        self.reply(who(instance, lost_saves))
        return first


class Scripted:
    """Listens on a Unix socket, or on TCP; each connection gets the next script. None comes after the last."""

    def __init__(self, *scripts, tcp=False):
        self._scripts = scripts
        self._folder = tempfile.TemporaryDirectory()
        self._failures = []
        self.accepted = 0
        if tcp:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        else:
            path = os.path.join(self._folder.name, "svc.sock")
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(path)
            self._listener.listen()
            self.address = "unix://" + path
        self._listener.settimeout(10)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        for script in self._scripts:
            try:
                sock, _ = self._listener.accept()
                self.accepted += 1
                with sock:
                    sock.settimeout(10)
                    script(Peer(sock))
            except Exception as error:
                self._failures.append(error)
        self._listener.close()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self._thread.join(20)
        alive = self._thread.is_alive()
        self._listener.close()
        self._folder.cleanup()
        if kind is None and (alive or self._failures):
            raise AssertionError("the script failed: %r" % (self._failures or "it did not end"))


def who(instance="1", lost_saves=0):
    """The identity in a server's stats; a server without instances leaves it out."""
    return {"version": "0"} if instance is None else {"version": "0", "instance": instance, "lost_saves": lost_saves}


def greeted(*steps, instance="1", lost_saves=0):
    """A script that greets, and then does each step after one request."""

    def run(peer):
        peer.greet(instance, lost_saves)
        for step in steps:
            peer.read()
            step(peer)

    return run


def echo(result):
    return lambda peer: peer.reply(result)
