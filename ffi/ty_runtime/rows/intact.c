/* Blocks of mapped bytes, compared with their checksums when they are first read. */
#include "rows/intact.h"

#include "os/plant.h"

ty_status ty_intact_open(ty_intact *out, ty_error *err) {
  out->states = ty_damage_memory(out->damages, sizeof *out->states + ty_sum_blocks(out->bytes));
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
    while (low < high) { /* the first entry that ends after `at` */
      uint64_t middle = low + (high - low) / 2;
      if (x->ends[middle] <= at) low = middle + 1;
      else high = middle;
    }
    *first = low * x->per;
    for (high = count; low < high;) { /* the first that ends at the end of these bytes or after it */
      uint64_t middle = low + (high - low) / 2;
      if (x->ends[middle] < at + bytes) low = middle + 1;
      else high = middle;
    }
    end = low < count ? (low + 1) * x->per : x->rows;
  }
  if (end > x->rows) end = x->rows;
  *rows = end > *first ? end - *first : 0;
}

static uint64_t bytes_of(const ty_intact *x, uint64_t block) {
  uint64_t left = x->bytes - (block << TY_SUM_SHIFT);
  return left < TY_SUM_BLOCK ? left : TY_SUM_BLOCK;
}

/* Sets a block's state; of several threads that read the block at a time one counts and notes it. */
static void set(const ty_intact *x, uint64_t block, bool good, const char *what) {
  const uint8_t now = good ? TY_BLOCK_GOOD : TY_BLOCK_DAMAGED;
  const uint8_t before = atomic_exchange(&x->states->of[block], now);
  if (before == now) return;
  if (before == TY_BLOCK_GOOD) atomic_fetch_sub(&x->states->good, 1);
  if (before == TY_BLOCK_DAMAGED) atomic_fetch_sub(&x->states->damaged, 1);
  atomic_fetch_add(good ? &x->states->good : &x->states->damaged, 1);
  if (good || what == NULL) return;
  ty_damage d =
      ty_damage_of(x->file, x->part, x->section, x->offset + (block << TY_SUM_SHIFT), bytes_of(x, block), what);
  rows_of(x, block << TY_SUM_SHIFT, d.bytes, &d.first, &d.rows);
  ty_damage_add(x->damages, &d);
}

static bool compare(const ty_intact *x, uint64_t block) {
  const uint8_t *data = x->data + (block << TY_SUM_SHIFT);
  bool good = x->kernel->crc32c(0, data, (size_t)bytes_of(x, block)) == x->sums[block] || TY_PLANTED(NO_BLOCK_SUM);
  set(x, block, good, "bytes do not match their checksum");
  return good;
}

bool ty_intact_compare(const ty_intact *x, uint64_t first, uint64_t last) {
  bool good = true;
  for (uint64_t i = first; i <= last; i++) {
    uint8_t state = atomic_load_explicit(&x->states->of[i], memory_order_relaxed);
    if (state == TY_BLOCK_UNREAD || state >= TY_BLOCK_ASKED) good &= x->sums != NULL && compare(x, i);
    else good &= state == TY_BLOCK_GOOD;
  }
  return good;
}

bool ty_intact_ask(const ty_intact *x, uint64_t first, uint64_t last) {
  bool good = true;
  for (uint64_t i = first; i <= last; i++) {
    uint8_t state = atomic_load_explicit(&x->states->of[i], memory_order_relaxed);
    if (state == TY_BLOCK_UNREAD || (state >= TY_BLOCK_ASKED && state < TY_BLOCK_ASKED + TY_BLOCK_ALONE)) {
      uint8_t next = state == TY_BLOCK_UNREAD ? TY_BLOCK_ASKED : (uint8_t)(state + 1);
      (void)atomic_compare_exchange_strong(&x->states->of[i], &state, next);
      good = false;
    } else {
      good &= state >= TY_BLOCK_ASKED ? x->sums != NULL && compare(x, i) : state == TY_BLOCK_GOOD;
    }
  }
  return good;
}

bool ty_intact_again(const ty_intact *x, ty_go_on go_on, void *context) {
  for (uint64_t i = 0; x->states != NULL && x->sums != NULL && i < ty_sum_blocks(x->bytes); i++) {
    /* One that was taken as damaged stays so: its bytes may be good, and what belongs to them not. */
    if (atomic_load(&x->states->of[i]) != TY_BLOCK_DAMAGED) compare(x, i);
    if (!go_on(context, bytes_of(x, i))) return false;
  }
  return true;
}

void ty_intact_pass(const ty_intact *x) {
  for (uint64_t i = 0; i < ty_sum_blocks(x->bytes); i++) set(x, i, true, NULL);
}

void ty_intact_condemn(const ty_intact *x, uint64_t at, uint64_t bytes, const char *what) {
  if (bytes == 0 || x->states == NULL) return;
  for (uint64_t i = at >> TY_SUM_SHIFT; i <= (at + bytes - 1) >> TY_SUM_SHIFT; i++) set(x, i, false, what);
}

uint64_t ty_intact_where(const ty_intact *x, uint64_t at, uint64_t bytes) {
  for (uint64_t i = at >> TY_SUM_SHIFT; i < ty_sum_blocks(x->bytes) && i << TY_SUM_SHIFT < at + bytes; i++) {
    if (atomic_load_explicit(&x->states->of[i], memory_order_relaxed) == TY_BLOCK_DAMAGED)
      return x->offset + (i << TY_SUM_SHIFT);
  }
  return x->offset + at;
}
