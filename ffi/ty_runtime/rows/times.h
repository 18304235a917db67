/* When rows were put, in milliseconds since 1970, by the clock of the process that put them. `created` is when the id
 * became live, which an upsert or update keeps; `updated` is when the row itself was put, and never before `created`.
 *
 * A base stores them less than whole: `created` from the earliest one on, `updated` from the row's `created` on, each
 * in as many bytes as the largest needs. Rows of an import have three and none. */
#pragma once

#include "os/buffer.h"
#include "ty_runtime.h"

#define TY_TIME_BYTES 6u /* beyond the year 10,000 */
#define TY_TIME_MAX   (((uint64_t)1 << 8 * TY_TIME_BYTES) - 1)

/* What a base's section of times begins with; then, for each row, created_bytes of created - first, and after those of
 * all rows, for each, later_bytes of updated - created, both little-endian. */
typedef struct ty_times_head {
  uint64_t first;                     /* at most TY_TIME_MAX */
  uint8_t created_bytes, later_bytes; /* at most TY_TIME_BYTES */
  uint8_t reserved[6];
} ty_times_head;
_Static_assert(sizeof(ty_times_head) == 16, "times");

/* Of a base, in the mapping. */
typedef struct ty_packed_times {
  uint64_t first;
  const uint8_t *created, *later;
  uint8_t created_bytes, later_bytes;
} ty_packed_times;

/* Bytes that hold a number, 0 for 0. */
uint8_t ty_time_bytes(uint64_t value);
/* False: the bytes are not such a section of so many rows. */
bool ty_times_open(ty_slice bytes, uint64_t rows, ty_packed_times *out);
ty_times ty_times_at(const ty_packed_times *p, uint64_t at);
