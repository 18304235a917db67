/* The rows of a delta in memory, in growing columns. The column of lines is of the rows after those in sparse blocks:
 * delta_sparse.h. */
#pragma once

#include "rows/coded.h"
#include "state/delta_sparse.h"

/* The delta's columns. */
enum {
  /* Screening: vertical codes, or the others. */
  TY_COLUMN_LINES,
  TY_COLUMN_SCALES,
  TY_COLUMN_OFFSETS,
  TY_COLUMN_NORMS,
  TY_COLUMN_ERRS,
  TY_COLUMN_BLOCKS,
  TY_COLUMN_CODES,
  TY_COLUMN_INFO,
  TY_COLUMN_ROW,
  TY_COLUMN_BIRTH,
  TY_COLUMN_CREATED,
  TY_COLUMN_UPDATED,
  TY_COLUMN_DEAD,
  TY_COLUMN_PAYLOAD,
  TY_COLUMN_KEYS,
  TY_DELTA_COLUMNS = TY_COLUMN_KEYS + TY_MAX_COLUMNS
};
typedef struct ty_delta_memory {
  uint64_t capacity, lines_capacity; /* rows that fit into each other column, and into that of the lines */
  ty_spill columns[TY_DELTA_COLUMNS];
  ty_delta_sparse sparse;
} ty_delta_memory;

/* Makes the columns hold so many more rows. They are copied, which may take long, while queries read the old ones; the
 * lock is taken exclusively for the exchange, unless the caller has it (`locked`). For the change's own thread, or
 * under the exclusive lock. */
ty_status ty_delta_reserve(ty_collection *c, uint64_t more, bool locked, ty_error *err);
typedef struct ty_new_row {
  uint64_t row, birth;
  ty_times times;
  const uint32_t *codes; /* of the filter columns */
  ty_payload payload;
} ty_new_row;
/* The vertical codes of the n rows of `coded`, at the positions from `at` on: ty_delta_push appends them next, or has
 * done so. Together, because a line has many rows. After ty_delta_reserve. */
void ty_delta_lines(ty_collection *c, const ty_coded *coded, uint64_t at, uint64_t n);
/* Appends a row after these. Its screening codes are the i-th of `coded`. */
void ty_delta_push(ty_collection *c, const ty_new_row *row, const ty_coded *coded, uint64_t i);
void ty_delta_free(ty_collection *c);
