/* The base that a rewrite copies rows from. */
#pragma once

#include "rows/rewrite.h"

/* Compares all that is copied of the base with its checksums, read before or not. TY_CORRUPT where a section is damaged
 * that all rows need; of others see the next. */
ty_status ty_source_check(ty_collection *c, const ty_phases *phases, ty_error *err);
/* TY_CORRUPT naming the first of the rows to be written whose vector, text or metadata is damaged. Rows that are dead
 * stop nothing, nor does what is made of vectors: codes, blocks, sums, rows by value, partitions. */
ty_status ty_source_rows(const ty_rebase *r, ty_error *err);
