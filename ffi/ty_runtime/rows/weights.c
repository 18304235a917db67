/* The statistics of weighted queries, updated like those of the lexical index (lexical/sync.c): changes only set flags;
 * the next weighted query compares which rows are counted with which are live. */
#include "rows/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/fail.h"
#include "rows/vector.h"

/* Smoothing: the mean over all dimensions has the weight of so many rows in each, and is added so many times to each
 * dimension's. Mean nDCG@10 rises with these from .646 to .659 on eight sets and from .558 to .583 on 21 others (in
 * 1,024 dimensions); half or twice these values are nearly as good. */
#define PRIOR_ROWS  20.0
#define FLOOR_MEANS 2.0

/* Rows compared at a time. */
#define STEP 4096u

/* The counted rows of one segment. */
typedef struct part {
  uint64_t *sums; /* dim */
  uint8_t *dead;  /* 1: not in the sums; `rows` of them */
  uint64_t rows, capacity;
  uint64_t counted; /* rows in the sums */
  bool restart;     /* the counts are invalid */
} part;

struct ty_weights {
  pthread_mutex_t lock;
  bool stale; /* ty_weights_note was called since the last sync */
  part base, delta;
  float *row;     /* scratch, dim floats */
  double *factor; /* dim; multiplies the query's elements */
  bool even;      /* all live rows are zero: no weighting */
};

ty_weights *ty_weights_new(void) {
  ty_weights *w = calloc(1, sizeof *w);
  if (w == NULL) return NULL;
  if (pthread_mutex_init(&w->lock, NULL) != 0) {
    free(w);
    return NULL;
  }
  w->stale = w->base.restart = w->delta.restart = true;
  return w;
}

void ty_weights_free(ty_weights *w) {
  if (w == NULL) return;
  pthread_mutex_destroy(&w->lock);
  free(w->base.sums);
  free(w->base.dead);
  free(w->delta.sums);
  free(w->delta.dead);
  free(w->row);
  free(w->factor);
  free(w);
}

void ty_weights_note(ty_weights *w, ty_weights_change change) {
  if (w == NULL) return;
  w->stale = true;
  w->delta.restart |= change != TY_WEIGHTS_DIED;
  w->base.restart |= change == TY_WEIGHTS_ALL;
}

/* ---- Counting ---- */

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

uint64_t ty_weights_of_line(const uint8_t *line, const float *scales) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < AME_LINE; i++) sum += share_of(scales[i] * (float)((int)line[i] - 128));
  return sum;
}

/* ---- Updating ---- */

static ty_status no_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "not enough memory to weigh a query"); }

static void count_row(const ty_collection *c, part *p, const ty_segment *s, uint64_t at, bool off) {
  ty_weights_count(p->sums, ty_row_vector(c, s, at, c->weights->row), c->dim, off);
  TY_ASSERT(!off || p->counted > 0);
  p->counted += off ? (uint64_t)-1 : 1;
  /* Not unsaved operations: only the change may evict these. */
  ty_touched(c->resident, s->is_base ? TY_OF_BASE : TY_OF_DELTA, ty_vector_bytes(c), TY_RESIDENT_MOST);
}

/* Allocates for a segment; after a restart begins with the sums of all rows in the base's file, if any. */
static ty_status prepare(const ty_collection *c, part *p, const ty_segment *s, ty_error *err) {
  if (p->sums == NULL) p->sums = calloc(c->dim, sizeof *p->sums);
  if (p->dead == NULL || s->count > p->capacity) {
    uint64_t room = s->is_base ? s->count + 1 : s->count + s->count / 2 + 64;
    uint8_t *dead = realloc(p->dead, (size_t)room);
    if (dead == NULL) return no_memory(err);
    p->dead = dead;
    p->capacity = room;
  }
  if (p->sums == NULL) return no_memory(err);
  if (!p->restart && s->count >= p->rows) return TY_OK;
  p->rows = p->counted = s->squares != NULL ? s->count : 0;
  memset(p->dead, 0, (size_t)p->rows);
  if (s->squares != NULL) memcpy(p->sums, s->squares, c->dim * sizeof *p->sums);
  else memset(p->sums, 0, c->dim * sizeof *p->sums);
  p->restart = false;
  return TY_OK;
}

static void follow(const ty_collection *c, part *p, const ty_segment *s) {
  for (uint64_t at = 0; at < p->rows; at += STEP) {
    uint64_t n = p->rows - at < STEP ? p->rows - at : STEP;
    if (memcmp(p->dead + at, s->dead + at, (size_t)n) == 0) continue;
    for (uint64_t i = at; i < at + n; i++) {
      bool dead = s->dead[i] != 0;
      if ((p->dead[i] != 0) == dead) continue;
      count_row(c, p, s, i, dead);
      p->dead[i] = dead;
    }
  }
  TY_ASSERT(s->count <= p->capacity && p->counted <= p->rows);
  for (; p->rows < s->count; p->rows++) {
    p->dead[p->rows] = s->dead[p->rows] != 0;
    if (s->dead[p->rows] == 0) count_row(c, p, s, p->rows, false);
  }
}

/* Computes the factors from the sums. Smoothing keeps the mean, so that of the smoothed dimensions is `mean` as
 * well. */
static void weigh(const ty_collection *c, ty_weights *w) {
  double rows = (double)(c->base.live + c->delta.live), mean = 0;
  for (uint32_t i = 0; i < c->dim; i++) mean += (double)(w->base.sums[i] + w->delta.sums[i]) / TY_WEIGHTS_ONE;
  w->even = !(rows > 0 && mean > 0);
  if (w->even) return;
  mean /= rows * (double)c->dim;
  for (uint32_t i = 0; i < c->dim; i++) {
    double sum = (double)(w->base.sums[i] + w->delta.sums[i]) / TY_WEIGHTS_ONE;
    w->factor[i] = 1 / ((sum + PRIOR_ROWS * mean) / (rows + PRIOR_ROWS) + FLOOR_MEANS * mean);
  }
}

/* The difference between rows counted and live rows: births and deaths would cancel, but rows are mostly born in the
 * delta and die in the base. */
static uint64_t pending(const part *p, const ty_segment *s) {
  uint64_t counted = !p->restart ? p->counted : s->squares != NULL ? s->count : 0;
  return counted < s->live ? s->live - counted : counted - s->live;
}

uint64_t ty_weights_pending(const ty_collection *c) {
  ty_weights *w = c->weights;
  if (pthread_mutex_trylock(&w->lock) != 0) return UINT64_MAX;
  uint64_t rows = pending(&w->base, &c->base) + pending(&w->delta, &c->delta);
  pthread_mutex_unlock(&w->lock);
  return rows;
}

ty_status ty_weights_sync(const ty_collection *c, ty_error *err) {
  ty_weights *w = c->weights;
  ty_status status = TY_OK;
  if (c->metric != TY_INNER_PRODUCT)
    return ty_fail(err, TY_INVALID, "a weighted query needs a collection of the inner product: leave `weighted` out");
  pthread_mutex_lock(&w->lock);
  if (!w->stale && c->delta.count == w->delta.rows) goto done;
  if (w->row == NULL) w->row = malloc(c->dim * sizeof *w->row);
  if (w->factor == NULL) w->factor = malloc(c->dim * sizeof *w->factor);
  if (w->row == NULL || w->factor == NULL) status = no_memory(err);
  if (status == TY_OK) status = prepare(c, &w->base, &c->base, err);
  if (status == TY_OK) status = prepare(c, &w->delta, &c->delta, err);
  w->stale = status != TY_OK;
  if (status != TY_OK) goto done;
  follow(c, &w->base, &c->base);
  follow(c, &w->delta, &c->delta);
  weigh(c, w);
done:
  pthread_mutex_unlock(&w->lock);
  return status;
}

bool ty_weights_agree(const ty_collection *c, const ty_segment *s, const uint64_t *live) {
  ty_weights *w = c->weights;
  const part *p = s->is_base ? &w->base : &w->delta;
  pthread_mutex_lock(&w->lock);
  bool good = w->stale || w->delta.rows != c->delta.count ||
              (p->rows == s->count && p->counted == s->live &&
               (s->count == 0 || memcmp(p->dead, s->dead, (size_t)s->count) == 0) &&
               memcmp(p->sums, live, c->dim * sizeof *live) == 0);
  pthread_mutex_unlock(&w->lock);
  return good;
}

/* Sums are at most 2^62 and factors at most 2^80, a query's elements below 2^128: no square overflows a double or
 * underflows to 0. */
void ty_weights_apply(const ty_collection *c, float *query) {
  const ty_weights *w = c->weights;
  double squares = 0;
  for (uint32_t i = 0; i < c->dim && !w->even; i++) {
    double x = (double)query[i] * w->factor[i];
    squares += x * x;
  }
  if (!(squares > 0)) return;
  double length = sqrt(squares);
  for (uint32_t i = 0; i < c->dim; i++) query[i] = (float)((double)query[i] * w->factor[i] / length);
}

const float *ty_query_prepare(const ty_collection *c, const float *query, bool weighted, float *scratch) {
  if (c->metric != TY_COSINE && !weighted) return query;
  memcpy(scratch, query, (size_t)c->dim * sizeof *scratch);
  if (weighted) ty_weights_apply(c, scratch);
  else c->env->kernel->normalize(scratch, 1, c->dim);
  return scratch;
}
