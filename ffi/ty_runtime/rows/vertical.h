/* Vertical codes of a segment: ame_kernel.h describes the lines. A query reads only the dimensions in which it is not
 * zero: 46 of 2,048 for a question of three words.
 *
 * Vertical codes are for rows of the kernel's embedder, which equal their decoded codes: eight bits with f32 and int8,
 * four with int4. Never with L2. Whether a base gets them is decided when it is written: enough elements of
 * its rows must be zero.
 *
 *   a base of eight bits   sparse blocks of TY_SPARSE_ROWS rows: each run is stored without its zeros where that is
 *                          shorter (ame_sparse_block), and a directory has the places of the runs
 *   a base of four bits    dense blocks of TY_RUN_ROWS rows, since few codes of four bits are zero. Bases of eight bits
 *                          that format version 7 wrote have such blocks too
 *   a delta                dense blocks whose runs are one line, so that a row can be appended; its first rows may be
 * in sparse blocks (state/delta_sparse.h)
 *
 * The last block of a base has as many lines as its rows need. */
#pragma once

#include "rows/collection.h"
#include "rows/line_runs.h"

/* A base of fewer rows is not vertical: it would fill only a part of its lines. ty_env_open sets this and the next
 * value; tests set others. */
#define TY_VERTICAL_LEAST 64u
/* A base is vertical where on average at most this part of its rows' codes is not zero. Questions in words do not
 * depend on it; the whole text of a row taken as a query reads as many dimensions as rows have. At 69 % (94,528
 * passages of 190 words from many places) its 100 best rows, from which a search fuses, took .65 times as long as over
 * blocks and the ten best alone 2 times; three words took .1 times as long. By the bytes that are read the 100 best
 * would take as long at about this density, and the ten best 1.1 times at 47 %. */
#define TY_VERTICAL_DENSITY 0.9

/* A row in its block. */
typedef struct ty_line_place {
  uint64_t block; /* offset of the block in the lines */
  uint64_t run;   /* bytes of its runs */
  uint64_t first; /* position of its first row */
  uint64_t rows;  /* that fit into it */
} ty_line_place;

static inline uint32_t ty_line_bits(const ty_collection *c) { return c->dtype == TY_INT4 ? 4 : 8; }
static inline uint32_t ty_line_rows(const ty_collection *c) { return AME_LINE_ROWS(ty_line_bits(c)); }
/* Bytes of the dense lines of `rows` rows in blocks of `run` rows. */
uint64_t ty_lines_bytes(const ty_collection *c, uint64_t run, uint64_t rows);
/* Where the row at a position lies among the dense lines of `rows` rows. */
ty_line_place ty_line_place_of(const ty_collection *c, uint64_t run, uint64_t rows, uint64_t at);
/* Whether the rows of the collection's delta are kept like this: as those of its base, or of a small base as the rows
 * of the embedder. The same as long as the delta has columns. */
bool ty_delta_vertical(const ty_collection *c);

/* Whether a row lies in a sparse block, and that block. */
static inline bool ty_is_sparse(const ty_segment *s, uint64_t at) { return at < s->vertical.sparse_rows; }
static inline const ame_sparse_block *ty_sparse_block_at(const ty_segment *s, uint64_t at) {
  TY_ASSERT(ty_is_sparse(s, at));
  return &s->vertical.sparse[at / TY_SPARSE_ROWS];
}

/* The width of a row, of which ty_vertical.width_most is the largest; offset is 0 with eight bits. */
float ty_line_width(float scale, float offset);

/* Writes the codes of n rows to the rows from `at` on of blocks whose runs are one line. `codes` has the rows side by
 * side: AME_CODE_STRIDE(dim) bytes each, with four bits AME_I4_BYTES. Rows after them in these lines are undefined
 * afterwards. */
void ty_lines_put(const ty_collection *c, uint8_t *lines, uint64_t at, uint64_t n, const void *codes);
/* ty_line_put writes the codes of a row to row `at` of a block with runs of `run` bytes: dim bytes with eight bits,
 * AME_I4_BYTES with four. ty_line_take reads the codes of a row of a segment, and fills them up with zeros to
 * AME_CODE_STRIDE(dim) bytes, with four bits to AME_I4_BYTES. */
void ty_line_put(const ty_collection *c, uint8_t *block, uint64_t run, uint64_t at, const void *codes);
void ty_line_take(const ty_collection *c, const ty_segment *s, uint64_t at, void *codes);
/* The decoded row: all of `out`, dim floats; or only its elements in `dims`, `count` of them. */
void ty_line_decode(const ty_collection *c, const ty_segment *s, uint64_t at, float *out);
void ty_line_decode_some(const ty_collection *c, const ty_segment *s, uint64_t at, const uint32_t *dims, uint64_t count,
                         float *out);
/* A row's bytes in dense lines: dimension d at bytes[d * run], with four bits shifted by `shift`. */
typedef struct ty_line_source {
  const uint8_t *bytes;
  uint64_t run;
  uint32_t shift;
} ty_line_source;
ty_line_source ty_line_source_of(const ty_collection *c, const ty_segment *s, uint64_t at);

/* A row's summary as a segment without vertical codes has it; with eight bits. */
ame_code_info ty_line_info(const ty_collection *c, const ty_segment *s, uint64_t at);
