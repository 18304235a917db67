"""What saves have changed, by FORMAT.md: since the base from the blocks of deltas, before it from the history."""

import struct
import time

from rows import Row
from slab import SUMS, crc32c, need
from vectors import decode, dense, stored_bytes

ADDED, REPLACED, DELETED = 1, 2, 3
KINDS = {ADDED: "added", REPLACED: "replaced", DELETED: "deleted"}
SAVES, CHANGES, IDS, ROWS, ORIGINS = 1, 2, 3, 4, 5
META, TEXT, CODES, SPARSE = 1, 2, 4, 8
ORIGIN_MAX = 4096
TIME_MAX = (1 << 48) - 1
DAYS = 30


class Change:
    """What a save did to an id, with the row before it."""

    def __init__(self, kind, ident, before=None):
        self.kind, self.id, self.before = kind, ident, before

    def line(self):
        before = None if self.before is None else self.before.line()
        if before is not None:
            before.pop("values", None)
        return {"id": self.id.decode(), "kind": KINDS[self.kind], "before": before}


class Save:
    def __init__(self, number, saved, origin, changes):
        self.number, self.time, self.origin, self.changes = number, saved, origin, changes

    def line(self):
        origin = self.origin.decode()
        return {"save": self.number, "time": self.time, "origin": origin, "changes": [c.line() for c in self.changes]}


class Block:
    """Makes changes of the operations of a block: a row that it puts and takes away itself does not count."""

    def __init__(self, first_row):
        self.first_row, self.changes, self.of_row = first_row, [], {}

    def _add(self, row, change):
        if row.of_file:
            return None
        self.changes.append(change)
        return change

    def put(self, row, victim):
        if victim is None:
            change = self._add(row, Change(ADDED, row.id))
        elif victim.number < self.first_row:
            change = self._add(victim, Change(REPLACED, row.id, victim))
        else:
            change = self.of_row[victim.number]
        self.of_row[row.number] = change

    def delete(self, victim):
        if victim.number < self.first_row:
            self._add(victim, Change(DELETED, victim.id, victim))
            return
        change = self.of_row[victim.number]
        if change is not None:
            change.kind = None if change.kind == ADDED else DELETED

    def save(self, number, saved, origin):
        known = b"" if origin == b"{}" else origin
        return Save(number, saved or None, known, [change for change in self.changes if change.kind is not None])


def read_row(ident, data, dim, dtype):
    created, updated, meta, text, vector, flags = struct.unpack_from("<QQ4I", data)
    need(created <= updated <= TIME_MAX and flags < 16 and 0 <= len(data) - 32 - meta - text - vector < 8, "a row before")
    need(dtype == "f32" or not flags & CODES, "codes of another type")
    form = "int8" if flags & CODES else dtype
    ends = [32, 32 + vector, 32 + vector + meta, 32 + vector + meta + text]
    stored, metadata, words, padding = (bytes(data[a:b]) for a, b in zip(ends, [*ends[1:], len(data)]))
    if flags & SPARSE:
        need(form == "int8", "a sparse vector of another type")
        whole = dense(stored, dim)
        need(len(stored) < len(whole), "a sparse vector that is not shorter")
        stored = whole
    need(len(stored) == stored_bytes(form, dim) and not any(padding), "the vector of a row before")
    need((flags & META or not meta) and (flags & TEXT or not text), "the parts of a row before")
    return Row(
        ident, created, updated, metadata if flags & META else None, words if flags & TEXT else None,
        decode(stored, form, dim),
    )  # fmt: skip


def read_changes(slab, dim, dtype):
    ids, rows, changes = slab.get(IDS), slab.get(ROWS), []
    id_at = row_at = 0
    for id_end, row_end, crc, kind in struct.iter_unpack("<QQII", slab.get(CHANGES)):
        need(0 < id_end - id_at <= 512 and row_at <= row_end and row_end % 8 == 0, "the ends of a change")
        need(kind in KINDS and (kind != ADDED or row_end == row_at), "the kind of a change")
        ident, data = bytes(ids[id_at:id_end]), rows[row_at:row_end]
        is_whole = len(data) > 0 and crc32c(data) == crc
        changes.append(Change(kind, ident, read_row(ident, data, dim, dtype) if is_whole else None))
        id_at, row_at = id_end, row_end
    need(id_at == len(ids) and row_at == len(rows), "the ends of the changes")
    return changes


def read_history(slab, manifest):
    """The saves of the history."""
    need(set(slab.order) == {SAVES, CHANGES, IDS, ROWS, ORIGINS, SUMS}, "the sections of the history")
    changes = read_changes(slab, manifest["dim"], manifest["dtype"])
    origins, saves, from_, number = slab.get(ORIGINS), [], 0, 0
    for save, saved, end, at, length, added, replaced, deleted, reserved in struct.iter_unpack(
        "<4Q4I16s", slab.get(SAVES)
    ):
        need(number < save <= slab.generation and 0 < saved <= TIME_MAX and reserved == bytes(16), "a save of the history")
        need(at + length <= len(origins) and length <= ORIGIN_MAX, "the origin of a save")
        own = changes[from_:end]
        counts = [sum(change.kind == kind for change in own) for kind in KINDS]
        need(len(own) == end - from_ > 0 and counts == [added, replaced, deleted], "the changes of a save")
        saves.append(Save(save, saved, bytes(origins[at : at + length]), own))
        from_, number = end, save
    need(from_ == len(changes), "changes of no save")
    return saves


def remembered(saves, manifest):
    """Those that are not too old, with times: one of version 7 was not later than the next one."""
    note = dict(dict(manifest.get("notes", [])).get("history", []))
    days = note.get("days", DAYS)
    saves = [save for save in saves if save.changes and days > 0]
    for save, following in reversed(list(zip(saves, saves[1:]))):
        save.time = save.time or following.time
    least = time.time() * 1000 - days * 24 * 60 * 60 * 1000
    while saves and saves[0].time is not None and saves[0].time < least:
        saves.pop(0)
    return saves
