"""A collection on a server."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, TypedDict

from .batches import (
    GET_ROWS,
    Column,
    Id,
    Pieces,
    add_progress,
    id_column,
    id_list,
    metadata_list,
    refuse_repeats,
    requests,
)
from .checks import length, positive, string
from .checks import top_k as checked_top_k
from .errors import RemoteRuntimeError, RemoteValueError
from .filters import Where, where_json
from .session import Kind, Session
from .vectors import Query, Vectors, matrix, texts_json, vector_json
from .wire import json_bytes

#: One dict or None for each row.
Metadata = Iterable[Optional[Mapping[str, Any]]]


class _Ranking(TypedDict):
    ids: List[str]
    scores: List[float]


class SearchResult(_Ranking, total=False):
    """The best rows, best first; the lists run side by side.

    ``scores`` are inner products, cosines or negative squared distances, by the collection's metric, or fused scores.
    ``metadata`` is there with ``with_metadata``, one dict or None for each id. ``explain`` is there on request:
    ``mode``, ``screened_rows``, ``scored_rows``, ``probed_lists``, if fused also ``dense_scores`` and
    ``lexical_scores``, by meaning ``meaning_scores`` and ``meaning_weight``, and ``replaced`` if words of a text were
    searched as others. ``notice`` is there, a sentence,
    where they were, where the rows have none of a text's words, where a text is longer than 64 KiB (its beginning is
    searched for), or where something in the collection's files is damaged: what that means for the answer, and what
    mends it.
    """

    metadata: List[Optional[Dict[str, Any]]]
    explain: Dict[str, Any]
    notice: str


class _Read(TypedDict):
    id: str
    found: bool


class Row(_Read, total=False):
    """A row by its id. ``found`` is False, and there is nothing else, where the id is not live.

    ``metadata`` and ``text`` are there where they were requested and the row has them. A row of a repository's index
    has no text: that is in the file which its metadata names. ``created`` and ``updated``: when the id became live and
    when the row was last put, in milliseconds since 1970.
    """

    metadata: Dict[str, Any]
    text: str
    created: int
    updated: int


class _Ranked(TypedDict):
    id: str
    score: float
    created: int
    updated: int
    date: str


class Hit(_Ranked, total=False):
    """A row that a search has found. ``date`` is the day of ``updated`` in UTC, as in ``"2026-03-31"``.

    ``metadata`` and ``text`` are as in :class:`Row`. Where ``truncated`` is there, the text is a passage, which begins
    at byte ``start`` of the whole text's UTF-8.
    """

    metadata: Dict[str, Any]
    text: str
    truncated: bool
    start: int


class _Hits(TypedDict):
    hits: List[Hit]


class HitsResult(_Hits, total=False):
    """The best rows for a text, best first. ``notice`` is as in :class:`SearchResult`, and also says why rows of a
    repository's index have no text.
    """

    notice: str


class RemoteCollection:
    """A collection by its name. Changes are in the server's memory, visible to all of its clients, until :meth:`save`.

    A call of more than 64 MiB travels in several requests, and **each of them** is all or nothing, not the call. Where
    a later one fails, the exception's ``applied_ids`` holds the ids of the earlier ones and its message counts their
    rows.

    Every method may raise OSError where the server is gone, and TimeoutError where another process is writing. Where
    the server was started again after unsaved changes of this client, the next :meth:`save` or :meth:`compact` raises
    OSError once and does nothing; where another save failed after them, it saves what is still there and raises OSError
    once.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        #: The collection's name.
        self.name = name

    def __repr__(self) -> str:
        return f"<svc.RemoteCollection {self.name!r} at {self._session.address}>"

    def add(
        self, vectors: Vectors, ids: Optional[Iterable[Id]] = None, metadata: Optional[Metadata] = None
    ) -> List[str]:
        """Adds rows under new ids; returns the ids.

        ``vectors``: of the shape (rows, dim): a list of rows, a numpy array, a memoryview. A flat buffer such as
        ``array.array("f")`` holds as many rows as there are ``ids`` (or ``metadata``), one where neither is given. They
        are sent in single precision. ``ids``: one a row, 1 to 512 bytes of UTF-8; an integer stands for its decimal
        string; left out, each row gets a UUID. ``metadata``: a dict or None a row, at most 64 KiB as JSON; without the
        collection's partition key, the row belongs to the partition ``"default"``.

        Raises KeyError for an id that exists or is repeated, ValueError for rows of different or wrong length and for
        NaN and infinities, TypeError for what is not a number. Then nothing of the request was added (see above for calls
        beyond 64 MiB).
        """
        return self._put_vectors("add", vectors, ids, metadata)

    def upsert(
        self, vectors: Vectors, ids: Optional[Iterable[Id]] = None, metadata: Optional[Metadata] = None
    ) -> List[str]:
        """Adds rows, or replaces vector and metadata of those whose ids exist. See :meth:`add`.

        Of a repeated id the last row wins.
        """
        return self._put_vectors("upsert", vectors, ids, metadata)

    def add_texts(
        self, texts: Iterable[str], ids: Optional[Iterable[Id]] = None, metadata: Optional[Metadata] = None
    ) -> List[str]:
        """Embeds texts on the server and adds them; returns the ids. The collection must have an embedder.

        ``texts``: strings of at most 16 MiB, of which the first 1 MiB is embedded. The rest is as with :meth:`add`.
        """
        return self._put_texts("add_texts", texts, ids, metadata)

    def upsert_texts(
        self, texts: Iterable[str], ids: Optional[Iterable[Id]] = None, metadata: Optional[Metadata] = None
    ) -> List[str]:
        """Embeds texts on the server and adds or replaces them by id. See :meth:`add_texts` and :meth:`upsert`."""
        return self._put_texts("upsert_texts", texts, ids, metadata)

    def search(
        self,
        vector: Query,
        top_k: int = 10,
        where: Optional[Where] = None,
        explain: bool = False,
        with_metadata: bool = False,
    ) -> SearchResult:
        """The rows nearest to ``vector`` by the collection's metric, best first.

        ``vector``: of the shape (dim,) or (1, dim). ``top_k``: most hits to return, clamped to 1 … 100,000. ``where``:
        only rows that match. ``explain``: also return how the result was found. ``with_metadata``: also return each
        row's metadata.

        Raises ValueError for a vector of the wrong length and for a column that cannot be filtered by.
        """
        return self._search("search", "vector", vector_json(vector), top_k, where, explain, with_metadata)

    def search_text(
        self,
        text: str,
        top_k: int = 10,
        where: Optional[Where] = None,
        explain: bool = False,
        with_metadata: bool = False,
    ) -> SearchResult:
        """The rows nearest to ``text``, by the collection's embedder and by word. See :meth:`search`."""
        query = json_bytes(string(text, "text"), "text")
        return self._search("search_text", "text", query, top_k, where, explain, with_metadata)

    def search_hits(
        self,
        text: str,
        top_k: int = 10,
        where: Optional[Where] = None,
        with_text: bool = True,
        with_metadata: bool = True,
        text_bytes: Optional[int] = None,
    ) -> HitsResult:
        """As :meth:`search_text`, with the rows' texts and dates: ``{"hits": [{"id", "score", "text", ...}]}``.

        ``text_bytes``: most bytes of each text, counted as JSON without the quotes, from 1: a longer text is cut to the
        passage that fits the query best. None: whole texts.

        Raises ValueError for a reply larger than 256 MiB, and RuntimeError where the server is too old.
        """
        args = {"text": json_bytes(string(text, "text"), "text"), "top_k": b"%d" % checked_top_k(top_k)}
        filtered = where_json(where)
        if filtered is not None:
            args["where"] = filtered
        if text_bytes is not None:
            args["text_bytes"] = b"%d" % positive(text_bytes, "text_bytes")
        found: HitsResult = self._read("search_hits", dict, args, with_text, with_metadata)
        for hit in found.get("hits", ()):
            hit["score"] = float(hit["score"])
        return found

    def get(self, ids: Iterable[Id], with_text: bool = True, with_metadata: bool = True) -> List[Row]:
        """Rows in the order of ``ids``; ``found`` is False for an id that is not live.

        More than 10,000 are read by several requests; others' changes may come between two of them. Raises ValueError
        where a reply would be larger than 256 MiB, and RuntimeError where the server is too old.
        """
        names = id_list(ids)
        column = id_column(names)
        rows: List[Row] = []
        for start in range(0, max(1, len(names)), GET_ROWS):
            args = {"ids": column.json(start, min(start + GET_ROWS, len(names)))}
            rows += self._read("get", list, args, with_text, with_metadata)
        return rows

    def ids(self, where: Optional[Where] = None) -> List[str]:
        """Ids of the live rows in the order they were first added. Raises ValueError for a list larger than a reply."""
        filtered = where_json(where)
        args = {} if filtered is None else {"where": filtered}
        return self._session.call("ids", list, self.name, args)  # type: ignore[no-any-return]

    def delete(self, ids: Iterable[Id]) -> int:
        """Deletes rows; returns how many were live. Unknown ids are passed over."""
        names = id_list(ids)
        deleted = 0

        def note(count: int) -> None:
            nonlocal deleted
            deleted += count

        self._send("delete", int, {"ids": id_column(names)}, len(names), note, "deleted", names)
        return deleted

    def compact(self) -> None:
        """Drops the space of deleted and replaced rows. Saves first."""
        self._session.call("compact", type(None), self.name)

    def save(self) -> None:
        """Makes every change so far durable. Raises OSError if the disk fails; the collection is then as last saved."""
        self._session.call("save", type(None), self.name)

    def stats(self) -> Dict[str, Any]:
        """Properties and counters: ``external_ids`` (live rows), ``dim``, ``unsaved_changes`` and others."""
        return self._session.call("stats", dict, self.name)  # type: ignore[no-any-return]

    def _put_vectors(
        self, op: str, vectors: Vectors, ids: Optional[Iterable[Id]], metadata: Optional[Metadata]
    ) -> List[str]:
        names = None if ids is None else id_list(ids)
        pieces = None if metadata is None else metadata_list(metadata)
        beside = names if names is not None else pieces
        rows = matrix(vectors, None if beside is None else len(beside), lambda: int(self.stats()["dim"]))
        return self._put(op, "vectors", rows, rows.rows, names, pieces)

    def _put_texts(
        self, op: str, texts: Iterable[str], ids: Optional[Iterable[Id]], metadata: Optional[Metadata]
    ) -> List[str]:
        names = None if ids is None else id_list(ids)
        pieces = None if metadata is None else metadata_list(metadata)
        rows = texts_json(texts)
        return self._put(op, "texts", Pieces(rows), len(rows), names, pieces)

    def _put(
        self, op: str, kind: str, column: Column, rows: int, ids: Optional[List[str]], metadata: Optional[List[bytes]]
    ) -> List[str]:
        columns: Dict[str, Column] = {kind: column}
        length(ids, "ids", rows)
        length(metadata, "metadata", rows)
        if ids is not None:
            if op.startswith("add"):
                refuse_repeats(ids)
            columns["ids"] = id_column(ids)
        if metadata is not None:
            columns["metadata"] = Pieces(metadata)
        made: List[str] = []
        self._send(op, list, columns, rows, made.extend, "added" if op.startswith("add") else "upserted", made)
        return made

    def _send(
        self,
        op: str,
        kind: type,
        columns: Mapping[str, Column],
        rows: int,
        note: Callable[[Any], None],
        change: str,
        ids: List[str],
    ) -> None:
        """The requests of one call, one after the other; ``note`` gets each one's result."""
        for start, _, args in requests(columns, rows):
            try:
                result = self._session.call(op, kind, self.name, args)
            except Exception as error:
                if start > 0:
                    add_progress(error, start, rows, change, ids[:start])
                raise
            note(result)

    def _read(self, op: str, kind: Kind, args: Dict[str, bytes], with_text: bool, with_metadata: bool) -> Any:
        """The result of an operation that servers of earlier versions do not know."""
        if not with_text:
            args["with_text"] = b"false"
        if not with_metadata:
            args["with_metadata"] = b"false"
        try:
            return self._session.call(op, kind, self.name, args)
        except RemoteValueError as error:
            if str(error) != f"unknown op '{op}'":
                raise
            message = f"the server is too old for '{op}': update svc where it runs, and start it again"
            raise RemoteRuntimeError(message) from None

    def _search(
        self, op: str, kind: str, query: bytes, top_k: int, where: Optional[Where], explain: bool, with_metadata: bool
    ) -> SearchResult:
        args = {kind: query, "top_k": b"%d" % checked_top_k(top_k)}
        filtered = where_json(where)
        if filtered is not None:
            args["where"] = filtered
        if explain:
            args["explain"] = b"true"
        if with_metadata:
            args["with_metadata"] = b"true"
        found: SearchResult = self._session.call(op, dict, self.name, args)
        # JSON writes a whole number without a point.
        found["scores"] = [float(score) for score in found.get("scores", ())]
        return found
