"""Stored vectors into f32, by FORMAT.md: products and sums each rounded to f32."""

import numpy as np
from slab import DIRECTORY, LINES, crc32c, need

F32 = np.dtype("<f4")
RUN_ROWS, SPARSE_ROWS = 1024, 4096


def groups(dim):
    return (dim + 7) // 8


def stored_bytes(dtype, dim):
    return {"f32": 4 * dim, "f16": 2 * dim, "int8": 4 + dim, "int4": 8 + 4 * groups(dim)}[dtype]


def four_bits(data, dim):
    """Rows of int4 codes, `4 * groups` bytes each, into codes of `dim` dimensions."""
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, groups(dim), 4)
    return np.concatenate([rows & 15, rows >> 4], axis=2).reshape(len(rows), -1)[:, :dim]


def from_eight(scale, codes):
    return np.asarray(scale, F32)[..., None] * codes.astype(F32)


def from_four(scale, offset, codes):
    level = (2 * codes.astype(np.int32) - 15).astype(F32)
    product = np.asarray(scale, F32)[..., None] * level
    return np.asarray(offset, F32)[..., None] + product


def decode(data, dtype, dim):
    """One row in its stored form."""
    if dtype == "f32":
        return np.frombuffer(data, dtype="<f4")
    if dtype == "f16":
        return np.frombuffer(data, dtype="<f2").astype(F32)
    if dtype == "int8":
        return from_eight(np.frombuffer(data[:4], "<f4")[0], np.frombuffer(data[4:], np.int8))
    scale, offset = np.frombuffer(data[:8], "<f4")
    return from_four(scale, offset, four_bits(data[8:], dim)[0])


def dense(data, dim):
    """A vector without its zeros in the stored form of int8."""
    head = 4 + (dim + 7) // 8
    bits = np.unpackbits(np.frombuffer(data[4:head], np.uint8), bitorder="little").astype(bool)
    need(len(bits) >= dim and not bits[dim:].any(), "the bits of a sparse vector")
    codes = np.zeros(dim, np.uint8)
    given = np.frombuffer(data[head:], np.uint8)
    need(len(given) == bits.sum() and given.all(), "the codes of a sparse vector")
    codes[bits[:dim]] = given
    return data[:4] + codes.tobytes()


def of_base(slab, rows, dim, dtype):
    """The rows of a base by position."""
    if LINES in slab.sections:
        return of_lines(slab, rows, dim, dtype)
    if 4 in slab.sections:
        return np.frombuffer(slab.get(4), dtype="<f2" if dtype == "f16" else "<f4").reshape(rows, dim).astype(F32)
    if dtype == "int4":
        return of_blocks(slab.get(16), rows, dim)
    stride = (dim + 63) // 64 * 64
    codes = np.frombuffer(slab.get(2), dtype=np.int8).reshape(rows, stride)
    need(not codes[:, dim:].any(), "the pad of codes")
    scales = np.frombuffer(slab.get(3), dtype="<f4").reshape(rows, 4)[:, 0]
    return from_eight(scales, codes[:, :dim])


def of_blocks(section, rows, dim):
    blocks = np.frombuffer(section, dtype=np.uint8).reshape(-1, 64 * (groups(dim) + 5))
    codes = blocks[:, : 64 * groups(dim)].reshape(-1, groups(dim), 16, 4).transpose(0, 2, 1, 3)
    floats = blocks[:, 64 * groups(dim) :].copy().view("<f4").reshape(-1, 5, 16)
    decoded = from_four(floats[:, 0].ravel(), floats[:, 1].ravel(), four_bits(codes.copy(), dim))
    return decoded[:rows]


def bits_of(data):
    return np.unpackbits(data, bitorder="little").astype(bool)


def dense_run(form, data, lines):
    """The lines of a sparse run, which has the shortest form, the first of several that are as short."""
    need(form in (0, 1, 2), "the form of a run")
    if form == 2:
        top = bits_of(data[:lines])
        size = int(top.sum())
        bitmap = np.zeros(8 * lines, np.uint8)
        bitmap[top] = data[lines : lines + size]
        need(bitmap[top].all(), "a bitmap of zeros")
        data = np.concatenate([bitmap, data[lines + size :]])
    out = np.full(64 * lines, 128, np.uint8)
    if form == 0:
        need(len(data) == len(out), "the length of a run")
        out[:] = data
    else:
        filled = bits_of(data[: 8 * lines])
        codes = data[8 * lines :]
        need(len(codes) == filled.sum() and not (codes == 128).any(), "the codes of a run")
        out[filled] = codes
    filled = out != 128
    bytes_filled = np.packbits(filled, bitorder="little").astype(bool).sum()
    sizes = [len(out), 8 * lines + filled.sum(), lines + bytes_filled + filled.sum()]
    need(sizes[form] == min(sizes) and form == sizes.index(min(sizes)), "the form of a run")
    return out.reshape(lines, 64)


def sparse_block(slab, number, dim, lines):
    """Lines of each dimension of a block, and where it ends."""
    each = 8 + (dim + 2) // 2 * 8
    entry = slab.get(DIRECTORY)[number * each : (number + 1) * each]
    start = int.from_bytes(entry[:8], "little")
    places = np.frombuffer(entry[8 : 8 + 4 * (dim + 1)], "<u4")
    need(not any(entry[8 + 4 * (dim + 1) :]) and places[0] >> 2 == 0 and places[dim] & 3 == 0, "the directory of a block")
    section = np.frombuffer(slab.get(LINES), np.uint8)
    sums = np.frombuffer(slab.get(21), "<u4")
    runs = []
    for d in range(dim):
        data = section[start + (places[d] >> 2) : start + (places[d + 1] >> 2)]
        need(crc32c(data) == sums[number * dim + d], "the checksum of a run")
        runs.append(dense_run(places[d] & 3, data, lines))
    return np.stack(runs), start, start + int(places[dim] >> 2)


def of_lines(slab, rows, dim, dtype):
    levels = np.frombuffer(slab.get(20), dtype="<f4").reshape(-1, rows)
    section = np.frombuffer(slab.get(LINES), dtype=np.uint8)
    per_line = 128 if dtype == "int4" else 64
    # Byte 16 l + 4 i + e of a line is row 16 i + 4 l + e.
    place = np.array([16 * (r // 4 % 4) + 4 * (r // 16) + r % 4 for r in range(64)])
    codes, at = [], 0
    is_sparse = DIRECTORY in slab.sections
    step = SPARSE_ROWS if is_sparse else RUN_ROWS
    need(not is_sparse or dtype != "int4", "sparse runs of four bits")
    for first in range(0, rows, step):
        count = min(step, rows - first)
        lines = (count + per_line - 1) // per_line
        if is_sparse:
            block, start, end = sparse_block(slab, first // step, dim, lines)
            need(start == at, "where a block begins")
            block, at = block[:, :, place], end
        else:
            block = section[at : at + dim * lines * 64].reshape(dim, lines, 64)[:, :, place]
            at += block.size
        if dtype == "int4":
            block = np.concatenate([block & 15, block >> 4], axis=2)
        codes.append(block.reshape(dim, -1)[:, :count].T)
    need(at == len(section), "the length of the lines")
    codes = np.concatenate(codes)
    if dtype == "int4":
        return from_four(levels[0], levels[1], codes)
    return from_eight(levels[0], codes.astype(np.int16) - 128)
