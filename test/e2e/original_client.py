"""A client of `svc serve` that knows what the service document says of the wire and nothing else: frames of a 4-byte
length and JSON, one bearer token over TCP, none over a Unix socket. It shares no code with svc's own Python client.

python3 original_client.py ADDRESS [TOKEN] tries every operation and prints `done`; it leaves the collections `vectors`
and `texts` saved. A difference ends it with a traceback.
"""

import json
import socket
import struct
import sys

FRAME_MAX = 256 * 1024 * 1024


class RemoteError(Exception):
    """`<Type>: <message>`, as it came."""


class RemoteTelys:
    """A connection, as a context manager."""

    def __init__(self, address, token=None, timeout=30.0):
        if address.startswith("unix://"):
            address = address[len("unix://") :]
        if address.startswith(("/", "./")):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(timeout)
            self.sock.connect(address)
        else:
            host, port = address.replace("tcp://", "").rsplit(":", 1)
            self.sock = socket.create_connection((host, int(port)), timeout)
        if token is not None:
            self.call("auth", None, {"token": token})

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def close(self):
        self.sock.close()

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.sock.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def call(self, op, collection=None, args=None):
        body = json.dumps({"op": op, "collection": collection, "args": args or {}}).encode("utf-8")
        self.sock.sendall(struct.pack(">I", len(body)) + body)
        (size,) = struct.unpack(">I", self.read(4))
        assert size <= FRAME_MAX
        reply = json.loads(self.read(size).decode("utf-8"))
        if not reply["ok"]:
            raise RemoteError(reply["error"])
        return reply["result"]

    def ping(self):
        self.call("ping")

    def create_collection(self, name, dim, partition_by, filter_columns=(), dtype="f32", embedder=None):
        args = {"dim": dim, "partition_by": partition_by, "filter_columns": list(filter_columns), "dtype": dtype}
        self.call("create_collection", name, dict(args, embedder=embedder))
        return RemoteCollection(self, name)

    def open_collection(self, name):
        self.call("open_collection", name)
        return RemoteCollection(self, name)

    __getitem__ = open_collection

    def collections(self):
        return self.call("collections")


class RemoteCollection:
    def __init__(self, client, name):
        self.client = client
        self.name = name

    def call(self, op, **args):
        return self.client.call(op, self.name, args)

    def add(self, vectors, ids=None, metadata=None):
        return self.call("add", vectors=vectors, ids=ids, metadata=metadata)

    def upsert(self, vectors, ids=None, metadata=None):
        return self.call("upsert", vectors=vectors, ids=ids, metadata=metadata)

    def add_texts(self, texts, ids=None, metadata=None):
        return self.call("add_texts", texts=texts, ids=ids, metadata=metadata)

    def upsert_texts(self, texts, ids=None, metadata=None):
        return self.call("upsert_texts", texts=texts, ids=ids, metadata=metadata)

    def search(self, vector, top_k=10, where=None, explain=False, with_metadata=False):
        options = {"top_k": top_k, "where": where, "explain": explain, "with_metadata": with_metadata}
        return self.call("search", vector=vector, **options)

    def search_text(self, text, top_k=10, where=None, explain=False, with_metadata=False):
        options = {"top_k": top_k, "where": where, "explain": explain, "with_metadata": with_metadata}
        return self.call("search_text", text=text, **options)

    def ids(self, where=None):
        return self.call("ids", where=where)

    def delete(self, ids):
        return self.call("delete", ids=ids)

    def compact(self):
        return self.call("compact")

    def save(self):
        return self.call("save")

    def stats(self):
        return self.call("stats")


def refused(error, action, *args, **more):
    """The line of the error that an action ends with; it begins with the expected one."""
    try:
        result = action(*args, **more)
    except RemoteError as caught:
        assert str(caught).startswith(error), caught
        return str(caught)
    raise AssertionError("%s was expected, and %r came" % (error, result))


def vectors(client):
    rows = client.create_collection("vectors", 3, "scope", filter_columns=["kind"])
    assert "vectors" not in client.collections(), "it was listed before its first save"
    assert client.create_collection("vectors", 3, "scope", filter_columns=["kind"]).name == "vectors"
    refused("ValueError: ", client.create_collection, "vectors", 4, "scope")
    refused("ValueError: ", client.open_collection, "missing")
    kinds = [{"scope": "a", "kind": "x"}, {"scope": "b", "kind": "x"}, {"scope": "b", "kind": "y"}]
    basis = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert rows.add(basis, ["one", "two", "three"], kinds) == ["one", "two", "three"]
    assert "one" in refused("KeyError: ", rows.add, [basis[0]], ["one"])
    (made,) = rows.add([[0.5, 0.5, 0.0]])
    assert isinstance(made, str) and made
    assert rows.delete([made, "unknown"]) == 1
    assert rows.upsert([[0.0, 1.0, 0.0], [0.6, 0.8, 0.0]], ["two", "four"]) == ["two", "four"]
    found = rows.search([1.0, 0.0, 0.0])
    assert found["ids"][:2] == ["one", "four"] and found["scores"][0] >= found["scores"][1], found
    assert rows.search([1.0, 0.0, 0.0], top_k=1)["ids"] == ["one"]
    found = rows.search([0.0, 0.0, 1.0], where={"kind": "x"}, explain=True, with_metadata=True)
    assert found["ids"] == ["one"] and found["metadata"][0]["scope"] == "a" and "explain" in found, found
    refused("ValueError: ", rows.search, [1.0, 0.0, 0.0], where={"kind": "x", "scope": "a"})
    refused("ValueError: ", rows.search, [1.0, 0.0])
    assert sorted(rows.ids()) == ["four", "one", "three", "two"]
    assert rows.ids({"scope": "b"}) == ["three"], "an upsert replaces the metadata as well"
    assert rows.save() is None
    assert client.collections() == ["vectors"]
    assert rows.delete(["three", "three"]) == 1 and "three" not in rows.ids()
    assert rows.compact() is None
    assert sorted(client["vectors"].ids()) == ["four", "one", "two"]
    stats = rows.stats()
    assert (stats["name"], stats["key_name"], stats["external_ids"]) == ("vectors", "scope", 3), stats


def texts(client):
    notes = client.create_collection("texts", 384, "scope", embedder="bigram")
    assert notes.add_texts(["We deploy on Tuesdays.", "The cat sleeps."], ["deploy", "cat"]) == ["deploy", "cat"]
    assert notes.search_text("when do we deploy", top_k=1)["ids"] == ["deploy"]
    assert notes.upsert_texts(["The cat is awake – größer €."], ["cat"], [{"scope": "pets"}]) == ["cat"]
    found = notes.search_text("awake", where={"scope": "pets"}, with_metadata=True)
    assert found["ids"] == ["cat"] and found["metadata"][0]["scope"] == "pets", found
    refused("ValueError: ", client.create_collection, "other", 384, "scope", embedder="unheard-of")
    notes.save()
    assert client.collections() == ["texts", "vectors"]


def unavailable(client):
    """What the service document says is not there remotely."""
    for op in ("update_texts", "tune", "apply_tuning", "len", "in", "build_ivf", "snapshot"):
        refused("ValueError: unknown op '%s'" % op, client.call, op, "vectors")
    client.ping()


def without_the_token(address, token):
    """Over TCP a client needs the token. On a Unix socket any token is accepted, and none is needed."""
    if token is None:
        with RemoteTelys(address, "any") as client:
            client.ping()
        return
    with RemoteTelys(address) as client:
        refused("unauthorized: send auth first", client.collections)
        try:
            client.ping()
        except (EOFError, OSError):
            pass
        else:
            raise AssertionError("the connection stayed open")
    for wrong in (token[:-1], token + "x", ""):
        refused("unauthorized", RemoteTelys, address, wrong)


def oversized(address, token):
    """A frame beyond 256 MiB is refused by its header."""
    with RemoteTelys(address, token) as client:
        client.sock.sendall(struct.pack(">I", FRAME_MAX + 1))
        (size,) = struct.unpack(">I", client.read(4))
        assert json.loads(client.read(size).decode("utf-8")) == {"ok": False, "error": "bad request"}
        assert client.sock.recv(1) == b""


if __name__ == "__main__":
    ADDRESS, TOKEN = sys.argv[1], (sys.argv[2:] or [None])[0]
    with RemoteTelys(ADDRESS, TOKEN) as one:
        one.ping()
        vectors(one)
        texts(one)
        unavailable(one)
    without_the_token(ADDRESS, TOKEN)
    oversized(ADDRESS, TOKEN)
    print("done")
