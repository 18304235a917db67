/* The bytes on disk, the magic numbers and offsets of all files. FORMAT.md describes the same in tables.
 *
 * Integers and floats are little-endian, as on every platform we build for, so records are read in place. The structs
 * have no padding; reserved fields are zero, which readers check. */
#pragma once

#include "rows/segment.h"

#define TY_MANIFEST_NAME "collection.json"
#define TY_LOCK_NAME     ".lock"
#define TY_FIRST_NAME    ".first-save"
#define TY_ID_MAP_NAME   "id_map.npy"
#define TY_BALLAST_NAME  ".ballast"
#define TY_MANIFEST_MAX  ((uint64_t)16 << 20)
#define TY_FILES_MAX     4096u
#define TY_ROWS_MAX      0x7fffffffu /* base and delta together: positions are kept in 32 bits in memory */

#define TY_DIM_MAX 65536u
#define TY_KEY_MAX ((uint64_t)64 << 10)

/* ---- Slabs: a header, then sections or (deltas) blocks ---- */
/* One version for all files, the manifest too. Magic, version and crc keep their offsets in all versions. The slabs of
 * version 7 mean the same in version 8, which adds the file of meaning, the history, and to deltas the time and origin
 * of each save. A collection of version 7 becomes one of version 8 with its next save of rows, which begins a fresh
 * delta, when its base is rewritten, or when it gets a file of meaning. */
#define TY_SLAB_MAGIC         0x3142414c53435653ull /* "SVCSLAB1" */
#define TY_SLAB_VERSION       8u
#define TY_SLAB_VERSION_LEAST 7u /* that is read */
enum { TY_SLAB_BASE = 1, TY_SLAB_IVF, TY_SLAB_LEXICAL, TY_SLAB_DELTA, TY_SLAB_MEANING, TY_SLAB_HISTORY };

typedef struct ty_slab_header {
  uint64_t magic;
  uint32_t version;
  uint32_t kind;
  uint32_t sections;        /* entries of the table that follows this header; of a file of blocks 0 */
  uint32_t table_crc;       /* of that table; of a file of blocks 0 */
  uint64_t bytes;           /* of the file; of a file of blocks, which grows, those of this header */
  uint64_t generation;      /* of the save that made it, as in its name */
  uint64_t base_generation; /* of the base it belongs to; of a base: its own */
  uint8_t reserved[12];
  uint32_t crc; /* of the 60 bytes before */
} ty_slab_header;
_Static_assert(sizeof(ty_slab_header) == 64, "slab header");

typedef struct ty_slab_section {
  uint32_t id;
  uint32_t crc;
  uint64_t offset; /* a multiple of TY_ALIGN */
  uint64_t bytes;
  uint64_t reserved;
} ty_slab_section;
_Static_assert(sizeof(ty_slab_section) == 32, "slab section");

#define TY_SLAB_SECTIONS_MAX 256u

/* Sections of a base. */
enum {
  TY_SECTION_SHAPE = 1,
  TY_SECTION_CODES,
  TY_SECTION_INFO,
  TY_SECTION_VECTORS, /* missing from f32 bases whose codes equal their rows */
  TY_SECTION_ROW,
  TY_SECTION_SPANS,
  TY_SECTION_ID_ENDS,
  TY_SECTION_IDS,
  TY_SECTION_META_ENDS,
  TY_SECTION_METAS,
  TY_SECTION_TEXT_ENDS,
  TY_SECTION_TEXTS,
  TY_SECTION_PRESENCE = 15,
  TY_SECTION_BLOCKS,
  TY_SECTION_CODING,
  TY_SECTION_SQUARES,       /* with the inner product only */
  TY_SECTION_LINES,         /* of a vertical base, which has no codes, info, vectors and blocks: rows/vertical.h */
  TY_SECTION_LEVELS,        /* f32 scale of each row, then f32 offset of each (int4 only), then f32 norm of each */
  TY_SECTION_RUNS,          /* u32 checksum of each run, in their order */
  TY_SECTION_TIMES,         /* ty_times_head, then created and updated of each row: rows/times.h */
  TY_SECTION_SPAN_SQUARES,  /* with the inner product only, where a partition is large enough: rows/weights.h */
  TY_SECTION_VECTOR_SUMS,   /* u32 checksum of each row in section 4; of int4 of each block of section 16 */
  TY_SECTION_META_SUMS,     /* of the metadata of each TY_PACKED_ROWS rows */
  TY_SECTION_TEXT_SUMS,     /* of each row's text */
  TY_SECTION_CODE_SUMS,     /* of each row's codes and then its info */
  TY_SECTION_DIRECTORY,     /* of sparse blocks: where the runs of each are in TY_SECTION_LINES */
  TY_SECTION_SYMBOLS,       /* by which the texts are coded: rows/symbols.h. Without it they are not */
  TY_SECTION_SYMBOLS_AGAIN, /* the same bytes, far from the first: without them no text can be read */
  TY_SECTION_KEYS = 32,     /* + 3 x column: codes; + 1: ends of the dictionary's values; + 2: their bytes */
  TY_SECTION_BY_VALUE = 128 /* + column, but not the partition: rows/by_value.h */
};
/* The section of an IVF or lexical slab. */
#define TY_SECTION_INDEX 1u
/* A second section of an IVF slab, which may be missing: one bit a dimension of each row (ivf/signs.h). */
#define TY_SECTION_SIGNS 2u
/* The last section of each slab: u32 checksums of the blocks (rows/intact.h) of each section before, in their order;
 * none of TY_SECTION_LINES, whose runs have checksums. */
#define TY_SECTION_SUMS 31u

typedef struct ty_shape {
  uint64_t rows;
  uint64_t first_row; /* the smallest row number; the rows have first_row .. first_row + rows - 1 in some order */
  uint64_t dim;
  uint64_t columns;
  uint64_t spans;
  uint64_t lexical; /* 0 or 1 */
  uint64_t dtype;   /* ty_dtype */
  uint64_t metric;  /* ty_metric */
} ty_shape;
_Static_assert(sizeof(ty_shape) == 64, "shape");

/* The start of the section of the coding; where anchored, the anchor and the mirror follow, dim floats each. */
typedef struct ty_coding_head {
  uint32_t anchored, rotated; /* 0 or 1 each */
  uint64_t reserved[7];
} ty_coding_head;
_Static_assert(sizeof(ty_coding_head) == 64, "coding");

/* ---- Deltas and the file of meaning: append-only files of blocks ---- */
/* A delta has one block for each save; a file of meaning has one or more for each save that adds to it. */
#define TY_BLOCK_MAGIC   0x4b4c4254u /* "TBLK", of a delta */
#define TY_MEANING_MAGIC 0x4b4c424du /* "MBLK", of a file of meaning */
typedef struct ty_block_header {
  uint32_t magic;
  uint32_t payload_crc;
  uint64_t ops;           /* of a file of meaning: records */
  uint64_t payload_bytes; /* what follows this header; a multiple of TY_ALIGN */
  uint64_t generation;
  union {
    uint64_t first_row; /* of a delta: number of the first row put in this block */
    uint64_t encoder;   /* of a file of meaning: ame_encoder_id */
  };
  uint64_t time; /* of a delta of version 8: when it was saved, milliseconds since 1970; else 0 */
  uint8_t reserved[12];
  uint32_t crc; /* of the 60 bytes before */
} ty_block_header;
_Static_assert(sizeof(ty_block_header) == 64, "block header");

/* An origin is the last operation of its block, in a delta of version 8; a block without one has that of the block
 * before. */
enum { TY_OPERATION_PUT = 1, TY_OPERATION_DELETE = 2, TY_OPERATION_ORIGIN = 3 };
#define TY_NO_ROW UINT64_MAX

/* After it, of a put: vector in its stored form, id, metadata, text, terms, key lengths (columns x u32, 1-byte
 * aligned), key bytes, with TY_HAS_CREATED u64 created, zero padding. A delete has nothing after it. An
 * origin has its JSON, of text_bytes, and zero padding; its other fields are 0 and TY_NO_ROW. */
typedef struct ty_operation {
  uint32_t kind;
  uint32_t flags;    /* TY_HAS_META, TY_HAS_TEXT, TY_AS_CODES (dtype f32 only), TY_HAS_CREATED (version 8, and with
                        TY_NO_ROW only; without it created is updated), TY_PUT_SPARSE (version 8, and with a vector
                        in the form of TY_INT8 only) */
  uint64_t row;      /* put: its number; delete: the victim's */
  uint64_t replaced; /* put: the number of the row it replaces, or TY_NO_ROW; birth and created are that row's then */
  uint64_t updated;  /* put: milliseconds since 1970, at most TY_TIME_MAX, not before that row's created */
  uint32_t id_bytes, meta_bytes, text_bytes, terms_bytes;
  uint32_t keys_bytes;
  uint32_t sparse_bytes; /* of the vector, with TY_PUT_SPARSE; else 0 */
  uint64_t bytes;        /* of the whole operation, a multiple of TY_ALIGN */
} ty_operation;
_Static_assert(sizeof(ty_operation) == 64, "operation");

/* ---- The history: a slab with what saves before its base have changed ---- */
enum { TY_HISTORY_SAVES = 1, TY_HISTORY_CHANGES, TY_HISTORY_IDS, TY_HISTORY_ROWS, TY_HISTORY_ORIGINS };

/* A save that changed rows, in the order of the saves. */
typedef struct ty_history_save {
  uint64_t save;         /* its generation */
  uint64_t time;         /* milliseconds since 1970 */
  uint64_t end;          /* changes up to its last one, cumulative */
  uint64_t origin;       /* offset of its origin in that section */
  uint32_t origin_bytes; /* 0: not known */
  uint32_t added, replaced, deleted;
  uint64_t reserved[2];
} ty_history_save;
_Static_assert(sizeof(ty_history_save) == 64, "history save");

/* What a save did to an id: TY_CHANGE_... */
typedef struct ty_history_change {
  uint64_t id_end;  /* of its id in that section, cumulative */
  uint64_t row_end; /* of the row before it in that section, cumulative, a multiple of 8 */
  uint32_t row_crc; /* of that row's bytes */
  uint32_t kind;
} ty_history_change;
_Static_assert(sizeof(ty_history_change) == 24, "history change");

/* The row before a change; of an added one, and where it could not be read, there is none. After it: vector, metadata,
 * text, zero padding to a multiple of 8. A vector of TY_INT8, which f32 rows with TY_AS_CODES have too, may be sparse
 * (TY_HISTORY_SPARSE): rows/sparse.h. */
typedef struct ty_history_row {
  uint64_t created, updated;
  uint32_t meta_bytes, text_bytes, vector_bytes;
  uint32_t flags; /* TY_HAS_META, TY_HAS_TEXT, TY_AS_CODES, TY_HISTORY_SPARSE */
} ty_history_row;
_Static_assert(sizeof(ty_history_row) == 32, "history row");
#define TY_HISTORY_SPARSE 8u

/* ---- id_map.npy: numpy format 1.0 ---- */
#define TY_NPY_HEADER     128u
#define TY_NPY_WIDTH_MIN  16u
#define TY_NPY_WIDTH_STEP 4u
