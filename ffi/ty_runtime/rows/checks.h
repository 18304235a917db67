/* What of a base is compared with checksums as it is read, and which rows can be read. Rows of a delta, which are
 * compared as a whole before they are used, always can. */
#pragma once

#include "rows/line_sums.h"

typedef struct ty_checks {
  ty_intact codes, vectors, blocks, metas, texts, span_squares;
  ty_intact vector_sums, code_sums, meta_sums, text_sums; /* checksums of what can be read alone */
  ty_line_sums lines;
  bool squares_lost;   /* the sums of squares are damaged: they are counted again */
  bool symbols_lost;   /* those of the texts are damaged, and so is each text */
  uint64_t symbols_at; /* in the file, where they are lost */
} ty_checks;

/* Whether the row's text, its metadata, or its vector as it is stored (vectors, else codes, vertical or not, or blocks)
 * can be read. */
bool ty_text_intact(const ty_segment *s, uint64_t at);
bool ty_meta_intact(const ty_segment *s, uint64_t at);
bool ty_vector_intact(const ty_collection *c, const ty_segment *s, uint64_t at);
/* Whether its 8-bit codes with their summary, and its block, can be; of rows that are not vertical. */
bool ty_codes_intact(const ty_collection *c, const ty_segment *s, uint64_t at);
bool ty_block_intact(const ty_collection *c, const ty_segment *s, uint64_t at);

/* Compares all of it but texts and metadata, which are compared each time, again, read before or not: what was good
 * then may be damaged now. As ty_intact_again. */
bool ty_checks_again(const ty_checks *k, ty_go_on go_on, void *context);

/* TY_CORRUPT naming a row of the base by its id, the file and the offset; `part` is what of it is damaged. */
ty_status ty_row_damaged(const ty_collection *c, const ty_segment *s, uint64_t at, ty_part part, ty_error *err);
/* TY_CORRUPT for rows without a text whose vectors cannot be read: the first `named` of `count`. */
ty_status ty_rows_damaged(const ty_collection *c, const ty_segment *base, const uint64_t *rows, uint32_t named,
                          uint64_t count, ty_error *err);
