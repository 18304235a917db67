/* The statistics of weighted queries, updated like those of the lexical index (lexical/sync.c): changes only set flags;
 * the next weighted query compares which rows are counted with which are live. */
#include "rows/weights_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/checks.h"

/* Added to each dimension's mean square: so many times the mean over all dimensions. */
#define FLOOR_MEANS 2.0

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
  weights_partitions_free(w);
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
  w->version++;
  w->delta.restart |= change != TY_WEIGHTS_DIED;
  w->base.restart |= change == TY_WEIGHTS_ALL;
  w->moved |= change != TY_WEIGHTS_DIED;
}

/* Smoothing keeps the mean, so that of the smoothed dimensions is `mean` as well. */
bool weights_factors(const uint64_t *a, const uint64_t *b, double rows, double prior, uint32_t dim, double *factor) {
  double mean = 0;
  for (uint32_t i = 0; i < dim; i++) mean += (double)(a[i] + (b == NULL ? 0 : b[i])) / TY_WEIGHTS_ONE;
  if (!(rows > 0 && mean > 0)) return false;
  mean /= rows * (double)dim;
  for (uint32_t i = 0; i < dim; i++) {
    double sum = (double)(a[i] + (b == NULL ? 0 : b[i])) / TY_WEIGHTS_ONE;
    factor[i] = 1 / ((sum + prior * mean) / (rows + prior) + FLOOR_MEANS * mean);
  }
  return true;
}

/* The difference between rows counted and live rows: births and deaths would cancel, but rows are mostly born in the
 * delta and die in the base. */
static uint64_t pending(const part *p, const ty_segment *s) {
  uint64_t counted = !p->restart ? p->counted : s->squares != NULL ? s->count : 0;
  return counted < s->live ? s->live - counted : counted - s->live;
}

/* Whether all dimensions weigh the same, however the rows are. */
static bool is_small(const ty_collection *c, uint32_t partition) {
  return partition != TY_NO_CODE && (partition == 0 || c->dicts[0].live[partition] < c->env->weighed_from);
}

uint64_t ty_weights_pending(const ty_collection *c, uint32_t partition) {
  ty_weights *w = c->weights;
  if (is_small(c, partition)) return 0;
  if (pthread_mutex_trylock(&w->lock) != 0) return UINT64_MAX;
  uint64_t rows = partition != TY_NO_CODE ? weights_partition_pending(c, partition)
                                          : pending(&w->base, &c->base) + pending(&w->delta, &c->delta);
  pthread_mutex_unlock(&w->lock);
  return rows;
}

ty_status weights_sync(const ty_collection *c, ty_error *err) {
  ty_weights *w = c->weights;
  ty_status status = TY_OK;
  if (!w->stale && c->delta.count == w->delta.rows) return TY_OK;
  if (w->factor == NULL) w->factor = malloc(c->dim * sizeof *w->factor);
  if (w->factor == NULL) status = weights_no_memory(err);
  if (status == TY_OK) status = weights_prepare(c, &w->base, &c->base, c->base.count, c->base.squares, err);
  if (status == TY_OK) status = weights_prepare(c, &w->delta, &c->delta, c->delta.count, NULL, err);
  w->stale = status != TY_OK;
  if (status != TY_OK) return status;
  weights_follow(c, &w->base, &c->base, c->base.count);
  weights_follow(c, &w->delta, &c->delta, c->delta.count);
  double rows = (double)(c->base.live + c->delta.live);
  w->even = !weights_factors(w->base.sums, w->delta.sums, rows, WEIGHTS_PRIOR_ROWS, c->dim, w->factor);
  return TY_OK;
}

static ty_status check_metric(const ty_collection *c, ty_error *err) {
  if (c->metric == TY_INNER_PRODUCT) return TY_OK;
  return ty_fail(err, TY_INVALID, "a weighted query needs a collection of the inner product: leave `weighted` out");
}

/* Takes the mutex and makes the scratch. On failure the mutex is free. */
static ty_status lock(const ty_collection *c, ty_error *err) {
  ty_weights *w = c->weights;
  pthread_mutex_lock(&w->lock);
  if (w->row == NULL) w->row = malloc(c->dim * sizeof *w->row);
  if (w->row != NULL) return TY_OK;
  pthread_mutex_unlock(&w->lock);
  return weights_no_memory(err);
}

/* What the weights of all rows are made without. */
static uint32_t trouble_of(const ty_collection *c) {
  uint32_t lost = c->base.checks != NULL && c->base.checks->squares_lost ? TY_TROUBLE_FILTER : 0;
  return lost | (c->weights->base.unread ? TY_TROUBLE_ROWS : 0);
}

ty_status ty_weights_open(const ty_collection *c, uint32_t partition, ty_weighing *out, ty_error *err) {
  ty_weights *w = c->weights;
  *out = (ty_weighing){.scales = true};
  ty_status status = check_metric(c, err);
  if (status != TY_OK || is_small(c, partition)) return status;
  status = lock(c, err);
  if (status != TY_OK) return status;
  status = partition != TY_NO_CODE ? weights_of_partition(c, partition, out, err) : weights_sync(c, err);
  if (status == TY_OK && partition == TY_NO_CODE) {
    *out = (ty_weighing){.factor = w->even ? NULL : w->factor, .scales = !w->even};
    out->trouble = trouble_of(c);
  }
  pthread_mutex_unlock(&w->lock);
  return status;
}

void ty_weights_close(ty_weighing *w) {
  if (w->held != NULL && atomic_fetch_sub_explicit(&w->held->held, 1, memory_order_acq_rel) == 1) free(w->held);
  *w = (ty_weighing){0};
}

ty_status ty_weights_add(const ty_collection *c, uint32_t partition, ty_weights_sum *to, uint32_t *trouble,
                         ty_error *err) {
  ty_weights *w = c->weights;
  const uint64_t *sums = NULL, *more = NULL;
  ty_status status = check_metric(c, err);
  if (status != TY_OK || partition == 0) return status;
  if (to->sums == NULL) to->sums = calloc(c->dim, sizeof *to->sums);
  if (to->sums == NULL) return weights_no_memory(err);
  status = lock(c, err);
  if (status != TY_OK) return status;
  if (partition != TY_NO_CODE) {
    status = weights_partition_sums(c, partition, &sums, trouble, err);
    to->rows += c->dicts[0].live[partition];
  } else {
    status = weights_sync(c, err);
    to->rows += c->base.live + c->delta.live;
    to->whole = true;
    sums = c->base.live > 0 ? w->base.sums : NULL;
    more = c->delta.live > 0 ? w->delta.sums : NULL;
    *trouble |= trouble_of(c);
  }
  for (uint32_t i = 0; i < c->dim && status == TY_OK && sums != NULL; i++) to->sums[i] += sums[i];
  for (uint32_t i = 0; i < c->dim && status == TY_OK && more != NULL; i++) to->sums[i] += more[i];
  pthread_mutex_unlock(&w->lock);
  return status;
}

ty_status ty_weights_open_sum(const ty_collection *c, const ty_weights_sum *of, ty_weighing *out, ty_error *err) {
  *out = (ty_weighing){.scales = true};
  if (!of->whole && (of->rows == 0 || of->rows < c->env->weighed_from)) return TY_OK;
  ty_factors *f = weights_new_factors(c->dim);
  if (f == NULL) return weights_no_memory(err);
  double prior = of->whole ? WEIGHTS_PRIOR_ROWS : WEIGHTS_PARTITION_PRIOR_ROWS;
  if (of->rows > 0 && weights_factors(of->sums, NULL, (double)of->rows, prior, c->dim, f->factor)) {
    out->factor = f->factor;
    out->held = f;
  } else {
    out->scales = false;
    free(f);
  }
  return TY_OK;
}

void ty_weights_sum_free(ty_weights_sum *of) { free(of->sums); }

/* Sums are at most 2^62 and factors at most 2^80, a query's elements below 2^128: no square overflows a double or
 * underflows to 0. */
static double weighed(const ty_weighing *w, const float *query, uint32_t i) {
  return w->factor == NULL ? (double)query[i] : (double)query[i] * w->factor[i];
}

void ty_weights_apply(const ty_collection *c, const ty_weighing *w, float *query) {
  double squares = 0;
  for (uint32_t i = 0; i < c->dim && w->scales; i++) {
    double x = weighed(w, query, i);
    squares += x * x;
  }
  if (!(squares > 0)) return;
  double length = sqrt(squares);
  for (uint32_t i = 0; i < c->dim; i++) query[i] = (float)(weighed(w, query, i) / length);
}

const float *ty_query_prepare(const ty_collection *c, const float *query, const ty_weighing *w, float *scratch) {
  if (c->metric != TY_COSINE && w == NULL) return query;
  memcpy(scratch, query, (size_t)c->dim * sizeof *scratch);
  if (w != NULL) ty_weights_apply(c, w, scratch);
  else c->env->kernel->normalize(scratch, 1, c->dim);
  return scratch;
}
