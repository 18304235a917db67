/* ty_search_many: several questions share one pass over the rows. A chunk of rows that was brought into the cache for one question is there
 * for all: what limits a scan of a large collection is the memory, not the arithmetic. */
#include <inttypes.h>
#include <stdlib.h>

#include "scan.h"

/* Questions in one pass, and rows that all of them look at before the next ones: 2,048 rows of 384 dimensions are 416 KiB of blocks, which
 * stay in the L2 cache. */
#define TOGETHER   16u
#define PASS_ROWS  2048u

typedef struct many {
  ty_collection *c;
  ty_search_many_args *args;
  ty_filter filter;
  ty_scanner *scanners[TOGETHER];
  float *scratch; /* TOGETHER x dim: questions as they are asked */
  ty_answer answer;
} many;

static ty_status feed_all(many *m, uint32_t n, const ty_segment *segment, uint64_t first, uint64_t count, ty_error *err) {
  for (uint64_t done = 0; done < count; done += PASS_ROWS) {
    ty_range range = {segment, first + done, count - done < PASS_ROWS ? count - done : PASS_ROWS};
    for (uint32_t i = 0; i < n; i++) {
      ty_status status = ty_scanner_feed(m->scanners[i], &range, err);
      if (status != TY_OK) return status;
    }
  }
  return TY_OK;
}

/* Up to TOGETHER questions from `from` on. */
static ty_status ask_together(many *m, uint64_t from, uint32_t n, ty_error *err) {
  ty_collection *c = m->c;
  ty_search_many_args *a = m->args;
  ty_status status = TY_OK;
  uint64_t rows = m->filter.count + c->delta.count;
  for (uint32_t i = 0; i < n && status == TY_OK; i++) {
    const float *query = ty_query_prepare(c, a->queries + (from + i) * c->dim, m->scratch + (uint64_t)i * c->dim);
    status = ty_scanner_open(c, &c->base, &c->delta, query, a->top_k, rows, &m->filter, &m->scanners[i], err);
  }
  if (status == TY_OK) status = feed_all(m, n, &c->delta, 0, c->delta.count, err);
  if (status == TY_OK) status = feed_all(m, n, &c->base, m->filter.first, m->filter.count, err);
  for (uint32_t i = 0; i < n && status == TY_OK; i++) {
    ty_scored *hits;
    uint64_t count;
    status = ty_scanner_answer(m->scanners[i], &hits, &count, err);
    for (uint64_t h = 0; h < count && status == TY_OK; h++)
      ty_answer_row(&m->answer, c, hits[h].ref, (double)hits[h].score, a->what, (ty_slice){NULL, 0});
    a->counts[from + i] = count;
    ty_scan_counts counts = ty_scanner_counts(m->scanners[i]);
    a->screened_rows += counts.screened;
    a->scored_rows += counts.scored;
    free(hits);
  }
  for (uint32_t i = 0; i < n; i++) {
    ty_scanner_close(m->scanners[i]);
    m->scanners[i] = NULL;
  }
  return status;
}

/* An index reads other rows for each question, so there is no pass to share. */
static ty_status ask_alone(many *m, uint64_t at, ty_error *err) {
  ty_search_many_args *a = m->args;
  ty_answer *answer = &m->answer;
  uint64_t left = answer->bytes < answer->capacity ? answer->capacity - answer->bytes : 0;
  ty_search_args one = {.query = a->queries + at * m->c->dim,
                        .top_k = a->top_k,
                        .column = a->column,
                        .key = a->key,
                        .key_bytes = a->key_bytes,
                        .target_recall = a->target_recall,
                        .what = a->what,
                        .out = left > 0 ? answer->out + answer->bytes : answer->out,
                        .out_capacity = left};
  ty_status status = ty_search_entered(m->c, &one, err);
  if (status != TY_OK && status != TY_BUFFER) return status;
  answer->bytes += one.out_bytes;
  a->counts[at] = one.out_count;
  a->screened_rows += one.screened_rows;
  a->scored_rows += one.scored_rows;
  a->probed_lists += one.probed_lists;
  return TY_OK;
}

static ty_status search_many(ty_collection *c, ty_search_many_args *a, ty_error *err) {
  many m = {.c = c, .args = a, .answer = {.out = a->out, .capacity = a->out_capacity}};
  uint64_t floats;
  a->out_bytes = a->screened_rows = a->scored_rows = a->probed_lists = 0;
  if (a->n == 0) return TY_OK;
  if (a->queries == NULL || a->counts == NULL) return ty_fail(err, TY_INVALID, "the questions are missing");
  if (a->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (!(a->target_recall >= 0 && a->target_recall <= 1))
    return ty_fail(err, TY_INVALID, "target_recall must be in [0, 1], not %g", a->target_recall);
  if (!ty_mul(a->n, c->dim, &floats) || floats > SIZE_MAX / sizeof(float))
    return ty_fail(err, TY_INVALID, "%" PRIu64 " questions are too many", a->n);
  if (!c->env->kernel->all_finite(a->queries, (size_t)floats))
    return ty_fail(err, TY_INVALID, "a query vector holds NaN or Infinity");
  ty_status status =
      ty_filter_open(c, a->column, (ty_slice){a->key, a->key_bytes}, &m.filter, err);
  if (status != TY_OK) return status;
  if (c->ivf != NULL) {
    for (uint64_t i = 0; i < a->n && status == TY_OK; i++) status = ask_alone(&m, i, err);
  } else {
    atomic_fetch_add_explicit(&c->searches, a->n, memory_order_relaxed);
    m.scratch = malloc((size_t)TOGETHER * c->dim * sizeof *m.scratch);
    if (m.scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %u questions", TOGETHER);
    for (uint64_t from = 0; from < a->n && status == TY_OK; from += TOGETHER)
      status = ask_together(&m, from, (uint32_t)(a->n - from < TOGETHER ? a->n - from : TOGETHER), err);
    free(m.scratch);
  }
  a->out_bytes = m.answer.bytes;
  return status == TY_OK ? ty_answer_end(&m.answer, err) : status;
}

ty_status ty_search_many(ty_collection *c, ty_search_many_args *args, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  status = search_many(c, args, err);
  ty_leave(c);
  return status;
}
