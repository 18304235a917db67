"""The client of ``svc serve``: collections of vectors and texts that live in another process or on another host.

    import svc

    with svc.connect("unix:///run/user/1000/svc.sock") as memory:
        notes = memory.create_collection("notes", embedder="multigram")
        notes.add_texts(["the kettle is in the left cupboard"], metadata=[{"scope": "home"}])
        notes.save()
        for hit in notes.search_hits("where is the kettle", where=svc.Eq("scope", "home"))["hits"]:
            print(hit["date"], hit["text"])

It needs Python 3.8 and its standard library. Arrays of numpy are taken where the caller has them.
"""

from .client import RemoteTelys, connect
from .collection import Hit, HitsResult, RemoteCollection, Row, SearchResult
from .errors import CancelledError, OutcomeUnknownError, RemoteError
from .filters import Eq, scope_key

__all__ = [
    "CancelledError",
    "Eq",
    "Hit",
    "HitsResult",
    "OutcomeUnknownError",
    "RemoteCollection",
    "RemoteError",
    "RemoteTelys",
    "Row",
    "SearchResult",
    "connect",
    "scope_key",
]
