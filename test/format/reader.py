"""A reader of collections, from FORMAT.md and the files alone: `python3 reader.py FOLDER` prints a line of JSON for the
manifest, one for each live row, in the order of insertion, and one for each save that it remembers, the oldest first.
Without FOLDER it reads folders from stdin, a line each, and prints for each a line with all of this, or what is wrong."""

import json
import os
import struct
import sys
import traceback

import numpy as np
from history import ORIGIN_MAX, TIME_MAX, Block, read_history, remembered
from rows import Row
from slab import BASE, DELTA, HISTORY, IVF, LEXICAL, MEANING, Slab, crc32c, need, read_manifest
from vectors import decode, dense, of_base, stored_bytes

NO_ROW = (1 << 64) - 1


class State:
    """All rows by their numbers, dead ones too, those that live, and what saves since the base have changed."""

    def __init__(self, rows, next_row, base_generation):
        self.rows, self.live, self.next_row = dict(rows), dict(rows), next_row
        self.generation = base_generation - 1  # the first block may be of the base's own
        self.origin, self.saves = b"", []


def leb128(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def unpack(ends, data, rows):
    """Packed strings."""
    out = []
    if len(ends) == 0:
        return [b""] * rows
    at = 0
    for block in range(0, rows, 16):
        before = b""
        for _ in range(block, min(block + 16, rows)):
            length, at = leb128(data, at)
            row, read = bytearray(), 0
            while len(row) < length:
                copied, at = leb128(data, at)
                need(read + copied <= len(before), "a packed row copies beyond the one before")
                row += before[read : read + copied]
                read += copied
                if len(row) == length:
                    break
                fresh, passed = data[at] & 15, data[at] >> 4
                at += 1
                if fresh == 15:
                    more, at = leb128(data, at)
                    fresh += more
                if passed == 15:
                    more, at = leb128(data, at)
                    passed += more
                row += data[at : at + fresh]
                at += fresh
                read += passed
            need(len(row) == length, "a packed row is longer than it says")
            out.append(bytes(row))
            before = out[-1] if length <= 4096 else b""
        need(at == ends[block // 16], "the end of a block of packed rows")
    return out


def strings(ends, data):
    starts = [0, *ends[:-1]]
    return [bytes(data[a:b]) for a, b in zip(starts, ends)]


def u64(section):
    return [int(x) for x in np.frombuffer(section, dtype="<u8")]


def decode_texts(section, texts):
    """Texts that are coded with symbols."""
    count, trained, added, zero, size = struct.unpack_from("<IIIIQ", section)
    need(1 <= count <= 255 and zero == 0, "the head of the symbols")
    lengths, at, symbols = section[24 : 24 + count], 24 + count, []
    for length in lengths:
        need(1 <= length <= 8, "the length of a symbol")
        symbols.append(bytes(section[at : at + length]))
        at += length
    need(at == len(section) and symbols == sorted(set(symbols)), "the symbols")
    out = []
    for text in texts:
        decoded, i = bytearray(), 0
        while i < len(text):
            escaped = text[i] == 255
            need(escaped or text[i] < count, "a code without a symbol")
            decoded += text[i + 1 : i + 2] if escaped else symbols[text[i]]
            i += 1 + escaped
        need(i == len(text), "an escape at the end of a text")
        out.append(bytes(decoded))
    need(sum(map(len, out)) == size, "the bytes of all texts")
    return out


def times(section, rows):
    first, a, b, reserved = struct.unpack_from("<QBB6s", section)
    need(reserved == bytes(6) and len(section) == 16 + rows * (a + b), "times")
    number = lambda at, size: int.from_bytes(section[at : at + size], "little")
    created = [first + number(16 + i * a, a) for i in range(rows)]
    return created, [created[i] + number(16 + rows * a + i * b, b) for i in range(rows)]


def check_parts(slab, rows, dim, dtype):
    """Sections 24 to 27: the checksums of rows, of texts, of blocks of metadata."""

    def parts(ident, count):
        section = slab.get(ident)
        size = len(section) // count if count else 0
        return [section[i * size : (i + 1) * size] for i in range(count)]

    def compare(ident, wanted):
        if ident in slab.sections:
            need(slab.get(ident) == struct.pack(f"<{len(wanted)}I", *map(crc32c, wanted)), f"section {ident}")

    blocks = (rows + 15) // 16
    compare(24, parts(16, blocks) if dtype == "int4" else parts(4, rows))
    compare(25, strings(u64(slab.get(9)), slab.get(10)) if 9 in slab.sections else [])
    compare(26, strings(u64(slab.get(11)), slab.get(12)) if 11 in slab.sections else [])
    compare(27, [bytes(code) + bytes(info) for code, info in zip(parts(2, rows), parts(3, rows))])


def read_base(slab, manifest):
    rows, first, dim, columns, partitions, lexical, dtype, metric = u64(slab.get(1))
    need(dim == manifest["dim"] and columns == len(manifest["filter_columns"]), "the shape")
    need(["f32", "f16", "int8", "int4"][dtype] == manifest["dtype"], "the type of elements")
    numbers = u64(slab.get(5))
    need(sorted(numbers) == list(range(first, first + rows)), "row numbers")
    vectors = of_base(slab, rows, dim, manifest["dtype"])
    check_parts(slab, rows, dim, manifest["dtype"])
    presence = slab.get(15)
    ids = unpack(u64(slab.get(7)), slab.get(8), rows)
    metadata = unpack(u64(slab.get(9)), slab.get(10), rows)
    texts = strings(u64(slab.get(11)), slab.get(12)) if len(slab.get(11)) else [b""] * rows
    need(slab.get(29) == slab.get(30), "the symbols, which are there twice")
    texts = decode_texts(slab.get(29), texts) if 29 in slab.sections else texts
    created, updated = times(slab.get(22), rows)
    values = []
    for c in range(columns):
        codes = np.frombuffer(slab.get(32 + 3 * c), dtype="<u4")
        dictionary = strings(u64(slab.get(33 + 3 * c)), slab.get(34 + 3 * c))
        values.append([dictionary[code] for code in codes])
    at = 0
    codes = np.frombuffer(slab.get(32), dtype="<u4")
    for code, zero, start, count in struct.iter_unpack("<IIQQ", slab.get(6)):
        need(zero == 0 and start == at and (codes[at : at + count] == code).all(), "partitions")
        at += count
    need(at == rows, "partitions")
    out = {}
    for i in range(rows):
        out[numbers[i]] = Row(
            ids[i], created[i], updated[i], metadata[i] if presence[i] & 1 else None,
            texts[i] if presence[i] & 2 else None, vectors[i], numbers[i], numbers[i],
            [column[i] for column in values], presence[i] & 4 != 0,
        )  # fmt: skip
    return out, first + rows


def read_delta(slab, manifest, state):
    dim, dtype, columns = manifest["dim"], manifest["dtype"], len(manifest["filter_columns"])
    at = 64
    while at < len(slab.data):
        header = slab.data[at : at + 64]
        magic, crc, count, size, made, first, saved, reserved, own = struct.unpack("<4sIQQQQQ12sI", header)
        need(magic == b"TBLK" and own == crc32c(header[:60]) and reserved == bytes(12), "the header of a block")
        need(saved == 0 if slab.version == 7 else 0 < saved <= TIME_MAX, "when a block was saved")
        data = slab.data[at + 64 : at + 64 + size]
        need(len(data) == size and crc32c(data) == crc, "the operations of a block")
        need(state.generation < made <= manifest["generation"], "generations ascend from block to block")
        need(first == state.next_row, "the first row of a block")
        state.generation, block = made, Block(first)
        op = 0
        for i in range(count):
            bytes_ = struct.unpack_from("<Q", data, op + 56)[0]
            is_origin = struct.unpack_from("<I", data, op)[0] == 3
            if is_origin:
                need(slab.version > 7 and i == count - 1, "an origin is the last operation of its block")
                state.origin = read_origin(data[op : op + bytes_])
            else:
                read_operation(data[op:], slab.version, state, block, (dim, dtype, columns))
            op += bytes_
        need(op == size, "the operations fill their block")
        state.saves.append(block.save(made, saved, state.origin))
        at += 64 + size


def read_origin(op):
    _, flags, row, replaced, updated, ident, metadata, length, terms, values, reserved, size = struct.unpack_from(
        "<IIQQQ4IIIQ", op
    )
    need((flags, row, updated, ident, metadata, terms, values, reserved) == (0,) * 8, "the fields of an origin")
    need(replaced == NO_ROW and 1 <= length <= ORIGIN_MAX and size == -(-(64 + length) // 64) * 64, "an origin")
    need(not any(op[64 + length : size]), "the padding of an origin")
    return bytes(op[64 : 64 + length])


def read_meaning(slab, manifest, rows):
    """Numbers of the rows that have a vector of meaning, by the encoder of each block."""
    at, generation, encoders = 64, 0, {}
    while at < len(slab.data):
        header = slab.data[at : at + 64]
        magic, crc, count, size, made, encoder, reserved, own = struct.unpack("<4sIQQQQ20sI", header)
        need(magic == b"MBLK" and own == crc32c(header[:60]) and reserved == bytes(20), "the header of a block of meaning")
        block = slab.data[at + 64 : at + 64 + size]
        need(len(block) == size == -(-144 * count // 64) * 64 and crc32c(block) == crc, "the records of a block")
        need(generation <= made <= manifest["generation"] and count > 0, "generations do not descend from block to block")
        generation = made
        for i in range(count):
            codes, scale, _gate, zero, number = struct.unpack_from("<128sfB3sQ", block, 144 * i)
            need(0 <= scale < float("inf") and zero == bytes(3) and 0x80 not in codes, "a vector of meaning")
            need(number in rows and number not in encoders.setdefault(encoder, set()), "the row of a vector of meaning")
            encoders[encoder].add(number)
        need(not any(block[144 * count :]), "the padding of a block of meaning")
        at += 64 + size
    return encoders


def read_operation(op, version, state, block, shape):
    dim, dtype, columns = shape
    kind, flags, number, replaced, updated, *lengths, values_bytes, sparse, size = struct.unpack_from("<IIQQQ4IIIQ", op)
    need(size % 64 == 0 and (sparse > 0) == bool(flags & 16), "an operation")
    if kind == 2:
        block.delete(state.live.pop(number))
        return
    need(kind == 1 and number == state.next_row, "rows follow without gap")
    allowed = 7 if version == 7 else 31 if replaced == NO_ROW else 23
    need(not flags & ~allowed, "the flags of a put")
    at = 64
    as_codes = bool(flags & 4)
    need(not as_codes or dtype == "f32", "codes of another type")
    form = "int8" if as_codes else dtype

    def take(count):
        nonlocal at
        at += count
        return bytes(op[at - count : at])

    if sparse:
        need(form == "int8" and sparse < stored_bytes(form, dim), "a vector without zeros")
    vector = decode(dense(take(sparse), dim) if sparse else take(stored_bytes(form, dim)), form, dim)
    ident, metadata, text, terms = (take(length) for length in lengths)
    sizes = struct.unpack(f"<{columns}I", take(4 * columns))
    need(sum(sizes) == values_bytes, "the values' lengths")
    values = [take(length) for length in sizes]
    created = int.from_bytes(take(8), "little") if flags & 8 else updated
    need(0 <= size - at < 64 and not any(op[at:size]), "the padding of an operation")
    victim = None if replaced == NO_ROW else state.live.pop(replaced)
    need((victim.created if victim else created) <= updated <= TIME_MAX, "the times of a row")
    row = Row(
        ident, victim.created if victim else created, updated, metadata if flags & 1 else None,
        text if flags & 2 else None, vector, number, victim.birth if victim else number, values,
        not flags & 2 and len(terms) > 0,
    )  # fmt: skip
    need(victim is None or victim.id == ident, "a row replaces one of another id")
    state.rows[number] = state.live[number] = row
    state.next_row += 1
    block.put(row, victim)


def check_id_map(folder, entry, first, rows):
    """The committed entries are the ids of all rows, dead ones too, unless a power cut took some."""
    entry = dict(entry)
    path = os.path.join(folder, entry["name"])
    with open(path, "rb") as file:
        data = file.read()[: entry["bytes"]]
    need(len(data) == entry["bytes"] and crc32c(data[128:]) == entry["crc32c"], "the id map")
    names = np.load(path, allow_pickle=False)
    for number, row in rows.items():
        need(names[number - first] == row.id, f"row {number} in the id map")


def read(folder):
    manifest = read_manifest(folder)
    slabs, id_map = {}, None
    for entry in manifest["files"]:
        if dict(entry)["name"] == "id_map.npy":
            id_map = entry
        else:
            slab = Slab(folder, entry, manifest)
            slabs.setdefault(slab.kind, []).append(slab)
    (base,) = slabs[BASE]
    for slab in [slab for kind in (DELTA, IVF, LEXICAL, MEANING, HISTORY) for slab in slabs.get(kind, [])]:
        need(slab.base == base.generation, f"{slab.name} belongs to another base")
    state = State(*read_base(base, manifest), base.generation)
    first = state.next_row - len(state.rows)
    for slab in slabs.get(DELTA, []):
        read_delta(slab, manifest, state)
    counts = len(state.live), len(state.rows)
    need(counts == (manifest["live_rows"], manifest["total_rows"]), "the number of rows")
    for slab in slabs.get(MEANING, []):
        read_meaning(slab, manifest, state.rows)
    check_id_map(folder, id_map, first, state.rows)
    saves = [save for slab in slabs.get(HISTORY, []) for save in read_history(slab, manifest)]
    return manifest, sorted(state.live.values(), key=lambda row: row.birth), remembered(saves + state.saves, manifest)


def answer(folder):
    try:
        _, rows, saves = read(folder)
        return {"said": "", "rows": [row.line() for row in rows], "saves": [save.line() for save in saves]}
    except Exception:
        return {"said": traceback.format_exc(), "rows": [], "saves": []}


if __name__ == "__main__" and len(sys.argv) == 1:
    for folder in sys.stdin:
        print(json.dumps(answer(folder.rstrip("\n"))), flush=True)
elif __name__ == "__main__":
    found, rows, saves = read(sys.argv[1])
    print(json.dumps({"name": found["name"], "generation": found["generation"], "rows": len(rows)}))
    for line in rows + saves:
        print(json.dumps(line.line()))
