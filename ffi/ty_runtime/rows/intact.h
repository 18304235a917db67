/* Mapped bytes with a checksum for each block of 64 KiB, compared when a block is first read and remembered: what was
 * read before costs one byte a block. A section's own checksum would have to read all of it for one row. */
#pragma once

#include "rows/damage.h"

/* Smaller blocks make a first read of scattered rows cheaper and the checksums more: a fault maps 64 KiB anyway. */
#define TY_SUM_SHIFT 16u
#define TY_SUM_BLOCK ((uint64_t)1 << TY_SUM_SHIFT)
enum { TY_BLOCK_UNREAD, TY_BLOCK_GOOD, TY_BLOCK_DAMAGED, TY_BLOCK_ASKED };
/* Times that parts of a block are compared alone before it is compared as a whole. */
#define TY_BLOCK_ALONE 16u
typedef struct ty_block_states {
  _Atomic uint64_t good, damaged; /* how many are */
  _Atomic uint8_t of[];           /* TY_BLOCK_... of each; TY_BLOCK_ASKED + n: unread, and asked for n + 1 times */
} ty_block_states;

static inline uint64_t ty_sum_blocks(uint64_t bytes) { return (bytes >> TY_SUM_SHIFT) + (bytes % TY_SUM_BLOCK != 0); }

typedef struct ty_intact {
  const uint8_t *data; /* in the mapping */
  uint64_t bytes;
  const uint32_t *sums;    /* of each block; NULL: the states say all */
  ty_block_states *states; /* NULL: taken as good */
  /* What is noted of a damaged block. */
  ty_damage_list *damages;
  const ame_kernel *kernel;
  uint32_t part, section;
  uint64_t offset; /* in the file */
  char file[64];
  /* Whose bytes they are: those of `per` rows, of `rows` in all, are `width` long, or end where `ends` says. per 0: not
   * of rows. */
  uint64_t per, width, rows;
  const uint64_t *ends;
} ty_intact;

/* Compares the blocks from the first to the last that were not read yet. Whether all are good. */
bool ty_intact_compare(const ty_intact *x, uint64_t first, uint64_t last);

/* Whether the blocks that hold [at, at + bytes) are good. Reads those that were not read yet, and notes damage. For
 * several threads at a time. */
static inline bool ty_is_intact(const ty_intact *x, uint64_t at, uint64_t bytes) {
  if (bytes == 0 || x->states == NULL) return true;
  TY_ASSERT(at <= x->bytes && bytes <= x->bytes - at);
  uint64_t first = at >> TY_SUM_SHIFT, last = (at + bytes - 1) >> TY_SUM_SHIFT;
  for (uint64_t i = first; i <= last; i++) {
    if (atomic_load_explicit(&x->states->of[i], memory_order_relaxed) != TY_BLOCK_GOOD)
      return ty_intact_compare(x, first, last);
  }
  return true;
}

/* The same without reading a block: whether they are known to be good. One that was asked for so TY_BLOCK_ALONE times
 * is compared. For what has a checksum of its own beside. */
bool ty_intact_ask(const ty_intact *x, uint64_t first, uint64_t last);
static inline bool ty_intact_known(const ty_intact *x, uint64_t at, uint64_t bytes) {
  if (bytes == 0 || x->states == NULL) return true;
  TY_ASSERT(at <= x->bytes && bytes <= x->bytes - at);
  uint64_t first = at >> TY_SUM_SHIFT, last = (at + bytes - 1) >> TY_SUM_SHIFT;
  for (uint64_t i = first; i <= last; i++) {
    if (atomic_load_explicit(&x->states->of[i], memory_order_relaxed) != TY_BLOCK_GOOD)
      return ty_intact_ask(x, first, last);
  }
  return true;
}

/* Whether a damaged block was found so far. */
static inline bool ty_intact_any(const ty_intact *x) {
  return x->states != NULL && atomic_load_explicit(&x->states->damaged, memory_order_relaxed) != 0;
}
/* Whether all blocks were read, and are good: then nothing need be asked of single ones. */
static inline bool ty_intact_whole(const ty_intact *x) {
  if (x->states == NULL) return true;
  return atomic_load_explicit(&x->states->good, memory_order_relaxed) == ty_sum_blocks(x->bytes);
}

/* Gives out->data its states. `out` has all fields but those. TY_NO_MEMORY. */
ty_status ty_intact_open(ty_intact *out, ty_error *err);
/* Takes all blocks as good. */
void ty_intact_pass(const ty_intact *x);
/* Compares all blocks, read before or not; one that was good may become damaged. Stops where `go_on`, which gets the
 * bytes that were read, returns false; returns whether it did not. */
typedef bool (*ty_go_on)(void *context, uint64_t bytes);
bool ty_intact_again(const ty_intact *x, ty_go_on go_on, void *context);
/* Takes all blocks of [at, at + bytes) as damaged; `what` is noted of each, unless it is NULL. */
void ty_intact_condemn(const ty_intact *x, uint64_t at, uint64_t bytes, const char *what);
/* The offset in the file of the first damaged block that holds one of these bytes. */
uint64_t ty_intact_where(const ty_intact *x, uint64_t at, uint64_t bytes);
