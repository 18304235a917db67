/* Rows by value: the positions of a base's rows in the order of their code in a filter column, and of one code by
 * position, so that a filter reads the rows that it allows instead of comparing the codes of all.
 *
 * Left out are rows without a value (code 0, which no filter matches) and those of a value that more than half of the
 * rows have: to compare the codes of all takes no longer there. Positions are packed 128 at a time, as gaps or, where a
 * block has the ends of several values, as they are; FORMAT.md has the bytes. 100,000 rows of 100 values take 1.4 bytes
 * a row, of 10 values 0.8, rows with a value each 0.06 in the order of insertion and 2.0 in any other. Where a code's
 * rows begin is not stored: a binary search by the rows' codes takes 0.2 us. */
#pragma once

#include "os/fail.h"
#include "rows/dict.h"

/* What is stored of each 128 positions, before the packed blocks. */
typedef struct ty_by_value_entry {
  uint32_t first; /* position */
  uint32_t end;   /* of the block, in 16 bytes from the first block on, times two; plus 1: positions, not gaps */
} ty_by_value_entry;
_Static_assert(sizeof(ty_by_value_entry) == 8, "rows by value");

typedef struct ty_by_value {
  const ty_by_value_entry *entries; /* for each 128 of `count`; in the mapping */
  const uint8_t *blocks;
  uint64_t rows;     /* of the base */
  uint64_t count;    /* that are listed */
  bool missing;      /* the section is damaged: codes are compared */
  uint32_t left_out; /* the code that more than half of the rows have; TY_NO_CODE: none */
} ty_by_value;

/* Whether a value of so many of `rows` rows is left out. At most one value is. */
static inline bool ty_by_value_leaves_out(uint64_t having, uint64_t rows) { return having > rows / 2; }

/* Packs up to 128 positions: writes the block's 16 * bits bytes to `out`, which has room for 512, unless it is NULL,
 * and returns the bits. *plain: whether they are stored as they are. */
uint32_t ty_by_value_pack(const ame_kernel *k, const uint32_t *positions, uint32_t n, uint8_t *out, bool *plain);

/* Opens a column's section over `rows` rows. `d` is the column's dictionary with the rows of each code counted. False:
 * it is damaged. Only what is read by index is checked: to compare each listed row's code took 3 ms a million rows. */
bool ty_by_value_open(ty_slice bytes, uint64_t rows, const ty_dict *d, ty_by_value *out);

/* The index in the list of the first row whose code is at least `code`; `codes` are those of all rows. */
uint64_t ty_by_value_find(const ame_kernel *k, const ty_by_value *b, const uint32_t *codes, uint32_t code);
/* Reads the positions from one index on to another. Of one code they ascend, but not of an untrusted file: the caller
 * checks that, and that they are below `rows`. */
void ty_by_value_read(const ame_kernel *k, const ty_by_value *b, uint64_t from, uint64_t to, uint32_t *out);
