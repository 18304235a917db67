/* The ranking by vector: which runs of rows a query reads. */
#include <math.h>
#include <stdlib.h>

#include "calls/calls.h"
#include "ivf/ivf.h"

/* Reach was calibrated against the last of ten answers. A smaller top_k would be a higher threshold, which excludes
 * lists that hold answers: such a query reads as for this many. */
#define ANSWERS_MIN 10u

typedef struct reading {
  ty_scanner *scanner;
  ty_ivf_question question;
  const ty_ivf_part **near; /* parts read by promising lists */
  uint32_t near_count;
  uint64_t rows_near, rows_else; /* of those parts; of all others */
  uint64_t probed;
} reading;

static ty_status feed_rows(reading *r, const ty_segment *segment, uint64_t first, uint64_t count, ty_error *err) {
  ty_range range = {segment, first, count};
  r->rows_else += count;
  return ty_scanner_feed(r->scanner, &range, err);
}

/* Some partitions gain by their lists only when they are searched alone. */
static double reach_of(const ty_collection *c, const ty_filter *filter, const ty_ivf_part *part) {
  return filter->all && c->ivf->count > 1 ? part->reach_alone : part->reach;
}

/* Feeds the rows that are read by position: the delta first, for an early threshold, then the base without the parts
 * that are read by lists. */
static ty_status feed_plain(reading *r, const ty_collection *c, const ty_filter *filter, uint64_t top_k, bool indexed,
                            bool near, ty_error *err) {
  uint64_t at = filter->first, end = filter->first + filter->count;
  ty_status status = feed_rows(r, &c->delta, 0, c->delta.count, err);
  for (uint32_t i = 0; indexed && i < c->ivf->count && status == TY_OK; i++) {
    const ty_ivf_part *part = &c->ivf->parts[i];
    uint64_t first = part->list_starts[0], last = part->list_starts[part->nlist];
    if (first < at || last > end || first == last) continue;
    status = feed_rows(r, &c->base, at, first - at, err); /* partitions without an index, in one run */
    at = last;
    if (near && isfinite(reach_of(c, filter, part))) {
      r->near[r->near_count++] = part;
      r->rows_near += last - first;
    } else if (status == TY_OK) {
      r->rows_else += last - first;
      status = ty_ivf_feed_exact(&r->question, r->scanner, &c->base, part, top_k, err);
    }
  }
  return status == TY_OK ? feed_rows(r, &c->base, at, end - at, err) : status;
}

/* An index answers only where it was calibrated for at least the target recall and no other column is filtered: reach
 * does not apply to the few rows of a filter (faiss falls to 0.88 recall there), and reading only the matching rows is
 * cheaper anyway. Other queries are exact; an index still excludes lists that are proved empty of answers. */
bool ty_search_probes(const ty_collection *c, const ty_filter *filter, double target) {
  return c->ivf != NULL && target < 1 && target <= c->ivf->target_recall + 1e-9 &&
         (filter->all || filter->column == 0) && filter->under == NULL;
}

/* A list whose rows are proved empty of answers takes longer to exclude than a row to read, so of few gathered rows all
 * are read: of 100,000 rows in 100 indexed partitions, the 1,000 of a value took 1.1 ms by lists and 0.05 without. */
#define ROWS_A_LIST 8u

static bool lists_pay(const ty_collection *c, const ty_filter *filter) {
  uint64_t lists = 0;
  for (uint32_t i = 0; i < c->ivf->count; i++) lists += c->ivf->parts[i].nlist;
  return filter->rows == NULL || filter->row_count / ROWS_A_LIST > lists;
}

/* The share of their proved width that bounds by 8-bit codes get in a query that reads lists: the largest of the
 * partitions that it reads. If it reads a partition in full, that is 1, as bounds must be proved there. */
static double width_share_of(const ty_collection *c, const ty_filter *filter) {
  double width_share = 0;
  bool any = false;
  for (uint32_t i = 0; i < c->ivf->count; i++) {
    const ty_ivf_part *part = &c->ivf->parts[i];
    uint64_t first = part->list_starts[0], last = part->list_starts[part->nlist];
    if (first < filter->first || last > filter->first + filter->count || first == last) continue;
    if (!isfinite(reach_of(c, filter, part))) return 1;
    width_share = fmax(width_share, part->width_share);
    any = true;
  }
  return any ? width_share : 1;
}

static ty_status search(const ty_collection *c, const ty_wanted *w, ty_found *out, bool *again, ty_error *err) {
  const uint64_t top_k = w->top_k;
  const float *query = w->query;
  const ty_filter *filter = w->filter;
  reading r = {0};
  ty_status status = TY_OK;
  bool near = ty_search_probes(c, filter, w->target), indexed = c->ivf != NULL && !filter->none && lists_pay(c, filter);
  uint64_t wanted = near && top_k < ANSWERS_MIN ? ANSWERS_MIN : top_k;
  *out = (ty_found){0};
  if (indexed) {
    r.near = malloc((c->ivf->count + 1) * sizeof *r.near);
    status = r.near == NULL ? ty_fail(err, TY_NO_MEMORY, "not enough memory to plan a search")
                            : ty_ivf_question_open(c, query, near, &r.question, err);
  }
  if (status == TY_OK)
    status =
        ty_scanner_open(c, &c->base, &c->delta, query, wanted, filter->count + c->delta.count, filter, &r.scanner, err);
  if (status == TY_OK && !near && !ty_scanner_expect(r.scanner, w->expected, w->expected_count))
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to plan a search");
  if (status == TY_OK && near && indexed) ty_scanner_narrow(r.scanner, width_share_of(c, filter));
  if (status == TY_OK) status = feed_plain(&r, c, filter, wanted, indexed, near, err);
  /* Where other rows set the threshold, each partition's answers are compared with it: see calibrate.c. */
  bool alone = r.near_count > 1 || r.rows_else > r.rows_near / TY_IVF_OTHERS_SHARE;
  if (status == TY_OK && r.near_count > 0)
    status = ty_ivf_feed_near(&r.question, r.scanner, &c->base, r.near, r.near_count, alone, &r.probed, err);
  if (status == TY_OK) status = ty_scanner_answer(r.scanner, &out->hits, &out->count, err);
  if (r.scanner != NULL) {
    ty_scan_counts counts = ty_scanner_counts(r.scanner);
    out->screened = counts.screened;
    out->scored = counts.scored;
    out->trouble = counts.trouble;
    *again = status == TY_OK && counts.again;
  }
  if (out->count > top_k) out->count = top_k;
  out->probed = r.probed;
  ty_scanner_close(r.scanner);
  ty_ivf_question_close(&r.question);
  free(r.near);
  return status;
}

ty_status ty_search_hits(const ty_collection *c, const ty_wanted *w, ty_found *out, ty_error *err) {
  for (;;) {
    bool again = false;
    ty_status status = search(c, w, out, &again, err);
    if (!again) return status;
    free(out->hits);
  }
}
