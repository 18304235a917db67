/* A base that is being opened: what base_open.c and base_damage.c share. */
#pragma once

#include "disk/base.h"
#include "disk/disk.h"
#include "disk/slab.h"
#include "rows/checks.h"

typedef struct base_reader {
  ty_collection *c;
  ty_slab slab;
  ty_checks *checks; /* of the base */
  uint64_t rows;
  ty_error *err;
  ty_status status; /* sticky */
} base_reader;

/* TY_CORRUPT, unless the reader has failed already. */
void base_damaged(base_reader *r, const char *what);
/* A section of `width` bytes for each of `count`, or of any length where width is 0; `check`: compared now. */
ty_slice base_section(base_reader *r, uint32_t id, uint64_t count, uint64_t width, bool check);
/* The same, compared as it is read. */
const uint8_t *base_as_read(base_reader *r, uint32_t id, uint64_t count, uint64_t width, ty_part part, ty_intact *out);

/* ---- base_damage.c ---- */
/* Whether a section that follows from others is as its checksum says; where not, that is noted. */
bool base_derived(base_reader *r, uint32_t id, const char *what);
/* Makes the partitions of the rows' codes in column 0. */
void base_make_spans(base_reader *r, ty_span *spans, uint32_t count);
/* Takes as damaged what a damaged section belongs to: all blocks; codes; blocks of lines. */
void base_lose_coding(base_reader *r);
void base_lose_info(base_reader *r);
void base_lose_levels(base_reader *r);
void base_lose_directory(base_reader *r);
/* The same of the symbols: all texts. */
void base_lose_symbols(base_reader *r);
/* The checksums of the runs of a vertical base. */
void base_line_sums(base_reader *r, const ty_line_runs *runs);
