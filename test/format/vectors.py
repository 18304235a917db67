"""Stored vectors into f32, by FORMAT.md: products and sums each rounded to f32."""

import numpy as np
from slab import LINES, need

F32 = np.dtype("<f4")
RUN_ROWS = 1024


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


def of_lines(slab, rows, dim, dtype):
    levels = np.frombuffer(slab.get(20), dtype="<f4").reshape(-1, rows)
    section = np.frombuffer(slab.get(LINES), dtype=np.uint8)
    per_line = 128 if dtype == "int4" else 64
    # Byte 16 l + 4 i + e of a line is row 16 i + 4 l + e.
    place = np.array([16 * (r // 4 % 4) + 4 * (r // 16) + r % 4 for r in range(64)])
    codes, at = [], 0
    for first in range(0, rows, RUN_ROWS):
        count = min(RUN_ROWS, rows - first)
        lines = (count + per_line - 1) // per_line
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
