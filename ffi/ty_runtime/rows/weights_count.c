/* Counting rows into sums. */
#include <stdlib.h>
#include <string.h>

#include "rows/checks.h"
#include "rows/vector.h"
#include "rows/weights_state.h"

/* Rows compared at a time. */
#define STEP 4096u

/* floor(min(x^2, 1) * 2^31). The square of a float is exact in double, and above 2^21 a double is a multiple of 2^-31:
 * the sum rounds the square to one, which its bits count, and if that was upwards the result is one too large.
 * Converting to an integer gives the same at 1.2 times the cost, or at four times where it is to 64 bits. NaN, possible
 * only in a forged file, counts as the largest. */
static inline uint64_t share_of(float x) {
  const double lift = 0x1p21;
  double square = (double)x * (double)x;
  square = square < 1 ? square : 1;
  double lifted = square + lift;
  uint64_t bits, base;
  memcpy(&bits, &lifted, sizeof bits);
  memcpy(&base, &lift, sizeof base);
  return bits - base - (lifted - lift > square);
}

void ty_weights_count(uint64_t *sums, const float *row, uint32_t dim, bool off) {
  if (off) {
    for (uint32_t i = 0; i < dim; i++) sums[i] -= share_of(row[i]);
  } else {
    for (uint32_t i = 0; i < dim; i++) sums[i] += share_of(row[i]);
  }
}

/* A row has 128 shares at most, so each is computed once. Zeros are added too: to skip them takes twice as long, as the
 * processor guesses most branches wrong. The share of 0 is 0 also with a scale that is not a number, which only a
 * forged file has. */
void ty_weights_count_codes(uint64_t *sums, const int8_t *codes, float scale, uint32_t dim) {
  uint64_t shares[256] = {0}; /* by code, as a byte */
  for (uint32_t size = 1; size <= 128; size++) shares[256 - size] = share_of(scale * (float)size);
  for (uint32_t size = 1; size < 128; size++) shares[size] = shares[256 - size];
  for (uint32_t i = 0; i < dim; i++) sums[i] += shares[(uint8_t)codes[i]];
}

bool weights_count_row(const ty_collection *c, uint64_t *sums, const ty_segment *s, uint64_t at, bool off) {
  if (!ty_vector_intact(c, s, at)) return false;
  ty_weights_count(sums, ty_row_vector(c, s, at, c->weights->row), c->dim, off);
  c->weights->counts++;
  /* Not unsaved operations: only the change may evict these. */
  ty_touched(c->resident, s->is_base ? TY_OF_BASE : TY_OF_DELTA, ty_vector_bytes(c), TY_RESIDENT_MOST);
  return true;
}

ty_status weights_no_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "not enough memory to weigh a query"); }

ty_status weights_prepare(const ty_collection *c, part *p, const ty_segment *s, uint64_t count, const uint64_t *stored,
                          ty_error *err) {
  if (p->sums == NULL) p->sums = calloc(c->dim, sizeof *p->sums);
  if (p->dead == NULL || count > p->capacity) {
    uint64_t room = s->is_base ? count + 1 : count + count / 2 + 64;
    uint8_t *dead = realloc(p->dead, (size_t)room);
    if (dead == NULL) return weights_no_memory(err);
    p->dead = dead;
    p->capacity = room;
  }
  if (p->sums == NULL) return weights_no_memory(err);
  if (!p->restart && count >= p->rows) return TY_OK;
  if (p->afresh) stored = NULL;
  p->unread = false;
  p->rows = p->counted = stored != NULL ? count : 0;
  memset(p->dead, 0, (size_t)p->rows);
  if (stored != NULL) memcpy(p->sums, stored, c->dim * sizeof *p->sums);
  else memset(p->sums, 0, c->dim * sizeof *p->sums);
  p->restart = false;
  return TY_OK;
}

static void count_afresh(const ty_collection *c, part *p) {
  p->afresh = true;
  p->unread = false;
  p->rows = p->counted = 0;
  memset(p->sums, 0, c->dim * sizeof *p->sums);
}

/* Those rows whose state has changed. False: one that died is damaged. */
static bool follow_known(const ty_collection *c, part *p, const ty_segment *s) {
  const uint8_t *now = s->dead + p->first;
  for (uint64_t at = 0; at < p->rows; at += STEP) {
    uint64_t n = p->rows - at < STEP ? p->rows - at : STEP;
    if (memcmp(p->dead + at, now + at, (size_t)n) == 0) continue;
    for (uint64_t i = at; i < at + n; i++) {
      bool dead = now[i] != 0;
      if ((p->dead[i] != 0) == dead) continue;
      TY_ASSERT(!dead || p->counted > 0);
      if (!weights_count_row(c, p->sums, s, p->first + i, dead)) {
        if (dead) return false;
        p->unread = true;
      }
      p->counted += dead ? (uint64_t)-1 : 1;
      p->dead[i] = dead;
    }
  }
  return true;
}

void weights_follow(const ty_collection *c, part *p, const ty_segment *s, uint64_t count) {
  if (count == 0) return;
  const uint8_t *now = s->dead + p->first;
  if (!follow_known(c, p, s)) count_afresh(c, p);
  TY_ASSERT(count <= p->capacity && p->counted <= p->rows);
  for (; p->rows < count; p->rows++) {
    p->dead[p->rows] = now[p->rows] != 0;
    if (now[p->rows] != 0) continue;
    p->unread |= !weights_count_row(c, p->sums, s, p->first + p->rows, false);
    p->counted++;
  }
}
