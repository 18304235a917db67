/* Rows side by side: the base and the delta are both a segment, so that one scan serves both.
 *
 * Positions (`at`) index a segment; row numbers identify a row and are never reused. */
#pragma once

#include "rows/by_value.h"
#include "rows/packed.h"
#include "rows/symbols.h"
#include "rows/times.h"

#define TY_ID_MAX   512u
#define TY_META_MAX ((uint64_t)1 << 20)
#define TY_TEXT_MAX ((uint64_t)64 << 20)

#define TY_HAS_META    1u
#define TY_HAS_TEXT    2u
#define TY_HAS_TERMS   4u  /* of a row of the base: it has no text, and has terms in the lexical index */
#define TY_AS_CODES    4u  /* of a put: its vector lies in the form of TY_INT8, though the collection's is TY_F32 */
#define TY_HAS_CREATED 8u  /* of a put: it has its own created */
#define TY_PUT_SPARSE  16u /* of a put: its vector, in the form of TY_INT8, is sparse: sparse.h */

/* A delta row's payload, in the mapping of its file, or in memory while unsaved. */
typedef struct ty_payload {
  const uint8_t *vector; /* in the form ty_form_of(c, coded), 4-byte aligned at least */
  ty_slice id, meta, text, terms;
  uint32_t sparse_bytes; /* of a sparse vector (sparse.h); 0: the vector is not sparse */
  uint8_t has_meta, has_text, coded;
} ty_payload;

/* The row as coded in four bits: row - anchor, rotated by the kernel or not, and mirrored. See coding.h. */
typedef struct ty_coding {
  const float *anchor; /* dim floats, in the mapping; NULL: zero */
  const float *mirror; /* the same, a unit vector or zero; NULL if anchor is */
  bool rotated;
} ty_coding;

/* Rows whose codes lie dimension by dimension: see vertical.h. */
typedef struct ty_vertical {
  const uint8_t *lines; /* 64-byte aligned: in a delta its dense blocks, in a base all blocks. NULL: not vertical */
  const ame_sparse_block *sparse; /* blocks of TY_SPARSE_ROWS rows each; the last one of a base may have fewer */
  uint64_t sparse_rows;           /* rows in these blocks: the first ones of a delta; of a base all or none */
  uint64_t run;                   /* rows of a dense block; the last one of a base may have fewer */
  /* One entry a row. */
  const float *scales, *offsets; /* offsets with int4 only */
  const float *norms;            /* at least the length of the decoded codes */
  const float *errs; /* at least the distance between the row and its decoded codes, 0 where it is them; NULL: all 0 */
  /* Not smaller than any row's 15 |scale| + |offset|, norm, err; the first is infinite where a scale is negative. */
  float width_most, norm_most, err_most;
} ty_vertical;

typedef struct ty_segment {
  bool is_base;
  uint64_t count;
  uint64_t live;
  /* Screening: vertical codes, or blocks with codes and info. For L2 the bias of every summary is -||x||^2 / 2 of the
   * decoded row, else 0. */
  ty_vertical vertical;
  const uint8_t *blocks; /* AME_BLOCK_BYTES(dim) for each sixteen rows by position, 64-byte aligned; or NULL */
  ty_coding coding;      /* of the base's blocks and of the delta's; kept in the base */
  /* Columns, `count` entries each. */
  const int8_t *codes; /* AME_CODE_STRIDE(dim) bytes a row, 64-byte aligned; NULL where dtype is int4 or vertical */
  const ame_code_info *info; /* with codes; err is relative to the decoded row, so nearly 0 for int8 */
  const uint64_t *row;       /* ascending in the delta, not in the base */
  const uint64_t *birth;
  const uint64_t *created, *updated; /* delta only: see times.h */
  const uint32_t **keys;             /* one array of codes per filter column; keys[0] is the partition */
  uint8_t *dead;                     /* 1: deleted or superseded; always in memory */
  /* Base only: arrays in the mapping. */
  /* f32 and f16: the stored form of each row. NULL where that is the codes, vertical or not, or the blocks; of f32 it
   * is the codes if every row of the base is its codes times their scale, bit for bit. */
  const uint8_t *vectors;
  ty_packed ids, metas;
  const uint64_t *text_ends; /* cumulative, count entries */
  const uint8_t *texts;
  const ty_symbols *symbols;    /* by which the texts are coded; NULL: they are not */
  const uint64_t *squares;      /* sums over all rows, dim of them: weights.h; NULL where the metric has none */
  const uint64_t *span_squares; /* the same of each partition of TY_SUMMED_FROM rows or more, in their order, or NULL */
  const uint8_t *presence;      /* by row: TY_HAS_META, TY_HAS_TEXT, TY_HAS_TERMS */
  ty_packed_times times;
  ty_by_value *by_value; /* by column, the partition's not used: by_value.h; NULL: every filter compares codes */
  const struct ty_checks *checks; /* checks.h; NULL: all is taken as good */
  /* Delta only. */
  ty_payload *payload;
} ty_segment;

/* A live row named by segment and position. */
typedef struct ty_ref {
  const ty_segment *segment;
  uint64_t at;
} ty_ref;

/* A row of either segment as one number: base positions, then delta positions. */
typedef uint32_t ty_place;

/* A contiguous run of the base that holds one partition's rows. */
typedef struct ty_span {
  uint32_t key; /* code in column 0 */
  uint32_t pad;
  uint64_t first, count;
} ty_span;

/* A row's id and metadata; those of a base are decoded in `u`, and valid until its next use. */
ty_slice ty_row_id(const ty_segment *s, uint64_t at, ty_unpack *u);
ty_slice ty_row_meta(const ty_segment *s, uint64_t at, ty_unpack *u, bool *present);
ty_times ty_row_times(const ty_segment *s, uint64_t at);
bool ty_row_has_text(const ty_segment *s, uint64_t at);
/* The row's text as it lies in its file: of a base with symbols it is coded. */
ty_slice ty_row_stored_text(const ty_segment *s, uint64_t at);
/* Where texts are decoded. All zero at first; the owner frees `text`. */
typedef struct ty_text_reader {
  ty_buffer text; /* the one read last; `failed`: memory ran out, and what was read is empty */
  uint64_t most;  /* of longer texts so many bytes have to be read, and the rest may be left out; 0: all */
  bool damaged;   /* a text was malformed, and read as empty; stays */
} ty_text_reader;
/* How long the row's text is, which a coded one is read for; 0 where it is malformed. */
uint64_t ty_row_text_bytes(const ty_segment *s, uint64_t at);
/* The row's text, valid until the next use of `r` or the end of the mapping. */
ty_slice ty_row_text(const ty_segment *s, uint64_t at, ty_text_reader *r, bool *present);
/* The row's retained tokens for the lexical index: see lexical/terms.h. Empty where the collection is not lexical, and
 * for a row of the base, whose terms are in the index: ty_row_has_terms. */
ty_slice ty_row_terms(const ty_segment *s, uint64_t at);
/* Whether the row has terms and no text that they could be made of again. */
bool ty_row_has_terms(const ty_segment *s, uint64_t at);
