"""The client of ``svc serve``: collections of vectors and texts that live in another process or on another host.

    import svc

    with svc.connect("unix:///run/user/1000/svc.sock") as memory:
        notes = memory.create_collection("notes", embedder="multigram")
        notes.add_texts(["the kettle is in the left cupboard"], metadata=[{"scope": "home"}])
        notes.save()
        print(notes.search_text("where is the kettle", where=svc.Eq("scope", "home"))["ids"])

It needs Python 3.8 and its standard library. Arrays of numpy are taken where the caller has them.
"""

from .client import RemoteTelys, connect
from .collection import RemoteCollection, SearchResult
from .errors import CancelledError, OutcomeUnknownError, RemoteError
from .filters import Eq, scope_key

__all__ = [
    "CancelledError",
    "Eq",
    "OutcomeUnknownError",
    "RemoteCollection",
    "RemoteError",
    "RemoteTelys",
    "SearchResult",
    "connect",
    "scope_key",
]
