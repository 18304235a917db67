/* ty_search: which runs of rows a question reads, and the answer packed. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "calls/calls.h"
#include "calls/cost.h"
#include "calls/handed.h"
#include "ivf/ivf.h"
#include "rows/weights.h"
#include "state/state.h"

/* A question for fewer answers than the reach was calibrated with still reads as if it asked for this many: the reach
 * of a list is measured against the last of ten answers, and the first alone is a higher bar, at which more lists look
 * hopeless that are not. */
#define ANSWERS_MIN 10u

typedef struct reading {
  ty_scanner *scanner;
  ty_ivf_question question;
  const ty_ivf_part **near; /* parts read by promising lists */
  uint32_t near_count;
  uint64_t rows_near, rows_else; /* of those parts; fed otherwise */
  uint64_t probed;
} reading;

static ty_status feed_rows(reading *r, const ty_segment *segment, uint64_t first, uint64_t count, ty_error *err) {
  ty_range range = {segment, first, count};
  r->rows_else += count;
  return ty_scanner_feed(r->scanner, &range, err);
}

/* Feeds what is read by position: the delta first, for an early threshold, then the base less the parts read by lists.
 */
static ty_status feed_plain(reading *r, const ty_collection *c, const ty_filter *filter, uint64_t top_k, bool indexed,
                            bool near, ty_error *err) {
  uint64_t at = filter->first, end = filter->first + filter->count;
  bool among = filter->all && indexed &&
               c->ivf->count > 1; /* a partition may be worth its lists only when it is asked by itself */
  ty_status status = feed_rows(r, &c->delta, 0, c->delta.count, err);
  for (uint32_t i = 0; indexed && i < c->ivf->count && status == TY_OK; i++) {
    const ty_ivf_part *part = &c->ivf->parts[i];
    uint64_t first = part->list_starts[0], last = part->list_starts[part->nlist];
    if (first < at || last > end || first == last) continue;
    status = feed_rows(r, &c->base, at, first - at, err); /* partitions without an index, in one run */
    at = last;
    if (near && isfinite(among ? part->reach_alone : part->reach)) {
      r->near[r->near_count++] = part;
      r->rows_near += last - first;
    } else if (status == TY_OK) {
      r->rows_else += last - first;
      status = ty_ivf_feed_exact(&r->question, r->scanner, &c->base, part, top_k, err);
    }
  }
  return status == TY_OK ? feed_rows(r, &c->base, at, end - at, err) : status;
}

/* An index answers a question only where it was calibrated for at least the recall asked, and where no other column is
 * filtered: reach says nothing about the lists that hold the few rows of a filter (faiss falls to 0.88 there), and
 * reading just the matching rows is cheaper anyway. Everything else is answered exactly, for which an index still tells
 * lists that cannot hold an answer. */
static bool use_ivf(const ty_collection *c, const ty_filter *filter, double target) {
  return c->ivf != NULL && target < 1 && target <= c->ivf->target_recall + 1e-9 && (filter->all || filter->column == 0);
}

ty_status ty_search_hits(const ty_collection *c, ty_search_args *args, const float *query, const ty_filter *filter,
                         double target, ty_scored **hits, uint64_t *count, ty_error *err) {
  reading r = {0};
  ty_status status = TY_OK;
  bool near = use_ivf(c, filter, target), indexed = c->ivf != NULL && !filter->none;
  uint64_t top_k = near && args->top_k < ANSWERS_MIN ? ANSWERS_MIN : args->top_k;
  *hits = NULL;
  *count = 0;
  if (indexed) {
    r.near = malloc((c->ivf->count + 1) * sizeof *r.near);
    status = r.near == NULL ? ty_fail(err, TY_NO_MEMORY, "not enough memory to plan a search")
                            : ty_ivf_question_open(c, query, &r.question, err);
  }
  if (status == TY_OK)
    status =
        ty_scanner_open(c, &c->base, &c->delta, query, top_k, filter->count + c->delta.count, filter, &r.scanner, err);
  if (status == TY_OK) status = feed_plain(&r, c, filter, top_k, indexed, near, err);
  /* Where other rows set the bar, a partition's answers are held against it one by one: see calibrate.c. */
  bool alone = r.near_count > 1 || r.rows_else > r.rows_near / TY_IVF_OTHERS_SHARE;
  if (status == TY_OK && r.near_count > 0)
    status = ty_ivf_feed_near(&r.question, r.scanner, &c->base, r.near, r.near_count, alone, &r.probed, err);
  if (status == TY_OK) status = ty_scanner_answer(r.scanner, hits, count, err);
  if (r.scanner != NULL) {
    ty_scan_counts counts = ty_scanner_counts(r.scanner);
    args->screened_rows = counts.screened;
    args->scored_rows = counts.scored;
  }
  if (*count > args->top_k) *count = args->top_k;
  args->probed_lists = r.probed;
  ty_scanner_close(r.scanner);
  ty_ivf_question_close(&r.question);
  free(r.near);
  return status;
}

ty_status ty_search_entered(ty_collection *c, ty_search_args *args, ty_error *err) {
  args->out_bytes = args->out_count = args->screened_rows = args->scored_rows = args->probed_lists = 0;
  if (args->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (!(args->target_recall >= 0 && args->target_recall <= 1)) {
    return ty_fail(err, TY_INVALID, "target_recall must be in [0, 1], not %g", args->target_recall);
  }
  if (args->weighted > 1)
    return ty_fail(err, TY_INVALID, "weighted must be 0 or 1, not %llu", (unsigned long long)args->weighted);
  if (!c->env->kernel->all_finite(args->query, c->dim)) {
    uint32_t at = 0;
    while (c->env->kernel->all_finite(args->query + at, 1)) at++;
    return ty_fail(err, TY_INVALID, "vector[%" PRIu32 "] " TY_NOT_FINITE, at);
  }
  ty_filter filter;
  ty_scored *hits = NULL;
  uint64_t count = 0;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity};
  ty_status status = ty_filter_open(c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status != TY_OK) return status;
  double target = args->target_recall == 0 ? c->default_target_recall : args->target_recall;
  if (args->most_bytes > 0) {
    uint64_t cost = ty_search_cost(c, &filter, use_ivf(c, &filter, target), args->weighted != 0);
    status = ty_cost_check(cost, args->most_bytes, err);
    if (status != TY_OK) return status;
  }
  atomic_fetch_add_explicit(&c->searches, 1, memory_order_relaxed);
  if (args->weighted) status = ty_weights_sync(c, err);
  if (status != TY_OK) return status;
  float *scratch = malloc(c->dim * sizeof *scratch);
  if (scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a question");
  const float *query = ty_query_prepare(c, args->query, args->weighted, scratch);
  status = ty_search_hits(c, args, query, &filter, target, &hits, &count, err);
  free(scratch);
  if (status != TY_OK) goto done;
  for (uint64_t i = 0; i < count; i++)
    ty_answer_row(&answer, c, hits[i].ref, ty_shown_score(c, hits[i].score), args->what, (ty_slice){NULL, 0});
  args->out_bytes = answer.bytes;
  args->out_count = count;
  status = ty_answer_end(&answer, err);
done:
  free(hits);
  return status;
}

ty_status ty_search(ty_collection *c, ty_search_args *args, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  status = ty_search_entered(c, args, err);
  ty_leave(c);
  return status;
}
