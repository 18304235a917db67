/* Blocks of mapped bytes, compared with their checksums when they are first read. */
#include "rows/intact.h"

#include "os/fail.h"

ty_status ty_intact_open(ty_intact *out, ty_error *err) {
  out->states = ty_damage_memory(out->damages, ty_sum_blocks(out->bytes) + 1);
  if (out->states != NULL) return TY_OK;
  return ty_fail(err, TY_NO_MEMORY, "out of memory opening %s", out->file);
}

/* The rows with bytes in [at, at + bytes). */
static void rows_of(const ty_intact *x, uint64_t at, uint64_t bytes, uint64_t *first, uint64_t *rows) {
  uint64_t end;
  *first = *rows = 0;
  if (x->per == 0) return;
  if (x->ends == NULL) {
    *first = at / x->width * x->per;
    end = (at + bytes + x->width - 1) / x->width * x->per;
  } else {
    uint64_t count = (x->rows + x->per - 1) / x->per, low = 0, high = count;
    while (low < high) { /* the first entry that ends behind `at` */
      uint64_t middle = low + (high - low) / 2;
      if (x->ends[middle] <= at) low = middle + 1;
      else high = middle;
    }
    *first = low * x->per;
    for (high = count; low < high;) { /* the first that ends at the end of these bytes or behind it */
      uint64_t middle = low + (high - low) / 2;
      if (x->ends[middle] < at + bytes) low = middle + 1;
      else high = middle;
    }
    end = low < count ? (low + 1) * x->per : x->rows;
  }
  if (end > x->rows) end = x->rows;
  *rows = end > *first ? end - *first : 0;
}

/* Of several threads that read the block at a time one notes it. */
static void found(const ty_intact *x, uint64_t block, const char *what) {
  uint64_t at = block << TY_SUM_SHIFT, bytes = x->bytes - at < TY_SUM_BLOCK ? x->bytes - at : TY_SUM_BLOCK;
  if (atomic_exchange(&x->states[block], TY_BLOCK_DAMAGED) == TY_BLOCK_DAMAGED) return;
  atomic_store(&x->states[ty_sum_blocks(x->bytes)], 1);
  ty_damage d = ty_damage_of(x->file, x->part, x->section, x->offset + at, bytes, what);
  rows_of(x, at, bytes, &d.first, &d.rows);
  ty_damage_add(x->damages, &d);
}

bool ty_intact_compare(const ty_intact *x, uint64_t first, uint64_t last) {
  bool good = true;
  for (uint64_t i = first; i <= last; i++) {
    uint8_t state = atomic_load_explicit(&x->states[i], memory_order_relaxed);
    if (state == TY_BLOCK_UNREAD && x->sums != NULL) {
      uint64_t at = i << TY_SUM_SHIFT, bytes = x->bytes - at < TY_SUM_BLOCK ? x->bytes - at : TY_SUM_BLOCK;
      if (x->kernel->crc32c(0, x->data + at, (size_t)bytes) == x->sums[i]) {
        state = TY_BLOCK_GOOD;
        atomic_store_explicit(&x->states[i], state, memory_order_relaxed);
      } else {
        found(x, i, "bytes do not match their checksum");
      }
    }
    good &= state == TY_BLOCK_GOOD;
  }
  return good;
}

void ty_intact_pass(const ty_intact *x) {
  for (uint64_t i = 0; i < ty_sum_blocks(x->bytes); i++) atomic_store(&x->states[i], TY_BLOCK_GOOD);
}

void ty_intact_condemn(const ty_intact *x, uint64_t at, uint64_t bytes, const char *what) {
  if (bytes == 0 || x->states == NULL) return;
  for (uint64_t i = at >> TY_SUM_SHIFT; i <= (at + bytes - 1) >> TY_SUM_SHIFT; i++) found(x, i, what);
}

uint64_t ty_intact_where(const ty_intact *x, uint64_t at, uint64_t bytes) {
  for (uint64_t i = at >> TY_SUM_SHIFT; i < ty_sum_blocks(x->bytes) && i << TY_SUM_SHIFT < at + bytes; i++) {
    if (atomic_load_explicit(&x->states[i], memory_order_relaxed) == TY_BLOCK_DAMAGED)
      return x->offset + (i << TY_SUM_SHIFT);
  }
  return x->offset + at;
}
