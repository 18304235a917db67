/* ty_search_many: several queries share a pass over the rows, which loads each chunk of rows into the cache once for
 * all of them: a scan of a large collection is bound by memory, not by arithmetic. Groups of queries are spread over
 * threads, within one ty_enter, so that all queries of a call are answered from one saved state. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "calls/arguments.h"
#include "rows/weights.h"
#include "state/state.h"
#include "work/crew.h"

/* Queries in one pass, and the rows that all of them read before the next rows: 2,048 rows of 384 dimensions are 416
 * KiB of blocks, which stay in the L2 cache. */
#define TOGETHER  16u
#define PASS_ROWS 2048u

typedef struct many {
  ty_collection *c;
  ty_search_many_args *args;
  ty_filter filter;
  double target;
  ty_weighing weighing;
  const ty_weighing *weighs; /* it, or NULL */
  ty_found *found;           /* by query */
} many;

static ty_status feed_all(ty_scanner *const *scanners, uint32_t n, const ty_segment *segment, uint64_t first,
                          uint64_t count, ty_error *err) {
  for (uint64_t done = 0; done < count; done += PASS_ROWS) {
    ty_range range = {segment, first + done, count - done < PASS_ROWS ? count - done : PASS_ROWS};
    for (uint32_t i = 0; i < n; i++) {
      ty_status status = ty_scanner_feed(scanners[i], &range, err);
      if (status != TY_OK) return status;
    }
  }
  return TY_OK;
}

/* Up to TOGETHER queries in one pass. *again: damage was found that none of them knew of. */
static ty_status ask_once(many *m, uint64_t from, uint32_t n, float *scratch, bool *again, ty_error *err) {
  ty_collection *c = m->c;
  ty_search_many_args *a = m->args;
  ty_scanner *scanners[TOGETHER] = {0};
  ty_status status = TY_OK;
  uint64_t rows = m->filter.count + c->delta.count;
  for (uint32_t i = 0; i < n && status == TY_OK; i++) {
    const float *query =
        ty_query_prepare(c, a->queries + (from + i) * c->dim, m->weighs, scratch + (uint64_t)i * c->dim);
    status = ty_scanner_open(c, &c->base, &c->delta, query, a->top_k, rows, &m->filter, &scanners[i], err);
  }
  if (status == TY_OK) status = feed_all(scanners, n, &c->delta, 0, c->delta.count, err);
  if (status == TY_OK) status = feed_all(scanners, n, &c->base, m->filter.first, m->filter.count, err);
  for (uint32_t i = 0; i < n; i++) {
    if (status == TY_OK) {
      ty_found *f = &m->found[from + i];
      free(f->hits); /* of a pass before */
      status = ty_scanner_answer(scanners[i], &f->hits, &f->count, err);
      ty_scan_counts counts = ty_scanner_counts(scanners[i]);
      *again |= counts.again;
      f->trouble = counts.trouble;
      f->screened = counts.screened;
      f->scored = counts.scored;
    }
    ty_scanner_close(scanners[i]);
  }
  return status;
}

static ty_status ask_together(many *m, uint64_t from, uint32_t n, float *scratch, ty_error *err) {
  for (;;) {
    bool again = false;
    ty_status status = ask_once(m, from, n, scratch, &again, err);
    if (status != TY_OK || !again) return status;
  }
}

/* An index reads other rows for each query, so there is no pass to share. */
static ty_status ask_alone(many *m, uint64_t at, float *scratch, ty_error *err) {
  ty_search_many_args *a = m->args;
  const float *query = ty_query_prepare(m->c, a->queries + at * m->c->dim, m->weighs, scratch);
  const ty_wanted wanted = {.top_k = a->top_k, .query = query, .filter = &m->filter, .target = m->target};
  return ty_search_hits(m->c, &wanted, &m->found[at], err);
}

static ty_status ask_group(void *context, uint64_t group, uint32_t worker, ty_error *err) {
  (void)worker;
  many *m = context;
  uint64_t from = group * TOGETHER, left = m->args->n - from;
  uint32_t n = left < TOGETHER ? (uint32_t)left : TOGETHER;
  float *scratch = malloc((size_t)TOGETHER * m->c->dim * sizeof *scratch);
  if (scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %u queries", n);
  ty_status status = TY_OK;
  if (m->c->ivf == NULL) status = ask_together(m, from, n, scratch, err);
  for (uint32_t i = 0; m->c->ivf != NULL && i < n && status == TY_OK; i++)
    status = ask_alone(m, from + i, scratch, err);
  free(scratch);
  return status;
}

static ty_status check(const ty_collection *c, const ty_search_many_args *a, ty_error *err) {
  uint64_t floats;
  if (a->n > 0 && (a->queries == NULL || a->counts == NULL)) return ty_fail(err, TY_INVALID, "the queries are missing");
  if (a->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (!(a->target_recall >= 0 && a->target_recall <= 1))
    return ty_fail(err, TY_INVALID, "target_recall must be in [0, 1], not %g", a->target_recall);
  if (a->weighted > 1) return ty_fail(err, TY_INVALID, "weighted must be 0 or 1, not %" PRIu64, a->weighted);
  if (!ty_mul(a->n, c->dim, &floats) || floats > SIZE_MAX / sizeof(float))
    return ty_fail(err, TY_INVALID, "%" PRIu64 " queries are too many", a->n);
  return ty_check_vectors(c, a->queries, floats, true, err);
}

static ty_status pack(many *m, ty_error *err) {
  ty_search_many_args *a = m->args;
  ty_answer answer = {.out = a->out, .capacity = a->out_capacity};
  for (uint64_t i = 0; i < a->n; i++) {
    for (uint64_t h = 0; h < m->found[i].count; h++) {
      const ty_scored *hit = &m->found[i].hits[h];
      ty_answer_row(&answer, m->c, hit->ref, ty_reported_score(m->c, hit->score), a->what, (ty_slice){NULL, 0});
    }
    a->counts[i] = m->found[i].count;
    a->screened_rows += m->found[i].screened;
    a->scored_rows += m->found[i].scored;
    a->probed_lists += m->found[i].probed;
    a->trouble |= m->found[i].trouble;
  }
  a->trouble |= m->filter.trouble | m->weighing.trouble;
  a->out_bytes = answer.bytes;
  return ty_answer_end(&answer, TY_OK, m->c, err);
}

/* Asks all queries, filter and weights being open. */
static ty_status ask_all(many *m, ty_progress *progress, ty_error *err) {
  ty_search_many_args *a = m->args;
  m->found = a->n <= SIZE_MAX / sizeof *m->found ? calloc((size_t)a->n, sizeof *m->found) : NULL;
  if (m->found == NULL)
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for the answers to %" PRIu64 " queries", a->n);
  atomic_fetch_add_explicit(&m->c->searches, a->n, memory_order_relaxed);
  ty_crew crew;
  ty_crew_init(&crew, a->threads > TY_CREW_MAX ? TY_CREW_MAX : (uint32_t)a->threads, progress);
  ty_status status = ty_crew_run(&crew, (a->n + TOGETHER - 1) / TOGETHER, ask_group, m, err);
  if (status == TY_CANCELLED) status = ty_fail(err, TY_CANCELLED, "the search was cancelled");
  if (status == TY_OK) status = pack(m, err);
  for (uint64_t i = 0; i < a->n; i++) free(m->found[i].hits);
  free(m->found);
  return status;
}

static ty_status search_many(ty_collection *c, ty_search_many_args *a, ty_progress *progress, ty_error *err) {
  many m = {.c = c, .args = a};
  ty_status status = check(c, a, err);
  m.target = a->target_recall == 0 ? c->default_target_recall : a->target_recall;
  if (status == TY_OK) status = ty_filter_open(c, a->column, (ty_slice){a->key, a->key_bytes}, &m.filter, err);
  if (status == TY_OK && a->weighted) {
    status = ty_weights_open(c, ty_filter_partition(&m.filter), &m.weighing, err);
    m.weighs = &m.weighing;
  }
  if (status == TY_OK && a->n > 0) status = ty_filter_gather(c, &m.filter, err);
  if (status == TY_OK && a->n > 0) status = ask_all(&m, progress, err);
  ty_weights_close(&m.weighing);
  ty_filter_close(&m.filter);
  return status;
}

ty_status ty_search_many(ty_collection *c, ty_search_many_args *args, ty_progress *progress, ty_error *err) {
  args->out_bytes = args->screened_rows = args->scored_rows = args->probed_lists = args->trouble = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  if (c->ivf_lost.lost) args->trouble |= TY_TROUBLE_IVF;
  status = search_many(c, args, progress, err);
  return ty_leave(c, status, err);
}
