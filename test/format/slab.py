"""Checksums, the manifest and sealed slabs, by FORMAT.md."""

import json
import os
import struct

VERSIONS = (7, 8)
BLOCK = 64 << 10
BASE, IVF, LEXICAL, DELTA, MEANING, HISTORY = range(1, 7)
KINDS = {"base": BASE, "ivf": IVF, "lexical": LEXICAL, "delta": DELTA, "meaning": MEANING, "history": HISTORY}
LEAST = {MEANING: 8, HISTORY: 8}  # versions that have files of this kind
SUMS, LINES, DIRECTORY = 31, 19, 28


class Damaged(Exception):
    """Bytes that are not what FORMAT.md says."""


def need(condition, sentence):
    if not condition:
        raise Damaged(sentence)


def _table():
    out = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        out.append(n)
    return out


TABLE = _table()


def crc32c(data):
    crc, table = 0xFFFFFFFF, TABLE
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


KEYS = [
    "name", "dim", "dtype", "key_name", "filter_columns", "id_map", "telys_version", "default_target_recall",
    "applied_tuner", "lexical", "embedder_profile", "notes", "format_version", "generation", "live_rows",
    "total_rows", "superseded", "files", "crc32c",
]  # fmt: skip
OPTIONAL = {"notes", "superseded"}


def read_manifest(folder):
    with open(os.path.join(folder, "collection.json"), "rb") as file:
        data = file.read()
    pairs = json.loads(data, object_pairs_hook=list)
    names = [name for name, _ in pairs]
    need(len(set(names)) == len(names), "a key twice")
    first = names.index("format_version")
    version = dict(pairs)["format_version"]
    need(version in VERSIONS, "another version")
    need(version == 7 or "superseded" not in names, "a key of version 7")
    known = [name for name in names if name in KEYS]
    need(known == [name for name in KEYS if name in known or name not in OPTIONAL], "the keys and their order")
    for at, name in enumerate(names):
        need(name in KEYS or names.index("embedder_profile") < at < first, f"{name} is not where unknown keys are")
    tail = data.rindex(b'"crc32c"')
    need(names[-1] == "crc32c" and crc32c(data[:tail]) == pairs[-1][1], "the checksum of collection.json")
    # Objects are lists of pairs: their members in the order of the file.
    manifest = {name: value for name, value in pairs}
    need(len(data) % 64 == manifest["generation"] % 64, "the size of collection.json follows from the generation")
    need(data.rstrip(b" ").endswith(b"}\n"), "what follows the object")
    return manifest


class Slab:
    """A file with a checked header; a sealed one with checked sections."""

    def __init__(self, folder, entry, manifest):
        entry = dict(entry)
        self.name = entry["name"]
        role, generation = self.name.removesuffix(".slab").rsplit("-", 1)
        with open(os.path.join(folder, self.name), "rb") as file:
            self.data = memoryview(file.read())
        need(len(self.data) >= entry["bytes"], f"{self.name} is short")
        self.data = self.data[: entry["bytes"]]
        magic, self.version, self.kind, count, table_crc, size, self.generation, self.base, reserved, crc = struct.unpack_from(
            "<8sIIIIQQQ12sI", self.data
        )
        need(magic == b"SVCSLAB1" and self.version in VERSIONS, f"the version of {self.name}")
        need(self.version <= manifest["format_version"], f"{self.name} is of a later version than the manifest")
        need(self.kind == KINDS[role] and LEAST.get(self.kind, 7) <= self.version, f"the kind of {self.name}")
        need(crc == crc32c(self.data[:60]) and reserved == bytes(12), f"the header of {self.name}")
        need(self.generation == int(generation, 16) <= manifest["generation"], f"the generation of {self.name}")
        if self.kind in (DELTA, MEANING):
            need((count, table_crc, size) == (0, 0, 64), f"the header of {self.name}")
            need(crc32c(self.data) == entry["crc32c"], f"the checksum of {self.name}")
            return
        end = 64 + 32 * count
        need(size == len(self.data) and crc32c(self.data[64:end]) == table_crc, f"the section table of {self.name}")
        need(crc32c(self.data[:end]) == entry["crc32c"], f"the checksum of {self.name}")
        self.sections, self.order, self.sums = {}, [], []
        for at in range(64, end, 32):
            ident, crc, offset, length, zero = struct.unpack_from("<IIQQQ", self.data, at)
            need(zero == 0 and offset % 64 == 0 and offset + length <= size, f"section {ident} of {self.name}")
            need(ident not in self.sections, f"section {ident} of {self.name} twice")
            self.sections[ident] = self.data[offset : offset + length]
            self.order.append(ident)
            need(self._checked(ident) == crc, f"section {ident} of {self.name}")
        need(self.order[-1] == SUMS, f"{self.name} has no sums at its end")
        need(self.sections[SUMS] == struct.pack(f"<{len(self.sums)}I", *self.sums), f"the sums of {self.name}")

    def _checked(self, ident):
        """The checksum of a section; notes those of its blocks."""
        section = self.sections[ident]
        blocks = [crc32c(section[at : at + BLOCK]) for at in range(0, len(section), BLOCK)]
        if ident != SUMS and not (ident == LINES and self.kind == BASE):
            self.sums += blocks
        return blocks[0] if len(blocks) == 1 else crc32c(section)

    def get(self, ident):
        return self.sections.get(ident, memoryview(b""))
