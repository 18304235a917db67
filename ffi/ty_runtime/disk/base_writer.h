/* A base that is being written: what base.c and base_vectors.c share. */
#pragma once

#include "rows/coding.h"
#include "disk/base.h"
#include "disk/slab.h"
#include "os/arena.h"
#include "os/spill.h"

/* The sums of squares of the rows written so far: rows/weights.h. */
typedef struct base_sums {
  uint64_t *all;  /* dim; of the rows before those of the next */
  uint64_t *some; /* dim; of rows of one partition whose sums are stored, or of some beside each other whose are not */
  uint64_t end;   /* where these end */
  uint32_t span;  /* the partition after them */
  bool keep;      /* whether `some` is stored */
  ty_growing stored; /* sums of partitions */
} base_sums;

typedef struct base_writer {
  ty_slab_writer slab;
  ty_arena memory; /* of the scratch below, until the base is written */
  const ty_base_plan *plan;
  const ty_rebase *r;
  ty_coding coding; /* of the new blocks; it may point to `anchor`, 3 x dim floats */
  float *anchor;
  uint64_t done; /* rows times sections, for progress */
  uint64_t total;
  uint64_t written;  /* bytes written at the row before */
  uint64_t most;     /* resident of what is read */
  float *row;        /* while vectors are written: scratch, dim floats */
  base_sums sums;    /* and the sums over the rows */
  int8_t *codes;     /* scratch: AME_CODE_STRIDE(dim), 64-byte aligned */
  uint8_t *stored;   /* scratch: a row in the stored form of TY_INT8 */
  float *coded;      /* scratch, dim floats: a row whose codes are made again */
  ty_unpack unpack;  /* of the rows that are read */
  uint32_t counted;  /* the section whose rows go into the sums; 0: no weighted queries */
  ty_buffer symbols; /* of the texts, from base_put_texts to base_put_symbols_again */
  ty_buffer crcs;    /* of the rows' parts in the section that is written, for one of checksums */
} base_writer;

/* Appends a part of the section that is written; keeps its checksum, in which `info`, unless it is NULL, follows it.
 * base_put_crcs writes those as a section. */
void base_append(base_writer *w, const void *data, uint64_t bytes, const ame_code_info *info);
void base_put_crcs(base_writer *w, uint32_t id);
typedef void (*base_row_fn)(base_writer *w, ty_ref row);
/* Called before each row of a section. False: stop writing (failed or cancelled). */
bool base_go_on(base_writer *w, uint64_t i);
/* One section of one entry a row. */
void base_column(base_writer *w, uint32_t id, base_row_fn append);
/* base_lines.c. The lines of a vertical base, their levels and the checksums of runs. */
void base_put_lines(base_writer *w);
/* base_sparse.c. A part of base_put_lines: the sparse blocks of eight bits, their directory and their checksums. */
void base_put_sparse(base_writer *w);
/* The 8-bit codes of row i of the base, in w->codes or in place; of int4 those of four bits. */
const int8_t *base_codes(const base_writer *w, uint64_t i);
/* The summary of a row's 8-bit codes; it may write to w->codes. */
ame_code_info base_info(const base_writer *w, ty_ref r);
/* Counts what reading the vertical codes of row i makes resident. */
void base_read_lines(const base_writer *w, uint64_t i);
/* base_squares.c. The sums that row i goes to, before *end the rows after it too; rows come in their order. */
uint64_t *base_sums_of(base_writer *w, uint64_t i, uint64_t *end);
/* Adds row i, decoded. */
void base_count(base_writer *w, uint64_t i, const float *row);
/* The sections of the sums, once all rows were counted. */
void base_put_squares(base_writer *w);
/* base_vectors.c. The sections that rows are screened and scored by. */
void base_put_vectors(base_writer *w);
/* base_texts.c. The texts, where each ends, their checksums and their symbols; nothing where no row has any bytes. */
void base_put_texts(base_writer *w);
/* The symbols once more. */
void base_put_symbols_again(base_writer *w);
/* base_times.c. When the rows were put. */
void base_put_times(base_writer *w);
/* base_by_value.c. The rows of a column by value; `fresh` is their code in the new base, below `count`, by the code
 * that they have now. */
void base_put_by_value(base_writer *w, uint32_t column, const uint32_t *fresh, uint32_t count);
