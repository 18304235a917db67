/* The weights of a partition's rows. What is kept of each: the sums, which of the base's rows are in them, and which
 * rows of the delta it has. */
#include <stdlib.h>
#include <string.h>

#include "rows/checks.h"
#include "rows/weights_state.h"

/* Partitions that are kept at most, however few dimensions they have. */
#define MOST 256u

/* ---- Where a partition lies ---- */

/* Its run of the base, and the stored sums of that. */
typedef struct run {
  uint64_t first, count;
  const uint64_t *stored; /* NULL: none */
  bool damaged;           /* they are */
} run;

/* One whose sums are stored, from index `at` on. */
static run stored_run(const ty_collection *c, const ty_span *s, uint64_t at) {
  const uint64_t width = sizeof *c->base.span_squares;
  bool good = c->base.checks == NULL || ty_is_intact(&c->base.checks->span_squares, at * width, c->dim * width);
  return (run){s->first, s->count, good ? c->base.span_squares + at : NULL, !good};
}

static run run_of(const ty_collection *c, uint32_t code) {
  uint64_t before = 0;
  for (uint32_t i = 0; i < c->span_count; i++) {
    const ty_span *s = &c->spans[i];
    bool summed = c->base.span_squares != NULL && s->count >= c->env->summed_from;
    if (s->key == code) return summed ? stored_run(c, s, before * c->dim) : (run){.first = s->first, .count = s->count};
    before += summed;
  }
  return (run){0};
}

/* ---- Kept partitions ---- */

static scoped *find(const ty_weights *w, uint32_t code) {
  for (uint32_t i = 0; i < w->scoped_count; i++) {
    if (w->scoped[i].code == code) return &w->scoped[i];
  }
  return NULL;
}

static uint64_t bytes_of(const ty_collection *c, const scoped *p) {
  return sizeof *p + c->dim * (sizeof *p->base.sums + sizeof(double)) + p->base.capacity +
         p->row_capacity * sizeof *p->rows;
}

static void release(ty_factors *f) {
  ty_weighing w = {.held = f};
  ty_weights_close(&w);
}

static void drop(ty_weights *w, scoped *p) {
  free(p->base.sums);
  free(p->base.dead);
  free(p->rows);
  release(p->factors);
  *p = w->scoped[--w->scoped_count];
}

void weights_partitions_free(ty_weights *w) {
  while (w->scoped_count > 0) drop(w, &w->scoped[w->scoped_count - 1]);
  free(w->scoped);
  w->scoped = NULL;
  w->moved = false;
}

/* Drops those asked for least recently, but not `last`, until the rest and one more have room. */
static void evict(const ty_collection *c, ty_weights *w, uint32_t last) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < w->scoped_count; i++) bytes += bytes_of(c, &w->scoped[i]);
  while (w->scoped_count > 1 && (bytes > c->env->weighed_bytes || w->scoped_count >= MOST)) {
    scoped *oldest = NULL;
    for (uint32_t i = 0; i < w->scoped_count; i++) {
      scoped *p = &w->scoped[i];
      if (p->code != last && (oldest == NULL || p->used < oldest->used)) oldest = p;
    }
    bytes -= bytes_of(c, oldest);
    drop(w, oldest);
  }
}

static scoped *add(ty_weights *w, uint32_t code) {
  if (w->scoped == NULL) w->scoped = malloc(MOST * sizeof *w->scoped);
  if (w->scoped == NULL) return NULL;
  TY_ASSERT(w->scoped_count < MOST);
  scoped *p = &w->scoped[w->scoped_count++];
  *p = (scoped){.code = code, .base = {.restart = true}};
  return p;
}

/* ---- Updating ---- */

static bool is_current(const ty_collection *c, const scoped *p) {
  return p->version == c->weights->version && p->seen == c->delta.count;
}

static ty_status append(scoped *p, uint64_t at, ty_error *err) {
  if (p->row_count == p->row_capacity) {
    uint64_t room = p->row_capacity * 2 + 64;
    uint32_t *rows = realloc(p->rows, (size_t)room * sizeof *rows);
    if (rows == NULL) return weights_no_memory(err);
    p->rows = rows;
    p->row_capacity = room;
  }
  p->rows[p->row_count++] = (uint32_t)at * 2 + 1;
  return TY_OK;
}

/* The rows of the delta: those of the partition are found, then counted if they are alive. */
static ty_status follow_delta(const ty_collection *c, scoped *p, ty_error *err) {
  const ty_segment *s = &c->delta;
  for (; p->seen < s->count; p->seen++) {
    ty_status status = s->keys[0][p->seen] == p->code ? append(p, p->seen, err) : TY_OK;
    if (status != TY_OK) return status;
  }
  for (uint64_t i = 0; i < p->row_count; i++) {
    uint32_t at = p->rows[i] / 2, dead = s->dead[at] != 0;
    if ((p->rows[i] & 1) == dead) continue;
    weights_count_row(c, p->base.sums, s, at, dead);
    p->counted += dead ? (uint64_t)-1 : 1;
    p->rows[i] ^= 1;
  }
  return TY_OK;
}

/* No sum is larger than that of as many rows of the largest elements. */
static bool is_possible(const ty_collection *c, const run *r) {
  for (uint32_t i = 0; i < c->dim && r->stored != NULL; i++) {
    if (r->stored[i] > r->count * TY_WEIGHTS_ONE) return false;
  }
  return true;
}

ty_factors *weights_new_factors(uint32_t dim) {
  ty_factors *f = malloc(sizeof *f + dim * sizeof *f->factor);
  if (f != NULL) atomic_init(&f->held, 1);
  return f;
}

static ty_status update(const ty_collection *c, scoped *p, ty_error *err) {
  const bool fresh = p->base.restart;
  const uint64_t counts = c->weights->counts;
  run r = fresh ? run_of(c, p->code) : (run){.first = p->base.first, .count = p->base.rows};
  if (!is_possible(c, &r))
    return ty_fail(err, TY_CORRUPT, "the base's sums of squares of a partition are larger than its rows can be");
  p->base.first = r.first;
  if (fresh) p->trouble = r.damaged ? TY_TROUBLE_FILTER : 0;
  ty_status status = weights_prepare(c, &p->base, &c->base, r.count, r.stored, err);
  if (status != TY_OK) return status;
  weights_follow(c, &p->base, &c->base, r.count);
  status = follow_delta(c, p, err);
  if (status != TY_OK) return status;
  p->version = c->weights->version;
  if (!fresh && c->weights->counts == counts) return TY_OK; /* other rows changed */
  uint64_t live = p->base.counted + p->counted;
  TY_ASSERT(live == c->dicts[0].live[p->code]);
  ty_factors *f = weights_new_factors(c->dim);
  if (f == NULL) return weights_no_memory(err);
  release(p->factors);
  bool some = weights_factors(p->base.sums, NULL, (double)live, WEIGHTS_PARTITION_PRIOR_ROWS, c->dim, f->factor);
  p->factors = some ? f : NULL;
  if (!some) free(f);
  return TY_OK;
}

/* The partition, counted. */
static ty_status current(const ty_collection *c, uint32_t code, scoped **out, ty_error *err) {
  ty_weights *w = c->weights;
  if (w->moved) weights_partitions_free(w);
  scoped *p = find(w, code);
  if (p == NULL || !is_current(c, p)) {
    if (p == NULL) p = add(w, code);
    if (p == NULL) return weights_no_memory(err);
    ty_status status = update(c, p, err);
    if (status != TY_OK) {
      drop(w, p);
      return status;
    }
    evict(c, w, code);
    p = find(w, code);
  }
  p->used = ++w->clock;
  *out = p;
  return TY_OK;
}

ty_status weights_partition_sums(const ty_collection *c, uint32_t code, const uint64_t **sums, uint32_t *trouble,
                                 ty_error *err) {
  scoped *p;
  ty_status status = current(c, code, &p, err);
  if (status != TY_OK) return status;
  *sums = p->base.sums;
  *trouble |= p->trouble | (p->base.unread ? TY_TROUBLE_ROWS : 0);
  return TY_OK;
}

ty_status weights_of_partition(const ty_collection *c, uint32_t code, ty_weighing *out, ty_error *err) {
  scoped *p;
  ty_status status = current(c, code, &p, err);
  if (status != TY_OK) return status;
  *out = (ty_weighing){.scales = p->factors != NULL, .held = p->factors, .trouble = p->trouble};
  out->trouble |= p->base.unread ? TY_TROUBLE_ROWS : 0;
  if (p->factors == NULL) return TY_OK;
  out->factor = p->factors->factor;
  atomic_fetch_add_explicit(&p->factors->held, 1, memory_order_relaxed);
  return TY_OK;
}

uint64_t weights_partition_pending(const ty_collection *c, uint32_t code) {
  const ty_weights *w = c->weights;
  const scoped *p = w->moved ? NULL : find(w, code);
  if (p != NULL && is_current(c, p)) return 0;
  run r = p != NULL ? (run){.first = p->base.first, .count = p->base.rows} : run_of(c, code);
  uint64_t counted = p != NULL ? p->base.counted : r.stored != NULL ? r.count : 0, live = r.count;
  for (uint64_t i = 0; i < r.count; i++) live -= c->base.dead[r.first + i] != 0;
  uint64_t in_delta = c->dicts[0].live[code] - live, before = p == NULL ? 0 : p->counted;
  return (counted > live ? counted - live : live - counted) +
         (before > in_delta ? before - in_delta : in_delta - before);
}
